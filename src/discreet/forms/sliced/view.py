"""Reading sliced releases: buckets, and in each the values of every column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import StoreError
from discreet.forms.base import Classes, take_table
from discreet.forms.generalized.view import refuse_finer_labels
from discreet.principles.base import Principle
from discreet.principles.groups import Groups
from discreet.release import Release, Transformation
from discreet.table.domain import reduce_column
from discreet.table.microdata import number_rows


@dataclass(frozen=True, eq=False)
class Slices(Classes):
    """Groups are the parts of buckets whose sensitive values stand beside one rest of the column.

    A row belongs to a part by its sensitive column; its other columns are other people's.
    """

    repeats: ClassVar[int | None] = None

    columns: tuple[tuple[str, ...], ...]
    """The attributes of each column, the sensitive one last."""
    bucket: NDArray[np.int64]
    """Per row its bucket, numbered from 0."""

    @cached_property
    def bucket_sizes(self) -> NDArray[np.int64]:
        """Rows per bucket."""
        return np.bincount(self.bucket)

    @cached_property
    def bucket_of(self) -> NDArray[np.int64]:
        """Per part its bucket."""
        bucket = np.empty(self.count, dtype=np.int64)
        bucket[self.labels] = self.bucket
        return bucket

    def admits(self, part: Principle, name: str | None) -> NDArray[np.bool_]:
        """Judge sizes by bucket, values by part; these must make every mixture good."""
        if name is None:
            good = part.admits(Groups.of_people(self.bucket_sizes))
            return np.asarray(good[self.bucket_of])
        if part.mixed is None:
            return np.zeros(self.count, dtype=bool)
        return part.mixed.admits(self.bags(name))


@dataclass(frozen=True, eq=False)
class PrintedSlices(Slices):
    """The same under the paper's check, which is about people and not in the release."""

    tells: ClassVar[bool] = False


def read_sliced(release: Release) -> list[Classes]:
    """Read the columns the manifest names, and number buckets and parts."""
    columns, sensitive = read_columns(release), release.schema.sensitive
    shown = [c for name in release.schema.names for c in release.recodings[name].columns(name)]
    if len(sensitive) > 1 or (sensitive and sensitive[0] not in columns[-1]):
        raise StoreError("A sliced release has one sensitive attribute, in its last column.")
    table = take_table(release, {"sliced"}, "sliced", {"bucket", *shown})
    if not table["bucket"].dtype.is_integer() or table["bucket"].null_count():
        raise StoreError("The table 'sliced' does not give every row a bucket.")
    _, bucket = np.unique(table["bucket"].to_numpy(), return_inverse=True)
    refuse_finer_labels(release, table)
    labels = bucket.astype(np.int64)
    if sensitive:
        rests = [name for name in columns[-1] if name not in sensitive]
        labels = number_shown(release, table, rests, labels)
    _refuse_rare(release, table, columns)
    kind = PrintedSlices if release.parameters.get("check") == "paper" else Slices
    return [kind(release, table, labels, None, columns, bucket.astype(np.int64))]


def number_shown(
    release: Release, table: pl.DataFrame, names: Sequence[str], start: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Number what rows show of some attributes, and of what they are numbered by already."""
    columns = [start]
    for name in names:
        if release.recodings[name].transformation is Transformation.SLICED:
            codes = reduce_column(table[name], release.schema[name]).encode(None)[0]
        else:
            shown = pl.struct(release.recodings[name].columns(name)).rank("dense")
            codes = table.select(shown).to_series().to_numpy().astype(np.int32) - 1
        columns.append(codes.astype(np.int64))
    return number_rows(columns, table.height)


def _refuse_rare(
    release: Release, table: pl.DataFrame, columns: tuple[tuple[str, ...], ...]
) -> None:
    """Every value of a column's quasi-identifiers must be as frequent as the release says."""
    frequency = release.parameters.get("frequency", 1)
    if not isinstance(frequency, int) or frequency < 1:
        raise StoreError(f"The release gives no whole number for frequency: {frequency!r}.")
    for column in columns:
        names = [name for name in column if name in release.schema.quasi_identifiers]
        number = number_shown(release, table, names, np.zeros(table.height, dtype=np.int64))
        if names and int(np.bincount(number).min()) < frequency:
            raise StoreError(
                f"The table 'sliced' shows values of {', '.join(names)} that fewer than "
                f"{frequency} people have."
            )


def read_columns(release: Release) -> tuple[tuple[str, ...], ...]:
    """Give the attributes of each column, as the manifest lists them."""
    declared = release.parameters.get("columns")
    if isinstance(declared, list) and all(isinstance(column, list) for column in declared):
        columns = tuple(tuple(map(str, column)) for column in declared)
        if sorted(name for column in columns for name in column) == sorted(release.schema.names):
            return columns
    raise StoreError("The release does not say which attributes stand together.")
