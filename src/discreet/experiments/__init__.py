"""Experiments: each figure or table of a paper is a function with a name.

To add one: write it in its paper's file, and one line in that file's ``EXPERIMENTS``; then store
a run of it with ``python scripts/store_runs.py NAME``, which writes its rows into the pages, too.
"""

from __future__ import annotations

from discreet.errors import SchemaError, name_closest
from discreet.experiments.angel import EXPERIMENTS as ANGEL
from discreet.experiments.claims import Claim, Inequality
from discreet.experiments.outcome import Experiment, Outcome, Settings
from discreet.experiments.permutation import EXPERIMENTS as PARTITIONS
from discreet.experiments.permutation_tables import EXPERIMENTS as PERMUTED_TABLES
from discreet.experiments.permutation_time import EXPERIMENTS as PERMUTATION_TIME
from discreet.experiments.proximity import EXPERIMENTS as PROXIMITY
from discreet.experiments.sequential import EXPERIMENTS as SEQUENTIAL
from discreet.experiments.sequential_time import EXPERIMENTS as SEQUENTIAL_TIME
from discreet.experiments.slicing import EXPERIMENTS as SLICING
from discreet.experiments.slicing_mining import EXPERIMENTS as SLICING_MINING
from discreet.experiments.slicing_ratings import EXPERIMENTS as SLICING_RATINGS
from discreet.experiments.stored import StoredRun, find_run, list_runs, store

REGISTRY: dict[str, Experiment] = {
    experiment.name: experiment
    for listed in (ANGEL, PERMUTED_TABLES, PARTITIONS, PERMUTATION_TIME, PROXIMITY, SLICING_MINING,
                   SLICING_RATINGS, SLICING, SEQUENTIAL, SEQUENTIAL_TIME)
    for experiment in listed
}  # fmt: skip
PAPERS = tuple(dict.fromkeys(name.partition("-")[0] for name in REGISTRY))


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


__all__ = [
    "PAPERS", "REGISTRY", "Claim", "Experiment", "Inequality", "Outcome", "Settings", "StoredRun",
    "find_experiments", "find_run", "list_runs", "store",
]  # fmt: skip
