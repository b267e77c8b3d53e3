"""The ground, measured: every figure a ratio of two things timed in the same run.

    python benchmarks/ground.py [--quick] [--json FILE]

Medians of several runs; wall clock. Compilation is done before anything is timed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import discreet as dc
from clock import clock, run
from discreet.datasets import adult_frame, adult_taxonomies, census, census_frame
from discreet.publishing.partitioners.mondrian import mondrian

K = 10


def measure_mondrian(sizes: list[int], times: int) -> list[dict[str, Any]]:
    rows = []
    rng = np.random.default_rng(0)
    promises = {
        "k-anonymity": dc.KAnonymity(K),
        "frequency-diversity": dc.KAnonymity(K) & dc.FrequencyDiversity(3),
        "t-closeness": dc.KAnonymity(K) & dc.TCloseness(0.3),
    }
    for promise in promises.values():
        mondrian(census(2000), promise)
    for n in sizes:
        data = census(n)
        numbers = rng.integers(0, 2**31 - 1, n, dtype=np.int32)
        argsort = clock(lambda numbers=numbers: np.argsort(numbers), times)
        for name, promise in promises.items():
            span = clock(lambda data=data, promise=promise: mondrian(data, promise), times)
            groups = mondrian(data, promise).count
            rows.append(
                {"what": f"Mondrian, {name}, 8 attributes", "n": n, "seconds": span,
                 "against": "np.argsort int32", "ratio": span / argsort, "groups": groups}
            )  # fmt: skip
    return rows


END_TO_END = """
import sys, time
import numpy as np, polars as pl
import discreet as dc
from discreet.datasets import census_frame, census_schema
path, out = sys.argv[1], sys.argv[2]
schema = census_schema(census_frame(10).drop("income"), ["occupation"])
method = dc.Generalization(dc.KAnonymity(10))
def run(table, folder):
    data = dc.read(table, schema)
    dc.publish(data, method).write(folder, overwrite=True)
    return data
small = pl.read_parquet(path, n_rows=3000)
run(small, out + "-warm")
def status(field):
    line = next(l for l in open("/proc/self/status") if l.startswith(field))
    return int(line.split()[1]) * 1024
open("/proc/self/clear_refs", "w").write("5")  # forget the peak so far
before, start = status("VmRSS"), time.perf_counter()
data = run(path, out)
span, after = time.perf_counter() - start, status("VmHWM")
codes = sum(c.nbytes for c in data.codes.values())
spans = [span]
for _ in range(int(sys.argv[3]) - 1):
    start = time.perf_counter(); run(path, out); spans.append(time.perf_counter() - start)
plain = []
for _ in range(int(sys.argv[3])):
    start = time.perf_counter()
    pl.read_parquet(path).write_parquet(out + "-plain.parquet")
    plain.append(time.perf_counter() - start)
print(np.median(spans), np.median(plain), (after - before) / codes)
"""


def measure_end_to_end(n: int, times: int) -> list[dict[str, Any]]:
    """From Parquet to a written, re-verified release, against polars reading and writing it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "census.parquet"
        frame = census_frame(n).drop("income")
        enums = [name for name, kind in frame.schema.items() if isinstance(kind, pl.Enum)]
        frame.with_columns(pl.col(enums).cast(pl.String)).write_parquet(path)
        done = subprocess.run(
            [sys.executable, "-c", END_TO_END, str(path), str(Path(folder) / "out"), str(times)],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
    span, plain, memory = map(float, done.stdout.split())
    return [
        {"what": "Parquet to verified release, 8 attributes", "n": n, "seconds": span,
         "against": "polars read + write", "ratio": span / plain},
        {"what": "peak memory above baseline", "n": n, "against": "size of the codes",
         "ratio": memory},
    ]  # fmt: skip


def measure_help(times: int) -> list[dict[str, Any]]:
    command = [str(Path(sys.executable).parent / "discreet"), "--help"]
    span = clock(lambda: subprocess.run(command, capture_output=True, check=True), times)
    bare = clock(lambda: subprocess.run([sys.executable, "-c", ""], check=True), times)
    return [{"what": "discreet --help", "seconds": span, "against": "python -c ''",
             "ratio": span / bare}]  # fmt: skip


def measure_peer(times: int, peer: bool) -> list[dict[str, Any]]:
    """Adult's 30,162 complete training rows against anonypy, one NCP formula for both."""
    names = ["age", "sex", "race", "marital-status", "education", "native-country", "workclass"]
    frame = adult_frame().head(32_561).drop_nulls().select(*names, "occupation")
    rows = []
    for what, taxonomies in (("no taxonomies", {}), ("taxonomies", adult_taxonomies())):
        schema = dc.Schema.infer(frame, quasi_identifiers=names, sensitive=["occupation"])
        schema = schema.with_taxonomies({n: t for n, t in taxonomies.items() if n in schema.names})
        data = dc.read(frame, schema)
        span = clock(lambda data=data: mondrian(data, dc.KAnonymity(K)), max(times, 5))
        groups = mondrian(data, dc.KAnonymity(K))
        rows.append({"what": f"Adult, k = {K}, {what}", "n": data.n, "seconds": span,
                     "ncp": ncp(frame, names, [groups.rows(g) for g in range(groups.count)]),
                     "groups": groups.count})  # fmt: skip
    if peer:
        import anonypy

        table = frame.to_pandas()
        for name in names[1:]:
            table[name] = table[name].astype("category")
        start = time.perf_counter()
        parts = anonypy.mondrian.Mondrian(table, names, "occupation").partition(K)
        span = time.perf_counter() - start
        for row in rows:
            row["against"], row["ratio"] = "anonypy", span / row["seconds"]
            row["note"] = "times faster"
        rows.append({"what": f"Adult, k = {K}, anonypy", "n": len(table), "seconds": span,
                     "ncp": ncp(frame, names, [np.asarray(p) for p in parts]),
                     "groups": len(parts)})  # fmt: skip
    return rows


def ncp(frame: pl.DataFrame, names: list[str], groups: list[np.ndarray]) -> float:
    """Share of the other domain values that the interval or set of a group covers."""
    total = 0.0
    for name in names:
        column = frame[name].to_numpy()
        domain = np.unique(column)
        codes = np.searchsorted(domain, column)
        for rows in groups:
            inside = codes[rows]
            wide = inside.max() - inside.min() if name == "age" else len(np.unique(inside)) - 1
            total += len(rows) * wide / (len(domain) - 1)
    return total / (frame.height * len(names))


def measure(quick: bool) -> list[dict[str, Any]]:
    sizes = [5_000] if quick else [100_000, 1_000_000, 10_000_000]
    times = 1 if quick else 7
    rows = measure_mondrian(sizes, times)
    rows += measure_end_to_end(50_000 if quick else 1_000_000, times)
    rows += measure_help(times)
    return rows + measure_peer(times, peer=not quick)


if __name__ == "__main__":
    run(__doc__, measure)
