"""Most groups of a column of numbers: how many there can be, and who is in which.

A column is given by its different ``values``, ascending, and by ``ends``, how many rows have each
or a smaller one; a stretch of its rows in this order by the first row and the first beyond. A group
is valid if it has at least ``k`` distinct values over a range of at least ``e``, one of which asks
for more than one value. It may have rows from anywhere.

**Theorem.** Let y be the rows of a stretch without those of any value beyond its first g, N of
them. There are g valid groups if and only if N ≥ g·k, and y[N - g + i] - y[i] ≥ e for all i < g.

*Proof.* Only if: of g groups with k different values each, every value is counted at most g times,
so N ≥ g·k; and take the least and the largest number of each: of g least ones, in order, the i-th
is at least y[i], of the largest at most y[N - g + i], and numbers that are pairwise e apart are so
in order, too. If: leave out the last N mod g of the rows between the first g and the last g, of
which there are as many since k ≥ 2 (k = 1 with e = 0 makes everybody a group). Row j of what is
left goes to group j mod g: rows of one value go to different groups, so a group has as many values
as rows, at least k; and it has y[i] and y[N - g + i] for one i. All other rows join any group. ∎

What was left out lies between the least and the largest number of every group and widens none.
"""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled

PARTS = 16
"""Where a stretch is tried to be cut: after so many parts of its groups."""


@compiled
def has_room(values, ends, start, stop, groups, k, e):
    """Whether a stretch of rows can be so many valid groups."""
    first = np.searchsorted(ends, start, side="right")
    last = np.searchsorted(ends, stop - 1, side="right")
    total = 0
    for v in range(first, last + 1):
        total += min(_count(ends, v, start, stop), groups)
    if total < groups * k:
        return False
    if e <= 0:
        return True
    low, high, above = first, last, 0
    while above + min(_count(ends, high, start, stop), groups) < groups:
        above += min(_count(ends, high, start, stop), groups)
        high -= 1
    low_left, high_left = min(_count(ends, low, start, stop), groups), groups - above
    left = groups
    while True:
        if values[high] - values[low] < e:
            return False
        step = min(low_left, high_left)
        left -= step
        if left <= 0:
            return True
        low_left -= step
        high_left -= step
        if low_left == 0:
            low += 1
            low_left = min(_count(ends, low, start, stop), groups)
        if high_left == 0:
            high += 1
            high_left = min(_count(ends, high, start, stop), groups)


@compiled
def _count(ends, value, start, stop):
    """Count the rows of a stretch that have a value."""
    before = ends[value - 1] if value else 0
    return min(ends[value], stop) - max(before, start)


@compiled
def count_most(values, ends, start, stop, k, e):
    """Count the most valid groups of a stretch, by halving: fewer can be made of more."""
    most, beyond = 0, (stop - start) // k + 1
    while beyond - most > 1:
        tried = (most + beyond) // 2
        if has_room(values, ends, start, stop, tried, k, e):
            most = tried
        else:
            beyond = tried
    return most


@compiled
def cut_and_deal(values, ends, k, e):
    """Give each row the group it is in, of as many as there can be.

    Stretches are cut in two as long as no group is lost by it: at the shortest beginning that has
    room for some of the groups, if the rest has room for the others. So groups get narrow where
    they can; what is not cut is dealt.
    """
    n = ends[-1]
    label = np.zeros(n, np.int64)
    most = count_most(values, ends, 0, n, k, e)
    todo = [(np.int64(0), np.int64(n), np.int64(most))]
    found = np.int64(0)
    while todo:
        start, stop, groups = todo.pop()
        cut, here = np.int64(-1), np.int64(0)
        parts = PARTS if groups > 1 else 1
        step = parts // 2
        while step and cut < 0:  # 1/2, then 1/4 and 3/4, and so on
            for part in range(step, parts, 2 * step):
                here = max(groups * part // parts, np.int64(1))
                beginning = _begin(values, ends, start, stop, here, k, e)
                if has_room(values, ends, beginning, stop, groups - here, k, e):
                    cut = beginning
                    break
            step //= 2
        if cut >= 0:
            todo.append((cut, stop, groups - here))
            todo.append((start, cut, here))
            continue
        _deal(ends, start, stop, groups, found, label)
        found += groups
    return label


@compiled
def _begin(values, ends, start, stop, groups, k, e):
    """Give the shortest beginning of a stretch that can be so many groups, which all of it can."""
    short, enough = start + groups * k - 1, stop
    while enough - short > 1:
        tried = (short + enough) // 2
        if has_room(values, ends, start, tried, groups, k, e):
            enough = tried
        else:
            short = tried
    return enough


@compiled
def _deal(ends, start, stop, groups, first, label):
    """Deal the rows of a stretch in their order, those that are not needed afterwards."""
    low = np.searchsorted(ends, start, side="right")
    high = np.searchsorted(ends, stop - 1, side="right")
    total = 0
    for v in range(low, high + 1):
        total += min(_count(ends, v, start, stop), groups)
    kept = total - total % groups
    row, place, spare = start, 0, 0  # `place` counts rows without those of a value beyond its first
    for v in range(low, high + 1):
        for copy in range(_count(ends, v, start, stop)):
            if copy >= groups or (kept - groups <= place < total - groups):
                label[row] = first + spare % groups
                spare += 1
            else:
                at = place if place < kept - groups else place - (total - kept)
                label[row] = first + at % groups
            place += copy < groups
            row += 1
