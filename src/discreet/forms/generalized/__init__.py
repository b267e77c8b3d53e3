"""Generalized: people of one class show one box in place of their quasi-identifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import polars as pl

from discreet.forms.base import Statement, View
from discreet.forms.generalized.view import read_generalized
from discreet.forms.grouped import GroupedForm
from discreet.release import Release

if TYPE_CHECKING:
    from discreet.sql.parse import Query


class Generalized(GroupedForm):
    """People of one class show one box in place of their quasi-identifiers."""

    name: ClassVar[str] = "generalized"
    owner: ClassVar[str] = "class"

    def views(self, release: Release) -> list[View]:
        """Read what people show, and whose values are whose."""
        return read_generalized(release)

    def rewrite(self, query: Query, release: Release) -> Statement:
        """Rewrite a question, where its language is at hand."""
        from discreet.forms.generalized.sql import rewrite

        return rewrite(query, release)

    def own_records(self, release: Release) -> pl.DataFrame | None:
        """Give the table as it is: nothing of it need be read for that."""
        table = release.tables.get("generalized")
        return super().own_records(release) if table is None else table
