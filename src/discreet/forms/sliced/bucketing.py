"""Can these people be parted into the buckets of a sliced table, all columns at once?

Who may be in which bucket, column by column, is a flow. That one and the same parting shows every
column as published is more, and is tried out where few people are left to be placed; of more,
only the flows are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.forms.matches import Matches
from discreet.table.arrays import Bools, Ints

if TYPE_CHECKING:
    from discreet.forms.sliced.view import SlicedView

MOST_OPTIONS = 5_000_000
"""Pairs of a person and a bucket that are looked at; of more nothing is said."""
MOST_PEOPLE, MOST_STEPS = 40, 100_000
"""People of a component whose partings are tried out, and attempts in all."""


@dataclass
class BucketOptions:
    """The buckets that people may be in, and the rows there that are nobody's yet."""

    person: Ints
    bucket: Ints
    rows: list[Ints]
    """Per column and option the place in ``room`` of the person's value in that bucket."""
    room: list[Ints]
    """Per column how many rows show each value in each bucket."""

    @property
    def starts(self) -> Ints:
        """Where the options of each person begin, who has any; and where all end."""
        first = np.flatnonzero(np.append(True, np.diff(self.person) != 0))
        return np.append(first, len(self.person))

    def keep(self, these: Bools) -> None:
        """Leave only some options."""
        self.person, self.bucket = self.person[these], self.bucket[these]
        self.rows = [rows[these] for rows in self.rows]

    def settle(self, people: int) -> bool:
        """Place everybody who has one bucket left, again and again; say whether all can be."""
        waiting = np.ones(people, dtype=bool)
        while True:
            pairs = zip(self.rows, self.room, strict=True)
            self.keep(np.logical_and.reduce([room[rows] > 0 for rows, room in pairs]))
            left = np.bincount(self.person, minlength=people)
            if (left[waiting] == 0).any():
                return False
            forced = left[self.person] == 1
            if not forced.any():
                return True
            for rows, room in zip(self.rows, self.room, strict=True):
                np.subtract.at(room, rows[forced], 1)
                if (room < 0).any():
                    return False
            waiting[self.person[forced]] = False
            self.keep(~forced)


def is_impossible(view: SlicedView, matches: Matches, numbers: list[tuple[Ints, Ints]]) -> bool:
    """Whether no parting of the people into buckets shows every column as it is published.

    ``numbers`` has, per column, everyone's own value and the one that every row shows.
    """
    from discreet.kernels.flow import place

    seen = matches.set_of[matches.set_of >= 0]
    if int(matches.sizes[seen].sum()) > MOST_OPTIONS:
        return False
    person, group = matches.list_options(matches.set_of)
    options = BucketOptions(person, view.bucket_of[group], [], [])
    there = np.ones(len(person), dtype=bool)
    for own, shown in numbers:
        size = int(max(own.max(), shown.max())) + 1
        keys, room = np.unique(view.bucket * size + shown, return_counts=True)
        wanted = options.bucket * size + own[person]
        rows = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        there &= keys[rows] == wanted
        options.rows.append(rows)
        options.room.append(room.astype(np.int64))
    options.keep(there)
    if not options.settle(len(matches.set_of)):
        return True
    if not len(options.person):
        return False
    pairs = zip(options.rows, options.room, strict=True)
    if any(place(options.starts, rows, room) for rows, room in pairs):
        return True
    return _try_components(options)


def _try_components(options: BucketOptions) -> bool:
    """Whether the people of some small component, who share no bucket with others, do not fit."""
    part = _find_components(options)
    order = np.argsort(part, kind="stable")
    budget = MOST_STEPS
    for chosen in np.split(order, np.flatnonzero(np.diff(part[order])) + 1):
        if len(np.unique(options.person[chosen])) <= MOST_PEOPLE:
            fits, budget = _try_partings(options, chosen, budget - 1)
            if fits is False:
                return True
        if budget <= 0:
            break
    return False


def _find_components(options: BucketOptions) -> Ints:
    """Number the options so that those that share a person or a bucket have one number."""
    from discreet.kernels.options import connect

    starts = options.starts
    part = connect(starts, options.bucket[:, None], int(options.bucket.max()) + 1)
    return np.repeat(part, np.diff(starts))


def _try_partings(options: BucketOptions, chosen: Ints, budget: int) -> tuple[bool | None, int]:
    """Look for a parting of a component's people, those of fewest buckets first.

    Gives whether there is one, ``None`` if the budget did not suffice, and what is left of it.
    """
    cells = np.stack([rows[chosen] for rows in options.rows], axis=1)
    room = [dict.fromkeys(column, 0) for column in cells.T.tolist()]
    for column, left in enumerate(room):
        for row in left:
            left[row] = int(options.room[column][row])
    people: dict[int, list[tuple[int, ...]]] = {}
    for person, rows in zip(options.person[chosen].tolist(), cells.tolist(), strict=True):
        people.setdefault(person, []).append(tuple(rows))
    waiting = sorted(people.values(), key=lambda ways: (len(ways), ways))
    failed: set[tuple[int, ...]] = set()

    def fill(person: int) -> bool | None:
        nonlocal budget
        if person == len(waiting):
            return True
        state = (person, *(count for left in room for count in left.values()))
        if state in failed:
            return False
        undecided = False
        for way in waiting[person]:
            budget -= 1
            if budget < 0:
                return None
            if all(left[row] > 0 for left, row in zip(room, way, strict=True)):
                for left, row in zip(room, way, strict=True):
                    left[row] -= 1
                found = fill(person + 1)
                for left, row in zip(room, way, strict=True):
                    left[row] += 1
                if found:
                    return True
                undecided |= found is None
        if undecided:
            return None
        failed.add(state)
        return False

    return fill(0), max(budget, 0)
