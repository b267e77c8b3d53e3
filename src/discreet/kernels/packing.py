"""Packing columns of codes into words, and reading them back."""

from __future__ import annotations

import numpy as np

from discreet.kernels import compiled


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
