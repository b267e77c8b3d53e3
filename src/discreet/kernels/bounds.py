"""Bounds of aggregates over rows in group order, from prefix sums of their sorted numbers."""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled


@compiled
def narrow(chosen, codes, passes):
    """Keep a row chosen only if its code passes."""
    for i in range(chosen.shape[0]):
        chosen[i] &= passes[codes[i]]


@compiled
def bound_groups(chosen, starts, numbers, prefix, means, variances):
    """Count the chosen rows of each group and add up what so many of its numbers can be.

    ``numbers`` ascend within each group and ``prefix`` sums them up. Gives the hits, the bounds of
    their sum, of the smallest and of the largest number, and the mean and variance of the sum.
    """
    hits = np.int64(0)
    sum_low, sum_high = np.int64(0), np.int64(0)
    min_low, min_high = np.int64(2**62), np.int64(2**62)
    max_low, max_high = np.int64(-(2**62)), np.int64(-(2**62))
    mean, variance = 0.0, 0.0
    for g in range(starts.shape[0] - 1):
        begin, end = starts[g], starts[g + 1]
        h = 0
        for i in range(begin, end):
            h += chosen[i]
        if h == 0:
            continue
        hits += h
        sum_low += prefix[begin + h] - prefix[begin]
        sum_high += prefix[end] - prefix[end - h]
        min_low, min_high = min(min_low, numbers[begin]), min(min_high, numbers[end - h])
        max_low, max_high = max(max_low, numbers[begin + h - 1]), max(max_high, numbers[end - 1])
        mean += h * means[g]
        variance += h * (1 - h / (end - begin)) * variances[g]
    return hits, sum_low, sum_high, min_low, min_high, max_low, max_high, mean, variance
