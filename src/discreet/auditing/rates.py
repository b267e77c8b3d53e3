"""Rates: how often attacks succeed, with their uncertainty, and the risk that follows from them.

Giomi, Boenisch, Wehmeyer, Tasnádi: A Unified Framework for Quantifying Privacy Risk in Synthetic
Data, PoPETs 2023 (Anonymeter).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

Z = 1.959963984540054
"""Of a normal distribution, 95 % lie within so many standard deviations."""

NO_CONTROL = (
    "no control group was given, so rates do not tell what being in the table adds: people who are "
    "not in it may be guessed as well."
)


@dataclass(frozen=True)
class SuccessRate:
    """How many of some guesses were right; the interval is Wilson's, of 95 %.

    >>> rate = SuccessRate(8, 10)
    >>> rate.value, round(rate.low, 3), round(rate.high, 3)
    (0.8, 0.49, 0.943)
    """

    successes: int
    guesses: int
    scale: float = 1.0
    """How many times as often it would be in a table of another size."""

    @property
    def value(self) -> float:
        """The share that was right; 0 of no guesses."""
        return min(self.scale * self.successes / self.guesses, 1.0) if self.guesses else 0.0

    @property
    def _wilson(self) -> tuple[float, float]:
        """The middle of Wilson's interval, and how far it goes to either side."""
        spread = 0.0
        if self.guesses:
            spread = self.successes * (self.guesses - self.successes) / self.guesses
        whole = self.guesses + Z * Z
        return (self.successes + Z * Z / 2) / whole, Z / whole * sqrt(spread + Z * Z / 4)

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        middle, error = self._wilson
        return min(max(self.scale * (middle - error), 0.0), 1.0)

    @property
    def high(self) -> float:
        """Upper end of the interval; without a guess nothing is known."""
        middle, error = self._wilson
        return min(self.scale * (middle + error), 1.0)

    @property
    def estimate(self) -> tuple[float, float]:
        """The best estimate and its error; Wilson's, unless scaling would scale his prior too."""
        middle, error = self._wilson
        most = 1 - 1 / (self.guesses + Z * Z)
        return (middle if self.scale == 1 else min(self.value, most)), self.scale * error

    def beyond(self, control: SuccessRate) -> tuple[float, float, float]:
        """Give the risk (main - control) / (1 - control), and its interval.

        Centers and errors are Wilson's, errors propagated, as Anonymeter does; all are held between
        0 and 1.

        >>> SuccessRate(0, 500).beyond(SuccessRate(0, 500))[0]
        0.0
        """
        (main, wide), (other, other_wide) = self.estimate, control.estimate
        left = 1 - other  # never 0: no estimate is 1
        risk = (main - other) / left
        error = sqrt((wide / left) ** 2 + (other_wide * (main - 1) / left**2) ** 2)
        low, value, high = (min(max(x, 0.0), 1.0) for x in (risk - error, risk, risk + error))
        return value, low, high

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        return {"guesses": self.guesses, "rate": self.value, "low": self.low, "high": self.high}

    def __str__(self) -> str:
        if not self.guesses:
            return "no guess"
        return f"{self.value:.1%} ({self.low:.1%} to {self.high:.1%})"


@dataclass(frozen=True)
class PrivacyRisk:
    """One of the three risks of Article 29 Working Party, Opinion 05/2014 (WP 216)."""

    name: str
    """Singling out, linkability or inference."""
    attribute: str | None
    """What is inferred."""
    how: str
    main: SuccessRate
    """Against people of the table."""
    baseline: SuccessRate
    """Of somebody who guesses at random."""
    control: SuccessRate | None
    """Against people whom the release was not made from, where there are any to try it on."""
    ventured: float = 1.0
    """The share of tries that the attacker ventured a guess on."""

    @property
    def risk(self) -> tuple[float, float, float] | None:
        """What people risk by being in the table, with its interval; not known without control."""
        return None if self.control is None else self.main.beyond(self.control)

    @property
    def on(self) -> str:
        """The risk by name, with what it is about."""
        return self.name if self.attribute is None else f"{self.name} of {self.attribute}"

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain values."""
        risk = self.risk
        return {
            "name": self.name,
            "attribute": self.attribute,
            "how": self.how,
            "main": self.main.to_dict(),
            "baseline": self.baseline.to_dict(),
            "control": None if self.control is None else self.control.to_dict(),
            "ventured": self.ventured,
            "risk": None
            if risk is None
            else dict(zip(("value", "low", "high"), risk, strict=True)),
        }

    def __str__(self) -> str:
        name = self.on[0].upper() + self.on[1:]
        if not self.main.guesses:
            return f"{name} ({self.how}): no guess was possible."
        told = f"{name} ({self.how}): {self.main} of {self.main.guesses:,} guesses are right"
        if self.ventured < 1:
            told += f", ventured in {self.ventured:.1%} of tries"
        told += f"; at random {self.baseline.value:.1%}"
        if self.control is None or self.risk is None:
            return f"{told}."
        value, low, high = self.risk
        told += f", of people not in it {self.control}"
        return f"{told}: risk {value:.1%} ({low:.1%} to {high:.1%})."
