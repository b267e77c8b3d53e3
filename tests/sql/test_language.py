"""The SQL that analysts write: answered by every form, with the truth inside the bounds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import duckdb
import numpy as np
import polars as pl
import pytest
from sqlglot import exp

import discreet as dc
from discreet.sql.reading import read_statement
from questions import METHODS, Drawer, draw_people, find_wrong, open_truth

EACH = pytest.mark.parametrize("case", list(METHODS))
KINDS = """
SELECT COUNT(income) FROM release WHERE age < 40
SELECT sex, COUNT(*) AS n FROM release GROUP BY sex HAVING n > 50 ORDER BY n DESC
SELECT age, COUNT(*) AS n FROM release GROUP BY age ORDER BY n DESC LIMIT 5
SELECT age, COUNT(*) AS n FROM release GROUP BY age ORDER BY age LIMIT 5
SELECT sex, COUNT(DISTINCT age) AS d FROM release WHERE income > 10000 GROUP BY sex
SELECT MEDIAN(income) FROM release
SELECT sex, QUANTILE_CONT(income, 0.9) AS q FROM release GROUP BY sex
SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY age) AS q FROM release WHERE income > 9000
SELECT STDDEV(income), VAR_POP(age), VARIANCE(income) FROM release WHERE age > 30
SELECT CORR(age, education) AS c, REGR_SLOPE(age, education) AS s FROM release
SELECT SUM(income) / COUNT(*) AS ratio FROM release WHERE age < 50
SELECT SUM(CASE WHEN sex = 'male' THEN income ELSE 0 END) AS m, SUM(income) AS s FROM release
SELECT region, COUNT(*) FILTER (WHERE age < 30) * 1.0 / COUNT(*) AS s FROM release GROUP BY region
SELECT COUNT_IF(age < 30) AS young, ROUND(AVG(income), 2) AS a FROM release
SELECT CAST(AVG(income) AS INTEGER) AS a, MAX(income) - MIN(income) AS r FROM release
SELECT age // 10 AS decade, COUNT(*) AS n FROM release GROUP BY decade
SELECT FLOOR(income / 10000) AS b, COUNT(*) AS n FROM release GROUP BY 1
SELECT CASE WHEN age < 30 THEN 'young' ELSE 'old' END AS g, AVG(income) AS a FROM release GROUP BY g
SELECT income > 30000 AS rich, COUNT(*) AS n FROM release GROUP BY ALL
SELECT sex, region, COUNT(*) AS n FROM release GROUP BY ROLLUP(sex, region)
SELECT sex, region, COUNT(*) AS n FROM release GROUP BY GROUPING SETS ((sex), (region), ())
WITH adults AS (SELECT * FROM release WHERE age >= 30) SELECT COUNT(*) AS n FROM adults
WITH g AS (SELECT sex, AVG(income) AS a FROM release GROUP BY sex) SELECT MAX(a) - MIN(a) AS d FROM g
SELECT AVG(x) AS a FROM (SELECT income AS x FROM release WHERE sex = 'male') t
SELECT sex, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM release GROUP BY sex
SELECT sex, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS pct FROM release GROUP BY sex
SELECT age, AVG(income) - LAG(AVG(income)) OVER (ORDER BY age) AS d FROM release GROUP BY age
SELECT COUNT(*) AS n FROM release WHERE age % 2 = 0 AND FLOOR(income / 1000) > 20
SELECT COUNT(*) AS n FROM release WHERE CAST(age AS VARCHAR) LIKE '3%'
SELECT COUNT(*) AS n FROM release WHERE regexp_matches(sex, '^m') AND SUBSTRING(region, 1, 1) <> 'x'
SELECT COUNT(*) AS n FROM release WHERE sex IS DISTINCT FROM 'male' AND COALESCE(age, 0) > 30
SELECT SUM(age) AS a, MIN(age) AS lo, MAX(age) AS hi, AVG(age) AS m FROM release WHERE income > 20000
SELECT AVG(LN(income + 1)) AS a FROM release WHERE age > 40
SELECT MIN(income) AS lo, MAX(income) AS hi FROM release WHERE age > 40 AND income > 20000
SELECT sex, COUNT(*) AS n FROM release GROUP BY sex UNION ALL SELECT 'all', COUNT(*) FROM release
SELECT COUNT(*) * 1.0 / (SELECT COUNT(*) FROM release) AS share FROM release WHERE sex = 'male'
SELECT r.sex, r.n * m.w AS z FROM (SELECT sex, COUNT(*) AS n FROM release GROUP BY sex) r JOIN mine m ON r.sex = m.sex
SELECT DISTINCT sex FROM release
SELECT sex, COUNT(*) AS n FROM release GROUP BY sex QUALIFY ROW_NUMBER() OVER (ORDER BY n DESC) = 1
""".strip().splitlines()  # noqa: E501
MINE = pl.DataFrame({"sex": ["male", "female"], "w": [1.5, 2.5]})


@cache
def publish(case: str) -> tuple[dc.Microdata, dc.Release]:
    people = dc.datasets.census(500, sensitive=["income"])
    kept = ["age", "sex", "region", "education", "income"]
    data = dc.read(people.to_polars().select(kept), people.public_schema.only(kept))
    return data, dc.publish(data, METHODS[case], insecure_seed=1)


@pytest.fixture
def truth() -> Iterator[duckdb.DuckDBPyConnection]:
    with open_truth(publish("generalization")[0]) as database:
        database.register("mine", MINE.to_arrow())
        yield database


@EACH
def test_what_analysts_write_is_answered(case: str, truth: duckdb.DuckDBPyConnection) -> None:
    """By every form; but a sliced release tells nothing across its columns, and a perturbed one
    no quantile of people who are selected by the number."""
    refused = []
    with publish(case)[1].prepare(tables={"mine": MINE}) as prepared:
        for sql in KINDS:
            wrong = find_wrong(prepared, truth, sql)
            assert not wrong, (sql, wrong)
            if wrong is None:
                refused.append(sql)
    assert len(refused) <= (case in ("slicing", "perturbation")), refused


@EACH
def test_random_questions_have_the_truth_inside_their_bounds(case: str) -> None:
    answered = 0
    for seed in range(2):
        rng = np.random.default_rng(seed)
        people = draw_people(rng, 80)
        release = dc.publish(people, METHODS[case], insecure_seed=1)
        drawer = Drawer(rng, people.public_schema.names)
        with open_truth(people) as database, release.prepare() as prepared:
            for _ in range(15):
                sql = drawer.draw()
                wrong = find_wrong(prepared, database, sql)
                assert not wrong, (sql, wrong)
                answered += wrong is not None
    assert answered >= 15


ELSEWHERE = [
    "SELECT FLOOR(age / 20) AS k, COUNT(*) AS n, MEDIAN(income) AS m FROM release GROUP BY 1 "
    "HAVING COUNT(*) > 20 ORDER BY n DESC LIMIT 2",
    "SELECT sex, ROUND(AVG(income) / 7, 1) AS a, STDDEV(age) AS s FROM release "
    "WHERE regexp_matches(region, 'a') GROUP BY ROLLUP(sex) ORDER BY a",
    "SELECT sex, COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS pct, COUNT(DISTINCT region) AS d "
    "FROM release GROUP BY sex",
    "SELECT r.n * m.w AS z FROM (SELECT sex, COUNT(*) AS n FROM release WHERE age % 3 = 1 "
    "GROUP BY sex) r JOIN mine m USING (sex) ORDER BY z",
]


@EACH
def test_postgresql_answers_the_same(case: str, postgres: str) -> None:
    release = publish(case)[1]
    for sql in ELSEWHERE:
        here = release.query(sql, tables={"mine": MINE})
        there = release.query(sql, tables={"mine": MINE}, engine=postgres)
        assert here.columns == there.columns and here.left_out == there.left_out
        assert here.frame.schema == there.frame.schema, sql
        for one, two in zip(here.frame.rows(), there.frame.rows(), strict=True):
            for a, b in zip(one, two, strict=True):
                assert a == (pytest.approx(b, rel=1e-9) if isinstance(b, float) else b), sql


def test_rows_say_whether_they_surely_belong() -> None:
    """Of two groups of two, one may have any of one to three people by what boxes say."""
    frame = pl.DataFrame({"age": [20, 29, 31, 39, 40, 49], "ill": list("abcabc")})
    schema = dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["ill"])
    release = dc.publish(dc.read(frame, schema), dc.Generalization(dc.KAnonymity(2)))
    text = "SELECT age < 35 AS young, COUNT(*) AS n FROM release GROUP BY 1"
    having = release.query(f"{text} HAVING n >= 3")
    rows = {row["young"]: row for row in having.frame.to_dicts()}
    for young, row in rows.items():
        sure = row["n_low"] >= 3
        assert row["certain"] == sure, (young, row)
    first = release.query(f"{text} ORDER BY n DESC LIMIT 1")
    assert first.frame.height == 1 and "certain" in first.frame.columns
    everyone = release.query("SELECT COUNT(*) AS n FROM release HAVING n = 6")
    assert everyone.frame["certain"].to_list() == [True]


def test_a_value_that_nobody_has_gets_a_hint() -> None:
    release = publish("generalization")[1]
    (note,) = release.query("SELECT COUNT(*) FROM release WHERE sex = 'Male'").notes
    assert note == "Nobody has 'Male' for 'sex'. Did you mean 'male'?"
    assert not release.query("SELECT COUNT(*) FROM release WHERE sex = 'male'").notes


def test_thousands_of_conditions_are_answered_and_deep_nesting_is_refused() -> None:
    release = publish("generalization")[1]
    chain = " OR ".join(f"income = {i}" for i in range(5000))
    listed = release.query(
        f"SELECT COUNT(*) FROM release WHERE income IN ({', '.join(map(str, range(5000)))})"
    )
    assert release.query(f"SELECT COUNT(*) FROM release WHERE {chain}").frame.equals(listed.frame)
    mixed = " OR ".join(f"(age = {i} AND age <> {i + 1})" for i in range(300))
    assert release.query(f"SELECT COUNT(*) FROM release WHERE {mixed}").high == 500
    for deep in ("(" * 10_000 + "age = 1" + ")" * 10_000, "NOT " * 10_000 + "age = 1"):
        with pytest.raises(dc.errors.QueryError, match="nested too deeply"):
            release.query(f"SELECT COUNT(*) FROM release WHERE {deep}")


@pytest.mark.parametrize(
    "text",
    ["SELECT MAX() FROM release", "SELECT sex FROM release GROUP BY sex HAVING MIN() > 1",
     "SELECT MAX(DISTINCT) FROM release", "SELECT MODE() WITHIN GROUP () FROM release"],
)  # fmt: skip
def test_aggregates_of_nothing_are_refused(text: str) -> None:
    with pytest.raises(dc.errors.QueryError, match="of nothing"):
        read_statement(text)


def test_what_takes_too_long_to_be_planned_is_refused_before() -> None:
    for text, why in (
        (", ".join(["COUNT(*)"] * 100), "101 aggregates"),
        (f"COUNT_IF({' + '.join(['age'] * 6000)} > 1)", "parts|nested too deeply"),
        (f"COUNT_IF(sex = '{'x' * 2**18}')", "characters"),
    ):
        with pytest.raises(dc.errors.QueryError, match=why):
            read_statement(f"SELECT {text} FROM release")
    assert read_statement(f"SELECT {', '.join(['COUNT(*)'] * 99)} FROM release").find(exp.Count)


def test_errors_of_what_is_put_together_are_never_too_small() -> None:
    """The spread of a difference is at most the sum of both, and nothing of what is exact."""
    release = publish("permutation")[1]
    row = release.query(
        "SELECT SUM(income) AS s, COUNT(*) AS n, SUM(income) / COUNT(*) AS r, AVG(income) AS a, "
        "SUM(income) - SUM(income) / 2 AS d FROM release WHERE age < 40"
    ).frame.row(0, named=True)
    assert row["n_stderr"] == 0 and row["r"] == pytest.approx(row["a"])
    assert row["r_stderr"] == pytest.approx(row["a_stderr"])
    assert row["r_low"] == pytest.approx(row["a_low"])
    assert row["d_stderr"] == pytest.approx(1.5 * row["s_stderr"])


def test_what_may_be_nothing_by_the_estimates_alone_is_not_bounded_by_what_replaces_it() -> None:
    release = publish("permutation")[1]
    text = "SELECT COALESCE(SUM(income) / (COUNT(*) - 250), 0) AS r FROM release"
    row = release.query(text.replace("250", "500")).frame.row(0, named=True)
    assert (row["r"], row["r_low"], row["r_high"]) == (0, None, None)
    nobody = release.query("SELECT COALESCE(SUM(income), 0) AS s FROM release WHERE age > 999")
    assert (nobody.estimate, nobody.low, nobody.high) == (0, 0, 0)


def test_what_nobody_may_have_is_bounded_by_what_replaces_it_and_makes_nothing_certain() -> None:
    """Of two people between 20 and 29 one may be 25, or none: ages were made an interval."""
    frame = pl.DataFrame({"age": [20, 29, 31, 39], "ill": list("abab")})
    schema = dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["ill"])
    release = dc.publish(dc.read(frame, schema), dc.Generalization(dc.KAnonymity(2)))
    some = "MIN(age) FILTER (WHERE age = 25)"
    row = release.query(
        f"SELECT COALESCE({some}, 0) AS a, COALESCE(MIN(age), 0) AS b, GREATEST({some}, 7) AS c, "
        "COALESCE(MIN(age) FILTER (WHERE age > 99), 5) AS d FROM release"
    ).frame.row(0, named=True)
    assert (row["a_low"], row["a_high"]) == (0, 25)
    assert (row["b_low"], row["b_high"]) == (20, 29)
    assert (row["c_low"], row["c_high"]) == (7, 25)
    assert (row["d_low"], row["d_high"]) == (5, 5)
    certain = {
        "MIN(age) IS NOT NULL": [True], f"{some} IS NOT NULL": [False], f"{some} > 10": [False],
        "MIN(age) > 10": [True], f"COALESCE({some}, 30) > 10": [True],
    }  # fmt: skip
    for condition, expected in certain.items():
        text = f"SELECT COUNT(*) AS n FROM release HAVING {condition}"
        assert release.query(text).frame["certain"].to_list() == expected, condition
    inner = f"SELECT age > 30 AS k, {some} AS m, MAX(age) AS x FROM release GROUP BY k"
    total = release.query(f"SELECT SUM(m) AS s, COUNT(m) AS n, SUM(x) AS t FROM ({inner}) g")
    row = total.frame.row(0, named=True)
    assert (row["s_low"], row["s_high"]) == (0, 25) and (row["n_low"], row["n_high"]) == (0, 1)
    assert (row["t_low"], row["t_high"]) == (20 + 31, 29 + 39)
