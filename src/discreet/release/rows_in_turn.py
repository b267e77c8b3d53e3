"""Rows in turn: rows of a table in files, taken one after the other by the numbers they have."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from discreet.errors import DAMAGED, StoreError
from discreet.release.release import PartedTable
from discreet.release.table_files import join_rows
from discreet.table.arrays import Ints


def require_numbers(table: pl.DataFrame, parted: PartedTable) -> Ints:
    """Give the numbers of rows, by which they are parted."""
    numbers = table[parted.column] if parted.column in table.columns else pl.Series([None])
    if not numbers.dtype.is_integer() or numbers.null_count():
        raise StoreError(f"{parted.title}: {parted.column!r} are not whole numbers.", hint=DAMAGED)
    return numbers.to_numpy().astype(np.int64)


def require_sorted(table: pl.DataFrame, parted: PartedTable) -> None:
    """Refuse rows that are not in the order of their numbers."""
    if (np.diff(require_numbers(table, parted)) < 0).any():
        raise StoreError(f"{parted.title}: is not in the order of {parted.column!r}.", hint=DAMAGED)


class RowsInTurn:
    """The rows of a table, taken one after the other."""

    def __init__(self, frames: Iterator[pl.DataFrame], name: str) -> None:
        self._frames, self._name = frames, name
        self._held: list[pl.DataFrame] = []

    def _split(self, rows: int) -> pl.DataFrame:
        if not self._held:
            raise StoreError(f"{self._name}: the table has no rows.")
        table = join_rows(self._held, self._name)
        # a slice would keep all of it
        self._held = [table.select(pl.all().gather(np.arange(rows, table.height)))]
        return table[:rows]

    def take(self, rows: int) -> pl.DataFrame:
        """Take so many."""
        while sum(frame.height for frame in self._held) < rows:
            self._held.append(next(self._frames))
        return self._split(rows)

    def take_to(self, parted: PartedTable, last: int) -> pl.DataFrame:
        """Take those up to a number, of a table that is in the order of these."""
        more: pl.DataFrame | None = self._held[-1] if self._held else pl.DataFrame()
        while more is not None and (not more.height or more[parted.column][-1] <= last):
            more = next(self._frames, None)
            if more is not None:
                require_sorted(more, parted)
                self._held.append(more)
        rows = sum(int((frame[parted.column] <= last).sum()) for frame in self._held)
        return self._split(rows)

    def take_rest(self) -> pl.DataFrame:
        """Take all that are left."""
        self._held += self._frames
        return self._split(sum(frame.height for frame in self._held))
