"""DuckDB, embedded: the default engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from sqlglot import exp

from discreet.errors import QueryError

if TYPE_CHECKING:
    import duckdb


class Embedded:
    """A connection of its own, with a release's tables loaded."""

    def __init__(self, tables: dict[str, pl.DataFrame]) -> None:
        import duckdb

        self._connection: duckdb.DuckDBPyConnection = duckdb.connect()
        self._connection.execute("SET enable_progress_bar = false")  # it would go into files too
        for name, table in tables.items():
            self.load(name, table)

    def load(self, name: str, table: pl.DataFrame) -> None:
        """Make a table known."""
        self._connection.register(name, table.to_arrow())

    def write(self, tree: exp.Expr) -> str:
        """Write a tree in DuckDB's dialect."""
        return tree.sql(dialect="duckdb", identify=True)

    def run(self, sql: str, needed: dict[str, pl.DataFrame] | None = None) -> pl.DataFrame:
        """Run a statement over the tables loaded and those the question needs besides."""
        import duckdb

        for name, table in (needed or {}).items():
            self.load(name, table)
        try:
            result = self._connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            raise QueryError(
                f"DuckDB refuses the question: {str(error).splitlines()[0]}",
                hint="Compare numbers with numbers and texts with quoted texts.",
            ) from error
        finally:
            for name in needed or {}:
                self._connection.unregister(name)
        frame = pl.from_arrow(result)
        assert isinstance(frame, pl.DataFrame)
        return plain_numbers(frame)

    def interrupt(self) -> None:
        """Break off the statement that runs."""
        self._connection.interrupt()

    def close(self) -> None:
        """Let go of everything."""
        self._connection.close()


def plain_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Give sums, which databases widen, as 64-bit numbers."""
    narrow = []
    for name, dtype in frame.schema.items():
        if dtype == pl.Int128 or isinstance(dtype, pl.Decimal):
            whole = dtype == pl.Int128 or dtype.scale == 0  # type: ignore[attr-defined]
            small = bool((frame[name].abs() < 2**62).all())
            narrow.append(pl.col(name).cast(pl.Int64 if whole and small else pl.Float64))
    return frame.with_columns(narrow)
