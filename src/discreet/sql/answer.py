"""Answer: what a release says to a question, with its bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
from sqlglot import exp

from discreet.errors import QueryError
from discreet.sql.parse import Query, parse
from discreet.sql.permuted import rewrite_permuted

if TYPE_CHECKING:
    from discreet.release import Release

DIALECTS = ("duckdb", "postgres", "spark")
REWRITERS = {"permutation": rewrite_permuted}


@dataclass(frozen=True, eq=False)
class Answer:
    """One row per group asked for; per aggregate its estimate, hard bounds and standard error.

    The true value lies between low and high, whatever the shuffle. The estimate is the mean over
    all shuffles and the standard error their spread; for MIN and MAX, whose mean has no closed
    form, the estimate is the middle of the bounds and there is no standard error.
    """

    query: Query
    frame: pl.DataFrame
    sql: str

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


def rewrite(release: Release, text: str) -> tuple[Query, exp.Select]:
    """Read a question and rewrite it for the tables of a release."""
    if release.method not in REWRITERS:
        raise QueryError(
            f"Questions in SQL cannot be put to a release by {release.method} yet.",
            hint="Read its tables directly: release.tables.",
        )
    query = parse(text, release.schema)
    return query, REWRITERS[release.method](query, release.schema)


def show_sql(release: Release, text: str, dialect: str) -> str:
    """Write the rewritten statement for an engine, to be pasted into any client."""
    if dialect not in DIALECTS:
        raise QueryError(
            f"There is no dialect {dialect!r}.", hint=f"Give one of {', '.join(DIALECTS)}."
        )
    return rewrite(release, text)[1].sql(dialect=dialect, identify=True, pretty=True)


def ask(release: Release, text: str, engine: str | None = None) -> Answer:
    """Put a question to a release, on DuckDB or on the database at ``engine``."""
    query, tree = rewrite(release, text)
    if engine is None:
        from discreet.sql.engines.duckdb import run
    elif engine.startswith(("postgresql://", "postgres://")):
        from functools import partial

        from discreet.sql.engines.postgres import run_at

        run = partial(run_at, engine)
    else:
        raise QueryError(
            f"There is no engine for {engine!r}.", hint="Give postgresql://user@host/database."
        )
    sql, frame = run(tree, release.tables)
    return Answer(query, frame, sql)
