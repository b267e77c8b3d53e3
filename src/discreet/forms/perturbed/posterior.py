"""What follows from perturbed numbers, to somebody who knows how many people have which."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from discreet.errors import SchemaError
from discreet.forms.disclosure import merge_sets
from discreet.forms.matches import Matches
from discreet.forms.perturbed.arrangements import ROUNDED, Arrangements, Options
from discreet.forms.posterior import Breach, Posterior, find_largest
from discreet.principles.base import Principle
from discreet.principles.proximity import Proximity
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.microdata import Microdata

if TYPE_CHECKING:
    from discreet.forms.perturbed.view import PerturbedView


class PerturbedPosterior(Posterior):
    """The larger of two beliefs: from the person's own record alone, and from the whole table.

    Who knows how numbers are distributed, and not which ones this table has, learns from the
    person's own record alone, by Bayes' rule. Seeing y, a number x has weight
    ``(1-p) c(x) / size``, and y itself ``p c(y)`` more. All weights are whole here: multiplied by
    p's denominator and by the size. Of the records that may be a person's, the most telling counts.
    A number y near the truth tells the more the more people have it; one that is not, the fewer.

    Who knows all numbers of the table learns from all of its records, as ``Arrangements`` says.
    """

    def __init__(self, view: PerturbedView, found: Matches, data: Microdata, name: str) -> None:
        super().__init__(found, data, name)
        drawn, self.domain = view.response, data.domains[name]
        self.counts = np.bincount(data.codes[name], minlength=self.domain.size)
        a, b = drawn.retention.numerator, drawn.retention.denominator
        self.base, self.spike = b - a, a * drawn.size
        # sets whose records all show one number, the same, are one
        firsts, set_of, _ = merge_sets(found.set_of, found.records, found.only)
        # the numbers each set shows, as codes of the microdata; -1 if nobody has it
        codes = self.domain.find(view.domain.texts)
        self.sets, groups = found.list_options(firsts)
        self.shown, records = codes[groups], found.list_likelihoods(firsts)
        order = np.lexsort((self.shown, self.sets))
        self.sets, self.shown, records = self.sets[order], self.shown[order], records[order]
        self.held = np.where(self.shown >= 0, self.counts[self.shown], 0)
        self.ends = np.searchsorted(self.sets, np.arange(len(firsts) + 1))
        # people of one set with one number are one case; who is in no set has none
        size, seen = self.domain.size, set_of >= 0
        cases, case_of = np.unique(
            set_of[seen] * size + data.codes[name][seen], return_inverse=True
        )
        self.case_of = np.full(data.n, -1)
        self.case_of[seen] = case_of
        self.case_set, self.case_code = cases // size, cases % size
        self.arranged = None
        if len(view.labels) == data.n:  # else no arrangement fits, which the audit says elsewhere
            shown = np.zeros(size, dtype=np.int64)
            np.add.at(shown, codes[codes >= 0], view.sizes[codes >= 0])
            options = Options(self.sets, self.shown, records)
            self.arranged = Arrangements(self.counts, shown, options, self.spike / self.base)

    @property
    def how(self) -> str:
        """How beliefs were computed."""
        if self.arranged is None:
            return "from each record alone: there are more records than people, or fewer"
        return (
            "as an upper bound: the larger of what a person's most telling record says alone and "
            "what the whole table says, over all ways to give its people their numbers, rounded up "
            f"by {ROUNDED:g} of itself"
        )

    def _find(self, first: Ints, beyond: Ints) -> tuple[Ints, Ints]:
        """Give the options of each case that show a number within these codes, as a run."""
        keys = self.sets * (self.domain.size + 1) + self.shown + 1
        starts = self.case_set * (self.domain.size + 1) + 1
        return np.searchsorted(keys, starts + first), np.searchsorted(keys, starts + beyond)

    def _between(self, first: Ints, beyond: Ints) -> Ints:
        """Of each case, how many people have the commonest number shown within these codes."""
        from discreet.kernels.match import largest_between

        found: Ints = largest_between(self.held, *self._find(first, beyond))
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

    def _near(self, principle: Proximity) -> tuple[tuple[np.ndarray, np.ndarray], Floats]:
        """Of each case, how likely a number near the truth is: from its record, and from all."""
        first, beyond = (codes[self.case_code] for codes in principle.reach(self.domain))
        running = np.concatenate([[0], np.cumsum(self.counts)])
        inside = running[beyond] - running[first]
        alone = self._weigh(inside, self._between(first, beyond))
        return alone, self._arrange(first, beyond)

    def _arrange(self, first: Ints, beyond: Ints) -> Floats:
        if self.arranged is None:
            return np.zeros(len(self.case_set))
        return self.arranged.believe(self.case_set, (first, beyond), self._find(first, beyond))

    def _spread(self, alone: tuple[np.ndarray, np.ndarray], jointly: Floats) -> Floats:
        """Give everyone their case's larger belief; 0 to those without."""
        per_case = np.maximum((alone[0] / alone[1]).astype(float), jointly)
        return np.asarray(np.append(per_case, 0.0)[self.case_of])

    def fails(self, part: Principle) -> Bools:
        """Say for whom (ε,m) fails; nothing else can be asked of perturbed numbers."""
        if not isinstance(part, Proximity):
            raise SchemaError(
                f"{part} cannot be judged of a perturbed release.",
                hint="Ask for proximity, or for k-anonymity.",
            )
        (near, total), jointly = self._near(part)
        broken = near.astype(object) * part.m > total.astype(object)
        broken = broken.astype(bool) | (jointly * part.m > 1)
        return np.asarray(np.append(broken, False)[self.case_of])

    def _weigh_likeliest(self) -> tuple[tuple[np.ndarray, np.ndarray], Floats]:
        """Either the commonest number of all, or the commonest that is shown."""
        nothing = np.zeros_like(self.case_code)
        shown = self._between(nothing, nothing + self.domain.size)
        most = np.full_like(shown, int(self.counts.max()))
        common = self._weigh(most, np.full_like(shown, -1))
        seen = self._weigh(np.maximum(shown, 0), shown)
        alone = _larger(seen, common)
        if self.arranged is None:
            return alone, np.zeros(len(nothing))
        return alone, self.arranged.find_likeliest()[self.case_set]

    def largest(self) -> Floats:
        """Give everyone's largest belief in any value."""
        return self._spread(*self._weigh_likeliest())

    def worst(self) -> Fraction:
        """Give the largest of these, exactly where it follows from a record alone."""
        return _find_worst(*self._weigh_likeliest())

    def list_own_groups(self) -> None:
        """Numbers are not dealt out: whose are whose depends on all of them."""
        return

    def worst_among(self, meant: Bools) -> Fraction:  # noqa: ARG002
        """Bound the largest belief in any of some values by that in any."""
        return self.worst()

    def truths(self) -> Floats:
        """Give everyone's belief in the person's own value."""
        own, run = self.counts[self.case_code], (self.case_code, self.case_code + 1)
        return self._spread(self._weigh(own, self._between(*run)), self._arrange(*run))

    def breach(self, principle: Proximity) -> Breach:
        """Give everyone's risk of proximity breach, exact where it follows from a record alone."""
        risks = self._near(principle)
        worst = _find_worst(*risks)
        return Breach(self._spread(*risks), worst, worst)


def _find_worst(alone: tuple[np.ndarray, np.ndarray], jointly: Floats) -> Fraction:
    return max(find_largest(*alone), Fraction(float(jointly.max(initial=0))))


def _larger(
    one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Give the larger of every two fractions."""
    better = (one[0] * other[1] >= other[0] * one[1]).astype(bool)
    return np.where(better, one[0], other[0]), np.where(better, one[1], other[1])
