"""Extents: the boxes of a published table, read back as codes of somebody's microdata.

Written against the release format alone: it shares nothing with the code that made the boxes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import StoreError
from discreet.release import Recoding, Release, Transformation
from discreet.table.domain import Domain, reduce_column
from discreet.table.microdata import Microdata
from discreet.table.schema import Attribute, Type

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Extent:
    """Which codes of one attribute each box covers.

    A box covers codes from ``low`` to ``high``, and the missing one if ``absent``. For sets these
    are only bounds; row ``which`` of ``covers`` then tells exactly.
    """

    low: Ints
    high: Ints
    absent: Bools
    covers: Bools | None = None
    which: Ints | None = None

    @property
    def counts(self) -> Ints:
        """Number of codes each box covers."""
        if self.covers is not None:
            return np.asarray(self.covers.sum(axis=1)[self.which], dtype=np.int64)
        return np.asarray(np.maximum(self.high - self.low + 1, 0) + self.absent, dtype=np.int64)

    def matrix(self, domain: Domain) -> Bools:
        """Write it all out: per box and code, whether it is covered. For small tables."""
        if self.covers is not None:
            return np.asarray(self.covers[self.which], dtype=bool)
        codes = np.arange(domain.size)
        flags = (self.low[:, None] <= codes) & (codes <= self.high[:, None])
        if domain.missing:
            flags[:, -1] = self.absent
        return flags


def read_extents(
    release: Release, data: Microdata, boxes: pl.DataFrame, names: Sequence[str] | None = None
) -> dict[str, Extent]:
    """Read the named quasi-identifiers, or all, of one row per box."""
    extents = {}
    for name in release.schema.quasi_identifiers if names is None else names:
        recoding, domain = release.recodings[name], data.domains[name]
        if recoding.transformation is Transformation.SET:
            extents[name] = _read_sets(boxes[name], recoding, domain)
        else:
            extents[name] = _read_intervals(boxes, name, recoding, domain)
    return extents


def _read_sets(labels: pl.Series, recoding: Recoding, domain: Domain) -> Extent:
    texts = list(recoding.labels)
    unknown = set(labels.unique().to_list()) - set(texts)
    if unknown:
        raise StoreError(
            f"Label {min(map(str, unknown))!r} of {labels.name!r} is not in the manifest."
        )
    code_of = {text: code for code, text in enumerate(domain.texts)}
    covers = np.zeros((len(texts), domain.size), dtype=bool)
    for row, members in enumerate(recoding.labels.values()):
        covers[row, [code_of[text] for text in members if text in code_of]] = True
    which = labels.cast(pl.Enum(texts)).to_physical().cast(pl.Int64).to_numpy()
    low = covers.argmax(axis=1)[which]
    high = (domain.size - 1 - covers[:, ::-1].argmax(axis=1))[which]
    return Extent(low, high, np.zeros(len(which), dtype=bool), covers, which)


def _read_intervals(boxes: pl.DataFrame, name: str, recoding: Recoding, domain: Domain) -> Extent:
    ends = boxes[f"{name}_low"], boxes[f"{name}_high"]
    known = find_positions(domain.series().head(len(domain.values)), domain.attribute)
    low = np.searchsorted(known, find_positions(ends[0], domain.attribute), side="left")
    high = np.searchsorted(known, find_positions(ends[1], domain.attribute), side="right") - 1
    empty = (ends[0].is_null() | ends[1].is_null()).to_numpy()
    absent = np.zeros(boxes.height, dtype=bool)
    if recoding.missing:
        absent = boxes[f"{name}_missing"].to_numpy() & domain.missing
    return Extent(np.where(empty, 1, low), np.where(empty, 0, high), absent)


def find_positions(cells: pl.Series, attribute: Attribute) -> Ints:
    """Give values as exact numbers that can be compared: units, days or ranks."""
    column = reduce_column(cells, attribute)
    values = column.canonical[column.inverse]
    if attribute.type is Type.ORDINAL:
        rank = {text: i for i, text in enumerate(attribute.order)}
        return np.array([rank.get(text, -1) for text in values], dtype=np.int64)
    return np.asarray(values, dtype=np.int64)
