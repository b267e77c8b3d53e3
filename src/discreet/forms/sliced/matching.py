"""Matching buckets: where in a sliced release may a person be?

Li, Li, Zhang, Molloy, TKDE 2012, sections 2.1 and 3.2: a bucket matches a person if every column of
it has the person's values; of several, one is the likelier the more of its rows match. Corrected: a
bucket counts by its size, as each of its people is as likely the one sought.

Of columns that share attributes all but the last count by the share that their pieces are among
those that agree with the person: whoever has a piece of one has one of the others that agrees.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from discreet.forms.matches import Matches, round_likelihoods
from discreet.forms.matching import number_jointly
from discreet.principles.groups import Groups
from discreet.table.arrays import Ints
from discreet.table.microdata import Microdata

if TYPE_CHECKING:
    from discreet.forms.sliced.view import SlicedView

AT_ONCE = 5_000_000
"""Buckets that combinations are tried with at a time."""


@dataclass(frozen=True, eq=False)
class SlicedMatches(Matches):
    """Where there are several sensitive columns, what an entry counts depends on its own.

    A group is as likely as its columns' pieces can be put together, and that is shared by the
    pieces of the column that an attribute is in.
    """

    last: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Per group how many pieces its part of the last column has."""

    def weigh_options(self, bags: Groups, sets: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """List options; how likely one is was said of every piece of the last column."""
        place, option = self._list(sets)
        group = self.groups[option]
        return place, group, self.likelihood[option] * self.last[group], bags.sizes[group]

    def pool(self, name: str, sets: Ints) -> Groups:
        """Mix the bags of the groups that may be a person's, of some sets."""
        bags = self.view.bags(name)
        owner, group, times, among = self.weigh_options(bags, sets)
        whole = times // among
        if (whole * among != times).any():
            whole = round_likelihoods(times / among)
        return bags.mix(group, owner, whole, len(sets))


@dataclass(frozen=True, eq=False)
class Found:
    """The parts of buckets that match people who look the same, one line each."""

    person_of: Ints
    """Per person of the microdata, the number of those who look the same."""
    person: Ints
    group: Ints
    times: Ints
    """How likely it is, in whole numbers."""
    alike: Ints
    """In how many pieces, of the column that has fewest, the bucket shows the person's values."""
    cells: Ints
    """Per column the cell of the bucket that has the person's values."""
    room: Ints
    """Per cell how many of its pieces these are."""


def match_buckets(view: SlicedView, data: Microdata) -> Found:
    """Number the people who look the same, and list the parts of buckets that match each of them.

    The lines are in the order of people and groups.
    """
    sensitive = view.release.schema.sensitive
    rests = [[n for n in column if n not in sensitive] for column in view.columns]
    values = [number_jointly(view, data, names) for names in rests]
    _, first, person = np.unique(
        np.stack([own for own, _ in values], axis=1), axis=0, return_index=True, return_inverse=True
    )
    people = pl.DataFrame({f"v{i}": own[first] for i, (own, _) in enumerate(values)})
    last, told = len(values) - 1, len(values) - view.parts.of_row.shape[1]
    postings, start = [], 0
    for i, (_, shown) in enumerate(values):
        rows = pl.DataFrame({f"v{i}": shown, "bucket": view.bucket})
        # whom a piece may be given to: all of its bucket, or those of it who agree
        among = view.within if i in view.tied.places[:-1] else view.bucket
        rows = rows.with_columns(pl.Series(f"d{i}", np.bincount(among)[among]))
        if i >= told:
            rows = rows.with_columns(pl.Series(f"p{i}", view.parts.of_row[:, i - told]))
        posted = rows.group_by(rows.columns).agg(pl.len().alias(f"n{i}"))
        number = pl.Series(f"c{i}", np.arange(start, start + posted.height))
        postings.append(posted.with_columns(number))
        start += posted.height
    numbered = people.with_row_index("person").with_columns(pl.col("person").cast(pl.Int64))
    counts, cells = [f"n{i}" for i in range(last + 1)], [f"c{i}" for i in range(last + 1)]
    sizes = [f"d{i}" for i in range(last + 1)]
    parts = [f"p{i}" for i in range(told, last + 1)]
    lines = pl.concat(
        part.select("person", *parts, *counts, *sizes, *cells)
        for part in join_postings(numbered, postings, people.columns)
    ).sort("person", *parts)
    likely = np.ones(lines.height)
    for i in range(last):
        likely *= lines[f"n{i}"].to_numpy() / lines[f"d{i}"].to_numpy().astype(float)
    fewest = lines.select(pl.min_horizontal(counts)).to_series().to_numpy().astype(np.int64)
    rooms = [p[name].to_numpy() for p, name in zip(postings, counts, strict=True)]
    return Found(
        person.astype(np.int64),
        lines["person"].to_numpy(),
        view.parts.find_groups(lines.select(parts).to_numpy().astype(np.int64)),
        round_likelihoods(likely),
        fewest,
        lines.select(cells).to_numpy().astype(np.int64),
        np.concatenate(rooms).astype(np.int64),
    )


def join_postings(
    tuples: pl.DataFrame, postings: Sequence[pl.DataFrame], names: Sequence[str]
) -> Iterator[pl.DataFrame]:
    """Join combinations of column values with the buckets that have all of them, part by part.

    The column that fits in fewest buckets comes first, for each combination its own; parts are as
    large as memory allows.
    """
    lengths = np.stack([
        tuples.join(posted.group_by(name).len(), on=name, how="left", maintain_order="left")["len"]
        .fill_null(0).to_numpy().astype(np.int64)
        for posted, name in zip(postings, names, strict=True)
    ])  # fmt: skip
    rarest = lengths.argmin(axis=0)
    for i in np.unique(rarest):
        rows = np.flatnonzero((rarest == i) & (lengths[i] > 0))
        part = (np.cumsum(lengths[i][rows]) - 1) // AT_ONCE
        for chosen in np.split(rows, np.flatnonzero(np.diff(part)) + 1):
            found = tuples[chosen].join(postings[i], on=names[i])
            for j in np.argsort(lengths[:, chosen].sum(axis=1)):
                if j != i:
                    found = found.join(postings[j], on=[names[j], "bucket"])
            yield found
