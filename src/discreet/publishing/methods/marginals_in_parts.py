"""Marginals in parts: tables that show people, each with its batch, where the rows are.

Every row has its batch beside its words by then: the number of its region and that of the batch in
it, in one. A table that shows few attributes has boxes of more people than anybody can hold at
once. These cannot be split, but their people can be listed region by region.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.principles.base import Principle
from discreet.publishing.backends import Backend, FinishedLeaves, PackedRows
from discreet.publishing.methods.boxes import measure
from discreet.publishing.methods.boxes_in_parts import (
    SIZE,
    BoxLabels,
    measure_all,
    name_codes,
    name_extent,
    sample_extents,
)
from discreet.publishing.methods.leaves import (
    LeafSplitter,
    find_top,
    list_within,
    part_evenly,
)
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.descent import FieldCounter, KeyCounts, Routes
from discreet.publishing.partitioners.mondrian import Categories
from discreet.publishing.partitioners.packing import Layout
from discreet.table.arrays import Ints
from discreet.table.domain import Domain
from discreet.table.microdata import row_ids

BATCHES = "batches"
IN_REGION = 32
"""Bits of the number that a batch has in its region; that of the region is above them."""


@dataclass(frozen=True, eq=False)
class Marginal:
    """A table that shows people by some attributes, in boxes or as they are."""

    title: str
    names: list[str]
    categories: Categories | None
    """How boxes are measured; ``None`` where people show what they are."""
    domains: Mapping[str, Domain]
    layout: Layout

    def find_alike(self, words: Ints, buckets: Partition) -> Partition:
        """Say who shows the same of some rows, which are in the order of their buckets."""
        if self.categories is not None:
            return buckets
        codes = [self.layout.read(words, name) for name in self.names]
        return Partition.from_labels(row_ids(codes, words.shape[1]))

    def refer(self, words: Ints, buckets: Partition, batches: Ints) -> pl.DataFrame:
        """Give a line for all who show the same: so many, what it is, and their batches."""
        shown = self.find_alike(words, buckets)

        def read(name: str) -> NDArray[np.int32]:
            return self.layout.read(words, name)[shown.order].astype(np.int32)

        columns: dict[str, pl.Series] = {SIZE: pl.Series(shown.sizes)}
        if self.categories is None:
            first = shown.offsets[:-1]
            columns |= {name_codes(i): pl.Series(read(n)[first]) for i, n in enumerate(self.names)}
        else:
            columns |= measure_all(self.domains, self.names, read, shown, self.categories)
        own = batches[shown.order]
        ordered = own[np.lexsort((own, shown.sorted_labels))]
        return pl.DataFrame({**columns, BATCHES: list_within(shown, ordered)})

    @property
    def sample(self) -> pl.DataFrame:
        """A table without lines of what it gives."""
        shown: dict[str, Any] = {name_codes(i): pl.Int32 for i in range(len(self.names))}
        if self.categories is not None:
            shown = sample_extents(self.domains, self.names, self.categories)
        return pl.DataFrame(schema={SIZE: pl.Int64, **shown, BATCHES: pl.List(pl.Int64)})


@dataclass(frozen=True, eq=False)
class WideLeaves:
    """Leaves that cannot be split and have more rows than can be held: listed by regions."""

    place: Ints
    """Per leaf its number among these; else -1."""
    extents: list[pl.DataFrame]
    """What each of them measures, one line."""
    stretch: Ints
    """Per such leaf and region, into which stretch of the leaf its people go."""

    @property
    def first(self) -> Ints:
        """Per leaf of the tree its number, where each stretch of a wide one has a number."""
        numbers = np.ones(len(self.place), dtype=np.int64)
        numbers[self.place >= 0] = self.stretch.max(axis=1) + 1
        return np.append(0, np.cumsum(numbers))


@dataclass(frozen=True, eq=False)
class StretchFinder:
    """Finds the leaf of every row, or its stretch of a wide one."""

    routes: Routes
    wide: WideLeaves

    def __call__(self, words: Ints) -> NDArray[np.int32]:
        """Give the number of every row's."""
        leaf = self.routes.find_leaves(words)
        number, place = self.wide.first[leaf], self.wide.place[leaf]
        inside = place >= 0
        number[inside] += self.wide.stretch[place[inside], words[-1, inside] >> IN_REGION]
        return number.astype(np.int32)


@dataclass(frozen=True, eq=False)
class MarginalWork:
    """Splits the rows of a leaf into buckets, and says to which batches each refers."""

    marginal: Marginal
    split: LeafSplitter
    wide: WideLeaves

    def __call__(self, number: int, words: Ints) -> dict[str, pl.DataFrame]:
        """Give a line per bucket."""
        leaf = int(np.searchsorted(self.wide.first, number, side="right")) - 1
        place = int(self.wide.place[leaf])
        if place < 0:
            grouped = self.split(leaf, words)
            ordered = grouped.words
            lines = self.marginal.refer(ordered, grouped.partition, ordered[-1])
        else:
            everyone = Partition.from_labels(np.zeros(words.shape[1], dtype=np.int32))
            listed = list_within(everyone, np.sort(words[-1]))
            lines = pl.DataFrame({SIZE: everyone.sizes}).hstack(self.wide.extents[place])
            lines = lines.with_columns(listed.alias(BATCHES))
        return {self.marginal.title: lines}


@dataclass(frozen=True, eq=False)
class RegionCounter:
    """Counts the rows of each region in some leaves."""

    routes: Routes
    place: Ints
    regions: int

    def __call__(self, words: Ints) -> KeyCounts:
        """Count some rows."""
        place = self.place[self.routes.find_leaves(words)]
        inside = place >= 0
        keys = place[inside] * self.regions + (words[-1, inside] >> IN_REGION)
        return np.unique(keys, return_counts=True)


def refer_in_parts(
    backend: Backend,
    rows: PackedRows,
    marginal: Marginal,
    alike: Principle,
    regions: int,
    *,
    keep: bool,
) -> FinishedLeaves:
    """Make the lines of a marginal, of rows that have their batch of so many regions beside them.

    ``keep`` says whether the rows are needed again.
    """
    assert marginal.categories is not None
    facts, layout, names = backend.facts, marginal.layout, marginal.names
    routes, split = find_top(
        facts, rows, layout, alike, names, marginal.categories, backend.capacity
    )
    wide = _stretch(rows, routes, split, marginal, regions, backend.capacity)
    work = MarginalWork(marginal, split, wide)
    samples = {marginal.title: marginal.sample}
    leaves = int(wide.first[-1])
    return rows.map_leaves(StretchFinder(routes, wide), leaves, work, samples, keep=keep)[
        marginal.title
    ]


def _stretch(
    rows: PackedRows,
    routes: Routes,
    split: LeafSplitter,
    marginal: Marginal,
    regions: int,
    capacity: int,
) -> WideLeaves:
    """Find the leaves with too many rows, what they measure, and where to part their people."""
    place = np.full(routes.leaves, -1, dtype=np.int64)
    large = [leaf for leaf, node in enumerate(split.leaves) if node.n > capacity]
    place[large] = np.arange(len(large))
    stretch = np.zeros((len(large), regions), dtype=np.int64)
    if not large:
        return WideLeaves(place, [], stretch)
    keys, counts = rows.tally(RegionCounter(routes, place, regions))
    people = np.zeros(stretch.size, dtype=np.int64)
    people[keys] = counts
    every = np.arange(regions)
    for number, own in enumerate(people.reshape(stretch.shape)):
        there = np.flatnonzero(own)  # no stretch is of nobody
        starts = there[part_evenly(own[there], capacity)]
        stretch[number] = np.maximum(np.searchsorted(starts, every, side="right") - 1, 0)
    extents = _measure_leaves(rows, routes, place, marginal)
    return WideLeaves(place, extents, stretch)


def _measure_leaves(
    rows: PackedRows, routes: Routes, place: Ints, marginal: Marginal
) -> list[pl.DataFrame]:
    """Measure leaves by the codes that their people have, wherever these are."""
    assert marginal.categories is not None
    layout, names, domains = marginal.layout, marginal.names, marginal.domains
    sizes = np.array([layout.find(name).mask + 1 for name in names])
    starts, size = np.cumsum(sizes) - sizes, int(sizes.sum())
    of_node = np.append(place, -1)[routes.leaf]
    keys, _ = rows.tally(FieldCounter(routes, of_node, layout.table(names), starts, size))
    measured = []
    for leaf in range(int(place.max()) + 1):
        own = keys[keys // size == leaf] % size
        found: dict[str, pl.Series] = {}
        for i, name in enumerate(names):
            codes = own[(own >= starts[i]) & (own < starts[i] + sizes[i])] - starts[i]
            ranks = layout.ranks.get(name)
            codes = codes if ranks is None else np.argsort(ranks)[codes]
            group = Partition.from_labels(np.zeros(len(codes), dtype=np.int32))
            made = measure(domains[name], codes.astype(np.int32), group, marginal.categories)
            found |= {name_extent(i, part.name): part for part in made}
        measured.append(pl.DataFrame(found))
    return measured


@dataclass(frozen=True, eq=False)
class ReferringLabels:
    """Shows people by their boxes, or as they are, with the batch of each."""

    boxes: BoxLabels | None
    exact: Sequence[pl.Series]
    """Where people show what they are, the values of every attribute."""
    starts: Ints
    """Per region the number of its first batch."""
    name: str

    def __call__(self, lines: pl.DataFrame, first: int) -> pl.DataFrame:  # noqa: ARG002
        """Show the records of some lines."""
        number = np.repeat(np.arange(lines.height), lines[SIZE].to_numpy())
        if self.boxes is None:
            series = [values.gather(lines[name_codes(i)]) for i, values in enumerate(self.exact)]
            shown = pl.DataFrame(series)
        else:
            shown = self.boxes.show(lines)
        own = lines[BATCHES].explode().to_numpy()
        own = self.starts[own >> IN_REGION] + (own & ((1 << IN_REGION) - 1))
        batch = pl.Series(self.name, own.astype(np.int32))
        return shown.select(pl.all().gather(number)).with_columns(batch)
