"""Facts: what can be known of a table before any of its rows is looked at.

Every published column is counted, cell by cell, where its rows are; from the counts follow its
domain, its codes, how often each occurs and what is missing. The rows themselves are coded later,
batch by batch, wherever they lie, by what was found here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import MicrodataError, SchemaError
from discreet.table.arrays import Ints
from discreet.table.coarsening import coarsen
from discreet.table.coded_table import (
    CodedTable,
    Intake,
    attempt_each,
    raise_all,
    refuse_all_dropped,
    refuse_identifiers,
    refuse_unknown,
    refuse_unpublished,
)
from discreet.table.domain import Domain, ReducedColumn, reduce_column
from discreet.table.microdata import Microdata
from discreet.table.people import refuse_repeats
from discreet.table.schema import Attribute, Missing, Role, Schema, Type

DENSE = 1 << 22
"""Whole numbers that span no more than this are looked up by their place."""


Made = TypeVar("Made")
MakeOfCells = Callable[[pl.Series, Ints], Made]
"""Makes something of different cells, settled, and of how often each occurs."""
Progress = Callable[[str, int, int], None]
"""Told, while a stage of long work goes on, how much of how much is done."""


def say_nothing(stage: str, done: int, total: int) -> None:
    """Tell nobody."""


class Scan(Protocol):
    """Rows that lie somewhere, of which single columns can be counted."""

    @property
    def where(self) -> str:
        """What to call them in errors."""

    @property
    def columns(self) -> list[str]:
        """The names of their columns."""

    def count_cells(self, name: str, dropped: Mapping[str, pl.Series]) -> tuple[pl.Series, Ints]:
        """Give the different cells of a column, settled, and how often each occurs.

        Rows are left out that have in any column one of the cells ``dropped`` there.
        """

    def count_distinct(self, name: str, na: Sequence[str]) -> tuple[int, int]:
        """Count the different cells of a column that are neither empty nor ``na``, and all such."""

    def find_row(self, name: str, cell: object) -> int | None:
        """Give the number of the first row that has a cell, where rows have numbers."""


class PartedScan(Scan, Protocol):
    """Rows that lie somewhere, of which some columns have more cells than memory holds."""

    @property
    def types(self) -> Mapping[str, pl.DataType]:
        """The types of columns where they lie, if they say more than those of their cells."""

    def map_cells(self, name: str, work: MakeOfCells[Made], at_once: int) -> Iterable[Made]:
        """Have something made of the different cells of a column, about so many ``at_once``.

        Cells that differ in blanks around them only are in the same part.
        """

    def count_lone(
        self, attributes: Sequence[Attribute], person: Attribute | None, at_once: int,
        progress: Progress,
    ) -> int:  # fmt: skip
        """Count the rows that no other equals on some attributes; the people, if one names them."""


@dataclass(frozen=True, eq=False)
class CodedCells:
    """The raw cells of a column, each with its code."""

    raw: pl.Series
    codes: NDArray[np.int32]

    def look_up(self, series: pl.Series) -> NDArray[np.int32]:
        """Give the codes of cells of the same type; -1 where they were not counted."""
        if series.dtype != self.raw.dtype:
            series = series.cast(self.raw.dtype)
        raw = self.raw
        if raw.dtype.is_integer() and not raw.null_count() and not series.null_count() and len(raw):
            low, high = int(raw.min()), int(raw.max())  # type: ignore[arg-type]
            if high - low < DENSE and low > -(2**62) and high < 2**62:
                table = np.full(high - low + 2, -1, dtype=np.int32)
                table[raw.cast(pl.Int64).to_numpy() - low] = self.codes
                places = series.cast(pl.Int64).to_numpy() - low
                return table[np.where((places < 0) | (places > high - low), -1, places)]
        codes = pl.Series(self.codes, dtype=pl.Int32)
        return series.replace_strict(raw, codes, default=-1, return_dtype=pl.Int32).to_numpy()


def is_text(dtype: pl.DataType) -> bool:
    """Whether cells of a type are texts once they are settled."""
    return dtype in (pl.String, pl.Categorical, pl.Enum, pl.Null)


def settle_cells(name: str, dtype: pl.DataType) -> pl.Expr:
    """Take cells so that equal ones are the same: one zero, no number that is none."""
    column = pl.col(name)
    if dtype.is_float():
        return column.fill_nan(None) + 0.0
    if is_text(dtype) and dtype != pl.String:
        return column.cast(pl.String)
    return column


def keep_rows(dropped: Mapping[str, pl.Series], types: Mapping[str, pl.DataType]) -> pl.Expr:
    """Say which rows have none of the cells that are dropped."""
    kept = [~settle_cells(name, types[name]).is_in(cells.implode(), nulls_equal=True)
            for name, cells in dropped.items()]  # fmt: skip
    return pl.all_horizontal(kept) if kept else pl.lit(True)


@dataclass(frozen=True, eq=False)
class Facts(CodedTable):
    """Domains and counts of all published attributes, and how their cells are coded."""

    schema: Schema
    domains: dict[str, Domain]
    counts: dict[str, Ints]
    """Per attribute how often each code occurs."""
    intake: Intake
    cells: dict[str, CodedCells]
    dropped: dict[str, pl.Series] = field(default_factory=dict)
    """Per attribute the cells whose rows are left out."""

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.intake.read - self.intake.dropped

    def count(self, name: str) -> Ints:
        """Say how often each code of an attribute occurs."""
        return self.counts[name]

    def keeps(self, frame: pl.DataFrame) -> pl.Expr:
        """Say which rows are not left out."""
        return keep_rows(self.dropped, frame.schema)

    def encode(self, frame: pl.DataFrame) -> dict[str, NDArray[np.int32]]:
        """Code some rows of the table that was counted, leaving out what is dropped of them."""
        types = frame.schema
        if self.dropped:
            frame = frame.filter(self.keeps(frame))
        codes = {}
        for name, cells in self.cells.items():
            codes[name] = cells.look_up(frame.select(settle_cells(name, types[name])).to_series())
            if (codes[name] < 0).any():
                raise MicrodataError(
                    f"Column {name!r} has other cells than when it was counted.",
                    hint="The table was changed meanwhile: start again when nobody writes to it.",
                )
        return codes

    def hold(self, codes: dict[str, NDArray[np.int32]]) -> Microdata:
        """Give rows that are coded already as a part of the table, with the domains of all."""
        return Microdata(self.schema, codes, self.domains, self.intake, whole=self.counts)


def survey(scan: Scan, schema: Schema) -> Facts:
    """Count every published column of a table that stays where it is, and check it.

    As when a table is read, all problems of all columns are one error.
    """
    refuse_unknown(schema, scan.columns, scan.where)
    published = refuse_unpublished(schema)
    _refuse_unscalable(schema)
    dropping = [a for a in published if a.missing is Missing.DROP]
    found = {a.name: scan.count_cells(a.name, {}) for a in published}
    height = int(found[published[0].name][1].sum())
    columns = attempt_each(published, lambda a: _reduce(scan, a, found[a.name][0]), height)
    missing = _count_missing(columns, found, height)
    dropped = {
        column.attribute.name: found[column.attribute.name][0].filter(pl.Series(column.absent))
        for column in columns
        if column.attribute in dropping and column.attribute.name in missing
    }
    if dropped:  # what is left of the others depends on it
        found = {a.name: scan.count_cells(a.name, dropped) for a in published}
        columns = [reduce_column(found[a.name][0], a) for a in published]
    left = int(found[published[0].name][1].sum())
    if not left:
        refuse_all_dropped(missing)
    coded = attempt_each(columns, lambda column: coarsen(column, None).encode(None), left)
    names = [a.name for a in published]
    domains = dict(zip(names, (domain for _, domain in coded), strict=True))
    counts = {
        name: np.bincount(
            codes, weights=found[name][1], minlength=domains[name].size
        ).astype(np.int64)
        for name, (codes, _) in zip(names, coded, strict=True)
    }  # fmt: skip
    cells = {name: CodedCells(found[name][0], codes)
             for name, (codes, _) in zip(names, coded, strict=True)}  # fmt: skip
    repeats = {a.name: distinct for a in schema.having(Role.IDENTIFIER)
               for distinct, cells_there in [scan.count_distinct(a.name, a.na)]
               if distinct < cells_there}  # fmt: skip
    intake = Intake(height, height - left, missing, repeats)
    facts = Facts(schema, domains, counts, intake, cells, dropped)
    refuse_identifiers(facts)
    refuse_repeats(facts)
    return facts


def _reduce(scan: Scan, attribute: Attribute, cells: pl.Series) -> ReducedColumn:
    return reduce_column(
        cells, attribute, find_row=lambda cell: scan.find_row(attribute.name, cell)
    )


def _count_missing(
    columns: list[ReducedColumn], found: dict[str, tuple[pl.Series, Ints]], height: int
) -> dict[str, int]:
    """Count the missing cells of columns that have any; refuse those that may have none."""
    missing: dict[str, int] = {}
    problems = []
    for column in columns:
        name = column.attribute.name
        count = int(found[name][1][column.absent].sum())
        if count:
            missing[name] = count
        if count and column.attribute.missing is Missing.REJECT:
            problems.append(f"column {name!r}: {count} of {height} cells are missing")
    raise_all(problems, hint='Set missing = "value" or "drop" for the column, or fill the cells.')
    return missing


def _refuse_unscalable(schema: Schema) -> None:
    """Refuse, before any work, what is done only to tables that are read into memory."""
    people, what = schema.people, None
    if people.person is not None or people.cluster is not None:
        what = "people who have several rows"
    elif schema.weight is not None:
        what = "sampling weights"
    elif any(a.guards is not None for a in schema):
        what = "what each person guards"
    elif any(a.aggregate is not None for a in schema):
        what = "micro-aggregation"
    elif any(a.type is Type.SET for a in schema.published):
        what = "sets of items"
    if what is not None:
        raise SchemaError(
            f"Tables beyond memory are not published with {what} yet.",
            hint="Publish it on a machine with more memory (--memory), or leave that out.",
        )
