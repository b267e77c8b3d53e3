"""Options: groups that may be a person's, looked through without listing them person by person."""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled


@compiled
def connect(offsets, cells, count):
    """Number the components of classes that share cells, directly or through others.

    Class ``c`` has the options ``offsets[c]`` to ``offsets[c + 1]``, each a row of ``cells``.
    """
    parent = np.arange(count)
    classes = offsets.shape[0] - 1
    for c in range(classes):
        root = -1
        for option in range(offsets[c], offsets[c + 1]):
            for j in range(cells.shape[1]):
                at = cells[option, j]
                while parent[at] != at:
                    parent[at] = parent[parent[at]]
                    at = parent[at]
                if root < 0:
                    root = at
                elif at != root:
                    parent[at] = root
    number = np.full(count, -1, np.int64)
    found, component = 0, np.empty(classes, np.int64)
    for c in range(classes):
        at = cells[offsets[c], 0]
        while parent[at] != at:
            at = parent[at]
        if number[at] < 0:
            number[at] = found
            found += 1
        component[c] = number[at]
    return component


@compiled
def _find(codes, first, end, code):
    """Give the place of the first of these codes that is not below one."""
    while first < end:
        middle = (first + end) // 2
        if codes[middle] < code:
            first = middle + 1
        else:
            end = middle
    return first


@compiled
def weigh_fullest(sets, low, beyond, offsets, groups, bags, codes, upto):
    """Of each case, find the option of whose bag most lies from ``low`` on and before ``beyond``.

    A case faces the options of a set. ``upto[e]`` is the weight of all entries before ``e``. Gives
    that part of the bag's weight, and the bag's.
    """
    cases = sets.shape[0]
    parts, wholes = np.zeros(cases, np.int64), np.ones(cases, np.int64)
    for c in range(cases):
        for o in range(offsets[sets[c]], offsets[sets[c] + 1]):
            first, end = bags[groups[o]], bags[groups[o] + 1]
            part = (
                upto[_find(codes, first, end, beyond[c])] - upto[_find(codes, first, end, low[c])]
            )
            whole = upto[end] - upto[first]
            if part / whole > parts[c] / wholes[c]:
                parts[c], wholes[c] = part, whole
    return parts, wholes


@compiled
def weigh_holders(
    sets, own, offsets, groups, most, starts, holders, entries, bags, codes, weights, sizes, parts
):
    """Of each case, look through the entries of its own code in bags of options of its set.

    Bag ``b`` has the entries from ``bags[b]`` on. Those that have a code are
    ``entries[starts[code]:starts[code + 1]]``, of the bags ``holders``, ascending. Whichever are
    fewer are looked through: these, or the options; these may be left out where options always are.
    Gives the largest share of ``parts``, per entry, in the ``sizes`` of bags, and the sum of the
    weights, each at most what its option has as ``most``.
    """
    cases, listed = sets.shape[0], entries.shape[0] > 0
    part, whole = np.zeros(cases, np.int64), np.ones(cases, np.int64)
    total = np.zeros(cases, np.int64)
    for c in range(cases):
        if own[c] < 0 or sets[c] < 0:
            continue
        o, end = offsets[sets[c]], offsets[sets[c] + 1]
        h, last = starts[own[c]], starts[own[c] + 1]
        few = end - o <= last - h
        for i in range(o, end) if few else range(h, last):
            if few:
                option, bag = i, groups[i]
                if listed and last - h < bags[bag + 1] - bags[bag]:
                    at = _find(holders, h, last, bag)
                    if at == last or holders[at] != bag:
                        continue
                    entry = entries[at]
                else:
                    entry = _find(codes, bags[bag], bags[bag + 1], own[c])
                    if entry == bags[bag + 1] or codes[entry] != own[c]:
                        continue
            else:
                option, bag, entry = _find(groups, o, end, holders[i]), holders[i], entries[i]
                if option == end or groups[option] != bag:
                    continue
            total[c] += min(weights[entry], most[option])
            if parts[entry] / sizes[bag] > part[c] / whole[c]:
                part[c], whole[c] = parts[entry], sizes[bag]
    return part, whole, total
