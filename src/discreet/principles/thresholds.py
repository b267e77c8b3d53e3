"""Thresholds: the most of a bag that a value may be, for all values or for each its own."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SchemaError, name_closest
from discreet.principles.base import (
    ANY,
    UNBOUNDED,
    CountedPrinciple,
    KernelRule,
    Number,
    Principle,
    ratio,
    require_ratio,
)
from discreet.principles.exact import at_most, fits, times_down
from discreet.principles.groups import Groups
from discreet.principles.parts import PartBound
from discreet.table.arrays import Bools, Ints
from discreet.table.domain import Domain
from discreet.table.taxonomy import canonical_text

MOST_SHOWN = 10
"""Of the values that there are, so many are listed."""
Threshold = TypeVar("Threshold")
Thresholds = Mapping[str, Number | None]
"""Values with what is asked of each; ``None`` or "any" asks nothing."""


class ThresholdTable(Mapping[str, Threshold]):
    """A table of what is asked of values, which stays as it is: principles go into sets."""

    def __init__(self, asked: Mapping[str, Threshold]) -> None:
        self._asked = dict(asked)

    def __getitem__(self, value: str) -> Threshold:
        return self._asked[value]

    def __iter__(self) -> Iterator[str]:
        return iter(self._asked)

    def __len__(self) -> int:
        return len(self._asked)

    def __hash__(self) -> int:
        return hash(frozenset(self.items()))

    def __repr__(self) -> str:
        return repr(self._asked)


@dataclass(frozen=True)
class ShareBound(CountedPrinciple, PartBound):
    """No value is more of a bag than its threshold: a common one, or one of its own.

    **Closed under union.** *Proof.* Let value v be ``a`` of the ``m`` people of one bag and ``b``
    of the ``n`` of another, with ``a ≤ θ·m`` and ``b ≤ θ·n``, where θ is v's threshold. Of both
    together it is ``a + b ≤ θ·(m + n)``. This looks at one value at a time, and θ is v's own
    whatever bag v is in: so it holds for all values at once, however they differ in θ. ∎ By
    weights in place of counts the same holds for any mixture of bags. So what every batch keeps
    all mixtures of batches keep, and what the values beside each rest of a column keep in every
    bucket they keep in any of them.
    """

    @property
    @abstractmethod
    def common(self) -> Fraction:
        """The most of a bag that a value may be which has no threshold of its own."""

    @property
    @abstractmethod
    def own(self) -> Mapping[str, Fraction]:
        """The same of each value that has one; 1 bounds nothing."""

    @property
    def named_values(self) -> tuple[str, ...]:
        """The values that have thresholds of their own."""
        return tuple(self.own)

    @property
    def max_share(self) -> Fraction:  # type: ignore[override]
        """The largest threshold of those that bound anything."""
        shares = [self.common, *self.own.values()]
        return max((share for share in shares if share < 1), default=Fraction(1))

    @property
    def is_share_bound(self) -> bool:  # type: ignore[override]
        """Where all values have the same threshold."""
        return not self.own

    def counts(self, value: str) -> bool:
        """Whether there is a bound on a value."""
        return self.own.get(value, self.common) < 1

    def bound(self, domain: Domain) -> tuple[list[Fraction], NDArray[np.intp]]:
        """Give the different thresholds, and per code which of them is its own."""
        shares = list(dict.fromkeys([self.common, *self.own.values()]))
        which = np.zeros(domain.size, dtype=np.intp)
        for code, share in zip(domain.find(list(self.own)), self.own.values(), strict=True):
            if code >= 0:
                which[code] = shares.index(share)
        return shares, which

    def keep_thresholds(self, groups: Groups) -> Bools:
        """Say of every bag whether no value is above its threshold."""
        if not self.own:
            a, b = self.common.as_integer_ratio()
            return at_most(groups.largest, b, groups.sizes, a)
        return keep_shares(groups, *self.bound(groups.domain))

    def part_size(self, groups: Groups) -> Ints:
        """So many that of no value there are too many in the bag for a part of that size."""
        shares, which = self.bound(groups.domain)
        kinds, needed = which[groups.codes], np.ones(len(groups.codes), dtype=np.int64)
        for kind, share in enumerate(shares):
            meant = kinds == kind
            if share == 0:
                needed[meant] = UNBOUNDED
            elif share < 1:
                a, b = share.as_integer_ratio()
                needed[meant] = -times_down(-groups.weights[meant], b, a)
        return np.maximum.reduceat(needed, groups.offsets[:-1])

    def weigh_parts(self, bag: Groups, sizes: Ints) -> float:
        """Of every value by itself, whatever other values do."""
        from discreet.kernels.odds import weigh_share

        shares, which = self.bound(bag.domain)
        n, worst = int(bag.sizes[0]), 0.0
        for code, weight in zip(bag.codes, bag.weights.tolist(), strict=True):
            a, b = shares[which[code]].as_integer_ratio()
            if not fits(b, n):
                return math.inf
            worst = max(worst, weigh_share(n, weight, sizes, a, b))
        return worst

    def find_worst(self, whole: Groups) -> int:
        """Give the entry of a table that is farthest above its threshold, or nearest to it."""
        shares, which = self.bound(whole.domain)
        most = [shares[which[code]] for code in whole.codes]
        weights = whole.weights.tolist()
        over = [w / share if share else math.inf for w, share in zip(weights, most, strict=True)]
        bounded = [i for i, share in enumerate(most) if share < 1] or range(len(most))
        return max(bounded, key=lambda i: (over[i], -i))

    def room(self, q: int, whole: Groups) -> Ints:
        """So many of a value are no more than its threshold of q people, nor of more."""
        shares, which = self.bound(whole.domain)
        n = max(int(whole.sizes[0]), 1)
        times = [UNBOUNDED if share == 1 else min(math.floor(q * share), n) for share in shares]
        return np.array(times, dtype=np.int64)[which]

    def limit(self, whole: Groups) -> list[KernelRule] | None:
        """Say the same for kernels: a share, or a table of two numbers per code."""
        from discreet.kernels.rules import LIMITS, SHARE

        n = int(whole.sizes[0])
        shares, which = self.bound(whole.domain)
        if not all(fits(max(share.as_integer_ratio()), n) for share in shares):
            return None
        if not self.own:
            return [KernelRule(SHARE, self.common.denominator, self.common.numerator)]
        pairs = np.array([(share.denominator, share.numerator) for share in shares])
        return [KernelRule(LIMITS, table=pairs[which].ravel())]

    @property
    def _needed(self) -> list[int]:
        """How many people it takes that one is no more than a threshold, for each of these."""
        shares = [self.common, *self.own.values()]
        return [math.ceil(1 / share) for share in shares if share] or [1]

    @property
    def min_size(self) -> int:
        """A value that occurs once needs others beside it; the least needs fewest."""
        return min(self._needed)

    @property
    def distinct_enough(self) -> int:
        """As many as the value with the lowest threshold needs."""
        return max(self._needed)

    @property
    def own_in_words(self) -> str:
        """The thresholds of single values, for people."""
        bound = [f"{value} not above {share}" for value, share in self.own.items() if share < 1]
        free = [value for value, share in self.own.items() if share == 1]
        said = f" Of single values: {'; '.join(bound)}." if bound else ""
        if free:
            said += (
                f" Not counted as sensitive, and not protected: {', '.join(free)}; nor is whether "
                "a person's value is another than these."
            )
        return said


def bound_shares(principle: Principle, domain: Domain) -> tuple[list[Fraction], NDArray[np.intp]]:
    """Give the different shares that a principle lets values have, and per code which is its own.

    1 is no bound.
    """
    if isinstance(principle, ShareBound):
        return principle.bound(domain)
    return [principle.max_share], np.zeros(domain.size, dtype=np.intp)


def keep_shares(groups: Groups, shares: list[Fraction], which: NDArray[np.intp]) -> Bools:
    """Say of every bag whether no code is more of it than the one of ``shares`` that is its own."""
    good = np.ones(groups.count, dtype=bool)
    kinds, sizes = which[groups.codes], groups.sizes[groups.owners]
    for kind, share in enumerate(shares):
        meant = np.flatnonzero(kinds == kind)
        if share < 1 and len(meant):
            fine = at_most(groups.weights[meant], share.denominator, sizes[meant], share.numerator)
            good[groups.owners[meant[~fine]]] = False
    return good


def read_thresholds(values: object, low: int, high: int = 10**15) -> Thresholds | None:
    """Read thresholds by value, each a number from ``low`` to ``high``, or nothing asked.

    Values are texts, as they are printed; in Python they may be what they are.

    >>> read_thresholds({"hiv": 10, "none": "any", 3: "5/2"}, 1)
    {'hiv': 10, 'none': None, '3': '5/2'}
    """
    if values is None:
        return None
    if not isinstance(values, Mapping):
        raise SchemaError(
            f"values = {values!r}: give a threshold per value.",
            hint='For example values = { hiv = 10, none = "any" }, where "any" asks nothing.',
        )
    read: dict[str, Number | None] = {}
    for value, wanted in values.items():
        said = str(value).lower() if isinstance(value, bool) else canonical_text(str(value))
        if said in read:
            raise SchemaError(f"values: {said!r} has two thresholds.", hint="Give it one.")
        read[said] = None if wanted == ANY else wanted
        if read[said] is not None:
            require_ratio(f"values.{said}", wanted, low, high)
    return ThresholdTable(read) if read else None


def share_of(wanted: Number | None, *, inverted: bool = False) -> Fraction:
    """Give a threshold as a share; what asks nothing as 1. An l is ``inverted``."""
    if wanted is None:
        return Fraction(1)
    return 1 / ratio(wanted) if inverted else ratio(wanted)


def require_named(principle: Principle, domains: Mapping[str, Domain], names: list[str]) -> None:
    """Refuse thresholds for values that nobody has: a slip of the pen would protect nothing."""
    for part in principle.parts:
        asked = [part.on] if part.on in names else names
        for name in asked:
            texts = domains[name].texts
            for value in part.named_values:
                if value not in texts:
                    near = dict.fromkeys([*get_close_matches(value, texts, 1), *texts])
                    several = " Or name the attribute it is about: on." if len(asked) > 1 else ""
                    raise SchemaError(
                        f"{part}: nobody's {name} is {value!r}.",
                        hint=f"{name_closest(value, list(near)[:MOST_SHOWN])}{several}",
                    )
