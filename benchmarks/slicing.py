"""Slicing, measured: every figure a ratio of two things timed in the same run.

python benchmarks/slicing.py [--quick] [--json FILE]
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import discreet as dc
from clock import clock, run
from discreet.publishing.partitioners.columns import correlate
from discreet.publishing.partitioners.slices import partition_as_printed, slice_people

COLUMN = ["sex", "occupation"]


def measure_partition(data: dc.Microdata, what: str, times: int) -> list[dict[str, Any]]:
    """The buckets for two columns, against sorting as many numbers."""
    keys = np.random.default_rng(0).integers(0, 2**31, data.n).astype(np.int32)
    plain = clock(lambda: np.argsort(keys), 3 * times)
    promise = dc.FrequencyDiversity(3)
    others = [name for name in data.quasi_identifiers if name not in COLUMN]

    def safe() -> None:
        slice_people(data, promise, [COLUMN])

    def printed() -> None:
        partition_as_printed(data, promise, [others, COLUMN])

    rows = []

    def close() -> None:
        slice_people(data, dc.TCloseness(0.4), [COLUMN])

    for check, work in (("safe", safe), ("safe, t-closeness", close), ("paper", printed)):
        work()
        span = clock(work, times)
        rows.append({"what": f"buckets, {what}, check = {check}", "n": data.n, "seconds": span,
                     "against": "np.argsort", "ratio": span / plain})  # fmt: skip
    return rows


def measure_correlations(data: dc.Microdata, times: int) -> list[dict[str, Any]]:
    """φ² of all pairs."""
    names = len(data.quasi_identifiers) + 1
    span = clock(lambda: correlate(data), times)
    return [{"what": f"correlations of {names} attributes", "n": data.n, "seconds": span}]


def measure_ratings(users: int, times: int) -> list[dict[str, Any]]:
    """From ratings of 500 items to a release: agreement, columns, buckets, shuffles."""
    data = dc.read_ratings(dc.datasets.ratings_frame(users, 500))
    method = dc.Slicing(dc.KAnonymity(20), columns=50, similarity="agreement")
    dc.publish(data.taken(np.arange(100)), method)
    span = clock(lambda: dc.publish(data, method), times)
    return [{"what": "ratings of 500 items, sliced", "n": data.n, "seconds": span}]


def measure_questions(data: dc.Microdata, times: int) -> list[dict[str, Any]]:
    """A question about three columns, of which two share an attribute, against one that do not."""
    rest = ["race", "workclass", "native-country", "marital-status"]
    apart = [["age", "sex", *rest], ["education"], ["occupation"]]
    shared = [apart[0], ["sex", "education"], ["occupation"]]
    asked = ("COUNT(*)", "AVG(age)")
    where = "age < 40 AND education = 'Masters' AND occupation = 'Sales'"
    spans: dict[str, list[float]] = {}
    for name, columns in (("apart", apart), ("shared", shared)):
        method = dc.Slicing(dc.FrequencyDiversity(3), columns=columns)
        with dc.publish(data, method).prepare() as prepared:
            for what in asked:
                sql = f"SELECT {what} FROM release WHERE {where}"
                prepared.query(sql)
                spans.setdefault(name, []).append(clock(partial(prepared.query, sql), 3 * times))
    return [
        {"what": f"{what} of three columns, two share sex", "n": data.n, "seconds": one,
         "against": "the same, none shares any", "ratio": one / other}
        for what, one, other in zip(asked, spans["shared"], spans["apart"], strict=True)
    ]  # fmt: skip


def measure(quick: bool) -> list[dict[str, Any]]:
    times = 3 if quick else 7
    large = dc.datasets.census(20_000 if quick else 1_000_000)
    rows = measure_partition(dc.datasets.adult(sensitive="occupation"), "Adult", times)
    rows += measure_partition(large, "census", 3)
    rows += measure_correlations(large, 3)
    rows += measure_questions(dc.datasets.adult(sensitive="occupation"), times)
    return rows + measure_ratings(1_000 if quick else 20_000, 3)


if __name__ == "__main__":
    run(__doc__, measure)
