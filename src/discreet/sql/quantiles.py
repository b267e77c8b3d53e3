"""Quantiles with hard bounds, MIN and MAX among them, of people of whom not all is known.

A form lists numbers with what they add to five running counts: how many people may be at or below
a number at most (``a most``) while as few as can be are above it (``b least``), how many are there
at least (``a least``) while as many as can be are above (``b most``), and how many are expected
there (``mean``). With a below or at v and b above, the lower of the two people that a quantile lies
between is at most v where ``a (1-q) + q > b q``, and the upper one where ``a (1-q) - b q >= 1-q``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, floor
from typing import NamedTuple

from sqlglot import exp, select

from discreet.sql.exact import name_parts
from discreet.sql.query import Aggregate, Query
from discreet.sql.trees import (
    add_up,
    add_up_over,
    ascending,
    case,
    column,
    double,
    named_table,
    number,
)

ORDERED = ("MIN", "MAX", "QUANTILE")
"""Aggregates that go by the order of numbers."""
VALUE = "#value"
COUNTS = ("#a most", "#b least", "#a least", "#b most")
MEAN = "#mean"
COUNTED = "#counted"
FINEST = 10**9
"""Shares are compared in whole numbers; finer ones are widened to parts of so many."""


class Deltas(NamedTuple):
    """Numbers of one term with what they add to the counts, and the aggregates asked of it."""

    listed: exp.Expr
    """A query with the keys of groups, ``#value``, the counts and the mean; it has no nulls."""
    aggregates: Sequence[Aggregate]
    has_middle: bool = True
    """Whether they are numbers indeed, and not only in an order."""


def list_deltas(
    source: str,
    keys: Sequence[str],
    ends: tuple[exp.Expr, exp.Expr, exp.Expr],
    sure: exp.Expr,
    weight: exp.Expr,
) -> exp.Expr:
    """List the deltas of single records that may be meant.

    ``ends`` are the least number a record may have, its expected one and the most; where they are
    the same expression the number is known. ``sure`` is 1 where it is meant for sure, else 0.
    """
    low, middle, high = ends
    none = number(0)

    def read(value: exp.Expr, counts: Sequence[exp.Expr]) -> exp.Select:
        made = select(*(column(key) for key in keys), double(value.copy()).as_(VALUE, quoted=True))
        named = zip((*COUNTS, MEAN), counts, strict=True)
        made = made.select(*(count.copy().as_(name, quoted=True) for name, count in named))
        return made.from_(named_table(source)).where(value.copy().is_(exp.null()).not_())

    if low == high:
        return read(low, [number(1), sure, sure, number(1), weight])
    return exp.union(
        read(low, [number(1), sure, none, none, double(none)]),
        read(high, [none, none, sure, number(1), double(none)]),
        read(middle, [none, none, none, none, weight]),
        distinct=False,
    )


def add_quantiles(query: Query, counted: exp.Select, found: Sequence[Deltas]) -> exp.Select:
    """Answer a question from what a statement counts, by group, and from lists of deltas.

    ``counted`` gives every group, under the names of the keys, and the parts of all aggregates that
    ``found`` has not; clauses that it and the lists build on are its own, and it is not ordered.
    """
    ranked = {a.alias: place for place, deltas in enumerate(found) for a in deltas.aggregates}
    answer = select(*(column(name, COUNTED) for name in query.group_by))
    for aggregate in query.aggregates:
        place = ranked.get(aggregate.alias)
        table = COUNTED if place is None else _title("quantiles", place)
        answer.select(*(column(name, table) for name in aggregate.names), copy=False)
    answer.from_(named_table(COUNTED), copy=False)
    clauses = counted.args.get("with_")
    if clauses is not None:
        counted.set("with_", None)
        answer.set("with_", clauses)
    _name(answer, COUNTED, counted)
    for place, deltas in enumerate(found):
        titles = [_title(word, place) for word in ("deltas", "running", "quantiles")]
        made = [deltas.listed, _run(titles[0], query.group_by), _find(titles[1], query, deltas)]
        for title, clause in zip(titles, made, strict=True):
            _name(answer, title, clause)
        same = [exp.NullSafeEQ(this=column(key, COUNTED), expression=column(key, titles[2]))
                for key in query.group_by]  # fmt: skip
        join = {"on": exp.and_(*same), "join_type": "LEFT"} if same else {"join_type": "CROSS"}
        answer.join(named_table(titles[2]), copy=False, **join)
    keys = [column(name, COUNTED) for name in query.group_by]
    return answer.order_by(*ascending(*keys), copy=False) if keys else answer


def _title(word: str, place: int) -> str:
    return f"#{word} {place}"


def _name(statement: exp.Select, title: str, clause: exp.Expr) -> None:
    statement.with_(exp.to_identifier(title, quoted=True), as_=clause, copy=False)


def _run(listed: str, keys: Sequence[str]) -> exp.Select:
    """Add the deltas up, up to and with each number; and those of numbers above it."""
    every = [*(column(key) for key in keys), column(VALUE)]
    summed = [*COUNTS, MEAN]
    each = select(*every, *(add_up(column(name)).as_(name, quoted=True) for name in summed))
    each = each.from_(named_table(listed)).group_by(*(key.copy() for key in every))
    groups, at = every[:-1], every[-1]
    shown: list[exp.Expr] = [key.copy() for key in every]
    for name in summed:
        here = column(name)
        total = add_up_over(here, groups)
        upto = add_up_over(here.copy(), groups, [at])
        running = total.copy() - upto if name.startswith("#b") else upto
        shown.append(running.as_(name, quoted=True))
        if name in (COUNTS[0], MEAN):
            shown.append(total.as_("#weight" if name == MEAN else "#people", quoted=True))
    possible = exp.GT(this=column(COUNTS[3]), expression=number(0))
    same = [column(COUNTS[0]).eq(column(other)) for other in COUNTS[1:]]
    shown.append(case(possible, at.copy(), exp.null()).as_("#there", quoted=True))
    shown.append(case(exp.and_(*same), number(1), number(0)).as_("#known", quoted=True))
    return select(*shown).from_(each.subquery("each", copy=False), copy=False)


def _find(running: str, query: Query, deltas: Deltas) -> exp.Select:
    """Find where the running counts pass shares, per group, and state what follows."""
    keys = [column(name) for name in query.group_by]
    known, people = exp.Min(this=column("#known")), exp.Max(this=column("#people"))
    passed: list[exp.Expr] = [known.as_("#known", quoted=True), people.as_("#people", quoted=True)]
    stated: list[exp.Expr] = []
    for i, aggregate in enumerate(deltas.aggregates):
        titles = [f"#{end} {i}" for end in ("low", "high", "at")]
        share = _share(aggregate)
        passed += [e.as_(t, quoted=True) for e, t in zip(_pass(share), titles, strict=True)]
        ends = [column(title) for title in titles]
        stated += name_parts(aggregate, _state(share, *ends, has_middle=deltas.has_middle))
    found = select(*keys, *passed).from_(named_table(running))
    if keys:
        found = found.group_by(*(key.copy() for key in keys), copy=False)
    return select(*(key.copy() for key in keys), *stated).from_(found.subquery("found", copy=False))


def _pass(share: Fraction) -> tuple[exp.Expr, exp.Expr, exp.Expr]:
    """Give the bounds, and the first number with as many at or below it as is expected."""
    a_most, b_least, a_least, b_most = (column(name) for name in COUNTS)
    under, over = _widen(share)
    lower = exp.GT(
        this=a_most * number(under.denominator - under.numerator) + number(under.numerator),
        expression=b_least * number(under.numerator),
    )
    someone = exp.GTE(this=a_most.copy(), expression=number(1))
    upper = exp.GTE(
        this=a_least * number(over.denominator - over.numerator) - b_most * number(over.numerator),
        expression=number(over.denominator - over.numerator),
    )
    least = column("#weight") * _write(share) - _write(Fraction(1, FINEST))
    expected = exp.GTE(this=column(MEAN), expression=least)
    first, last, at = (
        exp.Min(this=case(condition, column(VALUE), exp.null()))
        for condition in (exp.and_(someone, lower), upper, expected)
    )
    return first, exp.func("COALESCE", last, exp.Max(this=column("#there"))), at


def _state(
    share: Fraction, low: exp.Expr, high: exp.Expr, at: exp.Expr, *, has_middle: bool
) -> list[exp.Expr]:
    """Give a quantile and its bounds; where all is known it is told, and has no error.

    What has no middle is expected where it is for sure.
    """
    known = column("#known").eq(number(1))
    error = case(known, double(number(0)), exp.null())
    if share in (0, 1):  # the order of numbers alone says nothing of what to expect
        middle = (low + high) / 2 if has_middle else (low if share else high)
        return [middle, low, high, error, error]
    place = exp.paren(double(column("#people")) - number(1)) * _write(share)
    rest = exp.paren(place - exp.Floor(this=place.copy()))
    between = low + exp.paren(high - low) * rest
    held = exp.Least(this=exp.Greatest(this=at, expressions=[low]), expressions=[high])
    parts = [case(known.copy(), between, part) for part in (held, low, high)]
    return [*parts, error, error]


def _share(aggregate: Aggregate) -> Fraction:
    """The share of people who are below: nobody below the least, everybody below the most."""
    if aggregate.function == "QUANTILE":
        assert aggregate.share is not None
        return aggregate.share
    return Fraction(int(aggregate.function == "MAX"))


def _widen(share: Fraction) -> tuple[Fraction, Fraction]:
    """Give shares of few digits at or around one: quantiles grow with the share."""
    if share.denominator <= FINEST:
        return share, share
    return Fraction(floor(share * FINEST), FINEST), Fraction(ceil(share * FINEST), FINEST)


def _write(share: Fraction) -> exp.Expr:
    return double(exp.Literal.number(repr(float(share))))
