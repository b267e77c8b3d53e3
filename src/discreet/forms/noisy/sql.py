"""How a noisy release answers: sums of noisy counts, each with what its noise adds to the error.

Every aggregate is a sum over cells of how many people are in one, times what the question takes of
it. Noise is drawn for every cell by itself, so variances add up. Nothing bounds it, so there are
no bounds but that no fewer people than none are counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.forms.base import Statement
from discreet.forms.noisy.estimates import Estimates
from discreet.forms.noisy.pieces import cut, lay_out
from discreet.sql.exact import name_parts
from discreet.sql.query import Aggregate, Query, Term
from discreet.sql.trees import add_up, case, column, double, named_table, nothing, number
from discreet.table.schema import Type

POSSIBLE, SUMS = "possible", "sums"
CELL, SHARE, N, X = "#cell", "#share", "#n", "#x"
EACH, TOTAL, ERROR = "#each", "#total", "#error"


@dataclass(frozen=True)
class _Sum:
    """What is added up: people, those whose term is something, or a term."""

    term: Term | None
    adds_term: bool


class _NoisyQuestion:
    """A question to noisy counts, whose sums are clauses of one statement."""

    def __init__(self, query: Query, estimates: Estimates) -> None:
        self.query, self.estimates = query, estimates
        self.keys = [f"#key {i}" for i in range(len(query.keys))]
        self.sums: list[_Sum] = []
        self.clauses: list[exp.Select] = []
        self.needed: dict[str, pl.DataFrame] = {}

    def count(self, term: Term | None) -> int:
        """Count people, or those whose term is something; give the number of the clause."""
        if term is not None and term.is_plain:
            (name,) = term.columns
            if not self.estimates.noisy.cells[name].missing:
                term = None
        return self._add(_Sum(term, adds_term=False))

    def add_up(self, term: Term) -> int:
        """Add a term up; give the number of the clause."""
        if term.is_plain:
            (name,) = term.columns
            kind = self.estimates.noisy.cells[name].attribute.type
            if kind not in (Type.INTEGER, Type.DECIMAL):
                raise QueryError(
                    f"{name!r} is a {kind}, which is not added up.", hint="Count people by it."
                )
        return self._add(_Sum(term, adds_term=True))

    def _add(self, one: _Sum) -> int:
        if one not in self.sums:
            self.sums.append(one)
            self._write(one)
        return self.sums.index(one)

    def _write(self, one: _Sum) -> None:
        """Write the clause of a sum, over a table of all that it may take."""
        term, query = one.term, self.query
        wanted = {*query.columns, *(() if term is None else term.columns)}
        told = self.estimates.find(sorted(wanted))
        cells = [self.estimates.noisy.cells[name] for name in told.names]
        spread = {n for key in query.keys for n in key.columns}
        if term is not None and not term.is_plain:
            spread |= term.columns
        parts = query.conditions
        pieces = [cut(own, parts, one_by_one=own.attribute.name in spread) for own in cells]
        plain = next(iter(term.columns)) if term is not None and term.is_plain else None
        is_number = one.adds_term and plain is not None
        title = f"{POSSIBLE}_{len(self.clauses)}"
        table = lay_out(cells, pieces, told.counts, term=plain if is_number else None)
        self.needed[title] = table
        share: exp.Expr = column(SHARE)
        if term is not None:
            value = column(X) if is_number else term.at(None)
            taken = share * exp.paren(double(value)) if one.adds_term else share
            share = case(value.copy().is_(exp.null()), exp.null(), taken)
        keys = [key.at(None) for key in query.keys]
        shown = [k.as_(n, quoted=True) for k, n in zip(keys, self.keys, strict=True)]
        each = select(
            *shown, column(CELL), exp.Min(this=column(N)).as_(N, quoted=True),
            add_up(share).as_(EACH, quoted=True),
        ).from_(named_table(title))  # fmt: skip
        if query.where is not None:
            each = each.where(query.where.copy())
        each = each.group_by(*(key.copy() for key in keys), column(CELL))
        total = add_up(column(N) * column(EACH))
        square = add_up(column(EACH) * column(EACH))
        error = nothing()
        if told.variance is not None:
            error = exp.Sqrt(this=double(square) * exp.Literal.number(repr(told.variance)))
        made = select(
            *(column(n) for n in self.keys), double(total).as_(TOTAL, quoted=True),
            error.as_(ERROR, quoted=True),
        ).from_(each.subquery("each"))  # fmt: skip
        self.clauses.append(made.group_by(*(column(n) for n in self.keys)) if keys else made)

    def name(self, place: int) -> str:
        """Name a clause."""
        return f"{SUMS}_{place}"


def rewrite(query: Query, estimates: Estimates) -> Statement:
    """Rewrite a question into sums over tables of what its cells may be."""
    asked = _NoisyQuestion(query, estimates)
    parts = [_list_parts(asked, aggregate) for aggregate in query.aggregates]
    if not asked.sums:
        asked.count(None)
    first = asked.name(0)
    tree = select(*(column(own, first).as_(key.name, quoted=True)
                    for own, key in zip(asked.keys, query.keys, strict=True)))  # fmt: skip
    for aggregate, told in zip(query.aggregates, parts, strict=True):
        tree = tree.select(*name_parts(aggregate, told))
    tree = tree.from_(named_table(first))
    for place in range(1, len(asked.sums)):
        tree = _join(tree, asked.name(place), first, asked.keys)
    for place, clause in enumerate(asked.clauses):
        named = exp.to_identifier(asked.name(place), quoted=True)
        tree = tree.with_(named, as_=clause, copy=False)
    return tree, asked.needed


def _join(tree: exp.Select, name: str, first: str, keys: Sequence[str]) -> exp.Select:
    same = [exp.NullSafeEQ(this=column(key, first), expression=column(key, name)) for key in keys]
    on = {"on": exp.and_(*same), "join_type": "LEFT"} if same else {"join_type": "CROSS"}
    return tree.join(named_table(name), **on)


def _list_parts(asked: _NoisyQuestion, aggregate: Aggregate) -> list[exp.Expr]:
    """Give estimate, bounds and standard error of an aggregate."""
    if aggregate.function == "COUNT":
        name = asked.name(asked.count(aggregate.term))
        none = exp.func("COALESCE", column(TOTAL, name), double(number(0)))
        told = exp.Greatest(this=none, expressions=[double(number(0))])
        return [told, double(number(0)), nothing(), column(ERROR, name)]
    assert aggregate.term is not None
    name = asked.name(asked.add_up(aggregate.term))
    if aggregate.function == "SUM":
        return [column(TOTAL, name), nothing(), nothing(), column(ERROR, name)]
    among = asked.name(asked.count(aggregate.term))
    people = column(TOTAL, among)
    some = exp.GT(this=people, expression=number(0))
    mean = column(TOTAL, name) / people.copy()
    # whether the errors of both go together or not: together they are no larger than their sum
    error = column(ERROR, name) + exp.Abs(this=exp.paren(mean.copy())) * column(ERROR, among)
    spread = exp.paren(error) / people.copy()
    return [case(some, mean, exp.null()), nothing(), nothing(),
            case(some.copy(), spread, exp.null())]  # fmt: skip
