"""Kept columns: published as they are, protected by nothing. Whom do they tell apart?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.auditing.people import Crowd
from discreet.errors import StoreError
from discreet.forms import find_form
from discreet.release import Release
from discreet.table.microdata import Microdata
from discreet.table.schema import Role


@dataclass(frozen=True)
class KeptColumns:
    """How many people the columns that are published unchanged single out."""

    people: int
    unique: dict[str, int]
    """Per column the people whose value nobody else has."""
    with_known: int
    """People of whom one record is left to somebody who knows all of them, and the
    quasi-identifiers."""

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        return {
            "people": self.people,
            "unique": self.unique,
            "unique_with_quasi_identifiers": self.with_known,
        }

    def __str__(self) -> str:
        each = [f"{count:,} of {self.people:,} people are unique on {name}, which is published as "
                "it is" for name, count in self.unique.items()]  # fmt: skip
        return f"{'; '.join(each)}; with the quasi-identifiers as they are shown, " + (
            f"{self.with_known:,}."
        )


def count_kept(release: Release, data: Microdata) -> KeptColumns | None:
    """Count whom the kept columns of a release tell apart; ``None`` if it has none."""
    names = [attribute.name for attribute in release.schema.having(Role.OTHER)]
    if not names:
        return None
    unique = {name: _count_unique(data, name) for name in names}
    try:
        found = [v.match(data) for v in find_form(release.form).add_known(release, names).views]
        left = [Crowd(f, data.persons).count for f in found]
        alone = data.count_any(np.min(left, axis=0) == 1)
    except StoreError:  # its form does not say; nobody is told apart by more than all values
        alone = data.count_unique([*release.schema.quasi_identifiers, *names])
    return KeptColumns(data.people, unique, alone)


def _count_unique(data: Microdata, name: str) -> int:
    """Count the people here whose value nobody else has, here or in the rest of the table."""
    if data.whole is None:
        return data.count_unique([name])
    return int((data.whole[name][data.codes[name]] == 1).sum())
