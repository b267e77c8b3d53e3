"""Inspection: look at an unknown table and draft what to do with it."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.errors import DiscreetError, visible
from discreet.publishing.methods import REGISTRY as METHODS
from discreet.table.arx_projects import PROJECT, read_project
from discreet.table.coded_table import CodedTable
from discreet.table.microdata import read
from discreet.table.people import count_repeats, read_persons
from discreet.table.readers import TableFile, read_described
from discreet.table.schema import Attribute, Missing, PeopleKey, Role, Schema, Type
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
    """The two most frequent values of sensitive categories with their shares."""


def inspect_table(path: Path, plan_folder: Path) -> Inspection:
    """Propose roles and types, count who is unique, and draft a plan beside it."""
    if path.suffix.lower() == PROJECT:
        return _inspect_project(path)
    told = read_described(TableFile(path))
    schema = Schema(tuple(_describe(a, told) for a in Schema.infer(told.frame)))
    source = os.path.relpath(path.absolute(), plan_folder)
    return draft(schema, _measure(told.frame, schema), source, format_=told.format)


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
    schema = Schema(tuple(attributes))
    return draft(schema, _measure(project.frame, schema), table, taxonomies, files)


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


def _measure(frame: pl.DataFrame, schema: Schema) -> Measured:
    """Count who is unique, and what is missing, in a table that memory holds."""
    # count missing cells of every column, also of those that will not be published
    everything = Schema(tuple(readable(a) for a in schema)).of_rows
    repeats = count_repeats(frame, [a.name for a in schema.having(Role.IDENTIFIER)])
    data = read(frame, everything)
    if repeats and data.rows is None:
        key = PeopleKey(choose_key(repeats))
        data = replace(data, persons=read_persons(frame, key))
    shares = {name: list_frequent(data, name) for name in list_categories(schema)}
    unique = data.count_unique(schema.quasi_identifiers)
    return Measured(frame.height, data.intake.missing, repeats, unique, shares)


def choose_key(repeats: Mapping[str, int]) -> str:
    """Of columns that name people and repeat, give the one that says most rows are of one."""
    return min(repeats, key=repeats.__getitem__)


def list_categories(schema: Schema) -> list[str]:
    """Give the sensitive attributes of which the most frequent values matter."""
    return [name for name in schema.sensitive if schema[name].type is Type.CATEGORY]


def list_frequent(data: CodedTable, name: str) -> list[tuple[str, float]]:
    """Give the two most frequent values of an attribute with their shares."""
    counts = data.count(name)
    common = np.argsort(-counts, kind="stable")[:2]
    return [(data.domains[name].texts[c], float(counts[c] / data.n)) for c in common]


def draft(
    schema: Schema,
    found: Measured,
    source: str,
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
        ),
        repeats=found.repeats,
        files=dict(files or {}),
    )


def readable(attribute: Attribute) -> Attribute:
    """Give an attribute so that its column is read, whatever its role."""
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


def draft_plan(
    schema: Schema,
    source: str,
    *,
    rows: int,
    most_frequent: Mapping[str, Sequence[tuple[str, float]]],
    taxonomies: Mapping[str, str],
    repeats: Mapping[str, int],
    format_: FileFormat = AS_FOUND,
) -> str:
    """Write a commented plan that runs as it is and is meant to be edited.

    ``most_frequent`` gives the two most frequent values of each sensitive attribute with their
    shares, so that the promise drafted is one the table can keep; ``taxonomies`` the files of those
    that attributes have.
    """
    lines = [
        "# A plan for `discreet publish`. Check every role: it decides who learns what.",
        "#   identifier        names a person; never leaves",
        "#   quasi-identifier  known to others; published blurred",
        "#   sensitive         must not be learned about a person; published, unlinked",
        "#   other             dropped, unless keep = true publishes it unchanged",
        "# Types: integer, decimal, date, ordinal (with order = [...]), category, boolean.",
        '# missing = "reject", "value" (missing is a value of its own) or "drop" (leave rows out).',
        "# Numbers can be made coarser: top = 90, bottom = 16, round = 5; or aggregate = 5.",
        "# A taxonomy names groups of values, for example:",
        '#   taxonomy = { file = "country.csv" }   ARX, Amnesia or JSON',
        '#   taxonomy = { intervals = [5, 10] }    or prefixes = [3, 1], dates = ["month"]',
        "",
        "[source]",
        f"file = {_quote(source)}",
        *_write_format(format_),
    ]
    for name, distinct in repeats.items():
        lines += [
            f"# {visible(name)} names people and has {distinct:,} values in {rows:,} rows. Nothing "
            "is published until you say",
            f"# person = {_quote(name)}",
            "# if rows with the same value are of one person (all are published; or say",
            '# most_rows = 3, rows = "one", or rows = "fold" with fold = "…" for columns), or',
            "# rows_are_people = true",
        ]
    for attribute in schema:
        lines += ["", f"[columns.{_quote(attribute.name)}]", f"# {visible(attribute.reason)}"]
        lines.append(f"role = {_quote(attribute.role)}")
        lines.append(f"type = {_quote(attribute.type)}")
        if attribute.missing is not Missing.REJECT:
            lines.append(f"missing = {_quote(attribute.missing)}")
        if attribute.na:
            lines.append(f"na = [{', '.join(map(_quote, attribute.na))}]")
        if attribute.order:
            lines.append(f"order = [{', '.join(map(_quote, attribute.order))}]")
        if attribute.name in taxonomies:
            lines.append(f"taxonomy = {{ file = {_quote(taxonomies[attribute.name])} }}")
        if attribute.decimals is not None:
            lines.append(f"decimals = {attribute.decimals}")
    lines += [
        "",
        "[method]",
        f"# name: {', '.join(METHODS)}",
        'name = "generalization"',
        "",
        "[[method.principles]]",
        'name = "k-anonymity"',
        f"k = {max(1, min(10, rows // 2))}",
    ]
    for name, ((value, share), *others) in most_frequent.items():
        reach = int(1 / share + 1e-9)
        if reach < 2:
            lines += [
                "",
                f"# {visible(name)}: one value covers {share:.1%} of rows, so no group can keep it "
                "below one half.",
                *_leave_out(name, value, others),
            ]
            continue
        lines += [
            "",
            "[[method.principles]]",
            f"# the most frequent value of {visible(name)} covers {share:.1%} of rows: l ≤ {reach}",
            'name = "frequency-diversity"',
            f"l = {min(3, reach)}",
            f"on = {_quote(name)}",
        ]
    lines += ["", "[release]", 'folder = "release"', 'format = "parquet"', ""]
    return "\n".join(lines)


def _write_format(found: FileFormat) -> list[str]:
    """Say how a file was read, where that is not what everybody would expect."""
    lines = []
    if found.encoding not in (None, "utf-8"):
        lines.append("# found by its bytes: look whether names in the release are spelled right")
        lines.append(f"encoding = {_quote(found.encoding or '')}")
    if found.separator not in (None, ","):
        lines.append(f"separator = {_quote(found.separator or '')}")
    return lines


def _leave_out(name: str, value: str, others: Sequence[tuple[str, float]]) -> list[str]:
    """Suggest, as a comment, not to count a value that most people have."""
    if not others:
        return []
    reach = int(1 / others[0][1] + 1e-9)
    return [
        "# If to have that value tells nothing about a person, it need not count:",
        "# [[method.principles]]",
        '# name = "frequency-diversity"',
        f"# l = {min(3, reach)}",
        f"# on = {_quote(name)}",
        f'# values = {{ {_quote(value)} = "any" }}',
    ]


def _quote(text: str) -> str:
    return visible(json.dumps(str(text), ensure_ascii=False))
