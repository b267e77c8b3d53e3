"""Noisy: how many people have each combination of values, plus noise that is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from discreet.errors import QueryError
from discreet.forms.adversaries import Adversary, Withstood
from discreet.forms.base import Form, Statement, View
from discreet.forms.noisy.layout import CELLS, COUNT, FITTED, MARGINAL
from discreet.forms.noisy.reading import read_marginals
from discreet.forms.noisy.sample import draw_records
from discreet.forms.noisy.view import NoisyView, read_noisy
from discreet.forms.noisy.wording import word_noisy
from discreet.release import Promise, Release, number_title
from discreet.table.schema import Role

if TYPE_CHECKING:
    from discreet.sql.query import Query

LIMIT = "likelihood ratios of e^ε; no belief is bounded"


class Noisy(Form):
    """How many people have each combination of values, plus noise that is drawn."""

    name: ClassVar[str] = "noisy"
    aggregates: ClassVar[frozenset[str]] = frozenset({"COUNT", "SUM", "AVG"})
    auxiliary: ClassVar[frozenset[str]] = frozenset({MARGINAL, CELLS})
    coverage: ClassVar[str] = (
        "Standard errors are of the noise that was added, which nothing bounds: low and high are "
        "no limits. Within a cell all numbers are taken to be as likely. Without a standard error, "
        "no table counts all that is asked together, and what others tell was put together."
    )
    beliefs: ClassVar[str] = (
        "Differential privacy bounds no belief, so beliefs are given as certain. It bounds by how "
        "many times anything gets likelier by a person's being in the table: e^ε"
    )
    transformations: ClassVar[dict[str, str]] = {
        "counted": "in cells, beside others: how many people are in them, plus noise"
    }
    methods: ClassVar[Mapping[str, Mapping[str, Sequence[object] | None]]] = {
        "noisy-marginals": {"marginals": None, "bins": None, "scale": None}
    }
    public_domains: ClassVar[bool] = True
    shows_people: ClassVar[bool] = False

    def views(self, release: Release) -> list[View]:
        """Read the counts."""
        return read_noisy(release)

    def rewrite(self, query: Query, release: Release) -> Statement:
        """Add noisy counts up, with what noise adds to the error."""
        from discreet.forms.noisy.sql import rewrite

        (view,) = release.views
        assert isinstance(view, NoisyView)
        return rewrite(query, view.estimates)

    def sample(self, release: Release, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw records from counts that were made to agree."""
        (view,) = release.views
        assert isinstance(view, NoisyView)
        return draw_records(view.estimates, n, rng)

    def reconstruct(self, release: Release, names: list[str]) -> pl.DataFrame:
        """Give the values of some attributes, those of a cell each as likely."""
        from discreet.forms.noisy.pieces import cut, lay_out

        (view,) = release.views
        assert isinstance(view, NoisyView)
        told = view.estimates.find(names)
        cells = [view.noisy.cells[name] for name in told.names]
        pieces = [cut(own, [], one_by_one=True) for own in cells]
        frame = lay_out(cells, pieces, np.maximum(told.counts, 0), term=None)
        likely = frame.select(*names, probability=pl.col("#n") * pl.col("#share"))
        total = float(likely["probability"].sum())
        if total <= 0:
            raise QueryError("By its noisy counts there is nobody.", hint="Read its tables.")
        found = likely.with_columns(pl.col("probability") / total)
        return found.filter(pl.col("probability") > 0)

    def tell_together(self, release: Release) -> list[list[str]]:  # noqa: ARG002
        """It lists counts of cells, and no combinations of values."""
        return []

    def shown(self, release: Release) -> dict[str, list[str]]:
        """Per table of counts: the quasi-identifiers by which it counts."""
        known = release.schema.quasi_identifiers
        return {
            number_title(MARGINAL, place): [name for name in known if name in names]
            for place, names in enumerate(read_marginals(release))
        }

    def own_records(self, release: Release) -> pl.DataFrame | None:  # noqa: ARG002
        """It has none."""
        return None

    def transform(self, role: Role) -> str:  # noqa: ARG002
        """All are counted."""
        return "counted"

    def list_withstood(self, release: Release) -> Withstood:  # noqa: ARG002
        """Whoever it is, and whatever they know: of likelihoods, and not of beliefs."""
        return {**dict.fromkeys(Adversary, LIMIT), Adversary.COLLECTOR: "their ε add up"}

    def word(self, release: Release) -> tuple[Promise, dict[str, str]]:
        """Say it as whoever counts with noise does."""
        own = release.own(COUNT), release.own(FITTED)
        return word_noisy(release.promise.principle, read_marginals(release), *own)
