"""Tables that change, measured: republication and the ledger that knows people.

A tenth of the people of every version are new. Every figure is a ratio of two things timed in the
same run, or a share.

python benchmarks/living.py [--quick] [--json FILE]
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from clock import clock, run
from discreet.evaluate import count_truth, draw_workload, estimate_counts
from discreet.evaluate.workload import measure_error
from discreet.publishing.methods.signing import SigningMethod

M, TURNOVER, VERSIONS = 4, 10, 20
METHOD = dc.Republication(dc.MInvariance(M))
BATCHED = dc.InvariantAngelization(dc.MInvariance(M))
NEAR = dc.Republication(dc.MInvariance(M, epsilon=2000))
"""Of incomes in thousands."""


def read(frame: pl.DataFrame) -> dc.Microdata:
    known = [name for name in frame.columns if name not in ("pid", "told")]
    schema = dc.Schema.infer(
        frame.head(20_000), quasi_identifiers=known, sensitive=["told"], identifiers=["pid"]
    )
    return dc.read(frame, schema, person="pid")


def number(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_row_index("pid").with_columns(pl.col("pid").cast(pl.String))


def measure_ledger(n: int) -> Iterable[dict[str, Any]]:
    """Publish two versions of a census under a ledger."""
    people = dc.datasets.census(n + n // TURNOVER, sensitive=["occupation"]).to_polars()
    frame = number(people.select("age", "sex", "education", told="occupation"))
    first, later = read(frame.head(n)), read(frame.tail(n))
    small = read(frame.head(5_000))
    dc.publish(small, METHOD)  # compiled before
    with tempfile.TemporaryDirectory() as folder:
        ledger = dc.Ledger.init(Path(folder) / "book", "census")
        ledger.publish(dc.publish(first, METHOD), first, Path(folder) / "first",
                       signed=METHOD.sign(first), examine=lambda *_: None)  # fmt: skip
        ledger = dc.Ledger(Path(folder) / "book")
        anew = clock(lambda: dc.publish(later, METHOD), 1)
        plain = clock(lambda: dc.publish(later, dc.Generalization(dc.FrequencyDiversity(M))), 1)
        method = ledger.prepare(METHOD, later)
        made: list[dc.Release] = []
        again = clock(lambda: made.append(dc.publish(later, method)), 1)
        signed = method.sign(later)
        checked = clock(lambda: ledger.check(made[0], later, signed), 1)
    yield {"what": "republication, a tenth of the people new", "n": n, "seconds": again,
           "ratio": again / anew, "against": "publishing anew"}  # fmt: skip
    yield {"what": "republication anew", "n": n, "seconds": anew,
           "ratio": anew / plain, "against": "generalization, the same bound"}  # fmt: skip
    yield {"what": "ledger's check of a second version", "n": n, "seconds": checked,
           "ratio": checked / again, "against": "publishing it"}  # fmt: skip


def measure_versions(
    people: pl.DataFrame, n: int, versions: int, wanted: SigningMethod
) -> Iterable[dict[str, Any]]:
    """Publish version after version of a table, and ask the first and the last."""
    rng = np.random.default_rng(1)
    here = people.head(n)
    history, fakes, errors = None, [], []
    for version in range(versions):
        data = read(here)
        method = wanted if history is None else wanted.remember(history)
        release, signed = dc.publish(data, method), method.sign(data)
        history = signed if history is None else history.followed(signed)
        fakes.append(release.views[0].nobodys)
        if version in (0, versions - 1):
            workload = draw_workload(data, 0.05, 1000)
            truth = count_truth(data, workload)
            errors.append(measure_error(truth, estimate_counts(release, data, workload)))
        # who comes is like somebody else, and was never here
        stay = rng.permutation(n)[n // TURNOVER :]
        new = people[rng.integers(0, people.height, n - len(stay))].with_columns(
            pid=pl.Series([f"{version}-{i}" for i in range(n - len(stay))]))  # fmt: skip
        here = pl.concat([here[np.sort(stay)], new])
    what = f"{wanted.title}, {wanted.principle}"
    yield {"what": f"{what}: counterfeits, mean of {versions} versions", "n": n,
           "ratio": float(np.mean(fakes)) / n, "against": "the people"}  # fmt: skip
    yield {"what": f"{what}: counterfeits, most", "n": n, "ratio": max(fakes) / n,
           "against": "the people"}  # fmt: skip
    yield {"what": f"{what}: error of counts, version {versions}", "n": n,
           "ratio": errors[1] / errors[0], "against": "that of version 1"}  # fmt: skip


def measure(quick: bool) -> Iterable[dict[str, Any]]:
    """Measure versions of Adult, then ledgers of larger and larger tables."""
    n, versions = (5_000, 4) if quick else (45_000, VERSIONS)
    adult = dc.datasets.adult(sensitive="occupation").to_polars().rename({"occupation": "told"})
    yield from measure_versions(number(adult), n, versions, METHOD)
    yield from measure_versions(number(adult), n, versions, BATCHED)
    census = dc.datasets.census(n, sensitive=["income"]).to_polars()
    thousands = (pl.col("income") / 1000).round().cast(pl.Int64) * 1000
    incomes = census.select("age", "sex", "education", told=thousands)
    yield from measure_versions(number(incomes), n, versions, NEAR)
    for n in (5_000,) if quick else (100_000, 1_000_000):
        yield from measure_ledger(n)


if __name__ == "__main__":
    run(__doc__, measure)
