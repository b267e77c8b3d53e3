"""Cells: the values that the labels of a published table stand for, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor

import numpy as np
import polars as pl

from discreet.errors import QueryError
from discreet.release.labels import read_labels
from discreet.release.release import Release, Transformation
from discreet.table.domain import MISSING, reduce_column
from discreet.table.schema import Type

MOST_CELLS = 5_000_000
"""More values of labels, or combinations of them, are not looked at one by one."""


def list_cells(release: Release, table: str, name: str) -> pl.DataFrame:
    """List, per label of an attribute, the values it stands for; missing is null."""
    recoding, attribute = release.recodings[name], release.schema[name]
    if recoding.transformation is Transformation.SET:
        shown, _ = read_labels(release, release.tables[table], name)
        pairs = [(label, text) for label, texts in zip(shown.texts, shown.sets or [], strict=True)
                 for text in sorted(texts)]  # fmt: skip
        cells = pl.Series([None if t == MISSING else t for _, t in pairs], dtype=pl.String)
        codes, domain = reduce_column(cells, attribute).encode(None)
        labels = pl.Series([label for label, _ in pairs])
        return pl.DataFrame({"label": labels, "value": domain.series().gather(codes)})
    spans = list_spans(release, table, name)
    lengths = spans["last"] - spans["first"] + 1
    if int((lengths + spans["absent"]).sum()) > MOST_CELLS:
        raise QueryError(
            f"{name!r} has too many values to look at one by one.",
            hint="Ask about another attribute, or about this one without GROUP BY and OR.",
        )
    values = list_values(release, table, name)
    owner = np.repeat(np.arange(spans.height), lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    place = np.arange(len(owner)) - starts[owner] + spans["first"].to_numpy()[owner]
    inside = pl.DataFrame(
        {"label": spans["label"].gather(owner), "value": values["value"].gather(place + 1)}
    )
    absent = spans.filter(pl.col("absent") == 1).select(
        "label", value=pl.lit(None, values["value"].dtype)
    )
    return pl.concat([inside, absent])


def list_spans(release: Release, table: str, name: str) -> pl.DataFrame:
    """List the intervals of an attribute: label, first and last place, whether missing is in it.

    Places count the values from the lowest end of any interval on; an interval of nothing but
    missing ends before it starts.
    """
    labels, _ = read_labels(release, release.tables[table], name)
    some = labels.low <= labels.high
    lowest = int(labels.low[some].min()) if some.any() else 0
    return pl.DataFrame(
        {
            "label": labels.texts,
            "first": np.where(some, labels.low - lowest, 0),
            "last": np.where(some, labels.high - lowest, -1),
            "absent": labels.absent.astype(np.int64),
        }
    )


def list_values(
    release: Release, table: str, name: str, numbers: Sequence[Fraction] | None = None
) -> pl.DataFrame:
    """List all values from the lowest to the highest end by their places; missing is at -1.

    Where ``numbers`` are all that values are compared with, those between which no number and no
    end of an interval lies are one line: the place of the last, and how ``many`` they are.
    """
    attribute = release.schema[name]
    labels, _ = read_labels(release, release.tables[table], name)
    some = labels.low <= labels.high
    low, high = labels.low[some], labels.high[some]
    first, last = (int(low.min()), int(high.max())) if some.any() else (0, -1)
    if numbers is not None and attribute.type in (Type.INTEGER, Type.DECIMAL):
        scale = 10 ** (attribute.decimals or 0)
        ends = np.concatenate([low, high + 1])
        near = [floor(n * scale) + step for n in numbers for step in (-1, 0, 1, 2)]
        starts = np.unique([first, *ends.tolist(), *(n for n in near if first < n <= last)])
        starts = starts[starts <= last]
    elif last - first >= MOST_CELLS:
        raise QueryError(
            f"{name!r} has {last - first + 1:,} values to look at one by one.",
            hint="Compare it with numbers alone, or ask about another attribute.",
        )
    else:
        starts = np.arange(first, last + 1)
    places = pl.Series(starts, dtype=pl.Int64)
    values = places
    if attribute.type is Type.ORDINAL:
        values = pl.Series(attribute.order, dtype=pl.String).gather(places)
    elif attribute.type is Type.DATE:
        values = places.cast(pl.Int32).cast(pl.Date)
    elif attribute.type is Type.DECIMAL:  # divided as the release's own numbers were
        values = pl.Series(starts / 10 ** (attribute.decimals or 0))
    until = np.append(starts[1:], last + 1)[: len(starts)]
    nothing = pl.Series([None], dtype=values.dtype)
    return pl.DataFrame(
        {
            "place": np.concatenate([[-1], until - 1 - first]).astype(np.int64),
            "value": nothing.append(values),
            "many": np.concatenate([[1], until - starts]).astype(np.int64),
        }
    )


def count_values(release: Release, table: str, name: str) -> dict[str, int]:
    """Count, per label of an attribute, the values it stands for."""
    labels, _ = read_labels(release, release.tables[table], name)
    return dict(zip(labels.texts, labels.sizes.tolist(), strict=True))
