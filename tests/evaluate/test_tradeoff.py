"""Which (ε,m) a number allows: the paper's example, the theorem, exact boundaries."""

from __future__ import annotations

import json
import subprocess
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from commands import discreet_here
from discreet.principles.groups import Groups
from divisions import set_partitions
from samples import microdata

SALARIES = [1000, 1010, 1020, 16000, 24000, 31000, 33000, 50000]


def curve_of(numbers: list[int]) -> dc.Tradeoff:
    frame = pl.DataFrame({"age": range(len(numbers)), "pay": numbers})
    return dc.tradeoff(microdata(frame, ["age"], ["pay"]))


def test_the_papers_running_example() -> None:
    """Salaries: m = 3 below 20 and 1/51, m = 2 below 23000 and 0.68, m = 1 always."""
    curve = curve_of(SALARIES)
    assert [curve.supremum(m) for m in (1, 2, 3)] == [None, 23000, 20]
    assert curve.supremum(3, relative=True) == Fraction(1, 51)
    assert curve.supremum(2, relative=True) == Fraction(68, 100)
    whole = Groups.of([SALARIES])
    assert dc.Proximity((20, 10000), 2).max_conflict(whole).tolist() == [3]
    assert dc.Proximity((10000, 20), 2).max_conflict(whole).tolist() == [3]
    assert dc.Proximity((20, 10000), 2).feasible(whole).possible
    assert not dc.Proximity((20, 10000), 3).feasible(whole).possible


@settings(max_examples=150, deadline=None)
@given(
    numbers=st.lists(st.integers(1, 60), min_size=2, max_size=14),
    m=st.integers(1, 6),
    relative=st.booleans(),
)
def test_the_boundary_is_exact_and_strict(numbers: list[int], m: int, relative: bool) -> None:
    """Just below the supremum (ε,m) is feasible, at it it is not, by the principle itself."""
    curve, whole = curve_of(numbers), Groups.of([sorted(numbers)])
    bound = curve.supremum(m, relative=relative)

    def feasible(epsilon: Fraction) -> bool:
        return dc.Proximity(epsilon, m, relative=relative).feasible(whole).possible

    if bound is None:
        assert feasible(Fraction(99, 100))
        return
    assert not feasible(bound)
    if bound > 0:
        assert feasible(bound * Fraction(999_999, 1_000_000))


@settings(max_examples=60, deadline=None)
@given(numbers=st.lists(st.integers(1, 60), min_size=2, max_size=14), epsilon=st.integers(0, 40))
def test_the_largest_m_is_n_over_the_fullest_neighbourhood(
    numbers: list[int], epsilon: int
) -> None:
    curve, whole = curve_of(numbers), Groups.of([sorted(numbers)])
    fullest = int(dc.Proximity(epsilon, 1).max_conflict(whole)[0])
    assert curve.largest_m(epsilon) == len(numbers) // fullest
    share = Fraction(epsilon, 50)
    fullest = int(dc.Proximity(share, 1, relative=True).max_conflict(whole)[0])
    assert curve.largest_m(share, relative=True) == len(numbers) // fullest


def test_shifts_and_scales_leave_their_kind_of_nearness_alone() -> None:
    shifted, scaled = curve_of([x + 777 for x in SALARIES]), curve_of([7 * x for x in SALARIES])
    curve = curve_of(SALARIES)
    for m in range(1, 9):
        assert shifted.supremum(m) == curve.supremum(m)
        assert scaled.supremum(m, relative=True) == curve.supremum(m, relative=True)


def test_decimals_and_numbers_that_are_not_positive() -> None:
    frame = pl.DataFrame({"age": range(4), "pay": [-0.5, 0.25, 1.0, 1.25]})
    curve = dc.tradeoff(microdata(frame, ["age"], ["pay"]))
    assert curve.supremum(4) == Fraction(1, 4)
    assert "relative" not in curve.by_m.columns
    with pytest.raises(dc.DiscreetError, match="positive"):
        curve.supremum(2, relative=True)


def test_what_is_no_single_number_is_refused() -> None:
    frame = pl.DataFrame({"age": [1, 2], "pay": [3, 4], "wage": [5, 6], "ill": ["a", "b"]})
    with pytest.raises(dc.DiscreetError, match="Name one of: 'pay', 'wage'"):
        dc.tradeoff(microdata(frame, ["age"], ["pay", "wage", "ill"]))
    with pytest.raises(dc.DiscreetError, match="'ill' is"):
        dc.tradeoff(microdata(frame, ["age"], ["pay", "ill"]), "ill")


def test_numbers_may_be_as_far_apart_as_any_are_read() -> None:
    curve = curve_of([-(10**18), 0, 7, 10**18])
    assert curve.to_dict()["largest_m"][-1]["m"] == 1
    assert curve.largest_e(2, 2) == 10**18


def test_many_numbers_at_once() -> None:
    numbers = np.random.default_rng(1).lognormal(10, 1, 200_000).astype(np.int64) + 1
    curve = dc.Tradeoff("pay", np.sort(numbers), 0)
    ms = curve.by_epsilon.filter(pl.col("kind") == "absolute")["m"].to_list()
    assert ms == sorted(ms, reverse=True)
    bounds = curve.by_m["absolute"].to_list()
    assert bounds[0] is None
    assert bounds[1:] == sorted(bounds[1:], reverse=True)


@settings(max_examples=60, deadline=None)
@given(
    numbers=st.lists(st.integers(0, 9), min_size=1, max_size=7),
    k=st.integers(1, 4),
    e=st.integers(0, 6),
)
def test_the_most_groups_and_the_largest_e_by_brute_force(
    numbers: list[int], k: int, e: int
) -> None:
    curve = curve_of(numbers)
    divisions = [
        [(len(set(group)), max(group) - min(group)) for group in division]
        for division in set_partitions(numbers)
    ]
    many = [len(d) for d in divisions if all(held >= k and wide >= e for held, wide in d)]
    assert curve.most_groups(k, e) == max(many, default=0)
    for groups in (1, 2, 3):
        wide = [min(wide for _, wide in d) for d in divisions
                if len(d) == groups and all(held >= k for held, _ in d)]  # fmt: skip
        assert curve.largest_e(k, groups) == max(wide, default=None)


def test_groups_are_fewer_the_wider_they_are() -> None:
    numbers = np.random.default_rng(3).lognormal(8, 1, 300).astype(np.int64)
    curve = dc.Tradeoff("pay", np.sort(numbers), 2)
    for (k,), rows in curve.by_ke.group_by(["k"], maintain_order=True):
        groups = rows["groups"].to_list()
        assert groups == sorted(groups, reverse=True)
        assert groups[0] == curve.most_groups(k, 0)
        assert (rows["runs"] <= rows["groups"]).all()
        assert rows.row(-1)[2:] == (1, 1)  # as wide as all numbers
        for most in {*groups}:
            widest = curve.largest_e(k, most)
            assert widest is not None
            assert curve.most_groups(k, widest) >= most > curve.most_groups(k, widest + 1)
    assert curve_of([5, 5, 5]).by_ke.height == 0
    assert curve_of([5, 5, 5]).most_groups(2, 0) == 0


@pytest.mark.parametrize("relative", [False, True])
def test_no_step_of_a_chart_is_higher_than_what_can_be_kept(relative: bool) -> None:
    numbers = np.random.default_rng(2).lognormal(8, 1, 900).astype(np.int64) + 1
    curve = dc.Tradeoff("pay", np.sort(numbers), 0)
    steps = curve.steps(relative=relative)
    assert len(steps) > 10
    for (first, m), (last, _) in pairwise(steps):
        for place in np.linspace(first, last, 6)[1:-1]:
            most = curve.largest_m(float(place), relative=relative)
            assert m <= most
            assert m == most or most > 30
    for m in range(2, 8):  # as the table has it
        below = curve.supremum(m, relative=relative)
        assert below is not None
        assert below == 0 or any(place == float(below) for place, _ in steps)


def test_the_command_line_shows_and_draws_it(tmp_path: Path) -> None:
    pl.DataFrame({"age": range(8), "pay": SALARIES}).write_csv(tmp_path / "people.csv")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return discreet_here("tradeoff", *arguments, cwd=tmp_path)

    found = run("people.csv", "--sensitive", "pay", "--chart", "c.svg")
    assert "23,000" in found.stdout and "0.68" in found.stdout
    assert "at most so many groups" in found.stdout
    assert "<svg" in (tmp_path / "c.svg").read_text()
    told = json.loads(run("people.csv", "--sensitive", "pay", "--json").stdout)
    assert told["epsilon_below"][2] == {"m": 3, "absolute": 20.0, "relative": pytest.approx(1 / 51)}
    assert {"k": 3, "e": 20_000.0, "runs": 1, "groups": 2} in told["most_groups"]
    refused = run("people.csv", "--sensitive", "wage")
    assert refused.returncode == 2 and "no column 'wage'" in refused.stderr
