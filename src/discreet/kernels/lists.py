"""Lists of numbers, one behind the other, and what they have in common."""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled


@compiled
def _are_same(offsets, values, one, other):
    """Whether two lists hold the same, in the same order."""
    length = offsets[one + 1] - offsets[one]
    if offsets[other + 1] - offsets[other] != length:
        return False
    j = 0
    while j < length and values[offsets[one] + j] == values[offsets[other] + j]:
        j += 1
    return j == length


@compiled
def number_lists(offsets, values):
    """Number lists by what they hold, in the order in which each is first met.

    List ``i`` is ``values[offsets[i]:offsets[i + 1]]``. Gives the number of each, and of each
    number the first list.
    """
    count = offsets.shape[0] - 1
    size = 16
    while size < 2 * count:
        size *= 2
    places = np.full(size, -1, np.int64)  # where a list is looked for by its hash
    hashes, firsts = np.empty(count, np.uint64), np.empty(count, np.int64)
    numbers, found = np.empty(count, np.int64), 0
    for i in range(count):
        mixed = np.uint64(0x9E3779B97F4A7C15)
        for j in range(offsets[i], offsets[i + 1]):
            mixed = (mixed ^ np.uint64(values[j])) * np.uint64(0xFF51AFD7ED558CCD)
            mixed ^= mixed >> np.uint64(32)
        at = mixed & np.uint64(size - 1)
        while places[at] >= 0:
            number = places[at]
            if hashes[number] == mixed and _are_same(offsets, values, firsts[number], i):
                break
            at = (at + np.uint64(1)) & np.uint64(size - 1)
        if places[at] < 0:
            places[at], hashes[found], firsts[found] = found, mixed, i
            found += 1
        numbers[i] = places[at]
    return numbers, firsts[:found]


@compiled
def gather_lists(pairs, owners, size):
    """Give each owner a list of what stands beside them in pairs, ascending, of so many numbers.

    Gives where lists start and end, and what they hold. Pairs are dealt out by their numbers, then
    by their owners: that takes a step for each, however many there are.
    """
    n = pairs.shape[0]
    ends, offsets = np.zeros(size + 1, np.int64), np.zeros(owners + 1, np.int64)
    for i in range(n):
        ends[pairs[i, 1] + 1] += 1
        offsets[pairs[i, 0] + 1] += 1
    for value in range(size):
        ends[value + 1] += ends[value]
    for owner in range(owners):
        offsets[owner + 1] += offsets[owner]
    dealt, at = np.empty(n, np.int64), ends[:-1].copy()
    for i in range(n):
        dealt[at[pairs[i, 1]]] = pairs[i, 0]
        at[pairs[i, 1]] += 1
    values, at = np.empty(n, np.int64), offsets[:-1].copy()
    for value in range(size):
        for i in range(ends[value], ends[value + 1]):
            values[at[dealt[i]]] = value
            at[dealt[i]] += 1
    return offsets, values
