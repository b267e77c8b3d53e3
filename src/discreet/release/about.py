"""About: what a release is and promises, in rows, for who sees its tables elsewhere."""

from __future__ import annotations

import polars as pl

from discreet.release.release import Release
from discreet.table.schema import Type

ABOUT = "about"
"""The table that says what is beside it."""
ABOUT_COLUMNS = ("topic", "name", "says")
Row = tuple[str, str, str]


def tell(release: Release) -> list[Row]:
    """Say in words what is promised, and how every attribute is published."""
    return [
        ("release", "form", release.form),
        ("release", "method", release.method),
        ("promise", "principle", str(release.promise.asked)),
        ("promise", "guarantee", release.promise.guarantee),
        *(("promise", "leaves open", line) for line in release.promise.leaves_open),
        *(("attribute", name, _explain(release, name)) for name in release.schema.names),
    ]


def tabulate_rows(rows: list[Row]) -> pl.DataFrame:
    """Make the table of what is said."""
    return pl.DataFrame(rows, schema=dict.fromkeys(ABOUT_COLUMNS, pl.String), orient="row")


def explain_columns(release: Release) -> dict[str, str]:
    """Say of the columns that carry attributes what these are, and how they are published."""
    return {
        column: f"{a.name}: {a.role}, published {release.explain(a.name)}"
        for a in release.schema
        for column in release.recodings[a.name].columns(a.name)
    }


def _explain(release: Release, name: str) -> str:
    """Say how an attribute is published; of an ordinal how it is ordered, which texts are not."""
    attribute = release.schema[name]
    order = ""
    if attribute.type is Type.ORDINAL:
        listed = ", ".join(attribute.order)
        order = f"; from low to high: {listed}; compare it by IN, as texts go by the alphabet"
    return release.explain(name) + order
