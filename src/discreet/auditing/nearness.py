"""Nearness: how likely is somebody's number told to within ε, whatever the release promises?

Li, Tao, Xiao, SIGMOD 2008, Definition 5: the risk of proximity breach of a person is the share of
the person's group that lies in the neighbourhood of the person's own number.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.auditing.candidates import Candidates, look_up
from discreet.groups import Groups
from discreet.microdata import Microdata
from discreet.principles.base import Number, Principle, demands
from discreet.principles.proximity import Proximity

SHARES = (0, 1, 2, 5, 10, 20)
"""Where the curve is measured, in percent: of the whole range, or of the number itself."""

Floats = NDArray[np.float64]
Epsilon = Number | tuple[Number, Number]


@dataclass(frozen=True)
class Reach:
    """One point of the curve."""

    epsilon: Epsilon
    said: str
    """The same for people."""
    worst: Fraction
    """Of whoever is worst off, to somebody who knows which group the person is in."""
    mean: float
    mixed: Fraction
    """Of whoever is worst off, to somebody who does not, where several groups may be theirs."""
    chance: Fraction
    """Of whoever is worst off, to somebody who only knows all numbers of the table."""


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
            "promised": None if self.promised is None else _plain(self.promised),
            "curve": [_plain(reach) for reach in self.curve],
        }


def measure_nearness(
    views: list[Candidates], data: Microdata, principle: Principle
) -> dict[str, Nearness]:
    """Measure every sensitive number, at the promised ε and over a range of others."""
    found = {}
    sensitive = views[0].release.schema.sensitive
    for name in sensitive:
        domain = data.domains[name]
        if not domain.attribute.type.numeric or domain.missing:
            continue
        promised = next(
            (p for p, n in demands(principle, sensitive) if n == name and isinstance(p, Proximity)),
            None,
        )
        relative = promised is not None and promised.relative
        sides = [_Side(view, data, name) for view in views]
        whole = Groups.from_counts(np.bincount(data.codes[name], minlength=domain.size), domain)
        curve = [
            _measure(sides, whole, Proximity(epsilon, 1, relative), said)[0]
            for epsilon, said in _list_steps(whole, relative)
        ]
        asked = promised or Proximity(0, 1)
        reach, risks = _measure(sides, whole, asked, f"{asked.epsilon}")
        found[name] = Nearness(relative, tuple(curve), reach if promised else None, risks)
    return found


class _Side:
    """What one table tells: each person's own number in each group that may be theirs."""

    def __init__(self, view: Candidates, data: Microdata, name: str) -> None:
        self.n, self.bags = data.n, view.classes.bags(name)
        own = data.codes_in(name, self.bags.domain)
        self.people, self.entries = view.find_entries(self.bags, own)
        self.pooled = view.believed[name] if view.classes.boxes is not None else None
        if self.pooled is not None:
            self.places = look_up(self.pooled, view.of, own)


def _measure(
    sides: list[_Side], whole: Groups, principle: Proximity, said: str
) -> tuple[Reach, Floats]:
    risks, worst, mixed = np.zeros(sides[0].n), Fraction(0), Fraction(0)
    for side in sides:
        shares, exact = _weigh(side.bags, principle, side.entries)
        np.maximum.at(risks, side.people, shares)
        worst = max(worst, exact)
        if side.pooled is not None:
            mixed = max(mixed, _weigh(side.pooled, principle, side.places[side.places >= 0])[1])
    chance = _weigh(whole, principle, np.arange(len(whole.codes)))[1]
    reach = Reach(principle.epsilon, said, worst, float(risks.mean()), max(worst, mixed), chance)
    return reach, risks


def _weigh(
    bags: Groups, principle: Proximity, entries: NDArray[np.int64]
) -> tuple[Floats, Fraction]:
    """Give the share of the bag near each of some entries, and the largest exactly."""
    near, sizes = principle.neighbours(bags)[entries], bags.sizes[bags.owners[entries]]
    shares = near / sizes
    if not len(shares):
        return shares, Fraction(0)
    best = np.unique(np.stack([near, sizes])[:, shares >= shares.max() - 1e-12], axis=1)
    return shares, max(Fraction(int(a), int(b)) for a, b in best.T)


def _list_steps(whole: Groups, relative: bool) -> list[tuple[Fraction, str]]:
    if relative:
        return [(Fraction(share, 100), f"{share} % of it") for share in SHARES]
    numbers = whole.domain.numbers
    reach = Fraction(int(numbers[-1]) - int(numbers[0]), 10**whole.domain.decimals)
    steps = [(reach * share / 100, share) for share in SHARES]
    return [(step, f"{float(step):g} ({share} % of the range)") for step, share in steps]


def _plain(reach: Reach) -> dict[str, Any]:
    epsilon = reach.epsilon
    return {
        "epsilon": [float(e) for e in epsilon] if isinstance(epsilon, tuple) else float(epsilon),
        "worst": float(reach.worst),
        "mean": reach.mean,
        "worst_if_group_unknown": float(reach.mixed),
        "chance": float(reach.chance),
    }
