"""Angelization, measured: every figure a ratio of two things timed in the same run.

python benchmarks/angel.py [--quick] [--json FILE]
"""

from __future__ import annotations

from typing import Any

import numpy as np

import discreet as dc
from clock import clock, run
from discreet.evaluate import count_truth, draw_workload, estimate_counts

NAMES = ["age", "sex", "education", "marital", "workclass"]


def people(n: int) -> dc.Microdata:
    """The paper's shape: five quasi-identifiers and an occupation."""
    data = dc.datasets.census(n)
    kept = [*NAMES, "occupation"]
    return dc.read(data.to_polars().select(kept), data.schema.only(kept))


def measure_publishing(n: int, times: int) -> list[dict[str, Any]]:
    """A whole release, tables and all, against as many k-anonymous releases by Mondrian."""
    data, principle = people(n), dc.FrequencyDiversity(8)
    one = clock(lambda: dc.publish(data, dc.Generalization(dc.KAnonymity(10))), times)
    rows = []
    marginals = [NAMES, NAMES[:2], NAMES[1:4], NAMES[2:5]]
    for g in (1, 4):
        for batches in ("direct", "mondrian"):
            method = dc.Angelization(principle, marginals=marginals[:g], batches=batches)  # type: ignore[arg-type]
            dc.publish(data, method)
            span = clock(lambda: dc.publish(data, method), times)  # noqa: B023
            rows.append({"what": f"angelization, {g} marginals, {batches} batches", "n": n,
                         "seconds": span, "against": f"{g + 1} Mondrian releases (k = 10)",
                         "ratio": span / one / (g + 1)})  # fmt: skip
    return rows


def measure_workload(n: int, times: int) -> list[dict[str, Any]]:
    """1,000 counts over six attributes: the truth, and the release's answers."""
    data = people(n)
    release = dc.publish(data, dc.Angelization(dc.FrequencyDiversity(8)))
    workload = draw_workload(data, 0.05, 1000)
    plain = clock(lambda: np.sort(data.codes["age"]), 7)
    rows = []
    for what, work in (
        ("1,000 counts, from a release", lambda: estimate_counts(release, data, workload)),
        ("1,000 counts, the truth", lambda: count_truth(data, workload)),
    ):
        work()
        span = clock(work, times)
        rows.append({"what": what, "n": n, "seconds": span, "against": "np.sort of a column",
                     "ratio": span / plain})  # fmt: skip
    return rows


def measure(quick: bool) -> list[dict[str, Any]]:
    n, times = (20_000, 3) if quick else (300_000, 5)
    return measure_publishing(n, times) + measure_workload(n, times)


if __name__ == "__main__":
    run(__doc__, measure)
