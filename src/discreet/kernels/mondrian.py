"""Recursive splitting of packed rows.

All codes of a row and its number are packed into a few int64 words, so a split moves words, not
columns. A node knows bounds on the extent of every attribute; they tighten whenever an attribute
is scanned, and attributes whose bound cannot win are not scanned at all.

Attributes come in three kinds. A RANGE is as wide as its extent; a SET is as wide as the number
of its values present; a TREE is as wide as the lowest common ancestor of its values and splits
into all children of it at once, so that no two results ever share an ancestor's leaves.
"""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled
from discreet.kernels.rules import obeys

RANGE, SET, TREE = range(3)
BINS = 512
"""An attribute with a longer extent is scanned in this many bins; 2 to the 9 is a zoom's step."""
SMALL = 4096
UNSEEN, HOPELESS = -2.0, -1.0
"""From this size down a node looks for the best cut instead of halving its widest attribute."""


@compiled
def _scan(buffers, node, plane, shift, mask, low, log_width, bins, hist):
    """Count rows per bin of one attribute."""
    start, end, here = node[0], node[1], node[2]
    for b in range(bins):
        hist[b] = 0
    if log_width:
        for i in range(start, end):
            hist[(((buffers[here, plane, i] >> shift) & mask) - low) >> log_width] += 1
    else:
        for i in range(start, end):
            hist[np.uint64(((buffers[here, plane, i] >> shift) & mask) - low)] += 1


@compiled
def _zoom(buffers, node, plane, shift, mask, low, log_width, bins, hist, least):
    """Find a cut inside the fullest bin where none between bins leaves enough on both sides."""
    start, end, here = node[0], node[1], node[2]
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
def _ancestor_leaves(attrs, a, low, high, trees):
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
    depth, leaves = _ancestor_leaves(attrs, a, low + first, low + last, trees)
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
def choose_cuts(buffers, node, attrs, least, trees, hist, merit, every, cuts):
    """Write the cuts worth trying into ``cuts`` as (attribute, cut, balanced cut), best first.

    Tightens the node's bounds on the way. Unless ``every``, stops as soon as no other attribute
    can beat the best cut found, and writes only that.
    """
    d, n = attrs.shape[0], node[1] - node[0]
    for i in range(d):
        merit[i] = UNSEEN
    winner = -1
    while True:
        a, bound = -1, 0.0
        for i in range(d):
            if merit[i] == UNSEEN and node[3 + 2 * d + i] > bound * attrs[i, 3]:
                a, bound = i, node[3 + 2 * d + i] / attrs[i, 3]
        if a < 0 or (not every and winner >= 0 and merit[winner] >= bound):
            break
        plane, shift, mask, span = attrs[a, 0], attrs[a, 1], attrs[a, 2], attrs[a, 3]
        while True:
            low, high, log_width = node[3 + a], node[3 + d + a], 0
            if attrs[a, 4] != TREE:
                while ((high - low) >> log_width) >= BINS:
                    log_width += 1
            bins = ((high - low) >> log_width) + 1
            _scan(buffers, node, plane, shift, mask, low, log_width, bins, hist)
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
                best = _zoom(buffers, node, plane, shift, mask, low, log_width, bins, hist, least)
                gain, middle = 0, best
        merit[a] = HOPELESS
        if best < 0:
            continue
        if n > SMALL:
            best = middle
            merit[a] = width / span
        else:
            merit[a] = gain / n / span
        cuts[a, 1], cuts[a, 2] = best, middle
        if winner < 0 or merit[a] > merit[winner] or (merit[a] == merit[winner] and a < winner):
            winner = a
    return winner


@compiled
def list_cuts(merit, cuts, tried, tried_cut, listed):
    """List the best cut of each attribute by merit, then the balanced ones, but for one tried."""
    count = 0
    order = np.argsort(-merit, kind="mergesort")
    for which in range(1, 3):
        for a in order:
            if merit[a] < 0 or (which == 2 and cuts[a, 1] == cuts[a, 2]):
                continue
            if a == tried and cuts[a, which] == tried_cut:
                continue
            listed[count, 0], listed[count, 1] = a, cuts[a, which]
            count += 1
    return count


@compiled
def split(buffers, node, attrs, a, cut, trees, ends):
    """Move the rows of a node into the other buffer, side by side; write where each side ends."""
    start, end, here = node[0], node[1], node[2]
    if attrs[a, 4] == TREE:
        return _split_tree(buffers, node, attrs, a, cut, trees, ends)
    plane, mask, bound = attrs[a, 0], attrs[a, 2] << attrs[a, 1], cut << attrs[a, 1]
    there, one = 1 - here, np.uint64(1)
    for p in range(buffers.shape[1]):
        # write every row at both ends, advance one of them: no branch to mispredict
        left, right = np.uint64(start), np.uint64(end - 1)
        for i in range(start, end):
            goes_left = np.uint64((buffers[here, plane, i] & mask) <= bound)
            word = buffers[here, p, i]
            buffers[there, p, left] = word
            buffers[there, p, right] = word
            left += goes_left
            right -= one ^ goes_left
        ends[0] = left
    ends[1] = end
    return 2


@compiled
def _split_tree(buffers, node, attrs, a, depth, trees, ends):
    start, end, here = node[0], node[1], node[2]
    plane, shift, mask = attrs[a, 0], attrs[a, 1], attrs[a, 2]
    leaves, table, height = attrs[a, 3] + 1, attrs[a, 5], attrs[a, 6]
    side = np.full(leaves, -1, np.int64)
    present = np.zeros(leaves, np.int64)
    for i in range(start, end):
        present[(buffers[here, plane, i] >> shift) & mask] += 1
    sides, last = 0, -1
    rows = np.zeros(leaves + 1, np.int64)
    for leaf in range(leaves):
        if present[leaf]:
            child = trees[table + leaf * height + depth + 1]
            if sides == 0 or child != last:
                sides, last = sides + 1, child
            side[leaf] = sides - 1
            rows[sides] += present[leaf]
    for s in range(sides):
        rows[s + 1] += rows[s]
        ends[s] = start + rows[s + 1]
    for p in range(buffers.shape[1]):
        at = rows.copy()
        for i in range(start, end):
            s = side[(buffers[here, plane, i] >> shift) & mask]
            buffers[1 - here, p, start + at[s]] = buffers[here, p, i]
            at[s] += 1
    return sides


@compiled
def judge(buffers, here, start, end, fields, rules, tables, counts, touched):
    """Whether the rows of one side obey every rule."""
    n = end - start
    for f in range(fields.shape[0]):
        m = 0
        plane, shift, mask = fields[f, 0], fields[f, 1], fields[f, 2]
        for i in range(start, end):
            code = (buffers[here, plane, i] >> shift) & mask
            if counts[code] == 0:
                touched[m] = code
                m += 1
            counts[code] += 1
        good = True
        for r in range(rules.shape[0]):
            if good and rules[r, 1] == f:
                good = obeys(rules[r], tables, counts, touched, m, n)
        for j in range(m):
            counts[touched[j]] = 0
        if not good:
            return False
    return True


@compiled
def tally(codes, size):
    """Count each code."""
    counts = np.zeros(size, np.int64)
    for i in range(codes.shape[0]):
        counts[np.uint64(codes[i])] += 1
    return counts


@compiled
def pack(plane, codes, shift, ranks):
    """Put one column of codes, renumbered by ``ranks``, into its place in a plane of words."""
    for i in range(plane.shape[0]):
        plane[i] |= ranks[np.uint64(codes[i])] << shift


@compiled
def number(plane, first, shift):
    """Put the number of each row, from ``first`` on, into its place."""
    for i in range(plane.shape[0]):
        plane[i] |= (first + i) << shift


@compiled
def unpack(buffers, leaves, plane, shift, mask):
    """Read one field back in leaf order."""
    out = np.empty(buffers.shape[2], np.int32)
    column = buffers[0, plane]
    for i in range(out.shape[0]):
        if leaves[i] >= 0:
            column = buffers[leaves[i], plane]
        out[i] = (column[i] >> shift) & mask
    return out


@compiled
def _grow(stack):
    bigger = np.empty((2 * stack.shape[0], stack.shape[1]), np.int64)
    bigger[: stack.shape[0]] = stack
    return bigger


@compiled
def open_root(attrs, n):
    """The node of all rows: start, end, buffer, then low, high and width of every attribute."""
    d = attrs.shape[0]
    node = np.zeros(3 + 3 * d, np.int64)
    node[1] = n
    node[3 + d : 3 + 2 * d] = attrs[:, 3]
    node[3 + 2 * d :] = attrs[:, 3]
    return node


@compiled
def open_side(child, node, s, ends, attrs, a, cut):
    """Write the node of one side of a split, inheriting the bounds of its parent."""
    d = attrs.shape[0]
    for i in range(node.shape[0]):
        child[i] = node[i]
    child[0] = node[0] if s == 0 else ends[s - 1]
    child[1] = ends[s]
    child[2] = 1 - node[2]
    if attrs[a, 4] != TREE:
        if s == 0:
            child[3 + d + a] = min(child[3 + d + a], cut)
        else:
            child[3 + a] = max(child[3 + a], cut + 1)
        child[3 + 2 * d + a] = min(child[3 + 2 * d + a], child[3 + d + a] - child[3 + a])


@compiled
def _judge_sides(buffers, node, ends, sides, fields, rules, tables, counts, touched):
    start, there = node[0], 1 - node[2]
    for s in range(sides):
        if not judge(buffers, there, start, ends[s], fields, rules, tables, counts, touched):
            return False
        start = ends[s]
    return True


@compiled
def grow_tree(buffers, root, leaves, pause, attrs, least, trees, fields, rules, tables):
    """Split a node depth first until no cut is admitted; rows of a leaf end up side by side.

    Writes into ``leaves``, at the first row of each leaf, the buffer that holds its rows. Nodes
    of up to ``pause`` rows are given back unsplit, for other threads to go on with.
    """
    d = attrs.shape[0]
    widest, longest = attrs[:, 3].max() + 1, 1
    for f in range(fields.shape[0]):
        longest = max(longest, fields[f, 3])
    hist, merit = np.zeros(max(BINS, widest) + 1, np.int64), np.empty(d)
    counts, touched = np.zeros(longest, np.int64), np.empty(longest, np.int64)
    cuts, listed = np.empty((d, 3), np.int64), np.empty((2 * d, 2), np.int64)
    ends = np.empty(max(2, widest), np.int64)
    stack = np.empty((256, 3 + 3 * d), np.int64)
    paused = np.empty((256, 3 + 3 * d), np.int64)
    node = root.copy()
    stack[0] = node
    top, waiting = 1, 0
    while top:
        top -= 1
        for i in range(node.shape[0]):
            node[i] = stack[top, i]
        start = node[0]
        if node[1] - start <= pause:
            if waiting == paused.shape[0]:
                paused = _grow(paused)
            paused[waiting] = node
            waiting += 1
            continue
        cut, sides = -1, 0
        a = choose_cuts(buffers, node, attrs, least, trees, hist, merit, False, cuts)
        if a >= 0:
            cut = cuts[a, 1]
            sides = split(buffers, node, attrs, a, cut, trees, ends)
            if fields.shape[0] and not _judge_sides(
                buffers, node, ends, sides, fields, rules, tables, counts, touched
            ):
                sides = 0
                choose_cuts(buffers, node, attrs, least, trees, hist, merit, True, cuts)
                for t in range(list_cuts(merit, cuts, a, cut, listed)):
                    a, cut = listed[t, 0], listed[t, 1]
                    sides = split(buffers, node, attrs, a, cut, trees, ends)
                    if _judge_sides(
                        buffers, node, ends, sides, fields, rules, tables, counts, touched
                    ):
                        break
                    sides = 0
        if sides == 0:
            leaves[start] = node[2]
        while top + sides > stack.shape[0]:
            stack = _grow(stack)
        for s in range(sides):
            side_start = start if s == 0 else ends[s - 1]
            if ends[s] - side_start < 2 * least:
                leaves[side_start] = 1 - node[2]
            else:
                open_side(stack[top], node, s, ends, attrs, a, cut)
                top += 1
    return paused[:waiting].copy()
