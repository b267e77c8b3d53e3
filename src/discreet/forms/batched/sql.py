"""How a batched release answers: records and the values of batches are shuffled sides.

The table asked is the one with all quasi-identifiers of the question and fewest others.
"""

from __future__ import annotations

from sqlglot import exp

from discreet.errors import QueryError
from discreet.forms.base import Statement
from discreet.forms.batched.held import BATCH, COUNT, list_told
from discreet.forms.bucket_sides import Buckets, Side
from discreet.forms.buckets_sql import rewrite_buckets
from discreet.forms.counterfeits import COUNTERFEITS
from discreet.release import Release
from discreet.sql.query import Query


def rewrite(query: Query, release: Release) -> Statement:
    """Rewrite a question into one over the batches and the best generalized table."""
    told = list_told(release)
    asked = {*query.columns, *(name for term in query.terms for name in term.columns)}
    table = release.find_table(asked)
    _refuse_apart(query, told)
    shown = frozenset(release.shown[table])
    blurred = frozenset(name for name in shown if release.recodings[name].is_blurred)
    batch, count = release.own(BATCH), release.own(COUNT)
    bags = [Side(title, batch, count, frozenset(names)) for title, names in told.items()]
    lacks = COUNTERFEITS in release.tables
    own = batch if batch in release.tables[table].columns else None
    sides = (Side(table, own, None, shown, blurred, lacks=lacks), *bags)
    return rewrite_buckets(query, release, Buckets(sides, _refuse_tie))


def _refuse_apart(query: Query, told: dict[str, list[str]]) -> None:
    """Refuse an aggregate about values of one person that are told each by itself."""
    for aggregate in query.aggregates:
        about = {*query.columns, *aggregate.columns}
        apart = [[name for name in names if name in about] for names in told.values()]
        if sum(map(bool, apart)) > 1:
            asked = ", ".join(name for names in apart for name in names)
            raise QueryError(
                f"{asked} are counted in tables of their own: which values belong to one person "
                "is not told.",
                hint="Ask about one of them.",
            )


def _refuse_tie(what: exp.Expr, tied: list[str]) -> QueryError:
    record, value = tied
    return QueryError(
        f"{what.sql()} ties {value!r} to {record!r}, and it is not known whose {value!r} is whose.",
        hint=f"Join conditions on the two by AND, group by each, and ask for products of them: "
        f"SUM({record} * {value}).",
    )
