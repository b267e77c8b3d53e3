"""Sets of items in a cell: baskets, diagnoses. How they are read, and the one way they are written.

A set is written as its items in their order, each once, with a separator between them; one without
items has a word of its own, as an empty cell would be read as a missing one elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import MicrodataError, SchemaError
from discreet.table.arrays import Bools
from discreet.table.taxonomy import canonical_text

if TYPE_CHECKING:
    from discreet.table.schema import Attribute

SEPARATOR = "|"
EMPTY = "(empty)"
"""How a set without items is written."""


def split_items(text: str, separator: str) -> tuple[str, ...]:
    """Give the items of a set, each once and in their order.

    >>> split_items(" b|a | b|", "|"), split_items("(empty)", "|")
    (('a', 'b'), ())
    """
    if text.strip() == EMPTY:
        return ()
    items = {canonical_text(part) for part in text.split(separator)}
    return tuple(sorted(items - {""}))


def write_items(items: Iterable[str], separator: str) -> str:
    """Write a set in the one way all spellings of it share.

    >>> write_items(["b", "a"], "|"), write_items([], "|")
    ('a|b', '(empty)')
    """
    return separator.join(sorted(set(items))) or EMPTY


def refuse_set_settings(attribute: Attribute) -> None:
    """Refuse settings that a set cannot have, and those of a set elsewhere."""
    from discreet.table.schema import Missing, Role, Type

    name, separator = attribute.name, attribute.separator
    if attribute.type is not Type.SET:
        if separator:
            raise SchemaError(
                f"Column {name!r} is a {attribute.type}: only a set has a separator.",
                hint='Set type = "set" for it, or leave separator out.',
                subject=attribute,
            )
        return
    if separator != canonical_text(separator):
        raise SchemaError(
            f"Column {name!r}: {separator!r} cannot separate items: blanks at its ends are lost.",
            hint='Give a sign that no item holds, such as separator = "|".',
            subject=attribute,
        )
    if attribute.missing is Missing.VALUE:
        raise SchemaError(
            f"Column {name!r} is a set: what is missing can be no value of its own.",
            hint='Set missing = "drop" or "reject"; an empty cell is a set without items.',
            subject=attribute,
        )
    if attribute.role is Role.QUASI_IDENTIFIER or attribute.keep:
        how = "kept" if attribute.keep else f"a {attribute.role}"
        raise SchemaError(
            f"Column {name!r} is a set of items, which cannot be {how}.",
            hint='Set role = "sensitive" for it: a promise about sets takes every item for known '
            "to somebody, too.",
            subject=attribute,
        )


def join_lists(cells: pl.Series, attribute: Attribute) -> pl.Series:
    """Write lists of items as texts, and leave other cells as they are."""
    if not isinstance(cells.dtype, pl.List):
        return cells
    inner = cells.dtype.inner
    if not isinstance(inner, pl.DataType) or inner.is_nested() or inner == pl.Binary:
        raise _refuse(attribute, f"its cells are {cells.dtype}, not lists of items")
    lists = cells.cast(pl.List(pl.String))
    items = lists.explode(empty_as_null=False).drop_nulls()
    holding = items.str.contains(attribute.separator, literal=True)
    if holding.any():
        raise _refuse(
            attribute,
            f"the item {items.filter(holding)[0]!r} holds the separator {attribute.separator!r}: "
            "set another one (separator)",
        )
    return lists.list.join(attribute.separator, ignore_nulls=True)


def read_sets(cells: pl.Series, attribute: Attribute) -> tuple[NDArray[np.object_], Bools]:
    """Write different cells as sets, and say which of them are missing."""
    raw = ["" if cell is None else str(cell) for cell in cells.to_list()]
    absent = np.array([bool(text) and canonical_text(text) in attribute.na for text in raw], bool)
    sets = [split_items(text, attribute.separator) for text in raw]
    odd = [text for text, items in zip(raw, sets, strict=True) if EMPTY in items]
    if odd:
        raise _refuse(
            attribute, f"{odd[0]!r} has an item {EMPTY!r}, which stands for a set without items"
        )
    texts = [write_items(items, attribute.separator) for items in sets]
    return np.array(texts, dtype=object), absent


def _refuse(attribute: Attribute, problem: str) -> MicrodataError:
    return MicrodataError(f"column {attribute.name!r}: {problem}", subject=attribute)


__all__ = [
    "EMPTY",
    "SEPARATOR",
    "join_lists",
    "read_sets",
    "refuse_set_settings",
    "split_items",
    "write_items",
]
