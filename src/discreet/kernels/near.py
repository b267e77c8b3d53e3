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
def largest_between(values, first, beyond):
    """Give the largest value from each ``first`` on and before its ``beyond``; -1 of none.

    Two stretches of a power of two cover each query; ``table`` has the largest of every stretch.
    """
    n, levels = values.shape[0], 1
    while (1 << levels) <= n:
        levels += 1
    table = np.empty((levels, n), np.int64)
    table[0] = values
    for level in range(1, levels):
        half = 1 << (level - 1)
        for i in range(n - (1 << level) + 1):
            table[level, i] = max(table[level - 1, i], table[level - 1, i + half])
    largest = np.full(first.shape[0], -1, np.int64)
    for q in range(first.shape[0]):
        length, level = beyond[q] - first[q], 0
        if length <= 0:
            continue
        while (2 << level) <= length:
            level += 1
        largest[q] = max(table[level, first[q]], table[level, beyond[q] - (1 << level)])
    return largest
