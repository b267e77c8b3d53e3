"""(α,k)-anonymity: people who look alike, of whom no value is too frequent."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.principles.base import (
    Feasibility,
    KernelRule,
    Number,
    Principle,
    ratio,
    require_ratio,
    require_whole,
)
from discreet.principles.diversity import FrequencyDiversity
from discreet.principles.groups import Groups
from discreet.principles.size import KAnonymity
from discreet.principles.thresholds import ShareBound, Thresholds, read_thresholds, share_of
from discreet.table.arrays import Bools, Ints


@dataclass(frozen=True)
class AlphaK(ShareBound):
    """At least ``k`` people, and no value more frequent than ``alpha``, in every bag.

    (α,k)-anonymity (Wong et al., KDD 2006), with every sensitive value protected.

    >>> AlphaK(alpha=0.5, k=3).admits(Groups.of([["a", "b"], ["a", "b", "c"]])).tolist()
    [False, True]

    ``values`` gives some values an α of their own, or none, as in :class:`FrequencyDiversity`.

    **Guarantee**: k-anonymity, and a belief of at most α in any value.
    """

    title: ClassVar[str] = "alpha-k"
    paper: ClassVar[str] = "Wong, Li, Fu, Wang: (α,k)-Anonymity, KDD 2006"
    monotone: ClassVar[bool] = True
    leaves_open: ClassVar[str] = FrequencyDiversity.leaves_open

    alpha: Number
    k: int
    values: Thresholds | None = None

    def __post_init__(self) -> None:
        require_ratio("alpha", self.alpha, 0, 1)
        require_whole("k", self.k)
        object.__setattr__(self, "values", read_thresholds(self.values, 0, 1))

    @property
    def common(self) -> Fraction:
        """α."""
        return ratio(self.alpha)

    @property
    def own(self) -> dict[str, Fraction]:
        """The α of each."""
        return {value: share_of(alpha) for value, alpha in (self.values or {}).items()}

    def admits(self, groups: Groups) -> Bools:
        """Size at least k, no share above its α."""
        return np.asarray((groups.sizes >= self.k) & self.keep_thresholds(groups), dtype=bool)

    def feasible(self, whole: Groups) -> Feasibility:
        """Reachable down to the share of a value: of the most frequent one, or any."""
        n, worst = int(whole.sizes[0]), self.find_worst(whole)
        most, text = int(whole.weights[worst]), whole.domain.texts[whole.codes[worst]]
        value = f"value {text!r}" if self.own else "most frequent value"
        best = (
            f"{whole.domain.attribute.name}'s {value} covers {most} of {n} rows: "
            f"{f'values.{text}' if text in self.own else 'α'} ≥ "
            f"{math.ceil(most / n * 1000) / 1000:g} and k ≤ {n}"
        )
        return Feasibility(bool(self.admits(whole)[0]), best)

    @property
    def min_size(self) -> int:
        """k, or as many as make one row no more than α."""
        return max(self.k, super().min_size)

    @property
    def distinct_enough(self) -> int:
        """k, or as many as make one row no more than any α."""
        return max(self.k, super().distinct_enough)

    def over_rows(self, rows: int, together: int) -> Principle:
        """So many people, and of each row that many times less believed."""
        values = {v: a if a is None else ratio(a) / rows for v, a in (self.values or {}).items()}
        rare = replace(self, alpha=ratio(self.alpha) / rows, k=1, values=values or None)
        return rare & KAnonymity(self.k).over_rows(rows, together)

    def part_size(self, groups: Groups) -> Ints:
        """At least k."""
        return np.maximum(super().part_size(groups), self.k)

    def rules(self, whole: Groups) -> list[KernelRule] | None:
        """The size and the largest share, or every one."""
        from discreet.kernels.rules import SIZE

        rules = self.limit(whole)
        return rules and [KernelRule(SIZE, self.k), *rules]

    @property
    def look_alikes(self) -> int:
        """Exactly k."""
        return self.k

    @property
    def promise(self) -> str:
        """In words."""
        return (
            f"Every person looks the same as at least {self.k - 1} others, and no sensitive value "
            f"of a person is believed with probability above {self.alpha}.{self.own_in_words}"
        )
