"""Extents: the boxes of a published table, read back as codes of somebody's microdata.

Written against the release format alone: it shares nothing with the code that made the boxes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.domain import Domain, reduce_column
from discreet.errors import StoreError
from discreet.microdata import Microdata
from discreet.release import Recoding, Release, Transformation
from discreet.schema import Type


@dataclass(frozen=True, eq=False)
class Extent:
    """Which codes of one attribute each box covers: row ``which[b]`` of a table of flags."""

    covers: NDArray[np.bool_]
    which: NDArray[np.int64]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of codes each box covers."""
        return np.asarray(self.covers.sum(axis=1)[self.which], dtype=np.int64)


def read_extents(release: Release, data: Microdata, boxes: pl.DataFrame) -> dict[str, Extent]:
    """Read every quasi-identifier of one row per box."""
    extents = {}
    for name in release.schema.quasi_identifiers:
        recoding, domain = release.recodings[name], data.domains[name]
        if recoding.transformation is Transformation.SET:
            extents[name] = _read_sets(boxes[name], recoding, domain)
        else:
            extents[name] = _read_intervals(boxes.select(recoding.columns(name)), recoding, domain)
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
    return Extent(covers, labels.cast(pl.Enum(texts)).to_physical().cast(pl.Int64).to_numpy())


def _read_intervals(columns: pl.DataFrame, recoding: Recoding, domain: Domain) -> Extent:
    name = columns.columns[0]
    ends = columns.drop(name).unique(maintain_order=True)
    distinct = ends.with_row_index("#which")
    which = columns.join(distinct, on=ends.columns, how="left", nulls_equal=True)["#which"]
    low, high = (_positions(ends[f"{name}_{end}"], domain) for end in ("low", "high"))
    known = _positions(domain.series().head(len(domain.values)), domain)
    covers = np.zeros((ends.height, domain.size), dtype=bool)
    inside = (low[:, None] <= known) & (known <= high[:, None])
    inside[ends[f"{name}_low"].is_null().to_numpy()] = False
    covers[:, : len(known)] = inside
    if recoding.missing and domain.missing:
        covers[:, -1] = ends[f"{name}_missing"].to_numpy()
    return Extent(covers, which.cast(pl.Int64).to_numpy())


def _positions(cells: pl.Series, domain: Domain) -> NDArray[np.int64]:
    """Give values as exact numbers that can be compared: units, days or ranks."""
    attribute = domain.attribute
    column = reduce_column(cells, attribute)
    values = column.canonical[column.inverse]
    if attribute.type is Type.ORDINAL:
        rank = {text: i for i, text in enumerate(attribute.order)}
        return np.array([rank.get(text, -1) for text in values], dtype=np.int64)
    return np.asarray(values, dtype=np.int64)
