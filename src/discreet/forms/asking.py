"""Answer: what a release says to a question, with its bounds."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.forms import find_form
from discreet.sql.coarse import refuse_coarse_aggregates, restate
from discreet.sql.engines import connect
from discreet.sql.parse import parse
from discreet.sql.query import Query

if TYPE_CHECKING:
    from discreet.release import Release

MOST_WRITTEN = 20_000
DIALECTS = ("duckdb", "postgres", "spark")


@dataclass(frozen=True, eq=False)
class Answer:
    """One row per group asked for; per aggregate its estimate, hard bounds and standard error.

    The true value lies between low and high. The estimate is the mean, and the standard error the
    spread, over all shuffles of a permuted release, or over records spread evenly in the boxes of
    a generalized one. MIN and MAX, whose means have no closed form, have the middle of their
    bounds and no standard error; nor has AVG over boxes, whose number of hits is itself random.
    A rank-swapped release is read as if what it shows were true, and has no standard error. From
    a perturbed one what was drawn at random is subtracted, and its spread is the standard error.
    Of numbers that were made coarser the estimate takes what is shown for true, without a standard
    error; a bound that does not exist, as with codes of top and bottom, is nothing.
    """

    query: Query
    frame: pl.DataFrame
    sql: str
    tables: list[str]
    """The tables of the release that were asked."""

    def _single(self, ending: str) -> float | None:
        if len(self.query.aggregates) != 1 or self.frame.height != 1 or self.query.group_by:
            raise QueryError(
                "The answer has more than one value.", hint="Read them from answer.frame."
            )
        value: float | None = self.frame[f"{self.query.aggregates[0].alias}{ending}"].item()
        return value

    @property
    def estimate(self) -> float | None:
        """The expected value, for a question with one aggregate."""
        return self._single("")

    @property
    def low(self) -> float | None:
        """No true value is smaller."""
        return self._single("_low")

    @property
    def high(self) -> float | None:
        """No true value is larger."""
        return self._single("_high")

    @property
    def stderr(self) -> float | None:
        """Standard error over the random permutation."""
        return self._single("_stderr")


def rewrite(release: Release, text: str) -> tuple[Query, exp.Select, dict[str, pl.DataFrame]]:
    """Read a question; give the statement over a release's tables, and other tables it needs."""
    form, query = find_form(release.form), parse(text, release.schema)
    refuse_coarse_aggregates(query, release, bounded=form.spreads_coarse)
    query = query if form.spreads_coarse else restate(query, release)
    return query, *form.rewrite(query, release)


def show_sql(release: Release, text: str, dialect: str) -> str:
    """Write the rewritten statement for an engine, to be pasted into any client."""
    if dialect not in DIALECTS:
        raise QueryError(
            f"There is no dialect {dialect!r}.", hint=f"Give one of {', '.join(DIALECTS)}."
        )
    _, tree, needed = rewrite(release, text)
    for name, table in needed.items():
        tree = tree.with_(exp.to_identifier(name, quoted=True), as_=_write_out(name, table))
    if with_ := tree.args.get("with_"):  # what others build on comes first
        with_.expressions.sort(key=lambda clause: clause.alias not in needed)
    return tree.sql(dialect=dialect, identify=True, pretty=True)


def _write_out(name: str, table: pl.DataFrame) -> exp.Select:
    """Write a small table into the statement itself, so that it can be pasted anywhere."""
    if table.height > MOST_WRITTEN:
        raise QueryError(
            f"The statement would carry {table.height:,} {name}.",
            hint="Let discreet run it: leave out --show-sql, or give --engine.",
        )
    rows = [tuple(exp.convert(cell) for cell in row) for row in table.rows()]
    return select("*").from_(exp.values(rows, alias="v", columns=table.columns))


def ask(release: Release, text: str, engine: str | None = None) -> Answer:
    """Put a question to a release, on DuckDB or on the database or cluster at ``engine``."""
    query, tree, needed = rewrite(release, text)
    with closing(connect(release.tables, engine)) as session:
        sql = session.write(tree)
        frame = session.run(sql, needed)
    return Answer(query, name_columns(query, frame), sql, list_tables(tree, release))


def list_tables(tree: exp.Expr, release: Release) -> list[str]:
    """Give the release's tables that a statement reads, people's own table first."""
    read = {table.name for table in tree.find_all(exp.Table)}
    found = [name for name in release.tables if name in read]
    return sorted(found, key=lambda name: name not in release.shown)


def name_columns(query: Query, frame: pl.DataFrame) -> pl.DataFrame:
    """Give an answer's columns their names, which databases may have cut or folded."""
    names = [*query.group_by, *(name for a in query.aggregates for name in a.names)]
    return frame.rename(dict(zip(frame.columns, names, strict=True)))
