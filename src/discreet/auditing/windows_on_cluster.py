"""Windows on a cluster: the audit by what records show, where a cluster has the table.

Records are sorted into windows, and what the groups of each window's records hold is put beside
them, in a folder that all workers see.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from discreet.auditing import AuditReport
from discreet.auditing.in_parts import AskedOfParts
from discreet.auditing.in_windows import GroupTotals, WindowFinder, conclude
from discreet.auditing.merging import PartFindings, merge
from discreet.auditing.on_cluster import WorkPlace, examine_parts, look_at_files
from discreet.forms.reading import read_values
from discreet.forms.verify import verify
from discreet.principles.groups import Groups
from discreet.release import Release
from discreet.release.labels import read_codes
from discreet.release.parts import StoredParts
from discreet.table.arrays import Ints
from discreet.table.facts import Facts, Progress
from discreet.table.spark_frames import ArrowBatches, number_columns, read_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WINDOW, GROUP, VALUE, COUNT = "window", "group", "value", "rows"
SORTED = "by_window"
AT_ONCE = 1 << 19
"""So many records are in a window, about."""


@dataclass(frozen=True, eq=False)
class VerifiedFile:
    """What a worker saw of a file of records."""

    sizes: Ints
    ends: tuple[int, int]
    beside: int


@dataclass(frozen=True, eq=False)
class _VerifyFile:
    """Verifies the groups of files."""

    stored: StoredParts

    def __call__(self, number: int) -> VerifiedFile:
        part = self.stored.take_file(number)
        verify(part)
        return VerifiedFile(part.views[0].sizes, *self.stored.span(part))


@dataclass(frozen=True, eq=False)
class _FindWindows:
    """Says into which window each record goes."""

    release: Release
    facts: Facts
    finder: WindowFinder
    columns: list[str]

    def __call__(self, batches: ArrowBatches) -> ArrowBatches:
        import pyarrow as pa

        for batch in batches:
            table = read_batch(batch, self.columns)
            codes = {name: read_codes(self.release, table, name, self.facts.domains[name])
                     for name in self.finder.names}  # fmt: skip
            window = pa.array(self.finder.find(codes).astype(np.int32))
            names = [*batch.schema.names, WINDOW]
            yield pa.RecordBatch.from_arrays([*batch.columns, window], names=names)


@dataclass(frozen=True, eq=False)
class _TakeWindow:
    """Reads a window, with what the groups of its records hold."""

    stored: StoredParts
    folder: Path
    columns: list[str]

    def __call__(self, window: int) -> Release | None:
        """Give its records as a part; nothing where it has none."""
        if not (self.folder / SORTED / f"{WINDOW}={window}").exists():
            return None
        (name,) = self.stored.release.schema.sensitive
        group = self.stored.parted[0].column
        table = _read(self.folder / SORTED, window)
        table = table.rename({f"c{i}": column for i, column in enumerate(self.columns)})
        held = _read(self.folder / "bags", window).rename({GROUP: group, VALUE: name})
        part = self.stored.take_records(table.select(self.columns), {})
        codes, domain, whole = read_values(part, held, name)
        assert whole is not None  # it was counted before
        frame = pl.DataFrame({GROUP: held[group], "code": codes, COUNT: held[COUNT]})
        frame = frame.sort(GROUP, "code")
        owners = frame[GROUP].rank("dense").to_numpy().astype(np.int64) - 1
        bags = Groups.from_entries(
            owners, frame["code"].to_numpy(), frame[COUNT].to_numpy().astype(np.int64), domain
        )
        return replace(part, bags={name: replace(bags, whole=whole)})


@dataclass(frozen=True, eq=False)
class _PutDown:
    """Puts down what people use of groups; a window that is examined again says the same."""

    stored: StoredParts
    place: Path

    def __call__(self, window: int, part: Release, found: PartFindings) -> PartFindings:
        if found.scattered is None or found.scattered.used is None:
            return found
        used, (bags,) = found.scattered.used, part.bags.values()
        numbers = self.stored.list_numbers(part.views[0].table)
        lacking = used.entries < 0
        table = pl.DataFrame({
            GROUP: np.where(lacking, -1, numbers[bags.owners[used.entries]]),
            VALUE: bags.codes[used.entries].astype(np.int64),
            "has": np.where(lacking, 0, bags.weights[used.entries]),
            COUNT: used.people,
        })  # fmt: skip
        draft = self.place / f".{window}-{os.getpid()}"
        table.write_parquet(draft)
        draft.replace(self.place / f"{window}.parquet")
        return replace(found, scattered=replace(found.scattered, used=None))


def _read(folder: Path, window: int) -> pl.DataFrame:
    files = sorted((folder / f"{WINDOW}={window}").glob("*.parquet"))
    return pl.concat([pl.read_parquet(file, hive_partitioning=False) for file in files])


def audit_windows_on_cluster(
    stored: StoredParts, place: WorkPlace, facts: Facts, *, asked: AskedOfParts, progress: Progress
) -> AuditReport:
    """Verify all groups, then audit window by window."""
    session, _, folder = place
    totals = GroupTotals()
    for seen in look_at_files(session, stored, _VerifyFile(stored)):
        totals.add(seen.sizes)
    finder = WindowFinder(
        tuple(stored.release.schema.quasi_identifiers), max(1, facts.n // AT_ONCE)
    )
    columns = _sort_records(stored, session, facts, finder, folder)
    progress("Auditing", 0, facts.n)
    used = folder / "used"
    used.mkdir()
    take, put_down = _TakeWindow(stored, folder, columns), _PutDown(stored, used)
    found, *counted = examine_parts(
        place, facts, finder.send, finder.windows, take, asked, put_down
    )
    own = [one.scattered.own for one in found if one.scattered is not None]
    report = merge(found, *counted)
    overdrawn = _is_overdrawn(session, sorted(used.glob("*.parquet")))
    return conclude(report, stored, facts, totals, own, overdrawn=overdrawn)


def _is_overdrawn(session: SparkSession, used: list[Path]) -> bool:
    """Whether people of all windows have more of a value than their groups hold."""
    from pyspark.sql import functions as f

    if not used:
        return False
    told = session.read.parquet(*(path.as_uri() for path in used))
    added = told.groupBy(GROUP, VALUE).agg(f.sum(COUNT).alias(COUNT), f.max("has").alias("has"))
    return added.filter(f.col(COUNT) > f.col("has")).count() > 0


def _sort_records(
    stored: StoredParts, session: SparkSession, facts: Facts, finder: WindowFinder, folder: Path
) -> list[str]:
    """Sort all records by window, and put what their groups hold beside them."""
    from pyspark.sql import functions as f

    (name,) = stored.release.schema.sensitive
    paths = [(stored.folder / path).as_uri() for path in stored.records.paths]
    table = session.read.parquet(*paths)
    columns = list(table.columns)
    cells = number_columns(table, columns)
    kinds = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in cells.schema)
    found: DataFrame = cells.mapInArrow(
        _FindWindows(stored.release, facts, finder, columns), f"{kinds}, {WINDOW} int"
    )
    place = (folder / SORTED).as_uri()
    found.write.mode("overwrite").partitionBy(WINDOW).parquet(place)
    sorted_records = session.read.parquet(place)
    group = sorted_records[f"c{columns.index(stored.parted[0].column)}"].alias(GROUP)
    value = sorted_records[f"c{columns.index(name)}"].alias(VALUE)
    pairs = sorted_records.select(WINDOW, group).distinct()
    held = sorted_records.select(group, value).groupBy(GROUP, VALUE).agg(f.count("*").alias(COUNT))
    beside = pairs.join(held, GROUP)
    beside.write.mode("overwrite").partitionBy(WINDOW).parquet((folder / "bags").as_uri())
    return columns
