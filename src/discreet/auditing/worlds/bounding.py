"""Bounding: how many people of a kind can have a value at the most, and at the least?

Where worlds are too many to be counted, no world has more than what groups hold of a value less
what others have for sure, and so on in turn: the shuttle algorithm for bounds of tables of which
sums are known (Buzzigoli and Giusti, 1999). Whatever is found is true after every round.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.table.arrays import Ints

ROUNDS = 30
"""Bounds mostly stay after a few rounds."""


class Sums(NamedTuple):
    """What entries add up to."""

    of: Ints
    """Per entry the number of its sum; -1 where it is in none."""
    total: Ints
    """Per sum what all of its entries are together."""


def bound_entries(most: Ints, sums: list[Sums]) -> tuple[Ints, Ints]:
    """Give the least and the most that every entry, of at most so much, can be."""
    low, high = np.zeros_like(most), most.copy()
    for _ in range(ROUNDS):
        before = int(high.sum()) - int(low.sum())
        for of, total in sums:
            here = of >= 0
            at = of[here]
            # what all the others are at the least, or at the most
            least = np.bincount(at, weights=low[here], minlength=len(total)).astype(np.int64)
            largest = np.bincount(at, weights=high[here], minlength=len(total)).astype(np.int64)
            others = (total - least)[at] + low[here], (total - largest)[at] + high[here]
            high[here] = np.minimum(high[here], others[0])
            low[here] = np.maximum(low[here], others[1])
        if int(high.sum()) - int(low.sum()) == before:
            break
    return low, high
