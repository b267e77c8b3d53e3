"""Public cells: what the values of an attribute can be, in so few classes that they are counted.

They follow from what a steward declares, whoever is in the table: the ends of a number or a date,
the values of a category or of a file of its taxonomy, the order of an ordinal. A cell that nobody
has is a cell like any other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from discreet.errors import SchemaError
from discreet.table.arrays import Ints
from discreet.table.coarsening import is_coarse
from discreet.table.domain import MISSING, Domain, read_unit
from discreet.table.schema import Attribute, Missing, Type
from discreet.table.taxonomy import Taxonomy

HINT = (
    "Say what its values can be, whoever is in the table: low and high of a number or a date, "
    "values of a category, or a file of its taxonomy."
)


@dataclass(frozen=True, eq=False)
class PublicCells:
    """The cells of an attribute, in order: runs of a number or a date, single values of others.

    ``first`` and ``last`` are the ends of each as texts, the same where it is one value. Where a
    missing cell is a value, it is the last.
    """

    attribute: Attribute
    first: list[str]
    last: list[str]

    @property
    def count(self) -> int:
        """Number of cells."""
        return len(self.first)

    @cached_property
    def missing(self) -> bool:
        """Whether the last cell is of those whose value is missing."""
        return self.first[-1] == MISSING

    @cached_property
    def texts(self) -> list[str]:
        """What each is called."""
        return [a if a == b else f"{a} to {b}"
                for a, b in zip(self.first, self.last, strict=True)]  # fmt: skip

    @property
    def known(self) -> int:
        """Number of cells that are not of missing values."""
        return self.count - self.missing

    @cached_property
    def ends(self) -> tuple[Ints, Ints]:
        """Of numbers and dates the ends as whole units; of others the places of their values."""
        if not self.attribute.type.numeric:
            return np.arange(self.known), np.arange(self.known)
        found = []
        for texts in (self.first, self.last):
            units = [read_unit(t, self.attribute.type, self.attribute.decimals or 0)
                     for t in texts[: self.known]]  # fmt: skip
            found.append(np.array([0 if u is None else u for u in units], dtype=np.int64))
        return found[0], found[1]

    @staticmethod
    def write(attribute: Attribute, low: Ints, high: Ints) -> tuple[list[str], list[str]]:
        """Write the ends of numbers or dates as they are printed."""
        plain = Domain(replace(attribute, taxonomy=None), np.zeros(0, dtype=np.int64))
        first, last = ([plain.write(int(end)) for end in ends] for ends in (low, high))
        return first, last

    def place(self, domain: Domain) -> Ints:
        """Give the cell of every code of a domain; -1 for a value that is in none."""
        if self.attribute.type.numeric:
            low, high = self.ends
            values = np.asarray(domain.values, dtype=np.int64)
            at = np.searchsorted(low, values, side="right") - 1
            cells = np.where((at >= 0) & (values <= high[at]), at, -1)
        else:
            place = {text: cell for cell, text in enumerate(self.first)}
            texts = domain.texts[: len(domain.values)]
            cells = np.array([place.get(text, -1) for text in texts], dtype=np.int64)
        lost = [self.count - 1 if self.missing else -1] * domain.missing
        return np.append(cells, lost).astype(np.int64)


def list_cells(attribute: Attribute, most: int) -> PublicCells:
    """List the cells of an attribute; of numbers and dates with more values there are ``most``.

    Whatever of it is not declared is refused, as the table's own values would tell of people.
    """
    if is_coarse(attribute):
        raise SchemaError(
            f"Column {attribute.name!r} was made coarser, and its cells would be so once more.",
            hint="Leave top, bottom, round and aggregate out: numbers are put into cells here.",
            subject=attribute,
        )
    values = _list_values(attribute)
    if values is None:
        first, last = _cut(attribute, most)
    else:
        first = last = values
    nothing = [MISSING] * (attribute.missing is Missing.VALUE)
    return PublicCells(replace(attribute, taxonomy=None), [*first, *nothing], [*last, *nothing])


def _list_values(attribute: Attribute) -> list[str] | None:
    """List the values of what is no number; ``None`` for numbers."""
    if attribute.type is Type.ORDINAL:
        return list(attribute.order)
    if attribute.type is Type.BOOLEAN:
        return ["false", "true"]
    if attribute.type is Type.CATEGORY and attribute.values:
        return sorted(set(attribute.values))
    if attribute.type is Type.CATEGORY and isinstance(attribute.taxonomy, Taxonomy):
        return sorted(attribute.taxonomy.leaves)
    if attribute.type.numeric and attribute.low is not None:
        return None
    raise SchemaError(
        f"Column {attribute.name!r} has no public domain: which values it has tells of people.",
        hint=HINT,
        subject=attribute,
    )


def _cut(attribute: Attribute, most: int) -> tuple[list[str], list[str]]:
    """Cut the domain of a number into runs of about as many values, or single ones."""
    low, high = (read_unit(end, attribute.type, attribute.decimals or 0)
                 for end in (attribute.low, attribute.high))  # fmt: skip
    if low is None or high is None or low > high:
        raise SchemaError(
            f"Column {attribute.name!r}: low = {attribute.low}, high = {attribute.high} are not "
            f"the ends of a domain of type {attribute.type}.",
            hint="Give its lowest and its highest possible value.",
            subject=attribute,
        )
    size = high - low + 1
    count = min(size, most)
    starts = np.array([low + size * i // count for i in range(count + 1)], dtype=np.int64)
    return PublicCells.write(attribute, starts[:-1], starts[1:] - 1)
