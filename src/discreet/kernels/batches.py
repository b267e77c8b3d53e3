"""Batches of different codes, filled along an order of the rows."""

from __future__ import annotations

from heapq import heapify, heappop, heappush

import numpy as np

from discreet.kernels import compiled


@compiled
def fill_batches(order, codes, counts, q):
    """Give each row a batch of at least ``q`` rows, all of different codes.

    Each batch takes the codes whose next row comes first in the order, and every code that can
    wait no longer: one with as many rows left as there are batches to come. No code may have more
    than ``n // q`` rows; then the last batch comes out even.
    """
    n, size = order.shape[0], counts.shape[0]
    ends = np.cumsum(counts)
    heads = ends - counts
    queue, fill = np.empty(n, np.int64), heads.copy()
    for place in range(n):
        code = codes[order[place]]
        queue[fill[code]] = place
        fill[code] += 1

    total = n // q
    # a code is due when its rows left equal the batches left; being taken puts that off by one
    due = np.empty(size, np.int64)
    first, following = np.full(total + 1, -1, np.int64), np.full(size, -1, np.int64)
    waiting = [np.int64(0) for _ in range(0)]  # codes by the place of their next row
    for code in range(size):
        due[code] = total - counts[code]
        if counts[code] > 0:
            following[code] = first[due[code]]
            first[due[code]] = code
            waiting.append((queue[heads[code]] << 32) | np.int64(code))
    heapify(waiting)

    labels = np.empty(n, np.int64)
    taken_in = np.full(size, -1, np.int64)
    taken = np.empty(size, np.int64)
    left = n
    for batch in range(total):
        wanted = -(-left // (total - batch))
        found = 0
        code = first[batch]
        while code >= 0:
            later = following[code]
            if due[code] == batch and heads[code] < ends[code]:
                taken[found] = code
                found += 1
                taken_in[code] = batch
            elif due[code] > batch:  # it was taken since: it is due later
                following[code] = first[due[code]]
                first[due[code]] = code
            code = later
        while found < wanted:
            entry = heappop(waiting)
            code = entry & 0xFFFFFFFF
            if taken_in[code] == batch or entry >> 32 != queue[min(heads[code], n - 1)]:
                continue  # it was taken as due, and comes back with its next row
            taken[found] = code
            found += 1
            taken_in[code] = batch
        for j in range(found):
            code = taken[j]
            labels[order[queue[heads[code]]]] = batch
            heads[code] += 1
            due[code] += 1
        left -= found
        for j in range(found):
            code = taken[j]
            if heads[code] < ends[code]:
                heappush(waiting, (queue[heads[code]] << 32) | np.int64(code))
                if due[code] == batch + 1:  # was due now, and will be again
                    following[code] = first[batch + 1]
                    first[batch + 1] = code
    return labels
