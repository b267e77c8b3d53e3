"""Prepared: releases held for many questions, in memory or in a session somewhere else.

Its tables are loaded once. A permuted release is besides laid out in group order with prefix
sums: a question that selects people by one condition per column is then a walk over codes, and
the help table is not joined at all. Every other question goes to the engine, as all do where that
is not the embedded one; the answers are the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self, cast

import polars as pl

from discreet.forms import find_form
from discreet.forms.asking import Answer, rewrite
from discreet.release.series import Series
from discreet.sql.dialects import Tables
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

    def __init__(
        self, release: Release | Series, engine: str | None = None, own: Tables | None = None
    ) -> None:
        self.release, self.own = release, own
        self._is_elsewhere = engine is not None
        self._session = session = connect(release.tables, engine, own)
        self._index: Index | None = None
        if engine is None and not isinstance(release, Series):
            self._index = find_form(release.form).index(release, cast("Embedded", session))

    def query(self, sql: str) -> Answer:
        """Answer a question, as :meth:`Release.query` does."""
        asked = rewrite(self.release, sql, self.own, elsewhere=self._is_elsewhere)
        indexed = self._index is not None and asked.query is not None
        frame = self._index.answer(asked.query) if indexed else None  # type: ignore[union-attr,arg-type]
        statement = self._session.write(asked.tree, asked.needed)
        if frame is None:
            frame = self._session.run(statement)
        return asked.answer(frame, statement.sql)

    def interrupt(self) -> None:
        """Break off, from another thread, the question that the embedded engine runs."""
        cast("Embedded", self._session).interrupt()

    def close(self) -> None:
        """Let go of the tables."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
