"""Catalogs: databases that keep tables, views and functions for clients who know nothing of us.

Each takes all or nothing: a schema that holds something is refused, or, if it was filled from here,
emptied first. What does not come from here is never removed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import polars as pl
from sqlglot import exp

from discreet.cluster import is_cluster
from discreet.errors import QueryError
from discreet.release.about import ABOUT_COLUMNS

CONDITION, MEASURE = "#condition", "#measure"
"""What stands in a function's statements for what its callers give."""


class Function(NamedTuple):
    """A function of a condition, and of what to add up over who satisfies it; else they count."""

    counting: exp.Select
    adding: exp.Select


class Contents(NamedTuple):
    """What is put into a schema."""

    tables: dict[str, pl.DataFrame]
    views: dict[str, exp.Select]
    functions: dict[str, Function]

    @property
    def names(self) -> list[str]:
        """Give the names of everything."""
        return [*self.tables, *self.views, *self.functions]


class Catalog(Protocol):
    """A database that keeps what it is given."""

    keeps_functions: bool
    """Whether it has functions that run what they are given as text."""

    def check(self, schema: str, *, overwrite: bool) -> None:
        """Refuse, before any work, what cannot be reached, or a schema that is taken."""

    def put(self, schema: str, contents: Contents, *, overwrite: bool) -> None:
        """Fill a schema, whole or not at all."""


def find_catalog(into: str) -> Catalog:
    """Give the catalog at an address, or in a file."""
    if into.startswith(("postgresql://", "postgres://")):
        from discreet.sql.catalogs.postgres import ServerCatalog

        return ServerCatalog(into)
    if is_cluster(into):
        from discreet.sql.catalogs.spark import ClusterCatalog

        return ClusterCatalog(into)
    if not is_file(into):
        raise QueryError(
            f"Nothing can be put into {into!r}.",
            hint="Give a file such as release.duckdb, postgresql://user@host/database, "
            "spark://host:7077, sc://host or local[*].",
        )
    from discreet.sql.catalogs.duckdb import FileCatalog

    return FileCatalog(Path(into))


def is_file(into: str) -> bool:
    """Whether a file is meant, and no address."""
    return "://" not in into and not is_cluster(into)


def list_ours(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """Give the names that a table about a schema has; none if it is somebody else's."""
    return [row[1] for row in rows] if [*columns] == [*ABOUT_COLUMNS] else []


def refuse_taken(
    where: str, schema: str, there: Collection[str], ours: Collection[str], *, overwrite: bool
) -> None:
    """Refuse a schema that holds anything, unless all of it came from here and may go."""
    strange = sorted(set(there) - set(ours))
    if strange:
        raise QueryError(
            f"{where}: the schema {schema!r} holds {strange[0]!r}, which was not put there by "
            "discreet.",
            hint="Choose another --schema.",
        )
    if there and not overwrite:
        raise QueryError(
            f"{where}: the schema {schema!r} holds a release already.",
            hint="Choose another --schema, or add --overwrite.",
        )


def quote(name: str, dialect: str) -> str:
    """Write a name as it is."""
    return exp.to_identifier(name, quoted=True).sql(dialect=dialect)


def write_in(tree: exp.Select, schema: str, contents: Contents, dialect: str) -> str:
    """Write a statement over the tables of a schema."""

    def place(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Table) and node.name in contents.tables:
            node.set("db", exp.to_identifier(schema, quoted=True))
            if not node.alias:  # columns go by the name of the table alone
                node.set("alias", exp.TableAlias(this=exp.to_identifier(node.name, quoted=True)))
        return node

    return tree.copy().transform(place).sql(dialect=dialect, identify=True)


def write_call(tree: exp.Select, schema: str, contents: Contents, dialect: str) -> str:
    """Write an expression that gives a function's statement as text, with what it is given."""
    text = write_in(tree, schema, contents, dialect).replace("'", "''")
    for placeholder, parameter in ((CONDITION, "condition"), (MEASURE, "measure")):
        # on a line of its own: what is given may end with a comment
        text = text.replace(quote(placeholder, dialect), f"(' || {parameter} || '\n)")
    return f"'{text}'"
