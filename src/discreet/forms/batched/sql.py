"""How a batched release answers: values are drawn from the batches that records refer to.

The table asked is the one with all quasi-identifiers of the question and fewest others.
"""

from __future__ import annotations

from discreet.forms.base import Statement
from discreet.forms.batched.view import BATCHES
from discreet.forms.draws import Draw, rewrite_draw
from discreet.release import Release
from discreet.sql.parse import Query


def rewrite(query: Query, release: Release) -> Statement:
    """Rewrite a question into one over the batches and the best generalized table."""
    (sensitive,) = release.schema.sensitive
    table = release.find_table([name for name in query.columns if name != sensitive])
    blurred = frozenset(n for n in release.shown[table] if release.recodings[n].is_blurred)
    return rewrite_draw(query, release, Draw(table, BATCHES, "batch", "count", blurred))
