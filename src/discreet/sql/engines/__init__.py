"""Engines: load tables, run a tree, give back a frame. Nothing else."""

from __future__ import annotations

from typing import Protocol

import polars as pl
from sqlglot import exp

from discreet.cluster import is_cluster
from discreet.errors import QueryError
from discreet.sql.dialects import Tables, Written


class Session(Protocol):
    """A connection of its own, with a release's tables loaded."""

    def write(self, tree: exp.Expr, needed: Tables | None = None) -> Written:
        """Write a tree in the engine's dialect, over the tables loaded and others it needs."""

    def run(self, statement: Written) -> pl.DataFrame:
        """Run a statement. Columns have the types that DuckDB gives them."""

    def close(self) -> None:
        """Let go of everything."""


def connect(tables: Tables, engine: str | None, own: Tables | None = None) -> Session:
    """Load tables into the embedded DuckDB, or into the database or cluster at an address.

    With them go tables of the analyst's own, which may not be called as those of the release.
    """
    taken = {"release", *(name.casefold() for name in tables)}
    for name in own or {}:
        if name.casefold() in taken:
            raise QueryError(f"The release has a table {name!r} itself.", hint="Rename yours.")
        if not name.strip():
            raise QueryError("A table of your own has no name.", hint="Give it one.")
    tables = {**tables, **(own or {})}
    if engine is None:
        from discreet.sql.engines.duckdb import Embedded

        return Embedded(tables)
    if engine.startswith(("postgresql://", "postgres://")):
        from discreet.sql.engines.postgres import Server

        return Server(engine, tables)
    if is_cluster(engine):
        from discreet.sql.engines.spark import Cluster

        return Cluster(engine, tables)
    raise QueryError(
        f"There is no engine for {engine!r}.",
        hint="Give postgresql://user@host/database, spark://host:7077, sc://host or local[*].",
    )
