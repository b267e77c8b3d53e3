"""Reading tables of noisy counts, and refusing what is none."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite, prod

import numpy as np
import polars as pl

from discreet.errors import StoreError
from discreet.forms.noisy.fitting import Axes
from discreet.forms.noisy.layout import (
    CELLS,
    COUNT,
    FITTED,
    LISTED,
    MARGINAL,
    MOST_CELLS,
    NoisyCounts,
    NoisyMarginal,
    list_rows,
)
from discreet.release import Release, number_title
from discreet.table.domain import MISSING
from discreet.table.public_cells import PublicCells
from discreet.table.schema import Attribute, Missing

NEAR = 0.01
"""Fitted counts that are worked out elsewhere differ by no more."""


def read_tables(release: Release) -> NoisyCounts:
    """Read what a release counts; refuse whatever is not as it is written."""
    cells = _read_cells(release)
    marginals = read_marginals(release)
    titles = [number_title(MARGINAL, place) for place in range(len(marginals))]
    if set(release.tables) != {*titles, CELLS}:
        raise StoreError(
            f"A noisy release of {len(marginals)} marginals has the tables {[*titles, CELLS]}, not "
            f"{sorted(release.tables)}."
        )
    if {name for names in marginals for name in names} != set(cells):
        raise StoreError("The marginals are not of the attributes that the release has.")
    found = NoisyCounts(cells, [], _read_scale(release))
    read = [_read_marginal(release, title, names, found)
            for title, names in zip(titles, marginals, strict=True)]  # fmt: skip
    noisy = NoisyCounts(cells, read, found.scale)
    for title, (_, fitted) in zip(titles, noisy.fit(), strict=True):
        told = release.tables[title][release.own(FITTED)]
        if told.dtype != pl.Float64 or told.null_count() or told.is_nan().any():
            raise StoreError(f"The table {title!r} has fitted counts that are no numbers.")
        if np.abs(told.to_numpy() - fitted.ravel()).max() > NEAR:
            raise StoreError(f"The fitted counts of {title!r} do not follow from the noisy ones.")
    return noisy


def read_marginals(release: Release) -> list[Axes]:
    """Read which attributes are counted together."""
    said = release.parameters.get("marginals")
    known = release.schema.names
    if not isinstance(said, list) or not said:
        raise StoreError("A noisy release says by its marginals what it counts.")
    for names in said:
        good = isinstance(names, list) and names and len({*map(str, names)}) == len(names)
        if not good or not {*map(str, names)} <= set(known):
            raise StoreError(f"{names!r} is no marginal of this release.")
    found = [tuple(names) for names in said]
    if len(set(map(frozenset, found))) < len(found):
        raise StoreError("A marginal is there twice.")
    return found


def _read_scale(release: Release) -> Fraction:
    said = release.parameters.get("scale")
    if (
        not isinstance(said, int | float)
        or isinstance(said, bool)
        or not isfinite(said)
        or said <= 0
    ):
        raise StoreError("A noisy release says by its scale how much noise there is.")
    return Fraction(said)


def _read_cells(release: Release) -> dict[str, PublicCells]:
    """Read the cells of every attribute: single values, or runs one after the other."""
    table = release.tables.get(CELLS)
    if table is None or table.schema != LISTED or any(table.null_count().row(0)):
        raise StoreError(f"The table {CELLS!r} does not list a cell of an attribute in each row.")
    if table["attribute"].unique(maintain_order=True).to_list() != release.schema.names:
        raise StoreError(f"The table {CELLS!r} does not list the cells of each attribute.")
    found = {}
    for attribute in release.schema:
        rows = table.filter(attribute=attribute.name)
        cells = PublicCells(attribute, rows["first"].to_list(), rows["last"].to_list())
        if rows["cell"].to_list() != cells.texts or not _is_sound(cells, attribute):
            raise StoreError(
                f"The table {CELLS!r} has rows of {attribute.name!r} that are no cells."
            )
        found[attribute.name] = cells
    return found


def _is_sound(cells: PublicCells, attribute: Attribute) -> bool:
    """Whether cells are different values, or runs of numbers without a gap."""
    if (
        cells.missing != (attribute.missing is Missing.VALUE)
        or MISSING in cells.first[: cells.known]
    ):
        return False
    if not cells.known or len(set(cells.texts)) < cells.count:
        return False
    if not attribute.type.numeric:
        return cells.first == cells.last
    low, high = cells.ends
    plain = PublicCells.write(attribute, low, high)
    good = (low <= high).all() and (low[1:] == high[:-1] + 1).all()
    return bool(good) and plain == (cells.first[: cells.known], cells.last[: cells.known])


def _read_marginal(release: Release, title: str, names: Axes, noisy: NoisyCounts) -> NoisyMarginal:
    """Read one table, which has every combination of cells once, in their order."""
    table, shape = release.tables[title], noisy.shape(names)
    own = [release.own(COUNT), release.own(FITTED)]
    if table.columns != [*names, *own]:
        raise StoreError(f"The table {title!r} has not the columns {[*names, *own]}.")
    if prod(shape) > MOST_CELLS or table.height != prod(shape):
        raise StoreError(f"The table {title!r} has not one row for each combination of cells.")
    for name, expected in list_rows(noisy, names).items():
        if not table[name].equals(expected):
            raise StoreError(f"The table {title!r} has not every cell of {name!r} in its place.")
    counts = table[own[0]]
    if counts.dtype != pl.Int64 or counts.null_count():
        raise StoreError(f"The counts of {title!r} are not whole numbers.")
    return NoisyMarginal(names, counts.to_numpy().reshape(shape))
