"""How likely a number shown stands for each number of its window, by how numbers were exchanged.

Who had which rank is not known, and all ways are equally likely; how ranks were paired does not
depend on it. So a person who shows y has x with the probability that somebody of number y gets a
partner of number x, or none if x is y: whatever else the table shows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from discreet.forms.swapped.rank_windows import RankWindows
from discreet.principles.groups import Groups
from discreet.principles.spread import KE
from discreet.table.arrays import Floats

FEW = 16
"""Of so many people all ways to exchange are weighed; of more, some are drawn."""
LEAST, MOST, TURNS = 40, 20_000, 4_000_000
"""How often numbers are exchanged, and how many turns that may take. Fewer would bound nothing."""
DOUBT = 1e-12
"""How likely a bound from drawn exchanges may be too low."""
ROUNDED = 1e-9
"""What floating numbers may lack of a probability, in relation to it."""


@dataclass(frozen=True, eq=False)
class Exchanges:
    """Per entry of the windows, how often the number shown stands for that of the entry."""

    shares: Floats | None
    """``None`` where there are too many people to find that out."""
    runs: int
    """How often numbers were exchanged to find that out; 0 where it was computed."""

    @property
    def how(self) -> str:
        """How the shares were found, in words."""
        if self.shares is None:
            return "as an upper bound: of so many people none below 1 is known"
        if not self.runs:
            return "exactly, over all ways to exchange numbers"
        return (
            f"as an upper bound: numbers were exchanged {self.runs:,} times as the method does, "
            f"and each belief is one that would give as few hits with a chance of {DOUBT:g}"
        )

    @staticmethod
    def of(windows: Groups, principle: KE) -> Exchanges:
        """Exchange numbers as the method does, which is known to everybody."""
        from discreet.kernels.exchanges import count_partners, weigh_partners

        counts = windows.whole
        if int(counts.sum()) * LEAST > TURNS:
            return Exchanges(None, 0)
        ends = np.cumsum(counts)
        sought = RankWindows.around(Groups.from_counts(counts, windows.domain), principle)
        code = np.repeat(np.arange(len(counts)), counts)
        low, high = (ends - counts)[sought.near_low][code], (ends - 1)[sought.near_high][code]
        n, offsets, first = len(code), windows.offsets, windows.codes[windows.offsets[:-1]]
        if n <= FEW:
            one, other = np.nonzero(pairs := weigh_partners(low, high))
            entries = offsets[code[one]] + code[other] - first[code[one]]
            hits = np.bincount(entries, weights=pairs[one, other], minlength=offsets[-1])
            return Exchanges(hits / counts[windows.owners], 0)
        runs = min(TURNS // n, MOST)
        # nothing is protected by these draws: the same release gets the same report
        rng = np.random.default_rng(n)
        hits = count_partners(low, high, code, offsets, first.astype(np.int64), runs, rng)
        return Exchanges(hits / (counts[windows.owners] * runs), runs)

    def bound(self, shares: Floats) -> Floats:
        """Give the largest probabilities that such shares leave credible.

        Shares of exchanges drawn independently exceed their expectation q, or lack of it, as much
        as p does with a probability of at most ``exp(-runs · KL(p, q))`` (Hoeffding 1963, Theorem
        1), also where a share is itself an average, of people with the same number.
        """
        if not self.runs:
            return np.asarray(np.minimum(shares * (1 + ROUNDED), 1.0))
        allowed = -log(DOUBT) / self.runs
        low, high = shares, np.ones(len(shares))
        for _ in range(40):
            middle = (low + high) / 2
            good = _diverge(shares, middle) <= allowed
            low, high = np.where(good, middle, low), np.where(good, high, middle)
        return high


def _diverge(p: Floats, q: Floats) -> Floats:
    """Kullback-Leibler divergence of two chances; of q = 1 it is infinite unless p is 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.where(p > 0, p * np.log(p / q), 0)
        outside = np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0)
    return np.asarray(inside + outside)
