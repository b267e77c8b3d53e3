"""Noise, measured: errors of counts under differential privacy, beside groups; and what it takes.

python benchmarks/noise.py [--quick] [--json FILE]

The same questions are put to all releases of Adult, about three attributes each. Publishing and
answering are held against anatomy, which publishes and answers the same.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import Any

import discreet as dc
from clock import clock, run
from discreet.evaluate.questions import answer_questions, draw_questions
from discreet.publishing.method import Method


def list_methods(names: list[str]) -> dict[str, Method]:
    """Noise by three ε and two choices of marginals, and groups by four l."""
    pairs = list(combinations(names, 2))
    found: dict[str, Method] = {}
    for epsilon in ("0.1", "1", "10"):
        promise = dc.DifferentialPrivacy(epsilon)
        found[f"noisy marginals, ε = {epsilon}"] = dc.NoisyMarginals(promise)
        found[f"noisy marginals, ε = {epsilon}, all pairs"] = dc.NoisyMarginals(promise, pairs)
    for l in (2, 3, 4, 5):  # noqa: E741
        found[f"anatomy, l = {l}"] = dc.Anatomy(dc.FrequencyDiversity(l))
        found[f"generalization, l = {l}"] = dc.Generalization(dc.FrequencyDiversity(l))
    return found


def measure(quick: bool) -> list[dict[str, Any]]:
    """Publish by each method, ask, and hold both times against those of anatomy."""
    adult = dc.datasets.adult(sensitive="occupation")
    ages = replace(adult.schema["age"], low=17, high=90)
    data = dc.read(adult.to_polars(), adult.schema.published.changed(ages))
    data = data.head(2000) if quick else data
    asked = draw_questions(data, 40 if quick else 400, seed=1)
    times, rows = 1 if quick else 3, []
    for name, method in list_methods(data.schema.names).items():
        publish = clock(lambda m=method: dc.publish(data, m, insecure_seed=1), times)  # type: ignore[misc]
        release = dc.publish(data, method, insecure_seed=1)
        answer_questions(release, data, asked)  # compiled, and read
        answer = clock(lambda r=release: answer_questions(r, data, asked), times)  # type: ignore[misc]
        errors, _ = answer_questions(release, data, asked)
        rows.append({"what": name, "n": data.n, "publish": publish, "seconds": publish + answer,
                     "mean": errors["count"].mean, "median": errors["count"].median})  # fmt: skip
    held = next(row for row in rows if row["what"] == "anatomy, l = 3")
    for row in rows:
        row["ratio"] = row["seconds"] / held["seconds"]
        row["against"] = f"anatomy; error {row['mean']:.1%}, median {row['median']:.1%}"
    return rows


if __name__ == "__main__":
    run(__doc__, measure)
