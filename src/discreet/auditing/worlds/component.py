"""Components: kinds of people who have to do with each other, as options and slots to count."""

from __future__ import annotations

from itertools import product
from math import gcd
from typing import TYPE_CHECKING, NamedTuple

from discreet.auditing.worlds.counting import Effort, Kind, Slots, TooManyError, count_worlds
from discreet.table.arrays import Ints

if TYPE_CHECKING:
    from discreet.auditing.worlds.puzzle import Puzzle

MOST_OPTIONS = 400
"""Who may be in more combinations of groups, with their values, is not counted with."""
PARTS = 720_720 << 20
"""Shares of worlds that 64 bits do not hold are rounded to so many parts, which all small numbers
divide; the largest is rounded up, so that nobody seems safer."""
Ways = list[dict[int, int]]
"""Per kind the worlds in which somebody of it has each value."""


class CandidateGroup(NamedTuple):
    """A group of a release, as one that may be somebody's."""

    release: int
    group: int
    held: dict[int, int]
    """How often it holds each value."""
    cells: list[int]
    """The places that it shows, of which one each would be theirs."""


class TiedKinds:
    """Kinds that have to do with each other, with options and slots of their own numbers."""

    def __init__(self, puzzle: Puzzle, members: Ints) -> None:
        self.puzzle = puzzle
        self.values: list[int] = []
        """The codes of values, in the order in which they were met."""
        self.room: list[int] = []
        self._slots: dict[tuple[int, int, int], int] = {}
        self._numbers: dict[int, int] = {}
        self.kinds = [Kind(int(puzzle.people[member]), self._list_options(member))
                      for member in members.tolist()]  # fmt: skip

    @property
    def key(self) -> object:
        """What components have in common whose worlds are alike."""
        return (tuple(self.room), tuple((n, tuple(options)) for n, options in self.kinds))

    def count(self, effort: Effort) -> Ways:
        """Count its worlds."""
        return count_worlds(self.kinds, self.room, effort)

    def _list_options(self, member: int) -> list[tuple[int, Slots]]:
        places: list[list[CandidateGroup]] = []
        many = 1
        for release, sets in enumerate(self.puzzle.kinds[member].tolist()):
            if sets >= 0:
                places.append(self.puzzle.list_places(release, sets))
                many *= len(places[-1])
                if many > MOST_OPTIONS:
                    raise TooManyError
        options = []
        for chosen in product(*places):
            fewest = min((place.held for place in chosen), key=len)
            for code in fewest:
                if all(code in place.held for place in chosen):
                    options.append((self._number(code), self._take(code, chosen)))
        if len(options) > MOST_OPTIONS:
            raise TooManyError
        return options

    def _number(self, code: int) -> int:
        if code not in self._numbers:
            self._numbers[code] = len(self.values)
            self.values.append(code)
        return self._numbers[code]

    def _take(self, code: int, chosen: tuple[CandidateGroup, ...]) -> Slots:
        """Give the slots of a value, and the places that are taken with it."""
        taken = []
        for place in chosen:
            taken.append(self._slot(2 * place.release, place.group, code, place.held[code]))
            room = self.puzzle.sights[place.release].cells[1]
            taken += [self._slot(2 * place.release + 1, cell, 0, int(room[cell]))
                      for cell in place.cells]  # fmt: skip
        return tuple(taken)

    def _slot(self, kind: int, one: int, other: int, room: int) -> int:
        number = self._slots.setdefault((kind, one, other), len(self.room))
        if number == len(self.room):
            self.room.append(room)
        return number


def shrink(ways: dict[int, int]) -> dict[int, int]:
    """Give whole numbers of 64 bits that are to each other as these."""
    unit = gcd(*ways.values())
    total = sum(ways.values()) // unit
    if total < 1 << 40:
        return {value: many // unit for value, many in ways.items()}
    small = {value: many // unit * PARTS // total for value, many in ways.items()}
    surest = max(ways, key=ways.__getitem__)
    small[surest] += PARTS - sum(small.values())
    return {value: many for value, many in small.items() if many}
