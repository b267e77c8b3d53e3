"""Matching buckets: where in a sliced release may a person be?

Li, Li, Zhang, Molloy, TKDE 2012, sections 2.1 and 3.2: a bucket matches a person if every column of
it has the person's values; of several, one is the likelier the more of its rows match. Corrected: a
bucket counts by its size, as each of its people is as likely the one sought.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import StoreError
from discreet.forms.sliced.view import Slices, number_shown
from discreet.forms.verify import Classes
from discreet.release import Release
from discreet.release.extents import read_extents
from discreet.table.domain import reduce_column
from discreet.table.microdata import Microdata, pick_each

FINE = 2**40
"""Likelihoods are rounded to so many parts of the largest."""
AT_ONCE = 5_000_000
"""Buckets that combinations are tried with at a time."""
Ints = NDArray[np.int64]


def number_jointly(classes: Classes, data: Microdata, names: Sequence[str]) -> tuple[Ints, Ints]:
    """Number the combinations of some columns: everyone's own, and what every record shows."""
    own, shown = np.zeros(data.n, dtype=np.int64), np.zeros(len(classes.labels), np.int64)
    blurred = [name for name in names if classes.release.recodings[name].is_blurred]
    for name in names:
        if name not in blurred:
            column = reduce_column(classes.table[name], classes.release.schema[name])
            codes, domain = column.encode(None)
            own, shown = _pair(own, shown, data.codes_in(name, domain), codes)
    if blurred:
        own, shown = _pair(own, shown, *_number_regions(classes, data, blurred))
    return own, shown


def _pair(own: Ints, shown: Ints, values: Ints, codes: NDArray[np.integer]) -> tuple[Ints, Ints]:
    """Number combinations of what is numbered already with further codes; -1 is none of them."""
    both = np.concatenate([values, codes]).astype(np.int64) + 1
    both += np.concatenate([own, shown]) * (int(both.max()) + 1)
    number = np.unique(both, return_inverse=True)[1].astype(np.int64)
    return number[: len(own)], number[len(own) :]


def _number_regions(classes: Classes, data: Microdata, names: Sequence[str]) -> tuple[Ints, Ints]:
    """Number the regions of a column: everyone's own, or -1; and those that records show."""
    release, table = classes.release, classes.table
    nothing = np.zeros(table.height, dtype=np.int64)
    shown = number_shown(release, table, names, nothing)
    boxes = table[pick_each(shown)]
    people, person_of = distinct_people(data, names)
    pairs = match_boxes(release, data, boxes, names, people)
    if len(np.unique(pairs[:, 0])) < len(pairs):
        raise StoreError(f"The regions of {', '.join(names)} overlap.")
    region = np.full(len(people), -1, dtype=np.int64)
    region[pairs[:, 0]] = pairs[:, 1]
    return region[person_of], shown


def distinct_people(
    data: Microdata, names: Sequence[str]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the codes of people who differ, and which of them everyone is."""
    frame = pl.DataFrame({name: data.codes[name] for name in names})
    number = frame.select(pl.struct(names).rank("dense")).to_series().to_numpy().astype(np.int64)
    number -= 1
    first = pick_each(number)
    return frame.to_numpy()[first].astype(np.int64), number


def match_boxes(
    release: Release,
    data: Microdata,
    boxes: pl.DataFrame,
    names: Sequence[str],
    people: NDArray[np.int64],
) -> NDArray[np.int64]:
    """List who is in which box: pairs of a place among people, given as codes, and a box."""
    from discreet.kernels.match import match

    extents = read_extents(release, data, boxes, names)
    missing = [data.domains[n].size - 1 if data.domains[n].missing else -1 for n in extents]
    flags, places, end = [np.zeros(1, dtype=bool)], [], 1
    for extent in extents.values():
        places.append((-1, 0) if extent.covers is None else (end, extent.covers.shape[1]))
        if extent.covers is not None:
            flags.append(extent.covers.ravel())
            end += extent.covers.size
    rows = np.zeros(boxes.height, dtype=np.int64)
    pairs: NDArray[np.int64] = match(
        people,
        np.stack([e.low for e in extents.values()]),
        np.stack([e.high for e in extents.values()]),
        np.stack([e.absent for e in extents.values()]),
        np.array(missing, dtype=np.int64),
        np.concatenate(flags),
        np.array(places, dtype=np.int64),
        np.stack([rows if e.which is None else e.which for e in extents.values()]),
    )
    return pairs


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
    found = pl.concat(
        part.select("person", "bucket", "group", *(f"n{i}" for i in range(last + 1)))
        for part in join_postings(numbered, postings, people.columns)
    )
    sizes = classes.bucket_sizes[found["bucket"].to_numpy()].astype(float)
    likely = np.ones(found.height)
    for i in range(last):
        likely *= found[f"n{i}"].to_numpy() / sizes
    times = np.maximum(np.round(likely / max(likely.max(initial=0), 1e-300) * FINE), 1)
    found = found.select("person", "group", pl.Series("times", times.astype(np.int64)))
    return person.astype(np.int64), found.sort("person", "group")


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
