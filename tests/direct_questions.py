"""What tests ask forms directly, and the truth by plain DuckDB on the microdata."""

from __future__ import annotations

from fractions import Fraction
from itertools import count
from typing import Any

import duckdb
import polars as pl
import sqlglot
from sqlglot import exp

import discreet as dc
from discreet.forms import find_form
from discreet.sql.engines import connect
from discreet.sql.query import Aggregate, Query, Term

NUMBERS = count()


def write_term(text: str) -> Term:
    """A term as the planner would give it."""
    tree = sqlglot.parse_one(text, read="duckdb")
    return Term(tree.name if isinstance(tree, exp.Column) else f"#{next(NUMBERS)}", tree)


def aggregate(function: str, term: Term | None, alias: str, share: str | None = None) -> Aggregate:
    return Aggregate(function, term, alias, None if share is None else Fraction(share))


def write_query(
    aggregates: list[Aggregate], where: str | None = None, keys: tuple[str, ...] = ()
) -> Query:
    tree = None if where is None else sqlglot.parse_one(where, read="duckdb")
    return Query(tuple(aggregates), tree, tuple(write_term(key) for key in keys))


def ask(release: dc.Release, query: Query, engine: str | None = None) -> list[dict[str, Any]]:
    tree, needed = find_form(release.form).rewrite(query, release)
    session = connect(release.tables, engine)
    try:
        frame = session.run(session.write(tree, needed))
        names = [*query.group_by, *(name for a in query.aggregates for name in a.names)]
        return frame.rename(dict(zip(frame.columns, names, strict=True))).to_dicts()
    finally:
        session.close()


def find_truth(people: pl.DataFrame, query: Query) -> list[dict[str, Any]]:
    """Answer it from the people themselves."""
    parts = [f'{key.expression.sql("duckdb")} AS "{key.name}"' for key in query.keys]
    for asked in query.aggregates:
        x = "*" if asked.term is None else asked.term.expression.sql("duckdb")
        called = f"{asked.function}({x})"
        if asked.share is not None:
            called = f"QUANTILE_CONT(CAST({x} AS DOUBLE), {float(asked.share)})"
        parts.append(f'{called} AS "{asked.alias}"')
    text = f"SELECT {', '.join(parts)} FROM people"
    if query.where is not None:
        text += f" WHERE {query.where.sql('duckdb')}"
    if query.keys:
        text += f" GROUP BY {', '.join(str(i + 1) for i in range(len(query.keys)))}"
    with duckdb.cursor() as plain:
        plain.register("people", people.to_arrow())
        return pl.DataFrame(plain.sql(text).to_arrow_table()).to_dicts()


def check_inside(release: dc.Release, people: pl.DataFrame, query: Query) -> int:
    """Hold the truth against the bounds of every group that there is; give how many were held."""
    rows = {tuple(row[n] for n in query.group_by): row for row in ask(release, query)}
    held = 0
    for truth in find_truth(people, query):
        row = rows[tuple(truth[n] for n in query.group_by)]
        for asked in query.aggregates:
            value, low, high = (
                truth[asked.alias],
                row[f"{asked.alias}_low"],
                row[f"{asked.alias}_high"],
            )
            if value is None:
                continue
            slack = 1e-9 * max(1.0, abs(float(value)))
            assert low - slack <= float(value) <= high + slack, (asked, truth, row)
            estimate = row[asked.alias]
            assert estimate is None or low - 1e-6 <= estimate <= high + 1e-6 + slack
            held += 1
    return held
