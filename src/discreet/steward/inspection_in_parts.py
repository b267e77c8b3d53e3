"""Inspection in parts: look at a table that memory does not hold, or that a cluster has.

What is found is what would be found in memory. Columns are looked at by their different cells, in
parts if there are too many of them, and rows are compared by keys, in shares that fit.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from discreet.steward.beyond_memory import GROUND, LEAST, is_beyond
from discreet.steward.cell_notes import note_cells
from discreet.steward.inspected_table import (
    Measured,
    choose_key,
    count_repeats,
    list_frequent,
    measure_telling,
    readable,
)
from discreet.steward.inspection import NO_ROLES, Inspection, draft
from discreet.table.cell_summaries import CellSummary, check_cells, merge_summaries, summarize
from discreet.table.coded_table import raise_all
from discreet.table.facts import PartedScan, Progress, survey
from discreet.table.inference import GivenRoles, propose
from discreet.table.parquet_files import ParquetFiles
from discreet.table.people import name_key, refuse_nameless
from discreet.table.readers import is_parquet
from discreet.table.schema import Attribute, Role, Schema, Type

EACH = 256
"""Bytes that a cell, or a row, takes while it is held against others."""


def is_large(source: Path, memory: int) -> bool:
    """Whether to look at all columns of a table takes more memory than may be used."""
    if not is_parquet(source):
        return False
    names = ParquetFiles(source).columns
    every = Schema(tuple(Attribute(n, Role.QUASI_IDENTIFIER, Type.CATEGORY) for n in names))
    return is_beyond(source, every, memory)


def inspect_on_disk(
    path: Path, plan_folder: Path, memory: int, progress: Progress, given: GivenRoles = NO_ROLES
) -> Inspection:
    """Look at a table in Parquet files with no more memory than may be used."""
    at_once = max(LEAST, (memory - GROUND) // EACH)
    source = os.path.relpath(path.absolute(), plan_folder)
    return inspect_in_parts(ParquetFiles(path), source, at_once, progress, given)


def inspect_in_parts(
    scan: PartedScan, source: str, at_once: int, progress: Progress, given: GivenRoles = NO_ROLES
) -> Inspection:
    """Look at a table wherever its rows are, so many cells at once."""
    seen: dict[str, CellSummary] = {}
    for number, name in enumerate(scan.columns):
        progress("Reading", number, len(scan.columns))
        look = partial(summarize, stored=scan.types.get(name), is_part=True)
        seen[name] = merge_summaries(list(scan.map_cells(name, look, at_once)))
    proposed = [propose(name, [summary]) for name, summary in seen.items()]
    schema = Schema(tuple(given.settle(proposed)))
    missing = _count_missing(scan, schema, at_once, progress)
    repeats = count_repeats(schema, seen)
    person = None
    if repeats:
        key = seen[choose_key(repeats)]
        person = name_key(choose_key(repeats))
        refuse_nameless(f"person = {person.name!r}", key.rows - key.named, key.rows)

    def count_lone(names: list[str]) -> int:
        known = [readable(schema[name]) for name in names]
        return scan.count_lone(known, person, at_once, progress) if known else 0

    def count_beside(name: str) -> int:
        known = schema.quasi_identifiers
        return count_lone([n for n in known if n != name] if name in known else [*known, name])

    unique = count_lone(schema.quasi_identifiers)
    telling = measure_telling(schema, seen, unique, count_beside)
    shares = {}
    if schema.sensitive:
        facts = survey(scan, Schema(tuple(readable(schema[name]) for name in schema.sensitive)))
        shares = {name: list_frequent(facts, name) for name in schema.sensitive}
    rows = next(iter(seen.values())).rows
    notes = note_cells(schema, seen, scan.find_row)
    found = Measured(rows, missing, repeats, unique, shares, telling, notes)
    return draft(schema, found, source)


def _count_missing(
    scan: PartedScan, schema: Schema, at_once: int, progress: Progress
) -> dict[str, int]:
    """Count missing cells; refuse columns with cells that their type cannot be read from."""
    missing: dict[str, int] = {}
    problems = []
    for number, attribute in enumerate(schema):
        progress("Checking", number, len(schema.names))
        check = partial(check_cells, attribute=readable(attribute), find_row=scan.find_row)
        told = list(scan.map_cells(attribute.name, check, at_once))
        problems += [what for what in told if isinstance(what, str)][:1]
        absent = sum(count for count in told if isinstance(count, int))
        if absent:
            missing[attribute.name] = absent
    raise_all(problems)
    return missing
