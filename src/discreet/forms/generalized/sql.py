"""How a generalized release answers: how much of each box does the question cover?

A record's true values are somewhere in its box. Spread evenly, the share of the box's cells that
satisfy the predicate is the probability that the record is meant: Σ share estimates COUNT. A
record is certain if all its cells satisfy it and possible if any does, which gives hard bounds.

Attributes are independent given the box, so a predicate falls into components that share no
attribute; each is tabulated once per combination of labels, and records look their shares up.
"""

from __future__ import annotations

from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.forms.base import Statement
from discreet.release import Release
from discreet.sql.exact import name_parts
from discreet.sql.parse import Aggregate, Query
from discreet.sql.shares import (
    Share,
    add_clauses,
    join_shares,
    split_predicate,
    tabulate_shares,
    weigh_shares,
)
from discreet.sql.trees import add_up, add_up_over, case, column, double, number

TABLE, BASE, RANKED = "generalized", "base", "ranked"


def rewrite(query: Query, release: Release) -> Statement:
    """Rewrite a question into one over the generalized table, and give the cells it needs."""
    blurred = set(release.schema.quasi_identifiers)
    for aggregate in query.aggregates:
        if aggregate.column in blurred:
            raise QueryError(
                f"{aggregate.column!r} is blurred in this release: {aggregate.function} of it "
                "cannot be answered.",
                hint="Aggregate exact columns; select and group by blurred ones.",
            )
    exact, components = split_predicate(query, blurred)
    grouping = [name for name in query.group_by if name in blurred]
    shares, needed = tabulate_shares(release, TABLE, components, grouping)
    return _tabulate(query, exact, shares, grouping), needed


def _tabulate(
    query: Query, exact: list[exp.Expr], shares: list[Share], grouping: list[str]
) -> exp.Select:
    base = _base(query, exact, shares, grouping)
    averages = sorted({str(a.column) for a in query.aggregates if a.function == "AVG"})
    outer = select(*(column(name) for name in query.group_by))
    for aggregate in query.aggregates:
        outer = outer.select(*name_parts(aggregate, _bound(aggregate)))
    outer = outer.from_(exp.to_table(RANKED))
    if query.group_by:
        keys = [column(name) for name in query.group_by]
        outer = outer.group_by(*keys).order_by(*(key.copy() for key in keys))
    outer = add_clauses(outer, shares)
    outer = outer.with_(BASE, as_=base)
    return outer.with_(RANKED, as_=_rank(query, averages))


def _base(
    query: Query,
    exact: list[exp.Expr],
    shares: list[Share],
    grouping: list[str],
) -> exp.Select:
    """One row per record (and group it may fall into): its probability, and whether it is sure."""
    share, certain = weigh_shares(shares)
    columns: list[exp.Expr] = []
    for table, names, _ in shares:
        columns += [column(f"#v {n}", table).as_(n, quoted=True) for n in names if n in grouping]
    columns += [column(name, TABLE) for name in query.group_by if name not in grouping]
    wanted = sorted({a.column for a in query.aggregates if a.column is not None})
    columns += [column(name, TABLE).as_(f"#x {name}", quoted=True) for name in wanted]
    made = select(*columns, share.as_("#p", quoted=True), certain.as_("#c", quoted=True)).from_(
        exp.to_table(TABLE)
    )
    made = join_shares(made, TABLE, shares)
    for part in exact:
        made = made.where(part.copy())
    return made


def _rank(query: Query, averages: list[str]) -> exp.Select:
    """Add, for each average, the averages that adding the smallest or largest records would give.

    The least average a set of sure records can reach by adding possible ones is reached by adding
    the smallest of them first; so it is the least over the running averages.
    """
    made = select(exp.Star()).from_(exp.to_table(BASE))
    groups = [column(name) for name in query.group_by]
    for name in averages:
        value = column(f"#x {name}")
        there = case(value.copy().is_(exp.null()), number(0), number(1))
        for direction, descending in (("up", False), ("down", True)):
            sums = []
            for amount in (value, number(1)):
                kept = there * amount
                sure = add_up_over(kept * column("#c"), groups)
                extra = kept * exp.paren(1 - column("#c"))
                running = add_up_over(extra, groups, [value], descending=descending)
                parts = [exp.func("COALESCE", part, number(0)) for part in (sure, running)]
                sums.append(parts[0] + parts[1])
            ratio = double(sums[0]) / double(exp.Nullif(this=sums[1], expression=number(0)))
            made = made.select(ratio.as_(f"#{direction} {name}", quoted=True))
    return made


def _bound(aggregate: Aggregate) -> list[exp.Expr]:
    """Give estimate, bounds and standard error of one aggregate."""
    p, c = column("#p"), column("#c")
    doubt = p * exp.paren(1 - p)
    x = None if aggregate.column is None else column(f"#x {aggregate.column}")
    if aggregate.function == "COUNT":
        there = number(1) if x is None else case(x.is_(exp.null()), number(0), number(1))
        sums = [add_up(weight * there) for weight in (p, c, number(1))]
        sums.append(exp.Sqrt(this=add_up(doubt * there)))
        return [exp.func("COALESCE", total, number(0)) for total in sums]
    assert x is not None
    weighted = add_up(p * x)
    if aggregate.function == "SUM":
        least = exp.Least(this=x.copy(), expressions=[number(0)])
        most = exp.Greatest(this=x.copy(), expressions=[number(0)])
        sure = c.copy().eq(number(1))
        return [
            weighted,
            add_up(case(x.copy().is_(exp.null()), exp.null(), case(sure.copy(), x.copy(), least))),
            add_up(case(x.copy().is_(exp.null()), exp.null(), case(sure, x.copy(), most))),
            exp.Sqrt(this=add_up(doubt * double(x * x))),
        ]
    if aggregate.function == "AVG":
        people = add_up(case(x.copy().is_(exp.null()), exp.null(), p.copy()))
        return [
            double(weighted) / people,
            exp.Min(this=column(f"#up {aggregate.column}")),
            exp.Max(this=column(f"#down {aggregate.column}")),
            exp.null(),
        ]
    kind, other = (exp.Min, exp.Max) if aggregate.function == "MIN" else (exp.Max, exp.Min)
    ends = [kind(this=x.copy()), _outermost(kind, other, x, c)]
    low, high = ends if aggregate.function == "MIN" else ends[::-1]
    middle = (double(low.copy()) + double(high.copy())) / 2
    return [middle, low, high, exp.null()]


def _outermost(kind: type[exp.Expr], other: type[exp.Expr], x: exp.Expr, c: exp.Expr) -> exp.Expr:
    """The sure records bound it; if there are none, only the farthest possible one does."""
    sure = kind(this=case(c.copy().eq(number(1)), x.copy(), exp.null()))
    return exp.func("COALESCE", sure, other(this=x.copy()))
