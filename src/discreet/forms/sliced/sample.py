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
from discreet.forms.sliced.view import BUCKET, TABLE, read_columns
from discreet.release import Release


def rebuild(release: Release, wanted: list[str]) -> pl.DataFrame:
    """In every bucket, the product of the columns' shares."""
    table = release.tables[TABLE].rename({release.own(BUCKET): OWNER})
    sizes = table.group_by(OWNER).len(COUNT)
    mass = sizes.select(OWNER, (pl.col(COUNT) / table.height).alias(MASS))
    for column in read_columns(release):
        asked = [name for name in column if name in wanted]
        if asked:
            held = table.group_by(OWNER, *asked).len("#held").join(sizes, on=OWNER)
            refuse_many(mass.height * held.height // max(sizes.height, 1), wanted)
            share = pl.col(MASS) * pl.col("#held") / pl.col(COUNT)
            mass = mass.join(held, on=OWNER).with_columns(share.alias(MASS))
            mass = mass.drop("#held", COUNT)
    mass = mass.drop(OWNER)
    for name in wanted:
        mass = spread_labels(release, TABLE, name, mass)
    return add_up(release, mass, wanted)


def relink(release: Release, n: int, rng: np.random.Generator) -> pl.DataFrame:
    """Draw rows of a sliced table, and for every column a row of the same bucket."""
    own = release.own(BUCKET)
    table = release.tables[TABLE].sort(own, maintain_order=True)
    _, first, sizes = np.unique(table[own].to_numpy(), return_index=True, return_counts=True)
    bucket = rng.choice(len(sizes), n, p=sizes / sizes.sum())
    columns = [
        table.select(column)[first[bucket] + rng.integers(0, sizes[bucket])]
        for column in map(list, read_columns(release))
    ]
    drawn = pl.concat(columns, how="horizontal")
    return pl.DataFrame(
        [draw_cells(release, TABLE, n, drawn[n], rng) for n in release.schema.names]
    )
