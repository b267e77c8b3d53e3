"""Inspection: look at an unknown table and draft what to do with it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.labelled import Described
from discreet.microdata import read
from discreet.plan import draft_plan
from discreet.schema import Role, Schema, Type
from discreet.tables import read_described


@dataclass(frozen=True)
class Inspection:
    """What a table looks like, and a plan for it."""

    rows: int
    schema: Schema
    missing: dict[str, int]
    unique: int
    """Rows that no other row equals on the proposed quasi-identifiers."""
    plan: str

    @property
    def story(self) -> str:
        """The one figure that tells whether there is a problem."""
        names = self.schema.quasi_identifiers
        if not names:
            return "No column looks like a quasi-identifier: set the roles in the plan yourself."
        told = (
            f"{self.unique:,} of {self.rows:,} rows ({self.unique / self.rows:.1%}) are unique on "
            f"the {len(names)} proposed quasi-identifiers: {', '.join(names)}."
        )
        if not self.schema.sensitive:
            told += "\nNo column looks sensitive: set the roles in the plan yourself."
        return told

    def to_dict(self) -> dict[str, Any]:
        """Give the findings as plain values, for ``--json``."""
        return {
            "rows": self.rows,
            "unique_rows": self.unique,
            "columns": [
                {
                    "name": a.name,
                    "role": str(a.role),
                    "type": str(a.type),
                    "missing": self.missing.get(a.name, 0),
                    "reason": a.reason,
                }
                for a in self.schema
            ],
        }


def inspect_table(path: Path, plan_folder: Path) -> Inspection:
    """Propose roles and types, count who is unique, and draft a plan beside it."""
    told = read_described(path)
    frame = told.frame
    schema = _describe(Schema.infer(frame), told)
    # count missing cells of every column, also of those that will not be published
    readable = Schema(tuple(_readable(a) for a in schema))
    data = read(frame, readable)
    shares = {
        name: float(np.bincount(data.codes[name]).max() / data.n)
        for name in schema.sensitive
        if schema[name].type is Type.CATEGORY
    }
    source = os.path.relpath(path.absolute(), plan_folder)
    return Inspection(
        rows=frame.height,
        schema=schema,
        missing=data.intake.missing,
        unique=data.count_unique(schema.quasi_identifiers),
        plan=draft_plan(schema, source, rows=frame.height, most_frequent=shares),
    )


def _readable(attribute: Any) -> Any:
    return replace(attribute, role=Role.QUASI_IDENTIFIER)


def _describe(schema: Schema, told: Described) -> Schema:
    """Add what the file says about columns: in words, and the order of ordinals."""
    for attribute in schema:
        name = attribute.name
        if name in told.labels:
            reason = f"{told.labels[name]}; {attribute.reason}"
            schema = schema.changed(replace(schema[name], reason=reason))
        order = tuple(text for text in told.orders.get(name, ()) if text not in attribute.na)
        if order:
            ordinal = replace(schema[name], type=Type.ORDINAL, order=order, decimals=None)
            schema = schema.changed(ordinal)
    return schema
