"""How a rank-swapped release answers: every hit's own number lies in the window of the one shown.

The estimate takes the numbers shown for the true ones. Bounds add up over hits, so they are wide.
"""

from __future__ import annotations

from sqlglot import exp, select

from discreet.forms.base import Statement
from discreet.release import Release
from discreet.sql.exact import (
    aggregate_column,
    is_exact,
    name_parts,
    refuse_sensitive,
    state_exactly,
)
from discreet.sql.parse import Query
from discreet.sql.trees import column

SWAPPED, WINDOWS = "swapped", "windows"


def rewrite(query: Query, release: Release) -> Statement:
    """Rewrite a question into one over the swapped table and the windows."""
    schema = release.schema
    refuse_sensitive(query, schema)
    keys = [column(name, SWAPPED) for name in query.group_by]
    tree = select(*(key.copy() for key in keys))
    for aggregate in query.aggregates:
        if aggregate.column is None:
            parts = state_exactly(exp.Count(this=exp.Star()))
        elif is_exact(aggregate, schema) or aggregate.function == "COUNT":
            parts = state_exactly(
                aggregate_column(aggregate.function, column(aggregate.column, SWAPPED))
            )
        else:
            shown = column(aggregate.column, SWAPPED)
            ends = (shown, column("low", WINDOWS), column("high", WINDOWS))
            parts = [*(aggregate_column(aggregate.function, end) for end in ends), exp.null()]
        tree = tree.select(*name_parts(aggregate, parts))
    (sensitive,) = schema.sensitive
    on = column(sensitive, SWAPPED).eq(column("value", WINDOWS))
    tree = tree.from_(exp.to_table(SWAPPED)).join(exp.to_table(WINDOWS), on=on)
    if query.where is not None:
        where = query.where.copy()
        for found in list(where.find_all(exp.Column)):
            found.replace(column(found.name, SWAPPED))
        tree = tree.where(where)
    if keys:
        tree = tree.group_by(*keys).order_by(*(key.copy() for key in keys))
    return tree, {}
