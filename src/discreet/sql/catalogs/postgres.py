"""PostgreSQL: a schema is filled in one transaction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import polars as pl

from discreet.errors import QueryError
from discreet.release.about import ABOUT
from discreet.sql.catalogs import (
    Contents,
    list_ours,
    quote,
    refuse_taken,
    write_call,
    write_in,
)
from discreet.sql.engines.postgres import LONGEST_NAME, Server

DIALECT = "postgres"
LISTED = """
SELECT CASE c.relkind WHEN 'v' THEN 'VIEW' ELSE 'TABLE' END, c.relname, ''
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relkind NOT IN ('i', 'I', 't')
UNION ALL
SELECT 'FUNCTION', p.proname, pg_catalog.pg_get_function_identity_arguments(p.oid)
FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = %(schema)s
ORDER BY 1 DESC, 2
"""
FUNCTION = """
CREATE FUNCTION {made}(condition text, measure text DEFAULT NULL)
RETURNS TABLE (estimate double precision, low double precision, high double precision)
LANGUAGE plpgsql STABLE SECURITY INVOKER SET search_path = pg_catalog AS '{body}'
"""
BODY = """
BEGIN
  IF measure IS NULL THEN RETURN QUERY EXECUTE {count};
  ELSE RETURN QUERY EXECUTE {total}; END IF;
END
"""


class ServerCatalog:
    """A database at an address."""

    keeps_functions = True

    def __init__(self, url: str) -> None:
        self._url = url

    def check(self, schema: str, *, overwrite: bool) -> None:
        """Refuse, before any work, what cannot be reached, or a schema that is taken."""
        self._refuse_long([schema])
        with self._open({}) as server:
            server.list_there(schema, overwrite=overwrite)

    def put(self, schema: str, contents: Contents, *, overwrite: bool) -> None:
        """Fill a schema, whole or not at all."""
        self._refuse_long([schema, *contents.names])
        with self._open(contents.tables) as server:
            server.fill(schema, contents, overwrite=overwrite)

    def _refuse_long(self, names: Sequence[str]) -> None:
        for name in names:
            if len(name.encode()) > LONGEST_NAME:
                raise QueryError(
                    f"PostgreSQL cuts names after {LONGEST_NAME} bytes: {name!r}.",
                    hint="Put the release into a file of DuckDB.",
                )

    @contextmanager
    def _open(self, tables: dict[str, pl.DataFrame]) -> Iterator[_Filling]:
        with closing(_Filling(self._url, tables)) as server:
            import psycopg

            try:
                yield server
            except psycopg.Error as error:
                raise QueryError(
                    f"PostgreSQL refuses: {str(error).splitlines()[0]}",
                    hint="Check that you may create a schema there, or fill the one you name, and "
                    "that nothing else uses what is to be replaced.",
                ) from error


class _Filling(Server):
    """A session whose temporary tables are kept in the end."""

    def fill(self, schema: str, contents: Contents, *, overwrite: bool) -> None:
        inside = quote(schema, DIALECT)
        self._empty(schema, overwrite=overwrite)
        known = "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = %s"
        if self._connection.execute(known, [schema]).fetchone() is None:
            self._do(f"CREATE SCHEMA {inside}")  # who may fill one may not be allowed to make it
        for name in contents.tables:
            made = f"{inside}.{quote(name, DIALECT)}"
            self._do(f"CREATE TABLE {made} AS SELECT * FROM pg_temp.{quote(name, DIALECT)}")
            self._do(f"ANALYZE {made}")
        for name, tree in contents.views.items():
            text = write_in(tree, schema, contents, DIALECT)
            self._do(f"CREATE VIEW {inside}.{quote(name, DIALECT)} AS {text}")
        for name, function in contents.functions.items():
            count, total = (write_call(tree, schema, contents, DIALECT) for tree in function)
            body = BODY.format(count=count, total=total).replace("'", "''")
            self._do(FUNCTION.format(made=f"{inside}.{quote(name, DIALECT)}", body=body))
        self._connection.commit()

    def list_there(self, schema: str, *, overwrite: bool) -> list[tuple[str, str, str]]:
        """List what is in a schema and may be replaced; else refuse it."""
        there = self._connection.execute(LISTED, {"schema": schema}).fetchall()
        ours: list[str] = []
        if ("TABLE", ABOUT, "") in there:
            said = self._do(f"SELECT * FROM {quote(schema, DIALECT)}.{quote(ABOUT, DIALECT)}")
            ours = list_ours([column.name for column in said.description], said.fetchall())
        names = [name for _, name, _ in there]
        refuse_taken("PostgreSQL", schema, names, ours, overwrite=overwrite)
        return there

    def _empty(self, schema: str, *, overwrite: bool) -> None:
        inside = quote(schema, DIALECT)
        for kind, name, arguments in self.list_there(schema, overwrite=overwrite):
            given = f"({arguments})" if kind == "FUNCTION" else ""
            self._do(f"DROP {kind} {inside}.{quote(name, DIALECT)}{given}")

    def _do(self, text: str) -> Any:
        return self._connection.execute(text.encode())
