"""DuckDB, embedded: the default engine, and the measure of the others."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl
from sqlglot import exp

from discreet.errors import QueryError
from discreet.sql.dialects import Tables, Written, write
from discreet.sql.engines.refusals import refuse

if TYPE_CHECKING:
    import duckdb

warnings.filterwarnings("ignore", "Arrow output on a DB-API result", UserWarning, __name__)


def open_connection() -> duckdb.DuckDBPyConnection:
    """Open a connection to the database of this process, with views of its own.

    To open a database takes longer than to answer most questions.
    """
    return _open_database(os.getpid()).cursor()


@cache
def _open_database(process: int) -> duckdb.DuckDBPyConnection:  # noqa: ARG001
    """One per process, and always empty: who was forked has none of the threads of the other."""
    import duckdb

    database = duckdb.connect()
    # DuckDB 2.0 plans some nested sums for hours with it, and 0.2 s without
    database.execute("SET disabled_optimizers = 'partial_aggregate_pushdown'")
    return database


class Embedded:
    """A connection of its own, with a release's tables loaded."""

    def __init__(self, tables: Tables) -> None:
        self._connection = open_connection()
        self._connection.execute("SET enable_progress_bar = false")  # it would go into files too
        for name, table in tables.items():
            self.load(name, table)

    def load(self, name: str, table: pl.DataFrame) -> None:
        """Make a table known."""
        self._connection.register(name, table.to_arrow())

    def write(self, tree: exp.Expr, needed: Tables | None = None) -> Written:
        """Write a tree in DuckDB's dialect."""
        return Written(write(tree, "duckdb", {}), tree, needed or {})

    def run(self, statement: Written) -> pl.DataFrame:
        """Run a statement over the tables loaded and those it needs besides."""
        return plain_numbers(self._fetch(statement))

    def _fetch(self, statement: Written) -> pl.DataFrame:
        import duckdb

        for name, table in statement.needed.items():
            self.load(name, table)
        try:
            # not .sql(), which plans a statement twice, and long ones take long to plan
            result = self._connection.execute(statement.sql).to_arrow_table()
        except duckdb.Error as error:
            if isinstance(error, duckdb.InternalException | duckdb.FatalException):
                _open_database.cache_clear()  # it answers nobody any more
            raise refuse("DuckDB", str(error), statement.tree) from error
        finally:
            for name in statement.needed:
                self._connection.unregister(name)
        _refuse_intervals(result)
        frame = pl.from_arrow(result)
        assert isinstance(frame, pl.DataFrame)
        return frame

    def interrupt(self) -> None:
        """Break off the statement that runs."""
        self._connection.interrupt()

    def close(self) -> None:
        """Let go of everything."""
        self._connection.close()


class Types(Embedded):
    """DuckDB without a row, to know the types that it gives the columns of an answer."""

    def __init__(self, tables: Tables) -> None:
        super().__init__({name: table.head(0) for name, table in tables.items()})

    def find(self, tree: exp.Expr, needed: Tables) -> list[pl.DataType]:
        """Give the type of each column."""
        empty = {name: table.head(0) for name, table in needed.items()}
        return self._fetch(self.write(tree, empty)).dtypes


def _refuse_intervals(result: Any) -> None:
    import pyarrow as pa

    for column in result.schema:
        if pa.types.is_interval(column.type) or pa.types.is_duration(column.type):
            raise QueryError(
                f"{column.name!r} is a time span, which no answer shows.",
                hint="Count days: DATE_DIFF('day', a, b).",
            )


def conform(frame: pl.DataFrame, types: Sequence[pl.DataType]) -> pl.DataFrame:
    """Give columns the types that DuckDB gives them."""
    cast = [
        pl.col(name).cast(pl.Float64 if isinstance(kind, pl.Decimal) and kind.scale else kind)
        for name, kind in zip(frame.columns, types, strict=True)
    ]
    return plain_numbers(frame.with_columns(cast))


def plain_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Give sums, which databases widen, as 64-bit numbers."""
    narrow = []
    for name, dtype in frame.schema.items():
        if dtype == pl.Int128 or isinstance(dtype, pl.Decimal):
            whole = dtype == pl.Int128 or dtype.scale == 0  # type: ignore[attr-defined]
            small = bool((frame[name].abs() < 2**62).all())
            narrow.append(pl.col(name).cast(pl.Int64 if whole and small else pl.Float64))
    return frame.with_columns(narrow)
