"""Pairs of ranks: everyone who has no partner yet draws one from a range of ranks."""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled

TRIES = 16


@compiled
def pair_up(turns, low, high, rng):
    """Give each rank its partner, which may be itself.

    A partner is drawn until one is free; after some tries the free ones are counted out. Drawing
    oneself must be possible: otherwise the number shown would be known not to be one's own.
    """
    n = turns.shape[0]
    partner = np.full(n, -1, np.int64)
    for t in range(n):
        here = turns[t]
        if partner[here] >= 0:
            continue
        chosen = -1
        for _ in range(TRIES):
            there = rng.integers(low[here], high[here] + 1)
            if partner[there] < 0:
                chosen = there
                break
        if chosen < 0:
            free = 0
            for there in range(low[here], high[here] + 1):
                if partner[there] < 0:
                    free += 1
                    if rng.integers(0, free) == 0:
                        chosen = there
        partner[here], partner[chosen] = chosen, here
    return partner
