"""Inspection: look at an unknown table and draft what to do with it."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.errors import DiscreetError
from discreet.steward.cell_notes import CellNotes, note_cells
from discreet.steward.drafting import draft_plan
from discreet.table.arx_projects import PROJECT, read_project
from discreet.table.cell_summaries import CellSummary
from discreet.table.coded_table import CodedTable, attempt_each
from discreet.table.databases import DatabaseTable
from discreet.table.distinct_cells import tell_apart
from discreet.table.domain import reduce_cells
from discreet.table.inference import GivenRoles, look_at, propose
from discreet.table.microdata import Microdata, read, settle_missing
from discreet.table.people import read_keys, read_persons
from discreet.table.people_key import PeopleKey
from discreet.table.readers import TableFile, read_described
from discreet.table.schema import Attribute, Role, Schema, Type
from discreet.table.spelling import PLAIN
from discreet.table.spss_stata import Described
from discreet.table.taxonomy import Taxonomy, canonical_text
from discreet.table.text_files import AS_FOUND, FileFormat
from discreet.table.uniqueness import Uniqueness


@dataclass(frozen=True)
class Telling:
    """How much a column tells people apart."""

    distinction: float
    """The share of rows that are needed to show all its values once."""
    separation: float
    """The share of pairs of rows that differ in it."""
    adds: int | None = None
    """How many rows, or people, become unique by it beside the quasi-identifiers."""


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


@dataclass(frozen=True)
class Measured:
    """What was counted of a table, wherever its rows are."""

    rows: int
    missing: dict[str, int]
    """Missing cells of columns that have any."""
    repeats: dict[str, int]
    unique: int
    most_frequent: dict[str, list[tuple[str, float]]]
    """The two most frequent values of sensitive attributes with their shares."""
    telling: dict[str, Telling]
    notes: CellNotes


class _Apart:
    """A table that memory holds, and the different cells of its columns."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame
        found = attempt_each(frame.columns, lambda name: tell_apart(frame[name]), frame.height)
        self.apart = dict(zip(frame.columns, found, strict=True))

    def look(self) -> dict[str, CellSummary]:
        """Look at the cells of every column."""
        names, types = self.frame.columns, self.frame.schema
        seen = attempt_each(
            names, lambda name: look_at(self.apart[name], types[name]), self.frame.height
        )
        return dict(zip(names, seen, strict=True))


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
    told = read_described(table)
    cells = _Apart(told.frame)
    seen = cells.look()
    proposed = [_describe(propose(name, [found]), found, told) for name, found in seen.items()]
    schema = Schema(tuple(given.settle(proposed)))
    found = _measure(cells, schema, seen)
    lies = source if isinstance(table, TableFile) else replace(table, database=source)
    return draft(schema, found, lies, format_=told.format)


def _inspect_project(path: Path) -> Inspection:
    """Take roles and hierarchies from a project, and its table as a file beside the plan."""
    project = read_project(path)
    table = f"{path.stem}.csv"
    files, taxonomies = {table: project.frame.write_csv()}, {}
    attributes = []
    cells = _Apart(project.frame)
    seen = cells.look()
    for attribute in [propose(name, [found]) for name, found in seen.items()]:
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
    return draft(schema, _measure(cells, schema, seen), table, taxonomies, files)


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


def _measure(table: _Apart, schema: Schema, seen: Mapping[str, CellSummary]) -> Measured:
    """Count who is unique, and what is missing, in a table that memory holds."""
    frame, identifiers = table.frame, [a.name for a in schema.having(Role.IDENTIFIER)]
    # count missing cells of every column, also of those that will not be published
    everything = Schema(tuple(readable(a) for a in schema)).of_rows
    columns = attempt_each(
        list(everything), lambda a: reduce_cells(table.apart[a.name], a), frame.height
    )
    _, intake = settle_missing(columns, frame.height)
    coded = {c.attribute.name: c for c in columns if c.attribute.name not in identifiers}
    encoded = attempt_each(list(coded.values()), lambda c: c.encode(None), frame.height)
    made = dict(zip(coded, encoded, strict=True))
    repeats = count_repeats(schema, seen)
    key = PeopleKey(choose_key(repeats) if repeats else None)
    persons = read_persons(frame, key, keys=read_keys(frame, key))
    data = Microdata(
        everything,
        {name: codes for name, (codes, _) in made.items()},
        {name: domain for name, (_, domain) in made.items()},
        intake,
        persons=persons,
    )
    shares = {name: list_frequent(data, name) for name in schema.sensitive}
    alone = Uniqueness(data, schema.quasi_identifiers)
    telling = measure_telling(schema, seen, alone.count, alone.count_beside)
    notes = note_cells(schema, seen, lambda name, cell: table.apart[name].find_row(cell))
    return Measured(frame.height, intake.missing, repeats, alone.count, shares, telling, notes)


def count_repeats(schema: Schema, seen: Mapping[str, CellSummary]) -> dict[str, int]:
    """Count the distinct values of columns that name people, where some repeat."""
    return {a.name: seen[a.name].distinct for a in schema.having(Role.IDENTIFIER)
            if seen[a.name].distinct < seen[a.name].named}  # fmt: skip


def measure_telling(
    schema: Schema,
    seen: Mapping[str, CellSummary],
    unique: int,
    count_beside: Callable[[str], int],
) -> dict[str, Telling]:
    """Say how much each column tells people apart.

    ``unique`` are so on the quasi-identifiers. ``count_beside`` counts those who are so without one
    of these, or with another column besides.
    """
    telling = {}
    for attribute in schema:
        name, cells, adds = attribute.name, seen[attribute.name], None
        if attribute.role is not Role.IDENTIFIER:
            adds = abs(count_beside(name) - unique)
        distinction = (cells.distinct + (cells.named < cells.rows)) / cells.rows
        telling[name] = Telling(distinction, cells.separation, adds)
    return telling


def choose_key(repeats: Mapping[str, int]) -> str:
    """Of columns that name people and repeat, give the one that says most rows are of one."""
    return min(repeats, key=repeats.__getitem__)


def list_frequent(data: CodedTable, name: str) -> list[tuple[str, float]]:
    """Give the two most frequent values of an attribute with their shares."""
    counts = data.count(name)
    common = np.argsort(-counts, kind="stable")[:2]
    return [(data.domains[name].write_code(c), float(counts[c] / data.n)) for c in common]


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


def readable(attribute: Attribute) -> Attribute:
    """Give an attribute so that its column is read, whatever its role."""
    return replace(attribute, role=Role.QUASI_IDENTIFIER)


def _describe(attribute: Attribute, seen: CellSummary, told: Described) -> Attribute:
    """Add what the file says about a column: in words, and the order of an ordinal."""
    label = told.labels.get(attribute.name, "")
    if attribute.role is Role.OTHER and re.search(r"\w", label):  # names there are often codes
        spoken = re.sub(r"\W+", "_", label).strip("_")
        said = propose(spoken, [seen])
        if said.role is not Role.OTHER:
            reason = said.reason.replace("name says", "label says")
            attribute = replace(attribute, role=said.role, reason=reason)
    order = tuple(t for t in told.orders.get(attribute.name, ()) if t not in attribute.na)
    if order:
        reason = "; ".join(["ordered in the file", *attribute.reason.split("; ")[1:]])
        attribute = replace(
            attribute,
            type=Type.ORDINAL,
            order=order,
            decimals=None,
            spelling=PLAIN,
            unreadable="reject",
            reason=reason,
        )
    if attribute.name in told.labels:
        reason = f"{told.labels[attribute.name]}; {attribute.reason}"
        attribute = replace(attribute, reason=reason)
    return attribute
