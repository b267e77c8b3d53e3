"""Perturbation: the largest retention of section 3.2, what it tells, and what is estimated."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.forms.perturbed.randomized_response import RandomizedResponse
from discreet.publishing.methods.perturbation import find_retention
from discreet.publishing.partitioners.histograms import histogram
from oracles.noise import believe_by_rooks
from samples import microdata

CHECKS = ("safe", "paper")


def evenly(n: int) -> dc.Microdata:
    frame = pl.DataFrame({"age": [*range(n)], "pay": [*range(1, n + 1)]})
    return microdata(frame, ["age"], ["pay"])


@pytest.mark.parametrize("check", CHECKS)
def test_of_evenly_spread_numbers_6_25_percent_are_kept_for_4_and_none_for_5(check: str) -> None:
    """Section 3.2: a neighbourhood holds a fifth of the domain and of the people.

    That is of one record; who reads all of them may ask for a little less to be kept.
    """
    method = dc.Perturbation(dc.Proximity((0, 1), 4), check=check, within=(1, 10))  # type: ignore[arg-type]
    drawn, whole = RandomizedResponse(1, 10, 1, Fraction(0)), histogram(evenly(10), "pay")
    assert find_retention(whole, dc.Proximity((0, 1), 4), drawn, check) == Fraction(1, 16)  # type: ignore[arg-type]
    kept = float(str(dc.publish(evenly(10), method).parameters["retention"]))
    assert kept == 0.0625 if check == "paper" else 0.03 < kept <= 0.0625
    with pytest.raises(dc.errors.PromiseError, match="every retention probability above 0") as e:
        dc.publish(evenly(10), replace(method, principle=dc.Proximity((0, 1), 5)))
    assert "m ≤ 4" in str(e.value) and "a generalization reaches m ≤ 5" in str(e.value)


def risk_by_equation_3(p: Fraction, near: Fraction, length: Fraction) -> Fraction:
    return near * (p + (1 - p) * length) / (near * p + (1 - p) * length)


def posterior(
    p: Fraction, drawn: RandomizedResponse, pays: list[int], shown: int, near: set[int]
) -> Fraction:
    """Bayes in plain Python: how likely is a number near, seeing one."""
    u = Fraction(1, drawn.size)
    weights = {x: pays.count(x) * ((1 - p) * u + (p if x == shown else 0)) for x in set(pays)}
    return sum((weights[x] for x in weights if x in near), Fraction(0)) / sum(weights.values())


@settings(max_examples=60, deadline=None)
@given(
    pays=st.lists(st.integers(1, 12), min_size=4, max_size=14),
    m=st.integers(2, 4),
    epsilon=st.integers(0, 2),
)
def test_the_retention_is_the_largest_that_bayes_allows(
    pays: list[int], m: int, epsilon: int
) -> None:
    data = microdata(pl.DataFrame({"age": pays, "pay": pays}), ["age"], ["pay"])
    drawn, promise = RandomizedResponse(1, 12, 1, Fraction(0)), dc.Proximity(epsilon, m)
    whole = histogram(data, "pay")
    nears = {x: {y for y in range(1, 13) if abs(x - y) <= epsilon} for x in pays}
    shares = {x: Fraction(sum(y in near for y in pays), len(pays)) for x, near in nears.items()}

    def safe(p: Fraction) -> bool:
        return all(
            posterior(p, drawn, pays, y, near) * m <= 1
            for near in nears.values()
            for y in range(1, 13)
        )

    def on_average(p: Fraction) -> bool:
        return all(
            risk_by_equation_3(p, shares[x], Fraction(len(near), 12)) * m <= 1
            for x, near in nears.items()
        )

    for check, holds in (("safe", safe), ("paper", on_average)):
        try:
            p = find_retention(whole, promise, drawn, check)  # type: ignore[arg-type]
        except dc.errors.PromiseError:
            assert not holds(Fraction(1, 10**6))
            continue
        assert holds(p)
        assert p == 1 - Fraction(1, 10**6) or not holds(p + Fraction(1, 10**6))


@settings(max_examples=40, deadline=None)
@given(
    pays=st.lists(st.integers(1, 9), min_size=4, max_size=12),
    epsilon=st.integers(0, 2),
    check=st.sampled_from(CHECKS),
    seed=st.integers(0, 99),
)
def test_the_auditor_believes_what_bayes_says(
    pays: list[int], epsilon: int, check: str, seed: int
) -> None:
    frame = pl.DataFrame({"age": [*range(len(pays))], "pay": pays})
    data, promise = microdata(frame, ["age"], ["pay"]), dc.Proximity(epsilon, 2)
    method = dc.Perturbation(promise, check=check, within=(1, 9))  # type: ignore[arg-type]
    try:
        release = dc.publish(data, method, insecure_seed=seed)
    except dc.errors.PromiseError:
        return
    drawn = RandomizedResponse.read(release)
    shown = dict(release.tables["perturbed"].select("age", "pay").rows())
    report = dc.audit(release, data)
    records = [shown[age] for age in range(len(pays))]
    jointly = believe_by_rooks(records, pays, drawn.retention, drawn.size)

    def believe(age: int, near: set[int]) -> Fraction:
        """Whichever is larger: from the record alone, or from all records."""
        alone = posterior(drawn.retention, drawn, pays, shown[age], near)
        return max(alone, sum((jointly[age][z] for z in near & set(pays)), Fraction(0)))

    for age, x in enumerate(pays):
        expected = believe(age, {z for z in range(1, 10) if abs(x - z) <= epsilon})
        assert report.proximity["pay"].risks[age] == pytest.approx(float(expected))
        if abs(expected - Fraction(1, 2)) > 1e-6:
            assert bool(report.breached[age]) == (expected > Fraction(1, 2))
        assert report.truths["pay"][age] == pytest.approx(float(believe(age, {x})))
        most = float(max(believe(age, {z}) for z in set(pays)))
        assert most - 1e-12 <= report.beliefs["pay"][age] <= most * 1.05
    if check == "safe":
        assert report.problems == []


@pytest.fixture(scope="module")
def people() -> dc.Microdata:
    frame = dc.datasets.census_frame(6000).select("age", "birthplace", "income")
    return microdata(frame.filter(pl.col("income") < 90_000), ["age", "birthplace"], ["income"])


def test_reading_the_very_number_tells_more_than_equation_3_says(people: dc.Microdata) -> None:
    promise = dc.Proximity(800, 4)
    safe = dc.publish(people, dc.Perturbation(promise), insecure_seed=1)
    paper = dc.publish(people, dc.Perturbation(promise, check="paper"), insecure_seed=1)
    assert dc.audit(safe, people).kept
    report = dc.audit(paper, people)
    assert report.breaches > 100
    assert float(str(paper.parameters["retention"])) > float(str(safe.parameters["retention"]))
    assert any("Equation 3" in text for text in paper.promise.leaves_open)


def test_estimates_are_right_on_average_and_their_error_is_known(people: dc.Microdata) -> None:
    asked = (
        "SELECT COUNT(*) AS n, SUM(income) AS s, AVG(income) AS a FROM release "
        "WHERE age BETWEEN 30 AND 60"
    )
    ranged = f"{asked} AND income BETWEEN 20000 AND 50000"
    method = dc.Perturbation(dc.Proximity(200, 4), check="paper")
    table = people.to_polars()
    for question, where in (
        (asked, pl.col("age").is_between(30, 60)),
        (ranged, pl.col("age").is_between(30, 60) & pl.col("income").is_between(20_000, 50_000)),
    ):
        kept = table.filter(where)["income"]
        truth = {"n": len(kept), "s": int(kept.sum()), "a": float(kept.mean())}  # type: ignore[arg-type]
        rows = [
            dc.publish(people, method, insecure_seed=seed).query(question).frame.row(0, named=True)
            for seed in range(24)
        ]
        for name, value in truth.items():
            assert all(row[f"{name}_low"] <= value <= row[f"{name}_high"] for row in rows)
            found = np.array([row[name] for row in rows], dtype=float)
            stated = [row[f"{name}_stderr"] for row in rows]
            spread = float(found.std(ddof=1))
            if None not in stated and max(stated) > 0:
                assert 0.6 < np.mean(stated) / spread < 1.6
            assert abs(found.mean() - value) <= 5 * spread / np.sqrt(len(rows)) + 1e-9


def test_postgresql_and_duckdb_answer_alike(people: dc.Microdata, postgres: str) -> None:
    release = dc.publish(people, dc.Perturbation(dc.Proximity(200, 4)), insecure_seed=3)
    for question in (
        "SELECT COUNT(*), SUM(income), AVG(income) FROM release WHERE age > 40",
        "SELECT birthplace, COUNT(*), SUM(income), AVG(income) FROM release "
        "WHERE age > 40 AND income > 30000 GROUP BY birthplace",
        "SELECT COUNT(*), MAX(age), AVG(age) FROM release WHERE birthplace = 'B00'",
        "SELECT COUNT(*), SUM(income), AVG(income) FROM release WHERE age > 400 AND income < 5",
        "SELECT COUNT(*), SUM(income), AVG(income) FROM release WHERE income < -5",
    ):
        here = release.query(question).frame
        there = release.query(question, engine=postgres).frame
        assert here.shape == there.shape
        for name in here.columns:
            for a, b in zip(here[name], there[name], strict=True):
                assert a == b or a == pytest.approx(b)


def test_exact_columns_are_answered_exactly(people: dc.Microdata) -> None:
    release = dc.publish(people, dc.Perturbation(dc.Proximity(200, 4)), insecure_seed=3)
    with duckdb.cursor() as plain:
        plain.register("release", people.to_polars().to_arrow())
        asked = "SELECT COUNT(*), AVG(age), MAX(age) FROM release WHERE birthplace = 'B00'"
        truth = plain.execute(asked).fetchone()
    row = release.query(asked).frame.row(0, named=True)
    assert truth == (row["count"], row["avg_age"], row["max_age"])
    assert (row["count_low"], row["avg_age_high"]) == (row["count"], row["avg_age"])


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("SELECT COUNT(*) FROM release WHERE income > age", "ties 'income' to an exact column"),
    ],
)
def test_what_cannot_be_answered_is_refused(
    people: dc.Microdata, question: str, reason: str
) -> None:
    release = dc.publish(people, dc.Perturbation(dc.Proximity(200, 4)), insecure_seed=3)
    with pytest.raises(dc.errors.QueryError, match=reason):
        release.query(question)


def test_numbers_are_drawn_in_the_tables_own_steps_and_the_outermost_is_not_told() -> None:
    rng = np.random.default_rng(1)
    pays = (rng.integers(200, 900, 500) * 25).tolist()
    data = microdata(pl.DataFrame({"age": [*range(500)], "pay": pays}), ["age"], ["pay"])
    release = dc.publish(data, dc.Perturbation(dc.Proximity(50, 4)), insecure_seed=5)
    assert release.parameters["step"] == 25
    low, high = map(int, release.recodings["pay"].domain)
    assert low <= min(pays) and high >= max(pays) and (low, high) == (0, 30_000)
    assert (release.tables["perturbed"]["pay"] % 25 == 0).all()


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_it_comes_back_from_disk(people: dc.Microdata, tmp_path: Path, format: str) -> None:
    release = dc.publish(people, dc.Perturbation(dc.Proximity(200, 4)))
    loaded = dc.load(release.write(tmp_path / "r", format=format))  # type: ignore[arg-type]
    asked = "SELECT COUNT(*) FROM release WHERE income > 30000"
    assert loaded.query(asked).estimate == release.query(asked).estimate
    assert dc.audit(loaded, people).kept


def test_the_auditor_sees_numbers_that_were_hardly_perturbed(people: dc.Microdata) -> None:
    release = dc.publish(people, dc.Perturbation(dc.Proximity(200, 4)), insecure_seed=3)
    columns = release.tables["perturbed"].columns
    raw = replace(release, tables={"perturbed": people.to_polars().select(columns)})
    assert "of somebody who looks the same" in dc.audit(raw, people).findings[0]
    table = release.tables["perturbed"]
    outside = replace(release, tables={"perturbed": table.with_columns(income=pl.lit(10**7))})
    with pytest.raises(dc.errors.StoreError, match="outside of its domain"):
        dc.audit(outside, people)
    for parameters in ({}, {"retention": 1.5, "step": 10}, {"retention": 0.1, "step": 0}):
        with pytest.raises(dc.errors.StoreError):
            dc.audit(replace(release, parameters=parameters), people)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: dc.Perturbation(dc.KAnonymity(3)), "promises one principle"),
        (lambda: dc.Perturbation(dc.Proximity(3, 1)), "at least 2"),
        (lambda: dc.Perturbation(dc.Proximity(3, 2), check="wild"), "give one of safe, paper"),  # type: ignore[arg-type]
        (lambda: dc.Perturbation(dc.Proximity(3, 2), within=(1,)), "give two numbers"),  # type: ignore[arg-type]
        (lambda: dc.Perturbation(dc.Proximity(3, 2), within=5), "give two numbers"),  # type: ignore[arg-type]
    ],
)
def test_bad_parameters_are_refused(make: object, reason: str) -> None:
    with pytest.raises(dc.errors.SchemaError, match=reason):
        make()  # type: ignore[operator]


def test_bounds_that_do_not_hold_the_table_are_refused() -> None:
    with pytest.raises(dc.errors.SchemaError, match="goes from 1 to 10"):
        dc.publish(evenly(10), dc.Perturbation(dc.Proximity((0, 1), 4), within=(2, 10)))


def test_people_who_look_the_same_are_examined_too() -> None:
    """Nobody has a record of their own here, and still it is seen that nothing was perturbed."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"sex": rng.choice(["m", "f"], 5000), "pay": rng.integers(1, 400, 5000) * 10}
    )
    data = microdata(frame, ["sex"], ["pay"])
    release = dc.publish(data, dc.Perturbation(dc.Proximity(20, 3)), insecure_seed=1)
    assert dc.audit(release, data).findings == []
    raw = replace(release, tables={"perturbed": frame.select("sex", "pay")})
    assert "of somebody who looks the same" in dc.audit(raw, data).findings[0]


def test_large_weights_do_not_wrap() -> None:
    step, people, m = 8 * 10**11, 60, 20
    pays = [step * i + i**3 % 7 + 1 for i in range(people)]
    data = microdata(pl.DataFrame({"age": range(people), "pay": pays}), ["age"], ["pay"])
    method = dc.Perturbation(dc.Proximity(int(step * 0.45), m), check="paper")
    for seed in range(4):
        report = dc.audit(dc.publish(data, method, insecure_seed=seed), data)
        assert report.breaches == int((report.proximity["pay"].risks > 1 / m).sum())
    small = evenly(40)
    release = dc.publish(small, dc.Perturbation(dc.Proximity(0, 2)), insecure_seed=1)
    assert dc.audit(release, small, principle=dc.Proximity(0, 10**14)).breaches == 40


@pytest.mark.parametrize("pays", [[1234] * 5 + [5678] * 5 + [10122] * 5, [31, 47, 63, 79, 95] * 4])
def test_the_ends_of_coarse_numbers_are_not_told_either(pays: list[int]) -> None:
    frame = pl.DataFrame({"age": range(len(pays)), "pay": pays})
    release = dc.publish(microdata(frame, ["age"], ["pay"]), dc.Perturbation(dc.Proximity(1, 2)))
    low, high = map(int, release.recodings["pay"].domain)
    assert low < min(pays) and high > max(pays)


def test_numbers_at_the_end_of_their_range_can_be_read_back() -> None:
    pays = [min(int(x), 2**62 - 1) for x in np.linspace(0, 2**62 - 1, 40)]
    pays[1] += 1
    data = microdata(pl.DataFrame({"age": range(40), "pay": pays}), ["age"], ["pay"])
    method = dc.Perturbation(dc.Proximity(2**62 // 60, 4), check="paper")
    assert dc.audit(dc.publish(data, method, insecure_seed=1), data).findings == []


def test_too_many_numbers_to_draw_from_are_named_as_the_reason() -> None:
    pays = np.random.default_rng(0).integers(0, 10**9, 500).tolist()
    data = microdata(pl.DataFrame({"age": range(500), "pay": pays}), ["age"], ["pay"])
    with pytest.raises(dc.errors.PromiseError, match="numbers to draw from, only a retention") as e:
        dc.publish(data, dc.Perturbation(dc.Proximity(10, 4)))
    assert "Round the numbers" in str(e.value)
