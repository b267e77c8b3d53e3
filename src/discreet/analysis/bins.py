"""Bins: where the bars of a histogram begin and end."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.errors import QueryError
from discreet.forms import find_form
from discreet.table.schema import Type

if TYPE_CHECKING:
    from discreet.release import Release
    from discreet.table.arrays import Floats

MOST_BINS = 40
MOST_ASKED = 1000
MONTHS = (1, 3, 6, 12, 24, 60, 120, 240, 600, 1200)


@dataclass(frozen=True)
class Bins:
    """Ends of bins, ascending; what lies on an end is in the bin that begins there."""

    ends: tuple[Any, ...]

    def hold(self, column: str) -> str:
        """Say in SQL who is in any of them."""
        return f"{column} >= {_literal(self.ends[0])} AND {column} < {_literal(self.ends[-1])}"

    def number(self, column: str) -> str:
        """Give in SQL the number of the bin that somebody is in.

        >>> Bins((0, 10, 20)).number("age")
        'CASE WHEN age < 10 THEN 0 WHEN age < 20 THEN 1 END'
        """
        cases = [f"WHEN {column} < {_literal(end)} THEN {i}" for i, end in enumerate(self.ends[1:])]
        return f"CASE {' '.join(cases)} END"


def choose_bins(release: Release, attribute: str, bins: int | Sequence[Any] | None) -> Bins | None:
    """Give bins of an attribute: as asked for, or of a width that fits; none where it has values.

    Widths are by Freedman and Diaconis, of a table that the release allows, made round.
    """
    kind = release.schema[attribute].type
    if not kind.numeric:
        if bins is not None:
            raise QueryError(f"{attribute!r} is a {kind}: it has a bar for each value, no bins.")
        return None
    if bins is not None and not isinstance(bins, int):
        return _read_ends(bins, attribute)
    if bins is not None and (isinstance(bins, bool) or not 1 <= bins <= MOST_ASKED):
        raise QueryError(f"bins = {bins!r}: give how many, at most {MOST_ASKED:,}, or their ends.")
    records = find_form(release.form).open_records(release, [attribute])
    cells = records.cells.get(attribute)
    possible = (records.shown[attribute] if cells is None else cells.values).drop_nulls()
    if possible.is_empty():
        raise QueryError(f"Nobody has a {attribute!r}.")
    least, most = _number(possible.min()), _number(possible.max())
    drawn = records.draw(np.random.default_rng(0))[attribute].drop_nulls()
    values = drawn.to_physical().to_numpy().astype(np.float64)
    width = (most - least) / bins if bins else _fit_width(values, least, most)
    if kind is Type.DATE:
        return Bins(_cut_dates(int(least), int(most), width))
    finest = 10.0 ** -(release.schema[attribute].decimals or 0)
    return Bins(_cut_numbers(least, most, max(width, finest), whole=kind is Type.INTEGER))


def _fit_width(values: Floats, least: float, most: float) -> float:
    low, high = np.quantile(values, [0.25, 0.75]) if len(values) else (least, most)
    width = 2 * (high - low) / max(len(values), 1) ** (1 / 3)
    return float(max(width, (most - least) / MOST_BINS))


def _cut_numbers(least: float, most: float, width: float, *, whole: bool) -> tuple[Any, ...]:
    """Give ends that are multiples of 1, 2 or 5 times a power of ten."""
    if width <= 0:
        width = 1.0
    power = 10.0 ** np.floor(np.log10(width))
    step = min((1, 2, 5, 10), key=lambda s: abs(np.log(s * power / width))) * power
    step = max(step, 1.0) if whole else step
    first, last = np.floor(least / step + 1e-9), np.floor(most / step + 1e-9) + 1
    ends = [float(f"{place * step:.12g}") for place in np.arange(first, last + 1)]
    return tuple(int(end) for end in ends) if whole else tuple(ends)


def _cut_dates(least: int, most: int, width: float) -> tuple[Any, ...]:
    """Give ends at days, or at the first of months, quarters or years."""
    first, last = (dt.date(1970, 1, 1) + dt.timedelta(days=day) for day in (least, most))
    if width < 28:
        step = max(1, round(width))
        count = (most - least) // step + 1
        return tuple(first + dt.timedelta(days=step * place) for place in range(count + 1))
    months = min(MONTHS, key=lambda m: abs(np.log(m * 30.4 / width)))
    begin = (first.year * 12 + first.month - 1) // months * months
    ends = [begin]
    while ends[-1] <= last.year * 12 + last.month - 1:
        ends.append(ends[-1] + months)
    return tuple(dt.date(end // 12, end % 12 + 1, 1) for end in ends)


def _read_ends(ends: Sequence[Any], attribute: str) -> Bins:
    given = [end.item() if isinstance(end, np.generic) else end for end in ends]
    plain = all(isinstance(end, int | float | dt.date) and not isinstance(end, bool)
                for end in given)  # fmt: skip
    if not plain or not 2 <= len(given) <= MOST_ASKED + 1 or sorted(set(given)) != given:
        raise QueryError(
            f"bins of {attribute!r} are no ends: give two or more, each larger than the one before."
        )
    return Bins(tuple(given))


def _number(value: Any) -> float:
    return float(pl.Series([value]).to_physical().item())


def _literal(end: Any) -> str:
    return f"DATE '{end.isoformat()}'" if isinstance(end, dt.date) else repr(end)
