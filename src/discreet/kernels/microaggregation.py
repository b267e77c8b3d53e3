"""Micro-aggregation of one number: the groups of neighbours that lose least."""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled


@compiled
def group_values(values, weights, k):
    """Part ascending values into runs of at least ``k`` people; give where each run starts.

    Hansen and Mukherjee's shortest path, with a value for a node: people who have the same value
    are in the same run. Least is the sum of squared differences to the means of runs. A run that
    can be parted into two of ``k`` people never loses less than these, so that of all runs which
    end at a value few are tried. There are ``k`` people.
    """
    n = len(values)
    upto = np.zeros(n + 1, np.int64)
    for i in range(n):
        upto[i + 1] = upto[i] + weights[i]
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    came = np.full(n + 1, -1, np.int64)
    for end in range(1, n + 1):
        people, mean, spread, split = 0, 0.0, 0.0, end
        for start in range(end - 1, -1, -1):
            # people between here and the shortest run that would do could be a run of their own
            if split < end and upto[split] - upto[start + 1] >= k:
                break
            people += weights[start]
            step = values[start] - mean
            mean += step * weights[start] / people
            spread += weights[start] * step * (values[start] - mean)
            if people >= k:
                if split == end:
                    split = start
                if best[start] + spread < best[end]:
                    best[end] = best[start] + spread
                    came[end] = start
    starts = np.zeros(n, np.int64)
    count, end = 0, n
    while end > 0:
        end = came[end]
        starts[count] = end
        count += 1
    return starts[:count][::-1].copy()
