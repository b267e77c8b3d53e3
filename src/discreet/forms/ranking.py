"""Ranking: which rows of an answer are certain, where estimates decide which there are."""

from __future__ import annotations

import numpy as np
import polars as pl

from discreet.release import name_own
from discreet.sql.finishing import Ranking
from discreet.sql.windows import KEPT, SURE
from discreet.table.arrays import Bools, Floats

CERTAIN = "certain"
"""The column that says of each row whether it surely belongs to the answer, unless what was asked
for is called so."""


def mark_rows(
    frame: pl.DataFrame, ranking: Ranking | None, *, decides: bool
) -> tuple[pl.DataFrame, int]:
    """Keep the rows that the estimates show, and count those that may belong besides.

    Rows come in the order of the estimates. Where these decide, rows say whether they are certain.
    """
    kept, sure = (
        frame[flag].to_numpy().astype(bool) if flag in frame.columns
        else np.ones(frame.height, dtype=bool) for flag in (KEPT, SURE)
    )  # fmt: skip
    shown = frame.select(name for name in frame.columns if not name.startswith("#"))
    if not decides:
        return shown.filter(kept), 0
    may_belong = np.ones(frame.height, dtype=bool)
    if ranking is not None:
        place = np.cumsum(kept) - 1
        inside = place >= ranking.offset
        if ranking.limit is not None:
            inside &= place < ranking.offset + ranking.limit
        ahead, behind = _count_before(frame, ranking, sure)
        end = np.inf if ranking.limit is None else ranking.offset + ranking.limit
        sure = sure & (ahead < end) & (behind >= ranking.offset)
        may_belong = (behind < end) & (ahead >= ranking.offset)
        kept = kept & inside
    left_out = int((~kept & may_belong).sum())
    title = name_own(CERTAIN, shown.columns)
    return shown.with_columns(pl.Series(title, sure)).filter(kept), left_out


def _count_before(frame: pl.DataFrame, ranking: Ranking, sure: Bools) -> tuple[Floats, Floats]:
    """Count, per row, the rows that may come before it, and those that surely do.

    Rows go by what is ordered by first; those that may be equal there may come before each other.
    """
    if not ranking.descends:
        every = np.full(frame.height, frame.height - 1.0)
        return every, np.zeros(frame.height)
    low, high = (frame[f"#o 0{end}"] for end in ("_low", "_high"))
    if not low.dtype.is_numeric():  # as texts and dates are ordered
        rank = low.append(high).rank("dense").cast(pl.Float64)
        low, high = rank.head(frame.height), rank.tail(frame.height)
    first = low.cast(pl.Float64).fill_null(-np.inf).to_numpy()
    last = high.cast(pl.Float64).fill_null(np.inf).to_numpy()
    if ranking.descends[0]:
        first, last = -last, -first
    there = frame["#o 0 there"].fill_null(False).to_numpy()
    if ranking.nothing_first[0]:
        first = np.where(there, first, -np.inf)
    else:
        last = np.where(there, last, np.inf)
    # another row may come before where its first place is not behind my last one
    ahead = np.searchsorted(np.sort(first), last, side="right") - 1.0
    surely = np.sort(last[sure])
    before = np.searchsorted(surely, first, side="left")
    return np.asarray(ahead, dtype=np.float64), np.asarray(before, dtype=np.float64)
