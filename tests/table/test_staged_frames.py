"""Staged frames: pieces of a table give the cells, counts and codes that its files do."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import polars as pl

import discreet as dc
from discreet.table.facts import survey
from discreet.table.parquet_files import ParquetFiles
from discreet.table.schema import Attribute, Missing, Role, Type
from discreet.table.staged_frames import StagedRows, _list_shares, _Stage, _StageFiles

FRAME = pl.DataFrame(
    {
        "weight": [1.5, float("nan"), -0.0, 0.0, None, 1.5] * 4,
        "city": pl.Series(["a", " a", None, "b", "?", "a"] * 4, dtype=pl.Categorical),
        "born": [date(1980, 1, 1), date(1990, 1, 1), None] * 8,
        "price": pl.Series(["1.10", "2.20", "1.10"] * 8).str.to_decimal(scale=2),
    }
)
SCHEMA = dc.Schema(
    (
        Attribute("weight", Role.QUASI_IDENTIFIER, Type.DECIMAL, missing=Missing.DROP, decimals=1),
        Attribute("city", Role.QUASI_IDENTIFIER, Type.CATEGORY, missing=Missing.VALUE),
        Attribute("born", Role.QUASI_IDENTIFIER, Type.DATE, missing=Missing.DROP),
        Attribute("price", Role.SENSITIVE, Type.DECIMAL, decimals=2),
    )
)


def test_pieces_are_coded_as_files_are_without_what_is_dropped(tmp_path: Path) -> None:
    FRAME.write_parquet(tmp_path / "t.parquet", row_group_size=5)
    files = ParquetFiles(tmp_path / "t.parquet")
    facts = survey(files, SCHEMA)
    assert 0 < facts.n < FRAME.height
    shares = _list_shares(files.files, 7)
    assert len(shares) > 1
    stage = _StageFiles(_Stage(tmp_path, FRAME.columns, 7), shares)
    pieces = [piece for number in range(len(shares)) for piece in stage(number)]
    staged = StagedRows(FRAME.columns, pieces)
    rows, codes = zip(*(staged.encode(i, facts) for i in range(len(pieces))), strict=True)
    wanted = facts.encode(FRAME)
    for name in FRAME.columns:
        assert np.array_equal(np.concatenate([some[name] for some in codes]), wanted[name])
        for dropped in ({}, facts.dropped):
            cells, counts = files.count_cells(name, dropped)
            there = {cell: int(count) for cell, count in zip(cells, counts, strict=True)}
            found = pl.concat(staged.count(i, name, dropped) for i in range(len(pieces)))
            added = found.group_by("cell").agg(pl.col("count").sum()).filter(pl.col("count") > 0)
            assert dict(added.iter_rows()) == there
    kept = [staged.starts[i] + np.flatnonzero(staged.list_kept(i, facts))
            for i in range(len(pieces))]  # fmt: skip
    assert np.array_equal(np.concatenate(rows), np.concatenate(kept))
    own = FRAME.with_row_index().filter(facts.keeps(FRAME))["index"].to_numpy()
    assert np.array_equal(np.concatenate(rows), own)
