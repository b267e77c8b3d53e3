"""Principles that ask the numbers in a bag to be far apart: (k,e) and variance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.principles.base import (
    UNBOUNDED,
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
from discreet.principles.parts import PartBound, sum_largest
from discreet.table.arrays import Bools, Ints

NO_PROBABILITY = (
    "It bounds which numbers are possible, not how likely they are: most people of a group may "
    "share one number, or lie close together."
)


@dataclass(frozen=True)
class KE(PartBound):
    """At least ``k`` different numbers, spread over a range of at least ``e``, in every bag.

    (k,e)-anonymity: Zhang, Koudas, Srivastava, Yu, ICDE 2007, Definition 2.

    >>> KE(k=3, e=2000).admits(Groups.of([[54000, 55000, 56000], [1, 1, 9999]])).tolist()
    [True, False]

    **Guarantee**: no number of a person can be ruled in below k possibilities, nor narrowed to
    a range shorter than e. It bounds *which* numbers are possible, not how likely each is.
    """

    title: ClassVar[str] = "k-e"
    paper: ClassVar[str] = "Zhang, Koudas, Srivastava, Yu, ICDE 2007"
    monotone: ClassVar[bool] = True
    leaves_open: ClassVar[str] = NO_PROBABILITY

    k: int
    e: Number

    def __post_init__(self) -> None:
        require_whole("k", self.k)
        require_ratio("e", self.e, 0)

    def admits(self, groups: Groups) -> Bools:
        """Distinct values at least k, range at least e."""
        wide = self._range(groups) >= units(self.e, groups)
        return np.asarray((groups.distinct >= self.k) & wide, dtype=bool)

    def _range(self, groups: Groups) -> np.ndarray:
        numbers = groups.domain.numbers
        lowest, highest = groups.codes[groups.offsets[:-1]], groups.codes[groups.offsets[1:] - 1]
        return np.asarray(numbers[highest] - numbers[lowest])

    def feasible(self, whole: Groups) -> Feasibility:
        """Reachable up to the number of distinct values and their range."""
        m, spread = int(whole.distinct[0]), Fraction(int(self._range(whole)[0]))
        spread /= 10**whole.domain.decimals
        best = (
            f"{whole.domain.attribute.name} has {m} distinct values over a range of "
            f"{float(spread):g}: k ≤ {m}, e ≤ {float(spread):g}"
        )
        return Feasibility(bool(self.admits(whole)[0]), best)

    @property
    def min_size(self) -> int:
        """One row per number."""
        return self.k

    def over_rows(self, rows: int, together: int) -> KE:  # noqa: ARG002
        """That many times the numbers; each row's are spread as far."""
        return replace(self, k=self.k * rows)

    def part_size(self, groups: Groups) -> Ints:
        """One more than k - 1 numbers have together, or than all within less than e."""
        few = np.maximum(sum_largest(groups, self.k - 1), self._count_near(groups)) + 1
        return np.where(self.admits(groups), few, UNBOUNDED)

    def weigh_parts(self, bag: Groups, sizes: Ints) -> float:
        """As likely as a part has too few numbers, or all within less than e."""
        from discreet.kernels import odds

        n, m = int(bag.sizes[0]), len(bag.codes)
        few = int(sum_largest(bag, self.k - 1)[0])
        distinct = odds.weigh_distinct(n, m, few, sizes, self.k)
        return float(distinct + odds.weigh_near(n, m, int(self._count_near(bag)[0]), sizes))

    def _count_near(self, groups: Groups) -> Ints:
        """Give the most people of each bag whose numbers all lie within less than e."""
        from discreet.kernels.near import weigh_near

        e, numbers = units(self.e, groups), groups.domain.numbers
        if e <= 0:
            return np.zeros(groups.count, dtype=np.int64)
        beyond = np.searchsorted(numbers, numbers + e)
        within = weigh_near(
            groups.offsets, groups.codes, groups.weights, np.arange(len(numbers)), beyond
        )
        return np.maximum.reduceat(within, groups.offsets[:-1])

    def rules(self, whole: Groups) -> list[KernelRule]:
        """The number of codes and their outermost numbers."""
        from discreet.kernels.rules import SPREAD

        return [KernelRule(SPREAD, self.k, units(self.e, whole), 0, whole.domain.numbers)]

    @property
    def promise(self) -> str:
        """In words."""
        return (
            f"For every person at least {self.k} different values are possible, "
            f"spread over at least {self.e}."
        )


@dataclass(frozen=True)
class Variance(Principle):
    """The population variance of every bag is at least ``v`` (LeFevre et al., KDD 2006).

    Population variance is monotone, sample variance is not. Compared in whole numbers:
    ``n·Σx² - (Σx)² ≥ v·n²``.

    >>> Variance(25).admits(Groups.of([[10, 20], [10, 19]])).tolist()
    [True, False]

    **Guarantee**: the numbers of a group scatter. A single far number among many equal ones is
    enough for that, so it bounds no probability.
    """

    title: ClassVar[str] = "variance"
    paper: ClassVar[str] = "LeFevre, DeWitt, Ramakrishnan: Workload-aware Anonymization, KDD 2006"
    monotone: ClassVar[bool] = True
    leaves_open: ClassVar[str] = NO_PROBABILITY

    v: Number

    def __post_init__(self) -> None:
        require_ratio("v", self.v, 0)

    def admits(self, groups: Groups) -> Bools:
        """``n·Σx² - (Σx)²`` at least ``v·n²``, in units of the column."""
        exact = ratio(self.v) * 100**groups.domain.decimals
        scatter, sizes = self._scatter(groups)
        return at_most(sizes * sizes, exact.numerator, scatter, exact.denominator)

    def _scatter(self, groups: Groups) -> tuple[np.ndarray, np.ndarray]:
        numbers = groups.domain.numbers
        sizes: np.ndarray = groups.sizes
        shifted: np.ndarray = (numbers - numbers.min())[groups.codes]
        weights: np.ndarray = groups.weights
        n = int(sizes.max())
        if not fits(n, n, int(shifted.max()) ** 2 + 1):
            sizes, shifted, weights = (x.astype(object) for x in (sizes, shifted, weights))
        first, second = groups.sum(weights * shifted), groups.sum(weights * shifted * shifted)
        return sizes * second - first * first, sizes

    def feasible(self, whole: Groups) -> Feasibility:
        """Reachable up to the variance of the table."""
        scatter, sizes = self._scatter(whole)
        reach = Fraction(int(scatter[0]), int(sizes[0]) ** 2) / 100**whole.domain.decimals
        name = whole.domain.attribute.name
        best = f"{name} has a variance of {float(reach):.6g}: v ≤ {float(reach):.6g}"
        return Feasibility(bool(self.admits(whole)[0]), best)

    def rules(self, whole: Groups) -> list[KernelRule] | None:
        """The numbers of the codes, from the least on; ``None`` if their squares are too large."""
        from discreet.kernels.rules import VARIANCE

        p, q = (ratio(self.v) * 100**whole.domain.decimals).as_integer_ratio()
        numbers, n = whole.domain.numbers - whole.domain.numbers.min(), int(whole.sizes[0])
        reach = int(numbers.max()) + 1
        if not (fits(q, n, reach, reach) and fits(p, n) and fits(q, n, n)):
            return None
        return [KernelRule(VARIANCE, p, q, table=numbers)]

    @property
    def promise(self) -> str:
        """In words."""
        return f"The sensitive values of every group have a variance of at least {self.v}."


def units(amount: Number, groups: Groups) -> int:
    """Give an amount in units of the attribute, rounded up: fewer units would be too little."""
    return math.ceil(ratio(amount) * Fraction(10**groups.domain.decimals))
