"""Exposure: what a release gives away beside beliefs, where its form can give away such a thing."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.table.arrays import Floats


@dataclass(frozen=True, eq=False)
class JoinedCells:
    """The people who look the same in all tables of a release at once."""

    smallest: int
    """The fewest people in one cell."""
    alone: int
    """People who are alone in theirs."""
    beliefs: dict[str, Floats]
    """Per person a bound on the belief in any value, from all tables together."""
    worst: Fraction
    """The largest of these bounds, exactly."""

    @property
    def max_belief(self) -> float:
        """The largest of these bounds."""
        return float(self.worst)

    def __str__(self) -> str:
        return (
            f"All tables together: {self.alone:,} people are alone in their joined cell "
            f"(smallest: {self.smallest}); no belief above {self.max_belief:.1%}."
        )


@dataclass(frozen=True)
class Membership:
    """Different combinations that people have, and others that match as well."""

    originals: int
    fakes: float
    exact: bool
    """Whether the fakes were counted, or estimated from a sample."""
    matches: dict[str, dict[int, float]]
    """For originals and for fakes, the share that so many groups match."""
    advantage: float
    """How often a member has more matching groups than somebody who is not one: 0.5 is chance."""

    @property
    def ratio(self) -> float:
        """Fakes per original."""
        return self.fakes / self.originals

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        return {**vars(self), "fake_original_ratio": self.ratio}

    def __str__(self) -> str:
        return (
            f"Membership: {self.fakes:,.0f} combinations that nobody has match as well, "
            f"{self.ratio:.1f} per original{'' if self.exact else ' (estimated)'}; a member "
            f"matches more groups than another in {self.advantage:.1%} of pairs (chance: 50 %)."
        )
