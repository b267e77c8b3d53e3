"""Batched: boxes or exact records in any number of tables, whose values are in batches."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from discreet.forms.base import Statement, View
from discreet.forms.batched.view import BATCHES, read_batched
from discreet.forms.grouped import COUNT, OWNER, GroupedForm
from discreet.release import Release

if TYPE_CHECKING:
    from discreet.sql.parse import Query


class Batched(GroupedForm):
    """Boxes or exact records in any number of tables, whose values are in batches."""

    name: ClassVar[str] = "batched"
    owner: ClassVar[str] = "batch"
    auxiliary: ClassVar[frozenset[str]] = frozenset({BATCHES})
    transformations: ClassVar[dict[str, str]] = {
        "batched": "counted in batches; each record refers to one"
    }

    def views(self, release: Release) -> list[View]:
        """Read what people show, and whose values are whose."""
        return read_batched(release)

    def rewrite(self, query: Query, release: Release) -> Statement:
        """Rewrite a question, where its language is at hand."""
        from discreet.forms.batched.sql import rewrite

        return rewrite(query, release)

    def hold(self, release: Release, title: str, name: str) -> pl.DataFrame:  # noqa: ARG002
        """The batches say it."""
        return release.tables[BATCHES].select(
            pl.col("batch").alias(OWNER), name, pl.col("count").alias(COUNT)
        )

    def leave_out(self, release: Release, names: Collection[str]) -> Release:
        """Tables that show nothing any more are gone, and leave no gap in the numbers."""
        left = super().leave_out(release, names)
        tables: dict[str, pl.DataFrame] = {}
        titles = iter(self.shown(release))
        for title, table in left.tables.items():
            if title == BATCHES:
                tables[title] = table
            elif table.columns != ["batch"]:
                narrower = table.width < release.tables[title].width
                rest = [column for column in table.columns if column != "batch"]
                # rows that look alike stand together
                tables[next(titles)] = table.sort([*rest, "batch"]) if narrower else table
        return replace(left, tables=tables)
