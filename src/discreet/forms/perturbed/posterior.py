"""What follows from a perturbed number, to somebody who knows how many people have which."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import SchemaError
from discreet.forms.matches import Matches
from discreet.forms.posterior import Breach, Posterior, find_largest
from discreet.principles.base import Principle
from discreet.principles.proximity import Proximity
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.microdata import Microdata

if TYPE_CHECKING:
    from discreet.forms.perturbed.view import PerturbedView


class PerturbedPosterior(Posterior):
    """Beliefs by Bayes' rule, beside how many people have which number.

    Seeing y, a number x has weight ``(1-p) c(x) / size``, and y itself ``p c(y)`` more. All weights
    are whole here: multiplied by p's denominator and by the size. Of the records that may be a
    person's, the most telling counts. A number y near the truth tells the more the more people
    have it; one that is not, the fewer.
    """

    def __init__(self, view: PerturbedView, found: Matches, data: Microdata, name: str) -> None:
        super().__init__(found, data, name)
        drawn, self.domain = view.response, data.domains[name]
        self.counts = np.bincount(data.codes[name], minlength=self.domain.size)
        a, b = drawn.retention.numerator, drawn.retention.denominator
        self.base, self.spike = b - a, a * drawn.size
        # the numbers each set shows, as codes of the microdata; -1 if nobody has it
        self.sets, groups = found.list_options(np.arange(found.count))
        self.shown = self.domain.find(view.domain.texts)[groups]
        order = np.lexsort((self.shown, self.sets))
        self.sets, self.shown = self.sets[order], self.shown[order]
        self.held = np.where(self.shown >= 0, self.counts[self.shown], 0)
        self.ends = np.searchsorted(self.sets, np.arange(found.count + 1))
        # people of one set with one number are one case; who is in no set has none
        size, seen = self.domain.size, found.set_of >= 0
        cases, case_of = np.unique(
            found.set_of[seen] * size + data.codes[name][seen], return_inverse=True
        )
        self.case_of = np.full(data.n, -1)
        self.case_of[seen] = case_of
        self.case_set, self.case_code = cases // size, cases % size

    def _between(self, first: Ints, beyond: Ints) -> Ints:
        """Of each case, how many people have the commonest number shown within these codes."""
        from discreet.kernels.match import largest_between

        keys = self.sets * (self.domain.size + 1) + self.shown + 1
        starts = self.case_set * (self.domain.size + 1) + 1
        low, high = np.searchsorted(keys, starts + first), np.searchsorted(keys, starts + beyond)
        found: Ints = largest_between(self.held, low, high)
        return found

    def _rarest(self) -> Ints:
        """Of each case, how many people have the rarest number shown to its set."""
        rarest = np.minimum.reduceat(self.held, self.ends[:-1])
        return np.asarray(rarest[self.case_set])

    def _weigh(self, inside: Ints, hits: Ints) -> tuple[np.ndarray, np.ndarray]:
        """Give the larger of two shares: with a number shown among ``inside``, or without."""
        there, rare = np.maximum(hits, 0), self._rarest()
        n, base, spike = self.n, self.base, self.spike
        if (base + spike) * n >= 2**31:  # products of two must fit 64 bits
            inside, there, rare = (part.astype(object) for part in (inside, there, rare))
        with_it = inside * base + there * spike, there * spike + base * n
        without = inside * base, rare * spike + base * n
        return _larger((np.where(hits >= 0, with_it[0], 0), with_it[1]), without)

    def _near(self, principle: Proximity) -> tuple[np.ndarray, np.ndarray]:
        first, beyond = principle.reach(self.domain)
        running = np.concatenate([[0], np.cumsum(self.counts)])
        inside = (running[beyond] - running[first])[self.case_code]
        return self._weigh(inside, self._between(first[self.case_code], beyond[self.case_code]))

    def _spread(self, shares: tuple[np.ndarray, np.ndarray]) -> Floats:
        """Give everyone their case's share; 0 to those without."""
        parts, wholes = shares
        per_case = np.append((parts / wholes).astype(float), 0.0)
        return np.asarray(per_case[self.case_of])

    def fails(self, part: Principle) -> Bools:
        """Say for whom (ε,m) fails; nothing else can be asked of perturbed numbers."""
        if not isinstance(part, Proximity):
            raise SchemaError(
                f"{part} cannot be judged of a perturbed release.",
                hint="Ask for proximity, or for k-anonymity.",
            )
        near, total = self._near(part)
        broken = near.astype(object) * part.m > total.astype(object)
        return np.asarray(np.append(broken.astype(bool), False)[self.case_of])

    def _likeliest(self) -> tuple[np.ndarray, np.ndarray]:
        """Either the commonest number of all, or the commonest that is shown."""
        nothing = np.zeros_like(self.case_code)
        shown = self._between(nothing, nothing + self.domain.size)
        most = np.full_like(shown, int(self.counts.max()))
        common = self._weigh(most, np.full_like(shown, -1))
        seen = self._weigh(np.maximum(shown, 0), shown)
        return _larger(seen, common)

    def largest(self) -> Floats:
        """Give everyone's largest belief in any value."""
        return self._spread(self._likeliest())

    def worst(self) -> Fraction:
        """Give the largest of these exactly."""
        return find_largest(*self._likeliest())

    def truths(self) -> Floats:
        """Give everyone's belief in the person's own value."""
        own = self.counts[self.case_code]
        return self._spread(self._weigh(own, self._between(self.case_code, self.case_code + 1)))

    def breach(self, principle: Proximity) -> Breach:
        """Give everyone's risk of proximity breach, exact where it is largest."""
        shares = self._near(principle)
        worst = find_largest(*shares)
        return Breach(self._spread(shares), worst, worst)


def _larger(
    one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Give the larger of every two fractions."""
    better = (one[0] * other[1] >= other[0] * one[1]).astype(bool)
    return np.where(better, one[0], other[0]), np.where(better, one[1], other[1])
