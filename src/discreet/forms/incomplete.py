"""Incomplete: the records of a release, one by one, and what is left open about each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import polars as pl

from discreet.release import Release
from discreet.release.cells import list_cells
from discreet.table.arrays import Floats, Ints

PASSES = 50
"""So often everybody is offered an exchange, before windows are taken for well mixed."""


class LabelCells(NamedTuple):
    """What the label of each record stands for: a run of ``values``."""

    values: pl.Series
    starts: Ints
    sizes: Ints

    def pick(self, rng: np.random.Generator) -> Ints:
        """Draw a value of each record's label; give its place among all."""
        return np.asarray(self.starts + rng.integers(0, self.sizes), dtype=np.int64)


class Dealt(NamedTuple):
    """Attributes that stand side by side, but not whose among the records of an owner."""

    names: tuple[str, ...]
    owner: Ints


class Near(NamedTuple):
    """Numbers that were exchanged: a record's own is one of all, from ``low`` to ``high``."""

    low: Floats
    high: Floats
    ranks: int
    """How many ranks apart those are, usually, who may have exchanged theirs."""

    def pair(self, own: Floats, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Pair some records that may have each other's number, nobody twice."""
        order = np.lexsort((rng.random(len(own)), own))
        apart = int(rng.integers(1, self.ranks + 1))
        place = np.arange(len(own)) + rng.integers(0, 2 * apart)
        first = np.flatnonzero(place % (2 * apart) < apart)
        first = first[first + apart < len(own)]
        one, other = order[first], order[first + apart]
        allowed = (self.low[one] <= own[other]) & (own[other] <= self.high[one])
        allowed &= (self.low[other] <= own[one]) & (own[one] <= self.high[other])
        return one[allowed], other[allowed]


class Noise(NamedTuple):
    """Numbers that are people's own with a probability, and else drawn at random."""

    retention: float
    mean: float
    square: float
    """Of what is drawn: its mean, and that of its square."""
    undo: Callable[[pl.DataFrame, np.random.Generator], pl.DataFrame]
    """Gives rows numbers that may be the person's own."""


@dataclass(frozen=True, eq=False)
class Incomplete:
    """One line per record, with attributes as shown; and in which of them it may be otherwise."""

    shown: pl.DataFrame
    cells: Mapping[str, LabelCells] = field(default_factory=dict)
    dealt: Sequence[Dealt] = ()
    near: Mapping[str, Near] = field(default_factory=dict)
    noise: Mapping[str, Noise] = field(default_factory=dict)
    apart: str | None = None
    """Why what relates these attributes cannot be told, where it was destroyed on purpose."""
    caution: str | None = None
    """What of the way in which groups were formed hides a relation even from who allows for it."""

    @property
    def is_open(self) -> bool:
        """Whether records may be otherwise than they are shown."""
        return bool(self.cells or self.dealt or self.near or self.noise)

    def draw(self, rng: np.random.Generator) -> pl.DataFrame:
        """Complete all records at random: evenly in boxes, anybody's value in groups.

        >>> people = pl.DataFrame({"age": [20, 30, 60], "pay": [1, 2, 9]})
        >>> groups = Incomplete(people, dealt=[Dealt(("pay",), np.array([0, 0, 1]))])
        >>> drawn = groups.draw(np.random.default_rng(1))
        >>> sorted(drawn["pay"][:2]), drawn["pay"][2]
        ([1, 2], 9)
        """
        made = self.shown
        for name, cells in self.cells.items():
            made = made.with_columns(cells.values.gather(cells.pick(rng)).alias(name))
        for names, owner in self.dealt:
            to, given = np.argsort(owner, kind="stable"), shuffle_within(owner, rng)
            back = np.empty(len(to), dtype=np.int64)
            back[to] = given
            made = made.with_columns(made[name].gather(back) for name in names)
        for name, near in self.near.items():
            own = made[name].to_physical().to_numpy().astype(np.float64)
            order = np.arange(len(own))
            for _ in range(PASSES):
                one, other = near.pair(own[order], rng)
                order[one], order[other] = order[other], order[one]
            made = made.with_columns(made[name].gather(order))
        for noise in self.noise.values():
            made = noise.undo(made, rng)
        return made


def shuffle_within(owner: Ints, rng: np.random.Generator) -> Ints:
    """Give rows in the order of their owners, those of one in any order."""
    return np.asarray(np.lexsort((rng.random(len(owner)), owner)), dtype=np.int64)


def pair_within(owner: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Pair rows of the same owner at random, nobody twice; one may be left over."""
    order = shuffle_within(owner, rng)
    sorted_owner = owner[order]
    starts = np.flatnonzero(np.append(True, sorted_owner[1:] != sorted_owner[:-1]))
    sizes = np.diff(np.append(starts, len(order)))
    place = np.arange(len(order)) - np.repeat(starts, sizes)
    first = np.flatnonzero((place % 2 == 0) & (place + 1 < np.repeat(sizes, sizes)))
    return order[first], order[first + 1]


def read_cells(release: Release, title: str, name: str, labels: pl.Series) -> LabelCells:
    """Read what the label of each record stands for."""
    cells = list_cells(release, title, name).with_columns(pl.col("label").cast(pl.String))
    cells = cells.sort("label", maintain_order=True)
    runs = cells.group_by("label", maintain_order=True).len()
    sizes = runs["len"].to_numpy().astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    which = runs["label"].search_sorted(labels.cast(pl.String)).to_numpy()
    return LabelCells(cells["value"].alias(name), starts[which], sizes[which])


def open_boxes(
    release: Release, title: str, table: pl.DataFrame, names: Sequence[str]
) -> dict[str, LabelCells]:
    """Read what records show by labels, of some attributes."""
    return {
        name: read_cells(release, title, name, table[name])
        for name in names
        if release.recodings[name].is_blurred
    }
