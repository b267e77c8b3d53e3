"""Expressions: what may be written of people's attributes, in conditions, groups and aggregates.

Engines read some of it alike, and get it as it is. Everything else is looked up: an expression of
one attribute is evaluated here, once per value, and engines join what came out. So it means the
same everywhere, and what nobody listed here, which might read files or clocks, reaches no engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import polars as pl
from sqlglot import exp, parse_one

from discreet.errors import name_closest
from discreet.sql.query import find_columns
from discreet.sql.reading import is_looked_up, look_up, refuse, show, spell
from discreet.sql.selection import find_dtype
from discreet.table.schema import Schema, Type

PORTABLE = (
    exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren,
    exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE,
    exp.Between, exp.In, exp.Like, exp.ILike, exp.Is, exp.Escape,
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg,
    exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Lower, exp.Upper, exp.Abs, exp.Length,
    exp.Extract, exp.Var,
)  # fmt: skip
"""What every engine reads alike."""
KNOWN = (
    exp.Mod, exp.IntDiv, exp.Floor, exp.Ceil, exp.Round, exp.Trunc, exp.Sign, exp.Sqrt, exp.Pow,
    exp.Exp, exp.Ln, exp.Log, exp.Greatest, exp.Least, exp.Cast, exp.TryCast, exp.DataType,
    exp.DataTypeParam, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Xor, exp.Tuple, exp.Array, exp.Any,
    exp.ArrayContains, exp.Substring, exp.Left, exp.Right, exp.Trim, exp.Replace, exp.Concat,
    exp.ConcatWs, exp.DPipe, exp.Reverse, exp.Initcap, exp.StartsWith, exp.EndsWith, exp.Contains,
    exp.StrPosition, exp.RegexpLike, exp.RegexpILike, exp.RegexpExtract, exp.RegexpReplace,
    exp.SimilarTo, exp.Glob, exp.Bracket, exp.Slice, exp.Year, exp.Month, exp.Day, exp.Quarter,
    exp.Week, exp.DayOfWeek, exp.DayOfMonth, exp.DayOfYear, exp.TimestampTrunc, exp.DateTrunc,
    exp.DateDiff, exp.DateAdd, exp.DateSub, exp.TsOrDsAdd, exp.TimeToStr, exp.Interval,
    exp.Distinct,
)  # fmt: skip
"""What is looked up besides: it goes by its arguments alone."""
LOCAL = tuple(kind for kind in KNOWN if kind not in (
    exp.Floor, exp.Ceil, exp.Greatest, exp.Least, exp.Sqrt, exp.Pow, exp.Exp, exp.Ln, exp.Cast,
    exp.DataType, exp.DataTypeParam, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Tuple, exp.Distinct,
))  # fmt: skip
"""What engines read differently, where it is not looked up: over rows of answers."""
NAMED = {"date_part", "datepart", "dayname", "monthname", "ends_with", "prefix", "suffix", "len",
         "isodow", "decade", "century", "even", "bit_count", "strlen"}  # fmt: skip
COMPARISONS = (exp.LT, exp.LTE, exp.GT, exp.GTE)
MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE
}  # fmt: skip
KINDS: dict[Type, type[pl.DataType]] = {
    Type.INTEGER: pl.Int64, Type.DECIMAL: pl.Float64, Type.DATE: pl.Date, Type.BOOLEAN: pl.Boolean
}  # fmt: skip
SQL_TYPES: dict[type[pl.DataType], str] = {
    pl.Int32: "BIGINT", pl.Int64: "BIGINT", pl.Boolean: "BOOLEAN", pl.Date: "DATE",
    pl.Datetime: "TIMESTAMP",
}  # fmt: skip


def name_column(column: exp.Column, schema: Schema) -> str:
    """Find the attribute that is meant, as people write it: any case, ``_`` for other signs."""
    written = column.name
    if written in schema.names:
        return written
    alike = [name for name in schema.names if spell(name) == spell(written)]
    if len(alike) > 1:
        raise refuse(column, f"{written!r} may be any of {alike}", "Quote the name.")
    if not alike:
        raise refuse(column, f"there is no column {written!r}", name_closest(written, schema.names))
    return alike[0]


def read_expression(expression: exp.Expr, schema: Schema, by: str | None = None) -> exp.Expr:
    """Read what is written of attributes, whose columns are named as the schema does.

    The column ``by`` is a constant of each release.
    """
    for node in expression.walk():
        if isinstance(node, exp.Query):
            raise refuse(
                node, "a subquery cannot stand here: whom it selects would be uncertain",
                "Ask for its number first, and write it into the question.",
            )  # fmt: skip
        named = isinstance(node, exp.Anonymous) and node.name.lower() in NAMED
        if not isinstance(node, (*PORTABLE, *KNOWN)) and not named:
            raise refuse(
                node, f"{show(node)!r} is nothing that discreet can read",
                "Use comparisons, arithmetic, CASE, and functions of numbers, texts and dates.",
            )  # fmt: skip
        if isinstance(node, exp.Like | exp.ILike) and "\\" in node.expression.sql():
            raise refuse(node, "databases read a backslash in LIKE differently")
    held = exp.Paren(this=expression.copy())
    for node in list(filter(is_looked_up, held.find_all(exp.Coalesce))):  # COALESCE(age) is age
        node.replace(exp.Paren(this=node.this))
    ordinals = [a for a in schema if a.type == "ordinal"]
    spell_out_order(held, {a.name: a.order for a in ordinals})
    for division in list(held.find_all(exp.Div)):  # by zero: nothing, on every engine
        if not division.expression.is_number or not float(division.expression.name):
            divisor = exp.Nullif(this=division.expression, expression=exp.Literal.number(0))
            division.set("expression", divisor)
    _mark(held, by)
    read: exp.Expr = held.this
    return read.pop()


def _mark(held: exp.Expr, by: str | None) -> None:
    """Mark what has to be looked up: the largest parts that are about one attribute."""
    left = [held.this]
    while left:
        node = left.pop()
        odd = next((n for n in node.walk() if not _is_portable(n)), None)
        if odd is None or is_looked_up(node):
            continue
        names = find_columns(node)
        branch = isinstance(node, exp.If) and isinstance(node.parent, exp.Case)
        if len(names) == 1 and not branch and not isinstance(node, exp.Ordered | exp.Tuple):
            node.replace(look_up(node.copy()))
        elif names and _is_portable(node):
            left += [child for child in node.iter_expressions() if find_columns(child)]
        elif by in names and len(names) == 2:
            node.replace(look_up(node.copy()))
        elif names:
            raise refuse(
                node, f"{show(node)!r} is about several attributes at once ({', '.join(names)})",
                "Only comparisons, + - * /, CASE and COALESCE may tie attributes.",
            )  # fmt: skip


def _is_portable(node: exp.Expr) -> bool:
    if isinstance(node, exp.Cast):
        return _is_date(node)
    if isinstance(node, exp.DataType):
        return isinstance(node.parent, exp.Cast) and _is_date(node.parent)
    if isinstance(node, exp.In) and node.args.get("query"):
        return False
    return isinstance(node, PORTABLE)


def _is_date(node: exp.Cast) -> bool:
    """Whether a cast is how a date is written: DATE '2020-01-31'."""
    return type(node) is exp.Cast and isinstance(node.this, exp.Literal) and node.is_type("DATE")


def spell_out_order(where: exp.Expr, orders: Mapping[str, tuple[str, ...]]) -> None:
    """Write comparisons of ordinals as the values they mean: databases would go by the alphabet.

    ``orders`` gives the values of columns that are ordinals, from low to high.
    """
    for node in list(where.find_all(*COMPARISONS, exp.Between)) if orders else ():
        parts = [node.this, node.args.get("low") or node.expression, node.args.get("high")]
        held = [part.unnest() for part in parts if part is not None]
        ordinals = [p for p in held if isinstance(p, exp.Column) and p.name in orders]
        hidden = [c for p in held for c in p.find_all(exp.Column)
                  if c.name in orders and c not in ordinals and not _is_counted(c, p)]  # fmt: skip
        if hidden:
            raise refuse(
                node, f"{show(node)} compares what is made of {hidden[0].name!r}, an ordinal, by "
                "the alphabet", f"Compare {hidden[0].name!r} itself.",
            )  # fmt: skip
        if not ordinals:
            continue
        column, order = ordinals[0], orders[ordinals[0].name]
        ends = [part for part in held if part is not column]
        for end in ends:
            if not isinstance(end, exp.Literal) or str(end.this) not in order:
                listed = ", ".join(map(repr, order))
                raise refuse(
                    column, f"{column.name!r} is compared with {end.sql()}, which is none of its "
                    "values", f"From low to high they are: {listed}.",
                )  # fmt: skip
        places = [order.index(str(end.this)) for end in ends]
        if isinstance(node, exp.Between):
            meant = order[places[0] : places[1] + 1] if column is held[0] else None
        else:
            kind: type[exp.Expr] = type(node) if column is held[0] else MIRRORED[type(node)]
            ranges: dict[type[exp.Expr], tuple[str, ...]] = {
                exp.LT: order[: places[0]],
                exp.LTE: order[: places[0] + 1],
                exp.GT: order[places[0] + 1 :],
                exp.GTE: order[places[0] :],
            }
            meant = ranges[kind]
        if meant is None:
            raise refuse(column, "BETWEEN asks about a column", "Write the column first.")
        values = [exp.Literal.string(value) for value in meant]
        known = exp.not_(column.copy().is_(exp.null()))
        never = exp.Case(ifs=[exp.If(this=known, true=exp.false())])
        node.replace(exp.paren(exp.In(this=column.copy(), expressions=values) if values else never))


def _is_counted(column: exp.Column, side: exp.Expr) -> bool:
    """Whether a column is only read by a function whose result has an order of its own."""
    node = column.parent
    while node is not None and node is not side.parent:
        if isinstance(node, exp.Length | exp.StrPosition | exp.EQ | exp.NEQ | exp.In | exp.Is):
            return True
        node = node.parent
    return False


def find_local(tree: exp.Expr) -> exp.Expr | None:
    """Find what engines other than DuckDB would read differently in a statement over answers."""
    for node in tree.walk():
        text = isinstance(node, exp.Cast) and node.to.this in exp.DataType.TEXT_TYPES
        text = text and not isinstance(node.this, exp.Null | exp.Literal)
        if text or isinstance(node, LOCAL):
            return node
    return None


def find_type(expression: exp.Expr, schema: Schema) -> str:
    """Give the type that an expression of attributes has in SQL; refuse what has none."""
    names = tuple(find_columns(expression))
    return _ask_type(show(expression), names, tuple(schema[name].type for name in names))


@cache
def _ask_type(text: str, names: tuple[str, ...], types: tuple[Type, ...]) -> str:
    kinds = {name: KINDS.get(kind, pl.String) for name, kind in zip(names, types, strict=True)}
    found = find_dtype(parse_one(text, read="duckdb"), pl.DataFrame(schema=kinds or {"#": pl.Int8}))
    return SQL_TYPES.get(found.base_type(), "DOUBLE" if found.is_numeric() else "VARCHAR")
