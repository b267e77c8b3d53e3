"""Part sizes: from how many rows on any part of a node obeys a rule.

Each has its twin in ``discreet.principles``, and a contract test holds the two together.
"""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled
from discreet.kernels.rules import DISTINCT, LIMITS, RECURSIVE, SHARE, SIZE, SPREAD

NEAR = 100
"""A window around each code: ``tables`` says where it starts, then where it ends."""
NEVER = 2**40
"""No part is that large."""


@compiled
def find_part_size(rules, r, tables, counts, touched, base, m):
    """Say it of a rule and a bag of ``m`` codes, listed from ``touched[base]`` on."""
    op, a, b, c, table = rules[r, 0], rules[r, 2], rules[r, 3], rules[r, 4], rules[r, 5]
    if op == SIZE:
        return a
    if op == DISTINCT:
        return sum_largest(counts, touched, base, m, a - 1) + 1 if m >= a else NEVER
    if op == RECURSIVE:
        if m < c or a == 0:
            return NEVER
        most = sum_largest(counts, touched, base, m, 1)
        return sum_largest(counts, touched, base, m, c - 1) + most * b // a + 1
    if op == SPREAD:
        return _find_spread(tables, table, counts, touched, base, m, a, b)
    if op == NEAR:
        return a * find_fullest(tables, table, counts, touched, base, m, c)
    if op not in (SHARE, LIMITS):
        return NEVER  # of other rules nothing is known here
    needed = 1
    for j in range(m):
        code = touched[base + j]
        if op == LIMITS:
            a, b = tables[table + 2 * code], tables[table + 2 * code + 1]
        if b == 0:
            return NEVER
        if b < a:
            needed = max(needed, -(-a * counts[base + code] // b))
    return needed


@compiled
def sum_largest(counts, touched, base, m, many):
    """Add up the so many largest counts of a bag."""
    ranked = np.empty(m, np.int64)
    for j in range(m):
        ranked[j] = -counts[base + touched[base + j]]
    ranked.sort()
    return -ranked[: max(many, 0)].sum()


@compiled
def _find_spread(tables, table, counts, touched, base, m, k, e):
    """One more than k - 1 codes have together, or than all codes have within less than e."""
    codes = touched[base : base + m]
    if m < k or tables[table + codes.max()] - tables[table + codes.min()] < e:
        return NEVER
    most = find_nearest(tables, table, counts, touched, base, m, e)
    return max(most, sum_largest(counts, touched, base, m, k - 1)) + 1


@compiled
def find_nearest(tables, table, counts, touched, base, m, e):
    """Give the most rows of a bag whose numbers all lie within less than e."""
    codes = np.sort(touched[base : base + m])
    held, most, tail = 0, 0, 0
    for j in range(m if e > 0 else 0):
        held += counts[base + codes[j]]
        while tables[table + codes[j]] - tables[table + codes[tail]] >= e:
            held -= counts[base + codes[tail]]
            tail += 1
        most = max(most, held)
    return most


@compiled
def find_fullest(tables, table, counts, touched, base, m, size):
    """Give the most rows in the window around any code of the bag."""
    codes = np.sort(touched[base : base + m])
    held, most, tail, head = 0, 0, 0, 0
    for j in range(m):
        while head < m and codes[head] < tables[table + size + codes[j]]:
            held += counts[base + codes[head]]
            head += 1
        while codes[tail] < tables[table + codes[j]]:
            held -= counts[base + codes[tail]]
            tail += 1
        most = max(most, held)
    return most
