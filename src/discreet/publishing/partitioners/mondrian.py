"""Mondrian: split the table by one attribute at a time, as long as the principle allows.

LeFevre, DeWitt, Ramakrishnan, ICDE 2006: strict multidimensional recoding, top down. Two things
differ from the paper. Small nodes do not halve their widest attribute but take the cut, over all
attributes, that shrinks the groups' extent most; and categories are ordered by frequency within
their taxonomy. Both lose clearly less for the same promise, at the same speed.

Every choice depends on counts alone, so the order of the input rows does not matter.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import PromiseError
from discreet.principles.base import KernelRule, Principle, demands
from discreet.principles.groups import Groups
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.histograms import bag_codes, histogram, require_names
from discreet.publishing.partitioners.levels import LevelSplitter, SplitCells, SplitCheck
from discreet.publishing.partitioners.packing import Field, pack_rows, rank_by_frequency
from discreet.table.arrays import Bools, Ints
from discreet.table.coded_table import CodedTable
from discreet.table.microdata import Microdata

Categories = Literal["set", "ancestor"]
PARALLEL = 20_000
"""From this many rows on, subtrees are shared among the processor's cores."""


def mondrian(
    data: Microdata,
    principle: Principle,
    attributes: Sequence[str] | None = None,
    *,
    categories: Categories = "set",
) -> Partition:
    """Partition by the given quasi-identifiers (all by default) under a monotone principle.

    Or one about what each person asks for: all sides of a split are asked, so what is found keeps
    it; but what the whole does not keep, or a side on the way, is not looked beyond.

    With ``categories="set"`` a category may be cut anywhere in its order; with ``"ancestor"`` an
    attribute with a taxonomy is split into all children of a node at once.
    """
    refuse_dealt(principle)
    return grow(data, principle, attributes, categories).partition


def refuse_dealt(principle: Principle) -> None:
    """Refuse principles for which people have to be dealt into groups."""
    for part in principle.parts:
        if part.dealt:
            raise PromiseError(
                f"{part} cannot be promised by splitting groups top down: it is not monotone, so "
                "two groups may satisfy it and their union not.",
                hint="Use a method that deals people into groups, such as generalization.",
                subject=part,
            )


@dataclass(frozen=True, eq=False)
class Tree:
    """The leaves of a grown tree, and the packed rows in them side by side."""

    cells: SplitCells
    leaves: NDArray[np.int8]
    """At the first row of each leaf the buffer that holds its rows; elsewhere -1."""
    rules: Ints
    tables: Ints
    complete: bool
    """Whether the rules say all that the principle does."""
    min_size: int

    @property
    def fixed(self) -> tuple[Any, ...]:
        """What a kernel needs to go on."""
        cells = self.cells
        return (cells.attrs, self.min_size, cells.trees, self._fields, self.rules, self.tables)

    @property
    def _fields(self) -> Ints:
        """Where the sensitive codes are, and where each one's counts start."""
        fields = self.cells.sensitive.values() if len(self.rules) else []
        starts = np.concatenate([[0], np.cumsum([f.mask + 1 for f in fields])])
        return np.array(
            [
                (f.plane, f.shift, f.mask, f.mask + 1, start)
                for f, start in zip(fields, starts, strict=False)
            ],
            dtype=np.int64,
        ).reshape(-1, 5)

    @property
    def partition(self) -> Partition:
        """The leaves as groups."""
        from discreet.kernels.packing import unpack

        row, leaves = self.cells.row, self.leaves
        order = unpack(self.cells.buffers, leaves, row.plane, row.shift, row.mask)
        return Partition(order, np.append(np.flatnonzero(leaves >= 0), len(leaves)))


def grow(
    data: Microdata,
    principle: Principle,
    attributes: Sequence[str] | None = None,
    categories: Categories = "set",
    ranked: str | None = None,
) -> Tree:
    """Split as long as both sides satisfy a principle, which the whole table must.

    Rows keep their order within a leaf, or come in the opposite one; ``ranked`` names the sensitive
    attribute in whose order they come.
    """
    names = list(data.quasi_identifiers if attributes is None else attributes)
    demand = Demand.of(data, principle, names)
    return split_rows(pack_cells(data, demand, names, categories), demand, ranked=ranked)


def pack_cells(
    data: Microdata, demand: Demand, names: list[str], categories: Categories
) -> SplitCells:
    """Pack all rows of a table, with what is demanded of them."""
    splitting = plan_splitting(data, names, categories)
    buffers, fields = pack_rows(data, [*names, *demand.reads], splitting.ranks)
    sensitive = dict(zip(demand.reads, fields[len(names) :], strict=False))
    attrs = splitting.place(fields[: len(names)])
    return SplitCells(buffers, attrs, splitting.trees, fields[-1], sensitive)


@dataclass(frozen=True, eq=False)
class Demand:
    """What both sides of a split must keep, and what the whole table is like."""

    wanted: list[tuple[Principle, str | None]]
    wholes: dict[str | None, Groups]
    min_size: int

    @staticmethod
    def of(data: CodedTable, principle: Principle, names: Sequence[str]) -> Demand:
        """Take it from a principle, which the whole table must keep."""
        require_names(names)
        wholes: dict[str | None, Groups] = {None: histogram(data, None)}
        for told in data.sensitive:  # of a part the promise is about the whole's distribution
            wholes[told] = replace(histogram(data, told), whole=data.count_whole(told))
        wanted = list(demands(principle, data.sensitive))
        for part, name in wanted:
            part.require(wholes[name])
        return Demand(wanted, wholes, principle.min_size)

    @property
    def reads(self) -> list[str]:
        """The sensitive attributes that it is about."""
        return list(dict.fromkeys(name for _, name in self.wanted if name is not None))

    def admits(self, groups: Partition, read: Callable[[str], NDArray[np.int32]]) -> Bools:
        """Say of groups, whose codes are read in group order, which keep all of it."""
        good = np.ones(groups.count, dtype=bool)
        for part, name in self.wanted:
            bags = Groups.of_people(groups.sizes)
            if name is not None:
                bags = bag_codes(read(name), groups, self.wholes[name])
            good &= part.admits(bags)
        return good

    @cached_property
    def _rules(self) -> tuple[Ints, Ints, bool]:
        return _compile(self.wanted, self.wholes, self.reads, None)

    @property
    def complete(self) -> bool:
        """Whether rules for kernels say all of it."""
        return self._rules[2]

    @property
    def sweeps(self) -> bool:
        """Whether all cuts are tried where the best is refused; else the best of each attribute.

        The kernel does the latter where moving one row may move a whole window.
        """
        from discreet.kernels.rules import COVER

        return not self.complete or not (self._rules[0][:, 0] == COVER).any()


def split_rows(
    cells: SplitCells, demand: Demand, root: Ints | None = None, ranked: str | None = None
) -> Tree:
    """Split packed rows as long as all sides keep what is demanded.

    They are all rows of a table, or those of a node ``root`` of a tree whose top was found
    elsewhere.
    """
    from discreet.kernels.mondrian import grow_tree, open_root

    n = cells.buffers.shape[2]
    compiled = _compile(demand.wanted, demand.wholes, list(cells.sensitive), ranked)
    tree = Tree(cells, np.full(n, -1, dtype=np.int8), *compiled, demand.min_size)
    root = open_root(cells.attrs, n) if root is None else root
    if tree.complete:
        split_depth_first(tree, root, grow_tree)
    else:
        _split_by_levels(tree, root, demand)
    return tree


@dataclass(frozen=True, eq=False)
class Splitting:
    """How each attribute is split, whatever rows there are."""

    names: list[str]
    kinds: list[int]
    spans: list[int]
    places: list[tuple[int, int]]
    """Where in ``trees`` the ancestors of an attribute's codes are, and how many each has."""
    trees: Ints
    ranks: dict[str, Ints]
    """How categories are renumbered."""

    def place(self, fields: Sequence[Field]) -> Ints:
        """Give what kernels must know of each attribute, whose codes are in these fields."""
        lines = [
            (field.plane, field.shift, field.mask, span, kind, *place)
            for field, span, kind, place in zip(
                fields, self.spans, self.kinds, self.places, strict=True
            )
        ]
        return np.array(lines, dtype=np.int64)


def plan_splitting(data: CodedTable, names: list[str], categories: Categories) -> Splitting:
    """Say how attributes are split; it follows from domains and counts alone."""
    from discreet.kernels.cuts import RANGE, SET, TREE

    kinds, ranks, trees, places = [], {}, [np.zeros(1, dtype=np.int64)], []
    for name in names:
        domain = data.domains[name]
        place, height = 0, 0
        if categories == "ancestor" and domain.taxonomy is not None:
            kinds.append(TREE)
            table = _ancestors(data, name)
            place, height = sum(map(len, trees)), table.shape[1]
            trees.append(table.ravel())
        elif domain.attribute.type.ordered:
            kinds.append(RANGE)
        else:
            kinds.append(SET)
            ranks[name] = rank_by_frequency(data.count(name), domain)
        places.append((place, height))
    spans = [data.domains[name].size - 1 for name in names]
    return Splitting(names, kinds, spans, places, np.concatenate(trees), ranks)


def _ancestors(data: CodedTable, name: str) -> Ints:
    """Per code the numbers of its nodes from the root down, -1 below the leaf."""
    domain = data.domains[name]
    tree = domain.taxonomy
    assert tree is not None
    height = tree.height + 2
    table = np.full((domain.size, height), -1, dtype=np.int64)
    for leaf in range(len(tree.leaves)):
        path = tree.path(leaf)
        table[leaf, : len(path)] = path
    if domain.missing:  # missing hangs below the root, apart from every named node
        table[-1, :2] = 0, len(tree.nodes)
    return table


def _compile(
    wanted: list[tuple[Principle, str | None]],
    wholes: dict[str | None, Groups],
    fields: list[str],
    ranked: str | None,
) -> tuple[Ints, Ints, bool]:
    from discreet.kernels.rules import COVER

    # sizes are kept by the least size of a side
    found = [(part.rules(wholes[name]), str(name)) for part, name in wanted if part.reads_values]
    rules, tables, complete = write_rules(found, fields)
    covers = rules[:, 0] == COVER
    rules[covers, 3] = rules[covers, 1] == (-1 if ranked is None else fields.index(ranked))
    return rules, tables, complete


def write_rules(
    found: Sequence[tuple[list[KernelRule] | None, str]], fields: list[str]
) -> tuple[Ints, Ints, bool]:
    """Write the rules as one array, their tables in another; say whether all could be written."""
    rows, tables, length = [], [np.zeros(1, dtype=np.int64)], 1
    for rules, name in found:
        for rule in rules or []:
            rows.append((rule.op, fields.index(name), rule.a, rule.b, rule.c, length))
            tables.append(np.asarray(rule.table, dtype=np.int64))
            length += len(rule.table)
    complete = all(rules is not None for rules, _ in found)
    return np.array(rows, dtype=np.int64).reshape(-1, 6), np.concatenate(tables), complete


def split_depth_first(
    tree: Tree, root: Ints, grow_tree: Callable[..., Any], *further: object
) -> None:
    """Grow a tree by a kernel, its subtrees by all cores."""
    cells, fixed, n = tree.cells, (*tree.fixed, *further), len(tree.leaves)
    cores = os.cpu_count() or 1
    pause = n // (8 * cores) if n >= PARALLEL and cores > 1 else 0
    subtrees = grow_tree(cells.buffers, root, tree.leaves, pause, *fixed)
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(lambda r: grow_tree(cells.buffers, r, tree.leaves, 0, *fixed), subtrees))


def _split_by_levels(tree: Tree, root: Ints, demand: Demand) -> None:
    """Do the same with the principles themselves: the first cuts of a level in one question.

    This is the way of any principle that offers no rule, and the reference for those that do.
    """
    from discreet.kernels.mondrian import open_side

    cells, leaves, min_size = tree.cells, tree.leaves, tree.min_size
    check = SplitCheck(cells, demand.wanted, demand.wholes)
    splitter = LevelSplitter(cells, min_size, check)
    level = [root]
    while level:
        below: list[Ints] = []
        for node, split in zip(level, splitter.cut_level(level), strict=True):
            if split is None:
                leaves[node[0]] = node[2]
                continue
            ends, start = np.array(split.ends), int(node[0])
            for side, end in enumerate(split.ends):
                if end - start < 2 * min_size:
                    leaves[start] = 1 - node[2]
                else:
                    child = np.empty_like(node)
                    open_side(child, node, side, ends, cells.attrs, split.attribute, split.cut)
                    below.append(child)
                start = end
        level = below
