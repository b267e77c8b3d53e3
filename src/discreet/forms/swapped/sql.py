"""How a rank-swapped release answers: every hit's own number lies in the window of the one shown.

The estimate takes the numbers shown for the true ones. Bounds add up over hits, so they are wide.
Where people are selected or grouped by the number, those may be meant whose window has a number
that is taken, and those must be of whose window all are.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl
from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.forms.base import Statement
from discreet.forms.swapped.taken import (
    HITS,
    MARKED,
    SHOWN,
    TAKEN,
    TOTAL,
    WINDOWS,
    count_taken,
    tabulate_taken,
)
from discreet.release import Release
from discreet.sql.blurred import LEAST, MOST, THERE, Factor, multiply_ends, split_term
from discreet.sql.exact import aggregate_column, name_parts, split_conditions, state_exactly
from discreet.sql.quantiles import Deltas, add_quantiles, list_deltas
from discreet.sql.query import Aggregate, Query, Term, move
from discreet.sql.trees import add_up, ascending, case, column, double, named_table, number

SWAPPED, BASE = "swapped", "base"


class SeenWindow(NamedTuple):
    """Columns of the base that tell of a term."""

    shown: exp.Expr
    low: exp.Expr
    high: exp.Expr
    sure: exp.Expr


def rewrite(query: Query, release: Release) -> Statement:
    """Rewrite a question into one over the swapped table and the windows."""
    (sensitive,) = release.schema.sensitive
    exact, about = split_conditions(query, sensitive)
    keys = [key for key in query.keys if sensitive in key.columns]
    for key in keys:
        if len(key.columns) > 1:
            raise QueryError(
                f"{key.expression.sql()} ties {sensitive!r}, which is swapped, to other columns: "
                "people cannot be grouped by it.",
                hint="Group by each of the columns.",
            )
    factors: dict[str, Factor] = {}
    known: dict[str, exp.Expr | None] = {}
    for term in query.terms:
        product = split_term(term, {sensitive}, len(factors), summed=False)
        known[term.name] = product.exact
        if product.factors:
            factors[term.name] = product.factors[0]
    listed = list(factors.values())
    selects = about is not None or bool(keys)
    plain = not keys and all(isinstance(factor.expression, exp.Column) for factor in listed)
    clauses: list[tuple[str, exp.Select]] = []
    needed: dict[str, pl.DataFrame] = {}
    if not plain:
        needed[TAKEN] = tabulate_taken(release.tables[WINDOWS], about, keys, listed)
    elif about is not None:
        clauses = list(zip((MARKED, TAKEN), count_taken(about, listed), strict=True))
    table = WINDOWS if plain and not selects else TAKEN
    base = _base(query, keys, {n: (known[n], factors.get(n)) for n in known}, table)
    on = column(sensitive, SWAPPED).eq(column("value", table))
    base = base.join(named_table(table), on=on)
    for part in exact:
        base = base.where(move(part, SWAPPED))
    return _answer(query, [*clauses, (BASE, base)], set(factors), selects=selects), needed


def _base(
    query: Query,
    keys: list[Term],
    terms: dict[str, tuple[exp.Expr | None, Factor | None]],
    table: str,
) -> exp.Select:
    """One row per record (and group it may fall into): what is shown, and what may be."""
    made = select()
    for key in query.keys:
        at = column(f"#v {key.name}", table) if key in keys else key.at(SWAPPED)
        made = made.select(at.as_(key.name, quoted=True))
    told = table == TAKEN
    sure: exp.Expr = column(HITS, table).eq(column(TOTAL, table)) if told else exp.true()
    shown = column(SHOWN, table) if told else number(1)
    made = made.select(shown.as_("#p", quoted=True), _flag(sure).as_("#c", quoted=True))
    for term in query.terms:
        known, factor = terms[term.name]
        columns = {"x": term.at(SWAPPED)}
        if factor is not None:
            parts = (LEAST, MOST) if told else ("low", "high")
            ends: list[exp.Expr] = [
                column(factor.title(part) if told else part, table) for part in parts
            ]
            if known is not None:
                exact = exp.paren(move(known, SWAPPED))
                ends = multiply_ends(ends, [exact, exact])
            there = sure
            if told:
                there = exp.and_(
                    sure.copy(), column(factor.title(THERE), table).eq(column(HITS, table))
                )
            columns |= {"least": ends[0], "most": ends[1], "c": _flag(there)}
        made = made.select(
            *(part.as_(f"#{title} {term.name}", quoted=True) for title, part in columns.items())
        )
    return made.from_(exp.to_table(SWAPPED))


def _flag(condition: exp.Expr) -> exp.Expr:
    return case(condition.copy(), number(1), number(0))


def _answer(
    query: Query, clauses: list[tuple[str, exp.Select]], swapped: set[str], *, selects: bool
) -> exp.Select:
    """Aggregate what the base has, by group."""
    seen: dict[str, SeenWindow] = {}
    for term in query.terms:
        shown = column(f"#x {term.name}")
        own = term.name in swapped
        low, high = (column(f"#{end} {term.name}") if own else shown for end in ("least", "most"))
        seen[term.name] = SeenWindow(shown, low, high, column(f"#c {term.name}" if own else "#c"))
    ranked = [a for a in query.aggregates if a.function == "QUANTILE"]
    keys = [column(name) for name in query.group_by]
    tree = select(*(key.copy() for key in keys))
    if ranked:
        tree = tree.select(exp.Count(this=exp.Star()).as_("#records", quoted=True))
    for aggregate in query.aggregates:
        if aggregate in ranked:
            continue
        plain = aggregate.term is None or aggregate.term.is_plain  # and never missing
        here = None if aggregate.term is None else seen[aggregate.term.name]
        counted = aggregate.function == "COUNT" and plain
        if not selects and (counted or aggregate.column not in swapped):
            value = exp.Count(this=exp.Star()) if here is None else (
                aggregate_column(aggregate.function, here.shown))  # fmt: skip
            parts = state_exactly(value)
        else:
            parts = _bound(aggregate, here)
        tree.select(*name_parts(aggregate, parts), copy=False)
    tree = tree.from_(named_table(BASE), copy=False)
    if keys:
        tree = tree.group_by(*(key.copy() for key in keys))
    for title, clause in clauses:
        tree.with_(exp.to_identifier(title, quoted=True), as_=clause, copy=False)
    if not ranked:
        return tree.order_by(*ascending(*keys), copy=False) if keys else tree
    found = [
        Deltas(
            list_deltas(BASE, query.group_by, (s.low, s.shown, s.high), s.sure, column("#p")),
            [a for a in ranked if a.column == name],
        )
        for name, s in seen.items()
        if any(a.column == name for a in ranked)
    ]
    return add_quantiles(query, tree, found)


def _bound(aggregate: Aggregate, seen: SeenWindow | None) -> list[exp.Expr]:
    """Give what is shown of those who show that they are meant, and bounds.

    Who shows a number of which all of the window is taken is meant for sure.
    """
    meant = column("#p").eq(number(1))
    if seen is None:
        sums = [add_up(column("#p")), add_up(column("#c")), exp.Count(this=exp.Star())]
        return [*(exp.func("COALESCE", total, number(0)) for total in sums), exp.null()]
    shown, least, most = seen.shown, seen.low, seen.high
    sure = seen.sure.eq(number(1))
    there = least.is_(exp.null()).not_()
    if aggregate.function == "COUNT":
        means = [exp.and_(meant, shown.copy().is_(exp.null()).not_()), exp.and_(sure, there), there]
        counts = [add_up(_flag(condition)) for condition in means]
        return [*(exp.func("COALESCE", total, number(0)) for total in counts), exp.null()]
    estimate = aggregate_column(aggregate.function, case(meant, shown.copy(), exp.null()))
    low: exp.Expr
    high: exp.Expr
    if aggregate.function == "SUM":
        low = exp.Least(this=least.copy(), expressions=[number(0)])
        high = exp.Greatest(this=most.copy(), expressions=[number(0)])
        ends = [add_up(case(there.copy(), case(sure.copy(), end.copy(), outer), exp.null()))
                for end, outer in ((least, low), (most, high))]  # fmt: skip
        return [estimate, *ends, exp.null()]
    low, high = exp.Min(this=least.copy()), exp.Max(this=most.copy())
    if aggregate.function == "AVG":  # of people who are all meant, the ends are averaged
        all_sure = exp.Min(this=seen.sure.copy()).eq(number(1))
        low, high = (case(all_sure.copy(), aggregate_column("AVG", end.copy()), double(outer))
                     for end, outer in ((least, low), (most, high)))  # fmt: skip
    elif aggregate.function == "MIN":
        high = exp.func("COALESCE", exp.Min(this=case(sure, most.copy(), exp.null())), high)
    else:
        low = exp.func("COALESCE", exp.Max(this=case(sure, least.copy(), exp.null())), low)
    return [estimate, low, high, exp.null()]
