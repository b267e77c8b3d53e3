"""Batches in parts: buckets of people and the batches that they refer to, where the rows are.

Buckets are those that would be found with all rows at hand. Batches are made along those of the
table that shows most, as ever, but region by region: a region is a leaf of the top of its tree or,
where one has not room for all of its people, some that follow each other. No batch takes people of
two regions, so that each can be filled, and examined, by itself. Regions are numbered from left to
right, as classes of a generalization are; within a region batches are numbered by what they show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.principles.base import Principle, demands
from discreet.principles.groups import Groups
from discreet.publishing.backends import Backend, FinishedLeaves, PackedRows
from discreet.publishing.draws import KeyedDraws
from discreet.publishing.methods.boxes_in_parts import SIZE, name_codes
from discreet.publishing.methods.leaves import LeafSplitter, find_top, list_within, pack_all
from discreet.publishing.methods.marginals_in_parts import IN_REGION, Marginal, refer_in_parts
from discreet.publishing.partition import Partition, number_groups
from discreet.publishing.partitioners.batches import (
    Batching,
    find_batch_size,
    make_batches,
    require_batches,
)
from discreet.publishing.partitioners.descent import KeyCounts, Routes
from discreet.publishing.partitioners.mondrian import Categories
from discreet.publishing.partitioners.packing import Field, Layout, read_field
from discreet.table.arrays import Ints
from discreet.table.facts import Facts
from discreet.table.microdata import Microdata, representatives

COUNTS = "counts"
FindBatches = Callable[[int, Ints, Partition], Ints]
"""Gives, of a region with its rows' words in the order of their buckets, the batch of every row,
with the number of the region in front."""


@dataclass(frozen=True, eq=False)
class BatchMaker:
    """Makes the batches of a region."""

    nobody: Microdata
    """The table without any rows."""
    marginal: Marginal
    """The table along whose buckets batches are filled."""
    told: list[list[str]]
    """The sensitive attributes of every table of batches."""
    principle: Principle
    how: Batching
    key: bytes

    def __call__(self, region: int, words: Ints, buckets: Partition) -> Ints:
        """Draw the batch of every row."""
        data, draws = _hold(self.nobody, self.marginal.layout, words), KeyedDraws(self.key, region)
        batches = make_batches(data, self.principle, self.how, buckets, draws)
        # those that are alike here may differ in another table: which was first shall not be seen
        mixed = Partition.from_labels(draws.permutation(batches.count)[batches.labels])
        shown = self.marginal.find_alike(words, buckets).labels
        number = number_groups(mixed, [shown, *(data.number(names) for names in self.told)])
        return number.astype(np.int64) + (region << IN_REGION)


def read_batches(region: int, words: Ints, buckets: Partition) -> Ints:  # noqa: ARG001
    """Give the batches that rows have beside their words."""
    return np.asarray(words[-1])


def _hold(nobody: Microdata, layout: Layout, words: Ints) -> Microdata:
    """Give packed rows as a part of the table."""
    codes = {name: layout.read(words, name).astype(np.int32) for name in layout.names}
    return replace(nobody, codes=codes)


@dataclass(frozen=True, eq=False)
class RegionSplitter:
    """Splits the rows of a region into buckets, leaf by leaf."""

    split: LeafSplitter
    routes: Routes

    def __call__(self, words: Ints) -> tuple[Ints, Partition]:
        """Give the words in the order of their buckets, and these."""
        words = words[:, np.lexsort(words)]  # what is drawn does not depend on how rows came
        leaf = self.routes.find_leaves(words)
        parts = [self.split(number, words[:, leaf == number]) for number in np.unique(leaf)]
        sizes = np.concatenate([part.partition.sizes for part in parts])
        rows = np.arange(words.shape[1], dtype=np.int32)
        buckets = Partition(rows, np.append(0, np.cumsum(sizes)))
        return np.concatenate([part.words for part in parts], axis=1), buckets


@dataclass(frozen=True, eq=False)
class BatchNumberer:
    """Puts the batch of every row of a region beside its words."""

    split: RegionSplitter
    find: FindBatches

    def __call__(self, region: int, words: Ints) -> Ints:
        """Give the words, and a plane of batches."""
        ordered, buckets = self.split(words)
        return np.concatenate([ordered, self.find(region, ordered, buckets)[None]])


@dataclass(frozen=True, eq=False)
class RegionWork:
    """Splits the rows of a region into buckets, and says what their batches hold."""

    split: RegionSplitter
    find: FindBatches
    nobody: Microdata
    marginal: Marginal
    told: Mapping[str, list[str]]
    """Per table of batches its sensitive attributes."""

    def __call__(self, region: int, words: Ints) -> dict[str, pl.DataFrame]:
        """Give a line per bucket, with its batches; and a line per batch of every table."""
        ordered, buckets = self.split(words)
        batches = self.find(region, ordered, buckets)
        data = _hold(self.nobody, self.marginal.layout, ordered)
        number = batches & ((1 << IN_REGION) - 1)
        lines = {self.marginal.title: self.marginal.refer(ordered, buckets, batches)}
        return lines | {title: _tabulate(data, names, number)
                        for title, names in self.told.items()}  # fmt: skip

    @property
    def samples(self) -> dict[str, pl.DataFrame]:
        """Tables without lines of what it gives."""
        listed = pl.List(pl.Int32)
        made = {self.marginal.title: self.marginal.sample}
        for title, names in self.told.items():
            codes: dict[str, Any] = {name_codes(i): listed for i in range(len(names))}
            made[title] = pl.DataFrame(schema={SIZE: pl.Int64, **codes, COUNTS: listed})
        return made


def count_told(
    data: Microdata, names: list[str], number: NDArray[np.integer]
) -> tuple[Ints, Ints, Ints]:
    """Count what people of each batch have of some attributes together.

    Gives, in the order of batches and of what is told, the batch, a row that has it, and how many.
    """
    kind = data.number(names)
    size = int(kind.max()) + 1
    keys, counts = np.unique(number.astype(np.int64) * size + kind, return_counts=True)
    return keys // size, representatives(kind)[keys % size], counts


def _tabulate(data: Microdata, names: list[str], number: Ints) -> pl.DataFrame:
    """List what each batch holds, a line each."""
    batch, rows, counts = count_told(data, names, number)
    held = Partition.from_labels(batch)
    codes = {name_codes(i): list_within(held, data.codes[name][rows])
             for i, name in enumerate(names)}  # fmt: skip
    return pl.DataFrame({
        SIZE: held.sizes, **codes, COUNTS: list_within(held, counts.astype(np.int32))
    })  # fmt: skip


def angelize_in_parts(
    backend: Backend,
    alike: Principle,
    principle: Principle,
    how: Batching,
    marginals: Mapping[str, list[str]],
    told: Mapping[str, list[str]],
    categories: Categories,
    *,
    exact: bool,
) -> dict[str, FinishedLeaves]:
    """Find the buckets of every marginal wherever rows are, and the batches they refer to."""
    facts, known = backend.facts, backend.facts.quasi_identifiers
    require_batches(facts, principle, how)
    rows, layout = pack_all(backend, known, facts.sensitive, categories)
    tables = {title: Marginal(title, names, None if exact else categories, facts.domains, layout)
              for title, names in marginals.items()}  # fmt: skip
    widest = max(tables.values(), key=lambda table: len(table.names))
    # some leaves may have to be put together, and shall be held at once all the same
    capacity = max(1, min(backend.capacity, backend.examined) // 4)
    routes, split = find_top(facts, rows, layout, alike, widest.names, categories, capacity)
    found = _find_regions(facts, rows, layout, routes, Room(facts, principle, how))
    people = np.bincount(found.region_of, weights=[node.n for node in split.leaves])
    _refuse_large(people.astype(np.int64), np.bincount(found.region_of), backend.capacity)
    nobody = facts.hold({name: np.zeros(0, np.int32) for name in layout.names})
    maker = BatchMaker(
        nobody, widest, list(told.values()), principle, how, KeyedDraws.draw_key()
    )  # fmt: skip
    splitter, find = RegionSplitter(split, routes), maker.__call__
    several = len(tables) > 1
    if several:  # whoever makes the other tables has to know the batches
        rows = rows.regroup(found, found.regions, BatchNumberer(splitter, maker), layout.planes + 1)
        find = read_batches
    work = RegionWork(splitter, find, nobody, widest, told)
    made = dict(rows.map_leaves(found, found.regions, work, work.samples, keep=several))
    others = [table for table in tables.values() if table is not widest]
    for table in others:
        made[table.title] = refer_in_parts(
            backend, rows, table, alike, found.regions, keep=table is not others[-1]
        )
    return made


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

    @property
    def regions(self) -> int:
        """How many there are."""
        return int(self.region_of[-1]) + 1


@dataclass(frozen=True, eq=False)
class Room:
    """Says whether batches have room for some people, by how many have each value."""

    facts: Facts
    principle: Principle
    how: Batching

    def __call__(self, counts: Ints) -> bool:
        """Say it of counts of all sensitive attributes, one after the other."""
        names, domains = self.facts.sensitive, self.facts.domains
        ends = np.cumsum([domains[name].size for name in names])
        own = dict(zip(names, np.split(counts, ends[:-1]), strict=True))
        if self.how != "mondrian":
            (name,) = names
            bag = Groups.from_counts(own[name], domains[name])
            return find_batch_size(self.principle, bag) is not None
        people = Groups.of_people(own[names[0]].sum()[None])
        return all(
            bool(part.admits(people if name is None else Groups.from_table(
                own[name][None], domains[name], self.facts.counts[name]))[0])
            for part, name in demands(self.principle, names)
        )  # fmt: skip


def _find_regions(
    facts: Facts, rows: PackedRows, layout: Layout, routes: Routes, has_room: Room
) -> RegionFinder:
    """Put leaves together until batches have room for all people of each region."""
    counts = [
        _count_leaves(rows.tally(LeafCounter(routes, layout.find(name))), routes.leaves,
                      facts.domains[name].size)
        for name in facts.sensitive
    ]  # fmt: skip
    leaves = [np.concatenate(own) for own in zip(*counts, strict=True)]
    return RegionFinder(routes, join_leaves(leaves, has_room))


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


def join_leaves(counts: Sequence[Ints], has_room: Callable[[Ints], bool]) -> NDArray[np.int32]:
    """Number regions: leaves that follow each other until batches have room for all their people.

    What is left at the end joins the last region, and this those before it, while need be: in the
    whole table batches have room.

    >>> leaves = [np.array([2, 0]), np.array([0, 2]), np.array([1, 1])]
    >>> join_leaves(leaves, lambda counts: counts[0] == counts[1]).tolist()
    [0, 0, 1]
    """
    regions: list[tuple[int, Ints]] = []
    first, held = 0, np.zeros_like(counts[0])
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
class BatchLabels:
    """Shows what batches hold."""

    values: Sequence[pl.Series]
    """Per attribute that is told together."""
    batch: str
    count: str

    def __call__(self, lines: pl.DataFrame, first: int) -> pl.DataFrame:
        """Show the counts of some batches, the first of which has this number."""
        number = np.arange(first, first + lines.height, dtype=np.int32)
        held = {values.name: values.gather(lines[name_codes(i)].explode())
                for i, values in enumerate(self.values)}  # fmt: skip
        return pl.DataFrame({
            self.batch: np.repeat(number, lines[SIZE].to_numpy()),
            **held,
            self.count: lines[COUNTS].explode().cast(pl.Int64),
        })  # fmt: skip
