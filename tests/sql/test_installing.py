"""Releases in databases: asked by plain clients, which know nothing of discreet."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import psycopg
import pytest

import discreet as dc
from commands import discreet_here as discreet
from discreet.forms import installing
from discreet.forms.installing import install
from discreet.publishing.method import Method
from samples import EVERY_FORM, microdata

WHERE = {"age": "age BETWEEN 30 AND 50", "sex": "sex IN ('male', 'O''Brien')",
         "region": "region < 'R30'"}  # fmt: skip


@pytest.fixture(scope="module")
def people() -> dc.Microdata:
    """Some of them with a name that would end a statement which was not quoted, or with none."""
    frame = dc.datasets.census(240, sensitive=["income"]).to_polars()
    odd = pl.int_range(pl.len())
    sex = pl.when(odd % 9 == 0).then(pl.lit("O'Brien")).when(odd % 7 > 0).then("sex")
    return microdata(
        frame.select("age", sex.alias("sex"), "region", "income"),
        ["age", "sex", "region"], ["income"],
    )  # fmt: skip


def compare(release: dc.Release, made: installing.Installation, ask: Any) -> None:
    """Hold plain SQL in a client against the answers of the release."""
    for view, names in made.views.items():
        condition = " AND ".join(WHERE[name] for name in names if name in WHERE)
        counted = release.query(f"SELECT COUNT(*) FROM release WHERE {condition}")
        text = f"SELECT SUM(weight) FROM census.{view} WHERE {condition}"
        assert ask(text) == [(pytest.approx(counted.estimate),)]
        by = "SELECT sex, {} FROM {} WHERE age < 45 GROUP BY sex"
        groups = release.query(by.format("COUNT(*)", "release")) if "age" in names else None
        if groups is not None:
            found = ask(by.format("SUM(weight)", f"census.{view}"))
            shown = dict(groups.frame.select("sex", "count").rows())
            assert dict(found) == pytest.approx(shown)
        function = view.replace("expected", "estimate")
        if function not in made.functions:
            continue
        asked = [(counted, "")]
        if "income" in names:
            asked += [(release.query(f"SELECT SUM(income) FROM release WHERE {condition}"),
                       ", 'income'")]  # fmt: skip
        for answer, measure in asked:
            given = condition.replace("'", "''")
            (row,) = ask(f"SELECT * FROM census.{function}('{given} -- a remark'{measure})")
            assert row == pytest.approx((answer.estimate, answer.low, answer.high))


@pytest.mark.parametrize("method", EVERY_FORM.values(), ids=EVERY_FORM)
def test_plain_clients_get_the_answers_of_every_form(
    people: dc.Microdata, method: Method, postgres: str, tmp_path: Path
) -> None:
    release = dc.publish(people, method, insecure_seed=1)
    file = tmp_path / "release.duckdb"
    made = install(release, str(file), schema="census")
    with duckdb.connect(str(file), read_only=True) as database:
        compare(release, made, lambda sql: database.execute(sql).fetchall())
        for title, table in release.tables.items():
            assert database.execute(f"SELECT * FROM census.{title}").fetchall() == table.rows()
    made = install(release, postgres, schema="census", overwrite=True)
    with psycopg.connect(postgres) as client:
        compare(release, made, lambda sql: client.execute(sql.encode()).fetchall())
        said = client.execute("SELECT says FROM census.about WHERE name = 'guarantee'").fetchall()
        assert said == [(release.promise.guarantee,)]
    assert made.functions == ["estimate", "estimate_2"][: len(made.views)]


def test_what_is_there_is_kept_unless_it_came_from_here_and_may_go(
    people: dc.Microdata, postgres: str, tmp_path: Path
) -> None:
    release = dc.publish(people, EVERY_FORM["anatomy"], insecure_seed=1)
    file = str(tmp_path / "two.duckdb")
    for into in (file, postgres):
        install(release, into, schema="one")
        install(release, into, schema="other")
        with pytest.raises(dc.errors.QueryError, match="holds a release already"):
            install(release, into, schema="one")
        narrow = install(release, into, schema="one", columns=[["sex", "income"]], overwrite=True)
        assert narrow.views == {"expected": ["sex", "income"]}
    own = "CREATE TABLE one.mine (x INTEGER)"
    with psycopg.connect(postgres) as client:
        client.execute(own)
    with duckdb.connect(file) as database:
        database.execute(own)
    for into in (file, postgres):
        with pytest.raises(dc.errors.QueryError, match="holds 'mine', which was not put there"):
            install(release, into, schema="one", overwrite=True)
    with duckdb.connect(file) as database:
        assert database.execute("SELECT COUNT(*) FROM one.expected").fetchall()[0][0] > 0


def test_nothing_is_left_of_what_was_interrupted(
    people: dc.Microdata, postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = dc.publish(people, EVERY_FORM["anatomy"], insecure_seed=1)
    there = tmp_path / "there.duckdb"
    install(release, str(there), schema="one")

    def stop(*_: object, **__: object) -> str:
        raise KeyboardInterrupt

    for kind in ("duckdb", "postgres"):
        monkeypatch.setattr(f"discreet.sql.catalogs.{kind}.write_call", stop)
    for into in (str(tmp_path / "new.duckdb"), str(there), postgres):
        with pytest.raises(KeyboardInterrupt):
            install(release, into, schema="half")
    assert [path.name for path in tmp_path.iterdir()] == ["there.duckdb"]
    asked = "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'half'"
    with duckdb.connect(str(there)) as database, psycopg.connect(postgres) as client:
        assert database.execute(asked).fetchall() == client.execute(asked).fetchall() == [(0,)]


def test_attributes_that_are_too_many_together_are_parted(
    people: dc.Microdata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each beside the sensitive one; or refused, where they were asked for together."""
    release = dc.publish(people, EVERY_FORM["generalization"], insecure_seed=1)
    monkeypatch.setattr(installing, "MOST_CELLS", 4000)
    made = install(release, str(tmp_path / "r.duckdb"))
    assert len(made.views) > 1
    assert all("income" in names for names in made.views.values())
    assert {name for names in made.views.values() for name in names} == {*release.schema.names}
    with pytest.raises(dc.errors.QueryError, match="more than 4,000 combinations"):
        install(release, str(tmp_path / "s.duckdb"), columns=[release.schema.names])
    assert not (tmp_path / "s.duckdb").exists()


def test_attributes_that_were_made_coarser_are_left_out_with_the_reason(
    people: dc.Microdata, tmp_path: Path
) -> None:
    coarse = [replace(a, top=60) if a.name == "age" else a for a in people.public_schema]
    shown = dc.read(people.to_polars(), dc.Schema(tuple(coarse)))
    release = dc.publish(shown, EVERY_FORM["permutation"], insecure_seed=1)
    made = install(release, str(tmp_path / "r.duckdb"))
    assert made.views == {"expected": ["sex", "region", "income"]}
    assert "60 means 60 or more" in made.left_out["age"]


def test_the_command_installs_and_says_what(people: dc.Microdata, tmp_path: Path) -> None:
    dc.publish(people, dc.Anatomy(dc.FrequencyDiversity(2))).write(tmp_path / "jobs")
    done = discreet("install", "jobs", "--into", "r.duckdb", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["views"] == {"expected": ["age", "sex", "region", "income"]}
    with duckdb.connect(str(tmp_path / "r.duckdb"), read_only=True) as database:
        total = database.execute("SELECT SUM(weight) FROM discreet.expected").fetchall()
    assert total == [(pytest.approx(people.n),)]
    done = discreet("install", "jobs", "--into", "jobs/x.duckdb", cwd=tmp_path)
    assert (done.returncode, "will not be written over" in done.stderr) == (2, True), done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["jobs", "r.duckdb"]


@pytest.mark.parametrize(
    ("into", "said"),
    [
        ("discreet.duckdb", "cannot tell them apart"),
        ("mysql://host/db", "Nothing can be put into"),
        ("notes.txt", "DuckDB refuses"),
        ("no/such\0place", "it holds a NUL"),
        ("postgresql://nobody@127.0.0.1:1/x", "PostgreSQL refuses"),
    ],
)
def test_where_nothing_can_be_put_is_one_error(
    people: dc.Microdata, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, into: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("no database")
    release = dc.publish(people, EVERY_FORM["anatomy"], insecure_seed=1)
    with pytest.raises(dc.DiscreetError, match=said):
        install(release, into)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
