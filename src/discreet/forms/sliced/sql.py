"""How a sliced release answers: its columns are sides that were shuffled within buckets."""

from __future__ import annotations

from sqlglot import exp

from discreet.errors import QueryError
from discreet.forms.base import Statement
from discreet.forms.bucket_sides import Buckets, Side
from discreet.forms.buckets_sql import rewrite_buckets
from discreet.forms.sliced.view import BUCKET, TABLE, read_columns
from discreet.release import Release
from discreet.sql.query import Query


def rewrite(query: Query, release: Release) -> Statement:
    """Rewrite a question into one over the columns that it asks."""
    blurred = {name for name, recoding in release.recodings.items() if recoding.is_blurred}
    columns, own = read_columns(release), release.own(BUCKET)
    sides = tuple(
        Side(TABLE, own, None, frozenset(names), frozenset(blurred & {*names})) for names in columns
    )

    def refuse_tie(what: exp.Expr, tied: list[str]) -> QueryError:
        return QueryError(
            f"{' and '.join(tied)} are in different columns of this sliced release: their "
            "correlation was destroyed on purpose.",
            hint=f"Ask about each of them, instead of {what.sql()}; what stands together is "
            f"{'; '.join(map(', '.join, columns))}. Conditions on different columns can be joined "
            "by AND.",
        )

    return rewrite_buckets(query, release, Buckets(sides, refuse_tie, multiplies=False))
