"""Reading: SQL text → one statement, and the words for what is refused in it."""

from __future__ import annotations

import re
from typing import Any

import sqlglot
from sqlglot import exp

from discreet.errors import QueryError

EXAMPLE = "Ask like: SELECT AVG(income) FROM release WHERE age BETWEEN 30 AND 60."


def read_statement(text: str) -> exp.Query:
    """Read one SELECT, or several that UNION ALL joins; say at which place it is none.

    >>> read_statement("SELECT COUNT(*) FROM release").sql()
    'SELECT COUNT(*) FROM release'
    """
    if any(ord(character) < 32 and character not in "\t\r\n" for character in text):
        raise QueryError("The question holds control characters.")
    try:
        statements = [s for s in sqlglot.parse(text, read="duckdb") if s is not None]
    except sqlglot.errors.ParseError as error:
        first: dict[str, Any] = error.errors[0] if error.errors else {}
        raise QueryError(
            f"Not SQL at line {first.get('line')}, column {first.get('col')}: "
            f"{first.get('description')}.",
            hint=EXAMPLE,
        ) from error
    except sqlglot.errors.TokenError as error:
        raise QueryError(f"Not SQL: {str(error).splitlines()[0]}.") from error
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise QueryError(
            "The question is not one SELECT.", hint="Give a single SELECT … FROM release …"
        )
    return statements[0]


def refuse(node: exp.Expr, what: str, hint: str | None = None) -> QueryError:
    """Say what cannot be answered, and where it stands."""
    place = next((n.meta for n in node.walk() if "col" in n.meta), {})
    where = f" (line {place['line']}, column {place['col']})" if place else ""
    return QueryError(f"{what[0].upper()}{what[1:]}{where}.", hint=hint)


def spell(name: str) -> str:
    """Write a name as SQL takes it without quotes: small letters, ``_`` for anything else."""
    return re.sub(r"\W", "_", name).lower()


def show(expression: exp.Expr) -> str:
    """Write an expression as its author would."""
    return expression.transform(_bare).sql("duckdb")


class Lookup(exp.Expression, exp.Func):
    """An expression of one attribute that engines would not read alike.

    Where it is not looked up it is written as what it is, which COALESCE leaves as it is.
    """

    arg_types = {"this": True}  # noqa: RUF012
    _sql_names = ["COALESCE"]  # noqa: RUF012


def _bare(node: exp.Expr) -> exp.Expr:
    return node.this if isinstance(node, Lookup) else node
