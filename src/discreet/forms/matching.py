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
    if numbered is None:  # few enough to be counted, and nothing to be put beside them
        there = np.zeros(size, dtype=bool)
        there[values + 1] = there[codes + 1] = True
        place = np.cumsum(there) - 1
        return place[values + 1], place[codes + 1]
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


def distinct_people(data: Microdata, names: Sequence[str]) -> tuple[Ints, Ints]:
    """Give the codes of people who differ, and which of them everyone is."""
    number = data.number(names)
    first = representatives(number)
    return np.stack([data.codes[name][first] for name in names], axis=1).astype(np.int64), number


def match_boxes(
    release: Release,
    data: Microdata,
    boxes: pl.DataFrame,
    names: Sequence[str],
    people: Ints,
) -> Ints:
    """List who is in which box: pairs of a place among people, given as codes, and a box."""
    from discreet.kernels.match import match

    extents = read_extents(release, data, boxes, names)
    missing = [data.domains[n].size - 1 if data.domains[n].missing else -1 for n in extents]
    flags, places, end = [np.zeros(1, dtype=bool)], [], 1
    for extent in extents.values():
        places.append((-1, 0) if extent.covers is None else (end, extent.covers.shape[1]))
        if extent.covers is not None:
            flags.append(extent.covers.ravel())
            end += extent.covers.size
    rows = np.zeros(boxes.height, dtype=np.int64)
    pairs: Ints = match(
        people,
        np.stack([e.low for e in extents.values()]),
        np.stack([e.high for e in extents.values()]),
        np.stack([e.absent for e in extents.values()]),
        np.array(missing, dtype=np.int64),
        np.concatenate(flags),
        np.array(places, dtype=np.int64),
        np.stack([rows if e.which is None else e.which for e in extents.values()]),
    )
    return pairs
