"""Matches: for each person, the published groups that may be theirs, and how likely each is.

The adversary knows all quasi-identifiers of the person and that the person is in the table.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.forms.assignments import Chances, Places, count_chances
from discreet.principles.groups import Groups
from discreet.table.arrays import (
    Bools,
    Floats,
    Ints,
    gather_lists,
    number_by_sorting,
    number_lists,
)

if TYPE_CHECKING:
    from discreet.forms.base import View
    from discreet.release import Release

FINE = 2**40
"""Likelihoods are rounded to so many parts of the largest."""


class Parts(NamedTuple):
    """Parts of a table that are known: nobody is in a group of another one; -1 is one, too."""

    people: Ints
    """Per person the number of their part."""
    groups: Ints
    """Per group that of its people."""


@dataclass(frozen=True, eq=False)
class Matches:
    """Candidate sets: people who face the same groups, equally likely, share one.

    Set ``s`` has the groups ``groups[offsets[s]:offsets[s + 1]]``, ascending.
    """

    view: View
    set_of: Ints
    """Per person the candidate set; -1 where no group may be theirs."""
    offsets: Ints
    groups: Ints
    likelihood: Ints
    """How likely each group of a set is, beside the others."""
    records: Ints
    """Per set how many records may be a person's."""
    pools_groups: bool = True
    """Whether a likelihood is of every entry of a group's bag, so that bags are mixed;
    else it counts records that show a person's values, whichever entry of the bag is whose."""
    first: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Where records are exact, per set the first row of the table that shows it."""
    alike: Ints | None = None
    """Per option how many pieces of the group look the same, of which one would be the person's;
    ``None`` where all of a group do."""
    cells: Ints | None = None
    """Per option the cells of the group that a person would be in, numbered; ``None`` where that is
    the group."""
    room: Ints | None = None
    """Per cell how many people are in it."""

    @property
    def release(self) -> Release:
        """What was matched with: the release, as far as one table shows it."""
        return self.view.release

    def tells(self, name: str) -> bool:
        """Whether the table says anything of a sensitive attribute."""
        return name in self.release.schema.names

    @property
    def count(self) -> int:
        """Number of candidate sets."""
        return len(self.offsets) - 1

    @cached_property
    def sizes(self) -> Ints:
        """How many groups each set has."""
        return np.diff(self.offsets)

    @cached_property
    def chances(self) -> Chances:
        """How likely groups are to somebody who knows the quasi-identifiers of everybody.

        It is counted where several groups may be somebody's, and all entries of them.
        """
        if not self.pools_groups:
            return Chances(self.sizes == 1, {})
        cells = self.groups[:, None] if self.cells is None else self.cells
        room = self.view.people if self.room is None else self.room
        return count_chances(Places(self.people, self.offsets, cells, room))

    @cached_property
    def people(self) -> Ints:
        """Per set how many people it has."""
        return np.bincount(self.set_of[self.set_of >= 0], minlength=self.count)

    @cached_property
    def crowds(self) -> Ints:
        """Per set among how many people somebody is hidden, at least.

        No record is a person's with a chance above one in so many, to whoever knows everybody's
        quasi-identifiers; and of pieces, what all of them together show is shared by so many. Where
        it was not counted which group it is, it may be the smallest.
        """
        if not self.pools_groups or not self.count:
            return self.records
        alike = self.view.people[self.groups] if self.alike is None else self.alike
        crowds = np.minimum.reduceat(alike, self.offsets[:-1])
        risks: dict[int, Fraction] = {}
        for option, share in self.chances.shares.items():
            c = int(np.searchsorted(self.offsets, option, side="right")) - 1
            risks[c] = max(risks.get(c, Fraction(0)), share / int(alike[option]))
        for c, risk in risks.items():
            crowds[c] = 1 / risk
        if self.alike is not None:  # pieces put together show who has all of them
            crowds = np.minimum(crowds, self.people)
        return np.asarray(crowds)

    @property
    def several(self) -> Bools:
        """Per person whether more than one group may be theirs."""
        return np.append(self.sizes > 1, False)[self.set_of]

    @cached_property
    def only(self) -> Ints:
        """Per set its group, where it has one; else -1."""
        return np.where(self.sizes == 1, self.groups[self.offsets[:-1]], -1)

    @property
    def group_of(self) -> Ints:
        """Per person the first group that may be theirs; -1 if none."""
        return np.append(self.groups[self.offsets[:-1]], -1)[self.set_of]

    def shown_to(self, people: Bools) -> Ints:
        """Give the row of the table that shows each of these people, where records are exact."""
        return self.first[self.set_of[people]]

    def list_options(self, sets: Ints) -> tuple[Ints, Ints]:
        """List some candidate sets (-1 is none), group by group: place in the list, and group."""
        place, option = self._list(sets)
        return place, self.groups[option]

    def list_likelihoods(self, sets: Ints) -> Ints:
        """Give how likely each group of some sets is, in the order of these."""
        return self.likelihood[self._list(sets)[1]]

    def _list(self, sets: Ints) -> tuple[Ints, Ints]:
        seen = np.flatnonzero(sets >= 0)
        lengths = self.sizes[sets[seen]]
        # where each set starts, plus a running count
        starts = np.repeat(self.offsets[:-1][sets[seen]], lengths)
        running = np.arange(len(starts)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return np.repeat(seen, lengths), starts + running

    def weigh_options(self, bags: Groups, sets: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """List some candidate sets, group by group, and by how much every entry of its bag counts.

        The only place that weighs groups. An entry of a bag counts by how likely it is a person's:
        records that boxes cover, each as likely; of exact records, by how many of those that show
        the person's values refer to the bag, whoever of it they are; of slices, by how often the
        other columns have the person's values beside it, which each of its rows has for itself.
        Gives place in the list, group, and the weight exactly, as numerator and denominator.
        """
        place, option = self._list(sets)
        group = self.groups[option]
        among = np.ones_like(group) if self.pools_groups else bags.sizes[group]
        return place, group, self.likelihood[option], among

    def pool(self, name: str, sets: Ints) -> Groups:
        """Mix the bags of the groups that may be a person's, of some sets.

        That is what is believed by somebody who knows nobody else's quasi-identifiers.
        """
        bags = self.view.bags(name)
        owner, group, times, _ = self.weigh_options(bags, sets)
        return bags.mix(group, owner, times, len(sets))

    def parted(self, parts: Parts) -> Matches:
        """Give the same to who knows in which part everybody and every group is.

        Whoever is left with no group is in no candidate set.
        """
        if self._is_parted(parts):
            return self
        size = int(max(parts.people.max(initial=0), parts.groups.max(initial=0))) + 2
        pairs, set_of = number_by_sorting((self.set_of + 1) * size + parts.people + 1)
        owner = np.repeat(np.arange(self.count), self.sizes)
        keys = (owner + 1) * size + parts.groups[self.groups] + 1
        order = np.argsort(keys, kind="stable")
        first, end = (np.searchsorted(keys[order], pairs, side) for side in ("left", "right"))
        left = np.flatnonzero(end > first)
        lengths = (end - first)[left]
        offsets = np.append(0, np.cumsum(lengths))
        running = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
        option = order[np.repeat(first[left], lengths) + running]
        moved = np.full(len(pairs), -1, dtype=np.int64)
        moved[left] = np.arange(len(left))
        sets = pairs[left] // size - 1
        return replace(
            self, set_of=moved[set_of], offsets=offsets,
            groups=self.groups[option], likelihood=self.likelihood[option],
            records=self.records[sets], first=self.first[sets] if len(self.first) else self.first,
            alike=None if self.alike is None else self.alike[option],
            cells=None if self.cells is None else self.cells[option],
        )  # fmt: skip

    def _is_parted(self, parts: Parts) -> bool:
        """Whether everybody of a candidate set and all of its groups are in one part."""
        seen = self.set_of >= 0
        sets, own = self.set_of[seen], parts.people[seen]
        of_set = np.full(self.count, -1, dtype=np.int64)
        of_set[sets] = own
        if (of_set[sets] != own).any():
            return False
        return bool((parts.groups[self.groups] == np.repeat(of_set, self.sizes)).all())

    def match_all(self, name: str, sets: Ints) -> Groups:
        """Mix them by how often each is a person's, of some counted sets, if everybody is placed.

        That is what is believed by somebody who knows everybody's quasi-identifiers.
        """
        bags = self.view.bags(name)
        owner, option, times = self.chances.weigh(self.offsets, bags.sizes[self.groups], sets)
        return bags.mix(self.groups[option], owner, times, len(sets))

    def admits_each(self, good: Bools) -> Bools:
        """Per candidate set whether every one of its groups is good."""
        if not self.count:
            return np.zeros(0, dtype=bool)
        return np.logical_and.reduceat(good[self.groups], self.offsets[:-1])


@dataclass(frozen=True, eq=False)
class Cases:
    """People who face the same groups and have the same value are one case."""

    of: Ints
    """Per person the case."""
    sets: Ints
    codes: Ints
    """Per case the candidate set and the value; -1 is none."""

    @staticmethod
    def sort(set_of: Ints, own: Ints, size: int) -> Cases:
        """Sort people by candidate set and by their own code, of so many."""
        keys = (set_of + 1) * (size + 1)
        keys += own
        keys += 1
        pairs, of = number_by_sorting(keys)
        return Cases(of, pairs // (size + 1) - 1, pairs % (size + 1) - 1)

    def taken(self, some: Ints) -> Cases:
        """Give some of the cases, and nobody's."""
        return Cases(self.of[:0], self.sets[some], self.codes[some])

    @property
    def people(self) -> Ints:
        """Per case how many people it has."""
        return np.bincount(self.of, minlength=len(self.sets))


def weigh_holders(
    matches: Matches, bags: Groups, cases: Cases, parts: Ints
) -> tuple[Ints, Ints, Ints]:
    """Look, for every case, through the groups that may be theirs and hold their value.

    Gives the largest share of ``parts``, per entry of the bags, in these bags; and how many people
    of the case the groups can take: of each no more than hold the value, nor than it has records
    that may be theirs. Nothing is listed case by case.
    """
    from discreet.kernels.options import weigh_holders as weigh

    held = np.bincount(bags.codes, minlength=bags.domain.size + 1)  # the last is of no value
    order = holders = np.zeros(0, dtype=np.int64)
    wide = bags.count < bags.domain.size  # then a value is found sooner than in its bag
    if wide or (np.append(matches.sizes, 0)[cases.sets] > held[cases.codes]).any():
        order = bags.by_code
        holders = bags.owners[order]
    found: tuple[Ints, Ints, Ints] = weigh(
        cases.sets, cases.codes, matches.offsets, matches.groups, matches.likelihood,
        np.cumsum(held) - held, holders, order, bags.offsets, bags.codes, bags.weights, bags.sizes,
        parts,
    )  # fmt: skip
    return found


def round_likelihoods(likely: Floats) -> Ints:
    """Give likelihoods as whole parts of the largest, never as nothing."""
    parts = np.round(likely / likely.max(initial=1e-300) * FINE)
    return np.asarray(np.maximum(parts, 1), dtype=np.int64)


def look_up(bags: Groups, place: Ints, own: Ints) -> Ints:
    """Find the entry of a code in a bag, for many at once; -1 where the bag does not have it."""
    size = bags.domain.size
    keys = bags.owners * size + bags.codes
    wanted = place * size + own
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where((keys[at] == wanted) & (place >= 0) & (own >= 0), at, -1)


def gather_sets(pairs: Ints, people: int) -> tuple[Ints, Ints, Ints]:
    """Number the distinct sets of groups among pairs of a person and a group.

    Gives everyone's set, or -1; and where each set starts, and the groups of all.
    """
    starts, listed = gather_lists(pairs, people)
    number, firsts = number_lists(starts, listed)
    sizes = np.diff(starts)[firsts]
    # those of one group first, in the order of these
    alone, several = np.flatnonzero(sizes == 1), np.flatnonzero(sizes > 1)
    alone = alone[np.argsort(listed[starts[firsts[alone]]])]
    sets = np.concatenate([alone, several])
    moved = np.full(len(sizes), -1, dtype=np.int64)
    moved[sets] = np.arange(len(sets))
    offsets = np.append(0, np.cumsum(sizes[sets]))
    shift = np.repeat(starts[firsts[sets]] - offsets[:-1], sizes[sets])
    shift += np.arange(len(shift))
    return moved[number], offsets, listed[shift]
