"""Fakes: combinations of column values that match buckets although nobody has them.

Li, Li, Zhang, Molloy, TKDE 2012, section 5: a bucket matches every combination of its columns'
values. Those that nobody has are fake; the more of them there are, and the more alike the numbers
of buckets are that match fakes and originals, the less a match tells. Values of columns that share
attributes are a combination only if they agree.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from discreet.forms.exposure import Fakes, tell_apart
from discreet.forms.matching import number_jointly
from discreet.forms.sliced.matching import join_postings
from discreet.table.arrays import Floats, Ints
from discreet.table.microdata import Microdata

if TYPE_CHECKING:
    from discreet.forms.sliced.view import SlicedView

MOST = 200_000
"""So many values of columns are looked at; of more combinations, as many are drawn."""
MOST_COUNTED = 10**300
"""More combinations are not told apart from these."""


def count_fakes(view: SlicedView, data: Microdata) -> Fakes:
    """Count what matches without being anybody's, and hold it against what is somebody's."""
    values = [number_jointly(view, data, column) for column in view.columns]
    names = [f"v{i}" for i in range(len(values))]
    people = pl.DataFrame(dict(zip(names, (own for own, _ in values), strict=True))).unique()
    postings = [
        pl.DataFrame({name: shown, "bucket": view.bucket}).unique().sort("bucket", name)
        for name, (_, shown) in zip(names, values, strict=True)
    ]
    tuples, total = _list_combinations(view, [shown for _, shown in values], names)
    exact = tuples.height == total
    some = people.sort(names).sample(MOST, seed=0) if people.height > MOST else people
    original = _count_matches(some, postings, names)
    # a combination is drawn once for every bucket that matches it
    drawn = _count_matches(tuples.unique(), postings, names)
    times = tuples.group_by(names).len()
    drawn = drawn.join(times, on=names).join(people.with_columns(here=True), on=names, how="left")
    fake = drawn.filter(pl.col("here").is_null())
    weights = (fake["len"] / fake["matches"]).to_numpy()
    scale = float(min(Fraction(total, tuples.height), Fraction(MOST_COUNTED)))
    found, given = original["matches"].to_numpy(), fake["matches"].to_numpy()
    return Fakes(
        people.height,
        min(float(round(weights.sum() * scale)), float(MOST_COUNTED)),
        exact,
        {
            "originals": _share(found, np.ones(len(found))),
            "fakes": _share(given, weights),
        },
        _compare(found, given, weights),
    )


def _list_combinations(
    view: SlicedView, values: list[Ints], names: list[str]
) -> tuple[pl.DataFrame, int]:
    """List the combinations of column values of every bucket, or draw as many as are looked at.

    A bucket is taken apart by what its columns share: each part has combinations of its own.
    """
    parts = len(np.unique(view.within))
    bucket = np.empty(parts, dtype=np.int64)
    bucket[view.within] = view.bucket
    lists, owner_of = [], []
    for place, (shown, owner) in enumerate(zip(values, view.owners, strict=True)):
        held = pl.DataFrame({"owner": owner, "value": shown}).unique().sort("owner", "value")
        ends = np.searchsorted(held["owner"].to_numpy(), np.arange(1, int(owner.max()) + 1))
        lists.append(np.split(held["value"].to_numpy(), ends))
        owner_of.append(np.arange(parts) if place in view.tied.places else bucket)
    sizes = [
        prod(len(column[of[part]]) for column, of in zip(lists, owner_of, strict=True))
        for part in range(parts)
    ]
    total = sum(sizes)
    most = max(MOST // len(names), 2000)
    if total <= most:
        grids = [
            np.stack([g.ravel() for g in np.meshgrid(
                *(c[of[part]] for c, of in zip(lists, owner_of, strict=True)), indexing="ij")])
            for part in range(parts)
        ]  # fmt: skip
        return pl.DataFrame(np.concatenate(grids, axis=1).T, schema=names), total
    rng = np.random.default_rng(0)
    drawn = rng.choice(parts, most, p=np.array([size / total for size in sizes]))
    columns = {}
    for name, column, of in zip(names, lists, owner_of, strict=True):
        lengths, chosen = np.array([len(part) for part in column]), of[drawn]
        starts = np.cumsum(lengths) - lengths
        at = starts[chosen] + rng.integers(0, lengths[chosen])
        columns[name] = np.concatenate(column)[at]
    return pl.DataFrame(columns), total


def _count_matches(
    tuples: pl.DataFrame, postings: list[pl.DataFrame], names: list[str]
) -> pl.DataFrame:
    """Count the buckets that have all values of a combination."""
    return pl.concat(
        part.group_by(names).agg(matches=pl.len().cast(pl.Int64))
        for part in join_postings(tuples, postings, names)
    )


def _share(matches: Ints, weights: Floats) -> dict[int, float]:
    """Give the share of each number of matching buckets."""
    totals = np.bincount(matches, weights=weights) if len(matches) else np.zeros(1)
    whole = max(float(totals.sum()), 1e-300)
    return {int(k): float(totals[k] / whole) for k in np.flatnonzero(totals)}


def _compare(found: Ints, given: Ints, weights: Floats) -> float:
    """Give the chance that an original has more matches than a fake, ties counting half."""
    if not len(given):
        return 1.0
    original = np.repeat([1.0, 0.0], [len(found), len(given)])
    fake = np.concatenate([np.zeros(len(found)), weights])
    return tell_apart(np.concatenate([found, given]), original, fake)
