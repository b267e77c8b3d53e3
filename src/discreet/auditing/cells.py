"""Cells: people who look the same in several releases, and what these leave possible about them.

Records of two releases can be one person's only if they agree in all that both show, so weights are
multiplied. Where it is known who is in a group, its people together have the group's values, and
beliefs are fitted to that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from discreet.forms.disclosure import SET, WEIGHT, Disclosure, Target
from discreet.principles.base import Principle
from discreet.principles.groups import Groups
from discreet.table.arrays import Bools, Floats, Ints, add_up
from discreet.table.microdata import row_ids
from discreet.table.people import Persons

CELL = "#cell"
ROOM = 58
"""Bits that a product of weights may take."""
ROUNDS, CLOSE, FEW_LEFT = 1000, 1e-5, 0.001
"""Fitting ends after so many rounds, or when no more than this share changes by more than that."""
GONE = 0.01
"""A value is dropped when fitted to less than this share of what a join says."""
PARTS, FEW = 840, 50
"""What is fitted is an estimate, good to one of these parts; more where there are many values."""


@dataclass(frozen=True, eq=False)
class Cells:
    """People who look the same to some releases, all of which show them."""

    disclosed: list[Disclosure]
    covering: list[int]
    """Which releases these are."""
    sets: Ints
    """Per cell and covering release the candidate set."""
    known: pl.DataFrame
    """Per cell what else is known of its people: values that records show exactly."""
    people: Ints
    units: Ints
    """Per cell the people, or clusters, whose rows these are."""

    @cached_property
    def frames(self) -> list[tuple[int, pl.DataFrame]]:
        """All that these releases show, each with the release that shows it."""
        return [(i, frame) for i in self.covering for frame in self.disclosed[i].frames]

    @cached_property
    def joins(self) -> list[tuple[list[int], pl.DataFrame]]:
        """The records that may be one person's, cell by cell, put together by what they share.

        One join for frames that have to do with each other, and which ones these are; none where
        nothing is added to what one frame shows.
        """
        joins = []
        left = list(range(len(self.frames)))
        while left:
            part = [left.pop(0)]
            names = set(_shown(self.frames[part[0]][1]))
            while more := [f for f in left if names & set(_shown(self.frames[f][1]))]:
                part += more
                left = [f for f in left if f not in more]
                names |= {n for f in more for n in _shown(self.frames[f][1])}
            if len(part) > 1 or names & set(self.known.columns):
                joins.append((part, self._join(part)))
        return joins

    def _join(self, part: list[int]) -> pl.DataFrame:
        joined = self.known.with_row_index(CELL).with_columns(
            pl.col(CELL).cast(pl.Int64),
            *(pl.Series(f"{SET} {i}", self.sets[:, c]) for c, i in enumerate(self.covering)),
        )
        # those that show most first: what others show beside it then only narrows it down; those
        # that leave every value possible last, for they take none away
        for f in sorted(part, key=self._rank):
            i, frame = self.frames[f]
            shared = [c for c in _shown(frame) if c in joined.columns]
            named = frame.rename({SET: f"{SET} {i}", WEIGHT: f"{WEIGHT} {f}"})
            default = self.disclosed[i].default_weight
            if default is None or len(shared) < len(_shown(frame)):
                joined = joined.join(named, on=[f"{SET} {i}", *shared])
            else:
                joined = joined.join(named, on=[f"{SET} {i}", *shared], how="left").with_columns(
                    pl.col(f"{WEIGHT} {f}").fill_null(
                        pl.Series(default).gather(joined[f"{SET} {i}"])
                    )
                    if joined.height
                    else pl.col(f"{WEIGHT} {f}")
                )
        return joined

    def _rank(self, f: int) -> tuple[bool, int]:
        i, frame = self.frames[f]
        return self.disclosed[i].default_weight is not None, -frame.width

    def count_records(self, i: int) -> Ints:
        """Count a release's records that may be a person's, per cell."""
        return np.asarray(self.disclosed[i].records[self.sets[:, self.covering.index(i)]])

    def count_left(self, i: int) -> Ints:
        """Count those that may be after all; 0 where the releases contradict each other."""
        at = self.sets[:, self.covering.index(i)]
        records = self.count_records(i)
        left = records.copy()
        for part, joined in self.joins:
            for f in part:
                if self.frames[f][0] == i:
                    frame = self.frames[f][1]
                    rows = joined.unique([CELL, *_shown(frame)]).group_by(CELL)
                    kept = rows.agg(pl.col(f"{WEIGHT} {f}").sum().alias(WEIGHT))
                    cell, weight = kept[CELL].to_numpy(), kept[WEIGHT].to_numpy()
                    here = np.zeros_like(left)
                    here[cell] = records[cell] * weight // self._weigh(i, frame)[at[cell]]
                    left = np.minimum(left, here)
        return left

    def believe(self, attribute: str, target: Target) -> tuple[Groups | None, Ints]:
        """Give the bag of values of each cell whose releases do not contradict each other."""
        if attribute not in self._believed:
            self._believed[attribute] = self._believe(attribute, target)
        return self._believed[attribute]

    @cached_property
    def _believed(self) -> dict[str, tuple[Groups | None, Ints]]:
        return {}

    def _believe(self, attribute: str, target: Target) -> tuple[Groups | None, Ints]:
        joined = next((j for _, j in self.joins if attribute in j.columns), None)
        if joined is None:
            return None, np.zeros(0, dtype=np.int64)
        weights = [c for c in joined.columns if c.startswith(f"{WEIGHT} ")]
        bits = ROOM // max(len(weights), 1)
        product = pl.lit(1, dtype=pl.Int64)
        for column in weights:
            product = product * _coarsen(column, bits)
        rows = joined.with_columns(product.alias(WEIGHT)).group_by(CELL, attribute)
        told = rows.agg(pl.col(WEIGHT).sum()).sort(CELL, attribute)
        if not told.height:
            return None, np.zeros(0, dtype=np.int64)
        whole = self._list_whole(attribute)
        cell, value, weight = (told[name].to_numpy() for name in (CELL, attribute, WEIGHT))
        told = told.with_columns(fit_groups(cell, value, weight, self.people, whole))
        return _bag(told.filter(pl.col(WEIGHT) > 0), CELL, attribute, target)

    def _list_whole(self, attribute: str) -> list[tuple[Ints, pl.DataFrame]]:
        """Per release, the groups whose people are all in the table and in these cells.

        They are given as the group of every cell, or -1, and as the values they have.
        """
        whole = []
        for c, i in enumerate(self.covering):
            bags = self._list_told(i, attribute)
            if bags is not None:
                sizes, at = self._weigh(i, bags), self.sets[:, c]
                here = np.bincount(at, weights=self.people, minlength=len(sizes))
                closed = np.where((here == sizes)[at], at, -1)
                if (closed >= 0).any():
                    whole.append((closed, bags.rename({attribute: "value"})))
        return whole

    def _list_told(self, i: int, attribute: str) -> pl.DataFrame | None:
        """List what one release tells about an attribute, set by set, if anything."""
        frame = next((f for f in self.disclosed[i].frames if attribute in f.columns), None)
        if frame is None or not frame.height:
            return None
        return frame.group_by(SET, attribute).agg(pl.col(WEIGHT).sum()).sort(SET, attribute)

    def _weigh(self, i: int, frame: pl.DataFrame) -> Ints:
        """Give the weight of every candidate set of a release."""
        weights = np.zeros(len(self.disclosed[i].records), dtype=np.int64)
        np.add.at(weights, frame[SET].to_numpy(), frame[WEIGHT].to_numpy())
        return weights

    def judge_alone(
        self, i: int, part: Principle, attribute: str, target: Target
    ) -> tuple[Bools, Floats]:
        """Say of each cell whether one release alone keeps a principle, and the surest belief."""
        good = np.ones(len(self.disclosed[i].records), dtype=bool)
        share = np.zeros(len(good))
        at = self.sets[:, self.covering.index(i)]
        rows = self._list_told(i, attribute)
        if rows is not None and self.disclosed[i].default_weight is None:
            bags, sets = _bag(rows, SET, attribute, target)
            good[sets], share[sets] = part.admits(bags), bags.largest / bags.sizes
        return good[at], share[at]


def fit_groups(
    cell: Ints, value: Ints, weights: Ints, people: Ints, whole: list[tuple[Ints, pl.DataFrame]]
) -> pl.Series:
    """Fit beliefs so that all people of a group together have the group's values.

    Whoever knows who is in each group knows that. Of all beliefs that agree with it, those that
    assume nothing else are found by scaling group after group, release after release (iterative
    proportional fitting). A value that the others leave no room for is dropped; a cell that is a
    whole group gets its bag.
    """
    if not whole:
        return pl.Series(WEIGHT, weights)
    sizes = np.bincount(cell, weights=weights, minlength=len(people))
    start = weights / sizes[cell] * people[cell]
    fitted, bound = start.copy(), np.zeros(len(cell), dtype=bool)
    steps = []
    for group_of, bags in whole:
        entries = pl.DataFrame({SET: group_of[cell], "value": value})
        found = entries.join(bags, on=[SET, "value"], how="left", maintain_order="left")
        wanted = found[WEIGHT].fill_null(0).to_numpy().astype(float)
        number = row_ids([group_of[cell] + 1, value], len(cell))
        steps.append((number, wanted, group_of[cell] >= 0))
        bound |= group_of[cell] >= 0
    for _ in range(ROUNDS):
        before = fitted.copy()
        for number, wanted, closed in steps:
            sums = np.bincount(number, weights=fitted)[number]
            fitted = np.where(closed, fitted * wanted / np.maximum(sums, 1e-300), fitted)
        totals = np.bincount(cell, weights=fitted, minlength=len(people))[cell]
        fitted *= people[cell] / np.maximum(totals, 1e-300)
        fitted[fitted < GONE * start] = 0  # what goes to nothing does so slowly
        if int((np.abs(fitted - before) > CLOSE).sum()) <= FEW_LEFT * len(fitted):
            break
    return pl.Series(WEIGHT, np.where(bound, _round_shares(cell, fitted, len(people)), weights))


def _round_shares(cell: Ints, fitted: Floats, cells: int) -> Ints:
    """Round fitted shares to parts of a number that halves, thirds and so on divide.

    Fitting comes near its end only slowly; a third must not look like more than a third. What
    rounding leaves goes to the least likely value.
    """
    left = np.bincount(cell, weights=fitted > 0, minlength=cells)
    parts = PARTS * (1 + left.astype(np.int64) // FEW)
    totals = np.bincount(cell, weights=fitted, minlength=cells)
    rounded = np.round(fitted / np.maximum(totals, 1e-300)[cell] * parts[cell]).astype(np.int64)
    rounded = np.where(fitted > 0, np.maximum(rounded, 1), 0)
    rest = parts - np.bincount(cell, weights=rounded, minlength=cells).astype(np.int64)
    order = np.lexsort((np.where(fitted > 0, fitted, np.inf), cell))
    least = order[np.append(True, np.diff(cell[order]) > 0)]
    rounded[least] += np.maximum(rest[cell[least]], 0) * (rounded[least] > 0)
    return rounded


def _shown(frame: pl.DataFrame) -> list[str]:
    return [c for c in frame.columns if c not in (SET, WEIGHT)]


def _bag(rows: pl.DataFrame, owner: str, attribute: str, target: Target) -> tuple[Groups, Ints]:
    """Read sorted rows as bags, and say whose each is."""
    owners, bag = np.unique(rows[owner].to_numpy(), return_inverse=True)
    codes = rows[attribute].to_numpy().astype(np.int32)
    bags = Groups.from_entries(bag.astype(np.int64), codes, rows[WEIGHT].to_numpy(), target.domain)
    return target.weigh(bags), owners


def _coarsen(column: str, bits: int) -> pl.Expr:
    """Round weights that are too fine to be multiplied, never to nothing."""
    weight, top = pl.col(column), pl.col(column).max()
    finest = 1 << bits
    fine = (weight.cast(pl.Float64) / top * finest).round().cast(pl.Int64).clip(1)
    return pl.when(top < finest).then(weight).otherwise(fine)


def sort_people(
    disclosed: list[Disclosure], persons: Persons | None, times: Ints | None = None
) -> Iterator[Cells]:
    """Sort people by what they look like to every release that shows them, two or more.

    They may be kinds of people, who stand for so many ``times`` each.
    """
    of = np.stack([t.set_of for t in disclosed], axis=1)
    shown = of >= 0
    for pattern in np.unique(shown, axis=0):
        covering = np.flatnonzero(pattern).tolist()
        if len(covering) < 2:
            continue
        rows = np.flatnonzero((shown == pattern).all(axis=1))
        known: dict[str, Ints] = {}
        for i in covering:
            known |= {name: codes[rows] for name, codes in disclosed[i].known.items()}
        columns = [*of[rows][:, covering].T, *known.values()]
        number = row_ids(columns, len(rows))
        _, first = np.unique(number, return_index=True)
        each = np.ones(len(rows), dtype=np.int64) if times is None else times[rows]
        people = add_up(number, each, len(first))
        yield Cells(
            disclosed,
            covering,
            of[rows][first][:, covering],
            pl.DataFrame(
                {name: codes[first] for name, codes in known.items()}
                or {"": np.zeros(len(first), dtype=np.int8)}
            ),
            people,
            people if persons is None else persons.taken(rows).count_units(number, len(people)),
        )
