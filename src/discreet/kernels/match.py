"""Matching points with boxes by splitting both until few boxes are left."""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled

FEW = 6
"""So many boxes are tried one by one."""


@compiled
def _covers(low, high, absent, missing, flags, places, which, box, point):
    """Whether a box covers a point: by its flags if it has any, else by its two ends."""
    for a in range(places.shape[0]):
        code = point[a]
        if places[a, 0] >= 0:
            if not flags[places[a, 0] + which[a, box] * places[a, 1] + code]:
                return False
        elif code == missing[a]:
            if not absent[a, box]:
                return False
        elif code < low[a, box] or code > high[a, box]:
            return False
    return True


@compiled
def _choose(low, high, boxes, start, end):
    """Find the attribute and code that leave the fewest boxes on the fuller side.

    A box that also covers missing has its upper bound there, so it may be on both sides.
    """
    d, best, attribute, cut = low.shape[0], end - start, -1, 0
    for a in range(d):
        total = 0
        for j in range(start, end):
            total += low[a, boxes[j]] + high[a, boxes[j]]
        middle = total // (2 * (end - start))
        left = right = 0
        for j in range(start, end):
            left += low[a, boxes[j]] <= middle
            right += high[a, boxes[j]] > middle
        if max(left, right) < best:
            best, attribute, cut = max(left, right), a, middle
    return attribute, cut


@compiled
def match(points, low, high, absent, missing, flags, places, which):
    """Give all (point, box) pairs in which the box covers the point.

    Per attribute and box: the codes from ``low`` to ``high``, and the ``missing`` one if
    ``absent``; or, where ``places`` gives a table (start, width) in ``flags``, row ``which``.
    """
    lowest, highest = low.copy(), high.copy()
    for a in range(low.shape[0]):
        for b in range(low.shape[1]):
            if absent[a, b]:
                highest[a, b] = missing[a]
                if low[a, b] > high[a, b]:
                    lowest[a, b] = missing[a]
    n = points.shape[0]
    count = low.shape[1]
    order = np.arange(n)
    boxes = np.arange(count)
    # a node: its points, order[p0:p1], and its boxes, boxes[b0:b1], on a stack of boxes
    stack = np.empty((64, 4), np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, n, 0, count
    top = 1
    pairs = np.empty((max(n, 16), 2), np.int64)
    found = 0
    while top:
        top -= 1
        p0, p1, b0, b1 = stack[top]
        attribute, cut = -1, 0
        if p1 - p0 > 1 and b1 - b0 > FEW:
            attribute, cut = _choose(lowest, highest, boxes, b0, b1)
        if attribute < 0:
            for i in range(p0, p1):
                for j in range(b0, b1):
                    if _covers(
                        low, high, absent, missing, flags, places, which, boxes[j], points[order[i]]
                    ):
                        if found == pairs.shape[0]:
                            pairs = np.concatenate((pairs, np.empty_like(pairs)))
                        pairs[found, 0], pairs[found, 1] = order[i], boxes[j]
                        found += 1
            continue
        middle, i = p0, p1 - 1
        while middle <= i:
            if points[order[middle], attribute] <= cut:
                middle += 1
            else:
                order[middle], order[i] = order[i], order[middle]
                i -= 1
        # the node's own boxes are the last on the stack: both sides are written after them
        need = b1 + 2 * (b1 - b0)
        if need > boxes.shape[0]:
            boxes = np.concatenate((boxes, np.empty(2 * need - boxes.shape[0], np.int64)))
        write = b1
        for j in range(b0, b1):
            if highest[attribute, boxes[j]] > cut:
                boxes[write] = boxes[j]
                write += 1
        right_end = write
        for j in range(b0, b1):
            if lowest[attribute, boxes[j]] <= cut:
                boxes[write] = boxes[j]
                write += 1
        if top + 2 > stack.shape[0]:
            stack = np.concatenate((stack, np.empty_like(stack)))
        if middle < p1 and right_end > b1:
            stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = middle, p1, b1, right_end
            top += 1
        if p0 < middle and write > right_end:
            stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = (
                p0, middle, right_end, write,
            )  # fmt: skip
            top += 1
    return pairs[:found]


@compiled
def largest_between(values, first, beyond):
    """Give the largest value from each ``first`` on and before its ``beyond``; -1 of none.

    Two stretches of a power of two cover each query; ``table`` has the largest of every stretch.
    """
    n, levels = values.shape[0], 1
    while (1 << levels) <= n:
        levels += 1
    table = np.empty((levels, n), np.int64)
    table[0] = values
    for level in range(1, levels):
        half = 1 << (level - 1)
        for i in range(n - (1 << level) + 1):
            table[level, i] = max(table[level - 1, i], table[level - 1, i + half])
    largest = np.full(first.shape[0], -1, np.int64)
    for q in range(first.shape[0]):
        length, level = beyond[q] - first[q], 0
        if length <= 0:
            continue
        while (2 << level) <= length:
            level += 1
        largest[q] = max(table[level, first[q]], table[level, beyond[q] - (1 << level)])
    return largest
