"""How a perturbed release answers: subtract what the numbers drawn at random contribute.

Agrawal, Srikant, Thomas, SIGMOD 2005. A record shows its own number with probability p, else any
of the domain. Of n records, those that show a number in a set b are expected to be
``p k + (1-p) n |b|/|domain|``, where k really have one: solved for k, that estimates COUNT. The
same with the numbers themselves estimates SUM. Every record may have any number: bounds are wide.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.forms.base import Statement
from discreet.forms.perturbed.randomized_response import RandomizedResponse
from discreet.release import Release
from discreet.release.labels import Labels
from discreet.sql.exact import (
    aggregate_column,
    is_exact,
    name_parts,
    split_conditions,
    state_exactly,
)
from discreet.sql.query import Aggregate, Query
from discreet.sql.selection import select_values
from discreet.sql.trees import add_up, ascending, case, column, double, named_table, number
from discreet.table.schema import Attribute

TABLE, DRAWN, SEEN = "perturbed", "#drawn", "seen"


class Conditions(NamedTuple):
    """The predicate in two parts: on what is exact, and on the perturbed number."""

    exact: list[exp.Expr]
    number: exp.Expr | None


def rewrite(query: Query, release: Release) -> Statement:
    """Rewrite a question into one over the perturbed table and what numbers drawn add to it."""
    (sensitive,) = release.schema.sensitive
    response = RandomizedResponse.read(release)
    where = Conditions(*split_conditions(query, sensitive))
    _refuse(query, sensitive, where)
    keys = [key.expression for key in query.keys]
    seen = select(
        *(key.expression.copy().as_(key.name, quoted=True) for key in query.keys),
        *_count_shown(sensitive, where),
    )
    for aggregate in query.aggregates:
        if aggregate.term is not None and is_exact(aggregate, release.schema):
            made = aggregate_column(aggregate.function, aggregate.term.expression.copy())
            seen = seen.select(made.as_(f"#e {aggregate.alias}", quoted=True))
    seen = seen.from_(exp.to_table(TABLE))
    for part in where.exact:
        seen = seen.where(part.copy())
    outer = select(*(column(name, SEEN) for name in query.group_by))
    for aggregate in query.aggregates:
        if is_exact(aggregate, release.schema):
            parts = state_exactly(column(f"#e {aggregate.alias}", SEEN))
        else:
            parts = _estimate(aggregate, response, where.number is not None)
        outer = outer.select(*name_parts(aggregate, parts))
    outer = outer.from_(exp.to_table(SEEN)).join(named_table(DRAWN), join_type="CROSS")
    if keys:
        seen = seen.group_by(*(key.copy() for key in keys))
        outer = outer.order_by(*ascending(*(column(name, SEEN) for name in query.group_by)))
    drawn = _tabulate(release.schema[sensitive], response, where.number)
    return outer.with_(SEEN, as_=seen), {DRAWN: drawn}


def _refuse(query: Query, sensitive: str, where: Conditions) -> None:
    if any(sensitive in key.columns for key in query.keys):
        raise QueryError(
            f"{sensitive!r} is perturbed: people cannot be grouped by it.",
            hint="Ask for ranges of it, one by one.",
        )
    for aggregate in query.aggregates:
        if sensitive not in aggregate.columns and aggregate.term is not None:
            if where.number is not None:
                raise QueryError(
                    f"{aggregate.function} of {', '.join(sorted(aggregate.columns))!r} cannot be "
                    f"told of people selected by {sensitive!r}, which is perturbed.",
                    hint=f"Select by other columns, or ask for COUNT or for {sensitive!r} itself.",
                )
            continue
        if aggregate.term is not None and not aggregate.term.is_plain:
            raise QueryError(
                f"{aggregate.term.expression.sql()} is of {sensitive!r}, which is perturbed, and "
                "cannot be told.",
                hint=f"Aggregate {sensitive!r} itself.",
            )
        if aggregate.column == sensitive and aggregate.function in ("MIN", "MAX"):
            raise QueryError(
                f"{aggregate.function} of a perturbed column cannot be told.",
                hint="Ask for COUNT, SUM or AVG.",
            )


def _if_taken(taken: exp.Expr | None, amount: exp.Expr) -> exp.Expr:
    """An amount where the number is one that the question takes, else 0."""
    return amount if taken is None else case(exp.paren(taken.copy()), amount, number(0))


def _powers(value: exp.Expr) -> list[exp.Expr]:
    return [number(1), value, value * value]


def _count_shown(sensitive: str, where: Conditions) -> list[exp.Expr]:
    """Records, and over those that show a number taken: how many, their sum, their squares' sum."""
    shown = double(column(sensitive))
    sums = [add_up(_if_taken(where.number, power)) for power in _powers(shown)]
    counted = exp.Count(this=exp.Star()).as_("#n", quoted=True)
    return [
        counted,
        *(
            double(exp.func("COALESCE", total, number(0))).as_(f"#s{power}", quoted=True)
            for power, total in enumerate(sums)
        ),
    ]


def _tabulate(
    attribute: Attribute, response: RandomizedResponse, taken: exp.Expr | None
) -> pl.DataFrame:
    """One row: the same averages over all numbers there are to draw from, and the outermost."""
    low, high = response.everything
    every = Labels(attribute, ["*"], None, low, high, np.zeros(1, dtype=bool))
    drawn = response.draw(select_values(every, [] if taken is None else [taken]))
    unit = 10 ** (attribute.decimals or 0)
    row = {f"#s{power}": moment / unit**power for power, moment in enumerate(drawn.moments)}
    ends = {"#low": drawn.low, "#high": drawn.high}
    return pl.DataFrame(
        row | {name: None if end is None else end / unit for name, end in ends.items()},
        schema_overrides=dict.fromkeys([*row, *ends], pl.Float64),
    )


def _estimate(aggregate: Aggregate, response: RandomizedResponse, selects: bool) -> list[exp.Expr]:
    """Give estimate, bounds and standard error, from what is shown and what is drawn."""
    p, q = (
        exp.Literal.number(repr(float(x))) for x in (response.retention, 1 - response.retention)
    )
    n = double(column("#n", SEEN))
    low, high = (double(column(end, DRAWN)) for end in ("#low", "#high"))  # nothing has no type
    some = exp.Nullif(this=n.copy(), expression=number(0))

    def solved(power: int) -> exp.Expr:
        return (column(f"#s{power}", SEEN) - n * q * column(f"#s{power}", DRAWN)) / p

    def error(power: int) -> exp.Expr:
        """Σ var of what records show, over p: each shows x or anything."""
        first, second = solved(power), solved(2 * power)
        drawn, square = column(f"#s{power}", DRAWN), column(f"#s{2 * power}", DRAWN)
        shown = p * second + n * q * square
        means = p * p * second + 2 * p * q * drawn * first + n * q * q * drawn * drawn
        spread = exp.Greatest(this=shown - means, expressions=[number(0)])
        return exp.Sqrt(this=spread) / p

    nobody = column("#n", SEEN).eq(number(0))
    if aggregate.function == "COUNT":
        if not selects:
            return state_exactly(column("#n", SEEN))
        possible = case(low.copy().is_(exp.null()), number(0), column("#n", SEEN))
        return [_clamp(solved(0), number(0), possible), number(0), possible, error(0)]
    if aggregate.function == "SUM":
        least, most = (
            (
                exp.Least(this=low, expressions=[number(0)]),
                exp.Greatest(this=high, expressions=[number(0)]),
            )
            if selects
            else (low, high)
        )
        ends = [exp.func("COALESCE", n * end, number(0)) for end in (least, most)]
        parts = [_clamp(solved(1), *ends), *ends, error(1)]
        return [case(nobody.copy(), exp.null(), part) for part in parts]
    # AVG: the sum over the count, both estimated where people are selected by the number
    people = _clamp(solved(0), number(0), n) if selects else some
    ratio = solved(1) / exp.Nullif(this=people, expression=number(0))
    error_of_mean = exp.null() if selects else error(1) / some
    parts = [_clamp(ratio, low, high), low, high, error_of_mean]
    return [case(nobody.copy(), exp.null(), part) for part in parts]


def _clamp(value: exp.Expr, low: exp.Expr, high: exp.Expr) -> exp.Expr:
    """Keep an estimate between its bounds; nothing stays nothing."""
    held = exp.Least(
        this=exp.Greatest(this=value.copy(), expressions=[double(low.copy())]),
        expressions=[double(high.copy())],
    )
    return case(value.copy().is_(exp.null()), exp.null(), held)
