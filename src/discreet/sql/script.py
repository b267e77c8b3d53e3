"""Scripts: a question with the tables that it needs, to be run as they are in any client."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.sql.dialects import TYPES, Tables, write, write_table

ROWS_AT_ONCE, MOST_WRITTEN = 1_000, 5_000_000
"""Rows that one statement carries, and rows of a table that are written at all."""


def write_script(tree: exp.Query, dialect: str, tables: Tables, needed: Tables) -> str:
    """Write a question in a dialect; the tables it needs stand in it, or are made before."""
    large = {name: table for name, table in needed.items() if table.height > ROWS_AT_ONCE}
    for name, table in large.items():
        if table.height > MOST_WRITTEN:
            raise QueryError(
                f"The statement would carry {table.height:,} {name}.",
                hint="Let discreet run it: leave out --show-sql, or give --engine.",
            )
    for name in (name for name in needed if name not in large):  # in the same order, every time
        tree = tree.with_(exp.to_identifier(name, quoted=True), as_=_write_out(needed[name]))
    if with_ := tree.args.get("with_"):  # what others build on comes first
        with_.expressions.sort(key=lambda clause: clause.alias not in needed)
    question = write(tree, dialect, {**tables, **needed}, pretty=True)
    if not large:
        return question
    made = [line for name, table in large.items() for line in make_table(name, table, dialect)]
    return ";\n".join([*made, question]) + ";"


def _write_out(table: pl.DataFrame) -> exp.Select:
    """Write a small table into the statement itself, so that it can be pasted anywhere."""
    rows = [tuple(exp.convert(cell) for cell in row) for row in table.rows()]
    return select("*").from_(exp.values(rows, alias="v", columns=table.columns))


def make_table(name: str, table: pl.DataFrame, dialect: str) -> Iterator[str]:
    """Write the statements that make a table and fill it; Spark has views, made of others."""
    quoted = exp.to_identifier(name, quoted=True).sql(dialect=dialect)
    rows = _write_rows(table, dialect)
    chunks = [",\n".join(rows[i : i + ROWS_AT_ONCE]) for i in range(0, len(rows), ROWS_AT_ONCE)]
    if dialect == "spark":
        yield from _make_view(name, table, chunks)
        return
    yield f"DROP TABLE IF EXISTS {'pg_temp' if dialect == 'postgres' else 'temp'}.{quoted}"
    yield write_table(name, table, dialect)
    for chunk in chunks:
        yield f"INSERT INTO {quoted} VALUES\n{chunk}"
    if dialect == "postgres":
        yield f"ANALYZE {quoted}"


def _make_view(name: str, table: pl.DataFrame, chunks: list[str]) -> Iterator[str]:
    def quote(text: str) -> str:
        return exp.to_identifier(text, quoted=True).sql(dialect="spark")

    columns = ", ".join(map(quote, table.columns))
    for i, chunk in enumerate(chunks):
        rows = f"SELECT * FROM VALUES\n{chunk} AS v({columns})"
        yield f"CREATE OR REPLACE TEMPORARY VIEW {quote(f'{name} {i}')} AS {rows}"
    parts = " UNION ALL ".join(f"SELECT * FROM {quote(f'{name} {i}')}" for i in range(len(chunks)))
    yield f"CREATE OR REPLACE TEMPORARY VIEW {quote(name)} AS {parts}"


def _write_rows(table: pl.DataFrame, dialect: str) -> list[str]:
    """Write rows as SQL does, many at once."""
    cells = [_write_cells(column, dialect) for column in table.iter_columns()]
    return pl.select(pl.format(f"({', '.join('{}' for _ in cells)})", *cells)).to_series().to_list()


def _write_cells(column: pl.Series, dialect: str) -> pl.Series:
    texts, kind = column.cast(pl.String), TYPES.get(column.dtype.base_type())
    if kind == "TEXT":
        if dialect == "spark":  # which reads a backslash as other languages do
            texts = texts.str.replace_all("\\", "\\\\", literal=True)
        quote = "\\'" if dialect == "spark" else "''"
        texts = "'" + texts.str.replace_all("'", quote, literal=True) + "'"
    elif kind in ("DATE", "TIMESTAMP"):
        texts = f"{kind} '" + texts + "'"
    return texts.fill_null("NULL")
