"""Batch tables: what each batch holds, and people who refer to batches."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.publishing.methods.batches_in_parts import count_told
from discreet.table.arrays import Ints
from discreet.table.microdata import Microdata


def tabulate_told(
    data: Microdata, names: list[str], number: NDArray[np.int32], own: tuple[str, str]
) -> pl.DataFrame:
    """Count the sensitive values of each batch, or what people have of several together."""
    batch, rows, counts = count_told(data, names, number)
    return pl.DataFrame(
        {
            own[0]: batch.astype(np.int32),
            **{name: data.domains[name].series().gather(data.codes[name][rows]) for name in names},
            own[1]: counts.astype(np.int64),
        }
    )


def refer_to_batches(
    kinds: pl.DataFrame, ranks: Ints, number: NDArray[np.int32], own: str
) -> pl.DataFrame:
    """One row per person: a box or exact values, and the batch; rows in the order of these."""
    # both in one number: sorting numbers is far faster than sorting rows
    keys = ranks << 32 | number
    keys.sort()
    batch = pl.Series(own, (keys & 0xFFFFFFFF).astype(np.int32))
    return kinds.select(pl.all().gather(keys >> 32)).with_columns(batch)
