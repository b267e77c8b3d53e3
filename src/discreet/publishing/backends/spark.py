"""Spark: a table that a cluster has, worked on by its workers.

Spark reads the table once, and from then on says who does which piece of work. What is in between
lies in files, in a folder that all workers and this process see. Functions that workers run give
the same for the same rows, so whoever is lost is replaced, and people are counted after every
stage. Only frames and functions over Arrow are used, so that Spark Connect and managed clusters
will do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

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
    AddCounts,
    CountRows,
    FindDistinct,
    FinishLeaves,
    Lines,
    PackRows,
    RewordLeaves,
    RewordRows,
    SortedRows,
    SortRows,
    WordFile,
    WriteRecords,
    find_distinct,
    read_counts,
)
from discreet.publishing.partitioners.packing import Layout
from discreet.release.seals import Seal, name_files
from discreet.table.arrays import Ints
from discreet.table.by_workers import Spills, remove, run_each, run_shares
from discreet.table.facts import Facts
from discreet.table.staged_frames import StagedRows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PART = 1 << 19
"""So many records go into a file, about."""
FEW = 1 << 22
"""So many counts are added up here; more are added up by workers first."""
TOGETHER = 8
"""So many files of counts are added up by one of them."""


@dataclass(frozen=True, eq=False)
class SparkBackend(Backend):
    """Rows in files, as workers read them from a frame, and a folder for what is in between."""

    session: SparkSession
    rows: StagedRows
    facts: Facts
    folder: Path
    capacity: int
    examined: int
    progress: Progress = field(default=say_nothing)

    def pack(self, layout: Layout) -> SparkRows:
        """Code and pack rows, and keep the words of each piece in a file."""
        self.progress("Coding", 0, self.facts.n)
        pack = PackRows(self.rows, self.facts, layout, self.folder)
        words = run_each(self.session, len(self.rows.pieces), pack)
        return _hold(self, layout.planes, words, "coding")


@dataclass(frozen=True, eq=False)
class SparkRows(PackedRows):
    """Words in files."""

    backend: SparkBackend
    planes: int
    files: list[WordFile]

    def tally(self, count: Count) -> KeyCounts:
        """Add up what is counted of all rows."""
        session, folder = self.backend.session, self.backend.folder
        self.backend.progress("Counting", 0, self.backend.facts.n)
        parts = run_shares(session, len(self.files), CountRows(count, self.files, folder))
        while len(parts) > 1 and sum(part.rows for part in parts) > FEW:
            some = -(-len(parts) // TOGETHER)
            added = run_each(session, some, AddCounts(parts, TOGETHER, folder))
            remove(part.path for part in parts)
            parts = added
        found = read_counts(parts)
        remove(part.path for part in parts)
        return found

    def reword(self, reword: Callable[[Ints], Ints], planes: int) -> SparkRows:
        """Give rows other words, in other files."""
        work = RewordRows(reword, self.files, self.backend.folder)
        words = run_each(self.backend.session, len(self.files), work)
        self.discard()
        return _hold(self.backend, planes, words, "coding")

    def _sort(self, find: Find, leaves: int) -> SortedRows:
        """Sort all rows by leaf, and share leaves out, so many rows to each piece of work."""
        work = SortRows(find, self.files, leaves, self.backend.folder)
        told = run_each(self.backend.session, len(self.files), work)
        counts = sum((counts for _, counts in told), np.zeros(leaves, np.int64))
        _require_all(int(counts.sum()), self.backend.facts.n, "sorting")
        spills = Spills([path for path, _ in told], self.planes, np.int64)
        return SortedRows(spills, _share_out(counts.tolist()))

    def discard(self) -> None:
        """Remove these words, which were kept."""
        remove(file.path for file in self.files)

    def regroup(self, find: Find, leaves: int, reword: Reword, planes: int) -> SparkRows:
        """Bring rows together by leaf, and keep other words of them."""
        backend = self.backend
        backend.progress("Grouping", 0, leaves)
        rows = self._sort(find, leaves)
        work = RewordLeaves(rows, reword, backend.folder)
        words = run_each(backend.session, len(rows.pieces), work)
        rows.spills.forget()
        self.discard()
        return _hold(backend, planes, words, "grouping")

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
        """Bring rows together by leaf, finish each, and keep what was made."""
        backend = self.backend
        backend.progress("Splitting", 0, leaves)
        rows = self._sort(find, leaves)
        work = FinishLeaves(rows, finish, samples, backend.folder)
        told = run_each(backend.session, len(rows.pieces), work)
        rows.spills.forget()
        if not keep:
            self.discard()
        made = [leaf for some in told for leaf in some]
        whole = whole or len(samples) > 1
        tables = {title: SparkLeaves(backend, [leaf[title] for leaf in made], whole)
                  for title in samples}  # fmt: skip
        _require_all(next(iter(tables.values())).height, backend.facts.n, "splitting")
        return tables


def _share_out(rows: list[int]) -> list[tuple[int, int]]:
    """Put leaves together, one after the other, so that each piece has enough rows or one leaf."""
    pieces, start, held = [], 0, 0
    for leaf, count in enumerate(rows):
        if held and held + count > PART:
            pieces.append((start, leaf))
            start, held = leaf, 0
        held += count
    return [*pieces, (start, len(rows))]


def _hold(backend: SparkBackend, planes: int, words: list[WordFile], stage: str) -> SparkRows:
    _require_all(sum(file.rows for file in words), backend.facts.n, stage)
    return SparkRows(backend, planes, words)


def _require_all(found: int, wanted: int, stage: str) -> None:
    """Refuse to go on if a stage lost or doubled people."""
    if found != wanted:
        raise ClusterError(
            f"After {stage} there are {found:,} records for {wanted:,} people.",
            hint="Workers may not see the same folder, or somebody writes to it: publish again.",
        )


@dataclass(frozen=True, eq=False)
class SparkLeaves(FinishedLeaves):
    """Lines about classes, in a file per leaf."""

    backend: SparkBackend
    lines: list[Lines]
    whole: bool
    """Whether a leaf lies in one file, as what it holds has to be examined together."""

    @property
    def height(self) -> int:
        """How many records all classes have."""
        return sum(line.records for line in self.lines)

    def count_classes(self) -> Ints:
        """Say how many classes each leaf has."""
        return np.array([line.classes for line in self.lines], dtype=np.int64)

    def distinct(self, columns: list[str]) -> pl.DataFrame:
        """Give the different lines of some columns."""
        backend = self.backend
        work = FindDistinct(self.lines, columns, backend.folder)
        paths = run_shares(backend.session, len(self.lines), work)
        found = find_distinct(paths, columns)
        remove(paths)
        return found

    def discard(self) -> None:
        """Remove them, as nobody will write them."""
        remove(line.path for line in self.lines)

    def write(
        self, show: ShowClasses, folder: Path, title: str, sample: pl.DataFrame
    ) -> list[Seal]:
        """Let workers write the records of all classes, whole classes in each file."""
        backend, height = self.backend, self.height
        backend.progress("Writing", 0, height)
        files = max(1, height // min(PART, backend.examined))
        work = WriteRecords(show, self.lines, self.whole, files, sample, backend.folder)
        told = [file for file in run_each(backend.session, files, work) if file is not None]
        _require_all(sum(rows for _, rows in told), height, "writing")
        names = name_files(title, len(told), "parquet")
        return [Seal.of(path.rename(folder / name))
                for (path, _), name in zip(told, names, strict=True)]  # fmt: skip
