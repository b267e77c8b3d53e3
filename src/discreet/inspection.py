"""Inspection: look at an unknown table and draft what to do with it."""

from __future__ import annotations

import csv
import io
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.errors import DiscreetError
from discreet.labelled import Described
from discreet.microdata import read
from discreet.plan import draft_plan
from discreet.projects import PROJECT, read_project
from discreet.schema import Attribute, Role, Schema, Type
from discreet.tables import read_described
from discreet.taxonomy import Taxonomy, canonical_text


@dataclass(frozen=True)
class Inspection:
    """What a table looks like, and a plan for it."""

    rows: int
    schema: Schema
    missing: dict[str, int]
    unique: int
    """Rows that no other row equals on the proposed quasi-identifiers."""
    plan: str
    files: dict[str, str]
    """Texts of the files that the plan refers to and that lie nowhere yet."""

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
    if path.suffix.lower() == PROJECT:
        return _inspect_project(path)
    told = read_described(path)
    schema = Schema(tuple(_describe(a, told) for a in Schema.infer(told.frame)))
    return _draft(told.frame, schema, os.path.relpath(path.absolute(), plan_folder), {}, {})


def _inspect_project(path: Path) -> Inspection:
    """Take roles and hierarchies from a project, and its table as a file beside the plan."""
    project = read_project(path)
    table = f"{path.stem}.csv"
    files, taxonomies = {table: project.frame.write_csv()}, {}
    attributes = []
    for attribute in Schema.infer(project.frame):
        role = project.roles[attribute.name]
        why = f"{attribute.reason.split('; ')[0]}; {role} in the project"
        adopted = replace(attribute, role=role, reason=why)
        if attribute.name in project.hierarchies:
            plain = re.sub(r"[^\w-]+", "_", attribute.name)
            file = f"{path.stem}.{plain}.csv"
            while file in files:
                file = file.removesuffix(".csv") + "_.csv"
            rows = project.hierarchies[attribute.name]
            adopted, rows, fits = _fit_hierarchy(project.frame, adopted, rows)
            files[file] = _write_rows(rows)
            if fits:
                taxonomies[attribute.name] = file
        attributes.append(adopted)
    return _draft(project.frame, Schema(tuple(attributes)), table, taxonomies, files)


def _fit_hierarchy(
    frame: pl.DataFrame, attribute: Attribute, rows: list[list[str]]
) -> tuple[Attribute, list[list[str]], bool]:
    """Find the type under which a hierarchy is a taxonomy of its column; else say why it is none.

    Hierarchies of numbers may list them in any order, taxonomies may not; and numbers that are
    not grouped by their order are categories.
    """
    column = frame.select(attribute.name)
    known = read(column, Schema((_readable(attribute),))).domains[attribute.name].texts
    rank = {text: number for number, text in enumerate(known)}
    ordered = sorted(rows, key=lambda row: rank.get(canonical_text(row[0]), len(rank)))
    category = replace(
        attribute,
        type=Type.CATEGORY,
        decimals=None,
        reason=f"{attribute.reason}; a category, as its hierarchy is of no {attribute.type}",
    )
    problem = ""
    for tried, paths in (
        (attribute, ordered if attribute.type.ordered else rows),
        (category, rows),
    ):
        try:
            taxonomy = Taxonomy.from_paths(paths, source="its hierarchy")
            read(column, Schema((_readable(replace(tried, taxonomy=taxonomy)),)))
        except DiscreetError as error:
            problem = error.message.split("\n  - ")[-1].split("\n")[0]
            continue
        return tried, paths, True
    why = f"{attribute.reason}; its hierarchy cannot be used: {problem}"
    return replace(attribute, reason=why), rows, False


def _write_rows(rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(rows)
    return text.getvalue()


def _draft(
    frame: pl.DataFrame,
    schema: Schema,
    source: str,
    taxonomies: dict[str, str],
    files: dict[str, str],
) -> Inspection:
    # count missing cells of every column, also of those that will not be published
    readable = Schema(tuple(_readable(a) for a in schema))
    data = read(frame, readable)
    shares = {
        name: float(np.bincount(data.codes[name]).max() / data.n)
        for name in schema.sensitive
        if schema[name].type is Type.CATEGORY
    }
    return Inspection(
        rows=frame.height,
        schema=schema,
        missing=data.intake.missing,
        unique=data.count_unique(schema.quasi_identifiers),
        plan=draft_plan(
            schema, source, rows=frame.height, most_frequent=shares, taxonomies=taxonomies
        ),
        files=files,
    )


def _readable(attribute: Attribute) -> Attribute:
    return replace(attribute, role=Role.QUASI_IDENTIFIER)


def _describe(attribute: Attribute, told: Described) -> Attribute:
    """Add what the file says about a column: in words, and the order of an ordinal."""
    label = told.labels.get(attribute.name, "")
    if attribute.role is Role.OTHER and re.search(r"\w", label):  # names there are often codes
        spoken = re.sub(r"\W+", "_", label).strip("_")
        (said,) = Schema.infer(told.frame.select(pl.col(attribute.name).alias(spoken)))
        if said.role is not Role.OTHER:
            reason = said.reason.replace("name says", "label says")
            attribute = replace(attribute, role=said.role, reason=reason)
    order = tuple(t for t in told.orders.get(attribute.name, ()) if t not in attribute.na)
    if order:
        reason = "; ".join(["ordered in the file", *attribute.reason.split("; ")[1:]])
        attribute = replace(attribute, type=Type.ORDINAL, order=order, decimals=None, reason=reason)
    if attribute.name in told.labels:
        reason = f"{told.labels[attribute.name]}; {attribute.reason}"
        attribute = replace(attribute, reason=reason)
    return attribute
