"""Pieces: what a question takes of cells, where a cell stands for several numbers.

A number in a cell is taken to be each of those that the cell has, as likely. A question that
compares it with numbers alone cuts cells into a few runs; for any other it is listed one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor

import numpy as np
import polars as pl
from sqlglot import exp

from discreet.errors import QueryError
from discreet.release.labels import Labels
from discreet.release.selection import Selection
from discreet.sql.query import find_columns
from discreet.sql.selection import CONNECTIVES, find_numbers
from discreet.table.arrays import Floats, Ints
from discreet.table.domain import Domain
from discreet.table.public_cells import PublicCells
from discreet.table.schema import Type

MOST_PIECES = 4_000_000
"""Combinations of pieces that a question is put to."""


@dataclass(frozen=True, eq=False)
class CellPieces:
    """Parts of an attribute's cells that a question takes as a whole."""

    cell: Ints
    value: pl.Series
    """One of its values."""
    mean: pl.Series
    """Of numbers the mean of its values."""
    share: Floats
    """Of those of its cell."""


def cut(cells: PublicCells, query_parts: Sequence[exp.Expr], *, one_by_one: bool) -> CellPieces:
    """Cut the cells of an attribute so that conditions are true of all of a piece, or of nothing.

    ``one_by_one`` if more is asked of its values than comparisons with numbers.
    """
    attribute = cells.attribute
    low, high = cells.ends
    if attribute.type.numeric:
        numbers = None if one_by_one else _find_numbers(query_parts, cells)
        starts = _list_all(cells) if numbers is None else np.union1d(low, numbers)
        starts = starts.astype(np.int64)
        until = np.append(starts[1:], high[-1] + 1)
        cell = np.searchsorted(low, starts, side="right") - 1
        share = (until - starts) / (high - low + 1)[cell]
        values: np.ndarray = starts
        middle = (starts + (until - 1 - starts) / 2) / 10.0 ** (attribute.decimals or 0)
    else:
        cell, share, middle = low, np.ones(len(low)), np.zeros(len(low))
        texts = cells.first[: cells.known]
        is_boolean = attribute.type is Type.BOOLEAN
        values = np.arange(2) if is_boolean else np.array(texts, dtype=object)
    missing = [cells.count - 1] * cells.missing
    known = Domain(attribute, values, cells.missing).series()
    return CellPieces(
        np.append(cell, missing).astype(np.int64),
        known,
        pl.Series([*middle.tolist(), *[None] * len(missing)], dtype=pl.Float64),
        np.append(share, np.ones(len(missing))),
    )


def _list_all(cells: PublicCells) -> Ints:
    low, high = cells.ends
    first, last = int(low[0]), int(high[-1])
    if last - first >= MOST_PIECES:
        raise QueryError(
            f"{cells.attribute.name!r} has {last - first + 1:,} values to look at one by one.",
            hint="Compare it with numbers alone, or ask about another attribute.",
        )
    return np.arange(first, last + 1)


def _find_numbers(parts: Sequence[exp.Expr], cells: PublicCells) -> Ints | None:
    """Give the values before which a condition may change; ``None`` if that is not known."""
    name, scale = cells.attribute.name, 10 ** (cells.attribute.decimals or 0)
    if cells.attribute.type is Type.DATE and any(name in find_columns(part) for part in parts):
        return None
    low, high = cells.ends
    found, left = [], list(parts)
    while left:
        part = left.pop()
        columns = find_columns(part)
        if name not in columns:
            continue
        if len(columns) > 1 and isinstance(part, CONNECTIVES):
            left += part.iter_expressions()
            continue
        numbers = find_numbers([part]) if len(columns) == 1 else None
        if numbers is None:
            return None
        found += [floor(n * scale) + step for n in numbers for step in (-1, 0, 1, 2)]
    inside = sorted({n for n in found if int(low[0]) < n <= int(high[-1])})
    return np.array(inside, dtype=np.int64)


def lay_out(
    cells: Sequence[PublicCells], pieces: Sequence[CellPieces], counts: Floats, *, term: str | None
) -> pl.DataFrame:
    """List all combinations of pieces: their values, cell, share of it and how many are in it.

    The columns are the attributes, ``#cell``, ``#share``, ``#n`` and, of a number that is added up,
    ``#x``.
    """
    sizes = [len(one.cell) for one in pieces]
    rows = int(np.prod(sizes, dtype=np.float64)) if sizes else 1
    if rows > MOST_PIECES:
        raise QueryError(
            f"The question is about {rows:,} combinations of values, too many to look at.",
            hint="Compare numbers with numbers alone, or ask about fewer attributes.",
        )
    places = np.indices(sizes).reshape(len(sizes), -1) if sizes else np.zeros((0, 1), dtype=int)
    cell, share = np.zeros(rows, dtype=np.int64), np.ones(rows)
    columns = {}
    for one, own, place in zip(cells, pieces, places, strict=True):
        cell = cell * one.count + own.cell[place]
        share = share * own.share[place]
        columns[one.attribute.name] = own.value.gather(place)
        if one.attribute.name == term:
            columns["#x"] = own.mean.gather(place)
    return pl.DataFrame(
        {**columns, "#cell": cell, "#share": share, "#n": counts.ravel()[cell]}
    )  # fmt: skip


def read_cell_labels(cells: PublicCells) -> Labels:
    """Give cells as labels, of which selections take a share."""
    absent = np.zeros(cells.count, dtype=bool)
    absent[cells.known :] = True
    nothing = np.zeros(cells.count - cells.known, dtype=np.int64)
    low, high = (np.append(end, nothing + more).astype(np.int64)
                 for end, more in zip(cells.ends, (1, 0), strict=True))  # fmt: skip
    if cells.attribute.type.numeric:
        return Labels(cells.attribute, cells.texts, None, low, high, absent)
    sets = [frozenset([text]) for text in cells.first]
    return Labels(cells.attribute, cells.texts, sets, low, high, absent)


def add_taken(cells: PublicCells, asked: Sequence[Selection] | None) -> Floats:
    """Give, per question and cell, the sum of the numbers that it takes, as a part of all there."""
    low, high = (end.astype(np.float64) for end in cells.ends)
    widths = high - low + 1
    missing = np.zeros(cells.count - cells.known)
    unit = 10.0 ** (cells.attribute.decimals or 0)
    found = []
    for one in asked if asked is not None else [None]:
        if one is None:
            sums = (low + high) / 2
        else:
            starts = np.maximum(one.starts[:, None], low)
            ends = np.minimum(one.ends[:, None], high)
            counts = np.maximum(ends - starts + 1, 0)
            sums = (counts * (starts + ends) / 2).sum(axis=0) / widths
        found.append(np.append(sums / unit, missing))
    return np.array(found)
