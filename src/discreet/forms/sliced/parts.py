"""Parts: the pieces of a bucket that stand beside one rest of a sensitive column.

Of several sensitive columns somebody is in a part of each. Which parts of a bucket go together is
not told, so all do that agree on what their columns share.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
import polars as pl

from discreet.errors import StoreError
from discreet.table.arrays import Ints
from discreet.table.microdata import row_ids

MOST_GROUPS = 20_000_000
"""So many ways to put parts of buckets together are looked at."""


@dataclass(frozen=True, eq=False)
class SliceParts:
    """The parts of every sensitive column, and how they can be put together."""

    of_row: Ints
    """Per row and sensitive column its part, numbered from 0."""
    of_group: Ints
    """Per group and sensitive column its part; groups are in the order of these."""

    @property
    def are_groups(self) -> bool:
        """Whether there is one sensitive column, and so nothing to put together."""
        return bool(self.of_row.shape[1] == 1)

    @property
    def last_sizes(self) -> Ints:
        """Per group how many pieces its part of the last column has."""
        return np.asarray(np.bincount(self.of_row[:, -1])[self.of_group[:, -1]])

    def find(self, columns: tuple[tuple[str, ...], ...], name: str) -> int:
        """Give the place of an attribute's column among the sensitive ones."""
        (place,) = (i for i, column in enumerate(columns) if name in column)
        return int(place - len(columns) + self.of_row.shape[1])

    def find_groups(self, parts: Ints) -> Ints:
        """Give the groups of some parts, one row per group."""
        if self.are_groups:
            return np.asarray(parts[:, 0])
        together = np.concatenate([self.of_group, parts])
        return row_ids(list(together.T), len(together))[len(self.of_group) :]


def join_parts(bucket: Ints, parts: list[Ints], within: Ints, agree: Sequence[bool]) -> SliceParts:
    """Put the parts of every bucket together in all ways.

    Those of columns that have to ``agree`` are of one part of the bucket, which is ``within``.
    """
    of_row = np.stack(parts, axis=1)
    if len(parts) == 1:
        return SliceParts(of_row, np.arange(int(of_row.max()) + 1)[:, None])
    owners = pl.DataFrame({"bucket": bucket, "within": within})
    listed = [
        (owners if tied else owners.drop("within")).with_columns(pl.Series(f"p{i}", part)).unique()
        for i, (part, tied) in enumerate(zip(parts, agree, strict=True))
    ]
    sizes = [np.bincount(part["bucket"].to_numpy()).astype(float) for part in listed]
    if np.prod(sizes, axis=0).sum() > MOST_GROUPS:
        raise StoreError(
            "The sensitive columns can be put together in too many ways.",
            hint="Leave fewer attributes beside sensitive ones.",
        )
    joined = reduce(
        lambda one, other: one.join(
            other, on=[name for name in owners.columns if name in one and name in other]
        ),
        listed,
    )
    names = [f"p{i}" for i in range(len(parts))]
    return SliceParts(of_row, joined.select(names).sort(names).to_numpy().astype(np.int64))
