"""Kinds: the different rows of a table by some of its attributes, and how many people each is.

What depends on how many people have which values of these, and on nothing else, is found of kinds
as of rows. There are far fewer of them, and they can be counted wherever the rows are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.publishing.partitioners.packing import Layout
from discreet.table.arrays import Ints, count_runs
from discreet.table.facts import Facts
from discreet.table.microdata import Microdata, representatives, row_ids

if TYPE_CHECKING:
    from discreet.publishing.backends import KeyCounts, PackedRows

MOST_KEYS = 2**63
"""So many combinations can be told apart by one number."""
SPREAD, TOP = np.uint64(0x9E3779B97F4A7C15), np.uint64(32)
"""By a product with the first, from this bit up, keys are spread evenly over slices."""


@dataclass(frozen=True, eq=False)
class Kinds:
    """A row for all people who are alike in some attributes."""

    data: Microdata
    """What it has besides is somebody's of a kind, and means nothing."""
    weights: Ints
    """How many rows each stands for."""


def collapse(data: Microdata, names: Sequence[str]) -> tuple[Kinds, Ints]:
    """Give the kinds of a table by some attributes and whose rows they are; and everyone's kind."""
    columns: list[NDArray[np.integer]] = [data.codes[name] for name in names]
    if data.persons is not None:
        columns.append(data.persons.units)
    kind_of = row_ids(columns, data.n)
    kinds = Kinds(data.taken(representatives(kind_of)), np.bincount(kind_of).astype(np.int64))
    return kinds, kind_of


@dataclass(frozen=True, eq=False)
class Keys:
    """Makes one number of what rows show of some attributes, in the order of these."""

    layout: Layout
    tables: Mapping[str, Ints]
    """Per attribute the number that is shown of each code, from 0 on."""

    @property
    def sizes(self) -> list[int]:
        """Per attribute how many numbers there are."""
        return [int(table.max(initial=0)) + 1 for table in self.tables.values()]

    @property
    def reach(self) -> int:
        """How many keys there might be."""
        return prod(self.sizes)

    def make(self, words: Ints) -> Ints:
        """Give the key of every row, by its words."""
        keys = np.zeros(words.shape[1], dtype=np.int64)
        for (name, table), size in zip(self.tables.items(), self.sizes, strict=True):
            keys *= size
            keys += table[self.layout.read(words, name)]
        return keys

    def read(self, keys: Ints) -> dict[str, Ints]:
        """Give back what keys were made of."""
        found = {}
        for name, size in zip([*self.tables][::-1], self.sizes[::-1], strict=True):
            keys, found[name] = np.divmod(keys, size)
        return {name: found[name] for name in self.tables}


@dataclass(frozen=True, eq=False)
class CountKeys:
    """Counts the keys of rows; of several slices of all keys, those of one."""

    keys: Keys
    slices: int = 1
    number: int = 0
    within: int = 1
    """So many keys, from one that this divides on, are in one slice."""

    def __call__(self, words: Ints) -> KeyCounts:
        """Count those of some rows."""
        made = self.keys.make(words)
        if self.slices > 1:
            spread = (made // self.within).astype(np.uint64) * SPREAD >> TOP
            made = made[spread % np.uint64(self.slices) == self.number]
        made.sort()
        return count_runs(made)


def show_codes(facts: Facts, names: Sequence[str]) -> dict[str, Ints]:
    """Give tables by which all codes of some attributes are shown."""
    return {name: np.arange(facts.domains[name].size) for name in names}


def require_keys(keys: Keys) -> None:
    """Refuse attributes of which one number cannot tell all combinations apart."""
    if keys.reach >= MOST_KEYS:
        raise SchemaError(
            f"{', '.join(keys.tables)} might be combined in more ways than can be told apart in a "
            "table beyond memory: 2 to the 63.",
            hint="Make some of them coarser, or leave some out.",
        )


def estimate_kinds(rows: PackedRows, keys: Keys, n: int, capacity: int) -> int:
    """Say how many kinds there are of ``n`` rows, at most; about, if these might not fit."""
    most = min(n, keys.reach)
    slices = -(-most // capacity)
    if slices == 1 or keys.reach >= MOST_KEYS:
        return most
    return len(rows.tally(CountKeys(keys, slices))[0]) * slices


def count_kinds(rows: PackedRows, keys: Keys, facts: Facts) -> Kinds:
    """Count the kinds of a table wherever its rows are."""
    found, weights = rows.tally(CountKeys(keys))
    codes = {name: column.astype(np.int32) for name, column in keys.read(found).items()}
    return Kinds(facts.hold(codes), weights)
