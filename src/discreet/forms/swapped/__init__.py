"""Swapped: exact quasi-identifiers, and a sensitive number exchanged with one of near rank."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from discreet.forms.base import Form, Statement, View
from discreet.forms.swapped.view import read_swapped
from discreet.release import Release

if TYPE_CHECKING:
    from discreet.sql.parse import Query


class Swapped(Form):
    """Exact quasi-identifiers, and a sensitive number exchanged with one of near rank."""

    name: ClassVar[str] = "swapped"
    auxiliary: ClassVar[frozenset[str]] = frozenset({"windows"})
    transformations: ClassVar[dict[str, str]] = {
        "swapped": "exactly, but exchanged between people of near rank"
    }

    def views(self, release: Release) -> list[View]:
        """Read what people show, and whose values are whose."""
        return read_swapped(release)

    def rewrite(self, query: Query, release: Release) -> Statement:
        """Rewrite a question, where its language is at hand."""
        from discreet.forms.swapped.sql import rewrite

        return rewrite(query, release)

    def sample(self, release: Release, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw rows: what is shown is read as if it were true."""
        table = release.tables["swapped"].select(release.schema.names)
        return table[rng.integers(0, table.height, n)]
