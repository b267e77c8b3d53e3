"""Slices in parts: columns found from counts, and buckets split where the rows are.

Correlations are of pairs of attributes, and what a sensitive column may tell is of its values: both
are counted. The values that occur of a sensitive column are then numbered, and stand beside the
codes of every row, so that buckets are split under the principle within the column as ever.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import polars as pl

from discreet.errors import SchemaError
from discreet.principles.base import Principle
from discreet.publishing.backends import Backend, FinishedLeaves, PackedRows
from discreet.publishing.methods.boxes_in_parts import SIZE, name_codes
from discreet.publishing.methods.leaves import LeafSplitter, find_top, list_within
from discreet.publishing.partition import Partition, number_groups, sort_within_groups
from discreet.publishing.partitioners.columns import (
    CoarseCodes,
    Correlations,
    coarsen_codes,
    correlate_counts,
)
from discreet.publishing.partitioners.descent import KeyCounts
from discreet.publishing.partitioners.histograms import histogram, holds_whole
from discreet.publishing.partitioners.mondrian import plan_splitting
from discreet.publishing.partitioners.packing import Field, Layout
from discreet.publishing.partitioners.slices import (
    SliceColumn,
    ask_within,
    list_rests,
    show_joint,
)
from discreet.table.arrays import Ints
from discreet.table.facts import Facts
from discreet.table.microdata import row_ids


@dataclass(frozen=True, eq=False)
class PairTally:
    """Counts how often the coarse codes of every pair of attributes occur together."""

    layout: Layout
    names: Sequence[str]
    coarse: Sequence[CoarseCodes]

    @property
    def starts(self) -> Ints:
        """Where the keys of every pair start, and where all end."""
        pairs = combinations(self.coarse, 2)
        return np.cumsum([0, *(one.size * other.size for one, other in pairs)])

    def __call__(self, words: Ints) -> KeyCounts:
        """Count some rows."""
        codes = [c.of[self.layout.read(words, n)]
                 for n, c in zip(self.names, self.coarse, strict=True)]  # fmt: skip
        starts = self.starts
        counts = np.zeros(int(starts[-1]), dtype=np.int64)
        for pair, (i, j) in enumerate(combinations(range(len(codes)), 2)):
            own = slice(starts[pair], starts[pair + 1])
            size = int(own.stop - own.start)
            counts[own] = np.bincount(codes[i] * self.coarse[j].size + codes[j], minlength=size)
        keys = np.flatnonzero(counts)
        return keys, counts[keys]


def correlate_in_parts(facts: Facts, rows: PackedRows, layout: Layout) -> Correlations:
    """Measure how much attributes tell about each other, wherever the rows are."""
    names = layout.names
    coarse = [coarsen_codes(facts.domains[name]) for name in names]
    tally = PairTally(layout, names, coarse)
    keys, found = rows.tally(tally)
    starts = tally.starts
    counts = np.zeros(int(starts[-1]), dtype=np.int64)
    counts[keys] = found
    place = {pair: n for n, pair in enumerate(combinations(range(len(names)), 2))}

    def count(i: int, j: int) -> Ints:
        own = place[i, j]
        return counts[starts[own] : starts[own + 1]]

    return correlate_counts(names, coarse, count)


@dataclass(frozen=True, eq=False)
class ColumnKey:
    """One number for what a row has of some attributes, the sensitive one last."""

    layout: Layout
    names: list[str]
    sizes: list[int]

    def read(self, words: Ints) -> Ints:
        """Give the number of every row."""
        key = np.zeros(words.shape[1], dtype=np.int64)
        for name, size in zip(self.names, self.sizes, strict=True):
            key = key * size + self.layout.read(words, name)
        return key

    def __call__(self, words: Ints) -> KeyCounts:
        """Count some rows."""
        return np.unique(self.read(words), return_counts=True)

    def spell(self, facts: Facts, key: int) -> str:
        """Put what a number stands for into words, but for the sensitive attribute."""
        key //= self.sizes[-1]
        said = []
        for name, size in zip(self.names[-2::-1], self.sizes[-2::-1], strict=True):
            said.append(f"{name} = {facts.domains[name].texts[key % size]}")
            key //= size
        return ", ".join(said[::-1])


@dataclass(frozen=True, eq=False)
class CountedColumn:
    """The values of a sensitive column that occur, numbered, and how often."""

    key: ColumnKey
    values: Ints
    rows: Ints
    column: SliceColumn


def count_column(
    facts: Facts, rows: PackedRows, layout: Layout, rests: list[str], name: str
) -> CountedColumn:
    """Count the values of a sensitive attribute beside the rest of its column."""
    names = [*rests, name]
    sizes = [facts.domains[n].size for n in names]
    if prod(sizes) >= 2**62:
        raise SchemaError(
            f"The column of {', '.join(names)} has too many values to number.",
            hint="Put fewer attributes beside what is sensitive (alpha).",
        )
    key = ColumnKey(layout, names, sizes)
    values, found = rows.tally(key)
    rest = row_ids([values // sizes[-1]], len(values))
    first = np.searchsorted(rest, np.arange(int(rest.max()) + 1))
    column = SliceColumn(
        rest, (values % sizes[-1]).astype(np.int32), histogram(facts, name),
        lambda number: key.spell(facts, int(values[first[number]])),
    )  # fmt: skip
    return CountedColumn(key, values, found, column)


def show_facts(facts: Facts, counted: Mapping[str, CountedColumn]) -> Facts:
    """Give the facts of the table with values of columns for sensitive attributes."""
    schema, domains = show_joint(facts, {name: made.column for name, made in counted.items()})
    counts = {name: facts.counts[name] for name in schema.quasi_identifiers}
    counts |= {name: made.rows for name, made in counted.items()}
    return replace(facts, schema=schema, domains=domains, counts=counts)


def is_possible_in_parts(
    facts: Facts, rows: PackedRows, layout: Layout, principle: Principle, column: list[str]
) -> bool:
    """Whether the whole table keeps a principle within a sensitive column."""
    counted = {name: count_column(facts, rows, layout, rests, name)
               for name, rests in list_rests(facts, [column]).items()}  # fmt: skip
    wanted = ask_within(facts, principle, {name: made.column for name, made in counted.items()})
    return holds_whole(show_facts(facts, counted), wanted)


@dataclass(frozen=True, eq=False)
class ColumnNumberer:
    """Puts the numbers of what rows have of sensitive columns beside their words."""

    keys: Sequence[tuple[ColumnKey, Ints]]

    def __call__(self, words: Ints) -> Ints:
        """Give the words of some rows, and a plane for each column."""
        planes = [np.searchsorted(values, key.read(words)) for key, values in self.keys]
        return np.concatenate([words, np.stack(planes).astype(np.int64)]) if planes else words


@dataclass(frozen=True, eq=False)
class SliceWork:
    """Splits the rows of a leaf into buckets, and sorts each column of these by itself."""

    split: LeafSplitter
    columns: list[list[str]]
    sizes: Mapping[str, int]
    title: str

    def __call__(self, leaf: int, words: Ints) -> dict[str, pl.DataFrame]:
        """Give a line per bucket: its size, and per column what it holds, in order."""
        grouped = self.split(leaf, words)
        names = [name for column in self.columns for name in column]
        codes = {name: grouped.read(name) for name in names}
        ranks = [row_ids([codes[name] for name in column], words.shape[1])
                 for column in self.columns]  # fmt: skip
        number = number_groups(grouped.partition, ranks)
        buckets = Partition.from_labels(number)
        made: dict[str, pl.Series] = {SIZE: pl.Series(buckets.sizes)}
        for column in self.columns:
            own = [codes[name][buckets.order] for name in column]
            held = sort_within_groups(buckets, own, [self.sizes[name] for name in column])
            made |= {name_codes(names.index(name)): list_within(buckets, one)
                     for name, one in zip(column, held, strict=True)}  # fmt: skip
        return {self.title: pl.DataFrame(made)}

    @property
    def sample(self) -> pl.DataFrame:
        """A table without lines of what it gives."""
        listed = {name_codes(i): pl.List(pl.Int32) for i in range(sum(map(len, self.columns)))}
        columns: dict[str, Any] = {SIZE: pl.Int64, **listed}
        return pl.DataFrame(schema=columns)


def pack_slices(backend: Backend, names: list[str]) -> tuple[PackedRows, Layout]:
    """Pack all rows by what is published of them."""
    facts = backend.facts
    splitting = plan_splitting(facts, facts.quasi_identifiers, "set")
    layout = Layout.of(names, facts.domains, splitting.ranks)
    return backend.pack(layout), layout


def slice_in_parts(
    backend: Backend,
    rows: PackedRows,
    layout: Layout,
    principle: Principle,
    columns: list[list[str]],
    title: str,
) -> FinishedLeaves:
    """Split a table into buckets wherever its rows are, and sort their columns."""
    facts = backend.facts
    rests = list_rests(facts, columns)
    counted = {name: count_column(facts, rows, layout, beside, name)
               for name, beside in rests.items()}  # fmt: skip
    wanted = ask_within(facts, principle, {name: made.column for name, made in counted.items()})
    joint = show_facts(facts, counted) if counted else facts
    wider = _add_planes(layout, {name: len(made.values) for name, made in counted.items()})
    keys = [(made.key, made.values) for made in counted.values()]
    numbered = rows.reword(ColumnNumberer(keys), wider.planes)
    capacity = min(backend.capacity, backend.examined)
    known = facts.quasi_identifiers
    routes, split = find_top(joint, numbered, wider, wanted, known, "set", capacity)
    sizes = {name: facts.domains[name].size for name in layout.names}
    work = SliceWork(replace(split, shown=layout), columns, sizes, title)
    made = numbered.map_leaves(routes.find_leaves, routes.leaves, work, {title: work.sample})
    return made[title]


def _add_planes(layout: Layout, sizes: Mapping[str, int]) -> Layout:
    """Lay out what rows have of sensitive columns, a plane each, for the attributes themselves."""
    names = [name for name in layout.names if name not in sizes]
    fields = [layout.find(name) for name in names]
    for place, size in enumerate(sizes.values()):
        bits = max(1, (size - 1).bit_length())
        fields.append(Field(layout.planes + place, 0, (1 << bits) - 1))
    return Layout([*names, *sizes], fields, layout.planes + len(sizes), layout.ranks)


@dataclass(frozen=True, eq=False)
class SlicedRecords:
    """Shows buckets, column by column."""

    values: list[pl.Series]
    bucket: str

    def __call__(self, lines: pl.DataFrame, first: int) -> pl.DataFrame:
        """Show some buckets, the first of which has this number."""
        number = np.arange(first, first + lines.height, dtype=np.int32)
        bucket = pl.Series(self.bucket, np.repeat(number, lines[SIZE].to_numpy()))
        shown = [series.gather(lines[name_codes(i)].explode())
                 for i, series in enumerate(self.values)]  # fmt: skip
        return pl.DataFrame([bucket, *shown])
