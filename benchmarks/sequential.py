"""Sequential releases, measured: every figure a ratio of two things timed in the same run.

python benchmarks/sequential.py [--quick] [--json FILE]

Adult's Set A and Set B of the paper, enlarged as the paper does: people again, with some values
drawn anew. The earlier release is read before the clock starts.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from clock import clock, run

COMMON = ["marital-status", "relationship", "sex"]
TAX = [*COMMON, "education", "occupation", "workclass"]
NUMBERS = ["age", "capital-gain", "capital-loss", "education-num", "fnlwgt", "hours-per-week"]
THERE = [*COMMON, "race", "native-country"]


def enlarge(n: int) -> pl.DataFrame:
    """People of Adult, again and again; of the copies a quarter of all values is drawn anew."""
    rng = np.random.default_rng(0)
    people = dc.datasets.adult_frame().drop_nulls()
    size = people.height
    rows = np.append(np.arange(min(n, size)), rng.integers(0, size, max(n - size, 0)))
    copies = np.arange(n) >= size
    columns = {}
    for name in dict.fromkeys([*TAX, *NUMBERS, *THERE]):
        cells = people[name].to_numpy()[rows]
        changed = copies & (rng.random(n) < 0.25)
        values = people[name].unique().sort().to_numpy()
        cells[changed] = rng.choice(values, int(changed.sum()))
        columns[name] = cells
    return pl.DataFrame({**columns, "income": people["income"].gather(rows)})


def read(frame: pl.DataFrame, known: list[str], sensitive: list[str]) -> dc.Microdata:
    trees = dc.datasets.adult_taxonomies()
    frame = frame.select([*known, *sensitive])
    schema = dc.Schema.infer(frame, quasi_identifiers=known, sensitive=sensitive)
    return dc.read(frame, schema.changed(*(replace(a, taxonomy=trees.get(a.name)) for a in schema)))


def measure_search(n: int, times: int) -> list[dict[str, Any]]:
    """The search for the cut, against sorting as many numbers."""
    frame = enlarge(n)
    keys = np.random.default_rng(0).integers(0, 2**31, n).astype(np.int32)
    plain = clock(lambda: np.argsort(keys), 3 * times)
    earlier = dc.publish(read(frame, THERE, []), dc.Generalization(dc.KAnonymity(1)))
    rare = frame["marital-status"].value_counts(sort=True)["marital-status"].to_list()[4:]
    known = [*TAX, "race", "native-country"]
    anonymity = dc.XYAnonymity(x=known, y="people", k=40)
    cases: list[tuple[str, list[str], dc.Principle]] = [
        ("anonymity, Set A", TAX, anonymity),
        ("linkability, Set A", TAX,
         dc.XYLinkability(x=TAX[1:], y=["marital-status"], k="0.9", values=rare)),
        ("anonymity, Set B", [*NUMBERS, *TAX],
         dc.XYAnonymity(x=[*NUMBERS, *known], y="people", k=40)),
    ]  # fmt: skip
    rows = []
    for what, names, principle in cases:
        data = read(frame, names, ["income"])
        method = dc.Sequential(principles=[principle], earlier=[earlier], target="income")
        history = method.read_earlier(data)
        method.specialize(data, history)
        span = clock(lambda m=method, d=data, h=history: m.specialize(d, h), times)
        rows.append({"what": what, "n": n, "seconds": span, "against": "np.argsort",
                     "ratio": span / plain})  # fmt: skip
    return rows


def measure(quick: bool) -> list[dict[str, Any]]:
    return measure_search(45_222 if quick else 1_000_000, 3)


if __name__ == "__main__":
    run(__doc__, measure)
