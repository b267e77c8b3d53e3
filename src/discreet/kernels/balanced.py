"""Balanced halving: part a bucket that has every value equally often, and both sides have it so.

The people of a bucket come value by value, as many of each. Each value's people are parted at their
own median of one attribute; so the sides have as many of every value as the other, and whoever is
close together stays together. -1 is nobody's place: a counterfeit, who is anywhere.
"""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled

LARGE = 512
"""Above so many records a side is parted by its widest attribute; else by the best of all."""


@compiled
def _select(keys, n, k):
    """Put the ``k`` smallest of the first ``n`` keys, all different, before the others."""
    low, high = 0, n - 1
    while low < high:
        pivot = keys[(low + high) >> 1]
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            return


@compiled
def _part(codes, a, rows, first, lanes, start, end, wide, keys, parted):
    """Part the records of each value at the median of an attribute, into ``parted``."""
    n, half = end - start, (end - start) // 2
    for v in range(wide):
        place = first + v * lanes + start
        for j in range(n):
            row = rows[place + j]
            # whoever is nobody stands last, and apart from others
            keys[j] = ((np.int64(codes[row, a]) << 32) | row) if row >= 0 else (1 << 62) + j
        _select(keys, n, half)
        for j in range(n):
            key = keys[j]
            parted[v * n + j] = np.int64(-1) if key >= 1 << 62 else key & 0xFFFFFFFF


@compiled
def _measure(codes, sets, sizes, rows, first, step, start, end, wide, seen, stamp, extents):
    """Find the extent of some records on every attribute, as a share of its domain; count people.

    Records of value ``v`` are at ``first + v * step``, from ``start`` to ``end``.
    """
    people = 0
    d = codes.shape[1]
    for a in range(d):
        low, high, different, people = 1 << 60, -1, 0, 0
        for v in range(wide):
            for j in range(start, end):
                row = rows[first + v * step + j]
                if row < 0:
                    continue
                people += 1
                code = codes[row, a]
                low, high = min(low, code), max(high, code)
                if sets[a] and seen[a, code] != stamp:
                    seen[a, code] = stamp
                    different += 1
        width = different - 1 if sets[a] else high - low
        extents[a] = max(width, 0) / max(sizes[a] - 1, 1)
    return people


@compiled
def halve_balanced(codes, sets, sizes, rows, first, wide, lanes, least, begins, seen):
    """Halve a bucket as long as both sides have ``least`` people; mark where groups begin.

    Its records are ``lanes`` of each of ``wide`` values, from ``first`` on in ``rows``, which are
    put in the order of groups. ``seen`` is scratch: a number per attribute and code, first -1.
    """
    d = codes.shape[1]
    keys = np.empty(lanes, np.int64)
    parted, best = np.empty(lanes * wide, np.int64), np.empty(lanes * wide, np.int64)
    whole, left, right = np.empty(d), np.empty(d), np.empty(d)
    stack = np.empty((128, 2), np.int64)
    stack[0, 0], stack[0, 1] = 0, lanes
    depth, stamp = 1, 0
    while depth:
        depth -= 1
        start, end = stack[depth, 0], stack[depth, 1]
        begins[start] = True
        n, half = end - start, (end - start) // 2
        if n < 2:
            continue
        stamp += 1
        _measure(codes, sets, sizes, rows, first, lanes, start, end, wide, seen, stamp, whole)
        large = n * wide > LARGE
        least_loss, found = np.inf, -1
        for a in range(d):
            if large and a != np.argmax(whole):
                continue
            if whole[a] == 0 and not (found < 0 and a == d - 1):
                continue
            _part(codes, a, rows, first, lanes, start, end, wide, keys, parted)
            stamp += 1
            few = _measure(codes, sets, sizes, parted, 0, n, 0, half, wide, seen, stamp, left)
            stamp += 1
            many = _measure(codes, sets, sizes, parted, 0, n, half, n, wide, seen, stamp, right)
            loss = few * left.sum() + many * right.sum()
            if few >= least and many >= least and loss < least_loss:
                least_loss, found = loss, a
                best[: n * wide] = parted[: n * wide]
        if found < 0:
            continue
        for v in range(wide):
            for j in range(n):
                rows[first + v * lanes + start + j] = best[v * n + j]
        stack[depth, 0], stack[depth, 1] = start + half, end
        stack[depth + 1, 0], stack[depth + 1, 1] = start, start + half
        depth += 2
