"""Databases: a table, or the rows of a query, read from PostgreSQL or from a file of DuckDB.

Nothing is written there. Cells of PostgreSQL come as texts, which the schema then reads exactly.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import polars as pl

from discreet.errors import MicrodataError, explaining

if TYPE_CHECKING:
    import pyarrow as pa

SERVERS = ("postgresql://", "postgres://")
FILES = (".duckdb", ".ddb")


@dataclass(frozen=True)
class DatabaseTable:
    """A table of a database, or the rows of a query."""

    database: str
    """postgresql://… or the path of a file of DuckDB."""
    table: str | None = None
    query: str | None = None

    def __post_init__(self) -> None:
        if (self.table is None) == (self.query is None):
            raise MicrodataError(
                f"{self.shown}: is it a table or a query that is read?",
                hint='Give one of them: table = "people", or query = "SELECT …" in a plan; --table '
                "or --query on the command line.",
            )
        if not is_database(self.database):
            raise MicrodataError(
                f"{self.shown}: is no database that discreet reads.",
                hint=f"Give postgresql://user@host/database, or a file {' or '.join(FILES)}.",
            )

    @property
    def name(self) -> str:
        """What to call it."""
        return self.table or "the query"

    @property
    def shown(self) -> str:
        """Its address without a password."""
        return hide_password(self.database)

    @property
    def _statement(self) -> str:
        if self.query is not None:
            return self.query.strip().rstrip(";")
        parts = [part.replace('"', '""') for part in str(self.table).split(".")]
        return "SELECT * FROM " + ".".join(f'"{part}"' for part in parts)

    def read(self) -> pl.DataFrame:
        """Read all rows."""
        if self.database.startswith(SERVERS):
            return self._read_server()
        return self._read_file()

    def list_columns(self) -> list[str]:
        """Give the names of the columns."""
        none = f"SELECT * FROM ({self._statement}) AS listed LIMIT 0"
        return replace(self, table=None, query=none).read().columns

    def _read_file(self) -> pl.DataFrame:
        import duckdb

        if not Path(self.database).is_file():
            raise MicrodataError(
                f"{self.database}: no such file.",
                hint="Check the path; a path in a plan starts where the plan lies.",
            )
        with (
            explaining(lambda error: self._refuse(str(error))),  # polars panics over some types
            duckdb.connect(self.database, read_only=True) as connection,
        ):
            connection.execute("SET enable_external_access = false")
            frame = pl.from_arrow(connection.sql(self._statement).to_arrow_table())
        assert isinstance(frame, pl.DataFrame)
        return frame

    def _read_server(self) -> pl.DataFrame:
        try:
            import psycopg
        except ImportError as error:
            raise MicrodataError(
                "PostgreSQL needs the package psycopg.", hint="Install discreet[postgres]."
            ) from error
        written = io.BytesIO()
        try:
            with psycopg.connect(self.database, client_encoding="utf8") as connection:
                connection.read_only = True
                connection.execute("SET DateStyle TO 'ISO, YMD'")
                connection.execute("SET extra_float_digits TO 1")
                text = f"COPY ({self._statement}) TO STDOUT (FORMAT csv, HEADER true)"
                with connection.cursor() as cursor, cursor.copy(text.encode()) as copy:
                    for block in copy:
                        written.write(block)
        except psycopg.Error as error:
            raise self._refuse(str(error)) from error
        written.seek(0)
        frame = pl.from_arrow(_read_copied(written))
        assert isinstance(frame, pl.DataFrame)
        return frame

    def _refuse(self, said: str) -> MicrodataError:
        reason = hide_password(said.strip().splitlines()[0] if said.strip() else "no reason given")
        return MicrodataError(
            f"{self.shown}: {self.name} cannot be read ({reason}).",
            hint="Check the address, the name, and whether you may read it.",
        )


def _read_copied(written: io.BytesIO) -> pa.Table:
    """Read what PostgreSQL copied: cells are texts, and what is not quoted and empty is missing."""
    import pyarrow as pa
    import pyarrow.csv as pa_csv

    return pa_csv.read_csv(
        written,
        parse_options=pa_csv.ParseOptions(newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            default_column_type=pa.string(), strings_can_be_null=True, null_values=[""],
            quoted_strings_can_be_null=False,
        ),
    )  # fmt: skip


def is_database(address: str) -> bool:
    """Whether an address is that of a database."""
    return address.startswith(SERVERS) or Path(address).suffix.lower() in FILES


def hide_password(text: str) -> str:
    """Write an address, wherever it stands, without its password.

    >>> hide_password("postgresql://me:secret@host/db")
    'postgresql://me@host/db'
    """
    return re.sub(r"(postgres(?:ql)?://[^:/@\s]*):[^@\s]*@", r"\1@", text)


def has_password(address: str) -> bool:
    """Whether an address of a server holds a password."""
    return address.startswith(SERVERS) and urlsplit(address).password is not None
