"""SortedRuns in parts: people grouped by their numbers and shuffled where their rows are.

Which numbers form which group follows from how often each occurs. Rows are brought together twice:
by number, so that it can be drawn who of those that have the same goes into which group, and then
by group, so that its numbers can be shuffled. Groups are put together to leaves in the order of
their numbers, which everybody sees; within a leaf they are numbered by what they show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.forms.permuted.help_table import build_help
from discreet.publishing.backends import Backend, FinishedLeaves
from discreet.publishing.draws import KeyedDraws
from discreet.publishing.methods.boxes_in_parts import SIZE, name_codes
from discreet.publishing.methods.leaves import list_within, part_evenly
from discreet.publishing.partition import (
    Partition,
    number_groups,
    shuffle_within_groups,
    sort_within_groups,
)
from discreet.publishing.partitioners.packing import Field, Layout, read_field
from discreet.publishing.partitioners.sorted_runs import SortedRuns
from discreet.table.arrays import Ints
from discreet.table.microdata import row_ids
from discreet.table.schema import Attribute


@dataclass(frozen=True, eq=False)
class RunFinder:
    """Finds the leaf of rows by a field of their words, of which each leaf has a range."""

    field: Field
    starts: Ints

    def __call__(self, words: Ints) -> NDArray[np.int32]:
        """Give the leaf of every row."""
        found = np.searchsorted(self.starts, read_field(words, self.field), side="right") - 1
        return found.astype(np.int32)


@dataclass(frozen=True, eq=False)
class RunDealer:
    """Gives the people of every number their groups, and writes these beside their words."""

    field: Field
    runs: SortedRuns
    first: Ints
    """Per code the place, in the order of numbers, of the first row that has it."""
    key: bytes

    def __call__(self, leaf: int, words: Ints) -> Ints:
        """Draw who of those that have the same number goes where."""
        words = words[:, np.lexsort(words)]  # what is drawn does not depend on how rows came
        shuffled = KeyedDraws(self.key, leaf).permutation(words.shape[1])
        codes = read_field(words, self.field)[shuffled]
        order = np.argsort(codes, kind="stable")
        codes = codes[order]
        within = np.arange(len(codes)) - np.searchsorted(codes, codes)
        group = self.runs.find(self.first[codes] + within)
        return np.concatenate([words[:, shuffled[order]], group[None]])


@dataclass(frozen=True, eq=False)
class GroupShuffler:
    """Shuffles the numbers of every group of a leaf among its people."""

    layout: Layout
    sizes: Mapping[str, int]
    """Per attribute how many codes it has, the number's last."""
    key: bytes
    titles: tuple[str, str]
    """The table that shows people, and that of bounds."""

    def __call__(self, leaf: int, words: Ints) -> dict[str, pl.DataFrame]:
        """Give a line per group: its people's codes and its numbers, in the order of these."""
        words = words[:, np.lexsort(words)]
        partition = Partition.from_labels(words[-1] - words[-1].min())
        *others, number = (
            read_field(words, field).astype(np.int32) for field in self.layout.fields
        )
        shuffled = shuffle_within_groups(partition, number, KeyedDraws(self.key, leaf))
        rank = row_ids([*others, shuffled], len(shuffled))
        groups = Partition.from_labels(number_groups(partition, [rank]))
        codes = [column[groups.order] for column in (*others, shuffled)]
        columns: dict[str, pl.Series] = {SIZE: pl.Series(groups.sizes)}
        for i, column in enumerate(sort_within_groups(groups, codes, list(self.sizes.values()))):
            columns[name_codes(i)] = list_within(groups, column)
        people = pl.DataFrame(columns)
        bounds = people.select(SIZE, name_codes(len(others)))
        return dict(zip(self.titles, (people, bounds), strict=True))

    @property
    def samples(self) -> dict[str, pl.DataFrame]:
        """Tables without lines of what it gives."""
        columns: dict[str, Any] = {SIZE: pl.Int64}
        columns |= {name_codes(i): pl.List(pl.Int32) for i in range(len(self.sizes))}
        people = pl.DataFrame(schema=columns)
        bounds = people.select(SIZE, name_codes(len(self.sizes) - 1))
        return dict(zip(self.titles, (people, bounds), strict=True))


def permute_in_parts(
    backend: Backend, others: list[str], name: str, runs: SortedRuns, titles: tuple[str, str]
) -> dict[str, FinishedLeaves]:
    """Group people by a number as runs say, and shuffle it, wherever the rows are."""
    facts = backend.facts
    layout = Layout.of([*others, name], facts.domains, {})
    counts, field = facts.count(name), layout.find(name)
    capacity = min(backend.capacity, backend.examined)
    numbers = part_evenly(counts, capacity)
    dealer = RunDealer(field, runs, np.cumsum(counts) - counts, KeyedDraws.draw_key())
    dealt = backend.pack(layout).regroup(
        RunFinder(field, numbers), len(numbers), dealer, layout.planes + 1
    )
    sizes = np.zeros(int(runs.groups.max()) + 1, dtype=np.int64)
    np.add.at(sizes, runs.groups, np.diff(np.append(runs.starts, facts.n)))
    leaves = part_evenly(sizes, capacity)
    of = {n: facts.domains[n].size for n in (*others, name)}
    work = GroupShuffler(layout, of, KeyedDraws.draw_key(), titles)
    group = RunFinder(Field(layout.planes, 0, -1), leaves)
    return dict(dealt.map_leaves(group, len(leaves), work, work.samples))


@dataclass(frozen=True, eq=False)
class PermutedRecords:
    """Shows people as they are, with the number that was shuffled to them."""

    values: list[pl.Series]
    group: str

    def __call__(self, lines: pl.DataFrame, first: int) -> pl.DataFrame:
        """Show the people of some groups, the first of which has this number."""
        shown = [series.gather(lines[name_codes(i)].explode())
                 for i, series in enumerate(self.values)]  # fmt: skip
        return pl.DataFrame([_number_groups(lines, first).alias(self.group), *shown])


@dataclass(frozen=True, eq=False)
class PermutedBounds:
    """Shows what bounds questions about groups."""

    values: pl.Series
    attribute: Attribute
    place: int
    group: str

    def __call__(self, lines: pl.DataFrame, first: int) -> pl.DataFrame:
        """Show the bounds of some groups, the first of which has this number."""
        shown = self.values.gather(lines[name_codes(self.place)].explode())
        group = _number_groups(lines, first).alias(self.group)
        return build_help(group, shown, self.attribute)


def _number_groups(lines: pl.DataFrame, first: int) -> pl.Series:
    number = np.arange(first, first + lines.height, dtype=np.int32)
    return pl.Series(np.repeat(number, lines[SIZE].to_numpy()))
