"""Cells: the values that the labels of a published table stand for, one by one."""

from __future__ import annotations

import numpy as np
import polars as pl

from discreet.errors import QueryError
from discreet.release.labels import find_labels
from discreet.release.release import Release
from discreet.table.arrays import Ints
from discreet.table.coarsening import Coarsening
from discreet.table.domain import MISSING, reduce_column
from discreet.table.schema import Attribute, Type

MOST_CELLS = 5_000_000
"""More values of labels, or combinations of them, are not looked at one by one."""


def list_cells(release: Release, table: str, name: str) -> pl.DataFrame:
    """List, per label of an attribute, the values it stands for; missing is null.

    Of numbers that were made coarser, those that can be shown.
    """
    labels = find_labels(release, table, name)
    if int(labels.sizes.sum()) > MOST_CELLS:
        raise QueryError(
            f"{name!r} has too many values to look at one by one.",
            hint="Ask about another attribute, or about this one without GROUP BY and OR.",
        )
    if labels.sets is not None:
        pairs = [(label, text) for label, held in zip(labels.texts, labels.sets, strict=True)
                 for text in sorted(held)]  # fmt: skip
        values = write_texts([text for _, text in pairs], labels.attribute)
        return pl.DataFrame({"label": [label for label, _ in pairs], "value": values})
    lengths = labels.sizes - labels.absent
    owner = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    at = labels.low[owner] + place
    coarse = Coarsening.of(labels.attribute)
    if coarse is not None:
        owner, at = owner[coarse.show(at) == at], at[coarse.show(at) == at]
    values = write_positions(at, labels.attribute)
    texts, absent = pl.Series(labels.texts, dtype=pl.String), np.flatnonzero(labels.absent)
    nothing = pl.Series([None] * len(absent), dtype=values.dtype)
    shown = texts.gather(np.concatenate([owner, absent]))
    return pl.DataFrame({"label": shown, "value": values.append(nothing)})


def write_texts(texts: list[str], attribute: Attribute) -> pl.Series:
    """Give values that are written as texts as what they are; missing is null."""
    cells = pl.Series([None if text == MISSING else text for text in texts], dtype=pl.String)
    codes, domain = reduce_column(cells, attribute).encode(None)
    return domain.series().gather(codes)


def write_positions(positions: Ints, attribute: Attribute) -> pl.Series:
    """Give numbers that values were compared by as the values they stand for."""
    if attribute.type is Type.ORDINAL:
        return pl.Series(attribute.order, dtype=pl.String).gather(positions)
    if attribute.type is Type.DATE:
        return pl.Series(positions, dtype=pl.Int32).cast(pl.Date)
    if attribute.type is Type.DECIMAL:  # divided as the release's own numbers were
        return pl.Series(positions / 10 ** (attribute.decimals or 0))
    return pl.Series(positions, dtype=pl.Int64)
