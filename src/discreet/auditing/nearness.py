"""Nearness: how likely is somebody's number told to within ε, whatever the release promises?

Li, Tao, Xiao, SIGMOD 2008, Definition 5: the risk of proximity breach of a person is the share of
the person's group that lies in the neighbourhood of the person's own number.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.auditing.wording import say_number
from discreet.forms.posterior import Posterior, find_largest
from discreet.principles.base import Principle, demands
from discreet.principles.groups import Groups
from discreet.principles.proximity import Proximity
from discreet.table.arrays import Floats
from discreet.table.microdata import Microdata

SHARES = (0, 1, 2, 5, 10, 20)
"""Where the curve is measured, in percent: of the whole range, or of the number itself."""


@dataclass(frozen=True)
class Reach:
    """One point of the curve."""

    principle: Proximity
    said: str
    """How near, for people."""
    worst: Fraction
    """Of whoever is worst off, to somebody who knows which group the person is in.

    Of several tables, from the most telling one by itself.
    """
    mean: float
    mixed: Fraction
    """Of whoever is worst off, to somebody who does not, where several groups may be theirs."""
    chance: Fraction
    """Of whoever is worst off, to somebody who only knows all numbers of the table."""

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        below, above = map(float, self.principle.sides)
        return {
            "epsilon": below if below == above else [below, above],
            "worst": float(self.worst),
            "mean": self.mean,
            "worst_if_group_unknown": float(self.mixed),
            "chance": float(self.chance),
        }


@dataclass(frozen=True, eq=False)
class Nearness:
    """The risk of proximity breach on one sensitive number."""

    relative: bool
    curve: tuple[Reach, ...]
    promised: Reach | None
    """At the promised ε, where one is."""
    risks: Floats
    """Per person at the promised ε; where none is, of being told exactly."""

    def to_dict(self) -> dict[str, Any]:
        """Give the curve as plain values."""
        return {
            "relative": self.relative,
            "promised": None if self.promised is None else self.promised.to_dict(),
            "curve": [reach.to_dict() for reach in self.curve],
        }


def measure_nearness(
    beliefs: dict[str, list[Posterior]], data: Microdata, principle: Principle | None
) -> dict[str, Nearness]:
    """Measure every sensitive number over a range of ε, and at the promised one."""
    wanted = list(demands(principle, list(beliefs))) if principle and beliefs else []
    found = {}
    for name, views in beliefs.items():
        domain = data.domains[name]
        shown = [view.found.view.release.recodings[name] for view in views]
        # a record of nobody may have none, though everybody has one
        missing = domain.missing or any(recoding.missing for recoding in shown)
        if not domain.attribute.type.numeric or missing:
            continue
        promised = next(
            (part for part, about in wanted if about == name and isinstance(part, Proximity)),
            None,
        )
        relative = promised is not None and promised.relative
        whole = Groups.from_counts(data.count_whole(name), domain)
        curve = [
            _measure(views, whole, Proximity(epsilon, 1, relative), said)[0]
            for epsilon, said in _list_steps(whole, relative)
        ]
        asked = promised or Proximity(0, 1)
        reach, risks = _measure(views, whole, asked, asked.reach_in_words)
        found[name] = Nearness(relative, tuple(curve), reach if promised else None, risks)
    return found


def _measure(
    views: list[Posterior], whole: Groups, principle: Proximity, said: str
) -> tuple[Reach, Floats]:
    breaches = [view.breach(principle) for view in views]
    risks = np.maximum.reduce([breach.risks for breach in breaches])
    near = principle.neighbours(whole)
    reach = Reach(
        principle,
        said,
        max(breach.worst for breach in breaches),
        float(risks.mean()),
        max(breach.mixed for breach in breaches),
        find_largest(near, np.full(len(near), int(whole.sizes[0]))),
    )
    return reach, risks


def _list_steps(whole: Groups, relative: bool) -> list[tuple[Fraction, str]]:
    if relative:
        return [(Fraction(share, 100), f"{share} % of it") for share in SHARES]
    numbers = whole.domain.numbers
    reach = Fraction(int(numbers[-1]) - int(numbers[0]), 10**whole.domain.decimals)
    steps: dict[int, tuple[Fraction, str]] = {}
    for share in SHARES:
        step = reach * share / 100
        said = f"{say_number(step)} ({share} % of the range)"
        # a step that reaches no farther than the one before would say the same
        steps.setdefault(int(step * 10**whole.domain.decimals), (step, said))
    return list(steps.values())
