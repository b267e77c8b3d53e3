"""Batches in parts: buckets of people and the batches that they refer to, where the rows are.

Buckets are those that would be found with all rows at hand. Batches are filled along their order as
ever, but region by region: a region is a leaf of the top of the tree or, where one has not room for
all of its people, some that follow each other. No batch takes people of two regions, so that each
can be filled, and examined, by itself. Regions are numbered from left to right, as classes of a
generalization are; within a region batches are numbered by what they show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.principles.base import Principle
from discreet.principles.groups import Groups
from discreet.publishing.backends import Backend, FinishedLeaves
from discreet.publishing.draws import KeyedDraws
from discreet.publishing.methods.boxes_in_parts import (
    SIZE,
    BoxLabels,
    measure_all,
    name_codes,
    sample_extents,
)
from discreet.publishing.methods.leaves import LeafSplitter, descend, list_within
from discreet.publishing.partition import Partition, number_groups
from discreet.publishing.partitioners.batches import (
    find_batch_size,
    make_batches,
    require_room,
)
from discreet.publishing.partitioners.descent import KeyCounts, Routes
from discreet.publishing.partitioners.histograms import histogram
from discreet.publishing.partitioners.mondrian import Categories
from discreet.publishing.partitioners.packing import Field, read_field
from discreet.table.arrays import Ints
from discreet.table.microdata import Microdata

REGION, BATCHES, COUNTS = "region", "batches", "counts"


@dataclass(frozen=True, eq=False)
class RegionWork:
    """Splits the rows of a region into buckets, and fills batches along these."""

    split: LeafSplitter
    routes: Routes
    nobody: Microdata
    """The table without any rows."""
    known: list[str]
    told: str
    categories: Categories | None
    """How buckets are measured; ``None`` where people show what they are."""
    principle: Principle
    key: bytes
    titles: tuple[str, str]
    """The table that shows people, and that of batches."""

    def __call__(self, region: int, words: Ints) -> dict[str, pl.DataFrame]:
        """Give a line per bucket, or kind of people, with their batches; and a line per batch."""
        data, buckets = self._split(words)
        batches = make_batches(
            data, [self.told], self.principle, "direct", buckets, KeyedDraws(self.key, region)
        )
        if self.categories is None:
            shown = Partition.from_labels(data.number(self.known))
        else:
            shown = buckets
        values = data.codes[self.told]
        number = number_groups(batches, [shown.labels, values])
        return dict(zip(self.titles, (self._refer(data, shown, number, region),
                                      _tabulate(values, data.domains[self.told].size, number)),
                        strict=True))  # fmt: skip

    def _split(self, words: Ints) -> tuple[Microdata, Partition]:
        """Split the leaves of a region, one after the other."""
        words = words[:, np.lexsort(words)]  # what is drawn does not depend on how rows came
        leaf = self.routes.find_leaves(words)
        parts = [self.split(number, words[:, leaf == number]) for number in np.unique(leaf)]
        codes = {name: np.concatenate([part.read(name) for part in parts])
                 for name in (*self.known, self.told)}  # fmt: skip
        sizes = np.concatenate([part.partition.sizes for part in parts])
        rows = np.arange(words.shape[1], dtype=np.int32)
        buckets = Partition(rows, np.append(0, np.cumsum(sizes)))
        return replace(self.nobody, codes=codes), buckets

    def _refer(
        self, data: Microdata, shown: Partition, number: NDArray[np.int32], region: int
    ) -> pl.DataFrame:
        columns: dict[str, pl.Series] = {SIZE: pl.Series(shown.sizes)}
        if self.categories is None:
            first = shown.order[shown.offsets[:-1]]
            columns |= {name_codes(i): pl.Series(data.codes[n][first])
                        for i, n in enumerate(self.known)}  # fmt: skip
        else:
            columns |= measure_all(
                data.domains, self.known, data.codes.__getitem__, shown, self.categories
            )
        keys = shown.sorted_labels.astype(np.int64) << 32 | number[shown.order]
        keys.sort()
        columns[BATCHES] = list_within(shown, keys & 0xFFFFFFFF)
        columns[REGION] = pl.Series([region], dtype=pl.Int32).new_from_index(0, shown.count)
        return pl.DataFrame(columns)

    @property
    def samples(self) -> dict[str, pl.DataFrame]:
        """Tables without lines of what it gives."""
        shown: dict[str, Any] = {name_codes(i): pl.Int32 for i in range(len(self.known))}
        if self.categories is not None:
            shown = sample_extents(self.nobody.domains, self.known, self.categories)
        listed = pl.List(pl.Int32)
        people: dict[str, Any] = {SIZE: pl.Int64, **shown, BATCHES: listed, REGION: pl.Int32}
        batches: dict[str, Any] = {SIZE: pl.Int64, name_codes(0): listed, COUNTS: listed}
        both = (pl.DataFrame(schema=columns) for columns in (people, batches))
        return dict(zip(self.titles, both, strict=True))


def _tabulate(values: NDArray[np.int32], size: int, number: NDArray[np.int32]) -> pl.DataFrame:
    """Count the values of each batch."""
    keys, counts = np.unique(number.astype(np.int64) * size + values, return_counts=True)
    held = Partition.from_labels(keys // size)
    return pl.DataFrame({
        SIZE: held.sizes,
        name_codes(0): list_within(held, keys % size),
        COUNTS: list_within(held, counts),
    })  # fmt: skip


def angelize_in_parts(
    backend: Backend,
    alike: Principle,
    principle: Principle,
    known: list[str],
    told: str,
    categories: Categories,
    titles: tuple[str, str],
    *,
    exact: bool,
) -> dict[str, FinishedLeaves]:
    """Find the buckets of a table wherever its rows are, and fill batches along them."""
    whole = histogram(backend.facts, told)
    require_room(principle, whole, "direct")
    # some leaves may have to be put together, and shall be held at once all the same
    capacity = max(1, min(backend.capacity, backend.examined) // 4)
    rows, routes, split = descend(backend, alike, known, [told], categories, capacity)
    counts = _count_leaves(rows.tally(LeafCounter(routes, split.layout.find(told))),
                           routes.leaves, backend.facts.domains[told].size)  # fmt: skip
    region_of = join_leaves(counts, principle, whole)
    _refuse_large(np.bincount(region_of, weights=[own.sum() for own in counts]),
                  np.bincount(region_of), backend.capacity)  # fmt: skip
    nobody = backend.facts.hold({name: np.zeros(0, np.int32) for name in (*known, told)})
    work = RegionWork(
        split, routes, nobody, known, told, None if exact else categories, principle,
        KeyedDraws.draw_key(), titles,
    )  # fmt: skip
    found = RegionFinder(routes, region_of)
    return dict(rows.map_leaves(found, int(region_of[-1]) + 1, work, work.samples))


def _refuse_large(rows: Ints, leaves: Ints, capacity: int) -> None:
    """Refuse to put more leaves together than can be held at once."""
    largest = int(rows[leaves > 1].max(initial=0))
    if largest > capacity:
        raise SchemaError(
            f"Sensitive values are spread so unevenly that {largest:,} people share batches, and "
            f"no more than {capacity:,} rows can be held at once.",
            hint="Give it more memory (--memory), or ask for fewer different values.",
        )


@dataclass(frozen=True, eq=False)
class LeafCounter:
    """Counts the codes of a field in every leaf."""

    routes: Routes
    field: Field

    def __call__(self, words: Ints) -> KeyCounts:
        """Count some rows."""
        leaf = self.routes.find_leaves(words).astype(np.int64)
        keys = leaf * (self.field.mask + 1) + read_field(words, self.field)
        return np.unique(keys, return_counts=True)


@dataclass(frozen=True, eq=False)
class RegionFinder:
    """Finds the region of every row, by its leaf."""

    routes: Routes
    region_of: NDArray[np.int32]

    def __call__(self, words: Ints) -> NDArray[np.int32]:
        """Give the region of every row."""
        return self.region_of[self.routes.find_leaves(words)]


def _count_leaves(found: KeyCounts, leaves: int, size: int) -> list[Ints]:
    """Give the counts of every leaf, of so many codes."""
    width = 1 << max(1, (size - 1).bit_length())
    keys, rows = found
    ends = np.searchsorted(keys, np.arange(leaves + 1) * width)
    counts = []
    for leaf in range(leaves):
        own = slice(ends[leaf], ends[leaf + 1])
        counts.append(np.zeros(size, dtype=np.int64))
        counts[-1][keys[own] - leaf * width] = rows[own]
    return counts


def join_leaves(counts: Sequence[Ints], principle: Principle, whole: Groups) -> NDArray[np.int32]:
    """Number regions: leaves that follow each other until batches have room for all their people.

    What is left at the end joins the last region, and this those before it, while need be: in the
    whole table batches have room.

    >>> from discreet.principles import FrequencyDiversity
    >>> whole = Groups.of([["a", "a", "b", "b", "a", "b"]])
    >>> leaves = [np.array([2, 0]), np.array([0, 2]), np.array([1, 1])]
    >>> join_leaves(leaves, FrequencyDiversity(2), whole).tolist()
    [0, 0, 1]
    """

    def has_room(some: Ints) -> bool:
        return find_batch_size(principle, Groups.from_counts(some, whole.domain)) is not None

    regions: list[tuple[int, Ints]] = []
    first, held = 0, np.zeros_like(whole.whole)
    for leaf, own in enumerate(counts):
        held = held + own
        if has_room(held):
            regions.append((first, held))
            first, held = leaf + 1, np.zeros_like(held)
    while held.any() and not has_room(held):
        first, before = regions.pop()
        held = held + before
    if held.any():
        regions.append((first, held))
    starts = np.zeros(len(counts), dtype=np.int32)
    starts[[start for start, _ in regions[1:]]] = 1
    return np.cumsum(starts, dtype=np.int32)


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
        own = lines[BATCHES].explode().to_numpy() + self.starts[lines[REGION].to_numpy()][number]
        batch = pl.Series(self.name, own.astype(np.int32))
        return shown.select(pl.all().gather(number)).with_columns(batch)


@dataclass(frozen=True, eq=False)
class BatchLabels:
    """Shows what batches hold."""

    values: pl.Series
    batch: str
    count: str

    def __call__(self, lines: pl.DataFrame, first: int) -> pl.DataFrame:
        """Show the counts of some batches, the first of which has this number."""
        number = np.arange(first, first + lines.height, dtype=np.int32)
        return pl.DataFrame({
            self.batch: np.repeat(number, lines[SIZE].to_numpy()),
            self.values.name: self.values.gather(lines[name_codes(0)].explode()),
            self.count: lines[COUNTS].explode().cast(pl.Int64),
        })  # fmt: skip
