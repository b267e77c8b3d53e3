"""First contact, measured: looking at an unknown file, against only reading it as text.

python benchmarks/inspecting.py [--quick] [--json FILE]
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from clock import clock, run
from discreet.steward.inspection import inspect_table


def measure(quick: bool) -> Iterable[dict[str, Any]]:
    """Measure what it takes to propose roles, types and a plan for a file of twelve columns."""
    n, times = (5_000, 1) if quick else (200_000, 5)
    rng = np.random.default_rng(1)
    people = dc.datasets.census(n).to_polars()
    plain = people.select(people.columns[:9]).with_columns(
        id=pl.Series(np.arange(n)),
        born=pl.Series(rng.integers(0, 20_000, n)).cast(pl.Int32).cast(pl.Date),
        pay=pl.Series(rng.integers(100, 900_000, n)),
    )
    spelled = plain.with_columns(
        pl.col("born").dt.strftime("%d.%m.%Y"),
        pay=(pl.col("pay") // 100).cast(pl.String)
        + ","
        + (pl.col("pay") % 100 + 10).cast(pl.String),
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for what, frame in (("written plainly", plain), ("as an office writes it", spelled)):
            file = folder / "table.csv"
            frame.write_csv(file, separator=";")
            text = clock(
                lambda path=file: pl.read_csv(path, separator=";", infer_schema=False), times
            )
            looked = clock(lambda path=file: inspect_table(path, folder), times)
            yield {"what": f"inspect, {what}", "n": n, "seconds": looked, "ratio": looked / text,
                   "against": "polars reading it as text"}  # fmt: skip


if __name__ == "__main__":
    run(__doc__, measure)
