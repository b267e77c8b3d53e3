"""What slicing is good for: Li, Li, Zhang, Molloy, TKDE 2012, sections 6.2 and 7.

Models are trained on records drawn from a release of nine tenths of the people and tried on the
last tenth. The paper's l = 5, 8, 10 cannot be had: with Sex and Occupation in one column its own
definition allows l up to 3. Ratings are made up, for the paper's cannot be redistributed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import polars as pl

from discreet.datasets import adult, ratings_frame
from discreet.evaluate.mining import Model, classify, predict_ratings
from discreet.experiments.outcome import Claim, Experiment, Outcome, Settings, clock
from discreet.experiments.slicing import KNOWN, SEED
from discreet.principles import FrequencyDiversity, KAnonymity, Principle
from discreet.publishing import publish
from discreet.publishing.method import Method, Strictness
from discreet.publishing.methods.generalization import Generalization
from discreet.publishing.methods.slicing import Slicing
from discreet.table.microdata import Microdata
from discreet.table.ratings import read_ratings

MORE = ["fnlwgt", "education-num", "relationship", "capital-gain", "capital-loss",
        "hours-per-week", "native-country", "income"]  # fmt: skip
TARGET = "occupation"
MODELS: tuple[Model, ...] = ("tree", "bayes")
FAKES = 100
"""Combinations that nobody has, per one that somebody has, if columns repeat no value."""


def load_people(settings: Settings, known: list[str]) -> Microdata:
    """Take the complete rows of Adult."""
    data = adult(sensitive=TARGET, quasi_identifiers=known)
    return data.head(3000) if settings.quick else data


def bucketize(principle: Principle, known: list[str]) -> Slicing:
    """Bucketization is slicing with the sensitive attribute in a column of its own."""
    return Slicing(principle, columns=[known, [TARGET]])


def slice_by_sex(principle: Principle, known: list[str], check: Strictness = "safe") -> Slicing:
    """The paper's two columns: α = 2 puts sex beside occupation."""
    others = [name for name in known if name != "sex"]
    return Slicing(principle, columns=[others, ["sex", TARGET]], check=check)


@dataclass(frozen=True)
class MiningTrial:
    """How often a model is trained, and on what it is tried."""

    folds: int
    relinkings: int

    @staticmethod
    def choose(settings: Settings) -> MiningTrial:
        """Ten folds and five relinkings, as the paper has them."""
        return MiningTrial(2, 1) if settings.quick else MiningTrial(10, 5)

    def split(self, data: Microdata) -> Iterator[tuple[Microdata, pl.DataFrame]]:
        """Give, fold after fold, the people to publish and those to try models on."""
        order = np.random.default_rng(SEED).permutation(data.n)
        for fold in np.array_split(order, self.folds):
            rest = np.setdiff1d(order, fold)
            yield data.taken(rest), data.taken(fold).to_polars()

    def score(self, data: Microdata, target: str, method: Method | None) -> dict[Model, float]:
        """Give the share of people each model gets right; without a method, from the people."""
        names = [*data.quasi_identifiers, *data.sensitive]
        found: dict[Model, list[float]] = {model: [] for model in MODELS}
        for people, asked in self.split(data):
            for train in self._draw(people, method):
                scores = classify(train.select(names), asked.select(names), target, MODELS)
                for model, share in scores.items():
                    found[model].append(share)
        return {model: float(np.mean(shares)) for model, shares in found.items()}

    def _draw(self, people: Microdata, method: Method | None) -> Iterator[pl.DataFrame]:
        if method is None:
            yield people.to_polars()
            return
        release = publish(people, method, insecure_seed=SEED)
        for relinking in range(self.relinkings):
            yield release.sample(people.n, seed=SEED + relinking)


def _add(row: dict[str, Any], line: str, scores: dict[Model, float]) -> None:
    row.update({f"{line}, {model}": score for model, score in scores.items()})


def learn(settings: Settings, target: str, figure: str) -> Outcome:
    """Figures 3 and 4: how well one attribute is learned, by l."""
    data, trial = load_people(settings, KNOWN), MiningTrial.choose(settings)
    original = trial.score(data, target, None)
    rows = []
    for l in ("2", "3") if settings.quick else ("1.5", "2", "2.5", "3"):  # noqa: E741
        promise = FrequencyDiversity(l)
        row: dict[str, Any] = {"l": float(l)}
        _add(row, "original", original)
        for line, method in (
            ("slicing", slice_by_sex(promise, KNOWN)),
            ("slicing as printed", slice_by_sex(promise, KNOWN, "paper")),
            ("bucketization", bucketize(promise, KNOWN)),
            ("generalization", Generalization(promise)),
        ):
            _add(row, line, trial.score(data, target, method))
        rows.append(row)
    table = pl.DataFrame(rows)
    lines = dict.fromkeys(line.rpartition(", ")[0] for line in table.columns[1:])
    means = {line: _mean(table, line) for line in lines}
    return Outcome(
        f"{figure}: how often {target} is learned right",
        f"Adult (OCC-7), {data.n:,} people, {trial.folds} folds, {trial.relinkings} relinkings",
        table, "share of people",
        _judge_sensitive(table, means) if target == TARGET else _judge_known(means),
    )  # fmt: skip


def _mean(table: pl.DataFrame, line: str) -> float:
    return float(np.mean([table[f"{line}, {model}"].mean() for model in MODELS]))


def _judge_sensitive(table: pl.DataFrame, means: dict[str, float]) -> tuple[Claim, ...]:
    sliced, bucketized, blurred = (
        means[line] for line in ("slicing", "bucketization", "generalization")
    )
    printed = means["slicing as printed"]
    first, last = (
        {line: _mean(part, line) for line in ("slicing", "generalization")}
        for part in (table.head(1), table.tail(1))
    )
    drop = {line: first[line] - last[line] for line in first}
    return (
        Claim("slicing outperforms generalization", f"{sliced:.1%} against {blurred:.1%}",
              sliced > blurred, "The table is too small for buckets that tell anything."),
        Claim("slicing outperforms bucketization",
              f"{sliced:.1%} against {bucketized:.1%}; {printed:.1%} as printed",
              sliced > bucketized + 0.005,
              "A safe promise holds for each sex of a bucket by itself, so that a cut by sex costs "
              "nothing and Mondrian makes it: both come to the same buckets, with one sex each."),
        Claim("generalization deteriorates faster with l than slicing",
              f"by {drop['generalization']:.1%} against {drop['slicing']:.1%}",
              drop["generalization"] > drop["slicing"],
              "Both lose about as much within the l that is possible."),
    )  # fmt: skip


def _judge_known(means: dict[str, float]) -> tuple[Claim, ...]:
    best = min(means["slicing"], means["bucketization"])
    apart = abs(means["slicing"] - means["bucketization"])
    return (
        Claim("bucketization and slicing perform much better than generalization",
              f"{best:.1%} or more against {means['generalization']:.1%}",
              best > means["generalization"] + 0.02,
              "Few people leave little for any of them to learn from."),
        Claim("slicing and bucketization are alike", f"{apart:.1%} apart", apart < 0.02,
              "Moving sex out of the column costs something here."),
        Claim("both are lower than the original, for occupation is separated from education",
              f"{means['original']:.1%} on the original", best > means["original"] - 0.05,
              "The sensitive attribute told much about this one."),
    )  # fmt: skip


def columns(settings: Settings) -> Outcome:
    """Figure 5: learning either, by the number of columns."""
    data, trial = load_people(settings, KNOWN), MiningTrial.choose(settings)
    promise = FrequencyDiversity(2)
    rows = []
    for c in (2, 3, 5):
        row: dict[str, Any] = {"columns": c}
        for target in (TARGET, "education"):
            scores = trial.score(data, target, Slicing(promise, columns=c, alpha=2))
            _add(row, target, scores)
        rows.append(row)
    table = pl.DataFrame(rows)
    drop = max(float(table[line][0] - table[line][-1]) for line in table.columns[1:])
    return Outcome(
        "Figure 5: how often an attribute is learned right, by the number of columns",
        f"Adult (OCC-7), {data.n:,} people, frequency 2-diversity",
        table, "share of people",
        (
            Claim("accuracy decreases only slightly with more columns",
                  f"by at most {drop:.1%} from 2 to 5", drop < 0.05,
                  "Education is then apart from what tells about it."),
        ),
    )  # fmt: skip


def _scale(figure: str, by: str, tables: list[tuple[int, Microdata]]) -> Outcome:
    promise = FrequencyDiversity(3)
    rows = []
    for size, data in tables:
        row: dict[str, float] = {by: size}
        for line, method in (
            ("slicing", slice_by_sex(promise, data.quasi_identifiers)),
            ("bucketization", bucketize(promise, data.quasi_identifiers)),
            ("generalization", Generalization(promise)),
        ):
            row[line] = clock(2, publish, data, method, insecure_seed=SEED)[-1]
        rows.append(row)
    table = pl.DataFrame(rows)
    grown = table[by][-1] / table[by][0]
    slower = table["slicing"][-1] / table["slicing"][0]
    return Outcome(
        f"{figure}: seconds by {by}",
        "Adult (OCC-15), frequency 3-diversity",
        table, "seconds",
        (
            Claim("slicing scales well", f"{grown:.1f} times the {by}, {slower:.1f} times as long",
                  slower < 2 * grown, "It grows faster here."),
        ),
    )  # fmt: skip


def by_rows(settings: Settings) -> Outcome:
    """Figure 6a: seconds by the number of people."""
    data = load_people(settings, [*KNOWN, *MORE])
    sizes = [data.n // part for part in (10, 4, 2, 1)]
    tables = [(n, data.taken(np.arange(n))) for n in sizes]
    return _scale("Figure 6a", "people", tables)


def by_attributes(settings: Settings) -> Outcome:
    """Figure 6b: seconds by the number of attributes."""
    everything = [*reversed(KNOWN), *MORE]
    tables = [(d + 1, load_people(settings, everything[:d])) for d in (5, 8, 11, 14)]
    return _scale("Figure 6b", "attributes", tables)


def ratings(settings: Settings) -> Outcome:
    """Section 7: errors of predicted ratings, by the number of columns."""
    users, items = (1500, 100) if settings.quick else (6000, 500)
    data = read_ratings(ratings_frame(users, items, seed=SEED))
    trial = MiningTrial(10, 2 if settings.quick else 5)
    people, asked = next(trial.split(data))
    original, baseline = predict_ratings(people.to_polars(), asked)
    rows = []
    for c in (2, 5, 10, 50):
        size = max(2, ceil((FAKES + 1) ** (1 / (c - 1)) - 1e-9))
        row = {"columns": float(c), "original": original, "average of the item": baseline}
        for line, buckets in (("slicing", size), ("slicing, buckets of 100", 100)):
            method = Slicing(KAnonymity(2), columns=c, buckets=buckets, similarity="agreement")
            release = publish(people, method, insecure_seed=SEED)
            row[line] = float(np.mean([
                predict_ratings(release.sample(people.n, seed=SEED + i).select(asked.columns),
                                asked)[0] for i in range(trial.relinkings)
            ]))  # fmt: skip
        rows.append(row)
    table = pl.DataFrame(rows)
    errors = table["slicing"].to_list()
    best = float(table["columns"][int(np.argmin(errors))])
    return Outcome(
        "Section 7: error (RMSE) of predicted ratings, by the number of columns",
        f"made-up ratings of {items} items by {users:,} people; random buckets with at least "
        f"{FAKES} combinations that nobody has for each that somebody has",
        table, "RMSE",
        (
            Claim("slicing predicts better than averages of items, worse than the original",
                  f"{original:.3f} < {min(errors):.3f} to {max(errors):.3f} < {baseline:.3f}",
                  original < min(errors) and max(errors) < baseline,
                  "Few people leave little to learn from."),
            Claim("the best number of columns is in the middle (10)", f"{best:.0f}",
                  best in (5, 10),
                  "At equal protection more columns allow smaller buckets; how far that pays "
                  "depends on the table."),
        ),
    )  # fmt: skip


EXPERIMENTS = [
    Experiment("slicing-occupation", learn, "Figure 3: learning the sensitive attribute.",
               TARGET, "Figure 3"),
    Experiment("slicing-education", learn, "Figure 4: learning a quasi-identifier.",
               "education", "Figure 4"),
    Experiment("slicing-columns", columns),
    Experiment("slicing-scaling-rows", by_rows),
    Experiment("slicing-scaling-attributes", by_attributes),
    Experiment("slicing-ratings", ratings),
]  # fmt: skip
