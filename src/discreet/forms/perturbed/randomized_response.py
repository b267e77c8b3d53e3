"""RandomizedResponse: how often a perturbed number is a person's own, and what else it may be."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import polars as pl

from discreet.errors import DiscreetError, StoreError
from discreet.principles.base import ratio
from discreet.release import Release
from discreet.release.selection import Selection
from discreet.table.arrays import Ints
from discreet.table.domain import reduce_column


class Drawn(NamedTuple):
    """What a number drawn at random adds to a question, on average."""

    moments: tuple[float, float, float]
    """How often it is taken, then its own share of sums and of sums of squares, in units."""
    low: int | None
    high: int | None
    """The outermost that are taken, if any is."""


@dataclass(frozen=True)
class RandomizedResponse:
    """With probability ``retention`` a number is kept, else any from ``low`` to ``high``.

    Numbers, and the ``step`` between those to draw from, are whole units of the last decimal.
    """

    low: int
    high: int
    step: int
    retention: Fraction

    @property
    def size(self) -> int:
        """How many numbers there are to draw from."""
        return (self.high - self.low) // self.step + 1

    def count(self, lows: Ints, highs: Ints) -> Ints:
        """Count those between each two numbers, ends included."""
        first, last = self._span(lows, highs)
        return np.asarray(np.maximum(last - first + 1, 0))

    def _span(self, lows: Ints, highs: Ints) -> tuple[Ints, Ints]:
        """Give the places of the first and the last of those; none where they are crossed."""
        first = -((self.low - np.maximum(lows, self.low)) // self.step)
        return first, (np.minimum(highs, self.high) - self.low) // self.step

    @property
    def everything(self) -> tuple[Ints, Ints]:
        """The run of all numbers to draw from, by its ends."""
        return np.array([self.low]), np.array([self.high])

    def draw(self, asked: Selection) -> Drawn:
        """Say what numbers drawn add to a question, by arithmetic on the runs that it takes."""
        first, last = self._span(asked.starts, asked.ends)
        some = first <= last
        if not some.any():
            return Drawn((0.0, 0.0, 0.0), None, None)
        lows, highs = self.low + first[some] * self.step, self.low + last[some] * self.step
        many, middle = (last - first + 1)[some].astype(float), (lows / 2 + highs / 2)
        square = middle**2 + float(self.step) ** 2 * (many**2 - 1) / 12
        sums = (many.sum(), (many * middle).sum(), (many * square).sum())
        zeroth, once, twice = (float(total) / self.size for total in sums)
        return Drawn((zeroth, once, twice), int(lows.min()), int(highs.max()))

    @staticmethod
    def read(release: Release) -> RandomizedResponse:
        """Read it from what a release says about itself."""
        (name,) = release.schema.sensitive
        recoding = release.recodings[name]
        try:
            ends = reduce_column(pl.Series(recoding.domain, dtype=pl.String), release.schema[name])
            low, *_, high = ends.encode(None)[1].numbers.tolist()
            retention = ratio(str(release.parameters["retention"]))
            step = int(str(release.parameters["step"]))
        except (DiscreetError, KeyError, ValueError, ZeroDivisionError) as error:
            raise StoreError(
                f"The release does not say how {name!r} was perturbed.",
                hint="Load it again from the publisher.",
            ) from error
        perturbed = recoding.transformation == "perturbed"
        if not perturbed or not 0 < retention < 1 or step < 1 or (high - low) % step:
            raise StoreError(f"{name!r} is not a perturbed number kept with a probability.")
        return RandomizedResponse(low, high, step, retention)
