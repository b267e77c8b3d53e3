"""Spark frames: a table that a cluster has, of which single columns are counted there."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.table.arrays import Ints
from discreet.table.facts import Made, MakeOfCells, Progress, settle_cells
from discreet.table.row_keys import key_rows
from discreet.table.schema import Attribute
from discreet.table.spelling import list_numbers

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
    types: Mapping[str, pl.DataType] = field(default_factory=dict)
    """What files say of their columns that Spark does not know."""
    files: Sequence[Path] = ()
    """Where it lies, if that is Parquet in a place that all workers see."""

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

    def count_distinct(self, name: str, na: Sequence[str]) -> tuple[int, int]:
        """Count the different cells of a column that are neither empty nor ``na``, and all such."""
        from pyspark.sql import functions as f

        cells = self.frame.select(self.frame[quote(name)].alias("cell")).filter("cell IS NOT NULL")
        if dict(cells.dtypes)["cell"] == "string":
            cells = cells.select(f.regexp_replace("cell", r"^\s+|\s+$", "").alias("cell"))
            cells = cells.filter(~cells["cell"].isin(["", *na]))
        elif dict(cells.dtypes)["cell"] in ("tinyint", "smallint", "int", "bigint"):
            cells = cells.filter(~cells["cell"].cast("string").isin([*na]))
        elif dict(cells.dtypes)["cell"] in ("float", "double"):
            cells = cells.filter(~cells["cell"].isin(list_numbers(na)))
        (found,) = cells.agg(f.count_distinct("cell"), f.count("cell")).collect()
        return int(found[0]), int(found[1])

    def map_cells(self, name: str, work: MakeOfCells[Made], at_once: int) -> list[Made]:  # noqa: ARG002
        """Have workers make something of the different cells of a column, each of its part."""
        from pyspark.sql import functions as f

        counted = self.frame.groupBy(self.frame[quote(name)].alias("cell")).count()
        together = counted["cell"]
        if dict(counted.dtypes)["cell"] == "string":
            together = f.regexp_replace(together, r"(?U)^\s+|\s+\z", "")
        found = counted.repartition(together).mapInArrow(_MakeOfCells(work), "made binary")
        return [pickle.loads(made) for made in collect(found)["made"]]  # its own workers wrote it

    def count_lone(
        self, attributes: Sequence[Attribute], person: Attribute | None, at_once: int,  # noqa: ARG002
        progress: Progress,
    ) -> int:  # fmt: skip
        """Count the rows that no other equals on some attributes; the people, if one names them."""
        from pyspark.sql import functions as f

        progress("Comparing", 0, 0)
        asked = [*attributes, *([] if person is None else [person])]
        cells = number_columns(self.frame, [a.name for a in asked])
        keys = cells.mapInArrow(_KeyRows(attributes, person), "w0 long, w1 long, w2 long, w3 long")
        alike = keys.groupBy("w0", "w1")
        if person is None:
            return int(alike.count().filter("count = 1").count())
        owner = f.struct("w2", "w3")
        lone = alike.agg(f.min(owner).alias("one"), f.max(owner).alias("other"))
        return int(lone.filter("one = other").select("one").distinct().count())

    @staticmethod  # workers are given it, and cannot be given frames
    def find_row(name: str, cell: object) -> int | None:  # noqa: ARG004
        """Rows of a cluster have no numbers."""
        return None


@dataclass(frozen=True, eq=False)
class _MakeOfCells:
    work: MakeOfCells[Any]

    def __call__(self, batches: ArrowBatches) -> ArrowBatches:
        import pyarrow as pa

        keep_what_is_loaded()
        held = list(batches)
        if held:
            counted: Any = pl.from_arrow(pa.Table.from_batches(held))
            counts = counted["count"].to_numpy().astype(np.int64)
            cells = counted.select(settle_cells("cell", counted.schema["cell"])).to_series()
            made = pickle.dumps(self.work(cells, counts))
            yield pa.RecordBatch.from_arrays([pa.array([made], pa.binary())], names=["made"])


@dataclass(frozen=True, eq=False)
class _KeyRows:
    attributes: Sequence[Attribute]
    person: Attribute | None

    def __call__(self, batches: ArrowBatches) -> ArrowBatches:
        import pyarrow as pa

        keep_what_is_loaded()
        asked = [*self.attributes, *([] if self.person is None else [self.person])]
        for batch in batches:
            frame = read_batch(batch, [a.name for a in asked])
            words = key_rows(frame, self.attributes)
            owners = words if self.person is None else key_rows(frame, [self.person])
            arrays = [pa.array(half.view(np.int64)) for half in (*words, *owners)]
            yield pa.RecordBatch.from_arrays(arrays, names=["w0", "w1", "w2", "w3"])


def is_spark_frame(source: object) -> bool:
    """Whether something is a frame of Spark, in this process or of Spark Connect."""
    kinds = ((kind.__module__, kind.__name__) for kind in type(source).__mro__)
    return any(name == "DataFrame" and room.startswith("pyspark.sql.") for room, name in kinds)


def quote(name: str) -> str:
    """Write the name of a column so that Spark takes it as it is.

    >>> quote("hours.per`week")
    '`hours.per``week`'
    """
    return "`" + name.replace("`", "``") + "`"


def number_columns(frame: DataFrame, names: Sequence[str]) -> DataFrame:
    """Give some columns of a frame, named by their numbers: attributes may be called anything."""
    return frame.select(*(frame[quote(name)].alias(f"c{i}") for i, name in enumerate(names)))


def read_batch(batch: pa.RecordBatch, names: Sequence[str]) -> pl.DataFrame:
    """Read what a worker is given, and call its columns by their names again."""
    import pyarrow as pa

    frame: Any = pl.from_arrow(pa.Table.from_batches([batch]).rename_columns(list(names)))
    assert isinstance(frame, pl.DataFrame)
    return frame


def keep_what_is_loaded() -> None:
    """Have a worker look for garbage only among what its next task makes.

    Spark has it look after every task, and among all that libraries loaded that takes a tenth of a
    second.
    """
    gc.freeze()


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
