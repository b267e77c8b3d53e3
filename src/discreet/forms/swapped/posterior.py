"""What follows from swapped numbers, to somebody who knows how they were exchanged."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import SchemaError
from discreet.forms.matches import Matches
from discreet.forms.posterior import Breach, Posterior
from discreet.principles.base import Principle
from discreet.principles.proximity import Proximity
from discreet.principles.spread import KE
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.microdata import Microdata

if TYPE_CHECKING:
    from discreet.forms.swapped.view import SwappedView


class SwappedPosterior(Posterior):
    """Beliefs by how numbers were exchanged; of the records that may be a person's, the surest."""

    def __init__(self, view: SwappedView, found: Matches, data: Microdata, name: str) -> None:
        super().__init__(found, data, name)
        self.exchanges, self.bags = view.exchanges, view.bags(name)
        self.shares = self.exchanges.shares
        self.certain = (found.set_of >= 0).astype(float)
        """What to believe where nothing less is known."""

    @property
    def how(self) -> str:
        """How beliefs were computed."""
        several = "; of the records that may be a person's, the surest counts"
        return self.exchanges.how + (several if self.found.several.any() else "")

    def fails(self, part: Principle) -> Bools:
        """Say for whom a principle fails: one about what is possible, or (ε,m)."""
        if isinstance(part, KE):
            return super().fails(part)
        if not isinstance(part, Proximity):
            raise SchemaError(
                f"{part} cannot be judged of a rank-swapped release.",
                hint="Ask for (k,e), for proximity, or for k-anonymity.",
            )
        return np.asarray(self._near(part) * part.m > 1)

    def largest(self) -> Floats:
        """Give everyone's largest belief in any value."""
        if self.shares is None:
            return self.certain
        surest = np.maximum.reduceat(self.shares, self.bags.offsets[:-1])
        per_set = np.maximum.reduceat(surest[self.found.groups], self.found.offsets[:-1])
        return np.asarray(np.append(self.exchanges.bound(per_set), 0.0)[self.found.set_of])

    def worst(self) -> Fraction:
        """Give the largest of these."""
        return Fraction(float(self.largest().max()))

    def list_own_groups(self) -> None:
        """Numbers are not dealt out: whose are whose depends on all of them."""
        return

    def worst_among(self, meant: Bools) -> Fraction:  # noqa: ARG002
        """Bound the largest belief in any of some values by that in any."""
        return self.worst()

    def truths(self) -> Floats:
        """Give everyone's belief in the person's own value."""
        codes = np.arange(self.bags.domain.size)
        return self._believe(codes, codes + 1)

    def _near(self, principle: Proximity) -> Floats:
        """Give everyone's belief in a number near the truth."""
        return self._believe(*principle.reach(self.bags.domain))

    @cached_property
    def _running(self) -> Floats:
        assert self.shares is not None
        return np.concatenate([[0.0], np.cumsum(self.shares)])

    def _believe(self, first: Ints, beyond: Ints) -> Floats:
        """Give everyone's belief in a run of numbers, which codes have about them."""
        if self.shares is None:
            return self.certain
        bags, found = self.bags, self.found
        own = self.data.codes_in(self.name, bags.domain)
        pairs = (found.set_of + 1) * (bags.domain.size + 1) + own + 1
        _, who, case_of = np.unique(pairs, return_index=True, return_inverse=True)
        # of a number that nobody shows nothing is believed, and the audit says so elsewhere
        cases, groups = found.list_options(np.where(own[who] >= 0, found.set_of[who], -1))
        starts, lowest = bags.offsets[:-1][groups], bags.codes[bags.offsets[:-1]][groups]
        low, high = (
            self._running[
                starts + np.clip(ends[own[who][cases]] - lowest, 0, bags.distinct[groups])
            ]
            for ends in (first, beyond)
        )
        surest = np.full(len(who), -1.0)
        np.maximum.at(surest, cases, np.clip(high - low, 0, 1))
        bounded = self.exchanges.bound(np.maximum(surest, 0))
        return np.asarray(np.where(surest >= 0, bounded, 0)[case_of])

    def breach(self, principle: Proximity) -> Breach:
        """Give everyone's risk of proximity breach."""
        risks = self._near(principle)
        worst = Fraction(float(risks.max()))
        return Breach(risks, worst, worst)
