"""Tables in which people say what they guard."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

import discreet as dc

BELOW = {
    "respiratory": ["flu", "pneumonia"],
    "stomach": ["ulcer", "gastritis"],
    "infection": ["hiv", "typhus"],
}
TREE = dc.Taxonomy.from_paths(
    [[leaf, node, "*"] for node, below in BELOW.items() for leaf in below]
)
LEAVES = [leaf for below in BELOW.values() for leaf in below]
HOSPITAL = [
    (21, "flu", "flu"),
    (23, "flu", None),
    (25, "pneumonia", "respiratory"),
    (27, "ulcer", ""),
    (41, "gastritis", "stomach"),
    (43, "ulcer", None),
    (45, "gastritis", None),
    (47, "hiv", "hiv"),
]
Row = tuple[int, str, str | None]


def guarded_data(rows: Sequence[Row] = HOSPITAL, tree: dc.Taxonomy | None = TREE) -> dc.Microdata:
    frame = pl.DataFrame(rows, schema=["age", "disease", "wish"], orient="row")
    return dc.read(frame, guarded_schema(frame, tree))


def guarded_schema(frame: pl.DataFrame, tree: dc.Taxonomy | None = TREE) -> dc.Schema:
    schema = dc.Schema.infer(
        frame, quasi_identifiers=["age"], sensitive=["disease"], guards={"wish": "disease"}
    )
    return schema if tree is None else schema.with_taxonomies({"disease": tree})
