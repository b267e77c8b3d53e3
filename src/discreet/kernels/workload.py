"""Counting the rows that a workload of conditions on codes selects, 64 questions at a time."""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled


@compiled
def count_taken(codes, takers, starts, group, groups):
    """Count, per group and question, the rows all of whose codes it takes.

    Bit q of ``takers[starts[a] + code]`` says whether question q takes a code of attribute a.
    """
    counts = np.zeros((groups, 64), np.int64)
    one = np.uint64(1)
    for row in range(codes.shape[1]):
        left = takers[starts[0] + codes[0, row]]
        for a in range(1, codes.shape[0]):
            left &= takers[starts[a] + codes[a, row]]
        while left:
            low = left & (~left + one)
            question = 0
            for step in (32, 16, 8, 4, 2, 1):
                if low >> np.uint64(question + step):
                    question += step
            counts[group[row], question] += 1
            left ^= low
    return counts
