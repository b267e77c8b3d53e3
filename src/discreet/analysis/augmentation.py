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

from discreet.analysis.design import DesignBlock
from discreet.analysis.models import Estimated, ResponseModel
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
    """The records as they are assumed to be, and the coefficients, in turns."""

    def __init__(
        self,
        incomplete: Incomplete,
        response: tuple[str, DesignBlock],
        regressors: dict[str, DesignBlock],
        model: ResponseModel,
        rng: np.random.Generator,
    ) -> None:
        self.incomplete, self.model, self.rng = incomplete, model, rng
        self.target, self.explained_by = response[0], regressors
        self.coded = {**regressors, self.target: response[1]}
        self.codes: dict[str, Ints] = {name: c.codes.copy() for name, c in self.coded.items()}
        centres = [np.zeros(1), *(c.centre for c in regressors.values())]
        scales = [np.ones(1), *(c.scale for c in regressors.values())]
        self.centre, self.scale = np.concatenate(centres), np.concatenate(scales)
        ends = np.cumsum([1, *(len(c.terms) for c in regressors.values())])
        self.places = {n: slice(a, b) for n, a, b in zip(regressors, ends[:-1], ends[1:],
                                                         strict=True)}  # fmt: skip
        self.coefficients = self.start = np.zeros(len(self.centre))
        self.spread = 1.0

    def run(self) -> Turns:
        """Draw until the coefficients have been seen often enough, or for the longest time."""
        if not self.incomplete.is_open:
            found, n = self._fit()
            back = self._unscale()
            return Turns((back @ found.coefficients)[None], back @ found.covariance @ back.T,
                         found.explained, n)  # fmt: skip
        self._shuffle()
        turns: list[tuple[Estimated, float]] = []
        while len(turns) < MOST_TURNS:
            found, n = self._fit()
            turns.append((found, n))
            free = int(n) - len(self.coefficients)
            self.coefficients, self.spread = self.model.draw(found, free, self.rng)
            self._move()
            settled = turns[len(turns) // 3 :]  # the way from where it began is not looked at
            if len(turns) % AT_ONCE == 0 and is_enough([found for found, _ in settled]):
                break
        back = self._unscale()
        shares = [found.explained for found, _ in settled if found.explained is not None]
        return Turns(
            np.array([back @ found.coefficients for found, _ in settled]),
            back @ np.mean([found.covariance for found, _ in settled], axis=0) @ back.T,
            float(np.mean(shares)) if shares else None,
            float(np.mean([n for _, n in settled])),
        )

    def _fit(self) -> tuple[Estimated, float]:
        design, response = self._design()
        whole = ~(np.isnan(response) | np.isnan(design).any(axis=1))
        if not whole.all():
            design, response = design[whole], response[whole]
        found = self.model.fit(design, response, self.start)
        self.start = found.coefficients
        return found, float(whole.sum())

    def _design(self) -> tuple[Floats, Floats]:
        n = self.incomplete.shown.height
        design = np.ones((n, len(self.centre)))
        for name, place in self.places.items():
            numbers = (self.coded[name].numbers - self.centre[place]) / self.scale[place]
            design[:, place] = numbers[self.codes[name]]
        return design, self._response(self.codes[self.target])

    def _response(self, codes: Ints) -> Floats:
        return np.asarray(self.coded[self.target].numbers[codes, 0])

    def _unscale(self) -> Floats:
        """Give what makes coefficients of centred numbers those of the numbers themselves."""
        back = np.diag(1 / self.scale)
        back[0, 1:] = -(self.centre / self.scale)[1:]
        return back

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
        """Give what an attribute adds to the sum of terms."""
        place = self.places[name]
        numbers = (self.coded[name].numbers - self.centre[place]) / self.scale[place]
        return np.asarray((numbers @ self.coefficients[place])[codes])

    def _sum(self, without: tuple[str, ...] = ()) -> Floats:
        total = np.full(self.incomplete.shown.height, self.coefficients[0])
        for name in self.places:
            if name not in without:
                total += self._add(name, self.codes[name])
        return total

    def _weigh(self, response: Floats, fitted: Floats) -> Floats:
        return self.model.weigh(response, fitted, self.spread)

    def _accept(self, gain: Floats) -> Bools:
        return np.asarray(np.log(self.rng.random(len(gain))) < gain)

    def _move_in_boxes(self, name: str) -> None:
        of_cells, rest = self.coded[name].of_cells, self._sum(without=(name,))
        assert of_cells is not None
        now, then = self.codes[name], of_cells[self.incomplete.cells[name].pick(self.rng)]
        if name == self.target:
            before, after = (self._weigh(self._response(c), rest) for c in (now, then))
        else:
            response = self._response(self.codes[self.target])
            before, after = (self._weigh(response, rest + self._add(name, c)) for c in (now, then))
        self.codes[name] = np.where(self._accept(after - before), then, now)

    def _exchange(self, names: tuple[str, ...], one: Ints, other: Ints) -> None:
        rest, response = self._sum(without=names), self._response(self.codes[self.target])
        carried = np.zeros(len(rest))
        for name in names:
            if name in self.places:
                carried += self._add(name, self.codes[name])
        before = self._weigh(response, rest + carried)

        def after(this: Ints, that: Ints) -> Floats:
            owner = that if self.target in names else this
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
