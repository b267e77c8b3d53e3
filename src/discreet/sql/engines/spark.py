"""Spark: the release's tables are views of one session, and gone with it.

Nothing that lies on the cluster is trusted, and nothing stays there.
"""

from __future__ import annotations

from contextlib import ExitStack

import polars as pl
from sqlglot import exp

from discreet.cluster import open_session
from discreet.cluster.reaching import say, spark_errors
from discreet.sql.dialects import Tables, Written, write
from discreet.sql.engines.duckdb import Types, conform
from discreet.sql.engines.refusals import refuse

SETTINGS = {
    # what overflows or is no number is refused; else it would be wrapped around, or nothing
    "spark.sql.ansi.enabled": "true",
    "spark.sql.caseSensitive": "true",
    "spark.sql.parser.escapedStringLiterals": "false",
}
"""What an answer depends on, whatever a cluster is set to."""


class Cluster:
    """A session of its own, with a release's tables loaded."""

    def __init__(self, address: str, tables: Tables) -> None:
        with ExitStack() as stack:
            self._session = stack.enter_context(open_session(address, **SETTINGS))
            for name, table in tables.items():
                self._load(name, table)
            self._tables, self._types = tables, Types(tables)
            stack.callback(self._types.close)
            self._opened = stack.pop_all()

    def write(self, tree: exp.Expr, needed: Tables | None = None) -> Written:
        """Write a tree in Spark's dialect."""
        needed = needed or {}
        return Written(write(tree, "spark", {**self._tables, **needed}), tree, needed)

    def run(self, statement: Written) -> pl.DataFrame:
        """Run a statement over the tables loaded and those it needs besides."""
        sql, tree, needed = statement
        types = self._types.find(tree, needed)
        for name, table in needed.items():
            self._load(name, table)
        try:
            result = self._session.sql(sql).toArrow()
        except spark_errors() as error:
            raise refuse("Spark", say(error), tree) from error
        finally:
            for name in needed:
                self._session.catalog.dropTempView(name)
        frame = pl.from_arrow(result)
        assert isinstance(frame, pl.DataFrame)
        return conform(frame, types)

    def close(self) -> None:
        """Let go of everything."""
        self._opened.close()

    def _load(self, name: str, table: pl.DataFrame) -> None:
        quoted = exp.to_identifier(name, quoted=True).sql(dialect="spark")
        self._session.createDataFrame(table.to_arrow()).createOrReplaceTempView(quoted)
