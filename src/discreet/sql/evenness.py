"""Evenness: how unevenly people may be spread over what the labels of an attribute stand for.

A share of a box takes its people for spread evenly. Where labels overlap, others tell more: of
``{United-States, Jamaica}`` few are from Jamaica if elsewhere nearly all are from the United
States. So the density of an attribute is learned from all of its labels together (Turnbull 1976:
who is where by the density, the density by who is where, in turns), but for those who must be
there, because labels name what somebody has: one of every value of a set, two at the ends of an
interval. Values that are in the same labels are one piece, of which nothing tells who is where: of
categories any may be everybody's; numbers, which lie beside each other, are spread evenly but for
a slack. Boxes differ from the table as a whole by another slack. Both were measured
(``benchmarks/error_bars.py``), and promise nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from discreet.release import Release
from discreet.release.labels import Labels, read_labels
from discreet.release.selection import Selection, find_positions
from discreet.table.arrays import Floats, Ints
from discreet.table.coarsening import is_coarse
from discreet.table.domain import reduce_column

AMONG, INSIDE = 1 / 4, 1 / 2
"""How far shares of boxes lie from those of the density, and shares of pieces from even ones: so
many √(q·(1 - q)), in 19 of 20 questions about the tables this was measured on."""
TURNS, PRIOR = 20, 0.5
"""How often the density is corrected; and how many people are spread evenly beforehand."""

_LEARNED: WeakKeyDictionary[Release, dict[tuple[str, str], Spread]] = WeakKeyDictionary()


def is_spread(release: Release, name: str) -> bool:
    """Whether it can be learned how people are spread over what labels stand for."""
    return release.recodings[name].is_blurred and not is_coarse(release.schema[name])


def learn_spread(release: Release, table: str, name: str) -> Spread:
    """Learn how people are spread over the values of a blurred attribute; once per release."""
    learned = _LEARNED.setdefault(release, {})
    if (table, name) not in learned:
        rows = release.tables[table]
        labels, number = read_labels(release, rows, name)
        blurred = [a for a in release.schema.quasi_identifiers if release.recodings[a].is_blurred]
        shown = [c for a in blurred for c in release.recodings[a].columns(a) if c in rows.columns]
        boxes = rows.select(pl.struct(shown).is_first_distinct()).to_series().to_numpy()
        count = len(labels.texts)
        people, boxes = (np.bincount(n, minlength=count) for n in (number, number[boxes]))
        learned[table, name] = Spread.learn(labels, people.astype(float), boxes.astype(float))
    return learned[table, name]


@dataclass(frozen=True, eq=False)
class Pieces:
    """What labels stand for, in pieces that no label parts; the last is the missing value.

    Of intervals a label has all pieces from ``first`` to before ``until``. Of sets, where a missing
    value is one as any other, it has those that are ``listed`` there.
    """

    labels: Labels
    sizes: Floats
    """How many values each has."""
    first: Ints
    until: Ints
    absent: Floats
    starts: Ints
    """Of intervals where each piece begins, as a number."""
    listed: Ints | None
    places: dict[str, int]
    """Of sets the piece that each value is in."""

    @staticmethod
    def of(labels: Labels) -> Pieces:
        """Part what labels stand for where some label does."""
        if labels.sets is None:
            some = labels.low <= labels.high
            ends = np.unique(np.concatenate([labels.low[some], labels.high[some] + 1]))
            starts = ends[:-1]
            first, until = (np.where(some, np.searchsorted(ends, at), 0)
                            for at in (labels.low, labels.high + 1))  # fmt: skip
            sizes = np.append(np.diff(ends), 1).astype(float)
            absent = labels.absent.astype(float)
            return Pieces(labels, sizes, first, until, absent, starts, None, {})
        owners: dict[str, list[int]] = {}
        for i, held in enumerate(labels.sets):
            for text in held:
                owners.setdefault(text, []).append(i)
        number: dict[tuple[int, ...], int] = {}
        places = {text: number.setdefault(tuple(of), len(number)) for text, of in owners.items()}
        pairs = [(i, piece) for of, piece in number.items() for i in of]
        owner, listed = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2).T
        until = np.cumsum(np.bincount(owner, minlength=len(labels.sets)))
        first = np.concatenate([[0], until[:-1]]).astype(np.int64)
        sizes = np.bincount([*places.values(), len(number)]).astype(float)
        nothing = np.zeros(len(labels.sets))
        return Pieces(labels, sizes, first, until, nothing, first[:0], listed, places)

    def add_up(self, amounts: Floats) -> Floats:
        """Add amounts of pieces up per label."""
        along = amounts[:-1] if self.listed is None else amounts[self.listed]
        upto: Floats = np.concatenate([[0.0], np.cumsum(along)])
        held: Floats = np.maximum(upto[self.until] - upto[self.first], 0)
        return np.asarray(held + self.absent * amounts[-1])

    def deal(self, amounts: Floats) -> Floats:
        """Give every piece the amounts of all labels that have it."""
        if self.listed is None:
            step = np.bincount(self.first, amounts, len(self.sizes))
            step -= np.bincount(self.until, amounts, len(self.sizes))
            dealt = np.maximum(np.cumsum(step)[:-1], 0)
        else:
            spelled = np.repeat(amounts, self.until - self.first)
            dealt = np.bincount(self.listed, spelled, len(self.sizes) - 1)
        return np.append(dealt, amounts @ self.absent)

    def count(self, asked: Selection) -> Floats:
        """Count the values of each piece that a question takes."""
        if self.listed is None:
            after = self.starts + self.sizes[:-1].astype(np.int64)
            counted = asked.count_upto(after - 1) - asked.count_upto(self.starts - 1)
            return np.append(counted, asked.missing).astype(float)
        held = asked.holds(list(self.places)).astype(float)
        return np.bincount([*self.places.values()], held, len(self.sizes)).astype(float)

    def find(self, values: pl.Series) -> Ints:
        """Find the piece that each value is in."""
        if self.listed is None:
            at = np.searchsorted(
                self.starts, find_positions(values, self.labels.attribute), "right"
            )
            return np.where(values.is_null().to_numpy(), len(self.starts), at - 1)
        codes, domain = reduce_column(values, self.labels.attribute).encode(None)
        return np.array([self.places[text] for text in domain.texts], dtype=np.int64)[codes]


@dataclass(frozen=True, eq=False)
class Spread:
    """What was learned of an attribute: which share of a label's people a question may take."""

    pieces: Pieces
    density: Floats
    """Of each piece."""
    evenly: Floats
    """Per label the share of people who are spread evenly."""
    mass: Floats
    sizes: Floats
    """Per label the density of its pieces, and the number of its values."""

    @staticmethod
    def learn(labels: Labels, people: Floats, boxes: Floats) -> Spread:
        """Learn from how many people and boxes show each label."""
        pieces = Pieces.of(labels)
        sizes = np.maximum(pieces.add_up(pieces.sizes), 1)
        placed = np.minimum(
            boxes * (np.minimum(sizes, 2) if labels.sets is None else sizes), people
        )
        even = pieces.sizes / pieces.sizes.sum()
        placed_there = pieces.sizes * pieces.deal(placed / sizes) + PRIOR * even
        density = even
        for _ in range(TURNS):
            mass = np.maximum(pieces.add_up(density), np.finfo(float).tiny)
            density = density * pieces.deal((people - placed) / mass) + placed_there
            density /= density.sum()
        mass = np.maximum(pieces.add_up(density), np.finfo(float).tiny)
        return Spread(pieces, density, placed / np.maximum(people, 1), mass, sizes)

    def bound(self, asked: Selection) -> tuple[Floats, Floats]:
        """Give the least and the largest credible share of each label that a question takes."""
        taken = self.pieces.count(asked) / self.pieces.sizes

        def weigh(shares: Floats) -> Floats:
            even = self.pieces.add_up(self.pieces.sizes * shares) / self.sizes
            learned = self.pieces.add_up(self.density * shares) / self.mass
            return self.evenly * even + (1 - self.evenly) * learned

        likely, least, most = (weigh(shares) for shares in (taken, *self._part(taken)))
        slack = AMONG * np.sqrt(np.clip(likely * (1 - likely), 0, None))
        return np.clip(least - slack, 0, 1), np.clip(most + slack, 0, 1)

    def weigh_cells(self, label: Ints, piece: Ints, many: Ints) -> tuple[Floats, Floats, Floats]:
        """Give the share of its label that each cell has, and the least and the largest.

        A cell has so many values of a piece. How boxes differ from the whole is not in these: that
        is of all that is taken together.
        """
        even = self.pieces.sizes[piece] / self.sizes[label]
        learned = self.density[piece] / self.mass[label]
        weight = self.evenly[label] * even + (1 - self.evenly[label]) * learned
        taken = many / self.pieces.sizes[piece]
        least, most = self._part(taken)
        return weight * taken, weight * least, weight * most

    def _part(self, taken: Floats) -> tuple[Floats, Floats]:
        """Give the least and the largest share of pieces of which such shares of values are."""
        if not self.pieces.labels.attribute.type.ordered:
            return (taken >= 1).astype(float), (taken > 0).astype(float)
        slack = INSIDE * np.sqrt(taken * (1 - taken))
        return np.maximum(taken - slack, 0), np.minimum(taken + slack, 1)
