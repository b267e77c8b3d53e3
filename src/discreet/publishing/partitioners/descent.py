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


@dataclass(frozen=True, eq=False)
class PairCounter:
    """Counts, of the rows at some nodes, the bins of every attribute with each sensitive code."""

    routes: Routes
    place: Ints
    attributes: Ints
    """Plane, shift and mask of each attribute."""
    lows: Ints
    """Per place and attribute the code at which bins start."""
    widths: Ints
    """Per place and attribute the logarithm of how many codes a bin has."""
    fields: Ints
    bases: Ints
    """Per place, attribute and sensitive field where its keys start."""
    sizes: Ints
    """Per sensitive field how many codes it has."""

    def __call__(self, words: Ints) -> KeyCounts:
        """Count some rows."""
        at = self.place[self.routes.walk(words)]
        words, at = words[:, at >= 0], at[at >= 0]
        keys = []
        codes = [_read(words, field) for field in self.fields]
        for a, attribute in enumerate(self.attributes):
            bins = (_read(words, attribute) - self.lows[at, a]) >> self.widths[at, a]
            keys += [self.bases[at, a, f] + bins * self.sizes[f] + own
                     for f, own in enumerate(codes)]  # fmt: skip
        return np.unique(np.concatenate(keys), return_counts=True)


def _read(words: Ints, field: Ints) -> Ints:
    return np.asarray((words[field[0]] >> field[1]) & field[2])


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

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.node[1])


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

    def descend(self, capacity: int) -> tuple[Routes, list[Ints]]:
        """Split until no node has more rows than ``capacity``, or none can be split.

        Gives the way to the leaves, and their nodes, from left to right.
        """
        level = [self.root]
        while True:
            level = [b for b in level if b.n > capacity and not b.final]
            if not level:
                break
            self._split_level(level)
            level = [child for branch in level for child in branch.children]
        routes, branches = self._route()
        return routes, [branch.node for branch in branches]

    def _split_level(self, level: list[SplitNode]) -> None:
        refused: list[tuple[SplitNode, Ints]] = []
        for part in _in_turn(level, int((self.attrs[:, 3] + 1).sum())):
            tallies = self._count(part, self.attrs[:, :3], self.attrs[:, 3] + 1)
            for branch, tally in zip(part, tallies, strict=True):
                a = self._choose(branch, tally, every=False)
                if a < 0:
                    branch.final = True
                else:
                    self._split(branch, a, int(self.cuts[a]), tally)
            tried = [(b, t) for b, t in zip(part, tallies, strict=True) if b.children]
            good = self._admits([b for b, _ in tried])
            refused += [pair for pair, fine in zip(tried, good, strict=True) if not fine]
        for branch, _ in refused:
            branch.children = []
        if refused:
            self._split_otherwise(refused)

    def _choose(self, branch: SplitNode, tally: Ints, *, every: bool) -> int:
        from discreet.kernels.cuts import UNSEEN, choose_cuts

        self.merit.fill(UNSEEN)
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
            branch.children.append(SplitNode(child))

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

    def _split_otherwise(self, refused: list[tuple[SplitNode, Ints]]) -> None:
        """Split where it gains most among all cuts that the principles admit, if there is one."""
        chosen = []
        for branch, tally in refused:
            self._choose(branch, tally, every=True)
            chosen.append((self.merit.copy(), self.cuts.copy()))
        counted = self._count_pairs([branch for branch, _ in refused])
        for (branch, tally), (merit, cuts), pairs in zip(refused, chosen, counted, strict=True):
            attribute, cut = self._find_cut(branch.node, tally, merit, cuts, pairs)
            if attribute < 0:
                branch.final = True
            else:
                self._split(branch, attribute, cut, tally)

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
            if self._judge(_gather(pairs[a], sides, int(self.secret_sizes.sum()))).all():
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


@dataclass(frozen=True, eq=False)
class Pairs:
    """How many rows have a code in a bin and a sensitive code, in the order of the bins."""

    bins: Ints
    codes: Ints
    rows: Ints


def _gather(pairs: Pairs, sides: Ints, size: int) -> Ints:
    """Count the sensitive codes of each side, where a bin is one code."""
    counts = np.zeros((int(sides.max()) + 1, size), dtype=np.int64)
    np.add.at(counts, (sides[pairs.bins], pairs.codes), pairs.rows)
    return counts


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
