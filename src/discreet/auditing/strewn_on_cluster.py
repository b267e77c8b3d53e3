"""Strewn on a cluster: what groups with records in all parts hold, added up by its workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from discreet.auditing.on_cluster import NOBODY, SAYING, collect_said, list_sent, say
from discreet.auditing.strewn import BOX, BUCKET, StoredShares, find_view
from discreet.forms import find_form
from discreet.release import Release
from discreet.release.parts import StoredParts
from discreet.release.release import FindShares, PartedTable
from discreet.release.shown_runs import find_runs, require_together
from discreet.table.spark_frames import ArrowBatches

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

TABLE = "table"
ADDED = f"{TABLE} int, {BOX} string, attribute int, code long, weight long"
LISTED = f"{TABLE} int, {BOX} string, attribute int, size long, code long, weight long"


@dataclass(frozen=True, eq=False)
class TakeFile:
    """Reads a file of records as a part that knows what strewn groups hold in all."""

    stored: StoredParts
    shares: dict[str, FindShares]

    def __call__(self, number: int) -> Release:
        """Give the part."""
        return replace(self.stored.take_file(number), shares=self.shares)


@dataclass(frozen=True, eq=False)
class _ListShares:
    """Lists what parts hold of strewn groups."""

    stored: StoredParts

    def __call__(self, batches: ArrowBatches) -> ArrowBatches:
        for number in list_sent(batches):
            part = self.stored.take_file(number)
            for place, table in enumerate(self.stored.strewn):
                lines = find_view(part, table.title).list_shares()
                yield from _spell(lines, place, ["size"]).to_batches()


@dataclass(frozen=True, eq=False)
class _FindRuns:
    """Looks for runs in files of strewn tables."""

    stored: StoredParts
    files: list[tuple[PartedTable, int]]

    def __call__(self, batches: ArrowBatches) -> ArrowBatches:
        for number in list_sent(batches):
            yield say(number, find_runs(self.stored, *self.files[number]), NOBODY)


def _spell(lines: pl.DataFrame, place: int, more: list[str]) -> pa.Table:
    """Give lines about a table's groups as Spark takes them."""
    import pyarrow as pa

    table = lines.select(
        pl.lit(place, pl.Int32).alias(TABLE), BOX, pl.col("attribute").cast(pl.Int32),
        *(pl.col(name).cast(pl.Int64) for name in (*more, "code", "weight")),
    ).to_arrow()  # fmt: skip
    text = table.schema.get_field_index(BOX)
    return table.set_column(text, BOX, table.column(BOX).cast(pa.string()))


def _add_shares(form: str) -> Callable[[pa.Table], pa.Table]:
    """Make a function, of one argument, that adds up what was listed of some groups."""

    def run(table: pa.Table) -> pa.Table:
        lines = pl.from_arrow(table)
        assert isinstance(lines, pl.DataFrame)
        return _spell(find_form(form).add_shares(lines), table.column(TABLE)[0].as_py(), [])

    return run


def share_on_cluster(
    session: SparkSession, stored: StoredParts, folder: Path
) -> dict[str, FindShares]:
    """Add up what all files hold of strewn groups; refuse tables that are not in their order."""
    from pyspark.sql import functions as f

    if not stored.strewn:
        return {}
    files = len(stored.records.paths)
    listed = session.range(files).repartition(files).mapInArrow(_ListShares(stored), LISTED)
    place = folder / "strewn"
    bucket = f.pmod(f.hash(BOX), f.lit(files)).alias(BUCKET)
    added = listed.groupBy(TABLE, bucket).applyInArrow(_add_shares(stored.release.form), ADDED)
    added.write.mode("overwrite").partitionBy(TABLE).parquet(place.as_uri())
    shares = {table.title: StoredShares(place / f"{TABLE}={number}")
              for number, table in enumerate(stored.strewn)}  # fmt: skip
    pairs = [(table, number) for table in stored.strewn
             for number in range(len(stored.find(table).paths))]  # fmt: skip
    looked = session.range(len(pairs)).mapInArrow(_FindRuns(stored, pairs), SAYING)
    said = collect_said(looked)
    for table in stored.strewn:
        runs = [said[number] for number, (other, _) in enumerate(pairs) if other == table]
        require_together(table, runs, shares[table.title].groups)
    return dict(shares)
