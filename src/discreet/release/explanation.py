"""Explanation: how a release came about. The steward's, never part of the release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Branch(NamedTuple):
    """A value of an attribute, more or less general."""

    depth: int
    label: str
    people: int
    shown: bool
    """Whether this is what the release shows of these people."""


class Step(NamedTuple):
    """A value that was replaced by more specific ones."""

    attribute: str
    label: str
    into: tuple[str, ...]
    score: float
    gain: float
    loss: float


@dataclass(frozen=True)
class Explanation:
    """How a method came to its release. The steward's, never published."""

    cuts: dict[str, list[Branch]]
    """Per attribute its values, each below what it was split off from."""
    steps: list[Step]
