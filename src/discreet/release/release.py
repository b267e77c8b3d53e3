"""Release: what the public gets, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import polars as pl

from discreet.errors import QueryError
from discreet.principles.base import Principle
from discreet.release.own_columns import name_own
from discreet.table.coarsening import describe_coarsening
from discreet.table.schema import Schema

if TYPE_CHECKING:
    from discreet.analysis import Crosstab, Fit, Histogram
    from discreet.forms import View
    from discreet.forms.asking import Answer
    from discreet.forms.installing import Installation
    from discreet.forms.prepared import Prepared
    from discreet.principles.groups import Groups
    from discreet.table.arrays import Ints

Format = Literal["parquet", "csv"]


class Transformation(StrEnum):
    """What the cells of an attribute are, in any form; forms have words of their own besides."""

    EXACT = "exact"
    """Published as it is."""
    INTERVAL = "interval"
    """A range: the label, and its ends beside it as ``<name>_low`` and ``<name>_high``."""
    SET = "set"
    """A set of values under a label; ``Recoding.labels`` says which values."""


@dataclass(frozen=True)
class Recoding:
    """How one attribute looks in a release, enough to read it back without the microdata."""

    transformation: Transformation | str
    """A word of the form (``Form.transformations``) where values are exact, but not whose."""
    labels: dict[str, list[str]] = field(default_factory=dict)
    """For sets: which values each label stands for."""
    domain: list[str] = field(default_factory=list)
    """For sets all values, for intervals the two outermost, as text."""
    missing: bool = False
    """Whether a missing cell counts as a value of its own here."""
    public: bool = False
    """Whether the domain is what values can be, whoever is in the table."""

    @property
    def is_blurred(self) -> bool:
        """Whether a cell stands for several values."""
        return self.transformation in (Transformation.INTERVAL, Transformation.SET)

    def columns(self, name: str) -> list[str]:
        """Give the columns of the table that carry this attribute."""
        if self.transformation is not Transformation.INTERVAL:
            return [name]
        ends = [name, f"{name}_low", f"{name}_high"]
        return [*ends, f"{name}_missing"] if self.missing else ends


def number_title(title: str, place: int) -> str:
    """Give the name of the first, second and so on of tables, or columns, of one kind."""
    return title if place == 0 else f"{title}_{place + 1}"


@dataclass(frozen=True)
class PartedTable:
    """A table of a form of which parts can be examined by themselves."""

    title: str
    column: str
    """Rows with the same number in it belong to one part, in every table that has it."""
    counts: str | None = None
    """The column that says of how many people a row is; ``None`` where that is one."""
    ordered: bool = True
    """Whether its rows are in the order of these numbers."""

    def count_values(self, table: pl.DataFrame, name: str) -> pl.DataFrame:
        """Count how many ``rows`` of people have each ``value`` of an attribute."""
        people = pl.lit(1) if self.counts is None else pl.col(self.counts)
        shown = table.select(pl.col(name).alias("value"), people.cast(pl.Int64).alias("rows"))
        return shown.group_by("value").agg(pl.col("rows").sum())


FindShares = Callable[[pl.Series], pl.DataFrame]
"""Gives all that is known of some groups of a table, by what they show."""


@dataclass(frozen=True)
class OfPeople:
    """What is promised of people, where a row is not a person."""

    principle: Principle
    rows: int
    """The most rows that anybody has."""
    together: int
    """The most rows of people who count as one: a person's, or a cluster's."""

    @property
    def over_rows(self) -> Principle:
        """What of rows is enough for it, whoever has how many."""
        return self.principle.over_rows(self.rows, self.together)


@dataclass(frozen=True)
class Promise:
    """What a release guarantees, in symbols and in words."""

    principle: Principle
    """What its tables keep, row by row."""
    guarantee: str
    leaves_open: tuple[str, ...]
    people: OfPeople | None = None
    """What follows for people who have several rows, where some have."""

    @property
    def asked(self) -> Principle:
        """What is promised of people."""
        return self.principle if self.people is None else self.people.principle

    @property
    def over_rows(self) -> Principle:
        """What of rows is enough for that."""
        return self.principle if self.people is None else self.people.over_rows


class PossibleRecords(NamedTuple):
    """Combinations of attributes that a release leaves possible, with labels as published."""

    table: pl.DataFrame
    weights: Ints
    """How likely each is, in whole numbers."""
    own: bool
    """Whether these are records that show their own values, each of which weighs one."""


@dataclass(frozen=True, eq=False)
class Release:
    """Published tables, the promise they keep, and how to read them.

    It holds no microdata, no row order, no seed and no path: whatever is in here may be printed
    in a newspaper.
    """

    form: str
    """How it looks, and so how it is read, asked and attacked, whoever made it."""
    method: str
    parameters: dict[str, object]
    promise: Promise
    schema: Schema
    recodings: dict[str, Recoding]
    tables: dict[str, pl.DataFrame]
    about: dict[str, str]
    """What one row of each table is, in a sentence."""
    whole: dict[str, pl.DataFrame] = field(default_factory=dict)
    """Of a part of a release: of each attribute that is not a quasi-identifier every ``value`` of
    the whole, and of how many ``rows`` it is."""
    bags: dict[str, Groups] = field(default_factory=dict)
    """Of some records of a release: per sensitive attribute what the groups hold that these are of,
    in the order of their numbers, with all that records elsewhere have of it."""
    shares: dict[str, FindShares] = field(default_factory=dict)
    """Of a part of a release: per table whose groups have records in other parts as well, what
    these hold in all."""
    insecure: bool = False
    """Whether a seed decided what protects. It is not written down, nor is such a release."""
    published: tuple[str, ...] = ()
    """All attributes that its tables were published with, also where its schema has fewer of them
    since: what its own columns are called depends on these."""

    def __post_init__(self) -> None:
        if not self.published:
            object.__setattr__(self, "published", tuple(self.schema.names))

    @cached_property
    def views(self) -> list[View]:
        """The groups of people that its tables show, as everyone outside sees them; read once."""
        from discreet.forms import find_form

        return find_form(self.form).views(self)

    @property
    def carriers(self) -> dict[str, pl.DataFrame]:
        """Its tables that carry attributes; columns of others do not, whatever they are called."""
        from discreet.forms import find_form

        form = find_form(self.form)
        return {title: t for title, t in self.tables.items() if not form.is_auxiliary(title)}

    @property
    def left_out(self) -> int:
        """How many rows of the microdata it says that it leaves out."""
        said = self.parameters.get("left_out", 0)
        return said if isinstance(said, int) and said > 0 else 0

    def own(self, word: str) -> str:
        """Give the name of a column that carries no attribute, by its form's word for it."""
        return name_own(word, self.published)

    def explain_own(self, column: str) -> str | None:
        """Say of a column that carries no attribute to which ones it gave way, if to any."""
        word = column.rstrip("_")
        if word == column or self.own(word) != column:
            return None
        alike = [f"`{n}`" for n in self.published if n.casefold().rstrip("_") == word.casefold()]
        return (
            f"The release's own column, no attribute: its name gave way to {' and '.join(alike)}."
        )

    @property
    def columns(self) -> list[str]:
        """The columns that carry its attributes, in whatever tables they are."""
        return [c for name in self.schema.names for c in self.recodings[name].columns(name)]

    @property
    def shown(self) -> dict[str, list[str]]:
        """Per table that shows people: the quasi-identifiers it shows."""
        from discreet.forms import find_form

        return find_form(self.form).shown(self)

    @property
    def own_records(self) -> pl.DataFrame | None:
        """The records that show people beside their own values, if it has such."""
        from discreet.forms import find_form

        return find_form(self.form).own_records(self)

    def list_possible(self, names: Collection[str]) -> PossibleRecords | None:
        """List the combinations of some attributes that it leaves possible, if it can say so."""
        from discreet.forms import find_form

        return find_form(self.form).list_possible(self, names)

    def explain(self, name: str) -> str:
        """Say how an attribute is published."""
        from discreet.forms import find_form

        how = find_form(self.form).explain(name, self.recodings[name].transformation)
        coarser = describe_coarsening(self.schema[name])
        return f"{how}; made coarser before: {coarser}" if coarser else how

    def find_table(self, names: Collection[str]) -> str:
        """Give the table that shows all these quasi-identifiers and the fewest others.

        Where sensitive attributes are among them, its records lead to what is told of these.
        """
        from discreet.forms import find_form

        known = set(names) - set(self.schema.sensitive)
        shown = self.shown if known == set(names) else find_form(self.form).linked(self)
        fitting = [title for title, there in shown.items() if known <= set(there)]
        if not fitting:
            raise QueryError(
                f"No table of this release shows {', '.join(sorted(names))} together.",
                hint="Ask about attributes of one table: "
                + "; ".join(", ".join(there) for there in shown.values())
                + ".",
            )
        return min(fitting, key=lambda title: len(shown[title]))

    def query(
        self,
        sql: str,
        *,
        engine: str | None = None,
        tables: Mapping[str, pl.DataFrame] | None = None,
    ) -> Answer:
        """Answer a question in SQL about the table ``release``, with bounds.

        Runs on the embedded DuckDB, or at ``engine``: a database (``postgresql://…``) or a cluster
        of Spark (``spark://…``, ``sc://…``, ``local[*]``). Grouped answers can be joined with
        ``tables`` of your own.
        """
        from discreet.forms.asking import ask

        return ask(self, sql, engine, tables)

    def reconstruct(self, names: Sequence[str]) -> pl.DataFrame:
        """Rebuild the distribution of some attributes: their values, each with a probability."""
        from discreet.forms.reconstruction import reconstruct

        return reconstruct(self, names)

    def sample(self, n: int, *, seed: int | None = None) -> pl.DataFrame:
        """Draw synthetic records from the distribution the release stands for."""
        from discreet.forms.reconstruction import sample

        return sample(self, n, seed)

    def impute(self, m: int = 20, *, seed: int | None = None) -> list[pl.DataFrame]:
        """Draw ``m`` completed tables, for multiple imputation; see :func:`discreet.combine`."""
        from discreet.analysis import impute

        return impute(self, m, seed)

    def regress(self, formula: str, *, family: str | None = None, seed: int | None = None) -> Fit:
        """Fit ``wage ~ age + sex``: least squares of a number, or the odds of one of two values.

        Standard errors are of people and of what the release leaves open. ``family`` is gaussian
        or binomial; by itself it is what the response is.
        """
        from discreet.analysis import regress

        return regress(self, formula, family, seed)

    def crosstab(self, rows: str, columns: str, measure: str | None = None) -> Crosstab:
        """Ask for every combination of two attributes at once: how many, or ``AVG(wage)``."""
        from discreet.analysis import crosstab

        return crosstab(self, rows, columns, measure)

    def histogram(
        self,
        attribute: str,
        by: str | None = None,
        bins: int | Sequence[float] | None = None,
    ) -> Histogram:
        """Count people by the values of an attribute, numbers in bins; ``by`` another one, too."""
        from discreet.analysis import histogram

        return histogram(self, attribute, by, bins)

    def prepare(
        self, *, engine: str | None = None, tables: Mapping[str, pl.DataFrame] | None = None
    ) -> Prepared:
        """Hold the release ready for many questions, which are then answered much faster.

        In memory, or in a session of the database or cluster at ``engine``, which is loaded once.
        """
        from discreet.forms.prepared import Prepared

        return Prepared(self, engine, tables)

    def write(
        self,
        folder: str | Path,
        *,
        format: Format = "parquet",
        overwrite: bool = False,
        insecure: bool = False,
    ) -> Path:
        """Write to a folder, whole or not at all, and verify what was written.

        An earlier release is replaced only with ``overwrite``, and one that a seed decided is
        written only with ``insecure``.
        """
        from discreet.release.store import write

        return write(self, Path(folder), format=format, overwrite=overwrite, insecure=insecure)

    def export(
        self, path: str | Path, *, overwrite: bool = False, insecure: bool = False
    ) -> list[Path]:
        """Write the tables to ``.xlsx``, a sheet each, or to ``.sav`` or ``.dta``, a file each.

        All are verified first, hold the published cells, and say in ``about`` what these are.
        """
        from discreet.release.exporting import export

        return export(self, Path(path), overwrite=overwrite, insecure=insecure)

    def to_database(
        self, into: str, *, schema: str = "discreet", overwrite: bool = False,
        insecure: bool = False,
    ) -> Installation:  # fmt: skip
        """Put the tables, once they are verified, into ``postgresql://…`` or a file of DuckDB.

        Estimates and bounds go there, too, for clients that know nothing of releases.
        """
        from discreet.forms.installing import install
        from discreet.forms.verify import verify
        from discreet.release.store import refuse_insecure

        refuse_insecure(self, insecure=insecure)
        verify(self)
        return install(self, into, schema=schema, overwrite=overwrite)
