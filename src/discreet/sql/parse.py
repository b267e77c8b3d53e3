"""SQL text → Query: one SELECT of aggregates over ``release``, everything else refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import sqlglot
from sqlglot import exp

from discreet.errors import QueryError, name_closest
from discreet.schema import Schema

FUNCTIONS: dict[type[exp.Expr], str] = {
    exp.Count: "COUNT",
    exp.Sum: "SUM",
    exp.Avg: "AVG",
    exp.Min: "MIN",
    exp.Max: "MAX",
}
ALLOWED = (
    exp.Column, exp.Identifier, exp.Literal, exp.Boolean, exp.Null, exp.Paren,
    exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE,
    exp.Between, exp.In, exp.Like, exp.ILike, exp.Is, exp.Escape,
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg,
    exp.Case, exp.If, exp.Coalesce, exp.Lower, exp.Upper, exp.Abs, exp.Length, exp.Substring,
    exp.Extract, exp.Var, exp.Cast, exp.DataType,
)  # fmt: skip
"""What a predicate may be made of. An unknown function would pass through to the engine."""


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of the answer, under its name there."""

    function: str
    column: str | None
    alias: str


@dataclass(frozen=True)
class Query:
    """A question about a release: aggregates of the people a predicate selects, by group."""

    aggregates: tuple[Aggregate, ...]
    where: exp.Expr | None
    group_by: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """Columns that select and group people."""
        found = self.where.find_all(exp.Column) if self.where is not None else ()
        return [*dict.fromkeys([*(column.name for column in found), *self.group_by])]


def parse(text: str, schema: Schema) -> Query:
    """Read a question, or say at which place it goes beyond what can be answered.

    >>> from discreet.schema import Attribute, Role, Type
    >>> schema = Schema((Attribute("age", Role.QUASI_IDENTIFIER, Type.INTEGER),
    ...                  Attribute("pay", Role.SENSITIVE, Type.INTEGER)))
    >>> parse("SELECT AVG(pay) FROM release WHERE age > 30", schema).aggregates
    (Aggregate(function='AVG', column='pay', alias='avg_pay'),)
    """
    select = _read_select(text)
    _refuse_clauses(select)
    _rename_columns(select, schema)
    group = select.args.get("group")
    group_by = [_group_column(e) for e in group.expressions] if group else []
    aggregates: list[Aggregate] = []
    for expression in select.expressions:
        inner = expression.unalias()
        if isinstance(inner, exp.Column):
            if inner.name not in group_by:
                raise _refuse(inner, f"{inner.name!r} is not in GROUP BY")
            continue
        aggregates.append(_read_aggregate(expression, inner, schema))
    if not aggregates:
        raise QueryError("The question has no aggregate.", hint="Ask for COUNT(*), SUM, AVG, …")
    aliases = [a.alias for a in aggregates] + group_by
    if len(set(aliases)) < len(aliases):
        raise QueryError("Two columns of the answer have the same name.", hint="Use AS.")
    where = select.args.get("where")
    if where is not None:
        _check_predicate(where.this)
    return Query(tuple(aggregates), where.this if where else None, tuple(group_by))


def _read_select(text: str) -> exp.Select:
    try:
        statements = [s for s in sqlglot.parse(text, read="duckdb") if s is not None]
    except sqlglot.errors.ParseError as error:
        first: dict[str, Any] = error.errors[0] if error.errors else {}
        raise QueryError(
            f"Not SQL at line {first.get('line')}, column {first.get('col')}: "
            f"{first.get('description')}.",
            hint="Ask like: SELECT AVG(income) FROM release WHERE age BETWEEN 30 AND 60.",
        ) from error
    except sqlglot.errors.TokenError as error:
        raise QueryError(f"Not SQL: {str(error).splitlines()[0]}.") from error
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        raise QueryError(
            "The question is not one SELECT.", hint="Give a single SELECT … FROM release …"
        )
    return statements[0]


def _refuse_clauses(select: exp.Select) -> None:
    for name, part in select.args.items():
        if part and name not in ("expressions", "from_", "where", "group", "kind"):
            raise QueryError(
                f"{name.rstrip('_').upper()} cannot be answered from a release.",
                hint="Use SELECT aggregates FROM release WHERE … GROUP BY … only.",
            )
    table = select.args.get("from_")
    if (
        table is None
        or not isinstance(table.this, exp.Table)
        or table.this.name.lower() != "release"
        or table.this.args.get("db")
        or table.this.args.get("joins")
    ):
        raise QueryError("The table asked is not 'release'.", hint="Write FROM release.")
    group = select.args.get("group")
    if group and any(part for name, part in group.args.items() if name != "expressions"):
        raise QueryError("Only GROUP BY columns can be answered.", hint="List plain columns.")


def _spell(name: str) -> str:
    return re.sub(r"\W", "_", name).lower()


def _rename_columns(select: exp.Select, schema: Schema) -> None:
    """Resolve columns as people write them: any case, ``_`` for what SQL would need to quote."""
    spelled = {_spell(name): name for name in schema.names}
    for column in select.find_all(exp.Column):
        written = column.name
        name = written if written in schema.names else spelled.get(_spell(written))
        if name is None or column.table.lower() not in ("", "release"):
            raise _refuse(
                column, f"there is no column {written!r}", name_closest(written, schema.names)
            )
        column.replace(exp.column(name, quoted=True))


def _group_column(expression: exp.Expr) -> str:
    if not isinstance(expression, exp.Column):
        raise _refuse(expression, "GROUP BY takes plain columns")
    return expression.name


def _read_aggregate(expression: exp.Expr, inner: exp.Expr, schema: Schema) -> Aggregate:
    function = FUNCTIONS.get(type(inner))
    if function is None:
        raise _refuse(
            inner,
            f"{inner.sql()} is not an aggregate discreet knows",
            "Use COUNT, SUM, AVG, MIN, MAX.",
        )
    argument = inner.this
    if isinstance(argument, exp.Star) and function == "COUNT":
        return Aggregate("COUNT", None, expression.alias or "count")
    if not isinstance(argument, exp.Column):
        raise _refuse(inner, f"{function} takes a plain column", "Write for example SUM(income).")
    kind = schema[argument.name].type
    if function in ("SUM", "AVG") and kind not in ("integer", "decimal"):
        raise _refuse(inner, f"{argument.name!r} is a {kind}, not a number")
    alias = expression.alias or f"{function.lower()}_{_spell(argument.name)}"
    return Aggregate(function, argument.name, alias)


def _check_predicate(where: exp.Expr) -> None:
    for node in where.walk():
        if not isinstance(node, ALLOWED):
            raise _refuse(node, f"{node.sql()!r} cannot stand in WHERE")


def _refuse(node: exp.Expr, what: str, hint: str | None = None) -> QueryError:
    place = next((n.meta for n in node.walk() if "col" in n.meta), {})
    where = f" (line {place['line']}, column {place['col']})" if place else ""
    return QueryError(f"{what[0].upper()}{what[1:]}{where}.", hint=hint)
