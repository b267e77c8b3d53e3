"""How a generalized release answers: how much of each box does the question cover?

A record's true values are somewhere in its box. Spread evenly, the share of the box's cells that
satisfy the predicate is the probability that the record is meant: Σ share estimates COUNT. A
record is certain if all its cells satisfy it and possible if any does, which gives hard bounds.

Attributes are independent given the box, so a predicate falls into components that share no
attribute; each is tabulated once per combination of labels, and records look their shares up. What
is aggregated of a blurred attribute is tabulated there too: its ends, and its mean if people are
spread evenly.
"""

from __future__ import annotations

from typing import NamedTuple

import polars as pl
from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.forms.base import Statement
from discreet.forms.counterfeits import COUNTERFEITS
from discreet.forms.generalized.view import BOXES, CLASS, PEOPLE, find_boxes, share_classes
from discreet.release import Release
from discreet.sql.blurred import NUMBERS, Product, split_term
from discreet.sql.coarse import list_coarse, write_ends
from discreet.sql.exact import name_parts
from discreet.sql.quantiles import Deltas, add_quantiles, list_deltas
from discreet.sql.query import Aggregate, Query, Term
from discreet.sql.shares import (
    Share,
    add_clauses,
    bound_shares,
    find_share,
    join_shares,
    split_predicate,
    tabulate_shares,
    tell_product,
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
    name_part,
    nothing,
    number,
)
from discreet.sql.widths import add_squares, reach_sum, weigh_ends, widen_average, widen_sum
from discreet.table.coarsening import is_coarse
from discreet.table.schema import Schema

TABLE, BASE, RANKED, SUMS = "generalized", "base", "ranked", "sums"


class Sight(NamedTuple):
    """What is known of a term: columns of the base."""

    x: exp.Column
    """What it is expected to be, nothing where it is missing for sure."""
    low: exp.Column
    high: exp.Column
    p: exp.Column
    """The probability that a record is meant and the term is there."""
    c: exp.Column
    """1 where both are sure, else 0."""
    square: exp.Column | None = None
    """What its square is expected to be, where it is not that of what it is."""
    is_open: bool = False
    """Whether it may have no end below or above."""
    is_full: bool = False
    """Whether every record has it."""

    @property
    def there(self) -> exp.Expr:
        """1 where it is there, else 0."""
        return number(1) if self.is_full else case(
            self.x.copy().is_(exp.null()), number(0), number(1))  # fmt: skip


def rewrite(query: Query, release: Release) -> Statement:
    """Rewrite a question into one over the generalized table, and give the cells it needs."""
    blurred = set(release.schema.quasi_identifiers)
    products = _split_terms(query, blurred, release.schema)
    told = [factor for product in products.values() for factor in product.factors]
    exact, components = split_predicate(query, blurred | list_coarse(release), told)
    grouping = [key for key in query.keys if key.columns & blurred]
    shares, needed = tabulate_shares(release, TABLE, components, grouping, told)
    if COUNTERFEITS in release.tables:  # a record may be nobody's, whatever it shows
        needed[PEOPLE] = share_classes(release)
        shares.append(Share(PEOPLE, [release.own(CLASS)], None))
    boxes = find_boxes(release) if shares else None
    if boxes is not None:
        needed[BOXES] = boxes
    people = _look_up(shares, boxes, release.own(CLASS))
    base = _base(query, people, exact, shares, grouping, products, release.schema)
    return _tabulate(query, base, shares, products, release), needed


def _split_terms(query: Query, blurred: set[str], schema: Schema) -> dict[str, Product]:
    """Part what is aggregated into factors over one blurred attribute each."""
    products: dict[str, Product] = {}
    for aggregate in query.aggregates:
        for name in sorted(aggregate.columns):
            unclear = aggregate.function == "QUANTILE" or name in blurred
            if unclear and is_coarse(schema[name]):
                raise QueryError(
                    f"{name!r} was made coarser in this release: {aggregate.function} of it "
                    "cannot be answered.",
                    hint="Count people, or aggregate other columns.",
                )
    for term in query.terms:
        functions = {a.function for a in query.aggregates if a.column == term.name}
        first = sum(len(product.factors) for product in products.values())
        summed = bool(functions & {"SUM", "AVG", "QUANTILE"}) or (
            len(term.columns) > 1 and functions != {"COUNT"}
        )
        products[term.name] = split_term(term, blurred, first, summed=summed)
    return products


def _tabulate(
    query: Query,
    base: exp.Select,
    shares: list[Share],
    products: dict[str, Product],
    release: Release,
) -> exp.Select:
    sights = {term.name: _see(term, products[term.name], release) for term in query.terms}
    ordered = [a for a in query.aggregates if a.function == "QUANTILE"]
    averages = sorted({str(a.column) for a in query.aggregates if a.function == "AVG"})
    keys = [column(name) for name in query.group_by]
    shown: list[exp.Expr] = [key.copy() for key in keys]
    if ordered:
        shown.append(exp.Count(this=exp.Star()).as_("#records", quoted=True))
    for aggregate in query.aggregates:
        if aggregate not in ordered:
            sight = None if aggregate.term is None else sights[aggregate.term.name]
            middle = aggregate.term is None or _is_number(aggregate.term, release.schema)
            shown += name_parts(aggregate, _bound(aggregate, sight, has_middle=middle))
    outer = select(*shown).from_(exp.to_table(RANKED), copy=False)
    if keys:
        outer = outer.group_by(*keys, copy=False)
    outer = add_clauses(aggregate_once(outer, SUMS), shares)
    outer.with_(BASE, as_=base, copy=False)
    ranked = _rank(query, {name: sights[name] for name in averages})
    outer.with_(RANKED, as_=ranked, copy=False)
    clauses = outer.args["with_"].expressions
    clauses.append(clauses.pop(0))  # sums are of what is ranked
    if not ordered:
        return outer.order_by(*ascending(*keys), copy=False) if keys else outer
    found = [
        Deltas(
            list_deltas(BASE, query.group_by, (s.low, s.x, s.high), s.c, s.p),
            [a for a in ordered if a.column == name],
        )
        for name, s in sights.items()
        if any(a.column == name for a in ordered)
    ]
    return add_quantiles(query, outer, found)


def _see(term: Term, product: Product, release: Release) -> Sight:
    """Say where in the base it stands what is known of a term: mostly it is what it is."""
    name = term.name
    x, p, c = column(f"#x {name}"), column("#p"), column("#c")
    low, high = column(f"#least {name}"), column(f"#most {name}")
    if product.factors:
        p, c = column(f"#p {name}"), column(f"#c {name}")
        return Sight(x, low, high, p, c, column(f"#xx {name}"))
    if _is_coarse(name, release.schema):
        return Sight(x, low, high, p, c, is_open=True)
    is_full = term.is_plain and not release.tables[TABLE][name].null_count()
    return Sight(x, x, x, p, c, is_full=is_full)


def _is_coarse(name: str | None, schema: Schema) -> bool:
    return name in schema.names and is_coarse(schema[name])


def _is_number(term: Term, schema: Schema) -> bool:
    return not term.is_plain or schema[term.name].type in NUMBERS


def _look_up(shares: list[Share], boxes: pl.DataFrame | None, own: str) -> exp.Select:
    """Let every record look its shares up: what goes by labels by those of its class, if listed."""
    made = select().from_(exp.to_table(TABLE), copy=False)
    if boxes is None:
        return join_shares(made, TABLE, shares)
    same = column(own, TABLE).eq(column(own, BOXES))
    made = made.join(exp.to_table(BOXES), on=same, copy=False)
    listed = set(boxes.columns)
    made = join_shares(made, BOXES, [share for share in shares if listed.issuperset(share.names)])
    return join_shares(made, TABLE, [s for s in shares if not listed.issuperset(s.names)])


def _base(
    query: Query,
    people: exp.Select,
    exact: list[exp.Expr],
    shares: list[Share],
    grouping: list[Term],
    products: dict[str, Product],
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
    for term in query.terms:
        name, product = term.name, products[term.name]
        if product.factors:
            told = tell_product(product, TABLE, shares, share, certain)
            columns += [part.as_(f"#{title} {name}", quoted=True) for title, part in told.items()]
            continue
        columns.append(term.at(TABLE).as_(f"#x {name}", quoted=True))
        if _is_coarse(name, schema):
            ends = zip(
                ("least", "most"), write_ends(schema[name], column(name, TABLE)), strict=True
            )
            columns += [end.as_(f"#{which} {name}", quoted=True) for which, end in ends]
    columns += [share.as_("#p", quoted=True), certain.as_("#c", quoted=True)]
    columns += [end.as_(title, quoted=True) for end, title in weigh_ends(*bound_shares(shares))]
    made = people.select(*columns, copy=False)
    for part in exact:
        made = made.where(part.copy())
    return made


def _rank(query: Query, averages: dict[str, Sight]) -> exp.Select:
    """Add, for each average, the averages that adding the smallest or largest records would give.

    The least average a set of sure records can reach by adding possible ones is reached by adding
    the smallest of them first; so it is the least over the running averages.
    """
    made = select(exp.Star()).from_(exp.to_table(BASE))
    groups = [column(name) for name in query.group_by]
    for name, sight in averages.items():
        there = sight.there
        for direction, value, descending in (("up", sight.low, False), ("down", sight.high, True)):
            sums = []
            for amount in (value, number(1)):
                kept = there * amount
                sure = add_up_over(kept * sight.c, groups)
                extra = kept * exp.paren(1 - sight.c)
                running = add_up_over(extra, groups, [value], descending=descending)
                parts = [exp.func("COALESCE", part, number(0)) for part in (sure, running)]
                sums.append(parts[0] + parts[1])
            ratio = double(sums[0]) / double(exp.Nullif(this=sums[1], expression=number(0)))
            made.select(name_part(ratio, f"#{direction} {name}"), copy=False)
    return made


def _bound(aggregate: Aggregate, sight: Sight | None, *, has_middle: bool) -> list[exp.Expr]:
    """Give all parts of one aggregate of what is seen."""
    p, c = (column("#p"), column("#c")) if sight is None else (sight.p.copy(), sight.c.copy())
    doubt = p * exp.paren(1 - p)
    if aggregate.function == "COUNT":
        there = number(1) if sight is None else sight.there
        sums = [add_up(weight * there) for weight in (p, c, number(1))]
        error = exp.Sqrt(this=add_up(doubt * there))
        told = sight is None or sight.square is None
        width = widen_sum(sums, *reach_sum(there), error) if told else nothing()
        parts = [exp.func("COALESCE", total, number(0)) for total in (*sums, error)]
        return [*parts, exp.func("COALESCE", width, number(0)) if told else width]
    assert sight is not None
    x, low, high = sight.x, sight.low, sight.high
    # of what is itself shown by labels nothing is learned here
    widened = sight.square is None and not sight.is_open
    weighted = add_up(p * x)
    if aggregate.function == "SUM":
        least = exp.Least(this=low.copy(), expressions=[number(0)])
        most = exp.Greatest(this=high.copy(), expressions=[number(0)])
        sure, empty = c.copy().eq(number(1)), x.copy().is_(exp.null())
        ends = [
            add_up(case(empty, exp.null(), case(sure.copy(), end.copy(), outer)))
            for end, outer in ((low, least), (high, most))
        ]
        spread: exp.Expr = doubt * double(x) * double(x)
        if sight.square is not None:  # differences may be below 0 by rounding
            inside = sight.square - double(x) * double(x)
            spread = spread + p * exp.Greatest(this=inside, expressions=[double(number(0))])
        error = exp.Sqrt(this=add_up(spread))
        closed = [weighted, *_close(ends, sight, [low, high])]
        if not widened:
            return [*closed, exp.null() if sight.is_open else error]
        return [*closed, error, widen_sum(closed, *reach_sum(double(x)), error)]
    if aggregate.function == "AVG":
        people = add_up(case(x.copy().is_(exp.null()), exp.null(), p.copy()))
        ends = [
            exp.Min(this=column(f"#up {x.name[3:]}")),
            exp.Max(this=column(f"#down {x.name[3:]}")),
        ]
        average = double(weighted) / people
        closed = [average, *_close(ends, sight, [low, high])]
        if not widened:
            return [*closed, exp.null()]
        spread = exp.Sqrt(this=add_squares(x, doubt, average)) / people
        return [*closed, spread, widen_average(closed, x)]
    kind, other = (exp.Min, exp.Max) if aggregate.function == "MIN" else (exp.Max, exp.Min)
    near, far = (low, high) if aggregate.function == "MIN" else (high, low)
    (end,) = _close([kind(this=near.copy())], sight, [near])
    (beyond,) = _close([other(this=far.copy())], sight, [far])
    ends = [end, _outermost(kind, beyond, far, c)]
    low_end, high_end = ends if aggregate.function == "MIN" else ends[::-1]
    middle = (double(low_end.copy()) + double(high_end.copy())) / 2
    return [middle if has_middle else ends[1].copy(), low_end, high_end, exp.null()]


def _close(bounds: list[exp.Expr], sight: Sight, ends: list[exp.Column]) -> list[exp.Expr]:
    """Give bounds; nothing where a number has no end there."""
    if not sight.is_open:
        return bounds
    x, closed = sight.x, []
    for bound, end in zip(bounds, ends, strict=True):
        there, nowhere = x.copy().is_(exp.null()).not_(), end.copy().is_(exp.null())
        open_ = exp.Max(this=case(exp.and_(there, nowhere), number(1), number(0)))
        closed.append(case(open_.eq(number(1)), exp.null(), bound))
    return closed


def _outermost(kind: type[exp.Expr], beyond: exp.Expr, end: exp.Expr, c: exp.Expr) -> exp.Expr:
    """The sure records bound it; if there are none, only the farthest possible one does."""
    sure = kind(this=case(c.copy().eq(number(1)), end.copy(), exp.null()))
    return exp.func("COALESCE", sure, beyond)
