"""SQL over permuted releases: the truth within tight bounds, the same answer on every engine."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from itertools import permutations, product
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import discreet as dc
from commands import discreet_here
from discreet.evaluate import Estimator, draw_workload
from discreet.forms.asking import show_sql
from discreet.forms.permuted.help_table import build_help
from discreet.publishing import Method
from samples import microdata

FIGURE_3 = pl.DataFrame(
    {
        "group": [1, 1, 1, 2, 2, 2, 3, 3, 3],
        "age": [40, 38, 35, 41, 43, 47, 52, 53, 58],
        "gender": list("MMMFFMMFM"),
        "salary": [54000, 55000, 56000, 65000, 70000, 75000, 75000, 80000, 85000],
    },
    schema_overrides={"group": pl.Int32},
)


def figure_3() -> dc.Release:
    """The paper's own permuted table, whatever our optimizer would do."""
    data = microdata(FIGURE_3.drop("group"), ["age", "gender"], ["salary"])
    release = dc.publish(data, dc.Permutation(dc.KE(3, 2000)), insecure_seed=1)
    helped = build_help(FIGURE_3["group"], FIGURE_3["salary"], data.schema["salary"])
    return replace(release, tables={"permuted": FIGURE_3, "help": helped})


@pytest.mark.parametrize(
    ("question", "low", "high"),
    [
        ("SELECT AVG(salary) FROM release WHERE age > 50", 80_000, 80_000),
        ("SELECT SUM(salary) FROM release WHERE age BETWEEN 35 AND 55", 530_000, 540_000),
        ("SELECT MIN(salary) FROM release WHERE gender = 'F'", 65_000, 70_000),
        ("SELECT MAX(salary) FROM release WHERE gender = 'F'", 75_000, 85_000),
        ("SELECT COUNT(*) FROM release WHERE gender = 'F'", 3, 3),
        ("SELECT SUM(salary) FROM release", 615_000, 615_000),
    ],
)
def test_the_papers_queries(question: str, low: float, high: float) -> None:
    """Query 3 as corrected: females are tuples 4, 5 and 8, so [65K, 70K]."""
    answer = figure_3().query(question)
    assert (answer.low, answer.high) == (low, high)
    assert answer.estimate is not None and low <= answer.estimate <= high


def test_no_hits_count_zero_and_nothing_else() -> None:
    answer = figure_3().query(
        "SELECT COUNT(*), SUM(salary), AVG(salary), MIN(salary), MAX(age) FROM release "
        "WHERE age > 99"
    )
    row = answer.frame.row(0, named=True)
    assert (row["count"], row["count_low"], row["count_high"]) == (0, 0, 0)
    for name in ("sum_salary", "avg_salary_low", "min_salary_high", "max_age", "sum_salary_stderr"):
        assert row[name] is None


PREDICATES = [
    "age BETWEEN 30 AND 60 AND sex = 'Female'",
    "age IN (20, 30, 40) OR NOT education LIKE 'B%'",
    "CASE WHEN age < 40 THEN 1 ELSE 0 END = 1",
    "(age + 5) * 2 > 90 AND sex IS NOT NULL",
    "LOWER(sex) = 'male' AND education <> 'HS-grad'",
    "age IS NULL",
]


@pytest.fixture(scope="module")
def losses() -> dc.Microdata:
    frame = dc.datasets.adult_frame().drop_nulls().filter(pl.col("capital-loss") > 0)
    return microdata(frame, ["age", "sex", "education"], ["capital-loss"])


@pytest.fixture(scope="module")
def release(losses: dc.Microdata) -> dc.Release:
    return dc.publish(losses, dc.Permutation(dc.KE(4, 100)), insecure_seed=3)


@pytest.mark.parametrize("predicate", PREDICATES)
def test_the_truth_from_duckdb_lies_within_the_bounds(
    losses: dc.Microdata, release: dc.Release, predicate: str
) -> None:
    truth = losses.to_polars().rename({"capital-loss": "capital_loss"})
    aggregates = "COUNT(*) AS n, SUM(capital_loss) AS s, AVG(capital_loss) AS a, "
    aggregates += "MIN(capital_loss) AS lo, MAX(capital_loss) AS hi, AVG(age) AS years"
    with duckdb.cursor() as plain:
        plain.register("release", truth.to_arrow())
        expected = plain.execute(f"SELECT {aggregates} FROM release WHERE {predicate}").fetchone()
    row = release.query(f"SELECT {aggregates} FROM release WHERE {predicate}").frame.row(
        0, named=True
    )
    assert expected is not None
    for name, value in zip(("n", "s", "a", "lo", "hi", "years"), expected, strict=True):
        if value is None:
            assert row[name] is None
        else:
            assert row[f"{name}_low"] <= value + 1e-9 and value - 1e-9 <= row[f"{name}_high"]
    assert row["n"] == expected[0]
    assert row["years"] == (pytest.approx(expected[5]) if expected[5] is not None else None)


def test_group_by_gives_one_row_each(losses: dc.Microdata, release: dc.Release) -> None:
    answer = release.query("SELECT sex, AVG(capital_loss), COUNT(*) FROM release GROUP BY sex")
    truth = losses.to_polars().group_by("sex").agg(pl.col("capital-loss").mean(), pl.len())
    assert answer.frame["sex"].to_list() == ["Female", "Male"]
    for sex, mean, count in truth.rows():
        row = answer.frame.filter(pl.col("sex") == sex).row(0, named=True)
        assert row["avg_capital_loss_low"] <= mean <= row["avg_capital_loss_high"]
        assert row["count"] == count
    with pytest.raises(dc.DiscreetError, match="more than one value"):
        _ = answer.estimate


@pytest.mark.parametrize(
    "method", [dc.Permutation(dc.KE(2, 1)), dc.Generalization(dc.KAnonymity(3))]
)
def test_columns_may_have_any_name(method: dc.Generalization, postgres: str) -> None:
    """Names that a rewriter might have used for itself, reserved words, very long ones."""
    rng = np.random.default_rng(4)
    names = ["hits", "p", "c", "a sum", "select", "x_low", "label", "value", "Hit", "n" * 50]
    frame = pl.DataFrame({name: rng.integers(1, 4, 60) for name in names})
    frame = frame.with_columns(pay=pl.Series(rng.integers(1, 40, 60)))
    data = microdata(frame, names, ["pay"])
    made = dc.publish(data, method, insecure_seed=1)
    for name in names:
        question = f'SELECT "{name}", COUNT(*) AS k, SUM(pay) AS s FROM release GROUP BY "{name}"'
        truth = frame.group_by(name).agg(pl.len(), pl.col("pay").sum()).sort(name)
        for engine in (None, postgres):
            found = made.query(question, engine=engine).frame
            assert found.columns[0] == name and found[name].to_list() == truth[name].to_list()
            for row, (_, count, total) in zip(found.rows(), truth.rows(), strict=True):
                assert row[2] <= count <= row[3] and row[7] <= total <= row[8]
    with pytest.raises(dc.DiscreetError, match="upper and lower case"):
        microdata(frame.select("pay", "hits", HITS=pl.col("p")), ["hits", "HITS"], ["pay"])


def test_names_that_are_spelled_alike_must_be_quoted() -> None:
    frame = pl.DataFrame({"a-b": [1, 2], "a b": [20, 30], "pay": [1, 9]})
    made = dc.publish(microdata(frame, ["a-b", "a b"], ["pay"]), dc.Permutation(dc.KE(2, 1)))
    with pytest.raises(dc.errors.QueryError, match="may be any of"):
        made.query("SELECT AVG(a_b) FROM release")
    assert made.query('SELECT AVG("a b") FROM release r').estimate == 25
    assert (
        made.query('SELECT AVG(r."a-b") FROM release AS r WHERE "a b" / 0 IS NULL').estimate == 1.5
    )


def test_sums_beyond_64_bits_are_refused_or_given_as_floats() -> None:
    big = 4 * 10**18
    frame = pl.DataFrame({"age": [1, 2, 3], "pay": [big, big - 1, big - 2]})
    with pytest.raises(dc.DiscreetError, match="do not fit 64 bits"):
        dc.publish(microdata(frame, ["age"], ["pay"]), dc.Permutation(dc.KE(3, 1)))
    pay = [9 * 10**17 + i for i in range(24)]
    frame = pl.DataFrame({"age": range(24), "pay": pay})
    made = dc.publish(microdata(frame, ["age"], ["pay"]), dc.Permutation(dc.KE(2, 1)))
    assert made.query("SELECT SUM(pay) FROM release").low == pytest.approx(sum(pay))


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(1, 3), st.integers(-4, 9)), min_size=2, max_size=6),
    bound=st.integers(0, 3),
)
def test_bounds_mean_and_error_by_enumerating_all_worlds(
    rows: list[tuple[int, int]], bound: int
) -> None:
    data = microdata(pl.DataFrame(rows, schema=["a", "pay"], orient="row"), ["a"], ["pay"])
    try:
        made = dc.publish(data, dc.Permutation(dc.KE(1, 2), objective="groups"), insecure_seed=1)
    except dc.errors.PromiseError:
        return
    table = made.tables["permuted"]
    by_group = [part for _, part in table.group_by("group", maintain_order=True)]
    worlds = []
    for choice in product(*(permutations(part["pay"].to_list()) for part in by_group)):
        values = [
            value
            for part, values in zip(by_group, choice, strict=True)
            for a, value in zip(part["a"], values, strict=True)
            if a <= bound
        ]
        worlds.append(values)
    answer = made.query(
        f"SELECT SUM(pay), AVG(pay), MIN(pay), MAX(pay) FROM release WHERE a <= {bound}"
    ).frame.row(0, named=True)
    if not worlds[0]:
        assert answer["sum_pay"] is None
        return
    for name, measure in (("sum", sum), ("avg", np.mean), ("min", min), ("max", max)):
        found = [float(measure(world)) for world in worlds]  # type: ignore[operator]
        low, high = answer[f"{name}_pay_low"], answer[f"{name}_pay_high"]
        assert low == pytest.approx(min(found)) and high == pytest.approx(max(found))
        if name in ("sum", "avg"):
            assert answer[f"{name}_pay"] == pytest.approx(np.mean(found))
            assert answer[f"{name}_pay_stderr"] == pytest.approx(np.std(found), abs=1e-9)


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(1, 3), st.integers(-4, 9)), min_size=2, max_size=6),
    bound=st.integers(0, 3),
    least=st.integers(-4, 9),
)
def test_people_are_selected_by_permuted_values_as_all_worlds_say(
    rows: list[tuple[int, int]], bound: int, least: int
) -> None:
    data = microdata(pl.DataFrame(rows, schema=["a", "pay"], orient="row"), ["a"], ["pay"])
    try:
        made = dc.publish(data, dc.Permutation(dc.KE(1, 2), objective="groups"), insecure_seed=1)
    except dc.errors.PromiseError:
        return
    by_group = [part for _, part in made.tables["permuted"].group_by("group", maintain_order=True)]
    sums, counts = [], []
    for choice in product(*(permutations(part["pay"].to_list()) for part in by_group)):
        taken = [
            value
            for part, values in zip(by_group, choice, strict=True)
            for a, value in zip(part["a"], values, strict=True)
            if a <= bound and value >= least
        ]
        sums.append(sum(taken))
        counts.append(len(taken))
    where = f"FROM release WHERE a <= {bound} AND pay >= {least}"
    row = made.query(f"SELECT COUNT(*) AS n, SUM(pay) AS s {where}").frame.row(0, named=True)
    assert row["n_low"] == min(counts) and row["n_high"] == max(counts)
    assert row["n"] == pytest.approx(np.mean(counts))
    assert row["n_stderr"] == pytest.approx(np.std(counts), abs=1e-9)
    if max(counts):
        assert row["s"] == pytest.approx(np.mean(sums), abs=1e-9)
        assert row["s_low"] <= min(sums) and max(sums) <= row["s_high"]
    with made.prepare() as prepared:
        assert prepared.query(f"SELECT COUNT(*) {where}").estimate == pytest.approx(row["n"])


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("SELECT * FROM release", "no aggregate"),
        ("SELECT age FROM release ORDER BY age LIMIT 3", "no aggregate"),
        ("SELECT AVG(capital_loss) FROM other", "not 'release'"),
        ("SELECT AVG(capital_loss) FROM release; DROP TABLE release", "not one SELECT"),
        ("DELETE FROM release", "not one SELECT"),
        ("SELECT AVG( FROM release", "Not SQL at line 1, column"),
        ("SELECT AVG(wage) FROM release", r"no column 'wage' \(line 1, column"),
        ("SELECT AVG(sex) FROM release", "is a category, not a number"),
        ("SELECT STRING_AGG(sex, ',') FROM release", "not an aggregate"),
        ("SELECT SUM(sex || 'x') FROM release", "is a varchar, not a number"),
        ("SELECT COUNT(DISTINCT (age, sex)) FROM release", "cannot be told"),
        ("SELECT QUANTILE_CONT(age, 2) FROM release", "no number from 0 to 1"),
        ("SELECT COUNT(*) FROM release WHERE random() < 0.5", "nothing that discreet"),
        ("SELECT ROUND(age * capital_loss) AS x, COUNT(*) FROM release GROUP BY x", "several attr"),
        ("SELECT sex, COUNT(*) FROM release GROUP BY 7", "no column 7 to group by"),
        ("SELECT COUNT(*) AS n FROM release GROUP BY n", "is an aggregate"),
        ("SELECT COUNT(*) FROM release UNION SELECT COUNT(*) FROM release", "cannot be answered"),
        ("WITH RECURSIVE t AS (SELECT 1) SELECT COUNT(*) FROM release", "RECURSIVE"),
        ("SELECT COUNT(*) || 'x' AS t FROM release", "of an estimate cannot be bounded"),
        ("SELECT COUNT(*) > 3 AS many FROM release", "a condition on estimates"),
        ("SELECT sex, COUNT(*) AS n FROM release GROUP BY sex LIMIT n", "no number of rows"),
        (
            "WITH x AS (SELECT sex, COUNT(*) AS n FROM release GROUP BY sex ORDER BY n LIMIT 1) "
            "SELECT n FROM x",
            "LIMIT within the question",
        ),
        ("SELECT COUNT(*) FROM release WHERE capital_loss > age", "ties 'capital-loss'"),
        ("SELECT COUNT(*) FROM release TABLESAMPLE 10 PERCENT", "not 'release'"),
        ("SELECT MIN(capital_loss, 3) FROM release", "takes one column"),
        ("SELECT COUNT(*) AS x, SUM(age) AS x_low FROM release", "the same name"),
        ("SELECT COUNT(*) FROM release WHERE sex LIKE 'a\\_b'", "backslash"),
        ("SELECT COUNT(*) FROM release WHERE " + "(" * 900 + "age = 1" + ")" * 900, "nested"),
        ("SELECT COUNT(*) \x00 FROM release", "control characters"),
        ("SELECT AVG(other.age) FROM release", "no table 'other'"),
        ("SELECT COUNT(*) FROM release WHERE age > (SELECT 1)", "subquery cannot stand here"),
        ("SELECT COUNT(*) FROM release WHERE pg_sleep(9) IS NULL", "nothing that discreet"),
        ("SELECT COUNT(*) FROM release WHERE getenv('HOME') = 'x'", "nothing that discreet"),
        ("SELECT COUNT(*) FROM release JOIN other USING (age)", "cannot be answered|not 'release'"),
        ("SELECT age, COUNT(*) FROM release", "not in GROUP BY"),
        ("SELECT COUNT(*), COUNT(*) FROM release", "the same name"),
        ("SELECT COUNT(*) FROM release WHERE age > 'x'", "DuckDB refuses"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_the_reason(
    release: dc.Release, question: str, message: str
) -> None:
    with pytest.raises(dc.errors.QueryError, match=message):
        release.query(question)


@pytest.fixture(scope="module")
def blurred() -> tuple[dc.Microdata, dc.Release]:
    data = dc.datasets.adult(sensitive=["occupation", "capital-loss"]).head(8000)
    return data, dc.publish(data, dc.Generalization(dc.KAnonymity(10)))


BLURRED = [
    *PREDICATES,
    "age < 30 OR sex = 'Male'",
    "occupation = 'Sales' AND age > 50",
    "occupation IN ('Sales', 'Tech-support') AND capital_loss > 0 AND education <> 'Masters'",
    "NOT (age > 40 AND education LIKE '%th') AND race = 'White'",
]
AGGREGATES = (
    "COUNT(*) AS n, SUM(capital_loss) AS s, AVG(capital_loss) AS a, MIN(capital_loss) AS lo, "
    "MAX(capital_loss) AS hi"
)


@pytest.mark.parametrize("predicate", BLURRED)
@pytest.mark.parametrize("group", ["", "sex", "occupation"])
def test_the_truth_lies_within_the_bounds_of_a_generalized_release(
    blurred: tuple[dc.Microdata, dc.Release], postgres: str, predicate: str, group: str
) -> None:
    data, made = blurred
    ending = f"GROUP BY {group} ORDER BY {group}" if group else ""
    first = f"{group}, " if group else ""
    with duckdb.cursor() as plain:
        plain.register(
            "release", data.to_polars().rename({"capital-loss": "capital_loss"}).to_arrow()
        )
        truth = plain.execute(
            f"SELECT {first}{AGGREGATES} FROM release WHERE {predicate} {ending}"
        ).fetchall()
    question = f"SELECT {first}{AGGREGATES} FROM release WHERE {predicate}"
    question += f" GROUP BY {group}" if group else ""
    answer = made.query(question)
    rows = {row.get(group): row for row in answer.frame.to_dicts()}
    for expected in truth:
        row = rows[expected[0] if group else None]
        values = expected[1:] if group else expected
        assert row["n_low"] <= values[0] <= row["n_high"]
        assert row["n_low"] <= row["n"] + 1e-9 and row["n"] - 1e-9 <= row["n_high"]
        for name, value in zip(("s", "a", "lo", "hi"), values[1:], strict=True):
            if value is not None:
                assert row[f"{name}_low"] <= value + 1e-9 and value - 1e-9 <= row[f"{name}_high"]
    there = made.query(question, engine=postgres)
    assert there.frame.columns == answer.frame.columns
    for one, two in zip(answer.frame.rows(), there.frame.rows(), strict=True):
        for a, b in zip(one, two, strict=True):
            assert a == (pytest.approx(b, rel=1e-9) if isinstance(b, float) else b)


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(1, 3), st.sampled_from("xy"), st.integers(-3, 5)),
        min_size=2, max_size=4,
    ),
    predicate=st.sampled_from(["a <= 2", "a = 1 AND b = 'x'", "a < 2 OR b = 'y'", "b = 'x'"]),
)  # fmt: skip
def test_generalized_bounds_and_means_by_enumerating_all_worlds(
    rows: list[tuple[int, str, int]], predicate: str
) -> None:
    data = microdata(
        pl.DataFrame(rows, schema=["a", "b", "pay"], orient="row"), ["a", "b"], ["pay"]
    )
    made = dc.publish(data, dc.Generalization(dc.KAnonymity(2)))
    means = {
        "a <= 2": lambda a, b: a <= 2,
        "a = 1 AND b = 'x'": lambda a, b: a == 1 and b == "x",
        "a < 2 OR b = 'y'": lambda a, b: a < 2 or b == "y",
        "b = 'x'": lambda a, b: b == "x",
    }[predicate]
    records = made.tables["generalized"].to_dicts()
    boxes = [
        [(a, b, r["pay"]) for a in range(r["a_low"], r["a_high"] + 1)
         for b in made.recodings["b"].labels[r["b"]]]
        for r in records
    ]  # fmt: skip
    worlds = [[pay for a, b, pay in world if means(a, b)] for world in product(*boxes)]
    answer = made.query(
        f"SELECT COUNT(*), SUM(pay), AVG(pay), MIN(pay), MAX(pay) FROM release WHERE {predicate}"
    ).frame.row(0, named=True)
    counts = [len(world) for world in worlds]
    assert (answer["count_low"], answer["count_high"]) == (min(counts), max(counts))
    assert answer["count"] == pytest.approx(np.mean(counts))
    assert answer["count_stderr"] == pytest.approx(np.std(counts), abs=1e-9)
    if max(counts) == 0:
        assert answer["sum_pay"] is None and answer["avg_pay_low"] is None
        return
    sums = [sum(world) for world in worlds]
    assert answer["sum_pay"] == pytest.approx(np.mean(sums))
    assert answer["sum_pay_stderr"] == pytest.approx(np.std(sums), abs=1e-9)
    assert (answer["sum_pay_low"], answer["sum_pay_high"]) == (min(sums), max(sums))
    hit = [world for world in worlds if world]
    for name, measure in (("avg", np.mean), ("min", min), ("max", max)):
        found = [float(measure(world)) for world in hit]  # type: ignore[operator]
        assert answer[f"{name}_pay_low"] == pytest.approx(min(found))
        assert answer[f"{name}_pay_high"] == pytest.approx(max(found))


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("SELECT COUNT(*) FROM release WHERE age > 30 OR occupation = 'Sales'", "ties a blurred"),
        ("SELECT COUNT(*) FROM release WHERE nothing = 1", "no column 'nothing'"),
    ],
)
def test_what_boxes_cannot_tell_is_refused(
    blurred: tuple[dc.Microdata, dc.Release], question: str, message: str
) -> None:
    with pytest.raises(dc.errors.QueryError, match=message):
        blurred[1].query(question)


def test_every_type_of_attribute_can_be_asked_with_missing_values() -> None:
    frame = pl.DataFrame(
        {
            "day": ["2020-01-30", "2020-02-02", None, "2020-01-31"],
            "amount": [0.1, 0.3, 0.2, 0.5],
            "level": ["low", "high", "mid", "low"],
            "flag": [True, False, True, None],
            "pay": [1, 2, 3, 4],
        }
    )
    schema = dc.Schema.infer(frame, quasi_identifiers=frame.columns[:-1], sensitive=["pay"])
    from dataclasses import replace

    level = replace(schema["level"], type=dc.Type.ORDINAL, order=("low", "mid", "high"))
    data = dc.read(frame, schema.changed(level))
    for k in (1, 4):
        made = dc.publish(data, dc.Generalization(dc.KAnonymity(k)))
        for predicate in (
            "day > DATE '2020-01-31'", "amount <= 0.3", "level = 'mid'", "flag", "day IS NULL",
            "flag IS NULL AND level <> 'high'",
        ):  # fmt: skip
            with duckdb.cursor() as plain:
                plain.register("release", data.to_polars().to_arrow())
                truth = plain.execute(f"SELECT COUNT(*) FROM release WHERE {predicate}").fetchone()
            answer = made.query(f"SELECT COUNT(*) FROM release WHERE {predicate}")
            assert truth is not None and answer.low is not None and answer.high is not None
            assert answer.low <= truth[0] <= answer.high
            if k == 1:
                assert answer.low == answer.high == truth[0]


@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize("group", ["", "sex, "])
def test_postgresql_gives_the_same_answers(
    release: dc.Release, postgres: str, predicate: str, group: str
) -> None:
    ending = f"GROUP BY {group[:-2]}" if group else ""
    question = (
        f"SELECT {group}COUNT(*), SUM(capital_loss), AVG(capital_loss), MIN(capital_loss), "
        f"MAX(capital_loss), AVG(age), SUM(age), MIN(sex) FROM release WHERE {predicate} {ending}"
    )
    here, there = release.query(question), release.query(question, engine=postgres)
    assert here.frame.columns == there.frame.columns
    assert here.frame.height == there.frame.height
    for one, two in zip(here.frame.rows(), there.frame.rows(), strict=True):
        for a, b in zip(one, two, strict=True):
            assert a == (pytest.approx(b, rel=1e-12) if isinstance(b, float) else b)


def test_postgresql_loads_the_tables_of_a_prepared_release_once(
    release: dc.Release, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.sql.engines.postgres import Server

    honest, loaded = Server._load, []

    def load(self: Server, name: str, table: pl.DataFrame) -> None:
        loaded.append(name)
        honest(self, name, table)

    monkeypatch.setattr(Server, "_load", load)
    questions = ["SELECT AVG(age) FROM release", "SELECT SUM(capital_loss) FROM release"]
    with release.prepare(engine=postgres) as prepared:
        for question in questions:
            assert prepared.query(question).frame.equals(release.query(question).frame)
        with pytest.raises(dc.errors.QueryError, match="PostgreSQL refuses"):
            prepared.query("SELECT COUNT(*) FROM release WHERE age > 'x'")
        assert prepared.query(questions[0]).estimate is not None  # one bad question spoils no other
    assert sorted(loaded) == sorted(release.tables)


def test_postgresql_trusts_nothing_that_lies_there_and_leaves_nothing(
    release: dc.Release, postgres: str
) -> None:
    """Tables of the same names, anywhere on the search path, are not those of the release."""
    import psycopg

    def relations() -> set[tuple[str, str]]:
        with psycopg.connect(postgres) as connection:
            return set(connection.execute(
                "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n "
                "ON n.oid = c.relnamespace WHERE n.nspname !~ '^pg_toast'"
            ).fetchall())  # fmt: skip

    question = "SELECT COUNT(*) AS n, SUM(capital_loss) AS s FROM release WHERE age > 30"
    with psycopg.connect(postgres, autocommit=True) as connection:
        for place in ("public", "planted"):
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {place}".encode())
            for name, table in release.tables.items():
                columns = ", ".join(f'"{column}" INTEGER' for column in table.columns)
                connection.execute(f'CREATE TABLE {place}."{name}" ({columns})'.encode())
        connection.execute("ALTER ROLE postgres SET search_path TO planted, public")
        before = relations()
        try:
            assert release.query(question, engine=postgres).frame.equals(
                release.query(question).frame
            )
            assert relations() == before
        finally:
            connection.execute("ALTER ROLE postgres RESET search_path")
            for name in release.tables:
                connection.execute(f'DROP TABLE public."{name}"'.encode())
            connection.execute("DROP SCHEMA planted CASCADE")


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII", "URL"])
def test_texts_mean_the_same_whatever_a_database_is_set_to(postgres: str, encoding: str) -> None:
    import psycopg

    frame = pl.DataFrame({"sex": ["Ä", "ö", "xy"] * 4, "ill": ["flu", "gout"] * 6})
    release = dc.publish(microdata(frame, ["sex"], ["ill"]), dc.Anatomy(dc.FrequencyDiversity(2)))
    url = f"{postgres}&client_encoding=LATIN1"
    with psycopg.connect(postgres, autocommit=True) as connection:
        if encoding != "URL":
            made = f"CREATE DATABASE other ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0"
            connection.execute(made.encode())
            connection.execute("ALTER DATABASE other SET standard_conforming_strings TO off")
            connection.execute("ALTER DATABASE other SET extra_float_digits TO '-15'")
            url = postgres.replace("/postgres?", "/other?", 1)
        try:
            question = "SELECT sex, COUNT(*) FROM release WHERE LENGTH(sex) = 1 GROUP BY sex"
            if encoding == "SQL_ASCII":
                with pytest.raises(dc.errors.QueryError, match="no encoding"):
                    release.query(question, engine=url)
                return
            here, there = release.query(question), release.query(question, engine=url)
            assert sorted(here.frame.rows()) == sorted(there.frame.rows())
            assert release.query(
                "SELECT COUNT(*) FROM release WHERE sex = '\\'", engine=url
            ).estimate == 0  # fmt: skip
        finally:
            connection.execute("DROP DATABASE IF EXISTS other")


def test_any_role_that_may_make_temporary_tables_can_ask(
    release: dc.Release, postgres: str
) -> None:
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE ROLE analyst LOGIN")
        try:
            second = postgres.replace("postgres:@", "analyst:@", 1)
            assert second != postgres
            for engine in (postgres, second):
                assert release.query("SELECT COUNT(*) FROM release", engine=engine).estimate == (
                    release.tables["permuted"].height
                )
        finally:
            connection.execute("DROP ROLE analyst")


def test_what_postgresql_cannot_do_is_said(release: dc.Release, postgres: str) -> None:
    frame = pl.DataFrame({"n" * 64: [1, 2], "pay": [1, 9]})
    long = dc.publish(microdata(frame, ["n" * 64], ["pay"]), dc.Permutation(dc.KE(2, 1)))
    assert long.query("SELECT COUNT(*) FROM release").estimate == 2
    with pytest.raises(dc.errors.QueryError, match="cuts names after 63 bytes"):
        long.query("SELECT COUNT(*) FROM release", engine=postgres)
    with pytest.raises(dc.errors.QueryError, match="PostgreSQL refuses"):
        release.query("SELECT COUNT(*) FROM release WHERE age > 'x'", engine=postgres)
    with pytest.raises(dc.errors.QueryError, match="no engine"):
        release.query("SELECT COUNT(*) FROM release", engine="mysql://x")


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
def test_the_statement_can_be_shown_for_every_dialect(
    release: dc.Release, blurred: tuple[dc.Microdata, dc.Release], dialect: str
) -> None:
    import sqlglot

    sql = show_sql(release, "SELECT AVG(capital_loss) FROM release WHERE age > 30", dialect)
    assert len(sqlglot.parse(sql, read=dialect)) == 1
    quote = "`" if dialect == "spark" else '"'
    assert f"{quote}help{quote}" in sql and f"{quote}sum_mean{quote}" in sql
    assert len(sqlglot.parse(show_sql(blurred[1], BLURRED_QUESTION, dialect), read=dialect)) == 1
    with pytest.raises(dc.errors.QueryError, match="no dialect"):
        show_sql(release, "SELECT COUNT(*) FROM release", "cobol")


BLURRED_QUESTION = "SELECT sex, AVG(capital_loss) FROM release WHERE age > 30 GROUP BY sex"


def test_the_shown_statement_carries_all_it_needs(
    blurred: tuple[dc.Microdata, dc.Release],
) -> None:
    """Pasted into a client that has the release's tables, it gives the same answer."""
    made = blurred[1]
    with duckdb.cursor() as client:
        client.register("generalized", made.tables["generalized"].to_arrow())
        found = client.execute(show_sql(made, BLURRED_QUESTION, "duckdb")).fetchall()
    for one, two in zip(found, made.query(BLURRED_QUESTION).frame.rows(), strict=True):
        assert one[0] == two[0] and one[1:4] == pytest.approx(two[1:4], rel=1e-9)


def test_the_command_line_asks_too(release: dc.Release, tmp_path: Path) -> None:
    release.write(tmp_path / "r", insecure=True)
    question = "SELECT AVG(capital_loss) AS loss FROM release WHERE age BETWEEN 30 AND 60"

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return discreet_here("query", "r", *arguments, cwd=tmp_path)

    assert "at least" in run(question).stdout
    found = json.loads(run(question, "--json").stdout)
    assert found["rows"][0]["loss_low"] <= found["rows"][0]["loss"]
    assert "SELECT" in run(question, "--show-sql", "spark").stdout
    refused = run("SELECT AVG(wage) FROM release")
    assert refused.returncode == 2 and "no column 'wage'" in refused.stderr


def test_wide_intervals_are_counted_by_prefix_and_not_cell_by_cell() -> None:
    """Boxes that share millions of values: each is listed once, not per box."""
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {
            "income": rng.integers(0, 4_900_000, 4000),
            "age": rng.integers(20, 60, 4000),
            "pay": rng.integers(1, 9, 4000),
        }
    )
    data = microdata(frame, ["income", "age"], ["pay"])
    for method in (
        dc.Generalization(dc.KAnonymity(30)),
        dc.Angelization(dc.FrequencyDiversity(2), k=30),
    ):
        made = dc.publish(data, method, insecure_seed=1)
        ends = made.tables["generalized"].select("income_low", "income_high").to_numpy()
        assert (np.unique(ends, axis=0) @ [-1, 1]).sum() > 5_000_000
        for first in (0, 123_456, 4_000_000):
            question = f"SELECT COUNT(*) FROM release WHERE income >= {first} OR income IS NULL"
            answer = made.query(question)
            inside = np.maximum(ends[:, 1] - np.maximum(ends[:, 0], first) + 1, 0)
            shares = inside / (ends[:, 1] - ends[:, 0] + 1)
            assert answer.estimate == pytest.approx(shares.sum())
            assert (answer.low, answer.high) == ((shares == 1).sum(), (shares > 0).sum())


ORDER = ("Primary", "Secondary", "Bachelor", "Master+")


@pytest.mark.parametrize(
    ("predicate", "places"),
    [
        ("educ >= 'Bachelor'", {2, 3}),
        ("educ < 'Bachelor'", {0, 1}),
        ("'Secondary' < educ", {2, 3}),
        ("'Secondary' >= educ", {0, 1}),
        ("educ BETWEEN 'Secondary' AND 'Bachelor'", {1, 2}),
        ("NOT educ BETWEEN 'Secondary' AND 'Bachelor'", {0, 3}),
        ("educ <= 'Primary' OR educ > 'Bachelor'", {0, 3}),
        ("educ < 'Primary'", set()),
    ],
)
@pytest.mark.parametrize(
    "method",
    [dc.Generalization(dc.KAnonymity(4)), dc.Anatomy(dc.FrequencyDiversity(2)),
     dc.Slicing(dc.FrequencyDiversity(2))],
    ids=lambda m: m.title,
)  # fmt: skip
def test_ordinals_are_compared_by_their_order(
    method: Method, predicate: str, places: set[int]
) -> None:
    """The alphabet would put Bachelor first; the bounds must hold the true count."""
    frame = pl.DataFrame({"educ": [ORDER[i % 4] for i in range(40)], "ill": list("abcde") * 8})
    schema = dc.Schema(
        (
            dc.Attribute("educ", dc.Role.QUASI_IDENTIFIER, dc.Type.ORDINAL, order=ORDER),
            dc.Attribute("ill", dc.Role.SENSITIVE, dc.Type.CATEGORY),
        )
    )
    release = dc.publish(dc.read(frame, schema), method, insecure_seed=1)
    answer = release.query(f"SELECT COUNT(*) FROM release WHERE {predicate}")
    truth = sum(i % 4 in places for i in range(40))
    assert answer.low <= truth <= answer.high  # type: ignore[operator]
    assert answer.estimate == pytest.approx(truth)


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELECT COUNT(*) FROM release WHERE educ > 'Doctor'", "none of its values"),
        ("SELECT COUNT(*) FROM release WHERE educ > ill", "none of its values"),
        ("SELECT MIN(educ) FROM release", "an ordinal"),
    ],
)
def test_what_ordinals_cannot_be_asked_is_said(sql: str, says: str) -> None:
    schema = dc.Schema(
        (
            dc.Attribute("educ", dc.Role.QUASI_IDENTIFIER, dc.Type.ORDINAL, order=ORDER),
            dc.Attribute("ill", dc.Role.SENSITIVE, dc.Type.CATEGORY),
        )
    )
    data = dc.read(pl.DataFrame({"educ": ORDER, "ill": list("abcd")}), schema)
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(1)))
    with pytest.raises(dc.errors.QueryError, match=says):
        release.query(sql)


FORMS: list[tuple[str, Method]] = [
    ("occupation", dc.Generalization(dc.FrequencyDiversity(2))),
    ("occupation", dc.Angelization(dc.FrequencyDiversity(2), k=3)),
    ("occupation", dc.Anatomy(dc.FrequencyDiversity(2))),
    ("occupation", dc.Slicing(dc.FrequencyDiversity(2))),
    ("capital-loss", dc.Permutation(dc.KE(2, 1))),
    ("capital-loss", dc.RankSwapping(dc.KE(2, 1))),
    ("capital-loss", dc.Perturbation(dc.Proximity(0, 2), check="paper")),
]


@pytest.mark.parametrize("name", ["batch", "Batch", "count", "generalized", "bags", "value"])
@pytest.mark.parametrize("role", ["age", "kind", "pay"])
def test_whatever_columns_of_a_permuted_release_are_called(name: str, role: str) -> None:
    frame = pl.DataFrame({
        "age": [1, 1, 2, 2, 3, 3, 4, 4], "kind": list("xyxyxyxy"),
        "pay": [5, 9, 14, 20, 26, 31, 40, 44],
    }).rename({role: name})  # fmt: skip
    age, kind, pay = frame.columns
    schema = dc.Schema.infer(frame, quasi_identifiers=[age, kind], sensitive=[pay])
    release = dc.publish(dc.read(frame, schema), dc.Permutation(dc.KE(2, 1)), insecure_seed=1)
    answer = release.query(f'SELECT COUNT(*) FROM release WHERE "{pay}" > 15')
    assert answer.low <= 5 <= answer.high  # type: ignore[operator]
    grouped = release.query(f'SELECT "{kind}", SUM("{pay}") FROM release WHERE "{pay}" > 15 '
                            f'GROUP BY "{kind}"').frame  # fmt: skip
    truth = frame.filter(pl.col(pay) > 15).group_by(kind).agg(pl.col(pay).sum()).sort(kind)
    assert grouped[kind].to_list() == truth[kind].to_list()
    for row, total in zip(grouped.iter_rows(), truth[pay], strict=True):
        assert row[2] <= total <= row[3]
    least = release.query(f'SELECT MIN("{pay}") FROM release WHERE "{pay}" > 15')
    assert least.low == least.high == 20
    with pytest.raises(dc.DiscreetError, match="not known whose"):
        release.query(f'SELECT COUNT(*) FROM release WHERE "{pay}" > "{age}"')


@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
@pytest.mark.parametrize(("sensitive", "method"), FORMS, ids=[m.title for _, m in FORMS])
def test_every_form_shows_its_statement(sensitive: str, method: Method, dialect: str) -> None:
    import sqlglot

    frame = dc.datasets.adult_frame().filter(pl.col("capital-loss") > 0).head(200).drop_nulls()
    data = microdata(frame.select("age", "sex", sensitive), ["age", "sex"], [sensitive])
    release = dc.publish(data, method, insecure_seed=1)
    sql = show_sql(release, "SELECT COUNT(*) FROM release WHERE age > 30", dialect)
    assert len(sqlglot.parse(sql, read=dialect)) == 1


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> str:
    """A condition that compares a number with numbers."""
    if depth and draw(st.booleans()):
        parts = [draw(conditions(depth - 1)) for _ in range(2)]
        return draw(st.sampled_from(["({} AND {})", "({} OR {})", "NOT ({}) OR {}"])).format(*parts)
    a, b = (
        draw(st.sampled_from(["-1", "0", "1.25", "2.5", "3", "4.449", "7", "99"])) for _ in "ab"
    )
    shapes = ["x * 2 < {}", "3 - x / 2 <= {}", "FLOOR(x) = {}", "ROUND(x * 2) > {}",
              "ABS(x - 2) < {}", "x // 2 = {}", "x IS DISTINCT FROM {}",
              "x < {}", "x <= {}", "{} < x", "x >= {}", "x = {}", "x <> {}", "x IS NULL",
              "x BETWEEN {} AND {}", "x IN ({}, {})", "x IS NOT NULL", "NOT x > {}"]  # fmt: skip
    return draw(st.sampled_from(shapes)).format(a, b)


@settings(max_examples=60, deadline=None)
@given(
    condition=conditions(),
    cells=st.lists(st.sampled_from([None, 0.0, 0.5, 2.5, 3.1, 4.4, 4.5, 7.0]), min_size=8,
                   max_size=14).filter(lambda cells: sum(c is not None for c in cells) > 2),
    decimals=st.booleans(),
)  # fmt: skip
def test_conditions_are_answered_by_arithmetic_as_value_by_value(
    condition: str, cells: list[float | None], decimals: bool
) -> None:
    """Stretches of values that a question cannot tell apart are counted at once."""
    numbers = cells if decimals else [None if c is None else int(c) for c in cells]
    kind = pl.Float64 if decimals else pl.Int64
    frame = pl.DataFrame({"x": pl.Series(numbers, dtype=kind), "s": ["a", "b"] * (len(cells) // 2)
                          + ["a"] * (len(cells) % 2)})  # fmt: skip
    schema = dc.Schema.infer(frame, quasi_identifiers=["x"], sensitive=["s"])
    schema = schema.changed(replace(schema["x"], missing=dc.Missing.VALUE))
    release = dc.publish(dc.read(frame, schema), dc.Generalization(dc.KAnonymity(3)))
    question = f"SELECT COUNT(*) FROM release WHERE {condition}"
    quickly = release.query(question).frame
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("discreet.sql.selection.find_numbers", lambda _: None)
        slowly = release.query(question).frame
    assert_frame_equal(quickly, slowly)


def test_a_wide_range_of_cents_is_answered() -> None:
    rng = np.random.default_rng(0)
    rent = rng.gamma(2, 9000, 500).round(2)
    frame = pl.DataFrame({"rent": rent, "age": rng.integers(20, 80, 500),
                          "ill": rng.choice(list("abcde"), 500)})  # fmt: skip
    data = microdata(frame, ["rent", "age"], ["ill"])
    for method in (dc.Generalization(dc.KAnonymity(5)),
                   dc.Angelization(dc.FrequencyDiversity(2), k=5)):  # fmt: skip
        release = dc.publish(data, method, insecure_seed=1)
        for limit in (1000, 9999.995, 20_000):
            answer = release.query(f"SELECT COUNT(*) FROM release WHERE rent < {limit}")
            truth = int((rent < limit).sum())
            assert answer.low <= truth <= answer.high  # type: ignore[operator]
        workload = draw_workload(data, 0.3, 5, names=["rent", "age"])
        assert len(Estimator(release, data).estimate(workload)) == 5
        half = release.query("SELECT COUNT(*) FROM release WHERE rent * 2 < 1000")
        whole = release.query("SELECT COUNT(*) FROM release WHERE rent < 500")
        assert (half.estimate, half.low, half.high) == (whole.estimate, whole.low, whole.high)
        with pytest.raises(dc.errors.QueryError, match="look at one by one"):
            release.query("SELECT COUNT(*) FROM release WHERE rent % 7 < 3")
        sql = show_sql(release, "SELECT COUNT(*) FROM release WHERE rent < 1000", "spark")
        assert len(sql) < 200_000
