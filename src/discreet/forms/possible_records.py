"""Possible records: every combination that a release leaves possible, in whole numbers.

A record of a group has any value of the group, as often as the group has it. What parts of a group
show is combined, and a combination weighs as much as it is likely; so releases whose values are
dealt are joined as those are whose records show their own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import lcm
from typing import NamedTuple

import numpy as np
import polars as pl

from discreet.errors import SchemaError
from discreet.release import PossibleRecords, Release

WEIGHT, OFTEN, SIZE = "#weight", "#often", "#size"
MOST = 20_000_000
"""More combinations are not listed."""
LARGEST = 2**31
"""A record in as many parts is not divided: weights of joins have to fit into 64 bits."""


class DealtPart(NamedTuple):
    """What groups hold of some attributes, and not which of their records has it."""

    names: Collection[str]
    table: pl.DataFrame
    owner: str
    """The column of the group, which the records have, too."""
    often: str | None = None
    """The column that says how often a row counts."""


def combine(
    release: Release, names: Collection[str], parts: Sequence[DealtPart]
) -> PossibleRecords:
    """Combine what the parts of every group show of some attributes.

    The first that shows an attribute gives it; those that give none are left out, but the very
    first, whose rows are the records.
    """
    (first, columns), *others = _choose(release, names, parts)
    owners = [*dict.fromkeys(part.owner for part, _ in others)]
    made = _count(first, [*owners, *columns])
    made = made.rename({OFTEN: WEIGHT}).with_columns(pl.lit(1, pl.Int64).alias(SIZE))
    for part, shown in others:
        held = _count(part, [part.owner, *shown])
        sizes = held.group_by(part.owner).agg(
            pl.col(OFTEN).sum().alias("#all"), pl.len().alias("#each")
        )
        made = made.join(sizes, on=part.owner)
        if (about := made["#each"].sum()) > MOST:
            raise _refuse(release, f"leaves {about:,} combinations possible, too many")
        made = made.join(held, on=part.owner).with_columns(
            pl.col(WEIGHT) * pl.col(OFTEN), pl.col(SIZE) * pl.col("#all")
        )
        made = made.drop(OFTEN, "#all", "#each")
    whole = lcm(*made[SIZE].unique().to_list())
    if whole > LARGEST:
        raise _refuse(release, "has groups of too many sizes")
    shown = [column for column in made.columns if column not in (*owners, WEIGHT, SIZE)]
    weight = (pl.col(WEIGHT) * (whole // pl.col(SIZE))).sum()
    found = made.group_by(shown).agg(weight) if shown else made.select(weight)
    return PossibleRecords(found.drop(WEIGHT), found[WEIGHT].to_numpy().astype(np.int64), own=False)


def _choose(
    release: Release, names: Collection[str], parts: Sequence[DealtPart]
) -> list[tuple[DealtPart, list[str]]]:
    """Choose parts that show all of some attributes, and the columns that each gives."""
    chosen: list[tuple[DealtPart, list[str]]] = []
    left = set(names)
    for part in parts:
        given = [name for name in part.names if name in left]
        left -= {*given}
        if given or part is parts[0]:
            columns = [c for name in given for c in release.recodings[name].columns(name)]
            chosen.append((part, columns))
    return chosen


def _count(part: DealtPart, columns: Sequence[str]) -> pl.DataFrame:
    """Count the rows of a part that show the same."""
    many = pl.len() if part.often is None else pl.col(part.often).sum()
    many = many.cast(pl.Int64).alias(OFTEN)
    return part.table.group_by(columns).agg(many) if columns else part.table.select(many)


def _refuse(release: Release, why: str) -> SchemaError:
    return SchemaError(
        f"A release by {release.method} {why} to be joined.",
        hint="Leave it out; what it tells together with this table is then not examined.",
    )
