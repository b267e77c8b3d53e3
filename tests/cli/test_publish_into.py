"""Publishing into a database: what is audited goes there, and what is refused does not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import duckdb
import psycopg
import pytest

import discreet as dc
from commands import discreet_here
from discreet import auditing
from discreet.errors import QueryError
from discreet.forms import installing
from discreet.steward import publication

PLAN = """
[source]
file = "people.parquet"

[columns.age]
role = "quasi-identifier"
type = "integer"

[columns.sex]
role = "quasi-identifier"

[columns.income]
role = "sensitive"
type = "integer"

[method]
name = "generalization"

[[method.principles]]
name = "k-anonymity"
k = 5
"""
COUNTED = "SELECT COUNT(*) FROM discreet.generalized"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    frame = dc.datasets.census(400, sensitive=["income"]).to_polars()
    frame.select("age", "sex", "income").write_parquet(tmp_path / "people.parquet")
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


@pytest.fixture
def empty(postgres: str) -> str:
    with psycopg.connect(postgres) as client:
        client.execute("DROP SCHEMA IF EXISTS discreet CASCADE")
    return postgres


def list_schemas(address: str) -> list[str]:
    asked = b"SELECT nspname FROM pg_namespace WHERE nspname = 'discreet'"
    with psycopg.connect(address) as client:
        return [row[0] for row in client.execute(asked).fetchall()]


def test_a_release_is_published_and_then_installed(place: Path, empty: str) -> None:
    done = discreet_here("publish", "plan.toml", "--into", empty, "--json", cwd=place)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["installed"]["tables"][0] == "generalized"
    with psycopg.connect(empty) as client:
        assert client.execute(COUNTED.encode()).fetchall() == [(400,)]
    done = discreet_here(
        "publish", "plan.toml", "--into", "r.duckdb", "--overwrite", "--schema", "s", cwd=place
    )
    assert done.returncode == 0 and "Installed: schema 's'" in done.stdout, done.stderr
    with duckdb.connect(str(place / "r.duckdb"), read_only=True) as database:
        assert database.execute("SELECT COUNT(*) FROM s.generalized").fetchall() == [(400,)]
    made = dc.load(place / "release").to_database(str(place / "p.duckdb"))
    assert made.tables[0] == "generalized"


def test_of_a_release_from_disk_the_same_is_installed(place: Path) -> None:
    done = discreet_here(
        "publish", "plan.toml", "--into", "r.duckdb", "--memory", "1KB", cwd=place
    )  # fmt: skip
    assert done.returncode == 0 and "from disk" in done.stdout, done.stderr
    with duckdb.connect(str(place / "r.duckdb"), read_only=True) as database:
        assert database.execute(COUNTED).fetchall() == [(400,)]


def test_nothing_goes_into_a_database_if_nothing_is_published(
    place: Path, empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "strict.toml").write_text(PLAN.replace("k = 5", "k = 500"))
    for into in (empty, "r.duckdb"):
        done = discreet_here("publish", "strict.toml", "--into", into, cwd=place)
        assert done.returncode == 1, done.stderr
    honest = auditing.audit

    def doubt(*given: object, **told: object) -> auditing.AuditReport:
        found = honest(*given, **told)  # type: ignore[arg-type]
        return replace(found, uncovered=1)

    monkeypatch.setattr(publication, "audit", doubt)
    for into in (empty, "r.duckdb"):
        done = discreet_here("publish", "plan.toml", "--into", into, cwd=place)
        assert done.returncode == 1 and "Nothing was published" in done.stderr, done.stderr
    assert sorted(path.name for path in place.iterdir()) == [
        "people.parquet", "plan.toml", "strict.toml",
    ]  # fmt: skip
    assert list_schemas(empty) == []


def test_a_dry_run_checks_the_database_and_leaves_it_alone(place: Path, empty: str) -> None:
    done = discreet_here("publish", "plan.toml", "--into", empty, "--dry-run", cwd=place)
    assert done.returncode == 0, done.stderr
    assert list_schemas(empty) == [] and not (place / "release").exists()


def test_a_database_that_cannot_be_filled_is_refused_before_any_work(
    place: Path, empty: str
) -> None:
    with psycopg.connect(empty) as client:
        client.execute("CREATE SCHEMA discreet")
        client.execute("CREATE TABLE discreet.mine (x INTEGER)")
    with duckdb.connect(str(place / "taken.duckdb")) as database:
        database.execute("CREATE SCHEMA discreet")
        database.execute("CREATE TABLE discreet.mine (x INTEGER)")
    (place / "notes.txt").write_text("no database")
    told = {
        empty: "holds 'mine', which was not put there",
        "taken.duckdb": "holds 'mine', which was not put there",
        "notes.txt": "DuckDB refuses",
        "postgresql://nobody@127.0.0.1:1/x": "PostgreSQL refuses",
        "mysql://host/db": "Nothing can be put into",
        "people.parquet": "will not be written over",
        "release/r.duckdb": "lies inside the release",
        "plan.toml/r.duckdb": "cannot be written",
    }
    before = sorted(place.iterdir())
    for into, said in told.items():
        done = discreet_here("publish", "plan.toml", "--into", into, "--overwrite", cwd=place)
        assert done.returncode == 2 and said in done.stderr, (into, done.stderr)
    assert sorted(place.iterdir()) == before


def test_microdata_and_release_are_not_put_into_one_file(place: Path) -> None:
    with duckdb.connect(str(place / "people.duckdb")) as database:
        database.execute(f"CREATE TABLE people AS FROM '{place / 'people.parquet'}'")
    source = 'database = "people.duckdb"\ntable = "people"'
    (place / "plan.toml").write_text(PLAN.replace('file = "people.parquet"', source))
    done = discreet_here("publish", "plan.toml", "--into", "people.duckdb", cwd=place)
    assert done.returncode == 2 and "will not be written over" in done.stderr
    assert not (place / "release").exists()


def test_what_fails_after_publishing_says_what_is_in_place(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise QueryError("The database went away.", hint="Start it.")

    monkeypatch.setattr(installing, "install", refuse)
    done = discreet_here("publish", "plan.toml", "--into", "r.duckdb", cwd=place)
    assert done.returncode == 2
    assert "release is published, but not installed. The database went away." in done.stderr
    assert "discreet install" in done.stderr
    assert (place / "release").is_dir() and not (place / "r.duckdb").exists()
