"""Slicing's own diversity check, kept up to date as buckets are split.

A person t with values v_i of the other columns and rest q of the sensitive one takes s with weight
Σ_B Π n_B(v_i) · n_B(q, s) / |B|^(c-1). A split of B changes only the terms of B, and only for
people whose values B has: both halves' terms are added, its own subtracted, and if nobody's largest
weight is above 1/l of the sum, the split is made. A refused split writes nothing.
"""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled

CLOSE = 1e-9
"""Sums of fractions that differ by less, relatively, are taken for equal."""


@compiled
def _count(order, start, end, values, q, s, kinds, seen, rests, pairs, sign):
    """Count the values of a bucket's columns into the tables, or take them out again."""
    for i in range(start, end):
        row = order[i]
        for c in range(values.shape[0]):
            seen[c, values[c, row]] += sign
        rests[q[row]] += sign
        pairs[q[row] * kinds + s[row]] += sign


@compiled
def _weigh(t, c1, of, seen, size):
    """How likely a bucket is somebody's, by its other columns."""
    weight = 1.0
    for c in range(c1):
        weight *= seen[c, of[c, t]] / size
    return weight


@compiled
def _is_diverse(sums, kinds, least):
    most, total = 0.0, 0.0
    for k in range(kinds):
        most = max(most, sums[k])
        total += sums[k]
    return least * most <= total * (1 + CLOSE)


@compiled
def _halve(order, start, end, codes, spans, scratch):
    """Part a bucket at the median of its widest attribute; give where, or -1 if it has no width."""
    best, width = -1, 0.0
    for a in range(codes.shape[0]):
        low, high = codes[a, order[start]], codes[a, order[start]]
        for i in range(start, end):
            low, high = min(low, codes[a, order[i]]), max(high, codes[a, order[i]])
        if spans[a] > 0 and (high - low) / spans[a] > width:
            best, width = a, (high - low) / spans[a]
    if best < 0:
        return -1
    n = end - start
    ranked = np.sort(codes[best][order[start:end]])
    cut = ranked[(n - 1) // 2]
    if cut == ranked[n - 1]:  # all from the middle on are the same: leave them on the right
        j = (n - 1) // 2
        while ranked[j] == cut:
            j -= 1
        cut = ranked[j]
    left, right = start, 0
    for i in range(start, end):
        if codes[best, order[i]] <= cut:
            order[left] = order[i]
            left += 1
        else:
            scratch[right] = order[i]
            right += 1
    for j in range(right):
        order[left + j] = scratch[j]
    return left


@compiled
def partition_tuples(
    codes, spans, values, q, s, kinds, rest_count, of, q_of, starts, members, least
):
    """Split breadth first as in Figure 1; give the order of rows and the buckets' ends.

    ``of`` and ``q_of`` hold the values of each kind of person, ``members`` those with each value
    of the first column. An empty result means that the whole table is not diverse.
    """
    n, c1, people = q.shape[0], values.shape[0], q_of.shape[0]
    order, scratch = np.arange(n), np.empty(n, np.int64)
    widest = 1
    for c in range(c1):
        widest = max(widest, values[c].max() + 1)
    seen, rests = np.zeros((3, c1, widest), np.int64), np.zeros((3, rest_count), np.int64)
    pairs = np.zeros((3, rest_count * kinds), np.int64)
    sums, tried = np.zeros((people, kinds)), np.empty(kinds)
    _count(order, 0, n, values, q, s, kinds, seen[0], rests[0], pairs[0], 1)
    for t in range(people):
        weight = _weigh(t, c1, of, seen[0], n)
        for k in range(kinds):
            sums[t, k] = weight * pairs[0, q_of[t] * kinds + k]
        if not _is_diverse(sums[t], kinds, least):
            return order, np.empty(0, np.int64)
    _count(order, 0, n, values, q, s, kinds, seen[0], rests[0], pairs[0], -1)
    queue, head, tail = np.empty((2 * n, 2), np.int64), 0, 1
    queue[0, 0], queue[0, 1] = 0, n
    ends, done, stamp = np.empty(n, np.int64), 0, 0
    copies = np.bincount(values[0]) if c1 else np.zeros(1, np.int64)
    asked, fine = np.zeros((2, rest_count), np.int64), np.zeros((2, rest_count), np.bool_)
    while head < tail:
        start, end = queue[head, 0], queue[head, 1]
        head += 1
        middle = _halve(order, start, end, codes, spans, scratch)
        good = middle > 0
        if good:
            bounds = np.array([start, end, start, middle, middle, end])
            for part in range(3):
                _count(order, bounds[2 * part], bounds[2 * part + 1], values, q, s, kinds,
                       seen[part], rests[part], pairs[part], 1)  # fmt: skip
            stamp += 1
            for commit in range(2):
                for i in range(start, end):
                    value = values[0, order[i]] if c1 else 0
                    if c1 and seen[0, 0, value] < 0:
                        continue  # looked at already
                    # nobody with this value is elsewhere: the belief is that of the bucket
                    local = c1 == 1 and seen[0, 0, value] == copies[value]
                    side = 0
                    if local and (seen[1, 0, value] == 0 or seen[2, 0, value] == 0):
                        side = 1 if seen[2, 0, value] == 0 else 2
                    for j in range(starts[value], starts[value + 1]):
                        t = members[j]
                        rest = q_of[t]
                        base = rest * kinds
                        if side:
                            if asked[side - 1, rest] != stamp:
                                asked[side - 1, rest] = stamp
                                for k in range(kinds):
                                    tried[k] = pairs[side, base + k]
                                fine[side - 1, rest] = _is_diverse(tried, kinds, least)
                            if not fine[side - 1, rest]:
                                good = False
                                break
                            continue
                        if rests[0, rest] == 0:
                            continue
                        whole = 1.0
                        for c in range(c1):
                            whole *= abs(seen[0, c, of[c, t]]) / (end - start)
                        if whole == 0:
                            continue
                        one = _weigh(t, c1, of, seen[1], middle - start)
                        two = _weigh(t, c1, of, seen[2], end - middle)
                        for k in range(kinds):
                            tried[k] = one * pairs[1, base + k] + two * pairs[2, base + k]
                            if not local:
                                tried[k] += sums[t, k] - whole * pairs[0, base + k]
                        if commit:
                            sums[t] = tried
                        elif not _is_diverse(tried, kinds, least):
                            good = False
                            break
                    if c1:
                        seen[0, 0, value] = -seen[0, 0, value]
                    if not good or not c1:
                        break
                for i in range(start, end):  # signs back
                    if c1:
                        value = values[0, order[i]]
                        seen[0, 0, value] = abs(seen[0, 0, value])
                if not good:
                    break
            for part in range(3):
                _count(order, bounds[2 * part], bounds[2 * part + 1], values, q, s, kinds,
                       seen[part], rests[part], pairs[part], -1)  # fmt: skip
        if good:
            queue[tail, 0], queue[tail, 1] = start, middle
            queue[tail + 1, 0], queue[tail + 1, 1] = middle, end
            tail += 2
        else:
            ends[done] = end
            done += 1
    return order, np.sort(ends[:done])
