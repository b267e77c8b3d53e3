"""The help table of a permuted release: bounds for every group and number of hits.

It is part of the release format: publisher and verifier both derive it, from the permuted table
alone, and must get the same bytes.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from discreet.errors import SchemaError
from discreet.table.arrays import Floats, Ints
from discreet.table.domain import reduce_column
from discreet.table.schema import Attribute, Type


def build_help(group: pl.Series, values: pl.Series, attribute: Attribute) -> pl.DataFrame:
    """Derive the help table from the permuted table (permutation, section 5.2).

    Its column of groups is called as ``group`` is.

    For h hits in a group: the sum of its h smallest and of its h largest values bound the sum;
    the smallest hit lies between the minimum and the h-th largest value, the largest hit between
    the h-th smallest value and the maximum. Over all permutations the sum has mean h·x̄ and
    variance h(1 - h/n)s², a draw without replacement.

    >>> from discreet.table.schema import Role
    >>> pay = Attribute("pay", Role.SENSITIVE, Type.INTEGER)
    >>> build_help(pl.Series("group", [7, 7, 7]), pl.Series([56, 54, 55]), pay)[:, 1:6].rows()
    [(1, 54, 56, 54, 56), (2, 109, 111, 54, 55), (3, 165, 165, 54, 54)]
    """
    column = reduce_column(values, attribute)
    units = np.asarray(column.canonical[column.inverse], dtype=np.int64)
    owners = group.to_numpy()
    order = np.lexsort((units, owners))
    units, owners = units[order], owners[order]
    n = len(units)
    starts = np.flatnonzero(np.append(True, owners[1:] != owners[:-1]))
    sizes = np.diff(np.append(starts, n))
    begin, size = np.repeat(starts, sizes), np.repeat(sizes, sizes)
    hits, last = np.arange(n) - begin + 1, begin + size - 1
    if int(np.abs(units).max()) * int(sizes.max()) >= 2**62:
        raise SchemaError(
            f"Sums of {attribute.name!r} in groups of {int(sizes.max())} do not fit 64 bits.",
            hint="Publish it in a larger unit.",
        )
    total = np.concatenate([[0], np.cumsum(units)])  # may wrap around; differences do not
    scale = 10 ** (attribute.decimals or 0)

    def amount(whole: Ints) -> Ints | Floats:
        return whole / scale if attribute.type is Type.DECIMAL else whole

    low, high = total[begin + hits] - total[begin], total[last + 1] - total[last + 1 - hits]
    sums = total[last + 1] - total[begin]
    # deviations from the group's own minimum keep the squares small and the variance accurate
    own = (units - units[begin]) / scale
    mean = np.repeat(np.add.reduceat(own, starts) / sizes, sizes)
    squares = np.repeat(np.add.reduceat((own - mean) ** 2, starts), sizes)
    spread = squares / np.maximum(size - 1, 1)
    return pl.DataFrame(
        {
            group.name: owners.astype(np.int32),
            "hits": hits,
            "sum_low": amount(low),
            "sum_high": amount(high),
            "min_low": amount(units[begin]),
            "min_high": amount(units[last + 1 - hits]),
            "max_low": amount(units[begin + hits - 1]),
            "max_high": amount(units[last]),
            "sum_mean": np.clip(hits * (sums / scale / size), low / scale, high / scale),
            "sum_variance": hits * (1 - hits / size) * spread,
        }
    )
