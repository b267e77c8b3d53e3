"""Group limits: how many groups under (k,e) a numeric attribute allows, and how wide.

Zhang, Koudas, Srivastava, Yu, ICDE 2007. A table keeps (k,e) if it has k different numbers over a
range of e, in one group of everybody; what a release is good for hangs on how many groups there can
be. Of the numbers take at most g that are equal, and let y be these, N of them, ascending. There
are g groups if and only if N ≥ g·k and ``y[N - g + i] - y[i] ≥ e`` for all i < g (the proof is in
:mod:`discreet.kernels.dealing`, which makes them). So the largest e of g groups is the least of
these differences, and each g costs one pass. These groups may be of anybody; of people whose
numbers are near, runs of the numbers in their order, there are fewer, and tell sums more closely.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from discreet.evaluate.charts import require_charts
from discreet.publishing.partitioners.sorted_runs import cut_values
from discreet.table.arrays import Ints

SIZES = (2, 3, 5, 10, 20)
"""So many different numbers are asked for."""


@dataclass(frozen=True, eq=False)
class GroupLimits:
    """Different numbers, ascending, and how many people have each."""

    values: Ints
    counts: Ints

    @staticmethod
    def of(numbers: Ints) -> GroupLimits:
        """Count numbers that are ascending."""
        return GroupLimits(*np.unique(numbers, return_counts=True))

    def widen(self, k: int, groups: int) -> int | None:
        """Give the largest range that so many groups of k can all have; ``None`` if none can be.

        >>> salaries = GroupLimits.of(np.array([54, 55, 56, 65, 70, 75, 75, 80, 85]))
        >>> [salaries.widen(3, g) for g in (1, 2, 3, 4)]
        [31, 26, 21, None]
        """
        held = np.minimum(self.counts, groups)
        total = int(held.sum())
        if total < groups * k:
            return None
        if total < 2 * groups:  # some group is of one person
            return 0
        kept = np.repeat(self.values, held)
        return int((kept[-groups:] - kept[:groups]).min())

    def count(self, k: int, e: int) -> int:
        """Count the most groups of at least k different numbers over at least e.

        >>> salaries = GroupLimits.of(np.array([54, 55, 56, 65, 70, 75, 75, 80, 85]))
        >>> salaries.count(3, 21), salaries.count(3, 22), salaries.count(9, 1)
        (3, 2, 0)
        """
        from discreet.kernels.dealing import count_most

        if e > int(self.values[-1] - self.values[0]):
            return 0
        ends = np.cumsum(self.counts)
        k = max(k, 2) if e > 0 else k  # one number has no range
        return int(count_most(self.values, ends, 0, int(ends[-1]), k, e))

    def count_runs(self, k: int, e: int) -> int:
        """Count the most groups that are runs of the numbers in their order.

        >>> salaries = GroupLimits.of(np.array([54, 55, 56, 65, 70, 75, 75, 80, 85]))
        >>> salaries.count_runs(3, 10), salaries.count_runs(3, 20), salaries.count_runs(3, 32)
        (2, 1, 0)
        """
        if len(self.values) < k or int(self.values[-1] - self.values[0]) < e:
            return 0
        return len(cut_values(self.values, self.counts, k, e, "groups"))

    def tabulate(self, wide: Sequence[int]) -> Iterator[tuple[int, int, int, int]]:
        """List k, e, the most runs and the most groups of anybody, for some e."""
        for k in (k for k in SIZES if k <= len(self.values)):
            for e in wide:
                yield k, e, self.count_runs(k, e), self.count(k, e)


def draw_groups(by_ke: pl.DataFrame, name: str) -> Any:
    """Draw the most groups over e, a line for each k, of near numbers and of anybody."""
    alt = require_charts()
    kinds = {"runs": "groups of near numbers", "groups": "groups of anybody"}
    shown = (
        by_ke.filter(pl.col("e") > 0)
        .rename(kinds)
        .unpivot(on=list(kinds.values()), index=["k", "e"], variable_name="kind",
                 value_name="groups")
    )  # fmt: skip
    return (
        alt.Chart(alt.InlineData(shown.to_dicts()))
        .mark_line(interpolate="step-before", point=True)
        .encode(
            x=alt.X("e:Q", title="e", scale=alt.Scale(type="log")),
            y=alt.Y("groups:Q", title="most groups", scale=alt.Scale(type="log")),
            color=alt.Color("k:O", title="k"),
            column=alt.Column("kind:N", title=f"(k,e) that {name} allows",
                              sort=list(kinds.values())),
            tooltip=[alt.Tooltip(field) for field in ("k:Q", "e:Q", "groups:Q")],
        )
        .properties(width=320, height=240)
    )  # fmt: skip
