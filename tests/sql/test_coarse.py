"""Questions about coarser numbers: bounds hold the truth of the table as it was."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import QueryError, StoreError
from discreet.forms.asking import show_sql
from discreet.release.coarse_labels import refuse_finer_cells

QI, OTHER, SENSITIVE = dc.Role.QUASI_IDENTIFIER, dc.Role.OTHER, dc.Role.SENSITIVE
FRAME = pl.DataFrame(
    {
        "age": [3, 17, 32, 33, 36, 41, 58, 61, 89, 90, 97, 103],
        "pay": [10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 900],
        "d": [*"abcabcabcabc"],
    }
)
CODES = {"top": 90, "bottom": 16, "round": 5}


def publish(frame: pl.DataFrame, method: Any = None, **how: dict[str, Any]) -> dc.Release:
    """Publish age and pay, each as ``how`` says; what it keeps is published as it is shown."""
    numeric = [
        dc.Attribute(n, **{"role": QI, "type": dc.Type.INTEGER, **how.get(n, {})})
        for n in ("age", "pay")
    ]
    told = dc.Type.INTEGER if frame["d"].dtype.is_integer() else dc.Type.CATEGORY
    schema = dc.Schema((*numeric, dc.Attribute("d", SENSITIVE, told)))
    method = method or dc.Generalization(dc.KAnonymity(3))
    return dc.publish(dc.read(frame, schema), method, insecure_seed=1)


def ask(release: dc.Release, select: str, where: str) -> tuple[Any, Any, Any]:
    answer = release.query(f"SELECT {select} FROM release WHERE {where}")
    return answer.estimate, answer.low, answer.high


def test_a_top_code_may_be_anything_above_it() -> None:
    release = publish(FRAME.select("age", pl.lit(1).alias("pay"), "d"), age=CODES)
    table = release.tables["generalized"]
    assert {"≤ 35", "≥ 85"} <= set(table["age"].cast(pl.String))
    _, low, high = ask(release, "COUNT(*)", "age > 95")
    assert (low, high) == (0, 4)  # not certainly nobody
    _, low, high = ask(release, "COUNT(*)", "age >= 83")
    assert (low, high) == (4, 4)
    _, low, high = ask(release, "COUNT(*)", "age < 200")
    assert (low, high) == (8, 12)
    known = publish(FRAME, age={**CODES, "low": 0, "high": 120})
    assert ask(known, "COUNT(*)", "age > 120")[2] == 0  # beyond the public domain
    assert ask(known, "COUNT(*)", "age <= 120")[1] == 12


KEPT = {**CODES, "role": OTHER, "keep": True}


def test_kept_numbers_are_counted_with_what_they_may_be() -> None:
    release = publish(FRAME, age=KEPT)
    expected = {
        "age > 95": (1.5, 0, 3), "age >= 90": (3, 3, 3), "age < 35": (3 + 2 * 2 / 5, 3, 5),
        "age < 17": (1, 1, 1), "age IS NULL": (0, 0, 0), "age > 95 AND age < 98": (1.5, 0, 3),
        "age > 95 AND age < 96": (0, 0, 0),
    }  # fmt: skip
    for where, found in expected.items():
        assert ask(release, "COUNT(*)", where) == pytest.approx(found), where


def test_sums_of_codes_have_no_end_unless_it_is_public() -> None:
    release = publish(FRAME, age=KEPT)
    total = [16, 20, 30, 35, 35, 40, 60, 60, 85, 90, 90, 90]
    assert ask(release, "SUM(age)", "TRUE") == (sum(total), None, None)
    assert ask(release, "AVG(age)", "age BETWEEN 17 AND 89")[1:] == (348 / 8, 383 / 8)
    assert ask(release, "MAX(age)", "age >= 90")[1:] == (90, None)
    assert ask(release, "MIN(age)", "age BETWEEN 17 AND 89")[1:] == (17, 22)
    known = publish(FRAME, age={**KEPT, "low": 0, "high": 120})
    assert ask(known, "SUM(age)", "age >= 90")[1:] == (270, 360)
    means = publish(FRAME, pay={"role": OTHER, "keep": True, "aggregate": 3})
    assert ask(means, "SUM(pay)", "TRUE") == (FRAME["pay"].sum(), None, None)
    assert ask(means, "COUNT(*)", "pay > 60")[1:] == (0, 12)


FUNCTIONS = ["COUNT(*)", "SUM(age)", "AVG(age)", "MIN(age)", "MAX(age)"]


@given(
    st.lists(st.tuples(st.integers(-5, 60), st.integers(0, 40)), min_size=4, max_size=12),
    st.sampled_from([{"round": 5}, {"top": 40, "bottom": 8}, {"top": 37, "bottom": 3, "round": 4},
                     {"aggregate": 3}, {"top": 40, "low": -5, "high": 60}]),
    st.booleans(),
    st.integers(-10, 70), st.integers(0, 30), st.sampled_from(["age", "pay"]), st.booleans(),
)  # fmt: skip
@settings(max_examples=20, deadline=None)
def test_bounds_always_hold_the_truth_of_the_table_as_it_was(
    rows: list[tuple[int, int]], how: dict[str, Any], kept: bool, first: int, width: int,
    name: str, between: bool,
) -> None:  # fmt: skip
    frame = pl.DataFrame(rows, schema={"age": pl.Int64, "pay": pl.Int64}, orient="row")
    frame = frame.with_columns(d=pl.Series([i % 3 for i in range(len(rows))]))
    role = {"role": OTHER, "keep": True} if kept else {}
    release = publish(frame, dc.Generalization(dc.KAnonymity(2)), age={**how, **role},
                      pay={"round": 3})  # fmt: skip
    where = f"{name} BETWEEN {first} AND {first + width}" if between else f"{name} > {first}"
    functions = FUNCTIONS if kept else FUNCTIONS[:1]
    told = release.query(f"SELECT {', '.join(functions)} FROM release WHERE {where}")
    with duckdb.cursor() as database:
        database.register("people", frame)
        asked = f"SELECT {', '.join(functions)} FROM people WHERE {where}"
        truths = database.execute(asked).fetchone() or ()
    parts = told.frame.row(0)
    for aggregate, truth, at in zip(functions, truths, range(0, len(parts), 5), strict=True):
        estimate, low, high = parts[at : at + 3]
        for value in (truth, estimate):
            if value is not None:
                assert (-math.inf if low is None else low) <= value + 1e-9, (aggregate, where)
                assert (math.inf if high is None else high) >= value - 1e-9, (aggregate, where)


EXACT = {
    "permutation": dc.Permutation(dc.KE(2, 1)),
    "rank-swapping": dc.RankSwapping(dc.KE(2, 1)),
    "anatomy": dc.Anatomy(dc.FrequencyDiversity(2)),
    "slicing": dc.Slicing(dc.FrequencyDiversity(2)),
    "perturbation": dc.Perturbation(dc.Proximity(1, 2), check="paper"),
}


@pytest.mark.parametrize("method", list(EXACT))
def test_forms_that_show_numbers_exactly_answer_rightly_or_refuse(method: str) -> None:
    frame = FRAME.with_columns(d=pl.Series(range(10, 130, 10)))
    release = publish(frame, EXACT[method], age=CODES)
    assert ask(release, "COUNT(*)", "age >= 90")[1:] == (3, 3)
    assert ask(release, "COUNT(*)", "age BETWEEN 33 AND 37")[1:] == (2, 2)
    assert ask(release, "COUNT(*)", "age < 0 AND age > 1")[1:] == (0, 0)
    assert "90" in show_sql(release, "SELECT COUNT(*) FROM release WHERE age >= 90", "postgres")
    with pytest.raises(QueryError, match="cuts through what 90 of 'age' stands for"):
        ask(release, "COUNT(*)", "age > 95")
    with pytest.raises(QueryError, match="cuts through what 35"):
        ask(release, "COUNT(*)", "age > 35")
    with pytest.raises(QueryError, match="ties 'age'"):
        ask(release, "COUNT(*)", "age > pay")
    with release.prepare() as prepared, pytest.raises(QueryError, match="cuts through"):
        prepared.query("SELECT COUNT(*) FROM release WHERE age > 95")
    with pytest.raises(QueryError, match="AVG of 'age' cannot be answered: 16 means 16 or less"):
        ask(release, "AVG(age)", "TRUE")


def test_people_are_grouped_by_what_is_shown() -> None:
    release = publish(FRAME, age=CODES)
    asked = "SELECT age, COUNT(*) FROM release GROUP BY age"
    assert set(release.query(asked).frame["age"]) <= {16, *range(20, 90, 5), 90}
    with pytest.raises(QueryError, match="was made coarser"):
        release.query("SELECT age, COUNT(*) FROM release WHERE age > 40 GROUP BY age")
    with pytest.raises(QueryError, match="was made coarser"):
        release.query("SELECT COUNT(*) FROM release WHERE age > 40 OR pay > 50")
    kept = publish(FRAME, age=KEPT)
    found = kept.query(asked).frame
    assert dict(found.select("age", "count").iter_rows())[90] == 3
    assert set(release.sample(30, seed=1)["age"]) <= {16, *range(20, 90, 5), 90}


def test_a_table_that_shows_more_than_its_manifest_says_is_refused() -> None:
    from dataclasses import replace

    release = publish(FRAME, age=KEPT)
    for wrong in (95, 37, 3):
        cells = pl.when(pl.col("age") == 90).then(wrong).otherwise("age").alias("age")
        tables = {"generalized": release.tables["generalized"].with_columns(cells)}
        with pytest.raises(StoreError, match=f"'age' shows {wrong}, which is not as coarse"):
            refuse_finer_cells(replace(release, tables=tables))
