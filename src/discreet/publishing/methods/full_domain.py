"""Full-domain generalization: one level of its hierarchy per quasi-identifier, for everybody."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from math import lcm
from operator import le
from typing import ClassVar

import numpy as np

from discreet.errors import SchemaError
from discreet.principles.base import Number, Principle, demands, ratio, require_choice
from discreet.principles.groups import Groups
from discreet.publishing.draws import Draws
from discreet.publishing.method import Method
from discreet.publishing.methods.boxes import ANY, Cut, Ends, show_cuts
from discreet.publishing.methods.generalization import release_boxes, require_suppressible
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.hierarchies import Run
from discreet.publishing.partitioners.histograms import bag_groups, require_feasible, require_names
from discreet.publishing.partitioners.suppression import Suppressed, allow, suppress
from discreet.publishing.partitioners.units import count_units
from discreet.release import Release
from discreet.table.arrays import Bools, Ints
from discreet.table.domain import Domain
from discreet.table.microdata import Microdata, number_keys, representatives, row_ids
from discreet.table.public_domain import widen

Point = tuple[int, ...]
"""A point of the lattice: the level of each quasi-identifier."""


@dataclass(frozen=True)
class FullDomain(Method):
    """Generalize each quasi-identifier to one level of its hierarchy, the same for all people.

    Samarati, TKDE 2001; LeFevre, DeWitt, Ramakrishnan, SIGMOD 2005. Level 0 shows values as they
    are, the highest shows ``*``, and between them lie the levels of the taxonomy; the rules
    :class:`Intervals`, :class:`Prefixes` and :class:`Dates` make some for numbers, codes and dates.
    Without a taxonomy there is nothing between. A missing value stays by itself below ``*``. Of all
    combinations of levels that keep the promise, the one that loses least is found exactly: of the
    other values of an attribute, the share that is shown with a person's own, on average. With
    ``suppress`` up to that share of people may be in classes that break it, if all others gain more
    by that: they show ``*`` wherever they differ among each other, or are left out. Nodes
    stand for those of their values that somebody has; with ``ends="cuts"`` for all that lie below
    them in the public domain.

    >>> import discreet as dc
    >>> import polars as pl
    >>> frame = pl.DataFrame({"age": [21, 23, 38, 40, 41, 43, 58, 60], "sex": list("MMFFMMFF")})
    >>> schema = dc.Schema((
    ...     dc.Attribute("age", dc.Role.QUASI_IDENTIFIER, dc.Type.INTEGER,
    ...                  taxonomy=dc.Intervals((10, 20), origin=1)),
    ...     dc.Attribute("sex", dc.Role.QUASI_IDENTIFIER, dc.Type.CATEGORY)))
    >>> release = dc.publish(dc.read(frame, schema), dc.FullDomain(dc.KAnonymity(2)))
    >>> release.tables["generalized"].select("age", "sex").unique(maintain_order=True).rows()
    [('[21, 31)', 'M'), ('[31, 41)', 'F'), ('[41, 51)', 'M'), ('[51, 61)', 'F')]

    **Guarantee**: the principle holds for the group of every person, against an adversary who
    knows all quasi-identifiers of everyone. Kept columns are published unchanged and are
    protected by nothing.
    """

    title: ClassVar[str] = "full-domain"
    form: ClassVar[str] = "generalized"
    paper: ClassVar[str] = "LeFevre, DeWitt, Ramakrishnan: Incognito, SIGMOD 2005"

    ends: Ends = "tight"
    suppress: Number = 0

    def __post_init__(self) -> None:
        require_choice("ends", self.ends, Ends)
        require_suppressible(self.suppress, self.principle, self.ends)
        for part in self.principle.parts:
            if not part.monotone:
                raise SchemaError(
                    f"{part} is not monotone: a table may keep it, and break it one level higher.",
                    hint="Use generalization for it, or another principle here.",
                    subject=part,
                )

    @property
    def counts_people(self) -> bool:
        """By their key."""
        return True

    def publish(self, data: Microdata, draws: Draws) -> Release:  # noqa: ARG002
        """Find the levels that lose least, and show everybody their nodes."""
        require_names(data.quasi_identifiers)
        if self.ends == "cuts":
            data = widen(data, trees=True)
        keyed, principle = count_units(data, self.principle)
        require_feasible(keyed, principle)
        lattice = Lattice.over(keyed, principle)
        chosen = lattice.find_least()
        budget = allow(data, self.suppress)
        if budget:
            finer = replace(lattice, budget=budget, keeping=[], breaking=[])
            lower = finer.find_least()
            apart = finer.find_failing(lower)
            # only k-anonymity loses nobody more on the way up: count again, and weigh
            gained = lattice.weigh(chosen) - lattice.weigh(lower)
            if apart.any() and int(apart.sum()) <= budget and gained > int(apart.sum()):
                cuts = self._cut(data, lattice, lower)
                number = row_ids([of for _, of in cuts.values()], data.n)
                found = suppress(keyed, principle, Partition.from_labels(number), apart)
                if found is not None:
                    return self._release_suppressed(data, cuts, found)
        return release_boxes(self, data, show_cuts(data, self._cut(data, lattice, chosen)),
                             self.ends)  # fmt: skip

    def parameters(self) -> dict[str, object]:
        """The parameters besides the principle; the share only where people may be suppressed."""
        given = super().parameters()
        if not ratio(self.suppress):
            del given["suppress"]
        return given

    def _cut(self, data: Microdata, lattice: Lattice, point: Point) -> dict[str, Cut]:
        cuts: dict[str, Cut] = {}
        for name, levels, level in zip(data.quasi_identifiers, lattice.levels, point, strict=True):
            runs = levels[level]
            there, number = number_keys(_number_runs(runs)[data.codes[name]])
            cuts[name] = [runs[i] for i in there], number
        return cuts

    def _release_suppressed(
        self, data: Microdata, cuts: dict[str, Cut], found: Suppressed
    ) -> Release:
        """Show people whose classes break the promise among each other, or leave them out."""
        taken = data.taken(found.rows)
        blank = found.blank[found.partition.labels]
        shown: dict[str, Cut] = {}
        for name, (runs, number) in cuts.items():
            of = number[found.rows]
            first = of[found.partition.order[found.partition.offsets[:-1]]]
            differ = blank & (of != first[found.partition.labels])
            group = np.zeros(found.partition.count, dtype=bool)
            group[found.partition.labels[differ]] = True
            of = np.where(group[found.partition.labels], len(runs), of)
            there, of = number_keys(of)
            every = [*runs, (0, data.domains[name].size - 1, ANY)]
            # codes that somebody has who is shown, counted up to each
            upto = np.concatenate([[0], np.cumsum(np.bincount(
                taken.codes[name], minlength=data.domains[name].size) > 0)])  # fmt: skip
            shown[name] = [(int(upto[low]), int(upto[high + 1]) - 1, label)
                           for low, high, label in (every[i] for i in there)], of  # fmt: skip
        taken = taken.narrowed()
        return release_boxes(self, taken, show_cuts(taken, shown), self.ends, found)


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


def _number_runs(runs: list[Run]) -> Ints:
    """Give the run of each code."""
    return np.repeat(np.arange(len(runs)), [high - low + 1 for low, high, _ in runs])


@dataclass(eq=False)
class Lattice:
    """All combinations of levels, of which only as many are looked at as it takes.

    Going up joins groups. So above a point that keeps a monotone principle all points do, and
    below one that breaks it all break it.
    """

    levels: list[list[list[Run]]]
    """Of each quasi-identifier."""
    shown: list[list[Ints]]
    """Per quasi-identifier and level the run of each row: people alike in all are one row."""
    losses: list[list[int]]
    """Per quasi-identifier and level what is lost, in a unit that makes all of them whole."""
    bags: list[tuple[Principle, Groups]]
    """What is asked, and the bags of all rows that it is asked of."""
    row_of: Ints
    """Per row of the table which of these it is."""
    budget: int = 0
    """So many rows may be in groups that break the principle."""
    keeping: list[Point] = field(default_factory=list)
    breaking: list[Point] = field(default_factory=list)

    @staticmethod
    def over(data: Microdata, principle: Principle) -> Lattice:
        """Span the lattice over the quasi-identifiers of a table."""
        names = data.quasi_identifiers
        levels = [list_levels(data.domains[name]) for name in names]
        row_of = data.number(names)
        first = representatives(row_of)
        shown = [
            [_number_runs(runs)[data.codes[name][first]] for runs in there]
            for name, there in zip(names, levels, strict=True)
        ]
        rows = Partition.from_labels(row_of)
        bags = [(p, bag_groups(data, rows, name)) for p, name in demands(principle, data.sensitive)]
        return Lattice(levels, shown, _weigh_levels(data, levels), bags, row_of)

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
        """Say whether people who show these levels keep the principle."""
        if any(_lies_below(other, point) for other in self.keeping):
            return True
        if any(_lies_below(point, other) for other in self.breaking):
            return False
        group_of, fine = self._judge(point)
        good = bool(fine.all())
        if not good and self.budget:
            rows = np.bincount(self.row_of, minlength=len(group_of))
            good = int(rows[~fine[group_of]].sum()) <= self.budget
        if good:
            self.keeping.append(point)
        return good

    def _judge(self, point: Point) -> tuple[Ints, Bools]:
        """Give the group of each row that shows these levels, and whether it is good."""
        rows = len(self.shown[0][0])
        columns = [of[level] for of, level in zip(self.shown, point, strict=True)]
        group_of, each = row_ids(columns, rows), np.arange(rows)
        count, once = int(group_of.max()) + 1, np.ones(rows, dtype=np.int64)
        fine = np.ones(count, dtype=bool)
        for part, bags in self.bags:
            if fine.any():
                fine &= part.admits(bags.mix(each, group_of, once, count))
        return group_of, fine

    def find_failing(self, point: Point) -> Bools:
        """Say of every row of the table whether its group breaks the principle."""
        group_of, fine = self._judge(point)
        return np.asarray(~fine[group_of][self.row_of])

    def weigh(self, point: Point) -> float:
        """Give what people lose who show these levels, each at most 1."""
        whole = sum(max(of) for of in self.losses) or 1
        lost = sum(of[level] for of, level in zip(self.losses, point, strict=True))
        return lost / whole * len(self.row_of)


def _move(point: Point, a: int, level: int) -> Point:
    return (*point[:a], level, *point[a + 1 :])


def _lies_below(point: Point, other: Point) -> bool:
    """Say whether a point is nowhere higher than another."""
    return all(map(le, point, other))


def _weigh_levels(data: Microdata, levels: list[list[list[Run]]]) -> list[list[int]]:
    """Add up over people how many other values are shown with their own.

    All attributes count alike, so each is divided by the size of its domain, and that without
    rounding: levels that lose the same must be seen to.
    """
    others = [max(data.domains[name].size - 1, 1) for name in data.quasi_identifiers]
    unit = lcm(*others)
    losses = []
    for name, there, size in zip(data.quasi_identifiers, levels, others, strict=True):
        people = np.bincount(data.codes[name], minlength=data.domains[name].size)
        joined = [np.add.reduceat(people, [low for low, *_ in runs]) for runs in there]
        widths = [np.array([high - low for low, high, _ in runs]) for runs in there]
        losses.append(
            [int((p * w).sum()) * (unit // size) for p, w in zip(joined, widths, strict=True)]
        )
    return losses
