"""PostgreSQL: the release's tables are temporary, seen by one session and gone with it.

Nothing that lies in the database is trusted, and nothing stays there.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

import polars as pl
from sqlglot import exp

from discreet.errors import QueryError

LONGEST_NAME = 63
TYPES = {pl.Boolean: "BOOLEAN", pl.Date: "DATE", pl.Int32: "INTEGER", pl.Int64: "BIGINT"}


SETTINGS = {
    # a table of the release before any other of its name, whatever the server holds
    "search_path": "pg_temp, pg_catalog",
    "standard_conforming_strings": "on",
    "extra_float_digits": "1",
}
"""What an answer depends on, whatever roles and databases are set to."""


class Server:
    """A connection of its own, with a release's tables loaded.

    All of it is one transaction, which is never committed: poolers that give every transaction
    another connection do no harm, and nothing is left behind.
    """

    def __init__(self, url: str, tables: dict[str, pl.DataFrame]) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise QueryError(
                "PostgreSQL needs the package psycopg.", hint="Install discreet[postgres]."
            ) from error
        with _refusing():
            self._connection = psycopg.connect(url, client_encoding="utf8")
        try:
            with _refusing():
                for setting, value in SETTINGS.items():
                    self._connection.execute(f"SET {setting} TO {value}".encode())
                self._refuse_bytes()
                for name, table in tables.items():
                    self._load(name, table)
                    self._connection.execute(f'ANALYZE "{name}"'.encode())
        except BaseException:
            self.close()
            raise

    def _refuse_bytes(self) -> None:
        """Refuse a database in which texts are bytes: it would count and compare them wrongly."""
        row = self._connection.execute("SHOW server_encoding").fetchone()
        if row is not None and row[0] == "SQL_ASCII":
            raise QueryError(
                "The database has no encoding (SQL_ASCII), so texts mean something else there.",
                hint="Use one whose encoding is UTF8, or leave out --engine.",
            )

    def write(self, tree: exp.Expr) -> str:
        """Write a tree in PostgreSQL's dialect."""
        return tree.sql(dialect="postgres", identify=True)

    def run(self, sql: str, needed: dict[str, pl.DataFrame] | None = None) -> pl.DataFrame:
        """Run a statement over the tables loaded and those the question needs besides."""
        with _refusing(), self._connection.transaction(force_rollback=True):
            for name, table in (needed or {}).items():
                self._load(name, table)
            cursor = self._connection.execute(sql.encode())
            width = len(cursor.description or [])
            rows = cursor.fetchall()
        # by position: PostgreSQL cuts long names, so that several columns may share one
        columns = list(zip(*rows, strict=True)) if rows else [()] * width
        series = [pl.Series(str(i), [_plain(c) for c in cells]) for i, cells in enumerate(columns)]
        return pl.DataFrame(series)

    def close(self) -> None:
        """Let go of everything."""
        self._connection.close()

    def _load(self, name: str, table: pl.DataFrame) -> None:
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
        with self._connection.cursor() as cursor:
            cursor.execute(f'CREATE TEMPORARY TABLE "{name}" ({columns})'.encode())
            into = f'COPY "{name}" FROM STDIN (FORMAT csv, HEADER)'.encode()
            content = io.BytesIO()
            table.write_csv(content)
            content.seek(0)
            with cursor.copy(into) as copy:
                while chunk := content.read(1 << 16):
                    copy.write(chunk)


@contextmanager
def _refusing() -> Iterator[None]:
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        raise QueryError(
            f"PostgreSQL refuses: {str(error).splitlines()[0]}",
            hint="Check the address, your rights (CONNECT and TEMPORARY are enough), and that "
            "numbers are compared with numbers.",
        ) from error


def _plain(cell: object) -> object:
    if isinstance(cell, Decimal):
        return int(cell) if cell == cell.to_integral_value() else float(cell)
    return cell


def _other(dtype: pl.DataType) -> str:
    return "DOUBLE PRECISION" if dtype.is_float() else "TEXT"
