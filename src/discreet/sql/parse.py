"""SQL text → Query: one SELECT of aggregates over ``release``, everything else refused."""

from __future__ import annotations

import re
from typing import Any

import sqlglot
from sqlglot import exp

from discreet.errors import QueryError, name_closest
from discreet.sql.query import Aggregate, Query, Term
from discreet.table.schema import Schema

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
    exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Neg,
    exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Lower, exp.Upper, exp.Abs, exp.Length,
    exp.Extract, exp.Var,
)  # fmt: skip
"""What a predicate may be made of. An unknown function would pass through to the engine."""


COMPARISONS = (exp.LT, exp.LTE, exp.GT, exp.GTE)
MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE
}  # fmt: skip


def parse(text: str, schema: Schema) -> Query:
    """Read a question, or say at which place it goes beyond what can be answered.

    >>> from discreet.table.schema import Attribute, Role, Type
    >>> schema = Schema((Attribute("age", Role.QUASI_IDENTIFIER, Type.INTEGER),
    ...                  Attribute("pay", Role.SENSITIVE, Type.INTEGER)))
    >>> parse("SELECT AVG(pay) FROM release WHERE age > 30", schema).aggregates[0].alias
    'avg_pay'
    """
    try:
        return _understand(_read_select(text), schema)
    except RecursionError as error:
        raise QueryError(
            "The question is nested too deeply.", hint="Write it with fewer parentheses."
        ) from error


def _understand(select: exp.Select, schema: Schema) -> Query:
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
            if expression.alias and expression.alias != inner.name:
                raise _refuse(inner, "columns of GROUP BY keep their names")
            continue
        aggregates.append(_read_aggregate(expression, inner, schema))
    if not aggregates:
        raise QueryError("The question has no aggregate.", hint="Ask for COUNT(*), SUM, AVG, …")
    aliases = [name for a in aggregates for name in a.names] + group_by
    if len({alias.casefold() for alias in aliases}) < len(aliases):
        raise QueryError("Two columns of the answer have the same name.", hint="Use AS.")
    where = select.args.get("where")
    if where is not None:
        _check_predicate(where.this)
        _spell_out_order(where, schema)
        for division in list(where.find_all(exp.Div)):  # by zero: nothing, on every engine
            divisor = exp.Nullif(this=division.expression, expression=exp.Literal.number(0))
            division.set("expression", divisor)
    return Query(tuple(aggregates), where.this if where else None, _plain(group_by))


def _plain(names: list[str]) -> tuple[Term, ...]:
    return tuple(Term(name, exp.column(name, quoted=True)) for name in names)


def _read_select(text: str) -> exp.Select:
    if any(ord(character) < 32 and character not in "\t\r\n" for character in text):
        raise QueryError("The question holds control characters.")
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
        or any(part for name, part in table.this.args.items() if name not in ("this", "alias"))
    ):
        raise QueryError("The table asked is not 'release'.", hint="Write FROM release.")
    group = select.args.get("group")
    if group and any(part for name, part in group.args.items() if name != "expressions"):
        raise QueryError("Only GROUP BY columns can be answered.", hint="List plain columns.")


def _spell(name: str) -> str:
    return re.sub(r"\W", "_", name).lower()


def _rename_columns(select: exp.Select, schema: Schema) -> None:
    """Resolve columns as people write them: any case, ``_`` for what SQL would need to quote."""
    known = {"", "release", select.args["from_"].this.alias.lower()}
    for column in select.find_all(exp.Column):
        written = column.name
        alike = [name for name in schema.names if _spell(name) == _spell(written)]
        name = written if written in schema.names else alike[0] if len(alike) == 1 else None
        if column.table.lower() not in known:
            raise _refuse(column, f"there is no table {column.table!r}", "Leave it out.")
        if name is None and alike:
            raise _refuse(column, f"{written!r} may be any of {alike}", "Quote the name.")
        if name is None:
            raise _refuse(
                column, f"there is no column {written!r}", name_closest(written, schema.names)
            )
        column.replace(exp.column(name, quoted=True))


def _group_column(expression: exp.Expr) -> str:
    if not isinstance(expression, exp.Column):
        raise _refuse(
            expression,
            "GROUP BY takes plain columns",
            "Ask once for each range: … WHERE age BETWEEN 30 AND 39.",
        )
    return expression.name


def _read_aggregate(expression: exp.Expr, inner: exp.Expr, schema: Schema) -> Aggregate:
    function = FUNCTIONS.get(type(inner))
    if function is None:
        raise _refuse(
            inner,
            f"{inner.sql()} is not an aggregate discreet knows",
            "Use COUNT, SUM, AVG, MIN, MAX.",
        )
    if any(part for name, part in inner.args.items() if name not in ("this", "big_int")):
        raise _refuse(inner, f"{function} takes one column")
    argument = inner.this
    if isinstance(argument, exp.Star) and function == "COUNT":
        return Aggregate("COUNT", None, expression.alias or "count")
    if not isinstance(argument, exp.Column):
        raise _refuse(inner, f"{function} takes a plain column", "Write for example SUM(income).")
    kind = schema[argument.name].type
    if function in ("SUM", "AVG") and kind not in ("integer", "decimal"):
        raise _refuse(inner, f"{argument.name!r} is a {kind}, not a number")
    if function in ("MIN", "MAX") and kind == "boolean":
        raise _refuse(inner, f"{argument.name!r} is true or false: it has no {function}")
    if function in ("MIN", "MAX") and kind == "ordinal":
        raise _refuse(
            inner,
            f"{function} of {argument.name!r}, an ordinal, cannot be answered",
            f"Count instead: SELECT COUNT(*) FROM release WHERE {argument.sql()} >= '…'.",
        )
    alias = expression.alias or f"{function.lower()}_{_spell(argument.name)}"
    return Aggregate(function, Term(argument.name, argument), alias)


def _check_predicate(where: exp.Expr) -> None:
    dates: set[int] = set()
    for node in where.walk():
        if isinstance(node, exp.Cast) and _is_date(node):
            dates |= {id(node), id(node.args["to"])}
        if not isinstance(node, ALLOWED) and id(node) not in dates:
            raise _refuse(node, f"{node.sql()!r} cannot stand in WHERE")
        if isinstance(node, exp.Like | exp.ILike) and "\\" in node.expression.sql():
            raise _refuse(node, "databases read a backslash in LIKE differently")


def _spell_out_order(where: exp.Expr, schema: Schema) -> None:
    """Write comparisons of ordinals as the values they mean: databases would go by the alphabet."""
    for node in list(where.find_all(*COMPARISONS, exp.Between)):
        parts = [node.this, node.args.get("low") or node.expression, node.args.get("high")]
        ordinals = [
            part
            for part in parts
            if isinstance(part, exp.Column) and schema[part.name].type == "ordinal"
        ]
        if not ordinals:
            continue
        column, order = ordinals[0], schema[ordinals[0].name].order
        ends = [part for part in parts if part is not None and part is not column]
        for end in ends:
            if not isinstance(end, exp.Literal) or str(end.this) not in order:
                listed = ", ".join(map(repr, order))
                raise _refuse(
                    column, f"{column.name!r} is compared with {end.sql()}, which is none of its "
                    "values", f"From low to high they are: {listed}.",
                )  # fmt: skip
        places = [order.index(str(end.this)) for end in ends]
        if isinstance(node, exp.Between):
            meant = order[places[0] : places[1] + 1] if column is node.this else None
        else:
            kind: type[exp.Expr] = type(node) if column is node.this else MIRRORED[type(node)]
            ranges: dict[type[exp.Expr], tuple[str, ...]] = {
                exp.LT: order[: places[0]],
                exp.LTE: order[: places[0] + 1],
                exp.GT: order[places[0] + 1 :],
                exp.GTE: order[places[0] :],
            }
            meant = ranges[kind]
        if meant is None:
            raise _refuse(column, "BETWEEN asks about a column", "Write the column first.")
        values = [exp.Literal.string(value) for value in meant]
        never = exp.EQ(this=exp.Literal.number(1), expression=exp.Literal.number(0))
        node.replace(exp.paren(exp.In(this=column.copy(), expressions=values) if values else never))


def _is_date(node: exp.Cast) -> bool:
    """Whether a cast is how a date is written: DATE '2020-01-31'."""
    return type(node) is exp.Cast and isinstance(node.this, exp.Literal) and node.is_type("DATE")


def _refuse(node: exp.Expr, what: str, hint: str | None = None) -> QueryError:
    place = next((n.meta for n in node.walk() if "col" in n.meta), {})
    where = f" (line {place['line']}, column {place['col']})" if place else ""
    return QueryError(f"{what[0].upper()}{what[1:]}{where}.", hint=hint)
