"""Reading: tables of a release, and what they hold of a sensitive attribute."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import StoreError
from discreet.release import Release
from discreet.table.arrays import Ints
from discreet.table.domain import Domain, reduce_column


def read_values(
    release: Release, table: pl.DataFrame, name: str
) -> tuple[NDArray[np.int32], Domain, Ints | None]:
    """Read the values of a sensitive attribute; of a part also how often the whole has each."""
    attribute, whole = release.schema[name], release.whole.get(name)
    if whole is None:
        return *reduce_column(table[name], attribute).encode(None), None
    # what the whole holds comes first, so that codes are the same in all parts
    cells = pl.concat([whole["value"].alias(name), table[name]])
    codes, domain = reduce_column(cells, attribute).encode(None)
    known, codes = codes[: whole.height], codes[whole.height :]
    counts = np.bincount(known, weights=whole["rows"], minlength=domain.size)
    return codes, domain, counts.astype(np.int64)


def take_table(release: Release, names: set[str], name: str, columns: set[str]) -> pl.DataFrame:
    """Give one table of a release, refusing tables and columns that nobody declared."""
    if set(release.tables) != names:
        raise StoreError(
            f"A release by {release.method} has the tables {sorted(names)}, "
            f"not {sorted(release.tables)}."
        )
    table = release.tables[name]
    for column in columns ^ set(table.columns):
        what = "has no column" if column in columns else "has an undeclared column"
        raise StoreError(f"The table {name!r} {what} {column!r}.")
    return table
