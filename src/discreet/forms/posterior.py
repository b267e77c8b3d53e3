"""Beliefs: what one table makes an adversary think about one sensitive attribute, of everyone.

The adversary knows which records may be a person's. Where the release tells what a group may hold,
the belief is that bag. Where it shows perturbed numbers, the adversary knows besides how many
people have which number, and weighs both.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.forms.matches import Candidates, look_up
from discreet.forms.perturbed.view import Perturbed
from discreet.principles.base import Principle
from discreet.principles.groups import Groups
from discreet.principles.proximity import Proximity
from discreet.table.microdata import Microdata

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Breach(NamedTuple):
    """The risk that somebody's number is told to within ε."""

    risks: Floats
    """Per person, to somebody who knows which group the person is in."""
    worst: Fraction
    mixed: Fraction
    """The largest to somebody who does not know the group."""


def believe(found: Candidates, data: Microdata, name: str) -> Beliefs:
    """Give what a table tells about an attribute."""
    kind = Spiked if isinstance(found.classes, Perturbed) else Beliefs
    return kind(found, data, name)


class Beliefs:
    """What follows from the bags of the groups that may be a person's."""

    def __init__(self, found: Candidates, data: Microdata, name: str) -> None:
        self.found, self.n, self.name = found, data.n, name
        self.data = data

    @property
    def _pooled(self) -> Groups:
        return self.found.believed[self.name]

    def fails(self, part: Principle) -> Bools:
        """Say for whom a principle fails in a group that may be theirs.

        Who knows everybody's quasi-identifiers may tell which of several groups it is. Of their
        mixture only what is closed under union is promised, and then this asks for more.
        """
        alone = self.found.admits_each(self.found.classes.admits(part, self.name))
        return (self.found.of >= 0) & ~alone[self.found.of]

    def largest(self) -> Floats:
        """Give everyone's largest belief in any value; 0 to those in no group."""
        bags = self._pooled
        return np.where(self.found.of >= 0, (bags.largest / bags.sizes)[self.found.of], 0)

    def worst(self) -> Fraction:
        """Give the largest of these exactly."""
        bags = self._pooled
        return find_largest(bags.largest, bags.sizes)

    def truths(self) -> Floats:
        """Give everyone's belief in the person's own value.

        Where records are exact and several groups may be a person's, the most telling counts.
        """
        truth = np.zeros(self.n)
        if self.found.pools:
            bags = self._pooled
            entries = look_up(bags, self.found.of, self.data.codes_in(self.name, bags.domain))
            people, entries = np.flatnonzero(entries >= 0), entries[entries >= 0]
        else:
            bags = self.found.classes.bags(self.name)
            case_of, cases, entries = self._own
            per_case = np.zeros(int(case_of.max()) + 1)
            np.maximum.at(per_case, cases, bags.weights[entries] / bags.sizes[bags.owners[entries]])
            return np.asarray(per_case[case_of])
        truth[people] = bags.weights[entries] / bags.sizes[bags.owners[entries]]
        return truth

    @cached_property
    def _own(self) -> tuple[Ints, Ints, Ints]:
        """Where a person's own value is in the groups that may be theirs.

        People who face the same groups and have the same value are one case: give everyone's case,
        and the cases with their entries.
        """
        bags = self.found.classes.bags(self.name)
        own = self.data.codes_in(self.name, bags.domain)
        pairs = (self.found.of + 1) * (bags.domain.size + 1) + own + 1
        _, first, case_of = np.unique(pairs, return_index=True, return_inverse=True)
        cases, groups = self.found.list_options(self.found.of[first])
        entries = look_up(bags, groups, own[first][cases])
        return case_of, cases[entries >= 0], entries[entries >= 0]

    def breach(self, principle: Proximity) -> Breach:
        """Give everyone's risk of proximity breach (Definition 5), exact where it is largest."""
        bags = self.found.classes.bags(self.name)
        case_of, cases, entries = self._own
        near, sizes = principle.neighbours(bags)[entries], bags.sizes[bags.owners[entries]]
        risks = np.zeros(int(case_of.max()) + 1)
        np.maximum.at(risks, cases, near / sizes)
        worst = mixed = find_largest(near, sizes)
        if self.found.pools and self.found.several.any():
            bags = self._pooled
            entries = look_up(bags, self.found.of, self.data.codes_in(self.name, bags.domain))
            near = principle.neighbours(bags)[entries[entries >= 0]]
            mixed = max(mixed, find_largest(near, bags.sizes[bags.owners[entries[entries >= 0]]]))
        return Breach(risks[case_of], worst, mixed)


class Spiked(Beliefs):
    """What follows from a perturbed number, to somebody who knows how many people have which.

    Seeing y, a number x has weight ``(1-p) c(x) / size``, and y itself ``p c(y)`` more. All weights
    are whole here: multiplied by p's denominator and by the size. Of the records that may be a
    person's, the most telling counts. A number y near the truth tells the more the more people
    have it; one that is not, the fewer.
    """

    def __init__(self, found: Candidates, data: Microdata, name: str) -> None:
        super().__init__(found, data, name)
        classes = found.classes
        assert isinstance(classes, Perturbed)
        drawn, self.domain = classes.replacement, data.domains[name]
        self.counts = np.bincount(data.codes[name], minlength=self.domain.size)
        a, b = drawn.retention.numerator, drawn.retention.denominator
        self.base, self.spike = b - a, a * drawn.size
        # the numbers each set shows, as codes of the microdata; -1 if nobody has it
        self.sets, groups = found.list_options(np.arange(len(found.sets)))
        self.shown = self.domain.find(classes.domain.texts)[groups]
        order = np.lexsort((self.shown, self.sets))
        self.sets, self.shown = self.sets[order], self.shown[order]
        self.held = np.where(self.shown >= 0, self.counts[self.shown], 0)
        self.ends = np.searchsorted(self.sets, np.arange(len(found.sets) + 1))
        # people of one set with one number are one case; who is in no set has none
        size, seen = self.domain.size, found.of >= 0
        cases, case_of = np.unique(
            found.of[seen] * size + data.codes[name][seen], return_inverse=True
        )
        self.case_of = np.full(data.n, -1)
        self.case_of[seen] = case_of
        self.case_set, self.case_code = cases // size, cases % size

    def _between(self, first: Ints, beyond: Ints) -> Ints:
        """Of each case, how many people have the commonest number shown within these codes."""
        from discreet.kernels.match import largest_between

        keys = self.sets * (self.domain.size + 1) + self.shown + 1
        starts = self.case_set * (self.domain.size + 1) + 1
        low, high = np.searchsorted(keys, starts + first), np.searchsorted(keys, starts + beyond)
        found: Ints = largest_between(self.held, low, high)
        return found

    def _rarest(self) -> Ints:
        """Of each case, how many people have the rarest number shown to its set."""
        rarest = np.minimum.reduceat(self.held, self.ends[:-1])
        return np.asarray(rarest[self.case_set])

    def _weigh(self, inside: Ints, hits: Ints) -> tuple[np.ndarray, np.ndarray]:
        """Give the larger of two shares: with a number shown among ``inside``, or without."""
        there, rare = np.maximum(hits, 0), self._rarest()
        n, base, spike = self.n, self.base, self.spike
        if (base + spike) * n >= 2**31:  # products of two must fit 64 bits
            inside, there, rare = (part.astype(object) for part in (inside, there, rare))
        with_it = inside * base + there * spike, there * spike + base * n
        without = inside * base, rare * spike + base * n
        return _larger((np.where(hits >= 0, with_it[0], 0), with_it[1]), without)

    def _near(self, principle: Proximity) -> tuple[np.ndarray, np.ndarray]:
        first, beyond = principle.reach(self.domain)
        running = np.concatenate([[0], np.cumsum(self.counts)])
        inside = (running[beyond] - running[first])[self.case_code]
        return self._weigh(inside, self._between(first[self.case_code], beyond[self.case_code]))

    def _spread(self, shares: tuple[np.ndarray, np.ndarray]) -> Floats:
        """Give everyone their case's share; 0 to those without."""
        parts, wholes = shares
        per_case = np.append((parts / wholes).astype(float), 0.0)
        return np.asarray(per_case[self.case_of])

    def fails(self, part: Principle) -> Bools:
        """Say for whom (ε,m) fails; nothing else can be asked of perturbed numbers."""
        if not isinstance(part, Proximity):
            raise SchemaError(
                f"{part} cannot be judged of a perturbed release.",
                hint="Ask for proximity, or for k-anonymity.",
            )
        near, total = self._near(part)
        broken = near.astype(object) * part.m > total.astype(object)
        return np.asarray(np.append(broken.astype(bool), False)[self.case_of])

    def _likeliest(self) -> tuple[np.ndarray, np.ndarray]:
        """Either the commonest number of all, or the commonest that is shown."""
        nothing = np.zeros_like(self.case_code)
        shown = self._between(nothing, nothing + self.domain.size)
        most = np.full_like(shown, int(self.counts.max()))
        common = self._weigh(most, np.full_like(shown, -1))
        seen = self._weigh(np.maximum(shown, 0), shown)
        return _larger(seen, common)

    def largest(self) -> Floats:
        """Give everyone's largest belief in any value."""
        return self._spread(self._likeliest())

    def worst(self) -> Fraction:
        """Give the largest of these exactly."""
        return find_largest(*self._likeliest())

    def truths(self) -> Floats:
        """Give everyone's belief in the person's own value."""
        own = self.counts[self.case_code]
        return self._spread(self._weigh(own, self._between(self.case_code, self.case_code + 1)))

    def breach(self, principle: Proximity) -> Breach:
        """Give everyone's risk of proximity breach, exact where it is largest."""
        shares = self._near(principle)
        worst = find_largest(*shares)
        return Breach(self._spread(shares), worst, worst)


def _larger(
    one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Give the larger of every two fractions."""
    better = (one[0] * other[1] >= other[0] * one[1]).astype(bool)
    return np.where(better, one[0], other[0]), np.where(better, one[1], other[1])


def find_largest(parts: np.ndarray, wholes: np.ndarray) -> Fraction:
    """Give the largest of many fractions exactly; 0 of none."""
    if not len(parts):
        return Fraction(0)
    shares = (parts / wholes).astype(float)
    near = shares >= shares.max() - 1e-12
    parts, wholes = parts[near], wholes[near]
    if int(parts.max()) * int(wholes.max()) >= 2**62:
        parts, wholes = parts.astype(object), wholes.astype(object)
    while True:  # floats cannot tell these apart
        a, b = parts[0], wholes[0]
        larger = (parts * b > a * wholes).astype(bool)
        if not larger.any():
            return Fraction(int(a), int(b))
        parts, wholes = parts[larger], wholes[larger]
