"""Exposure: what a release gives away beside beliefs, where its form can give away such a thing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.table.arrays import Floats, Ints


@dataclass(frozen=True, eq=False)
class JoinedCells:
    """The people who look the same in all tables of a release at once."""

    people: Ints
    """Per person how many are in the same cell."""
    worst: Fraction
    """The largest belief in any value of anyone, from all tables together."""
    how: str
    """How beliefs were found, in words."""
    times: Ints | None = None
    """How many people each entry stands for, where those who are alike were put together."""

    @property
    def smallest(self) -> int:
        """The fewest people in one cell."""
        return int(self.people.min())

    @property
    def alone(self) -> int:
        """People who are alone in theirs."""
        return int(np.sum(self.people == 1 if self.times is None else self.times[self.people == 1]))

    @property
    def max_belief(self) -> float:
        """The largest belief in any value of anyone."""
        return float(self.worst)

    def __str__(self) -> str:
        return (
            f"All tables together: {self.alone:,} people are alone in their joined cell "
            f"(smallest: {self.smallest}); no belief above {self.max_belief:.1%}."
        )


@dataclass(frozen=True)
class Fakes:
    """Different combinations that people have, and others that match as well."""

    originals: int
    fakes: float
    exact: bool
    """Whether the fakes were counted, or estimated from a sample."""
    matches: dict[str, dict[int, float]]
    """For originals and for fakes, the share that so many groups match."""
    advantage: float
    """How often an original has more matching groups than a fake: 0.5 is chance. Fakes are made of
    values that are published, so this is no measure of how well members are hidden."""

    @property
    def ratio(self) -> float:
        """Fakes per original."""
        return self.fakes / self.originals

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        return {**vars(self), "fake_original_ratio": self.ratio}

    def __str__(self) -> str:
        return (
            f"{self.fakes:,.0f} combinations that nobody has match as well, "
            f"{self.ratio:.1f} per original{'' if self.exact else ' (estimated)'}"
        )


def tell_apart(scores: NDArray[np.number], ours: Floats, theirs: Floats) -> float:
    """Say how often one of ours scores above one of theirs, ties counting half: 0.5 is chance.

    ``ours`` and ``theirs`` are how many of either have a score.

    >>> tell_apart(np.array([3, 1, 1, 0]), np.array([1.0, 1, 0, 0]), np.array([0.0, 0, 1, 1]))
    0.875
    """
    if not ours.any() or not theirs.any():  # there is nobody to tell from anybody
        return 0.5
    _, which = np.unique(scores, return_inverse=True)
    here, there = np.bincount(which, weights=ours), np.bincount(which, weights=theirs)
    below = np.cumsum(there) - there
    return float((here * (below + there / 2)).sum() / ours.sum() / theirs.sum())
