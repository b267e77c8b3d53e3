"""Groups of a sorted column that may interlock: the smallest largest range, exactly.

Works on the distinct ``values``, ascending. A group holds values from its start to its end. At
most two groups are open at any value, so a value held by two or more people serves both, and
only values of one person (``single``) must be shared out. What the groups so far leave to the
rest is a state of three numbers: the start of the open group, how many single values from there
on its predecessor keeps (``lost``), and the predecessor's end (``behind``), after which the next
group may start. Fewer lost and an earlier end are better, nothing else counts.
"""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled


@compiled
def bound_below(values, first, k):
    """Largest, over values, of the narrowest valid interval around it: no error is smaller.

    ``first[a]`` is the first value at least e above value a, or the number of values.
    """
    size = values.shape[0]
    narrowest = np.empty(size, np.int64)  # a queue of starts with growing widths
    front, back, entered, latest, worst = 0, 0, 0, -1, np.int64(0)
    for i in range(size):
        # intervals that start at or before i; those that end before i are stretched to end there
        while entered <= i:
            end = max(first[entered], entered + k - 1)
            if end < size:
                width = values[end] - values[entered]
                while back > front:
                    at = narrowest[back - 1]
                    if values[max(first[at], at + k - 1)] - values[at] < width:
                        break
                    back -= 1
                narrowest[back] = entered
                back += 1
            entered += 1
        while front < back:
            at = narrowest[front]
            if max(first[at], at + k - 1) >= i:
                break
            front += 1
        while latest + 1 <= i and max(first[latest + 1], latest + k) <= i:
            latest += 1
        best = np.int64(2**62)
        if front < back:
            at = narrowest[front]
            best = values[max(first[at], at + k - 1)] - values[at]
        if latest >= 0:
            best = min(best, values[i] - values[latest])
        worst = max(worst, best)
    return worst


@compiled
def _find(owner, i):
    """Give the first place from i on that is not painted, shortening the way for the next."""
    root = i
    while owner[root] != root:
        root = owner[root]
    while owner[i] != root:
        owner[i], i = root, owner[i]
    return root


@compiled
def _paint(free, by, low, high, state):
    """Mark all unmarked places from low to high as reached from a state."""
    at = _find(free, low)
    while at <= high:
        by[at] = state
        free[at] = at + 1
        at = _find(free, at)


@compiled
def chain_groups(values, single, first, k, error):
    """Chain groups of range at most ``error`` over all values, or give an empty chain.

    One row per group: its start, how many single values from there its predecessor keeps, its end.
    """
    size = values.shape[0]
    doubles = np.zeros(size + 1, np.int64)
    following = np.full(size + 1, size, np.int64)  # the first value from here on of two or more
    for i in range(size):
        doubles[i + 1] = doubles[i] + (0 if single[i] else 1)
    for i in range(size - 1, -1, -1):
        following[i] = following[i + 1] if single[i] else i

    # states, in the order of their starts
    starts, losts = np.empty(size + 1, np.int32), np.empty(size + 1, np.int32)
    behinds, parents = np.empty(size + 1, np.int32), np.empty(size + 1, np.int32)
    count = 0

    # what later starts are reached with: near ones by the number lost, far ones as intervals
    reach = 2 * k + 2
    near = np.full((reach, k + 2), size, np.int32)
    source = np.full((reach, k + 2), -1, np.int32)
    apart, sharing = np.full(size + 2, -1, np.int32), np.full(size + 2, -1, np.int32)
    beyond, doubled = np.full(size + 2, -1, np.int32), np.full(size + 2, -1, np.int32)
    free_apart, free_sharing = np.arange(size + 3), np.arange(size + 3)
    free_doubled = np.arange(size + 3)
    near[0, 0] = -1

    last, alive = 0, 0  # the last value within the error of a; the last start that was reached
    for a in range(size):
        if a > alive:
            break
        while last + 1 < size and values[last + 1] - values[a] <= error:
            last += 1
        row = a % reach
        if apart[a] >= 0 and a - 1 < near[row, 0]:
            near[row, 0], source[row, 0] = a - 1, apart[a]
        if sharing[a] >= 0:
            end = first[starts[sharing[a]]]
            lost = 1 if single[end] else 0
            if end < near[row, lost]:
                near[row, lost], source[row, lost] = end, sharing[a]
        if beyond[a] >= 0:
            lost = 1 if single[a + 1] else 0
            if a + 1 < near[row, lost]:
                near[row, lost], source[row, lost] = a + 1, beyond[a]
        if doubled[a] >= 0:
            end = following[first[starts[doubled[a]]]]
            if end < near[row, 0]:
                near[row, 0], source[row, 0] = end, doubled[a]

        earliest = size  # of the predecessors' ends seen with fewer lost
        for lost in range(k + 2):
            behind = near[row, lost]
            parent = source[row, lost]
            near[row, lost] = size
            if behind >= earliest:
                continue
            earliest = behind
            if count == starts.shape[0]:
                starts = np.concatenate((starts, np.empty(count, np.int32)))
                losts = np.concatenate((losts, np.empty(count, np.int32)))
                behinds = np.concatenate((behinds, np.empty(count, np.int32)))
                parents = np.concatenate((parents, np.empty(count, np.int32)))
            state = count
            starts[state], losts[state], behinds[state], parents[state] = a, lost, behind, parent
            count += 1

            narrow = first[a]  # where the range reaches e
            if last == size - 1 and narrow < size and size - a - lost >= k:
                return _trace(starts, losts, behinds, parents, state, size)
            enough = a + lost + k  # from here on the group has k values of its own
            shortest = max(narrow, enough - 1)
            if shortest > last:
                continue
            # the next group starts right after this one ends
            _paint(free_apart, apart, shortest + 1, last + 1, state)
            alive = max(alive, last + 1)
            # it starts inside, where this one already has enough and only waits for its range
            begin = max(behind + 1, enough)
            if begin <= narrow:
                _paint(free_sharing, sharing, begin, narrow - (1 if single[narrow] else 0), state)
                if following[narrow] <= last:
                    _paint(free_doubled, doubled, begin, narrow, state)
                if single[narrow] and narrow < last:
                    beyond[narrow] = state  # cannot both end and start on one single value
            # it starts where the two have to share
            stop = min(enough - 1, last)
            for start in range(max(behind, a) + 1, stop + 1):
                one = 1 if single[start] else 0
                end = max(narrow, enough - 1 + one, start + one)
                while end <= last:
                    kept = enough - start - (doubles[end + 1] - doubles[start])
                    kept = max(kept, 1 if single[end] else 0)
                    place = start % reach
                    if end < near[place, kept]:
                        near[place, kept], source[place, kept] = end, state
                    if kept == 0:
                        break
                    end = following[end + 1]
    return np.empty((0, 3), np.int64)


@compiled
def chain_narrowly(values, single, first, k, error):
    """Chain groups of the smallest largest range, or give an empty chain if that is ``error``.

    No group spans a gap wider than the error, so the pieces between such gaps are searched one
    by one, and only those that cannot keep the error the others need. Their order is stirred:
    pieces that need ever more would otherwise all be searched.
    """
    size = values.shape[0]
    ends = np.empty(size, np.int64)
    pieces = 0
    for i in range(size):
        if i + 1 == size or values[i + 1] - values[i] > error:
            ends[pieces] = i + 1
            pieces += 1
    stride = max(1, int(pieces * 0.618))
    while np.gcd(stride, pieces) > 1:
        stride += 1
    chains = np.full((size, 3), -1, np.int64)  # of each piece, from its first value on
    low, piece = bound_below(values, first, k), 0
    for _ in range(pieces):
        if low == error:
            return np.empty((0, 3), np.int64)
        begin, end = (ends[piece - 1] if piece else 0), ends[piece]
        part, alone = values[begin:end], single[begin:end]
        reaching = np.minimum(first[begin:end] - begin, end - begin)
        chain = chain_groups(part, alone, reaching, k, low)
        if chain.shape[0] == 0:
            failed, low = low, error
            while low - failed > 1:
                middle = (failed + low) // 2
                narrower = chain_groups(part, alone, reaching, k, middle)
                if narrower.shape[0]:
                    chain, low = narrower, middle
                else:
                    failed = middle
        for j in range(chain.shape[0]):
            chains[begin + j, 0], chains[begin + j, 2] = begin + chain[j, 0], begin + chain[j, 2]
            chains[begin + j, 1] = chain[j, 1]
        piece = (piece + stride) % pieces
    if low == error:
        return np.empty((0, 3), np.int64)
    return chains[chains[:, 0] >= 0]


@compiled
def _trace(starts, losts, behinds, parents, state, size):
    length, at = 0, state
    while at >= 0:
        length, at = length + 1, parents[at]
    chain = np.empty((length, 3), np.int64)
    end = size - 1
    for j in range(length - 1, -1, -1):
        chain[j, 0], chain[j, 1], chain[j, 2] = starts[state], losts[state], end
        end, state = behinds[state], parents[state]
    return chain


@compiled
def share_out(counts, chain):
    """Cut the rows of a sorted column, ``counts`` per value, into runs of the same group.

    Gives the row at which each begins, and its group. Where two groups overlap, the later single
    values stay with the earlier group, as many as the chain says it keeps, and of a value of
    several people both groups get half.
    """
    m = counts.shape[0]
    starts, groups = np.empty(2 * m, np.int64), np.empty(2 * m, np.int64)
    kept = np.zeros(m, np.bool_)  # single values that stay with the earlier group
    for j in range(1, chain.shape[0]):
        left, at = chain[j, 1], chain[j - 1, 2]
        while left > 0:
            if counts[at] == 1:
                kept[at] = True
                left -= 1
            at -= 1
    group, row, found = 0, np.int64(0), 0
    for value in range(m):
        while chain[group, 2] < value:
            group += 1
        both = group + 1 < chain.shape[0] and chain[group + 1, 0] <= value
        first = counts[value]  # how many rows stay with the earlier group
        if both:
            first = (1 if kept[value] else 0) if first == 1 else (first + 1) // 2
        if first > 0:
            starts[found], groups[found] = row, group
            found += 1
        if first < counts[value]:
            starts[found], groups[found] = row + first, group + 1
            found += 1
        row += counts[value]
    return starts[:found], groups[:found]
