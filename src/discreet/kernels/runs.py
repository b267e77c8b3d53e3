"""Runs of a sorted column: where to cut it so that every run is wide and varied enough.

``xs`` ascends. A run from d to i (both included) is valid if it has at least ``k`` distinct values
over a range of at least ``e``. For each i the valid left ends are a prefix 0..latest, and latest
never moves back, so one pointer serves all of them; ``distinct`` counts the values from it to i.
"""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled

INFINITE = np.int64(2**62)


@compiled
def cut_for_sum(xs, k, e):
    """Least sum of ranges: f(i) = x_i + min over valid d of (f(d - 1) - x_d), a running minimum.

    Gives the left end of the last run for each prefix; -1 where no partition of it is valid.
    """
    n = xs.shape[0]
    f = np.full(n + 1, INFINITE, np.int64)  # f[i + 1] is the cost of the first i + 1 values
    f[0] = 0
    left = np.full(n, -1, np.int32)
    best, at, latest, distinct = INFINITE, -1, 0, 0
    for i in range(n):
        distinct += 1 if i == 0 or xs[i] != xs[i - 1] else 0
        while latest <= i and distinct >= k and xs[i] - xs[latest] >= e:
            if f[latest] < INFINITE and f[latest] - xs[latest] <= best:
                best, at = f[latest] - xs[latest], latest
            latest += 1
            distinct -= 1 if latest <= i and xs[latest] != xs[latest - 1] else 0
        if at >= 0:
            f[i + 1] = xs[i] + best
            left[i] = at
    return left


@compiled
def cut_for_max(xs, k, e):
    """Least largest range: g(i) = min over valid d of max(g(d - 1), x_i - x_d).

    A left end is dominated by a later one whose g is no larger, so the candidates kept have
    growing g and shrinking ranges; the best of them only moves to the right.
    """
    n = xs.shape[0]
    g = np.full(n + 1, INFINITE, np.int64)
    g[0] = 0
    left = np.full(n, -1, np.int32)
    queue = np.empty(n, np.int64)
    front, back, latest, distinct = 0, 0, 0, 0
    for i in range(n):
        distinct += 1 if i == 0 or xs[i] != xs[i - 1] else 0
        while latest <= i and distinct >= k and xs[i] - xs[latest] >= e:
            if g[latest] < INFINITE:
                while back > front and g[queue[back - 1]] >= g[latest]:
                    back -= 1
                queue[back] = latest
                back += 1
            latest += 1
            distinct -= 1 if latest <= i and xs[latest] != xs[latest - 1] else 0
        while back - front > 1:
            here, there = queue[front], queue[front + 1]
            if max(g[there], xs[i] - xs[there]) > max(g[here], xs[i] - xs[here]):
                break
            front += 1
        if back > front:
            left[i] = queue[front]
            g[i + 1] = max(g[queue[front]], xs[i] - xs[queue[front]])
    return left


@compiled
def cut_for_count(xs, k, e):
    """Most runs: close each as soon as it is valid; what remains joins the last.

    Gives the left end of the last run for each prefix that ends a run, else -1.
    """
    n = xs.shape[0]
    left = np.full(n, -1, np.int32)
    start, last, distinct = 0, -1, 0
    for i in range(n):
        distinct += 1 if i == start or xs[i] != xs[i - 1] else 0
        if distinct >= k and xs[i] - xs[start] >= e:
            left[i] = start
            last, start, distinct = start, i + 1, 0
    if start < n and last >= 0:
        left[n - 1] = last
    return left


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
