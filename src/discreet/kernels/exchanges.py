"""How likely ranks are to become partners, where everyone in turn draws one from a range of ranks.

Turns are in random order: whoever is next is any of those without a partner, all equally likely.
Everyone draws from those without, in the range, with oneself among them.
"""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled


@compiled
def weigh_partners(low, high):
    """Give how likely each two ranks become partners, by all ways in which that may come about.

    ``reached`` says how likely so many, as bits, are without a partner at some time.
    """
    n = low.shape[0]
    full = (1 << n) - 1
    reached = np.zeros(full + 1)
    reached[full] = 1.0
    pairs = np.zeros((n, n))
    for free in range(full, 0, -1):
        if reached[free] == 0:
            continue
        people = 0
        for here in range(n):
            people += (free >> here) & 1
        for here in range(n):
            if not (free >> here) & 1:
                continue
            choices = 0
            for there in range(low[here], high[here] + 1):
                choices += (free >> there) & 1
            share = reached[free] / (people * choices)
            for there in range(low[here], high[here] + 1):
                if not (free >> there) & 1:
                    continue
                reached[free & ~(1 << here) & ~(1 << there)] += share
                pairs[here, there] += share
                if there != here:
                    pairs[there, here] += share
    return pairs


@compiled
def count_partners(low, high, code, offsets, first, runs, rng):
    """Exchange so many times, and count who got a partner of which code.

    The place of a code x among those of c is ``offsets[c] + x - first[c]``.
    """
    n = low.shape[0]
    counts = np.zeros(offsets[-1], np.int64)
    free, turns = np.empty(n, np.int64), np.arange(n)
    for _ in range(runs):
        partner = np.full(n, -1, np.int64)
        for t in range(n):
            later = rng.integers(t, n)
            turns[t], turns[later] = turns[later], turns[t]
            here = turns[t]
            if partner[here] >= 0:
                continue
            width, there = high[here] - low[here] + 1, -1
            for _ in range(width):
                drawn = rng.integers(low[here], high[here] + 1)
                if partner[drawn] < 0:
                    there = drawn
                    break
            if there < 0:  # few are left, which are sooner listed than hit
                choices = 0
                for other in range(low[here], high[here] + 1):
                    if partner[other] < 0:
                        free[choices] = other
                        choices += 1
                there = free[rng.integers(0, choices)]
            partner[here], partner[there] = there, here
        for here in range(n):
            there = partner[here]
            counts[offsets[code[here]] + code[there] - first[code[here]]] += 1
    return counts
