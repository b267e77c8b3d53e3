"""Reading generalized releases: a group is the people of one class, who show one box."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import StoreError
from discreet.forms.base import Classes, take_table
from discreet.release import Recoding, Release
from discreet.table.domain import MISSING, reduce_column
from discreet.table.microdata import pick_each
from discreet.table.schema import Attribute


def read_generalized(release: Release) -> list[Classes]:
    """Take groups as numbered, and refuse a class whose rows do not show one box.

    Under a principle that is closed under union, classes that show the same box are one group to
    everyone outside. Under another they stay apart: several groups that may be a person's.
    """
    columns = box_columns(release)
    exact = [n for n in release.schema.names if n not in release.schema.quasi_identifiers]
    declared = {"class", *columns, *exact}
    table = take_table(release, {"generalized"}, "generalized", declared)
    if not table["class"].dtype.is_integer() or table["class"].null_count():
        raise StoreError("The table 'generalized' does not give everyone a class.")
    classes, first, labels = np.unique(
        table["class"].to_numpy(), return_index=True, return_inverse=True
    )
    boxes = table[first]
    for column in columns:
        same = table[column].eq_missing(boxes[column].gather(labels)).to_numpy()
        if not same.all():
            row = int(np.flatnonzero(~same)[0])
            raise StoreError(
                f"The table 'generalized' is not a generalization: row {row + 1} differs from its "
                f"class {classes[labels[row]]} in {column!r}."
            )
    if release.promise.principle.monotone:
        number, boxes = number_boxes(release, boxes)
        labels = number[labels]
    else:
        refuse_finer_labels(release, boxes)
    return [Classes(release, table, labels.astype(np.int64), boxes)]


def box_columns(release: Release) -> list[str]:
    """Give the columns that show the boxes of a release."""
    return [
        column
        for name in release.schema.quasi_identifiers
        for column in release.recodings[name].columns(name)
    ]


def number_boxes(release: Release, rows: pl.DataFrame) -> tuple[NDArray[np.int64], pl.DataFrame]:
    """Number the distinct boxes among rows; give each row's number and one row per box."""
    refuse_finer_labels(release, rows)
    columns = box_columns(release)
    number = rows.select(pl.struct(columns).rank("dense")).to_series().to_numpy().astype(np.int64)
    number -= 1
    return number, rows[pick_each(number)]


def refuse_finer_labels(release: Release, boxes: pl.DataFrame) -> None:
    """A label that told more than its ends would not have been examined; refuse it."""
    for name in release.schema.quasi_identifiers:
        ends = release.recodings[name].columns(name)[1:]
        if ends:
            labels = boxes.select(name, *ends).unique()
            if labels[name].n_unique() < labels.height:
                raise StoreError(f"A label of {name!r} stands for different intervals.")
            _compare_labels(release.schema[name], labels, release.recodings[name])


def _compare_labels(attribute: Attribute, labels: pl.DataFrame, recoding: Recoding) -> None:
    if not attribute.type.ordered:
        raise StoreError(f"Column {attribute.name!r} is a {attribute.type} and has no intervals.")
    low, high = (_write_cells(cells, attribute) for cells in labels.get_columns()[1:3])
    absent = labels.get_columns()[3].to_list() if labels.width > 3 else [False] * labels.height
    for label, first, last, missing in zip(
        labels[attribute.name].cast(pl.String), low, high, absent, strict=True
    ):
        text = first if first == last else f"[{first}, {last}]"
        if text is None:
            text = MISSING
        elif missing:
            text = f"{text} or {MISSING}"
        if label == "*" and [first, last, missing] == [*recoding.domain, recoding.missing]:
            continue
        if re.sub(r" \(\d+\)$", "", label) != text:
            raise StoreError(
                f"The label {label!r} of {attribute.name!r} does not say what its ends say: {text}."
            )


def _write_cells(cells: pl.Series, attribute: Attribute) -> list[str | None]:
    codes, domain = reduce_column(cells, attribute).encode(None)
    texts: list[str | None] = [*domain.texts[: len(domain.values)], None]
    return [texts[code] for code in codes]
