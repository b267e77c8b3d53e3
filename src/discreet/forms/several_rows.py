"""Several rows: what is believed of people who have more than one row in a table.

Whoever knows a person knows the quasi-identifiers of all their rows, and so how many of them are in
each group. What there is to learn is whether *any* of them has a value.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.people import Persons

if TYPE_CHECKING:
    from discreet.forms.posterior import Posterior

AT_ONCE = 4_000_000
"""So many values of groups are listed at a time."""
NEAR = 1e-9


class PeopleBelief(NamedTuple):
    """What is believed of each person, from all their rows."""

    largest: Floats
    truths: Floats
    """Of the likeliest of their own values."""
    worst: Fraction
    bounded: Bools
    """For whom these are upper bounds."""


def believe_of_people(posterior: Posterior, persons: Persons) -> PeopleBelief:
    """Say with what chance any row of a person has a value, the likeliest and their own.

    Rows of a group, n of them of which c have a value, fall to its people in any order: none of a
    person's r rows there has it with C(n - c, r) / C(n, r), and groups do not depend on each other.
    That is exact where every row of a person has one group. Elsewhere the chances of the single
    rows are added, which bounds the chance of any, however they depend on each other.
    """
    rows = persons.rows
    largest, truths = posterior.largest(), posterior.truths()
    lone = rows == 1
    bound = np.minimum(persons.fold_sum(largest), 1.0)
    own = np.where(lone, persons.fold_sum(truths), bound)
    bounded = ~lone
    worst = posterior.worst() if lone.any() else Fraction(0)
    group = posterior.list_own_groups()
    if group is not None:
        told = ~persons.fold_any(group < 0) & ~lone
        if told.any():
            exact = _Draws(posterior, persons, group, told)
            bound[told], own[told] = exact.largest[told], exact.truths[told]
            bounded &= ~told
            worst = max(worst, exact.worst())
    if bounded.any():
        worst = max(worst, Fraction(float(bound[bounded].max())).limit_denominator(10**12))
    return PeopleBelief(bound, own, worst, bounded)


class _Draws:
    """The chances of people each of whose rows has one group."""

    def __init__(self, posterior: Posterior, persons: Persons, group: Ints, told: Bools) -> None:
        self.persons = persons
        self.bags = posterior.found.view.bags(posterior.name)
        here = told[persons.of]
        count = self.bags.count
        keys, rows = np.unique(persons.of[here] * count + group[here], return_counts=True)
        self.person, self.group, self.rows = keys // count, keys % count, rows
        """Who has how many rows in which group."""
        self.largest = np.zeros(persons.count)
        self.truths = np.zeros(persons.count)
        own = posterior.data.codes_in(posterior.name, self.bags.domain)
        self._weigh(own[here], persons.of[here])

    def _weigh(self, own: Ints, of: Ints) -> None:
        """Go through people, as many at a time as can be listed."""
        size = self.bags.domain.size
        lengths = self.bags.distinct[self.group]
        starts = np.flatnonzero(np.append(True, self.person[1:] != self.person[:-1]))
        listed = np.add.reduceat(lengths, starts)
        part = np.cumsum(listed) // AT_ONCE
        for number in np.unique(part):
            first = starts[part == number][0]
            later = starts[part > number]
            some = slice(first, later[0] if len(later) else len(self.group))
            which, entry = self.bags.entries_of(self.group[some])
            spared = spare_chance(
                self.bags.sizes[self.group[some]][which],
                self.bags.weights[entry],
                self.rows[some][which],
            )
            keys, place = np.unique(
                self.person[some][which] * size + self.bags.codes[entry], return_inverse=True
            )
            left = np.ones(len(keys))
            np.multiply.at(left, place, spared)
            np.maximum.at(self.largest, keys // size, 1 - left)
            wanted = of * size + own
            at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            hit = (keys[at] == wanted) & (own >= 0)
            np.maximum.at(self.truths, of[hit], 1 - left[at[hit]])

    def worst(self) -> Fraction:
        """Give the largest belief exactly, of those that floats cannot tell apart."""
        most = float(self.largest.max())
        near = np.flatnonzero(self.largest >= most - NEAR)
        seen: dict[tuple[tuple[int, int], ...], Fraction] = {}
        for person in near.tolist():
            span = slice(*np.searchsorted(self.person, [person, person + 1]))
            case = tuple(zip(self.group[span].tolist(), self.rows[span].tolist(), strict=True))
            if case not in seen:
                seen[case] = self._count(case)
        return max(seen.values())

    def _count(self, case: tuple[tuple[int, int], ...]) -> Fraction:
        spared: dict[int, Fraction] = {}
        for group, rows in case:
            n = int(self.bags.sizes[group])
            span = slice(self.bags.offsets[group], self.bags.offsets[group + 1])
            for code, weight in zip(
                self.bags.codes[span].tolist(), self.bags.weights[span].tolist(), strict=True
            ):
                left = Fraction(math.comb(n - weight, rows), max(math.comb(n, rows), 1))
                spared[code] = spared.get(code, Fraction(1)) * left
        return 1 - min(spared.values())


def spare_chance(sizes: Ints, weights: Ints, rows: Ints) -> Floats:
    """Give the chance that none of ``rows`` drawn of so many is one of ``weights``.

    >>> spare_chance(np.array([4]), np.array([2]), np.array([2])).round(4).tolist()
    [0.1667]
    """
    spared = np.ones(len(sizes))
    for drawn in range(int(rows.max(initial=0))):
        more = rows > drawn
        left = np.maximum(sizes[more] - weights[more] - drawn, 0)
        spared[more] *= left / np.maximum(sizes[more] - drawn, 1)
    return spared
