"""Sound cells: what every table of a release shows can be read as what its manifest says it is.

Whoever asks a release, joins or exports it takes that for granted: types of columns, ends of
intervals that are there and in order, labels and values that are not nothing where nothing is said
to be a value.
"""

from __future__ import annotations

import polars as pl

from discreet.errors import DAMAGED, StoreError
from discreet.release.release import Recoding, Release, Transformation
from discreet.release.selection import find_positions
from discreet.table.domain import MISSING, reduce_column
from discreet.table.schema import Attribute, Type

SHOWN: dict[Type, tuple[type[pl.DataType], ...]] = {
    Type.INTEGER: (pl.Int8, pl.Int16, pl.Int32, pl.Int64),
    Type.DECIMAL: (pl.Float32, pl.Float64),
    Type.DATE: (pl.Date,),
    Type.BOOLEAN: (pl.Boolean,),
    Type.ORDINAL: (pl.String, pl.Enum, pl.Categorical),
    Type.CATEGORY: (pl.String, pl.Enum, pl.Categorical),
    Type.SET: (pl.String,),
}
"""How values of a type are published."""
LABELLED = SHOWN[Type.CATEGORY]


def refuse_unsound_cells(release: Release) -> None:
    """Refuse tables whose cells are not what the manifest says, and domains that are none."""
    for attribute in release.schema:
        recoding = release.recodings[attribute.name]
        if recoding.transformation == Transformation.INTERVAL:
            _refuse_domain(attribute, recoding)
        for title, table in release.carriers.items():
            columns = [c for c in recoding.columns(attribute.name) if c in table.columns]
            if not columns:
                continue
            lacking = set(recoding.columns(attribute.name)) - set(columns)
            if lacking:
                raise StoreError(f"{title}: has no column {min(lacking)!r}.", hint=DAMAGED)
            said = _find_unsound(table, attribute, recoding)
            if said is not None:
                raise StoreError(f"{title}: {attribute.name!r} {said}.", hint=DAMAGED)


def _refuse_domain(attribute: Attribute, recoding: Recoding) -> None:
    """Refuse an interval attribute of which it is not said from where to where it goes."""
    name = attribute.name
    if not attribute.type.ordered:
        raise StoreError(f"{name!r} is a {attribute.type} and has no intervals.", hint=DAMAGED)
    if recoding.missing and recoding.domain == [MISSING] * 2:
        return  # nobody has a value
    texts = pl.Series(recoding.domain, dtype=pl.String)
    ends = find_positions(texts, attribute).tolist()
    if len(ends) != 2 or ends[0] > ends[1]:
        raise StoreError(
            f"The domain of {name!r} is not two ends, the lower one first.", hint=DAMAGED
        )


def _find_unsound(table: pl.DataFrame, attribute: Attribute, recoding: Recoding) -> str | None:
    """Say what is wrong with the columns of an attribute."""
    shown, *rest = (table[column] for column in recoding.columns(attribute.name))
    if not recoding.is_blurred:
        if shown.dtype not in SHOWN[attribute.type]:
            return f"is not published as {attribute.type}"
        column = reduce_column(shown, attribute)
        empty = bool(column.absent.any())
        return "has empty cells, which are no value" if empty and not recoding.missing else None
    if shown.dtype not in LABELLED or shown.null_count():
        return "has cells that are no label"
    if not rest:
        return None
    low, high, *told = rest
    if any(end.dtype not in SHOWN[attribute.type] for end in (low, high)):
        return f"has ends that are not published as {attribute.type}"
    absent = told[0] if told else pl.repeat(False, table.height, eager=True)
    if absent.dtype != pl.Boolean or absent.null_count():
        return "does not say of every interval whether a missing value is in it"
    first, last = (reduce_column(end, attribute) for end in (low, high))
    none, open_ended = (column.absent for column in (first, last))
    if (none != open_ended).any() or (none & ~absent.to_numpy()).any():
        return "has intervals without ends"
    below = find_positions(low, attribute) <= find_positions(high, attribute)
    return None if (below | none).all() else "has intervals that end before they begin"
