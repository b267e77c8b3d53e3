"""Regression, measured: what fits from a release say, of tables whose coefficients are known.

python benchmarks/regression.py [--quick] [--json FILE]

Tables are drawn from a model, published, and fitted. ``covered`` is how often the 95 % interval
holds the coefficient of the model, ``ratio`` the mean estimate to it, ``naive`` the same of a fit
to records completed at random, ``wider`` the mean standard error to that of the microdata's fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from clock import run
from discreet.publishing.method import Method

SLOPE, MALE = 40.0, 500.0
NUMBERS: dict[str, Method] = {
    "generalization, k = 10": dc.Generalization(dc.KAnonymity(10)),
    "generalization, k = 50": dc.Generalization(dc.KAnonymity(50)),
    "angelization, l = 4, k = 10": dc.Angelization(dc.FrequencyDiversity(4), k=10),
    "anatomy, l = 4": dc.Anatomy(dc.FrequencyDiversity(4)),
    "permutation, k = 10, e = 500": dc.Permutation(dc.KE(10, 500)),
    "permutation, k = 10, e = 2000": dc.Permutation(dc.KE(10, 2000)),
    "rank swapping, k = 10, e = 500": dc.RankSwapping(dc.KE(10, 500)),
    "perturbation": dc.Perturbation(dc.Proximity(epsilon=100, m=2), within=(0, 9999)),
}
FLAGS: dict[str, Method] = {
    "generalization, k = 10": dc.Generalization(dc.KAnonymity(10)),
    "generalization, k = 50": dc.Generalization(dc.KAnonymity(50)),
    "angelization, l = 2, k = 10": dc.Angelization(dc.FrequencyDiversity("4/3"), k=10),
    "anatomy": dc.Anatomy(dc.FrequencyDiversity("4/3")),
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


def fit_numbers(frame: pl.DataFrame) -> tuple[float, float]:
    """Fit the microdata; give the slope of age and its standard error."""
    design = np.column_stack([np.ones(frame.height), frame["age"], frame["sex"] == "male"])
    design, pay = design.astype(float), frame["pay"].to_numpy().astype(float)
    inverse = np.linalg.inv(design.T @ design)
    found = inverse @ design.T @ pay
    residual = pay - design @ found
    return float(found[1]), float(np.sqrt(inverse[1, 1] * residual.var()))


def measure(
    title: str, method: Method, n: int, times: int, residuals: str, response: str
) -> dict[str, Any]:
    """Publish and fit so many tables."""
    truth = {"pay": (SLOPE, MALE), "high": (0.06, 0.8)}[response]
    found, naive, wider, covered, male = [], [], [], [], []
    for seed in range(times):
        frame = draw_people(n, residuals, np.random.default_rng(seed))
        frame = frame.drop("high" if response == "pay" else "pay")
        known = ["age", "sex", "region"]
        schema = dc.Schema.infer(frame, quasi_identifiers=known, sensitive=[response])
        release = dc.publish(dc.read(frame, schema), method, insecure_seed=seed)
        fit = release.regress(f"{response} ~ age + sex", seed=seed)
        rows = fit.frame.rows(named=True)
        found.append(rows[1]["estimate"])
        covered.append(rows[1]["low"] <= truth[0] <= rows[1]["high"])
        male.append(rows[2]["low"] <= truth[1] <= rows[2]["high"])
        if response == "pay":
            wider.append(rows[1]["stderr"] / fit_numbers(frame)[1])
            naive.append(fit_numbers(release.impute(1, seed=seed)[0])[0])
    row = {
        "what": f"{response} ~ age + sex, {residuals} residuals: {title}", "n": n, "tables": times,
        "covered": float(np.mean(covered)), "covered, sex": float(np.mean(male)),
        "ratio": float(np.mean(found)) / truth[0],
    }  # fmt: skip
    if wider:
        row |= {"naive": float(np.mean(naive)) / truth[0], "wider": float(np.mean(wider))}
    print({k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()}, flush=True)
    return row


def measure_all(quick: bool) -> list[dict[str, Any]]:
    """Every form, with residuals that are as assumed, and skewed ones."""
    n, times = (300, 3) if quick else (1000, 100)
    rows = []
    for residuals in ("normal",) if quick else ("normal", "skewed"):
        for title, method in NUMBERS.items():
            rows.append(measure(title, method, n, times, residuals, "pay"))
    for title, method in FLAGS.items():
        rows.append(measure(title, method, n, times, "binomial", "high"))
    return rows


if __name__ == "__main__":
    run(lambda quick: measure_all(quick))
