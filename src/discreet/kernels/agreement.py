"""Agreement: who gave two items the same rating, over the few that each person rated."""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled


@compiled
def count_agreements(ratings):
    """Count, per pair of items, the people who rated both, and those who rated both the same.

    ``ratings`` has a row per person; -1 is no rating.
    """
    people, items = ratings.shape
    both = np.zeros((items, items), np.int64)
    same = np.zeros((items, items), np.int64)
    rated = np.empty(items, np.int64)
    for i in range(people):
        count = 0
        for item in range(items):
            if ratings[i, item] >= 0:
                rated[count] = item
                count += 1
        for a in range(count):
            one = rated[a]
            for b in range(a, count):
                both[one, rated[b]] += 1
                if ratings[i, one] == ratings[i, rated[b]]:
                    same[one, rated[b]] += 1
    return both, same
