"""PostgreSQL: the release's tables are loaded once, into a schema named after their content."""

from __future__ import annotations

import hashlib
import io
from decimal import Decimal
from typing import Any

import polars as pl
from sqlglot import exp

from discreet.errors import QueryError

LONGEST_NAME = 63
TYPES = {pl.Boolean: "BOOLEAN", pl.Date: "DATE", pl.Int32: "INTEGER", pl.Int64: "BIGINT"}


def run_at(
    url: str,
    tree: exp.Expr,
    tables: dict[str, pl.DataFrame],
    needed: dict[str, pl.DataFrame],
) -> tuple[str, pl.DataFrame]:
    """Load the tables unless they are there already, and run the tree.

    Tables that only this question needs are temporary.
    """
    try:
        import psycopg
    except ImportError as error:
        raise QueryError(
            "PostgreSQL needs the package psycopg.", hint="Install discreet[postgres]."
        ) from error
    sql = tree.sql(dialect="postgres", identify=True)
    try:
        with psycopg.connect(url) as connection, connection.cursor() as cursor:
            schema = _load(cursor, tables)
            for name, table in needed.items():
                _copy(cursor, "TEMPORARY TABLE", f'"{name}"', table, table.write_csv().encode())
            cursor.execute(f'SET LOCAL search_path TO "{schema}"'.encode())
            cursor.execute(sql.encode())
            width = len(cursor.description or [])
            rows = cursor.fetchall()
    except psycopg.Error as error:
        raise QueryError(
            f"PostgreSQL refuses: {str(error).splitlines()[0]}",
            hint="Check the address, your rights, and that numbers are compared with numbers.",
        ) from error
    # by position: PostgreSQL cuts long names, so that several columns may share one
    columns = list(zip(*rows, strict=True)) if rows else [()] * width
    series = [pl.Series(str(i), [_plain(c) for c in cells]) for i, cells in enumerate(columns)]
    return sql, pl.DataFrame(series)


def _plain(cell: object) -> object:
    if isinstance(cell, Decimal):
        return int(cell) if cell == cell.to_integral_value() else float(cell)
    return cell


def _load(cursor: Any, tables: dict[str, pl.DataFrame]) -> str:
    """Create the schema and copy the tables into it, in the caller's transaction."""
    digest = hashlib.sha256()
    contents = {name: table.write_csv().encode() for name, table in tables.items()}
    for name, content in sorted(contents.items()):
        digest.update(f"{name}\0{tables[name].schema}\0".encode() + content)
    schema = f"discreet_{digest.hexdigest()[:16]}"
    cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (schema,))
    cursor.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,))
    if not cursor.fetchone():
        cursor.execute(f'CREATE SCHEMA "{schema}"'.encode())
        for name, table in tables.items():
            _copy(cursor, "TABLE", f'"{schema}"."{name}"', table, contents[name])
    return schema


def _copy(cursor: Any, kind: str, name: str, table: pl.DataFrame, content: bytes) -> None:
    long = [column for column in table.columns if len(column.encode()) > LONGEST_NAME]
    if long:
        raise QueryError(
            f"PostgreSQL cuts names after {LONGEST_NAME} bytes: {long[0]!r}.",
            hint="Ask the embedded engine: leave out --engine.",
        )
    columns = ", ".join(
        f'"{column}" {TYPES.get(dtype.base_type(), _other(dtype))}'
        for column, dtype in table.schema.items()
    )
    cursor.execute(f"CREATE {kind} {name} ({columns})".encode())
    with cursor.copy(f"COPY {name} FROM STDIN (FORMAT csv, HEADER)".encode()) as copy:
        stream = io.BytesIO(content)
        while chunk := stream.read(1 << 16):
            copy.write(chunk)


def _other(dtype: pl.DataType) -> str:
    return "DOUBLE PRECISION" if dtype.is_float() else "TEXT"
