"""A file of DuckDB: a new one is put in place when it is whole, others change in a transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import QueryError
from discreet.files import drafting, place_file, refuse_unwritable, resolve, sweep, writing
from discreet.release.about import ABOUT
from discreet.sql.catalogs import (
    Contents,
    list_ours,
    quote,
    refuse_taken,
    write_call,
    write_in,
)

if TYPE_CHECKING:
    import duckdb

DIALECT = "duckdb"
READABLE_BY = "v1.2.0"
"""The oldest version whose clients can read a new file."""
LISTED = """
SELECT kind, name FROM (
  SELECT 'TABLE' AS kind, table_name AS name, schema_name, database_name FROM duckdb_tables()
  UNION ALL SELECT 'VIEW', view_name, schema_name, database_name FROM duckdb_views()
  UNION ALL SELECT DISTINCT 'MACRO TABLE', function_name, schema_name, database_name
    FROM duckdb_functions() WHERE function_type = 'table_macro')
WHERE schema_name = ? AND database_name = current_database() AND NOT starts_with(name, 'duckdb_')
  AND NOT starts_with(name, 'pragma_') AND name <> 'sqlite_master' ORDER BY kind DESC, name
"""


class FileCatalog:
    """A file, new or not."""

    keeps_functions = True

    def __init__(self, path: Path) -> None:
        self._path = path

    def check(self, schema: str, *, overwrite: bool) -> None:
        """Refuse, before any work, what cannot be written to, or a schema that is taken."""
        place = self._find_place(schema)
        sweep(place.parent)
        if not place.exists():
            refuse_unwritable(self._path)
            return
        with _open(place, self._path) as connection:
            self._list_there(connection, schema, overwrite=overwrite)

    def put(self, schema: str, contents: Contents, *, overwrite: bool) -> None:
        """Fill a schema, whole or not at all."""
        place = self._find_place(schema)
        if place.exists():
            with _open(place, self._path) as connection:
                self._fill(connection, schema, contents, overwrite=overwrite)
            return
        with writing(self._path), drafting(place, folder=True) as draft:
            with _open(draft / "new.duckdb", self._path) as connection:
                self._fill(connection, schema, contents, overwrite=overwrite)
            place_file(draft / "new.duckdb", place)

    def _find_place(self, schema: str) -> Path:
        place = resolve(self._path)
        if place.stem.casefold() == schema.casefold():
            raise QueryError(
                f"{self._path}: DuckDB calls the file as the schema is called, {schema!r}, and "
                "cannot tell them apart.",
                hint="Choose another name for the file, or another --schema.",
            )
        return place

    def _list_there(
        self, connection: duckdb.DuckDBPyConnection, schema: str, *, overwrite: bool
    ) -> list[tuple[str, str]]:
        """List what is in a schema and may be replaced; else refuse it."""
        there = connection.execute(LISTED, [schema]).fetchall()
        ours: list[str] = []
        if ("TABLE", ABOUT) in there:
            about = f"{quote(schema, DIALECT)}.{quote(ABOUT, DIALECT)}"
            said = connection.execute(f"SELECT * FROM {about}")
            columns = [column[0] for column in said.description or []]
            ours = list_ours(columns, said.fetchall())
        names = [name for _, name in there]
        refuse_taken(str(self._path), schema, names, ours, overwrite=overwrite)
        return there

    def _fill(
        self, connection: duckdb.DuckDBPyConnection, schema: str, contents: Contents, *,
        overwrite: bool,
    ) -> None:  # fmt: skip
        inside = quote(schema, DIALECT)
        connection.execute("BEGIN")
        there = self._list_there(connection, schema, overwrite=overwrite)
        for kind, name in there:
            connection.execute(f"DROP {kind} {inside}.{quote(name, DIALECT)}")
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {inside}")
        for name, table in contents.tables.items():
            connection.register("#given", table.to_arrow())
            made = f"{inside}.{quote(name, DIALECT)}"
            connection.execute(f'CREATE TABLE {made} AS SELECT * FROM "#given"')
            connection.unregister("#given")
        for name, tree in contents.views.items():
            text = write_in(tree, schema, contents, DIALECT)
            connection.execute(f"CREATE VIEW {inside}.{quote(name, DIALECT)} AS {text}")
        for name, function in contents.functions.items():
            count, total = (write_call(tree, schema, contents, DIALECT) for tree in function)
            connection.execute(
                f"CREATE MACRO {inside}.{quote(name, DIALECT)}(condition, measure := NULL) AS "
                f"TABLE SELECT * FROM query(CASE WHEN measure IS NULL THEN {count} "
                f"ELSE {total} END)"
            )
        connection.execute("COMMIT")
        # DuckDB does this when it closes a file, too, but then does not tell of a disk that is full
        connection.execute('CHECKPOINT "#catalog"')


@contextmanager
def _open(file: Path, path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a file; what was not committed when it is closed has never been."""
    import duckdb

    try:
        with duckdb.connect() as connection:
            version = "" if file.exists() else f" (STORAGE_VERSION '{READABLE_BY}')"
            name = str(file).replace("'", "''")
            connection.execute(f"ATTACH '{name}' AS \"#catalog\"{version}")
            connection.execute('USE "#catalog"')
            yield connection
    except duckdb.Error as error:
        raise QueryError(
            f"{path}: DuckDB refuses: {str(error).splitlines()[0]}",
            hint="Check that it is a file of DuckDB, that nobody else has it open, and that it is "
            "yours to write to.",
        ) from error
