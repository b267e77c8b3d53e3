"""The American Community Survey, read from a file the researcher has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from discreet.errors import SchemaError, name_closest
from discreet.table.readers import read_table


def read_survey(source: Path, names: Mapping[str, str]) -> pl.DataFrame:
    """Read some columns under other names, without the people who lack any of them."""
    frame = read_table(source)
    for name in names:
        if name not in frame.columns:
            raise SchemaError(
                f"{source.name} has no column {name!r}.",
                hint=f"Give a file of ACS persons. {name_closest(name, frame.columns)}",
            )
    frame = frame.select(list(names)).rename(dict(names)).drop_nulls()
    if "age" in frame.columns:
        frame = frame.with_columns(pl.col("age").cast(pl.Float64).cast(pl.Int64))
    return frame
