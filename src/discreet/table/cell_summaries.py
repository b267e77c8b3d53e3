"""Cell summaries: all that a proposal needs to know of a column, from its different cells.

The cells may be looked at in parts, wherever they are, if no cell is in two of them: what is said
of the parts is put together, and is what would be said of the whole.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import polars as pl

from discreet.errors import MicrodataError
from discreet.table.arrays import Ints
from discreet.table.domain import EPOCH, REACH, reduce_column
from discreet.table.missing_texts import ALL_NA, NA_IN_NUMBERS
from discreet.table.numbers_seen import (
    MOST_STRAYS,
    STRAY_ROWS,
    STRAYS,
    NumbersSeen,
    find_ends,
    look_at_cells,
    look_at_texts,
    measure_plain,
    merge_numbers,
)
from discreet.table.schema import Attribute, Type
from discreet.table.spelling import (
    SEPARATORS,
    Spelling,
    find_signs,
    find_units,
    list_date_spellings,
    list_spellings,
)

FEW = 6
"""More different texts than there are of sexes, and than true and false."""
FIRST = 200
"""So many texts, the first by their order, show what a column's texts look like."""
ALL_SIGNS = frozenset(SEPARATORS)
MOST_UNREADABLE = 50
"""More texts of which there is no such day, and a column is not taken for one of dates."""
DIGITS = "^[0-9]+$"


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
    na_rows: int
    """Rows that have such a cell."""
    lowered: frozenset[str]
    """Those that may mean something in small letters, or a few if there are many."""
    digits: bool
    """Whether those that do not mean missing are all digits."""
    zero_led: bool
    """Whether some are digits that begin with 0."""
    numbers: NumbersSeen | None
    """What they are if they are numbers written plainly; ``None`` if too many are none."""
    spelled: dict[Spelling, NumbersSeen]
    """How they may be written, units aside, if nearly all are numbers, the likeliest first."""
    units: frozenset[str]
    """Units that stand at them."""
    signs: frozenset[str]
    """What may stand between thousands in them."""
    dated: dict[Spelling, DatesSeen]
    """What they are by spellings of dates, the likeliest first, if nearly all are dates."""
    first: tuple[str, ...]
    span: tuple[int, int] | None
    """The least and the largest of the cells that are whole numbers."""
    counted: int
    """How many are whole numbers."""
    blank: int
    """Rows whose cell is null, or blank whatever it is stored as."""
    alike: int
    """How many pairs of the others have the same cell, each pair twice."""

    @property
    def separation(self) -> float:
        """The share of pairs of rows with different cells; those without one are alike."""
        pairs = self.rows * (self.rows - 1)
        return 1 - (self.alike + self.blank * (self.blank - 1)) / pairs if pairs else 0.0

    @property
    def counts_up(self) -> bool:
        """Whether the whole numbers have no gap."""
        return self.span is not None and self.span[1] - self.span[0] + 1 == self.counted

    @property
    def leading_zero(self) -> bool:
        """Whether all are digits, and some begin with 0."""
        return self.digits and self.zero_led

    def are_few(self, seen: NumbersSeen) -> bool:
        """Whether those that are no numbers are few beside the others."""
        fitting = self.distinct - len(self.na) - len(seen.none)
        named = self.named - self.na_rows
        return len(seen.none) <= max(1, fitting // STRAYS) and STRAY_ROWS * seen.rows <= named


def summarize(
    cells: pl.Series, counts: Ints, *, stored: pl.DataType | None, is_part: bool = False
) -> CellSummary:
    """Look at different cells, settled, of which each occurs so often.

    ``stored`` is their type where they lie, which says more than theirs of categories. Cells that
    are plain numbers are looked at further if they are a part: others may be written otherwise.
    """
    kept = stored if stored is not None and stored in (pl.Categorical, pl.Enum) else cells.dtype
    rows, nulls = int(counts.sum()), int(counts[cells.is_null().to_numpy()].sum())
    present, tally = cells.drop_nulls(), counts[cells.is_not_null().to_numpy()]
    texts, named = pl.Series([], dtype=pl.String), rows - nulls
    if cells.dtype == pl.String:
        stripped, tally = _strip(present, tally)
        if kept == pl.String:
            present = texts = stripped
            named = int(tally.sum())
    whole = pl.Series([], dtype=pl.Int64)
    if kept == pl.String or kept.is_numeric():
        whole = present.cast(pl.Int64, strict=False)
    is_na = texts.is_in(ALL_NA).to_numpy()
    others, read, own, na = texts, whole.head(len(texts)), tally[: len(texts)], frozenset[str]()
    if is_na.any():
        na, others = frozenset(texts.filter(is_na)), texts.filter(~is_na)
        read, own = read.filter(~is_na), own[~is_na]
    most = MOST_STRAYS if is_part else min(MOST_STRAYS, max(1, len(others) // (STRAYS + 1)))
    numbers = look_at_texts(others, read, own, most)
    if kept.is_float() or kept.is_decimal():
        numbers = look_at_cells(present)
    units = signs = frozenset[str]()
    spelled: dict[Spelling, NumbersSeen] = {}
    if (is_part or numbers is None or numbers.none) and len(others):
        with_digits = others.filter(others.str.contains("[0-9]"))
        if is_part or len(others) - len(with_digits) <= most:
            units, signs = find_units(with_digits), find_signs(with_digits)
            spelled = _list_spelled(others, own, units, ALL_SIGNS if is_part else signs, most)
    return CellSummary(
        stored=kept,
        rows=rows,
        nulls=nulls,
        named=named,
        distinct=len(present),
        na=na,
        na_rows=named - int(own.sum()) if kept == pl.String else 0,
        lowered=_list_few(text.lower() for text in texts if text not in NA_IN_NUMBERS),
        digits=_are_digits(others, read),
        zero_led=bool(others.filter(others.str.starts_with("0")).str.contains("^0[0-9]+$").any()),
        numbers=numbers,
        spelled=spelled,
        units=units,
        signs=signs,
        dated=_list_dated(others, own),
        first=tuple(texts.bottom_k(FIRST).sort()),
        span=find_ends(whole),
        counted=len(whole) - whole.null_count(),
        blank=rows - int(tally.sum()),
        alike=int((tally * (tally - 1)).sum()),
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
        na_rows=sum(part.na_rows for part in parts),
        lowered=_list_few(text for part in parts for text in part.lowered),
        digits=all(part.digits for part in parts),
        zero_led=any(part.zero_led for part in parts),
        numbers=merge_numbers([part.numbers for part in parts]),
        spelled=_merge_spelled(parts),
        units=frozenset().union(*(part.units for part in parts)),
        signs=frozenset().union(*(part.signs for part in parts)),
        dated=_merge_dated(parts),
        first=tuple(sorted(text for part in parts for text in part.first)[:FIRST]),
        span=(min(low for low, _ in spans), max(high for _, high in spans)) if spans else None,
        counted=sum(part.counted for part in parts),
        blank=sum(part.blank for part in parts),
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


def _strip(cells: pl.Series, counts: Ints) -> tuple[pl.Series, Ints]:
    """Give the different texts without blanks around them, those that are left, and their rows."""
    texts = cells.str.strip_chars()
    if (texts.str.len_bytes() != cells.str.len_bytes()).any():
        summed = pl.DataFrame({"text": texts, "n": counts}).group_by("text").agg(pl.col("n").sum())
        texts, counts = summed["text"], summed["n"].to_numpy()
    named = texts != ""
    return (texts, counts) if named.all() else (texts.filter(named), counts[named.to_numpy()])


def _are_digits(texts: pl.Series, read: pl.Series) -> bool:
    """Say whether texts, which are read as whole numbers where they are some, are digits alone."""
    if not texts.filter(read.is_null()).str.contains(DIGITS).all():
        return False
    return not (texts.str.starts_with("+") | texts.str.starts_with("-")).any()


def _list_spelled(
    others: pl.Series, own: Ints, units: frozenset[str], signs: frozenset[str], most: int
) -> dict[Spelling, NumbersSeen]:
    spelled = {}
    for spelling, read in list_spellings(others, units, signs, most):
        is_none = read.is_null()
        none, rows = frozenset(others.filter(is_none)), int(own[is_none.to_numpy()].sum())
        spelled[spelling] = replace(measure_plain(read.drop_nulls()), none=none, rows=rows)
    return spelled


def _list_dated(others: pl.Series, own: Ints) -> dict[Spelling, DatesSeen]:
    """Read texts as dates in every format that all have the shape of."""
    found = {}
    for spelling in list_date_spellings() if len(others) else ():
        if not spelling.looks_like_dates(others):
            continue
        days = spelling.read_dates(others)
        low, high = (EPOCH + dt.timedelta(days=end) for end in REACH[Type.DATE])
        is_none = ~days.is_between(low, high).fill_null(False)
        none = frozenset(others.filter(is_none))
        if len(none) <= MOST_UNREADABLE:
            rows = int(own[is_none.to_numpy()].sum())
            found[spelling] = DatesSeen(days.min(), days.max(), none, rows)  # type: ignore[arg-type]
    return found


def _merge_spelled(parts: Sequence[CellSummary]) -> dict[Spelling, NumbersSeen]:
    """Keep the spellings in which nearly all of all parts are numbers, of one unit."""
    if len(frozenset[str]().union(*(part.units for part in parts))) > 1:
        return {}
    listed = [part.spelled for part in parts if part.distinct > len(part.na)]
    shared = [s for s in (listed[0] if listed else ()) if all(s in other for other in listed)]
    merged = {s: merge_numbers([part[s] for part in listed]) for s in shared}
    return {spelling: seen for spelling, seen in merged.items() if seen is not None}


def _merge_dated(parts: Sequence[CellSummary]) -> dict[Spelling, DatesSeen]:
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


def _list_few(texts: Iterable[str]) -> frozenset[str]:
    """Give the different texts, or a few of them if there are many."""
    found: set[str] = set()
    for text in texts:
        found.add(text)
        if len(found) == FEW:
            break
    return frozenset(found)
