"""Sliced: buckets in which every column of attributes was sorted by itself."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from discreet.forms.base import Form, Statement, View
from discreet.forms.sliced.sample import rebuild, relink
from discreet.forms.sliced.view import read_columns, read_sliced
from discreet.release import Release

if TYPE_CHECKING:
    from discreet.sql.parse import Query


class Sliced(Form):
    """Buckets in which every column of attributes was sorted by itself."""

    name: ClassVar[str] = "sliced"
    transformations: ClassVar[dict[str, str]] = {
        "sliced": "exactly, but sorted with its column within each bucket"
    }

    def views(self, release: Release) -> list[View]:
        """Read what people show, and whose values are whose."""
        return read_sliced(release)

    def rewrite(self, query: Query, release: Release) -> Statement:
        """Rewrite a question, where its language is at hand."""
        from discreet.forms.sliced.sql import rewrite

        return rewrite(query, release)

    def sample(self, release: Release, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw rows, and for every column one of the same bucket."""
        return relink(release, n, rng)

    def reconstruct(self, release: Release, names: list[str]) -> pl.DataFrame:
        """In every bucket, the product of the columns' shares."""
        return rebuild(release, names)

    def matched_by(self, release: Release) -> list[str]:
        """Everything that is not sensitive stands in columns, by which buckets are found."""
        return [name for name in release.schema.names if name not in release.schema.sensitive]

    def leave_out(self, release: Release, names: Collection[str]) -> Release:
        """Columns lose attributes, too."""
        columns = [[n for n in part if n not in names] for part in read_columns(release)]
        parameters = {**release.parameters, "columns": [part for part in columns if part]}
        return replace(super().leave_out(release, names), parameters=parameters)
