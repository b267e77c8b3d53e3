"""Workbooks: tables as sheets of Excel, whose texts are texts, whatever they begin with."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import polars as pl

from discreet.errors import StoreError
from discreet.files import temporary_folder

WORKBOOK = ".xlsx"
MOST_ROWS, MOST_COLUMNS = 1_048_575, 16_384
"""What a sheet has below its header."""
LONGEST_TEXT, LONGEST_TITLE = 32_767, 31
FIRST_DAY = dt.date(1900, 1, 1)
INSTEAD = "Export it to .sav or .dta, or use: discreet install."
DAY = {"num_format": "yyyy-mm-dd"}


class _Exact(float):
    """A number that is written by all of its digits, where xlsxwriter would take sixteen."""

    def __format__(self, spec: str) -> str:
        return repr(float(self))


def write_workbook(path: Path, sheets: Mapping[str, pl.DataFrame]) -> None:
    """Write a workbook with a sheet per table, and read it back."""
    try:
        import xlsxwriter
    except ModuleNotFoundError as error:
        raise StoreError(
            "Writing files of Excel needs xlsxwriter.", hint="pip install 'discreet[excel]'"
        ) from error
    for title, table in sheets.items():
        _refuse_unfit(title, table)
    # row by row, so that no more than one is in memory
    with temporary_folder() as work, _opening(path) as file:
        book = xlsxwriter.Workbook(file, {"constant_memory": True, "tmpdir": str(work)})
        bold, day = book.add_format({"bold": True}), book.add_format(DAY)
        for title, table in sheets.items():
            sheet = book.add_worksheet(title)
            sheet.freeze_panes(1, 0)
            for place, name in enumerate(table.columns):
                sheet.write_string(0, place, name, bold)
            put = [_find_writer(sheet, kind, day) for kind in table.dtypes]
            for number, row in enumerate(table.iter_rows(), start=1):
                for place, cell in enumerate(row):
                    if cell is not None:
                        put[place](number, place, cell)
        try:
            book.close()
        except xlsxwriter.exceptions.FileCreateError as error:
            raise error.args[0] from error  # an OSError, which says what is wrong with the disk
        except xlsxwriter.exceptions.FileSizeError as error:
            raise StoreError(f"{path.name} is too large for Excel.", hint=INSTEAD) from error
    _compare(path, sheets)


class _Remembering(io.FileIO):
    """A file whose first failure is told by who opened it.

    A zip file that fails tries again when it is forgotten, where nobody can take its error.
    """

    failed: OSError | None = None

    def write(self, given: Any, /) -> int:
        if self.failed is None:
            try:
                return super().write(given)
            except OSError as error:
                self.failed = error
        return memoryview(given).nbytes


@contextmanager
def _opening(path: Path) -> Iterator[io.BufferedIOBase]:
    raw = _Remembering(path, "w")
    with io.BufferedWriter(raw) as file:
        yield file
    if raw.failed is not None:
        raise raw.failed


def _find_writer(sheet: Any, kind: pl.DataType, day: Any) -> Callable[[int, int, Any], object]:
    """Give what writes the cells of a column: never by what a cell looks like."""
    if kind == pl.Boolean:
        write: Callable[[int, int, Any], object] = sheet.write_boolean
    elif kind == pl.Date:
        return lambda row, place, cell: sheet.write_datetime(row, place, cell, day)
    elif kind.is_numeric():
        return lambda row, place, cell: sheet.write_number(row, place, _Exact(cell))
    else:
        write = sheet.write_string
    return write


def _refuse_unfit(title: str, table: pl.DataFrame) -> None:
    """Refuse what a sheet cannot hold, and Excel would cut or misread."""
    problem = None
    if table.height > MOST_ROWS:
        problem = f"it has {table.height:,} rows, and a sheet of Excel at most {MOST_ROWS:,}"
    elif table.width > MOST_COLUMNS:
        problem = f"it has {table.width:,} columns, and a sheet of Excel at most {MOST_COLUMNS:,}"
    elif len(title) > LONGEST_TITLE:
        problem = f"its name is longer than the {LONGEST_TITLE} characters of a sheet"
    for column in table:
        if column.dtype == pl.String:
            units = (len(text.encode("utf-16-le")) // 2 for text in column.drop_nulls().unique())
            if max(units, default=0) > LONGEST_TEXT:
                problem = f"a text in {column.name!r} is longer than the {LONGEST_TEXT:,} "
                problem += "characters of a cell of Excel"
        elif column.dtype == pl.Date and (column < FIRST_DAY).any():
            problem = f"{column.name!r} has days before 1900, which Excel has not"
    if problem is not None:
        raise StoreError(f"{title}: {problem}.", hint=INSTEAD)


def _compare(path: Path, sheets: Mapping[str, pl.DataFrame]) -> None:
    """Refuse a workbook that does not give back what was written."""
    import fastexcel

    book = fastexcel.read_excel(path.read_bytes())
    for title, table in sheets.items():
        kinds: dict[str | int, Any] = dict(enumerate(map(_name_kind, table.dtypes)))
        read: pl.DataFrame = book.load_sheet(title, dtypes=kinds).to_polars()
        refuse_changed(title, read, table)


def _name_kind(kind: pl.DataType) -> Any:
    """Name what a column is read as; all numbers of Excel are floats."""
    if kind == pl.Boolean:
        return "boolean"
    if kind == pl.Date:
        return "date"
    return "float" if kind.is_numeric() else "string"


def refuse_changed(title: str, read: pl.DataFrame, table: pl.DataFrame) -> None:
    """Refuse what is read back and is not, cell by cell, what was to be written."""
    for column in table:
        same = column.name in read.columns and read.height == table.height
        if same:
            found = read[column.name].cast(column.dtype, strict=False)
            same = found.equals(column, null_equal=True)
        if not same:
            raise StoreError(
                f"{title}: {column.name!r} cannot be kept as it is published in such a file.",
                hint="Give the CSV or Parquet files of the release, or use: discreet install.",
            )
