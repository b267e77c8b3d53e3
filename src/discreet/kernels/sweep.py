"""Sweeping: try every cut of every attribute, keeping the histograms of both sides as it moves."""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled
from discreet.kernels.cuts import SET, TREE, log_bin_width
from discreet.kernels.rules import obeys


@compiled
def _both_obey(fields, rules, tables, left, right, touched, listed, distinct, m, n):
    """Whether both sides of a cut, of ``m`` and ``n - m`` rows, obey every rule."""
    for r in range(rules.shape[0]):
        f = rules[r, 1]
        base = fields[f, 4]
        if not obeys(rules, r, tables, left, touched, base, listed[f], distinct[0, f], m):
            return False
        if not obeys(rules, r, tables, right, touched, base, listed[f], distinct[1, f], n - m):
            return False
    return True


@compiled
def _shift(buffers, here, row, fields, source, target, distinct, s, t):
    """Move one row from the histogram of one side to that of the other."""
    for f in range(fields.shape[0]):
        code = (buffers[here, fields[f, 0], row] >> fields[f, 1]) & fields[f, 2]
        at = fields[f, 4] + code
        source[at] -= 1
        distinct[s, f] -= source[at] == 0
        distinct[t, f] += target[at] == 0
        target[at] += 1


@compiled
def sweep(buffers, node, attrs, least, fields, rules, tables, hist, left, right, touched, rows):
    """Find the cut that gains most among all cuts whose two sides obey every rule.

    Gives (merit, attribute, cut) with attribute -1 for none. ``hist``, ``left``, ``right`` are
    scratch and zero between calls; ``rows`` has room for the node's rows.
    """
    d, start, end, here = attrs.shape[0], node[0], node[1], node[2]
    n, many = end - start, fields.shape[0]
    listed, distinct = np.zeros(many, np.int64), np.zeros((2, many), np.int64)
    for f in range(many):
        plane, shift, mask, base = fields[f, 0], fields[f, 1], fields[f, 2], fields[f, 4]
        for i in range(start, end):
            code = (buffers[here, plane, i] >> shift) & mask
            if right[base + code] == 0:
                touched[base + listed[f]] = code
                listed[f] += 1
            right[base + code] += 1
        distinct[1, f] = listed[f]
    merit, attribute, cut = -1.0, -1, -1
    for a in range(d):
        span, low, high = attrs[a, 3], node[3 + a], node[3 + d + a]
        if attrs[a, 4] == TREE or span == 0 or node[3 + 2 * d + a] / span <= merit:
            continue
        plane, shift, mask = attrs[a, 0], attrs[a, 1], attrs[a, 2]
        log_width = log_bin_width(low, high)
        bins = ((high - low) >> log_width) + 1
        for b in range(bins + 1):
            hist[b] = 0
        for i in range(start, end):
            hist[((((buffers[here, plane, i] >> shift) & mask) - low) >> log_width) + 1] += 1
        first, last, present = -1, -1, 0
        for b in range(bins):
            if hist[b + 1]:
                if first < 0:
                    first = b
                last = b
                present += 1
            hist[b + 1] += hist[b]
        # rows in the order of their bins; afterwards hist[b] is where bin b ends
        for i in range(start, end):
            b = (((buffers[here, plane, i] >> shift) & mask) - low) >> log_width
            rows[hist[b]] = i
            hist[b] += 1
        as_set = attrs[a, 4] == SET and log_width == 0
        width = present - 1 if as_set else last - first
        best_gain, best, moved, seen, b = -1, -1, 0, 0, first
        while b < last:
            if n - hist[b] < least:
                break
            while moved < hist[b]:
                _shift(buffers, here, rows[moved], fields, right, left, distinct, 1, 0)
                moved += 1
            seen += 1
            after = b + 1
            while hist[after] == moved:
                after += 1
            if moved >= least:
                left_width, right_width = seen - 1, width - seen
                if not as_set:
                    left_width, right_width = b - first, last - after
                gain = n * width - moved * left_width - (n - moved) * right_width
                wins = gain > best_gain and (gain << log_width) / n / span > merit
                if wins and _both_obey(
                    fields, rules, tables, left, right, touched, listed, distinct, moved, n
                ):
                    best_gain, best = gain, b
            b = after
        if best >= 0:
            merit = (best_gain << log_width) / n / span
            attribute, cut = a, low + ((best + 1) << log_width) - 1
        for j in range(moved):
            _shift(buffers, here, rows[j], fields, left, right, distinct, 0, 1)
    for f in range(many):
        for j in range(listed[f]):
            right[fields[f, 4] + touched[fields[f, 4] + j]] = 0
    return merit, attribute, cut
