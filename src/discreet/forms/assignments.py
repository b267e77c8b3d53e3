"""Assignments: how likely is each group a person's, if everybody must have a place?

Whoever knows the quasi-identifiers of everybody knows more than which groups fit one person: every
group has as many people as it shows, and all of them must be somebody. All ways to place everybody
that agree with the release are equally likely. People and groups that have nothing to do with each
other are counted apart; where a component is small, exactly, else not at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import comb, lcm

import numpy as np

from discreet.table.arrays import Bools, Ints

MOST_CLASSES, MOST_STEPS, MOST_STEPS_IN_ALL = 40, 20_000, 50_000
"""So many kinds of people in a component are tried, and so many steps taken before giving up; in
all so many that counting takes no longer however large a table is."""
ROOM = 2**40
"""Chances are rounded to so many parts where exact ones do not fit 64 bits."""

Left = tuple[int, ...]
Filling = tuple[Left, Left, int, Left]
"""From one state to another, in so many ways, with so many people in each option."""


@dataclass(frozen=True, eq=False)
class Places:
    """What everybody chooses from: people who look the same have the same options."""

    people: Ints
    """Per class of people who look the same how many they are."""
    offsets: Ints
    """Class ``c`` has the options ``offsets[c]`` to ``offsets[c + 1]``."""
    cells: Ints
    """Per option, a row of cells: whoever takes it fills one place of each."""
    room: Ints
    """Per cell how many people it has, no more and no fewer."""


@dataclass(frozen=True, eq=False)
class Chances:
    """How likely each option is, where that could be counted."""

    counted: Bools
    """Per class whether its options were counted."""
    shares: dict[int, Fraction]
    """Per option of a class that has several and was counted."""

    def weigh(self, offsets: Ints, sizes: Ints, classes: Ints) -> tuple[Ints, Ints, Ints]:
        """List the options of some counted classes: by how much an entry of each one's bag counts.

        ``sizes`` are those of the options' bags. Gives the place in the list of classes, the
        option, and whole numbers that are to each other as the chances.
        """
        place, options, times = [], [], []
        for at, c in enumerate(classes.tolist()):
            run = range(int(offsets[c]), int(offsets[c + 1]))
            parts = [self.shares[option] / int(sizes[option]) for option in run]
            unit = lcm(*(part.denominator for part in parts))
            whole = [int(part * unit) for part in parts]
            if unit >= ROOM:
                whole = [round(part * ROOM) for part in parts]
            kept = [(option, many) for option, many in zip(run, whole, strict=True) if many]
            place += [at] * len(kept)
            options += [option for option, _ in kept]
            times += [many for _, many in kept]
        return tuple(np.array(x, dtype=np.int64) for x in (place, options, times))  # type: ignore[return-value]


def count_chances(places: Places) -> Chances:
    """Count, component by component, in how many ways everybody can be placed.

    The smallest components come first, until there were too many steps.
    """
    several = np.diff(places.offsets) > 1
    counted, shares = ~several, dict[int, Fraction]()
    left = MOST_STEPS_IN_ALL
    for classes in _list_components(places, several):
        component = _Component(places, classes, min(MOST_STEPS, left))
        try:
            shares |= component.count()
            counted[classes] = True
        except _TooManyError:
            pass
        left -= component.taken + len(classes)
        if left <= 0:
            break
    return Chances(counted, shares)


def _list_components(places: Places, several: Bools) -> list[Ints]:
    """List the classes of every component that is small and leaves anybody a choice."""
    from discreet.kernels.options import connect

    if not several.any():
        return []
    component = connect(places.offsets, places.cells, len(places.room))
    order = np.argsort(component, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(component[order]) > 0, True)) + 1
    starts = np.append(0, ends[:-1])
    choice = np.zeros(int(component.max()) + 1, dtype=bool)
    choice[component[several]] = True
    small = (ends - starts <= MOST_CLASSES) & choice[component[order[starts]]]
    runs = sorted(np.flatnonzero(small).tolist(), key=lambda run: int(ends[run] - starts[run]))
    return [order[starts[run] : ends[run]] for run in runs]


class _TooManyError(Exception):
    """There are too many ways, or none."""


class _Component:
    """Classes and cells that have to do with each other, and all ways to fill them."""

    def __init__(self, places: Places, classes: Ints, most: int) -> None:
        self.most, self.taken = most, 0
        # those with least choice first, so that fewer ways are begun that cannot be ended
        self.classes = sorted(
            classes.tolist(), key=lambda c: int(places.offsets[c + 1] - places.offsets[c])
        )
        self.people = [int(places.people[c]) for c in self.classes]
        self.options = [range(places.offsets[c], places.offsets[c + 1]) for c in self.classes]
        used = sorted({int(x) for run in self.options for o in run for x in places.cells[o]})
        number = {cell: i for i, cell in enumerate(used)}
        self.cells = [
            [[number[int(x)] for x in places.cells[o]] for o in run] for run in self.options
        ]
        self.room: Left = tuple(int(places.room[cell]) for cell in used)
        last = {x: at for at, run in enumerate(self.cells) for row in run for x in row}
        self.closing = [
            [x for x, end in last.items() if end == at] for at in range(len(self.cells))
        ]

    def count(self) -> dict[int, Fraction]:
        """Count all ways forwards, then backwards, and how many people each option has in them."""
        forwards: list[dict[Left, int]] = [{self.room: 1}]
        steps: list[list[Filling]] = []
        for at, many in enumerate(self.people):
            here: list[Filling] = []
            after: dict[Left, int] = {}
            for state, count in forwards[-1].items():
                for step in self._step(at, state, many):
                    here.append(step)
                    after[step[1]] = after.get(step[1], 0) + count * step[2]
            steps.append(here)
            forwards.append(after)
        total = sum(forwards[-1].values())
        if not total:  # nobody made this release of these people; the worst is assumed
            raise _TooManyError
        shares: dict[int, Fraction] = {}
        backwards = dict.fromkeys(forwards[-1], 1)
        for at in reversed(range(len(steps))):
            sums = [0] * len(self.options[at])
            before: dict[Left, int] = {}
            for state, then, many, chosen in steps[at]:
                rest = many * backwards.get(then, 0)
                before[state] = before.get(state, 0) + rest
                for i, part in enumerate(chosen):
                    sums[i] += forwards[at][state] * rest * part
            backwards = before
            for option, part in zip(self.options[at], sums, strict=True):
                shares[option] = Fraction(part, total * max(self.people[at], 1))
        return shares

    def _step(self, at: int, state: Left, many: int) -> Iterator[Filling]:
        """List the ways in which a class can be placed where so much room is left."""
        for chosen, left, ways in self._spread(at, 0, state, many):
            # whoever comes later cannot fill these
            if not any(left[x] for x in self.closing[at]):
                yield state, left, ways, chosen

    def _spread(
        self, at: int, option: int, state: Left, many: int
    ) -> Iterator[tuple[Left, Left, int]]:
        cells = self.cells[at][option]
        most = min(many, *(state[x] for x in cells))
        last = option + 1 == len(self.cells[at])
        for here in range(many if last else 0, most + 1):
            self.taken += 1
            if self.taken > self.most:
                raise _TooManyError
            left = list(state)
            for x in cells:
                left[x] -= here
            if last:
                yield (here,), tuple(left), 1
                continue
            for chosen, then, ways in self._spread(at, option + 1, tuple(left), many - here):
                yield (here, *chosen), then, ways * comb(many, here)
