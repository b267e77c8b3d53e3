"""Cell summaries: all that a proposal needs to know of a column, from its different cells.

The cells may be looked at in parts, wherever they are, if no cell is in two of them: what is said
of the parts is put together, and is what would be said of the whole.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import polars as pl

from discreet.errors import MicrodataError
from discreet.table.arrays import Ints
from discreet.table.domain import EPOCH, MOST_DIGITS, REACH, reduce_column
from discreet.table.schema import Attribute, Type
from discreet.table.spelling import (
    DATE_FORMATS,
    SEPARATORS,
    Spelling,
    find_signs,
    find_units,
    list_spellings,
    move_sign,
)

NA_IN_NUMBERS = ("?", "N/A", "n/a", "NULL", "null", "NaN", "nan", "<NA>", "None", "NA", "na", "-",
                 "--", ".", "..", "x", ":")  # fmt: skip
"""Texts that can only mean missing among numbers."""
FEW = 3
"""More different texts than true and false."""
FIRST = 200
"""So many texts, the first by their order, show what a column's texts look like."""
ALL_SIGNS = frozenset(SEPARATORS)
MOST_UNREADABLE = 50
"""More texts of which there is no such day, and a column is not taken for one of dates."""
INTEGER = re.compile(r"^[+-]?\d+(\.0+)?$")
PLAIN = r"^[+-]?([0-9]{1,16}(\.[0-9]{1,12})?|[0-9]{17,28})$"
"""Texts of numbers that can be looked at without reading them."""
LEADING_ZERO = re.compile(r"^0\d+$")


@dataclass(frozen=True)
class NumbersSeen:
    """How numbers are written."""

    whole: bool
    decimals: int
    whole_digits: int


@dataclass(frozen=True)
class DatesSeen:
    """What the cells of a column are if they are dates in some format."""

    first: dt.date | None
    last: dt.date | None
    none: frozenset[str]
    """Texts of which there is no such day."""
    rows: int
    """Rows that have such a text."""


@dataclass(frozen=True)
class CellSummary:
    """What was seen of the cells of a column, or of a part of them."""

    stored: pl.DataType
    rows: int
    nulls: int
    named: int
    """Rows whose cell is neither null nor blank."""
    distinct: int
    """Different cells that are neither."""
    na: frozenset[str]
    """Those of them that may mean missing."""
    lowered: frozenset[str]
    """The others in small letters, or a few if there are many."""
    digits: bool
    """Whether the others are all digits, then numbers written plainly."""
    numeric: bool
    leading_zero: bool
    numbers: NumbersSeen
    spelled: dict[Spelling, NumbersSeen]
    """How the others may be written, units aside, if they are numbers, the likeliest first."""
    units: frozenset[str]
    """Units that stand at them."""
    signs: frozenset[str]
    """What may stand between thousands in them."""
    dated: dict[str, DatesSeen]
    """What the others are by formats of dates, the likeliest first, if nearly all are dates."""
    first: tuple[str, ...]
    span: tuple[int, int] | None
    """The least and the largest of the cells that are whole numbers."""
    counted: int
    """How many are whole numbers."""
    alike: int
    """How many pairs of rows have the same cell, each pair twice; those without one are alike."""

    @property
    def counts_up(self) -> bool:
        """Whether the whole numbers have no gap."""
        return self.span is not None and self.span[1] - self.span[0] + 1 == self.counted


def summarize(
    cells: pl.Series, counts: Ints, *, stored: pl.DataType | None, is_part: bool = False
) -> CellSummary:
    """Look at different cells, settled, of which each occurs so often.

    ``stored`` is their type where they lie, which says more than theirs of categories. Cells that
    are plain numbers are looked at further if they are a part: others may be written otherwise.
    """
    kept = stored if stored is not None and stored in (pl.Categorical, pl.Enum) else cells.dtype
    cells_given = cells
    rows, nulls = int(counts.sum()), int(counts[cells.is_null().to_numpy()].sum())
    named, texts = rows - nulls, pl.Series([], dtype=pl.String)
    stripped = texts
    if kept == pl.String:
        stripped = cells.str.strip_chars()
        named -= int(counts[(stripped == "").fill_null(False).to_numpy()].sum())
        cells = texts = stripped.filter(stripped != "").unique()
    else:
        cells = cells.drop_nulls()
    is_na = texts.is_in(NA_IN_NUMBERS)
    others = texts.filter(~is_na)
    digits = bool(others.str.contains("^[0-9]+$").all())
    numbers, plain = others, others
    if kept.is_float() or kept.is_decimal():
        numbers = cells
        plain = (cells.cast(pl.Float64) if kept.is_float() else cells).cast(pl.String)
    is_plain = plain.str.contains(PLAIN)
    odd = [str(number) for number in numbers.filter(~is_plain)]
    numeric = all(map(_is_number, odd))
    if not numeric:
        odd = [] if numbers is others else list(filter(_is_number, odd))
    units = frozenset[str]() if numeric else find_units(others)
    signs = frozenset[str]() if numeric else find_signs(others)
    whole = cells.head(0)
    if kept == pl.String or kept.is_numeric():
        whole = cells.cast(pl.Int64, strict=False).drop_nulls()
    return CellSummary(
        stored=kept,
        rows=rows,
        nulls=nulls,
        named=named,
        distinct=len(cells),
        na=frozenset(texts.filter(is_na)),
        lowered=_list_few(text.lower() for text in others),
        digits=digits,
        numeric=numeric,
        leading_zero=digits and any(map(LEADING_ZERO.match, others)),
        numbers=_look_at_numbers(plain.filter(is_plain), odd),
        spelled=_list_spelled(others, units, ALL_SIGNS if is_part else signs)
        if is_part or not numeric
        else {},
        units=units,
        signs=signs,
        dated=_list_dated(others, stripped, counts) if kept == pl.String else {},
        first=tuple(texts.sort().head(FIRST)),
        span=(int(whole.min()), int(whole.max())) if len(whole) else None,  # type: ignore[arg-type]
        counted=len(whole),
        alike=_count_alike(cells_given, counts),
    )


def merge_summaries(parts: Sequence[CellSummary]) -> CellSummary:
    """Say of all cells of a column what was said of its parts."""
    if len(parts) == 1:
        return parts[0]
    spans = [part.span for part in parts if part.span is not None]
    return CellSummary(
        stored=parts[0].stored,
        rows=sum(part.rows for part in parts),
        nulls=sum(part.nulls for part in parts),
        named=sum(part.named for part in parts),
        distinct=sum(part.distinct for part in parts),
        na=frozenset().union(*(part.na for part in parts)),
        lowered=_list_few(text for part in parts for text in part.lowered),
        digits=all(part.digits for part in parts),
        numeric=all(part.numeric for part in parts),
        leading_zero=any(part.leading_zero for part in parts),
        numbers=_merge_numbers([part.numbers for part in parts]),
        spelled=_merge_spelled(parts),
        units=frozenset().union(*(part.units for part in parts)),
        signs=frozenset().union(*(part.signs for part in parts)),
        dated=_merge_dated(parts),
        first=tuple(sorted(text for part in parts for text in part.first)[:FIRST]),
        span=(min(low for low, _ in spans), max(high for _, high in spans)) if spans else None,
        counted=sum(part.counted for part in parts),
        alike=sum(part.alike for part in parts),
    )


def check_cells(
    cells: pl.Series,
    counts: Ints,
    *,
    attribute: Attribute,
    find_row: Callable[[str, object], int | None],
) -> int | str:
    """Count the missing of some cells, or say what is wrong with them."""
    try:
        found = reduce_column(
            cells, attribute, find_row=lambda cell: find_row(attribute.name, cell)
        )
    except MicrodataError as error:
        return error.message
    return int(counts[found.absent].sum())


def _list_spelled(
    others: pl.Series, units: frozenset[str], signs: frozenset[str]
) -> dict[Spelling, NumbersSeen]:
    found = list_spellings(others, units, signs)
    return {spelling: _look_at_numbers(read, ()) for spelling, read in found}


def _list_dated(others: pl.Series, stripped: pl.Series, counts: Ints) -> dict[str, DatesSeen]:
    """Read texts as dates in every format that all have the shape of."""
    found = {}
    for format_ in DATE_FORMATS if len(others) else ():
        spelling = Spelling(date_format=format_)
        if not all(map(spelling.looks_like_dates, (others.head(FEW), others))):
            continue
        days = spelling.read_dates(others)
        low, high = (EPOCH + dt.timedelta(days=end) for end in REACH[Type.DATE])
        none = others.filter(~days.is_between(low, high).fill_null(False))
        if len(none) <= MOST_UNREADABLE:
            rows = int(counts[stripped.is_in(none.implode()).fill_null(False).to_numpy()].sum())
            found[format_] = DatesSeen(days.min(), days.max(), frozenset(none), rows)  # type: ignore[arg-type]
    return found


def _merge_numbers(parts: Sequence[NumbersSeen]) -> NumbersSeen:
    return NumbersSeen(
        all(part.whole for part in parts),
        max(part.decimals for part in parts),
        max(part.whole_digits for part in parts),
    )


def _merge_spelled(parts: Sequence[CellSummary]) -> dict[Spelling, NumbersSeen]:
    """Keep the spellings in which all parts are numbers, of one unit."""
    if len(frozenset[str]().union(*(part.units for part in parts))) > 1:
        return {}
    listed = [part.spelled for part in parts if part.distinct > len(part.na)]
    shared = [s for s in (listed[0] if listed else ()) if all(s in other for other in listed)]
    return {spelling: _merge_numbers([part[spelling] for part in listed]) for spelling in shared}


def _merge_dated(parts: Sequence[CellSummary]) -> dict[str, DatesSeen]:
    """Keep the formats in which all parts are dates; a part may have no cell at all."""
    named = [part.dated for part in parts if part.distinct > len(part.na)]
    merged = {}
    for format_ in [f for f in (named[0] if named else ()) if all(f in other for other in named)]:
        seen = [part[format_] for part in named]
        none = frozenset[str]().union(*(part.none for part in seen))
        if len(none) <= MOST_UNREADABLE:
            ends = [(p.first, p.last) for p in seen if p.first is not None and p.last is not None]
            first = min((first for first, _ in ends), default=None)
            last = max((last for _, last in ends), default=None)
            merged[format_] = DatesSeen(first, last, none, sum(part.rows for part in seen))
    return merged


def _count_alike(cells: pl.Series, counts: Ints) -> int:
    if cells.dtype == pl.String:
        cells = cells.str.strip_chars().fill_null("")
        summed = pl.DataFrame({"cell": cells, "n": counts}).group_by("cell").agg(pl.col("n").sum())
        counts = summed["n"].to_numpy()
    return int((counts * (counts - 1)).sum())


def _list_few(texts: Iterable[str]) -> frozenset[str]:
    """Give the different texts, or a few of them if there are many."""
    found: set[str] = set()
    for text in texts:
        found.add(text)
        if len(found) == FEW:
            break
    return frozenset(found)


def _look_at_numbers(plain: pl.Series, odd: Iterable[str]) -> NumbersSeen:
    """Look at texts of numbers: those that are plain all at once, the others one by one."""
    parts = plain.str.strip_chars("+-").str.split_exact(".", 1).struct.unnest()
    fractions = parts["field_1"].str.strip_chars_end("0").str.len_bytes()
    integers = parts["field_0"].str.strip_chars_start("0").str.len_bytes()
    decimals, digits = fractions.max() or 0, integers.max() or 0
    assert isinstance(decimals, int) and isinstance(digits, int)
    whole = not decimals
    for text in map(move_sign, odd):
        number = Decimal(text)
        if not INTEGER.match(text):
            whole, number = False, number.normalize()
            decimals = max(decimals, -int(number.as_tuple().exponent))
        digits = max(digits, number.adjusted() + 1)
    return NumbersSeen(whole, decimals, digits)


def _is_number(text: str) -> bool:
    try:
        number = Decimal(move_sign(text))
        return number.is_finite() and abs(number.adjusted()) <= MOST_DIGITS
    except InvalidOperation:
        return False
