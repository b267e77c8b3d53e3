"""Slicing's own diversity check, kept up to date as buckets are split.

A person t with values v_i of the other columns and rest q of the sensitive one takes s with weight
Σ_B Π n_B(v_i) · n_B(q, s) / |B|^(c-1). A split of B changes only the terms of B, and only for
people whose values B has: both halves' terms are added, its own subtracted, and if nobody's largest
weight is above 1/l of the sum, the split is made. A refused split writes nothing.

Rows are moved as they are split, so that a bucket is read from one end to the other. Where there is
one other column, most values may be one person's: such a person believes what the bucket holds
beside q, which is asked once for all of them.
"""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled

CLOSE = 1e-9
"""Sums of fractions that differ by less, relatively, are taken for equal."""


@compiled
def _weigh(t, c1, of, seen, size):
    """How likely a bucket is somebody's, by its other columns."""
    weight = 1.0
    for c in range(c1):
        weight *= seen[c, of[c, t]] / size
    return weight


@compiled
def _is_diverse(sums, start, kinds, least):
    most, total = 0.0, 0.0
    for k in range(start, start + kinds):
        most = max(most, sums[k])
        total += sums[k]
    return least * most <= total * (1 + CLOSE)


@compiled
def _choose_cut(rows, start, end, spans, low, high, hist):
    """Give the widest attribute of a bucket, -1 if none has a width, and the cut at its median."""
    d = spans.shape[0]
    for a in range(d):
        low[a] = high[a] = rows[start, a]
    for i in range(start + 1, end):
        for a in range(d):
            low[a] = min(low[a], rows[i, a])
            high[a] = max(high[a], rows[i, a])
    best, width = -1, 0.0
    for a in range(d):
        if spans[a] > 0 and (high[a] - low[a]) / spans[a] > width:
            best, width = a, (high[a] - low[a]) / spans[a]
    if best < 0:
        return -1, 0
    least, reach, before = low[best], high[best] - low[best], (end - start - 1) // 2
    if reach > 4 * (end - start) + 64:
        ranked = np.sort(rows[start:end, best])
        cut = ranked[before]
        while cut == least + reach:  # all from the middle on are the same: they stay on the right
            before -= 1
            cut = ranked[before]
        return best, cut
    hist[: reach + 1] = 0
    for i in range(start, end):
        hist[rows[i, best] - least] += 1
    code, held = 0, hist[0]
    while held <= before:
        code += 1
        held += hist[code]
    if code == reach:
        code -= 1
        while hist[code] == 0:
            code -= 1
    return best, least + code


@compiled
def _move(rows, start, end, a, cut, scratch):
    """Part a bucket, in order; give where its right side begins."""
    left, right, wide = start, 0, rows.shape[1]
    for i in range(start, end):
        if rows[i, a] <= cut:
            if left < i:
                for j in range(wide):
                    rows[left, j] = rows[i, j]
            left += 1
        else:
            for j in range(wide):
                scratch[right, j] = rows[i, j]
            right += 1
    for i in range(right):
        for j in range(wide):
            rows[left + i, j] = scratch[i, j]
    return left


@compiled
def _forget(rows, start, end, d, c1, kinds, seen, rests, pairs):
    """Set all counts of a bucket back."""
    for i in range(start, end):
        q = rows[i, d + c1]
        for side in range(2):
            rests[side, q] = 0
            pairs[side, q * kinds + rows[i, d + c1 + 1]] = 0
            for c in range(c1):
                seen[side, c, rows[i, d + c]] = 0


@compiled
def partition_tuples(rows, spans, c1, kinds, rest_count, of, q_of, starts, copies, least):
    """Split breadth first as in Figure 1; rows are moved into buckets, whose ends are given.

    A row has the codes that are split by, a value of each of ``c1`` other columns, q, s, and
    whatever else. The value 0 stands for what nobody else has. ``of`` and ``q_of`` hold the other
    values of each kind of person, in the order of the first, ``starts`` where each of these begins,
    and ``copies`` how many people have it. An empty result means that the table is not diverse.
    """
    n, d, people = rows.shape[0], spans.shape[0], q_of.shape[0]
    widest = copies.shape[0]
    for c in range(c1):
        for t in range(people):
            widest = max(widest, of[c, t] + 1)
    seen, rests = np.zeros((2, c1, widest), np.int64), np.zeros((2, rest_count), np.int64)
    pairs = np.zeros((2, rest_count * kinds), np.int64)
    sums, made = np.zeros((people, kinds)), np.empty((people, kinds))
    changed = np.empty(people, np.int64)
    for i in range(n):
        rests[0, rows[i, d + c1]] += 1
        pairs[0, rows[i, d + c1] * kinds + rows[i, d + c1 + 1]] += 1
        for c in range(c1):
            seen[0, c, rows[i, d + c]] += 1
    good = True
    if c1 == 1:
        for q in range(rest_count):
            good = good and _is_diverse(pairs[0], q * kinds, kinds, least)
    for t in range(people):
        weight = _weigh(t, c1, of, seen[0], n)
        for k in range(kinds):
            sums[t, k] = weight * pairs[0, q_of[t] * kinds + k]
        good = good and _is_diverse(sums[t], 0, kinds, least)
    if not good:
        return np.empty(0, np.int64)
    _forget(rows, 0, n, d, c1, kinds, seen, rests, pairs)
    scratch = np.empty_like(rows)
    low, high, hist = (
        np.empty(d, np.int64),
        np.empty(d, np.int64),
        np.empty(spans.max() + 1, np.int64),
    )
    queue, head, tail = np.empty((2 * n, 2), np.int64), 0, 1
    queue[0, 0], queue[0, 1] = 0, n
    ends, done, stamp = np.empty(n, np.int64), 0, 0
    asked, fine = np.zeros((2, rest_count), np.int64), np.zeros((2, rest_count), np.bool_)
    met, listed = np.zeros(widest, np.int64), np.empty(widest, np.int64)
    while head < tail:
        start, end = queue[head, 0], queue[head, 1]
        head += 1
        a, cut = _choose_cut(rows, start, end, spans, low, high, hist)
        good = a >= 0
        if good:
            middle, many = _move(rows, start, end, a, cut, scratch), 0
            stamp += 1
            for i in range(start, end):
                side, q, value = int(i >= middle), rows[i, d + c1], rows[i, d]
                rests[side, q] += 1
                pairs[side, q * kinds + rows[i, d + c1 + 1]] += 1
                if value == 0:
                    asked[side, q] = stamp
                    continue
                for c in range(c1):
                    seen[side, c, rows[i, d + c]] += 1
                if met[value] != stamp:
                    met[value] = stamp
                    listed[many] = value
                    many += 1
            for i in range(start, end):
                side, q = int(i >= middle), rows[i, d + c1]
                if asked[side, q] == stamp:
                    asked[side, q] = -stamp
                    fine[side, q] = _is_diverse(pairs[side], q * kinds, kinds, least)
                    good = good and fine[side, q]
            tried = 0
            for m in range(many if good else 0):
                value = listed[m]
                # nobody with this value is elsewhere: the belief is that of the bucket
                local = c1 == 1 and seen[0, 0, value] + seen[1, 0, value] == copies[value]
                one_sided = local and (seen[0, 0, value] == 0 or seen[1, 0, value] == 0)
                side = int(seen[0, 0, value] == 0)
                for t in range(starts[value], starts[value + 1]):
                    rest = q_of[t]
                    base = rest * kinds
                    if one_sided:
                        if asked[side, rest] != -stamp:
                            asked[side, rest] = -stamp
                            fine[side, rest] = _is_diverse(pairs[side], base, kinds, least)
                        good = good and fine[side, rest]
                        continue
                    if rests[0, rest] + rests[1, rest] == 0:
                        continue
                    whole = 1.0
                    for c in range(c1):
                        both = seen[0, c, of[c, t]] + seen[1, c, of[c, t]]
                        whole *= both / (end - start)
                    if whole == 0:
                        continue
                    one = _weigh(t, c1, of, seen[0], middle - start)
                    two = _weigh(t, c1, of, seen[1], end - middle)
                    most, total = 0.0, 0.0
                    for k in range(kinds):
                        left, right = pairs[0, base + k], pairs[1, base + k]
                        held = one * left + two * right
                        if not local:
                            held += sums[t, k] - whole * (left + right)
                        made[tried, k] = held
                        most = max(most, held)
                        total += held
                    changed[tried] = t
                    tried += 1
                    good = good and least * most <= total * (1 + CLOSE)
                if not good:
                    break
            for m in range(tried if good else 0):
                sums[changed[m]] = made[m]
            _forget(rows, start, end, d, c1, kinds, seen, rests, pairs)
        if good:
            queue[tail, 0], queue[tail, 1] = start, middle
            queue[tail + 1, 0], queue[tail + 1, 1] = middle, end
            tail += 2
        else:
            ends[done] = end
            done += 1
    return np.sort(ends[:done])
