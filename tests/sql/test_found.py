"""Answers that were once wrong: found by reading the code, and by questions written to break it."""

from __future__ import annotations

import datetime as dt

import duckdb
import polars as pl
import pytest

import discreet as dc
from discreet.forms.asking import show_sql
from discreet.publishing.method import Method
from questions import find_wrong, open_truth

PERMUTED, BOXED = dc.Permutation(dc.KE(2, 1)), dc.Generalization(dc.KAnonymity(2))
PEOPLE = {
    "age": [20, 21, 30, 31, 40, 41, 50, 51], "sex": ["F", "M"] * 4,
    "wage": [10, 10, 20, 20, 30, 30, 40, 50],
}  # fmt: skip
DAYS = [(1970, 1, 1), (1970, 1, 2), (1990, 1, 1), (1990, 1, 3), (1975, 1, 1), (1980, 1, 2),
        (1960, 1, 1), (1960, 1, 2)]  # fmt: skip
BORN = {**PEOPLE, "born": [dt.date(*day) for day in DAYS]}
OWED = {
    "age": [20, 21, 30, 31, 40, 41], "sex": ["F"] * 6,
    "debt": [5.7, -15.7, -12.4, -73.2, 54.0, 34.3], "wage": [-60, -5, 3, 5, 9, 60],
}  # fmt: skip
BELOW = {**PEOPLE, "age": [-3, -2, 9, 11, 25, 20, -30, 100]}
FOUR = {"age": [20, 25, 50, 55], "wage": [7, 8, 100, 101]}
MINE = pl.DataFrame({"k": ["F", "M"], "v": [1, None]})


def ask(people: dict[str, list[object]], method: Method, sql: str) -> pl.DataFrame:
    """Put a question to a release, and demand the truth within the bounds."""
    frame = pl.DataFrame(people)
    names = [name for name in frame.columns if name != "wage"]
    schema = dc.Schema.infer(frame, quasi_identifiers=names, sensitive=["wage"])
    data = dc.read(frame, schema)
    release = dc.publish(data, method, insecure_seed=1)
    with open_truth(data) as database, release.prepare(tables={"mine": MINE}) as prepared:
        database.register("mine", MINE.to_arrow())
        answer = prepared.query(sql)
        assert not find_wrong(prepared, database, sql), (sql, answer.frame)
        return answer.frame


@pytest.mark.parametrize(("people", "method", "sql"), [
    (PEOPLE, PERMUTED, "SELECT CAST(COUNT(*) / 16 AS INTEGER) AS x FROM release"),
    (PEOPLE, PERMUTED, "SELECT CAST(COUNT(*) / 3 AS DECIMAL(9,1)) AS x FROM release"),
    (PEOPLE, PERMUTED, "SELECT CAST(COUNT(*) / 3 AS DECIMAL) AS x FROM release"),
    (OWED, PERMUTED, "SELECT FLOOR(SUM(debt) * 10) AS c FROM release"),
    (BELOW, BOXED, "SELECT sex, SQRT(AVG(age)) * 2 AS n FROM release GROUP BY sex"),
    (BELOW, BOXED, "SELECT MIN(r) AS m FROM (SELECT sex, SQRT(AVG(age)) AS r FROM release "
     "WHERE age > 0 GROUP BY sex) t"),
    (PEOPLE, BOXED, "SELECT age, MIN(age) OVER (ORDER BY age ROWS BETWEEN 1 PRECEDING AND 1 "
     "PRECEDING) AS prev, COUNT(*) AS n FROM release GROUP BY age"),
    (PEOPLE, PERMUTED, "SELECT COUNT(n) AS c FROM mine LEFT JOIN (SELECT COUNT(*) AS n FROM "
     "release) s ON v = 1"),
    (PEOPLE, PERMUTED, "SELECT COUNT(n) AS c FROM (SELECT COUNT(*) AS n FROM release UNION ALL "
     "SELECT v FROM mine) t"),
    (PEOPLE, PERMUTED, "SELECT COALESCE(COUNT_IF(age > 20), -1) AS m FROM release WHERE age > 90"),
    (PEOPLE, PERMUTED, "SELECT COUNT(*) AS n FROM release WHERE wage + 1e17 > 1e17"),
    (PEOPLE, dc.Perturbation(dc.Proximity(1, 2), check="paper"),
     "SELECT COUNT(*) AS n FROM release WHERE age + 1e17 > 1e17"),
    (PEOPLE, PERMUTED, "SELECT n, s FROM (SELECT COUNT(*) AS s, SUM(wage) AS n FROM release) "
     "t(n, s)"),
    (PEOPLE, PERMUTED, "WITH g(k, n) AS (SELECT sex, COUNT(*) FROM release GROUP BY sex) "
     "SELECT k, n FROM g"),
    (PEOPLE, PERMUTED, "SELECT AVG(age) AS a FROM release AS r(wage, sex, age)"),
    (PEOPLE, PERMUTED, "SELECT COUNT(*) AS c FROM (SELECT DISTINCT sex FROM (SELECT sex, age, "
     "COUNT(*) AS n FROM release GROUP BY sex, age) t) u"),
    (PEOPLE, PERMUTED, "SELECT sex, 1 AS v, COUNT(*) AS c FROM release GROUP BY sex "
     "HAVING COUNT(*) > (SELECT MAX(v) + 9 FROM mine)"),
    (PEOPLE, PERMUTED, "SELECT sex, COUNT(*) AS n FROM release GROUP BY sex HAVING COUNT(*) = "
     "(SELECT MAX(n) FROM (SELECT sex, COUNT(*) AS n FROM release GROUP BY sex) t)"),
    (PEOPLE, PERMUTED, "SELECT x, COUNT(*) AS n FROM (SELECT 5 AS x FROM release) t GROUP BY x"),
    (PEOPLE, PERMUTED, "SELECT sex, AVG(wage) AS wage FROM release GROUP BY sex ORDER BY wage"),
    (PEOPLE, PERMUTED, "SELECT t.sex, SUM(n) AS s FROM (SELECT SEX, age, COUNT(*) AS n FROM "
     "release GROUP BY ALL) t GROUP BY sex"),
    (PEOPLE, PERMUTED, "SELECT g.*, v FROM (SELECT sex, COUNT(*) AS n FROM release GROUP BY sex) "
     "g JOIN mine ON sex = k"),
    (PEOPLE, PERMUTED, "SELECT AVG(wage) * AVG(wage) AS q, AVG(age) - 40 AS d FROM release"),
    (PEOPLE, dc.RankSwapping(dc.KE(3, 2)), "SELECT age, SUM(CASE WHEN sex = 'F' THEN wage ELSE 0 "
     "END) AS x FROM release WHERE CAST(wage AS VARCHAR) LIKE '%5%' GROUP BY age"),
    (PEOPLE, dc.Perturbation(dc.Proximity(1, 2), check="paper"),
     "SELECT sex, CORR(wage, age) AS c, REGR_R2(wage, age) AS r FROM release GROUP BY sex"),
])  # fmt: skip
def test_the_truth_is_within_the_bounds(
    people: dict[str, list[object]], method: Method, sql: str
) -> None:
    ask(people, method, sql)


def test_a_row_is_not_certain_by_a_number_that_may_be_nothing() -> None:
    some = "MIN(wage) FILTER (WHERE age = 23 OR age >= 50) AS b"
    text = f"SELECT wage > 50 AS rich, {some} FROM release GROUP BY rich ORDER BY b LIMIT 1"
    assert not ask(FOUR, BOXED, text)["certain"].any()


@pytest.mark.parametrize("key", ["sex", "wage"])
def test_a_row_is_not_certain_by_the_middle_of_two_days(key: str) -> None:
    text = f"SELECT {key}, MAX(born) AS b FROM release WHERE wage < 45 GROUP BY {key} ORDER BY b"
    frame = pl.DataFrame(BORN)
    schema = dc.Schema.infer(frame, quasi_identifiers=["age", "sex", "born"], sensitive=["wage"])
    release = dc.publish(dc.read(frame, schema), PERMUTED, insecure_seed=1)
    with duckdb.cursor() as database:
        database.register("release", frame.to_arrow())
        for order in ("", " DESC"):
            found = release.query(f"{text}{order} LIMIT 1").frame
            truth = database.sql(f"{text}{order} LIMIT 1").fetchall()
            assert not found["certain"][0] or found[key][0] == truth[0][0]


def test_rows_that_find_no_other_have_nothing() -> None:
    count = "(SELECT COUNT(*) AS n FROM release) s"
    joined = ask(PEOPLE, PERMUTED, f"SELECT k, n FROM mine LEFT JOIN {count} ON v = 1 "
                 "WHERE n IS NULL")  # fmt: skip
    assert "M" in joined["k"].to_list()
    united = ask(PEOPLE, PERMUTED, "SELECT * FROM (SELECT 'a' AS k, COUNT(*) AS n FROM release "
                 "UNION ALL SELECT k, v FROM mine) t WHERE n IS NULL")  # fmt: skip
    assert "M" in united["k"].to_list()


def test_an_ordinal_that_is_missing_is_not_below_the_highest() -> None:
    frame = pl.DataFrame(PEOPLE).with_columns(
        level=pl.Series(["low", "mid", None, "high", "low", "mid", "high", None])
    )
    schema = dc.Schema.infer(
        frame, quasi_identifiers=["age", "sex", "level"], sensitive=["wage"]
    ).changed(dc.Attribute("level", dc.Role.QUASI_IDENTIFIER, dc.Type.ORDINAL,
                           order=("low", "mid", "high"), missing=dc.Missing.VALUE))  # fmt: skip
    release = dc.publish(dc.read(frame, schema), PERMUTED, insecure_seed=1)
    for condition in ("level > 'high'", "level BETWEEN 'high' AND 'low'"):
        answer = release.query(f"SELECT COUNT(*) FROM release WHERE NOT ({condition})")
        assert (answer.low, answer.high) == (6, 6)


@pytest.mark.parametrize("sql", [
    "SELECT QUANTILE_DISC(age, 0.5) AS q FROM release",
    "SELECT QUANTILE(age, 0.5) AS q FROM release",
    "SELECT APPROX_QUANTILE(age, 0.5) AS q FROM release",
    "SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY age DESC) AS q FROM release",
    "SELECT TRUNC(COUNT(*) / 3, 1) AS t FROM release",
    "SELECT POW(COUNT(*), -1) AS p FROM release",
    "SELECT ROUND(AVG(wage), COUNT(*)) AS a FROM release",
    "SELECT ROUND(AVG(wage), 1.0) AS a FROM release",
    "SELECT k0, SUM(n) AS s FROM (SELECT sex AS k0, COUNT(*) AS n FROM release GROUP BY 1) t "
    "GROUP BY 9",
    "SELECT sex, COUNT(*) AS n FROM release GROUP BY -1",
    "SELECT sex, COUNT(*) AS n FROM release GROUP BY sex ORDER BY -1",
    "SELECT sex, COUNT(*) AS n FROM release GROUP BY sex LIMIT -1",
    "SELECT sex, COUNT(*) AS n FROM release GROUP BY sex ORDER BY sex LIMIT 50%",
    "SELECT sex, COUNT(*) AS n FROM release GROUP BY sex HAVING NOT (COUNT(*) IS TRUE)",
    "SELECT sex, COUNT(*) AS n FROM release GROUP BY sex "
    "HAVING COUNT(*) > COALESCE((SELECT v FROM mine WHERE v > 9), 0)",
    "SELECT SUM(n) AS s FROM ((SELECT sex, COUNT(*) AS n FROM release GROUP BY sex) LIMIT 1) t",
    "(SELECT sex, COUNT(*) AS n FROM release GROUP BY sex) ORDER BY sex DESC LIMIT 1",
    "SELECT COUNT(*) AS n FROM (SELECT * FROM release) t TABLESAMPLE 1 ROWS",
    "SELECT DISTINCT sex FROM release GROUP BY sex, age",
    "SELECT DISTINCT ON (sex) sex, age FROM release",
    "SELECT sex, LAG(n, 1, m) OVER (ORDER BY sex) AS p FROM (SELECT sex, COUNT(*) AS n, "
    "MIN(wage) AS m FROM release GROUP BY sex) t",
    "SELECT age, SUM(n) OVER (ORDER BY age RANGE BETWEEN n PRECEDING AND CURRENT ROW) AS p FROM "
    "(SELECT age, COUNT(*) AS n FROM release GROUP BY age) t",
    "SELECT COALESCE(TRY_CAST(SUM(wage) AS TINYINT), -1) AS x FROM release",
    "SELECT 'a' AS k, COUNT(*) AS n FROM release UNION ALL BY NAME "
    "SELECT COUNT(*) AS n, 'b' AS k FROM release",
    "SELECT n FROM (SELECT COUNT(*) AS n FROM release) g POSITIONAL JOIN mine",
    "SELECT n FROM (SELECT sex AS k, COUNT(*) AS n FROM release GROUP BY sex) g NATURAL JOIN mine",
    "SELECT COUNT(NULLIF(1, 1)) AS n FROM release",
    "SELECT COUNT(CAST(NULL AS INTEGER)) AS n FROM release",
    "SELECT MEDIAN(DISTINCT wage) AS m FROM release",
    "SELECT STDDEV(DISTINCT wage) AS m FROM release",
    "SELECT INTERVAL 1 DAY AS i, COUNT(*) AS n FROM release",
])  # fmt: skip
def test_what_cannot_be_told_is_refused(sql: str) -> None:
    with pytest.raises(dc.DiscreetError):
        ask(PEOPLE, PERMUTED, sql)


def test_numbers_of_which_there_are_no_bounds_are_there_nevertheless() -> None:
    frame = pl.DataFrame({"age": [20, 21, 30, 31] * 2, "debt": [1, 3, 5, 7, 9, 11, 13, 15],
                          "wage": [1, 2, 3, 4, 5, 6, 7, 8]})  # fmt: skip
    schema = dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["wage"], keep=["debt"])
    schema = schema.changed(dc.Attribute("debt", dc.Role.OTHER, dc.Type.INTEGER, aggregate=4,
                                         keep=True))  # fmt: skip
    release = dc.publish(dc.read(frame, schema), BOXED, insecure_seed=1)
    for condition in ("MAX(debt) IS NULL", "COALESCE(MIN(debt), -1) = -1"):
        answer = release.query(f"SELECT CASE WHEN {condition} THEN 1 ELSE 0 END FROM release")
        assert answer.low is None or answer.low == 0
    with pytest.raises(dc.DiscreetError, match="made coarser"):
        release.query("SELECT COUNT(DISTINCT debt) FROM release")
    with pytest.raises(dc.DiscreetError, match="made coarser"):
        release.query("SELECT debt > 5 AS k, COUNT(*) FROM release GROUP BY k")


def test_ordinals_go_by_their_order_wherever_they_are_compared() -> None:
    order = ("low", "mid", "high")
    frame = pl.DataFrame(PEOPLE).with_columns(level=pl.Series(["low", "mid", "high", "low"] * 2))
    schema = dc.Schema.infer(
        frame, quasi_identifiers=["age", "sex", "level"], sensitive=["wage"]
    ).changed(dc.Attribute("level", dc.Role.QUASI_IDENTIFIER, dc.Type.ORDINAL, order=order))
    release = dc.publish(dc.read(frame, schema), PERMUTED, insecure_seed=1)
    count = "SELECT level, COUNT(*) AS n FROM release"
    for text in (f"{count} WHERE level > 'low' GROUP BY level",
                 f"{count} GROUP BY level HAVING level > 'low'",
                 f"SELECT * FROM ({count} GROUP BY level) t WHERE t.level > 'low'",
                 f"WITH g(l, n) AS ({count} GROUP BY level) SELECT l FROM g WHERE 'low' < l",
                 ):  # fmt: skip
        assert set(release.query(text).frame.to_series()) == {"mid", "high"}
    with pytest.raises(dc.DiscreetError, match="by the alphabet"):
        release.query("SELECT COUNT(*) FROM release WHERE COALESCE(level, 'low') > 'low'")


def test_a_row_is_not_certain_by_the_last_digit_of_a_float() -> None:
    people = {"age": [20, 21, 65, 66], "wage": [1, 2, 3, 4], "rent": [0.1, 0.7, 0.7, 0.1]}
    for test in (">= 0.4", "< 0.4"):
        text = (
            f"SELECT age // 5 AS k, AVG(rent) AS a FROM release GROUP BY k HAVING AVG(rent) {test}"
        )
        ask(people, PERMUTED, text)


def test_numbers_that_floats_cannot_tell_apart_have_no_extremes() -> None:
    people = {**PEOPLE, "wage": [2**53 + i for i in range(8)]}
    for method in (PERMUTED, dc.Anatomy(dc.FrequencyDiversity(2))):
        with pytest.raises(dc.DiscreetError, match=r"beyond 2\*\*53"):
            ask(
                people,
                method,
                "SELECT CASE WHEN MAX(wage) > 9007199254740996 THEN 1 END FROM release",
            )


def test_estimated_days_are_compared_with_days() -> None:
    for having in ("MIN(born) < DATE '1985-01-01'", "MAX(born) BETWEEN DATE '1970-01-01' AND "
                   "DATE '1995-01-01'", "MIN(born) <> MAX(born)"):  # fmt: skip
        for method in (PERMUTED, BOXED):
            text = f"SELECT sex, COUNT(*) AS n FROM release GROUP BY sex HAVING {having}"
            assert ask(BORN, method, text).height


def test_what_engines_read_differently_is_refused_elsewhere() -> None:
    frame = pl.DataFrame(PEOPLE)
    schema = dc.Schema.infer(frame, quasi_identifiers=["age", "sex"], sensitive=["wage"])
    release = dc.publish(dc.read(frame, schema), PERMUTED, insecure_seed=1)
    inner = "(SELECT age, COUNT(*) AS n FROM release GROUP BY age) t"
    text = f"SELECT ROUND(age / 4) AS k, SUM(n) AS n FROM {inner} GROUP BY 1"
    assert release.query(text).frame["n"].to_list() == [2, 2, 2, 2]
    with pytest.raises(dc.DiscreetError, match="read differently by engines"):
        show_sql(release, text, "postgres")
    of_people = "SELECT ROUND(age / 4) AS k, COUNT(*) AS n FROM release GROUP BY 1"
    assert show_sql(release, of_people, "postgres")


def test_a_branch_of_case_is_looked_up_part_by_part() -> None:
    text = (
        "SELECT COUNT(*) AS n FROM release WHERE CASE sex WHEN 'f' THEN age % 2 = 0 ELSE TRUE END"
    )
    for method in (PERMUTED, BOXED):
        assert ask(PEOPLE, method, text).height == 1
