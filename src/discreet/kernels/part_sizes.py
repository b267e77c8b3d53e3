"""Part sizes: from how many rows on any part of a node obeys a rule, and cuts that only ask that.

Each has its twin in ``discreet.principles``, and a contract test holds the two together.
"""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled
from discreet.kernels.cuts import AT_HAND, BINS, UNSEEN, choose_cuts
from discreet.kernels.mondrian import make_room, open_side, split
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
        return _sum_largest(counts, touched, base, m, a - 1) + 1 if m >= a else NEVER
    if op == RECURSIVE:
        if m < c or a == 0:
            return NEVER
        most = _sum_largest(counts, touched, base, m, 1)
        return _sum_largest(counts, touched, base, m, c - 1) + most * b // a + 1
    if op == SPREAD:
        return _find_spread(tables, table, counts, touched, base, m, a, b)
    if op == NEAR:
        return a * _find_fullest(tables, table, counts, touched, base, m, c)
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
def _sum_largest(counts, touched, base, m, many):
    ranked = np.empty(m, np.int64)
    for j in range(m):
        ranked[j] = -counts[base + touched[base + j]]
    ranked.sort()
    return -ranked[: max(many, 0)].sum()


@compiled
def _find_spread(tables, table, counts, touched, base, m, k, e):
    """One more than k - 1 codes have together, or than all codes have within less than e."""
    codes = np.sort(touched[base : base + m])
    if m < k or tables[table + codes[m - 1]] - tables[table + codes[0]] < e:
        return NEVER
    held, most, tail = 0, 0, 0
    for j in range(m if e > 0 else 0):
        held += counts[base + codes[j]]
        while tables[table + codes[j]] - tables[table + codes[tail]] >= e:
            held -= counts[base + codes[tail]]
            tail += 1
        most = max(most, held)
    return max(most, _sum_largest(counts, touched, base, m, k - 1)) + 1


@compiled
def _find_fullest(tables, table, counts, touched, base, m, size):
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


@compiled
def size_parts(buffers, node, least, fields, rules, tables, counts, touched):
    """Say from how many rows on any part of a node obeys every rule, ``least`` at least."""
    needed, here = least, node[2]
    for f in range(fields.shape[0]):
        m = 0
        plane, shift, mask, base = fields[f, 0], fields[f, 1], fields[f, 2], fields[f, 4]
        for i in range(node[0], node[1]):
            code = (buffers[here, plane, i] >> shift) & mask
            if counts[base + code] == 0:
                touched[base + m] = code
                m += 1
            counts[base + code] += 1
        for r in range(rules.shape[0]):
            if rules[r, 1] == f:
                needed = max(needed, find_part_size(rules, r, tables, counts, touched, base, m))
        for j in range(m):
            counts[base + touched[base + j]] = 0
    return needed


@compiled
def grow_simulatable(buffers, root, leaves, pause, attrs, least, trees, fields, rules, tables):
    """Split a node depth first where any rows on the smaller side would obey every rule.

    Writes leaves, and gives nodes back unsplit, as ``grow_tree`` does.
    """
    d, codes = attrs.shape[0], 1
    for f in range(fields.shape[0]):
        codes += fields[f, 3]
    widest = attrs[:, 3].max() + 1
    hist, merit = np.zeros(max(BINS, widest) + 2, np.int64), np.empty(d)
    counts, touched = np.zeros(codes, np.int64), np.empty(codes, np.int64)
    cuts, ends = np.empty(d, np.int64), np.empty(max(2, widest), np.int64)
    stack = np.empty((256, 3 + 3 * d), np.int64)
    paused = np.empty((256, 3 + 3 * d), np.int64)
    node = root.copy()
    stack[0] = node
    top, waiting = 1, 0
    while top:
        top -= 1
        for i in range(node.shape[0]):
            node[i] = stack[top, i]
        start, n = node[0], node[1] - node[0]
        if n <= pause:
            paused = make_room(paused, waiting + 1)
            paused[waiting] = node
            waiting += 1
            continue
        a = -1
        needed = size_parts(buffers, node, least, fields, rules, tables, counts, touched)
        if n >= 2 * needed:
            merit[:] = UNSEEN
            a = choose_cuts(buffers, node, attrs, needed, trees, hist, merit, False, cuts, AT_HAND)
        if a < 0:
            leaves[start] = node[2]
            continue
        sides = split(buffers, node, attrs, a, cuts[a], trees, ends)
        stack = make_room(stack, top + sides)
        for s in range(sides):
            open_side(stack[top], node, s, ends, attrs, a, cuts[a])
            top += 1
    return paused[:waiting].copy()
