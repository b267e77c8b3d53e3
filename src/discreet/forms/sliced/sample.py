"""The distribution a sliced release stands for, and records drawn from it."""

from __future__ import annotations

import numpy as np
import polars as pl

from discreet.forms.counterfeits import OWNER
from discreet.forms.grouped import (
    COUNT,
    MASS,
    add_up,
    draw_cells,
    refuse_many,
    spread_labels,
)
from discreet.forms.sliced.columns import BUCKET, TABLE, number_owners, read_columns, read_tied
from discreet.release import Release

WITHIN = "#within"


def rebuild(release: Release, wanted: list[str]) -> pl.DataFrame:
    """In every bucket, the product of the columns' shares; of those that agree, in what agrees."""
    columns, tied, table = read_columns(release), read_tied(release), release.tables[TABLE]
    bucket, within = number_owners(release)
    table = table.drop(release.own(BUCKET)).with_columns(
        pl.Series(OWNER, bucket), pl.Series(WITHIN, within)
    )
    mass = table.group_by(OWNER, WITHIN).agg((pl.len() / table.height).alias(MASS))
    for place, column in enumerate(tied.find_own(columns)):
        asked = [name for name in column if name in wanted]
        if asked:
            owner = WITHIN if place in tied.places else OWNER
            sizes = table.group_by(owner).len(COUNT)
            held = table.group_by(owner, *asked).len("#held").join(sizes, on=owner)
            refuse_many(mass.height * held.height // max(sizes.height, 1), wanted)
            share = pl.col(MASS) * pl.col("#held") / pl.col(COUNT)
            mass = mass.join(held, on=owner).with_columns(share.alias(MASS))
            mass = mass.drop("#held", COUNT)
    mass = mass.drop(OWNER, WITHIN)
    for name in wanted:
        mass = spread_labels(release, TABLE, name, mass)
    return add_up(release, mass, wanted)


def relink(release: Release, n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Draw rows of a sliced table, and for every column a row of the same bucket.

    Columns that share attributes are drawn one after the other among what agrees with the first:
    as every way to put pieces together is as likely, so is every piece that agrees.
    """
    columns, tied = read_columns(release), read_tied(release)
    bucket, within = number_owners(release)
    order = np.lexsort((within, bucket))  # what agrees is a run of a bucket's
    table, bucket, within = release.tables[TABLE][order], bucket[order], within[order]
    _, first, sizes = np.unique(bucket, return_index=True, return_counts=True)
    chosen = rng.choice(len(sizes), n, p=sizes / sizes.sum())
    _, starts, counts = np.unique(within, return_index=True, return_counts=True)
    drawn, part = [], np.zeros(n, dtype=np.int64)
    for place, column in enumerate(tied.find_own(columns)):
        if not column:
            continue
        if place in tied.places[1:]:
            row = starts[part] + rng.integers(0, counts[part])
        else:
            row = first[chosen] + rng.integers(0, sizes[chosen])
        if place in tied.places[:1]:
            part = within[row]
        drawn.append(table.select(column)[row])
    made = pl.concat(drawn, how="horizontal")
    return pl.DataFrame(
        [draw_cells(release, TABLE, name, made[name], rng) for name in release.schema.names]
    )
