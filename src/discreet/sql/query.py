"""Query: what a form is asked, whatever was written: aggregates of people, by group.

Everything else that analysts write (arithmetic between aggregates, HAVING, ORDER BY, subqueries)
is read around such questions, and reaches no form.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sqlglot import exp

ENDINGS = ("", "_low", "_high", "_stderr", "_width")
"""Of a number that is estimated: itself, its hard bounds, its standard error, its width."""


@dataclass(frozen=True)
class Term:
    """An expression of attributes, under a name: an attribute's own, or one that none has.

    >>> Term("#0", exp.column("age") * 2).columns
    frozenset({'age'})
    """

    name: str
    expression: exp.Expr

    @cached_property
    def columns(self) -> frozenset[str]:
        """The attributes it is about."""
        return frozenset(find_columns(self.expression))

    @property
    def is_plain(self) -> bool:
        """Whether it is an attribute as it is."""
        return isinstance(self.expression, exp.Column)

    def at(self, table: str | None) -> exp.Expr:
        """Write it over the columns of a table."""
        return move(self.expression, table)


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of the answer, under its name there."""

    function: str
    """COUNT, SUM, AVG, MIN, MAX or QUANTILE."""
    term: Term | None
    """What is aggregated; ``None`` where people are counted."""
    alias: str
    share: Fraction | None = None
    """Of a quantile: the share of people who are below it."""

    @property
    def column(self) -> str | None:
        """The name of what is aggregated."""
        return None if self.term is None else self.term.name

    @property
    def columns(self) -> frozenset[str]:
        """The attributes it is about."""
        return frozenset() if self.term is None else self.term.columns

    @property
    def names(self) -> list[str]:
        """The columns it fills."""
        return [self.alias + ending for ending in ENDINGS]


@dataclass(frozen=True)
class Query:
    """A question about a release: aggregates of the people a predicate selects, by group."""

    aggregates: tuple[Aggregate, ...]
    where: exp.Expr | None
    keys: tuple[Term, ...]

    @property
    def group_by(self) -> list[str]:
        """The names of what people are grouped by."""
        return [key.name for key in self.keys]

    @property
    def conditions(self) -> list[exp.Expr]:
        """The conditions that AND joins to the predicate."""
        return [] if self.where is None else list_conjuncts(self.where)

    @property
    def columns(self) -> list[str]:
        """Attributes that select and group people."""
        found = find_columns(self.where) if self.where is not None else []
        return [*dict.fromkeys([*found, *(c for key in self.keys for c in sorted(key.columns))])]

    @property
    def terms(self) -> list[Term]:
        """What is aggregated, each once."""
        found = {a.term.name: a.term for a in self.aggregates if a.term is not None}
        return list(found.values())


def find_columns(expression: exp.Expr) -> list[str]:
    """Name the columns of an expression, each once."""
    return list(dict.fromkeys(column.name for column in expression.find_all(exp.Column)))


def move(expression: exp.Expr, table: str | None) -> exp.Expr:
    """Let an expression read its columns from a table."""

    def place(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column):
            return node
        return exp.column(node.name, table=table, quoted=True)

    return expression.transform(place)


def list_conjuncts(expression: exp.Expr) -> list[exp.Expr]:
    """Give the conditions that AND joins to one."""
    found, left = [], [expression]
    while left:
        inner = left.pop().unnest()
        if isinstance(inner, exp.And):
            left += [inner.expression, inner.this]
        else:
            found.append(inner)
    return found
