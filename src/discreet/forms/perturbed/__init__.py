"""Perturbed: exact quasi-identifiers, and a number that is drawn at random or one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from discreet.errors import QueryError
from discreet.forms.adversaries import KNOWN, Adversary, Withstood
from discreet.forms.base import Form, Statement, View
from discreet.forms.incomplete import Incomplete
from discreet.forms.perturbed.sample import open_noise, undo_perturbation
from discreet.forms.perturbed.view import TITLES, read_perturbed
from discreet.forms.perturbed.wording import word_perturbed
from discreet.forms.several import project
from discreet.release import Promise, Release
from discreet.table.schema import Role

if TYPE_CHECKING:
    from discreet.sql.query import Query
    from discreet.table.microdata import Microdata


class Perturbed(Form):
    """Exact quasi-identifiers, and a number that is drawn at random or one's own."""

    name: ClassVar[str] = "perturbed"
    coverage: ClassVar[str] = (
        "What numbers drawn at random contribute is subtracted, and the standard error is their "
        "spread. Only the bounds are hard."
    )
    aggregates: ClassVar[frozenset[str]] = Form.aggregates | {"QUANTILE"}
    transformations: ClassVar[dict[str, str]] = {
        "perturbed": "a person's own with some probability, else any of the domain"
    }
    methods: ClassVar[Mapping[str, Mapping[str, Sequence[object] | None]]] = {
        "perturbation": {"check": ("safe", "paper"), "retention": None, "step": None}
    }

    def views(self, release: Release) -> list[View]:
        """Read what people show, and whose values are whose."""
        return read_perturbed(release)

    def rewrite(self, query: Query, release: Release) -> Statement:
        """Rewrite a question, where its language is at hand."""
        from discreet.forms.perturbed.sql import rewrite
        from discreet.forms.several_sql import choose_asked

        if len(release.schema.sensitive) > 1:
            release = project(release, choose_asked(query, release), TITLES, ())
        return rewrite(query, release)

    def tell_together(self, release: Release) -> list[list[str]]:
        """What is exact."""
        return [[name for name in release.schema.names if name not in release.schema.sensitive]]

    def expect(self, release: Release, names: list[str], *, paired: bool = False) -> Statement:
        """Count exact records; what numbers are expected is solved for, and no sum of weights."""
        from discreet.forms.bucket_sides import Side
        from discreet.forms.expected import join_sides

        perturbed = [name for name in names if name in release.schema.sensitive]
        if perturbed:
            raise QueryError(
                f"{perturbed[0]!r} is perturbed: its estimates are solved for and kept between "
                "their bounds, as no sum of weights is.",
                hint="Ask about it with discreet query.",
            )
        records = Side(TITLES[0], "", None, frozenset(names))
        return join_sides(release, names, [records], paired=paired)

    def sample(self, release: Release, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """Draw rows, without what was added at random."""
        rows = release.tables["perturbed"].select(release.schema.names)
        drawn = rows[rng.integers(0, rows.height, n)]
        for name in release.schema.sensitive:
            alone = project(release, name, TITLES, ())
            drawn = undo_perturbation(alone, name, drawn, rng)
        return drawn

    def open_records(self, release: Release, names: list[str]) -> Incomplete:
        """A number is the person's own with the probability that the release says."""
        noise = {}
        for name in release.schema.sensitive:
            if name in names:
                alone = project(release, name, TITLES, ())
                noise[name] = open_noise(alone, name)
        return Incomplete(release.tables[TITLES[0]].select(names), noise=noise)

    def transform(self, role: Role) -> str:
        """What is sensitive is drawn, or kept."""
        return "perturbed" if role is Role.SENSITIVE else super().transform(role)

    def list_withstood(self, release: Release) -> Withstood:
        """How numbers are drawn is told; the paper's check holds on average over what is shown."""
        if release.parameters.get("check") != "safe":
            return {Adversary.READER: "on average over the numbers shown"}
        return {**KNOWN, Adversary.METHOD: ""}

    def word(self, release: Release) -> tuple[Promise, dict[str, str]]:
        """Say it as whoever perturbs does."""
        return word_perturbed(
            release.promise.principle, release.parameters.get("check"), release.schema.sensitive
        )

    def find_odd_parameters(self, release: Release, data: Microdata) -> list[str]:
        """Numbers are drawn in steps as fine as the table's."""
        found = []
        for name in release.schema.sensitive:
            numbers = data.domains[name].numbers
            finest = int(np.gcd.reduce(numbers - numbers[0])) or 1
            if project(release, name, TITLES, ()).parameters.get("step") != finest:
                said = f"numbers are not drawn in steps as fine as those of {name} in the microdata"
                found.append(said)
        return found
