"""Principles that ask for several well-represented values in a bag."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.principles.base import (
    UNBOUNDED,
    CountedPrinciple,
    Feasibility,
    KernelRule,
    Number,
    ratio,
    require_ratio,
    require_whole,
)
from discreet.principles.exact import at_most, fits, times_down
from discreet.principles.groups import Groups
from discreet.principles.parts import PartBound, sum_largest
from discreet.principles.thresholds import ShareBound, Thresholds, read_thresholds, share_of
from discreet.table.arrays import Bools, Ints

LDIVERSITY = "Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam: l-Diversity, TKDD 2007"
NUMERIC_GAP = (
    "Values that differ but lie close together count as different: an income known to within "
    "a few units is not a breach here. Proximity covers that."
)


@dataclass(frozen=True)
class DistinctDiversity(CountedPrinciple, PartBound):
    """Every bag holds at least ``l`` different values (l-diversity, section 4.1).

    >>> DistinctDiversity(2).admits(Groups.of([["a", "a"], ["a", "a", "a", "b"]])).tolist()
    [False, True]

    **Guarantee**: nobody can be linked to a single value with certainty. It bounds no
    probability: nine of ten people of a group may share one value.
    """

    title: ClassVar[str] = "distinct-diversity"
    paper: ClassVar[str] = LDIVERSITY
    monotone: ClassVar[bool] = True
    leaves_open: ClassVar[str] = (
        "A value may be near certain in a group as long as others occur once. " + NUMERIC_GAP
    )

    l: int  # noqa: E741

    def __post_init__(self) -> None:
        require_whole("l", self.l)

    def admits(self, groups: Groups) -> Bools:
        """At least l distinct codes."""
        return groups.distinct >= self.l

    def feasible(self, whole: Groups) -> Feasibility:
        """Reachable up to the number of distinct values."""
        m = int(whole.distinct[0])
        best = f"{whole.domain.attribute.name} has {m} distinct values: l ≤ {m}"
        return Feasibility(m >= self.l, best)

    @property
    def min_size(self) -> int:
        """One row per value."""
        return self.l

    def over_rows(self, rows: int, together: int) -> DistinctDiversity:  # noqa: ARG002
        """As many times the values: who has so many rows may have l sets of them, none twice."""
        return replace(self, l=self.l * rows)

    def part_size(self, groups: Groups) -> Ints:
        """One more than the l - 1 most frequent values have together."""
        few = sum_largest(groups, self.l - 1) + 1
        return np.where(groups.distinct >= self.l, few, UNBOUNDED)

    def weigh_parts(self, bag: Groups, sizes: Ints) -> float:
        """As likely as a part has too few values: then none loses more than half of its share.

        What is promised, that values are possible, holds with any odds.
        """
        from discreet.kernels.odds import weigh_distinct

        few = int(sum_largest(bag, self.l - 1)[0])
        return float(weigh_distinct(int(bag.sizes[0]), len(bag.codes), few, sizes, self.l))

    def rules(self, whole: Groups) -> list[KernelRule]:  # noqa: ARG002
        """The number of codes touched."""
        from discreet.kernels.rules import DISTINCT

        return [KernelRule(DISTINCT, self.l)]

    @property
    def promise(self) -> str:
        """In words."""
        return f"At least {self.l} different sensitive values are possible for every person."


@dataclass(frozen=True)
class FrequencyDiversity(ShareBound):
    """No value is more frequent than ``1/l`` in any bag (ANGEL, section 2; 1/l-probability).

    >>> FrequencyDiversity(2).admits(Groups.of([["a", "a", "b"], ["a", "b", "b", "a"]])).tolist()
    [False, True]

    ``values`` gives some values an l of their own. ``None`` (in plans ``"any"``) calls a value not
    sensitive: it may be told of anybody. Others keep the common l.

    >>> some = FrequencyDiversity(2, values={"hiv": 4, "none": None})
    >>> some.admits(Groups.of([["none"] * 3, ["none"] * 3 + ["hiv"], ["hiv", "flu"]])).tolist()
    [True, True, False]

    **Guarantee**: who knows all quasi-identifiers of a person believes any value of the person
    with probability at most 1/l, its own or the common one. It does not hold against someone who
    also knows the values of other people of the group, or how the publisher's algorithm chooses its
    cuts. Of values that are called not sensitive it promises nothing, nor of whether somebody has
    one of the others.
    """

    title: ClassVar[str] = "frequency-diversity"
    paper: ClassVar[str] = "Wong, Li, Fu, Wang, KDD 2006; Xiao and Tao: Anatomy, VLDB 2006"
    monotone: ClassVar[bool] = True
    leaves_open: ClassVar[str] = (
        "Someone who knows the values of some people of a group learns more about the rest. "
        + NUMERIC_GAP
    )

    l: Number  # noqa: E741
    values: Thresholds | None = None

    def __post_init__(self) -> None:
        require_ratio("l", self.l, 1)
        object.__setattr__(self, "values", read_thresholds(self.values, 1))

    @property
    def common(self) -> Fraction:
        """One in l."""
        return 1 / ratio(self.l)

    @property
    def own(self) -> dict[str, Fraction]:
        """One in the l of each."""
        return {v: share_of(l, inverted=True) for v, l in (self.values or {}).items()}  # noqa: E741

    def admits(self, groups: Groups) -> Bools:
        """``l`` × the count of no value is more than the size."""
        return self.keep_thresholds(groups)

    def feasible(self, whole: Groups) -> Feasibility:
        """Reachable up to n over the count of a value: of the most frequent one, or any."""
        n, worst = int(whole.sizes[0]), self.find_worst(whole)
        most, text = int(whole.weights[worst]), whole.domain.texts[whole.codes[worst]]
        name, own = whole.domain.attribute.name, text in self.own
        value = f"value {text!r}" if self.own else "most frequent value"
        best = (
            f"{name}'s {value} covers {most / n:.1%} of rows: "
            f"{f'values.{text}' if own else 'l'} ≤ {n // most}"
        )
        if n // most < 2 and not own:
            best += f", or no threshold for {text!r} (values) if that tells nothing"
        return Feasibility(bool(self.admits(whole)[0]), best)

    def over_rows(self, rows: int, together: int) -> FrequencyDiversity:  # noqa: ARG002
        """Of each row, that many times less is believed."""
        values = {v: l if l is None else ratio(l) * rows for v, l in (self.values or {}).items()}  # noqa: E741
        return replace(self, l=ratio(self.l) * rows, values=values or None)

    def rules(self, whole: Groups) -> list[KernelRule] | None:
        """The largest share, or every one."""
        return self.limit(whole)

    @property
    def promise(self) -> str:
        """In words."""
        return (
            f"No sensitive value of a person can be told with probability above {self.common} "
            f"from the person's quasi-identifiers.{self.own_in_words}"
        )


@dataclass(frozen=True)
class EntropyDiversity(CountedPrinciple):
    """The entropy of every bag is at least ``log l`` (l-diversity, Definition 4.1).

    Compared exactly: ``-Σ p log p ≥ log l`` with ``p = w/n`` is ``n^n ≥ l^n · Π w^w``. Floats
    decide where they are far from equality, whole numbers where they are not.

    >>> EntropyDiversity(2).admits(Groups.of([["a", "b"], ["a", "a", "b"]])).tolist()
    [True, False]

    **Guarantee**: every group is as mixed as l equally frequent values. A single value may
    still be likelier than 1/l.
    """

    title: ClassVar[str] = "entropy-diversity"
    paper: ClassVar[str] = LDIVERSITY
    monotone: ClassVar[bool] = True
    leaves_open: ClassVar[str] = (
        "The most frequent value of a group may be likelier than 1/l. " + NUMERIC_GAP
    )

    l: Number  # noqa: E741

    def __post_init__(self) -> None:
        require_ratio("l", self.l, 1)

    def admits(self, groups: Groups) -> Bools:
        """Entropy at least log l."""
        sizes, weights = groups.sizes, groups.weights
        margin = (
            np.log(sizes) - groups.sum(weights * np.log(weights)) / sizes - math.log(ratio(self.l))
        )
        good = margin > 0
        # no float sum of so many terms is off by more than this
        doubt = 1e-15 * (groups.distinct + 8) * (1 + np.log(sizes))
        for g in np.flatnonzero(np.abs(margin) < doubt):
            bag = weights[groups.offsets[g] : groups.offsets[g + 1]].tolist()
            good[g] = self._is_diverse(bag)
        return np.asarray(good, dtype=bool)

    def _is_diverse(self, bag: list[int]) -> bool:
        n, exact = sum(bag), ratio(self.l)
        shared = math.gcd(*bag)  # dividing all weights leaves the distribution as it is
        bag, n = [w // shared for w in bag], n // shared
        needed = exact.numerator**n * math.prod(w**w for w in bag)
        return bool(needed <= n**n * exact.denominator**n)

    def feasible(self, whole: Groups) -> Feasibility:
        """Reachable up to the exponential of the table's entropy."""
        shares = whole.weights / whole.sizes[0]
        reach = math.exp(-float((shares * np.log(shares)).sum()))
        best = (
            f"{whole.domain.attribute.name} is as mixed as {reach:.4g} equal values: "
            f"l ≤ {math.floor(reach * 100 + 1e-9) / 100:g}"
        )
        return Feasibility(bool(self.admits(whole)[0]), best)

    def over_rows(self, rows: int, together: int) -> EntropyDiversity:  # noqa: ARG002
        """As mixed as that many times the values, of which a person has ``rows``."""
        return replace(self, l=ratio(self.l) * rows)

    @property
    def min_size(self) -> int:
        """At least l values are needed for an entropy of log l."""
        return math.ceil(ratio(self.l))

    @property
    def promise(self) -> str:
        """In words."""
        return f"Every group is at least as mixed as {self.l} equally frequent sensitive values."


@dataclass(frozen=True)
class RecursiveDiversity(PartBound):
    """With counts ``r1 ≥ r2 ≥ …``: ``r1 < c · (r_l + … + r_m)`` (l-diversity, Definition 4.2).

    >>> RecursiveDiversity(c=2, l=2).admits(Groups.of([["a", "a", "b"], ["a", "a", "b", "c"]]))
    array([False,  True])

    **Guarantee**: even after ruling out l - 2 values, an adversary believes a person's value
    with probability at most c/(c+1).
    """

    title: ClassVar[str] = "recursive-diversity"
    paper: ClassVar[str] = LDIVERSITY
    monotone: ClassVar[bool] = True
    leaves_open: ClassVar[str] = (
        "With a large c one value may be near certain; the bound is c/(c+1). " + NUMERIC_GAP
    )

    c: Number
    l: int  # noqa: E741

    def __post_init__(self) -> None:
        require_ratio("c", self.c, 0)
        require_whole("l", self.l, least=2)

    def admits(self, groups: Groups) -> Bools:
        """Largest count strictly below c times the tail from the l-th on."""
        exact = ratio(self.c)
        tail = self._tail(groups)
        strictly_more = ~at_most(tail, exact.numerator, groups.largest, exact.denominator)
        return np.asarray(strictly_more, dtype=bool)

    def part_size(self, groups: Groups) -> Ints:
        """Find the least s with r1 < c · (s - (r1 + … + r_{l-1})), by the counts of the bag.

        A part has no larger counts, so its own tail is no shorter than that.
        """
        a, b = ratio(self.c).as_integer_ratio()
        if not a:
            return np.full(groups.count, UNBOUNDED)
        tail = times_down(groups.largest, b, a) + 1
        few = sum_largest(groups, self.l - 1)
        return np.where(groups.distinct >= self.l, few + tail, UNBOUNDED)

    def weigh_parts(self, bag: Groups, sizes: Ints) -> float:
        """Of every l - 1 values by themselves.

        A bag satisfies it if and only if q_v + c·(q_S - 1) < 0 for the shares of any l - 1 values S
        and any v of them. As q_v ≤ q_S, that exceeds 0 by no more than (1 + c)·q_S exceeds c.
        """
        from discreet.kernels.odds import weigh_recursive

        a, b = ratio(self.c).as_integer_ratio()
        if not a or len(bag.codes) < self.l or not fits(max(a, b), int(bag.sizes[0])):
            return math.inf
        most, few = int(bag.largest[0]), int(sum_largest(bag, self.l - 1)[0])
        return float(weigh_recursive(int(bag.sizes[0]), most, few, sizes, a, b))

    @property
    def max_share(self) -> Fraction:  # type: ignore[override]
        """The largest count r1 is below c times all others: r1 < c · (n - r1)."""
        exact = ratio(self.c)
        return exact / (exact + 1)

    def _tail(self, groups: Groups) -> np.ndarray:
        return np.asarray(groups.sizes - sum_largest(groups, self.l - 1))

    def feasible(self, whole: Groups) -> Feasibility:
        """Reachable for c above the ratio of the largest count to the tail."""
        tail, most = int(self._tail(whole)[0]), int(whole.largest[0])
        name = whole.domain.attribute.name
        if tail == 0:
            m = int(whole.distinct[0])
            best = f"{name} has {m} distinct values: l ≤ {m}"
        else:
            best = f"{name} allows l = {self.l} for c > {most / tail:.4g}"
        return Feasibility(bool(self.admits(whole)[0]), best)

    @property
    def min_size(self) -> int:
        """At least l different values."""
        return self.l

    def rules(self, whole: Groups) -> list[KernelRule] | None:
        """The ranked counts."""
        from discreet.kernels.rules import RECURSIVE

        a, b = ratio(self.c).as_integer_ratio()
        n = int(whole.sizes[0])
        return [KernelRule(RECURSIVE, a, b, self.l)] if fits(max(a, b), n) else None

    @property
    def distinct_enough(self) -> int:
        """As many as make 1 < c·(m - l + 1)."""
        return self.l + math.floor(1 / ratio(self.c))

    @property
    def promise(self) -> str:
        """In words."""
        return (
            f"Even with {max(self.l - 2, 0)} values ruled out, no sensitive value of a person is "
            f"believed with probability above {_over_one_more(ratio(self.c))}."
        )


def _over_one_more(c: Fraction) -> str:
    bound = c / (c + 1)
    return f"{bound.numerator}/{bound.denominator}"
