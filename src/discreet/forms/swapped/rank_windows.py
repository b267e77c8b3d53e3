"""The windows of a rank-swapped release: who shows a number may have any number of its window.

They are part of the release format: publisher and verifier both derive them, from the swapped
table and (k,e) alone, and must get the same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from discreet.principles.groups import Groups
from discreet.principles.spread import KE, units
from discreet.table.arrays import Ints
from discreet.table.domain import reduce_column
from discreet.table.schema import Attribute


@dataclass(frozen=True, eq=False)
class RankWindows:
    """Per distinct number, as codes in ascending order, two ranges of codes.

    ``near`` is where a partner is sought: as many ranks below as above, the fewest that satisfy
    (k,e). ``low`` to ``high`` is whose number may be shown instead: partners sought, and those
    who seek.
    """

    near_low: Ints
    near_high: Ints
    low: Ints
    high: Ints

    @staticmethod
    def around(whole: Groups, principle: KE) -> RankWindows:
        """Find the windows in a column, given as one bag.

        >>> windows = RankWindows.around(Groups.of([[1, 2, 4, 8, 9]]), KE(k=2, e=3))
        >>> windows.near_low.tolist(), windows.near_high.tolist()
        ([0, 0, 1, 2, 2], [2, 2, 3, 4, 4])
        """
        numbers, e = whole.domain.numbers, units(principle.e, whole)
        ends = np.cumsum(whole.whole)
        starts, n, size = ends - whole.whole, int(ends[-1]), len(ends)
        narrow, wide = np.full(size, -1), np.full(size, n)
        while (wide - narrow > 1).any():
            reach = (narrow + wide) // 2
            low = np.searchsorted(ends, np.maximum(starts - reach, 0), side="right")
            high = np.searchsorted(ends, np.minimum(ends - 1 + reach, n - 1), side="right")
            good = (high - low + 1 >= principle.k) & (numbers[high] - numbers[low] >= e)
            wide, narrow = np.where(good, reach, wide), np.where(good, narrow, reach)
        low = np.searchsorted(ends, np.maximum(starts - wide, 0), side="right")
        high = np.searchsorted(ends, np.minimum(ends - 1 + wide, n - 1), side="right")
        codes = np.arange(size)
        # the first code whose window, or that of a code before it, reaches up here; and so down
        seeks_up = np.searchsorted(np.maximum.accumulate(high), codes)
        lowest_after = np.minimum.accumulate(low[::-1])[::-1]
        seeks_down = np.searchsorted(lowest_after, codes, side="right") - 1
        return RankWindows(low, high, np.minimum(low, seeks_up), np.maximum(high, seeks_down))


def build_windows(values: pl.Series, attribute: Attribute, principle: KE) -> pl.DataFrame:
    """Derive the window of each shown number from the swapped table.

    >>> from discreet.table.schema import Role, Type
    >>> pay = Attribute("pay", Role.SENSITIVE, Type.INTEGER)
    >>> build_windows(pl.Series([1, 9, 4, 2, 8]), pay, KE(k=2, e=3)).rows()
    [(1, 1, 4), (2, 1, 4), (4, 1, 9), (8, 4, 9), (9, 4, 9)]
    """
    codes, domain = reduce_column(values, attribute).encode(None)
    whole = Groups.from_counts(np.bincount(codes, minlength=domain.size).astype(np.int64), domain)
    windows = RankWindows.around(whole, principle)
    series = domain.series()
    return pl.DataFrame(
        {
            "value": series,
            "low": series.gather(windows.low),
            "high": series.gather(windows.high),
        }
    )
