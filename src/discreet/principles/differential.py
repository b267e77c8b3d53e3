"""Differential privacy: what is promised of how a release is drawn, and not of any group in it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import exp
from typing import ClassVar

import numpy as np

from discreet.principles.base import Feasibility, Number, Principle, ratio, require_ratio
from discreet.principles.groups import Groups
from discreet.table.arrays import Bools

LEAST = Fraction(1, 10**6)
"""With a smaller ε noise is of millions, and hides whatever there is to tell."""
MOST = 100
"""A larger ε promises nothing that could be told from nothing."""


@dataclass(frozen=True)
class DifferentialPrivacy(Principle):
    """No release is more than e^ε times as likely with a person in the table as without.

    >>> DifferentialPrivacy(1).admits(Groups.of([["a", "b"], ["a"]])).tolist()
    [False, False]

    It is about the method that draws a release. A group that is shown as it is keeps it at no ε,
    so no bag satisfies it, and every method that shows groups refuses it. Of a release that is
    drawn its view says how much of ε is spent.

    **Guarantee**: whoever knows everything but whether one person is in the table, and with which
    values, finds no release more than e^ε times as likely if the person is in it than if not.
    Changing a person's values is taking the person out and putting another in: at most e^2ε.
    """

    title: ClassVar[str] = "differential-privacy"
    paper: ClassVar[str] = (
        "Dwork, McSherry, Nissim, Smith: Calibrating Noise to Sensitivity in Private Data "
        "Analysis, TCC 2006"
    )
    monotone: ClassVar[bool] = True
    reads_values: ClassVar[bool] = False
    drawn: ClassVar[bool] = True
    leaves_open: ClassVar[str] = (
        "What is believed of anybody: somebody may be certain of a person's value, by what the "
        "table tells of people like that one. Only by how much it can matter that a person is in "
        "the table is bounded."
    )

    epsilon: Number

    def __post_init__(self) -> None:
        require_ratio("epsilon", self.epsilon, LEAST, MOST)

    def admits(self, groups: Groups) -> Bools:
        """No bag that is shown satisfies it."""
        return np.zeros(groups.count, dtype=bool)

    def feasible(self, whole: Groups) -> Feasibility:  # noqa: ARG002
        """No partition of any table satisfies it."""
        return Feasibility(False, "no group that is shown does: the method noisy-marginals")

    @property
    def promise(self) -> str:
        """In words."""
        times = exp(float(ratio(self.epsilon)))
        return (
            "Whatever somebody knows, no release is more than e^ε times as likely with a person in "
            f"the table as without, where ε = {ratio(self.epsilon)}: {times:.4g} times."
        )
