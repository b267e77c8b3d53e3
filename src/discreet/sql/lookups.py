"""Lookups: expressions of one attribute, evaluated here for every value, and joined by engines."""

from __future__ import annotations

import polars as pl
from sqlglot import exp

from discreet.sql.dialects import Tables
from discreet.sql.reading import is_looked_up
from discreet.sql.selection import evaluate_term
from discreet.sql.trees import case, column, named_table

VALUE, RESULT = "#value", "#result"


def resolve_lookups(tree: exp.Select, tables: Tables, needed: Tables) -> tuple[exp.Select, Tables]:
    """Replace what has to be looked up by columns of small tables, which are needed besides.

    A value stands once in such a table, so that nobody is joined twice. A missing value does not,
    as no engine joins it: what comes out for it is written into the statement.
    """
    made = dict(needed)
    found: dict[tuple[int, str], exp.Expr] = {}
    for node in list(filter(is_looked_up, tree.find_all(exp.Coalesce))):
        select, place = node.find_ancestor(exp.Select), node.find(exp.Column)
        assert isinstance(select, exp.Select) and place is not None
        asked = (id(select), node.sql())
        if asked not in found:
            title = f"lookup {len(made)}"
            values = _list_values(select, place, {**tables, **needed})
            results = evaluate_term(node, values.append(pl.Series([None], dtype=values.dtype)))
            made[title] = pl.DataFrame({VALUE: values, RESULT: results.head(len(values))})
            on = column(VALUE, title).eq(place.copy())
            select.join(named_table(title), on=on, join_type="LEFT", copy=False)
            result: exp.Expr = column(RESULT, title)
            if results[-1] is not None:
                result = case(place.copy().is_(exp.null()), exp.convert(results[-1]), result)
            found[asked] = result
        node.replace(exp.paren(found[asked].copy()))
    return tree, made


def _list_values(select: exp.Select, place: exp.Column, frames: Tables) -> pl.Series:
    """List the values that a column may have where a statement reads it, each once."""
    sources = [select.args["from_"].this, *(join.this for join in select.args.get("joins") or [])]
    read = [s.name for s in sources
            if isinstance(s, exp.Table) and place.table in ("", s.alias_or_name)]  # fmt: skip
    there = [frames[name] for name in read if name in frames and place.name in frames[name].columns]
    held = there or [frame for frame in frames.values() if place.name in frame.columns]
    return pl.concat([frame[place.name] for frame in held]).unique().drop_nulls().sort()
