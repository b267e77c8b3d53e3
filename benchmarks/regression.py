"""Regression, measured: what fits from a release say, of tables whose coefficients are known.

python benchmarks/regression.py [--quick] [--json FILE]

Tables are drawn from a model, published, and fitted. ``covered`` is how often the 95 % interval
holds the coefficient of the model, and how often that of the microdata's own fit does; ``ratio`` is
the mean estimate to it, ``naive`` the same of a fit to records completed at random, ``wider`` the
standard error to that of the microdata's fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from clock import run
from discreet.publishing.method import Method

SLOPE, MALE = 40.0, 500.0
DIVERSE = dc.FrequencyDiversity(4)
NUMBERS: dict[str, Method] = {
    "generalization, k = 10": dc.Generalization(dc.KAnonymity(10)),
    "generalization, k = 50": dc.Generalization(dc.KAnonymity(50)),
    "angelization, l = 4, k = 10": dc.Angelization(DIVERSE, k=10),
    "anatomy, l = 4, random batches": dc.Anatomy(DIVERSE, batches="anatomize"),
    "permutation, k = 10, e = 500": dc.Permutation(dc.KE(10, 500)),
    "permutation, k = 10, e = 2000": dc.Permutation(dc.KE(10, 2000)),
    "permutation, random groups": dc.Permutation(dc.KE(10, 500), objective="random"),
    "rank swapping, k = 10, e = 500": dc.RankSwapping(dc.KE(10, 500)),
    "rank swapping, k = 10, e = 2000": dc.RankSwapping(dc.KE(10, 2000)),
    "perturbation": dc.Perturbation(dc.Proximity(100, 2), within=(0, 9999), check="paper"),
}
HARDEST = ("generalization, k = 50", "anatomy, l = 4, random batches",
           "permutation, k = 10, e = 2000", "permutation, random groups")  # fmt: skip
"""Which lose most, and lean on residuals being normal."""
BLURRED = ("generalization, k = 10", "generalization, k = 50", "angelization, l = 4, k = 10")
"""Whose quasi-identifiers are explained, too."""
FLAGS: dict[str, Method] = {
    "generalization, k = 10": dc.Generalization(dc.KAnonymity(10)),
    "generalization, k = 50": dc.Generalization(dc.KAnonymity(50)),
    "angelization, k = 10": dc.Angelization(dc.FrequencyDiversity("4/3"), k=10),
    "anatomy, random batches": dc.Anatomy(dc.FrequencyDiversity("4/3"), batches="anatomize"),
}


def draw_people(n: int, residuals: str, rng: np.random.Generator) -> pl.DataFrame:
    """Draw a table: pay depends on age and sex, and so do the odds of high."""
    age = rng.integers(20, 70, n)
    male = rng.random(n) < 0.4 + age / 350
    region = rng.integers(0, 5, n)
    noise = rng.standard_normal(n) if residuals == "normal" else rng.exponential(1, n) - 1
    pay = np.clip(1000 + SLOPE * age + MALE * male + 600 * noise, 0, 9999)
    odds = 1 / (1 + np.exp(-(-3.5 + 0.06 * age + 0.8 * male)))
    return pl.DataFrame({
        "age": age, "sex": np.where(male, "male", "female"), "region": region.astype(str),
        "pay": np.round(pay).astype(np.int64), "high": rng.random(n) < odds,
    })  # fmt: skip


def fit_microdata(frame: pl.DataFrame, response: str) -> tuple[np.ndarray, np.ndarray]:
    """Fit the microdata; give the coefficients and their standard errors."""
    regressor = "pay" if response == "age" else "age"
    columns = [np.ones(frame.height), frame[regressor], frame["sex"] == "male"]
    design = np.column_stack(columns).astype(float)
    explained = frame[response].to_numpy().astype(float)
    if response == "high":
        found = np.zeros(3)
        for _ in range(25):
            odds = 1 / (1 + np.exp(-design @ found))
            inverse = np.linalg.inv((design * (odds * (1 - odds))[:, None]).T @ design)
            found = found + inverse @ design.T @ (explained - odds)
        return found, np.sqrt(np.diag(inverse))
    inverse = np.linalg.inv(design.T @ design)
    found = inverse @ design.T @ explained
    scores = design * (explained - design @ found)[:, None]
    return found, np.sqrt(np.diag(inverse @ (scores.T @ scores) @ inverse))


def measure(
    title: str, method: Method, n: int, times: int, residuals: str, response: str
) -> dict[str, Any]:
    """Publish and fit so many tables."""
    sensitive = "high" if response == "high" else "pay"
    regressor = "pay" if response == "age" else "age"
    many = draw_people(1_000_000, residuals, np.random.default_rng(10**6))
    truth = fit_microdata(many, response)[0]
    found = []
    for seed in range(times):
        frame = draw_people(n, residuals, np.random.default_rng(seed))
        frame = frame.select("age", "sex", "region", sensitive)
        known = ["age", "sex", "region"]
        schema = dc.Schema.infer(frame, quasi_identifiers=known, sensitive=[sensitive])
        release = dc.publish(dc.read(frame, schema), method, insecure_seed=seed)
        fit = release.regress(f"{response} ~ {regressor} + sex", seed=seed).frame
        inside = (fit["low"].to_numpy() <= truth) & (truth <= fit["high"].to_numpy())
        own, errors = fit_microdata(frame, response)
        naive = fit_microdata(release.impute(1, seed=seed)[0], response)[0]
        found.append({
            "covered": inside[1], "covered, sex": inside[2],
            "covered by the microdata": abs(own[1] - truth[1]) <= 1.96 * errors[1],
            "ratio": fit["estimate"][1] / truth[1], "naive": naive[1] / truth[1],
            "wider": fit["stderr"][1] / errors[1],
        })  # fmt: skip
    means = {name: float(np.mean([row[name] for row in found])) for name in found[0]}
    what = f"{response} ~ {regressor} + sex, {residuals}: {title}"
    return {"what": what, "n": n, "tables": times, **means, "against": "the model's"}


def measure_all(quick: bool) -> Iterator[dict[str, Any]]:
    """Every form, with residuals that are as assumed, and skewed ones."""
    n, times = (300, 2) if quick else (1000, 40)
    for title, method in NUMBERS.items():
        yield measure(title, method, n, times, "normal", "pay")
    for title in HARDEST:
        yield measure(title, NUMBERS[title], n, times, "skewed", "pay")
    for title in BLURRED:
        yield measure(title, NUMBERS[title], n, times, "normal", "age")
    for title, method in FLAGS.items():
        yield measure(title, method, n, times, "binomial", "high")


if __name__ == "__main__":
    run(__doc__, measure_all)
