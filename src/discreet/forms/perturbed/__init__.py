"""Perturbed: exact quasi-identifiers, and a number that is drawn at random or one's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from discreet.forms.base import Form, Statement, View
from discreet.forms.perturbed.sample import undo_perturbation
from discreet.forms.perturbed.view import read_perturbed
from discreet.release import Release

if TYPE_CHECKING:
    from discreet.sql.parse import Query


class Perturbed(Form):
    """Exact quasi-identifiers, and a number that is drawn at random or one's own."""

    name: ClassVar[str] = "perturbed"
    transformations: ClassVar[dict[str, str]] = {
        "perturbed": "a person's own with some probability, else any of the domain"
    }

    def views(self, release: Release) -> list[View]:
        """Read what people show, and whose values are whose."""
        return read_perturbed(release)

    def rewrite(self, query: Query, release: Release) -> Statement:
        """Rewrite a question, where its language is at hand."""
        from discreet.forms.perturbed.sql import rewrite

        return rewrite(query, release)

    def sample(self, release: Release, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw rows, without what was added at random."""
        return undo_perturbation(release, n, rng)
