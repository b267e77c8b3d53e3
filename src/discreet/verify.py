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
from discreet.help_table import build_help
from discreet.principles.base import demands
from discreet.release import Release
from discreet.schema import Attribute


@dataclass(frozen=True, eq=False)
class Classes:
    """The groups of a release, as everyone outside sees them."""

    table: pl.DataFrame
    """One row per record."""
    labels: NDArray[np.int64]
    """Per record its group."""
    boxes: pl.DataFrame | None
    """Per group one of its records, where a group shows one box; else each record shows itself."""

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(self.labels.max()) + 1

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
    """Read the groups of a release of any form this verifier knows."""
    readers = {"generalization": _read_generalized, "permutation": _read_permuted}
    if release.method not in readers:
        raise StoreError(
            f"There is no way to examine a release by {release.method!r}.",
            hint="Install the version of discreet that wrote it.",
        )
    return readers[release.method](release)


def _take_table(release: Release, names: set[str], name: str, columns: set[str]) -> pl.DataFrame:
    """Give one table of a release, refusing tables and columns that nobody declared."""
    if set(release.tables) != names:
        raise StoreError(
            f"A release by {release.method} has the tables {sorted(names)}, "
            f"not {sorted(release.tables)}."
        )
    table = release.tables[name]
    for column in columns ^ set(table.columns):
        what = "has no column" if column in columns else "has an undeclared column"
        raise StoreError(f"The table {name!r} {what} {column!r}.")
    return table


def _read_permuted(release: Release) -> Classes:
    """Take groups as numbered, and hold the help table against the permuted one."""
    columns = {"group", *release.schema.names}
    names = {"permuted", "help"}
    table = _take_table(release, names, "permuted", columns)
    whole = table["group"].dtype.is_integer() and not table["group"].null_count()
    if len(release.schema.sensitive) != 1 or not whole:
        raise StoreError("A permuted release has one sensitive attribute and a group for everyone.")
    sensitive = release.schema.sensitive[0]
    helped = release.tables["help"]
    if not helped.equals(build_help(table["group"], table[sensitive], release.schema[sensitive])):
        raise StoreError("The help table is not the one that follows from the permuted table.")
    labels = table["group"].rank("dense").to_numpy().astype(np.int64) - 1
    return Classes(table, labels, None)


def _read_generalized(release: Release) -> Classes:
    """Number the groups by the boxes people see, not by the class column the publisher wrote.

    Rows of one class must show one box; two classes that show the same box are one group to
    everyone outside.
    """
    columns = [
        column
        for name in release.schema.quasi_identifiers
        for column in release.recodings[name].columns(name)
    ]
    exact = [n for n in release.schema.names if n not in release.schema.quasi_identifiers]
    declared = {"class", *columns, *exact}
    table = _take_table(release, {"generalized"}, "generalized", declared)
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
