"""Sections of a plan: the table, its columns, and where the release goes."""

from __future__ import annotations

from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from discreet.errors import PlanError
from discreet.release import Format
from discreet.table.readers import TableFile
from discreet.table.schema import Attribute, Fold, Missing, PeopleKey, Role, Rows, Type
from discreet.table.taxonomy import DATE_LEVELS, Dates, Intervals, Prefixes, Taxonomy, TaxonomyRule
from discreet.table.text_files import FileFormat


class Section(BaseModel):
    """A table of a plan; what it does not know is refused."""

    model_config = ConfigDict(extra="forbid")


class TaxonomyPlan(Section):
    """Where a taxonomy comes from: one of a file, or a rule."""

    file: str | None = None
    intervals: list[float] | None = None
    prefixes: list[Annotated[int, Field(ge=0, le=10_000)]] | None = None
    dates: list[Literal[DATE_LEVELS]] | None = None  # type: ignore[valid-type]

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

    role: Role
    type: Type = Type.CATEGORY
    missing: Missing = Missing.REJECT
    na: list[str] = []
    order: list[str] = []
    decimals: int | None = Field(default=None, ge=0, le=18)
    low: int | float | str | date | None = None
    high: int | float | str | date | None = None
    values: list[str] | Literal["taxonomy"] = []
    top: int | float | str | date | None = None
    bottom: int | float | str | date | None = None
    round: int | float | str | None = None
    aggregate: int | None = None
    keep: bool = False
    fold: Fold | None = None
    guards: str | None = None
    taxonomy: TaxonomyPlan | None = None

    def make(self, name: str, folder: Path, *, weighs: bool = False) -> Attribute:
        """Make the attribute; one that weighs rows is kept, if nothing else is said."""
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
            self.role,
            self.type,
            missing=self.missing,
            taxonomy=taxonomy,
            order=tuple(self.order),
            decimals=self.decimals if self.type is Type.DECIMAL else None,
            na=tuple(self.na),
            low=self.low,
            high=self.high,
            values=tuple(values),
            top=self.top,
            bottom=self.bottom,
            round=self.round,
            aggregate=self.aggregate,
            keep=self.keep or (unsaid and weighs and self.role is Role.OTHER),
            fold=self.fold,
            guards=self.guards,
        )


class SourcePlan(Section):
    """The table to publish, and whose rows are whose in it."""

    file: str
    encoding: str | None = None
    separator: str | None = None
    sheet: str | None = None
    missing: list[str] = []
    person: str | None = None
    cluster: str | None = None
    rows: Rows = "all"
    most_rows: int | None = Field(default=None, ge=1, strict=True)
    rows_are_people: bool = Field(default=False, strict=True)
    weight: str | None = None

    def make_key(self) -> PeopleKey:
        """Say which rows are of one person, and what is published of them."""
        told = {part.name: getattr(self, part.name) for part in fields(PeopleKey)}
        return PeopleKey(**told)

    def make_file(self, folder: Path) -> TableFile:
        """Say where the table lies, and how it is written."""
        told = FileFormat(self.encoding, self.separator, self.sheet, tuple(self.missing))
        return TableFile(folder / self.file, told)


class ReleasePlan(Section):
    """Where the release goes."""

    folder: str = "release"
    format: Format = "parquet"
    insecure_seed: int | None = Field(default=None, ge=0, strict=True)
