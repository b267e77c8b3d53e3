"""Cell notes: what has to be said of cells that are not what their column is, and what is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from discreet.table.cell_summaries import CellSummary, DatesSeen
from discreet.table.inference import list_dated
from discreet.table.missing_texts import NA_WORDS
from discreet.table.numbers_seen import NumbersSeen
from discreet.table.schema import Attribute, Schema, Type
from discreet.table.spelling import PLAIN, Spelling

SHOWN = 5
"""So many of the texts that cannot be read are told, with their rows."""
TAKEN = (
    'They are taken for missing: missing = "drop" leaves their rows out, and',
    'unreadable = "reject" refuses the table until they are corrected.',
)
WITH_ANSWER = (
    'unreadable = "missing" takes them for missing, once it is said how the others are read;',
    "without it the table is refused until they are corrected.",
)
"""Said of cells that no way of reading dates reads: with none said, all cells would be missing."""
FindRow = Callable[[str, object], int | None]
"""Gives the number of the first row in which a column has a text."""


@dataclass(frozen=True)
class CellNotes:
    """What is said of the cells of columns."""

    lines: dict[str, list[str]] = field(default_factory=dict)
    """Per column what the plan says of them."""
    strays: dict[str, str] = field(default_factory=dict)
    """Per column with cells that cannot be read which these are."""
    unreadable: dict[str, int] = field(default_factory=dict)
    """How many there are of them."""
    asked: tuple[str, ...] = ()
    """Columns of dates that may be read in several ways."""


def note_cells(schema: Schema, seen: Mapping[str, CellSummary], find_row: FindRow) -> CellNotes:
    """Say which cells cannot be read, and ask where dates may be read in several ways."""
    notes, asked = CellNotes(), []
    for attribute in schema:
        name, lines = attribute.name, _note_words(attribute, seen[attribute.name])
        ways = list_dated(seen[name]) if attribute.type is Type.DATE else []
        found = find_strays(attribute, seen[name])
        if found is not None and found.none:
            notes.strays[name] = _name_strays(attribute, found, find_row)
            notes.unreadable[name] = found.rows
            lines += [notes.strays[name], *(WITH_ANSWER if len(ways) > 1 else TAKEN)]
        if len(ways) > 1:
            asked.append(name)
            lines += _ask_dates(ways, seen[name].dated)
        if lines:
            notes.lines[name] = lines
    return replace(notes, asked=tuple(asked))


def _note_words(attribute: Attribute, seen: CellSummary) -> list[str]:
    """Say that words are taken for missing, where that may be what somebody answered."""
    if not NA_WORDS.intersection(attribute.na):
        return []
    if seen.na_rows == 1:
        return ["One cell says that nothing is known, by a text in na: it is taken for missing."]
    return [f"{seen.na_rows:,} cells say that nothing is known, by the texts in na: they are taken "
            "for missing."]  # fmt: skip


def find_strays(attribute: Attribute, seen: CellSummary) -> DatesSeen | NumbersSeen | None:
    """Give what was seen of the cells that an attribute's type cannot be read from."""
    if attribute.unreadable == "reject":
        return None
    if attribute.type is Type.DATE:
        return seen.dated[attribute.spelling]
    if attribute.spelling == PLAIN:
        return seen.numbers
    return seen.spelled[replace(attribute.spelling, unit="")]


def _name_strays(attribute: Attribute, found: DatesSeen | NumbersSeen, find_row: FindRow) -> str:
    rows = [(find_row(attribute.name, text), text) for text in found.none]
    first = sorted(rows, key=lambda told: (told[0] is None, told))[:SHOWN]
    shown = ", ".join(f"{text!r}" + ("" if row is None else f" in row {row + 1:,}")
                      for row, text in first)  # fmt: skip
    what = "date" if attribute.type is Type.DATE else "number"
    said = f"{found.rows:,} cells are no {what}s" if found.rows > 1 else f"One cell is no {what}"
    more = len(found.none) - SHOWN
    return f"{said}: {shown}" + (f" and {more:,} other texts" if more > 0 else "") + "."


def _ask_dates(ways: list[Spelling], dated: Mapping[Spelling, DatesSeen]) -> list[str]:
    """Say in which ways dates may be read, and what they would be."""
    unknown = []
    if len({way.date_format for way in ways}) > 1:
        unknown.append("No cell tells days from months")
    if ways[0].is_short:
        unknown.append("no cell tells centuries" if unknown else "No cell tells centuries")
    lines = [f"{', and '.join(unknown)}. Nothing is published until you say"]
    # readings of one format that begin and end alike are the same
    told_apart = {(way.date_format, dated[way].first, dated[way].last): way for way in ways[::-1]}
    for way in reversed(told_apart.values()):
        span = f"   from {dated[way].first} to {dated[way].last}, or"
        told = [f'date_format = "{way.date_format}"']
        if way.last_year is not None:
            told.append(f"last_year = {way.last_year}")
        lines += [*told[:-1], told[-1] + span]
    return [*lines[:-1], lines[-1].removesuffix(", or")]
