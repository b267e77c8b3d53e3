"""Counterfeits: records or values of nobody, of which a table says how many there are of whom."""

from __future__ import annotations

import numpy as np
import polars as pl

from discreet.errors import QueryError, StoreError
from discreet.release import Release
from discreet.table.arrays import Ints

COUNTERFEITS = "counterfeits"
"""The table, and the word for its column of counts."""
OWNER, OFTEN, PEOPLE, ALL = "#owner", "#fakes", "#hits", "#total"


def count_counterfeits(release: Release) -> int:
    """Count them, as the release says."""
    if COUNTERFEITS not in release.tables:
        return 0
    return int(release.tables[COUNTERFEITS][release.own(COUNTERFEITS)].sum())


def read_counterfeits(release: Release, owner: str) -> pl.DataFrame | None:
    """Give the owners that have counterfeits, and how many; ``None`` if none has."""
    if COUNTERFEITS not in release.tables:
        return None
    own, often = release.own(owner), release.own(COUNTERFEITS)
    table = release.tables[COUNTERFEITS]
    if sorted(table.columns) != sorted([own, often]):
        raise StoreError(f"The table {COUNTERFEITS!r} has the columns {own} and {often}.")
    if not table.height or table.null_count().sum_horizontal().item():
        raise StoreError(f"The table {COUNTERFEITS!r} does not say which {owner} has how many.")
    if not all(table[column].dtype.is_integer() for column in (own, often)):
        raise StoreError(f"The table {COUNTERFEITS!r} counts in something else than whole numbers.")
    return pl.DataFrame([table[own].alias(OWNER), table[often].alias(OFTEN)])


def place_counterfeits(release: Release, owner: str, numbers: Ints, sizes: Ints) -> Ints:
    """Give how many each of the owners has, of whom all are so many; refuse what cannot be."""
    fakes = np.zeros(len(numbers), dtype=np.int64)
    counted = read_counterfeits(release, owner)
    if counted is None:
        return fakes
    named, many = counted[OWNER].to_numpy(), counted[OFTEN].to_numpy()
    place = np.minimum(np.searchsorted(numbers, named), len(numbers) - 1)
    unknown = numbers[place] != named
    if unknown.any() or len(np.unique(named)) < len(named):
        what = "that is not there" if unknown.any() else "twice"
        raise StoreError(f"The table {COUNTERFEITS!r} names a {owner} {what}.")
    wrong = (many < 1) | (many >= sizes[place])
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise StoreError(
            f"The table {COUNTERFEITS!r} says that {many[row]} of the {sizes[place[row]]} records "
            f"of {owner} {named[row]} are nobody's."
        )
    fakes[place] = many
    return fakes


def share_people(release: Release, owner: str, records: pl.DataFrame) -> pl.DataFrame:
    """List all owners, how many ``records`` each has (``#total``), and how many people (``#hits``).

    A record of one with counterfeits is somebody's with this probability, and never for sure.
    """
    counted, own = read_counterfeits(release, owner), release.own(owner)
    assert counted is not None
    fakes = counted.rename({OWNER: own}).with_columns(pl.col(own).cast(records[own].dtype))
    hits = pl.col(ALL) - pl.col(OFTEN).fill_null(0).cast(pl.Int64)
    share = pl.col(PEOPLE) / pl.col(ALL)
    found = records.join(fakes, on=own, how="left").with_columns(hits.alias(PEOPLE))
    ends = found.with_columns(share.alias("#least"), share.alias("#most"))
    return ends.select(own, PEOPLE, ALL, "#least", "#most").sort(own)


def refuse_pairs() -> QueryError:
    """Say why bounds follow from no list of what is possible."""
    return QueryError(
        "Some records are nobody's: bounds follow from no list of what is possible.",
        hint="Ask in SQL: release.query(...), or discreet query.",
    )


def caution_counterfeits(release: Release) -> str | None:
    """Say that records of nobody are taken for people's, where that is done."""
    many = count_counterfeits(release)
    return f"{many:,} records are nobody's and are taken for people's" if many else None
