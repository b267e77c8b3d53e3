"""RandomizedResponse: how often a perturbed number is a person's own, and what else it may be."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import polars as pl

from discreet.errors import DiscreetError, StoreError
from discreet.principles.base import ratio
from discreet.release import Release
from discreet.table.arrays import Ints
from discreet.table.domain import reduce_column


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
        first = -((self.low - np.maximum(lows, self.low)) // self.step)
        last = (np.minimum(highs, self.high) - self.low) // self.step
        return np.asarray(np.maximum(last - first + 1, 0))

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
