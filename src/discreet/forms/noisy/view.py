"""Reading noisy releases: everybody is one group, in which nobody is found."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import exp, nextafter
from typing import ClassVar

import numpy as np
import polars as pl

from discreet.errors import StoreError
from discreet.forms.base import View
from discreet.forms.disclosure import Disclosure, Observed
from discreet.forms.estimates import Asked
from discreet.forms.matches import Matches
from discreet.forms.noisy.consistency import compare_cells, compare_noise, find_worst
from discreet.forms.noisy.estimates import Estimates
from discreet.forms.noisy.layout import NoisyCounts
from discreet.forms.noisy.pieces import add_taken, read_cell_labels
from discreet.forms.noisy.reading import read_tables
from discreet.forms.posterior import Breach, Posterior
from discreet.principles.base import Principle, ratio
from discreet.principles.differential import DifferentialPrivacy
from discreet.principles.groups import Groups
from discreet.principles.proximity import Proximity
from discreet.release import Release
from discreet.release.selection import Selection
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.microdata import Microdata

UNBOUNDED = "as an upper bound: noise bounds how much a person's part can matter, and no belief"


class OpenPosterior(Posterior):
    """What is believed where nothing bounds it: anything may be certain."""

    @property
    def how(self) -> str:
        """Say how beliefs were found."""
        return UNBOUNDED

    def fails(self, part: Principle) -> Bools:  # noqa: ARG002
        """Nothing that is promised of values holds."""
        return np.ones(self.n, dtype=bool)

    def largest(self) -> Floats:
        """Anybody may be certain of a value."""
        return np.ones(self.n)

    def truths(self) -> Floats:
        """And of the true one."""
        return np.ones(self.n)

    def worst(self) -> Fraction:
        """So it is at worst."""
        return Fraction(1)

    def worst_among(self, meant: Bools) -> Fraction:  # noqa: ARG002
        """And of any values."""
        return Fraction(1)

    def breach(self, principle: Proximity) -> Breach:  # noqa: ARG002
        """A number may be told as well."""
        return Breach(np.ones(self.n), Fraction(1), Fraction(1))


@dataclass(frozen=True, eq=False)
class NoisyView(View):
    """Counts of people, with noise: who they are, no table shows."""

    max_own_value_lift: ClassVar[int | None] = None
    holds_values: ClassVar[bool] = False
    deals_values: ClassVar[bool] = False

    noisy: NoisyCounts

    @cached_property
    def estimates(self) -> Estimates:
        """What it tells of any attributes."""
        return Estimates(self.noisy)

    @cached_property
    def records_here(self) -> Ints:
        """As many people as there are by its counts."""
        return np.array([max(round(float(self.estimates.find([]).counts)), 1)])

    @property
    def smallest_count(self) -> int | None:
        """The smallest noisy count; a rule about cells does not know what noise is."""
        return max(0, min(int(one.counts.min()) for one in self.noisy.marginals))

    def _read_bags(self, name: str) -> Groups:
        raise StoreError(f"A noisy release does not say which values of {name!r} a group has.")

    def keeps(self, part: Principle) -> bool:
        """Whether its noise is enough for a principle: of no other than differential privacy."""
        if not isinstance(part, DifferentialPrivacy):
            return False
        return self.noisy.spent <= ratio(part.epsilon)

    def admits(self, part: Principle, name: str | None) -> Bools:  # noqa: ARG002
        """Say it of the only group."""
        return np.array([self.keeps(part)])

    def hides(self, part: Principle, matches: Matches) -> Bools:
        """Say it of everybody."""
        return np.full(matches.count, self.keeps(part))

    def match(self, data: Microdata) -> Matches:
        """Nobody is told apart: all people are behind all counts."""
        nobody = np.zeros(1, dtype=np.int64)
        everybody = np.array([data.n])
        return Matches(
            self, np.zeros(data.n, dtype=np.int64), np.array([0, 1]), nobody, np.array([1]),
            everybody, pools_groups=False, first=nobody,
        )  # fmt: skip

    def bound_membership(self) -> float:
        """Bound it by e^2ε / (1 + e^2ε), rounded up.

        Of a member and somebody else let the first be taken for the member with probability p. Were
        the one in place of the other, which makes anything at most e^2ε times as likely, the same
        would be wrong, and is so with probability 1 - p if both are alike beforehand: p is at most
        e^2ε (1 - p).
        """
        odds = exp(2 * float(self.noisy.spent))
        return min(nextafter(odds / (1 + odds), 1) + 1e-12, 1.0)

    def describe_crowd(self, people: int) -> str:  # noqa: ARG002
        """Say that nobody is found."""
        return "no record shows anybody: combinations of values are counted, with noise"

    def word_check(self, part: Principle) -> str:
        """Say how much of ε is spent."""
        spent = float(self.noisy.spent)
        return f"{part}, of which {spent:.4g} is spent on {len(self.noisy.marginals)} tables,"

    def posterior(self, matches: Matches, data: Microdata, name: str) -> Posterior:
        """No belief is bounded."""
        return OpenPosterior(matches, data, name)

    def find_inconsistencies(self, matches: Matches, data: Microdata) -> list[str]:  # noqa: ARG002
        """Hold its cells against what is declared, and its counts against those of the people."""
        return [*compare_cells(self.release, self.noisy, data), *compare_noise(self.noisy, data)]

    def list_notes(self, data: Microdata) -> list[str]:
        """Say how far its counts are off, beside what noise does."""
        return find_worst(self.noisy, data)

    def disclose(self, found: list[Matches], observed: Observed) -> Disclosure:  # noqa: ARG002
        """Leave everything possible: what noise makes likelier is bounded, and not counted here."""
        matches = found[0]
        return Disclosure(matches.set_of, matches.records, [])

    def estimate(self, asked: Asked) -> Floats:
        """Add up what questions take of the cells of the attributes that they are about."""
        takes = dict(asked.known)
        if asked.told is not None and asked.takes is not None:
            takes[asked.told] = asked.takes
        takes |= asked.also
        number = asked.told if asked.numbers is not None else None
        told = self.estimates.find([*takes, *([number] if number else [])])
        weights = []
        for name in told.names:
            cells = self.noisy.cells[name]
            selections = None
            if name in takes:
                domain = asked.data.domains[name]
                selections = Selection.list_from_codes(domain, takes[name])
            if name == number:
                weights.append(add_taken(cells, selections))
            else:
                assert selections is not None
                hits, sizes = read_cell_labels(cells).share(selections)
                weights.append((hits / sizes[:, None]).T)
        return _add_weighed(told.counts, weights, asked.count, clip=number is None)


def _add_weighed(counts: Floats, weights: list[Floats], questions: int, *, clip: bool) -> Floats:
    """Add counts up per question, each cell by what it takes of it along every axis."""
    found = np.empty(questions)
    for q in range(questions):
        left = counts
        for own in weights:
            left = np.tensordot(own[min(q, len(own) - 1)], left, axes=(0, 0))
        found[q] = float(left)
    return np.maximum(found, 0) if clip else found


def read_noisy(release: Release) -> list[View]:
    """Take the counts of a release that promises differential privacy, and nothing else."""
    parts = release.promise.principle.parts
    if len(parts) != 1 or not isinstance(parts[0], DifferentialPrivacy):
        raise StoreError("A noisy release promises differential privacy, and nothing else.")
    noisy = read_tables(release)
    everybody = pl.DataFrame({"people": [0]})
    return [NoisyView(release, everybody, np.zeros(1, dtype=np.int64), noisy)]
