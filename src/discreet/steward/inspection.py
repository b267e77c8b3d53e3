"""Inspection: look at an unknown table and draft what to do with it."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from discreet.errors import DiscreetError
from discreet.steward.cell_notes import CellNotes
from discreet.steward.drafting import draft_plan
from discreet.steward.inspected_table import InspectedTable, Measured, Telling, readable
from discreet.table.arx_projects import PROJECT, read_project
from discreet.table.databases import DatabaseTable
from discreet.table.inference import GivenRoles
from discreet.table.microdata import read
from discreet.table.readers import TableFile, read_described
from discreet.table.schema import Attribute, Schema, Type
from discreet.table.spelling import PLAIN
from discreet.table.spss_stata import Described
from discreet.table.taxonomy import Taxonomy, canonical_text
from discreet.table.text_files import AS_FOUND, FileFormat


@dataclass(frozen=True)
class Inspection:
    """What a table looks like, and a plan for it."""

    rows: int
    schema: Schema
    missing: dict[str, int]
    unique: int
    """Rows, or people with several, whom no others equal on the proposed quasi-identifiers."""
    plan: str
    files: dict[str, str]
    """Texts of the files that the plan refers to and that lie nowhere yet."""
    repeats: dict[str, int]
    """Distinct values of columns that name people, and have some value twice."""
    telling: dict[str, Telling]
    """Per column how much it tells people apart."""
    notes: CellNotes
    """What has to be said of their cells."""

    @property
    def story(self) -> str:
        """The one figure that tells whether there is a problem."""
        names = self.schema.quasi_identifiers
        if not names:
            return "No column looks like a quasi-identifier: set the roles in the plan yourself."
        many, who = min([(self.rows, "rows"), *((d, "people") for d in self.repeats.values())])
        told = (
            f"{self.unique:,} of {many:,} {who} ({self.unique / many:.1%}) are unique on "
            f"the {len(names)} proposed quasi-identifiers: {', '.join(names)}."
        )
        if not self.schema.sensitive:
            told += "\nNo column looks sensitive: set the roles in the plan yourself."
        for name, distinct in self.repeats.items():
            told += (
                f"\n{name} names people and has {distinct:,} values in {self.rows:,} rows, "
                f"{self.rows / distinct:.1f} rows each: say in the plan whether they are of one "
                f'person (person = "{name}") or rows are people (rows_are_people = true).'
            )
        for name, said in self.notes.strays.items():
            told += f"\n{name}: {said} The plan says what becomes of them."
        for name in self.notes.asked:
            told += f"\n{name} has dates that may be read in several ways: say which in the plan."
        return told

    def to_dict(self) -> dict[str, Any]:
        """Give the findings as plain values, for ``--json``."""
        return {
            "rows": self.rows,
            "unique_rows": self.unique,
            "repeated_identifiers": self.repeats,
            "columns": [
                {
                    "name": a.name,
                    "role": str(a.role),
                    "type": str(a.type),
                    "missing": self.missing.get(a.name, 0),
                    "distinction": self.telling[a.name].distinction,
                    "separation": self.telling[a.name].separation,
                    "adds_unique_rows": self.telling[a.name].adds,
                    "unreadable": self.notes.unreadable.get(a.name, 0),
                    "asked": a.name in self.notes.asked,
                    "reason": a.reason,
                }
                for a in self.schema
            ],
        }


NO_ROLES = GivenRoles()


def inspect_table(path: Path, plan_folder: Path, given: GivenRoles = NO_ROLES) -> Inspection:
    """Propose roles and types, count who is unique, and draft a plan beside it."""
    if path.suffix.lower() == PROJECT:
        return _inspect_project(path)
    return _inspect(TableFile(path), os.path.relpath(path.absolute(), plan_folder), given)


def inspect_database(source: DatabaseTable, plan_folder: Path, given: GivenRoles) -> Inspection:
    """Do the same with a table of a database."""
    address = source.database
    if "://" not in address:
        address = os.path.relpath(Path(address).absolute(), plan_folder)
    return _inspect(source, address, given)


def _inspect(table: TableFile | DatabaseTable, source: str, given: GivenRoles) -> Inspection:
    lies = source if isinstance(table, TableFile) else replace(table, database=source)
    return inspect_frame(InspectedTable(read_described(table)), lies, given)


def inspect_frame(
    table: InspectedTable, source: str | DatabaseTable, given: GivenRoles = NO_ROLES
) -> Inspection:
    """Do the same with a table that has been read, and is said to lie there."""
    schema = Schema(tuple(given.settle(table.proposed)))
    return draft(schema, table.measure(schema), source, format_=table.format)


def _inspect_project(path: Path) -> Inspection:
    """Take roles and hierarchies from a project, and its table as a file beside the plan."""
    project = read_project(path)
    table = f"{path.stem}.csv"
    files, taxonomies = {table: project.frame.write_csv()}, {}
    attributes = []
    cells = InspectedTable(Described(project.frame))
    for attribute in cells.proposed:
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
    schema = Schema(tuple(attributes))
    return draft(schema, cells.measure(schema), table, taxonomies, files)


def _fit_hierarchy(
    frame: pl.DataFrame, attribute: Attribute, rows: list[list[str]]
) -> tuple[Attribute, list[list[str]], bool]:
    """Find the type under which a hierarchy is a taxonomy of its column; else say why it is none.

    Hierarchies of numbers may list them in any order, taxonomies may not; and numbers that are
    not grouped by their order are categories.
    """
    column = frame.select(attribute.name)
    known = read(column, Schema((readable(attribute),))).domains[attribute.name].texts
    rank = {text: number for number, text in enumerate(known)}
    ordered = sorted(rows, key=lambda row: rank.get(canonical_text(row[0]), len(rank)))
    category = replace(
        attribute,
        type=Type.CATEGORY,
        decimals=None,
        spelling=PLAIN,
        unreadable="reject",
        reason=f"{attribute.reason}; a category, as its hierarchy is of no {attribute.type}",
    )
    problem = ""
    for tried, paths in (
        (attribute, ordered if attribute.type.ordered else rows),
        (category, rows),
    ):
        try:
            taxonomy = Taxonomy.from_paths(paths, source="its hierarchy")
            read(column, Schema((readable(replace(tried, taxonomy=taxonomy)),)))
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


def draft(
    schema: Schema,
    found: Measured,
    source: str | DatabaseTable,
    taxonomies: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
    format_: FileFormat = AS_FOUND,
) -> Inspection:
    """Say what was found of a table, and draft a plan for it."""
    return Inspection(
        rows=found.rows,
        schema=schema,
        missing=found.missing,
        unique=found.unique,
        plan=draft_plan(
            schema,
            source,
            rows=found.rows,
            most_frequent=found.most_frequent,
            taxonomies=taxonomies or {},
            repeats=found.repeats,
            format_=format_,
            notes=found.notes.lines,
            asked=found.notes.asked,
        ),
        telling=found.telling,
        notes=found.notes,
        repeats=found.repeats,
        files=dict(files or {}),
    )
