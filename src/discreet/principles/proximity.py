"""(ε,m)-anonymity: no short interval of a number becomes likely."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import floor
from typing import ClassVar

import numpy as np

from discreet.errors import SchemaError
from discreet.principles.base import (
    CountedPrinciple,
    Feasibility,
    KernelRule,
    Number,
    Principle,
    ratio,
    require_ratio,
    require_whole,
)
from discreet.principles.exact import at_most, fits
from discreet.principles.groups import Groups
from discreet.principles.parts import PartBound
from discreet.table.arrays import Bools, Ints
from discreet.table.domain import LARGEST_UNIT, Domain


@dataclass(frozen=True)
class Proximity(CountedPrinciple, PartBound):
    """In every bag, the neighbourhood of each value holds at most ``1/m`` of the bag.

    Li, Tao, Xiao, SIGMOD 2008, Definitions 6 and 7: the neighbourhood of x is ``[x - ε, x + ε]``,
    or ``[x(1 - ε), x(1 + ε)]`` if ``relative``; a pair ``epsilon=(e1, e2)`` gives
    ``[x - e1, x + e2]`` (section 4.1). Ends are included and compared as exact rationals.

    **Not monotone**: two bags may satisfy it and their union not.

    >>> p = Proximity(epsilon=15, m=2)
    >>> p.admits(Groups.of([[40, 60], [50, 80], [40, 50, 60, 80]])).tolist()
    [True, True, False]

    **Guarantee**: who knows all quasi-identifiers of a person believes the person's number to
    lie within ε of the truth with probability at most 1/m. It does not hold against someone
    who knows numbers of other people of the group.
    """

    title: ClassVar[str] = "proximity"
    paper: ClassVar[str] = "Li, Tao, Xiao: Preservation of Proximity Privacy, SIGMOD 2008"
    monotone: ClassVar[bool] = False
    spaced: ClassVar[bool] = True
    leaves_open: ClassVar[str] = (
        "Intervals wider than ε may be likely, and someone who knows the values of some people "
        "of a group learns more about the rest."
    )

    epsilon: Number | tuple[Number, Number]
    m: int
    relative: bool = False

    def __post_init__(self) -> None:
        require_whole("m", self.m)
        if isinstance(self.epsilon, list):
            object.__setattr__(self, "epsilon", tuple(self.epsilon))
        if isinstance(self.epsilon, tuple) and len(self.epsilon) != 2:
            raise SchemaError(
                f"epsilon = {list(self.epsilon)}: give one number, or two: [below, above]."
            )
        for side in self.epsilon if isinstance(self.epsilon, tuple) else (self.epsilon,):
            require_ratio("epsilon", side, 0, 10**19)
            if self.relative and ratio(side) >= 1:
                raise SchemaError(
                    f"epsilon = {side}: a relative neighbourhood needs epsilon below 1."
                )

    @property
    def max_share(self) -> Fraction:  # type: ignore[override]
        """A value lies in its own neighbourhood."""
        return Fraction(1, self.m)

    @property
    def sides(self) -> tuple[Fraction, Fraction]:
        """How far a neighbourhood reaches below and above."""
        pair = self.epsilon if isinstance(self.epsilon, tuple) else (self.epsilon,) * 2
        return ratio(pair[0]), ratio(pair[1])

    def reach(self, domain: Domain) -> tuple[Ints, Ints]:
        """Give the first code inside, and the first beyond, each code's neighbourhood."""
        lows, highs = self.ends(domain)
        numbers = domain.numbers
        return np.searchsorted(numbers, lows), np.searchsorted(numbers, highs, side="right")

    def ends(self, domain: Domain) -> tuple[Ints, Ints]:
        """Give the smallest and the largest number in each one's neighbourhood.

        Numbers are whole here, so the ends of a neighbourhood may be rounded inwards.
        """
        below, above = self.sides
        numbers = domain.numbers
        if self.relative:
            if numbers[0] <= 0:
                raise SchemaError(
                    f"Column {domain.attribute.name!r} has the value {domain.texts[0]}; "
                    "a relative neighbourhood needs positive numbers.",
                    hint="Leave out rows that are not positive, or use relative = false.",
                )
            return -_scale(-numbers, 1 - below), _scale(numbers, 1 + above)
        unit = 10**domain.decimals
        return (
            numbers - min(floor(below * unit), LARGEST_UNIT),
            numbers + min(floor(above * unit), LARGEST_UNIT),
        )

    def nearest(self, domain: Domain) -> Ints:
        """Give, per code, the lowest code that may not stand beside it in a small bag.

        One of the two lies in the other's neighbourhood.
        """
        first, beyond = self.reach(domain)
        own = np.arange(len(first))
        return np.minimum(first, np.searchsorted(beyond, own, side="right"))

    def neighbours(self, groups: Groups) -> Ints:
        """Count, per entry of the bags, the weight inside the value's neighbourhood."""
        from discreet.kernels.near import weigh_near

        near: Ints = weigh_near(
            groups.offsets, groups.codes, groups.weights, *self.reach(groups.domain)
        )
        return near

    def admits(self, groups: Groups) -> Bools:
        """``m`` × the fullest neighbourhood is at most the size."""
        fullest = np.maximum.reduceat(self.neighbours(groups), groups.offsets[:-1])
        return at_most(fullest, self.m, groups.sizes, 1)

    def fullest(self, bags: Groups) -> Ints:
        """Bound, per bag, the weight inside the neighbourhood of any number of the domain.

        Whose neighbourhood begins with a value reaches no farther than that of the largest number
        whose neighbourhood still holds the value.
        """
        from discreet.kernels.near import weigh_near

        first, beyond = self.reach(bags.domain)
        own = np.arange(len(first))
        farthest = beyond[np.searchsorted(first, own, side="right") - 1]
        covered = weigh_near(bags.offsets, bags.codes, bags.weights, own, farthest)
        return np.maximum.reduceat(covered, bags.offsets[:-1])

    def max_conflict(self, bags: Groups) -> Ints:
        """Find maxsize of each bag (Definition 11): the fullest one-sided neighbourhood."""
        from discreet.kernels.near import weigh_near

        nearest = self.nearest(bags.domain)
        covered = weigh_near(
            bags.offsets, bags.codes, bags.weights, nearest, np.arange(1, len(nearest) + 1)
        )
        return np.maximum.reduceat(covered, bags.offsets[:-1])

    def part_size(self, groups: Groups) -> Ints:
        """``m`` × the fullest neighbourhood of the bag: no part has more near any number of it."""
        return self.m * np.maximum.reduceat(self.neighbours(groups), groups.offsets[:-1])

    def weigh_parts(self, bag: Groups, sizes: Ints) -> float:
        """Of every neighbourhood by itself."""
        from discreet.kernels.odds import weigh_window

        most = int(self.part_size(bag)[0]) // self.m
        return float(weigh_window(int(bag.sizes[0]), most, sizes, self.m))

    def part_rules(self, whole: Groups) -> list[KernelRule] | None:
        """A window around each number."""
        from discreet.kernels.part_sizes import NEAR

        reach = np.concatenate(self.reach(whole.domain))
        return [KernelRule(NEAR, self.m, c=whole.domain.size, table=reach)]

    def feasible(self, whole: Groups) -> Feasibility:
        """Reachable if and only if ``m · maxsize ≤ n`` (Theorem 1)."""
        n, cover = int(whole.sizes[0]), int(self.max_conflict(whole)[0])
        best = (
            f"{cover} of {n} values of {whole.domain.attribute.name} lie within one side of a "
            f"neighbourhood: m ≤ {n // cover}"
        )
        return Feasibility(self.m * cover <= n, best)

    @property
    def min_size(self) -> int:
        """A value and m - 1 others outside its neighbourhood."""
        return self.m

    def over_rows(self, rows: int, together: int) -> Proximity:  # noqa: ARG002
        """So much less near any number that none of a person's rows is near one of them.

        Of the row that has the number itself 1/m' of its group is near; of another row's group at
        most 2/m', for whoever is near on one side is near the farthest of them.
        """
        return replace(self, m=self.m * (2 * rows - 1))

    @property
    def mixture_safe(self) -> Principle:
        """Bags whose one-sided neighbourhoods hold 1/2m give (ε, m) however they are mixed.

        Proof. Let y be any number, and take the part of a bag that lies in y's neighbourhood. Those
        not above y: let x be the largest of them. The lower end of x's neighbourhood is no higher
        than that of y's, so x's own neighbourhood holds them all, on one side: at most 1/2m of the
        bag. Those not below y: the same with the smallest. So y's neighbourhood holds at most 1/m
        of every bag, and then of every mixture. ∎ (For absolute, relative and asymmetric
        neighbourhoods: the argument needs only that both ends move up with the number.)
        """
        return self._one_sided(2 * self.m)

    def generalizable(self, least: int = 1) -> Principle:
        """``m · maxsize ≤ |G|`` (Theorem 1), which unlike (ε,m) itself is closed under union.

        With ``least · maxsize ≤ |G|`` the bags are as large as that, and from 2m on the set itself
        is such a bag.
        """
        return self._one_sided(max(self.m, min(least, 2 * self.m)))

    def _one_sided(self, m: int) -> Generalizable:
        return Generalizable(self.epsilon, m, self.relative, on=self.on)

    @property
    def promise(self) -> str:
        """In words."""
        return (
            f"No person's number can be told to within {self.reach_in_words} with probability "
            f"above 1/{self.m}."
        )

    @property
    def reach_in_words(self) -> str:
        """How far a neighbourhood reaches, for people."""
        of = " of itself" if self.relative else ""
        if not isinstance(self.epsilon, tuple):
            return f"{self.epsilon}{of}"
        return f"{self.epsilon[0]}{of} below and {self.epsilon[1]}{of} above"


@dataclass(frozen=True)
class Generalizable(Proximity):
    """Whether a set of people can be partitioned into (ε,m)-anonymous groups.

    Section 5.1 of the paper calls this predictability: the fullest one-sided neighbourhood holds
    at most ``1/m`` of the set. By Lemma 2 the share of a union is no larger than those of its
    parts, so this is monotone where (ε,m) is not.

    >>> Generalizable(epsilon=15, m=2).admits(
    ...     Groups.of([[40, 60], [50, 80], [40, 50, 60, 80], [40, 50]])).tolist()
    [True, True, True, False]
    """

    title: ClassVar[str] = "generalizable"
    monotone: ClassVar[bool] = True

    def admits(self, groups: Groups) -> Bools:
        """``m`` × the fullest one-sided neighbourhood is at most the size."""
        return at_most(self.max_conflict(groups), self.m, groups.sizes, 1)

    def part_size(self, groups: Groups) -> Ints:
        """The same of one-sided neighbourhoods."""
        return self.m * self.max_conflict(groups)

    def rules(self, whole: Groups) -> list[KernelRule]:
        """A window that reaches down to the lowest code too near to each."""
        from discreet.kernels.rules import COVER

        return [KernelRule(COVER, self.m, table=self.nearest(whole.domain))]

    @property
    def mixture_safe(self) -> Principle:
        """The same: a mixture's neighbourhoods are mixtures too."""
        return self


def _scale(numbers: Ints, factor: Fraction) -> Ints:
    """Multiply and round down, exactly."""
    a, b = factor.numerator, factor.denominator
    if fits(int(np.abs(numbers).max()), a):
        return numbers * a // b
    return np.array([x * a // b for x in numbers.tolist()], dtype=np.int64)
