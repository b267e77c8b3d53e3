"""Runs of a sorted column: where to cut it so that every run is wide and varied enough.

A column is given by its different ``values``, ascending, and how many rows have each. A run of rows
is valid if it has at least ``k`` distinct values over a range of at least ``e``, one of which asks
for more than one value. Whether it is depends on its first and its last value alone, so all rows of
a value have the same valid left ends: all rows up to a latest value, which never moves back. What
the rows up to some row cost is then the same for all rows of a value, and of the rows at which a
run may begin only a value's first and its last need be looked at: before the first comes another
value, before all others the same.
"""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled

INFINITE = np.int64(2**62)


@compiled
def cut_for_sum(values, counts, k, e):
    """Least sum of ranges: f(i) = x_i + min over valid d of (f(d - 1) - x_d), a running minimum.

    Gives, per value, the row at which the last run begins of all rows up to one that has it; -1
    where no partition of these is valid. Of equal costs the latest row is taken.
    """
    m = values.shape[0]
    f = np.full(m + 1, INFINITE, np.int64)  # f[b + 1] is the cost of the rows up to value b
    f[0] = 0
    left = np.full(m, -1, np.int64)
    best, at, latest, row = INFINITE, np.int64(-1), 0, np.int64(0)
    for b in range(m):
        while b - latest + 1 >= k and values[b] - values[latest] >= e:
            if f[latest] < INFINITE and f[latest] - values[latest] <= best:
                best, at = f[latest] - values[latest], row
            row += counts[latest]
            again = f[latest + 1]  # what rows cost of which the last have the value, too
            if counts[latest] > 1 and again < INFINITE and again - values[latest] <= best:
                best, at = again - values[latest], row - 1
            latest += 1
        if at >= 0:
            f[b + 1] = values[b] + best
            left[b] = at
    return left


@compiled
def cut_for_max(values, counts, k, e):
    """Least largest range: g(i) = min over valid d of max(g(d - 1), x_i - x_d).

    A left end is dominated by a later one whose g is no larger, so the candidates kept have
    growing g and shrinking ranges; the best of them only moves to the right.
    """
    m = values.shape[0]
    g = np.full(m + 1, INFINITE, np.int64)
    g[0] = 0
    left = np.full(m, -1, np.int64)
    queue, costs, rows = (
        np.empty(2 * m, np.int64),
        np.empty(2 * m, np.int64),
        np.empty(2 * m, np.int64),
    )
    front, back, latest, row = 0, 0, 0, np.int64(0)
    for b in range(m):
        while b - latest + 1 >= k and values[b] - values[latest] >= e:
            for last in range(2 if counts[latest] > 1 else 1):
                cost = g[latest + last]
                if cost < INFINITE:
                    while back > front and costs[back - 1] >= cost:
                        back -= 1
                    queue[back], costs[back] = values[latest], cost
                    rows[back] = row + counts[latest] - 1 if last else row
                    back += 1
            row += counts[latest]
            latest += 1
        while back - front > 1:
            here, there = front, front + 1
            if max(costs[there], values[b] - queue[there]) > max(
                costs[here], values[b] - queue[here]
            ):
                break
            front += 1
        if back > front:
            left[b] = rows[front]
            g[b + 1] = max(costs[front], values[b] - queue[front])
    return left


@compiled
def cut_for_count(values, counts, k, e):
    """Most runs: close each as soon as it is valid; what remains joins the last.

    Gives the row at which every run begins.
    """
    m = values.shape[0]
    starts = np.empty(m + 1, np.int64)
    found, row, first = 0, np.int64(0), 0  # the run that is open begins at a row of value `first`
    start = np.int64(0)
    for b in range(m):
        if b - first + 1 >= k and values[b] - values[first] >= e:
            starts[found] = start
            found += 1
            start = row + 1
            first = b if counts[b] > 1 else b + 1
        row += counts[b]
    return starts[:found]


@compiled
def close_greedily(xs, order, size, k, e):
    """Walk rows in a given order and close a group as soon as it is valid.

    Gives each row's group along the order; what remains joins the last group.
    """
    n = order.shape[0]
    labels = np.zeros(n, np.int64)
    seen = np.full(size, -1, np.int64)
    group, distinct, low, high = 0, 0, INFINITE, -INFINITE
    for j in range(n):
        code = order[j]
        labels[j] = group
        if seen[code] != group:
            seen[code] = group
            distinct += 1
        low, high = min(low, xs[code]), max(high, xs[code])
        if distinct >= k and high - low >= e:
            group, distinct, low, high = group + 1, 0, INFINITE, -INFINITE
    for j in range(n):
        labels[j] = min(labels[j], max(group - 1, 0))
    return labels
