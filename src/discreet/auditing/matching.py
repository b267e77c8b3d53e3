"""Matching buckets: where in a sliced release may a person be?

Li, Li, Zhang, Molloy, TKDE 2012, sections 2.1 and 3.2: a bucket matches a person if every column of
it has the person's values; of several, one is the likelier the more of its rows match. Corrected: a
bucket counts by its size, as each of its people is as likely the one sought.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.domain import reduce_column
from discreet.microdata import Microdata
from discreet.verify import Classes
from discreet.verify.sliced import Slices

FINE = 2**40
"""Likelihoods are rounded to so many parts of the largest."""
Ints = NDArray[np.int64]


def number_jointly(classes: Classes, data: Microdata, names: Sequence[str]) -> tuple[Ints, Ints]:
    """Number the combinations of some columns: everyone's own, and what every record shows."""
    own, shown = np.zeros(data.n, dtype=np.int64), np.zeros(len(classes.labels), np.int64)
    for name in names:
        column = reduce_column(classes.table[name], classes.release.schema[name])
        codes, domain = column.encode(None)
        both = np.concatenate([data.codes_in(name, domain), codes]) + 1
        both = np.concatenate([own, shown]) * (domain.size + 1) + both
        number = np.unique(both, return_inverse=True)[1].astype(np.int64)
        own, shown = number[: data.n], number[data.n :]
    return own, shown


def match_buckets(classes: Slices, data: Microdata) -> tuple[Ints, pl.DataFrame]:
    """Number the people who look the same, and list the parts of buckets that match each of them.

    The list has ``person``, ``group`` and ``times``: how likely it is, in whole numbers.
    """
    sensitive = classes.release.schema.sensitive
    rests = [[n for n in column if n not in sensitive] for column in classes.columns]
    values = [number_jointly(classes, data, names) for names in rests]
    _, first, person = np.unique(
        np.stack([own for own, _ in values], axis=1), axis=0, return_index=True, return_inverse=True
    )
    people = pl.DataFrame({f"v{i}": own[first] for i, (own, _) in enumerate(values)})
    last = len(values) - 1
    postings = [
        pl.DataFrame({f"v{i}": shown, "bucket": classes.bucket, "group": classes.labels})
        .group_by([f"v{i}", "bucket", *(["group"] if i == last else [])])
        .agg(pl.len().alias(f"n{i}"))
        for i, (_, shown) in enumerate(values)
    ]
    numbered = people.with_row_index("person").with_columns(pl.col("person").cast(pl.Int64))
    found = join_postings(numbered, postings, people.columns)
    sizes = classes.bucket_sizes[found["bucket"].to_numpy()].astype(float)
    likely = np.ones(found.height)
    for i in range(last):
        likely *= found[f"n{i}"].to_numpy() / sizes
    times = np.maximum(np.round(likely / max(likely.max(initial=0), 1e-300) * FINE), 1)
    found = found.select("person", "group", pl.Series("times", times.astype(np.int64)))
    return person.astype(np.int64), found.sort("person", "group")


def join_postings(
    tuples: pl.DataFrame, postings: Sequence[pl.DataFrame], names: Sequence[str]
) -> pl.DataFrame:
    """Join combinations of column values with the buckets that have all of them.

    The column that fits in fewest buckets comes first.
    """
    lengths = [
        int(tuples.join(posted.group_by(name).len(), on=name)["len"].sum())
        for posted, name in zip(postings, names, strict=True)
    ]
    for place, i in enumerate(np.argsort(lengths)):
        tuples = tuples.join(postings[i], on=[names[i], *(["bucket"] if place else [])])
    return tuples
