"""How a rank-swapped release answers: every hit's own number lies in the window of the one shown.

The estimate takes the numbers shown for the true ones. Bounds add up over hits, so they are wide.
Where people are selected by the number, those may be meant whose window has a number that is taken,
and those must be of whose window all are.
"""

from __future__ import annotations

from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.forms.base import Statement
from discreet.release import Release
from discreet.sql.exact import (
    aggregate_column,
    is_exact,
    name_parts,
    split_conditions,
    state_exactly,
)
from discreet.sql.query import Aggregate, Query, move
from discreet.sql.trees import add_up, ascending, case, column, named_table, number
from discreet.table.schema import Schema

SWAPPED, WINDOWS, MARKED, TAKEN = "swapped", "windows", "#marked", "#taken windows"


def rewrite(query: Query, release: Release) -> Statement:
    """Rewrite a question into one over the swapped table and the windows."""
    schema = release.schema
    (sensitive,) = schema.sensitive
    if any(sensitive in key.columns for key in query.keys):
        raise QueryError(
            f"{sensitive!r} is swapped: people cannot be grouped by it.",
            hint="Ask for ranges of it, one by one.",
        )
    exact, about = split_conditions(query, sensitive)
    for term in query.terms:
        if sensitive in term.columns and not term.is_plain:
            raise QueryError(
                f"{term.expression.sql()} is of {sensitive!r}, which is swapped, and cannot be "
                "bounded.",
                hint=f"Aggregate {sensitive!r} itself.",
            )
    keys = [key.at(SWAPPED) for key in query.keys]
    tree = select(*(at.as_(k.name, quoted=True) for at, k in zip(keys, query.keys, strict=True)))
    bound = _bound_all if about is None else _bound_taken
    for aggregate in query.aggregates:
        tree = tree.select(*name_parts(aggregate, bound(aggregate, schema)))
    windows = WINDOWS if about is None else TAKEN
    on = column(sensitive, SWAPPED).eq(column("value", windows))
    tree = tree.from_(exp.to_table(SWAPPED)).join(named_table(windows), on=on)
    for part in exact:
        tree = tree.where(move(part, SWAPPED))
    if keys:
        tree = tree.group_by(*keys).order_by(*ascending(*keys))
    if about is None:
        return tree, {}
    tree = tree.where(exp.GT(this=column("#hits", TAKEN), expression=number(0)))
    marked, taken = _tabulate(about)
    tree = tree.with_(exp.to_identifier(MARKED, quoted=True), as_=marked)
    return tree.with_(exp.to_identifier(TAKEN, quoted=True), as_=taken), {}


def _bound_all(aggregate: Aggregate, schema: Schema) -> list[exp.Expr]:
    """Of people who are selected by what is exact: all of them are meant."""
    if aggregate.term is None:
        return state_exactly(exp.Count(this=exp.Star()))
    shown = aggregate.term.at(SWAPPED)
    if is_exact(aggregate, schema) or aggregate.function == "COUNT":
        return state_exactly(aggregate_column(aggregate.function, shown))
    ends = (shown, column("low", WINDOWS), column("high", WINDOWS))
    return [*(aggregate_column(aggregate.function, end) for end in ends), exp.null()]


def _tabulate(about: exp.Expr) -> tuple[exp.Select, exp.Select]:
    """Per number shown: whether it is taken, how many of its window are, the least and the most.

    Windows are runs of the numbers there are, so running counts and extremes at their ends do.
    """
    value = column("value")
    here = about.transform(lambda n: value.copy() if isinstance(n, exp.Column) else n)
    taken = case(here, number(1), number(0))
    kept = case(here.copy(), value.copy(), exp.null())

    def over(function: exp.Expr, start: str, end: str) -> exp.Expr:
        order = exp.Order(expressions=[exp.Ordered(this=value.copy())])
        side = {"UNBOUNDED": "PRECEDING"}.get(start)
        spec = exp.WindowSpec(kind="ROWS", start=start, start_side=side, end=end,
                              end_side={"UNBOUNDED": "FOLLOWING"}.get(end))  # fmt: skip
        return exp.Window(this=function, order=order, spec=spec)

    marked = select(
        value.copy(), column("low"), column("high"), taken.as_("#taken", quoted=True),
        over(add_up(taken.copy()), "UNBOUNDED", "CURRENT ROW").as_("#upto", quoted=True),
        over(exp.Count(this=exp.Star()), "UNBOUNDED", "CURRENT ROW").as_("#rank", quoted=True),
        over(exp.Min(this=kept), "CURRENT ROW", "UNBOUNDED").as_("#next", quoted=True),
        over(exp.Max(this=kept.copy()), "UNBOUNDED", "CURRENT ROW").as_("#last", quoted=True),
    ).from_(exp.to_table(WINDOWS))  # fmt: skip

    def within(name: str, own: exp.Expr) -> exp.Expr:
        return column(name, "h") - column(name, "l") + own

    found = select(
        column("value", "m"),
        column("#taken", "m"),
        within("#upto", column("#taken", "l")).as_("#hits", quoted=True),
        within("#rank", number(1)).as_("#total", quoted=True),
        column("#next", "l").as_("#least", quoted=True),
        column("#last", "h").as_("#most", quoted=True),
    ).from_(named_table(MARKED, "m"))
    for alias, end in (("l", "low"), ("h", "high")):
        on = column(end, "m").eq(column("value", alias))
        found = found.join(named_table(MARKED, alias), on=on)
    return marked, found


def _bound_taken(aggregate: Aggregate, schema: Schema) -> list[exp.Expr]:
    """Of people who are selected by the number itself: it shows who may be, and who must be.

    Who shows a number of which all of the window is taken is meant for sure.
    """
    hits, total = column("#hits", TAKEN), column("#total", TAKEN)
    sure = hits.eq(total)
    meant = column("#taken", TAKEN).eq(number(1))
    if aggregate.term is None or aggregate.function == "COUNT":
        there: exp.Expr = number(1)
        if aggregate.term is not None:
            empty = exp.paren(aggregate.term.at(SWAPPED)).is_(exp.null())
            there = case(empty, number(0), number(1))
        sums = [add_up(case(meant, there, number(0))), add_up(case(sure, there.copy(), number(0))),
                add_up(there.copy())]  # fmt: skip
        return [*(exp.func("COALESCE", total, number(0)) for total in sums), exp.null()]
    shown = aggregate.term.at(SWAPPED)
    least, most = shown.copy(), shown.copy()
    if not is_exact(aggregate, schema):
        least, most = column("#least", TAKEN), column("#most", TAKEN)
    value = case(meant, shown, exp.null())
    estimate = aggregate_column(aggregate.function, value)
    if aggregate.function == "SUM":
        low = case(sure, least, exp.Least(this=least.copy(), expressions=[number(0)]))
        high = case(sure.copy(), most, exp.Greatest(this=most.copy(), expressions=[number(0)]))
        return [estimate, add_up(low), add_up(high), exp.null()]
    low, high = exp.Min(this=least), exp.Max(this=most)
    if aggregate.function == "MIN":
        high = exp.func("COALESCE", exp.Min(this=case(sure, most.copy(), exp.null())), high)
    elif aggregate.function == "MAX":
        low = exp.func("COALESCE", exp.Max(this=case(sure, least.copy(), exp.null())), low)
    return [estimate, low, high, exp.null()]
