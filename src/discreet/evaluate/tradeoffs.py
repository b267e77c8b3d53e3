"""Trade-off: which (ε,m) and (k,e) a numeric attribute allows, before anything is published.

Li, Tao, Xiao, SIGMOD 2008, section 4: some partition keeps (ε,m) if and only if m times the fullest
one-sided neighbourhood is at most n. On the sorted numbers, with h = ⌊n/m⌋, that is: no h + 1
consecutive numbers lie within ε. So every ε below ``min (x_{i+h} - x_i)`` will do, and that one
itself will not (the paper's Theorem 2 is strict); for relative neighbourhoods the bound is
``min (1 - x_i / x_{i+h})``. Each m costs one pass. Of (k,e) it is :mod:`group_limits` that says
which groups there can be.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from discreet.errors import SchemaError
from discreet.evaluate.charts import require_charts, save_chart
from discreet.evaluate.group_limits import GroupLimits, draw_groups
from discreet.principles.base import Number, ratio, require_ratio, require_whole
from discreet.table.arrays import Ints
from discreet.table.microdata import Microdata
from discreet.table.schema import Type

MOST_EXACT = 30
"""Up to here every m has its own step in a chart."""


@dataclass(frozen=True, eq=False)
class Tradeoff:
    """What one numeric attribute allows."""

    attribute: str
    numbers: Ints
    """Everybody's number as whole units, ascending."""
    decimals: int

    def supremum(self, m: int, *, relative: bool = False) -> Fraction | None:
        """Give the ε below which (ε,m) can be kept, itself not included; ``None`` if all can.

        0 means that not even equal numbers can be kept apart.

        >>> pay = np.array([1000, 1010, 1020, 16000, 24000, 31000, 33000, 50000])
        >>> curve = Tradeoff("pay", pay, 0)
        >>> curve.supremum(3), curve.supremum(2), curve.supremum(1)
        (Fraction(20, 1), Fraction(23000, 1), None)
        >>> curve.supremum(3, relative=True), curve.supremum(2, relative=True)
        (Fraction(1, 51), Fraction(17, 25))
        """
        require_whole("m", m)
        if relative:
            self._require_positive()
        n = len(self.numbers)
        h = n // m
        if h >= n:
            return None
        low, high = self.numbers[: n - h], self.numbers[h:]
        if not relative:
            return Fraction(int((high - low).min()), 10**self.decimals)
        if (low == high).any():
            return Fraction(0)
        shares = low / high
        near = shares >= shares.max() * (1 - 1e-12)  # settled exactly among these
        pairs = set(zip(low[near].tolist(), high[near].tolist(), strict=True))
        return 1 - max(Fraction(*pair) for pair in pairs)

    def largest_m(self, epsilon: Number, *, relative: bool = False) -> int:
        """Give the largest m that can be kept with an ε.

        >>> pay = np.array([1000, 1010, 1020, 16000, 24000, 31000, 33000, 50000])
        >>> Tradeoff("pay", pay, 0).largest_m(19), Tradeoff("pay", pay, 0).largest_m(20)
        (4, 2)
        """
        require_ratio("epsilon", epsilon, 0, 10**19)  # as for the principle
        exact = ratio(epsilon)
        kept, refused = 1, len(self.numbers) + 1
        while refused - kept > 1:
            m = (kept + refused) // 2
            bound = self.supremum(m, relative=relative)
            if bound is None or exact < bound:
                kept = m
            else:
                refused = m
        return kept

    def largest_e(self, k: int, groups: int = 1) -> Fraction | None:
        """Give the largest e with which (k,e) leaves so many groups; ``None`` if there is none.

        >>> pay = np.array([54, 55, 56, 65, 70, 75, 75, 80, 85])
        >>> curve = Tradeoff("pay", pay, 0)
        >>> curve.largest_e(3), curve.largest_e(3, groups=3), curve.largest_e(3, groups=4)
        (Fraction(31, 1), Fraction(21, 1), None)
        """
        require_whole("k", k)
        require_whole("groups", groups)
        wide = self._limits.widen(k, groups)
        return None if wide is None else Fraction(wide, 10**self.decimals)

    def most_groups(self, k: int, e: Number) -> int:
        """Give the most groups that keep (k,e), of anybody; 0 if the table cannot.

        >>> pay = np.array([54, 55, 56, 65, 70, 75, 75, 80, 85])
        >>> Tradeoff("pay", pay, 0).most_groups(3, 21), Tradeoff("pay", pay, 0).most_groups(3, 32)
        (3, 0)
        """
        require_whole("k", k)
        require_ratio("e", e, 0)
        return self._limits.count(k, ceil(ratio(e) * 10**self.decimals))

    @cached_property
    def _limits(self) -> GroupLimits:
        return GroupLimits.of(self.numbers)

    @cached_property
    def by_ke(self) -> pl.DataFrame:
        """Per k and e, round numbers up to the whole range, the most groups that keep (k,e).

        ``runs`` are of people whose numbers are near, ``groups`` of anybody.
        """
        unit = 10**self.decimals
        reach = int(self.numbers[-1] - self.numbers[0])
        steps = [ceil(e * unit) for e in _round_numbers(Fraction(reach, unit))]
        rows = self._limits.tabulate(list(dict.fromkeys((*steps, reach))))
        kinds = {"k": pl.Int64, "e": pl.Float64, "runs": pl.Int64, "groups": pl.Int64}
        return pl.DataFrame([(k, e / unit, *most) for k, e, *most in rows], kinds, orient="row")

    def _require_positive(self) -> None:
        if int(self.numbers[0]) <= 0:
            raise SchemaError(
                f"Column {self.attribute!r} has numbers that are not positive; a relative "
                "neighbourhood needs positive ones.",
                hint="Leave such rows out, or use absolute neighbourhoods.",
            )

    @property
    def has_relative(self) -> bool:
        """Whether relative neighbourhoods make sense: all numbers are positive."""
        return int(self.numbers[0]) > 0

    @cached_property
    def by_m(self) -> pl.DataFrame:
        """Per m the ε below which it can be kept, absolute and relative; empty where all can."""
        rows = []
        for m in range(1, 11):
            row: dict[str, Any] = {"m": m, "absolute": _number(self.supremum(m))}
            if self.has_relative:
                row["relative"] = _number(self.supremum(m, relative=True))
            rows.append(row)
        return pl.DataFrame(rows, schema_overrides={"absolute": pl.Float64, "relative": pl.Float64}
                            if self.has_relative else {"absolute": pl.Float64})  # fmt: skip

    @cached_property
    def by_epsilon(self) -> pl.DataFrame:
        """Per ε, round numbers up to the whole range, the largest m that can be kept."""
        reach = Fraction(int(self.numbers[-1] - self.numbers[0]), 10**self.decimals)
        rows: list[dict[str, Any]] = [
            {"kind": "absolute", "epsilon": float(e), "m": self.largest_m(e)}
            for e in _round_numbers(reach)
        ]
        if self.has_relative:
            rows += [
                {"kind": "relative", "epsilon": float(e), "m": self.largest_m(e, relative=True)}
                for e in (Fraction(p, 100) for p in (0, 1, 2, 5, 10, 20, 30, 50, 75))
            ]
        return pl.DataFrame(rows)

    def to_dict(self) -> dict[str, Any]:
        """Give all tables as plain values."""
        return {
            "attribute": self.attribute,
            "people": len(self.numbers),
            "epsilon_below": self.by_m.to_dicts(),
            "largest_m": self.by_epsilon.to_dicts(),
            "most_groups": self.by_ke.to_dicts(),
        }

    def steps(self, *, relative: bool = False) -> list[tuple[float, int]]:
        """List where the largest m falls as ε grows: from each ε on, so many up to the next.

        Each m up to 30 falls at its own ε; above, m is said at the round numbers, and between them
        what holds up to the next: never more than can be kept.

        >>> pay = np.array([1000, 1010, 1020, 16000, 24000, 31000, 33000, 50000])
        >>> Tradeoff("pay", pay, 0).steps()[-3:]
        [(10.0, 4), (20.0, 2), (23000.0, 1)]
        """
        kind = "relative" if relative else "absolute"
        asked = self.by_epsilon.filter((pl.col("kind") == kind) & (pl.col("epsilon") > 0))
        falls = [self.supremum(m, relative=relative) for m in range(2, MOST_EXACT + 1)]
        places = sorted({*map(Fraction, map(str, asked["epsilon"])), *(f for f in falls if f)})
        found: list[tuple[float, int]] = []
        most = [self.largest_m(place, relative=relative) for place in places]
        for i, place in enumerate(places):
            after = most[i + 1] if i + 1 < len(places) else most[i]
            m = most[i] if most[i] <= MOST_EXACT else max(after, MOST_EXACT)
            if not found or found[-1][1] != m or i + 1 == len(places):
                found.append((float(place), m))
        return found

    def draw(self, target: Path) -> Path:
        """Draw what both principles allow as an SVG file, or as a page."""
        return save_chart(require_charts().vconcat(self.chart(), self.chart_groups()), target)

    def chart_groups(self) -> Any:
        """Give a chart of the most groups under (k,e), over e."""
        return draw_groups(self.by_ke, self.attribute)

    def chart(self) -> Any:
        """Give a chart of the largest m over ε, one panel per kind of neighbourhood."""
        alt = require_charts()
        kinds = {"absolute": False, "relative": True} if self.has_relative else {"absolute": False}
        shown = pl.DataFrame(
            [(kind, *step) for kind, flag in kinds.items() for step in self.steps(relative=flag)],
            schema=["kind", "epsilon", "m"], orient="row",
        )  # fmt: skip
        return (
            alt.Chart(alt.InlineData(shown.to_dicts()))
            .mark_line(interpolate="step-after", point=True)
            .encode(
                x=alt.X("epsilon:Q", title="ε", scale=alt.Scale(type="log")),
                y=alt.Y("m:Q", title="largest m", scale=alt.Scale(type="log")),
                column=alt.Column("kind:N", title=f"(ε,m) that {self.attribute} allows"),
                tooltip=[alt.Tooltip("epsilon:Q", title="ε"), alt.Tooltip("m:Q")],
            )
            .properties(width=320, height=240)
            .resolve_scale(x="independent")
        )


def tradeoff(data: Microdata, name: str | None = None) -> Tradeoff:
    """Look at one sensitive number of a table, by default the only one.

    >>> import discreet as dc
    >>> curve = dc.tradeoff(dc.datasets.census(1000, sensitive="income"))
    >>> curve.largest_m(500) >= curve.largest_m(5000) >= 1
    True
    """
    numeric = [n for n in data.sensitive if data.schema[n].type in (Type.INTEGER, Type.DECIMAL)]
    if name is None and len(numeric) == 1:
        name = numeric[0]
    if name not in numeric:
        raise SchemaError(
            f"{'No attribute' if name is None else repr(name)} is one sensitive number here.",
            hint=f"Name one of: {', '.join(map(repr, numeric)) or 'there is none'}.",
        )
    domain = data.domains[name]
    if domain.missing:
        raise SchemaError(
            f"Column {name!r} has missing values; nearness is about numbers.",
            hint='Set missing = "drop" to leave those rows out.',
        )
    numbers = np.sort(domain.numbers[data.codes[name]])
    return Tradeoff(name, numbers, domain.decimals)


def _number(bound: Fraction | None) -> float | None:
    return None if bound is None else float(bound)


def _round_numbers(reach: Fraction) -> Sequence[Fraction]:
    """Give 0, and 1, 2, 5 times powers of ten over the last six orders below the range."""
    power = Fraction(1)
    while power * 10 <= reach:
        power *= 10
    while power > reach > 0:
        power /= 10
    steps = [step * power / 10**order for order in range(4, -1, -1) for step in (1, 2, 5)]
    return [Fraction(0), *(step for step in steps if step <= reach)]
