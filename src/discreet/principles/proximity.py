"""(ε,m)-anonymity: no short interval of a number becomes likely."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.groups import Groups
from discreet.principles.base import (
    Bools,
    Feasibility,
    Number,
    Principle,
    at_most,
    ratio,
    require_ratio,
    require_whole,
)


@dataclass(frozen=True)
class Proximity(Principle):
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
        given = self.epsilon if isinstance(self.epsilon, tuple) else (self.epsilon,)
        for side in given:
            require_ratio("epsilon", side, 0)
            if self.relative and ratio(side) >= 1:
                raise SchemaError(
                    f"epsilon = {side}: a relative neighbourhood needs epsilon below 1."
                )

    @property
    def _sides(self) -> tuple[Fraction, Fraction]:
        pair = self.epsilon if isinstance(self.epsilon, tuple) else (self.epsilon,) * 2
        return ratio(pair[0]), ratio(pair[1])

    def _reach(self, groups: Groups) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Give the first code inside, and the first beyond, each code's neighbourhood."""
        below, above = self._sides
        numbers = groups.domain.numbers.tolist()
        if self.relative:
            if numbers[0] <= 0:
                raise SchemaError(
                    f"Column {groups.domain.attribute.name!r} has the value "
                    f"{groups.domain.texts[0]}; a relative neighbourhood needs positive numbers.",
                    hint="Leave out rows that are not positive, or use relative = false.",
                )
            lows = [x * (1 - below) for x in numbers]
            highs = [x * (1 + above) for x in numbers]
        else:
            unit = 10**groups.domain.decimals
            lows = [x - below * unit for x in numbers]
            highs = [x + above * unit for x in numbers]
        first, beyond = np.empty(len(numbers), np.int64), np.empty(len(numbers), np.int64)
        i = j = 0
        for code in range(len(numbers)):  # both ends move right only: one linear scan
            while numbers[i] < lows[code]:
                i += 1
            while j < len(numbers) and numbers[j] <= highs[code]:
                j += 1
            first[code], beyond[code] = i, j
        return first, beyond

    def neighbours(self, groups: Groups) -> NDArray[np.int64]:
        """Count, per entry of the bags, the weight inside the value's neighbourhood."""
        first, beyond = self._reach(groups)
        return self._weigh(groups, first[groups.codes], beyond[groups.codes])

    def _weigh(
        self, groups: Groups, first: NDArray[np.int64], beyond: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        size = groups.domain.size + 1
        keys = groups.owners * size + groups.codes
        running = np.concatenate([[0], np.cumsum(groups.weights)])
        start = np.searchsorted(keys, groups.owners * size + first)
        stop = np.searchsorted(keys, groups.owners * size + beyond)
        return np.asarray(running[stop] - running[start])

    def admits(self, groups: Groups) -> Bools:
        """``m`` × the fullest neighbourhood is at most the size."""
        fullest = np.maximum.reduceat(self.neighbours(groups), groups.offsets[:-1])
        return at_most(fullest, self.m, groups.sizes, 1)

    def largest_cover(self, groups: Groups) -> NDArray[np.int64]:
        """Find maxsize of each bag (Definition 11): the fullest one-sided neighbourhood."""
        first, beyond = self._reach(groups)
        own = groups.codes.astype(np.int64)
        left = self._weigh(groups, first[own], own + 1)
        right = self._weigh(groups, own, beyond[own])
        return np.maximum.reduceat(np.maximum(left, right), groups.offsets[:-1])

    def feasible(self, whole: Groups) -> Feasibility:
        """Reachable if and only if ``m · maxsize ≤ n`` (Theorem 1)."""
        n, cover = int(whole.sizes[0]), int(self.largest_cover(whole)[0])
        best = (
            f"{cover} of {n} values of {whole.domain.attribute.name} lie within one side of a "
            f"neighbourhood: m ≤ {n // cover}"
        )
        return Feasibility(self.m * cover <= n, best)

    @property
    def least(self) -> int:
        """A value and m - 1 others outside its neighbourhood."""
        return self.m

    @property
    def singles(self) -> int:
        """A value and m - 1 others outside its neighbourhood."""
        return self.m

    def cover(self, whole: Groups) -> int:
        """The fullest one-sided neighbourhood."""
        return int(self.largest_cover(whole)[0])

    @property
    def mixed(self) -> Proximity:
        """Bags that satisfy (ε, 2m) give (ε, m) however they are mixed.

        Proof. Let y be any number, and take the part of a bag that lies in y's neighbourhood. Those
        not above y: let x be the largest of them. The lower end of x's neighbourhood is no higher
        than that of y's, so x's own neighbourhood holds them all: at most 1/2m of the bag. Those
        not below y: the same with the smallest. So y's neighbourhood holds at most 1/m of every
        bag, and then of every mixture. ∎ (For absolute, relative and asymmetric neighbourhoods:
        the argument needs only that both ends move up with the number.)
        """
        return replace(self, m=2 * self.m)

    @property
    def promise(self) -> str:
        """In words."""
        kind = "relative" if self.relative else "absolute"
        return (
            f"No person's number can be told to within {self.epsilon} ({kind}) with probability "
            f"above 1/{self.m}."
        )
