"""Questions on Spark: DuckDB's numbers from a real cluster, and one line where there is none."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sqlglot import parse_one

import discreet as dc
from cluster import QUICK, Cluster, start_connect_server
from commands import COMMAND, discreet, discreet_here
from discreet.cluster import open_session, reaching
from discreet.forms.asking import show_sql
from discreet.forms.installing import install
from discreet.publishing import Method
from discreet.sql.engines import connect
from samples import EVERY_FORM, microdata

pytestmark = pytest.mark.spark
ODD = ["O'Brien", 'say "x"', "back\\slash", None, "Zoë; --"]
ASKED = [
    "SELECT COUNT(*) AS n, SUM(pay) AS s, AVG(pay) AS a FROM release WHERE age BETWEEN 30 AND 60",
    "SELECT name, COUNT(*) AS n FROM release WHERE born < DATE '1980-02-01' GROUP BY name",
    "SELECT COUNT(*) FROM release WHERE born IS NULL OR name IN ('O''Brien', 'back\\slash')",
    "SELECT born, COUNT(*) AS n FROM release WHERE age / 0 IS NULL AND name LIKE 'say%' "
    "GROUP BY born",
    "SELECT MIN(pay), MAX(pay) FROM release WHERE name IS NOT NULL",
    "SELECT COUNT(*) FROM release WHERE pay > 25.5 AND LOWER(name) = 'zoë; --'",
    "SELECT COUNT(*) AS n, SUM(pay) AS s, AVG(pay) AS a FROM release WHERE name ILIKE 'NOBODY Ë%'",
]
COUNT = "SELECT COUNT(*) AS n FROM release"


@pytest.fixture(scope="module")
def people() -> dc.Microdata:
    """Dates, missing values, and names that would end a statement which was not quoted."""
    rng = np.random.default_rng(5)
    days = rng.integers(0, 9000, 90)
    born = [None if day % 7 == 0 else date(1965, 1, 1) + timedelta(int(day)) for day in days]
    frame = pl.DataFrame({
        "age": rng.integers(20, 70, 90), "born": born, "name": [ODD[i % 5] for i in range(90)],
        "pay": rng.permutation(90) + 1,
    })  # fmt: skip
    return microdata(frame, ["age", "born", "name"], ["pay"])


@pytest.fixture(scope="module")
def held(cluster: Cluster) -> Iterator[str]:
    """An address at which this process runs Spark already, on one of two cores."""
    quick = {"spark.driver.extraJavaOptions": QUICK, "spark.executor.extraJavaOptions": QUICK}
    with open_session(cluster.address, **{"spark.cores.max": "1"}, **quick):
        yield cluster.address


def answer(ask: dc.Release | object, question: str) -> pl.DataFrame | str:
    try:
        return ask.query(question).frame  # type: ignore[attr-defined, no-any-return]
    except dc.errors.QueryError as error:
        return str(error)


METHODS = {
    **EVERY_FORM,
    "angelization": dc.Angelization(
        dc.FrequencyDiversity(2), k=3, marginals=[["age", "born"], ["born", "name"], ["name"]]
    ),
}


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_every_form_gives_the_numbers_of_duckdb(
    people: dc.Microdata, held: str, method: Method
) -> None:
    release = dc.publish(people, method, insecure_seed=1)
    answered = 0
    with release.prepare(engine=held) as prepared:
        for question in ASKED:
            here, there = answer(release, question), answer(prepared, question)
            if isinstance(here, str) or isinstance(there, str):
                assert here == there, question
            else:
                assert_frame_equal(here, there)
                answered += 1
    assert answered >= 3


def test_what_runs_already_is_used_and_goes_on(people: dc.Microdata, held: str) -> None:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    running = SparkContext._active_spark_context
    assert running is not None
    mine = SparkSession(running)
    mine.createDataFrame([(1,)], ["n"]).createOrReplaceTempView("permuted")  # nobody trusts it
    release = dc.publish(people, EVERY_FORM["permutation"], insecure_seed=1)
    with release.prepare(engine=held) as prepared:
        assert prepared.query(COUNT).estimate == 90
        for question, says in [
            ("SELECT COUNT(*) FROM release WHERE age > 'x'", "Spark refuses the question: "),
            ("SELECT SUM(age) FROM release WHERE age * 9000000000000000000 > 1", "overflow"),
        ]:
            with pytest.raises(dc.errors.QueryError, match=says):
                prepared.query(question)
        assert prepared.query(COUNT).estimate == 90
    assert mine.table("permuted").count() == 1
    assert mine.catalog.listTables()[0].name == "permuted"
    with pytest.raises(dc.errors.ClusterError, match="runs in this process already"):
        release.query(COUNT, engine="local[1]")


def test_a_shown_statement_makes_the_large_tables_it_needs(held: str) -> None:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    days = pl.date_range(date(1940, 1, 1), date(1943, 12, 31), eager=True)
    names = [ODD[i % 3] for i in range(len(days))]
    frame = pl.DataFrame({"born": days, "name": names, "ill": names})
    data = microdata(frame, ["born", "name"], ["ill"])
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(400)), insecure_seed=1)
    question = ("SELECT name, COUNT(*) AS n FROM release WHERE name = 'back\\slash' "
                "OR EXTRACT(day FROM born) % 2 = 1 GROUP BY name")  # fmt: skip
    mine = SparkSession(SparkContext._active_spark_context)
    table = mine.createDataFrame(release.tables["generalized"].to_arrow())
    table.createOrReplaceTempView("generalized")
    *made, asked = show_sql(release, question, "spark").rstrip(";").split(";\n")
    assert len(made) >= 3
    for statement in made:
        mine.sql(statement)
    found = pl.DataFrame(mine.sql(asked).toArrow())
    assert_frame_equal(found, release.query(question).frame, check_dtypes=False)


def test_own_tables_are_known_beside_those_of_the_release(people: dc.Microdata, held: str) -> None:
    release = dc.publish(people, EVERY_FORM["permutation"], insecure_seed=1)
    towns = pl.DataFrame({"name": ODD, "town": ["Aix", "Ulm", None, "?", "Aix"]})
    tree = parse_one(
        "SELECT m.town, COUNT(*) AS n, SUM(p.age) AS a FROM permuted AS p JOIN mine AS m "
        "ON p.name = m.name GROUP BY m.town ORDER BY m.town NULLS LAST"
    )
    found = []
    for engine in (None, held):
        with closing(connect(release.tables, engine, own={"mine": towns})) as session:
            found.append(session.run(session.write(tree)))
    assert_frame_equal(*found)


def test_the_command_asks_a_cluster_and_shows_nothing_of_it(
    people: dc.Microdata, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK)
    dc.publish(people, dc.Generalization(dc.KAnonymity(3))).write(tmp_path / "r")
    question = "SELECT name, COUNT(*) AS n FROM release WHERE age > 40 GROUP BY name"
    here = discreet_here("query", "r", question, "--json", cwd=tmp_path)
    there = discreet("query", "r", question, "--json", "--engine", cluster.address, cwd=tmp_path)
    said = [line for line in there.stderr.splitlines() if not re.fullmatch(r"Asking … \d+ s", line)]
    assert (there.returncode, said) == (0, [])
    found, expected = json.loads(there.stdout), json.loads(here.stdout)
    assert found["rows"] == [pytest.approx(row) for row in expected["rows"]]
    assert "`generalized`" in found["sql"]
    assert [path.name for path in tmp_path.iterdir()] == ["r"]


def test_a_cluster_that_has_nobody_free_is_named(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run where no session is held, for only one can be started in a process."""
    script = (
        "from discreet.cluster import open_session, reaching\n"
        "reaching.PATIENCE = 1\n"
        f"with open_session({cluster.address!r}, **{{'spark.executor.memory': '64g'}}):\n"
        "    pass\n"
    )
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", QUICK)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert "runs nothing within 1 seconds.\nHint: It needs workers" in done.stderr


def test_spark_connect_gives_the_numbers_of_duckdb(people: dc.Microdata, tmp_path: Path) -> None:
    server, address = start_connect_server(tmp_path)
    before = dict(os.environ)
    try:
        release = dc.publish(people, dc.Generalization(dc.KAnonymity(3)), insecure_seed=1)
        with release.prepare(engine=address) as prepared:
            for question in ASKED[:3]:
                here, there = answer(release, question), answer(prepared, question)
                assert isinstance(here, pl.DataFrame) and isinstance(there, pl.DataFrame)
                assert_frame_equal(here, there)
            with pytest.raises(dc.errors.QueryError, match="Spark refuses the question: "):
                prepared.query("SELECT COUNT(*) FROM release WHERE pay > 'x'")
    finally:
        server.kill()
    assert before == {name: os.environ[name] for name in before}


@pytest.fixture
def folder(people: dc.Microdata, tmp_path: Path) -> Path:
    dc.publish(people, dc.Generalization(dc.KAnonymity(3))).write(tmp_path / "r")
    return tmp_path


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("spark://127.0.0.1:1", "Nobody listens at 127.0.0.1:1 (Connection refused)."),
        ("sc://127.0.0.1:1/;token=secret", "Nobody listens at 127.0.0.1:1 (Connection refused)."),
        ("spark://nowhere.invalid:7077", "Nobody listens at nowhere.invalid:7077 ("),
        ("spark://host", "'spark://host' is no address of Spark."),
        ("sc://ho st:x/;token=secret", "'sc://ho st:x' is no address of Spark."),
        ("local[zero]", "'local[zero]' is no address of Spark."),
    ],
)
def test_an_address_at_which_nobody_is_gets_one_line(folder: Path, address: str, says: str) -> None:
    done = discreet_here("query", "r", COUNT, "--engine", address, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"Error: {says}") and "Hint: " in done.stderr
    assert "Traceback" not in done.stderr and "secret" not in done.stderr


@pytest.mark.parametrize("home", [None, "/nowhere"])
def test_without_java_it_is_said_how_to_get_it(
    folder: Path, home: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    if home:
        monkeypatch.setenv("JAVA_HOME", home)
    done = discreet("query", "r", COUNT, "--engine", "local[1]", cwd=folder)
    where = "at JAVA_HOME, /nowhere" if home else "on the PATH"
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        f"Error: Spark needs Java, and there is none {where}.\nHint: Install Java 17"
    )


def test_without_pyspark_it_is_said_how_to_get_it(folder: Path) -> None:
    blocked = "import sys; sys.modules['pyspark'] = None; "
    command = [*COMMAND[:-1], blocked + COMMAND[-1], "query", "r", COUNT, "--engine", "local[1]"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "Error: Spark needs the package pyspark.\nHint: Install discreet[spark].\n"
    )


def test_a_server_of_another_kind_is_no_cluster(cluster: Cluster) -> None:
    address = cluster.address.replace("spark://", "sc://")
    with (
        pytest.raises(dc.errors.ClusterError, match="does not answer as one of Spark Connect"),
        open_session(address),
    ):
        pass


def test_only_addresses_of_this_machine_are_here() -> None:
    here = [("127.0.0.1", 1), ("localhost", 2), ("::1", 3)]
    assert reaching.is_here([]) and reaching.is_here(here)
    assert not reaching.is_here([*here, ("10.0.0.1", 7077)])
    assert not reaching.is_here([("127.0.0.1.example.org", 7077)])


def test_a_release_is_installed_as_tables_and_views_of_a_database(
    people: dc.Microdata, held: str
) -> None:
    """Without bounds, for Spark has no functions of a text; and nothing there is replaced."""
    release = dc.publish(people, dc.Generalization(dc.KAnonymity(3)), insecure_seed=1)
    made = install(release, held, schema="census", columns=[["age", "name", "pay"]])
    condition = "age < 40 AND name LIKE 'say%'"
    with open_session(held) as session:
        try:
            found = session.sql(f"SELECT SUM(weight * pay) FROM census.expected WHERE {condition}")
            answer = release.query(f"SELECT SUM(pay) FROM release WHERE {condition}")
            assert found.collect()[0][0] == pytest.approx(answer.estimate)
            listed = {row.tableName for row in session.sql("SHOW TABLES IN census").collect()}
            assert listed == {"about", "generalized", "cells_age", "cells_name", "expected"}
            assert not made.functions and "no functions" in made.left_out["estimate"]
            for overwrite, said in ((False, "already"), (True, "no transactions")):
                with pytest.raises(dc.errors.QueryError, match=said):
                    install(release, held, schema="census", overwrite=overwrite)
        finally:
            session.sql("DROP DATABASE census CASCADE")
