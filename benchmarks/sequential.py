"""Sequential releases, measured: every figure a ratio of two things timed in the same run.

python benchmarks/sequential.py [--quick] [--json FILE]

Adult's Set A and Set B of the paper, enlarged as the paper does: people again, with some values
drawn anew. The earlier release is read before the clock starts. Several earlier releases are held
against the same when they are joined with each other first, each way in a process of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import get_context
from resource import RUSAGE_SELF, getrusage
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from clock import clock, run
from discreet.publishing.methods.lossy_join import EarlierTable, EarlierTables, read_history
from discreet.publishing.methods.x_groups import Link

COMMON = ["marital-status", "relationship", "sex"]
TAX = [*COMMON, "education", "occupation", "workclass"]
NUMBERS = ["age", "capital-gain", "capital-loss", "education-num", "fnlwgt", "hours-per-week"]
THERE = [*COMMON, "race", "native-country"]
SEVERAL = [THERE, ["marital-status", "sex", "age"], ["sex", "occupation", "workclass"],
           ["education", "occupation", "race"]]  # fmt: skip


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


def join_first(history: EarlierTables) -> EarlierTables:
    """Make one table of earlier releases: all combinations of theirs that match each other."""
    whole, *others = history.tables
    for table in others:
        left, right = np.zeros(len(whole.weights), np.int64), np.zeros(len(table.weights), np.int64)
        met = left[:, None] == right
        for column, codes in zip(whole.columns, whole.codes, strict=True):
            for shown, numbers in zip(table.columns, table.codes, strict=True):
                if shown.name == column.name:
                    met &= column.labels.meets(shown.labels)[codes][:, numbers]
        left, right = np.nonzero(met)
        whole = EarlierTable(
            [*whole.columns, *table.columns],
            np.concatenate([whole.codes[:, left], table.codes[:, right]]),
            whole.weights[left] * table.weights[right],
        )
    return EarlierTables([whole], history.rules)


def list_groups(count: int, plain: bool) -> tuple[float, float, int, int]:
    """List X-groups: processor seconds, megabytes, combinations of earlier releases, groups."""
    frame = dc.datasets.adult_frame().drop_nulls()
    method = dc.Generalization(dc.KAnonymity(1))
    earlier = [dc.publish(read(frame, names, []), method) for names in SEVERAL[:count]]
    data = read(frame, TAX, ["income"])
    asked = dc.XYAnonymity(x=["education", "age", "native-country"], y="people", k=20)
    names = ("education",)
    codes = data.codes["education"][:, None].astype(np.int64)
    resting = getrusage(RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    history = read_history(earlier, data, asked.x, [])
    if plain:
        history = join_first(history)
    groups = Link(asked, data, history, names).list_groups(codes, codes)
    seconds = time.process_time() - start
    kept = sum(len(table.weights) for table in history.tables)
    return seconds, (getrusage(RUSAGE_SELF).ru_maxrss - resting) / 1024, kept, groups.count


def measure_several() -> Iterator[dict[str, Any]]:
    """Three earlier releases, joined first or not; and four, of which only one way is possible."""
    found = {}
    for count, plain in ((3, True), (3, False), (4, False)):
        with get_context("spawn").Pool(1) as pool:
            found[count, plain] = pool.apply(list_groups, (count, plain))
    if found[3, True][3] != found[3, False][3]:
        raise SystemExit("Groups are not those of the join.")
    for what, place in (("processor seconds", 0), ("memory", 1), ("combinations", 2)):
        three, four, plain = (found[key][place] for key in ((3, False), (4, False), (3, True)))
        yield {"what": f"three releases, joined first, {what}", "n": 45_222, "found": plain,
               "ratio": plain / three, "against": "each by itself"}  # fmt: skip
        yield {"what": f"four releases, each by itself, {what}", "n": 45_222, "found": four,
               "ratio": four / three, "against": "three"}  # fmt: skip


def measure(quick: bool) -> Iterator[dict[str, Any]]:
    yield from measure_several()  # first: a process starts with the peak of the one that starts it
    yield from measure_search(45_222 if quick else 1_000_000, 3)


if __name__ == "__main__":
    run(__doc__, measure)
