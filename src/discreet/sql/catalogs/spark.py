"""Spark: tables and views of a database of its catalog; it has no functions of a text.

There are no transactions either: a database is filled only where there is none of its name, and
removed again if that fails.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from discreet.cluster import open_session
from discreet.cluster.reaching import say, spark_errors
from discreet.errors import QueryError
from discreet.sql.catalogs import Contents, quote, refuse_taken, write_in
from discreet.sql.engines.spark import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DIALECT = "spark"
KEPT = {
    # else the catalog is forgotten with the session
    "spark.sql.catalogImplementation": "hive",
    "spark.driver.extraJavaOptions": "-Dderby.stream.error.file=/dev/null",
}


class ClusterCatalog:
    """The catalog of a cluster."""

    keeps_functions = False

    def __init__(self, address: str) -> None:
        self._address = address

    def check(self, schema: str, *, overwrite: bool) -> None:
        """Refuse, before any work, a cluster that cannot be reached, or a schema that is taken."""
        with open_session(self._address, **SETTINGS, **KEPT) as session:
            self._refuse_taken(session, schema, overwrite=overwrite)

    def _refuse_taken(self, session: SparkSession, schema: str, *, overwrite: bool) -> None:
        if overwrite:
            raise QueryError(
                "Spark has no transactions: what is there cannot be replaced at once.",
                hint=f"Leave out --overwrite, after DROP DATABASE {quote(schema, DIALECT)} CASCADE "
                "there.",
            )
        if session.catalog.databaseExists(schema):
            refuse_taken("Spark", schema, ["a database"], ["a database"], overwrite=False)

    def put(self, schema: str, contents: Contents, *, overwrite: bool) -> None:
        """Fill a database, whole or not at all."""
        inside = quote(schema, DIALECT)
        with open_session(self._address, **SETTINGS, **KEPT) as session:
            self._refuse_taken(session, schema, overwrite=overwrite)
            try:
                session.sql(f"CREATE DATABASE {inside}")
                for name, table in contents.tables.items():
                    frame = session.createDataFrame(table.to_arrow())
                    frame.write.saveAsTable(f"{inside}.{quote(name, DIALECT)}")
                for name, tree in contents.views.items():
                    text = write_in(tree, schema, contents, DIALECT)
                    session.sql(f"CREATE VIEW {inside}.{quote(name, DIALECT)} AS {text}")
            except BaseException as error:
                with suppress(*spark_errors()):
                    session.sql(f"DROP DATABASE IF EXISTS {inside} CASCADE")
                if not isinstance(error, spark_errors()):
                    raise
                raise QueryError(
                    f"Spark refuses: {say(error)}",
                    hint="Check that its catalog can be written to; nothing was left there.",
                ) from error
