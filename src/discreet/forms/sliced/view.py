"""Reading sliced releases: buckets, and in each the values of every column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import polars as pl

from discreet.errors import StoreError
from discreet.forms.base import View
from discreet.forms.boxes import refuse_finer_labels
from discreet.forms.consistency import compare_kept
from discreet.forms.crowds import Crowds
from discreet.forms.disclosure import (
    SET,
    WEIGHT,
    Disclosure,
    Observed,
    list_values,
    merge_sets,
    mix_options,
    round_weights,
)
from discreet.forms.estimates import Asked
from discreet.forms.exposure import Fakes
from discreet.forms.matches import Matches
from discreet.forms.matching import number_jointly, number_shown
from discreet.forms.possibilities import Possibilities, list_people
from discreet.forms.reading import read_values, take_table
from discreet.forms.sliced.columns import (
    BUCKET,
    TABLE,
    number_owners,
    read_columns,
    read_tied,
)
from discreet.forms.sliced.consistency import compare_slices
from discreet.forms.sliced.fakes import count_fakes
from discreet.forms.sliced.matching import SlicedMatches, match_buckets
from discreet.forms.sliced.parts import SliceParts, join_parts
from discreet.forms.sliced.tied import Tied
from discreet.principles.base import Principle
from discreet.principles.groups import Groups
from discreet.release import Release
from discreet.release.labels import read_codes
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.microdata import Microdata


@dataclass(frozen=True, eq=False)
class SlicedView(View):
    """Groups are the parts of buckets whose sensitive values stand beside one rest of the column.

    A row belongs to a part by its sensitive column; its other columns are other people's. With
    several sensitive columns a group is a part of each, of one bucket, whether or not a row shows
    them side by side.
    """

    shares_values: ClassVar[bool] = True  # parts of a bucket share its values
    max_own_value_lift: ClassVar[int | None] = None
    answers_jointly: ClassVar[bool] = True

    columns: tuple[tuple[str, ...], ...]
    """The attributes of each column, those with sensitive ones last."""
    bucket: Ints
    """Per row its bucket, numbered from 0."""
    parts: SliceParts
    tied: Tied
    """Which columns share attributes."""
    within: Ints
    """Per row what of its bucket shows one value of these, numbered from 0."""

    @cached_property
    def count(self) -> int:
        """Number of groups; not every one has a row that shows it."""
        return len(self.parts.of_group)

    @cached_property
    def bucket_sizes(self) -> Ints:
        """Rows per bucket."""
        return np.bincount(self.bucket)

    @cached_property
    def owners(self) -> list[Ints]:
        """Per column and row among whom its pieces are anybody's: in what agrees, or the bucket."""
        return [
            self.within if place in self.tied.places else self.bucket
            for place in range(len(self.columns))
        ]

    @cached_property
    def bucket_of(self) -> Ints:
        """Per part its bucket."""
        bucket = np.empty(int(self.parts.of_row[:, -1].max()) + 1, dtype=np.int64)
        bucket[self.parts.of_row[:, -1]] = self.bucket
        return np.asarray(bucket[self.parts.of_group[:, -1]])

    def _read_bags(self, name: str) -> Groups:
        """Give the values beside the rest of their column, which all groups of a part share."""
        place = self.parts.find(self.columns, name)
        codes, domain, whole = read_values(self.release, self.table, name)
        part, of_group = self.parts.of_row[:, place], self.parts.of_group[:, place]
        bags = Groups.from_labels(part, codes, domain, count=int(part.max()) + 1, whole=whole)
        if self.parts.are_groups:
            return bags
        every = np.arange(self.count)
        return bags.mix(of_group, every, np.ones_like(every), self.count)

    def admits(self, part: Principle, name: str | None) -> Bools:
        """Check sizes by bucket, values by part; these must make every mixture good."""
        if name is None:
            good = part.admits(Groups.of_people(self.bucket_sizes))
            return np.asarray(good[self.bucket_of])
        if part.mixture_safe is None:
            return np.zeros(self.count, dtype=bool)
        return part.mixture_safe.admits(self.bags(name))

    def match(self, data: Microdata) -> Matches:
        """Find the parts of buckets that may hold each person; each looks for themselves."""
        found = match_buckets(self, data)
        numbers, starts = np.unique(found.person, return_index=True)
        place = np.full(int(found.person_of.max()) + 1, -1, dtype=np.int64)
        place[numbers] = np.arange(len(numbers))
        sizes = self.bucket_sizes[self.bucket_of[found.group]]
        records = np.add.reduceat(sizes, starts) if len(sizes) else np.zeros(0, dtype=np.int64)
        matches = Matches(
            self,
            place[found.person_of],
            np.append(starts, len(sizes)).astype(np.int64),
            found.group,
            found.times,
            records,
            alike=found.alike,
            cells=found.cells,
            room=found.room,
        )
        if self.parts.are_groups:
            return matches
        return SlicedMatches(**vars(matches), last=self.parts.last_sizes)

    def hides(self, part: Principle, matches: Matches) -> Bools:
        """What such a release promises of people is said of buckets; all else of what it shows."""
        if not self._says_of_buckets(part):
            return super().hides(part, matches)
        return matches.admits_each(self.bucket_sizes[self.bucket_of] >= part.look_alikes)

    def _says_of_buckets(self, part: Principle) -> bool:
        return part in self.release.promise.principle.parts

    def word_check(self, part: Principle) -> str:
        """Columns show what they show however many people share a bucket."""
        if not self._says_of_buckets(part) or part.look_alikes <= 1:
            return super().word_check(part)
        if part.reads_values:
            return f"{part}, people counted in every bucket"
        return f"at least {part.look_alikes} people in every bucket"

    def describe_crowd(self, people: int) -> str:
        """Rows are nobody's; but values of a column that nobody else has are somebody's."""
        told = f"every bucket has at least {int(self.bucket_sizes.min())} people"
        if people <= 1:
            return f"{told}, but some are alone there with their values of a column"
        return f"{told}, of whom at least {people} share their values of a column"

    def find_inconsistencies(self, matches: Matches, data: Microdata) -> list[str]:
        """Every column by itself must hold what people have, in their buckets, unlinked."""
        return [*compare_slices(self, matches, data), *compare_kept(self, data)]

    @property
    def dealing(self) -> View | None:
        """The parts of one sensitive column are such; those of several share values."""
        return self if self.parts.are_groups else None

    def disclose(self, found: list[Matches], observed: Observed) -> Disclosure:
        """Give the bags of the parts of buckets that may be a person's."""
        matches = found[0]
        sets, set_of, records = merge_sets(matches.set_of, matches.records, matches.only)
        told = [name for name in self.release.schema.sensitive if name in observed.hidden]
        frames = []
        for column in self.columns:
            names = [name for name in told if name in column]
            if len(names) > 1:
                frames.append(self._list_together(matches, observed, names, sets))
            elif names:
                bags, target = mix_options(matches, names[0], sets), observed.targets[names[0]]
                frames.append(list_values(bags, target.domain, names[0]))
        return Disclosure(set_of, records, frames)

    def _list_together(
        self, matches: Matches, observed: Observed, names: list[str], sets: Ints
    ) -> pl.DataFrame:
        """List what one column holds of several attributes together, set by set."""
        place = self.parts.find(self.columns, names[0])
        codes = {
            name: read_codes(self.release, self.table, name, observed.targets[name].domain)
            for name in names
        }
        part = pl.Series("#part", self.parts.of_row[:, place])
        held = pl.DataFrame([part]).with_columns(**{n: pl.Series(c) for n, c in codes.items()})
        held = held.group_by(held.columns).len("#count")
        owner, group, times, among = matches.weigh_options(self.bags(names[0]), sets)
        alone = np.bincount(owner, minlength=len(sets))[owner] == 1
        weights = round_weights(times / among, alone) if len(owner) else times
        options = pl.DataFrame(
            {SET: owner, "#part": self.parts.of_group[group, place], "#times": weights}
        )
        weight = (pl.col("#count").cast(pl.Int64) * pl.col("#times")).sum().alias(WEIGHT)
        frame = options.join(held, on="#part").group_by(SET, *names).agg(weight)
        return frame.filter(*(pl.col(name) >= 0 for name in names))

    def estimate(self, asked: Asked) -> Floats:
        """Multiply the columns' shares in every bucket."""
        from discreet.forms.sliced.estimate import estimate_sliced

        return estimate_sliced(self, asked)

    def count_possibilities(self, matches: Matches, name: str) -> int:
        """Count the values of all bags that may be each person's."""
        seen = matches.set_of[matches.set_of >= 0]
        return int(self.bags(name).distinct[matches.list_options(seen)[1]].sum())

    def list_possibilities(self, matches: Matches, data: Microdata, name: str) -> Possibilities:
        """List what each person may have: rows are nobody's."""
        return list_people(matches, data, name)

    def count_fakes(self, data: Microdata) -> Fakes | None:
        """Columns can be put together in ways that are nobody's."""
        return count_fakes(self, data)

    def list_crowds(self, matches: Matches, people: Microdata) -> list[Crowds]:
        """Every column tells by itself how many people have its values."""
        found = []
        for column in self.columns:
            names = [name for name in column if name not in self.release.schema.sensitive]
            own, shown = number_jointly(self, people, names)
            records = np.bincount(shown, minlength=int(own.max()) + 1)
            there = (records[own] > 0) & (matches.set_of >= 0)
            found.append(Crowds(np.where(there, own, -1), records, exact=False))
        return found


@dataclass(frozen=True, eq=False)
class PaperSlicedView(SlicedView):
    """The same under the paper's check, which is about people and not in the release."""

    verifiable_alone: ClassVar[bool] = False


def read_sliced(release: Release) -> list[View]:
    """Read the columns the manifest names, and number buckets and parts."""
    columns, sensitive = read_columns(release), release.schema.sensitive
    shown = [c for name in release.schema.names for c in release.recodings[name].columns(name)]
    told = [bool(set(column) & set(sensitive)) for column in columns]
    if told != sorted(told):
        raise StoreError("The columns with sensitive attributes are the last of a sliced release.")
    own = release.own(BUCKET)
    table = take_table(release, {TABLE}, TABLE, {own, *shown})
    if not table[own].dtype.is_integer() or table[own].null_count():
        raise StoreError("The table 'sliced' does not give every row a bucket.")
    refuse_finer_labels(release, table)
    bucket, within = number_owners(release)
    parts, tied, agree = [bucket], read_tied(release), [False]
    if sensitive:
        first = told.index(True)
        rests = [[n for n in column if n not in sensitive] for column in columns[first:]]
        parts = [number_shown(release, table, names, bucket) for names in rests]
        agree = [place in tied.places for place in range(first, len(columns))]
    made = join_parts(bucket, parts, within, agree)
    _refuse_rare(release, table, columns)
    kind = PaperSlicedView if release.parameters.get("check") == "paper" else SlicedView
    groups = made.find_groups(made.of_row)
    return [kind(release, table, groups, columns, bucket, made, tied, within)]


def _refuse_rare(
    release: Release, table: pl.DataFrame, columns: tuple[tuple[str, ...], ...]
) -> None:
    """Every value of a column's quasi-identifiers must be as frequent as the release says."""
    frequency = release.parameters.get("frequency", 1)
    if not isinstance(frequency, int) or frequency < 1:
        raise StoreError(f"The release gives no whole number for frequency: {frequency!r}.")
    for column in columns:
        names = [name for name in column if name in release.schema.quasi_identifiers]
        number = number_shown(release, table, names)
        if names and int(np.bincount(number).min()) < frequency:
            raise StoreError(
                f"The table 'sliced' shows values of {', '.join(names)} that fewer than "
                f"{frequency} people have."
            )
