"""Sections of a plan: the table, its columns, and where the release goes."""

from __future__ import annotations

from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from discreet.errors import PlanError
from discreet.release import Format
from discreet.table.databases import SERVERS, DatabaseTable
from discreet.table.people_key import Fold, PeopleKey, Rows
from discreet.table.readers import TableFile
from discreet.table.schema import Attribute, Missing, Role, Type, Unreadable
from discreet.table.spelling import Spelling
from discreet.table.taxonomy import DATE_LEVELS, Dates, Intervals, Prefixes, Taxonomy, TaxonomyRule
from discreet.table.text_files import AS_FOUND, FileFormat


class Section(BaseModel):
    """A table of a plan; what it does not know is refused."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class TaxonomyPlan(Section):
    """Where a taxonomy comes from: one of a file, or a rule."""

    file: str | None = None
    """A file of ARX, Amnesia or JSON."""
    intervals: list[float] | None = None
    """Widths of intervals of numbers, from fine to coarse."""
    prefixes: list[Annotated[int, Field(ge=0, le=10_000)]] | None = None
    """Lengths of prefixes of texts, from long to short."""
    dates: list[Literal[DATE_LEVELS]] | None = None  # type: ignore[valid-type]
    """Calendar levels, such as "month", "year"."""

    def make(self, attribute: str, folder: Path) -> Taxonomy | TaxonomyRule:
        """Read the file or make the rule."""
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            raise PlanError(
                f"columns.{attribute}.taxonomy: give one of file, intervals, prefixes, dates.",
            )
        if self.file is not None:
            return Taxonomy.read(folder / self.file, attribute=attribute)
        if self.intervals is not None:
            return Intervals(tuple(self.intervals))
        if self.prefixes is not None:
            return Prefixes(tuple(self.prefixes))
        return Dates(tuple(self.dates or ()))


class ColumnPlan(Section):
    """One column of the table."""

    role: Role | None = None
    """identifier, quasi-identifier, sensitive or other; needed unless [roles] says it."""
    type: Type = Type.CATEGORY
    """integer, decimal, date, ordinal, category, boolean or set."""
    missing: Missing = Missing.REJECT
    """Of missing cells: reject the table, take them for a value, or drop their rows."""
    na: list[str] = []
    """Texts that mean missing."""
    order: list[str] = []
    """The values of an ordinal, from low to high."""
    separator: str | None = None
    """What stands between the items of a set; if it is left out, "|"."""
    decimals: int | None = Field(default=None, ge=0, le=18)
    """Digits kept after the point of a decimal."""
    decimal: str | None = None
    """The sign before decimals: "." or ","."""
    thousands: str | None = None
    """The sign between thousands: ",", ".", " " or "'"."""
    unit: str | None = None
    """What stands at numbers, such as "€" or "%"."""
    date_format: str | None = None
    """How dates are written, such as "%d.%m.%Y"."""
    last_year: int | None = None
    """Of years of two digits (%y) the last one that is meant, such as 1999."""
    unreadable: Unreadable = "reject"
    """Of cells that cannot be read as the type: reject the table, or take them for missing."""
    low: int | float | str | date | None = None
    """The least that a number or date can be, whoever is in the table."""
    high: int | float | str | date | None = None
    """The largest that it can be."""
    values: list[str] | Literal["taxonomy"] = []
    """What a category can be, or "taxonomy" for the leaves of its taxonomy."""
    top: int | float | str | date | None = None
    """Numbers from here on show this."""
    bottom: int | float | str | date | None = None
    """Numbers up to here show this."""
    round: int | float | str | None = None
    """Numbers are rounded to a multiple of this."""
    aggregate: int | None = None
    """So many people or more with consecutive numbers show their mean."""
    keep: bool = False
    """Publish a column of role other unchanged."""
    fold: Fold | None = None
    """What becomes of it where rows of a person are folded into one."""
    guards: str | None = None
    """The sensitive column of which it says what each person guards."""
    taxonomy: TaxonomyPlan | None = None
    """Groups of its values: a file or a rule."""

    def make(self, name: str, role: Role, folder: Path, source: SourcePlan) -> Attribute:
        """Make the attribute; one that weighs rows is kept, if nothing else is said."""
        weighs = name == source.weight
        taxonomy = self.taxonomy.make(name, folder) if self.taxonomy else None
        unsaid = "keep" not in self.model_fields_set
        values = self.values
        if values == "taxonomy":
            if not isinstance(taxonomy, Taxonomy):
                raise PlanError(
                    f'columns.{name}.values = "taxonomy": there is no file of a taxonomy.',
                    hint="Give taxonomy = { file = … }, or list the values.",
                )
            values = list(taxonomy.leaves)
        return Attribute(
            name,
            role,
            self.type,
            missing=self.missing,
            taxonomy=taxonomy,
            order=tuple(self.order),
            decimals=self.decimals if self.type is Type.DECIMAL else None,
            na=tuple(dict.fromkeys((*self.na, *source.missing))),
            spelling=self._make_spelling(source),
            unreadable=self.unreadable,
            separator=self.separator or "",
            low=self.low,
            high=self.high,
            values=tuple(values),
            top=self.top,
            bottom=self.bottom,
            round=self.round,
            aggregate=self.aggregate,
            keep=self.keep or (unsaid and weighs and role is Role.OTHER),
            fold=self.fold,
            guards=self.guards,
        )

    def _make_spelling(self, source: SourcePlan) -> Spelling:
        """Say how the column is written: as it says, else as the whole table is."""
        shared: dict[str, str | int | None] = {}
        if self.type in (Type.INTEGER, Type.DECIMAL):
            shared = {"decimal": source.decimal, "thousands": source.thousands}
        elif self.type is Type.DATE:
            format_ = self.date_format or source.date_format
            shared = {"date_format": format_}
            if format_ is not None and Spelling(date_format=format_).is_short:
                shared["last_year"] = source.last_year
        own = {part.name: getattr(self, part.name) for part in fields(Spelling)}
        told = [(name, said) for name, said in (*shared.items(), *own.items()) if said is not None]
        return Spelling(**dict(told))


class RolesPlan(Section):
    """Roles of many columns at once, by name or by pattern."""

    identifier: list[str] = []
    """Columns that name a person; they never leave."""
    quasi_identifier: list[str] = Field(default=[], alias="quasi-identifier")
    """Columns that others may know, such as "age" or "edu*"."""
    sensitive: list[str] = []
    """Columns that must not be learned about a person."""
    other: list[str] = []
    """Columns that are neither; they are not published, unless kept."""

    @property
    def by_role(self) -> dict[Role, list[str]]:
        """What is listed for each role."""
        return {
            Role.IDENTIFIER: self.identifier,
            Role.QUASI_IDENTIFIER: self.quasi_identifier,
            Role.SENSITIVE: self.sensitive,
            Role.OTHER: self.other,
        }


class SourcePlan(Section):
    """The table to publish, and whose rows are whose in it."""

    file: str | None = None
    """The table, from where the plan lies: text, Parquet, Excel, SPSS, Stata or SAS."""
    database: str | None = None
    """Or where it lies: postgresql://user@host/database, or a file of DuckDB."""
    table: str | None = None
    """The table of the database, such as "people" or "clinic.visits"."""
    query: str | None = None
    """Or a SELECT that gives it."""
    encoding: str | None = None
    """The encoding of text, where its bytes are misread."""
    separator: str | None = None
    """What separates cells of text."""
    sheet: str | None = None
    """The sheet of a workbook; else the first."""
    missing: list[str] = []
    """Texts and numbers that mean missing in every column."""
    decimal: str | None = None
    """The sign before decimals in all columns of numbers."""
    thousands: str | None = None
    """The sign between thousands in all columns of numbers."""
    date_format: str | None = None
    """How dates are written in all columns of dates."""
    last_year: int | None = None
    """Of years of two digits in all columns of dates the last one that is meant."""
    person: str | None = None
    """The column that says which rows are of one person; it never leaves."""
    cluster: str | None = None
    """The column that says who would be found together, such as a household."""
    rows: Rows = "all"
    """What is published of a person: all rows, one drawn, or one that all are folded into."""
    most_rows: int | None = Field(default=None, ge=1, strict=True)
    """At most so many rows of a person."""
    rows_are_people: bool = Field(default=False, strict=True)
    """Every row is a person, although a column that names people repeats."""
    weight: str | None = None
    """The column of sampling weights."""

    def make_key(self) -> PeopleKey:
        """Say which rows are of one person, and what is published of them."""
        told = {part.name: getattr(self, part.name) for part in fields(PeopleKey)}
        return PeopleKey(**{**told, "missing": tuple(self.missing)})

    def make_file(self, folder: Path) -> TableFile | DatabaseTable:
        """Say where the table lies, and how it is written."""
        told = FileFormat(self.encoding, self.separator, self.sheet)
        if (self.file is None) == (self.database is None):
            raise PlanError(
                "source: where is the table?", hint='Give file = "…", or database = "…".'
            )
        if self.file is not None:
            if self.table is not None or self.query is not None:
                raise PlanError("source: table and query are of a database, not of a file.")
            return TableFile(folder / self.file, told)
        if told != AS_FOUND:
            raise PlanError(
                "source: encoding, separator and sheet are about files.",
            )
        address = str(self.database)
        if not address.startswith(SERVERS):
            address = str(folder / address)
        return DatabaseTable(address, self.table, self.query)


class ReleasePlan(Section):
    """Where the release goes."""

    folder: str = "release"
    """Where the release goes, from where the plan lies."""
    format: Format = "parquet"
    """parquet or csv."""
    insecure_seed: int | None = Field(default=None, ge=0, strict=True)
    """For test releases that can be made again; needs --insecure."""
    accept_estimates: bool = Field(default=False, strict=True)
    """Publish under a ledger although promises together with earlier releases are only estimated
    to hold, where worlds are too many to be counted; the release says so."""
