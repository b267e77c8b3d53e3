"""Reading: SQL text → one statement, and the words for what is refused in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlglot
from sqlglot import exp

from discreet.errors import QueryError

LONGEST, MOST_PARTS, MOST_ANSWERS = 2**18, 15_000, 100
"""Characters of a question; names, values and operators in it; SELECTs and aggregates in it, which
are planned one by one."""
MOST_SHOWN = 300
"""Characters of a question that are shown of what is refused in it."""
LONG = 20
"""So many conditions in a row are written as they are."""
EXAMPLE = "Ask like: SELECT AVG(income) FROM release WHERE age BETWEEN 30 AND 60."


def read_statement(text: str) -> exp.Query:
    """Read one SELECT, or several that UNION ALL joins; say at which place it is none.

    >>> read_statement("SELECT COUNT(*) FROM release").sql()
    'SELECT COUNT(*) FROM release'
    """
    if len(text) > LONGEST:
        raise _refuse_length(f"has {len(text):,} characters; at most {LONGEST:,} are read")
    statements = parse(text)
    if len(statements) != 1 or not isinstance(statements[0], exp.Query):
        raise QueryError(
            "The question is not one SELECT.", hint="Give a single SELECT … FROM release …"
        )
    _flatten(statements[0])
    nodes = list(statements[0].walk())
    answers = sum(isinstance(node, exp.Select | exp.AggFunc) for node in nodes)
    counted = (len(nodes), MOST_PARTS, "parts"), (answers, MOST_ANSWERS, "aggregates")
    for many, most, what in counted:
        if many > most:
            raise _refuse_length(f"has {many:,} {what}; at most {most:,} are read")
    for node in nodes:  # what the grammar lets be empty, and nothing behind it expects to be
        needed = {exp.Max: "this", exp.Min: "this", exp.WithinGroup: "expression"}.get(type(node))
        if needed is not None and node.args.get(needed) is None:
            raise refuse(node, "an aggregate is of nothing", "Name what it is of: MAX(age).")
    return statements[0]


def parse(text: str) -> list[exp.Expr]:
    """Read the statements of a text as they are written; whatever keeps it from being read is said.

    >>> [statement.sql() for statement in parse("SELECT 1; SELECT 2")]
    ['SELECT 1', 'SELECT 2']
    """
    if any(ord(character) < 32 and character not in "\t\r\n" for character in text):
        raise QueryError("The question holds control characters.")
    try:
        with bounded_depth():
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
    return statements


def _refuse_length(what: str) -> QueryError:
    return QueryError(
        f"The question {what}.",
        hint="Ask for ranges instead of single values, join a table of yours (--table), or ask "
        "several questions.",
    )


@contextmanager
def bounded_depth() -> Iterator[None]:
    """Refuse what is nested too deeply to be read."""
    try:
        yield
    except RecursionError as error:
        raise QueryError(
            "The question is nested too deeply.", hint="Write it with fewer parentheses."
        ) from error


def _flatten(statement: exp.Expr) -> None:
    """Write long chains of OR and AND as lists, and what is left of them as a tree that is flat.

    Thousands of them would be as deep a tree as they are many.
    """
    chains = [node for node in statement.find_all(exp.Or, exp.And)
              if not isinstance(node.parent, type(node))]  # fmt: skip
    for chain in chains:
        parts: list[exp.Expr] = []
        left: list[exp.Expr] = [chain]
        while left:
            node = left.pop()
            if type(node) is type(chain):
                left += [node.expression, node.this]
            else:
                parts.append(node)
        if len(parts) > LONG:
            chain.replace(_balance(_list_values(parts, type(chain)), type(chain)))
    for among in statement.find_all(exp.In):
        if len(among.expressions) > LONG:  # where each stood is of no use, and long to copy
            among.set("expressions", [
                exp.Literal(this=value.this, is_string=value.is_string)
                if isinstance(value, exp.Literal) else value for value in among.expressions
            ])  # fmt: skip


def _list_values(parts: list[exp.Expr], kind: type[exp.Expr]) -> list[exp.Expr]:
    """Put x = 1 OR x = 2 together as x IN (1, 2), and x <> 1 AND x <> 2 likewise."""
    test: type[exp.Expr] = exp.EQ if kind is exp.Or else exp.NEQ
    lists: dict[tuple[str, str], list[exp.Expr]] = {}
    columns: dict[tuple[str, str], exp.Expr] = {}
    others = []
    for part in parts:
        if type(part) is test and isinstance(part.this, exp.Column) and (
            isinstance(part.expression, exp.Literal)
        ):  # fmt: skip
            name = (part.this.table, part.this.name)
            lists.setdefault(name, []).append(part.expression)
            columns[name] = part.this
        else:
            others.append(part)
    made: list[exp.Expr] = []
    for name, values in lists.items():
        among: exp.Expr = exp.In(this=columns[name], expressions=values)
        made.append(among if kind is exp.Or else exp.Not(this=among))
    return [*made, *others]


def _balance(parts: list[exp.Expr], kind: type[exp.Expr]) -> exp.Expr:
    while len(parts) > 1:
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [kind(this=p[0], expression=p[1]) if len(p) > 1 else p[0] for p in pairs]
    return parts[0]


def refuse(node: exp.Expr, what: str, hint: str | None = None) -> QueryError:
    """Say what cannot be answered, and where it stands."""
    place = next((n.meta for n in node.walk() if "col" in n.meta), {})
    where = f" (line {place['line']}, column {place['col']})" if place else ""
    what = shorten(what)
    return QueryError(f"{what[0].upper()}{what[1:]}{where}.", hint=hint)


def shorten(what: str) -> str:
    """Leave out the middle of what is too long to be shown."""
    if len(what) <= MOST_SHOWN:
        return what
    return f"{what[: MOST_SHOWN // 2]} … {what[-MOST_SHOWN // 2 :]}"


def read_place(node: exp.Expr, count: int, what: str) -> int:
    """Read the place of one of some columns, counted from 1, to do something by."""
    place = int(node.name) if isinstance(node, exp.Literal) else 0
    if not 1 <= place <= count:
        raise refuse(node, f"there is no column {node.sql()} to {what} by",
                     f"Give a place from 1 to {count}.")  # fmt: skip
    return place


def spell(name: str) -> str:
    """Write a name as SQL takes it without quotes: small letters, ``_`` for anything else."""
    return re.sub(r"\W", "_", name).lower()


def show(expression: exp.Expr) -> str:
    """Write an expression as its author would."""
    return expression.transform(_bare).sql("duckdb")


def look_up(node: exp.Expr) -> exp.Expr:
    """Mark an expression of one attribute that engines would not read alike.

    COALESCE of nothing else is the mark, as it leaves what it is given: where a mark is written, it
    is written as what it means. A kind of node of our own would be clearer, but sqlglot's compiled
    classes have no others below them.
    """
    return exp.Coalesce(this=node, expressions=[])


def is_looked_up(node: exp.Expr) -> bool:
    """Whether a node is the mark of what is looked up."""
    return isinstance(node, exp.Coalesce) and not node.expressions


def _bare(node: exp.Expr) -> exp.Expr:
    return node.this if is_looked_up(node) else node
