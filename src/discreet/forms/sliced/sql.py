"""How a sliced release answers: its columns are sides that were shuffled within buckets."""

from __future__ import annotations

from sqlglot import exp

from discreet.errors import QueryError
from discreet.forms.base import Statement
from discreet.forms.bucket_sides import Buckets, Side
from discreet.forms.buckets_sql import rewrite_buckets
from discreet.forms.sliced.columns import BUCKET, TABLE, read_columns, read_tied
from discreet.release import Release
from discreet.sql.query import Query, find_columns


def rewrite(query: Query, release: Release) -> Statement:
    """Rewrite a question into one over the columns that it asks."""
    columns = read_columns(release)

    def refuse_tie(what: exp.Expr, tied: list[str]) -> QueryError:
        return QueryError(
            f"{' and '.join(tied)} are in different columns of this sliced release: their "
            "correlation was destroyed on purpose.",
            hint=f"Ask about each of them, instead of {what.sql()}; what stands together is "
            f"{'; '.join(map(', '.join, columns))}. Conditions on different columns can be joined "
            "by AND.",
        )

    # what columns share is asked of one that the question asks in any case
    asked = {name for part in query.conditions for name in find_columns(part)}
    asked |= {name for term in (*query.keys, *query.terms) for name in term.columns}
    sides = tuple(
        sorted(list_sides(release), key=lambda side: not (side.ties and side.own & asked))
    )
    return rewrite_buckets(query, release, Buckets(sides, refuse_tie, multiplies=False))


def list_sides(release: Release) -> tuple[Side, ...]:
    """Give the columns as sides; those that share attributes are bound by these."""
    blurred = {name for name, recoding in release.recodings.items() if recoding.is_blurred}
    own, tied = release.own(BUCKET), read_tied(release)
    return tuple(
        Side(
            TABLE,
            own,
            None,
            frozenset(names),
            frozenset(blurred & {*names}),
            ties=tied.names if place in tied.places else (),
        )
        for place, names in enumerate(read_columns(release))
    )
