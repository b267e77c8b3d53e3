"""Lattice: all combinations of levels of hierarchies, and the one that loses least.

Whether a point keeps a principle is asked of kinds of people, or of rows that are elsewhere, a
slice of all groups at a time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import lcm, prod
from operator import le
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.principles.base import Principle, demands
from discreet.publishing.backends import PackedRows
from discreet.publishing.partitioners.hierarchies import ANY, Run
from discreet.publishing.partitioners.histograms import bag_kinds
from discreet.publishing.partitioners.kinds import CountKeys, Keys, Kinds, show_codes
from discreet.publishing.partitioners.packing import Layout
from discreet.table.arrays import Bools, Ints
from discreet.table.coded_table import CodedTable
from discreet.table.domain import Domain
from discreet.table.facts import Facts
from discreet.table.microdata import row_ids

Point = tuple[int, ...]
"""A point of the lattice: the level of each quasi-identifier."""
Levels = list[list[list[Run]]]
"""Of each quasi-identifier its levels, from its values up."""


def list_levels(domain: Domain) -> list[list[Run]]:
    """Give the levels of an attribute from its values up, each as runs that cover all codes.

    A level is a cut through the taxonomy at one depth. Leaves above it stay as they are, so that
    every level joins whole runs of the one below. A cut that joins nothing is no level.
    """
    levels: list[list[Run]] = [[(code, code, text) for code, text in enumerate(domain.texts)]]
    cuts: list[list[Run]] = []
    tree = domain.taxonomy
    if tree is not None:
        paths = [tree.path(leaf) for leaf in range(len(tree.leaves))]
        missing = levels[0][len(paths) :]
        for depth in range(tree.height - 1, 0, -1):
            nodes = [tree.nodes[i] for i in dict.fromkeys(p[: depth + 1][-1] for p in paths)]
            cuts.append([*((n.low, n.high - 1, n.name) for n in nodes), *missing])
    cuts.append([(0, domain.size - 1, ANY)])
    for runs in cuts:
        if len(runs) < len(levels[-1]):
            levels.append(runs)
    return levels


def number_runs(runs: list[Run]) -> Ints:
    """Give the run of each code."""
    return np.repeat(np.arange(len(runs)), [high - low + 1 for low, high, _ in runs])


def list_read(data: CodedTable, principle: Principle) -> list[str]:
    """Give the attributes that a principle reads, each once."""
    return list(dict.fromkeys(n for _, n in demands(principle, data.sensitive) if n is not None))


def judge_groups(
    data: CodedTable,
    principle: Principle,
    group_of: Ints,
    kinds: Mapping[str, NDArray[Any]],
    times: Ints,
) -> Bools:
    """Say of each group of kinds, which stand for so many people each, whether it is good."""
    count = int(group_of.max(initial=-1)) + 1
    fine = np.ones(count, dtype=bool)
    for part, name in demands(principle, data.sensitive):
        if fine.any():
            codes = None if name is None else kinds[name]
            fine &= part.admits(bag_kinds(data, name, group_of, codes, times, count))
    return fine


@dataclass(frozen=True, eq=False)
class KindJudge:
    """Judges points by kinds of people, all of which are at hand."""

    data: CodedTable
    principle: Principle
    kinds: Kinds
    levels: Levels
    budget: int = 0
    """So many rows may be in groups that break the principle."""

    def keeps(self, point: Point) -> bool:
        """Say whether people who show these levels keep the principle."""
        failing = self.find_failing(point)
        lost = int(self.kinds.weights[failing].sum()) if self.budget else int(failing.any())
        return lost <= self.budget

    def find_failing(self, point: Point) -> Bools:
        """Say of every kind whether its group breaks the principle."""
        own = self.kinds.data
        names = own.quasi_identifiers
        shown = [
            number_runs(runs[level])[own.codes[name]]
            for name, runs, level in zip(names, self.levels, point, strict=True)
        ]
        group_of = row_ids(shown, own.n)
        fine = judge_groups(self.data, self.principle, group_of, own.codes, self.kinds.weights)
        return np.asarray(~fine[group_of])


@dataclass(frozen=True, eq=False)
class SliceJudge:
    """Judges points by rows that are elsewhere, a slice of all groups at a time.

    A group is in one slice, with all its people, so that one bad slice is enough.
    """

    facts: Facts
    principle: Principle
    rows: PackedRows
    layout: Layout
    levels: Levels
    capacity: int
    """So many kinds of people are held at once, about."""

    def make_keys(self, point: Point) -> Keys:
        """Make numbers of what people show at a point, and of what the principle reads."""
        names = self.facts.quasi_identifiers
        tables = {
            name: number_runs(runs[level])
            for name, runs, level in zip(names, self.levels, point, strict=True)
        }
        return Keys(self.layout, tables | show_codes(self.facts, self._read))

    @property
    def _read(self) -> list[str]:
        return list_read(self.facts, self.principle)

    def keeps(self, point: Point) -> bool:
        """Say whether people who show these levels keep the principle."""
        keys = self.make_keys(point)
        slices = -(-min(self.facts.n, keys.reach) // self.capacity)
        found = self._judge(keys, slices, 0)
        if found is None or slices == 1:
            return found is not None
        fewer = max(1, -(-found * slices // self.capacity))
        if fewer < slices:  # far fewer kinds than there might be: begin anew with more at once
            return all(self._judge(keys, fewer, i) is not None for i in range(fewer))
        return all(self._judge(keys, slices, i) is not None for i in range(1, slices))

    def _judge(self, keys: Keys, slices: int, number: int) -> int | None:
        """Give how many kinds a slice has if all its groups are good."""
        within = prod(self.facts.domains[name].size for name in self._read)
        made, times = self.rows.tally(CountKeys(keys, slices, number, within))
        _, group_of = np.unique(made // within, return_inverse=True)
        codes = keys.read(made)
        fine = judge_groups(self.facts, self.principle, group_of.astype(np.int64), codes, times)
        return len(made) if fine.all() else None


@dataclass(eq=False)
class Lattice:
    """All combinations of levels, of which only as many are looked at as it takes.

    Going up joins groups. So above a point that keeps a monotone principle all points do, and
    below one that breaks it all break it.
    """

    levels: Levels
    losses: list[list[int]]
    """Per quasi-identifier and level what is lost, in a unit that makes all of them whole."""
    people: int
    judge: Callable[[Point], bool]
    """Says whether people who show these levels keep the principle."""
    keeping: list[Point] = field(default_factory=list)
    breaking: list[Point] = field(default_factory=list)

    @staticmethod
    def over(data: CodedTable, levels: Levels, judge: Callable[[Point], bool]) -> Lattice:
        """Span the lattice over the quasi-identifiers of a table."""
        return Lattice(levels, _weigh_levels(data, levels), data.n, judge)

    def find_least(self) -> Point:
        """Find the point that keeps the principle and loses least; of such, the lowest.

        Points leave a queue in this order. One that breaks the principle lies below a highest one
        that does; whatever keeps it above is higher than that in some attribute. From there the
        search goes on, so the first point to leave that keeps the principle is the least of all.
        """
        start = (0,) * len(self.levels)
        queue, seen = [self._rank(start)], {start}
        while True:
            point = heappop(queue)[-1]
            above = self._find_breaking(point)
            if above is None:
                return point
            for a, level in enumerate(above):
                higher = _move(point, a, level + 1)
                if level + 1 < len(self.levels[a]) and higher not in seen:
                    seen.add(higher)
                    heappush(queue, self._rank(higher))

    def _rank(self, point: Point) -> tuple[int, int, Point]:
        loss = sum(of[level] for of, level in zip(self.losses, point, strict=True))
        return loss, sum(point), point

    def _find_breaking(self, point: Point) -> Point | None:
        """Give a highest point, from this one up, that breaks the principle, if this one does."""
        known = [other for other in self.breaking if _lies_below(point, other)]
        if known:
            # one from which few ways lead on
            return max(known, key=self._count_tops)
        if self.keeps(point):
            return None
        # raised where most values are joined first: what breaks it even so tells most
        for a in sorted(range(len(point)), key=lambda a: -len(self.levels[a][0])):
            point = self._raise(point, a)
        self.breaking.append(point)
        return point

    def _raise(self, point: Point, a: int) -> Point:
        """Raise an attribute as far as the principle stays broken."""
        higher = range(point[a] + 1, len(self.levels[a]))
        steps = bisect_left(higher, True, key=lambda level: self.keeps(_move(point, a, level)))
        return _move(point, a, point[a] + steps)

    def _count_tops(self, point: Point) -> int:
        return sum(level + 1 == len(of) for of, level in zip(self.levels, point, strict=True))

    def keeps(self, point: Point) -> bool:
        """Say whether a point keeps the principle, by what is known of others if that tells."""
        if any(_lies_below(other, point) for other in self.keeping):
            return True
        if any(_lies_below(point, other) for other in self.breaking):
            return False
        good = self.judge(point)
        if good:
            self.keeping.append(point)
        return good

    def weigh(self, point: Point) -> float:
        """Give what people lose who show these levels, each at most 1."""
        whole = sum(max(of) for of in self.losses) or 1
        lost = sum(of[level] for of, level in zip(self.losses, point, strict=True))
        return lost / whole * self.people


def _move(point: Point, a: int, level: int) -> Point:
    return (*point[:a], level, *point[a + 1 :])


def _lies_below(point: Point, other: Point) -> bool:
    """Say whether a point is nowhere higher than another."""
    return all(map(le, point, other))


def _weigh_levels(data: CodedTable, levels: Levels) -> list[list[int]]:
    """Add up over people how many other values are shown with their own.

    All attributes count alike, so each is divided by the size of its domain, and that without
    rounding: levels that lose the same must be seen to.
    """
    others = [max(data.domains[name].size - 1, 1) for name in data.quasi_identifiers]
    unit = lcm(*others)
    losses = []
    for name, there, size in zip(data.quasi_identifiers, levels, others, strict=True):
        people = data.count(name)
        joined = [np.add.reduceat(people, [low for low, *_ in runs]) for runs in there]
        widths = [np.array([high - low for low, high, _ in runs]) for runs in there]
        losses.append(
            [int((p * w).sum()) * (unit // size) for p, w in zip(joined, widths, strict=True)]
        )
    return losses
