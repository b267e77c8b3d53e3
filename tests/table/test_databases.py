"""Tables that lie in databases are inspected and published as files are."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import psycopg
import pytest

import discreet as dc
from commands import discreet, discreet_here
from discreet.table.databases import DatabaseTable

ROWS = [(20 + i % 9, "FM"[i % 2], None if i == 3 else f"a,\"b\"\n{i % 4}", f"19{60 + i}-02-03",
         100.25 + i, i % 3 == 0) for i in range(30)]  # fmt: skip
MADE = ("CREATE TABLE people (age INTEGER, sex TEXT, place TEXT, born DATE, "
        "pay NUMERIC(9, 2), member BOOLEAN)")  # fmt: skip


def fill(folder: Path) -> Path:
    path = folder / "clinic.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute(MADE)
        database.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", ROWS)
    return path


def test_a_file_of_duckdb_is_published(tmp_path: Path) -> None:
    fill(tmp_path)
    done = discreet("inspect", "clinic.duckdb", "--table", "people", "--sensitive", "pay",
                    cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    plan = (tmp_path / "people.plan.toml").read_text("utf-8")
    assert 'database = "clinic.duckdb"\ntable = "people"' in plan
    done = discreet("publish", "people.plan.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert dc.load(tmp_path / "release").query("SELECT COUNT(*) FROM release").estimate == 30
    for path in (tmp_path / "release").rglob("*"):  # nothing tells where it came from
        assert path.is_dir() or b"clinic" not in path.read_bytes()


def test_a_server_gives_what_a_file_gives(postgres: str, tmp_path: Path) -> None:
    with psycopg.connect(postgres, autocommit=True) as server:
        server.execute("CREATE SCHEMA odd")
        server.execute(MADE.replace("people", "odd.people"))  # type: ignore[arg-type]
        with server.cursor() as cursor:
            cursor.executemany("INSERT INTO odd.people VALUES (%s, %s, %s, %s, %s, %s)", ROWS)
    try:
        there = DatabaseTable(postgres, table="odd.people")
        here = DatabaseTable(str(fill(tmp_path)), query="SELECT * FROM people")
        known = ["age", "sex", "place", "born", "member"]
        schema = dc.Schema.infer(here.read(), quasi_identifiers=known, sensitive=["pay"])
        frames = [dc.read(source, schema).to_polars() for source in (there, here)]
        assert frames[0].sort(pl.all()).equals(frames[1].sort(pl.all()))
        assert frames[0]["place"].null_count() == 1
        done = discreet_here("inspect", postgres, "--query", "SELECT age, sex, pay FROM odd.people",
                             cwd=tmp_path)  # fmt: skip
        assert done.returncode == 0, done.stderr
        done = discreet_here("publish", "query.plan.toml", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        with pytest.raises(dc.DiscreetError, match="cannot be read"):
            DatabaseTable(postgres, query="DELETE FROM odd.people RETURNING *").read()
        with pytest.raises(dc.DiscreetError, match="cannot be read"):
            DatabaseTable(postgres, table="nobody").read()
        assert there.read().height == 30
    finally:
        with psycopg.connect(postgres, autocommit=True) as server:
            server.execute("DROP SCHEMA odd CASCADE")


def test_passwords_are_shown_to_nobody() -> None:
    source = DatabaseTable("postgresql://me:s3cret@127.0.0.1:1/db", table="people")
    assert source.shown == "postgresql://me@127.0.0.1:1/db"
    with pytest.raises(dc.DiscreetError) as refused:
        source.read()
    assert "s3cret" not in str(refused.value) + str(refused.value.hint)


def test_bad_addresses_are_one_error(tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / "no.duckdb").write_text("no database")
    for command, message in (
        (["clinic.duckdb"], "is it a table or a query"),
        (["clinic.duckdb", "--table", "nobody"], "nobody cannot be read"),
        (["clinic.duckdb", "--query", "SELECT 1 AS x; DROP TABLE people"], "cannot be read"),
        (["no.duckdb", "--table", "x"], "cannot be read"),
        (["none.duckdb", "--table", "x"], "no such file"),
        (["people.csv", "--table", "x"], "are of a database"),
    ):
        done = discreet_here("inspect", *command, cwd=tmp_path)
        assert done.returncode == 2 and message in done.stderr, (command, done.stderr)
        assert "Hint: " in done.stderr and "Traceback" not in done.stderr
    assert sorted(path.name for path in tmp_path.glob("*.toml")) == []
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as database:
        assert database.sql("SELECT COUNT(*) FROM people").fetchall() == [(30,)]
