"""Exact: comparisons of products that 64 bits may not hold."""

from __future__ import annotations

import math

import numpy as np

from discreet.table.arrays import Bools, Ints

FAR = 2**62


def at_most(left: np.ndarray, a: int, right: np.ndarray, b: int) -> Bools:
    """Compare ``left * a <= right * b`` exactly, in int64 where it fits, else in big integers."""
    sides = ((left, a), (right, b))
    reach = max(max(int(np.abs(side).max(initial=0)), 1) * abs(times) for side, times in sides)
    if reach < 2**63:
        return np.asarray(left * a <= right * b, dtype=bool)
    return np.asarray(left.astype(object) * a <= right.astype(object) * b, dtype=bool)


def times_down(counts: Ints, a: int, b: int) -> Ints:
    """Multiply by a/b and round down, exactly, no farther than to 2⁶².

    >>> times_down(np.array([1, 2, -5]), 7, 2)
    array([  3,   7, -18])
    """
    if fits(int(np.abs(counts).max(initial=0)) + 1, a):
        return np.asarray(counts * a // b)
    return np.array([max(-FAR, min(int(x) * a // b, FAR)) for x in counts], dtype=np.int64)


def fits(*factors: int) -> bool:
    """Whether a product stays well within int64."""
    return math.prod(map(abs, factors)) < 2**62
