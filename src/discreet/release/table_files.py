"""Table files: a table of a release in one file or, if it is large, in several."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from io import BufferedReader
from pathlib import Path
from typing import Any

import polars as pl

from discreet.errors import DAMAGED, StoreError, explaining
from discreet.files import digest_open, open_plain
from discreet.release import Format
from discreet.release.formulas import restore_table, write_csv
from discreet.release.manifest import Stored, type_of
from discreet.release.seals import Seal, name_files
from discreet.table.schema import UNUSABLE_NAME

PART = 1 << 21
"""A table of more rows lies in several files, each but the last of so many rows."""


def write_table(table: pl.DataFrame, folder: Path, title: str, format: Format) -> list[Seal]:
    """Write a table that is at hand."""
    with TableWriter(folder, title, table.height, format) as writer:
        writer.write(table)
    return writer.seals


class TableWriter:
    """Writes a table of a known height into one file or, if it is large, into several.

    Where they end depends on nothing but the height, so that it does not matter by how many rows
    at a time a table comes.
    """

    def __init__(self, folder: Path, title: str, height: int, format: Format) -> None:
        count = max(1, -(-height // PART))
        self.paths = [folder / name for name in name_files(title, count, format)]
        self.format = format
        self.seals: list[Seal] = []
        self._held: list[pl.DataFrame] = []
        self._rows = 0

    def __enter__(self) -> TableWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None and len(self.seals) < len(self.paths):
            self._flush(self._rows)

    def write(self, table: pl.DataFrame) -> None:
        """Write the next rows."""
        self._held.append(table)
        self._rows += table.height
        while self._rows >= PART and len(self.seals) < len(self.paths) - 1:
            self._flush(PART)

    def _flush(self, rows: int) -> None:
        taken, self._held = _split(self._held, rows)
        self._rows -= rows
        path = self.paths[len(self.seals)]
        write_frame(_join_columns(taken), path, self.format)
        self.seals.append(Seal.of(path))


def _split(tables: list[pl.DataFrame], rows: int) -> tuple[list[pl.DataFrame], list[pl.DataFrame]]:
    """Part tables into the first rows of all and the rest."""
    first, rest = [], []
    for table in tables:
        first.append(table[:rows])
        rest.append(table[rows:])
        rows -= first[-1].height
    return first, [table for table in rest if table.height] or rest[-1:]


def _join_columns(tables: list[pl.DataFrame]) -> pl.DataFrame:
    """Put tables together, which are spent, so that no more than a column is there twice.

    Every column is one piece: the bytes of a file depend on pieces.
    """
    names = tables[0].columns
    columns = [table.get_columns()[::-1] for table in tables]
    tables.clear()
    return pl.DataFrame([pl.concat([held.pop() for held in columns], rechunk=True) for _ in names])


def write_frame(table: pl.DataFrame, path: Path, format: Format) -> None:
    """Write one file of a table."""
    try:
        if format == "parquet":
            table.write_parquet(path, compression="zstd", compression_level=1, statistics=False)
        else:
            write_csv(table, path)
    except pl.exceptions.PolarsError as error:
        raise StoreError(f"{path.name}: cannot be written ({error}).") from error


def read_table(folder: Path, stored: Stored) -> pl.DataFrame:
    """Read a table, all files of it."""
    files = [read_file(folder, stored, number) for number in range(len(stored.paths))]
    table = join_rows(files, stored.paths[0])
    if not table.height:
        raise StoreError(f"{stored.paths[0]}: the table has no rows.")
    return table


def join_rows(tables: list[pl.DataFrame], name: str) -> pl.DataFrame:
    """Put rows that come from several files together, which must have the same columns."""
    try:
        return tables[0] if len(tables) == 1 else pl.concat(tables)
    except pl.exceptions.PolarsError as error:
        raise StoreError(f"{name}: its files have different columns.", hint=DAMAGED) from error


def read_file(folder: Path, stored: Stored, number: int) -> pl.DataFrame:
    """Read one file of a table, if it is the one that its manifest speaks of."""
    path = folder / stored.paths[number]
    with naming(path), open_plain(path) as file:  # a path could be a pattern, or a folder
        _refuse_changed(file, path.name, stored.seals[number] if stored.seals else None)
        if path.suffix == ".parquet":
            _refuse_damaged(file)
            table = pl.read_parquet(file)
            refuse_columns(table.schema, stored, path.name)
            return table
        table = pl.read_csv(file, infer_schema=False)
        table = restore_table(table) if stored.escaped else table
        refuse_columns(table.schema, stored, path.name, typed=False)
        return table.with_columns(_cast(name, kind) for name, kind in stored.types.items())


def scan_file(folder: Path, stored: Stored, number: int) -> pl.LazyFrame:
    """Open a Parquet file of a table, of which some is read; its seal is another's matter."""
    import pyarrow.parquet as pq

    path = folder / stored.paths[number]
    with naming(path):
        with open_plain(path) as file:  # of a folder all files would be read
            pq.read_metadata(file)  # which finds damage that Polars dies of
        rows = pl.scan_parquet(path, glob=False)
        refuse_columns(rows.collect_schema(), stored, path.name)
    return rows


def _refuse_damaged(file: BufferedReader) -> None:
    """Read a Parquet file with Arrow, which finds damage that Polars, and all with it, dies of."""
    import pyarrow.parquet as pq

    for _ in pq.ParquetFile(file).iter_batches():
        pass
    file.seek(0)


def naming(path: Path) -> AbstractContextManager[None]:
    """Name the file that cannot be read, whatever a library says of it or dies of."""

    def say(error: BaseException) -> StoreError:
        said = error.strerror if isinstance(error, OSError) and error.strerror else error
        first = str(said).strip().partition("\n")[0]
        return StoreError(f"{path.name}: cannot be read ({first}).", hint=DAMAGED)

    return explaining(say)


def refuse_columns(types: pl.Schema, stored: Stored, name: str, *, typed: bool = True) -> None:
    """Refuse a file whose columns are not those that the manifest lists."""
    for column in types:  # names go into statements that databases run
        if UNUSABLE_NAME.search(column):
            raise StoreError(f"{name}: {column!r} is not the name of a column.", hint=DAMAGED)
    for column in sorted(types.keys() ^ stored.types.keys()):
        what = "an undeclared column" if column in types else "no column"
        raise StoreError(f"{name}: has {what} {column!r}.", hint=DAMAGED)
    for column, kind in stored.types.items() if typed else ():
        if type_of(types[column]) != kind or (kind == "string" and not _is_text(types[column])):
            raise StoreError(f"{name}: column {column!r} is not of type {kind}.", hint=DAMAGED)


def _is_text(dtype: pl.DataType) -> bool:
    """Whether cells are texts; what programs have no word for is described as that, too."""
    return dtype in (pl.String, pl.Enum, pl.Categorical)


def _refuse_changed(file: BufferedReader, name: str, seal: Seal | None) -> None:
    """Refuse a table that is not the one its manifest speaks of; older ones do not say."""
    if seal is None:
        return
    size = os.fstat(file.fileno()).st_size
    if size != seal.size:
        raise StoreError(
            f"{name}: is not what was published: it has {size:,} bytes, not {seal.size:,}.",
            hint=DAMAGED,
        )
    if digest_open(file) != seal.sha256:
        raise StoreError(
            f"{name}: is not what was published: its SHA-256 is another.", hint=DAMAGED
        )


def _cast(name: str, kind: str) -> Any:
    column = pl.col(name)
    match kind:
        case "integer":
            return column.cast(pl.Int64)
        case "number":
            return column.cast(pl.Float64)
        case "date":
            return column.str.to_date()
        case "boolean":
            return column.replace_strict({"true": True, "false": False}, return_dtype=pl.Boolean)
    return column
