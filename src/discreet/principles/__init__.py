"""Principles: what every group must satisfy. To add one: one file, one line below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

from discreet.errors import PlanError, name_closest
from discreet.principles.alpha import AlphaK
from discreet.principles.base import All, Feasibility, KernelRule, Principle, demands
from discreet.principles.closeness import TCloseness
from discreet.principles.differential import DifferentialPrivacy
from discreet.principles.diversity import (
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    RecursiveDiversity,
)
from discreet.principles.invariance import MInvariance
from discreet.principles.itemsets import KMAnonymity, RhoUncertainty
from discreet.principles.linking import XYAnonymity, XYLinkability
from discreet.principles.personal import PersonalPrivacy
from discreet.principles.proximity import Proximity
from discreet.principles.size import KAnonymity
from discreet.principles.spread import KE, Variance

REGISTRY: dict[str, type[Principle]] = {
    principle.title: principle
    for principle in (
        KAnonymity,
        DistinctDiversity,
        FrequencyDiversity,
        EntropyDiversity,
        RecursiveDiversity,
        AlphaK,
        TCloseness,
        KE,
        Variance,
        Proximity,
        MInvariance,
        PersonalPrivacy,
        XYAnonymity,
        XYLinkability,
        KMAnonymity,
        RhoUncertainty,
        DifferentialPrivacy,
    )
}


def make_principle(parameters: Mapping[str, object]) -> Principle:
    """Make a principle from its name and parameters, as plans and manifests write it.

    >>> make_principle({"name": "k-anonymity", "k": 5})
    KAnonymity(on=None, k=5)
    """
    rest = dict(parameters)
    name = str(rest.pop("name", ""))
    if name not in REGISTRY:
        raise PlanError(
            f"There is no principle {name!r}.", hint=name_closest(name, sorted(REGISTRY))
        )
    try:
        return REGISTRY[name](**rest)  # type: ignore[arg-type]
    except TypeError as error:
        known = [field.name for field in fields(REGISTRY[name])]
        raise PlanError(
            f"Principle {name!r}: {str(error).split('__init__() ')[-1]}.",
            hint=f"It is written as {name} with {', '.join(known)}.",
        ) from error


__all__ = [
    "KE",
    "REGISTRY",
    "All",
    "AlphaK",
    "DifferentialPrivacy",
    "DistinctDiversity",
    "EntropyDiversity",
    "Feasibility",
    "FrequencyDiversity",
    "KAnonymity",
    "KMAnonymity",
    "KernelRule",
    "MInvariance",
    "PersonalPrivacy",
    "Principle",
    "Proximity",
    "RecursiveDiversity",
    "RhoUncertainty",
    "TCloseness",
    "Variance",
    "XYAnonymity",
    "XYLinkability",
    "demands",
    "make_principle",
]
