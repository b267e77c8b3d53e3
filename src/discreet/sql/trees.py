"""Pieces of statements that every rewriter uses.

Expressions can be added and multiplied as numbers are; but what is multiplied with, or taken from,
an expression of the same kind must be put into ``exp.paren``, as sqlglot leaves that to us.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from sqlglot import exp, parse_one, select


def own(node: exp.Expr) -> exp.Expr:
    """Give a node to be put into a tree: itself, or a copy if it is part of one already.

    Copies of trees are most of what planning costs.
    """
    return node if node.parent is None else node.copy()


def name_part(part: exp.Expr, name: str) -> exp.Alias:
    """Give a part of a statement a name, quoted whatever it is."""
    return exp.Alias(this=own(part), alias=exp.to_identifier(name, quoted=True))


def column(name: str, table: str | None = None) -> exp.Column:
    """A column, quoted whatever it is called."""
    return exp.column(name, table=table, quoted=True)


def double(expression: exp.Expr) -> exp.Expr:
    """As a floating-point number, so that no engine divides whole numbers its own way."""
    if isinstance(expression, exp.Cast) and expression.to.this is exp.DataType.Type.DOUBLE:
        return own(expression)
    return exp.Cast(this=own(expression), to=exp.DataType(this=exp.DataType.Type.DOUBLE))


def number(value: int) -> exp.Expr:
    """A number written out."""
    return exp.Literal.number(value)


def nothing() -> exp.Expr:
    """No number, which is one nevertheless: engines give what has no type as anything."""
    return double(exp.null())


def add_up(expression: exp.Expr) -> exp.Expr:
    """The sum of an expression."""
    return exp.Sum(this=expression)


def add_up_over(
    expression: exp.Expr,
    partition: Sequence[exp.Expr] = (),
    order: Sequence[exp.Expr] = (),
    *,
    descending: bool = False,
) -> exp.Expr:
    """The sum of an expression over a partition; with an order, up to and with each row."""
    window = exp.Window(this=add_up(expression), partition_by=[key.copy() for key in partition])
    if order:
        ordered = [exp.Ordered(this=key.copy(), desc=descending) for key in order]
        window.set("order", exp.Order(expressions=ordered))
        window.set(
            "spec",
            exp.WindowSpec(
                kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW"
            ),
        )
    return window


def ascending(*keys: exp.Expr) -> list[exp.Expr]:
    """Keys to order by, so that what is missing comes last on every engine."""
    return [exp.Ordered(this=key.copy()) for key in keys]


def case(condition: exp.Expr, yes: exp.Expr, no: exp.Expr) -> exp.Expr:
    """One of two expressions."""
    branch = exp.If(this=own(condition), true=own(yes))
    return exp.Case(ifs=[branch], default=own(no))


def named_table(name: str, alias: str | None = None) -> exp.Table:
    """A table, quoted whatever it is called."""
    table = exp.Table(this=exp.to_identifier(name, quoted=True))
    if alias is not None:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    return table


def aggregate_once(statement: exp.Select, name: str) -> exp.Select:
    """Let a statement find every aggregate it uses once, in a clause of this name.

    It is grouped by columns that it shows first, and uses aggregates of rows alone.
    """
    group = statement.args.get("group")
    keys = [] if group is None else group.expressions
    found: dict[exp.Expr, str] = {}

    def place(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.AggFunc):
            return column(found.setdefault(node, f"#once {len(found)}"))
        return node

    shown = [part.transform(place) for part in statement.expressions]
    named = [name_part(part, title) for part, title in found.items()]
    inner = select(*(key.copy() for key in keys), *named)
    inner = inner.from_(statement.args["from_"].this.copy(), copy=False)
    if keys:
        inner = inner.group_by(*(key.copy() for key in keys), copy=False)
    outer = select(*shown).from_(named_table(name), copy=False)
    return outer.with_(exp.to_identifier(name, quoted=True), as_=inner, copy=False)


def formula(text: str) -> exp.Expr:
    """An expression that is written out, over columns of our own."""
    return _read(text).copy()


@cache
def _read(text: str) -> exp.Expr:
    tree = parse_one(text, read="duckdb")
    for node in tree.walk():  # places in a text that nobody wrote, and every copy would copy
        node._meta = None
    return tree
