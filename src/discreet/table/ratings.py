"""Ratings: who rated what, as a table with one attribute per item."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from discreet.errors import MicrodataError, SchemaError, name_closest
from discreet.table.microdata import Microdata, read
from discreet.table.readers import TableLike, read_table
from discreet.table.schema import Missing, Schema


def spread_ratings(
    source: TableLike, *, user: str = "user", item: str = "item", rating: str = "rating"
) -> pl.DataFrame:
    """Give one row per user and one column per item; a cell is empty where nothing was rated.

    Users are not named, and their order tells nothing of them: rows are sorted by their ratings.

    >>> long = pl.DataFrame({"user": [1, 1, 2], "item": ["Alien", "Brazil", "Alien"],
    ...                      "rating": [4, 5, 3]})
    >>> spread_ratings(long).rows()
    [(3, None), (4, 5)]
    """
    frame = read_table(source)
    for name in (user, item, rating):
        if name not in frame.columns:
            raise SchemaError(
                f"There is no column {name!r} of ratings.",
                hint=f"Say which it is: user, item, rating. {name_closest(name, frame.columns)}",
            )
    frame = frame.select(user, item, rating)
    holes = frame.null_count().row(0)
    if any(holes):
        name = frame.columns[max(range(3), key=holes.__getitem__)]
        raise MicrodataError(
            f"Column {name!r}: {max(holes):,} of {frame.height:,} cells are missing.",
            hint="Leave those rows out.",
        )
    twice = frame.filter(pl.struct(user, item).is_duplicated())
    if twice.height:
        who, what, _ = twice.row(0)
        raise MicrodataError(
            f"{user} {who!r} rates {what!r} more than once.",
            hint="Keep one rating of each user for each item.",
        )
    frame = frame.select(pl.col(user).alias("#user"), pl.col(item).cast(pl.String).alias("#item"),
                         pl.col(rating).alias("#rating"))  # fmt: skip
    items = frame["#item"].unique().sort().to_list()
    taken: dict[str, str] = {}
    for name in items:
        if taken.setdefault(name.strip().casefold(), name) != name:
            raise MicrodataError(
                f"Only case or spaces tell {taken[name.strip().casefold()]!r} from {name!r}.",
                hint="Rename one of them.",
            )
    wide = frame.pivot("#item", index="#user", values="#rating")
    return wide.select(items).sort(items)


def read_ratings(
    source: TableLike, *, user: str = "user", item: str = "item", rating: str = "rating"
) -> Microdata:
    """Read ratings as microdata: every item an attribute, no rating a value of its own.

    Slice them with ``Slicing(..., similarity="agreement")``.

    >>> long = pl.DataFrame({"user": [1, 1, 2], "item": ["Alien", "Brazil", "Alien"],
    ...                      "rating": [4, 5, 3]})
    >>> read_ratings(long).domains["Brazil"].texts
    ['5', '(missing)']
    """
    wide = spread_ratings(source, user=user, item=item, rating=rating)
    schema = Schema.infer(wide, quasi_identifiers=wide.columns, sensitive=[])
    return read(wide, schema.changed(*(replace(a, missing=Missing.VALUE) for a in schema)))
