"""Recoded: sets of items, in which labels stand for several, and some items show nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
import polars as pl

from discreet.forms.base import Form, Statement, View
from discreet.forms.recoded.view import ITEMS, TRANSACTIONS, SetView, read_recoded
from discreet.forms.recoded.wording import word_recoded
from discreet.release import Promise, Release
from discreet.sql.query import Query
from discreet.table.microdata import Microdata
from discreet.table.schema import Role


class Recoded(Form):
    """Sets of items, each shown by itself, by a label that stands for several, or by nothing."""

    name: ClassVar[str] = "recoded"
    aggregates: ClassVar[frozenset[str]] = frozenset({"COUNT"})
    coverage: ClassVar[str] = (
        "Whoever shows a label is taken to have one of its items, each as likely. Only the bounds "
        "are hard."
    )
    beliefs: ClassVar[str] = (
        "Beliefs in a set are those of somebody who knows none of its items. Who knows some may "
        "find the only person who has them, and the rest: k^m-anonymity bounds how few fit, and "
        "rho-uncertainty what is inferred."
    )
    auxiliary: ClassVar[frozenset[str]] = frozenset({ITEMS})
    transformations: ClassVar[dict[str, str]] = {
        "recoded": "as a set of items; labels stand for several, where `items_of_labels` lists "
        "such, and rare items may show nothing, for everybody alike"
    }
    methods: ClassVar[Mapping[str, Mapping[str, Sequence[object] | None]]] = {
        "apriori": {"items_left_out": None}
    }

    def views(self, release: Release) -> list[View]:
        """Read the sets of all people."""
        return read_recoded(release)

    def rewrite(self, query: Query, release: Release) -> Statement:
        """Count people by the items that they have, as far as labels tell."""
        from discreet.forms.recoded.sql import rewrite

        return rewrite(query, release)

    def sample(self, release: Release, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw sets as they are shown, labels among them."""
        table = release.tables[TRANSACTIONS]
        return table[rng.integers(0, table.height, n)]

    def transform(self, role: Role) -> str:
        """Sets are recoded."""
        return "recoded" if role is Role.SENSITIVE else super().transform(role)

    def word(self, release: Release) -> tuple[Promise, dict[str, str]]:
        """Say it as whoever recodes does."""
        said = release.parameters.get("items_left_out", 0)
        count = said if isinstance(said, int) else 0
        attribute, labels = next(iter(release.schema)), ITEMS in release.tables
        return word_recoded(release.promise.principle, attribute, count, labels=labels)

    def find_odd_parameters(self, release: Release, data: Microdata) -> list[str]:
        """Say so if another number of items is left out."""
        (view,) = release.views
        assert isinstance(view, SetView)
        told, found = release.parameters.get("items_left_out"), view.count_left_out(data)
        if told == found:
            return []
        return [f"it says that {told} items are left out, and {found} are"]
