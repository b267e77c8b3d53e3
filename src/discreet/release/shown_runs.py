"""Shown runs: do all rows of a table that show the same stand together, whatever files it has?

Another order of people than that of what they show would be a message.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from discreet.errors import DAMAGED, StoreError
from discreet.release.parts import StoredParts
from discreet.release.release import PartedTable
from discreet.release.table_files import read_file


class ShownRuns(NamedTuple):
    """Of a file how many runs of rows show the same, and its first and last row."""

    runs: int
    ends: list[tuple[tuple[object, ...], int]]
    """What is shown, and the number beside it."""


def find_runs(stored: StoredParts, table: PartedTable, number: int) -> ShownRuns:
    """Look for runs in a file of a table; rows of one are in the order of their numbers."""
    rows = read_file(stored.folder, stored.find(table), number)
    shown = rows.drop(table.column).with_columns(pl.col(pl.Enum).cast(pl.String))
    run = shown.select(pl.struct(pl.all()).rle_id()).to_series().to_numpy().astype(np.int64)
    numbers = rows[table.column].to_numpy()
    if (np.diff(numbers)[np.diff(run) == 0] < 0).any():
        raise _refuse(table)
    ends = [(shown.row(row), int(numbers[row])) for row in (0, -1)] if rows.height else []
    return ShownRuns(int(run.max(initial=-1)) + 1, ends)


def require_together(table: PartedTable, files: Sequence[ShownRuns], shown: int) -> None:
    """Refuse a table unless it has a run for each of so many things that are shown."""
    runs, before = 0, None
    for file in files:
        runs += file.runs
        if before is not None and file.runs:
            same = before[0] == file.ends[0][0]
            if same and before[1] > file.ends[0][1]:
                raise _refuse(table)
            runs -= same
        before = file.ends[-1] if file.runs else before
    if runs != shown:
        raise _refuse(table)


def _refuse(table: PartedTable) -> StoreError:
    return StoreError(
        f"The rows of {table.title!r} are not in the order of what they show.", hint=DAMAGED
    )
