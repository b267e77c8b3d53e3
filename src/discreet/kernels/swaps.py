"""Pairs of ranks: everyone who has no partner yet draws one from a range of ranks."""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled


@compiled
def pair_up(turns, low, high, words):
    """Give each rank its partner, which may be itself.

    A partner is drawn among those of the range who are still free, all equally likely, by random
    ``words`` of 64 bits: one for each who seeks, and some to spare. Drawing oneself must be
    possible: otherwise the number shown would be known not to be one's own. How many are free up
    to a rank is kept as sums over stretches (a Fenwick tree), so that a draw is logarithmic.
    """
    n = turns.shape[0]
    partner = np.full(n, -1, np.int64)
    free = np.empty(n + 1, np.int64)
    for i in range(n + 1):
        free[i] = i & -i
    top = 1
    while top * 2 <= n:
        top *= 2
    at = 0
    for t in range(n):
        here = turns[t]
        if partner[here] >= 0:
            continue
        before = _count_free(free, low[here])
        count = np.uint64(_count_free(free, high[here] + 1) - before)
        # words beyond the last whole multiple of the count would favour the lowest ranks
        spare = (np.uint64(0xFFFFFFFFFFFFFFFF) % count + np.uint64(1)) % count
        while at < words.shape[0] and words[at] > np.uint64(0xFFFFFFFFFFFFFFFF) - spare:
            at += 1
        if at == words.shape[0]:
            raise ValueError("more random words are needed")
        wanted = before + np.int64(words[at] % count)
        at += 1
        chosen, step = 0, top
        while step > 0:
            if chosen + step <= n and free[chosen + step] <= wanted:
                chosen += step
                wanted -= free[chosen]
            step //= 2
        partner[here], partner[chosen] = chosen, here
        _take(free, here)
        if chosen != here:
            _take(free, chosen)
    return partner


@compiled
def _count_free(free, end):
    """Count the free ranks below an end."""
    count = 0
    while end > 0:
        count += free[end]
        end -= end & -end
    return count


@compiled
def _take(free, rank):
    """Let a rank no longer be free."""
    at = rank + 1
    while at < free.shape[0]:
        free[at] -= 1
        at += at & -at
