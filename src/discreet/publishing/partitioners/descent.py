"""Descent: the top of Mondrian's tree, found from counts alone.

Every choice of a split depends on counts: how often each code of each attribute occurs in a node,
and each sensitive code on both sides of the cut that would be made. These are asked of whoever has
the rows, level by level, until nodes are small enough for somebody to hold all rows of one. What is
found is the very tree that would be found with all rows at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.principles.groups import Groups
from discreet.publishing.partitioners.levels import sweep_cuts
from discreet.publishing.partitioners.mondrian import Demand
from discreet.publishing.partitioners.packing import Layout
from discreet.publishing.partitioners.pair_counts import PairCounter, Pairs, gather_sides
from discreet.table.arrays import Bools, Floats, Ints

KeyCounts = tuple[Ints, Ints]
"""Keys, ascending, and how often each occurs."""
Ask = Callable[[Callable[[Ints], KeyCounts]], KeyCounts]
"""Adds up, over all rows wherever they are, what a function counts of some rows' words."""
MOST_COUNTED = 1 << 24
"""So many counts are asked for at once."""
MOST_WEIGHED = 1 << 22
"""So many counts of cuts are held against a principle at once."""


@dataclass(frozen=True, eq=False)
class Routes:
    """A tree of splits by which rows find their node."""

    fields: Ints
    """Plane, shift and mask of the attributes by which nodes are split."""
    owner: Ints
    cut: Ints
    first: Ints
    table: Ints
    sides: Ints
    leaf: Ints
    """Per node the number of its leaf, from left to right; -1 where it is split."""

    def walk(self, words: Ints) -> NDArray[np.int32]:
        """Give the node at which every row arrives."""
        from discreet.kernels.descent import walk

        found: NDArray[np.int32] = walk(
            words, self.fields, self.owner, self.cut, self.first, self.table, self.sides
        )
        return found

    def find_leaves(self, words: Ints) -> NDArray[np.int32]:
        """Give the leaf of every row."""
        return self.leaf[self.walk(words)].astype(np.int32)

    @property
    def leaves(self) -> int:
        """How many leaves there are."""
        return int(self.leaf.max()) + 1


@dataclass(frozen=True, eq=False)
class FieldCounter:
    """Counts the codes of some fields among the rows that arrive at some nodes."""

    routes: Routes
    place: Ints
    """Per node its number among those that are counted; else -1."""
    fields: Ints
    starts: Ints
    size: int
    """All codes of all fields."""

    def __call__(self, words: Ints) -> KeyCounts:
        """Count some rows."""
        from discreet.kernels.descent import count_fields

        counts = np.zeros((int(self.place.max()) + 1, self.size), dtype=np.int64)
        count_fields(words, self.routes.walk(words), self.place, self.fields, self.starts, counts)
        flat = counts.ravel()
        keys = np.flatnonzero(flat)
        return keys, flat[keys]


@dataclass(eq=False)
class SplitNode:
    """A node of the tree: its bounds, as kernels have them, and how it is split, if it is."""

    node: Ints
    attribute: int = -1
    cut: int = -1
    sides: Ints | None = None
    """Per code to which child it goes, where that is not a matter of one cut."""
    children: list[SplitNode] = field(default_factory=list)
    final: bool = False
    """Whether no cut is admitted."""
    turned: bool = False
    """Whether the kernel, which lays the right side of a cut down from its end, would have its rows
    in the opposite order."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.node[1])


@dataclass(frozen=True, eq=False)
class TriedCuts:
    """A node whose best cut was made, and what the best cuts of its attributes are worth."""

    branch: SplitNode
    tally: Ints
    merit: Floats
    cuts: Ints


class Descent:
    """The top of a tree over rows that are elsewhere."""

    def __init__(
        self, layout: Layout, attrs: Ints, trees: Ints, demand: Demand, n: int, ask: Ask
    ) -> None:
        from discreet.kernels.cuts import BINS
        from discreet.kernels.mondrian import open_root

        self.attrs, self.trees, self.demand, self.ask = attrs, trees, demand, ask
        self.reads = demand.reads
        self.secret = layout.table(self.reads)
        self.secret_sizes = np.array([demand.wholes[name].domain.size for name in self.reads])
        self.root = SplitNode(open_root(attrs, n))
        widest = int(attrs[:, 3].max()) + 1
        self.hist = np.zeros(max(BINS, widest) + 2, dtype=np.int64)
        self.merit, self.cuts = np.empty(len(attrs)), np.empty(len(attrs), dtype=np.int64)

    def descend(self, capacity: int) -> tuple[Routes, list[SplitNode]]:
        """Split until no node has more rows than ``capacity``, or none can be split.

        Gives the way to the leaves, and these, from left to right.
        """
        level = [self.root]
        while True:
            level = [b for b in level if b.n > capacity and not b.final]
            if not level:
                break
            self._split_level(level)
            level = [child for branch in level for child in branch.children]
        return self._route()

    def _split_level(self, level: list[SplitNode]) -> None:
        from discreet.kernels.cuts import UNSEEN

        refused: list[TriedCuts] = []
        for part in _in_turn(level, int((self.attrs[:, 3] + 1).sum())):
            tallies = self._count(part, self.attrs[:, :3], self.attrs[:, 3] + 1)
            tried = []
            for branch, tally in zip(part, tallies, strict=True):
                self.merit.fill(UNSEEN)
                a = self._choose(branch, tally, every=False)
                if a < 0:
                    branch.final = True
                else:
                    self._split(branch, a, int(self.cuts[a]), tally)
                    tried.append(TriedCuts(branch, tally, self.merit.copy(), self.cuts.copy()))
            good = self._admits([one.branch for one in tried])
            refused += [one for one, fine in zip(tried, good, strict=True) if not fine]
        for one in refused:
            one.branch.children = []
            self.merit[:], self.cuts[:] = one.merit, one.cuts
            if not self.demand.complete:  # without rules all are looked at again
                self.merit.fill(UNSEEN)
            self._choose(one.branch, one.tally, every=True)
            one.merit[:], one.cuts[:] = self.merit, self.cuts
        if refused and self.demand.sweeps:
            self._split_otherwise(refused)
        elif refused:
            self._split_in_turn(refused)

    def _choose(self, branch: SplitNode, tally: Ints, *, every: bool) -> int:
        """Weigh the cuts of attributes that were not seen yet: all, or until one wins."""
        from discreet.kernels.cuts import choose_cuts

        nothing = np.zeros((2, 1, 0), dtype=np.int64)
        fixed = (nothing, branch.node, self.attrs, self.demand.min_size, self.trees)
        return int(choose_cuts(*fixed, self.hist, self.merit, every, self.cuts, tally))

    def _split(self, branch: SplitNode, a: int, cut: int, tally: Ints) -> None:
        """Give a branch the children that a cut makes."""
        from discreet.kernels.cuts import TREE
        from discreet.kernels.mondrian import open_side

        own = self._of(tally, a)
        if self.attrs[a, 4] == TREE:
            branch.sides = self._find_sides(a, cut, own)
        else:
            branch.sides = None
        side = branch.sides
        if side is None:
            rows = np.array([own[: cut + 1].sum(), own[cut + 1 :].sum()])
        else:
            rows = np.bincount(side[own > 0], weights=own[own > 0]).astype(np.int64)
        branch.attribute, branch.cut = a, cut
        ends = np.cumsum(rows)
        for s, size in enumerate(rows.tolist()):
            child = np.empty_like(branch.node)
            open_side(child, branch.node, s, ends, self.attrs, a, cut)
            child[:3] = 0, size, 0
            turned = branch.turned ^ (side is None and s > 0)
            branch.children.append(SplitNode(child, turned=turned))

    def _of(self, tally: Ints, a: int) -> Ints:
        start = int((self.attrs[:a, 3] + 1).sum())
        return tally[start : start + int(self.attrs[a, 3]) + 1]

    def _find_sides(self, a: int, depth: int, own: Ints) -> Ints:
        """Number the children below the common ancestor of the codes that occur."""
        start, height = self.attrs[a, 5:7].tolist()
        size = len(own)
        below = self.trees[start : start + size * height].reshape(size, height)[:, depth + 1]
        present = np.flatnonzero(own)
        changes = np.append(True, below[present][1:] != below[present][:-1])
        sides = np.zeros(size, dtype=np.int64)
        sides[present] = np.cumsum(changes) - 1
        return sides

    def _admits(self, branches: list[SplitNode]) -> list[bool]:
        """Whether all children of each branch keep what is demanded, which is asked of the rows."""
        if not self.reads or not branches:
            return [True] * len(branches)
        children = [child for branch in branches for child in branch.children]
        good = np.ones(len(children), dtype=bool)
        done = 0
        for part in _in_turn(children, int(self.secret_sizes.sum())):
            counts = self._count(part, self.secret, self.secret_sizes)
            good[done : done + len(part)] = self._judge(counts)
            done += len(part)
        ends = np.cumsum([len(branch.children) for branch in branches])
        return [bool(part.all()) for part in np.split(good, ends[:-1])]

    def _judge(self, counts: Ints) -> Bools:
        """Ask the principles about bags, given as counts of all sensitive codes, a line each."""
        good = np.ones(len(counts), dtype=bool)
        ends = np.cumsum(self.secret_sizes)
        for part, name in self.demand.wanted:
            if name is not None:
                whole, f = self.demand.wholes[name], self.reads.index(name)
                own = counts[:, ends[f] - self.secret_sizes[f] : ends[f]]
                good &= part.admits(Groups.from_table(own, whole.domain, whole.whole))
        return good

    def _split_in_turn(self, refused: list[TriedCuts]) -> None:
        """Split by the best cut of the first attribute, most merit first, that is admitted."""
        from discreet.kernels.cuts import rank_cuts

        ranked = [(one, [a for a in rank_cuts(self.attrs, one.merit, -1.0, False).tolist()
                         if a != one.branch.attribute]) for one in refused]  # fmt: skip
        while ranked:
            for one, rest in ranked:
                one.branch.final = not rest
                if rest:
                    self._split(one.branch, rest[0], int(one.cuts[rest[0]]), one.tally)
            tried = [(one, rest) for one, rest in ranked if rest]
            good = self._admits([one.branch for one, _ in tried])
            ranked = [(one, rest[1:]) for (one, rest), fine in zip(tried, good, strict=True)
                      if not fine]  # fmt: skip
            for one, _ in ranked:
                one.branch.children = []

    def _split_otherwise(self, refused: list[TriedCuts]) -> None:
        """Split where it gains most among all cuts that the principles admit, if there is one."""
        counted = self._count_pairs([one.branch for one in refused])
        for one, pairs in zip(refused, counted, strict=True):
            attribute, cut = self._find_cut(one.branch.node, one.tally, one.merit, one.cuts, pairs)
            if attribute < 0:
                one.branch.final = True
            else:
                self._split(one.branch, attribute, cut, one.tally)

    def _find_cut(
        self, node: Ints, tally: Ints, merit: Floats, cuts: Ints, pairs: list[Pairs]
    ) -> tuple[int, int]:
        """Find the cut of most merit that is admitted; its attribute is -1 if there is none."""
        from discreet.kernels.cuts import rank_cuts

        d = len(self.attrs)

        def count(a: int, low: int, log_width: int) -> Ints:
            own = self._of(tally, a)[low : int(node[3 + d + a]) + 1]
            counts = np.bincount(np.arange(len(own)) >> log_width, weights=own)
            return counts.astype(np.int64)

        def admits(a: int, low: int, log_width: int, ends: Ints) -> Bools:  # noqa: ARG001
            return self._admit_cuts(pairs[a], ends)

        best, attribute, cut = sweep_cuts(node, self.attrs, self.demand.min_size, count, admits)
        for a in rank_cuts(self.attrs, merit, best, True).tolist():
            sides = self._find_sides(a, int(cuts[a]), self._of(tally, a))
            if self._judge(gather_sides(pairs[a], sides, int(self.secret_sizes.sum()))).all():
                return a, int(cuts[a])
        return attribute, cut

    @cached_property
    def _are_trees(self) -> Bools:
        from discreet.kernels.cuts import TREE

        return np.asarray(self.attrs[:, 4] == TREE)

    def _admit_cuts(self, pairs: Pairs, ends: Ints) -> Bools:
        """Say after which bins the two sides keep what is demanded."""
        size = int(self.secret_sizes.sum())
        whole = np.bincount(pairs.codes, weights=pairs.rows, minlength=size).astype(np.int64)
        good, left, done = np.ones(len(ends), dtype=bool), np.zeros(size, np.int64), 0
        step = max(1, MOST_WEIGHED // size)
        for first in range(0, len(ends), step):
            some = ends[first : first + step]
            upto = int(np.searchsorted(pairs.bins, some[-1], side="right"))
            table = np.zeros((len(some), size), dtype=np.int64)
            here = slice(done, upto)
            np.add.at(table, (np.searchsorted(some, pairs.bins[here]), pairs.codes[here]),
                      pairs.rows[here])  # fmt: skip
            running = left + np.cumsum(table, axis=0)
            for sides in (running, whole - running):
                good[first : first + step] &= self._judge(sides)
            left, done = running[-1], upto
        return good

    def _place(self, branches: Sequence[SplitNode]) -> tuple[Routes, Ints]:
        """Lay the tree out, and say which of its nodes is which of some leaves of it."""
        routes, leaves = self._route()
        number = {id(branch): i for i, branch in enumerate(branches)}
        wanted = np.array([number.get(id(leaf), -1) for leaf in leaves] + [-1])
        return routes, wanted[routes.leaf]

    def _count(self, branches: Sequence[SplitNode], fields: Ints, sizes: Ints) -> Ints:
        """Count the codes of some fields in some nodes, a line each."""
        routes, place = self._place(branches)
        size = int(sizes.sum())
        counter = FieldCounter(routes, place, fields, np.cumsum(sizes) - sizes, size)
        keys, rows = self.ask(counter)
        counts = np.zeros(len(branches) * size, dtype=np.int64)
        counts[keys] = rows
        return counts.reshape(len(branches), size)

    def _count_pairs(self, branches: Sequence[SplitNode]) -> list[list[Pairs]]:
        """Count the bins of every attribute in some nodes, with each sensitive code."""
        from discreet.kernels.cuts import log_bin_width

        routes, place = self._place(branches)
        d, sizes = len(self.attrs), self.secret_sizes
        nodes = np.stack([branch.node for branch in branches])
        lows = np.where(self._are_trees, 0, nodes[:, 3 : 3 + d])
        widths = np.zeros_like(lows)
        for b, a in np.argwhere(np.tile(~self._are_trees, (len(nodes), 1))):
            widths[b, a] = log_bin_width(lows[b, a], nodes[b, 3 + d + a])
        bins = ((self.attrs[:, 3] - lows) >> widths) + 1
        room = bins[:, :, None] * sizes
        bases = (np.cumsum(room.ravel()) - room.ravel()).reshape(room.shape)
        attributes = self.attrs[:, :3]
        keys, rows = self.ask(
            PairCounter(routes, place, attributes, lows, widths, self.secret, bases, sizes)
        )
        shift = np.cumsum(sizes) - sizes

        def list_pairs(b: int, a: int) -> Pairs:
            listed = []
            for f, size in enumerate(sizes):
                start = bases[b, a, f]
                span = slice(*np.searchsorted(keys, [start, start + room[b, a, f]]))
                own = keys[span] - start
                listed.append((own // size, own % size + shift[f], rows[span]))
            columns = [np.concatenate(part) for part in zip(*listed, strict=True)]
            by_bin = np.argsort(columns[0], kind="stable")
            return Pairs(*(column[by_bin] for column in columns))

        return [[list_pairs(b, a) for a in range(d)] for b in range(len(branches))]

    def _route(self) -> tuple[Routes, list[SplitNode]]:
        """Lay the tree out, and list its leaves from left to right."""
        laid, order = [self.root], _list_leaves(self.root)
        numbers = {id(branch): i for i, branch in enumerate(order)}
        lines, sides, length = [], [np.zeros(1, dtype=np.int64)], 1
        for branch in laid:  # grows while it is walked: the children of a node are side by side
            owner = branch.attribute if branch.children else -1
            looks = branch.sides if branch.children else None
            table = -1 if looks is None else length
            leaf = numbers.get(id(branch), -1)
            lines.append((owner, branch.cut, len(laid), table, leaf))
            if looks is not None:
                sides.append(looks)
                length += len(looks)
            laid += branch.children
        owners, cuts, firsts, tables, leaf_of = np.array(lines, dtype=np.int64).T.copy()
        routes = Routes(
            self.attrs[:, :3].copy(), owners, cuts, firsts, tables, np.concatenate(sides), leaf_of
        )
        return routes, order


def _list_leaves(root: SplitNode) -> list[SplitNode]:
    found, stack = [], [root]
    while stack:
        branch = stack.pop()
        if branch.children:
            stack += branch.children[::-1]
        else:
            found.append(branch)
    return found


def _in_turn(branches: list[SplitNode], each: int) -> list[list[SplitNode]]:
    """Part branches so that no more is counted of some of them at once than memory holds."""
    step = max(1, MOST_COUNTED // max(each, 1))
    return [branches[i : i + step] for i in range(0, len(branches), step)]
