"""Numbers seen: how numbers are written in the cells of a column, and which cells are none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation

import polars as pl

from discreet.table.arrays import Ints
from discreet.table.domain import MOST_DIGITS
from discreet.table.spelling import move_sign

MOST_STRAYS, STRAYS = 20, 10
"""More texts that are no numbers, or more than one of so many that are, and a column is not taken
for one of numbers."""
STRAY_ROWS = 20
"""One row of so many may have such a text."""
MOST_WHOLE, MOST_EXACT = 18, 15
"""Digits of whole numbers, and of others, that can be read exactly."""
INTEGER = re.compile(r"^[+-]?\d+(\.0+)?$")
PLAIN = r"^[+-]?([0-9]{1,16}(\.[0-9]{1,12})?|[0-9]{17,28})$"
"""Texts of numbers that can be looked at without reading them."""


@dataclass(frozen=True)
class NumbersSeen:
    """How numbers are written."""

    whole: bool
    decimals: int
    whole_digits: int
    none: frozenset[str] = frozenset()
    """Texts that are no numbers."""
    rows: int = 0
    """Rows that have such a text."""

    @property
    def is_exact(self) -> bool:
        """Whether all numbers can be read without rounding."""
        if self.whole:
            return self.whole_digits <= MOST_WHOLE
        return self.decimals <= MOST_EXACT - max(self.whole_digits, 1)


def look_at_texts(texts: pl.Series, read: pl.Series, own: Ints, most: int) -> NumbersSeen | None:
    """Look at texts that may be numbers written plainly, of which at ``most`` so many are none.

    Those that are whole numbers are ``read``.
    """
    furthest = max(map(abs, find_ends(read) or (0,)))
    seen = NumbersSeen(True, 0, len(str(furthest).lstrip("0")))
    if not read.null_count():
        return seen
    others = texts.filter(read.is_null())
    is_plain = others.str.contains(PLAIN)
    odd, none = [], set[str]()
    for text in others.filter(~is_plain):
        if _is_number(text):
            odd.append(text)
        elif len(none) < most:
            none.add(text)
        else:
            return None
    merged = merge_numbers([seen, measure_plain(others.filter(is_plain)), _measure_odd(odd)])
    assert merged is not None
    rows = int(own[texts.is_in(list(none)).to_numpy()].sum()) if none else 0
    return replace(merged, none=frozenset(none), rows=rows)


def look_at_cells(cells: pl.Series) -> NumbersSeen | None:
    """Look at cells that are stored as numbers."""
    texts = (cells.cast(pl.Float64) if cells.dtype.is_float() else cells).cast(pl.String)
    is_plain = texts.str.contains(PLAIN)
    odd = filter(_is_number, map(str, cells.filter(~is_plain)))
    return merge_numbers([measure_plain(texts.filter(is_plain)), _measure_odd(odd)])


def measure_plain(texts: pl.Series) -> NumbersSeen:
    """Look at all texts of plain numbers at once."""
    if not len(texts):
        return NumbersSeen(True, 0, 0)
    texts = texts.str.strip_chars_start("+-0")
    before, behind = _find_points(texts)
    longest = behind.max()
    if longest and texts.filter(behind == longest).str.ends_with("0").all():
        behind = _find_points(texts.filter(behind > 0).str.strip_chars_end("0"))[1]
    decimals, digits = max(int(behind.max()) - 1, 0), int(before.max())  # type: ignore[arg-type]
    return NumbersSeen(not decimals, decimals, digits)


def _find_points(texts: pl.Series) -> tuple[pl.Series, pl.Series]:
    """Say how many signs stand before the points of numbers, and how many from them on."""
    lengths = texts.str.len_bytes()
    before = texts.str.find(".", literal=True).fill_null(lengths)
    return before, lengths - before


def _measure_odd(texts: Iterable[str]) -> NumbersSeen:
    """Look at texts of other numbers one by one."""
    whole, decimals, digits = True, 0, 0
    for text in map(move_sign, texts):
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


def merge_numbers(parts: Sequence[NumbersSeen | None]) -> NumbersSeen | None:
    """Say of all numbers what was said of parts of them; nothing if too many texts are none."""
    known = [part for part in parts if part is not None]
    none = frozenset[str]().union(*(part.none for part in known))
    if len(known) < len(parts) or len(none) > MOST_STRAYS:
        return None
    return NumbersSeen(
        all(part.whole for part in known),
        max(part.decimals for part in known),
        max(part.whole_digits for part in known),
        none,
        sum(part.rows for part in known),
    )


def find_ends(numbers: pl.Series) -> tuple[int, int] | None:
    """Give the least and the largest of some numbers, if there are any."""
    if len(numbers) == numbers.null_count():
        return None
    return int(numbers.min()), int(numbers.max())  # type: ignore[arg-type]
