"""Prepared: a release held for many questions, in memory or in a session somewhere else.

Its tables are loaded once. A permuted release is besides laid out in group order with prefix
sums: a question that selects people by one condition per column is then a walk over codes, and
the help table is not joined at all. Every other question goes to the engine, as all do where that
is not the embedded one; the answers are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self, cast

import polars as pl

from discreet.forms import find_form
from discreet.forms.asking import Answer, list_tables, name_columns, rewrite
from discreet.sql.engines import connect
from discreet.sql.query import Query

if TYPE_CHECKING:
    from discreet.release import Release
    from discreet.sql.engines.duckdb import Embedded


class Index(Protocol):
    """A release laid out for some questions."""

    def answer(self, query: Query) -> pl.DataFrame | None:
        """Answer a question this index is made for; ``None`` for any other."""


class Prepared:
    """A release ready for many questions; close it, or use it in a ``with`` statement.

    >>> import discreet as dc
    >>> data = dc.datasets.census(500, sensitive=["income"])
    >>> release = dc.publish(data, dc.Permutation(dc.KE(k=5, e=1000)))
    >>> with release.prepare() as prepared:
    ...     some = prepared.query("SELECT COUNT(*) FROM release WHERE age < 40").estimate
    ...     many = prepared.query("SELECT COUNT(*) FROM release").estimate
    >>> 0 < some < many
    True
    """

    def __init__(self, release: Release, engine: str | None = None) -> None:
        self.release = release
        self._session = session = connect(release.tables, engine)
        self._index = (
            None if engine else find_form(release.form).index(release, cast("Embedded", session))
        )

    def query(self, sql: str) -> Answer:
        """Answer a question, as :meth:`Release.query` does."""
        query, tree, needed = rewrite(self.release, sql)
        frame = self._index.answer(query) if self._index is not None else None
        text = self._session.write(tree)
        if frame is None:
            frame = self._session.run(text, needed)
        return Answer(query, name_columns(query, frame), text, list_tables(tree, self.release))

    def close(self) -> None:
        """Let go of the tables."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
