"""Reading perturbed releases: a group is the people who show one number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from discreet.errors import StoreError
from discreet.forms.base import View
from discreet.forms.disclosure import SET, WEIGHT, Disclosure, Observed, list_beside
from discreet.forms.estimates import Asked
from discreet.forms.matches import Matches
from discreet.forms.perturbed.consistency import compare_retention
from discreet.forms.perturbed.posterior import PerturbedPosterior
from discreet.forms.perturbed.randomized_response import RandomizedResponse
from discreet.forms.posterior import Posterior
from discreet.forms.reading import take_table
from discreet.forms.records import ANY_VALUE, RecordView
from discreet.forms.several import SeveralView, read_several
from discreet.principles.groups import Groups
from discreet.principles.proximity import Proximity
from discreet.release import Release
from discreet.table.arrays import Floats, Ints
from discreet.table.domain import Domain, reduce_column
from discreet.table.microdata import Microdata


@dataclass(frozen=True, eq=False)
class PerturbedView(RecordView):
    """People by the number they show, which is any or their own."""

    verifiable_alone: ClassVar[bool] = False
    holds_values: ClassVar[bool] = False

    any_value: ClassVar[bool] = True

    response: RandomizedResponse
    domain: Domain
    """The numbers shown, one per group."""

    def _read_bags(self, name: str) -> Groups:
        raise StoreError(f"A perturbed release does not say which values of {name!r} a group has.")

    def posterior(self, matches: Matches, data: Microdata, name: str) -> Posterior:
        """Weigh the numbers shown by how many people have which."""
        return PerturbedPosterior(self, matches, data, name)

    def _compare_values(self, matches: Matches, data: Microdata) -> list[str]:  # noqa: ARG002
        return compare_retention(self, data)

    @property
    def dealing(self) -> View | None:
        """Numbers that are drawn are nobody's."""
        return None

    def disclose(self, found: list[Matches], observed: Observed) -> Disclosure:
        """Give how likely the numbers shown would be, were a person's one of them or another."""
        matches, release = found[0], observed.release
        every = np.arange(matches.count)
        owner, group = matches.list_options(every)
        shown = matches.list_likelihoods(every)
        records = np.zeros(matches.count, dtype=np.int64)
        np.add.at(records, owner, shown)
        p = self.response.retention
        default = (p.denominator - p.numerator) * records
        frames = []
        for name in release.schema.sensitive:
            if name in observed.hidden:
                codes = observed.targets[name].domain.find(self.domain.texts)[group]
                weights = default[owner] + p.numerator * self.response.size * shown
                frame = pl.DataFrame({SET: owner, name: codes, WEIGHT: weights})
                frames.append(frame.filter(pl.col(name) >= 0))
        exact = [n for n in observed.hidden
                 if n in self.table.columns and n not in release.schema.sensitive]  # fmt: skip
        if exact:
            frames.append(list_beside(matches, observed, exact))
        return Disclosure(matches.set_of, matches.records, frames, default)

    def list_told(
        self, matches: Matches, observed: Observed, name: str, sets: Ints
    ) -> pl.DataFrame:
        """List the numbers shown, weighed beside those that are not."""
        owner, group = matches.list_options(sets)
        # groups that differ in another attribute show the same number
        pairs, same = np.unique(owner * self.count + group, return_inverse=True)
        shown = np.zeros(len(pairs), dtype=np.int64)
        np.add.at(shown, same, matches.list_likelihoods(sets))
        owner, group = pairs // self.count, pairs % self.count
        records = np.bincount(owner, weights=shown, minlength=len(sets)).astype(np.int64)
        p = self.response.retention
        lift = float(p * self.response.size / (1 - p))
        codes = observed.targets[name].domain.find(self.domain.texts)[group]
        weights = ANY_VALUE * records[owner] + np.round(ANY_VALUE * lift * shown).astype(np.int64)
        frame = pl.DataFrame({SET: owner, name: codes, WEIGHT: weights})
        return frame.filter(pl.col(name) >= 0)

    def estimate(self, asked: Asked) -> Floats:
        """Subtract what the numbers drawn contribute."""
        from discreet.forms.perturbed.estimate import estimate_perturbed

        return estimate_perturbed(self, asked)


@dataclass(frozen=True, eq=False)
class SeveralPerturbed(SeveralView):
    """The same of several numbers, each perturbed by itself."""

    verifiable_alone: ClassVar[bool] = False
    holds_values: ClassVar[bool] = False


TITLES = ("perturbed",)


def read_perturbed(release: Release) -> list[View]:
    """Group people by the number shown, and refuse numbers that nobody can have drawn.

    What follows from a number depends on how many people have which, which the release does not
    say; only an audit against the microdata can judge the promise.
    """
    if len(release.schema.sensitive) > 1:
        return read_several(release, TITLES, (), read_perturbed, SeveralPerturbed)
    table = take_table(release, {"perturbed"}, "perturbed", set(release.columns))
    if len(release.schema.sensitive) != 1 or not isinstance(release.promise.principle, Proximity):
        raise StoreError("A perturbed release has one sensitive number and promises (ε,m).")
    (sensitive,) = release.schema.sensitive
    if table[sensitive].null_count():
        raise StoreError(f"The table 'perturbed' has empty cells in {sensitive!r}.")
    response = RandomizedResponse.read(release)
    codes, domain = reduce_column(table[sensitive], release.schema[sensitive]).encode(None)
    numbers = domain.numbers
    if not response.count(numbers, numbers).all():
        raise StoreError(f"The table 'perturbed' shows {sensitive!r} outside of its domain.")
    return [PerturbedView(release, table, codes.astype(np.int64), response, domain)]
