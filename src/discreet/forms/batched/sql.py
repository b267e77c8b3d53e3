"""How a batched release answers: values are drawn from the batches that records refer to.

The table asked is the one with all quasi-identifiers of the question and fewest others.
"""

from __future__ import annotations

from sqlglot import exp, select

from discreet.errors import QueryError
from discreet.forms.base import Statement
from discreet.forms.batched.held import find_told, list_told
from discreet.forms.draws import Draw, list_asked, rewrite_draw
from discreet.release import Release
from discreet.sql.query import Query
from discreet.sql.trees import column, named_table

COUNTED = "#counted"
"""Batches of some of the attributes that are told together."""


def rewrite(query: Query, release: Release) -> Statement:
    """Rewrite a question into one over the batches and the best generalized table."""
    sensitive = release.schema.sensitive
    table = release.find_table([name for name in query.columns if name not in sensitive])
    asked = list_asked(query, sensitive) or sensitive[:1]
    batches = find_told(release, asked)
    if batches is None:
        raise QueryError(
            f"{', '.join(asked)} are counted in tables of their own: which values belong to one "
            "person is not told.",
            hint="Ask about one of them.",
        )
    blurred = frozenset(n for n in release.shown[table] if release.recodings[n].is_blurred)
    draw = Draw(table, batches, "batch", "count", blurred, tuple(asked))
    if asked == list_told(release)[batches]:
        return rewrite_draw(query, release, draw)
    tree, needed = rewrite_draw(query, release, draw._replace(bags=COUNTED))
    names = [column("batch"), *(column(name) for name in asked)]
    counted = select(*names, exp.Sum(this=column("count")).as_("count", quoted=True))
    counted = counted.from_(named_table(batches)).group_by(*(name.copy() for name in names))
    tree = tree.with_(exp.to_identifier(COUNTED, quoted=True), as_=counted)
    tree.args["with_"].expressions.sort(key=lambda clause: clause.alias != COUNTED)
    return tree, needed
