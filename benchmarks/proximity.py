"""(ε,m), measured: every figure a ratio of two things timed in the same run.

python benchmarks/proximity.py [--quick] [--json FILE]
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from clock import clock, run
from discreet.datasets import census_frame
from discreet.evaluate import count_truth, draw_ranges, estimate_counts, measure_error, measure_loss
from discreet.publishing.partitioners.proximity import split_and_deal

KNOWN = ["age", "birthplace", "occupation"]
EPSILON = 4500


def draw_people(n: int) -> dc.Microdata:
    """Three numbered quasi-identifiers and an income from 1k to 100k, as in the paper."""
    numbered = (pl.col(name).cast(pl.String).rank("dense").cast(pl.Int64) for name in KNOWN[1:])
    frame = census_frame(n + n // 4).select(*KNOWN, "income").with_columns(*numbered)
    frame = frame.filter(pl.col("income").is_between(1_000, 100_000)).head(n)
    schema = dc.Schema.infer(frame, quasi_identifiers=KNOWN, sensitive=["income"])
    return dc.read(frame, schema)


def measure_partition(data: dc.Microdata, times: int) -> list[dict[str, Any]]:
    """The whole partition, against sorting as many numbers."""
    keys = np.random.default_rng(0).integers(0, 2**62, data.n)
    plain = clock(lambda: np.argsort(keys), 3 * times)
    rows = []
    for m in range(2, 8):
        promise = dc.Proximity(EPSILON, m)
        for dealing in ("local", "round-robin"):

            def work(promise: dc.Proximity = promise, dealing: str = dealing) -> None:
                split_and_deal(data, promise, dealing=dealing)  # type: ignore[arg-type]

            work()
            span = clock(work, times)
            rows.append(
                {"what": f"(ε,m) partition, m = {m}, {dealing}", "n": data.n, "seconds": span,
                 "against": "np.argsort", "ratio": span / plain}
            )  # fmt: skip
    return rows


def measure_gain(data: dc.Microdata, count: int) -> list[dict[str, Any]]:
    """What keeping people together saves: precision, and error of counts."""
    questions = draw_ranges(data, 0.1, count, names=["age", "occupation", "income"], seed=1)
    truth = count_truth(data, questions)
    rows = []
    for m in (2, 5, 7):
        promise = dc.Proximity(EPSILON, m)
        found = []
        for method in (
            dc.Generalization(promise),
            dc.Generalization(promise, dealing="round-robin"),
        ):
            release = dc.publish(data, method)
            error = measure_error(truth, estimate_counts(release, data, questions))
            found.append((measure_loss(release, data).ncp, error))
        (ncp, error), (dealt_ncp, dealt_error) = found
        rows.append({"what": f"NCP, local dealing, m = {m}", "n": data.n, "ncp": ncp,
                     "against": "round robin", "ratio": ncp / dealt_ncp})  # fmt: skip
        rows.append({"what": f"error of counts, local dealing, m = {m}", "n": data.n,
                     "against": "round robin", "ratio": error / dealt_error})  # fmt: skip
    return rows


def measure_tradeoff(data: dc.Microdata, times: int) -> list[dict[str, Any]]:
    """Both curves of which (ε,m) can be kept."""

    def work() -> None:
        dc.tradeoff(data).to_dict()

    return [{"what": "trade-off curves", "n": data.n, "seconds": clock(work, times)}]


def measure(quick: bool) -> list[dict[str, Any]]:
    data, times = draw_people(20_000 if quick else 500_000), 3 if quick else 7
    rows = measure_partition(data, times) + measure_tradeoff(data, times)
    return rows + measure_gain(draw_people(5_000 if quick else 100_000), 100 if quick else 500)


if __name__ == "__main__":
    run(__doc__, measure)
