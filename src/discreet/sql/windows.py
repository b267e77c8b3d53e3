"""Windows: aggregates over rows of an answer, some of which may not be in the truth.

A group that the estimates show may have nobody; a row that HAVING keeps may not belong. So rows
have two flags: whether they are kept by the estimates, and whether they surely are there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.sql import intervals
from discreet.sql.intervals import Estimate, Known, Value, find_gone, lift, wrap
from discreet.sql.reading import refuse, show
from discreet.sql.trees import add_up, case, column, double, nothing, number

if TYPE_CHECKING:
    from discreet.sql.scopes import Scope

KEPT, SURE = "#kept", "#sure"
"""Whether a row is in the answer by the estimates, and whether it surely is."""
Over = Callable[[exp.Expr], exp.Expr]
"""Puts an aggregate over a window, or leaves it as it is."""
NAMES: dict[type[exp.Expr], str] = {
    exp.Count: "COUNT", exp.Sum: "SUM", exp.Avg: "AVG", exp.Min: "MIN", exp.Max: "MAX"
}  # fmt: skip
RANKS = (exp.RowNumber, exp.Rank, exp.DenseRank)
NEIGHBOURS = (exp.Lag, exp.Lead, exp.FirstValue, exp.LastValue)


def aggregate_rows(node: exp.Expr, scope: Scope, over: Over) -> Value:
    """Aggregate rows of an answer: COUNT, SUM, AVG, MIN or MAX of what is known or estimated."""
    function = NAMES.get(type(node))
    if function is None or isinstance(node.this, exp.Distinct):
        raise refuse(
            node, f"{show(node)} of answers cannot be told", "Use COUNT, SUM, AVG, MIN or MAX."
        )
    counts = node.this is None or isinstance(node.this, exp.Star)
    value = Known(number(1)) if counts else scope.compile(node.this)
    if isinstance(value, Known) and not scope.uncertain:
        kind = type(node)
        return Known(over(kind(this=exp.Star() if counts else value.tree.copy())))
    if isinstance(value, intervals.Doubt):
        raise refuse(node, f"{show(node)} is of a condition", "Aggregate a number.")
    estimate = scope.hold(_count(lift(value)) if function == "COUNT" else lift(value))
    return bound_rows(function, estimate, scope.uncertain, over)


def _count(value: Estimate) -> Estimate:
    """Count a row for one if there is a number."""
    there = exp.false() if value.there is None else value.there
    unseen = exp.and_(wrap(value.value).is_(exp.null()), exp.not_(exp.paren(there)))
    seen = case(unseen, number(0), number(1))
    low, high = case(there, number(1), number(0)), case(find_gone(value), number(0), number(1))
    none = case(low.copy().eq(high.copy()), double(number(0)), nothing())
    return Estimate(seen, low, high, none, none, there=exp.true())


def bound_rows(function: str, value: Estimate, uncertain: bool, over: Over) -> Estimate:
    """Aggregate rows of an estimate, of which some may have no number."""
    kept: exp.Expr = column(KEPT) if uncertain else exp.true()
    sure: exp.Expr = column(SURE) if uncertain else exp.true()
    sure = (
        exp.false() if value.there is None else exp.and_(sure, exp.Paren(this=value.there.copy()))
    )
    gone = find_gone(value)

    def closed(end: exp.Expr, bound: exp.Expr) -> exp.Expr:
        """Nothing where a row has no bound."""
        open_ = exp.and_(exp.not_(exp.Paren(this=gone.copy())), wrap(end).is_(exp.null()))
        some = over(exp.Max(this=case(open_, number(1), number(0))))
        return case(exp.EQ(this=some, expression=number(1)), exp.null(), bound)

    def shown(part: exp.Expr) -> exp.Expr:
        return case(kept.copy(), part.copy(), exp.null())

    errors = [closed(e, over(add_up(shown(e)))) for e in (value.stderr, value.width)]
    if function in ("SUM", "COUNT"):
        low, high = (
            closed(end, over(add_up(case(sure.copy(), end.copy(), pick(end, number(0))))))
            for end, pick in ((value.low, intervals.least), (value.high, intervals.most))
        )
        total = over(add_up(shown(value.value)))
        parts = [total, low, high, *errors]
        if function == "COUNT":
            parts = [exp.func("COALESCE", part, number(0)) for part in parts]
        return Estimate(*parts, there=exp.true() if function == "COUNT" else None)
    if function == "AVG":
        people = over(exp.Count(this=shown(value.value)))
        return Estimate(
            over(exp.Avg(this=shown(double(value.value)))),
            closed(value.low, over(exp.Min(this=value.low.copy()))),
            closed(value.high, over(exp.Max(this=value.high.copy()))),
            *(intervals.over(error, people) for error in errors),
        )
    kind, other = (exp.Min, exp.Max) if function == "MIN" else (exp.Max, exp.Min)
    near, far = (value.low, value.high) if function == "MIN" else (value.high, value.low)
    end = closed(near, over(kind(this=near.copy())))
    surely = over(kind(this=case(sure.copy(), far.copy(), exp.null())))
    beyond = closed(far, exp.func("COALESCE", surely, over(other(this=far.copy()))))
    low, high = (end, beyond) if function == "MIN" else (beyond, end)
    return Estimate(over(kind(this=shown(value.value))), low, high, nothing(), nothing())


def open_window(scope: Scope, node: exp.Window) -> Value:
    """Compute a function over a window of rows."""
    keys = [_know(scope, key) for key in node.args.get("partition_by") or []]
    order = node.args.get("order")
    sorted_by = [(scope.compile(o.this), o) for o in order.expressions] if order else []
    certain = all(isinstance(value, Known) for value, _ in sorted_by)

    def over(function: exp.Expr) -> exp.Expr:
        made = exp.Window(this=function, partition_by=[key.copy() for key in keys])
        if sorted_by:
            made.set("order", exp.Order(expressions=[
                exp.Ordered(this=lift(value).value.copy(), desc=o.args.get("desc"),
                            nulls_first=o.args.get("nulls_first"))
                for value, o in sorted_by
            ]))  # fmt: skip
        if spec := node.args.get("spec"):
            _refuse_columns(spec)
            made.set("spec", spec.copy())
        return made

    def whole(function: exp.Expr) -> exp.Expr:
        return exp.Window(this=function, partition_by=[key.copy() for key in keys])

    inner = node.this
    if isinstance(inner, RANKS):
        kind = type(inner)
        found, last = over(kind()), whole(exp.Count(this=exp.Star()))
        if certain and not scope.uncertain:
            return Known(found)
        settled = _all_sure(scope, whole) if certain else exp.false()
        low, high = (case(settled.copy(), found.copy(), end) for end in (number(1), last))
        return scope.hold(Estimate(found, low, high, nothing(), nothing(), there=exp.true()))
    if not certain:
        raise refuse(
            node, f"{show(node)} goes by the order of estimates",
            "Order windows by what people are grouped by; RANK and ROW_NUMBER go by estimates.",
        )  # fmt: skip
    if isinstance(inner, NEIGHBOURS):
        return _look_aside(scope, inner, over, whole)
    found_value = aggregate_rows(inner, scope, over)
    if not isinstance(found_value, Estimate):
        return found_value
    spec = node.args.get("spec")
    if spec is not None and scope.uncertain and (
        str(spec.args.get("kind")).upper() != "RANGE" or spec.args.get("exclude")
    ):  # fmt: skip
        # a frame counts rows: which these are is known where all surely are there
        settled = _all_sure(scope, whole)
        low, high = (case(settled, end, nothing()) for end in (found_value.low, found_value.high))
        found_value = replace(found_value, low=low, high=high)
    return scope.hold(found_value)


def _know(scope: Scope, node: exp.Expr) -> exp.Expr:
    value = scope.compile(node)
    if not isinstance(value, Known):
        raise refuse(node, f"{show(node)} is estimated: rows cannot be parted by it")
    return value.tree


def _refuse_columns(node: exp.Expr) -> None:
    """Refuse a frame, or what stands in for a row that is not there, that goes by columns."""
    if node.find(exp.Column, exp.Query, exp.Func) is not None:
        raise refuse(node, f"{show(node)} goes by other columns, which may be estimated",
                     "Write numbers there.")  # fmt: skip


def _all_sure(scope: Scope, whole: Over) -> exp.Expr:
    if not scope.uncertain:
        return exp.true()
    least = whole(exp.Min(this=case(column(SURE), number(1), number(0))))
    return exp.EQ(this=least, expression=number(1))


def _look_aside(scope: Scope, inner: exp.Expr, over: Over, whole: Over) -> Value:
    """Take a row before or behind: which one that is, is known where all rows surely are there."""
    value = scope.compile(inner.this)
    for name in ("offset", "default"):
        if inner.args.get(name) is not None:
            _refuse_columns(inner.args[name])

    def at(part: exp.Expr) -> exp.Expr:
        moved = inner.copy()
        moved.set("this", part.copy())
        return over(moved)

    if isinstance(value, Known) and not scope.uncertain:
        return Known(at(value.tree))
    estimate = scope.hold(lift(value))
    settled = _all_sure(scope, whole)
    ends = [case(settled.copy(), at(part), nothing()) for part in estimate.parts[1:]]
    return scope.hold(Estimate(at(estimate.value), *ends))
