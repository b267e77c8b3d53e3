"""DuckDB, embedded: the default engine."""

from __future__ import annotations

import polars as pl
from sqlglot import exp

from discreet.errors import QueryError


def run(
    tree: exp.Expr, tables: dict[str, pl.DataFrame], needed: dict[str, pl.DataFrame]
) -> tuple[str, pl.DataFrame]:
    """Run a tree over a release's tables and those the question needs besides."""
    import duckdb

    sql = tree.sql(dialect="duckdb", identify=True)
    with duckdb.connect() as connection:
        for name, table in {**tables, **needed}.items():
            connection.register(name, table.to_arrow())
        try:
            result = connection.sql(sql).to_arrow_table()
        except duckdb.Error as error:
            raise QueryError(
                f"DuckDB refuses the question: {str(error).splitlines()[0]}",
                hint="Compare numbers with numbers and texts with quoted texts.",
            ) from error
    frame = pl.from_arrow(result)
    assert isinstance(frame, pl.DataFrame)
    return sql, plain_numbers(frame)


def plain_numbers(frame: pl.DataFrame) -> pl.DataFrame:
    """Give sums, which databases widen, as 64-bit numbers."""
    narrow = []
    for name, dtype in frame.schema.items():
        if dtype == pl.Int128 or isinstance(dtype, pl.Decimal):
            whole = dtype == pl.Int128 or dtype.scale == 0  # type: ignore[attr-defined]
            small = bool((frame[name].abs() < 2**62).all())
            narrow.append(pl.col(name).cast(pl.Int64 if whole and small else pl.Float64))
    return frame.with_columns(narrow)
