"""Posterior: what one table makes an adversary think about one sensitive attribute, of everyone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from discreet.forms.matches import Cases, Matches, look_up, weigh_holders
from discreet.principles.base import Principle
from discreet.principles.groups import Groups
from discreet.principles.proximity import Proximity
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.microdata import Microdata

MOST_LOOKED = 50_000_000
"""So many groups are looked through, case by case."""
AT_ONCE = 1_000_000
"""The beliefs in so many people's own values are found at a time, to bound memory."""


class Breach(NamedTuple):
    """The risk that somebody's number is told to within ε."""

    risks: Floats
    """Per person, to whoever is told most: who knows which group the person is in, or does not."""
    worst: Fraction
    """The largest to somebody who knows the group."""
    mixed: Fraction
    """The largest to somebody who does not."""


class Mixture(NamedTuple):
    """Bags that are mixtures of those of several groups, of some candidate sets."""

    place: Ints
    """Per candidate set its bag, or -1."""
    bags: Groups


class Posterior:
    """What follows from the bags of the groups that may be a person's.

    Where several may be, two adversaries are thought of: one knows the quasi-identifiers of nobody
    else, so that groups are as likely as they are large; one knows everybody's, and counts in how
    many ways all can be placed. Where that was not counted, and where records are exact, the most
    telling group bounds what either believes.
    """

    def __init__(self, found: Matches, data: Microdata, name: str) -> None:
        self.found, self.n, self.name = found, data.n, name
        self.data = data

    @property
    def how(self) -> str:
        """Say how beliefs were found."""
        return word_bounded(int(np.append(self._bounded, False)[self.found.set_of].sum()))

    @cached_property
    def _bounded(self) -> Bools:
        """Which candidate sets have several groups that were not counted out."""
        return ~self.found.chances.counted

    @property
    def _plain(self) -> Bools:
        """Which have one group, or are bounded by the most telling: no bags need be mixed."""
        return np.asarray((self.found.sizes == 1) | self._bounded)

    @cached_property
    def _mixtures(self) -> list[Mixture]:
        """What both adversaries believe of the sets with several groups that were counted."""
        sets = np.flatnonzero(~self._plain)
        if not len(sets):
            return []
        place = np.full(self.found.count + 1, -1, dtype=np.int64)  # the last is of nobody
        place[sets] = np.arange(len(sets))
        return [
            Mixture(place, bags)
            for bags in (self.found.pool(self.name, sets), self.found.match_all(self.name, sets))
        ]

    def fails(self, part: Principle) -> Bools:
        """Say for whom a principle fails in a group that may be theirs.

        Who knows everybody's quasi-identifiers may tell which of several groups it is. Of their
        mixture only what is closed under union is promised, and then this asks for more. Of what
        each person guards, whatever may be believed of it counts.
        """
        if part.personal:
            from discreet.forms.guarded import fail_guards

            return fail_guards(self, part)
        alone = self.found.admits_each(self.found.view.admits(part, self.name))
        return (self.found.set_of >= 0) & ~alone[self.found.set_of]

    @cached_property
    def _most_told(self) -> list[tuple[Ints, Ints, Ints]]:
        """List sets, and what part of what whole the likeliest value of one of their bags is."""
        bags, plain = self.found.view.bags(self.name), np.flatnonzero(self._plain)
        place, group = self.found.list_options(plain)
        told = [(plain[place], bags.largest[group], bags.sizes[group])]
        for place, bags in self._mixtures:
            owner = np.flatnonzero(place >= 0)
            told.append((owner, bags.largest, bags.sizes))
        return told

    def list_told(self, meant: Bools) -> list[tuple[Ints, Ints, Ints]]:
        """List sets, and what part of what whole some values are of one of their bags."""
        bags, plain = self.found.view.bags(self.name), np.flatnonzero(self._plain)
        place, group = self.found.list_options(plain)
        told = [(plain[place], _add_meant(bags, meant)[group], bags.sizes[group])]
        for place, bags in self._mixtures:
            told.append((np.flatnonzero(place >= 0), _add_meant(bags, meant), bags.sizes))
        return told

    def largest(self) -> Floats:
        """Give everyone's largest belief in any value; 0 to those in no group."""
        belief = np.zeros(self.found.count + 1)
        for owner, parts, wholes in self._most_told:
            np.maximum.at(belief, owner, parts / wholes)
        return belief[self.found.set_of]

    def worst(self) -> Fraction:
        """Give the largest of these exactly."""
        return max(find_largest(parts, wholes) for _, parts, wholes in self._most_told)

    def list_own_groups(self) -> Ints | None:
        """Give the group of every row whose value is one of its bag, each as likely; -1 elsewhere.

        ``None`` where values are not dealt out so.
        """
        if not self.found.view.deals_values or self.found.view.shares_values:
            return None
        return np.append(self.found.only, -1)[self.found.set_of]

    def worst_among(self, meant: Bools) -> Fraction:
        """Give the largest belief in any of some values, by their codes, exactly."""
        bags, plain = self.found.view.bags(self.name), np.flatnonzero(self._plain)
        group = np.unique(self.found.list_options(plain)[1])
        told = [(np.isin(bags.owners, group), bags)]
        told += [(np.ones(len(m.bags.codes), dtype=bool), m.bags) for m in self._mixtures]
        return max(
            find_largest(bags.weights[chosen], bags.sizes[bags.owners[chosen]])
            for chosen, bags in ((some & meant[bags.codes], bags) for some, bags in told)
        )

    def truths(self) -> Floats:
        """Give everyone's belief in the person's own value."""
        if self.n <= AT_ONCE:
            return self._believe_truths(self._cases)
        found = np.empty(self.n)
        for first in range(0, self.n, AT_ONCE):
            some = slice(first, first + AT_ONCE)
            found[some] = self._believe_truths(self._sort(some))
        return found

    def _believe_truths(self, cases: Cases) -> Floats:
        bags = self.found.view.bags(self.name)
        plain = np.append(self._plain, False)[cases.sets]
        parts, wholes, _ = weigh_holders(self.found, bags, cases, bags.weights)
        belief = np.where(plain, parts / wholes, 0.0)
        for place, mixed in self._mixtures:
            entries = look_up(mixed, place[cases.sets], cases.codes)
            share = mixed.weights[entries] / mixed.sizes[mixed.owners[entries]]
            belief = np.maximum(belief, np.where(entries >= 0, share, 0.0))
        return np.asarray(belief[cases.of])

    @cached_property
    def _cases(self) -> Cases:
        return self._sort(slice(None))

    def _sort(self, some: slice) -> Cases:
        """Sort some people by what they face and have."""
        domain, name = self.found.view.bags(self.name).domain, self.name
        own = domain.find(self.data.domains[name].texts)[self.data.codes[name][some]]
        return Cases.sort(self.found.set_of[some], own, domain.size)

    def breach(self, principle: Proximity) -> Breach:
        """Give everyone's risk of proximity breach (Definition 5), exact where it is largest.

        A person's own group holds the person's number; a group that does not may still make its
        neighbourhood likely to somebody who cannot tell the group.
        """
        bags, cases = self.found.view.bags(self.name), self._cases
        parts, wholes, _ = weigh_holders(self.found, bags, cases, principle.neighbours(bags))
        worst = mixed = find_largest(parts, wholes)
        risks = parts / wholes
        bounded = np.flatnonzero(np.append(self._bounded, False)[cases.sets] & (cases.codes >= 0))
        more = [(bounded, *self._bound(principle, cases.taken(bounded)))] if len(bounded) else []
        for place, bags in self._mixtures:
            entries = look_up(bags, place[cases.sets], cases.codes)
            there = np.flatnonzero(entries >= 0)
            near, sizes = principle.neighbours(bags), bags.sizes[bags.owners]
            more.append((there, near[entries[there]], sizes[entries[there]]))
        for there, parts, wholes in more:
            risks[there] = np.maximum(risks[there], parts / wholes)
            mixed = max(mixed, find_largest(parts, wholes))
        return Breach(risks[cases.of], worst, mixed)

    def _bound(self, principle: Proximity, cases: Cases) -> tuple[Ints, Ints]:
        """Bound the risk of some cases by that of the most telling group; of very many, by more."""
        from discreet.kernels.options import weigh_fullest

        found, bags = self.found, self.found.view.bags(self.name)
        if int(found.sizes[cases.sets].sum()) > MOST_LOOKED:
            fullest = principle.fullest(bags)
            order = np.lexsort((fullest[found.groups] / bags.sizes[found.groups],
                                np.repeat(np.arange(found.count), found.sizes)))  # fmt: skip
            group = found.groups[order[found.offsets[cases.sets + 1] - 1]]
            return fullest[group], bags.sizes[group]
        first, beyond = principle.reach(bags.domain)
        upto = np.concatenate([[0], np.cumsum(bags.weights)])
        own = cases.codes
        parts, wholes = weigh_fullest(
            cases.sets, first[own], beyond[own], found.offsets, found.groups, bags.offsets,
            bags.codes, upto,
        )  # fmt: skip
        return parts, wholes


def word_bounded(people: int) -> str:
    """Say how beliefs were found, where those of so many people are bounds."""
    if not people:
        return "exactly"
    return f"exactly, but for {people:,} people as an upper bound: by their most telling group"


def add_bounded(said: Sequence[str]) -> str:
    """Say the same of several parts of a table; where one was found otherwise, that of all.

    >>> add_bounded(["exactly", word_bounded(1000), word_bounded(234)])
    'exactly, but for 1,234 people as an upper bound: by their most telling group'
    """
    people = 0
    for text in said:
        found = re.search(r"but for ([\d,]+) people", text)
        own = int(found[1].replace(",", "")) if found else 0
        if text != word_bounded(own):
            return max(said, key=len)
        people += own
    return word_bounded(people)


def _add_meant(bags: Groups, meant: Bools) -> Ints:
    """Add up what bags hold of some values, by their codes."""
    return bags.sum(np.where(meant[bags.codes], bags.weights, 0))


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
