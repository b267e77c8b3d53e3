"""Cuts in parts: everybody shows their runs, where a table's rows are not at hand.

What a row shows follows from its codes alone. Classes come in the order of what they show, so that
leaves are ranges of it; where these end is found from counts, of the first attributes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.publishing.backends import Backend, KeyCounts, PackedRows
from discreet.publishing.method import Method, PartedRelease
from discreet.publishing.methods.boxes import CodeCut, show_runs
from discreet.publishing.methods.boxes_in_parts import (
    SIZE,
    BoxLabels,
    name_codes,
    name_extent,
)
from discreet.publishing.methods.generalization import TABLE, name_class, release_in_parts
from discreet.publishing.methods.leaves import list_within, part_evenly
from discreet.publishing.partition import Partition, sort_within_groups
from discreet.publishing.partitioners.kinds import (
    Keys,
    Kinds,
    count_kinds,
    estimate_kinds,
    require_keys,
    show_codes,
)
from discreet.publishing.partitioners.packing import Layout
from discreet.table.arrays import Bools, Ints, count_runs
from discreet.table.microdata import row_ids

RUN = "run"
MOST_NODES = 1 << 20
"""Attributes are counted together as long as there are no more combinations of them."""


@dataclass(frozen=True, eq=False)
class Level:
    """What tells nodes apart, each a range of classes, that are not told apart so far."""

    keys: Keys
    """Of the attributes that do."""
    splits: Bools
    """Per node so far, whether it is parted further."""

    def make(self, node: Ints, words: Ints) -> Ints:
        """Number what rows of these nodes show, in the order of classes."""
        reach = self.keys.reach
        return np.asarray(node * reach + np.where(self.splits[node], self.keys.make(words), 0))


@dataclass(frozen=True, eq=False)
class CutRoutes:
    """Finds the leaf of rows: a range of classes."""

    levels: tuple[tuple[Level, Ints], ...] = ()
    """Each with what it makes of any row, in order."""
    leaves: Ints | None = None
    """The first node of each leaf, once they are found."""

    def find_nodes(self, words: Ints) -> Ints:
        """Give the node of every row."""
        node = np.zeros(words.shape[1], dtype=np.int64)
        for level, made in self.levels:
            node = np.searchsorted(made, level.make(node, words))
        return node

    def __call__(self, words: Ints) -> NDArray[np.int32]:
        """Give the leaf of every row."""
        assert self.leaves is not None
        found = np.searchsorted(self.leaves, self.find_nodes(words), side="right") - 1
        return found.astype(np.int32)


@dataclass(frozen=True, eq=False)
class CountLevel:
    """Counts the rows of each node of one more level."""

    routes: CutRoutes
    level: Level

    def __call__(self, words: Ints) -> KeyCounts:
        """Count those of some rows."""
        return count_runs(np.sort(self.level.make(self.routes.find_nodes(words), words)))


def find_routes(rows: PackedRows, keys: Keys, n: int, capacity: int) -> CutRoutes:
    """Part ``n`` rows by their keys into leaves of so many, or of one class."""
    routes, counts, left = CutRoutes(), np.array([n]), list(keys.tables)
    sizes = dict(zip(left, keys.sizes, strict=True))
    while left and (counts > capacity).any():
        splits = counts > capacity
        here = [left.pop(0)]
        reach = int(splits.sum()) * sizes[here[0]]
        while left:
            reach *= sizes[left[0]]
            if reach > MOST_NODES:
                break
            here.append(left.pop(0))
        level = Level(Keys(keys.layout, {name: keys.tables[name] for name in here}), splits)
        made, counts = rows.tally(CountLevel(routes, level))
        routes = CutRoutes((*routes.levels, (level, made)))
    return CutRoutes(routes.levels, part_evenly(counts, capacity))


@dataclass(frozen=True, eq=False)
class CutWork:
    """Puts the rows of a leaf that show the same into classes."""

    keys: Keys
    exact: Mapping[str, int]
    """What is shown as it is, and how many codes it has."""

    def __call__(self, leaf: int, words: Ints) -> dict[str, pl.DataFrame]:  # noqa: ARG002
        """Give a line per class: its size, its runs, and its records' exact codes."""
        layout = self.keys.layout
        runs = [table[layout.read(words, name)] for name, table in self.keys.tables.items()]
        partition = Partition.from_labels(row_ids(runs, words.shape[1]))
        first = partition.order[partition.offsets[:-1]]
        columns: dict[str, pl.Series] = {SIZE: pl.Series(partition.sizes)}
        columns |= {name_extent(i, RUN): pl.Series(run[first]) for i, run in enumerate(runs)}
        codes = [layout.read(words, name)[partition.order].astype(np.int32) for name in self.exact]
        for i, column in enumerate(sort_within_groups(partition, codes, [*self.exact.values()])):
            columns[name_codes(i)] = list_within(partition, column)
        return {TABLE: pl.DataFrame(columns)}

    @property
    def sample(self) -> pl.DataFrame:
        """A table without lines of what it gives."""
        columns: dict[str, Any] = {SIZE: pl.Int64}
        columns |= {name_extent(i, RUN): pl.Int64 for i in range(len(self.keys.tables))}
        columns |= {name_codes(i): pl.List(pl.Int32) for i in range(len(self.exact))}
        return pl.DataFrame(schema=columns)


@dataclass(frozen=True, eq=False)
class Cutting:
    """A table whose rows are packed, and of which everybody is to show their runs."""

    method: Method
    backend: Backend
    layout: Layout
    rows: PackedRows

    @staticmethod
    def of(method: Method, backend: Backend) -> Cutting:
        """Pack a table wherever its rows are."""
        facts = backend.facts
        names = facts.schema.published.names
        layout = Layout.of(names, facts.domains, {})
        return Cutting(method, backend, layout, backend.pack(layout))

    def estimate(self, names: Sequence[str]) -> tuple[Keys, int]:
        """Give keys of the kinds of people by some attributes, and about how many there are."""
        facts = self.backend.facts
        keys = Keys(self.layout, show_codes(facts, names))
        require_keys(keys)
        return keys, estimate_kinds(self.rows, keys, facts.n, self.backend.capacity)

    def collapse(self, names: Sequence[str]) -> Kinds:
        """Count the kinds of people by some attributes, unless these are too many to be held."""
        keys, found = self.estimate(names)
        _require_room(keys, found, self.backend.capacity, "held at once")
        return count_kinds(self.rows, keys, self.backend.facts)

    def require_examined(self, cuts: Mapping[str, CodeCut], names: Sequence[str]) -> None:
        """Refuse cuts beside which too many kinds of people, by some attributes, are examined."""
        facts, most = self.backend.facts, self.backend.examined
        tables = {name: number for name, (_, number) in cuts.items()}
        keys = Keys(self.layout, tables | show_codes(facts, names))
        found = estimate_kinds(self.rows, keys, facts.n, most)
        _require_room(keys, found, most, "examined beside earlier releases")

    def publish(self, cuts: Mapping[str, CodeCut]) -> PartedRelease:
        """Have everybody show their runs of every quasi-identifier."""
        facts, known = self.backend.facts, list(cuts)
        exact = [name for name in self.layout.names if name not in known]
        keys = Keys(self.layout, {name: number for name, (_, number) in cuts.items()})
        routes = find_routes(self.rows, keys, facts.n, self.backend.capacity)
        assert routes.leaves is not None
        work = CutWork(keys, {name: facts.domains[name].size for name in exact})
        leaves = self.rows.map_leaves(routes, len(routes.leaves), work, {TABLE: work.sample})
        shown, recodings = show_runs(facts, {name: runs for name, (runs, _) in cuts.items()})
        extents = [
            of.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(name_extent(i, RUN)))
            for i, of in enumerate(shown.values())
        ]
        values, own = {name: facts.domains[name].series() for name in exact}, name_class(facts)
        labels = BoxLabels(extents, [shown[name].columns for name in known], values, own)
        sample = pl.concat(
            [pl.DataFrame({own: pl.Series([], dtype=pl.Int32)}), *(s[:0] for s in shown.values()),
             pl.DataFrame([series[:0].alias(name) for name, series in values.items()])],
            how="horizontal",
        )  # fmt: skip
        return release_in_parts(self.method, facts, leaves[TABLE], labels, sample, recodings)


def _require_room(keys: Keys, found: int, most: int, what: str) -> None:
    if found > most:
        raise SchemaError(
            f"About {found:,} different combinations of {', '.join(keys.tables)} are more than "
            f"can be {what}: {most:,} can.",
            hint="Make some of them coarser, leave some out, or allow for more memory (--memory).",
        )
