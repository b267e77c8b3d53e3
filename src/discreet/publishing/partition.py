"""Partition: which rows stand together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

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
