"""PostgreSQL: the release's tables are loaded once, into a schema named after their content."""

from __future__ import annotations

import hashlib
import io

import polars as pl
from sqlglot import exp

from discreet.errors import QueryError

TYPES = {pl.Boolean: "BOOLEAN", pl.Date: "DATE", pl.Int32: "INTEGER", pl.Int64: "BIGINT"}


def run_at(url: str, tree: exp.Expr, tables: dict[str, pl.DataFrame]) -> tuple[str, pl.DataFrame]:
    """Load the tables unless they are there already, and run the tree."""
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
            cursor.execute(f'SET LOCAL search_path TO "{schema}"'.encode())
            cursor.execute(sql.encode())
            names = [column.name for column in cursor.description or []]
            rows = cursor.fetchall()
    except psycopg.Error as error:
        raise QueryError(
            f"PostgreSQL refuses: {str(error).splitlines()[0]}",
            hint="Check the address, your rights, and that numbers are compared with numbers.",
        ) from error
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return sql, pl.DataFrame(
        {
            name: [_plain(cell) for cell in column]
            for name, column in zip(names, columns, strict=True)
        }
    )


def _plain(cell: object) -> object:
    from decimal import Decimal

    if isinstance(cell, Decimal):
        return int(cell) if cell == cell.to_integral_value() else float(cell)
    return cell


def _load(cursor: object, tables: dict[str, pl.DataFrame]) -> str:
    """Create the schema and copy the tables into it, in the caller's transaction."""
    from typing import Any

    at: Any = cursor
    digest = hashlib.sha256()
    contents = {name: table.write_csv().encode() for name, table in tables.items()}
    for name, content in sorted(contents.items()):
        digest.update(name.encode() + b"\0" + content)
    schema = f"discreet_{digest.hexdigest()[:16]}"
    at.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", (schema,))
    at.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (schema,))
    if at.fetchone():
        return schema
    at.execute(f'CREATE SCHEMA "{schema}"'.encode())
    for name, table in tables.items():
        columns = ", ".join(
            f'"{column}" {TYPES.get(dtype.base_type(), _other(dtype))}'
            for column, dtype in table.schema.items()
        )
        at.execute(f'CREATE TABLE "{schema}"."{name}" ({columns})'.encode())
        with at.copy(f'COPY "{schema}"."{name}" FROM STDIN (FORMAT csv, HEADER)'.encode()) as copy:
            stream = io.BytesIO(contents[name])
            while chunk := stream.read(1 << 16):
                copy.write(chunk)
    return schema


def _other(dtype: pl.DataType) -> str:
    return "DOUBLE PRECISION" if dtype.is_float() else "TEXT"
