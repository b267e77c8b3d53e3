"""Contenders: what to compare where a plan names nothing."""

from __future__ import annotations

from discreet.errors import DiscreetError
from discreet.principles.base import Principle
from discreet.publishing.method import Method
from discreet.publishing.methods import REGISTRY
from discreet.steward.choosing.trial import Refused


def list_contenders(principle: Principle) -> list[Method | Refused]:
    """Every method there is, under one promise; those that cannot give it, with the reason."""
    found: list[Method | Refused] = []
    for title, kind in REGISTRY.items():
        try:
            found.append(kind(principle))
        except DiscreetError as error:
            found.append(Refused(title, principle, error.message))
    return found
