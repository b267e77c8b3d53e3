"""How a permuted release answers: count hits per group, look their bounds up (section 5).

One tree for every engine. AVG is SUM over all hits, never an average of averages; no hits give
COUNT 0 and nothing else. Where people are selected or grouped by the sensitive number, or its order
is asked, records and numbers are sides that were shuffled within groups.
"""

from __future__ import annotations

from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.forms.base import Statement
from discreet.forms.bucket_sides import Buckets, Side
from discreet.forms.buckets_sql import rewrite_buckets
from discreet.forms.permuted.view import GROUP
from discreet.release import Release
from discreet.sql.exact import is_exact, name_parts, state_exactly
from discreet.sql.query import Aggregate, Query, Term
from discreet.sql.trees import ascending, column, double, number
from discreet.table.schema import Schema

HIT, HELP, PERMUTED = "hit", "help", "permuted"
HITS, OWNER = "#hits", "#group"
"""Names of our own start with #, which no published column does."""


def rewrite(query: Query, release: Release) -> Statement:
    """Rewrite a question into one over the permuted and the help table."""
    schema = release.schema
    told = set(schema.sensitive)
    derived = any(t.columns & told and not t.is_plain for t in query.terms)
    ranked = any(a.function == "QUANTILE" for a in query.aggregates)
    if told & set(query.columns) or derived or ranked:
        return _shuffle(query, release)
    grouping = [key.expression.copy() for key in query.keys]
    named = [g.as_(key.name, quoted=True) for g, key in zip(grouping, query.keys, strict=True)]
    group = column(release.own(GROUP))
    hits = exp.Count(this=exp.Star()).as_(HITS, quoted=True)
    inner = select(group.as_(OWNER, quoted=True), *named, hits)
    for aggregate in query.aggregates:
        if aggregate.term is not None and is_exact(aggregate, schema):
            inner.select(*_tally(aggregate, aggregate.term), copy=False)
    inner.from_(exp.to_table(PERMUTED), copy=False)
    inner.group_by(group, *grouping, copy=False)
    if query.where is not None:
        inner.where(query.where.copy(), copy=False)
    outer = select(*(column(name, HIT) for name in query.group_by))
    for aggregate in query.aggregates:
        outer.select(*_answer(aggregate, schema), copy=False)
    on = exp.and_(
        column(OWNER, HIT).eq(column(release.own(GROUP), HELP)),
        column(HITS, HIT).eq(column("hits", HELP)),
    )
    outer.from_(exp.to_table(HIT), copy=False).join(exp.to_table(HELP), on=on, copy=False)
    outer.with_(HIT, as_=inner, copy=False)
    if grouping:
        keys = [column(name, HIT) for name in query.group_by]
        outer.group_by(*keys, copy=False).order_by(*ascending(*keys), copy=False)
    return outer, {}


def _shuffle(query: Query, release: Release) -> Statement:
    """Ask records and numbers, which were shuffled; all that is shown besides is exact."""
    (sensitive,) = release.schema.sensitive
    others = frozenset(release.schema.names) - {sensitive}
    parts = others, frozenset({sensitive})
    sides = tuple(Side(PERMUTED, release.own(GROUP), None, part) for part in parts)

    def refuse_tie(what: exp.Expr, tied: list[str]) -> QueryError:
        return QueryError(
            f"{what.sql()} ties {sensitive!r} to {tied[0]!r}, and it is not known whose "
            f"{sensitive!r} is whose.",
            hint="Join conditions on the two by AND, group by each, and ask for products of them: "
            f"SUM({tied[0]} * {sensitive}).",
        )

    return rewrite_buckets(query, release, Buckets(sides, refuse_tie))


def _tally(aggregate: Aggregate, term: Term) -> list[exp.Expr]:
    """Aggregate an exact column within each group; the groups are put together outside."""
    asked = term.expression
    needed: dict[str, type[exp.Expr]] = {
        "COUNT": exp.Count, "SUM": exp.Sum, "MIN": exp.Min, "MAX": exp.Max,
    }  # fmt: skip
    functions = ("SUM", "COUNT") if aggregate.function == "AVG" else (aggregate.function,)
    return [
        needed[function](this=asked.copy()).as_(f"#{function} {aggregate.alias}", quoted=True)
        for function in functions
    ]


def _sum(name: str, table: str = HELP) -> exp.Expr:
    return exp.Sum(this=column(name, table))


def _answer(aggregate: Aggregate, schema: Schema) -> list[exp.Expr]:
    """Give estimate, bounds and standard error of one aggregate, each under its name."""
    if is_exact(aggregate, schema):
        return name_parts(aggregate, state_exactly(_combine_exact(aggregate)))
    return name_parts(aggregate, _bound(aggregate))


def _combine_exact(aggregate: Aggregate) -> exp.Expr:
    alias = aggregate.alias
    count, total = _sum(f"#COUNT {alias}", HIT), _sum(f"#SUM {alias}", HIT)
    match aggregate.function:
        case "COUNT":
            return exp.Coalesce(this=count, expressions=[number(0)])
        case "SUM":
            return total
        case "AVG":
            some = exp.Nullif(this=count, expression=number(0))
            return exp.Div(this=double(total), expression=double(some))
        case "MIN":
            return exp.Min(this=column(f"#MIN {alias}", HIT))
    return exp.Max(this=column(f"#MAX {alias}", HIT))


def _bound(aggregate: Aggregate) -> list[exp.Expr]:
    hits = _sum(HITS, HIT)
    match aggregate.function:
        case "COUNT":
            count = exp.Coalesce(this=hits, expressions=[number(0)])
            return [count, count, count, number(0)]
        case "SUM":
            error = exp.Sqrt(this=_sum("sum_variance"))
            return [_sum("sum_mean"), _sum("sum_low"), _sum("sum_high"), error]
        case "AVG":
            parts = [*(_sum(n) for n in ("sum_mean", "sum_low", "sum_high")),
                     exp.Sqrt(this=_sum("sum_variance"))]  # fmt: skip
            return [exp.Div(this=double(p), expression=double(hits.copy())) for p in parts]
    kind = exp.Min if aggregate.function == "MIN" else exp.Max
    ends = [f"{aggregate.function.lower()}_{end}" for end in ("low", "high")]
    low, high = (kind(this=column(end, HELP)) for end in ends)
    middle = exp.Div(
        this=exp.Paren(this=exp.Add(this=double(low.copy()), expression=double(high.copy()))),
        expression=number(2),
    )
    return [middle, low, high, exp.null()]
