"""Tables in: any file or frame becomes one polars frame, nothing guessed, nothing lost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from discreet.errors import MicrodataError
from discreet.files import open_plain
from discreet.table.databases import DatabaseTable
from discreet.table.isolation import read_apart, reading
from discreet.table.spss_stata import LABELLED, Described, read_labelled
from discreet.table.text_files import (
    AS_FOUND,
    ENDINGS,
    PACKED,
    FileFormat,
    is_text_file,
    read_header,
    read_text_file,
    refuse_header,
)

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

PARQUET = (".parquet", ".pq")
WORKBOOKS = (".xlsx", ".xls", ".ods")
READABLE = (*ENDINGS, *PARQUET, *WORKBOOKS, *LABELLED)


@dataclass(frozen=True)
class TableFile:
    """A file with a table, and how it is written."""

    path: Path
    format: FileFormat = AS_FOUND

    @property
    def name(self) -> str:
        """What to call it."""
        return self.path.name


TableLike: TypeAlias = (
    "str | Path | TableFile | DatabaseTable | pl.DataFrame | pl.LazyFrame | pd.DataFrame | pa.Table"
)


def read_table(source: TableLike) -> pl.DataFrame:
    """Read a path, or take a polars, pandas or Arrow table, as a polars frame.

    Text files and spreadsheets come back as text: a zip code ``01234`` must not become a
    number before the schema has said what it is. Codes of SPSS and Stata files become labels.
    """
    if isinstance(source, TableFile | DatabaseTable):
        return read_described(source).frame
    if isinstance(source, str | Path):
        return read_described(TableFile(Path(source))).frame
    if isinstance(source, pl.DataFrame):
        frame = source
    elif isinstance(source, pl.LazyFrame):
        frame = source.collect()
    else:
        frame = _from_foreign(source)
    refuse_empty(frame.width, frame.height, "")
    return frame


def read_described(file: TableFile | DatabaseTable) -> Described:
    """Read a file, with what it says about its columns besides their cells."""
    if isinstance(file, DatabaseTable):
        rows = file.read()
        refuse_empty(rows.width, rows.height, f"{file.name}: ")
        return Described(rows)
    refuse_format(file)
    described = _read_file(file.path, file.format)
    refuse_empty(described.frame.width, described.frame.height, f"{file.name}: ")
    return described


def list_columns(file: TableFile | DatabaseTable) -> list[str]:
    """Give the names of the columns; of text, Parquet and databases no rows are read for it."""
    if isinstance(file, DatabaseTable):
        return file.list_columns()
    if is_parquet(file.path):
        from discreet.table.parquet_files import ParquetFiles

        return ParquetFiles(file.path).columns
    if not is_text_file(file.path):
        return read_described(file).frame.columns
    refuse_missing(file.path)
    with reading(file.path):
        return read_header(file.path, file.format)


def refuse_format(file: TableFile) -> None:
    """Refuse to be told of a file what is not about its kind."""
    told, suffix = file.format, file.path.suffix.lower()
    for name, fits in (("encoding", is_text_file(file.path)),
                       ("separator", is_text_file(file.path)),
                       ("sheet", suffix in WORKBOOKS)):  # fmt: skip
        if getattr(told, name) is not None and not fits:
            raise MicrodataError(
                f"{file.name} has no {name} to be told: it is not a "
                f"{'workbook' if name == 'sheet' else 'file of text'}.",
                hint=f"Leave {name} out.",
            )


def refuse_empty(width: int, height: int, where: str) -> None:
    """Refuse a table without columns or without rows."""
    if width == 0 or height == 0:
        raise MicrodataError(
            f"{where}the table has no {'rows' if width else 'columns'}.",
            hint="Give a table with a header and at least one row; of a workbook, the first sheet "
            "is read unless sheet names another.",
        )


def is_parquet(path: Path) -> bool:
    """Whether a path is a Parquet file, or a folder whose Parquet files are one table."""
    suffix = path.suffix.lower()
    return suffix in PARQUET or (path.is_dir() and suffix not in READABLE)


def refuse_missing(path: Path) -> None:
    """Refuse a path at which no file lies."""
    if not path.is_file():
        raise MicrodataError(
            f"{path}: is a folder, not a file." if path.is_dir() else f"{path}: no such file.",
            hint="Check the path; a path in a plan starts where the plan lies.",
        )


def _read_file(path: Path, format_: FileFormat) -> Described:
    if path.is_dir() and is_parquet(path):
        from discreet.table.parquet_files import read_folder

        return Described(read_folder(path))
    refuse_missing(path)
    suffix = path.suffix.lower()
    with reading(path):
        if is_text_file(path):
            frame, found = read_text_file(path, format_)
            return Described(frame, format=found)
        if suffix in PARQUET:
            with open_plain(path) as file:  # to polars, a path could be a pattern
                return Described(pl.read_parquet(file))
        if suffix in WORKBOOKS:
            return Described(read_apart(read_sheet, path, format_.sheet or "")[0])
        if suffix in LABELLED:
            frame, told = read_apart(read_labelled, path)
            orders = {name: tuple(order) for name, order in told["orders"].items()}
            return Described(frame, told["labels"], orders)
    raise MicrodataError(
        f"{path.name}: {suffix or 'a file without an ending'} is not a kind discreet reads.",
        hint=f"Give one of {', '.join(READABLE)}; text may end in {', '.join(PACKED)} besides.",
    )


def read_sheet(path: Path, sheet: str = "") -> tuple[pl.DataFrame, dict[str, Any]]:
    """Read a sheet, or the first one, as text; its first row is the header, repaired by nobody."""
    import fastexcel

    content = path.read_bytes()
    names = fastexcel.read_excel(content).sheet_names
    if sheet and sheet not in names:
        raise MicrodataError(
            f"{path.name} has no sheet {sheet!r}.", hint=f"It has {', '.join(map(repr, names))}."
        )
    cells = pl.read_excel(
        content, sheet_name=sheet or names[0], has_header=False, infer_schema_length=0
    )
    header = ["" if cell is None else str(cell).strip() for cell in cells.row(0)]
    refuse_header(header, f"{path.name}, sheet {sheet!r}" if sheet else f"{path.name}, first sheet")
    return cells.slice(1).rename(dict(zip(cells.columns, header, strict=True))), {}


def _from_foreign(source: Any) -> pl.DataFrame:
    """Take a pandas or Arrow table; a column of mixed types becomes text."""
    if hasattr(source, "iloc"):
        refuse_header([str(name) for name in source.columns], "The table")
        columns: dict[str, pl.Series] = {}
        for name in source.columns:
            column = source[name]
            try:
                columns[str(name)] = pl.Series(pl.from_pandas(column))
            except Exception:  # pyarrow refuses mixed columns with several exception types
                texts = [None if _is_nothing(cell) else str(cell) for cell in column]
                columns[str(name)] = pl.Series(texts, dtype=pl.String)
        return pl.DataFrame(columns)
    if hasattr(source, "__arrow_c_stream__"):
        return pl.DataFrame(source)
    raise MicrodataError(
        f"A {type(source).__name__} is not a table.",
        hint="Give a path, or a polars, pandas or Arrow table.",
    )


def _is_nothing(cell: object) -> bool:
    if cell is None:
        return True
    try:
        return bool(cell != cell)  # noqa: PLR0124 -- NaN and NaT differ from themselves
    except TypeError:  # pandas.NA refuses to be compared
        return True
