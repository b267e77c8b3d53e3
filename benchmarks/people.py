"""People, measured: several rows of one person, several sensitive attributes, suppression.

python benchmarks/people.py [--quick] [--json FILE]

Each against the same work without it, in the same run: a table of visits against the same rows
taken for people, two sensitive attributes against one, one in a hundred suppressed against nobody.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from clock import clock, run
from discreet.publishing.method import Method

EACH = 4
"""Rows per person, on average."""


def draw_visits(rows: int) -> pl.DataFrame:
    """Draw people of a census, each with one to seven visits, and what was found at each."""
    rng = np.random.default_rng(0)
    people = dc.datasets.census(rows // EACH, sensitive="occupation").to_polars()
    visits = rng.integers(1, 2 * EACH, rows // EACH)
    who = np.repeat(np.arange(rows // EACH), visits)
    found = rng.integers(0, 400, len(who))
    return people[who].with_columns(pid=pl.Series(who), found=pl.Series(found).cast(pl.String))


def read_visits(rows: int) -> tuple[dc.Microdata, dc.Microdata]:
    """Read the same visits with their key, and as if rows were people."""
    frame = draw_visits(rows)
    known = ["age", "sex", "education"]
    known = [name for name in known if name in frame.columns]
    schema = dc.Schema.infer(frame, quasi_identifiers=known, sensitive=["found"], person="pid")
    return dc.read(frame, schema), dc.read(frame, replace(schema, people=dc.PeopleKey()).of_rows)


def weigh(
    what: str, n: int, plain: tuple[dc.Microdata, Method], more: tuple[dc.Microdata, Method]
) -> dict[str, Any]:
    """Publish both, in turns, and give the ratio."""
    pairs = []
    for data, method in (plain, more):
        dc.publish(data.head(2000), method, insecure_seed=0)  # compile
    for _ in range(3):
        pairs.append([clock(lambda d=d, m=m: dc.publish(d, m, insecure_seed=0), 1)  # type: ignore[misc]
                      for d, m in (plain, more)])  # fmt: skip
    before, after = np.median(pairs, axis=0)
    return {"what": what, "n": n, "seconds": float(after), "ratio": float(after / before),
            "against": "without"}  # fmt: skip


def measure_key(n: int) -> list[dict[str, Any]]:
    """Groups of ten people, by several methods; and the audit."""
    keyed, rows = read_visits(n)
    weak = dc.FrequencyDiversity(2)
    methods = {
        "generalization, k = 10": dc.Generalization(dc.KAnonymity(10)),
        "generalization, k = 10, l = 2": dc.Generalization(dc.KAnonymity(10) & weak),
        "angelization, l = 2": dc.Angelization(weak, k=10),
        "slicing, l = 2": dc.Slicing(weak),
    }
    found = [weigh(f"key: {name}", rows.n, (rows, m), (keyed, m)) for name, m in methods.items()]
    release = {}
    for name, data in (("rows", rows), ("people", keyed)):
        release[name] = dc.publish(data, methods["generalization, k = 10"])
        dc.audit(release[name], data)
    before = clock(lambda: dc.audit(release["rows"], rows), 1)
    after = clock(lambda: dc.audit(release["people"], keyed), 1)
    return [*found, {"what": "key: audit", "n": rows.n, "seconds": after, "ratio": after / before,
                     "against": "without"}]  # fmt: skip


def measure_sensitive(n: int) -> list[dict[str, Any]]:
    """Two sensitive attributes, by every method that takes categories, or numbers."""
    frame = dc.datasets.census(n, sensitive="occupation").to_polars()
    frame = frame.with_columns(
        pay=pl.Series(np.random.default_rng(1).integers(0, 5000, n)),
        rent=pl.Series(np.random.default_rng(2).integers(0, 5000, n)),
        second=frame["occupation"].shuffle(seed=3),
    )
    known = [name for name in ("age", "sex", "education") if name in frame.columns]

    def read(*told: str) -> dc.Microdata:
        return dc.read(frame, dc.Schema.infer(frame, quasi_identifiers=known, sensitive=[*told]))

    words = read("occupation"), read("occupation", "second")
    numbers = read("pay"), read("pay", "rent")
    diverse = dc.FrequencyDiversity(3)
    methods: dict[str, tuple[tuple[dc.Microdata, dc.Microdata], Method]] = {
        "generalization": (words, dc.Generalization(diverse)),
        "slicing": (words, dc.Slicing(diverse)),
        "angelization": (words, dc.Angelization(diverse, batches="mondrian")),
        "permutation": (numbers, dc.Permutation(dc.KE(5, 100))),
    }
    return [
        weigh(f"two sensitive: {name}", n, (one, method), (two, method))
        for name, ((one, two), method) in methods.items()
    ]


def measure_suppression(n: int) -> list[dict[str, Any]]:
    """One in a hundred people may be suppressed."""
    data = dc.datasets.census(n, sensitive="occupation")
    found = []
    crowd = dc.KAnonymity(10)
    promises = {"k = 10": crowd, "k = 10, l = 4": crowd & dc.FrequencyDiversity(4)}
    for name, promise in promises.items():
        plain = dc.Generalization(promise)
        found.append(weigh(f"suppression: generalization, {name}", n, (data, plain),
                           (data, replace(plain, suppress="0.01"))))  # fmt: skip
    aged = data.schema.published.with_taxonomies({"age": dc.Intervals((5, 10, 20, 40))})
    names = [name for name in ("age", "sex", "education", "occupation") if name in aged.names]
    levels = dc.read(data.to_polars(), aged.only(names))
    full = dc.FullDomain(dc.KAnonymity(10))
    found.append(weigh("suppression: full-domain, k = 10", n, (levels, full),
                       (levels, replace(full, suppress="0.01"))))  # fmt: skip
    for share in (0, "0.01"):
        release = dc.publish(levels, replace(full, suppress=share))
        found.append({"what": f"full-domain, suppress = {share}", "n": n,
                      "ncp": dc.evaluate.measure_loss(release, levels).ncp})  # fmt: skip
    return found


def measure(quick: bool) -> list[dict[str, Any]]:
    """All of it."""
    n = 20_000 if quick else 1_000_000
    return [*measure_key(n), *measure_sensitive(n), *measure_suppression(n)]


if __name__ == "__main__":
    run(__doc__, measure)
