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
from discreet.sql.coarse import list_coarse, write_ends
from discreet.sql.exact import name_parts
from discreet.sql.query import Aggregate, Query, Term
from discreet.sql.shares import (
    Share,
    add_clauses,
    bound_shares,
    find_share,
    join_shares,
    split_predicate,
    tabulate_shares,
    weigh_shares,
)
from discreet.sql.trees import (
    add_up,
    add_up_over,
    aggregate_once,
    ascending,
    case,
    column,
    double,
    number,
)
from discreet.sql.widths import add_squares, reach_sum, weigh_ends, widen_average, widen_sum
from discreet.table.coarsening import is_coarse
from discreet.table.schema import Schema

TABLE, BASE, RANKED, SUMS = "generalized", "base", "ranked", "sums"


def rewrite(query: Query, release: Release) -> Statement:
    """Rewrite a question into one over the generalized table, and give the cells it needs."""
    blurred = set(release.schema.quasi_identifiers)
    for aggregate in query.aggregates:
        for name in sorted(aggregate.columns & blurred):
            raise QueryError(
                f"{name!r} is blurred in this release: {aggregate.function} of it "
                "cannot be answered.",
                hint="Aggregate exact columns; select and group by blurred ones.",
            )
    exact, components = split_predicate(query, blurred | list_coarse(release))
    grouping = [key for key in query.keys if key.columns & blurred]
    shares, needed = tabulate_shares(release, TABLE, components, grouping)
    return _tabulate(query, exact, shares, grouping, release.schema), needed


def _tabulate(
    query: Query, exact: list[exp.Expr], shares: list[Share], grouping: list[Term], schema: Schema
) -> exp.Select:
    base = _base(query, exact, shares, grouping, schema)
    averages = sorted({str(a.column) for a in query.aggregates if a.function == "AVG"})
    outer = select(*(column(name) for name in query.group_by))
    for aggregate in query.aggregates:
        ends = _ends(aggregate.column, schema)
        outer = outer.select(*name_parts(aggregate, _bound(aggregate, *ends)))
    outer = outer.from_(exp.to_table(RANKED))
    if query.group_by:
        keys = [column(name) for name in query.group_by]
        outer = outer.group_by(*keys).order_by(*ascending(*keys))
    clauses = add_clauses(outer, shares).with_(BASE, as_=base)
    clauses = clauses.with_(RANKED, as_=_rank(query, averages, schema))
    return aggregate_once(clauses, SUMS)


def _ends(name: str | None, schema: Schema) -> list[exp.Column]:
    """Where the least and the largest are that a number may be: mostly it is what it is."""
    coarse = _is_coarse(name, schema)
    return [column(f"#{end} {name}") for end in (("least", "most") if coarse else ("x", "x"))]


def _is_coarse(name: str | None, schema: Schema) -> bool:
    return name in schema.names and is_coarse(schema[name])


def _base(
    query: Query,
    exact: list[exp.Expr],
    shares: list[Share],
    grouping: list[Term],
    schema: Schema,
) -> exp.Select:
    """One row per record (and group it may fall into): its probability, and whether it is sure."""
    share, certain = weigh_shares(shares)
    columns: list[exp.Expr] = []
    for key in query.keys:
        at = (
            key.at(TABLE)
            if key not in grouping
            else column(f"#v {key.name}", find_share(key, shares))
        )
        columns.append(at.as_(key.name, quoted=True))
    columns += [term.at(TABLE).as_(f"#x {term.name}", quoted=True) for term in query.terms]
    for name in (term.name for term in query.terms):
        if _is_coarse(name, schema):
            ends = zip(
                ("least", "most"), write_ends(schema[name], column(name, TABLE)), strict=True
            )
            columns += [end.as_(f"#{which} {name}", quoted=True) for which, end in ends]
    columns += [share.as_("#p", quoted=True), certain.as_("#c", quoted=True)]
    columns += [end.as_(title, quoted=True) for end, title in weigh_ends(*bound_shares(shares))]
    made = select(*columns).from_(exp.to_table(TABLE))
    made = join_shares(made, TABLE, shares)
    for part in exact:
        made = made.where(part.copy())
    return made


def _rank(query: Query, averages: list[str], schema: Schema) -> exp.Select:
    """Add, for each average, the averages that adding the smallest or largest records would give.

    The least average a set of sure records can reach by adding possible ones is reached by adding
    the smallest of them first; so it is the least over the running averages.
    """
    made = select(exp.Star()).from_(exp.to_table(BASE))
    groups = [column(name) for name in query.group_by]
    for name in averages:
        there = case(column(f"#x {name}").is_(exp.null()), number(0), number(1))
        least, most = _ends(name, schema)
        for direction, value, descending in (("up", least, False), ("down", most, True)):
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


def _bound(aggregate: Aggregate, low: exp.Column, high: exp.Column) -> list[exp.Expr]:
    """Give all parts of one aggregate of what is from low to high."""
    p, c = column("#p"), column("#c")
    doubt = p * exp.paren(1 - p)
    x = None if aggregate.column is None else column(f"#x {aggregate.column}")
    if aggregate.function == "COUNT":
        there = number(1) if x is None else case(x.is_(exp.null()), number(0), number(1))
        sums = [add_up(weight * there) for weight in (p, c, number(1))]
        error = exp.Sqrt(this=add_up(doubt * there))
        width = widen_sum(sums, *reach_sum(there), error)
        return [exp.func("COALESCE", total, number(0)) for total in (*sums, error, width)]
    assert x is not None
    weighted = add_up(p * x)
    coarse = low.name != x.name
    if aggregate.function == "SUM":
        least = exp.Least(this=low.copy(), expressions=[number(0)])
        most = exp.Greatest(this=high.copy(), expressions=[number(0)])
        sure, empty = c.copy().eq(number(1)), x.copy().is_(exp.null())
        ends = [
            add_up(case(empty, exp.null(), case(sure.copy(), end.copy(), outer)))
            for end, outer in ((low, least), (high, most))
        ]
        if coarse:
            return [weighted, *_close(ends, x, [low, high]), exp.null()]
        error = exp.Sqrt(this=add_up(doubt * double(x * x)))
        return [weighted, *ends, error, widen_sum([weighted, *ends], *reach_sum(double(x)), error)]
    if aggregate.function == "AVG":
        people = add_up(case(x.copy().is_(exp.null()), exp.null(), p.copy()))
        ends = [
            exp.Min(this=column(f"#up {x.name[3:]}")),
            exp.Max(this=column(f"#down {x.name[3:]}")),
        ]
        average = double(weighted) / people
        if coarse:
            return [average, *_close(ends, x, [low, high]), exp.null()]
        spread = exp.Sqrt(this=add_squares(x, doubt, average)) / people
        return [average, *ends, spread, widen_average([average, *ends], x)]
    kind, other = (exp.Min, exp.Max) if aggregate.function == "MIN" else (exp.Max, exp.Min)
    near, far = (low, high) if aggregate.function == "MIN" else (high, low)
    (end,) = _close([kind(this=near.copy())], x, [near])
    (beyond,) = _close([other(this=far.copy())], x, [far])
    ends = [end, _outermost(kind, beyond, far, c)]
    low_end, high_end = ends if aggregate.function == "MIN" else ends[::-1]
    middle = (double(low_end.copy()) + double(high_end.copy())) / 2
    return [middle, low_end, high_end, exp.null()]


def _close(bounds: list[exp.Expr], x: exp.Expr, ends: list[exp.Column]) -> list[exp.Expr]:
    """Give bounds; nothing where a number has no end there."""
    closed = []
    for bound, end in zip(bounds, ends, strict=True):
        if end.name == x.name:
            closed.append(bound)
            continue
        there, nowhere = x.copy().is_(exp.null()).not_(), end.copy().is_(exp.null())
        open_ = exp.Max(this=case(exp.and_(there, nowhere), number(1), number(0)))
        closed.append(case(open_.eq(number(1)), exp.null(), bound))
    return closed


def _outermost(kind: type[exp.Expr], beyond: exp.Expr, end: exp.Expr, c: exp.Expr) -> exp.Expr:
    """The sure records bound it; if there are none, only the farthest possible one does."""
    sure = kind(this=case(c.copy().eq(number(1)), end.copy(), exp.null()))
    return exp.func("COALESCE", sure, beyond)
