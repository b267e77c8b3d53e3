"""Leaves: the top of Mondrian's tree from counts, and its leaves split where their rows are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.principles.base import Principle
from discreet.publishing.backends import Backend, PackedRows
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.descent import Descent, Routes, SplitNode
from discreet.publishing.partitioners.levels import SplitCells
from discreet.publishing.partitioners.mondrian import (
    Categories,
    Demand,
    plan_splitting,
    split_rows,
)
from discreet.publishing.partitioners.packing import Layout
from discreet.publishing.partitioners.proximity import Dealer
from discreet.table.arrays import Ints, order_rows
from discreet.table.facts import Facts


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Rows in the order of their groups, still packed."""

    layout: Layout
    buffers: Ints
    leaves: NDArray[np.int8]
    """At the first row of each group the buffer that holds its rows; elsewhere -1."""

    @property
    def partition(self) -> Partition:
        """The groups, of rows in this order."""
        rows = np.arange(len(self.leaves), dtype=np.int32)
        return Partition(rows, np.append(np.flatnonzero(self.leaves >= 0), len(rows)))

    @property
    def words(self) -> Ints:
        """The rows themselves."""
        starts = np.flatnonzero(self.leaves >= 0)
        buffer = np.repeat(self.leaves[starts], np.diff(np.append(starts, len(self.leaves))))
        first, second = self.buffers
        return np.asarray(np.where(buffer == 0, first, second))

    def read(self, name: str) -> NDArray[np.int32]:
        """Give the codes of an attribute."""
        from discreet.kernels.packing import unpack

        field = self.layout.find(name)
        codes: NDArray[np.int32] = unpack(
            self.buffers, self.leaves, field.plane, field.shift, field.mask
        )
        ranks = self.layout.ranks.get(name)
        return codes if ranks is None else np.argsort(ranks).astype(np.int32)[codes]


@dataclass(frozen=True, eq=False)
class LeafSplitter:
    """Splits the rows of a leaf of the top of a tree as they would be with all rows at hand."""

    layout: Layout
    attrs: Ints
    trees: Ints
    demand: Demand
    leaves: list[SplitNode]
    """What is known of the rows of each leaf."""
    shown: Layout
    """Where what is shown of rows is in their words."""
    ranked: RankedRows | None = None
    """In which order they have to come, and how they are dealt then, where they are."""

    def __call__(self, leaf: int, words: Ints) -> GroupedRows:
        """Split rows, given by their words."""
        buffers = np.empty((2, *words.shape), dtype=np.int64)
        ranked, known = self.ranked, self.leaves[leaf]
        if ranked is None:
            buffers[0] = words
        else:
            np.take(words, ranked.order(self.layout, words, known.turned), axis=1, out=buffers[0])
        reads = {name: self.layout.find(name) for name in self.demand.reads}
        cells = SplitCells(buffers, self.attrs, self.trees, self.layout.fields[0], reads)
        root = known.node.copy()
        root[:3] = 0, words.shape[1], 0
        tree = split_rows(cells, self.demand, root, None if ranked is None else ranked.spaced)
        if ranked is not None:
            ranked.deal(tree)
        return GroupedRows(self.shown, buffers, tree.leaves)


@dataclass(frozen=True, eq=False)
class RankedRows:
    """Rows that come in the order of a number, by which they are dealt."""

    spaced: str
    sizes: dict[str, int]
    """Per attribute, in the order in which they count, how many codes it has."""
    deal: Dealer

    def order(self, layout: Layout, words: Ints, turned: bool) -> Ints:
        """Give the order in which the kernel would have the rows of a node."""
        columns = (layout.read(words, name) for name in self.sizes)
        order = order_rows(columns, list(self.sizes.values()), words.shape[1])
        return order[::-1] if turned else order


def descend(
    backend: Backend,
    principle: Principle,
    known: list[str],
    exact: list[str],
    categories: Categories,
    capacity: int,
) -> tuple[PackedRows, Routes, LeafSplitter]:
    """Pack all rows, and find the top of the tree that ``mondrian`` would grow of them."""
    rows, layout = pack_all(backend, known, exact, categories)
    return rows, *find_top(backend.facts, rows, layout, principle, known, categories, capacity)


def pack_all(
    backend: Backend, known: list[str], exact: list[str], categories: Categories
) -> tuple[PackedRows, Layout]:
    """Pack all rows, with what is split of them first."""
    facts = backend.facts
    ranks = plan_splitting(facts, known, categories).ranks
    layout = Layout.of([*known, *exact], facts.domains, ranks)
    return backend.pack(layout), layout


def find_top(
    facts: Facts,
    rows: PackedRows,
    layout: Layout,
    principle: Principle,
    known: list[str],
    categories: Categories,
    capacity: int,
) -> tuple[Routes, LeafSplitter]:
    """Find the top of the tree that ``mondrian`` would grow of packed rows."""
    demand = Demand.of(facts, principle, known)
    splitting = plan_splitting(facts, known, categories)
    attrs = splitting.place([layout.find(name) for name in known])
    descent = Descent(layout, attrs, splitting.trees, demand, facts.n, rows.tally)
    routes, leaves = descent.descend(capacity)
    return routes, LeafSplitter(layout, attrs, splitting.trees, demand, leaves, layout)


def part_evenly(rows: Ints, most: int) -> Ints:
    """Part things that have so many rows each into ranges of at most so many, or of one thing.

    Gives the first of each range.

    >>> part_evenly(np.array([3, 3, 9, 1, 1]), 6).tolist()
    [0, 2, 3]
    """
    ends = np.cumsum(rows)
    starts = [0]
    while True:
        before = int(ends[starts[-1] - 1]) if starts[-1] else 0
        following = max(starts[-1] + 1, int(np.searchsorted(ends, before + most, side="right")))
        if following >= len(rows):
            return np.array(starts, dtype=np.int64)
        starts.append(following)


def list_within(partition: Partition, codes: NDArray[np.integer]) -> pl.Series:
    """Put the numbers of each group, which come in group order, into a list."""
    import pyarrow as pa

    offsets = pa.array(partition.offsets, type=pa.int64())
    return pl.Series(pl.from_arrow(pa.LargeListArray.from_arrays(offsets, pa.array(codes))))
