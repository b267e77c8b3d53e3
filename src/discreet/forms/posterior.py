"""Posterior: what one table makes an adversary think about one sensitive attribute, of everyone."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from discreet.forms.matches import Matches, look_up
from discreet.principles.base import Principle
from discreet.principles.groups import Groups
from discreet.principles.proximity import Proximity
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.microdata import Microdata


class Breach(NamedTuple):
    """The risk that somebody's number is told to within ε."""

    risks: Floats
    """Per person, to somebody who knows which group the person is in."""
    worst: Fraction
    mixed: Fraction
    """The largest to somebody who does not know the group."""


class Posterior:
    """What follows from the bags of the groups that may be a person's."""

    def __init__(self, found: Matches, data: Microdata, name: str) -> None:
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
        alone = self.found.admits_each(self.found.view.admits(part, self.name))
        return (self.found.set_of >= 0) & ~alone[self.found.set_of]

    def largest(self) -> Floats:
        """Give everyone's largest belief in any value; 0 to those in no group."""
        bags = self._pooled
        return np.where(self.found.set_of >= 0, (bags.largest / bags.sizes)[self.found.set_of], 0)

    def worst(self) -> Fraction:
        """Give the largest of these exactly."""
        bags = self._pooled
        return find_largest(bags.largest, bags.sizes)

    def truths(self) -> Floats:
        """Give everyone's belief in the person's own value.

        Where records are exact and several groups may be a person's, the most telling counts.
        """
        truth = np.zeros(self.n)
        if self.found.pools_groups:
            bags = self._pooled
            entries = look_up(bags, self.found.set_of, self.data.codes_in(self.name, bags.domain))
            people, entries = np.flatnonzero(entries >= 0), entries[entries >= 0]
        else:
            bags = self.found.view.bags(self.name)
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
        bags = self.found.view.bags(self.name)
        own = self.data.codes_in(self.name, bags.domain)
        pairs = (self.found.set_of + 1) * (bags.domain.size + 1) + own + 1
        _, first, case_of = np.unique(pairs, return_index=True, return_inverse=True)
        cases, groups = self.found.list_options(self.found.set_of[first])
        entries = look_up(bags, groups, own[first][cases])
        return case_of, cases[entries >= 0], entries[entries >= 0]

    def breach(self, principle: Proximity) -> Breach:
        """Give everyone's risk of proximity breach (Definition 5), exact where it is largest."""
        bags = self.found.view.bags(self.name)
        case_of, cases, entries = self._own
        near, sizes = principle.neighbours(bags)[entries], bags.sizes[bags.owners[entries]]
        risks = np.zeros(int(case_of.max()) + 1)
        np.maximum.at(risks, cases, near / sizes)
        worst = mixed = find_largest(near, sizes)
        if self.found.pools_groups and self.found.several.any():
            bags = self._pooled
            entries = look_up(bags, self.found.set_of, self.data.codes_in(self.name, bags.domain))
            near = principle.neighbours(bags)[entries[entries >= 0]]
            mixed = max(mixed, find_largest(near, bags.sizes[bags.owners[entries[entries >= 0]]]))
        return Breach(risks[case_of], worst, mixed)


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
