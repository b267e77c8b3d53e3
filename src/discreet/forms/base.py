"""Classes: the groups of a release, as everyone outside sees them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import StoreError
from discreet.principles.base import Principle
from discreet.principles.groups import Groups
from discreet.release import Release
from discreet.table.domain import reduce_column


@dataclass(frozen=True, eq=False)
class Classes:
    """The groups of a release, as everyone outside sees them."""

    release: Release
    table: pl.DataFrame
    """One row per record."""
    labels: NDArray[np.int64]
    """Per record its group."""
    boxes: pl.DataFrame | None
    """Per group one of its records, where a group shows one box; else each record shows itself."""

    repeats: ClassVar[int | None] = 1
    """How many times as often as by chance people may show their own value; ``None`` where records
    show no value."""
    mixes: ClassVar[bool] = False
    """Whether a group's bag is a mixture of others, which are judged instead of it."""
    tells: ClassVar[bool] = True
    """Whether the release alone tells what a group may hold; else only the microdata does."""

    @cached_property
    def count(self) -> int:
        """Number of groups."""
        return int(self.labels.max()) + 1

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Records per group."""
        return np.bincount(self.labels, minlength=self.count)

    def admits(self, part: Principle, name: str | None) -> NDArray[np.bool_]:
        """Say of each group whether a principle holds for it."""
        return part.admits(self.bags(name))

    def draws(self, name: str) -> tuple[NDArray[np.int64], Groups]:
        """Give, per record, the bag its value is drawn from; and these bags."""
        return self.labels, self.bags(name)

    def bags(self, name: str | None) -> Groups:
        """Give what may be a group's values of a sensitive attribute; unnamed, its people only."""
        if name not in self._read:
            people = Groups.of_people(self.sizes)
            self._read[name] = people if name is None else self._read_bags(name)
        return self._read[name]

    @cached_property
    def _read(self) -> dict[str | None, Groups]:
        return {}

    def _read_bags(self, name: str) -> Groups:
        codes, domain = reduce_column(self.table[name], self.release.schema[name]).encode(None)
        return Groups.from_labels(self.labels, codes, domain, count=self.count)


def take_table(release: Release, names: set[str], name: str, columns: set[str]) -> pl.DataFrame:
    """Give one table of a release, refusing tables and columns that nobody declared."""
    if set(release.tables) != names:
        raise StoreError(
            f"A release by {release.method} has the tables {sorted(names)}, "
            f"not {sorted(release.tables)}."
        )
    table = release.tables[name]
    for column in columns ^ set(table.columns):
        what = "has no column" if column in columns else "has an undeclared column"
        raise StoreError(f"The table {name!r} {what} {column!r}.")
    return table
