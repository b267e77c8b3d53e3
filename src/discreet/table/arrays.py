"""Arrays: numbers of things, measures and flags, as all rooms hand them on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def count_runs(keys: Ints) -> tuple[Ints, Ints]:
    """Give the distinct numbers of an ascending list, and how often each is in it.

    >>> [part.tolist() for part in count_runs(np.array([3, 3, 7]))]
    [[3, 7], [2, 1]]
    """
    first = np.flatnonzero(_begin_runs(keys))
    lengths = np.empty_like(first)
    np.subtract(first[1:], first[:-1], out=lengths[:-1])
    lengths[-1:] = len(keys) - first[-1:]
    return keys[first], lengths


def count_lone(keys: Ints) -> int:
    """Count the numbers that are there once.

    >>> count_lone(np.array([7, 3, 7, 4]))
    2
    """
    if not len(keys):
        return 0
    # as a rule it is faster to sort numbers than to look for the place of each
    begins = _begin_runs(np.sort(keys))
    return int((begins[:-1] & begins[1:]).sum()) + int(begins[-1])


def add_up(numbers: NDArray[np.integer], weights: Ints, count: int) -> Ints:
    """Add up the weights of each of so many numbers.

    >>> add_up(np.array([1, 0, 1]), np.array([2, 3, 4]), 3).tolist()
    [3, 6, 0]
    """
    found = np.zeros(count, dtype=np.int64)
    np.add.at(found, numbers, weights)
    return found


def number_by_sorting(keys: Ints) -> tuple[Ints, Ints]:
    """Give the different keys in their order, and each key's place among them.

    >>> [part.tolist() for part in number_by_sorting(np.array([7, 3, 7]))]
    [[3, 7], [1, 0, 1]]
    """
    bits = len(keys).bit_length()
    if int(keys.min(initial=0)) < 0 or int(keys.max(initial=0)) >> (63 - bits):
        values, numbers = np.unique(keys, return_inverse=True)
        return values, numbers.astype(np.int64, copy=False)
    # with the row in the same number: that takes less time than sorting rows, and half the memory
    rows = keys << bits
    rows |= np.arange(len(keys))
    rows.sort()
    values = rows >> bits
    begins = _begin_runs(values)
    values = values[begins]
    rows &= (1 << bits) - 1
    place = np.cumsum(begins, dtype=np.int64)
    place -= 1
    numbers = np.empty(len(keys), dtype=np.int64)
    numbers[rows] = place
    return values, numbers


def number_lists(offsets: Ints, values: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Number lists, one behind the other, by what they hold; and give the first list of each.

    >>> [part.tolist() for part in number_lists(np.array([0, 2, 3, 5]), np.array([7, 3, 7, 7, 3]))]
    [[0, 1, 0], [0, 1]]
    """
    from discreet.kernels.lists import number_lists as number

    numbered: tuple[Ints, Ints] = number(offsets, values.astype(np.int64, copy=False))
    return numbered


def gather_lists(pairs: Ints, owners: int) -> tuple[Ints, Ints]:
    """Give each of so many owners the numbers beside them in pairs, ascending: lists in a row.

    >>> [part.tolist() for part in gather_lists(np.array([[1, 5], [0, 3], [1, 2]]), 2)]
    [[0, 1, 3], [3, 2, 5]]
    """
    from discreet.kernels.lists import gather_lists as gather

    lists: tuple[Ints, Ints] = gather(pairs, owners, int(pairs[:, 1].max(initial=-1)) + 1)
    return lists


def order_rows(columns: Iterable[NDArray[np.integer]], sizes: Sequence[int], n: int) -> Ints:
    """Give ``n`` rows in the order of columns of so many codes each, the first one's first.

    >>> order_rows([np.array([1, 0, 1]), np.array([1, 0, 0])], [2, 2], 3).tolist()
    [1, 2, 0]
    """
    keys, reach = [np.zeros(n, dtype=np.int64)], 1
    for column, size in zip(columns, sizes, strict=True):  # as few numbers as hold all codes
        if reach * size >= 2**62:
            keys.append(np.zeros(n, dtype=np.int64))
            reach = 1
        keys[-1] *= size
        keys[-1] += column
        reach *= size
    if len(keys) == 1 and reach * n < 2**62:
        # with the row in the same number: sorting numbers is far faster than sorting rows
        return np.sort(keys[0] * n + np.arange(n)) % max(n, 1)
    return np.lexsort(keys[::-1])


def _begin_runs(keys: Ints) -> Bools:
    """Say of each number of an ascending list whether it is the first of its kind."""
    begins = np.ones(len(keys), dtype=bool)
    np.not_equal(keys[1:], keys[:-1], out=begins[1:])
    return begins
