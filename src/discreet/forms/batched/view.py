"""Reading batched releases: boxes per marginal, each person's value in a batch.

One view per generalized table. What is believed about the people of a box is a mixture of the
batches its records refer to; whoever knows more may tell the batch, so each of them is judged.
Batches may hold values of nobody besides: there are fewer records then, and a table says how many.
Tables that refer to no batch are read in ``projections``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import StoreError
from discreet.forms.base import View
from discreet.forms.batched.consistency import is_foreign
from discreet.forms.batched.disclosure import disclose_batches
from discreet.forms.batched.held import (
    BATCH,
    BATCHES,
    list_told,
    name_told,
    number_told,
    read_batches,
)
from discreet.forms.batched.joins import join_tables
from discreet.forms.batched.projections import PROJECTION, read_projection, refers_to_batches
from discreet.forms.batched.shares import (
    find_common_units,
    list_shares,
    read_shares,
    spell_boxes,
)
from discreet.forms.boxes import BoxView, box_columns, number_boxes
from discreet.forms.consistency import compare_groups, has_counts
from discreet.forms.counterfeits import COUNTERFEITS, place_counterfeits
from discreet.forms.disclosure import Disclosure, Observed
from discreet.forms.matches import Matches
from discreet.forms.records import RecordView
from discreet.principles.base import Principle
from discreet.principles.groups import Groups
from discreet.release import Release, Transformation, number_title
from discreet.table.arrays import Bools, Ints
from discreet.table.microdata import Microdata

GENERALIZED = "generalized"


@dataclass(frozen=True, eq=False)
class BatchedView(View):
    """Records refer to batches; what is believed about a group is a mixture of these."""

    max_own_value_lift: ClassVar[int | None] = None
    answers_jointly: ClassVar[bool] = False
    shows_whose: ClassVar[bool] = False

    batch: Ints
    """Per record its batch, numbered from 0."""
    held: dict[str, Groups]
    """Per sensitive attribute the bag of each batch; where several are told together, of these as
    well, by a name of their own."""

    @abstractmethod
    def _look_alike(self, people: int) -> Bools:
        """Say of each group whether so many show the same."""

    def admits(self, part: Principle, name: str | None) -> Bools:
        """A group is good if every batch it refers to is, for then every mixture is."""
        looks = self._look_alike(part.look_alikes)
        if name is None:
            return looks & part.admits(self.bags(None))
        if part.mixture_safe is None:
            return looks & part.admits(self.bags(name))
        bad = ~part.mixture_safe.admits(self.held[name])
        spoilt = np.zeros(self.count, dtype=bool)
        np.logical_or.at(spoilt, self.labels, bad[self.batch])
        return looks & ~spoilt

    @property
    def smallest_count(self) -> int | None:
        """Batches are published as counts."""
        return min(int(bags.weights.min()) for bags in self.held.values())

    def source_bags(self, name: str) -> tuple[Ints, Groups]:
        """A record's value is drawn from its batch."""
        return self.batch, self.held[name]

    @property
    def batch_sizes(self) -> Ints:
        """Values per batch."""
        return next(iter(self.held.values())).sizes

    @cached_property
    def batch_people(self) -> Ints:
        """People per batch."""
        return np.bincount(self.batch, minlength=len(self.batch_sizes))

    @property
    def nobodys(self) -> int:
        """The values that are left when everybody has one."""
        return int(self.batch_sizes.sum()) - len(self.batch)

    @cached_property
    def references(self) -> tuple[Ints, Ints, Ints]:
        """The distinct pairs of group and batch, and how many records each has."""
        many = len(self.batch_sizes)
        pairs, counts = np.unique(self.labels * many + self.batch, return_counts=True)
        return pairs // many, pairs % many, counts

    def _read_bags(self, name: str) -> Groups:
        """Mix the batches of each group in the proportion of its records (Equation 2)."""
        box, batch, records = self.references
        sizes = self.batch_sizes[batch]
        # how many parts of a record go to each person of its batch
        parts = find_common_units(box, sizes, self.records_here)[box] // sizes
        return self.held[name].mix(batch, box, records * parts, self.count)

    def _compare_values(self, matches: Matches, data: Microdata) -> list[str]:
        """Boxes and records show no values; their people must find theirs in the batches."""
        findings = []
        for names in list_told(self.release).values():
            key, told = name_told(names), ", ".join(names)
            own = number_told(self.release, data, names, self.held)
            foreign = [f"the published values of {told} are not those of the people"]
            if has_counts(own, self.held[key].total, self.nobodys):
                foreign = [text.replace(key, told) for text in self._place(matches, key, own)]
            findings += foreign
        return findings

    @abstractmethod
    def _place(self, matches: Matches, name: str, own: Ints) -> list[str]:
        """Say if people cannot have their values in the batches that may be theirs."""

    @abstractmethod
    def list_batches(self, matches: Matches, sets: Ints) -> pl.DataFrame:
        """List the batches that records of some sets refer to: set, batch, number of records w."""

    def disclose(self, found: list[Matches], observed: Observed) -> Disclosure:
        """Give the batches that all tables leave possible."""
        return disclose_batches(self, found, observed)


@dataclass(frozen=True, eq=False)
class BatchedRecords(BatchedView, RecordView):
    """Exact records, told apart; a group is a batch."""

    @cached_property
    def sizes(self) -> Ints:
        """Values per batch."""
        return self.batch_sizes

    @property
    def counterfeits(self) -> Ints:
        """What is left of a batch when its people have theirs."""
        return self.batch_sizes - self.batch_people

    def _look_alike(self, people: int) -> Bools:
        return np.full(self.count, people <= 1)

    def _read_bags(self, name: str) -> Groups:
        return self.held[name]

    def _place(self, matches: Matches, name: str, own: Ints) -> list[str]:
        return compare_groups(matches, name, own)

    def list_batches(self, matches: Matches, sets: Ints) -> pl.DataFrame:
        """Records that show a person's values refer to so many of each batch."""
        place, batch = matches.list_options(sets)
        return pl.DataFrame({"set": place, "batch": batch, "w": matches.list_likelihoods(sets)})


@dataclass(frozen=True, eq=False)
class BatchedBoxes(BatchedView, BoxView):
    """The boxes of one generalized table."""

    deals_values: ClassVar[bool] = False  # a box mixes batches, of which it has known parts

    @cached_property
    def _in_all(self) -> dict[str | None, Groups]:
        """What boxes hold in all, where records of them are elsewhere."""
        for find in self.release.shares.values():
            return read_shares(self, find(spell_boxes(self)))
        return {}

    @cached_property
    def sizes(self) -> Ints:
        """Records per box, those included that are elsewhere."""
        return self._in_all[None].sizes if self._in_all else self.records_here

    def _read_bags(self, name: str) -> Groups:
        return self._in_all[name] if self._in_all else super()._read_bags(name)

    def list_shares(self) -> pl.DataFrame:
        """List what batches hold of the boxes."""
        return list_shares(self)

    def _look_alike(self, people: int) -> Bools:
        return self.sizes >= people

    def list_batches(self, matches: Matches, sets: Ints) -> pl.DataFrame:
        """All records of a person's box may be theirs."""
        place, group = matches.list_options(sets)
        box, batch, records = self.references
        refers = pl.DataFrame({"box": box, "batch": batch, "w": records})
        options = pl.DataFrame({"set": place, "box": group}).join(refers, on="box")
        return options.group_by("set", "batch").agg(pl.col("w").sum())

    @property
    def boxes_may_overlap(self) -> bool:
        """Whoever knows a person's box must not be told another."""
        return False

    def _place(self, matches: Matches, name: str, own: Ints) -> list[str]:
        if not is_foreign(self, matches, name, own):
            return []
        return [f"the published values of {name} are not those of the people"]

    def join(self, found: Sequence[Matches]) -> Matches | None:
        """Put the tables together by the batches they refer to; one by itself adds nothing."""
        if len(found) == 1:
            return None
        linked = [matches for matches in found if refers_to_batches(matches)]
        return linked[0] if len(linked) == 1 else self.deal(linked)

    def deal(self, found: Sequence[Matches]) -> Matches | None:
        """A batch has as many places in each box as records of it refer to the batch."""
        return join_tables(self.dealing, [m for m in found if refers_to_batches(m)])

    @property
    def dealing(self) -> View:
        """The batches are such."""
        return BatchedRecords(self.release, self.table, self.batch, self.batch, self.held)

    def word_check(self, part: Principle) -> str:
        """What a release of several tables promises of people is said of each table."""
        several = len(self.release.shown) > 1 and part.look_alikes > 1
        return f"{part}, table by table" if several else super().word_check(part)


def read_batched(release: Release) -> list[View]:
    """Read the batches once, then the boxes of every generalized table."""
    told = list_told(release)
    titles = [title for title in release.tables if title not in (*told, COUNTERFEITS)]
    apart = sum(title.startswith(PROJECTION) for title in titles)
    linked = [number_title(GENERALIZED, i) for i in range(max(len(titles) - apart, 1))]
    projections = [number_title(PROJECTION, i) for i in range(apart)]
    if not told or titles != [*linked, *projections]:
        raise StoreError(
            f"A release by {release.method} has the tables {[BATCHES, *linked, *projections]}, not "
            f"{list(release.tables)}."
        )
    if projections and COUNTERFEITS in release.tables:
        raise StoreError("Of tables that refer to no batch it is not known whose records they are.")
    numbers, held = read_batches(release)
    views = [_read_boxes(release, title, numbers, held) for title in linked]
    for title in projections:
        views.append(read_projection(release, title))
        if views[-1].table.height != views[0].table.height:
            raise StoreError(f"The table {title!r} has not a record of everybody.")
    unseen = set(release.schema.quasi_identifiers) - {n for s in release.shown.values() for n in s}
    if unseen:
        raise StoreError(f"No table shows {min(unseen)!r}, which the release declares.")
    return views


def _read_boxes(release: Release, title: str, numbers: Ints, held: dict[str, Groups]) -> View:
    table, own = release.tables[title], release.own(BATCH)
    known = release.schema.quasi_identifiers
    names = [n for n in known if n in table.columns]
    shares = {title: release.shares[title]} if title in release.shares else {}
    view = replace(release, schema=release.schema.only([*names, *release.schema.sensitive]),
                   shares=shares)  # fmt: skip
    if sorted(table.columns) != sorted([*box_columns(view), own]) or not names:
        raise StoreError(f"The table {title!r} has undeclared columns, or lacks some.")
    if not table[own].dtype.is_integer() or table[own].null_count():
        raise StoreError(f"The table {title!r} has batches that are not whole numbers.")
    batch = np.searchsorted(numbers, table[own].to_numpy())
    if (numbers[np.minimum(batch, len(numbers) - 1)] != table[own].to_numpy()).any():
        raise StoreError(f"The table {title!r} refers to a batch that is not there.")
    held_there = next(iter(held.values())).sizes
    fakes = place_counterfeits(release, BATCH, numbers, held_there)
    sizes = np.bincount(batch, minlength=len(numbers)) + fakes
    if any(not np.array_equal(sizes, bags.sizes) for bags in held.values()):
        raise StoreError(f"The table {title!r} has not as many records per batch as it holds.")
    exact = {view.recodings[name].transformation is Transformation.EXACT for name in names}
    if exact == {True, False}:
        raise StoreError(f"The table {title!r} mixes exact and generalized columns.")
    if exact == {True}:
        shown = table.select(pl.struct(names).rank("dense")).to_series().to_numpy()
        _refuse_order(title, shown, batch)
        return BatchedRecords(view, table, batch.astype(np.int64), batch.astype(np.int64), held)
    labels, boxes = number_boxes(view, table)
    _refuse_order(title, labels, batch)
    return BatchedBoxes(view, table, labels, boxes, batch.astype(np.int64), held)


def _refuse_order(title: str, labels: NDArray[np.integer], batch: NDArray[np.integer]) -> None:
    """Rows that look the same stand together, by batch: an order of people would link tables."""
    runs = np.append(True, np.diff(labels) != 0)
    apart = int(runs.sum()) > len(np.unique(labels))
    if apart or ((np.diff(batch) < 0) & ~runs[1:]).any():
        raise StoreError(f"The rows of {title!r} are not in the order of what they show.")
