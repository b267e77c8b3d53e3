"""Cutting boxes apart: cut after cut through all of them, until none can be told from the rest."""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled


@compiled
def cut_apart(low, high, sizes, floor, ceiling, depths, where, draws):
    """Widen boxes, given in the order of some recursion, until they tile what all of them lie in.

    Row ``i`` of ``low`` and ``high`` has the ends of all boxes in attribute ``i``, the widened ones
    are written into ``floor`` and ``ceiling``. A cut lies anywhere between the boxes on its sides,
    by the next of ``draws``; with ``where[i] >= 0`` where ``depths`` is least, from there on.
    Boxes that no cut parts are given the same.
    """
    d, n = low.shape
    reach = np.empty(n, np.int64)
    stack = np.empty((n + 1, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, n
    top, drawn = 1, 0
    while top:
        top -= 1
        start, end = stack[top, 0], stack[top, 1]
        best, a, split = 0.0, -1, -1
        people = 0
        for g in range(start, end):
            people += sizes[g]
        for i in range(d):
            least = low[i, end - 1]
            for g in range(end - 1, start, -1):  # the lowest end from each box on
                least = min(least, low[i, g])
                reach[g] = least
            most, left = high[i, start], 0
            bottom, roof = floor[i, start], ceiling[i, start]
            for g in range(start, end - 1):
                most = max(most, high[i, g])
                left += sizes[g]
                if most < reach[g + 1]:
                    span = 1.0 + roof - bottom
                    lost = left * ((roof - most) / span)
                    merit = lost + (people - left) * ((reach[g + 1] - bottom) / span)
                    if merit > best:
                        best, a, split = merit, i, g + 1
        if a < 0:
            continue
        last, first = high[a, start], low[a, split]
        for g in range(start, split):
            last = max(last, high[a, g])
        for g in range(split, end):
            first = min(first, low[a, g])
        cut = min(last + np.int64(draws[drawn] * (first - last)), first - 1)
        drawn += 1
        if where[a] >= 0:
            cut = last
            for c in range(last, first):
                if depths[where[a] + c] < depths[where[a] + cut]:
                    cut = c
        ceiling[a, start:split] = cut
        floor[a, split:end] = cut + 1
        stack[top, 0], stack[top, 1] = start, split
        stack[top + 1, 0], stack[top + 1, 1] = split, end
        top += 2
