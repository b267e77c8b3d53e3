"""Spark tasks: what workers do with files that all of them see, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from discreet.publishing.backends import (
    Count,
    Find,
    Finish,
    KeyCounts,
    Reword,
    ShowClasses,
    add_counts,
)
from discreet.publishing.partitioners.packing import Layout
from discreet.release.table_files import write_frame
from discreet.table.arrays import Ints
from discreet.table.by_workers import Spills, name_file, spill
from discreet.table.facts import Facts
from discreet.table.staged_frames import StagedRows


class WordFile(NamedTuple):
    """A file of words, and how many rows it has."""

    path: Path
    rows: int

    def read(self) -> Ints:
        """Give its words, plane by plane."""
        words: Ints = np.load(self.path)
        return words


def write_words(folder: Path, words: Ints) -> WordFile:
    """Write words to a file of their own."""
    path = name_file(folder, "words")
    with path.open("wb") as file:  # by its name an ending would be added
        np.save(file, words)
    return WordFile(path, words.shape[1])


@dataclass(frozen=True, eq=False)
class PackRows:
    """Codes and packs rows."""

    rows: StagedRows
    facts: Facts
    layout: Layout
    folder: Path

    def __call__(self, number: int) -> WordFile:
        """Work on a piece of them."""
        _, codes = self.rows.encode(number, self.facts)
        return write_words(self.folder, self.layout.pack(codes))


@dataclass(frozen=True, eq=False)
class CountRows:
    """Counts something of rows, and puts it down."""

    count: Count
    files: list[WordFile]
    folder: Path

    def __call__(self, numbers: Sequence[int]) -> WordFile:
        """Work on some files."""
        parts: list[KeyCounts] = []
        for number in numbers:
            parts = [add_counts([*parts, self.count(self.files[number].read())])]
        return write_words(self.folder, np.stack(parts[0]))


@dataclass(frozen=True, eq=False)
class AddCounts:
    """Adds up counts that were put down."""

    files: list[WordFile]
    each: int
    folder: Path

    def __call__(self, number: int) -> WordFile:
        """Work on so many of them."""
        some = self.files[number * self.each : (number + 1) * self.each]
        return write_words(self.folder, np.stack(read_counts(some)))


def read_counts(files: Sequence[WordFile]) -> KeyCounts:
    """Read and add up counts that were put down."""
    return add_counts([(keys, rows) for keys, rows in (file.read() for file in files)])


@dataclass(frozen=True, eq=False)
class RewordRows:
    """Gives rows other words."""

    reword: Callable[[Ints], Ints]
    files: list[WordFile]
    folder: Path

    def __call__(self, number: int) -> WordFile:
        """Work on a file of them."""
        return write_words(self.folder, self.reword(self.files[number].read()))


@dataclass(frozen=True, eq=False)
class SortRows:
    """Sorts rows by their leaves."""

    find: Find
    files: list[WordFile]
    leaves: int
    folder: Path

    def __call__(self, number: int) -> tuple[Path, Ints]:
        """Work on a file of them; also say how many go to each leaf."""
        words = self.files[number].read()
        leaf = self.find(words)
        return spill(self.folder, leaf, words.T), np.bincount(leaf, minlength=self.leaves)


@dataclass(frozen=True, eq=False)
class SortedRows:
    """Rows in files by their leaves, some leaves to each piece of work."""

    spills: Spills
    pieces: list[tuple[int, int]]
    """The first leaf of each, and the one behind its last."""

    def read(self, number: int) -> Iterator[tuple[int, Ints]]:
        """Give the leaves of a piece in turn, with the words of their rows."""
        for leaf in range(*self.pieces[number]):
            found = [np.zeros((0, self.spills.width), np.int64), *self.spills.read(leaf)]
            yield leaf, np.ascontiguousarray(np.concatenate(found).T)


@dataclass(frozen=True, eq=False)
class RewordLeaves:
    """Gives the rows of leaves other words."""

    rows: SortedRows
    reword: Reword
    folder: Path

    def __call__(self, number: int) -> WordFile:
        """Work on some leaves."""
        made = [self.reword(leaf, words) for leaf, words in self.rows.read(number)]
        return write_words(self.folder, np.concatenate(made, axis=1))


class Lines(NamedTuple):
    """A file of what was made of a leaf for a table."""

    path: Path
    classes: int
    records: int


@dataclass(frozen=True, eq=False)
class FinishLeaves:
    """Makes lines of leaves, for every table."""

    rows: SortedRows
    finish: Finish
    samples: Mapping[str, pl.DataFrame]
    folder: Path

    def __call__(self, number: int) -> list[dict[str, Lines]]:
        """Work on some leaves."""
        told = []
        for leaf, words in self.rows.read(number):
            made = self.finish(leaf, words)
            told.append({title: self._write(made[title], sample)
                         for title, sample in self.samples.items()})  # fmt: skip
        return told

    def _write(self, made: pl.DataFrame, sample: pl.DataFrame) -> Lines:
        path = name_file(self.folder, "lines")
        made.match_to_schema(sample.schema).write_ipc(path)
        return Lines(path, made.height, int(made["size"].sum()))


@dataclass(frozen=True, eq=False)
class FindDistinct:
    """Finds the different lines of some columns."""

    lines: list[Lines]
    columns: list[str]
    folder: Path

    def __call__(self, numbers: Sequence[int]) -> Path:
        """Look at some leaves."""
        path = name_file(self.folder, "distinct")
        find_distinct([self.lines[number].path for number in numbers], self.columns).write_ipc(path)
        return path


def find_distinct(paths: Sequence[Path], columns: list[str]) -> pl.DataFrame:
    """Give the different lines of some columns in files, one after the other."""
    found = pl.read_ipc(paths[0], columns=columns).unique()
    for path in paths[1:]:
        more = pl.read_ipc(path, columns=columns).unique()
        found = pl.concat([found, more]).unique()
    return found


@dataclass(frozen=True, eq=False)
class WriteRecords:
    """Shows the records of classes, and writes them to a file for each range of records.

    A class is in the file in whose range it begins, or the whole of its leaf.
    """

    show: ShowClasses
    lines: list[Lines]
    whole: bool
    files: int
    sample: pl.DataFrame
    folder: Path

    def __call__(self, number: int) -> tuple[Path, int] | None:
        """Write a file, and say where and how many records; nothing begins in some ranges."""
        ends = np.cumsum([line.records for line in self.lines])
        classes = np.cumsum([line.classes for line in self.lines])
        low, high = (int(ends[-1]) * place // self.files for place in (number, number + 1))
        shown = []
        for leaf, line in enumerate(self.lines):
            start = int(ends[leaf]) - line.records
            if start >= high or ends[leaf] <= low or not line.classes:
                continue
            if self.whole and start < low:
                continue
            found = pl.read_ipc(line.path)
            first = int(classes[leaf]) - line.classes
            if not self.whole:
                sizes = found["size"].to_numpy()
                begin = start + np.cumsum(sizes) - sizes
                some = slice(*np.searchsorted(begin, [low, high]).tolist())
                found, first = found[some], first + some.start
            if found.height:
                shown.append(self.show(found, first).match_to_schema(self.sample.schema))
        if not shown:
            return None
        table = pl.concat(shown, rechunk=True)
        path = name_file(self.folder, "records")
        write_frame(table, path, "parquet")
        return path, table.height
