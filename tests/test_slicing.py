"""Slicing beyond the paper's examples: attacks, ratings, shared attributes, blurred columns."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.evaluate.mining import classify, predict_ratings
from discreet.partitioners.columns import correlate
from discreet.ratings import spread_ratings
from samples import microdata

COMMAND = [sys.executable, "-c", "from discreet.cli import main; main()"]


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], cwd=cwd, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("buckets", ["mondrian", 60])
def test_comparing_buckets_tells_more_where_values_follow_from_others(buckets: str | int) -> None:
    """deFinetti: age all but decides the disease, which shows across buckets."""
    rng = np.random.default_rng(3)
    n = 1200
    age = rng.integers(0, 8, n)
    told = np.where(rng.random(n) < 0.95, age // 4, rng.integers(0, 2, n))
    frame = pl.DataFrame(
        {"age": age, "zip": rng.integers(0, 30, n), "disease": np.array(["flu", "ulcer"])[told]}
    )
    data = microdata(frame, ["age", "zip"], ["disease"])
    method = dc.Slicing(
        dc.FrequencyDiversity("1.3"), columns=[["age", "zip"], ["disease"]], buckets=buckets
    )
    report = dc.audit(dc.publish(data, method, seed=2), data, attacks=True)
    tried = {found.name: found for found in report.attacks}
    assert tried["deFinetti"].success > tried["deFinetti"].chance + 0.1
    printed = dc.Slicing(method.principle, columns=method.columns, check="paper")
    report = dc.audit(dc.publish(data, printed, seed=2), data, attacks=True)
    assert {found.name for found in report.attacks} == set(tried)


def agreement(one: list[int | None], other: list[int | None]) -> float:
    """Section 7, word by word."""
    union = sum(a is not None or b is not None for a, b in zip(one, other, strict=True))
    same = sum(a is not None and a == b for a, b in zip(one, other, strict=True))
    return same / union if union else 0.0


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_agreement_is_that_of_the_paper(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = rng.integers(1, 5, (12, 4))
    wide = pl.DataFrame(
        {f"i{k}": [None if v == 4 else int(v) for v in cells[:, k]] for k in range(4)}
    ).select(pl.all().cast(pl.Int64))
    if any(column.null_count() == len(column) for column in wide):
        return
    long = wide.with_row_index("user").unpivot(
        index="user", variable_name="item", value_name="rating"
    )
    found = correlate(dc.read_ratings(long.drop_nulls()), similarity="agreement")
    kept = wide.filter(pl.any_horizontal(pl.all().is_not_null()))
    for one in wide.columns:
        for other in wide.columns:
            expected = (
                1.0 if one == other else agreement(kept[one].to_list(), kept[other].to_list())
            )
            assert found.between(one, other) == pytest.approx(expected)


def test_ratings_are_sliced_audited_and_learned_from(tmp_path: Path) -> None:
    data = dc.read_ratings(dc.datasets.ratings_frame(900, 80, seed=4))
    people, asked = data.taken(np.arange(800)), data.taken(np.arange(800, data.n)).to_polars()
    method = dc.Slicing(dc.KAnonymity(4), columns=8, buckets=4, similarity="agreement")
    folder = dc.publish(people, method, seed=1).write(tmp_path / "r")
    report = dc.audit(folder, people)
    assert not report.findings and report.membership is not None
    assert report.membership.ratio > 10
    release = dc.load(folder)
    rows = release.sample(800, seed=1)
    error, baseline = predict_ratings(people.to_polars(), asked)
    sliced, _ = predict_ratings(rows.select(asked.columns), asked)
    assert error < sliced < baseline
    counted = release.query('SELECT COUNT(*) FROM release WHERE "item 000" = 5 AND "item 001" = 5')
    truth = people.to_polars().filter((pl.col("item 000") == 5) & (pl.col("item 001") == 5)).height
    assert counted.low is not None and counted.high is not None
    assert counted.low <= truth <= counted.high


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        ({"user": [1, 1], "item": ["a", "a"], "rating": [1, 2]}, "rates 'a' more than once"),
        ({"user": [1, None], "item": ["a", "b"], "rating": [1, 2]}, "'user': 1 of 2 cells"),
        ({"person": [1], "item": ["a"], "rating": [1]}, "no column 'user'"),
    ],
)
def test_ratings_that_are_none_are_refused(frame: dict[str, list[object]], reason: str) -> None:
    with pytest.raises(dc.DiscreetError, match=reason):
        spread_ratings(pl.DataFrame(frame))


def test_the_command_line_spreads_and_compares_ratings(tmp_path: Path) -> None:
    dc.datasets.ratings_frame(300, 30, seed=4).write_csv(tmp_path / "long.csv")
    made = run("ratings", "long.csv", "--to", "wide.parquet", "--json", cwd=tmp_path)
    assert json.loads(made.stdout)["items"] == 30
    asked = ["columns", "wide.parquet", "--similarity", "agreement"]
    found = json.loads(run(*asked, "--json", cwd=tmp_path).stdout)
    assert len(found["agreement"]) == 30 and len(found["columns"]["10"]) == 10
    shown = run(*asked, "--chart", "heat.svg", cwd=tmp_path).stdout
    assert "goes with" in shown and "and" in shown
    assert "<svg" in (tmp_path / "heat.svg").read_text(encoding="utf-8")
    again = run("ratings", "long.csv", "--to", "wide.parquet", cwd=tmp_path)
    assert again.returncode == 2
    wrong = run("ratings", "long.csv", "--to", "wide.xls", cwd=tmp_path)
    assert wrong.returncode == 2 and ".parquet or .csv" in wrong.stderr


def test_models_learn_from_records_of_any_type() -> None:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, 400)
    frame = pl.DataFrame(
        {
            "age": pl.Series(age).set(pl.Series(age == 30), None),
            "sex": rng.choice(["f", "m"], 400),
            "retired": pl.Series(age > 64),
        }
    )
    scores = classify(frame.head(300), frame.tail(100), "retired", ("tree", "bayes"))
    assert scores["tree"] > 0.95 and scores["bayes"] > 0.85
    unseen = frame.tail(100).with_columns(sex=pl.lit("x"))
    assert classify(frame.head(300), unseen, "retired", ("bayes",))["bayes"] > 0.85
