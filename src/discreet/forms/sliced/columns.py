"""The columns of a sliced table, as its manifest lists them, and whose their pieces are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from discreet.errors import StoreError
from discreet.forms.matching import number_shown
from discreet.forms.sliced.tied import Tied, find_tied
from discreet.release import Release
from discreet.table.arrays import Ints

TABLE, BUCKET = "sliced", "bucket"


def read_columns(release: Release) -> tuple[tuple[str, ...], ...]:
    """Give the attributes of each column, as the manifest lists them."""
    declared = release.parameters.get("columns")
    if isinstance(declared, list) and all(isinstance(column, list) for column in declared):
        columns = tuple(tuple(map(str, column)) for column in declared)
        if _are_columns(release, columns):
            return columns
    raise StoreError("The release does not say which attributes stand together.")


def _are_columns(release: Release, columns: tuple[tuple[str, ...], ...]) -> bool:
    """Whether every attribute is there, and those in several columns may be."""
    names, tied = [name for column in columns for name in column], find_tied(columns)
    if {*names} != {*release.schema.names} or any(len({*c}) < len(c) for c in columns):
        return False
    if tied is None or {*tied.names} & {*release.schema.sensitive}:
        return False
    # regions of different columns need not be the same, and so could not be held side by side
    return not (tied.names and any(r.is_blurred for r in release.recodings.values()))


def read_tied(release: Release) -> Tied:
    """Say which columns share attributes."""
    tied = find_tied(read_columns(release))
    assert tied is not None  # others are no columns of a release
    return tied


class Owners(NamedTuple):
    """Among whom pieces are anybody's: per row its bucket, and what of that agrees."""

    bucket: Ints
    within: Ints
    """What of the bucket shows one value of shared attributes; without these, the bucket."""


def number_owners(release: Release) -> Owners:
    """Number the buckets of a sliced table from 0 on, and what agrees in them."""
    table = release.tables[TABLE]
    _, bucket = np.unique(table[release.own(BUCKET)].to_numpy(), return_inverse=True)
    bucket, names = bucket.astype(np.int64), read_tied(release).names
    return Owners(bucket, number_shown(release, table, names, bucket) if names else bucket)
