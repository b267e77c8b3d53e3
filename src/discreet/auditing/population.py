"""Population risk: is a record put down to the right person, by who knows only the population?

The *journalist* knows that a target is one of N people of whom the table is a sample. A group of f
records stands for F people of the population, and a record of it is put down to the right one with
chance 1/F. F is counted where a table of the population is given; else it is estimated. An estimate
holds as far as what it assumes, and no further.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma
from typing import Any

import numpy as np

from discreet.auditing.identity import PRESETS
from discreet.errors import SchemaError
from discreet.table.arrays import Floats, Ints

THRESHOLD = PRESETS["risk-0.09"].threshold
"""Records above this chance are counted."""
MOST_FITTED = 400
"""Groups are fitted by their sizes up to this; of larger ones it is known that they are."""
STEP = 0.05
"""The logarithm of what is expected of a group goes in such steps."""
ROUNDS = 7
"""So often the best parameters are looked for, each time nearer to the best before."""
TERMS = 80
"""So many terms of the series are added; from groups of ``LONG`` on the rest is below 1e-16."""
LONG = 30
FEW = 1_000
"""Of so many people on, two terms of an expectation are as good as the integral, to 1e-6."""
NODES, PARTS = np.polynomial.legendre.leggauss(64)


@dataclass(frozen=True)
class PopulationRisk:
    """What one way of counting or estimating finds."""

    way: str
    """Its name."""
    assumes: str
    """What must hold for it to be right; empty where it was counted and nothing is assumed."""
    population: int
    records: int
    uniques: int
    """Records that look like no other of the table."""
    population_uniques: float
    """How many of these are expected to be of people who look like nobody of the population."""
    largest: float | None = None
    """Largest chance of one record; ``None`` where it is about uniques only."""
    matches: float | None = None
    """Expected number of records put down to the right person."""
    above: int | None = None
    """Records with a chance above the threshold."""
    counted: bool = False
    """Whether people were counted in a table of the population."""

    @property
    def exact(self) -> bool:
        """Whether nothing is assumed, so that there is no more to find."""
        return not self.assumes

    @property
    def how(self) -> str:
        """Its name, and whether it is an estimate."""
        return self.way if self.counted else f"estimated, by {self.way}"

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        return {**vars(self), "exact": self.exact, "threshold": float(THRESHOLD)}

    @property
    def found(self) -> str:
        """What was found, in words."""
        most = "at most" if self.exact else "about"
        uniques = ""
        if self.uniques:
            uniques = (
                f"{most} {self.population_uniques:,.1f} of {self.uniques:,} people who are unique "
                "in the table are so in the population"
            )
        if self.largest is None:
            return uniques
        return (
            f"{most} {self.largest:.4%} for one person, {self.matches:,.1f} of {self.records:,} "
            f"records put down to the right one, {self.above:,} at more than {float(THRESHOLD):.0%}"
        ) + (f"; {uniques}" if uniques else "")

    def __str__(self) -> str:
        assumed = f"; assuming {self.assumes}" if self.assumes else ""
        return f"Seen from a population of {self.population:,}, {self.how}: {self.found}{assumed}."


def estimate_population(
    candidates: Ints, population: int, totals: Floats | None = None
) -> list[PopulationRisk]:
    """Estimate by all ways that apply, the most cautious first.

    ``candidates`` says of everybody in the table how many look the same there, ``totals`` what
    their sampling weights add up to. Without weights everybody stands for as many.

    >>> for risk in estimate_population(np.array([1, 2, 2]), 30):
    ...     print(risk.way, risk.largest and round(risk.largest, 3))
    Benedetti–Franconi with equal weights 0.256
    Poisson–lognormal 0.129
    Zayatz None
    """
    n = len(candidates)
    if population < n:
        raise SchemaError(
            f"The population ({population}) is smaller than the table ({n} people).",
            hint="Give the number of people the table was drawn from.",
        )
    found = [_apply_weights(candidates, population, totals)]
    if totals is None:
        found.append(_apply_lognormal(candidates, population))
        found.sort(key=lambda risk: -(risk.largest or 0))
        if (candidates == 1).any():
            found.append(_apply_zayatz(candidates, population))
    return found


def report_risks(
    way: str,
    assumes: str,
    population: int,
    candidates: Ints,
    risks: Floats,
    alone: float,
    *,
    counted: bool = False,
) -> PopulationRisk:
    """Sum up what was found of every record; ``alone`` are unique in the population too."""
    uniques = int((candidates == 1).sum())
    return PopulationRisk(
        way,
        assumes,
        population,
        len(candidates),
        uniques,
        alone,
        float(risks.max()),
        float(risks.sum()),
        int((risks > float(THRESHOLD)).sum()),
        counted,
    )


# -- Benedetti and Franconi


def _apply_weights(candidates: Ints, population: int, totals: Floats | None) -> PopulationRisk:
    """Estimate everybody's risk from sampling weights (Benedetti, Franconi, NTTS 1998).

    A group of f records whose weights add up to F̂ has p = f / F̂. Its people in the population are
    negative binomial given f: F - f of them were passed over before f were drawn, each with p.
    """
    equal = totals is None
    sums = candidates * (population / len(candidates)) if totals is None else totals
    p = np.minimum(candidates / np.maximum(sums, candidates), 1.0)
    risks = np.empty(len(p))
    for f in np.unique(candidates).tolist():
        risks[candidates == f] = expect_inverse(f, p[candidates == f])
    # of one record all its people are it alone if none was passed over
    alone = float(p[candidates == 1].sum())
    return report_risks(
        "Benedetti–Franconi with equal weights" if equal else "Benedetti–Franconi",
        "that a group stands for as many people as "
        + ("its size times N/n" if equal else "its weights, scaled to N, add up to")
        + ", and that the rest of them is negative binomial, which says too little of small "
        "samples with many uniques",
        population,
        candidates,
        risks,
        alone,
    )


def expect_inverse(f: int, p: Floats) -> Floats:
    """Give E[1/F] where F people, each drawn with chance p, were needed until f were.

    With q = 1 - p it is ∫ p s^(f-1) / (p + q s) ds over [0, 1], for f = 1 the known p/q · log(1/p).
    Twice: 1/f = p I(f) + q I(f+1), which loses no digits going up while q ≥ p; and the series
    p/f · (1 + q/(f+1) + 2q²/((f+1)(f+2)) + …), of which all terms that count are added.

    >>> expect_inverse(1, np.array([1 / 17, 1.0])).round(5).tolist()
    [0.17708, 1.0]
    """
    q = 1 - p
    rest = np.zeros(len(p))
    for n in range(TERMS, 0, -1):
        rest = (1 + rest) * (n / (f + n)) * q
    found = p / f * (1 + rest)
    if f < LONG:
        up = q >= p
        inner = -np.log(p[up]) / q[up]
        for size in range(1, f):
            inner = (1 / size - p[up] * inner) / q[up]
        found[up] = p[up] * inner
    return np.asarray(found)


# -- Poisson and lognormal


def _apply_lognormal(candidates: Ints, population: int) -> PopulationRisk:
    """Estimate from the sizes of groups (Skinner, Holmes, Journal of Official Statistics 1998).

    A group of λ expected people, log-normal over groups, has f ~ Poisson(πλ) in the table and
    F - f ~ Poisson((1-π)λ) beside it. μ and σ are those under which the sizes that are seen are
    likeliest; groups of which nobody was drawn are not seen.
    """
    share = len(candidates) / population
    model = _Lognormal.fit(candidates)
    sizes, of = np.unique(candidates, return_inverse=True)
    each = np.array([model.expect(int(f), share) for f in sizes])
    uniques = int((candidates == 1).sum())
    alone = uniques * model.share_alone(share) if uniques else 0.0
    return report_risks(
        "Poisson–lognormal",
        "that the sizes of groups in the population are log-normal, that everybody was drawn with "
        "the same chance, and that groups were not made to fit who was",
        population,
        candidates,
        each[of],
        float(alone),
    )


@dataclass(frozen=True, eq=False)
class _Lognormal:
    """How many people a group is expected to have in the table: e^x, x normal."""

    x: Floats
    prior: Floats
    """How likely each x is."""

    @staticmethod
    def fit(candidates: Ints) -> _Lognormal:
        """Look for mean and spread on a grid that closes in."""
        sizes, people = np.unique(candidates, return_counts=True)
        top = min(int(sizes.max()), MOST_FITTED)
        x = np.arange(-14.0, np.log(top) + 6, STEP)
        chances = np.exp(_log_poisson(np.arange(top + 1)[:, None], x))
        seen = sizes <= top
        rows = np.vstack([
            chances[sizes[seen]],
            np.maximum(1 - chances.sum(axis=0), 0),  # larger than fitted
            1 - chances[0],  # seen at all
        ])  # fmt: skip
        groups = people / sizes
        counts = np.concatenate([groups[seen], [groups[~seen].sum(), -groups.sum()]])
        low, high = np.array([-12.0, 0.1]), np.array([np.log(top) + 2, 5.0])
        best, reach = (low + high) / 2, (high - low) / 2
        for _ in range(ROUNDS):
            axes = [
                np.linspace(max(b - r, lo), min(b + r, hi), 17)
                for b, r, lo, hi in zip(best, reach, low, high, strict=True)
            ]
            tried = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
            priors = _normal(x, tried[:, :1], tried[:, 1:])
            likely = counts @ np.log(np.maximum(rows @ priors.T, 1e-300))
            best, reach = tried[int(likely.argmax())], reach / 3
        return _Lognormal(x, _normal(x, best[0], best[1]))

    def _after(self, f: int, share: float) -> tuple[Floats, Floats]:
        """Give how many others of a group of f are expected in the population, and how likely."""
        logs = _log_poisson(np.array([min(f, MOST_FITTED)]), self.x) + np.log(
            np.maximum(self.prior, 1e-300)
        )
        weights = np.exp(logs - logs.max())
        likely = weights > 1e-12
        # of a group that is too large to be fitted only its size tells
        scale = f / min(f, MOST_FITTED)
        others = np.exp(self.x[likely]) * scale * (1 - share) / share
        return others, weights[likely] / weights[likely].sum()

    def expect(self, f: int, share: float) -> float:
        """Give E[1/F] of a group of f."""
        others, weights = self._after(f, share)
        whole = f + others
        each = 1 / whole + others / whole**3  # to the second order: E[1/(f+X)] of X ~ Poisson(θ)
        few = whole < FEW
        if few.any():
            # ∫ t^(f-1) e^(-θ(1-t)) dt, which is spent 40/(f+θ) below 1
            width = np.minimum(1.0, 40 / whole[few])[:, None]
            gap = width * (1 - NODES) / 2
            values = np.exp((f - 1) * np.log1p(-gap) - others[few][:, None] * gap)
            each[few] = values * width / 2 @ PARTS
        return float(weights @ each)

    def share_alone(self, share: float) -> float:
        """Say how likely a record that looks like no other is of somebody who does so."""
        others, weights = self._after(1, share)
        return float(weights @ np.exp(-others))


def _log_poisson(f: Ints, x: Floats) -> Floats:
    factorials = np.array([lgamma(size + 1) for size in f.reshape(-1)]).reshape(f.shape)
    return np.asarray(f * x - np.exp(x) - factorials)


def _normal(x: Floats, mean: Any, spread: Any) -> Floats:
    return np.asarray(np.exp(-(((x - mean) / spread) ** 2) / 2) / spread)


# -- Zayatz


def _apply_zayatz(candidates: Ints, population: int) -> PopulationRisk:
    """Estimate how many who are unique in the table are so in the population (Zayatz, 1991)."""
    uniques = int((candidates == 1).sum())
    return PopulationRisk(
        "Zayatz",
        "that groups of the population are as large as those of the table, which says too much of "
        "small samples, and that everybody was drawn with the same chance",
        population,
        len(candidates),
        uniques,
        uniques * share_unique(candidates, population),
    )


def share_unique(candidates: Ints, population: int) -> float:
    """Give the chance that who is unique in the table is unique in the population, by Zayatz.

    Of all groups of the table a share P(j) has j people. If so it is in the population, a group
    that shows one person has j with chance P(j) H(j) / Σ P(i) H(i), where H(j) is the chance that
    of j people of N one is among n.

    >>> round(share_unique(np.array([1, 2, 2]), 6), 6)  # ½·½ / (½·½ + ½·⅗)
    0.454545
    """
    n = len(candidates)
    sizes, people = np.unique(candidates, return_counts=True)
    groups = people / sizes
    shown = np.array([_draw_one(int(j), n, population) for j in sizes])
    return float((groups * shown)[0] / (groups @ shown)) if sizes[0] == 1 else 0.0


def _draw_one(j: int, n: int, population: int) -> float:
    """Give the chance that one of j people of a population is among n drawn."""
    others = population - j
    if n - 1 > others:
        return 0.0
    return j * exp(_log_choose(others, n - 1) - _log_choose(population, n))


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
