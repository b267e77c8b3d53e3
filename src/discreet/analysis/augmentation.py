"""Augmentation: complete records drawn together with the coefficients that explain them.

What a release leaves open is drawn as likely as the model makes it, the model is fitted to what
was drawn, and so on in turns (Tanner and Wong, JASA 1987). Two records of a group exchange their
values, and a record moves in its box, if the odds of what they then are allow it (Metropolis). So
neither the way in which groups were formed, nor that values were shuffled, pulls slopes towards 0,
as it would if everybody were given anybody's value.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.analysis.equation import Equation
from discreet.analysis.models import Estimated
from discreet.forms.incomplete import Incomplete, pair_within
from discreet.table.arrays import Bools, Floats, Ints

AT_ONCE, MOST_TURNS = 100, 3000
"""Turns after which it is asked whether they are enough, and those after which it ends."""
OFFERS = 3
"""So often everybody is offered an exchange in a turn."""
ENOUGH = 60
"""Draws worth so many independent ones are enough."""
MATTERS = 0.2
"""Where draws are less than this share of the variance, fewer of them will do."""


class Turns(NamedTuple):
    """What the fits of completed records say."""

    coefficients: Floats
    """Per turn (row)."""
    within: Floats
    """Their covariance if the records were known, on average."""
    explained: float | None
    n: float
    """Records in which nothing is missing, on average."""


class Augmentation:
    """The records as they are assumed to be, and the coefficients, in turns.

    What is drawn follows one equation, ``by``, and what is ``asked`` may be another.
    """

    def __init__(
        self, incomplete: Incomplete, asked: Equation, by: Equation, rng: np.random.Generator
    ) -> None:
        self.incomplete, self.asked, self.by, self.rng = incomplete, asked, by, rng
        self.coded = {**asked.regressors, asked.target: asked.response}
        self.codes: dict[str, Ints] = {name: c.codes.copy() for name, c in self.coded.items()}
        self.coefficients, self.spread = np.zeros(len(by.centre)), 1.0

    def run(self) -> Turns:
        """Draw until the coefficients have been seen often enough, or for the longest time."""
        back, turns = self.asked.back, [self.asked.fit(self.codes)]
        settled = turns
        if self.incomplete.is_open:
            self._shuffle()
            turns = []
        while self.incomplete.is_open and len(turns) < MOST_TURNS:
            found, n = self.by.fit(self.codes)
            turns.append((found, n) if self.by is self.asked else self.asked.fit(self.codes))
            free = int(n) - len(self.coefficients)
            self.coefficients, self.spread = self.by.model.draw(found, free, self.rng)
            self._move()
            settled = turns[len(turns) // 3 :]  # the way from where it began is not looked at
            if len(turns) % AT_ONCE == 0 and is_enough([found for found, _ in settled]):
                break
        shares = [found.explained for found, _ in settled if found.explained is not None]
        return Turns(
            np.array([back @ found.coefficients for found, _ in settled]),
            back @ np.mean([found.covariance for found, _ in settled], axis=0) @ back.T,
            float(np.mean(shares)) if shares else None,
            float(np.mean([n for _, n in settled])),
        )

    def _shuffle(self) -> None:
        """Begin anywhere."""
        for name, cells in self.incomplete.cells.items():
            of_cells = self.coded[name].of_cells
            assert of_cells is not None
            self.codes[name] = of_cells[cells.pick(self.rng)]
        for names, owner in self.incomplete.dealt:
            order = np.argsort(owner, kind="stable")
            given = np.lexsort((self.rng.random(len(owner)), owner))
            for name in names:
                moved = self.codes[name].copy()
                moved[order] = self.codes[name][given]
                self.codes[name] = moved

    def _move(self) -> None:
        """Offer every record another value of its box, and another's value of its group."""
        for name in self.incomplete.cells:
            self._move_in_boxes(name)
        for _ in range(OFFERS):
            for names, owner in self.incomplete.dealt:
                self._exchange(names, *pair_within(owner, self.rng))
            for name, near in self.incomplete.near.items():
                own = self.coded[name].numbers[self.codes[name], 0]
                self._exchange((name,), *near.pair(own, self.rng))

    def _add(self, name: str, codes: Ints) -> Floats:
        return self.by.add(name, codes, self.coefficients)

    def _sum(self, without: tuple[str, ...] = ()) -> Floats:
        """Give the sum of terms, but for some attributes."""
        total = np.full(self.incomplete.shown.height, self.coefficients[0])
        for name in self.by.places:
            if name not in without:
                total += self._add(name, self.codes[name])
        return total

    def _weigh(self, response: Floats, fitted: Floats) -> Floats:
        return self.by.model.weigh(response, fitted, self.spread)

    def _accept(self, gain: Floats) -> Bools:
        return np.asarray(np.log(self.rng.random(len(gain))) < gain)

    def _move_in_boxes(self, name: str) -> None:
        of_cells, rest = self.coded[name].of_cells, self._sum(without=(name,))
        assert of_cells is not None
        now, then = self.codes[name], of_cells[self.incomplete.cells[name].pick(self.rng)]
        if name == self.by.target:
            before, after = (self._weigh(self.by.respond(c), rest) for c in (now, then))
        else:
            response = self.by.respond(self.codes[self.by.target])
            before, after = (self._weigh(response, rest + self._add(name, c)) for c in (now, then))
        self.codes[name] = np.where(self._accept(after - before), then, now)

    def _exchange(self, names: tuple[str, ...], one: Ints, other: Ints) -> None:
        rest, response = self._sum(without=names), self.by.respond(self.codes[self.by.target])
        carried = np.zeros(len(rest))
        for name in names:
            if name in self.by.places:
                carried += self._add(name, self.codes[name])
        before = self._weigh(response, rest + carried)

        def after(this: Ints, that: Ints) -> Floats:
            owner = that if self.by.target in names else this
            return self._weigh(response[owner], rest[this] + carried[that])

        gain = after(one, other) + after(other, one) - before[one] - before[other]
        taken = self._accept(gain)
        one, other = one[taken], other[taken]
        for name in names:
            codes = self.codes[name]
            codes[one], codes[other] = codes[other], codes[one]


def is_enough(settled: list[Estimated]) -> bool:
    """Whether draws are as many as it takes, of coefficients that differ little fewer."""
    seen = np.array([found.coefficients for found in settled])
    between = seen.var(axis=0)
    within = np.mean([np.diag(found.covariance) for found in settled], axis=0)
    lost = between / np.maximum(between + within, 1e-300)
    return bool((count_independent(seen) >= ENOUGH * np.clip(lost / MATTERS, 0.1, 1)).all())


def count_independent(seen: Floats) -> Floats:
    """Say how many independent draws each column of a chain is worth.

    >>> count_independent(np.random.default_rng(1).standard_normal((1000, 1)))[0] > 500
    np.True_
    """
    length = len(seen)
    centred = seen - seen.mean(axis=0)
    padded = np.fft.rfft(centred, 2 * length, axis=0)
    shared = np.fft.irfft(padded * np.conj(padded), axis=0)[:length]
    found = np.empty(seen.shape[1])
    for column, along in enumerate(shared.T):
        if along[0] <= 0:
            found[column] = length
            continue
        pairs = along[0::2][: length // 2] + along[1::2][: length // 2]
        negative = np.flatnonzero(pairs <= 0)  # noise from here on (Geyer)
        last = negative[0] if len(negative) else len(pairs)
        found[column] = length / max(2 * pairs[:last].sum() / along[0] - 1, 1)
    return np.minimum(found, length)
