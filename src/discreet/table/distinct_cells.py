"""Distinct cells: a column as the different cells that it has, and which of them each row has."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.table.arrays import Ints

SAFE = 2**62 - 1
"""Whole numbers up to this may be subtracted from each other."""


@dataclass(frozen=True, eq=False)
class DistinctCells:
    """The different cells of a column, settled, and per row which it has."""

    cells: pl.Series
    """Those that are not null."""
    inverse: NDArray[np.int32]
    """Per row the number of its cell, the last number meaning null."""
    full: bool
    """Whether every cell is known to be some row's."""

    @cached_property
    def counts(self) -> Ints:
        """How often each cell occurs, and behind them how often none does."""
        return np.bincount(self.inverse, minlength=len(self.cells) + 1)

    def count(self) -> tuple[pl.Series, Ints]:
        """Give the cells that occur, null among them, and how often each does."""
        occur = self.counts > 0
        cells = self.cells if occur[:-1].all() else self.cells.filter(pl.Series(occur[:-1]))
        return cells.extend_constant(None, 1) if occur[-1] else cells, self.counts[occur]

    def find_row(self, cell: object) -> int | None:
        """Give the number of the first row whose cell is a text, blanks around it aside."""
        is_it = (self.cells.cast(pl.String).str.strip_chars() == cell).to_numpy()
        found = np.flatnonzero(np.append(is_it, False)[self.inverse])
        return int(found[0]) if len(found) else None


def tell_apart(series: pl.Series) -> DistinctCells:
    """Split a column into its different cells and, per row, which one it is."""
    if series.dtype == pl.Object:
        series = pl.Series([None if c is None else str(c) for c in series], dtype=pl.String)
    elif series.dtype == pl.Null:
        series = series.cast(pl.String)
    if series.dtype.is_float():
        series = series.fill_nan(None) + 0.0  # −0.0 + 0.0 is 0.0
    elif isinstance(series.dtype, pl.Enum) and not series.null_count():
        codes = series.to_physical().cast(pl.Int32).to_numpy()
        return DistinctCells(series.dtype.categories, codes, full=False)
    elif series.dtype in (pl.Categorical, pl.Enum):
        series = series.cast(pl.String)
    if series.dtype == pl.String:
        return _tell_texts_apart(series)
    dense = _tell_dense_apart(series) if series.dtype.is_integer() else None
    return dense or _tell_any_apart(series)


def _tell_texts_apart(texts: pl.Series) -> DistinctCells:
    """Let Arrow number texts: it takes one look at each, and half the time of an Enum."""
    encoded = texts.to_arrow().dictionary_encode()
    cells = pl.Series(pl.from_arrow(encoded.dictionary), dtype=pl.String)
    # not by Arrow's own to_numpy: that imports pandas wherever it is installed
    numbers = pl.Series(pl.from_arrow(encoded.indices), dtype=pl.Int32)
    if numbers.null_count():
        numbers = numbers.fill_null(len(cells))
    return DistinctCells(cells, numbers.to_numpy(), full=True)


def _tell_dense_apart(series: pl.Series) -> DistinctCells | None:
    """Count instead of hashing where the integers span a range no larger than the column."""
    if series.null_count() or series.len() == 0:
        return None
    low, high = int(series.min()), int(series.max())  # type: ignore[arg-type]
    if high - low >= 4 * series.len() + 1024 or not -SAFE < low <= high < SAFE:
        return None
    offsets = series.cast(pl.Int64).to_numpy() - low
    present = np.zeros(high - low + 1, dtype=bool)
    present[offsets] = True
    numbering = np.cumsum(present, dtype=np.int32) - 1
    cells = pl.Series(np.flatnonzero(present) + low, dtype=pl.Int64)
    return DistinctCells(cells, numbering[offsets].astype(np.int32, copy=False), full=True)


def _tell_any_apart(series: pl.Series) -> DistinctCells:
    rows = series.alias("cell").to_frame().with_row_index("row")
    found = rows.filter(pl.col("cell").is_not_null()).group_by("cell").agg("row")
    inverse = np.full(len(series), found.height, dtype=np.int32)
    lengths = found["row"].list.len().to_numpy()
    inverse[found["row"].explode(empty_as_null=False).to_numpy()] = np.repeat(
        np.arange(found.height, dtype=np.int32), lengths
    )
    return DistinctCells(found["cell"], inverse, full=True)
