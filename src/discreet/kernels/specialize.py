"""Specialization: split partitions of rows by the children of a node, and look one step ahead.

Rows are distinct combinations of codes, with weights; ``order`` lists them partition by partition.
A node of an attribute covers codes up to ``high``; its children are consecutive, in the order of
their codes.
"""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled


@compiled
def split_rows(order, starts, ends, codes, a, first, count, high, scratch):
    """Order the rows of some partitions by child; write, per partition and child, where it ends."""
    bounds = np.empty((starts.shape[0], count), np.int64)
    sizes = np.empty(count + 1, np.int64)
    for p in range(starts.shape[0]):
        sizes[:] = 0
        for i in range(starts[p], ends[p]):
            child = 0
            while high[first + child] < codes[order[i], a]:
                child += 1
            sizes[child + 1] += 1
            scratch[i] = child
        for child in range(count):
            sizes[child + 1] += sizes[child]
            bounds[p, child] = starts[p] + sizes[child + 1]
        moved = order[starts[p] : ends[p]].copy()
        for i in range(starts[p], ends[p]):
            child = scratch[i]
            order[starts[p] + sizes[child]] = moved[i - starts[p]]
            sizes[child] += 1
    return bounds


@compiled
def look_ahead(order, starts, ends, nodes, codes, firsts, counts, high, offsets, weights, places):
    """Weigh the children that every partition would have by each attribute.

    ``nodes`` has a row per partition: its node of each attribute, numbered over all attributes.
    ``places`` says where the children of a partition by an attribute stand in the result.
    """
    found = np.zeros(offsets, np.int64)
    for p in range(starts.shape[0]):
        for i in range(starts[p], ends[p]):
            row = order[i]
            for a in range(codes.shape[1]):
                node = nodes[p, a]
                if counts[node]:
                    first = firsts[node]
                    child = first
                    while high[child] < codes[row, a]:
                        child += 1
                    found[places[p, a] + child - first] += weights[row]
    return found


@compiled
def look_at_values(
    order, starts, ends, nodes, codes, firsts, counts, high, offsets, weights, places, values,
    kinds, above, below,
):  # fmt: skip
    """The same for what goes with rows: how many different values each child would have.

    Also the largest share, among its rows, of any value that matters, and whether one has more than
    ``above[value] / below[value]`` of them. Values matter where ``below`` is not 0.
    """
    different = np.zeros(offsets, np.int64)
    largest = np.zeros(offsets)
    broken = np.zeros(offsets, np.bool_)
    widest = 1
    for node in range(counts.shape[0]):
        widest = max(widest, counts[node])
    tally = np.zeros((widest, kinds), np.int64)
    total = np.zeros(widest, np.int64)
    for p in range(starts.shape[0]):
        for a in range(codes.shape[1]):
            node = nodes[p, a]
            if counts[node] == 0:
                continue
            first, place = firsts[node], places[p, a]
            for i in range(starts[p], ends[p]):
                row = order[i]
                child = 0
                while high[first + child] < codes[row, a]:
                    child += 1
                if tally[child, values[row]] == 0:
                    different[place + child] += 1
                tally[child, values[row]] += weights[row]
                total[child] += weights[row]
            for i in range(starts[p], ends[p]):
                row = order[i]
                value = values[row]
                child = 0
                while high[first + child] < codes[row, a]:
                    child += 1
                held = tally[child, value]
                if held and below[value]:
                    largest[place + child] = max(largest[place + child], held / total[child])
                    if held * below[value] > above[value] * total[child]:
                        broken[place + child] = True
                tally[child, value] = 0
            for child in range(counts[node]):
                total[child] = 0
    return different, largest, broken


@compiled
def tally_values(
    order, starts, ends, nodes, codes, firsts, counts, high, offsets, weights, places, values, kinds
):
    """Weigh every value of the children that partitions would have by each attribute."""
    found = np.zeros((offsets, kinds), np.int64)
    for p in range(starts.shape[0]):
        for i in range(starts[p], ends[p]):
            row = order[i]
            for a in range(codes.shape[1]):
                node = nodes[p, a]
                if counts[node]:
                    first = firsts[node]
                    child = first
                    while high[child] < codes[row, a]:
                        child += 1
                    found[places[p, a] + child - first, values[row]] += weights[row]
    return found
