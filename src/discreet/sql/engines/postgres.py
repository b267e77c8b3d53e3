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
from discreet.sql.dialects import Tables, Written, write, write_table
from discreet.sql.engines.duckdb import Types, plain_numbers
from discreet.sql.engines.refusals import refuse
from discreet.sql.trees import named_table

LONGEST_NAME = 63
SETTINGS = {
    # a table of the release before any other of its name, whatever the server holds
    "search_path": "pg_temp, pg_catalog",
    "standard_conforming_strings": "on",
    "extra_float_digits": "1",
}
"""What an answer depends on, whatever roles and databases are set to."""
KINDS: dict[int, pl.DataType] = {
    16: pl.Boolean(), 20: pl.Int64(), 21: pl.Int16(), 23: pl.Int32(), 700: pl.Float32(),
    701: pl.Float64(), 1082: pl.Date(), 1114: pl.Datetime(), 1700: pl.Float64(),
}  # fmt: skip
"""Types of columns by PostgreSQL's numbers; all others are texts."""


class Server:
    """A connection of its own, with a release's tables loaded.

    All of it is one transaction, which is never committed: poolers that give every transaction
    another connection do no harm, and nothing is left behind.
    """

    def __init__(self, url: str, tables: Tables) -> None:
        try:
            import psycopg
        except ImportError as error:
            raise QueryError(
                "PostgreSQL needs the package psycopg.", hint="Install discreet[postgres]."
            ) from error
        with _refusing():
            self._connection = psycopg.connect(url, client_encoding="utf8")
        self._tables, self._types = tables, Types(tables)
        try:
            with _refusing():
                for setting, value in SETTINGS.items():
                    self._connection.execute(f"SET {setting} TO {value}".encode())
                self._refuse_bytes()
                for name, table in tables.items():
                    self._load(name, table)
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

    def write(self, tree: exp.Expr, needed: Tables | None = None) -> Written:
        """Write a tree in PostgreSQL's dialect."""
        needed = needed or {}
        return Written(write(tree, "postgres", {**self._tables, **needed}), tree, needed)

    def run(self, statement: Written) -> pl.DataFrame:
        """Run a statement over the tables loaded and those it needs besides."""
        with _refusing(statement.tree), self._connection.transaction(force_rollback=True):
            types = self._find_types(statement)
            for name, table in statement.needed.items():
                self._load(name, table)
            rows = self._connection.execute(statement.sql.encode()).fetchall()
        # by position: PostgreSQL cuts long names, so that several columns may share one
        columns = zip(*rows, strict=True) if rows else ((),) * len(types)
        series = [
            _read(str(i), cells, kind)
            for i, (cells, kind) in enumerate(zip(columns, types, strict=True))
        ]
        return plain_numbers(pl.DataFrame(series))

    def close(self) -> None:
        """Let go of everything."""
        self._connection.close()
        self._types.close()

    def _find_types(self, statement: Written) -> list[pl.DataType]:
        """Find the types of the columns; the analyst's own tables may lie in the database."""
        tree, known = statement.tree, dict(statement.needed)
        if any(table.db for table in tree.find_all(exp.Table)):
            tree = tree.copy()
        for table in [table for table in tree.find_all(exp.Table) if table.db]:
            name = exp.table_(table.this, db=table.args["db"]).sql(dialect="postgres")
            cursor = self._connection.execute(f"SELECT * FROM {name} LIMIT 0".encode())
            known[name] = pl.DataFrame(
                schema={
                    column.name: KINDS.get(column.type_code, pl.String())
                    for column in cursor.description or []
                }
            )
            table.replace(named_table(name, table.alias_or_name))
        return self._types.find(tree, known)

    def _load(self, name: str, table: pl.DataFrame) -> None:
        long = [column for column in table.columns if len(column.encode()) > LONGEST_NAME]
        if long:
            raise QueryError(
                f"PostgreSQL cuts names after {LONGEST_NAME} bytes: {long[0]!r}.",
                hint="Ask the embedded engine: leave out --engine.",
            )
        quoted = exp.to_identifier(name, quoted=True).sql(dialect="postgres")
        with self._connection.cursor() as cursor:
            cursor.execute(write_table(name, table, "postgres").encode())
            into = f"COPY {quoted} FROM STDIN (FORMAT csv, HEADER)".encode()
            content = io.BytesIO()
            table.write_csv(content)
            content.seek(0)
            with cursor.copy(into) as copy:
                while chunk := content.read(1 << 16):
                    copy.write(chunk)
            # nobody else will: a plan for tables of unknown size may take minutes
            cursor.execute(f"ANALYZE {quoted}".encode())


@contextmanager
def _refusing(tree: exp.Expr | None = None) -> Iterator[None]:
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        if tree is not None and isinstance(error, psycopg.DataError | psycopg.ProgrammingError):
            raise refuse("PostgreSQL", str(error), tree) from error
        raise QueryError(
            f"PostgreSQL refuses: {str(error).splitlines()[0]}",
            hint="Check the address, and your rights: CONNECT and TEMPORARY are enough.",
        ) from error


def _read(name: str, cells: tuple[object, ...], kind: pl.DataType) -> pl.Series:
    """Give a column the type that DuckDB gives it."""
    if kind.is_float() or (isinstance(kind, pl.Decimal) and kind.scale):
        plain = [float(cell) if isinstance(cell, Decimal) else cell for cell in cells]
        return pl.Series(name, plain, dtype=pl.Float64, strict=False)  # whole ones as well
    whole = [int(cell) if isinstance(cell, Decimal) else cell for cell in cells]
    if whole != [*cells]:
        raise QueryError(
            "PostgreSQL has parts of numbers where DuckDB has whole ones.",
            hint="Ask the embedded engine: leave out --engine.",
        )
    return pl.Series(name, whole, dtype=kind)
