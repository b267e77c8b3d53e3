"""Tables in: any file or frame becomes one polars frame, nothing guessed, nothing lost."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from discreet.errors import MicrodataError
from discreet.files import open_plain, split_lines
from discreet.table.isolation import read_apart, unreadable
from discreet.table.spss_stata import LABELLED, Described, read_labelled

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

TableLike: TypeAlias = "str | Path | pl.DataFrame | pl.LazyFrame | pd.DataFrame | pa.Table"

PARQUET = (".parquet", ".pq")
READABLE = (".csv", ".tsv", ".txt", *PARQUET, ".xlsx", ".xls", ".ods", *LABELLED)


def read_table(source: TableLike) -> pl.DataFrame:
    """Read a path, or take a polars, pandas or Arrow table, as a polars frame.

    Text files and spreadsheets come back as text: a zip code ``01234`` must not become a
    number before the schema has said what it is. Codes of SPSS and Stata files become labels.
    """
    if isinstance(source, str | Path):
        return read_described(Path(source)).frame
    if isinstance(source, pl.DataFrame):
        frame = source
    elif isinstance(source, pl.LazyFrame):
        frame = source.collect()
    else:
        frame = _from_foreign(source)
    refuse_empty(frame.width, frame.height, "")
    return frame


def read_described(path: Path) -> Described:
    """Read a file, with what it says about its columns besides their cells."""
    described = _read_file(path)
    refuse_empty(described.frame.width, described.frame.height, f"{path.name}: ")
    return described


def refuse_empty(width: int, height: int, where: str) -> None:
    """Refuse a table without columns or without rows."""
    if width == 0 or height == 0:
        raise MicrodataError(
            f"{where}the table has no {'rows' if width else 'columns'}.",
            hint="Give a table with a header and at least one row; of a workbook, sheet 1 is read.",
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


def _read_file(path: Path) -> Described:
    if path.is_dir() and is_parquet(path):
        from discreet.table.parquet_files import read_folder

        return Described(read_folder(path))
    refuse_missing(path)
    suffix = path.suffix.lower()
    try:
        if suffix in (".csv", ".tsv", ".txt"):
            return Described(_read_csv(path))
        if suffix in PARQUET:
            with open_plain(path) as file:  # to polars, a path could be a pattern
                return Described(pl.read_parquet(file))
        if suffix in (".xlsx", ".xls", ".ods"):
            return Described(read_apart(read_sheet, path)[0])
        if suffix in LABELLED:
            frame, told = read_apart(read_labelled, path)
            orders = {name: tuple(order) for name, order in told["orders"].items()}
            return Described(frame, told["labels"], orders)
    except MicrodataError:
        raise
    except Exception as error:
        raise unreadable(path, error) from error
    raise MicrodataError(
        f"{path.name}: {suffix or 'a file without an ending'} is not a kind discreet reads.",
        hint="Give one of " + ", ".join(READABLE) + ".",
    )


def _read_csv(path: Path) -> pl.DataFrame:
    """Read text cells with pyarrow, which refuses ragged lines where polars would fill them."""
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    header, separator, before = _read_header(path)
    longest = before + sum(len(name.encode()) + 3 for name in header)
    try:
        table = pa_csv.read_csv(
            path,  # not an open file: its threads would still call Python while that ends
            read_options=pa_csv.ReadOptions(block_size=max(1 << 20, 2 * longest), skip_rows=before),
            parse_options=pa_csv.ParseOptions(
                delimiter=separator,
                newlines_in_values=True,
                ignore_empty_lines=len(header) > 1,  # in a single column a blank line is a cell
            ),
            convert_options=pa_csv.ConvertOptions(
                # whatever its columns are called: 01234 is no number
                default_column_type=pa.string(),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )
    except pa.ArrowInvalid as error:
        if "Empty CSV" in str(error):
            return pl.DataFrame({name: [] for name in header})
        try:
            place = _find_ragged_line(path, separator, len(header))
        except UnicodeDecodeError:
            raise _not_utf8(path) from error
        if place is None:
            raise
        line, cells = place
        raise MicrodataError(
            f"{path.name}: line {line} has {cells} cells, the header has {len(header)}.",
            hint=f"Quote cells that contain {separator!r}, or fill in the missing cells.",
        ) from error
    refuse_header(table.column_names, path.name)
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame.rename({name: name.strip() for name in frame.columns})


def _read_header(path: Path) -> tuple[list[str], str, int]:
    """Read the names of the columns, what separates them, and how many blank lines come before.

    A name may hold anything.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file, _long_fields():
            start = file.read(1 << 16)
            if not start.strip():
                raise MicrodataError(
                    f"{path.name}: the file is empty.", hint="Give a table with a header and rows."
                )
            separator = find_separator(start)
            file.seek(0)
            rows = enumerate(csv.reader(file, delimiter=separator))
            before, header = next((i, row) for i, row in rows if row)
    except UnicodeDecodeError as error:
        raise _not_utf8(path) from error
    refuse_header(header, path.name)
    return header, separator, before


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let Python's reader take cells as long as pyarrow's does."""
    usual = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(usual)


def _not_utf8(path: Path) -> MicrodataError:
    return MicrodataError(
        f"{path.name}: the text is not UTF-8.",
        hint="Save it as UTF-8; in a spreadsheet: Save as, CSV UTF-8.",
    )


def _find_ragged_line(path: Path, separator: str, width: int) -> tuple[int, int] | None:
    with path.open(encoding="utf-8-sig", newline="") as file, _long_fields():
        reader = csv.reader(file, delimiter=separator)
        for row in reader:
            if row and len(row) != width:
                return reader.line_num, len(row)
    return None


def find_separator(start: str) -> str:
    """Find what separates the cells of a text from its header."""
    first = next((line for line in split_lines(start) if line.strip()), "")
    return max((",", ";", "\t", "|"), key=first.count)


def refuse_header(header: list[str], source: str) -> None:
    """Refuse columns without a name, or with that of another."""
    names = Counter(name.strip() for name in header)
    twice = [name for name, count in names.items() if count > 1]
    if twice or "" in names:
        what = "has a column without a name" if "" in names else f"repeats the column {twice[0]!r}"
        raise MicrodataError(
            f"{source}: its header {what}.", hint="Name every column once, in the first row."
        )


def read_sheet(path: Path) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Read the first sheet as text; its first row is the header, repaired by nobody."""
    cells = pl.read_excel(path.read_bytes(), has_header=False, infer_schema_length=0)
    header = ["" if cell is None else str(cell).strip() for cell in cells.row(0)]
    refuse_header(header, f"{path.name}, first sheet")
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
