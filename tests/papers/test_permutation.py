"""What the permutation paper computes by hand, with its errors corrected."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.partitioners.sorted_runs import cut_runs


def ranges(values: list[int], k: int, e: int, objective: str) -> list[int]:
    """The range of every run of the optimal partition."""
    xs = np.sort(np.array(values, dtype=np.int64))
    ranks = np.unique(xs, return_inverse=True)[1].astype(np.int64)
    starts = [*cut_runs(xs, ranks, k, e, objective).tolist(), len(xs)]  # type: ignore[arg-type]
    return [int(xs[b - 1] - xs[a]) for a, b in pairwise(starts)]


def contiguous(values: list[int]) -> list[list[list[int]]]:
    """All ways of cutting a sorted list into runs."""
    found = []
    for mask in range(2 ** (len(values) - 1)):
        runs, start = [], 0
        for i in range(len(values)):
            if i == len(values) - 1 or mask >> i & 1:
                runs.append(values[start : i + 1])
                start = i + 1
        found.append(runs)
    return found


def test_figure_1_salaries_have_a_least_sum_of_22_thousand() -> None:
    salaries = [54, 55, 56, 65, 70, 75, 75, 80, 85]
    assert sum(ranges(salaries, 3, 0, "sum")) == 22


@pytest.mark.parametrize(
    ("objective", "k", "e", "value", "measure"),
    [
        ("sum", 4, 100, 2828, sum),
        ("sum", 4, 0, 2591, sum),
        ("sum", 6, 100, 3561, sum),
        ("max", 4, 100, 673, max),
    ],
)
def test_optima_on_adults_1427_capital_losses(
    objective: str, k: int, e: int, value: int, measure: object
) -> None:
    train = dc.datasets.adult_frame().head(32_561).drop_nulls()
    losses = train.filter(pl.col("capital-loss") > 0)["capital-loss"].to_list()
    found = ranges(losses, k, e, objective)
    assert measure(found) == value  # type: ignore[operator]
    if (objective, k, e) == ("sum", 4, 100):
        assert len(found) == 12


@settings(max_examples=150, deadline=None)
@given(
    values=st.lists(st.integers(0, 12), min_size=1, max_size=8),
    k=st.integers(1, 4),
    e=st.integers(0, 6),
)
def test_optima_equal_brute_force(values: list[int], k: int, e: int) -> None:
    values = sorted(values)
    valid = [
        runs
        for runs in contiguous(values)
        if all(len(set(run)) >= k and run[-1] - run[0] >= e for run in runs)
    ]
    if not valid:
        return
    spans = [[run[-1] - run[0] for run in runs] for runs in valid]
    assert sum(ranges(values, k, e, "sum")) == min(map(sum, spans))
    assert max(ranges(values, k, e, "max")) == min(map(max, spans))
    assert len(ranges(values, k, e, "groups")) == max(map(len, spans))
