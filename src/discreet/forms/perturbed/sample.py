"""Records drawn from what a perturbed release stands for."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl

from discreet.forms.incomplete import Noise
from discreet.forms.perturbed.randomized_response import RandomizedResponse
from discreet.release import Release

COUNT = "#count"


def open_noise(release: Release, name: str) -> Noise:
    """Say how numbers were drawn, for whoever takes that out again."""
    drawn = RandomizedResponse.read(release)
    unit = 10.0 ** (release.schema[name].decimals or 0)
    mean, spread = (drawn.low + drawn.high) / 2 / unit, drawn.step / unit
    square = mean**2 + spread**2 * (drawn.size**2 - 1) / 12
    undo = partial(undo_perturbation, release, name)
    return Noise(float(drawn.retention), mean, square, undo)


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
