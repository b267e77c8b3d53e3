"""Spelling: how a column writes its numbers and dates, and reading them from that.

Offices write 1.234,50 € and 25.03.1970. A spelling says so for a column; what is not written in
it is read as nothing at all, never as something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import polars as pl

POINTS = (".", ",")
SEPARATORS = (",", ".", " ", "'")
"""What may stand between thousands; a blank is any blank, an apostrophe any apostrophe."""
FIRST = 20
"""So many texts mostly tell that all are not written so."""
BLANKS = "[\u00a0\u2007\u2009\u202f]"
ISO_DAY = "%Y-%m-%d"
TIME = r"(?:[T ,]+[0-9]{1,2}:[0-9]{2}.*)?"
"""A time of day behind a date, which is dropped."""
PARTS = {
    "%Y": "[0-9]{4}", "%y": "[0-9]{2}", "%m": "[0-9]{1,2}", "%d": "[0-9]{1,2}",
    "%b": "[A-Za-z]{3}", "%B": "[A-Za-z]{3,9}",
}  # fmt: skip
DATE_FORMATS = (
    ISO_DAY, "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y",
    "%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%d.%b.%Y", "%Y%m%d",
)  # fmt: skip
"""Formats that a column may be found to be written in, the likeliest first."""
UNITS = ("€", "$", "£", "¥", "₹", "%", "‰", "EUR", "USD", "GBP", "CHF", "JPY", "CAD", "AUD", "BRL",
         "R$", "PLN", "zł", "SEK", "NOK", "DKK", "kr", "CZK", "Kč", "HUF", "Ft")  # fmt: skip
"""Signs that a column of numbers may have at all of them."""


@dataclass(frozen=True)
class Spelling:
    """How numbers and dates are written in the cells of a column that are text.

    >>> texts = pl.Series(["1.234,50 €", "(7)", "12,5-", "1,2.3", "€ 3"])
    >>> Spelling(decimal=",", thousands=".", unit="€").read_numbers(texts).to_list()
    ['1234.50', '-7', '-12.5', None, '3']
    >>> Spelling(date_format="%d.%m.%Y").read_dates(pl.Series(["25.3.1970 12:00", "31.02.1970"]))
    shape: (2,)
    Series: '' [date]
    [
        1970-03-25
        null
    ]
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    """What stands at numbers, such as € or %, before or behind them; it means nothing else."""
    date_format: str = ISO_DAY

    @property
    def problem(self) -> str | None:
        """What is wrong with it, and what to write instead."""
        if self.decimal not in POINTS:
            return f'decimal = {self.decimal!r}: give "." or ","'
        if self.thousands and self.thousands not in SEPARATORS:
            return f"thousands = {self.thousands!r}: give one of {', '.join(map(repr, SEPARATORS))}"
        if self.decimal == self.thousands:
            return f"decimal and thousands are both {self.decimal!r}: give two different signs"
        if re.search(r"[0-9]", self.unit):
            return f"unit = {self.unit!r}: give a sign or a word, such as €"
        named = sorted(re.findall("%.", self.date_format), key=str.lower)
        if named not in (["%b", "%d", "%Y"], ["%b", "%d", "%y"], ["%d", "%m", "%Y"],
                         ["%d", "%m", "%y"], ["%B", "%d", "%Y"], ["%B", "%d", "%y"]):  # fmt: skip
            return (f"date_format = {self.date_format!r}: give a day (%d), a month (%m, %b or %B) "
                    'and a year (%Y or %y), such as "%d.%m.%Y"')  # fmt: skip
        return None

    def write_example(self, *, whole: bool = False) -> str:
        """Show how numbers are written."""
        number = f"1{self.thousands}234" if self.thousands else "1"
        return f"{number}{'' if whole else f'{self.decimal}5'} {self.unit}".strip()

    def read_numbers(self, texts: pl.Series) -> pl.Series:
        """Write numbers with a point and nothing else; what is none becomes null."""
        texts = texts.str.replace_all(BLANKS, " ").str.replace_all("’", "'", literal=True)
        texts = texts.str.replace_all("\u2212", "-", literal=True).str.strip_chars()
        if self.unit:
            unit = re.escape(self.unit)
            texts = texts.str.replace(rf"^([(+-]?)\s*{unit}\s*", "$1")
            texts = texts.str.replace(rf"\s*{unit}\s*([)-]?)$", "$1")
        parts = texts.str.extract_groups(self._pattern).struct.unnest()
        opened, sign, whole, fraction, behind, closed = (parts[str(i)] for i in range(1, 7))
        if self.thousands:
            whole = whole.str.replace_all(self.thousands, "", literal=True)
        minus = [opened == "(", sign == "-", behind == "-"]
        signs = sum(found.cast(pl.Int8) for found in minus)
        fits = whole.is_not_null() & ((opened == "(") == (closed == ")")) & (signs <= 1)
        fits &= ~((sign == "+") & (signs > 0))
        frame = pl.DataFrame({"fits": fits, "less": signs == 1, "whole": whole,
                              "fraction": "." + fraction})  # fmt: skip
        number = pl.concat_str(
            pl.when("less").then(pl.lit("-")).otherwise(pl.lit("")), "whole",
            pl.col("fraction").fill_null(""),
        )  # fmt: skip
        return frame.select(pl.when("fits").then(number)).to_series()

    @property
    def _pattern(self) -> str:
        whole = "[0-9]+"
        if self.thousands:
            whole = rf"[1-9][0-9]{{0,2}}(?:{re.escape(self.thousands)}[0-9]{{3}})+|[0-9]+"
        return rf"^(\(?)([+-]?)\s*({whole})(?:{re.escape(self.decimal)}([0-9]+))?(-?)(\)?)$"

    def looks_like_dates(self, texts: pl.Series) -> bool:
        """Whether all texts have the shape of dates, though there may be no such day."""
        return bool(texts.str.contains(self._shape).all())

    def read_dates(self, texts: pl.Series) -> pl.Series:
        """Read days; what is none becomes null. A time of day is dropped."""
        days = texts.str.strip_chars().str.extract(self._shape, 1)
        return days.str.to_date(self.date_format, strict=False)

    @property
    def _shape(self) -> str:
        steps = re.split("(%.)", self.date_format)
        return f"^({''.join(PARTS.get(step, re.escape(step)) for step in steps)}){TIME}$"


PLAIN = Spelling()
"""Numbers with a point, dates as YYYY-MM-DD."""
NUMBERS = (
    PLAIN, Spelling(".", ","), Spelling(",", "."), Spelling(",", " "), Spelling(".", " "),
    Spelling(".", "'"), Spelling(",", "'"), Spelling(","),
)  # fmt: skip
"""Spellings of numbers that a column may be found to be written in, the likeliest first: 12,345 in
all cells alike is rather a number of thousands than one of thousandths."""


def find_units(texts: pl.Series) -> frozenset[str]:
    """Find the signs that stand at some numbers."""
    if not len(texts) or not texts.str.contains("[0-9]").all():
        return frozenset()
    units = [unit for unit in UNITS if texts.str.contains(unit, literal=True).any()]
    return frozenset(u for u in units if not any(u in other and u != other for other in units))


def find_signs(texts: pl.Series) -> frozenset[str]:
    """Find what may stand between thousands in some texts."""
    texts = texts.str.replace_all(BLANKS, " ").str.replace_all("’", "'", literal=True)
    return frozenset(sign for sign in SEPARATORS if texts.str.contains(sign, literal=True).any())


def list_spellings(
    texts: pl.Series, units: frozenset[str], signs: frozenset[str]
) -> Iterator[tuple[Spelling, pl.Series]]:
    """Give the spellings in which all texts are numbers, each with these as they are read.

    Between thousands stands one of the ``signs``, or nothing. There are none where several units
    stand at them: amounts of two currencies have no order.
    """
    if not len(texts) or len(units) > 1 or not texts.str.contains("[0-9]").all():
        return
    for spelling in NUMBERS:
        if spelling.thousands and spelling.thousands not in signs:
            continue
        told = replace(spelling, unit="".join(units))
        if not told.read_numbers(texts.head(FIRST)).null_count():
            read = told.read_numbers(texts)
            if not read.null_count():
                yield spelling, read


def move_sign(text: str) -> str:
    """Put a minus in front that stands behind, or is said by parentheses.

    >>> move_sign("12.50-"), move_sign("(3)"), move_sign("-4"), move_sign("-4-")
    ('-12.50', '-3', '-4', '-4-')
    """
    if text[:1].isdigit() and text.endswith("-"):
        return f"-{text[:-1]}"
    if text.startswith("(") and text.endswith(")") and text[1:2].isdigit():
        return f"-{text[1:-1]}"
    return text


def find_numbers(cells: pl.Series, texts: Sequence[str]) -> pl.Series:
    """Say which numbers are those that some texts say; what is no number is none of them.

    >>> find_numbers(pl.Series([-9.0, 1.5, 2.0]), ["NA", "-9", "1.50"]).to_list()
    [True, True, False]
    """
    if cells.dtype.is_integer():
        return cells.cast(pl.String).is_in(list(texts))
    if cells.dtype.is_float():
        return cells.is_in(list_numbers(texts))
    return pl.Series([False] * len(cells), dtype=pl.Boolean)


def list_numbers(texts: Sequence[str]) -> list[float]:
    """Give those of some texts that are numbers."""
    found = []
    for text in texts:
        with suppress(ValueError):
            found.append(float(text))
    return found
