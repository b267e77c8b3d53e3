"""Verify: from the published tables alone, does every group keep the promise?

Nothing here knows how a release is made. It reads tables, builds ``Groups`` and asks principles.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.domain import MISSING, reduce_column
from discreet.errors import PromiseError, StoreError
from discreet.groups import Groups
from discreet.principles.base import demands
from discreet.release import Release
from discreet.schema import Attribute


@dataclass(frozen=True, eq=False)
class Classes:
    """The groups of a generalized table, as everyone outside sees them."""

    table: pl.DataFrame
    labels: NDArray[np.int64]
    """Per record its group."""
    boxes: pl.DataFrame
    """Per group one of its records."""

    @property
    def count(self) -> int:
        """Number of groups."""
        return self.boxes.height

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Records per group."""
        return np.bincount(self.labels, minlength=self.count)


def verify(release: Release) -> None:
    """Raise if a group of the release, as published, breaks the promise."""
    classes = read_classes(release)
    for part, name in demands(release.promise.principle, release.schema.sensitive):
        groups = bags_of(release, classes, name)
        good = part.admits(groups)
        if not good.all():
            worst = int(np.flatnonzero(~good)[0])
            about = f" of {name}" if name else ""
            raise PromiseError(
                f"{part} is broken in {int((~good).sum())} of {classes.count} groups{about}; the "
                f"first is group {worst} with {int(groups.sizes[worst])} people.",
                hint="Do not publish this release.",
                subject=release,
            )


def read_classes(release: Release) -> Classes:
    """Number the groups by the boxes people see, not by the class column the publisher wrote.

    Rows of one class must show one box; two classes that show the same box are one group to
    everyone outside.
    """
    if set(release.tables) != {"generalized"}:
        raise StoreError(f"A generalized release has one table, not {sorted(release.tables)}.")
    table = release.tables["generalized"]
    columns = [
        column
        for name in release.schema.quasi_identifiers
        for column in release.recodings[name].columns(name)
    ]
    exact = [n for n in release.schema.names if n not in release.schema.quasi_identifiers]
    declared = {"class", *columns, *exact}
    for column in declared ^ set(table.columns):
        what = "has no column" if column in declared else "has an undeclared column"
        raise StoreError(f"The table 'generalized' {what} {column!r}.")
    classes = table["class"].to_numpy()
    is_first = np.append(True, classes[1:] != classes[:-1])
    starts = np.flatnonzero(is_first)
    for column in columns:
        cells = table[column]
        same = cells.eq_missing(cells.shift(1)).to_numpy() | is_first
        if not same.all():
            row = int(np.flatnonzero(~same)[0])
            raise StoreError(
                f"The table 'generalized' is not a generalization: row {row + 1} differs from its "
                f"class {classes[row]} in {column!r}."
            )
    runs = table[starts]
    for name in release.schema.quasi_identifiers:
        ends = release.recodings[name].columns(name)[1:]
        if ends:
            _refuse_finer_labels(release.schema[name], runs.select(name, *ends).unique())
    number = runs.select(pl.struct(columns).rank("dense")).to_series().to_numpy().astype(np.int64)
    number -= 1
    first = np.empty(int(number.max()) + 1, dtype=np.int64)
    first[number] = np.arange(len(number))
    return Classes(table, number[np.cumsum(is_first) - 1], runs[first])


def _refuse_finer_labels(attribute: Attribute, labels: pl.DataFrame) -> None:
    """A label that told more than its ends would not have been examined; refuse it."""
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
        if label != "*" and re.sub(r" \(\d+\)$", "", label) != text:
            raise StoreError(
                f"The label {label!r} of {attribute.name!r} does not say what its ends say: {text}."
            )


def _write_cells(cells: pl.Series, attribute: Attribute) -> list[str | None]:
    codes, domain = reduce_column(cells, attribute).encode(None)
    texts: list[str | None] = [*domain.texts[: len(domain.values)], None]
    return [texts[code] for code in codes]


def bags_of(release: Release, classes: Classes, name: str | None) -> Groups:
    """Give the bag of each group on one sensitive attribute; without a name, of people only."""
    if name is None:
        return Groups.of_people(classes.sizes)
    codes, domain = reduce_column(classes.table[name], release.schema[name]).encode(None)
    return Groups.from_labels(classes.labels, codes, domain, count=classes.count)
