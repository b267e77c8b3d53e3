"""Matching: people held against what tables show, combination by combination."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import StoreError
from discreet.release import Release
from discreet.release.labels import rank_cells, read_extents
from discreet.table.arrays import Ints
from discreet.table.domain import reduce_column
from discreet.table.microdata import Microdata, number_keys, representatives, row_ids

if TYPE_CHECKING:
    from discreet.forms.base import View


def number_shown(
    release: Release, table: pl.DataFrame, names: Sequence[str], start: Ints | None = None
) -> Ints:
    """Number what rows show of some attributes, and of what they are numbered by already.

    Numbers are in the order of the attributes' domains, the first attribute's first.
    """
    columns = [] if start is None else [start]
    for name in names:
        if release.recodings[name].is_blurred:
            columns.append(rank_cells(table, name, release.recodings[name]))
        else:
            codes = reduce_column(table[name], release.schema[name]).encode(None)[0]
            columns.append(codes.astype(np.int64))
    return row_ids(columns, table.height)


def number_jointly(view: View, data: Microdata, names: Sequence[str]) -> tuple[Ints, Ints]:
    """Number the combinations of some columns: everyone's own, and what every record shows."""
    blurred = [name for name in names if view.release.recodings[name].is_blurred]
    numbered: tuple[Ints, Ints] | None = None
    for name in names:
        if name not in blurred:
            column = reduce_column(view.table[name], view.release.schema[name])
            codes, domain = column.encode(None)
            numbered = _pair(numbered, data.codes_in(name, domain), codes)
    if blurred:
        numbered = _pair(numbered, *_number_regions(view, data, blurred))
    if numbered is None:
        return np.zeros(data.n, dtype=np.int64), np.zeros(len(view.labels), dtype=np.int64)
    return numbered


def _pair(
    numbered: tuple[Ints, Ints] | None, values: Ints, codes: NDArray[np.integer]
) -> tuple[Ints, Ints]:
    """Number combinations of what is numbered already with further codes; -1 is none of them."""
    size = int(max(values.max(), codes.max())) + 2
    if numbered is None:  # there is nothing to put them beside
        there = np.zeros(size, dtype=bool)
        there[values] = there[codes] = True
        place = np.roll(np.cumsum(np.roll(there, 1)) - 1, -1)  # -1, the last of these, is first
        own = place[values]
        del values  # as long as the table
        return own, place[codes]
    keys, n = np.concatenate(numbered), len(values)
    keys *= size
    keys[:n] += values
    keys[n:] += codes
    keys += 1
    number = number_keys(keys)[1]
    return number[:n], number[n:]


def _number_regions(view: View, data: Microdata, names: Sequence[str]) -> tuple[Ints, Ints]:
    """Number the regions of a column: everyone's own, or -1; and those that records show."""
    release, table = view.release, view.table
    shown = number_shown(release, table, names)
    boxes = table[representatives(shown)]
    people, person_of = distinct_people(data, names)
    pairs = match_boxes(release, data, boxes, names, people)
    if len(np.unique(pairs[:, 0])) < len(pairs):
        raise StoreError(f"The regions of {', '.join(names)} overlap.")
    region = np.full(len(people), -1, dtype=np.int64)
    region[pairs[:, 0]] = pairs[:, 1]
    return region[person_of], shown


def distinct_people(
    data: Microdata, names: Sequence[str], parts: Ints | None = None
) -> tuple[NDArray[np.int32], Ints]:
    """Give the codes of people who differ, and which of them everyone is.

    Where everybody's part is known, its number follows the codes.
    """
    columns = [data.codes[name] for name in names]
    if parts is not None:
        columns.append((parts + 1).astype(np.int32))
    number = row_ids(columns, data.n)
    first = representatives(number)
    people = np.empty((len(first), len(columns)), dtype=np.int32)
    for place, column in enumerate(columns):
        people[:, place] = column[first]
    return people, number


def match_boxes(
    release: Release,
    data: Microdata,
    boxes: pl.DataFrame,
    names: Sequence[str],
    people: NDArray[np.int32],
    parts: Ints | None = None,
) -> Ints:
    """List who is in which box: pairs of a place among people, given as codes, and a box.

    Where every box's part is known, those of people follow their codes.
    """
    from discreet.kernels.match import match

    shape = (people.shape[1], boxes.height)
    low, high, which = (np.zeros(shape, dtype=np.int32) for _ in range(3))
    absent = np.zeros(shape, dtype=bool)
    missing = [data.domains[n].size - 1 if data.domains[n].missing else -1 for n in names]
    flags, places, end = [np.zeros(1, dtype=bool)], [], 1
    for a, name in enumerate(names):
        extent = read_extents(release, data, boxes, [name])[name]
        low[a], high[a], absent[a] = extent.low, extent.high, extent.absent
        if extent.covers is None or extent.which is None:
            places.append((-1, 0))
            continue
        which[a] = extent.which
        places.append((end, extent.covers.shape[1]))
        flags.append(extent.covers.ravel())
        end += extent.covers.size
    if parts is not None:
        low[-1] = high[-1] = parts + 1
        missing.append(-1)
        places.append((-1, 0))
    pairs: Ints = match(
        people,
        low,
        high,
        absent,
        np.array(missing, dtype=np.int64),
        np.concatenate(flags),
        np.array(places, dtype=np.int64),
        which,
    )
    return pairs
