"""Methods: ways of making a release. To add one: one file, one line below."""

from __future__ import annotations

import numpy as np

from discreet.errors import SchemaError
from discreet.methods.angelization import Anatomy, Angelization
from discreet.methods.generalization import Generalization
from discreet.methods.permutation import Permutation
from discreet.methods.perturbation import Perturbation
from discreet.methods.rank_swapping import RankSwapping
from discreet.methods.sequential import Sequential
from discreet.methods.slicing import Slicing
from discreet.microdata import Microdata
from discreet.release import Method, Release

REGISTRY: dict[str, type[Method]] = {
    method.title: method
    for method in (
        Generalization,
        Angelization,
        Anatomy,
        Permutation,
        RankSwapping,
        Perturbation,
        Slicing,
        Sequential,
    )
}


def publish(data: Microdata, method: Method, *, seed: int | None = None) -> Release:
    """Make a release from microdata.

    Randomness, where a method needs it, comes from the operating system; with a ``seed`` the
    release can be made again. The seed stays with the steward: who knows it can undo shuffles.
    """
    if seed is not None and seed < 0:
        raise SchemaError(f"seed = {seed}: give a whole number of at least 0.")
    return method.publish(data, np.random.default_rng(seed))


__all__ = [
    "REGISTRY",
    "Anatomy",
    "Angelization",
    "Generalization",
    "Permutation",
    "Perturbation",
    "RankSwapping",
    "Sequential",
    "Slicing",
    "publish",
]
