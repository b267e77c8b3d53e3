"""Swapped: exact quasi-identifiers, and a sensitive number exchanged with one of near rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from discreet.forms.adversaries import KNOWN, Withstood
from discreet.forms.base import Form, Statement, View
from discreet.forms.incomplete import Incomplete, Near
from discreet.forms.several import list_each, project
from discreet.forms.swapped.view import TITLES, read_swapped
from discreet.forms.swapped.wording import word_swapped
from discreet.release import Promise, Release, number_title
from discreet.table.schema import Role

if TYPE_CHECKING:
    from discreet.sql.query import Query


class Swapped(Form):
    """Exact quasi-identifiers, and a sensitive number exchanged with one of near rank."""

    name: ClassVar[str] = "swapped"
    coverage: ClassVar[str] = (
        "What is shown is taken for the truth. How far that leads is not known, so that there is "
        "no standard error. Only the bounds are hard."
    )
    aggregates: ClassVar[frozenset[str]] = Form.aggregates | {"QUANTILE"}
    auxiliary: ClassVar[frozenset[str]] = frozenset(TITLES[1:])
    transformations: ClassVar[dict[str, str]] = {
        "swapped": "exactly, but exchanged between people of near rank"
    }
    methods: ClassVar[Mapping[str, Mapping[str, Sequence[object] | None]]] = {"rank-swapping": {}}

    def views(self, release: Release) -> list[View]:
        """Read what people show, and whose values are whose."""
        return read_swapped(release)

    def rewrite(self, query: Query, release: Release) -> Statement:
        """Rewrite a question, where its language is at hand."""
        from discreet.forms.several_sql import choose_asked, rename_tables
        from discreet.forms.swapped.sql import rewrite

        if len(release.schema.sensitive) < 2:
            return rewrite(query, release)
        name = choose_asked(query, release)
        return rename_tables(
            rewrite(query, project(release, name, TITLES, ())), release, name, TITLES, ()
        )

    def tell_together(self, release: Release) -> list[list[str]]:
        """Every number is told by itself."""
        return list_each(release)

    def expect(self, release: Release, names: list[str], *, paired: bool = False) -> Statement:
        """Take what is shown for true; paired, with all of its window."""
        from discreet.forms.several_sql import choose_one
        from discreet.forms.swapped.expected import expect

        return expect(release, names, choose_one(names, release), paired=paired)

    def sample(self, release: Release, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw rows: what is shown is read as if it were true."""
        table = release.tables["swapped"].select(release.schema.names)
        return table[rng.integers(0, table.height, n)]

    def open_records(self, release: Release, names: list[str]) -> Incomplete:
        """A record's own number is one in the window of the one it shows."""
        table, near = release.tables[TITLES[0]], {}
        for place, name in enumerate(release.schema.sensitive):
            if name in names:
                windows = release.tables[number_title(TITLES[1], place)].sort("value")
                at = windows["value"].search_sorted(table[name]).to_numpy()
                shown, low, high = (
                    windows[column].to_physical().to_numpy().astype(np.float64)[at]
                    for column in ("value", "low", "high")
                )
                ranks = np.searchsorted(np.sort(shown), [low, high])
                near[name] = Near(low, high, max(1, int(np.median(ranks[1] - ranks[0])) // 2))
        return Incomplete(table.select(names), near=near)

    def transform(self, role: Role) -> str:
        """What is sensitive is exchanged."""
        return "swapped" if role is Role.SENSITIVE else super().transform(role)

    def list_withstood(self, release: Release) -> Withstood:  # noqa: ARG002
        """Windows hold every number that is possible, whatever is known of people."""
        return KNOWN

    def word(self, release: Release) -> tuple[Promise, dict[str, str]]:
        """Say it as whoever exchanges does."""
        return word_swapped(release.promise.principle, release.schema.sensitive)
