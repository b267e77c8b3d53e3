"""Pieces of statements that every rewriter uses."""

from __future__ import annotations

from sqlglot import exp


def column(name: str, table: str | None = None) -> exp.Column:
    """A column, quoted whatever it is called."""
    return exp.column(name, table=table, quoted=True)


def double(expression: exp.Expr) -> exp.Expr:
    """As a floating-point number, so that no engine divides whole numbers its own way."""
    return exp.cast(expression, "DOUBLE")


def number(value: int) -> exp.Expr:
    """A number written out."""
    return exp.Literal.number(value)
