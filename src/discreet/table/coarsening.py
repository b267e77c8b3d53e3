"""Coarsening: numbers that are made coarser as they are read, before anything else sees them.

Top and bottom codes, rounding and micro-aggregation are declared with the column. Whoever reads
the table under the same schema sees the same values, and a method knows no others: what it
publishes depends on people's own numbers by what is shown of them alone. Top, bottom and the base
of rounding are public and say of every number what it is shown as, so who knows somebody's own
number knows that, and learns nothing from the own number that it does not tell.

Between bottom and top numbers are rounded to the nearest multiple that lies between them, halves
up. The top code then means ``top`` or more, exactly, and the bottom code ``bottom`` or less.

Micro-aggregation shows everybody the mean of a group of at least ``aggregate`` people with
consecutive values; people with the same value are in the same group and show the same. The groups
are those that lose least (Hansen and Mukherjee, IEEE TKDE 2003). Only the least size is public.
What people are matched by is the mean: that is what somebody finds who knows everybody's numbers,
and who knows one person's alone is left with the groups around it. Not protected is the sum of a
group's numbers, which its mean tells.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import MicrodataError, SchemaError
from discreet.table.arrays import Bools, Ints
from discreet.table.domain import REACH, Domain, ReducedColumn, read_unit
from discreet.table.schema import Attribute, Role, Type
from discreet.table.taxonomy import canonical_text

Coded = tuple[NDArray[np.int32], Domain]
SETTINGS = ("top", "bottom", "round", "aggregate")


@dataclass(frozen=True)
class Coarsening:
    """What is done to the numbers of a column, in whole units.

    >>> age = Attribute("age", Role.QUASI_IDENTIFIER, Type.INTEGER, top=90, bottom=16, round=5)
    >>> coarse = Coarsening.of(age)
    >>> coarse.show(np.array([3, 17, 32, 33, 89, 90, 97])).tolist()
    [16, 20, 30, 35, 85, 90, 90]
    >>> coarse.least(np.array([35, 85, 90])).tolist(), coarse.most(np.array([20, 35, 85])).tolist()
    ([33, 83, 90], [22, 37, 89])
    """

    bottom: int | None
    top: int | None
    base: int
    """Multiples of it are shown; 1 if nothing is rounded."""
    aggregate: int | None
    low: int = field(compare=False)
    high: int = field(compare=False)
    """What numbers can be at all."""

    @staticmethod
    def of(attribute: Attribute) -> Coarsening | None:
        """Read the settings of a column; ``None`` if its numbers are taken as they are."""
        if all(getattr(attribute, name) is None for name in SETTINGS):
            return None
        low, high = REACH[attribute.type]
        return Coarsening(
            _read(attribute, "bottom"),
            _read(attribute, "top"),
            _read(attribute, "round") or 1,
            attribute.aggregate,
            low if attribute.low is None else _read(attribute, "low") or 0,
            high if attribute.high is None else _read(attribute, "high") or 0,
        )

    @property
    def _first(self) -> int:
        """The least multiple above the bottom code; below everything where there is none."""
        return _NEVER if self.bottom is None else self.bottom - self.bottom % self.base + self.base

    @property
    def _last(self) -> int:
        """The largest multiple below the top code; above everything where there is none."""
        return -_NEVER if self.top is None else self.top - 1 - (self.top - 1) % self.base

    def show(self, units: Ints) -> Ints:
        """Give what numbers are shown as, but for micro-aggregation."""
        rounded = (units + self.base // 2) // self.base * self.base
        shown = np.clip(rounded, self._first, self._last)
        if self.bottom is not None:
            shown = np.where(units <= self.bottom, self.bottom, shown)
        return shown if self.top is None else np.where(units >= self.top, self.top, shown)

    def least(self, shown: Ints) -> Ints:
        """Give the least number that is shown as no less than each of some."""
        if self.aggregate is not None:
            return np.full(len(shown), self.low)
        multiple = -(-shown // self.base) * self.base
        least = multiple - self.base // 2
        if self.bottom is not None:
            least = np.where(multiple <= self._first, self.bottom + 1, least)
            least = np.where(shown <= self.bottom, self.low, least)
        return least if self.top is None else np.where(shown > self._last, self.top, least)

    def most(self, shown: Ints) -> Ints:
        """Give the largest number that is shown as no more than each of some."""
        if self.aggregate is not None:
            return np.full(len(shown), self.high)
        multiple = shown // self.base * self.base
        most = multiple - self.base // 2 + self.base - 1
        if self.top is not None:
            most = np.where(multiple >= self._last, self.top - 1, most)
            most = np.where(shown >= self.top, self.high, most)
        return most if self.bottom is None else np.where(shown < self._first, self.bottom, most)

    def opens_below(self, shown: Ints) -> Bools:
        """Say which of some values mean the bottom code: that or less."""
        return np.zeros(len(shown), bool) if self.bottom is None else shown <= self.bottom

    def opens_above(self, shown: Ints) -> Bools:
        """Say which of some values mean the top code: that or more."""
        return np.zeros(len(shown), bool) if self.top is None else shown >= self.top


_NEVER = -(2**62)


def _read(attribute: Attribute, setting: str) -> int | None:
    given = getattr(attribute, setting)
    if given is None:
        return None
    return read_unit(given, attribute.type, attribute.decimals or 0)


def is_coarse(attribute: Attribute) -> bool:
    """Whether what is shown of a column may stand for other numbers."""
    return Coarsening.of(attribute) is not None


def refuse_coarsening(attribute: Attribute) -> None:
    """Refuse settings that make no sense for a column."""
    given = [name for name in SETTINGS if getattr(attribute, name) is not None]
    if not given:
        return
    if attribute.role in (Role.IDENTIFIER, Role.SENSITIVE) or not attribute.published:
        what = {
            Role.IDENTIFIER: "an identifier never leaves",
            Role.SENSITIVE: "sensitive values are published as they are",
        }.get(attribute.role, "the column is not published")
        raise _bad(attribute, given[0], what, "Leave it out, or give the column another role.")
    for name in given:
        fitting = [Type.INTEGER, Type.DECIMAL, *([Type.DATE] if name in ("top", "bottom") else [])]
        if attribute.type not in fitting:
            raise _bad(
                attribute, name, f"a column of type {attribute.type} has none",
                f"Leave it out; it is for columns of type {', '.join(fitting)}.",
            )  # fmt: skip
    _refuse_numbers(attribute, given)


def _refuse_numbers(attribute: Attribute, given: list[str]) -> None:
    group = attribute.aggregate
    if group is not None:
        if len(given) > 1:
            raise _bad(attribute, given[0], "micro-aggregation stands alone: its means have no "
                       "ends and no multiples", "Leave one of them out.")  # fmt: skip
        if isinstance(group, bool) or not isinstance(group, int) or group < 2:
            raise _bad(attribute, "aggregate", f"groups of at least {group} people are none",
                       "Give a whole number from 2 on.")  # fmt: skip
        return
    for name in given:
        value = getattr(attribute, name)
        unit = None if isinstance(value, bool) else _read(attribute, name)
        scaled = None
        if unit is not None and attribute.type is not Type.DATE:
            scaled = Decimal(canonical_text(str(value))).scaleb(attribute.decimals or 0)
        if unit is None or (scaled is not None and scaled != unit):
            raise _bad(attribute, name, f"{value!r} is no {attribute.type}"
                       + (f" with {attribute.decimals} decimals" if attribute.decimals else ""),
                       "Write it as the values of the column are written.")  # fmt: skip
        if name == "round" and unit <= 0:
            raise _bad(attribute, name, f"{value} has no multiples to round to",
                       "Give a number above 0.")  # fmt: skip
    coarse = Coarsening.of(attribute)
    assert coarse is not None
    bottom, top = coarse.bottom, coarse.top
    if bottom is not None and top is not None:
        if top <= bottom:
            raise _bad(attribute, "top", f"{attribute.top} is not above bottom = "
                       f"{attribute.bottom}", "Give a top above the bottom.")  # fmt: skip
        if coarse._first > coarse._last and top > bottom + 1:
            raise _bad(attribute, "round", f"there is no multiple of {attribute.round} between "
                       "bottom and top", "Give a smaller base, or leave it out.")  # fmt: skip
    for name, end in (("top", top), ("bottom", bottom)):
        if end is not None and not coarse.low <= end <= coarse.high:
            raise _bad(attribute, name, f"{getattr(attribute, name)} is not in the column's public "
                       "domain", "Give one from low to high.")  # fmt: skip


def _bad(attribute: Attribute, setting: str, what: str, hint: str) -> SchemaError:
    return SchemaError(f"columns.{attribute.name}.{setting}: {what}.", hint=hint, subject=attribute)


def coarsen(column: ReducedColumn, keep: Bools | None) -> ReducedColumn:
    """Give a column as its settings say, over the rows to keep (all if ``None``)."""
    coarse = Coarsening.of(column.attribute)
    if coarse is None:
        return column
    units = np.asarray(column.canonical, dtype=np.int64)
    if coarse.aggregate is None:
        return replace(column, canonical=np.where(column.missing, 0, coarse.show(units)))
    inverse = column.inverse if keep is None else column.inverse[keep]
    people = np.bincount(inverse, minlength=len(units))
    used = ~column.missing & (people > 0)
    values, place = np.unique(units[used], return_inverse=True)
    shown = np.zeros_like(units)
    if len(values):
        weights = np.zeros(len(values), dtype=np.int64)
        np.add.at(weights, place, people[used])
        shown[used] = aggregate(values, weights, coarse.aggregate, column.attribute.name)[place]
    return replace(column, canonical=shown, full=False)


def aggregate(values: Ints, weights: Ints, k: int, name: str) -> Ints:
    """Give, per ascending value, the mean of its group as a whole unit, halves up.

    A mean lies between the least and the largest value of its group, and so does the unit it is
    rounded to: the means of different groups differ, and are in the order of the groups.

    >>> aggregate(np.array([1, 2, 3, 50, 60]), np.array([1, 1, 1, 1, 1]), 2, "pay").tolist()
    [2, 2, 2, 55, 55]
    """
    from discreet.kernels.microaggregation import group_values

    if int(weights.sum()) < k:
        raise MicrodataError(
            f"column {name!r}: {int(weights.sum())} people have a value, fewer than a group of "
            f"aggregate = {k}"
        )
    starts = group_values((values - values[0]).astype(np.float64), weights, k)
    exact = values.astype(object) * weights  # Python's own whole numbers do not overflow
    sums, people = (np.add.reduceat(part, starts) for part in (exact, weights.astype(object)))
    means = [(2 * total + many) // (2 * many) for total, many in zip(sums, people, strict=True)]
    lengths = np.diff(np.append(starts, len(values)))
    return np.repeat(np.array(means, dtype=np.int64), lengths)


def encode_finer(columns: list[ReducedColumn], keep: Bools | None) -> dict[str, Coded]:
    """Code the columns that are made coarser as they were, to hold them against other releases."""
    return {
        column.attribute.name: replace(column, attribute=refine(column.attribute)).encode(keep)
        for column in columns
        if Coarsening.of(column.attribute) is not None
    }


def refine(attribute: Attribute) -> Attribute:
    """Give a column as it is before its numbers are made coarser."""
    return replace(attribute, taxonomy=None, top=None, bottom=None, round=None, aggregate=None)


def describe_coarsening(attribute: Attribute) -> str:
    """Say in words what was done to the numbers of a column; nothing where nothing was.

    >>> describe_coarsening(Attribute("age", Role.QUASI_IDENTIFIER, Type.INTEGER, top=90, round=5))
    '90 means 90 or more; rounded to the nearest multiple of 5 below it, halves up'
    """
    words = []
    below, above = ("earlier", "later") if attribute.type is Type.DATE else ("less", "more")
    for end, more in ((attribute.bottom, below), (attribute.top, above)):
        if end is not None:
            words.append(f"{end} means {end} or {more}")
    if attribute.round is not None:
        ends = [name for name in ("bottom", "top") if getattr(attribute, name) is not None]
        where = {0: "", 1: " above it" if ends == ["bottom"] else " below it", 2: " between them"}
        words.append(
            f"rounded to the nearest multiple of {attribute.round}{where[len(ends)]}, halves up"
        )
    if attribute.aggregate is not None:
        words.append(
            f"micro-aggregated: each value is the mean of at least {attribute.aggregate} people "
            "with consecutive values"
        )
    return "; ".join(words)


def refuse_other_coarsening(ours: Attribute, shown: Attribute, where: str) -> None:
    """Refuse a table whose numbers were not made coarser as those of a release."""
    if Coarsening.of(ours) != Coarsening.of(shown):
        told = [describe_coarsening(a) or "taken as it is" for a in (ours, shown)]
        raise SchemaError(
            f"Column {shown.name!r} was read otherwise than the release was made. In {where}: "
            f"{told[0]}. In the release: {told[1]}.",
            hint="Read the table under the plan of the release, or under the release's own schema: "
            "dc.read(file, release.schema).",
        )
