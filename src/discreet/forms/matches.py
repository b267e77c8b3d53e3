"""Candidates: for each person, the published records that may be theirs.

The adversary knows all quasi-identifiers of the person and that the person is in the table. The
person's record is then one of those whose box covers the person.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.forms.matching import distinct_people, match_boxes, match_buckets
from discreet.forms.sliced.view import Slices
from discreet.forms.verify import Classes
from discreet.principles.groups import Groups
from discreet.release import Release
from discreet.table.domain import reduce_column
from discreet.table.microdata import Microdata


@dataclass(frozen=True, eq=False)
class Candidates:
    """People who face the same set of groups share one number in ``of``; -1 means no group."""

    of: NDArray[np.int64]
    sets: list[tuple[int, ...]]
    """Per candidate set its groups."""
    records: NDArray[np.int64]
    """Per candidate set how many records may be a person's."""
    classes: Classes
    first: NDArray[np.int64] | None = None
    """Where records are exact, per candidate set the first row of the table that shows it."""
    per_group: NDArray[np.int64] | None = None
    """Where records are exact, how many each set has in each of its groups, set after set."""
    times: NDArray[np.int64] | None = None
    """Where groups are not equally likely, how likely each of a set is, set after set."""

    @property
    def release(self) -> Release:
        """What these candidates were read from: the release, as far as one table shows it."""
        return self.classes.release

    def shown_to(self, people: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Give the row of the table that shows each of these people."""
        assert self.first is not None
        return self.first[self.of[people]]

    @cached_property
    def believed(self) -> dict[str, Groups]:
        """Per sensitive attribute, what is believed about the people of each candidate set.

        Boxes that fit are poured together. Where records show exact values and a person's are in
        several groups, the belief is a mixture; the worst of the groups bounds it.
        """
        return {name: self._believe(name) for name in self.release.schema.sensitive}

    @property
    def pools(self) -> bool:
        """Whether the groups that may be a person's are believed together."""
        return self.classes.boxes is not None or self.times is not None

    def _believe(self, name: str) -> Groups:
        bags, every = self.classes.bags(name), np.arange(len(self.sets))
        if self.pools:
            owner, group, times, _ = self.weigh_options(bags, every)
            return bags.pour(group, owner, times, len(every))
        shares = bags.largest / bags.sizes
        worst = np.array([max(groups, key=shares.__getitem__) for groups in self.sets])
        return bags.pour(worst, every, np.ones_like(worst), len(every))

    @cached_property
    def _listed(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """How many groups each candidate set has, and all of them one set after the other."""
        sizes = np.fromiter(map(len, self.sets), np.int64, len(self.sets))
        return sizes, np.fromiter(chain.from_iterable(self.sets), np.int64, int(sizes.sum()))

    def list_options(self, of: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """List some candidate sets (-1 is none), group by group: place in the list, and group."""
        return self._list(of, self._listed[1])

    def _list(
        self, of: NDArray[np.int64], per_group: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        sizes = self._listed[0]
        seen = np.flatnonzero(of >= 0)
        lengths = sizes[of[seen]]
        # where each set starts, plus a running count
        starts = np.repeat((np.cumsum(sizes) - sizes)[of[seen]], lengths)
        running = np.arange(len(starts)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return np.repeat(seen, lengths), per_group[starts + running]

    def list_records(self, of: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the records of some candidate sets in each of their groups, as these are listed."""
        assert self.per_group is not None
        return self._list(of, self.per_group)[1]

    def weigh_options(self, bags: Groups, of: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """List some candidate sets, group by group, and by how much every entry of its bag counts.

        The only place that weighs groups. An entry of a bag counts by how likely it is a person's:
        records that boxes cover, each as likely; of exact records, by how many of those that show
        the person's values refer to the bag, whoever of it they are; of slices, by how often the
        other columns have the person's values beside it, which each of its rows has for itself.
        Gives place in the list, group, and the weight exactly, as numerator and denominator.
        """
        place, group = self.list_options(of)
        ones = np.ones_like(group)
        if self.times is not None:
            return place, group, self._list(of, self.times)[1], ones
        if self.per_group is not None:
            return place, group, self.list_records(of), bags.sizes[group]
        return place, group, ones, ones

    def admits_each(self, good: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Per candidate set whether every one of its groups is good."""
        return np.array([bool(good[list(groups)].all()) for groups in self.sets], dtype=bool)

    @property
    def several(self) -> NDArray[np.bool_]:
        """Per person whether more than one group may be theirs."""
        many = np.array([len(groups) > 1 for groups in self.sets] + [False])
        return many[self.of]

    @property
    def group_of(self) -> NDArray[np.int64]:
        """Per person the first group that may be theirs; -1 if none."""
        first = np.array([groups[0] for groups in self.sets] + [-1], dtype=np.int64)
        return first[self.of]


def look_up(bags: Groups, place: NDArray[np.int64], own: NDArray[np.int64]) -> NDArray[np.int64]:
    """Find the entry of a code in a bag, for many at once; -1 where the bag does not have it."""
    size = bags.domain.size
    keys = bags.owners * size + bags.codes
    wanted = place * size + own
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where((keys[at] == wanted) & (place >= 0) & (own >= 0), at, -1)


def find_candidates(classes: Classes, data: Microdata) -> Candidates:
    """Match every person of the microdata with the groups that one table shows."""
    release = classes.release
    if isinstance(classes, Slices):
        return _find_sliced(classes, data)
    if classes.boxes is None:
        return _find_exact(release, data, classes)
    people, person_of = distinct_people(data, release.schema.quasi_identifiers)
    pairs = match_boxes(release, data, classes.boxes, release.schema.quasi_identifiers, people)
    sets, set_of = _gather_sets(pairs, len(people))
    records = np.array([int(classes.sizes[list(groups)].sum()) for groups in sets], dtype=np.int64)
    return Candidates(set_of[person_of], sets, records, classes)


def _find_sliced(classes: Slices, data: Microdata) -> Candidates:
    """Match people with the parts of buckets that may hold them; each looks for themselves."""
    person, found = match_buckets(classes, data)
    pairs = found.select("person", "group").to_numpy()
    numbers, starts = np.unique(pairs[:, 0], return_index=True)
    sets = (
        [tuple(part.tolist()) for part in np.split(pairs[:, 1], starts[1:])] if len(pairs) else []
    )
    place = np.full(int(person.max()) + 1, -1, dtype=np.int64)
    place[numbers] = np.arange(len(numbers))
    sizes = classes.bucket_sizes[classes.bucket_of[pairs[:, 1]]]
    records = np.add.reduceat(sizes, starts) if len(pairs) else np.zeros(0, dtype=np.int64)
    return Candidates(place[person], sets, records, classes, times=found["times"].to_numpy())


def _find_exact(release: Release, data: Microdata, classes: Classes) -> Candidates:
    """Match people with the records that show exactly their quasi-identifiers."""
    names = release.schema.quasi_identifiers
    shown = {}
    for name in names:
        codes, domain = reduce_column(classes.table[name], release.schema[name]).encode(None)
        shown[name] = data.domains[name].find(domain.texts).astype(np.int32)[codes]
    both = pl.concat([pl.DataFrame({n: data.codes[n] for n in names}), pl.DataFrame(shown)])
    number = both.select(pl.struct(names).rank("dense")).to_series().to_numpy().astype(np.int64)
    people, records = number[: data.n] - 1, number[data.n :] - 1
    pairs, counts = np.unique(np.stack([records, classes.labels], 1), axis=0, return_counts=True)
    sets, set_of = _gather_sets(pairs, int(number.max()))
    found = np.zeros(int(number.max()), dtype=np.int64)
    np.add.at(found, pairs[:, 0], counts)
    # one candidate set per combination of quasi-identifiers that some record shows
    shown_somewhere = np.unique(people[set_of[people] >= 0])
    place = np.full(int(number.max()), -1, dtype=np.int64)
    place[shown_somewhere] = np.arange(len(shown_somewhere))
    first = np.full(int(number.max()), -1, dtype=np.int64)
    first[records[::-1]] = np.arange(len(records))[::-1]
    return Candidates(
        place[people],
        [sets[s] for s in set_of[shown_somewhere]],
        found[shown_somewhere],
        classes,
        first[shown_somewhere],
        counts[np.isin(pairs[:, 0], shown_somewhere)],
    )


def _gather_sets(
    pairs: NDArray[np.int64], people: int
) -> tuple[list[tuple[int, ...]], NDArray[np.int64]]:
    """Number the distinct sets of groups; -1 for people no box covers."""
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    counts = np.bincount(pairs[:, 0], minlength=people)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    number: dict[tuple[int, ...], int] = {}
    set_of = np.full(people, -1, dtype=np.int64)
    single = np.flatnonzero(counts == 1)
    groups, inverse = np.unique(pairs[starts[single], 1], return_inverse=True)
    for group in groups.tolist():
        number[(group,)] = len(number)
    set_of[single] = inverse
    for person in np.flatnonzero(counts > 1):
        several = tuple(pairs[starts[person] : starts[person] + counts[person], 1].tolist())
        set_of[person] = number.setdefault(several, len(number))
    return list(number), set_of
