"""Matches: for each person, the published groups that may be theirs, and how likely each is.

The adversary knows all quasi-identifiers of the person and that the person is in the table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.forms.assignments import Chances, Places, count_chances
from discreet.principles.groups import Groups
from discreet.table.arrays import Bools, Floats, Ints, count_runs, number_by_sorting
from discreet.table.microdata import number_keys

if TYPE_CHECKING:
    from discreet.forms.base import View
    from discreet.release import Release

FINE = 2**40
"""Likelihoods are rounded to so many parts of the largest."""


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
        room = self.view.sizes if self.room is None else self.room
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
        alike = self.view.sizes[self.groups] if self.alike is None else self.alike
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
    single = np.bincount(pairs[:, 0], minlength=people)[pairs[:, 0]] == 1
    set_of = np.full(people, -1, dtype=np.int64)
    alone, set_of[pairs[single, 0]] = number_keys(pairs[single, 1])
    pairs = pairs[~single]
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    persons, counts = count_runs(pairs[:, 0])
    number: dict[tuple[int, ...], int] = {}
    for person, end, count in zip(persons, np.cumsum(counts), counts, strict=True):
        several = tuple(pairs[end - count : end, 1].tolist())
        set_of[person] = number.setdefault(several, len(alone) + len(number))
    lengths = [np.ones_like(alone), np.array([*map(len, number)], dtype=np.int64)]
    offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int64)
    groups = np.concatenate([alone, *number]).astype(np.int64)
    return set_of, offsets, groups
