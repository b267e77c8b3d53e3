"""Boxes in parts: groups and what they show, where a table's rows are not at hand.

The same steps as with all rows in memory, in the same order: rows are split, groups measured, what
they measure is labelled once for all, and every record shown with the label of its group.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.principles.base import Principle
from discreet.publishing.backends import Backend, FinishedLeaves
from discreet.publishing.methods.boxes import add_columns, measure, show_extents, sort_extents
from discreet.publishing.methods.leaves import (
    LeafSplitter,
    RankedRows,
    descend,
    find_top,
    list_within,
    pack_all,
)
from discreet.publishing.partition import Partition, sort_within_groups
from discreet.publishing.partitioners.mondrian import Categories, Demand
from discreet.publishing.partitioners.proximity import Dealing, DealingPlan, refuse_dealing
from discreet.release import Recoding
from discreet.table.arrays import Ints
from discreet.table.domain import Domain

SIZE, KEPT = "size", "#kept"


@dataclass(frozen=True, eq=False)
class LeafWork:
    """Splits the rows of a leaf into classes, and measures these."""

    split: LeafSplitter
    domains: Mapping[str, Domain]
    known: list[str]
    exact: list[str]
    categories: Categories
    title: str
    promised: Demand | None = None
    """What classes must be held against, where splitting does not see to it."""

    def __call__(self, leaf: int, words: Ints) -> dict[str, pl.DataFrame]:
        """Give a line per class: its size, its extents, and its records' exact codes."""
        grouped = self.split(leaf, words)
        partition = grouped.partition
        columns: dict[str, pl.Series] = {SIZE: pl.Series(partition.sizes)}
        columns |= measure_all(self.domains, self.known, grouped.read, partition, self.categories)
        codes = [grouped.read(name) for name in self.exact]
        sizes = [self.domains[name].size for name in self.exact]
        for i, column in enumerate(sort_within_groups(partition, codes, sizes)):
            columns[name_codes(i)] = list_within(partition, column)
        if self.promised is not None:
            columns[KEPT] = pl.Series(self.promised.admits(partition, grouped.read))
        return {self.title: pl.DataFrame(columns)}

    @property
    def sample(self) -> pl.DataFrame:
        """A table without lines of what it gives."""
        columns: dict[str, Any] = {SIZE: pl.Int64}
        columns |= sample_extents(self.domains, self.known, self.categories)
        columns |= {name_codes(i): pl.List(pl.Int32) for i in range(len(self.exact))}
        columns |= {} if self.promised is None else {KEPT: pl.Boolean}
        return pl.DataFrame(schema=columns)


def measure_all(
    domains: Mapping[str, Domain],
    names: list[str],
    read: Callable[[str], NDArray[np.int32]],
    partition: Partition,
    categories: Categories,
) -> dict[str, pl.Series]:
    """Measure groups by some attributes, whose codes are read in group order, as columns."""
    return {
        name_extent(i, part.name): part
        for i, name in enumerate(names)
        for part in measure(domains[name], read(name), partition, categories)
    }


def sample_extents(
    domains: Mapping[str, Domain], names: list[str], categories: Categories
) -> dict[str, Any]:
    """Give the columns of what is measured, and their types."""
    return {
        name_extent(i, part): kind
        for i, name in enumerate(names)
        for part, kind in measure_nothing(domains[name], categories).schema.items()
    }


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


def one_line(attributes: int) -> pl.DataFrame:
    """Give a line of a group of one, by which it is told what is shown of others."""
    return pl.DataFrame({SIZE: [1], **{name_codes(i): [[0]] for i in range(attributes)}})


def split_in_parts(
    backend: Backend,
    principle: Principle,
    known: list[str],
    exact: list[str],
    categories: Categories,
    title: str,
) -> FinishedLeaves:
    """Split a table wherever its rows are, as ``mondrian`` does, and measure all classes."""
    rows, routes, split = descend(backend, principle, known, exact, categories, backend.capacity)
    domains = {name: backend.facts.domains[name] for name in (*known, *exact)}
    work = LeafWork(split, domains, known, exact, categories, title)
    made = rows.map_leaves(routes.find_leaves, routes.leaves, work, {title: work.sample})
    return made[title]


def deal_in_parts(
    backend: Backend,
    principle: Principle,
    known: list[str],
    exact: list[str],
    categories: Categories,
    title: str,
    dealing: Dealing,
) -> FinishedLeaves:
    """Split and deal a table wherever its rows are, as ``split_and_deal`` does, and measure it."""
    facts = backend.facts
    plan = DealingPlan.of(facts, principle, dealing)
    domains = {name: facts.domains[name] for name in (*known, *exact)}
    promised = None if plan.alone else Demand.of(facts, principle, known)
    ranked = RankedRows(
        plan.spaced, {name: facts.domains[name].size for name in plan.order}, plan.dealer
    )
    rows, layout = pack_all(backend, known, exact, categories)
    capacity = min(backend.capacity, backend.examined)  # boxes of a leaf may overlap
    for number, condition in enumerate(plan.conditions):
        routes, split = find_top(facts, rows, layout, condition, known, categories, capacity)
        if condition is not principle:
            split = replace(split, ranked=ranked)
        work = LeafWork(split, domains, known, exact, categories, title, promised)
        last = plan.alone or number == len(plan.conditions) - 1
        made = rows.map_leaves(
            routes.find_leaves, routes.leaves, work, {title: work.sample}, keep=not last, whole=True
        )[title]
        if plan.alone or made.distinct([KEPT])[KEPT].all():
            if not last:
                rows.discard()
            return made
        made.discard()
    raise refuse_dealing(principle)


@dataclass(frozen=True, eq=False)
class BoxLabels:
    """What is shown of every extent that a class has, and of every code that is shown as it is."""

    extents: list[pl.DataFrame]
    """Per attribute the different extents, beside what is shown of each."""
    shown: list[list[str]]
    """Per attribute the columns that are shown."""
    exact: dict[str, pl.Series]
    class_name: str

    def show(self, classes: pl.DataFrame) -> pl.DataFrame:
        """Show some classes by their extents."""
        columns = []
        for extents, shown in zip(self.extents, self.shown, strict=True):
            keys = [name for name in extents.columns if name not in shown]
            found = classes.select(keys).join(
                extents, on=keys, how="left", maintain_order="left", nulls_equal=True
            )
            columns += [found[name] for name in shown]
        return pl.DataFrame(columns)

    def __call__(self, classes: pl.DataFrame, first: int) -> pl.DataFrame:
        """Show the records of some classes."""
        own = pl.int_range(first, first + classes.height, dtype=pl.Int32, eager=True)
        shown = pl.DataFrame([own.alias(self.class_name), *self.show(classes)])
        number = np.repeat(np.arange(classes.height), classes[SIZE].to_numpy())
        records = shown.select(pl.all().gather(number))
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
    known_labels: Mapping[str, Recoding] | None = None,
) -> tuple[BoxLabels, pl.DataFrame, dict[str, Recoding]]:
    """Label what all classes measure; also a table without rows, and how to read it.

    Labels that are known from another table of the same release keep their meaning.
    """
    facts = backend.facts
    columns: dict[str, pl.Series] = {}
    recodings: dict[str, Recoding] = {}
    extents, shown = [], []
    for i, name in enumerate(known):
        domain = facts.domains[name]
        none = measure_nothing(domain, categories)
        renamed = {name_extent(i, part): part for part in none.columns}
        found = sort_extents([leaves.distinct(list(renamed)).rename(renamed)])
        before = (known_labels or {}).get(name)
        labels = {} if before is None else dict(before.labels)
        made, recodings[name] = show_extents(domain, categories, labels, found)
        add_columns(columns, facts, name, [series[:0] for series in made], recodings[name])
        titles = recodings[name].columns(name)
        labelled = found.rename({part: column for column, part in renamed.items()})
        extents.append(labelled.with_columns(
            series.alias(title) for series, title in zip(made, titles, strict=True)))  # fmt: skip
        shown.append(titles)
    values = {name: facts.domains[name].series() for name in exact}
    boxes = BoxLabels(extents, shown, values, class_name)
    sample = pl.DataFrame(
        [pl.Series(class_name, [], dtype=pl.Int32), *columns.values(),
         *(series[:0].alias(name) for name, series in values.items())]
    )  # fmt: skip
    return boxes, sample, recodings
