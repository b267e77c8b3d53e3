"""Inspected table: one that memory holds, with what is seen and proposed of its columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.steward.cell_notes import CellNotes, note_cells
from discreet.table.cell_summaries import CellSummary
from discreet.table.coded_table import CodedTable, attempt_each
from discreet.table.distinct_cells import tell_apart
from discreet.table.domain import Domain, reduce_cells
from discreet.table.inference import look_at, propose
from discreet.table.microdata import Microdata, settle_missing
from discreet.table.people import read_keys, read_persons
from discreet.table.people_key import PeopleKey
from discreet.table.schema import Attribute, Role, Schema, Type
from discreet.table.spelling import PLAIN
from discreet.table.spss_stata import Described
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


class InspectedTable:
    """A table that memory holds: its different cells, and a role and a type for every column."""

    def __init__(self, told: Described) -> None:
        self.frame = frame = told.frame
        self.format = told.format
        found = attempt_each(frame.columns, lambda name: tell_apart(frame[name]), frame.height)
        self._apart = dict(zip(frame.columns, found, strict=True))
        looked = attempt_each(
            frame.columns, lambda name: look_at(self._apart[name], frame.schema[name]), frame.height
        )
        self.seen = dict(zip(frame.columns, looked, strict=True))
        self.proposed = [_describe(propose(n, [s]), s, told) for n, s in self.seen.items()]

    def code(self, attribute: Attribute) -> tuple[NDArray[np.int32], Domain]:
        """Code a column as an attribute says, whatever its role."""
        return reduce_cells(self._apart[attribute.name], readable(attribute)).encode(None)

    def measure(self, schema: Schema) -> Measured:
        """Count who is unique, and what is missing, where columns have these roles."""
        frame, seen = self.frame, self.seen
        identifiers = [a.name for a in schema.having(Role.IDENTIFIER)]
        # count missing cells of every column, also of those that will not be published
        everything = Schema(tuple(readable(a) for a in schema)).of_rows
        columns = attempt_each(
            list(everything), lambda a: reduce_cells(self._apart[a.name], a), frame.height
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
        notes = note_cells(schema, seen, lambda name, cell: self._apart[name].find_row(cell))
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


def readable(attribute: Attribute) -> Attribute:
    """Give an attribute so that its column is read, whatever its role."""
    of_sets = attribute.type is Type.SET  # which can have one role only
    return replace(attribute, role=Role.SENSITIVE if of_sets else Role.QUASI_IDENTIFIER)


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
