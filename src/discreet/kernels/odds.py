"""Odds: with what chance a cut is left untried, so that a node left whole tells no more than may.

What is computed in floats is rounded up. ``discreet.publishing.partitioners.simulatable`` says what
it is for, ``discreet.principles`` has the twins of the rules, and tests hold both together.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.kernels import compiled
from discreet.kernels.part_sizes import (
    NEAR,
    find_fullest,
    find_nearest,
    find_part_size,
    sum_largest,
)
from discreet.kernels.rules import DISTINCT, LIMITS, RECURSIVE, SHARE, SPREAD

LISTED = np.array([math.lgamma(n + 1) for n in range(4096)])
LEAST = 1e-280
"""What is possible is not less likely than that: a float that is none any more says less of it, as
many rows as there may be."""
WHOLE = 2**53
"""A coin is a whole number below it."""


@compiled
def log_factorial(n):
    """Give the logarithm of n!, within some units of the last place."""
    return LISTED[n] if n < LISTED.shape[0] else math.lgamma(n + 1.0)


@compiled
def give_margin(n):
    """More than what logarithms of factorials up to n!, and sums of them, are off by."""
    return 1e-9 + math.exp(1e-13 * log_factorial(n))


@compiled
def weigh_tail(n, c, size, t, a, b):
    """Say how likely a part of ``size`` of ``n`` rows has ``t`` or more of a value, which c have.

    And by how much that exceeds ``size·a/b`` in the mean over all parts, if t is no less: the
    excess, rounded up and rounded down, and the chance, rounded down. All are 0 if and only if
    there is no such part. Terms of a hypergeometric distribution are added while they matter, from
    the likeliest of them on, for which no float is too small unless it is for all: upwards each is
    a smaller part of the one before, so that what follows is less than a geometric series, and
    downwards no term, and no excess, is larger than the one before.
    """
    top, low = min(c, size), max(t, c + size - n)
    if low > top:
        return 0.0, 0.0, 0.0
    first = min(max(low, (c + 1) * (size + 1) // (n + 2)), top)
    likeliest = math.exp(
        log_factorial(c) - log_factorial(first) - log_factorial(c - first)
        + log_factorial(n - c) - log_factorial(size - first)
        - log_factorial(n - c - size + first)
        + log_factorial(size) + log_factorial(n - size) - log_factorial(n)
    )  # fmt: skip
    chance, excess, rest = 0.0, 0.0, 0.0
    t, term = first, likeliest
    while True:
        over = (t * b - a * size) / b
        chance += term
        excess += term * over
        if t >= top:
            break
        ratio = (c - t) / (t + 1) * ((size - t) / (n - c - size + t + 1))
        if ratio < 0.5 and term * over < 1e-3 * excess:
            rest = term * (over * ratio / (1 - ratio) + ratio / (1 - ratio) ** 2)
            break
        term *= ratio
        t += 1
    t, term = first, likeliest
    while t > low:
        term *= t / (c - t + 1) * ((n - c - size + t) / (size - t + 1))
        t -= 1
        over = (t * b - a * size) / b
        chance += term
        excess += term * over
        if term * over * (t - low) < 1e-9 * excess:
            rest += term * over * (t - low)
            break
    margin = give_margin(n)
    return max((excess + rest) * margin, LEAST), excess / margin, chance / margin


@compiled
def find_chance_within(n, c, size):
    """Bound from above how likely all rows of a part of ``size`` are of ``c`` of the ``n`` rows."""
    if size > c:
        return 0.0
    chance = math.exp(
        log_factorial(c) - log_factorial(c - size) + log_factorial(n - size) - log_factorial(n)
    )
    return max(chance * give_margin(n), LEAST)


@compiled
def count_sets(m, size):
    """Count the sets of ``size`` of ``m`` things, in floats and rounded up."""
    sets = log_factorial(m) - log_factorial(size) - log_factorial(m - size)
    return math.exp(sets) * give_margin(m)


@compiled
def weigh_share(n, c, sizes, a, b):
    """Give the odds for a value of which ``c`` are among ``n`` rows, and no more than a/b may be.

    Of two sides it counts as well that people of one have the value rarely where the other breaks:
    where X of m have it there, n·(a/b - c/n) + X - m·a/b fewer have it here than may.
    """
    if a >= b or c <= a * sizes.min() // b:
        return 0.0
    room = a * n - b * c
    if room <= 0:
        return math.inf
    worst = 0.0
    for i in range(sizes.shape[0]):
        size = sizes[i]
        odds, _, _ = weigh_tail(n, c, size, a * size // b + 1, a, b)
        if sizes.shape[0] == 2:
            m = n - size
            _, excess, chance = weigh_tail(n, c, m, a * m // b + 1, a, b)
            odds -= (room / b * chance + excess) * (1 - 1e-12)
        worst = max(worst, odds / size * (b * n / room))
    return worst


@compiled
def weigh_window(n, most, sizes, m):
    """Give the odds where no window may have more than 1/m, and ``most`` is what any has.

    A window of nobody's number may be full, so it does not count what other sides break.
    """
    worst, room = 0.0, n - m * most
    for size in sizes:
        excess, _, _ = weigh_tail(n, most, size, size // m + 1, 1, m)
        if excess > 0:
            if room <= 0:
                return math.inf
            worst = max(worst, excess / size * (m * n / room))
    return worst


@compiled
def weigh_recursive(n, most, few, sizes, a, b):
    """Give the odds where ``most`` have one value, ``few`` one of the first l - 1, and c = a/b."""
    worst = 0.0
    room = a * (n - few) - b * most
    for size in sizes:
        excess, _, _ = weigh_tail(n, few, size, -(-a * size // (a + b)), a, a + b)
        if excess > 0:
            if room <= 0:
                return math.inf
            worst = max(worst, excess / size * ((a + b) * n / room))
    return worst


@compiled
def weigh_distinct(n, m, few, sizes, least):
    """Give the odds where parts need ``least`` of ``m`` values; ``few`` have one of one less."""
    if m < least:
        return math.inf
    odds, sets = 0.0, count_sets(m, least - 1)
    for size in sizes:
        odds += sets * find_chance_within(n, few, size)
    return odds


@compiled
def weigh_near(n, m, near, sizes):
    """Give the odds where no part may be of one window of ``near`` rows, of which there are m."""
    odds = 0.0
    for size in sizes:
        odds += m * find_chance_within(n, near, size)
    return odds


@compiled
def find_odds(rules, r, tables, counts, touched, base, m, n, sizes):
    """Give the odds of a rule and a bag of ``m`` codes, listed from ``touched[base]`` on."""
    op, a, b, c, table = rules[r, 0], rules[r, 2], rules[r, 3], rules[r, 4], rules[r, 5]
    if sizes.shape[0] == 2 and sizes[0] == sizes[1]:
        return 0.0
    if sizes.min() >= find_part_size(rules, r, tables, counts, touched, base, m):
        return 0.0
    if op in (SHARE, LIMITS):
        worst = 0.0
        for j in range(m):
            code = touched[base + j]
            if op == LIMITS:
                a, b = tables[table + 2 * code], tables[table + 2 * code + 1]
            worst = max(worst, weigh_share(n, counts[base + code], sizes, b, a))
        return worst
    if op == NEAR:
        return weigh_window(n, find_fullest(tables, table, counts, touched, base, m, c), sizes, a)
    if op == DISTINCT:
        few = sum_largest(counts, touched, base, m, a - 1)
        return weigh_distinct(n, m, few, sizes, a)
    if op == SPREAD:
        few = sum_largest(counts, touched, base, m, a - 1)
        odds = weigh_distinct(n, m, few, sizes, a)
        near = find_nearest(tables, table, counts, touched, base, m, b)
        return odds + weigh_near(n, m, near, sizes)
    if op == RECURSIVE and a > 0 and m >= c:
        most = sum_largest(counts, touched, base, m, 1)
        few = sum_largest(counts, touched, base, m, c - 1)
        return weigh_recursive(n, most, few, sizes, a, b)
    return math.inf


@compiled
def price(odds):
    """Give the least whole number below which, of WHOLE, a coin falls with such odds or more."""
    if odds == 0:
        return 0
    if odds > 1e9:
        return WHOLE
    return min(WHOLE, math.ceil(odds / (1 + odds) * (1 + 1e-12) * WHOLE) + 1)
