"""Staged frames: the rows of a frame of Spark, read once, in files from which workers code them.

A frame takes long to go from Java to Python, and may give other rows whenever it is read. So every
row is read once: workers write, piece by piece, which of a column's cells each row has, and of each
cell how often it occurs. Where the frame is of Parquet files, they read these themselves.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import MicrodataError
from discreet.table.arrays import Bools, Ints
from discreet.table.by_workers import SAYING, name_file, run_each, run_shares, say
from discreet.table.facts import Facts, keep_rows, settle_cells
from discreet.table.spark_frames import ArrowBatches, SparkFrame, collect, number_columns

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

PIECE = 1 << 19
"""So many rows are in a file, or a few more, where workers can hold them."""
READ = 1 << 17
"""So many rows are read at once."""
MOST_PARTS = 64
"""So many counts are kept before they are added up."""
NESTED = ("array", "map", "struct")
CountedCells = dict[str, tuple[pl.Series, Ints]]
"""Per column some cells, settled, and how often each occurs."""


class Piece(NamedTuple):
    """Rows in a file: which of its cells each has, by column; and a file of these cells."""

    path: Path
    cells: Path
    rows: int


@dataclass(frozen=True, eq=False)
class StagedRows:
    """All rows of a frame, in the order in which it was read."""

    names: list[str]
    pieces: list[Piece]

    @cached_property
    def starts(self) -> Ints:
        """The number of the first row of each piece, and behind the last."""
        return np.cumsum([0, *(piece.rows for piece in self.pieces)])

    def read_cells(self, number: int) -> CountedCells:
        """Give the cells of a piece, settled, and how often each occurs in it."""
        with self.pieces[number].cells.open("rb") as file:
            return dict(zip(self.names, pickle.load(file), strict=True))

    def encode(self, number: int, facts: Facts) -> tuple[Ints, dict[str, NDArray[np.int32]]]:
        """Code the rows of a piece, but for those that are left out; also give their numbers."""
        cells = self.read_cells(number)
        places = self._read(number)
        kept = self._keep(number, facts.dropped, cells)
        codes = {}
        for name, coded in facts.cells.items():
            own = coded.look_up(cells[name][0])
            place = places[name].to_numpy()
            codes[name] = own[place if kept is None else place[kept]]
            if codes[name].min(initial=0) < 0:
                raise MicrodataError(
                    f"Column {name!r} has other cells than when it was counted.",
                    hint="Somebody else writes to the folder beside the release: start again.",
                )
        rows = np.arange(self.starts[number], self.starts[number + 1])
        return rows if kept is None else rows[kept], codes

    def list_kept(self, number: int, facts: Facts) -> Bools:
        """Say which rows of a piece are not left out."""
        kept = self._keep(number, facts.dropped, self.read_cells(number) if facts.dropped else {})
        return np.ones(self.pieces[number].rows, dtype=bool) if kept is None else kept

    def count(self, number: int, name: str, dropped: Mapping[str, pl.Series]) -> pl.DataFrame:
        """Count the cells of a column in the rows of a piece that are not left out."""
        cells = self.read_cells(number)
        found, counts = cells[name]
        kept = self._keep(number, dropped, cells)
        if kept is not None:
            place = self._read(number, [name])[name].to_numpy()
            counts = np.bincount(place[kept], minlength=len(found))
        return pl.DataFrame({"cell": found, "count": counts})

    def _read(self, number: int, names: Sequence[str] | None = None) -> pl.DataFrame:
        wanted = self.names if names is None else names
        columns = [f"c{self.names.index(name)}" for name in wanted]
        read = pl.read_ipc(self.pieces[number].path, columns=columns)
        return read.select(pl.col(column).alias(name)
                           for column, name in zip(columns, wanted, strict=True))  # fmt: skip

    def _keep(
        self,
        number: int,
        dropped: Mapping[str, pl.Series],
        cells: dict[str, tuple[pl.Series, Ints]],
    ) -> Bools | None:
        if not dropped:
            return None
        kept = np.ones(self.pieces[number].rows, dtype=bool)
        places = self._read(number, list(dropped))
        for name, some in dropped.items():
            own = cells[name][0].alias(name)
            keeps = own.to_frame().select(keep_rows({name: some}, {name: own.dtype})).to_series()
            kept &= keeps.to_numpy()[places[name].to_numpy()]
        return kept


@dataclass(frozen=True, eq=False)
class StagedFrame:
    """A frame whose published columns are read once, when they are first asked for."""

    source: SparkFrame
    names: list[str]
    folder: Path
    piece: int = PIECE
    """So many rows are read at once by a worker, or a few more."""

    @property
    def where(self) -> str:
        """What to call it in errors."""
        return self.source.where

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return self.source.columns

    @property
    def session(self) -> SparkSession:
        """The session that has it."""
        session: SparkSession = self.source.frame.sparkSession
        return session

    @cached_property
    def rows(self) -> StagedRows:
        """Its rows, in files."""
        kinds = {column.name: column.dataType.typeName() for column in self.source.frame.schema}
        # whoever asks for cells of cells is told their type, and will refuse them
        names = [name for name in self.names if kinds[name] not in NESTED]
        stage = _Stage(self.folder, names, self.piece)
        if self.source.files:  # workers read these sooner than Spark would give them
            shares = _list_shares(self.source.files, self.piece)
            told = run_each(self.session, len(shares), _StageFiles(stage, shares))
            return StagedRows(names, [piece for pieces in told for piece in pieces])
        cells = number_columns(self.source.frame, names)
        found = collect(cells.mapInArrow(stage, SAYING)).sort("number")
        pieces = [piece for said in found["said"] for piece in pickle.loads(said)]  # its workers'
        return StagedRows(names, pieces)

    @cached_property
    def _counted(self) -> dict[str, pl.DataFrame]:
        """Per column its different cells, and how often each occurs, as every piece says."""
        held: dict[str, list[pl.DataFrame]] = {name: [] for name in self.rows.names}
        for number in range(len(self.rows.pieces)):
            for name, (cells, counts) in self.rows.read_cells(number).items():
                held[name].append(pl.DataFrame({"cell": cells, "count": counts}))
                if len(held[name]) == MOST_PARTS:
                    held[name] = [_add_up(held[name])]
        return {name: _add_up(parts) for name, parts in held.items() if parts}

    def count_cells(self, name: str, dropped: Mapping[str, pl.Series]) -> tuple[pl.Series, Ints]:
        """Give the different cells of a column, settled, and how often each occurs."""
        if name not in self._counted:  # it has no rows, or is not staged, and yet a type
            none = collect(number_columns(self.source.frame, [name]).limit(0))
            return none.select(settle_cells("c0", none.schema["c0"])).to_series(), np.zeros(0, int)
        added = self._counted[name]
        if dropped:
            count = _CountCells(self.rows, name, dropped)
            added = _add_up(run_shares(self.session, len(self.rows.pieces), count))
        return added["cell"], added["count"].to_numpy().astype(np.int64)

    def count_distinct(self, name: str, na: Sequence[str]) -> tuple[int, int]:
        """Count the different cells of a column that are neither empty nor ``na``, and all such."""
        return self.source.count_distinct(name, na)

    def find_row(self, name: str, cell: object) -> int | None:
        """Rows of a cluster have no numbers."""
        return self.source.find_row(name, cell)


@dataclass(frozen=True, eq=False)
class _CountCells:
    """Counts cells in the rows of some pieces that are not left out."""

    rows: StagedRows
    name: str
    dropped: Mapping[str, pl.Series]

    def __call__(self, numbers: Sequence[int]) -> pl.DataFrame:
        return _add_up([self.rows.count(number, self.name, self.dropped) for number in numbers])


def _add_up(parts: list[pl.DataFrame]) -> pl.DataFrame:
    """Add up counts of cells."""
    added = pl.concat(parts).group_by("cell", maintain_order=True).agg(pl.col("count").sum())
    return added.filter(pl.col("count") > 0)


@dataclass(frozen=True, eq=False)
class _Stage:
    """Writes rows to files."""

    folder: Path
    names: list[str]
    piece: int

    def __call__(self, batches: ArrowBatches) -> ArrowBatches:
        """Write those of a partition, and say where."""
        from pyspark import TaskContext

        pieces = self.write_all(batches)
        context = TaskContext.get()
        assert context is not None
        if pieces:
            yield from say([context.partitionId()], pieces)

    def write_all(self, batches: ArrowBatches) -> list[Piece]:
        """Write rows, and say where."""
        return [self._write(table) for table in _gather(batches, self.piece) if table.num_rows]

    def _write(self, table: pa.Table) -> Piece:
        cells, places = [], {}
        for number, column in enumerate(table.columns):
            coded = _take_cells(column).dictionary_encode(null_encoding="encode")
            place = coded.indices.to_numpy()
            counts = np.bincount(place, minlength=len(coded.dictionary)).astype(np.int64)
            found: Any = pl.from_arrow(coded.dictionary)
            own = found.to_frame("cell").select(settle_cells("cell", found.dtype)).to_series()
            cells.append((own, counts))
            places[f"c{number}"] = place.astype(np.min_scalar_type(len(counts)))
        path, beside = name_file(self.folder, "rows"), name_file(self.folder, "cells")
        pl.DataFrame(places).write_ipc(path)
        with beside.open("wb") as file:
            pickle.dump(cells, file)
        return Piece(path, beside, table.num_rows)


def _take_cells(column: pa.ChunkedArray) -> pa.Array:
    """Give a column in one piece, whatever its texts are stored as."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if column.type == pa.string_view():
        column = column.cast(pa.large_string())
    return column.combine_chunks()


def _gather(batches: ArrowBatches, enough: int) -> Iterator[pa.Table]:
    """Put batches together, so that fewer are worked on."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(one.num_rows for one in held) >= enough:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


class RowGroups(NamedTuple):
    """Some groups of rows of a Parquet file."""

    path: Path
    groups: list[int]


def _list_shares(files: Sequence[Path], enough: int) -> list[RowGroups]:
    """Share files out, so that each share has enough rows or is the rest of a file."""
    import pyarrow.parquet as pq

    shares = []
    for path in files:
        about = pq.read_metadata(path)
        held, rows = list[int](), 0
        for group in range(about.num_row_groups):
            held.append(group)
            rows += about.row_group(group).num_rows
            if rows >= enough or group == about.num_row_groups - 1:
                shares.append(RowGroups(path, held))
                held, rows = [], 0
    return shares


@dataclass(frozen=True, eq=False)
class _StageFiles:
    """Writes rows of Parquet files."""

    stage: _Stage
    shares: list[RowGroups]

    def __call__(self, number: int) -> list[Piece]:
        import pyarrow.parquet as pq

        path, groups = self.shares[number]
        with pq.ParquetFile(path) as file:
            names = self.stage.names
            batches = file.iter_batches(READ, row_groups=groups, columns=names)
            return self.stage.write_all(batch.select(names) for batch in batches)
