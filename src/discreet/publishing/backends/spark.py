"""Spark: a table that a cluster has, worked on where its rows are.

Only frames and functions over Arrow are used, so that Spark Connect and managed clusters will do.
What is in between lies in a folder that all workers and this process see. Functions that workers
run give the same for the same rows, so whoever is lost is replaced, and people are counted after
every stage.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.errors import ClusterError
from discreet.publishing.backends import (
    Backend,
    Count,
    Find,
    Finish,
    FinishedLeaves,
    KeyCounts,
    PackedRows,
    Progress,
    Reword,
    ShowClasses,
    say_nothing,
)
from discreet.publishing.backends.spark_tasks import (
    LEAF,
    PLACE,
    TABLE,
    CountRows,
    FindLeaf,
    PackRows,
    RewordRows,
    WriteLines,
    finish_leaf,
    name_own,
    put_together,
    reword_leaf,
    spell_words,
    to_arrow,
)
from discreet.publishing.partitioners.packing import Layout
from discreet.release.seals import Seal, name_files
from discreet.table.arrays import Ints
from discreet.table.facts import Facts
from discreet.table.spark_frames import SparkFrame, collect, number_columns, quote

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

PART = 1 << 19
"""So many records go into a file, about."""


@dataclass(frozen=True, eq=False)
class SparkBackend(Backend):
    """Rows in a frame, and a folder for what is in between."""

    session: SparkSession
    source: SparkFrame
    facts: Facts
    folder: Path
    capacity: int
    examined: int
    progress: Progress = field(default=say_nothing)

    def pack(self, layout: Layout) -> SparkRows:
        """Code and pack rows where they are; the words are kept there."""
        self.progress("Coding", 0, self.facts.n)
        names = list(self.facts.cells)
        cells = number_columns(self.source.frame, names)
        words = cells.mapInArrow(PackRows(self.facts, layout, names), spell_words(layout.planes))
        return SparkRows(self, layout.planes, words.persist())


@dataclass(frozen=True, eq=False)
class SparkRows(PackedRows):
    """Words in a frame."""

    backend: SparkBackend
    planes: int
    words: DataFrame

    def tally(self, count: Count) -> KeyCounts:
        """Add up what is counted of all rows."""
        from pyspark.sql import functions as f

        self.backend.progress("Counting", 0, self.backend.facts.n)
        counted = self.words.mapInArrow(CountRows(count), "key long, rows long")
        found = collect(counted.groupBy("key").agg(f.sum("rows").alias("rows"))).sort("key")
        return found["key"].to_numpy(), found["rows"].to_numpy()

    def reword(self, reword: Callable[[Ints], Ints], planes: int) -> SparkRows:
        """Give rows other words where they are, which are kept there instead."""
        again = self.words.mapInArrow(RewordRows(reword), spell_words(planes)).persist()
        again.count()  # while these words are kept still
        self.words.unpersist()
        return SparkRows(self.backend, planes, again)

    def _work_on_leaves(
        self,
        find: Find,
        work: Callable[[pa.Table], pa.Table],
        schema: Any,
        name: str,
        *,
        keep: bool = False,
    ) -> DataFrame:
        """Bring rows together by leaf, work on each where it is, and keep what was made on disk."""
        backend = self.backend
        found = self.words.mapInArrow(FindLeaf(find), f"{spell_words(self.planes)}, leaf int")
        place = (backend.folder / name).as_uri()
        found.groupBy(LEAF).applyInArrow(work, schema).write.mode("overwrite").parquet(place)
        if not keep:
            self.discard()
        return backend.session.read.parquet(place)

    def discard(self) -> None:
        """Let the workers forget them."""
        self.words.unpersist()

    def regroup(self, find: Find, leaves: int, reword: Reword, planes: int) -> SparkRows:
        """Bring rows together by leaf, and keep other words of them on disk."""
        self.backend.progress("Grouping", 0, leaves)
        work = reword_leaf(reword, self.planes)
        staged = self._work_on_leaves(find, work, spell_words(planes), "grouped")
        _require_all(staged.count(), self.backend.facts.n, "grouping")
        return SparkRows(self.backend, planes, staged)

    def map_leaves(
        self,
        find: Find,
        leaves: int,
        finish: Finish,
        samples: Mapping[str, pl.DataFrame],
        *,
        keep: bool = False,
        whole: bool = False,
    ) -> dict[str, SparkLeaves]:
        """Bring rows together by leaf, finish each where it is, and keep what was made on disk."""
        from pyspark.sql import functions as f
        from pyspark.sql.pandas.types import from_arrow_schema

        backend = self.backend
        backend.progress("Splitting", 0, leaves)
        made = to_arrow(put_together(samples, 0))
        work, schema = finish_leaf(finish, self.planes), from_arrow_schema(made.schema)
        name = f"leaves-{next(iter(samples))}"
        staged = self._work_on_leaves(find, work, schema, name, keep=keep)
        tables = {}
        for number, (title, sample) in enumerate(samples.items()):
            own = [f.col(quote(name_own(number, c))).alias(c) for c in sample.columns]
            lines = staged.filter(f.col(TABLE) == number).select(LEAF, PLACE, *own)
            tables[title] = SparkLeaves(backend, lines, whole=whole or len(samples) > 1)
        _require_all(next(iter(tables.values())).height, backend.facts.n, "splitting")
        return tables


def _require_all(found: int, wanted: int, stage: str) -> None:
    """Refuse to go on if a stage lost or doubled people."""
    if found != wanted:
        raise ClusterError(
            f"After {stage} there are {found:,} records for {wanted:,} people.",
            hint="The table was changed meanwhile, or the cluster lost some: publish again.",
        )


@dataclass(frozen=True, eq=False)
class SparkLeaves(FinishedLeaves):
    """Lines about classes, in files that all workers see."""

    backend: SparkBackend
    lines: DataFrame
    whole: bool
    """Whether a leaf lies in one file, as what it holds has to be examined together."""

    @cached_property
    def _counted(self) -> pl.DataFrame:
        """Per leaf its classes and its records."""
        from pyspark.sql import functions as f

        counted = self.lines.groupBy(LEAF).agg(
            f.count("*").alias("classes"), f.sum("size").alias("records")
        )
        return collect(counted).sort(LEAF)

    @property
    def height(self) -> int:
        """How many records all classes have."""
        return int(self._counted["records"].sum())

    def count_classes(self) -> Ints:
        """Say how many classes each leaf has."""
        return self._counted["classes"].to_numpy()

    def distinct(self, columns: list[str]) -> pl.DataFrame:
        """Give the different lines of some columns."""
        return collect(self.lines.select(*map(quote, columns)).distinct())

    def discard(self) -> None:
        """Leave them where they are: what is made next is written over them."""

    def write(
        self, show: ShowClasses, folder: Path, title: str, sample: pl.DataFrame
    ) -> list[Seal]:
        """Let the workers write the records of all classes, whole classes in each file."""
        backend, height = self.backend, self.height
        backend.progress("Writing", 0, height)
        counts = self.count_classes()
        first = dict(zip(self._counted[LEAF].to_list(), (np.cumsum(counts) - counts).tolist(),
                         strict=True))  # fmt: skip
        files = max(1, height // PART)
        by = [LEAF] if self.whole else [LEAF, PLACE]
        ordered = self.lines.repartitionByRange(files, *by)
        ordered = ordered.sortWithinPartitions(LEAF, PLACE)
        place = backend.folder / title
        place.mkdir()
        write = WriteLines(show, first, sample, place)
        written = collect(ordered.mapInArrow(write, "number long, path string, rows long"))
        _require_all(int(written["rows"].sum()), height, "writing")
        found = [Path(path) for path in written.sort("number")["path"]]
        names = name_files(title, len(found), "parquet")
        return [Seal.of(path.rename(folder / name))
                for path, name in zip(found, names, strict=True)]  # fmt: skip
