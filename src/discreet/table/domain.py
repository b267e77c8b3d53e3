"""Domains: the distinct values of an attribute, exact, in order, each with a code.

Numbers are kept as whole units of ``10 ** -decimals``, dates as days, so that every comparison
downstream is between integers.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import MicrodataError, SchemaError, TaxonomyError
from discreet.table.arrays import Bools, Ints, number_by_sorting
from discreet.table.distinct_cells import DistinctCells, tell_apart
from discreet.table.item_sets import EMPTY, join_lists, read_sets, split_items
from discreet.table.schema import Attribute, Type
from discreet.table.spelling import ISO_DAY, PLAIN, find_numbers, move_sign
from discreet.table.taxonomy import Taxonomy, canonical_text, write_decimal

MISSING = "(missing)"
EPOCH = dt.date(1970, 1, 1)
LARGEST_UNIT = 2**62 - 1
LARGEST_DECIMAL = 10**15 - 1
"""Fifteen digits survive the way through a float64, in which decimals are published."""
MOST_SAFE = 18
"""So many digits are a whole number of 64 bits."""
MOST_DIGITS = 400
"""Beyond that, as beyond every float, a text is no number."""
REACH = {
    Type.INTEGER: (-LARGEST_UNIT, LARGEST_UNIT),
    Type.DECIMAL: (-LARGEST_DECIMAL, LARGEST_DECIMAL),
    Type.DATE: ((dt.date.min - EPOCH).days, (dt.date.max - EPOCH).days),
    Type.BOOLEAN: (0, 1),
}
DECIMAL_COMMA = re.compile(r"^-?\d+,\d+$")
ISO = re.compile(r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}.*)?$")
TRUE_TEXTS = ("true", "t", "yes", "y", "1")
FALSE_TEXTS = ("false", "f", "no", "n", "0")


@dataclass(frozen=True, eq=False)
class Domain:
    """The ordered values of one attribute; a value's position is its code.

    ``values`` holds whole units for numbers, days for dates, 0 and 1 for booleans, texts for
    categories and ordinals. If ``missing``, the last code stands for a missing cell.
    """

    attribute: Attribute
    values: Ints | NDArray[np.object_]
    missing: bool = False
    taxonomy: Taxonomy | None = None
    public: bool = False
    """Whether these are the values that it can have; else those that somebody has."""

    @property
    def size(self) -> int:
        """Number of codes, the missing one included."""
        return len(self.values) + self.missing

    @property
    def decimals(self) -> int:
        """Digits after the point of a decimal; 0 for everything else."""
        return self.attribute.decimals or 0

    @cached_property
    def texts(self) -> list[str]:
        """Every code as text, as it is printed."""
        return [self.write(value) for value in self.values] + [MISSING] * self.missing

    def write_code(self, code: int) -> str:
        """Print one code."""
        return MISSING if code == len(self.values) else self.write(self.values[code])

    def write(self, value: int | str) -> str:
        """Print one value of ``values``."""
        match self.attribute.type:
            case Type.CATEGORY | Type.ORDINAL | Type.SET:
                return str(value)
            case Type.BOOLEAN:
                return "true" if value else "false"
            case Type.DATE:
                return (EPOCH + dt.timedelta(days=int(value))).isoformat()
            case Type.DECIMAL:
                return write_decimal(Decimal(int(value)).scaleb(-self.decimals))
            case Type.INTEGER:
                return str(value)

    def find(self, texts: Sequence[str]) -> Ints:
        """Give the code of each text; -1 where it is not a value of this domain."""
        code_of = {text: code for code, text in enumerate(self.texts)}
        return np.array([code_of.get(text, -1) for text in texts], dtype=np.int64)

    @cached_property
    def item_sets(self) -> list[tuple[str, ...]]:
        """Every code as the items that it is a set of; what is no set is one item."""
        if self.attribute.type is not Type.SET:
            return [(text,) for text in self.texts]
        return [split_items(text, self.attribute.separator) for text in self.texts]

    @property
    def numbers(self) -> Ints:
        """The values as integers, for principles that measure distances."""
        name = self.attribute.name
        if not self.attribute.type.numeric:
            raise SchemaError(
                f"Column {name!r} is a {self.attribute.type}; this principle measures differences.",
                hint="Use it on an integer, decimal or date column, "
                f"or choose a principle for categories for {name!r}.",
            )
        if self.missing:
            raise SchemaError(
                f"Column {name!r} has missing values, which have no distance to others.",
                hint=f'Set missing = "drop" for {name!r}, or fill the cells.',
            )
        return np.asarray(self.values, dtype=np.int64)

    def series(self) -> pl.Series:
        """The values as a typed polars series, one per code; missing is null."""
        kind = self.attribute.type
        nothing = [None] * self.missing
        if kind is Type.DATE:
            days = [EPOCH + dt.timedelta(days=int(v)) for v in self.values]
            return pl.Series([*days, *nothing], dtype=pl.Date)
        if kind is Type.BOOLEAN:
            return pl.Series([*(bool(v) for v in self.values), *nothing], dtype=pl.Boolean)
        if kind is Type.DECIMAL:
            scaled = np.asarray(self.values, dtype=np.float64) / 10.0**self.decimals
            return pl.Series([*scaled.tolist(), *nothing], dtype=pl.Float64)
        dtype = pl.Int64 if kind is Type.INTEGER else pl.String
        return pl.Series([*self.values.tolist(), *nothing], dtype=dtype)


@dataclass(frozen=True, eq=False)
class ReducedColumn:
    """A column reduced to its distinct raw cells, not yet checked against other columns."""

    attribute: Attribute
    inverse: NDArray[np.int32]
    """Per row the number of its raw cell, the last number meaning null."""
    canonical: Ints | NDArray[np.object_]
    """Per raw cell its exact value."""
    missing: Bools
    """Per raw cell whether it means missing."""
    full: bool
    """Whether every raw cell is known to be some row's."""

    @property
    def absent(self) -> Bools:
        """Per row whether the cell is missing."""
        return self.missing[self.inverse]

    def encode(self, keep: Bools | None) -> tuple[NDArray[np.int32], Domain]:
        """Code the rows to keep (all if ``None``) and give the domain of their values."""
        inverse = self.inverse if keep is None else self.inverse[keep]
        present = np.ones(len(self.missing), dtype=bool)
        if keep is None and self.full:
            present[-1] = inverse.max() == len(present) - 1
        else:
            present[:] = False
            present[inverse] = True
        used = present & ~self.missing
        values, places = _number_values(self.canonical[used])
        values, taxonomy = order_values(self.attribute, values)
        lookup = np.full(len(self.missing), len(values), dtype=np.int32)
        lookup[used] = np.argsort(values, kind="stable")[places]
        has_missing = bool((present & self.missing).any())
        return lookup[inverse], Domain(self.attribute, values, has_missing, taxonomy)


def _number_values(values: np.ndarray) -> tuple[np.ndarray, Ints]:
    """Give the different values in ascending order, and each one's place among them."""
    if values.dtype != object:
        return number_by_sorting(values)
    return np.unique(values, return_inverse=True)


def order_values(attribute: Attribute, values: np.ndarray) -> tuple[np.ndarray, Taxonomy | None]:
    """Put values into domain order and restrict the taxonomy to them."""
    if attribute.type is Type.ORDINAL:
        rank = {text: i for i, text in enumerate(attribute.order)}
        values = np.array(sorted(values, key=rank.__getitem__), dtype=object)
    if attribute.taxonomy is None or not len(values) or attribute.type is Type.SET:
        return values, None  # that of a set is about items
    texts = [Domain(attribute, values).write(value) for value in values]
    rule = attribute.taxonomy
    try:
        tree = rule if isinstance(rule, Taxonomy) else rule.build(texts)
    except TaxonomyError as error:
        raise _problems(attribute, [f"{error.message} {error.hint or ''}"]) from error
    problems = tree.lint(texts)
    if problems:
        raise _problems(attribute, problems)
    tree = tree.restrict(texts)
    if attribute.type.ordered:
        if list(tree.leaves) != texts:
            raise _problems(attribute, ["its leaves are not in ascending order"])
        return values, tree
    by_text = dict(zip(texts, values, strict=True))
    return np.array([by_text[leaf] for leaf in tree.leaves], dtype=values.dtype), tree


def _problems(attribute: Attribute, problems: list[str]) -> MicrodataError:
    return MicrodataError(
        "\n".join(f"column {attribute.name!r}: {problem}" for problem in problems),
        subject=attribute,
    )


def reduce_column(
    series: pl.Series,
    attribute: Attribute,
    *,
    find_row: Callable[[object], int | None] | None = None,
) -> ReducedColumn:
    """Reduce a raw column to its distinct cells and read each of them exactly.

    ``find_row`` says in which row a cell is first, where these are cells of rows elsewhere.
    """
    return reduce_cells(tell_apart(series), attribute, find_row=find_row)


def reduce_cells(
    apart: DistinctCells,
    attribute: Attribute,
    *,
    find_row: Callable[[object], int | None] | None = None,
) -> ReducedColumn:
    """Read each of a column's distinct cells exactly."""
    uniques, inverse = apart.cells, apart.inverse
    is_empty = attribute.type is Type.SET and uniques.dtype == pl.String  # not a missing one
    if attribute.type is Type.SET:
        uniques = join_lists(uniques, attribute)
    if uniques.dtype.is_nested() or uniques.dtype == pl.Binary:
        raise _problems(attribute, [f"its cells are {uniques.dtype}, not single values"])
    canonical: np.ndarray
    if attribute.type is Type.SET:
        canonical, absent = read_sets(uniques, attribute)
        bad, nothing = np.zeros(len(uniques), dtype=bool), np.array([EMPTY], dtype=object)
    elif attribute.type in (Type.CATEGORY, Type.ORDINAL):
        canonical = _canonical_texts(uniques)
        absent = np.array([text in ("", *attribute.na) for text in canonical], dtype=bool)
        bad = np.zeros(len(uniques), dtype=bool)
        if attribute.type is Type.ORDINAL:
            known = set(attribute.order)
            bad = np.array([text not in known for text in canonical], dtype=bool) & ~absent
        nothing = np.array([""], dtype=object)
        if MISSING in canonical[~absent]:
            raise _problems(attribute, [f"the text {MISSING!r} stands for missing cells here; "
                                        f'add it to na = ["{MISSING}"]'])  # fmt: skip
    else:
        canonical, absent, bad = _canonical_units(uniques, attribute)
        if attribute.unreadable == "missing":
            absent, bad = absent | bad, np.zeros(len(uniques), dtype=bool)
        nothing = np.zeros(1, dtype=np.int64)
    if bad.any():
        raise _problems(attribute, [_describe_bad(uniques, inverse, bad, attribute, find_row)])
    cells = np.concatenate([canonical, nothing])
    return ReducedColumn(attribute, inverse, cells, np.append(absent, not is_empty), apart.full)


def _describe_bad(
    uniques: pl.Series,
    inverse: NDArray[np.int32],
    bad: Bools,
    attribute: Attribute,
    find_row: Callable[[object], int | None] | None,
) -> str:
    first = int(np.flatnonzero(np.append(bad, False)[inverse])[0])
    found = uniques.slice(int(inverse[first]), 1)
    cell = found.cast(pl.String).item()
    row = first if find_row is None else find_row(found.item())
    where = "" if row is None else f" in data row {row + 1}"
    what = {
        Type.INTEGER: f"an integer of up to 18 digits{_show_spelling(attribute, cell)}",
        Type.DECIMAL: f"a number of up to 15 digits, {attribute.decimals} of them decimals"
        f"{_show_spelling(attribute, cell)}",
        Type.DATE: f"a date written {_show_format(attribute)}",
        Type.BOOLEAN: "true or false",
        Type.ORDINAL: f"one of {list(attribute.order)}",
    }[attribute.type]
    return f"{cell!r}{where} is not {what}; {int(bad.sum())} such distinct values in all"


def _show_spelling(attribute: Attribute, cell: str) -> str:
    """Say how numbers are to be written, where that may be what is wrong with one."""
    if attribute.spelling != PLAIN:
        return f' written as "{attribute.spelling.write_example()}"'
    if DECIMAL_COMMA.match(cell):
        return ' (a decimal comma? say decimal = ",")'
    grouped = re.match(r"^\D{0,3}\d[\d., '’]*\D{0,3}$", cell)
    return " (say decimal, thousands or unit if that is how it is written)" if grouped else ""


def _show_format(attribute: Attribute) -> str:
    """Say how dates are to be written."""
    format_ = attribute.spelling.date_format
    if format_ == ISO_DAY:
        return "YYYY-MM-DD (or say date_format)"
    return f"as {dt.date(1970, 3, 25).strftime(format_)}, by date_format = {format_!r}"


def _canonical_texts(uniques: pl.Series) -> NDArray[np.object_]:
    """Write cells of a category as text, so that 1, 1.0 and "1.0" are one value."""
    if uniques.dtype == pl.Boolean:
        texts = ["true" if cell else "false" for cell in uniques]
    else:
        texts = [canonical_text(str(cell)) for cell in uniques.to_list()]
    return np.array(texts, dtype=object)


def _canonical_units(uniques: pl.Series, attribute: Attribute) -> tuple[Ints, Bools, Bools]:
    """Read cells as whole units; say which mean missing and which cannot be read."""
    kind, decimals = attribute.type, attribute.decimals or 0
    absent = np.zeros(len(uniques), dtype=bool)
    if uniques.dtype == pl.String:
        uniques = uniques.str.strip_chars()
        absent |= uniques.is_in(["", *attribute.na]).to_numpy()
    bad = np.zeros(len(uniques), dtype=bool)
    if uniques.dtype == pl.String and (kind is Type.DATE or attribute.spelling != PLAIN):
        uniques = _unspell(uniques, attribute)
        bad = uniques.is_null().to_numpy() & ~absent
    units, known = _guess_units(uniques, kind, decimals)
    for i in np.flatnonzero(~known & ~absent):
        unit = read_unit(uniques[int(i)], kind, decimals)
        bad[i] |= unit is None
        units[i] = unit or 0
    low, high = REACH[kind]
    bad |= ~absent & ((units < low) | (units > high))
    for text in attribute.na:  # −9 may mean missing in a column of numbers, too
        unit = read_unit(text, kind, decimals)
        if unit is not None:
            absent |= ~bad & (units == unit)
    absent |= bad & find_numbers(uniques, attribute.na).to_numpy()
    return units, absent, bad & ~absent


def _unspell(texts: pl.Series, attribute: Attribute) -> pl.Series:
    """Read texts as the column spells them: dates as such, numbers as they are written plainly."""
    if attribute.type is Type.DATE:
        return attribute.spelling.read_dates(texts)
    if attribute.type is Type.BOOLEAN:
        return texts
    return attribute.spelling.read_numbers(texts)


def _guess_units(uniques: pl.Series, kind: Type, decimals: int) -> tuple[Ints, Bools]:
    """Read the cells that whole-column arithmetic reads exactly; say which those are."""
    dtype = uniques.dtype
    if kind is Type.DATE and dtype in (pl.Date, pl.Datetime):
        days = uniques.dt.date() if dtype == pl.Datetime else uniques  # local, not UTC
        counted = days.to_physical().cast(pl.Int64)
        return counted.fill_null(0).to_numpy().copy(), np.ones(len(uniques), bool)
    if dtype == pl.Boolean and kind is not Type.DATE:
        return uniques.cast(pl.Int64).to_numpy() * 10**decimals, np.ones(len(uniques), dtype=bool)
    if kind is Type.INTEGER and (dtype == pl.String or dtype.is_integer()):
        cast = uniques.cast(pl.Int64, strict=False)
        return cast.fill_null(0).to_numpy().copy(), cast.is_not_null().to_numpy()
    if kind is Type.DECIMAL and dtype == pl.String:
        return _read_decimals(uniques, decimals)
    if dtype.is_float() and kind in (Type.INTEGER, Type.DECIMAL):
        cells = uniques.cast(pl.Float64).to_numpy()
        finite = np.where(np.isfinite(cells), cells, 0.0)
        scaled = np.rint(finite * 10.0**decimals)
        # a quotient of two exact floats is correctly rounded: equal means the decimal is exact
        exact = (np.abs(scaled) < 2**53) & (scaled / 10.0**decimals == cells)
        return np.where(exact, scaled, 0).astype(np.int64), exact
    return np.zeros(len(uniques), dtype=np.int64), np.zeros(len(uniques), dtype=bool)


def _read_decimals(texts: pl.Series, decimals: int) -> tuple[Ints, Bools]:
    """Read decimals that are written plainly and need no rounding: as the digits that they have."""
    plain = texts.str.contains(rf"^[+-]?[0-9]{{1,15}}(\.[0-9]{{0,{decimals}}})?$").fill_null(False)
    digits = texts.str.replace(".", "", literal=True)
    behind = (texts.str.len_bytes() - texts.str.find(".", literal=True) - 1).fill_null(0)
    units = digits.cast(pl.Int64, strict=False)
    lacking = decimals - behind.cast(pl.Int64).clip(0, decimals)
    known = plain & units.is_not_null() & (digits.str.len_bytes() + lacking <= MOST_SAFE)
    scale = 10 ** np.where(known.fill_null(False), lacking, 0)
    return units.fill_null(0).to_numpy() * scale, known.fill_null(False).to_numpy()


def read_unit(cell: object, kind: Type, decimals: int) -> int | None:
    """Read a cell as a whole unit: of a number, a day or 0 and 1; ``None`` if it is none."""
    text = canonical_text(str(cell))
    if kind is Type.BOOLEAN:
        text = text.lower()
        return 1 if text in TRUE_TEXTS else 0 if text in FALSE_TEXTS else None
    if kind is Type.DATE:
        try:
            return (dt.date.fromisoformat(text[:10]) - EPOCH).days if ISO.match(text) else None
        except ValueError:
            return None
    unit = read_decimal(move_sign(text), decimals)
    return None if unit is None or abs(unit) > LARGEST_UNIT else unit


def read_decimal(cell: object, decimals: int) -> int | None:
    """Read a number as whole units of ``10 ** -decimals``, rounding half to even.

    >>> read_decimal("12.5", 1), read_decimal(0.1, 2), read_decimal("1e3", 0)
    (125, 10, 1000)
    >>> read_decimal("12.5", 0) is None  # an integer column does not round
    True
    """
    try:
        scaled = Decimal(str(cell)).scaleb(decimals)
    except ArithmeticError:
        return None
    if not scaled.is_finite() or scaled.adjusted() > MOST_DIGITS:  # 1e99999999 has no end
        return None
    whole = scaled.to_integral_value()
    return None if decimals == 0 and whole != scaled else int(whole)
