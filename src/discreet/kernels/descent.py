"""Descent: walk packed rows down a tree of splits, and count their codes where they arrive."""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled


@compiled
def walk(words, fields, owner, cut, first, table, sides):
    """Give the node at which every row arrives.

    ``owner`` is the field by which a node is split, -1 where it is not. Up to the code ``cut`` rows
    go to its ``first`` child, beyond that to the next; a node that has a place in ``table`` looks
    up there, in ``sides``, to which of its children each code goes.
    """
    arrived = np.empty(words.shape[1], np.int32)
    for i in range(words.shape[1]):
        node = 0
        while owner[node] >= 0:
            f = owner[node]
            code = (words[fields[f, 0], i] >> fields[f, 1]) & fields[f, 2]
            if table[node] >= 0:
                node = first[node] + sides[table[node] + code]
            else:
                node = first[node] + (code > cut[node])
        arrived[i] = node
    return arrived


@compiled
def count_fields(words, arrived, place, fields, starts, counts):
    """Count the codes of some fields, each from its start on, of the rows at nodes with a place."""
    for f in range(fields.shape[0]):
        plane, shift, mask, start = fields[f, 0], fields[f, 1], fields[f, 2], starts[f]
        for i in range(words.shape[1]):
            at = place[arrived[i]]
            if at >= 0:
                counts[at, start + ((words[plane, i] >> shift) & mask)] += 1
