"""Permutation, measured: every figure a ratio of two things timed in the same run.

python benchmarks/permutation.py [--quick] [--json FILE]
"""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import polars as pl
from numba import njit

import discreet as dc
from clock import clock, run
from discreet.datasets import census_frame, census_schema
from discreet.experiments.permutation_time import copy_tables
from discreet.forms.asking import rewrite
from discreet.forms.permuted.index import split_conditions
from discreet.kernels.bounds import bound_groups
from discreet.publishing.partitioners.sorted_runs import cut_runs, interlock_runs
from discreet.sql.planning import plan_question

QUESTION = "SELECT SUM(income) FROM release WHERE age BETWEEN 35 AND 55 AND sex = 'female'"


def measure_runs(n: int, times: int) -> list[dict[str, Any]]:
    """Sorting the values and cutting them optimally, against sorting them."""
    values = np.random.default_rng(0).lognormal(10, 1, n).astype(np.int64)
    plain = clock(lambda: np.sort(values), times)
    rows = []
    for objective in ("sum", "max", "groups"):

        def work(objective: str = objective) -> None:
            xs = np.sort(values)
            cut_runs(xs, 10, 100, objective)  # type: ignore[arg-type]

        work()
        span = clock(work, times)
        rows.append({"what": f"(k,e) partition, {objective}, with sorting", "n": n,
                     "seconds": span, "against": "np.sort", "ratio": span / plain})  # fmt: skip
    return rows


def measure_overlapping(n: int, times: int) -> list[dict[str, Any]]:
    """The exact overlapping optimum on the columns found hardest for it, against sorting them."""
    rng = np.random.default_rng(1)
    hard = {"even, e = 0.4 n, k = 10": (np.arange(n), 10, 2 * n // 5)}
    for k in (4, 10, 50, 100):
        # pieces of a few groups each, far apart, every one with another optimum
        pieces = n // (3 * k)
        inside = rng.integers(0, 1000 * k, (pieces, 3 * k))
        column = (np.arange(pieces)[:, None] * 10**5 * k + inside).ravel()
        hard[f"pieces of 3k, k = {k}"] = (column, k, 500)
    rows = []
    for what, (values, k, e) in hard.items():
        xs = np.sort(values)
        interlock_runs(xs, k, e)
        span = clock(lambda: interlock_runs(xs, k, e), times)  # noqa: B023
        plain = clock(lambda: np.sort(values), times)  # noqa: B023
        rows.append({"what": f"max-overlapping, {what}", "n": len(xs), "seconds": span,
                     "against": "np.sort", "ratio": span / plain})  # fmt: skip
    return rows


def measure_query(n: int, times: int) -> list[dict[str, Any]]:
    """The rewritten statement against the plain one on the original, both in DuckDB."""
    # distinct incomes, so that groups of ten distinct values are groups of ten people
    frame = census_frame(n).with_columns(income=pl.int_range(n).shuffle(1))
    data = dc.read(frame, census_schema(frame, ["income"]))
    release = dc.publish(data, dc.Permutation(dc.KE(10, 0), objective="groups"), insecure_seed=1)
    rewritten = rewrite(release, QUESTION).tree.sql(dialect="duckdb", identify=True)
    with duckdb.connect() as connection:
        copy_tables(connection, {"release": data.to_polars(), **release.tables})
        plain = clock(lambda: connection.execute(QUESTION).fetchall(), times)
        span = clock(lambda: connection.execute(rewritten).fetchall(), times)
    groups = release.tables["permuted"]["group"].n_unique()
    rows = [{"what": f"rewritten SUM, groups of {n / groups:.0f}", "n": n, "seconds": span,
             "against": "the plain query", "ratio": span / plain}]  # fmt: skip
    return rows + measure_prepared(release, span, times)


def measure_prepared(release: dc.Release, rewritten: float, times: int) -> list[dict[str, Any]]:
    """The walk over codes against a plain aggregate over the same codes, both in numba."""
    n = release.tables["permuted"].height
    with release.prepare() as prepared:
        prepared.query(QUESTION)
        whole = clock(lambda: prepared.query(QUESTION), times)
        index = prepared._index
        assert index is not None
        conditions = split_conditions(plan_question(QUESTION, release.schema).questions[0])
        assert conditions is not None
        values = index.table["income"].to_numpy()

        def walk() -> None:
            chosen = index.choose(conditions)
            bound_groups(chosen, index.starts, index.numbers, index.prefix, *index.moments)

        add_chosen(index.choose(conditions), values)
        plain = clock(lambda: add_chosen(index.choose(conditions), values), times)
        span = clock(walk, times)
    return [{"what": "prepared SUM, bounds from codes", "n": n, "seconds": span,
             "against": "the plain aggregate in numba", "ratio": span / plain},
            {"what": "prepared SUM, whole question from its text", "n": n, "seconds": whole,
             "against": "the rewritten one in DuckDB", "ratio": whole / rewritten}]  # fmt: skip


@njit
def add_chosen(chosen: Any, values: Any) -> Any:
    """Sum the numbers of the rows chosen."""
    total = 0
    for i in range(values.shape[0]):
        if chosen[i]:
            total += values[i]
    return total


def measure(quick: bool) -> list[dict[str, Any]]:
    times, n = (1, 2_000) if quick else (7, 1_000_000)
    rows = measure_runs(5_000 if quick else 10_000_000, times)
    return rows + measure_overlapping(n, min(times, 3)) + measure_query(n, times)


if __name__ == "__main__":
    run(__doc__, measure)
