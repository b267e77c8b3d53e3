"""Partition: which rows stand together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.publishing.draws import Draws
from discreet.table.arrays import Ints


@dataclass(frozen=True, eq=False)
class Partition:
    """Rows in group order: group ``g`` holds ``order[offsets[g]:offsets[g + 1]]``.

    >>> p = Partition.from_labels(np.array([1, 0, 1]))
    >>> p.count, p.sizes.tolist(), p.rows(1).tolist()
    (2, [1, 2], [0, 2])
    """

    order: NDArray[np.int32]
    offsets: Ints

    @staticmethod
    def from_labels(
        labels: NDArray[np.integer], rows: NDArray[np.int32] | None = None
    ) -> Partition:
        """Build from the group number of each row, or of each of ``rows``, all rows in any order.

        The numbers are 0, 1, … without gaps.
        """
        sizes = np.bincount(labels)
        order = np.argsort(labels, kind="stable").astype(np.int32)
        if rows is not None:
            order = rows[order]
        return Partition(order, np.concatenate([[0], np.cumsum(sizes)]))

    @property
    def count(self) -> int:
        """Number of groups."""
        return len(self.offsets) - 1

    @property
    def sizes(self) -> Ints:
        """Rows per group."""
        return np.diff(self.offsets)

    @cached_property
    def labels(self) -> NDArray[np.int32]:
        """Group number of each row of the microdata."""
        labels = np.empty(len(self.order), dtype=np.int32)
        labels[self.order] = self.sorted_labels
        return labels

    @cached_property
    def sorted_labels(self) -> NDArray[np.int32]:
        """Group number of each row in group order."""
        return np.repeat(np.arange(self.count, dtype=np.int32), self.sizes)

    def rows(self, group: int) -> NDArray[np.int32]:
        """Rows of one group."""
        return self.order[self.offsets[group] : self.offsets[group + 1]]


def number_groups(partition: Partition, shown: Sequence[NDArray[np.integer]]) -> NDArray[np.int32]:
    """Give each row the number of its group; groups are ranked by what they show.

    ``shown`` ranks the rows by what each published column or table shows of them. A group is the
    smallest of these in it, the next, and so on: numbers then say nothing that the rest of the
    release does not say, neither how groups were found nor what was drawn.

    >>> p = Partition.from_labels(np.array([0, 1, 0, 1, 2]))
    >>> number_groups(p, [np.array([3, 3, 9, 4, 1])]).tolist()
    [2, 1, 2, 1, 0]
    """
    kept = [_sort_within(partition, ranks) for ranks in shown]
    first = kept[0][partition.offsets[:-1]]
    order = np.argsort(first, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(first[order])) + 1, len(order))

    def spell(group: int) -> list[bytes]:
        """All that a group shows, as bytes that sort as the numbers do."""
        here = slice(partition.offsets[group], partition.offsets[group + 1])
        return [ranks[here].astype(">i8").tobytes() for ranks in kept]

    for start, end in zip(np.append(0, ends[:-1]).tolist(), ends.tolist(), strict=True):
        if end - start > 1:
            order[start:end] = sorted(order[start:end].tolist(), key=spell)
    number = np.empty(partition.count, dtype=np.int32)
    number[order] = np.arange(partition.count)
    return number[partition.labels]


def _sort_within(partition: Partition, ranks: NDArray[np.integer]) -> Ints:
    """Sort the ranks of each group's rows."""
    # both in one number: sorting numbers is far faster than sorting rows
    keys = partition.sorted_labels.astype(np.int64) << 32 | ranks[partition.order]
    keys.sort()
    return keys & 0xFFFFFFFF


def shuffle_within_groups(
    partition: Partition, codes: NDArray[np.int32], draws: Draws
) -> NDArray[np.int32]:
    """Give each row the code of somebody of the same group, all assignments equally likely."""
    drawn = draws.permutation(len(codes))
    mixed = partition.order[drawn[np.argsort(partition.sorted_labels[drawn], kind="stable")]]
    shuffled = np.empty_like(codes)
    shuffled[partition.order] = codes[mixed]
    return shuffled


def sort_within_groups(
    partition: Partition, columns: list[NDArray[np.int32]], sizes: list[int]
) -> list[NDArray[np.int32]]:
    """Sort the rows of each group, which come in group order, by columns of so many codes each."""
    labels = partition.sorted_labels
    reach = partition.count
    for size in sizes:
        reach *= size
    if reach >= 2**63:
        order = np.lexsort((*reversed(columns), labels))
        return [column[order] for column in columns]
    # all codes of a row in one number: sorting numbers is far faster than sorting rows
    keys = labels.astype(np.int64)
    for column, size in zip(columns, sizes, strict=True):
        keys *= size
        keys += column
    keys.sort()
    codes = []
    for size in reversed(sizes):
        keys, rest = np.divmod(keys, size)
        codes.append(rest.astype(np.int32))
    return codes[::-1]
