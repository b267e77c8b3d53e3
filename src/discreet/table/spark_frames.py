"""Spark frames: a table that a cluster has, of which single columns are counted there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.table.arrays import Ints
from discreet.table.facts import settle_cells

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame

ArrowBatches = Iterator["pa.RecordBatch"]
"""What functions that workers run are given, and give."""


@dataclass(frozen=True, eq=False)
class SparkFrame:
    """A table as a frame of Spark."""

    frame: DataFrame
    where: str = "the table"

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return list(self.frame.columns)

    def count_cells(self, name: str, dropped: Mapping[str, pl.Series]) -> tuple[pl.Series, Ints]:
        """Give the different cells of a column, settled, and how often each occurs."""
        rows = self.frame
        for other, cells in dropped.items():
            rows = rows.filter(_has_none(rows[quote(other)], cells))
        counted = collect(rows.groupBy(rows[quote(name)].alias("cell")).count())
        settled = counted.select(settle_cells("cell", counted.schema["cell"]), "count")
        found = settled.group_by("cell").agg(pl.col("count").sum())
        return found["cell"], found["count"].to_numpy().astype(np.int64)

    def count_distinct(self, name: str) -> tuple[int, int]:
        """Count the different cells of a column that are not empty, and all of these."""
        from pyspark.sql import functions as f

        cells = self.frame.select(self.frame[quote(name)].alias("cell")).filter("cell IS NOT NULL")
        if dict(cells.dtypes)["cell"] == "string":
            cells = cells.select(f.regexp_replace("cell", r"^\s+|\s+$", "").alias("cell"))
            cells = cells.filter("cell != ''")
        (found,) = cells.agg(f.count_distinct("cell"), f.count("cell")).collect()
        return int(found[0]), int(found[1])

    def find_row(self, name: str, cell: object) -> int | None:  # noqa: ARG002
        """Rows of a cluster have no numbers."""
        return None


def quote(name: str) -> str:
    """Write the name of a column so that Spark takes it as it is.

    >>> quote("hours.per`week")
    '`hours.per``week`'
    """
    return "`" + name.replace("`", "``") + "`"


def collect(frame: DataFrame) -> pl.DataFrame:
    """Bring what a cluster found to this process."""
    found: Any = pl.from_arrow(frame.toArrow())
    assert isinstance(found, pl.DataFrame)
    return found


def _has_none(column: Column, cells: pl.Series) -> Column:
    """Say which rows have none of some settled cells in a column."""
    from pyspark.sql import functions as f

    kept, values = f.lit(True), cells.drop_nulls().to_list()
    if values:
        kept &= f.coalesce(~column.isin(values), f.lit(True))
    if cells.null_count():
        kept &= column.isNotNull()
        if cells.dtype.is_float():
            kept &= ~f.isnan(column)
    return kept
