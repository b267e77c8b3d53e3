"""Exact: comparisons of products that 64 bits may not hold."""

from __future__ import annotations

import math

import numpy as np

from discreet.table.arrays import Bools


def at_most(left: np.ndarray, a: int, right: np.ndarray, b: int) -> Bools:
    """Compare ``left * a <= right * b`` exactly, in int64 where it fits, else in big integers."""
    sides = ((left, a), (right, b))
    reach = max(max(int(np.abs(side).max(initial=0)), 1) * abs(times) for side, times in sides)
    if reach < 2**63:
        return np.asarray(left * a <= right * b, dtype=bool)
    return np.asarray(left.astype(object) * a <= right.astype(object) * b, dtype=bool)


def fits(*factors: int) -> bool:
    """Whether a product stays well within int64."""
    return math.prod(map(abs, factors)) < 2**62
