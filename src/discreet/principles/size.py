"""Principles that count people."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from discreet.principles.base import (
    UNBOUNDED,
    CountedPrinciple,
    Feasibility,
    KernelRule,
    require_whole,
)
from discreet.principles.groups import Groups
from discreet.principles.parts import PartBound
from discreet.table.arrays import Bools, Ints


@dataclass(frozen=True)
class KAnonymity(CountedPrinciple, PartBound):
    """Every bag holds at least ``k`` people (Samarati and Sweeney, 1998; ANGEL, Definition 1).

    >>> KAnonymity(2).admits(Groups.of([["flu"], ["flu", "flu"]])).tolist()
    [False, True]

    **Guarantee**: who knows all quasi-identifiers of a person and that the person is in the
    table finds at least k records that fit. It says nothing about what those records contain:
    if all k share one sensitive value, it is learned.
    """

    title: ClassVar[str] = "k-anonymity"
    paper: ClassVar[str] = "Samarati and Sweeney, 1998; Sweeney, 2002"
    monotone: ClassVar[bool] = True
    leaves_open: ClassVar[str] = (
        "If all people of a group share a sensitive value, k-anonymity lets everyone learn it. It "
        "does not hide who is in the table."
    )
    reads_values: ClassVar[bool] = False

    k: int

    def __post_init__(self) -> None:
        require_whole("k", self.k)

    def admits(self, groups: Groups) -> Bools:
        """Size at least k."""
        return groups.sizes >= self.k

    def feasible(self, whole: Groups) -> Feasibility:
        """Reachable up to the size of the table."""
        n = int(whole.sizes[0])
        return Feasibility(n >= self.k, f"the table has {n} rows: k ≤ {n}")

    @property
    def min_size(self) -> int:
        """Exactly k."""
        return self.k

    @property
    def look_alikes(self) -> int:
        """Exactly k."""
        return self.k

    def over_rows(self, rows: int, together: int) -> KAnonymity:  # noqa: ARG002
        """So many rows that they are of k people, or clusters, whoever has how many."""
        return replace(self, k=self.k * together)

    def max_conflict(self, bags: Groups) -> Ints:
        """Anybody may stand beside anybody."""
        return np.ones(bags.count, dtype=np.int64)

    def room(self, q: int, whole: Groups) -> Ints:  # noqa: ARG002
        """As often as may be."""
        return np.full(whole.domain.size, UNBOUNDED, dtype=np.int64)

    def part_size(self, groups: Groups) -> Ints:
        """k, of anybody."""
        return np.full(groups.count, self.k, dtype=np.int64)

    def rules(self, whole: Groups) -> list[KernelRule]:  # noqa: ARG002
        """The size, nothing else."""
        from discreet.kernels.rules import SIZE

        return [KernelRule(SIZE, self.k)]

    @property
    def promise(self) -> str:
        """In words."""
        return f"Every person looks the same as at least {self.k - 1} others."
