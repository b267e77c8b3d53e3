"""Ratings, sliced: Li, Li, Zhang, Molloy, TKDE 2012, section 7.

The paper's ratings cannot be redistributed; these are made up. What somebody did not rate is a
value of its own, so that of sensitive items distinct l-diversity is promised: with most people
having rated nothing of an item, no bound on the most frequent value could be kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

import numpy as np
import polars as pl

from discreet.datasets import ratings_frame
from discreet.evaluate.mining import predict_ratings
from discreet.experiments.claims import Claim, Inequality, rising
from discreet.experiments.outcome import Experiment, Outcome, Settings
from discreet.experiments.slicing import SEED
from discreet.experiments.slicing_mining import MiningTrial
from discreet.principles import DistinctDiversity, KAnonymity
from discreet.publishing import publish
from discreet.publishing.methods.slicing import Slicing
from discreet.table.microdata import Microdata, read
from discreet.table.ratings import read_ratings
from discreet.table.schema import Role

FAKES, FIXED = 100, 100
"""Combinations that nobody has, per one that somebody has, if columns repeat no value; and the size
of buckets where it does not depend on the number of columns."""
COLUMNS = (5, 10, 50)


@dataclass(frozen=True, eq=False)
class RatingTrial:
    """People whose ratings are published, and others whose ratings are predicted."""

    people: Microdata
    asked: pl.DataFrame
    relinkings: int
    original: float
    average: float

    @staticmethod
    def of(settings: Settings, users: int, items: int) -> RatingTrial:
        """Draw ratings; nine tenths of the people are published."""
        data = read_ratings(ratings_frame(users, items, seed=SEED))
        people, asked = next(MiningTrial(10, 1).split(data))
        error, average = predict_ratings(people.to_polars(), asked)
        return RatingTrial(
            people, asked, 1 if settings.quick else settings.relinkings, error, average
        )

    def score(self, people: Microdata, method: Slicing) -> float:
        """The error of predictions learned from records drawn from a release."""
        release = publish(people, method, insecure_seed=SEED)
        names = self.asked.columns
        return float(np.mean([
            predict_ratings(release.sample(people.n, seed=SEED + i).select(names), self.asked)[0]
            for i in range(self.relinkings)
        ]))  # fmt: skip

    @property
    def rivals(self) -> dict[str, float]:
        """What slicing is held against."""
        return {"original": self.original, "average of the item": self.average}

    def about(self) -> str:
        """On which data."""
        n = self.people.n + self.asked.height
        items, again = len(self.asked.columns), MiningTrial(1, self.relinkings).again
        return f"made-up ratings of {items} items by {n:,} people, {again}"


def ratings(settings: Settings) -> Outcome:
    """Section 7: errors of predicted ratings, by the number of columns."""
    trial = RatingTrial.of(settings, *((1500, 100) if settings.quick else (6000, 500)))
    shrinking, fixed = "slicing", f"slicing, buckets of {FIXED}"
    rows = []
    for c in (2, *COLUMNS):
        size = max(2, ceil((FAKES + 1) ** (1 / (c - 1)) - 1e-9))
        row = {"columns": float(c), **trial.rivals}
        for line, buckets in ((shrinking, size), (fixed, FIXED)):
            method = Slicing(KAnonymity(2), columns=c, buckets=buckets, similarity="agreement")
            row[line] = trial.score(trial.people, method)
        rows.append(row)
    table = pl.DataFrame(rows)

    def best(line: str) -> tuple[Inequality, ...]:
        _, five, ten, fifty = table[line]
        return (
            Inequality("10 columns", ten, "<", five, by="5 columns"),
            Inequality("10 columns", ten, "<", fifty, by="50 columns"),
        )

    return Outcome(
        "Section 7: error (RMSE) of predicted ratings, by the number of columns",
        f"{trial.about()}; random buckets with at least {FAKES} combinations that nobody has for "
        f"each that somebody has, or of {FIXED} people",
        table, "RMSE",
        (
            Claim("slicing predicts better than averages of items, worse than the original", (
                Inequality("slicing at most", max(table[shrinking]), "<", trial.average,
                           by="averages"),
                Inequality("at least", min(table[shrinking]), ">", trial.original,
                           by="original"),
            ), "Few people leave little to learn from."),
            Claim("10 columns are best: fewer need larger buckets, more lose correlations",
                  best(shrinking), "How far smaller buckets pay depends on the table."),
            Claim(f"10 columns are best in buckets of {FIXED}, too", best(fixed),
                  "Where the size of buckets is given, every further column only loses.",
                  beyond=True),
        ),
    )  # fmt: skip


def _spread(trial: RatingTrial, share: float) -> Microdata:
    """The same people, with so large a share of the items sensitive."""
    names = list(trial.people.schema.names)
    chosen = np.random.default_rng(SEED).permutation(len(names))[: round(share * len(names))]
    schema = trial.people.schema
    told = (replace(schema[names[i]], role=Role.SENSITIVE) for i in chosen)
    return read(trial.people.to_polars(), schema.changed(*told))


def _by_promise(
    settings: Settings, figure: str, by: str, cases: list[tuple[float, float, int]]
) -> Outcome:
    # every cut is tried on every sensitive item, so that the paper's 500 would take hours
    trial = RatingTrial.of(settings, *((600, 100) if settings.quick else (1500, 100)))
    rows = []
    for at, share, l in cases:  # noqa: E741
        people = _spread(trial, share)
        row = {by: at, **trial.rivals}
        for c in COLUMNS:
            method = Slicing(DistinctDiversity(l), columns=c, similarity="agreement", together=True)
            row[f"{c} columns"] = trial.score(people, method)
        rows.append(row)
    table = pl.DataFrame(rows)
    lines = [f"{c} columns" for c in COLUMNS]
    worst, least = (
        float(getattr(table.select(lines).unpivot()["value"], end)()) for end in ("max", "min")
    )
    return Outcome(
        f"{figure}: error (RMSE) of predicted ratings, by {by}",
        f"{trial.about()}; sensitive items in one column, distinct l-diversity, Mondrian's buckets",
        table, "RMSE",
        (
            Claim("better than averages of items, worse than the original", (
                Inequality("slicing at most", worst, "<", trial.average, by="averages"),
                Inequality("at least", least, ">", trial.original, by="original"),
            ), "Buckets in which every sensitive item was rated are large, and tell little."),
            Claim(f"the error rises with {by}", tuple(
                rising(line, table[line].to_list()) for line in lines
            ), "Buckets are so large that it makes no difference how much larger they get."),
            Claim("10 columns are best", tuple(
                Inequality("10 columns, mean", float(table["10 columns"].to_numpy().mean()), "<",
                           float(table[f"{c} columns"].to_numpy().mean()), by=f"{c} columns")
                for c in (5, 50)
            ), "Buckets follow from the sensitive items, whatever the number of columns is."),
        ),
    )  # fmt: skip


def by_share(settings: Settings) -> Outcome:
    """Figure 9a: errors of predicted ratings, by the share of sensitive items."""
    return _by_promise(settings, "Figure 9a", "δ", [(d, d, 3) for d in (0.05, 0.1, 0.3)])


def by_diversity(settings: Settings) -> Outcome:
    """Figure 9b: errors of predicted ratings, by l."""
    return _by_promise(settings, "Figure 9b", "l", [(float(at), 0.1, at) for at in (2, 3, 4)])


EXPERIMENTS = [
    Experiment("slicing-ratings", ratings),
    Experiment("slicing-ratings-sensitive", by_share),
    Experiment("slicing-ratings-l", by_diversity),
]
