"""What slicing is good for: Li, Li, Zhang, Molloy, TKDE 2012, section 6.2.

Models are trained on records drawn from a release of most of the people and tried on the rest. The
paper's l = 5, 8, 10 cannot be had: with Sex and Occupation in one column its own definition allows
l up to 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from discreet.evaluate.mining import Model, classify
from discreet.experiments.claims import PERCENT, Claim, Inequality
from discreet.experiments.outcome import Experiment, Outcome, Settings, clock
from discreet.experiments.slicing import KNOWN, MORE, SEED, SETS, load_people
from discreet.principles import FrequencyDiversity, Principle
from discreet.publishing import publish
from discreet.publishing.method import Method, Strictness
from discreet.publishing.methods.generalization import Generalization
from discreet.publishing.methods.slicing import Slicing
from discreet.table.microdata import Microdata, read
from discreet.table.schema import Schema

TARGET, FEW = "occupation", 3000
MODELS: tuple[Model, ...] = ("tree", "bayes")


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
        """As many as are asked for; the paper has ten folds and five relinkings."""
        few = MiningTrial(2, 1)
        return few if settings.quick else MiningTrial(settings.folds, settings.relinkings)

    @property
    def again(self) -> str:
        """Say how many times records are drawn."""
        return f"{self.relinkings} relinking{'' if self.relinkings == 1 else 's'}"

    def __str__(self) -> str:
        """Say it."""
        return f"{self.folds} folds, {self.again}"

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


def _load(settings: Settings, kind: str) -> tuple[Microdata, str]:
    """Take people; final weights are in thousands, or nothing could be drawn from boxes of them."""
    data = load_people(SETS[kind], FEW if settings.quick else None)
    if kind == "OCC-7":
        return data, f"Adult ({kind}), {data.n:,} people"
    frame = data.to_polars().with_columns(pl.col("fnlwgt") // 1000)
    coarse = read(frame, Schema(tuple(data.schema.published)))
    return coarse, f"Adult ({kind}, final weights in thousands), {data.n:,} people"


def learn(settings: Settings, target: str, figure: str, kind: str) -> Outcome:
    """Figures 3 and 4: how well one attribute is learned, by l."""
    (data, about), trial = _load(settings, kind), MiningTrial.choose(settings)
    known = SETS[kind]
    original = trial.score(data, target, None)
    rows = []
    for l in ("2", "3") if settings.quick else ("1.5", "2", "2.5", "3"):  # noqa: E741
        promise = FrequencyDiversity(l)
        row: dict[str, Any] = {"l": float(l)}
        _add(row, "original", original)
        for line, method in (
            ("slicing", slice_by_sex(promise, known)),
            ("slicing as printed", slice_by_sex(promise, known, "paper")),
            ("bucketization", bucketize(promise, known)),
            ("generalization", Generalization(promise)),
        ):
            _add(row, line, trial.score(data, target, method))
        rows.append(row)
    table = pl.DataFrame(rows)
    lines = dict.fromkeys(line.rpartition(", ")[0] for line in table.columns[1:])
    means = {line: _mean(table, line) for line in lines}
    return Outcome(
        f"{figure}: how often {target} is learned right",
        f"{about}, {trial}",
        table, "share of people",
        _judge_sensitive(table, means, find_same(data)) if target == TARGET else
        _judge_known(means),
    )  # fmt: skip


def _mean(table: pl.DataFrame, line: str) -> float:
    return float(np.mean([table[f"{line}, {model}"].mean() for model in MODELS]))


def _is_above(
    means: dict[str, float], one: str, other: str, points: float = 0, said: str = ""
) -> Inequality:
    by = f"{other} and {said}" if said else other
    return Inequality(one, means[one], ">", means[other] + points, by=by, unit=PERCENT)


def find_same(data: Microdata) -> float:
    """Give the share of buckets that slicing with sex and bucketization have in common, l = 2."""
    promise, known = FrequencyDiversity(2), list(data.quasi_identifiers)
    found = []
    for method in (slice_by_sex(promise, known), bucketize(promise, known)):
        table = publish(data, method, insecure_seed=SEED).tables["sliced"]
        parts = table.group_by("bucket").agg(pl.col("age", TARGET).sort().cast(pl.String))
        found.append(Counter(zip(*(parts[n].list.join("|") for n in ("age", TARGET)), strict=True)))
    return (found[0] & found[1]).total() / found[0].total()


def _judge_sensitive(
    table: pl.DataFrame, means: dict[str, float], same: float
) -> tuple[Claim, ...]:
    first, last = (
        {line: _mean(part, line) for line in ("slicing", "bucketization", "generalization")}
        for part in (table.head(1), table.tail(1))
    )
    drop = {line: first[line] - last[line] for line in first}
    return (
        Claim("slicing outperforms generalization",
              (_is_above(means, "slicing", "generalization"),),
              "The table is too small for buckets that tell anything."),
        Claim("slicing outperforms bucketization (here: by half a point)", (
            _is_above(means, "slicing", "bucketization", 0.005, "half a point"),
            _is_above(means, "slicing as printed", "bucketization", 0.005, "half a point"),
        ), "A safe promise holds for each sex of a bucket by itself, so that a cut by sex costs "
           f"nothing and Mondrian makes it: of their buckets {same:.0%} are the same at l = 2. The "
           "paper's check, which is not safe, tells less still."),
        Claim("bucketization is even slightly worse than generalization",
              (_is_above(means, "generalization", "bucketization"),),
              "Within the l that is possible, buckets are small and relinking misleads little."),
        Claim("generalization and bucketization deteriorate faster with l than slicing", tuple(
            Inequality(f"{line} loses", drop[line], ">", drop["slicing"], by="slicing",
                       unit=PERCENT)
            for line in ("generalization", "bucketization")
        ), "All lose about as much within the l that is possible."),
    )  # fmt: skip


def _judge_known(means: dict[str, float]) -> tuple[Claim, ...]:
    return (
        Claim("bucketization and slicing perform much better than generalization (here: by two "
              "points)", tuple(
            _is_above(means, line, "generalization", 0.02, "two points")
            for line in ("slicing", "bucketization")
        ), "Few people leave little for any of them to learn from."),
        Claim("both are lower than the original, for occupation is separated from education",
              tuple(_is_above(means, "original", line) for line in ("slicing", "bucketization"))),
    )  # fmt: skip


def columns(settings: Settings, kind: str) -> Outcome:
    """Figure 5: learning either, by the number of columns."""
    (data, about), trial = _load(settings, kind), MiningTrial.choose(settings)
    promise, known = FrequencyDiversity(2), SETS[kind]
    others = {"bucketization": bucketize(promise, known), "generalization": Generalization(promise)}
    rivals = {
        (line, target): trial.score(data, target, method)
        for line, method in others.items()
        for target in (TARGET, "education")
    }
    rows = []
    for c in (2, 3, 5):
        row: dict[str, Any] = {"columns": c}
        for target in (TARGET, "education"):
            scores = trial.score(data, target, Slicing(promise, columns=c, alpha=2))
            _add(row, f"slicing, {target}", scores)
            for line in others:
                _add(row, f"{line}, {target}", rivals[line, target])
        rows.append(row)
    table = pl.DataFrame(rows)
    least = {
        (line, target): min(
            _mean(part, f"{line}, {target}") for part in table.iter_slices(1)
        )
        for line in ("slicing", *others)
        for target in (TARGET, "education")
    }  # fmt: skip
    drop = max(
        float(table[line][0] - table[line][-1])
        for line in table.columns if line.startswith("slicing")
    )  # fmt: skip
    return Outcome(
        "Figure 5: how often an attribute is learned right, by the number of columns",
        f"{about}, frequency 2-diversity, {trial}; which table it was the paper does not say",
        table, "share of people",
        (
            Claim("accuracy decreases only slightly with more columns (here: less than 5 points)", (
                Inequality("from 2 to 5 by at most", drop, "<", 0.05, unit=PERCENT),
            ), "Education is then apart from what tells about it."),
            Claim("slicing is better than generalization in all cases", tuple(
                Inequality(f"{target}: slicing at least", least["slicing", target], ">",
                           least["generalization", target], by="generalization", unit=PERCENT)
                for target in (TARGET, "education")
            ), "Within the l that is possible, boxes are small and tell as much of occupations."),
            Claim("slicing is better than bucketization for the sensitive attribute (here: by half "
                  "a point)", (
                Inequality("slicing at least", least["slicing", TARGET], ">",
                           least["bucketization", TARGET] + 0.005,
                           by="bucketization and half a point", unit=PERCENT),
            ), "Safe buckets have one sex each, with or without sex beside occupation (Figure 3)."),
        ),
    )  # fmt: skip


def _scale(figure: str, by: str, tables: list[tuple[int, Microdata]], why: str) -> Outcome:
    promise = FrequencyDiversity(3)
    rows = []
    for size, data in tables:
        row: dict[str, float] = {by: size}
        for line, method in (
            ("slicing", slice_by_sex(promise, data.quasi_identifiers)),
            ("bucketization", bucketize(promise, data.quasi_identifiers)),
            ("generalization", Generalization(promise)),
        ):
            row[line] = min(clock(3, publish, data, method, insecure_seed=SEED))
        rows.append(row)
    table = pl.DataFrame(rows)
    return Outcome(
        f"{figure}: seconds by {by}",
        "Adult (OCC-15), frequency 3-diversity",
        table, "seconds",
        (
            Claim(f"slicing scales well with {by} (here: at most twice the proportion)", tuple(
                Inequality(f"from {table[by][at]:,} to {table[by][-1]:,}",
                           table["slicing"][-1] / table["slicing"][at], "<",
                           2 * table[by][-1] / table[by][at], unit="times")
                for at in (0, 1)
            ), why),
        ),
    )  # fmt: skip


def by_rows(settings: Settings) -> Outcome:
    """Figure 6a: seconds by the number of people."""
    data = load_people(SETS["OCC-15"], FEW if settings.quick else None)
    sizes = [data.n // part for part in (10, 4, 2, 1)]
    tables = [(n, data.taken(np.arange(n))) for n in sizes]
    return _scale("Figure 6a", "people", tables, "So few people are too quick to tell.")


def by_attributes(settings: Settings) -> Outcome:
    """Figure 6b: seconds by the number of attributes."""
    everything = [*reversed(KNOWN), *MORE]
    few = FEW if settings.quick else None
    tables = [(d + 1, load_people(everything[:d], few)) for d in (5, 8, 11, 14)]
    data = tables[-1][1]
    weights = data.domains["fnlwgt"].size
    why = f"Between the first two final weights come in, which have {weights:,} different values."
    return _scale("Figure 6b", "attributes", tables, why)


EXPERIMENTS = [
    Experiment("slicing-occupation", learn, "Figures 3a and 3b: learning the sensitive attribute.",
               TARGET, "Figures 3a and 3b", "OCC-7"),
    Experiment("slicing-occupation-15", learn, "Figures 3c and 3d: the same on OCC-15.",
               TARGET, "Figures 3c and 3d", "OCC-15"),
    Experiment("slicing-education", learn, "Figures 4a and 4b: learning a quasi-identifier.",
               "education", "Figures 4a and 4b", "OCC-7"),
    Experiment("slicing-education-15", learn, "Figures 4c and 4d: the same on OCC-15.",
               "education", "Figures 4c and 4d", "OCC-15"),
    Experiment("slicing-columns", columns, "Figure 5: learning, by the number of columns.",
               "OCC-7"),
    Experiment("slicing-columns-15", columns, "Figure 5: the same on OCC-15.", "OCC-15"),
    Experiment("slicing-scaling-rows", by_rows),
    Experiment("slicing-scaling-attributes", by_attributes),
]  # fmt: skip
