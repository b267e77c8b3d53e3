"""The puzzle: kinds of people, and the groups of several releases that may be theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet.auditing.worlds.component import CandidateGroup, TiedKinds, Ways, shrink
from discreet.auditing.worlds.counting import MOST_KINDS, Effort, TooManyError
from discreet.auditing.worlds.estimating import estimate_kinds
from discreet.forms.matches import Matches
from discreet.principles.groups import Groups
from discreet.table.arrays import Bools, Ints, count_runs, number_lists
from discreet.table.domain import Domain
from discreet.table.microdata import representatives, row_ids

MOST_EFFORT, MOST_EFFORT_EACH = 60_000_000, 3_000_000
"""Slots that are copied to count the worlds of all components, the smallest first, and of each:
seconds, however large a table is."""
BEYOND = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False)
class Sighting:
    """One release before all of its people."""

    matches: Matches
    """With groups that hold the values of their people, and no others."""
    people: Ints
    """Per person of its table, their number among all people of all releases."""

    @property
    def is_whole(self) -> bool:
        """Whether everybody of the table is in the release, and nobody else."""
        found, view = self.matches, self.matches.view
        if (found.set_of < 0).any() or int(view.people.sum()) != len(self.people):
            return False
        return found.pools_groups or bool((found.people == found.records).all())

    @cached_property
    def options(self) -> Matches:
        """The candidate sets, and one more for the counterfeits of each group that has some."""
        found, fakes = self.matches, self._fakes
        if not len(fakes):
            return found
        ends = found.offsets[-1] + 1 + np.arange(len(fakes))
        cells, room = found.cells, found.room
        if cells is not None and room is not None:
            # they stand in no table: their groups have as many more places in each
            nowhere = len(room) + np.arange(cells.shape[1] * len(fakes))
            cells = np.concatenate([cells, nowhere.reshape(len(fakes), -1)])
            room = np.append(room, np.repeat(found.view.counterfeits[fakes], cells.shape[1]))
        return replace(
            found, cells=cells, room=room,
            offsets=np.append(found.offsets, ends), groups=np.append(found.groups, fakes),
            likelihood=np.append(found.likelihood, np.ones_like(fakes)),
            records=np.append(found.records, found.view.sizes[fakes]),
        )  # fmt: skip

    @cached_property
    def _fakes(self) -> Ints:
        return np.flatnonzero(self.matches.view.counterfeits)

    def list_counterfeits(self) -> tuple[Ints, Ints]:
        """Give the candidate sets of counterfeits, and how many there are of each."""
        sets = self.matches.count + np.arange(len(self._fakes))
        return sets, self.matches.view.counterfeits[self._fakes]

    @cached_property
    def cells(self) -> tuple[Ints, Ints]:
        """Per option the places it takes, a row each; and how many there are of each place.

        Where groups show no more than that people are in them, their values say how many.
        """
        found = self.options
        if not found.pools_groups:
            return np.arange(len(found.groups))[:, None], found.likelihood
        if found.cells is None or found.room is None:
            return np.zeros((len(found.groups), 0), dtype=np.int64), np.zeros(0, dtype=np.int64)
        return found.cells, found.room


@dataclass(frozen=True, eq=False)
class Told:
    """What some releases tell of everybody, kind by kind of people who look the same to all."""

    kind_of: Ints
    """Per person their kind; -1 where no release has them."""
    people: Ints
    """Per kind how many people it has."""
    sets: Ints
    """Per kind and release the candidate set; -1 where the release does not have them."""
    bags: Groups
    """Per kind its values, each by the worlds in which somebody has it, or as estimated."""
    counted: Bools
    """Per kind whether that was counted."""
    most: Ints
    """Per entry of the bags how many people of the kind can have the value, if it was not."""
    unlisted: Ints
    """Per kind how many can have the same of the values that are not in its bag, if it was not."""


def tell_worlds(sights: list[Sighting], name: str, domain: Domain, people: int) -> Told:
    """Say what some releases tell together of a sensitive attribute of so many people.

    Raises ``NoWorldError`` where they cannot all be true.
    """
    sets = np.full((people, len(sights)), -1, dtype=np.int64)
    for place, sight in enumerate(sights):
        sets[sight.people, place] = sight.matches.set_of
    there = np.flatnonzero((sets >= 0).any(axis=1))
    number = row_ids(list(sets[there].T + 1), len(there))
    kind_of = np.full(people, -1, dtype=np.int64)
    kind_of[there] = number
    kinds, many = [sets[there][representatives(number)]], [np.bincount(number)]
    for place, sight in enumerate(sights):
        own, counts = sight.list_counterfeits()
        fakes = np.full((len(own), len(sights)), -1, dtype=np.int64)
        fakes[:, place] = own
        kinds.append(fakes)
        many.append(counts)
    puzzle = Puzzle(sights, name, domain, np.concatenate(kinds), np.concatenate(many))
    return puzzle.solve(kind_of)


class Puzzle:
    """Kinds of people, and the groups that may be theirs."""

    def __init__(
        self, sights: list[Sighting], name: str, domain: Domain, kinds: Ints, people: Ints
    ) -> None:
        self.sights, self.name, self.domain = sights, name, domain
        self.kinds, self.people = kinds, people
        self.bags = [sight.matches.view.bags(name) for sight in sights]
        self.codes = [domain.find(bags.domain.texts)[bags.codes] for bags in self.bags]

    @cached_property
    def component(self) -> Ints:
        """Per kind the number of its component.

        Groups of a candidate set belong together, then sets of a kind: none is listed twice.
        """
        from discreet.kernels.options import connect

        tied = [connect(sight.options.offsets, sight.options.groups[:, None], bags.count)
                for sight, bags in zip(self.sights, self.bags, strict=True)]  # fmt: skip
        count = np.cumsum([0, *(int(part.max(initial=-1)) + 1 for part in tied)])
        seen = self.kinds >= 0
        cells = np.stack([
            np.append(part, -1)[sets] + start
            for part, sets, start in zip(tied, self.kinds.T, count[:-1], strict=True)
        ], axis=1)  # fmt: skip
        offsets = np.append(0, np.cumsum(seen.sum(axis=1)))
        return np.asarray(connect(offsets, cells[seen][:, None], int(count[-1])))

    def list_places(self, release: int, sets: int) -> list[CandidateGroup]:
        """List the groups of a candidate set."""
        found, bags = self.sights[release].options, self.bags[release]
        places = []
        for option in range(int(found.offsets[sets]), int(found.offsets[sets + 1])):
            group = int(found.groups[option])
            entries = slice(int(bags.offsets[group]), int(bags.offsets[group + 1]))
            codes, weights = self.codes[release][entries].tolist(), bags.weights[entries].tolist()
            cells = self.sights[release].cells[0][option].tolist()
            places.append(
                CandidateGroup(release, group, dict(zip(codes, weights, strict=True)), cells)
            )
        return places

    def solve(self, kind_of: Ints) -> Told:
        """Look at every component in the cheapest way that is exact, and estimate the rest."""
        plain = self._find_plain()
        counted, unlisted = plain.copy(), np.zeros_like(self.people)
        found = [(*entries, self.people[entries[0]]) for entries in self._take_bags(plain)]
        if not plain.all():
            entries = np.array([*self._count(~plain)], dtype=np.int64).reshape(-1, 3)
            counted[entries[:, 0]] = True
            found.append((*entries.T, self.people[entries[:, 0]]))
            rest = np.flatnonzero(~counted)
            if len(rest):
                estimated, unlisted[rest] = estimate_kinds(self, rest)
                found.append(estimated)
        kind, code, weight, most = (np.concatenate(part) for part in zip(*found, strict=True))
        real = int(kind_of.max()) + 1  # behind these are counterfeits, about whom nobody asks
        order = np.lexsort((code, kind))
        order = order[kind[order] < real]
        bags = Groups.from_entries(
            kind[order], code[order].astype(np.int32), weight[order], self.domain
        )
        return Told(kind_of, self.people[:real], self.kinds[:real], bags, counted[:real],
                    most[order], unlisted[:real])  # fmt: skip

    def _count(self, chosen: Bools) -> Iterator[tuple[int, int, int]]:
        """Count the worlds of components of some kinds; list kind, code and weight."""
        known: dict[object, Ways | None] = {}
        effort = Effort(MOST_EFFORT, MOST_EFFORT_EACH)
        for members in self._list_components(chosen):
            # the others are as large or larger
            if effort.is_over or len(members) > MOST_KINDS:
                return
            try:
                component = TiedKinds(self, members)
                key = component.key
                if key not in known:
                    known[key] = None
                    known[key] = component.count(effort)
                ways = known[key]
            except TooManyError:
                ways = None
            if ways is None:
                continue
            for member, worlds in zip(members.tolist(), ways, strict=True):
                for value, weight in shrink(worlds).items():
                    yield member, component.values[value], weight

    def _find_plain(self) -> Bools:
        """Per kind whether its component is one group, or all of it hold the same, each as often.

        Even bags are numbered by what they hold.
        """
        lowest, highest, ends, first = [], [], [], 0
        for sight, bags, number in zip(self.sights, self.bags, self._number_even(), strict=True):
            found = sight.options
            starts, looks = found.offsets[:-1], number[found.groups]
            lowest.append(np.minimum.reduceat(looks, starts))
            highest.append(np.maximum.reduceat(looks, starts))
            ends.append((found.groups[starts] + first, found.groups[found.offsets[1:] - 1] + first))
            first += bags.count
        one = self._is_one([low for low, _ in ends], [high for _, high in ends])
        return one | self._is_one(lowest, highest)

    def _number_even(self) -> list[Ints]:
        """Per release a number of what each of its bags holds; -1 where not all of it equally."""
        sorted_codes = [told[np.lexsort((told, bags.owners))]  # domains may have another order
                        for bags, told in zip(self.bags, self.codes, strict=True)]  # fmt: skip
        lengths = np.concatenate([bags.distinct for bags in self.bags])
        offsets = np.append(0, np.cumsum(lengths))
        number = number_lists(offsets, np.concatenate(sorted_codes))[0]
        ends = np.cumsum([bags.count for bags in self.bags])[:-1]
        return [
            np.where(bags.largest * bags.distinct == bags.sizes, own, -1)
            for bags, own in zip(self.bags, np.split(number, ends), strict=True)
        ]

    def _is_one(self, lowest: list[Ints], highest: list[Ints]) -> Bools:
        """Per kind whether the groups of its component have one number, and that is not -1.

        Per release and candidate set there are the lowest and the highest of them.
        """
        count = int(self.component.max()) + 1
        low, high = np.full(count, BEYOND), np.full(count, -1)
        for least, most, sets in zip(lowest, highest, self.kinds.T, strict=True):
            here = np.flatnonzero(sets >= 0)
            np.minimum.at(low, self.component[here], least[sets[here]])
            np.maximum.at(high, self.component[here], most[sets[here]])
        return np.asarray(((low == high) & (low >= 0))[self.component])

    def _take_bags(self, plain: Bools) -> list[tuple[Ints, Ints, Ints]]:
        """List the entries of a bag of each of some kinds, of the first release that has them."""
        parts = []
        for j, bags in enumerate(self.bags):
            here = np.flatnonzero(plain & (self.kinds[:, j] >= 0))
            plain = plain & (self.kinds[:, j] < 0)
            found = self.sights[j].options
            which, entry = bags.entries_of(found.groups[found.offsets[self.kinds[here, j]]])
            parts.append((here[which], self.codes[j][entry].astype(np.int64), bags.weights[entry]))
        return parts

    def _list_components(self, chosen: Bools) -> list[Ints]:
        """List the kinds of every component of some kinds, the smallest first."""
        kinds = np.flatnonzero(chosen)
        order = kinds[np.argsort(self.component[kinds], kind="stable")]
        _, sizes = count_runs(self.component[order])
        ends = np.cumsum(sizes)
        return [order[ends[c] - sizes[c] : ends[c]] for c in np.argsort(sizes, kind="stable")]
