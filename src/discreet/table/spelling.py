"""Spelling: how a column writes its numbers and dates, and reading them from that.

Offices write 1.234,50 € and 25.03.1970. A spelling says so for a column; what is not written in
it is read as nothing at all, never as something else.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache

import polars as pl

POINTS = (".", ",")
SEPARATORS = (",", ".", " ", "'")
"""What may stand between thousands; a blank is any blank, an apostrophe any apostrophe."""
FIRST = 100
"""So many texts mostly tell that all are not written so."""
BLANKS = ("\u00a0", "\u2007", "\u2009", "\u202f")
FEW = 3
"""So many texts tell mostly that a column has no dates of some format."""
VARIANTS = {" ": (" ", *BLANKS), "'": ("'", "’")}
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
SHORT_FORMATS = ("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%y", "%m-%d-%y", "%y-%m-%d", "%d-%b-%y")
"""Formats with years of two digits, of which nothing tells the century."""
LAST_CENTURY = 1999
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
    last_year: int | None = None
    """Years of two digits are those of the hundred years that end with it."""

    @property
    def is_short(self) -> bool:
        """Whether years have two digits."""
        return "%y" in self.date_format

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
        if self.last_year is not None and not self.is_short:
            return f"last_year = {self.last_year} is about years of two digits, %y in date_format"
        if self.last_year is not None and not 100 <= self.last_year <= 9999:
            return f"last_year = {self.last_year}: give a year of four digits"
        named = sorted(re.findall("%.", self.date_format), key=str.lower)
        if named not in (["%b", "%d", "%Y"], ["%b", "%d", "%y"], ["%d", "%m", "%Y"],
                         ["%d", "%m", "%y"], ["%B", "%d", "%Y"], ["%B", "%d", "%y"]):  # fmt: skip
            return (f"date_format = {self.date_format!r}: give a day (%d), a month (%m, %b or %B) "
                    'and a year (%Y or %y), such as "%d.%m.%Y"')  # fmt: skip
        if self.is_short and self.last_year is None:
            return (f"date_format = {self.date_format!r} has years of two digits: say which they "
                    "are by the last one that is meant, such as last_year = 1999")  # fmt: skip
        return None

    def write_example(self, *, whole: bool = False) -> str:
        """Show how numbers are written."""
        number = f"1{self.thousands}234" if self.thousands else "1"
        return f"{number}{'' if whole else f'{self.decimal}5'} {self.unit}".strip()

    def read_numbers(self, texts: pl.Series) -> pl.Series:
        """Write numbers with a point and nothing else; what is none becomes null."""
        return self.read_cleaned(clean_numbers(texts.str.strip_chars(), self.unit))

    def read_cleaned(self, texts: pl.Series) -> pl.Series:
        """Do the same with texts that have no unit, and no other blanks and signs than usual."""
        simple = texts.str.contains(f"^-?(?:{self._whole}){self._fraction}$").fill_null(False)
        numbers = texts
        if self.thousands:
            numbers = numbers.str.replace_all(self.thousands, "", literal=True)
        if self.decimal != ".":
            numbers = numbers.str.replace(self.decimal, ".", literal=True)
        if simple.all():
            return numbers
        others = self._read_signed(texts.filter(~simple))
        return numbers.clone().scatter((~simple).arg_true(), others)

    def _read_signed(self, texts: pl.Series) -> pl.Series:
        """Read numbers whose sign may stand anywhere."""
        parts = texts.str.extract_groups(self.pattern).struct.unnest()
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
    def pattern(self) -> str:
        """What all numbers look like, though not all that looks so is one."""
        return rf"^(\(?)([+-]?)\s*({self._whole}){self._fraction}(-?)(\)?)$"

    @property
    def _whole(self) -> str:
        if not self.thousands:
            return "[0-9]+"
        return rf"[1-9][0-9]{{0,2}}(?:{re.escape(self.thousands)}[0-9]{{3}})+|[0-9]+"

    @property
    def _fraction(self) -> str:
        return rf"(?:{re.escape(self.decimal)}([0-9]+))?"

    def looks_like_dates(self, texts: pl.Series) -> bool:
        """Whether all texts have the shape of dates, though there may be no such day."""
        few = texts.head(FEW)
        return all(re.match(self._shape, text) for text in few) and bool(
            texts.str.contains(self._shape).all()
        )

    def read_dates(self, texts: pl.Series) -> pl.Series:
        """Read days; what is none becomes null. A time of day is dropped."""
        days = texts.str.strip_chars().str.extract(self._shape, 1)
        if not self.is_short:
            return days.str.to_date(self.date_format, strict=False)
        before, year, behind = map(_shape_part, self.date_format.partition("%y"))
        parts = days.str.extract_groups(f"^({before})({year})({behind})$").struct.unnest()
        assert self.last_year is not None
        century, last = divmod(self.last_year, 100)
        short = parts["2"].cast(pl.Int64)
        years = short + 100 * (century - (short > last).cast(pl.Int64))
        written = parts["1"] + years.cast(pl.String).str.zfill(4) + parts["3"]
        return written.str.to_date(self.date_format.replace("%y", "%Y"), strict=False)

    @property
    def _shape(self) -> str:
        return _shape_dates(self.date_format)


@cache
def _shape_dates(format_: str) -> str:
    return f"^({_shape_part(format_)}){TIME}$"


def _shape_part(format_: str) -> str:
    return "".join(PARTS.get(step, re.escape(step)) for step in re.split("(%.)", format_))


def list_date_spellings() -> Iterator[Spelling]:
    """Give how a column of dates may be found to be written, the likeliest first.

    Years of two digits are those up to this one, or those of the last century.
    """
    for format_ in DATE_FORMATS:
        yield Spelling(date_format=format_)
    for format_ in SHORT_FORMATS:
        for last in (dt.datetime.now().year, LAST_CENTURY):
            yield Spelling(date_format=format_, last_year=last)


PLAIN = Spelling()
"""Numbers with a point, dates as YYYY-MM-DD."""
NUMBERS = (
    PLAIN, Spelling(".", ","), Spelling(",", "."), Spelling(",", " "), Spelling(".", " "),
    Spelling(".", "'"), Spelling(",", "'"), Spelling(","),
)  # fmt: skip
"""Spellings of numbers that a column may be found to be written in, the likeliest first: 12,345 in
all cells alike is rather a number of thousands than one of thousandths."""


def clean_numbers(texts: pl.Series, unit: str) -> pl.Series:
    """Write blanks and signs of numbers as they are usual, and leave their unit out."""
    if texts.str.contains_any([*BLANKS, "’", "\u2212"]).any():
        texts = texts.str.replace_all(f"[{''.join(BLANKS)}]", " ")
        texts = texts.str.replace_all("’", "'", literal=True)
        texts = texts.str.replace_all("\u2212", "-", literal=True)
    if unit:
        unit = re.escape(unit)
        texts = texts.str.replace(rf"^([(+-]?)\s*{unit}\s*", "$1")
        texts = texts.str.replace(rf"\s*{unit}\s*([)-]?)$", "$1")
    return texts


def find_units(texts: pl.Series) -> frozenset[str]:
    """Find the signs that stand at some numbers."""
    units = _find_any(texts, {unit: (unit,) for unit in UNITS})
    return frozenset(u for u in units if not any(u in other and u != other for other in units))


def find_signs(texts: pl.Series) -> frozenset[str]:
    """Find what may stand between thousands in some texts."""
    return _find_any(texts, {sign: VARIANTS.get(sign, (sign,)) for sign in SEPARATORS})


def _find_any(texts: pl.Series, sought: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    """Find what stands in some texts, in any variant: the first ones tell mostly."""
    first = "\n".join(texts.head(FIRST))
    found = {name for name, written in sought.items() if any(sign in first for sign in written)}
    left = {name: list(written) for name, written in sought.items() if name not in found}
    if left and texts.str.contains_any([sign for signs in left.values() for sign in signs]).any():
        found |= {name for name, signs in left.items() if texts.str.contains_any(signs).any()}
    return frozenset(found)


def list_spellings(
    texts: pl.Series, units: frozenset[str], signs: frozenset[str], most: int
) -> Iterator[tuple[Spelling, pl.Series]]:
    """Give the spellings in which texts are numbers, each with these as they are read.

    At ``most`` so many texts may be none. Between thousands stands one of the ``signs``, or
    nothing. Where several units stand at them there is no spelling: amounts of two currencies
    have no order.
    """
    if not len(texts) or len(units) > 1:
        return
    cleaned = clean_numbers(texts, "".join(units))
    for spelling in NUMBERS:
        if spelling.thousands and spelling.thousands not in signs:
            continue
        if (~cleaned.head(FIRST).str.contains(spelling.pattern)).sum() <= most:
            read = spelling.read_cleaned(cleaned)
            if read.null_count() <= most:
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
