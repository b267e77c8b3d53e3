"""Engines: load tables, run a tree, give back a frame. Nothing else."""

from __future__ import annotations

from typing import Protocol

import polars as pl
from sqlglot import exp

from discreet.cluster import is_cluster
from discreet.errors import QueryError


class Session(Protocol):
    """A connection of its own, with a release's tables loaded."""

    def write(self, tree: exp.Expr) -> str:
        """Write a tree in the engine's dialect."""

    def run(self, sql: str, needed: dict[str, pl.DataFrame] | None = None) -> pl.DataFrame:
        """Run a statement over the tables loaded and those the question needs besides."""

    def close(self) -> None:
        """Let go of everything."""


def connect(tables: dict[str, pl.DataFrame], engine: str | None) -> Session:
    """Load tables into the embedded DuckDB, or into the database or cluster at an address."""
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
