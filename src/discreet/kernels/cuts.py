"""Choosing cuts: count an attribute's codes in a node and see where cutting gains most.

Attributes come in three kinds. A RANGE is as wide as its extent; a SET is as wide as the number
of its values present; a TREE is as wide as the lowest common ancestor of its values and splits
into all children of it at once, so that no two results ever share an ancestor's leaves.

A node is one row of integers: start, end, buffer, then low, high and width of every attribute,
which bound the extent of its rows. Where rows are elsewhere, ``tallies`` counts every code of every
attribute among them, one attribute after the other; where they are at hand it is empty.
"""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled

RANGE, SET, TREE = range(3)
BINS = 512
"""An attribute with a longer extent is scanned in this many bins; 2 to the 9 is a zoom's step."""
SMALL = 4096
"""From this size down a node looks for the best cut instead of halving its widest attribute."""
AT_HAND = np.zeros(0, np.int64)
"""The tallies of rows that are scanned themselves."""
UNSEEN, HOPELESS = -2.0, -1.0
"""Merits of an attribute that was not looked at, and of one that has no cut."""


@compiled
def log_bin_width(low, high):
    """Base-2 logarithm of the width that bins need so that BINS of them span an extent."""
    log_width = 0
    while ((high - low) >> log_width) >= BINS:
        log_width += 1
    return log_width


@compiled
def start_tallies(attrs, a):
    """Where the counts of an attribute's codes start among those of all."""
    first = 0
    for i in range(a):
        first += attrs[i, 3] + 1
    return first


@compiled
def _scan(buffers, node, attrs, a, low, log_width, bins, hist, tallies):
    """Count rows per bin of one attribute."""
    start, end, here = node[0], node[1], node[2]
    plane, shift, mask = attrs[a, 0], attrs[a, 1], attrs[a, 2]
    for b in range(bins):
        hist[b] = 0
    if tallies.shape[0]:
        first = start_tallies(attrs, a)
        for code in range(low, node[3 + attrs.shape[0] + a] + 1):
            hist[(code - low) >> log_width] += tallies[first + code]
    elif log_width:
        for i in range(start, end):
            hist[(((buffers[here, plane, i] >> shift) & mask) - low) >> log_width] += 1
    else:
        for i in range(start, end):
            hist[np.uint64(((buffers[here, plane, i] >> shift) & mask) - low)] += 1


@compiled
def _zoom(buffers, node, attrs, a, low, log_width, bins, hist, least, tallies):
    """Find a cut inside the fullest bin where none between bins leaves enough on both sides."""
    start, end, here = node[0], node[1], node[2]
    plane, shift, mask = attrs[a, 0], attrs[a, 1], attrs[a, 2]
    n, before = end - start, 0
    while log_width > 0:
        fullest = 0
        for b in range(bins):
            if hist[b] > hist[fullest]:
                fullest = b
        for b in range(fullest):
            before += hist[b]
        low += fullest << log_width
        high = low + (1 << log_width) - 1
        log_width = max(0, log_width - 9)
        bins = ((high - low) >> log_width) + 1
        for b in range(bins):
            hist[b] = 0
        if tallies.shape[0]:
            first = start_tallies(attrs, a)
            for code in range(low, min(high, attrs[a, 3]) + 1):
                hist[(code - low) >> log_width] += tallies[first + code]
        else:
            for i in range(start, end):
                code = (buffers[here, plane, i] >> shift) & mask
                if low <= code <= high:
                    hist[(code - low) >> log_width] += 1
        left, best, off_middle = before, -1, n + 1
        for b in range(bins - 1):
            left += hist[b]
            if left >= least and n - left >= least and abs(2 * left - n) < off_middle:
                off_middle, best = abs(2 * left - n), b
        if best >= 0:
            return low + ((best + 1) << log_width) - 1
    return -1


@compiled
def measure_ancestor(attrs, a, low, high, trees):
    """Depth of the lowest common ancestor of two leaves, and how many leaves it has."""
    table, height, leaves = attrs[a, 5], attrs[a, 6], attrs[a, 3] + 1
    depth = 0
    while depth + 1 < height:
        below = trees[table + low * height + depth + 1]
        if below < 0 or below != trees[table + high * height + depth + 1]:
            break
        depth += 1
    node = trees[table + low * height + depth]
    count = 0
    for leaf in range(leaves):
        count += trees[table + leaf * height + depth] == node
    return depth, count


@compiled
def _cut(as_set, hist, bins, log_width, n, least):
    """Find the cut that shrinks the attribute most and the one nearest the middle.

    Both leave at least ``least`` rows on every side. Gives (gain, cut, balanced cut, first,
    last, width): a cut is the last bin of the left side or -1 for none; first and last are the
    outermost bins that hold rows.
    """
    first, last = 0, bins - 1
    while hist[first] == 0:
        first += 1
    while hist[last] == 0:
        last -= 1
    present = last - first + 1
    if as_set:
        for b in range(first, last):
            present -= hist[b] == 0
    width = present - 1
    best_gain, best, middle, off_middle = -1, -1, -1, n + 1
    left, seen, b = 0, 0, first
    while b < last:
        left += hist[b]
        if n - left < least:
            break
        seen += 1
        after = b + 1
        while hist[after] == 0:
            after += 1
        if left >= least:
            left_width, right_width = seen - 1, width - seen
            if not as_set:
                left_width, right_width = b - first, last - after
            gain = n * width - left * left_width - (n - left) * right_width
            if gain > best_gain:
                best_gain, best = gain, b
            if abs(2 * left - n) < off_middle:
                off_middle, middle = abs(2 * left - n), b
        b = after
    return best_gain << log_width, best, middle, first, last, width << log_width


@compiled
def _cut_tree(attrs, a, hist, bins, low, n, least, trees):
    """The same for a TREE, whose only cut is the depth of its lowest common ancestor."""
    table, height = attrs[a, 5], attrs[a, 6]
    first, last = 0, bins - 1
    while hist[first] == 0:
        first += 1
    while hist[last] == 0:
        last -= 1
    depth, leaves = measure_ancestor(attrs, a, low + first, low + last, trees)
    if first == last:
        return -1, -1, -1, first, last, leaves - 1
    gain = n * (leaves - 1)
    start = first
    while start <= last:
        child = trees[table + (low + start) * height + depth + 1]
        rows, end, ending = 0, start, start
        while end <= last and trees[table + (low + end) * height + depth + 1] == child:
            rows += hist[end]
            if hist[end]:
                ending = end
            end += 1
        if 0 < rows < least:
            return -1, -1, -1, first, last, leaves - 1
        while start < ending and hist[start] == 0:
            start += 1
        gain -= rows * (ending - start)
        start = end
    return gain, depth, depth, first, last, leaves - 1


@compiled
def choose_cuts(buffers, node, attrs, least, trees, hist, merit, every, cuts, tallies):
    """Find the attribute whose cut has most merit, -1 for none; write its cut into ``cuts[a]``.

    Tightens the node's bounds on the way. Looks at attributes whose ``merit`` is UNSEEN; unless
    ``every``, stops as soon as no other of them can beat the best cut found.
    """
    d, n = attrs.shape[0], node[1] - node[0]
    winner = -1
    while True:
        a, bound = -1, 0.0
        for i in range(d):
            if merit[i] == UNSEEN and node[3 + 2 * d + i] > bound * attrs[i, 3]:
                a, bound = i, node[3 + 2 * d + i] / attrs[i, 3]
        if a < 0 or (not every and winner >= 0 and merit[winner] >= bound):
            break
        span = attrs[a, 3]
        while True:
            low, high, log_width = node[3 + a], node[3 + d + a], 0
            if attrs[a, 4] != TREE:
                log_width = log_bin_width(low, high)
            bins = ((high - low) >> log_width) + 1
            _scan(buffers, node, attrs, a, low, log_width, bins, hist, tallies)
            if attrs[a, 4] == TREE:
                gain, best, middle, first, last, width = _cut_tree(
                    attrs, a, hist, bins, low, n, least, trees
                )
            else:
                gain, best, middle, first, last, width = _cut(
                    attrs[a, 4] == SET and log_width == 0, hist, bins, log_width, n, least
                )
            node[3 + a] = low + (first << log_width)
            node[3 + d + a] = min(low + ((last + 1) << log_width) - 1, span)
            node[3 + 2 * d + a] = width
            # what was scanned may be so much narrower that finer bins see more
            narrowed = node[3 + d + a] - node[3 + a]
            if log_width == 0 or (narrowed >> (log_width - 1)) >= BINS:
                break
        if attrs[a, 4] != TREE:
            if best >= 0:
                best = low + ((best + 1) << log_width) - 1
                middle = low + ((middle + 1) << log_width) - 1
            elif log_width and n >= 2 * least:
                best = _zoom(buffers, node, attrs, a, low, log_width, bins, hist, least, tallies)
                gain, middle = 0, best
        merit[a] = HOPELESS
        if best < 0:
            continue
        if n > SMALL:
            best = middle
            merit[a] = width / span
        else:
            merit[a] = gain / n / span
        cuts[a] = best
        if winner < 0 or merit[a] > merit[winner] or (merit[a] == merit[winner] and a < winner):
            winner = a
    return winner


@compiled
def rank_cuts(attrs, merit, best, trees_only):
    """List the attributes, or the TREEs among them, whose cut beats ``best``, most merit first."""
    order = np.argsort(-merit, kind="mergesort")
    ranked = np.empty(merit.shape[0], np.int64)
    count = 0
    for a in order:
        if (attrs[a, 4] == TREE or not trees_only) and merit[a] >= 0 and merit[a] > best:
            ranked[count] = a
            count += 1
    return ranked[:count]
