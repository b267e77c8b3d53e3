"""How a sliced release answers: in every bucket, the product of the columns' shares.

Within a bucket columns are shuffled independently. Of n people, h_i have values of column i that
the question takes. Somebody who is taken by one column is taken by the others with probability
p = Π h_i/n; how many are is at most the least h_i, and at least what must overlap. So the rows of
one column are gone through, each with that probability, and everything adds up over them.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl
from sqlglot import exp, parse_one, select

from discreet.errors import QueryError
from discreet.release import Release
from discreet.sql.exact import name_parts
from discreet.sql.parse import Aggregate, Query
from discreet.sql.trees import column, named_table
from discreet.verify.sliced import read_columns

TABLE, BUCKET, ROWS, SIZES, BASE = "sliced", "bucket", "#rows", "#sizes", "#base"


class Part(NamedTuple):
    """What a question asks of one column."""

    name: str
    conditions: list[exp.Expr]
    keys: list[str]
    """Attributes it groups by."""


def rewrite_sliced(query: Query, release: Release) -> tuple[exp.Select, dict[str, pl.DataFrame]]:
    """Rewrite a question into one over the rows of one column and the tallies of the others."""
    columns = read_columns(release)
    own = _choose_column(query, columns)
    parts = [_ask(query, i, attributes) for i, attributes in enumerate(columns)]
    others = [p for i, p in enumerate(parts) if i != own and (p.conditions or p.keys)]
    keys = [column(name) for name in query.group_by]
    tree = select(*(key.copy() for key in keys)).from_(named_table(BASE))
    for aggregate in query.aggregates:
        tree = tree.select(*name_parts(aggregate, _answer(aggregate, certain=not others)))
    if keys:
        tree = tree.group_by(*(key.copy() for key in keys))
        tree = tree.order_by(*(key.copy() for key in keys))
    clauses = {
        ROWS: _list_rows(parts[own], query),
        **{part.name: _tally(part) for part in others},
        SIZES: _tally(Part(SIZES, [], [])),
        BASE: _join(others),
    }
    for name, clause in clauses.items():
        tree = tree.with_(exp.to_identifier(name, quoted=True), as_=clause)
    return tree, {}


def _choose_column(query: Query, columns: tuple[tuple[str, ...], ...]) -> int:
    """Give the column whose attributes are aggregated; without any, the last."""
    asked = {i for a in query.aggregates for i, names in enumerate(columns) if a.column in names}
    for aggregate in query.aggregates:
        if aggregate.function in ("MIN", "MAX"):
            raise QueryError(
                f"{aggregate.function} cannot be told from a sliced release.",
                hint="Ask for COUNT, SUM or AVG.",
            )
    if len(asked) > 1:
        raise QueryError(
            "The aggregates are about attributes of different columns.",
            hint="Ask one question per column: " + "; ".join(map(", ".join, columns)) + ".",
        )
    return min(asked, default=len(columns) - 1)


def _ask(query: Query, place: int, attributes: tuple[str, ...]) -> Part:
    conditions = []
    for condition in query.conditions:
        names = {found.name for found in condition.find_all(exp.Column)}
        if names and names <= set(attributes):
            conditions.append(condition)
        elif names & set(attributes):
            raise QueryError(
                f"{condition.sql()!r} ties attributes of different columns.",
                hint="Join conditions on them by AND.",
            )
        elif not names and place == 0:  # a constant
            conditions.append(condition)
    keys = [name for name in query.group_by if name in attributes]
    return Part(f"#column {place}", conditions, keys)


def _expression(text: str) -> exp.Expr:
    return parse_one(text, read="duckdb")


def _take(part: Part, *made: str) -> exp.Select:
    """Select from the rows that a column takes: bucket, keys, and what is made of them."""
    found = select(column(BUCKET), *(column(key) for key in part.keys), *map(_expression, made))
    found = found.from_(exp.to_table(TABLE))
    for condition in part.conditions:
        found = found.where(condition.copy())
    return found


def _tally(part: Part) -> exp.Select:
    """Per bucket and group how many rows a column takes."""
    keys = [column(BUCKET), *(column(key) for key in part.keys)]
    return _take(part, f'COUNT(*) AS "{part.name}"').group_by(*keys)


def _list_rows(part: Part, query: Query) -> exp.Select:
    """The rows that one column takes, and of each bucket and group their number and order."""
    within = "PARTITION BY " + ", ".join(f'"{key}"' for key in (BUCKET, *part.keys))
    made = [
        f'ROW_NUMBER() OVER ({within} ORDER BY "{BUCKET}") AS "#k"',
        f'COUNT(*) OVER ({within}) AS "#h"',
    ]
    for name in dict.fromkeys(str(a.column) for a in query.aggregates if a.column is not None):
        made += [f'"{name}" AS "#x {name}"', f'COUNT("{name}") OVER ({within}) AS "#m {name}"']
    added = (str(a.column) for a in query.aggregates if a.function in ("SUM", "AVG"))
    for name in dict.fromkeys(added):
        value = f'CAST("{name}" AS DOUBLE)'
        for direction, order in (("up", "ASC"), ("down", "DESC")):
            ranked = f'CASE WHEN "{name}" IS NULL THEN 1 ELSE 0 END, "{name}" {order}'
            made.append(f'ROW_NUMBER() OVER ({within} ORDER BY {ranked}) AS "#{direction} {name}"')
        made += [
            f'SUM({value}) OVER ({within}) AS "#t {name}"',
            f'SUM({value} * {value}) OVER ({within}) AS "#q {name}"',
        ]
    return _take(part, *made)


def _join(others: list[Part]) -> exp.Select:
    """Add to every row its chance p, that of two rows both p2, and what must overlap at least.

    ``#o`` is what the other columns leave out, ``#l`` the least they take.
    """
    n = f'CAST("{SIZES}"."{SIZES}" AS DOUBLE)'
    takes = [f'"{part.name}"."{part.name}"' for part in others]
    chance = " * ".join(f"({take} / {n})" for take in takes) or "1"
    both = " * ".join(f"({take} * ({take} - 1) / NULLIF({n} * ({n} - 1), 0))" for take in takes)
    left = " + ".join(f'("{SIZES}"."{SIZES}" - {take})' for take in takes) or "0"
    least = f"LEAST({', '.join(takes)})" if len(takes) > 1 else takes[0] if takes else n
    made = [f'{chance} AS "#p"', f'COALESCE({both or "1"}, 0) AS "#p2"',
            f'{left} AS "#o"', f'{least} AS "#l"']  # fmt: skip
    rows = exp.Column(this=exp.Star(), table=exp.to_identifier(ROWS, quoted=True))
    keys = [column(key, part.name) for part in others for key in part.keys]
    found = select(rows, *keys, *map(_expression, made)).from_(named_table(ROWS))
    for name in (SIZES, *(part.name for part in others)):
        found = found.join(named_table(name), on=column(BUCKET, ROWS).eq(column(BUCKET, name)))
    return found


def _answer(aggregate: Aggregate, *, certain: bool) -> list[exp.Expr]:
    """Give estimate, bounds and standard error of one aggregate."""
    name = aggregate.column
    takers = '"#h"' if name is None else f'"#m {name}"'
    there = "1" if name is None else f'CASE WHEN "#x {name}" IS NULL THEN 0 ELSE 1 END'
    fewest, most = f'GREATEST({takers} - "#o", 0)', f'LEAST({takers}, "#l")'
    people = f'SUM({there} * "#p")'
    if aggregate.function == "COUNT":
        once = 'CASE WHEN "#k" = 1 THEN {} ELSE 0 END'
        alone = f'"#p" * {takers}'
        spread = f'{alone} + "#p2" * {takers} * ({takers} - 1) - {alone} * {alone}'
        texts = [
            people,
            f"SUM({once.format(fewest)})",
            f"SUM({once.format(most)})",
            f"SQRT(GREATEST(SUM({once.format(spread)}), 0))",
        ]
        return [_expression(f"COALESCE({text}, 0)") for text in texts]
    x, total, square = f'CAST("#x {name}" AS DOUBLE)', f'"#t {name}"', f'"#q {name}"'
    mean = f'SUM({x} * "#p")'
    if aggregate.function == "SUM":
        # the fewest must be taken, and more only where that goes further
        low, high = (
            f'SUM(CASE WHEN {x} IS NULL THEN NULL WHEN "#{way} {name}" <= {fewest} '
            f'OR ("#{way} {name}" <= {most} AND {x} {sign} 0) THEN {x} ELSE 0 END)'
            for way, sign in (("up", "<"), ("down", ">"))
        )
        spread = (
            f'"#p" * {square} + "#p2" * ({total} * {total} - {square}) '
            f'- "#p" * "#p" * {total} * {total}'
        )
        error = f'SQRT(GREATEST(SUM(CASE WHEN "#k" = 1 THEN {spread} ELSE 0 END), 0))'
        return [_expression(text) for text in (mean, low, high, error)]
    average = f"{mean} / NULLIF({people}, 0)"
    if certain:
        return [_expression(text) for text in (average, average, average, f"0 * {average}")]
    ends = [f"{kind}(CASE WHEN {most} > 0 THEN {x} END)" for kind in ("MIN", "MAX")]
    return [_expression(text) for text in (average, *ends, "NULL")]
