"""Exporting: the tables of a release as files of Excel, SPSS or Stata.

An export is a copy to work with: what is verified, audited and signed off is the folder of the
release. It holds the published cells and nothing else, is read back before it is put in place, and
what its format cannot hold is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import polars.selectors as cs

from discreet.errors import StoreError
from discreet.files import write_files
from discreet.release import Release
from discreet.release.about import ABOUT, Row, explain_columns, tabulate_rows, tell
from discreet.release.dictionary import ABOUT as ABOUT_LABELS
from discreet.release.dictionary import tabulate
from discreet.release.labelled_files import LABELLED, LabelledTable, write_labelled
from discreet.release.store import refuse_insecure
from discreet.release.workbooks import WORKBOOK, write_workbook

ENDINGS = (WORKBOOK, *LABELLED)
EXACT = 2**53
"""Up to here every whole number is one of the numbers that these formats have."""


class Outline(NamedTuple):
    """What an export consists of: its files, and how drafts of them are written."""

    paths: list[Path]
    write: Callable[[Path], None]


def export(release: Release, path: Path, *, overwrite: bool, insecure: bool = False) -> list[Path]:
    """Write the tables of a release, all or none; give the files."""
    from discreet.forms.verify import verify

    refuse_insecure(release, insecure=insecure)
    verify(release)
    outline = _outline(release, path)
    for file in outline.paths:
        if file.exists() and not overwrite:
            raise StoreError(
                f"{file}: exists already.", hint="Choose another name, or add --overwrite."
            )
    write_files(outline.paths, outline.write, shared=True)
    return outline.paths


def list_files(release: Release, path: Path) -> list[Path]:
    """Name the files of an export."""
    if path.suffix.lower() == WORKBOOK:
        return [path]
    if path.suffix.lower() not in LABELLED:
        raise StoreError(
            f"{path}: {path.suffix or 'a file without an ending'} is nothing to export to.",
            hint=f"Give a file that ends in {', '.join(ENDINGS)}; into databases goes: discreet "
            "install.",
        )
    titles = (ABOUT, *_gather(release))
    return [path.with_name(f"{path.stem}-{title}{path.suffix}") for title in titles]


def _gather(release: Release) -> dict[str, pl.DataFrame]:
    """Give all tables, those that explain labels too."""
    tables = {**release.tables, **tabulate(release)}
    if ABOUT in tables:
        raise StoreError(f"A table cannot be called {ABOUT!r}: it would explain the others.")
    return {title: _settle(title, table) for title, table in tables.items()}


def _settle(title: str, table: pl.DataFrame) -> pl.DataFrame:
    """Take texts as texts and whole numbers as whole; refuse such as would be rounded."""
    settled = table.with_columns(
        cs.by_dtype(pl.Enum, pl.Categorical).cast(pl.String), cs.integer().cast(pl.Int64)
    )
    for column in settled.select(cs.integer()):
        ends: list[Any] = [column.min(), column.max()]
        if any(end is not None and abs(end) > EXACT for end in ends):
            raise StoreError(
                f"{title}: column {column.name!r} has whole numbers of more than 15 digits, which "
                "Excel, SPSS and Stata round.",
                hint="Give the CSV or Parquet files of the release, or use: discreet install.",
            )
    return settled


def _outline(release: Release, path: Path) -> Outline:
    paths = list_files(release, path)
    tables = _gather(release)
    rows = [*tell(release), *_tell_tables(release, tables)]
    if path.suffix.lower() == WORKBOOK:
        sheets = {ABOUT: tabulate_rows(rows), **tables}
        return Outline(paths, lambda draft: write_workbook(draft / path.name, sheets))
    kind = LABELLED[path.suffix.lower()]
    about = explain_columns(release)
    made = [
        LabelledTable.make(kind, title, table, about if title in release.carriers else {},
                           release.schema if title in release.carriers else ())
        for title, table in tables.items()
    ]  # fmt: skip
    rows += [row for table in made for row in table.remarks]
    told = kind.wrap(rows)
    made.insert(0, LabelledTable.make(kind, ABOUT, tabulate_rows(told), {}, ()))

    def write(draft: Path) -> None:
        for file, table in zip(paths, made, strict=True):
            write_labelled(draft / file.name, table)

    return Outline(paths, write)


def _tell_tables(release: Release, tables: Mapping[str, pl.DataFrame]) -> list[Row]:
    """Say what the tables and their columns are."""
    about, columns = {**release.about, **ABOUT_LABELS}, explain_columns(release)
    rows = []
    for title, table in tables.items():
        rows.append(("table", title, about.get(title, "")))
        rows += [("column", f"{title}.{name}", columns[name])
                 for name in table.columns
                 if title in release.carriers and name in columns]  # fmt: skip
    return rows
