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

from discreet.auditing.candidates import Candidates, look_up
from discreet.errors import SchemaError
from discreet.groups import Groups
from discreet.microdata import Microdata
from discreet.principles.base import Principle
from discreet.principles.proximity import Proximity
from discreet.verify.perturbed import Perturbed

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
        if self.found.classes.boxes is not None:
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
        if self.found.classes.boxes is not None and self.found.several.any():
            bags = self._pooled
            entries = look_up(bags, self.found.of, self.data.codes_in(self.name, bags.domain))
            near = principle.neighbours(bags)[entries[entries >= 0]]
            mixed = max(mixed, find_largest(near, bags.sizes[bags.owners[entries[entries >= 0]]]))
        return Breach(risks[case_of], worst, mixed)


class Spiked(Beliefs):
    """What follows from a perturbed number, to somebody who knows how many people have which.

    The person has number x with weight ``(1-p) c(x) / size``, and the one shown with ``p c`` more.
    All weights are whole here: multiplied by p's denominator and by the size.
    """

    def __init__(self, found: Candidates, data: Microdata, name: str) -> None:
        super().__init__(found, data, name)
        classes = found.classes
        assert isinstance(classes, Perturbed)
        drawn, domain = classes.replacement, data.domains[name]
        self.counts = np.bincount(data.codes[name], minlength=domain.size)
        self.people, groups = found.list_options(found.of)
        self.own = data.codes[name][self.people].astype(np.int64)
        # the number shown as a code of the microdata; -1 if nobody has it
        self.shown = domain.find(classes.domain.texts)[groups]
        there = np.where(self.shown >= 0, self.counts[self.shown], 0)
        a, b = drawn.retention.numerator, drawn.retention.denominator
        small = max(b * data.n, a * drawn.size * int(self.counts.max())) < 2**61
        kind = np.int64 if small else object
        self.base = b - a
        self.spike = there.astype(kind) * (a * drawn.size)
        self.total = self.spike + self.base * data.n

    def _spread(self, weights: np.ndarray) -> Floats:
        """Give everyone the largest share over the records that may be theirs."""
        found = np.zeros(self.n)
        np.maximum.at(found, self.people, (weights / self.total).astype(float))
        return found

    def _likeliest(self) -> np.ndarray:
        there = np.where(self.shown >= 0, self.counts[self.shown], 0)
        most = int(self.counts.max()) * self.base
        return np.asarray(np.maximum(there * self.base + self.spike, most))

    def _near(self, principle: Proximity) -> np.ndarray:
        domain = self.data.domains[self.name]
        first, beyond = principle.reach(domain)
        running = np.concatenate([[0], np.cumsum(self.counts)])
        inside = (running[beyond] - running[first])[self.own] * self.base
        hit = (first[self.own] <= self.shown) & (self.shown < beyond[self.own])
        return np.asarray(inside + np.where(hit, self.spike, 0))

    def fails(self, part: Principle) -> Bools:
        """Say for whom (ε,m) fails; nothing else can be asked of perturbed numbers."""
        if not isinstance(part, Proximity):
            raise SchemaError(
                f"{part} cannot be judged of a perturbed release.",
                hint="Ask for proximity, or for k-anonymity.",
            )
        failing = np.zeros(self.n, dtype=bool)
        broken = (self._near(part) * part.m > self.total).astype(bool)
        failing[self.people[broken]] = True
        return failing

    def largest(self) -> Floats:
        """Give everyone's largest belief in any value."""
        return self._spread(self._likeliest())

    def worst(self) -> Fraction:
        """Give the largest of these exactly."""
        return find_largest(self._likeliest(), self.total)

    def truths(self) -> Floats:
        """Give everyone's belief in the person's own value."""
        own = self.counts[self.own] * self.base
        return self._spread(own + np.where(self.own == self.shown, self.spike, 0))

    def breach(self, principle: Proximity) -> Breach:
        """Give everyone's risk of proximity breach, exact where it is largest."""
        near = self._near(principle)
        worst = find_largest(near, self.total)
        return Breach(self._spread(near), worst, worst)


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
