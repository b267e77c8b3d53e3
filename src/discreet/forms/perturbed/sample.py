"""Records drawn from what a perturbed release stands for."""

from __future__ import annotations

import numpy as np
import polars as pl

from discreet.forms.perturbed.randomized_response import RandomizedResponse
from discreet.release import Release

COUNT = "#count"


def undo_perturbation(
    release: Release, name: str, rows: pl.DataFrame, rng: np.random.Generator
) -> pl.DataFrame:
    """Give rows of a perturbed table numbers that may be the person's own.

    How often numbers are people's own is how often they are shown, less what is drawn at random. By
    that, the number shown is kept as often as it is the person's, and else another is drawn.
    """
    drawn = RandomizedResponse.read(release)
    p = float(drawn.retention)
    n, table = rows.height, release.tables["perturbed"]
    values = table.group_by(name).len(COUNT).sort(name)
    own = np.maximum(values[COUNT].to_numpy() / table.height - (1 - p) / drawn.size, 0)
    own /= max(own.sum(), 1e-300)
    at = values[name].search_sorted(rows[name]).to_numpy()
    kept = p * own[at] / (p * own[at] + (1 - p) / drawn.size)
    another = rng.choice(len(own), n, p=own) if own.sum() > 0 else at
    place = np.where(rng.random(n) < kept, at, another)
    return rows.with_columns(values[name].gather(place).alias(name))
