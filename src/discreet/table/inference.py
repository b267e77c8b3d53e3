"""Inference: propose a type and a role for every column, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

import numpy as np
import polars as pl

from discreet.errors import SchemaError, name_closest
from discreet.table.cell_summaries import CellSummary, NumbersSeen, merge_summaries, summarize
from discreet.table.coded_table import NEARLY_UNIQUE, SMALLEST_JUDGED
from discreet.table.domain import FALSE_TEXTS, TRUE_TEXTS
from discreet.table.facts import settle_cells
from discreet.table.readers import TableLike, read_table
from discreet.table.schema import Attribute, Missing, PeopleKey, Role, Schema, Type

NA_TEXTS = ("?", "N/A", "n/a", "NULL", "null", "NaN", "nan", "<NA>", "None")
"""Texts that mean missing in categories, too, where NA may be Namibia."""

BOOLEAN_PAIRS = [{yes, no} for yes, no in zip(TRUE_TEXTS, FALSE_TEXTS, strict=True)][:-1]
"""Both texts of a pair must occur: F alone may be female. 0 and 1 are rather numbers."""

EMAIL = re.compile(r"^[^@\s]+@[^@\s]+\.[^@\s]+$")
PHONE = re.compile(r"^\+?[\d\s()/-]{8,}$")


class _Name(StrEnum):
    """Words in a column's name that tell its role."""

    IDENTIFIER = (
        r"(^|[_\W])(id|ids|uuid|guid|ssn|nin|iban|mrn|passport|e?mail|phone|mobile|tel|"
        r"address|street|(first|last|sur|family|full|user)?_?name|insurance_?n\w*)($|[_\W])"
    )
    PERSON = (
        r"(^|[_\W])([pu]?id|uuid|guid|ssn|nin|mrn|(person|patient|customer|client|member|subject|"
        r"respondent|student|employee)(_?(no|nr|id|key|number))?)($|[_\W])"
    )
    SENSITIVE = (
        r"(^|[_\W])(disease|diagnosis|diagnoses|icd\d*|condition|illness|symptom|hiv|medication|"
        r"treatment|salary|income|wage|wages|pay|earnings|debt|credit|capital|religion|crime|"
        r"offence|grade|score)($|[_\W])"
    )
    QUASI_IDENTIFIER = (
        r"(^|[_\W])(age|birth\w*|dob|sex|gender|race|ethnic\w*|zip\w*|post\w*|city|town|county|"
        r"state|region|country|nationality|citizen\w*|marital|education|degree|school\w*|"
        r"occupation|job|profession|workclass|employer|industry|relationship|household|children|"
        r"language|height|weight|hours)($|[_\W])"
    )


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
    given = _gather_roles(frame.columns, quasi_identifiers, sensitive, identifiers)
    keys = [name for name in (people.person, people.cluster) if name is not None]
    for name in (*keep, *keys, *([] if weight is None else [weight])):
        _refuse_unknown(name, frame.columns)
    given = dict.fromkeys(keys, Role.IDENTIFIER) | given
    named = {Role.QUASI_IDENTIFIER: quasi_identifiers, Role.SENSITIVE: sensitive}
    closed = [role for role, names in named.items() if names is not None]
    attributes = []
    for name in frame.columns:
        proposal = _propose(frame[name], name)
        if name in given:
            proposal = _with_role(proposal, given[name], "named by the steward")
        elif proposal.role in closed:
            proposal = _with_role(proposal, Role.OTHER, f"not named among the {proposal.role}s")
        if name == weight and name not in given:
            proposal = _with_role(proposal, Role.OTHER, "the sampling weight")
        kept = name in keep or (name == weight and proposal.role is Role.OTHER)
        attributes.append(replace(proposal, keep=kept))
    return Schema(tuple(attributes), people, weight)


def _gather_roles(
    columns: list[str],
    quasi_identifiers: Sequence[str] | None,
    sensitive: Sequence[str] | None,
    identifiers: Sequence[str] | None,
) -> dict[str, Role]:
    given: dict[str, Role] = {}
    for role, names in (
        (Role.IDENTIFIER, identifiers),
        (Role.QUASI_IDENTIFIER, quasi_identifiers),
        (Role.SENSITIVE, sensitive),
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


def _refuse_unknown(name: str, columns: list[str]) -> None:
    if name not in columns:
        raise SchemaError(f"Column {name!r} is not in the table.", hint=name_closest(name, columns))


def _with_role(attribute: Attribute, role: Role, reason: str) -> Attribute:
    typed = attribute.reason.split("; ")[0]
    return replace(attribute, role=role, reason=f"{typed}; {reason}")


def _propose(series: pl.Series, name: str) -> Attribute:
    if series.dtype == pl.Object:
        series = pl.Series([None if c is None else str(c) for c in series], dtype=pl.String)
    settled = series.to_frame(name).select(settle_cells(name, series.dtype)).to_series()
    counted = settled.alias("cell").value_counts(name="rows")
    counts = counted["rows"].to_numpy().astype(np.int64)
    return propose(name, [summarize(counted["cell"], counts, stored=series.dtype)])


def propose(name: str, parts: Sequence[CellSummary]) -> Attribute:
    """Propose a type and a role for a column by what was seen of its cells."""
    seen = merge_summaries(parts)
    kind, decimals, na, why_type = _infer_type(seen)
    distinct = seen.distinct - len(na)
    role, why_role = _infer_role(seen, name, kind, distinct)
    empty = bool(na) or seen.named < seen.rows or distinct == 0
    return Attribute(
        name,
        role,
        kind,
        missing=Missing.VALUE if empty else Missing.REJECT,
        decimals=decimals,
        na=na,
        reason=f"{why_type}; {why_role}",
    )


def _infer_type(seen: CellSummary) -> tuple[Type, int | None, tuple[str, ...], str]:
    dtype = seen.stored
    if dtype == pl.Boolean:
        return Type.BOOLEAN, None, (), "true or false"
    if dtype.is_integer():
        return Type.INTEGER, None, (), "whole numbers"
    if dtype.is_temporal() and dtype not in (pl.Duration, pl.Time):
        note = "" if dtype == pl.Date else ", time of day is dropped"
        return Type.DATE, None, (), f"dates{note}"
    if dtype.is_float() or dtype.is_decimal():
        return _infer_number(seen.numbers, (), "numbers")
    if dtype not in (pl.String, pl.Null):
        return Type.CATEGORY, None, (), f"stored as {dtype}"
    return _infer_text(seen)


def _infer_text(seen: CellSummary) -> tuple[Type, int | None, tuple[str, ...], str]:
    na = tuple(sorted(seen.na))
    if seen.distinct > len(na):
        if seen.lowered in BOOLEAN_PAIRS:
            return Type.BOOLEAN, None, na, "true or false"
        if seen.leading_zero and seen.digits:
            return Type.CATEGORY, None, na, "digits with leading zeros: codes, not numbers"
        if seen.dates:
            return Type.DATE, None, na, "dates"
        if seen.numeric:
            return _infer_number(seen.numbers, na, "numbers")
    return Type.CATEGORY, None, tuple(t for t in na if t in NA_TEXTS), "text"


def _infer_number(
    seen: NumbersSeen, na: tuple[str, ...], why: str
) -> tuple[Type, int | None, tuple[str, ...], str]:
    fitting = max(0, 15 - max(seen.whole_digits, 1))
    if not seen.whole and seen.decimals > fitting:
        return Type.DECIMAL, fitting, na, f"{why}, rounded to {fitting} decimals to stay exact"
    if seen.whole or not seen.decimals:
        return Type.INTEGER, None, na, why.replace("numbers", "whole numbers")
    return Type.DECIMAL, seen.decimals, na, f"{why} with up to {seen.decimals} decimals"


def _infer_role(seen: CellSummary, name: str, kind: Type, distinct: int) -> tuple[Role, str]:
    rows = seen.rows - seen.nulls
    share = distinct / rows if rows else 0.0
    spread = f"{distinct} distinct ({share:.1%})"
    judged = rows >= SMALLEST_JUDGED
    spoken = re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()
    if kind is Type.CATEGORY and seen.first and distinct:
        for pattern, what in ((EMAIL, "e-mail addresses"), (PHONE, "phone numbers")):
            if all(pattern.match(cell) for cell in seen.first):
                return Role.IDENTIFIER, f"cells look like {what}"
    if judged and share > NEARLY_UNIQUE and kind is Type.CATEGORY:
        return Role.IDENTIFIER, f"{share:.0%} of cells are distinct"
    if judged and kind is Type.INTEGER and distinct == rows and re.search(_Name.IDENTIFIER, spoken):
        return Role.IDENTIFIER, "name of an identifier, every value distinct"
    if judged and kind is Type.INTEGER and distinct == rows and seen.counts_up:
        return Role.IDENTIFIER, "counts the rows"
    for role in (Role.SENSITIVE, Role.QUASI_IDENTIFIER):
        if found := re.search(_Name[role.name], spoken):
            return role, f"name says {found.group(2)!r}; {spread}"
    if re.search(_Name.IDENTIFIER, spoken) and (share > 0.5 or not judged):
        return Role.IDENTIFIER, f"name of an identifier; {spread}"
    if re.search(_Name.PERSON, spoken) and judged:
        return Role.IDENTIFIER, f"name of a key of people; {distinct:,} values in {rows:,} rows"
    return Role.OTHER, f"nothing tells its role: left out; {spread}"
