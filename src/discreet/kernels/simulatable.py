"""Growing a tree whose cuts are chosen without a look at whose values are whose."""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled
from discreet.kernels.cuts import AT_HAND, BINS, UNSEEN, choose_cuts
from discreet.kernels.mondrian import make_room, open_side, split
from discreet.kernels.odds import WHOLE, find_odds, price
from discreet.kernels.part_sizes import NEAR, find_part_size
from discreet.kernels.rules import obeys


@compiled
def count_bags(buffers, here, start, end, fields, counts, touched, held):
    """Count the codes of some rows, field by field; list those there are."""
    for f in range(fields.shape[0]):
        m = 0
        plane, shift, mask, base = fields[f, 0], fields[f, 1], fields[f, 2], fields[f, 4]
        for i in range(start, end):
            code = (buffers[here, plane, i] >> shift) & mask
            if counts[base + code] == 0:
                touched[base + m] = code
                m += 1
            counts[base + code] += 1
        held[f] = m


@compiled
def clear_bags(fields, counts, touched, held):
    """Take what was counted back."""
    for f in range(fields.shape[0]):
        base = fields[f, 4]
        for j in range(held[f]):
            counts[base + touched[base + j]] = 0


@compiled
def price_cut(n, sizes, fields, rules, tables, counts, touched, held, certain):
    """Say with what chance a cut of ``n`` rows into sides of these sizes must not be tried.

    If it must be ``certain`` not to fail, that is never or always.
    """
    odds = 0.0
    for r in range(rules.shape[0]):
        base, m = fields[rules[r, 1], 4], held[rules[r, 1]]
        if certain:
            if sizes.min() < find_part_size(rules, r, tables, counts, touched, base, m):
                return WHOLE
        else:
            odds = max(odds, find_odds(rules, r, tables, counts, touched, base, m, n, sizes))
    return price(odds)


@compiled
def bags_obey(n, fields, rules, tables, counts, touched, held):
    """Whether ``n`` rows that were counted obey every rule."""
    for r in range(rules.shape[0]):
        f = rules[r, 1]
        base, m = fields[f, 4], held[f]
        if rules[r, 0] == NEAR:
            if find_part_size(rules, r, tables, counts, touched, base, m) > n:
                return False
        elif not obeys(rules, r, tables, counts, touched, base, m, m, n):
            return False
    return True


@compiled
def measure_sides(start, ends, sides, sizes):
    """Write the sizes of all sides, and give the smallest."""
    least = ends[0] - start
    for s in range(sides):
        sizes[s] = ends[s] - (start if s == 0 else ends[s - 1])
        least = min(least, sizes[s])
    return least


@compiled
def grow_simulatable(
    buffers,
    root,
    leaves,
    pause,
    attrs,
    least,
    trees,
    fields,
    rules,
    tables,
    coins,
    dearest,
    certain,
):
    """Split a node depth first by one cut each, chosen blindly, unless a coin forbids to try it.

    ``coins`` has one for each place between rows, and every node looks at that where its first side
    ends. Writes leaves, and gives nodes back unsplit, as ``grow_tree`` does.
    """
    d, codes = attrs.shape[0], 1
    for f in range(fields.shape[0]):
        codes += fields[f, 3]
    widest = attrs[:, 3].max() + 1
    hist, merit = np.zeros(max(BINS, widest) + 2, np.int64), np.empty(d)
    counts, touched = np.zeros(codes, np.int64), np.empty(codes, np.int64)
    held = np.zeros(fields.shape[0], np.int64)
    cuts, ends = np.empty(d, np.int64), np.empty(max(2, widest), np.int64)
    sizes = np.empty(max(2, widest), np.int64)
    stack = np.empty((256, 3 + 3 * d), np.int64)
    paused = np.empty((256, 3 + 3 * d), np.int64)
    node = root.copy()
    stack[0] = node
    top, waiting = 1, 0
    while top:
        top -= 1
        for i in range(node.shape[0]):
            node[i] = stack[top, i]
        start, n = node[0], node[1] - node[0]
        if n <= pause:
            paused = make_room(paused, waiting + 1)
            paused[waiting] = node
            waiting += 1
            continue
        sides, a, cost, smallest = 0, -1, 0, least
        if n >= 2 * least:
            count_bags(buffers, node[2], start, node[1], fields, counts, touched, held)
            # the smallest side that is cheap enough, from where cuts are looked for
            while 2 * smallest <= n:
                sizes[0], sizes[1] = smallest, n - smallest
                cost = price_cut(
                    n, sizes[:2], fields, rules, tables, counts, touched, held, certain
                )
                if cost <= dearest:
                    break
                smallest += 1 + smallest // 8
            while sides == 0 and 2 * smallest <= n:
                merit[:] = UNSEEN
                a = choose_cuts(
                    buffers, node, attrs, smallest, trees, hist, merit, False, cuts, AT_HAND
                )
                if a < 0:
                    break
                sides = split(buffers, node, attrs, a, cuts[a], trees, ends)
                smallest = measure_sides(start, ends, sides, sizes) + 1
                cost = price_cut(
                    n, sizes[:sides], fields, rules, tables, counts, touched, held, certain
                )
                if cost > dearest:
                    sides = 0
            clear_bags(fields, counts, touched, held)
        if sides and coins[ends[0]] < cost:
            sides = 0
        for s in range(sides):
            end = ends[s]
            count_bags(buffers, 1 - node[2], end - sizes[s], end, fields, counts, touched, held)
            good = bags_obey(sizes[s], fields, rules, tables, counts, touched, held)
            clear_bags(fields, counts, touched, held)
            if not good:
                sides = 0
                break
        if sides == 0:
            leaves[start] = node[2]
        stack = make_room(stack, top + sides)
        for s in range(sides):
            open_side(stack[top], node, s, ends, attrs, a, cuts[a])
            top += 1
    return paused[:waiting].copy()
