"""Counting: in how many worlds has somebody which value?

A world gives everybody one of their options: a value, and a place of some slots that it takes.
Slots are the values that a group of a release holds, and the places that it shows; all of them are
taken, as often as they are there, and by nobody else. Worlds are counted person by person over what
is left of the slots; people who have the same options are told the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

Remaining = tuple[int, ...]
"""How many places of each slot are left."""
Slots = tuple[int, ...]
MOST_KINDS = 64
"""Of more kinds of people worlds are not counted."""
SLOTS = 10
"""As long as copying so many slots takes what else is done in a step."""


class Kind(NamedTuple):
    """People who have the same options."""

    people: int
    options: list[tuple[int, Slots]]
    """A value, and the slots of which it takes a place each."""


class TooManyError(Exception):
    """There are more ways than can be counted."""


class Effort:
    """How much may be done to count the worlds of one component after the other."""

    def __init__(self, most: int, each: int) -> None:
        self._left, self._each, self._spent = most, each, 0

    @property
    def is_over(self) -> bool:
        """Whether nothing is left."""
        return self._left <= 0

    def begin(self) -> None:
        """Turn to another component."""
        self._spent = 0

    def spend(self, much: int) -> None:
        """Do so much more, or give up."""
        self._left -= much
        self._spent += much
        if self._spent > self._each or self._left < 0:
            raise TooManyError


class NoWorldError(Exception):
    """What is said cannot be true of these people."""


def count_worlds(
    kinds: Sequence[Kind], room: Sequence[int], effort: Effort
) -> list[dict[int, int]]:
    """Count, per kind of people and value, the worlds in which one of them has it."""
    effort.begin()
    users = Counter(
        slot
        for kind in kinds
        for slot in {slot for _, taken in kind.options for slot in taken}
        for _ in range(kind.people)
    )
    if any(users[slot] < places for slot, places in enumerate(room)):
        raise NoWorldError
    order = _arrange(kinds)
    before: list[dict[Remaining, int]] = []
    states = {tuple(room): 1}
    for number in order:
        kind = kinds[number]
        touched = sorted({slot for _, taken in kind.options for slot in taken})
        for _ in range(kind.people):
            before.append(states)
            # to go one step forwards and back again copies all slots
            effort.spend(len(states) * len(kind.options) * (len(room) + SLOTS))
            users.subtract(touched)
            # whoever comes later cannot take more
            limits = [(slot, users[slot]) for slot in touched]
            after: dict[Remaining, int] = {}
            for state, ways in states.items():
                for _, taken in kind.options:
                    left = _take(state, taken)
                    if left is not None and all(left[slot] <= many for slot, many in limits):
                        after[left] = after.get(left, 0) + ways
            states = after
    if not states:
        raise NoWorldError
    return _go_back(kinds, order, before, states)


def _go_back(
    kinds: Sequence[Kind],
    order: Sequence[int],
    before: list[dict[Remaining, int]],
    last: dict[Remaining, int],
) -> list[dict[int, int]]:
    """Count from the end, and what the last of every kind has in all worlds."""
    found: list[dict[int, int]] = [{} for _ in kinds]
    ends, step = dict.fromkeys(last, 1), len(before)
    for number in reversed(order):
        kind = kinds[number]
        for turn in range(kind.people):
            step -= 1
            rest: dict[Remaining, int] = {}
            for state, ways in before[step].items():
                for value, taken in kind.options:
                    left = _take(state, taken)
                    many = 0 if left is None else ends.get(left, 0)
                    if many:
                        rest[state] = rest.get(state, 0) + many
                        if not turn:
                            found[number][value] = found[number].get(value, 0) + ways * many
            ends = rest
    return found


def _take(state: Remaining, taken: Slots) -> Remaining | None:
    """Take a place of some slots; none if one of them has none left."""
    left = list(state)
    for slot in taken:
        if not left[slot]:
            return None
        left[slot] -= 1
    return tuple(left)


def _arrange(kinds: Sequence[Kind]) -> list[int]:
    """Order kinds so that as few slots as can be are begun and not yet done with."""
    slots = [{slot for _, taken in kind.options for slot in taken} for kind in kinds]
    users = Counter(slot for some in slots for slot in some)
    order: list[int] = []
    begun: set[int] = set()
    left = set(range(len(kinds)))
    while left:
        costs = []
        for number in left:
            ended = sum(users[slot] == 1 for slot in slots[number])
            fresh = len(slots[number] - begun)
            costs.append((fresh - ended, fresh - len(slots[number]), number))
        *_, best = min(costs)
        order.append(best)
        left.remove(best)
        begun |= slots[best]
        users.subtract(slots[best])
    return order
