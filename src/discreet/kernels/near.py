"""Nearness: how much of a bag lies near each of its codes."""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled


@compiled
def weigh_near(offsets, codes, weights, first, beyond):
    """Add up, per entry, the weights of its bag from code ``first`` on and before ``beyond``.

    Both move up with the code, so each bag is gone through once.
    """
    near = np.empty(codes.shape[0], np.int64)
    for g in range(offsets.shape[0] - 1):
        low = high = offsets[g]
        held = 0
        for i in range(offsets[g], offsets[g + 1]):
            while high < offsets[g + 1] and codes[high] < beyond[codes[i]]:
                held += weights[high]
                high += 1
            while low < high and codes[low] < first[codes[i]]:
                held -= weights[low]
                low += 1
            near[i] = held
    return near


@compiled
def largest_in_runs(values, first, beyond):
    """Give the largest value from each ``first`` on and before its ``beyond``; 0 of none.

    Both move up, so candidates that a later one exceeds can be forgotten.
    """
    largest = np.zeros(first.shape[0], values.dtype)
    kept = np.empty(values.shape[0], np.int64)
    head = tail = reached = 0
    for i in range(first.shape[0]):
        while reached < beyond[i]:
            while tail > head and values[kept[tail - 1]] <= values[reached]:
                tail -= 1
            kept[tail] = reached
            tail += 1
            reached += 1
        while head < tail and kept[head] < first[i]:
            head += 1
        if head < tail:
            largest[i] = values[kept[head]]
    return largest
