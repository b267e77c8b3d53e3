"""Disk: a table in Parquet files, worked on batch by batch, with what is in between on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

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
    add_counts,
    say_nothing,
)
from discreet.publishing.partitioners.packing import Layout
from discreet.release import Format
from discreet.release.seals import Seal
from discreet.release.table_files import TableWriter
from discreet.table.arrays import Ints
from discreet.table.facts import Facts
from discreet.table.parquet_files import ParquetFiles

AT_ONCE = 1 << 19
"""So many records are shown at once, or more if a class has more."""
MOST_PARTS = 64
"""So many counts of batches are kept before they are added up."""


@dataclass(frozen=True, eq=False)
class DiskBackend(Backend):
    """Rows in files, and a folder for what is in between, which nobody else can read."""

    files: ParquetFiles
    facts: Facts
    folder: Path
    capacity: int
    examined: int
    format: Format = "parquet"
    progress: Progress = field(default=say_nothing)

    def pack(self, layout: Layout) -> DiskRows:
        """Write the words of every batch to a file of its own."""
        batches: list[Path] = []
        done = 0
        for frame in self.files.batches(list(self.facts.cells)):
            words = layout.pack(self.facts.encode(frame))
            batches.append(self.folder / f"batch-{len(batches)}.npy")
            np.save(batches[-1], words)
            done += frame.height
            self.progress("Coding", done, self.facts.intake.read)
        return DiskRows(self, layout.planes, batches)


@dataclass(frozen=True, eq=False)
class DiskRows(PackedRows):
    """Words in files, a batch each."""

    backend: DiskBackend
    planes: int
    batches: list[Path]

    def _read(self, stage: str) -> Iterator[Ints]:
        done = 0
        for path in self.batches:
            words: Ints = np.load(path)
            yield words
            done += words.shape[1]
            self.backend.progress(stage, done, self.backend.facts.n)

    def tally(self, count: Count) -> KeyCounts:
        """Add up what is counted of all rows."""
        parts: list[KeyCounts] = []
        for words in self._read("Counting"):
            parts.append(count(words))
            if len(parts) == MOST_PARTS:
                parts = [add_counts(parts)]
        return add_counts(parts)

    def reword(self, reword: Callable[[Ints], Ints], planes: int) -> DiskRows:
        """Write other words over those of every batch."""
        for path, words in zip(self.batches, self._read("Coding"), strict=True):
            np.save(path, reword(words))
        return DiskRows(self.backend, planes, self.batches)

    def _bring_together(
        self, find: Find, leaves: int, *, keep: bool = False
    ) -> Iterator[tuple[int, Ints]]:
        """Give leaf by leaf the words of its rows, which are brought together in files."""
        folder = self.backend.folder
        for words in self._read("Sorting"):
            leaf = find(words)
            order = np.argsort(leaf, kind="stable")
            ends = np.cumsum(np.bincount(leaf, minlength=leaves))
            for number in np.unique(leaf).tolist():
                rows = order[ends[number - 1] if number else 0 : ends[number]]
                with (folder / f"leaf-{number}").open("ab") as file:
                    words[:, rows].T.tofile(file)
        if not keep:
            self.discard()
        for number in range(leaves):
            spilled = folder / f"leaf-{number}"
            words = np.fromfile(spilled, dtype=np.int64).reshape(-1, self.planes).T.copy()
            spilled.unlink()
            yield number, words

    def discard(self) -> None:
        """Remove the files."""
        for path in self.batches:
            path.unlink()

    def regroup(self, find: Find, leaves: int, reword: Reword, planes: int) -> DiskRows:
        """Bring rows together leaf by leaf, and write other words of each to a file of its own."""
        batches = []
        for number, words in self._bring_together(find, leaves):
            batches.append(self.backend.folder / f"again-{number}.npy")
            np.save(batches[-1], reword(number, words))
            self.backend.progress("Grouping", number + 1, leaves)
        return DiskRows(self.backend, planes, batches)

    def map_leaves(
        self,
        find: Find,
        leaves: int,
        finish: Finish,
        samples: Mapping[str, pl.DataFrame],
        *,
        keep: bool = False,
        whole: bool = False,  # noqa: ARG002
    ) -> dict[str, DiskLeaves]:
        """Bring rows together leaf by leaf, in a file each, and finish one after the other."""
        paths: dict[str, list[Path]] = {title: [] for title in samples}
        for number, words in self._bring_together(find, leaves, keep=keep):
            made = finish(number, words)
            del words
            for title, sample in samples.items():
                paths[title].append(self.backend.folder / f"{title}-{number}.arrow")
                made[title].match_to_schema(sample.schema).write_ipc(paths[title][-1])
            del made
            self.backend.progress("Splitting", number + 1, leaves)
        return {title: DiskLeaves(self.backend, found) for title, found in paths.items()}


@dataclass(frozen=True, eq=False)
class DiskLeaves(FinishedLeaves):
    """Lines about classes, in a file per leaf."""

    backend: DiskBackend
    paths: list[Path]

    @cached_property
    def _counted(self) -> Ints:
        """Per leaf its records and its classes."""
        sizes = (pl.read_ipc(path, columns=["size"])["size"] for path in self.paths)
        return np.array([(some.sum(), len(some)) for some in sizes], dtype=np.int64).reshape(-1, 2)

    @property
    def height(self) -> int:
        """How many records all classes have."""
        return int(self._counted[:, 0].sum())

    def count_classes(self) -> Ints:
        """Say how many classes each leaf has."""
        return self._counted[:, 1]

    def distinct(self, columns: list[str]) -> pl.DataFrame:
        """Give the different lines of some columns."""
        return pl.concat(pl.read_ipc(p, columns=columns).unique() for p in self.paths).unique()

    def discard(self) -> None:
        """Remove the files."""
        for path in self.paths:
            path.unlink()

    def write(
        self, show: ShowClasses, folder: Path, title: str, sample: pl.DataFrame
    ) -> list[Seal]:
        """Write the records of all classes, in the order of the leaves."""
        n, done, first = self.height, 0, 0
        with TableWriter(folder, title, n, self.backend.format) as writer:
            for path in self.paths:
                classes = pl.read_ipc(path)
                for part in _in_turn(classes):
                    shown = show(part, first)
                    writer.write(shown.match_to_schema(sample.schema))
                    first += part.height
                    done += shown.height
                    self.backend.progress("Writing", done, n)
                path.unlink()
        return writer.seals


def _in_turn(classes: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Part classes so that each part has a certain number of records, or one class."""
    ends = np.cumsum(classes["size"].to_numpy())
    start = 0
    while start < len(ends):
        before = ends[start - 1] if start else 0
        stop = max(start + 1, int(np.searchsorted(ends, before + AT_ONCE, side="right")))
        yield classes[start:stop]
        start = stop
