"""What the permutation paper computes by hand, with its errors corrected."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.evaluate.group_limits import GroupLimits
from discreet.publishing.partitioners.sorted_runs import (
    cut_runs,
    deal_values,
    interlock_runs,
)
from divisions import set_partitions


def ranges(values: list[int], k: int, e: int, objective: str) -> list[int]:
    """The range of every run of the optimal partition."""
    xs = np.sort(np.array(values, dtype=np.int64))
    starts = [*cut_runs(xs, k, e, objective).tolist(), len(xs)]  # type: ignore[arg-type]
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


def interlocked(values: list[int], k: int, e: int) -> list[list[int]]:
    """The groups of the exact partition for the largest range."""
    xs = np.sort(np.array(values, dtype=np.int64))
    labels = interlock_runs(xs, k, e)
    return [xs[labels == group].tolist() for group in range(labels.max() + 1)]


@settings(max_examples=150, deadline=None)
@given(
    values=st.lists(st.integers(0, 12), min_size=1, max_size=7),
    k=st.integers(1, 4),
    e=st.integers(0, 6),
)
def test_no_partition_has_more_groups_than_dealt_ones(values: list[int], k: int, e: int) -> None:
    """Runs of the sorted values, which the paper means, may be fewer."""
    if len(set(values)) < k or max(values) - min(values) < e:
        return
    xs = np.sort(np.array(values, dtype=np.int64))
    dealt = deal_values(*np.unique(xs, return_counts=True), k, e).find(np.arange(len(xs)))
    groups = [xs[dealt == group].tolist() for group in range(dealt.max() + 1)]
    assert all(len(set(group)) >= k and max(group) - min(group) >= e for group in groups)
    most = max(
        len(division)
        for division in set_partitions(values)
        if all(len(set(group)) >= k and max(group) - min(group) >= e for group in division)
    )
    assert len(groups) == most >= len(ranges(values, k, e, "groups"))


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), k=st.integers(2, 6), e=st.integers(0, 40))
def test_cutting_narrows_dealt_groups_and_loses_none(seed: int, k: int, e: int) -> None:
    rng = np.random.default_rng(seed)
    xs = np.sort(rng.geometric(rng.choice([0.02, 0.1, 0.4]), rng.integers(20, 150)))
    values, counts = np.unique(xs, return_counts=True)
    most = GroupLimits(values, counts).count(k, e)
    if most == 0:
        return
    dealt = deal_values(values, counts, k, e).find(np.arange(len(xs)))
    groups = [xs[dealt == group] for group in range(dealt.max() + 1)]
    assert len(groups) == most
    assert all(len(np.unique(group)) >= k and np.ptp(group) >= e for group in groups)


def test_many_equal_values_leave_few_runs_but_many_groups() -> None:
    """Adult's 1,427 losses, 89 different ones: 17 runs keep (4,100), and 356 groups do."""
    train = dc.datasets.adult_frame().head(32_561).drop_nulls()
    losses = train.filter(pl.col("capital-loss") > 0)["capital-loss"]
    values, counts = np.unique(losses.to_numpy().astype(np.int64), return_counts=True)
    assert deal_values(values, counts, 4, 100).groups.max() + 1 == 356 == 1427 // 4
    assert len(ranges(losses.to_list(), 4, 100, "groups")) == 17


def algorithm_2(xs: list[int], k: int, e: int) -> float:
    """The printed Algorithm 2 with its corrections; xs ascend.

    The first group's range is tested (with what it brought along, r), it counts in the base case
    too, the first group ends with the last of equal values, and the second takes as many values
    from the overlap as leave the first its k - d.
    """
    n = len(xs)

    @cache
    def g(i: int, d: int, r: int) -> float:
        if len(set(xs[i:])) < k - d or xs[-1] - xs[i] < e - r:
            return float("inf")
        best: float = xs[-1] - xs[i] + r
        for last in range(i, n - 1):
            held = len(set(xs[i : last + 1]))
            if xs[last] == xs[last + 1] or held < k - d or xs[last] - xs[i] < e - r:
                continue
            for start in range(i + 1, last + 2):
                overlap = xs[start : last + 1]
                before = set(xs[i:start])
                shared = {x for x in overlap if overlap.count(x) > 1 or x in before}
                movable = len(set(overlap) - shared - {xs[last]})
                taken = len(shared) + min(movable, held - (k - d))
                if overlap and (taken == 0 or (taken == len(shared) and xs[start] not in shared)):
                    continue  # what nobody takes brings no range along
                brought = xs[last + 1] - xs[start] if overlap else 0
                best = min(best, max(xs[last] - xs[i] + r, g(last + 1, taken, brought)))
        return best

    return g(0, 0, 0)


def test_the_papers_example_has_one_optimum_and_it_overlaps() -> None:
    assert sorted(interlocked([1, 2, 3, 5, 5, 6, 6, 8], 4, 5)) == [[1, 2, 5, 6], [3, 5, 6, 8]]
    assert algorithm_2([1, 2, 3, 5, 5, 6, 6, 8], 4, 5) == 5
    assert max(ranges([1, 2, 3, 5, 5, 6, 6, 8], 4, 5, "max")) == 7


@settings(max_examples=150, deadline=None)
@given(
    values=st.lists(st.integers(0, 12), min_size=1, max_size=8),
    k=st.integers(1, 4),
    e=st.integers(0, 6),
)
def test_interlocked_groups_reach_the_least_of_all_partitions(
    values: list[int], k: int, e: int
) -> None:
    if len(set(values)) < k or max(values) - min(values) < e:
        return
    groups = interlocked(values, k, e)
    assert sorted(x for group in groups for x in group) == sorted(values)
    assert all(len(set(group)) >= k and max(group) - min(group) >= e for group in groups)
    least = min(
        max(max(group) - min(group) for group in division)
        for division in set_partitions(values)
        if all(len(set(group)) >= k and max(group) - min(group) >= e for group in division)
    )
    assert max(max(group) - min(group) for group in groups) == least


@settings(max_examples=150, deadline=None)
@given(
    values=st.lists(st.integers(0, 40), min_size=1, max_size=16),
    k=st.integers(1, 5),
    e=st.integers(0, 12),
)
def test_interlocked_groups_agree_with_the_corrected_algorithm_2(
    values: list[int], k: int, e: int
) -> None:
    if len(set(values)) < k or max(values) - min(values) < e:
        return
    groups = interlocked(values, k, e)
    assert all(len(set(group)) >= k and max(group) - min(group) >= e for group in groups)
    largest = max(max(group) - min(group) for group in groups)
    assert largest == algorithm_2(sorted(values), k, e)
    assert max(ranges(values, k, e, "max")) <= 2 * largest  # theorem 4
