"""Rank swapping: partners of near rank, windows that hold the truth, bounds that follow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.forms.swapped.rank_windows import RankWindows
from discreet.principles.groups import Groups
from samples import reseal


def release_of(pays: list[int], k: int, e: int, seed: int) -> tuple[dc.Release, pl.DataFrame]:
    """A release about people who are told apart by their number, and the truth."""
    frame = pl.DataFrame({"id": range(len(pays)), "pay": pays})
    schema = dc.Schema.infer(frame, quasi_identifiers=["id"], sensitive=["pay"])
    return dc.publish(
        dc.read(frame, schema), dc.RankSwapping(dc.KE(k, e)), insecure_seed=seed
    ), frame


pays = st.lists(st.integers(-9, 30), min_size=2, max_size=25).filter(lambda p: len(set(p)) > 2)


@settings(max_examples=60, deadline=None)
@given(pays=pays, k=st.integers(1, 3), e=st.integers(0, 2), seed=st.integers(0, 99))
def test_everyones_own_number_is_in_the_window_of_the_one_shown(
    pays: list[int], k: int, e: int, seed: int
) -> None:
    release, truth = release_of(pays, k, e, seed)
    shown = release.tables["swapped"].join(truth, on="id", suffix="_true")
    windows = shown.join(release.tables["windows"], left_on="pay", right_on="value")
    assert windows.height == len(pays)
    assert windows.select(pl.col("pay_true").is_between("low", "high").all()).item()
    assert sorted(shown["pay"]) == sorted(pays)


@settings(max_examples=60, deadline=None)
@given(pays=pays, k=st.integers(1, 3), e=st.integers(0, 2))
def test_windows_are_the_fewest_ranks_on_both_sides(pays: list[int], k: int, e: int) -> None:
    whole = Groups.of([pays])
    windows = RankWindows.around(whole, dc.KE(k, e))
    xs = sorted(pays)
    values = sorted(set(pays))
    for code, value in enumerate(values):
        first, last = xs.index(value), len(xs) - 1 - xs[::-1].index(value)
        for reach in range(len(xs)):
            near = xs[max(first - reach, 0) : last + reach + 1]
            if len(set(near)) >= k and near[-1] - near[0] >= e:
                break
        assert values[windows.near_low[code]] == near[0]
        assert values[windows.near_high[code]] == near[-1]
    for code in range(len(values)):
        # whoever seeks here, or is sought from here, may have shown this number
        others = [
            other
            for other in range(len(values))
            if windows.near_low[other] <= code <= windows.near_high[other]
            or windows.near_low[code] <= other <= windows.near_high[code]
        ]
        assert (windows.low[code], windows.high[code]) == (others[0], others[-1])


@settings(max_examples=25, deadline=None)
@given(pays=pays, seed=st.integers(0, 99), cut=st.integers(0, 20))
def test_truth_lies_within_bounds(pays: list[int], seed: int, cut: int) -> None:
    release, truth = release_of(pays, 2, 1, seed)
    hits = truth.filter(pl.col("id") >= cut)["pay"]
    for function, value in (
        ("SUM", hits.sum()), ("AVG", hits.mean()), ("MIN", hits.min()), ("MAX", hits.max()),
        ("COUNT", len(hits)),
    ):  # fmt: skip
        answer = release.query(f"SELECT {function}(pay) FROM release WHERE id >= {cut}")
        if len(hits) == 0:
            assert answer.estimate == (0 if function == "COUNT" else None)
            continue
        assert answer.low is not None
        assert answer.high is not None
        assert answer.low - 1e-9 <= value <= answer.high + 1e-9  # type: ignore[operator]


def test_windows_that_promise_more_than_the_table_are_refused(tmp_path: Path) -> None:
    release, truth = release_of([1, 2, 4, 8, 9, 9, 3], 2, 2, 1)
    folder = release.write(tmp_path / "out", format="csv", insecure=True)
    text = (folder / "windows.csv").read_text()
    (folder / "windows.csv").write_text(text.replace("\n1,1,", "\n1,-5,"))
    with pytest.raises(dc.DiscreetError, match="windows are not those"):
        dc.audit(reseal(folder), dc.read(truth, release.schema))


def test_most_people_show_somebody_elses_number() -> None:
    rng = np.random.default_rng(4)
    pays = np.sort(rng.choice(10**6, 3000, replace=False)).tolist()
    release, truth = release_of(pays, 5, 10, 3)
    both = release.tables["swapped"].join(truth, on="id", suffix="_true")
    own = (both["pay"] == both["pay_true"]).mean()
    assert own < 0.4
    report = dc.audit(release, dc.read(truth, release.schema))
    assert report.kept
    # who is late finds few partners left: one's own is likelier than one of five
    assert 1 / 5 < own < report.beliefs["pay"].mean()  # type: ignore[operator]
    assert report.max_belief is not None
    assert own < report.max_belief < 0.7  # type: ignore[operator]


@pytest.mark.parametrize(
    ("principle", "message"),
    [(dc.KAnonymity(2), r"\(k,e\)"), (dc.KE(9, 1), "8 distinct"), (dc.KE(2, 99), "range of 9")],
)
def test_what_cannot_be_promised_is_refused(principle: dc.Principle, message: str) -> None:
    frame = pl.DataFrame({"id": range(8), "pay": [1, 2, 3, 4, 5, 7, 8, 10]})
    schema = dc.Schema.infer(frame, quasi_identifiers=["id"], sensitive=["pay"])
    with pytest.raises(dc.DiscreetError, match=message):
        dc.publish(dc.read(frame, schema), dc.RankSwapping(principle))


def test_everyone_may_have_kept_their_number() -> None:
    """Were it impossible to draw oneself, two people would always be told by exchanging back."""
    kept = set()
    for seed in range(40):
        release, truth = release_of([1, 9], 2, 3, seed)
        both = release.tables["swapped"].join(truth, on="id", suffix="_true")
        kept.add(bool((both["pay"] == both["pay_true"]).all()))
    assert kept == {True, False}


def test_a_table_in_which_nothing_was_swapped_is_noticed() -> None:
    from dataclasses import replace

    pays = np.random.default_rng(4).permutation(200).tolist()
    release, truth = release_of(pays, 5, 4, 3)
    data = dc.read(truth, release.schema)
    assert dc.audit(release, data).kept
    original = replace(release, tables={**release.tables, "swapped": truth})
    assert "stand beside their own" in str(dc.audit(original, data).problems)


@settings(max_examples=60, deadline=None)
@given(pays=pays, k=st.integers(1, 3), e=st.integers(0, 2), seed=st.integers(0, 9), data=st.data())
def test_people_are_selected_by_swapped_numbers_within_their_windows(
    pays: list[int], k: int, e: int, seed: int, data: st.DataObject
) -> None:
    """The bounds are those of all numbers that each person may have, and hold the truth."""
    release, _ = release_of(pays, k, e, seed)
    low, high = sorted(data.draw(st.lists(st.integers(-10, 31), min_size=2, max_size=2)))
    kinds = (
        "pay BETWEEN {0} AND {1}",
        "pay IN ({0}, {1})",
        "NOT pay > {0}",
        "pay < {1} OR pay = 3",
    )
    condition = data.draw(st.sampled_from(kinds)).format(low, high)
    numbers = sorted(set(pays))
    frame = pl.DataFrame({"pay": numbers})
    meant = set(frame.sql(f"SELECT pay FROM self WHERE {condition}")["pay"])
    window_of = {v: (a, b) for v, a, b in release.tables["windows"].iter_rows()}
    may, must, least, most = 0, 0, 0, 0
    for _, shown in release.tables["swapped"].select("id", "pay").iter_rows():
        inside = [n for n in numbers if window_of[shown][0] <= n <= window_of[shown][1]]
        taken = [n for n in inside if n in meant]
        if taken:
            sure = len(taken) == len(inside)
            may, must = may + 1, must + sure
            least += taken[0] if sure else min(taken[0], 0)
            most += taken[-1] if sure else max(taken[-1], 0)
    asked = "COUNT(*) AS n, SUM(pay) AS s, MIN(pay) AS a, MAX(pay) AS b, AVG(pay) AS m"
    row = release.query(f"SELECT {asked} FROM release WHERE {condition}").frame.row(0, named=True)
    assert (row["n_low"], row["n_high"]) == (must, may)
    true = [p for p in pays if p in meant]
    assert must <= len(true) <= may
    if may:
        assert (row["s_low"], row["s_high"]) == (least, most)
        assert row["s"] == (
            sum(p for p in release.tables["swapped"]["pay"] if p in meant) or row["s"]
        )
    if true:
        assert least <= sum(true) <= most
        assert row["a_low"] <= min(true) <= row["a_high"]
        assert row["b_low"] <= max(true) <= row["b_high"]
        assert row["m_low"] <= sum(true) / len(true) <= row["m_high"]
