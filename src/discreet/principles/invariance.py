"""m-invariance: what every group of a table has that is published again and again."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.principles.base import (
    CountedPrinciple,
    Feasibility,
    Number,
    Principle,
    ratio,
    require_whole,
)
from discreet.principles.diversity import FrequencyDiversity
from discreet.principles.groups import Groups
from discreet.principles.proximity import Proximity
from discreet.table.arrays import Bools, Ints
from discreet.table.domain import Domain

MOST_COUNTERFEITS = 20
"""A first release takes at most one counterfeit for so many people."""


@dataclass(frozen=True)
class MInvariance(CountedPrinciple):
    """Every bag has at least ``m`` different values, all of them equally often, none near another.

    Xiao, Tao, SIGMOD 2007, Definition 1 has each of them once; equally often is what the proof
    takes. This is what one release keeps. That a person who stays is always in groups with the
    same set of values, their *signature*, is what makes several releases safe, and is kept by
    whoever publishes them (:class:`Republication`).

    With ``epsilon`` values are numbers, and the neighbourhoods ``[x - ε, x + ε]`` of those of a bag
    are apart: they are more than 2ε from each other. Numbers that were rounded are what they show.

    **Not monotone**: two bags may satisfy it and their union not.

    >>> p = MInvariance(2)
    >>> p.admits(Groups.of([["flu", "gout"], ["flu", "ulcer"], ["flu", "flu", "gout", "ulcer"],
    ...                     ["flu", "flu", "gout", "gout"]])).tolist()
    [True, True, False, True]
    >>> MInvariance(2, epsilon=5).admits(Groups.of([[10, 21], [10, 20], [10, 10, 40, 40]])).tolist()
    [True, False, True]

    **Guarantee**: who knows all quasi-identifiers, when everybody was in the table and even who is
    in which group, believes any value of a person with at most 1/m, from all releases together.
    *Proof.* Fix who is in which group of which release; everybody keeps a signature. For one
    signature, let everybody who has it have the next of its values in place of their own, in all
    releases at once, the last being followed by the first; counterfeits likewise. Every group
    of that signature holds each of its values equally often, so it holds the same as before, and
    what is published is the same. So worlds fall into orbits of as many worlds as the signature has
    values, m or more, and in each of an orbit the person has another value. ∎ It takes that nobody
    is left out of their signature, and that nobody's value changes unseen. With ``epsilon`` nobody
    believes a person's number to lie within ε of any number with more than 1/m: of the values of an
    orbit at most one does. That holds of every orbit, so it holds also for who cannot tell which
    group it is, and mixes several.
    """

    title: ClassVar[str] = "m-invariance"
    paper: ClassVar[str] = "Xiao, Tao: m-Invariance, SIGMOD 2007"
    monotone: ClassVar[bool] = False
    leaves_open: ClassVar[str] = (
        "This is about the groups of one release. Several of them are safe together only while "
        "everybody who stays keeps the same set of values: the ledger keeps these signatures. "
        "Someone who knows the values of some people of a group learns more about the rest."
    )

    m: int
    epsilon: Number | None = None

    def __post_init__(self) -> None:
        require_whole("m", self.m, least=2)
        if self.epsilon is not None:
            self._near(self.epsilon)

    def _near(self, epsilon: Number) -> Proximity:
        """What is believed of numbers then."""
        return Proximity(epsilon, self.m, on=self.on)

    def nearest(self, domain: Domain) -> Ints:
        """Give, per code, the lowest code that may not stand beside it in a bag."""
        if self.epsilon is None:
            return np.arange(domain.size)
        return Proximity(str(2 * ratio(self.epsilon)), self.m).reach(domain)[0]

    @property
    def spaced(self) -> bool:  # type: ignore[override]
        """Whether different values may be too near to each other."""
        return self.epsilon is not None

    @property
    def max_share(self) -> Fraction:  # type: ignore[override]
        """One of m values that are equally frequent."""
        return Fraction(1, self.m)

    def admits(self, groups: Groups) -> Bools:
        """At least m codes, none too near another, and the most frequent as often as average."""
        even = groups.largest * groups.distinct == groups.sizes
        apart = self.max_conflict(groups) == groups.largest
        return np.asarray(even & apart & (groups.distinct >= self.m), dtype=bool)

    def max_conflict(self, bags: Groups) -> Ints:
        """The most people of each bag whose values are too near to stand beside each other."""
        if self.epsilon is None:
            return bags.largest
        from discreet.kernels.near import weigh_near

        nearest = self.nearest(bags.domain)
        beyond = np.arange(1, len(nearest) + 1)
        covered = weigh_near(bags.offsets, bags.codes, bags.weights, nearest, beyond)
        return np.maximum.reduceat(covered, bags.offsets[:-1])

    def feasible(self, whole: Groups) -> Feasibility:
        """Reachable up to the number of values, while a few counterfeits make up for the rest.

        Values of c people that are too near each other need c groups, and so m·c records, of which
        n are people's.
        """
        n, most = int(whole.sizes[0]), int(self.max_conflict(whole)[0])
        values = self._count_apart(whole)
        name = whole.domain.attribute.name
        reach = min(values, (n + n // MOST_COUNTERFEITS) // most)
        apart = "" if self.epsilon is None else f" that are more than 2 × {self.epsilon} apart"
        best = f"{name} has {values} distinct values{apart}"
        if reach < values:
            near = "most frequent value covers" if self.epsilon is None else (
                f"values within 2 × {self.epsilon} of each other cover up to")  # fmt: skip
            best = f"{name}'s {near} {most / n:.1%} of rows"
        # in small tables a counterfeit is a large part; as many as fill one group are always few
        few = self.m * most - n <= max(n // MOST_COUNTERFEITS, self.m)
        return Feasibility(values >= self.m and few, f"{best}: m ≤ {max(reach, 1)}")

    def _count_apart(self, whole: Groups) -> int:
        """Count values that can all stand beside each other: from the least on, the next that can.

        Nothing does better, as with intervals of which as many as possible are to be disjoint.
        """
        nearest, last, found = self.nearest(whole.domain), -1, 0
        for code in whole.codes.tolist():
            if nearest[code] > last:
                last, found = code, found + 1
        return found

    @property
    def of_beliefs(self) -> Principle:
        """That nothing is believed with more than 1/m, whichever group it is."""
        if self.epsilon is not None:
            return self._near(self.epsilon)
        return FrequencyDiversity(self.m, on=self.on)

    @property
    def mixture_safe(self) -> Principle:
        """Itself: of bags in which nothing is more than 1/m nothing is in any mixture of them."""
        return self

    @property
    def min_size(self) -> int:
        """One person per value."""
        return self.m

    @property
    def distinct_enough(self) -> int:
        """As many values, each once and none near another."""
        return self.m

    @property
    def promise(self) -> str:
        """In words."""
        apart, told = "", "no value of a person can be told"
        if self.epsilon is not None:
            apart = f" and more than twice {self.epsilon} apart"
            told = f"no person's number can be told to within {self.epsilon}"
        return (
            f"Every group has at least {self.m} different sensitive values, all equally often"
            f"{apart}: {told} with probability above 1/{self.m}, from this release or, as long as "
            "people who stay keep their set of values, from all of them."
        )
