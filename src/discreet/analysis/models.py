"""Models: least squares and the logistic fit of complete records."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from discreet.errors import QueryError
from discreet.table.arrays import Floats

TOGETHER = "Leave one of the attributes out."


@dataclass(frozen=True, eq=False)
class Estimated:
    """What complete records say of the coefficients."""

    coefficients: Floats
    bread: Floats
    """The inverse of the information, but for the scale."""
    meat: Floats
    """The spread of the scores of records, whatever the spread of residuals."""
    scale: float
    """The mean square of the residuals; 1 where the model knows it."""
    explained: float | None
    """The share of the response's variance."""

    @property
    def covariance(self) -> Floats:
        """Of the coefficients, whatever the spread of residuals (the sandwich)."""
        return np.asarray(self.bread @ self.meat @ self.bread)


class ResponseModel(ABC):
    """A way in which a response depends on a sum of terms."""

    @abstractmethod
    def weigh(self, response: Floats, fitted: Floats, scale: float) -> Floats:
        """Give the logarithm of how likely each response is; nothing of a missing one."""

    @abstractmethod
    def fit(self, design: Floats, response: Floats, start: Floats) -> Estimated:
        """Fit complete records."""

    @abstractmethod
    def draw_scale(self, found: Estimated, free: int, rng: np.random.Generator) -> float:
        """Draw the scale as complete records leave it open."""

    def draw(self, found: Estimated, free: int, rng: np.random.Generator) -> tuple[Floats, float]:
        """Draw coefficients, and a scale, as complete records leave them open."""
        scale = self.draw_scale(found, free, rng)
        root = np.linalg.cholesky(found.bread * scale)
        noise = rng.standard_normal(len(found.coefficients))
        return found.coefficients + root @ noise, scale


class LeastSquares(ResponseModel):
    """A number that is a sum of terms, and a residual."""

    def weigh(self, response: Floats, fitted: Floats, scale: float) -> Floats:
        """By the normal density of the residual."""
        found = (response - fitted) ** 2 / scale + np.log(2 * np.pi * scale)
        return np.asarray(np.nan_to_num(-found / 2))

    def fit(self, design: Floats, response: Floats, start: Floats) -> Estimated:  # noqa: ARG002
        """Solve the normal equations."""
        n, p = design.shape
        bread = _invert(design.T @ design, n)
        coefficients = bread @ (design.T @ response)
        residual = response - design @ coefficients
        scores = design * residual[:, None]
        free = max(n - p, 1)
        meat = scores.T @ scores * (n / free)
        total = float(((response - response.mean()) ** 2).sum())
        explained = 1 - float(residual @ residual) / total if total > 0 else 0.0
        return Estimated(coefficients, bread, meat, float(residual @ residual) / free, explained)

    def draw_scale(self, found: Estimated, free: int, rng: np.random.Generator) -> float:
        """As χ² leaves it open."""
        return float(found.scale * free / rng.chisquare(free))


@dataclass(frozen=True)
class Logistic(ResponseModel):
    """One of two values, whose logarithm of odds is a sum of terms."""

    prior: float = 0.0
    """One over the variance that slopes of scaled numbers are thought to have beforehand."""

    def weigh(self, response: Floats, fitted: Floats, scale: float) -> Floats:  # noqa: ARG002
        """By the odds."""
        return np.asarray(np.nan_to_num(response * fitted - np.logaddexp(0, fitted)))

    def fit(self, design: Floats, response: Floats, start: Floats) -> Estimated:
        """Go uphill by Newton's steps, none of them too long."""
        n, coefficients = len(design), start.copy()
        prior = np.full(design.shape[1], self.prior)
        prior[0] = 0  # any share may be high
        for _ in range(50):
            odds = 1 / (1 + np.exp(-np.clip(design @ coefficients, -500, 500)))
            weights = odds * (1 - odds)
            scores = design * (response - odds)[:, None]
            bread = _invert((design * weights[:, None]).T @ design + np.diag(prior), n)
            step = bread @ (scores.sum(axis=0) - prior * coefficients)
            coefficients = coefficients + step / max(1, np.abs(step).max() / 2)
            if np.abs(step).max() < 1e-8:
                break
        else:
            raise QueryError(
                "The two values are told apart without error: odds have no limit.", hint=TOGETHER
            )
        return Estimated(coefficients, bread, scores.T @ scores, 1.0, None)

    def draw_scale(self, found: Estimated, free: int, rng: np.random.Generator) -> float:  # noqa: ARG002
        """There is none."""
        return 1.0


WEAK = 0.16
"""Slopes of scaled numbers are hardly beyond 5 (Gelman and others, AOAS 2008)."""


def choose_model(family: str, *, is_open: bool) -> ResponseModel:
    """Give the model; odds of what is drawn are kept from running away by a weak prior."""
    return LeastSquares() if family == "gaussian" else Logistic(WEAK if is_open else 0.0)


def _invert(information: Floats, n: int) -> Floats:
    size = len(information)
    scale = np.sqrt(np.maximum(np.diag(information), 1e-300))
    ratio = information / np.outer(scale, scale)
    if n <= size or np.linalg.cond(ratio) > 1e10:
        raise QueryError(
            "Some attributes say the same, or there are too few records: coefficients cannot be "
            "told apart.",
            hint=TOGETHER,
        )
    return np.asarray(np.linalg.inv(ratio) / np.outer(scale, scale))
