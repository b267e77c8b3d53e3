"""Inference: propose a type and a role for every column, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import polars as pl

from discreet.errors import SchemaError, name_closest
from discreet.table.cell_summaries import (
    CellSummary,
    DatesSeen,
    merge_summaries,
    summarize,
)
from discreet.table.coded_table import NEARLY_UNIQUE, SMALLEST_JUDGED
from discreet.table.distinct_cells import DistinctCells, tell_apart
from discreet.table.domain import FALSE_TEXTS, TRUE_TEXTS
from discreet.table.missing_texts import NA_TEXTS
from discreet.table.numbers_seen import NumbersSeen
from discreet.table.people_key import PeopleKey
from discreet.table.readers import TableLike, read_table
from discreet.table.role_words import CODED, KINDS, NAMES, PERSONS, SEXES, WEIGHTS, speak
from discreet.table.schema import Attribute, Missing, Role, Schema, Type, Unreadable
from discreet.table.spelling import PLAIN, Spelling

BOOLEAN_PAIRS = [{yes, no} for yes, no in zip(TRUE_TEXTS, FALSE_TEXTS, strict=True)][:-1]
"""Both texts of a pair must occur: F alone may be female. 0 and 1 are rather numbers."""

LEAST_DIGIT_DATES = 5
"""Eight digits are dates if so many different ones all are, of years that people live in. With
years of two digits so many different texts are."""
MOST_CODES = 1000
"""Of more different numbers nobody keeps a list of what they mean."""
MANY_DATES = 20
"""Of so many dates one may be of no such day."""


class TypeSeen(NamedTuple):
    """What a column's cells are."""

    type: Type
    why: str
    na: tuple[str, ...] = ()
    decimals: int | None = None
    spelling: Spelling = PLAIN
    unreadable: Unreadable = "reject"


def infer(
    source: TableLike,
    quasi_identifiers: Sequence[str] | None,
    sensitive: Sequence[str] | None,
    identifiers: Sequence[str] | None,
    keep: Sequence[str],
    people: PeopleKey,
    weight: str | None,
) -> Schema:
    """Propose a schema; see :meth:`discreet.table.schema.Schema.infer`."""
    frame = read_table(source)
    given = GivenRoles(quasi_identifiers, sensitive, identifiers)
    keys = [name for name in (people.person, people.cluster) if name is not None]
    for name in (*keep, *keys, *([] if weight is None else [weight])):
        _refuse_unknown(name, frame.columns)
    roles = given.gather(frame.columns)
    attributes = []
    proposed = [
        propose(name, [look_at(tell_apart(frame[name]), frame[name].dtype)])
        for name in frame.columns
    ]
    for proposal in given.settle(proposed, keys):
        name = proposal.name
        if name == weight and name not in {**dict.fromkeys(keys), **roles}:
            proposal = _with_role(proposal, Role.OTHER, "the sampling weight")  # noqa: PLW2901
        kept = name in keep or (name == weight and proposal.role is Role.OTHER)
        attributes.append(replace(proposal, keep=kept))
    return Schema(tuple(attributes), people, weight)


@dataclass(frozen=True)
class GivenRoles:
    """Roles that the steward gives, by names of columns; a list that is given names all of them."""

    quasi_identifiers: Sequence[str] | None = None
    sensitive: Sequence[str] | None = None
    identifiers: Sequence[str] | None = None

    def gather(self, columns: Sequence[str]) -> dict[str, Role]:
        """Give the role of every column that is named."""
        given: dict[str, Role] = {}
        for role, names in (
            (Role.IDENTIFIER, self.identifiers),
            (Role.QUASI_IDENTIFIER, self.quasi_identifiers),
            (Role.SENSITIVE, self.sensitive),
        ):
            for name in names or ():
                _refuse_unknown(name, columns)
                if name in given:
                    raise SchemaError(
                        f"Column {name!r} is named both {given[name]} and {role}.",
                        hint="Give every column one role.",
                    )
                given[name] = role
        return given

    def settle(self, proposed: Sequence[Attribute], keys: Sequence[str] = ()) -> list[Attribute]:
        """Give attributes the roles that are given, and ``keys`` that of an identifier."""
        given = dict.fromkeys(keys, Role.IDENTIFIER) | self.gather([a.name for a in proposed])
        named = {Role.QUASI_IDENTIFIER: self.quasi_identifiers, Role.SENSITIVE: self.sensitive}
        settled = []
        for attribute in proposed:
            made, role = attribute, attribute.role
            if attribute.name in given:
                made = _with_role(attribute, given[attribute.name], "named by the steward")
            elif named.get(role) is not None:
                made = _with_role(attribute, Role.OTHER, f"not named among the {role}s")
            settled.append(made)
        return settled


def _refuse_unknown(name: str, columns: Sequence[str]) -> None:
    if name not in columns:
        raise SchemaError(
            f"Column {name!r} is not in the table.", hint=name_closest(name, list(columns))
        )


def _with_role(attribute: Attribute, role: Role, reason: str) -> Attribute:
    typed = attribute.reason.split("; ")[0]
    return replace(attribute, role=role, reason=f"{typed}; {reason}")


def look_at(apart: DistinctCells, stored: pl.DataType) -> CellSummary:
    """Look at the cells of a column."""
    return summarize(*apart.count(), stored=stored)


def propose(name: str, parts: Sequence[CellSummary]) -> Attribute:
    """Propose a type and a role for a column by what was seen of its cells."""
    seen = merge_summaries(parts)
    found = _infer_type(seen)
    distinct = seen.distinct - len(found.na)
    if found.type is Type.INTEGER and seen.stored == pl.String and 2 < distinct <= MOST_CODES:
        found = _find_codes(found, name)
    role, why_role = _infer_role(seen, name, found.type, distinct)
    if found.type is Type.SET and role is Role.QUASI_IDENTIFIER:
        role = Role.SENSITIVE
    lacking = seen.named < seen.rows or found.unreadable == "missing"
    lacks = (found.na or lacking or distinct == 0) and found.type is not Type.SET
    return Attribute(
        name,
        role,
        found.type,
        missing=Missing.VALUE if lacks else Missing.REJECT,
        decimals=found.decimals,
        na=found.na,
        spelling=found.spelling,
        unreadable=found.unreadable,
        reason=f"{found.why}; {why_role}",
    )


def adopt_spellings(frame: pl.DataFrame, schema: Schema) -> Schema:
    """Find how a table writes what a schema, which may be that of a release, knows by its type."""
    adopted = []
    for attribute in schema:
        name, numeric = attribute.name, attribute.type.numeric
        if numeric and name in frame.columns and frame[name].dtype == pl.String:
            seen = look_at(tell_apart(frame[name]), frame[name].dtype)
            if attribute.type is Type.DATE and len(list_dated(seen)) > 1:
                raise SchemaError(
                    f"Nothing in column {name!r} tells days from months, or centuries apart.",
                    hint="Give the plan, which says it: --plan FILE.",
                )
            found = _infer_type(seen)
            if found.type.numeric and (found.type is Type.DATE) == (attribute.type is Type.DATE):
                adopted.append(
                    replace(attribute, spelling=found.spelling, unreadable=found.unreadable)
                )
    return schema.changed(*adopted)


def _infer_type(seen: CellSummary) -> TypeSeen:
    dtype = seen.stored
    if dtype == pl.Boolean:
        return TypeSeen(Type.BOOLEAN, "true or false")
    if dtype.is_integer():
        return TypeSeen(Type.INTEGER, "whole numbers")
    if dtype.is_temporal() and dtype not in (pl.Duration, pl.Time):
        note = "" if dtype == pl.Date else ", time of day is dropped"
        return TypeSeen(Type.DATE, f"dates{note}")
    if dtype.is_float() or dtype.is_decimal():
        assert seen.numbers is not None
        return _infer_number(seen.numbers, ())
    if isinstance(dtype, pl.List):
        return TypeSeen(Type.SET, "lists of items")
    if dtype not in (pl.String, pl.Null):
        return TypeSeen(Type.CATEGORY, f"stored as {dtype}")
    return _infer_text(seen)


def _infer_text(seen: CellSummary) -> TypeSeen:
    na = tuple(sorted(seen.na))
    if seen.distinct > len(na):
        if seen.lowered in BOOLEAN_PAIRS:
            return TypeSeen(Type.BOOLEAN, "true or false", na)
        if seen.leading_zero and seen.digits:
            return TypeSeen(
                Type.CATEGORY, "digits with leading zeros: codes, not numbers",
                tuple(t for t in na if t in NA_TEXTS),
            )  # fmt: skip
        if dates := _infer_dates(seen, na):
            return dates
        if numbers := _find_numbers(seen, na):
            return numbers
    return TypeSeen(Type.CATEGORY, "text", tuple(t for t in na if t in NA_TEXTS))


def list_dated(seen: CellSummary) -> list[Spelling]:
    """Give how a column's dates may be written: in several ways if nothing tells them apart."""
    texts = seen.distinct - len(seen.na)
    fewest = min((dates.rows for dates in seen.dated.values()), default=0)
    if fewest > max(2, seen.named // MANY_DATES) or 2 * fewest >= max(seen.named, 1):
        return []
    if seen.digits and (texts < LEAST_DIGIT_DATES or fewest):
        return []
    return [s for s, dates in seen.dated.items() if dates.rows == fewest
            and not (seen.digits and not _is_lived_in(dates))
            and not (s.is_short and texts < LEAST_DIGIT_DATES)]  # fmt: skip


def _is_lived_in(dates: DatesSeen) -> bool:
    assert dates.first is not None and dates.last is not None
    return dates.first.year >= 1850 and dates.last.year < 2100


def _infer_dates(seen: CellSummary, na: tuple[str, ...]) -> TypeSeen | None:
    spellings = list_dated(seen)
    if not spellings:
        return None
    chosen, none = spellings[0], seen.dated[spellings[0]].none
    formats = list(dict.fromkeys(spelling.date_format for spelling in spellings))
    why = "dates" if chosen == PLAIN else f"dates as {chosen.date_format}"
    if len(formats) > 1:
        why += f" or {' or '.join(formats[1:])}, which no cell tells apart"
    if chosen.is_short:
        why += ", whose years may be of two centuries"
    return TypeSeen(
        Type.DATE, f"{why}{_count_strays(none)}", na, spelling=chosen,
        unreadable="missing" if none else "reject",
    )  # fmt: skip


def _find_numbers(seen: CellSummary, na: tuple[str, ...]) -> TypeSeen | None:
    """Find in which spelling texts are numbers: all of them, or else nearly all."""
    listed = [] if seen.numbers is None else [(PLAIN, seen.numbers)]
    if not listed or listed[0][1].none:
        unit = "".join(seen.units)
        listed += [
            (replace(spelling, unit=unit), found)
            for spelling, found in seen.spelled.items()
            if not spelling.thousands or spelling.thousands in seen.signs
        ]
    fewest = min((found.rows for _, found in listed), default=0)
    fitting = [(spelling, found) for spelling, found in listed if found.rows == fewest]
    if not fitting:
        return None
    spelling, found = fitting[0]
    number = _infer_number(found, na, spelling, len(fitting) > 1)
    if not found.none:
        return number
    if seen.zero_led or not seen.are_few(found) or not found.is_exact:
        return None
    why = f"{number.why}{_count_strays(found.none)}"
    return number._replace(why=why, unreadable="missing")


def _count_strays(none: frozenset[str]) -> str:
    """Say that some texts of a column are not what the others are."""
    if not none:
        return ""
    many = f"{len(none)} texts are" if len(none) > 1 else "one text is"
    return f", but {many} none, such as {min(none)!r}"


def _infer_number(
    seen: NumbersSeen,
    na: tuple[str, ...],
    spelling: Spelling = PLAIN,
    may_be_other: bool = False,
) -> TypeSeen:
    written = ""
    if spelling != PLAIN:
        written = f" written as {spelling.write_example(whole=seen.whole)}"
    if may_be_other and spelling.thousands:
        written += f", if {spelling.thousands!r} stands between thousands"
    fitting = max(0, 15 - max(seen.whole_digits, 1))
    if not seen.whole and seen.decimals > fitting:
        why = f"numbers{written}, rounded to {fitting} decimals to stay exact"
        return TypeSeen(Type.DECIMAL, why, na, fitting, spelling)
    if seen.whole or not seen.decimals:
        return TypeSeen(Type.INTEGER, f"whole numbers{written}", na, None, spelling)
    why = f"numbers{written} with up to {seen.decimals} decimals"
    return TypeSeen(Type.DECIMAL, why, na, seen.decimals, spelling)


def _find_codes(found: TypeSeen, name: str) -> TypeSeen:
    """Take whole numbers for codes if the name says so: their differences mean nothing."""
    told = CODED.search(speak(name))
    if told is None or found.spelling != PLAIN:
        return found
    return found._replace(
        type=Type.CATEGORY, why=f"whole numbers, but {told.group(1)!r} is told by codes",
        unreadable="reject",
        na=tuple(t for t in found.na if t in NA_TEXTS),
    )  # fmt: skip


def _infer_role(seen: CellSummary, name: str, kind: Type, distinct: int) -> tuple[Role, str]:
    rows = seen.rows - seen.nulls
    share = distinct / rows if rows else 0.0
    spread = f"{distinct} distinct ({share:.1%})"
    judged = rows >= SMALLEST_JUDGED
    spoken = speak(name)
    if kind is Type.CATEGORY and seen.first and distinct:
        for look in KINDS:
            if all(look.pattern.match(cell) for cell in seen.first):
                return look.role, f"cells look like {look.what}"
    if judged and share > NEARLY_UNIQUE and kind is Type.CATEGORY:
        return Role.IDENTIFIER, f"{share:.0%} of cells are distinct"
    named = NAMES[Role.IDENTIFIER].search(spoken)
    if judged and kind is Type.INTEGER and distinct == rows and named:
        return Role.IDENTIFIER, "name of an identifier, every value distinct"
    if judged and kind is Type.INTEGER and distinct == rows and seen.counts_up:
        return Role.IDENTIFIER, "counts the rows"
    if found := WEIGHTS.search(spoken):
        return Role.OTHER, (f"{found.group(1)!r} says a sampling weight: name it as weight in "
                            "[source], or it is left out")  # fmt: skip
    for role in (Role.SENSITIVE, Role.QUASI_IDENTIFIER):
        if found := NAMES[role].search(spoken):
            return role, f"name says {found.group(1)!r}; {spread}"
    if named and (share > 0.5 or not judged):
        return Role.IDENTIFIER, f"name of an identifier; {spread}"
    if PERSONS.search(spoken) and judged and kind is not Type.BOOLEAN:
        return Role.IDENTIFIER, f"name of a key of people; {distinct:,} values in {rows:,} rows"
    return _infer_by_values(seen, kind, spread)


def _infer_by_values(seen: CellSummary, kind: Type, spread: str) -> tuple[Role, str]:
    """Propose a role by what cells are, where the name says nothing."""
    if kind is Type.CATEGORY and seen.lowered and seen.lowered <= SEXES and seen.distinct < 6:
        return Role.QUASI_IDENTIFIER, f"cells look like sexes; {spread}"
    if kind is Type.DATE:
        return Role.QUASI_IDENTIFIER, f"others know dates of people; {spread}"
    if seen.leading_zero and all(re.match(r"^\d{5}$", cell) for cell in seen.first):
        return Role.QUASI_IDENTIFIER, f"cells look like postcodes; {spread}"
    return Role.OTHER, f"nothing tells its role: left out; {spread}"
