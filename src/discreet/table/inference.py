"""Inference: propose a type and a role for every column, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from enum import StrEnum

import polars as pl

from discreet.errors import SchemaError, name_closest
from discreet.table.coded_table import NEARLY_UNIQUE, SMALLEST_JUDGED
from discreet.table.domain import FALSE_TEXTS, ISO, MOST_DIGITS, TRUE_TEXTS
from discreet.table.readers import TableLike, read_table
from discreet.table.schema import Attribute, Missing, PeopleKey, Role, Schema, Type

NA_TEXTS = ("?", "N/A", "n/a", "NULL", "null", "NaN", "nan", "<NA>", "None")
NA_IN_NUMBERS = (*NA_TEXTS, "NA", "na", "-", "--", ".", "..", "x", ":")
"""Texts that can only mean missing among numbers. In categories NA may be Namibia."""

BOOLEAN_PAIRS = [{yes, no} for yes, no in zip(TRUE_TEXTS, FALSE_TEXTS, strict=True)][:-1]
"""Both texts of a pair must occur: F alone may be female. 0 and 1 are rather numbers."""

INTEGER = re.compile(r"^[+-]?\d+(\.0+)?$")
LEADING_ZERO = re.compile(r"^0\d+$")
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
    if series.dtype.is_float():
        series = series.fill_nan(None)
    if series.dtype == pl.Object:
        series = pl.Series([None if c is None else str(c) for c in series], dtype=pl.String)
    cells = series.drop_nulls().unique()
    if cells.dtype == pl.Null:
        cells = cells.cast(pl.String)
    if cells.dtype == pl.String:
        cells = cells.str.strip_chars()
        cells = cells.filter(cells != "").unique()
    kind, decimals, na, why_type = _infer_type(cells)
    distinct = len(cells) - len(na)
    role, why_role = _infer_role(series, name, kind, distinct, cells)
    empty = bool(na) or series.null_count() > 0 or distinct == 0 or _has_blank(series)
    return Attribute(
        name,
        role,
        kind,
        missing=Missing.VALUE if empty else Missing.REJECT,
        decimals=decimals,
        na=na,
        reason=f"{why_type}; {why_role}",
    )


def _has_blank(series: pl.Series) -> bool:
    return series.dtype == pl.String and bool((series.str.strip_chars() == "").any())


def _infer_type(cells: pl.Series) -> tuple[Type, int | None, tuple[str, ...], str]:
    dtype = cells.dtype
    if dtype == pl.Boolean:
        return Type.BOOLEAN, None, (), "true or false"
    if dtype.is_integer():
        return Type.INTEGER, None, (), "whole numbers"
    if dtype.is_temporal() and dtype not in (pl.Duration, pl.Time):
        note = "" if dtype == pl.Date else ", time of day is dropped"
        return Type.DATE, None, (), f"dates{note}"
    if dtype.is_float() or dtype.is_decimal():
        finite = [text for text in map(str, cells) if _is_number(text)]
        return _infer_number(finite or ["0"], (), "numbers")
    if dtype != pl.String:
        return Type.CATEGORY, None, (), f"stored as {dtype}"
    return _infer_text(sorted(cells.to_list()))


def _infer_text(texts: list[str]) -> tuple[Type, int | None, tuple[str, ...], str]:
    na = tuple(t for t in texts if t in NA_IN_NUMBERS)
    rest = [t for t in texts if t not in NA_IN_NUMBERS]
    if rest:
        if {t.lower() for t in rest} in BOOLEAN_PAIRS:
            return Type.BOOLEAN, None, na, "true or false"
        if any(LEADING_ZERO.match(t) for t in rest) and all(t.isdigit() for t in rest):
            return Type.CATEGORY, None, na, "digits with leading zeros: codes, not numbers"
        if all(ISO.match(t) for t in rest):
            return Type.DATE, None, na, "dates"
        if all(_is_number(t) for t in rest):
            return _infer_number(rest, na, "numbers")
    na = tuple(t for t in texts if t in NA_TEXTS)
    return Type.CATEGORY, None, na, "text"


def _is_number(text: str) -> bool:
    try:
        number = Decimal(text)
        return number.is_finite() and abs(number.adjusted()) <= MOST_DIGITS
    except InvalidOperation:
        return False


def _infer_number(
    texts: list[str], na: tuple[str, ...], why: str
) -> tuple[Type, int | None, tuple[str, ...], str]:
    if all(INTEGER.match(t) for t in texts):
        return Type.INTEGER, None, na, why.replace("numbers", "whole numbers")
    exponents = [Decimal(t).normalize() for t in texts]
    decimals = max(-int(number.as_tuple().exponent) for number in exponents)
    whole_digits = max(number.adjusted() + 1 for number in exponents)
    fitting = max(0, 15 - max(whole_digits, 1))
    if decimals > fitting:
        return Type.DECIMAL, fitting, na, f"{why}, rounded to {fitting} decimals to stay exact"
    if decimals <= 0:
        return Type.INTEGER, None, na, why.replace("numbers", "whole numbers")
    return Type.DECIMAL, decimals, na, f"{why} with up to {decimals} decimals"


def _infer_role(
    series: pl.Series, name: str, kind: Type, distinct: int, cells: pl.Series
) -> tuple[Role, str]:
    rows = series.len() - series.null_count()
    share = distinct / rows if rows else 0.0
    spread = f"{distinct} distinct ({share:.1%})"
    judged = rows >= SMALLEST_JUDGED
    spoken = re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()
    if kind is Type.CATEGORY and cells.dtype == pl.String and distinct:
        sample = cells.head(200).to_list()
        for pattern, what in ((EMAIL, "e-mail addresses"), (PHONE, "phone numbers")):
            if all(pattern.match(cell) for cell in sample):
                return Role.IDENTIFIER, f"cells look like {what}"
    if judged and share > NEARLY_UNIQUE and kind is Type.CATEGORY:
        return Role.IDENTIFIER, f"{share:.0%} of cells are distinct"
    if judged and kind is Type.INTEGER and distinct == rows and re.search(_Name.IDENTIFIER, spoken):
        return Role.IDENTIFIER, "name of an identifier, every value distinct"
    if judged and kind is Type.INTEGER and distinct == rows and _counts_up(cells):
        return Role.IDENTIFIER, "counts the rows"
    for role in (Role.SENSITIVE, Role.QUASI_IDENTIFIER):
        if found := re.search(_Name[role.name], spoken):
            return role, f"name says {found.group(2)!r}; {spread}"
    if re.search(_Name.IDENTIFIER, spoken) and (share > 0.5 or not judged):
        return Role.IDENTIFIER, f"name of an identifier; {spread}"
    if re.search(_Name.PERSON, spoken) and judged:
        return Role.IDENTIFIER, f"name of a key of people; {distinct:,} values in {rows:,} rows"
    return Role.OTHER, f"nothing tells its role: left out; {spread}"


def _counts_up(cells: pl.Series) -> bool:
    numbers = cells.cast(pl.Int64, strict=False).drop_nulls()
    if not len(numbers):
        return False
    return int(numbers.max()) - int(numbers.min()) + 1 == len(numbers)  # type: ignore[arg-type]
