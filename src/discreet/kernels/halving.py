"""Halving: part the rows of a leaf by one attribute, stretch by stretch of their order.

Rows come sorted by a sensitive number. Cutting them once at the median of an attribute may put too
many near numbers on one side; cutting every stretch of a few rows at its own median gives both
sides nearly the same numbers, and each still the closer half of every stretch.
"""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled
from discreet.kernels.cuts import RANGE, SET, measure_ancestor
from discreet.kernels.mondrian import rows_obey


@compiled
def _find_tails(numbers, n, tables, table, tails):
    """Find the first row near each row among those before it; give the most rows ever near."""
    falling = numbers[0] > numbers[n - 1]
    tail, most = 0, 0
    for j in range(n):
        if falling:
            while tables[table + numbers[tail]] > numbers[j]:
                tail += 1
        else:
            while numbers[tail] < tables[table + numbers[j]]:
                tail += 1
        tails[j] = tail
        most = max(most, j + 1 - tail)
    return most


@compiled
def _rank(codes, n, places, order):
    """List the rows in the order of their codes, ties in their own; give whether they differ."""
    low, high = codes[0], codes[0]
    for j in range(n):
        low, high = min(low, codes[j]), max(high, codes[j])
    if high - low >= 8 * n:  # too few rows to count every code between
        keys = np.empty(n, np.int64)
        for j in range(n):
            keys[j] = ((codes[j] - low) << 32) | j
        keys.sort()
        for j in range(n):
            order[j] = keys[j] & 0xFFFFFFFF
        return True
    for code in range(high - low + 2):
        places[code] = 0
    for j in range(n):
        places[codes[j] - low + 1] += 1
    for code in range(1, high - low + 1):
        places[code] += places[code - 1]
    for j in range(n):
        order[places[codes[j] - low]] = j
        places[codes[j] - low] += 1
    return high > low


@compiled
def _part(order, n, log, room, fronts):
    """Mark the lower half of every ``1 << log`` rows; ``order`` has them as their codes come.

    Gives how many are marked.
    """
    marked = 0
    for b in range(((n - 1) >> log) + 1):
        room[b] = (min(n, (b + 1) << log) - (b << log)) // 2
        marked += room[b]
    for i in range(n):
        row = order[i]
        b = row >> log
        fronts[row] = room[b] > 0
        room[b] -= 1
    return marked


@compiled
def _stay_apart(fronts, n, marked, tails, running, m):
    """Whether on both sides of a part at most one in ``m`` rows are near each other."""
    most, most_behind, front = marked // m, (n - marked) // m, 0
    for j in range(n):
        running[j] = front
        front += fronts[j]
        near = front - running[tails[j]]
        if near > most or j + 1 - tails[j] - near > most_behind:
            return False
    return True


@compiled
def _weigh(codes, n, fronts, side, attrs, trees, seen):
    """Add up, over the attributes, the extent of one side's rows as a share of the domain."""
    total = 0.0
    for a in range(codes.shape[0]):
        low, high = 1 << 62, -1
        for j in range(n):
            if fronts[j] == side:
                low, high = min(low, codes[a, j]), max(high, codes[a, j])
        width = high - low
        if attrs[a, 4] == SET:
            different = 0
            for j in range(n):
                if fronts[j] == side and not seen[codes[a, j]]:
                    seen[codes[a, j]] = True
                    different += 1
            for j in range(n):
                seen[codes[a, j]] = False
            width = different - 1
        elif attrs[a, 4] != RANGE:
            width = measure_ancestor(attrs, a, low, high, trees)[1] - 1
        total += width / max(attrs[a, 3], 1)
    return total


@compiled
def _move(buffers, node, fronts):
    """Move the marked rows to the front of the other buffer, the rest behind; both keep order."""
    start, here = node[0], node[2]
    front, back = start, start
    for j in range(node[1] - start):
        back += fronts[j]
    middle = back
    for j in range(node[1] - start):
        at = front if fronts[j] else back
        for p in range(buffers.shape[1]):
            buffers[1 - here, p, at] = buffers[here, p, start + j]
        front += fronts[j]
        back += not fronts[j]
    return middle


@compiled
def _is_good(buffers, node, fronts, fields, rules, tables, counts, touched):
    """Whether both sides obey the rules that look at more than the order of the rows."""
    middle, there = _move(buffers, node, fronts), 1 - node[2]
    first = rows_obey(buffers, there, node[0], middle, fields, rules, tables, counts, touched)
    return first and rows_obey(
        buffers, there, middle, node[1], fields, rules, tables, counts, touched
    )


@compiled
def _count_near(numbers, n, reach):
    """Count the rows in the fullest neighbourhood.

    ``reach`` has, per code, the first one inside and the first beyond its neighbourhood.
    """
    step = -1 if numbers[0] > numbers[n - 1] else 1
    first = 0 if step > 0 else n - 1
    low, beyond, fullest = 0, 0, 0
    for j in range(n):
        code = numbers[first + step * j]
        while numbers[first + step * low] < reach[0, code]:
            low += 1
        while beyond < n and numbers[first + step * beyond] < reach[1, code]:
            beyond += 1
        fullest = max(fullest, beyond - low)
    return fullest


@compiled
def deal(buffers, node, falling, lanes, leaves):
    """Give the rows of a node to so many groups in turn; each comes in ascending order."""
    start, n, here = node[0], node[1] - node[0], node[2]
    step = -1 if falling else 1
    first = n - 1 if falling else 0
    at = start
    for lane in range(lanes):
        leaves[at] = 1 - here
        for j in range(lane, n, lanes):
            for p in range(buffers.shape[1]):
                buffers[1 - here, p, at] = buffers[here, p, start + first + step * j]
            at += 1


@compiled
def halve_and_deal(
    buffers, spans, leaves, attrs, least, trees, fields, rules, tables, ranked, reach, m_both, local
):
    """Halve the leaves at ``spans`` (start, end, buffer) while both sides obey the rules; deal.

    Rule ``ranked`` is a COVER of the field in whose order the rows come. Of each attribute, the
    longest stretch that the rules allow is taken; of all attributes, the one after which boxes are
    smallest. What cannot be halved, or any leaf unless ``local``, is dealt into as many groups as
    there are rows near each other, so that none of a group are (Theorem 1). Writes the new leaves
    into ``leaves``, as ``grow_tree`` does.
    """
    d, longest = attrs.shape[0], 1
    for s in range(spans.shape[0]):
        longest = max(longest, spans[s, 1] - spans[s, 0])
    size = 1
    for f in range(fields.shape[0]):
        size += fields[f, 3]
    counts, touched = np.zeros(size, np.int64), np.empty(size, np.int64)
    codes = np.empty((d, longest), np.int64)
    numbers, tails = np.empty(longest, np.int64), np.empty(longest, np.int64)
    order, room = np.empty(longest, np.int64), np.empty(longest, np.int64)
    places = np.empty(attrs[:, 3].max() + 2, np.int64)
    running = np.empty(longest, np.int64)
    fronts, chosen = np.empty(longest, np.bool_), np.empty(longest, np.bool_)
    seen = np.zeros(attrs[:, 3].max() + 1, np.bool_)
    stack, node = np.empty((64, 3), np.int64), np.empty(3, np.int64)
    f, m, table = rules[ranked, 1], rules[ranked, 2], rules[ranked, 5]
    plane, shift, mask = fields[f, 0], fields[f, 1], fields[f, 2]
    for s in range(spans.shape[0]):
        stack[0] = spans[s]
        top = 1
        while top:
            top -= 1
            node[:] = stack[top]
            start, here = node[0], node[2]
            leaves[start] = -1
            n = node[1] - start
            for j in range(n):
                numbers[j] = (buffers[here, plane, start + j] >> shift) & mask
            most = _find_tails(numbers, n, tables, table, tails)
            lanes, falling = max(1, min(most, n // least)), numbers[0] > numbers[n - 1]
            # smaller boxes, unless other rules or sizes forbid; the paper leaves good sets whole
            finer = local and rules.shape[0] == 1 and most * least <= n
            if not finer and m_both * _count_near(numbers, n, reach) <= n:
                lanes = 1
            if not local or n < 2 * least or m * ((most + 1) // 2) > n - n // 2:
                # too few, or one side would have too many of those near each other
                deal(buffers, node, falling, lanes, leaves)
                continue
            for a in range(d):
                for j in range(n):
                    word = buffers[here, attrs[a, 0], start + j]
                    codes[a, j] = (word >> attrs[a, 1]) & attrs[a, 2]
            fronts[:n] = True
            best = n * _weigh(codes, n, fronts, True, attrs, trees, seen)
            found = False
            for a in range(d):
                if not _rank(codes[a], n, places, order):
                    continue
                log, marked = 1, 0
                while (1 << log) < n:
                    log += 1
                while log > 0:
                    marked = _part(order, n, log, room, fronts)
                    if _stay_apart(fronts, n, marked, tails, running, m) and (
                        rules.shape[0] == 1
                        or _is_good(buffers, node, fronts, fields, rules, tables, counts, touched)
                    ):
                        break
                    log -= 1
                if log == 0:
                    continue
                after = marked * _weigh(codes, n, fronts, True, attrs, trees, seen)
                after += (n - marked) * _weigh(codes, n, fronts, False, attrs, trees, seen)
                if after < best:
                    best, found = after, True
                    chosen[:n] = fronts[:n]
            if not found:
                deal(buffers, node, falling, lanes, leaves)
                continue
            middle = _move(buffers, node, chosen)
            if top + 2 > stack.shape[0]:
                stack = np.concatenate((stack, np.empty_like(stack)))
            stack[top, 0], stack[top, 1], stack[top, 2] = start, middle, 1 - here
            top += 1
            stack[top, 0], stack[top, 1], stack[top, 2] = middle, node[1], 1 - here
            top += 1
