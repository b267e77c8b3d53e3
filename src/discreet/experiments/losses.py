"""People with a capital loss: those of Adult, and drawn ones; and their groups under a promise."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.datasets import adult_frame, adult_taxonomies
from discreet.datasets.adult import QUASI_IDENTIFIERS
from discreet.experiments.bounded import SEED
from discreet.principles import DistinctDiversity
from discreet.publishing.methods.boxes import cut_codes, show_cuts, take_cuts
from discreet.publishing.methods.full_domain import FullDomain
from discreet.publishing.methods.generalization import release_boxes
from discreet.publishing.partitioners.kinds import collapse
from discreet.publishing.partitioners.lattice import (
    KindJudge,
    Lattice,
    list_levels,
    list_read,
    number_runs,
)
from discreet.publishing.partitioners.mondrian import mondrian
from discreet.release import Release
from discreet.table.microdata import Microdata, read, row_ids
from discreet.table.schema import Schema
from discreet.table.taxonomy import Intervals

LOSS = "capital-loss"
DIVERSE = DistinctDiversity(4)
WIDTHS = (5, 10, 20)
"""Ages are generalized as in the paper on l-diversity, which this paper follows."""


def losses(names: Iterable[str] = QUASI_IDENTIFIERS, *, oldest: int | None = None) -> Microdata:
    """Adult's training part, complete rows with a capital loss: the paper's 1,427 people."""
    frame = adult_frame().head(32_561).drop_nulls().filter(pl.col(LOSS) > 0)
    frame = frame if oldest is None else frame.filter(pl.col("age") <= oldest)
    return read_people(frame, list(names), LOSS)


def draw_people(n: int, noise: float | None = None, distinct: int | None = None) -> Microdata:
    """Draw people with an age and a loss from 155 to 3900.

    Losses are even and independent of age or, with ``noise``, those of somebody whose age differs
    by a normal error of so many years. They have so many ``distinct`` values, or any whole numbers.
    """
    rng = np.random.default_rng(SEED)
    age = rng.integers(17, 80, n)
    share = rng.random(n) if noise is None else (age - 17 + rng.normal(0, noise, n)) / 63
    loss = (155 + np.clip(share, 0, 1) * 3745).round().astype(np.int64)
    if distinct is not None:
        values = np.sort(rng.choice(np.arange(155, 3901), distinct, replace=False))
        loss = values[np.minimum((np.clip(share, 0, 1) * distinct).astype(int), distinct - 1)]
    return read_people(pl.DataFrame({"age": age, LOSS: loss}), ["age"], LOSS)


def read_people(frame: pl.DataFrame, names: list[str], sensitive: str) -> Microdata:
    """Read a table of people with the taxonomies of Adult."""
    schema = Schema.infer(frame, quasi_identifiers=names, sensitive=[sensitive])
    trees = adult_taxonomies()
    told = (replace(a, taxonomy=trees[a.name]) for a in schema if a.name in trees)
    return read(frame, schema.changed(*told))


def generalize(data: Microdata) -> tuple[Release, NDArray[np.integer]]:
    """Generalize full domains until all groups are 4-diverse; give who is in which, too.

    Of the levels that do, those that lose least while ages are not all the same: the paper keeps
    them from that, or no range of ages could be asked about.
    """
    ages = replace(data.schema["age"], taxonomy=Intervals(WIDTHS))
    kept = tuple(ages if a.name == "age" else a for a in data.schema.published)
    levelled, names = read(data.to_polars(), Schema(kept)), data.quasi_identifiers
    levels = [list_levels(levelled.domains[name]) for name in names]
    levels[names.index("age")].pop()
    kinds, _ = collapse(levelled, [*names, *list_read(levelled, DIVERSE)])
    keeps = KindJudge(levelled, DIVERSE, kinds, levels).keeps
    chosen = Lattice.over(levelled, levels, keeps).find_least()
    runs = [of[level] for of, level in zip(levels, chosen, strict=True)]
    cut = {
        n: cut_codes(r, number_runs(r), levelled.count(n)) for n, r in zip(names, runs, strict=True)
    }
    cuts = take_cuts(levelled, cut)
    release = release_boxes(FullDomain(DIVERSE), levelled, show_cuts(levelled, cuts))
    return release, row_ids([of for _, of in cuts.values()], levelled.n)


def part_locally(data: Microdata) -> NDArray[np.integer]:
    """Part the same people by Mondrian, which need not treat all of a domain alike."""
    return mondrian(data, DIVERSE).labels
