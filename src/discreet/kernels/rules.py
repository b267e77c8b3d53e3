"""Rules: a principle as integer arithmetic on one histogram, for use inside kernels.

A rule is one row ``(op, field, a, b, c, table)``: the operation, the sensitive field it reads,
up to three integers, and where its table starts in one flat array. Every rule has its twin in
``discreet.principles``, and a contract test holds the two together.
"""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled

SIZE, DISTINCT, SHARE, RECURSIVE, SPREAD, EQUAL, ORDERED, COVER, PART_SHARE, LIMITS, PART_LIMITS = (
    range(11)
)


@compiled
def obeys(rules, r, tables, counts, touched, base, listed, m, n):
    """Whether a bag of ``n`` rows with ``m`` distinct codes obeys rule ``r``.

    The bag's counts start at ``counts[base]``; every code it holds is among the ``listed`` ones
    from ``touched[base]`` on, which may include codes it does not hold.
    """
    op, a, b, c, table = rules[r, 0], rules[r, 2], rules[r, 3], rules[r, 4], rules[r, 5]
    if op == SIZE:
        return n >= a
    if op == DISTINCT:
        return m >= a
    if op == SHARE:
        most = 0
        for j in range(listed):
            most = max(most, counts[base + touched[base + j]])
        return a * most <= b * n
    if op == RECURSIVE:
        if m < c:
            return False
        ranked = np.empty(listed, np.int64)
        for j in range(listed):
            ranked[j] = -counts[base + touched[base + j]]
        ranked.sort()
        tail = 0
        for j in range(c - 1, listed):
            tail -= ranked[j]
        return -ranked[0] * b < a * tail
    if op == SPREAD:
        low, high = -1, -1
        for j in range(listed):
            code = touched[base + j]
            if counts[base + code]:
                if low < 0 or code < low:
                    low = code
                high = max(high, code)
        return m >= a and tables[table + high] - tables[table + low] >= b
    if op == COVER:
        return _covers_little(tables, table, counts, touched, base, listed, n // a)
    if op == PART_SHARE:
        return _shares_are_small(tables, table, counts, touched, base, listed, a, b, c)
    if op == LIMITS:
        for j in range(listed):
            code = touched[base + j]
            if tables[table + 2 * code] * counts[base + code] > tables[table + 2 * code + 1] * n:
                return False
        return True
    if op == PART_LIMITS:
        return _parts_keep_limits(tables, table, counts, touched, base, listed, c)
    size = c
    total = tables[table + size]
    if op == EQUAL:
        moved, seen = 0, 0
        for j in range(listed):
            whole = tables[table + touched[base + j]]
            moved += abs(counts[base + touched[base + j]] * total - whole * n)
            seen += whole
        moved += (total - seen) * n
        return b * moved <= 2 * a * n * total
    # ORDERED
    here, whole, moved = 0, 0, 0
    for code in range(size - 1):
        here += counts[base + code]
        whole += tables[table + code]
        moved += abs(here * total - whole * n)
    return b * moved <= a * (size - 1) * n * total


@compiled
def _covers_little(tables, table, counts, touched, base, listed, most):
    """Whether no window, from a code down to the lowest one near it, holds more than ``most``."""
    codes = np.sort(touched[base : base + listed])
    held, tail = 0, 0
    for j in range(listed):
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


@compiled
def _shares_are_small(tables, table, counts, touched, base, listed, a, b, kinds):
    """Whether of every part no code has more than ``b`` in ``a``; ``tables`` says whose part it is.

    Codes are numbered part by part; where few are not listed, all are gone through.
    """
    every = kinds <= 4 * listed
    codes = touched[:0] if every else np.sort(touched[base : base + listed])
    part, size, most = -1, 0, 0
    for j in range(kinds if every else listed):
        code = j if every else codes[j]
        if counts[base + code] == 0:
            continue
        here = tables[table + code]
        if here != part:
            if a * most > b * size:
                return False
            part, size, most = here, 0, 0
        size += counts[base + code]
        most = max(most, counts[base + code])
    return a * most <= b * size


@compiled
def _parts_keep_limits(tables, table, counts, touched, base, listed, kinds):
    """The same with limits per code: ``tables`` says whose part it is, then ``a`` and ``b``."""
    every = kinds <= 4 * listed
    codes = touched[:0] if every else np.sort(touched[base : base + listed])
    limits = table + kinds
    part, size, least = -1, 0, 0
    for j in range(kinds if every else listed):
        code = j if every else codes[j]
        count = counts[base + code]
        if count == 0:
            continue
        here = tables[table + code]
        if here != part:
            if size < least:
                return False
            part, size, least = here, 0, 0
        size += count
        a, b = tables[limits + 2 * code], tables[limits + 2 * code + 1]
        if b == 0:
            return False
        least = max(least, -(-a * count // b))  # so large must the part be
    return size >= least
