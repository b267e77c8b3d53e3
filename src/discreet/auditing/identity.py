"""Identity risk: how likely is a record put down to the right person?"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.table.arrays import Ints


@dataclass(frozen=True)
class Preset:
    """A published rule on identity risk, with its exact meaning."""

    name: str
    meaning: str
    threshold: Fraction
    """The largest admissible risk of one person."""
    counts: bool = False
    """Whether it is about the cells of tables of counts as well."""

    def admits(self, smallest: int, smallest_count: int | None = None) -> bool:
        """Whether the fewest people who look the same keep it, and the smallest published count.

        >>> PRESETS["risk-0.09"].admits(11), PRESETS["risk-0.09"].admits(12)
        (False, True)
        >>> PRESETS["cell-11"].admits(12), PRESETS["cell-11"].admits(12, smallest_count=1)
        (True, False)
        """
        if self.counts and smallest_count is not None:
            smallest = min(smallest, smallest_count)
        return smallest > 0 and Fraction(1, smallest) <= self.threshold


PRESETS = {
    preset.name: preset
    for preset in (
        Preset(
            "cell-11",
            "No cell of fewer than 11 people (k ≥ 11), the US CMS cell size rule; in tables of "
            "counts, no count below 11.",
            Fraction(1, 11),
            counts=True,
        ),
        Preset(
            "risk-0.09",
            "No person at a risk above 0.09 (k ≥ 12, because 1/11 > 0.09), the threshold of EMA "
            "Policy 0070 and Health Canada.",
            Fraction(9, 100),
        ),
    )
}


@dataclass(frozen=True)
class IdentityRisk:
    """Adversaries who try to name the people behind records, and know who is in the table.

    The *prosecutor* looks for one: risk 1 / candidates. The *marketer* wants as many right guesses
    as possible: the expected share of people named rightly. Of who knows only the population,
    ``population`` speaks.
    """

    smallest: int
    """Fewest people who could be behind any record or piece of one, all tables put together."""
    prosecutor: Fraction
    """Largest risk of one person."""
    marketer: Fraction
    """Expected share of people put down to the right record."""

    @property
    def fewest(self) -> int:
        """Among how many people that is, as if all had as many records."""
        return int(1 / self.prosecutor)


def measure_identity(
    candidates: Ints, dominant: Fraction | None = None, times: Ints | None = None
) -> IdentityRisk:
    """Measure from each person's number of candidates, leaving out those who have none.

    Or from that of so many ``times`` people each.

    ``dominant`` is the largest part of some records that are one person's: that likely is whoever
    puts one of them down to that person right.

    >>> risk = measure_identity(np.array([2, 2, 4, 4, 4, 4]))
    >>> risk.prosecutor, risk.marketer
    (Fraction(1, 2), Fraction(1, 3))
    """
    people = np.bincount(candidates, weights=times).astype(np.int64)
    sizes = np.flatnonzero(people[1:]) + 1
    expected = sum((Fraction(int(people[s]), int(s)) for s in sizes), Fraction(0))
    smallest = int(sizes[0])
    prosecutor = max(Fraction(1, smallest), dominant or Fraction(0))
    return IdentityRisk(smallest, prosecutor, expected / int(people[1:].sum()))
