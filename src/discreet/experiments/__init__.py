"""Experiments: each figure or table of a paper is a function with a name.

To add one: write it in its paper's file, and one line in that file's ``EXPERIMENTS``.
"""

from __future__ import annotations

from discreet.errors import SchemaError, name_closest
from discreet.experiments.angel import EXPERIMENTS as ANGEL
from discreet.experiments.outcome import Claim, Experiment, Outcome, Settings
from discreet.experiments.permutation import EXPERIMENTS as PERMUTATION
from discreet.experiments.proximity import EXPERIMENTS as PROXIMITY
from discreet.experiments.sequential import EXPERIMENTS as SEQUENTIAL
from discreet.experiments.slicing import EXPERIMENTS as SLICING
from discreet.experiments.slicing_mining import EXPERIMENTS as SLICING_MINING

REGISTRY: dict[str, Experiment] = {
    experiment.name: experiment
    for paper in (ANGEL, PERMUTATION, PROXIMITY, SLICING_MINING, SLICING, SEQUENTIAL)
    for experiment in paper
}


def find_experiments(name: str) -> list[str]:
    """Give the experiments of that name or, by a paper's name, all of that paper.

    >>> find_experiments("permutation-k")
    ['permutation-k']
    """
    found = [name] if name in REGISTRY else [n for n in REGISTRY if n.startswith(f"{name}-")]
    if not found:
        raise SchemaError(
            f"There is no experiment {name!r}.", hint=name_closest(name, list(REGISTRY))
        )
    return found


__all__ = ["REGISTRY", "Claim", "Experiment", "Outcome", "Settings", "find_experiments"]
