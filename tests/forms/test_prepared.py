"""Prepared releases: many questions in memory, the same answers as the database gives."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.forms.prepared import Prepared
from samples import microdata

CONDITIONS = [
    "age BETWEEN 30 AND 60", "sex = 'f'", "sex IS NULL", "NOT age IN (31, 32)", "age / 2 > 20",
    "sex LIKE 'm%' OR sex IS NULL", "age", "LENGTH(place)", "CASE WHEN age > 30 THEN 2 END",
    "age <> 40", "age > 99", "place < 'g'",
    "CASE WHEN place = 'here' THEN 1 ELSE 0 END = 1",
]  # fmt: skip
AGGREGATES = "COUNT(*), COUNT(pay), SUM(pay), AVG(pay), MIN(pay), MAX(pay)"


def release_of(decimals: bool) -> dc.Release:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "age": rng.integers(20, 70, 400),
            "sex": rng.choice(["f", "m", None], 400),  # type: ignore[list-item]
            "place": rng.choice(["here", "there", "elsewhere"], 400),
            "pay": rng.integers(-50, 900, 400) / (4 if decimals else 1),
        }
    )
    frame = frame if decimals else frame.cast({"pay": pl.Int64})
    return dc.publish(
        microdata(frame, ["age", "sex", "place"], ["pay"]),
        dc.Permutation(dc.KE(5, 20)),
        insecure_seed=2,
    )


@pytest.fixture(scope="module")
def prepared() -> list[Prepared]:
    return [release_of(decimals).prepare() for decimals in (False, True)]


@settings(max_examples=60, deadline=None)
@given(
    conditions=st.lists(st.sampled_from(CONDITIONS), max_size=4),
    joined=st.sampled_from([" AND ", " AND ", " OR "]),
    kind=st.integers(0, 1),
)
def test_the_fast_path_and_sql_give_the_same_answers(
    prepared: list[Prepared], conditions: list[str], joined: str, kind: int
) -> None:
    question = f"SELECT {AGGREGATES} FROM release"
    if conditions:
        question += " WHERE " + joined.join(f"({c})" for c in conditions)
    here = prepared[kind].query(question)
    there = prepared[kind].release.query(question)
    assert here.sql == there.sql
    assert here.frame.schema == there.frame.schema
    for a, b in zip(here.frame.row(0), there.frame.row(0), strict=True):
        assert a == (pytest.approx(b, rel=1e-9, abs=1e-9) if isinstance(b, float) else b)


@pytest.mark.parametrize(
    ("question", "fast"),
    [
        ("SELECT SUM(pay) FROM release", True),
        ("SELECT SUM(pay) FROM release WHERE ((age > 30) AND sex = 'f') AND age < 60", True),
        ("SELECT SUM(pay) FROM release WHERE age > 30 OR sex = 'f'", False),
        ("SELECT SUM(age) FROM release", False),
        ("SELECT sex, SUM(pay) FROM release GROUP BY sex", False),
    ],
)
def test_which_questions_are_walked_over_codes(
    prepared: list[Prepared], monkeypatch: pytest.MonkeyPatch, question: str, fast: bool
) -> None:
    from discreet.kernels import bounds

    calls = []
    walk = bounds.bound_groups
    monkeypatch.setattr(bounds, "bound_groups", lambda *given: calls.append(1) or walk(*given))
    answer = prepared[0].query(question)
    assert bool(calls) is fast
    assert answer.frame.height >= 1


def test_other_forms_are_prepared_too() -> None:
    data = dc.datasets.adult(sensitive=["occupation", "capital-loss"]).head(500)
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(5)))
    question = "SELECT sex, AVG(capital_loss) FROM release WHERE age > 30 GROUP BY sex"
    with release.prepare() as prepared:
        for _ in range(2):
            assert prepared.query(question).frame.equals(release.query(question).frame)
        with pytest.raises(dc.errors.QueryError, match="no column"):
            prepared.query("SELECT AVG(wage) FROM release")


def test_sums_beyond_64_bits_are_left_to_the_database() -> None:
    pay = [9 * 10**17 + i for i in range(24)]
    frame = pl.DataFrame({"age": range(24), "pay": pay})
    made = dc.publish(microdata(frame, ["age"], ["pay"]), dc.Permutation(dc.KE(2, 1)))
    with made.prepare() as prepared:
        assert prepared.query("SELECT SUM(pay) FROM release").low == pytest.approx(sum(pay))


def test_questions_are_read_line_by_line(tmp_path: Path) -> None:
    release_of(False).write(tmp_path / "r", insecure=True)
    command = [sys.executable, "-c", "from discreet.cli import main; main()", "query", "r"]

    def run(lines: str, *more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, *more], cwd=tmp_path, input=lines, capture_output=True,
                              text=True, check=False)  # fmt: skip

    found = run("SELECT COUNT(*) FROM release\n\nSELECT AVG(pay) AS mean FROM release\n")
    assert found.returncode == 0
    assert "count" in found.stdout and "mean" in found.stdout
    refused = run(
        "\ufeff-- a comment\nSELECT COUNT(*) FROM release\nSELECT AVG(wage) FROM release\n"
    )
    assert refused.returncode == 2 and "Question 2: There is no column 'wage'" in refused.stderr
    assert run("", "--show-sql", "spark").returncode == 2
