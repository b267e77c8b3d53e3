"""Rules: a principle as integer arithmetic on one histogram, for use inside kernels.

A rule is one row ``(op, field, a, b, c, table)``: the operation, the sensitive field it reads,
up to three integers, and where its table starts in one flat array. Every rule has its twin in
``discreet.principles``, and a contract test holds the two together.
"""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled

SIZE, DISTINCT, SHARE, RECURSIVE, SPREAD, EQUAL, ORDERED = range(7)


@compiled
def obeys(rule, tables, counts, touched, m, n):
    """Whether a bag of ``n`` rows with ``m`` distinct codes (``touched``) obeys one rule."""
    op, a, b, c, table = rule[0], rule[2], rule[3], rule[4], rule[5]
    if op == SIZE:
        return n >= a
    if op == DISTINCT:
        return m >= a
    if op == SHARE:
        most = 0
        for j in range(m):
            most = max(most, counts[touched[j]])
        return a * most <= b * n
    if op == RECURSIVE:
        if m < c:
            return False
        ranked = np.empty(m, np.int64)
        for j in range(m):
            ranked[j] = -counts[touched[j]]
        ranked.sort()
        tail = 0
        for j in range(c - 1, m):
            tail -= ranked[j]
        return -ranked[0] * b < a * tail
    if op == SPREAD:
        low = high = touched[0]
        for j in range(m):
            low = min(low, touched[j])
            high = max(high, touched[j])
        return m >= a and tables[table + high] - tables[table + low] >= b
    if op == EQUAL:
        size = c
        total = tables[table + size]
        moved, seen = 0, 0
        for j in range(m):
            whole = tables[table + touched[j]]
            moved += abs(counts[touched[j]] * total - whole * n)
            seen += whole
        moved += (total - seen) * n
        return b * moved <= 2 * a * n * total
    # ORDERED
    size = c
    total = tables[table + size]
    here, whole, moved = 0, 0, 0
    for code in range(size - 1):
        here += counts[code]
        whole += tables[table + code]
        moved += abs(here * total - whole * n)
    return b * moved <= a * (size - 1) * n * total
