"""Recursive splitting of packed rows.

All codes of a row and its number are packed into a few int64 words, so a split moves words, not
columns. A node knows bounds on the extent of every attribute; they tighten whenever an attribute
is scanned, and attributes whose bound cannot win are not scanned at all.
"""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled
from discreet.kernels.cuts import AT_HAND, BINS, TREE, UNSEEN, choose_cuts, rank_cuts
from discreet.kernels.rules import COVER, obeys, stay_apart
from discreet.kernels.sweep import sweep


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
def rows_obey(buffers, here, start, end, fields, rules, tables, counts, touched):
    """Whether the rows of one side obey every rule."""
    n = end - start
    for f in range(fields.shape[0]):
        m = 0
        plane, shift, mask, base = fields[f, 0], fields[f, 1], fields[f, 2], fields[f, 4]
        counting = False
        for r in range(rules.shape[0]):
            if rules[r, 1] == f and not (rules[r, 0] == COVER and rules[r, 3]):
                counting = True
            elif rules[r, 1] == f and not stay_apart(
                buffers[here, plane], start, end, shift, mask, tables, rules[r, 5], rules[r, 2]
            ):
                return False
        if not counting:
            continue
        for i in range(start, end):
            code = (buffers[here, plane, i] >> shift) & mask
            if counts[base + code] == 0:
                touched[base + m] = code
                m += 1
            counts[base + code] += 1
        good = True
        for r in range(rules.shape[0]):
            if good and rules[r, 1] == f and not (rules[r, 0] == COVER and rules[r, 3]):
                good = obeys(rules, r, tables, counts, touched, base, m, m, n)
        for j in range(m):
            counts[base + touched[base + j]] = 0
        if not good:
            return False
    return True


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
def make_room(nodes, needed):
    """Give a stack with room for so many nodes, which holds what it held."""
    while needed > nodes.shape[0]:
        nodes = np.concatenate((nodes, np.empty_like(nodes)))
    return nodes


@compiled
def _try_cut(buffers, node, attrs, a, cut, trees, ends, fields, rules, tables, counts, touched):
    """Split a node if all sides obey every rule; give how many there are, 0 if they do not."""
    start, there = node[0], 1 - node[2]
    sides = split(buffers, node, attrs, a, cut, trees, ends)
    for s in range(sides if fields.shape[0] else 0):
        if not rows_obey(buffers, there, start, ends[s], fields, rules, tables, counts, touched):
            return 0
        start = ends[s]
    return sides


@compiled
def grow_tree(buffers, root, leaves, pause, attrs, least, trees, fields, rules, tables):
    """Split a node depth first until no cut is admitted; rows of a leaf end up side by side.

    Writes into ``leaves``, at the first row of each leaf, the buffer that holds its rows. Nodes
    of up to ``pause`` rows are given back unsplit, for other threads to go on with.
    """
    d = attrs.shape[0]
    widest, codes = attrs[:, 3].max() + 1, 1
    for f in range(fields.shape[0]):
        codes += fields[f, 3]
    hist, merit = np.zeros(max(BINS, widest) + 2, np.int64), np.empty(d)
    counts, others = np.zeros(codes, np.int64), np.zeros(codes, np.int64)
    touched, rows = np.empty(codes, np.int64), np.empty(1, np.int64)
    cuts = np.empty(d, np.int64)
    ends = np.empty(max(2, widest), np.int64)
    sweeping = not (rules[:, 0] == COVER).any()  # moving one row may move a whole window
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
            paused = make_room(paused, waiting + 1)
            paused[waiting] = node
            waiting += 1
            continue
        cut, sides = -1, 0
        merit[:] = UNSEEN
        a = choose_cuts(buffers, node, attrs, least, trees, hist, merit, False, cuts, AT_HAND)
        if a >= 0:
            cut = cuts[a]
            sides = _try_cut(
                buffers, node, attrs, a, cut, trees, ends, fields, rules, tables, counts, touched
            )
            if sides == 0:
                if rows.shape[0] < node[1] - start:
                    rows = np.empty(node[1] - start, np.int64)
                choose_cuts(buffers, node, attrs, least, trees, hist, merit, True, cuts, AT_HAND)
                refused, best, a, cut = a, -1.0, -1, -1
                if sweeping:
                    best, a, cut = sweep(
                        buffers, node, attrs, least, fields, rules, tables,
                        hist, counts, others, touched, rows,
                    )  # fmt: skip
                sides = 0
                for t in rank_cuts(attrs, merit, best, sweeping):
                    if t == refused:
                        continue
                    sides = _try_cut(
                        buffers, node, attrs, t, cuts[t], trees, ends,
                        fields, rules, tables, counts, touched,
                    )  # fmt: skip
                    if sides:
                        a, cut = t, cuts[t]
                        break
                if sides == 0 and a >= 0:
                    sides = split(buffers, node, attrs, a, cut, trees, ends)
        if sides == 0:
            leaves[start] = node[2]
        stack = make_room(stack, top + sides)
        for s in range(sides):
            side_start = start if s == 0 else ends[s - 1]
            if ends[s] - side_start < 2 * least:
                leaves[side_start] = 1 - node[2]
            else:
                open_side(stack[top], node, s, ends, attrs, a, cut)
                top += 1
    return paused[:waiting].copy()
