"""Rules: a principle as integer arithmetic on one histogram, for use inside kernels.

A rule is one row ``(op, field, a, b, c, table)``: the operation, the sensitive field it reads,
up to three integers, and where its table starts in one flat array. Every rule has its twin in
``discreet.principles``, and a contract test holds the two together.
"""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled

SIZE, DISTINCT, SHARE, RECURSIVE, SPREAD, EQUAL, ORDERED, COVER, LIMITS, VARIANCE = range(10)
PARTS = 16
"""Added to an operation: every part of the bag must obey it. Its table begins with the number of
codes, says of each whose part it is and what its own code is there, and goes on with that of the
operation. Codes are numbered part by part, and in each by their own."""


@compiled
def obeys(rules, r, tables, counts, touched, base, listed, m, n):
    """Whether a bag of ``n`` rows with ``m`` distinct codes obeys rule ``r``.

    The bag's counts start at ``counts[base]``; every code it holds is among the ``listed`` ones
    from ``touched[base]`` on, which may include codes it does not hold.
    """
    op, a, b, c, table = rules[r, 0], rules[r, 2], rules[r, 3], rules[r, 4], rules[r, 5]
    last = base + listed
    if op < PARTS:
        return _obeys(op, a, b, c, tables, table, -1, counts, base, touched, base, last, m, n)
    kinds = tables[table]
    part_of, own = table + 1, table + 1 + kinds
    held = np.empty(m, np.int64)
    _list_held(kinds, counts, touched, base, listed, held)
    first, size = 0, 0
    for j in range(m):
        size += counts[base + held[j]]
        if j + 1 < m and tables[part_of + held[j + 1]] == tables[part_of + held[j]]:
            continue
        if not _obeys(op - PARTS, a, b, c, tables, own + kinds, own, counts, base,
                      held, first, j + 1, j + 1 - first, size):  # fmt: skip
            return False
        first, size = j + 1, 0
    return True


@compiled
def _list_held(kinds, counts, touched, base, listed, held):
    """List the codes that a bag holds in their order; where few are not listed, look at all."""
    every = kinds <= 4 * listed
    codes = touched[:0] if every else np.sort(touched[base : base + listed])
    m = 0
    for j in range(kinds if every else listed):
        code = j if every else codes[j]
        if counts[base + code]:
            held[m] = code
            m += 1


@compiled
def _obeys(op, a, b, c, tables, table, own, counts, base, codes, first, last, m, n):
    """The same of the bag with the codes from ``first`` to ``last``, by one operation.

    In tables these are called as ``own`` says; -1 if they are called as they are. Only of a part
    are they in order.
    """
    if op == SIZE:
        return n >= a
    if op == DISTINCT:
        return m >= a
    if op == SHARE:
        most = 0
        for j in range(first, last):
            most = max(most, counts[base + codes[j]])
        return a * most <= b * n
    if op == RECURSIVE:
        if m < c:
            return False
        ranked = np.empty(last - first, np.int64)
        for j in range(first, last):
            ranked[j - first] = -counts[base + codes[j]]
        ranked.sort()
        tail = 0
        for j in range(c - 1, last - first):
            tail -= ranked[j]
        return -ranked[0] * b < a * tail
    if op == SPREAD:
        low, high = -1, -1
        for j in range(first, last):
            code = codes[j]
            if counts[base + code]:
                if low < 0 or code < low:
                    low = code
                high = max(high, code)
        if own >= 0:
            low, high = tables[own + low], tables[own + high]
        return m >= a and tables[table + high] - tables[table + low] >= b
    if op == COVER:
        return _covers_little(tables, table, counts, codes[first:last], base, n // a)
    if op == LIMITS:
        for j in range(first, last):
            code = codes[j] if own < 0 else tables[own + codes[j]]
            if (
                tables[table + 2 * code] * counts[base + codes[j]]
                > tables[table + 2 * code + 1] * n
            ):
                return False
        return True
    if op == VARIANCE:
        return _scatters(a, b, tables, table, own, counts, base, codes, first, last, n)
    total = tables[table + c]
    if op == EQUAL:
        moved, seen = 0, 0
        for j in range(first, last):
            whole = tables[table + (codes[j] if own < 0 else tables[own + codes[j]])]
            moved += abs(counts[base + codes[j]] * total - whole * n)
            seen += whole
        moved += (total - seen) * n
        return b * moved <= 2 * a * n * total
    # ORDERED
    moved = 0
    if own < 0 and c <= 8 * (last - first):
        here, whole = 0, 0
        for code in range(c - 1):
            here += counts[base + code]
            whole += tables[table + code]
            moved += abs(here * total - whole * n)
    else:
        moved = _carry(tables, table, own, counts, base, codes, first, last, c, total, n)
    return b * moved <= a * (c - 1) * n * total


@compiled
def _carry(tables, table, own, counts, base, codes, first, last, size, total, n):
    """Add up what is carried past every code but the last: |total·Σcounts - n·Σwhole| up to it.

    Between two codes that are held the first sum stays and the second grows, so that the terms
    change their sign once. Behind the total, tables have the second sum, and the sum of these.
    """
    upto = table + size + 1
    summed = upto + size
    held = codes[first:last] if own >= 0 else np.sort(codes[first:last])
    moved, here, start = 0, 0, 0
    for j in range(held.shape[0] + 1):
        end = size - 1
        if j < held.shape[0]:
            end = min(end, held[j] if own < 0 else tables[own + held[j]])
        low, high = start, end
        while low < high:
            middle = (low + high) // 2
            if tables[upto + middle] * n > here:
                high = middle
            else:
                low = middle + 1
        moved += here * (low - start) - n * (tables[summed + low] - tables[summed + start])
        moved += n * (tables[summed + end] - tables[summed + low]) - here * (end - low)
        start = end
        if j < held.shape[0]:
            here += counts[base + held[j]] * total
    return moved


@compiled
def _scatters(a, b, tables, table, own, counts, base, codes, first, last, n):
    """Whether the numbers of ``n`` rows have a variance of ``a / b``: b·(n·Σx² - (Σx)²) ≥ a·n².

    With Σx = c·n + r and S = Σ(x - c)² that is n·(b·S - a·n) ≥ b·r², where r < n. So nothing has
    more digits than Σx² and n² have.
    """
    total = 0
    for j in range(first, last):
        total += (
            counts[base + codes[j]]
            * tables[table + (codes[j] if own < 0 else tables[own + codes[j]])]
        )
    middle, rest, scatter = total // n, total % n, 0
    for j in range(first, last):
        far = tables[table + (codes[j] if own < 0 else tables[own + codes[j]])] - middle
        scatter += counts[base + codes[j]] * far * far
    spare = b * scatter - a * n
    return spare >= b * n or (spare >= 0 and n * spare >= b * rest * rest)


@compiled
def _covers_little(tables, table, counts, listed, base, most):
    """Whether no window, from a code down to the lowest one near it, holds more than ``most``."""
    codes = np.sort(listed)
    held, tail = 0, 0
    for j in range(codes.shape[0]):
        held += counts[base + codes[j]]
        while codes[tail] < tables[table + codes[j]]:
            held -= counts[base + codes[tail]]
            tail += 1
        if held > most:
            return False
    return True


@compiled
def stay_apart(words, start, end, shift, mask, tables, table, m):
    """The same of rows in the order of their codes, or against it: at most one in ``m`` is near."""
    most, tail = (end - start) // m, start
    falling = ((words[start] >> shift) & mask) > ((words[end - 1] >> shift) & mask)
    for i in range(start, end):
        code = (words[i] >> shift) & mask
        if falling:
            while tables[table + ((words[tail] >> shift) & mask)] > code:
                tail += 1
        else:
            lowest = tables[table + code]
            while ((words[tail] >> shift) & mask) < lowest:
                tail += 1
        if i + 1 - tail > most:
            return False
    return True
