"""Boxes in parts: groups and what they show, where a table's rows are not at hand.

The same steps as with all rows in memory, in the same order: rows are split, groups measured, what
they measure is labelled once for all, and every record shown with the label of its group.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.principles.base import Principle
from discreet.publishing.backends import Backend, FinishedLeaves
from discreet.publishing.methods.boxes import add_columns, measure, show_extents, sort_extents
from discreet.publishing.partition import Partition, sort_within_groups
from discreet.publishing.partitioners.descent import Descent
from discreet.publishing.partitioners.levels import SplitCells
from discreet.publishing.partitioners.mondrian import (
    Categories,
    Demand,
    plan_splitting,
    split_rows,
)
from discreet.publishing.partitioners.packing import Layout
from discreet.release import Recoding
from discreet.table.arrays import Ints
from discreet.table.domain import Domain

SIZE = "size"


@dataclass(frozen=True, eq=False)
class LeafWork:
    """Splits the rows of a leaf into classes, and measures these."""

    layout: Layout
    attrs: Ints
    trees: Ints
    demand: Demand
    nodes: list[Ints]
    """What is known of the rows of each leaf."""
    domains: Mapping[str, Domain]
    known: list[str]
    exact: list[str]
    categories: Categories

    def __call__(self, leaf: int, words: Ints) -> pl.DataFrame:
        """Give a line per class: its size, its extents, and its records' exact codes."""
        from discreet.kernels.packing import unpack

        buffers = np.empty((2, *words.shape), dtype=np.int64)
        buffers[0] = words
        place = dict(zip(self.layout.names, self.layout.fields, strict=True))
        reads = {name: place[name] for name in self.demand.reads}
        cells = SplitCells(buffers, self.attrs, self.trees, place[self.known[0]], reads)
        root = self.nodes[leaf].copy()
        root[:3] = 0, words.shape[1], 0
        leaves = split_rows(cells, self.demand, root).leaves

        def read(name: str) -> NDArray[np.int32]:
            field = place[name]
            ranked: NDArray[np.int32] = unpack(
                buffers, leaves, field.plane, field.shift, field.mask
            )
            ranks = self.layout.ranks.get(name)
            return ranked if ranks is None else np.argsort(ranks).astype(np.int32)[ranked]

        rows = np.arange(words.shape[1], dtype=np.int32)
        partition = Partition(rows, np.append(np.flatnonzero(leaves >= 0), len(leaves)))
        columns: dict[str, pl.Series] = {SIZE: pl.Series(partition.sizes)}
        for i, name in enumerate(self.known):
            extents = measure(self.domains[name], read(name), partition, self.categories)
            columns |= {name_extent(i, part.name): part for part in extents}
        codes = [read(name) for name in self.exact]
        sizes = [self.domains[name].size for name in self.exact]
        for i, column in enumerate(sort_within_groups(partition, codes, sizes)):
            columns[name_codes(i)] = _list_within(partition, column)
        return pl.DataFrame(columns)

    @property
    def sample(self) -> pl.DataFrame:
        """A table without lines of what it gives."""
        columns: dict[str, Any] = {SIZE: pl.Int64}
        for i, name in enumerate(self.known):
            extents = measure_nothing(self.domains[name], self.categories)
            columns |= {name_extent(i, part): kind for part, kind in extents.schema.items()}
        columns |= {name_codes(i): pl.List(pl.Int32) for i in range(len(self.exact))}
        return pl.DataFrame(schema=columns)


def measure_nothing(domain: Domain, categories: Categories) -> pl.DataFrame:
    """Give extents, as they are measured, of no group."""
    group = Partition.from_labels(np.zeros(1, np.int32))
    return measure(domain, np.zeros(1, np.int32), group, categories)[:0]


def name_extent(attribute: int, part: str) -> str:
    """Name the column of a part of an attribute's extents, as no attribute can be called."""
    return f"#{attribute} {part}"


def name_codes(attribute: int) -> str:
    """Name the column of the codes of an attribute that is shown as it is."""
    return f"#{attribute} codes"


def _list_within(partition: Partition, codes: NDArray[np.int32]) -> pl.Series:
    """Put the codes of each group into a list."""
    import pyarrow as pa

    offsets = pa.array(partition.offsets, type=pa.int64())
    return pl.Series(pl.from_arrow(pa.LargeListArray.from_arrays(offsets, pa.array(codes))))


def split_in_parts(
    backend: Backend,
    principle: Principle,
    known: list[str],
    exact: list[str],
    categories: Categories,
) -> FinishedLeaves:
    """Split a table wherever its rows are, as ``mondrian`` does, and measure all classes."""
    facts = backend.facts
    demand = Demand.of(facts, principle, known)
    splitting = plan_splitting(facts, known, categories)
    layout = Layout.of([*known, *exact], facts.domains, splitting.ranks)
    attrs = splitting.place(layout.fields[: len(known)])
    rows = backend.pack(layout)
    descent = Descent(layout, attrs, splitting.trees, demand, facts.n, rows.tally)
    routes, nodes = descent.descend(backend.capacity)
    domains = {name: facts.domains[name] for name in (*known, *exact)}
    work = LeafWork(
        layout, attrs, splitting.trees, demand, nodes, domains, known, exact, categories
    )
    return rows.map_leaves(routes.find_leaves, routes.leaves, work, work.sample)


@dataclass(frozen=True, eq=False)
class BoxLabels:
    """What is shown of every extent that a class has, and of every code that is shown as it is."""

    extents: list[pl.DataFrame]
    """Per attribute the different extents, beside what is shown of each."""
    shown: list[list[str]]
    """Per attribute the columns that are shown."""
    exact: dict[str, pl.Series]
    class_name: str

    def __call__(self, classes: pl.DataFrame, first: int) -> pl.DataFrame:
        """Show the records of some classes."""
        frame = classes.with_columns(
            pl.int_range(first, first + classes.height, dtype=pl.Int32).alias(self.class_name)
        )
        columns = [frame[self.class_name]]
        for extents, shown in zip(self.extents, self.shown, strict=True):
            keys = [name for name in extents.columns if name not in shown]
            found = frame.select(keys).join(
                extents, on=keys, how="left", maintain_order="left", nulls_equal=True
            )
            columns += [found[name] for name in shown]
        number = np.repeat(np.arange(classes.height), classes[SIZE].to_numpy())
        records = pl.DataFrame(columns).select(pl.all().gather(number))
        values = [
            series.alias(name).gather(classes[name_codes(i)].explode())
            for i, (name, series) in enumerate(self.exact.items())
        ]
        return records.with_columns(values)


def label_in_parts(
    backend: Backend,
    leaves: FinishedLeaves,
    known: list[str],
    exact: list[str],
    categories: Categories,
    class_name: str,
) -> tuple[BoxLabels, pl.DataFrame, dict[str, Recoding]]:
    """Label what all classes measure; also a table without rows, and how to read it."""
    facts = backend.facts
    columns: dict[str, pl.Series] = {}
    recodings: dict[str, Recoding] = {}
    extents, shown = [], []
    for i, name in enumerate(known):
        domain = facts.domains[name]
        none = measure_nothing(domain, categories)
        renamed = {name_extent(i, part): part for part in none.columns}
        found = sort_extents([leaves.distinct(list(renamed)).rename(renamed)])
        made, recodings[name] = show_extents(domain, categories, {}, found)
        add_columns(columns, facts, name, [series[:0] for series in made], recodings[name])
        titles = recodings[name].columns(name)
        labelled = found.rename({part: column for column, part in renamed.items()})
        extents.append(labelled.with_columns(
            series.alias(title) for series, title in zip(made, titles, strict=True)))  # fmt: skip
        shown.append(titles)
    values = {name: facts.domains[name].series() for name in exact}
    labels = BoxLabels(extents, shown, values, class_name)
    sample = pl.DataFrame(
        [pl.Series(class_name, [], dtype=pl.Int32), *columns.values(),
         *(series[:0].alias(name) for name, series in values.items())]
    )  # fmt: skip
    return labels, sample, recodings
