"""Engines: what is loaded, what is left, and what is said when they refuse."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import date
from pathlib import Path

import duckdb
import polars as pl
import psycopg
import pytest
from polars.testing import assert_frame_equal
from sqlglot import parse_one

import discreet as dc
from discreet.forms.asking import show_sql
from discreet.sql.engines import connect
from discreet.sql.engines.postgres import Server
from samples import microdata

COUNT = "SELECT COUNT(*) FROM release"
PEOPLE = pl.DataFrame({
    "born": [date(1960, 1, 1), date(1970, 5, 5), date(1970, 5, 6), None] * 4,
    "name": ["Ann", "bob", "Zoë", None] * 4, "age": [20, 30, 40, 50] * 4,
    "married": [True, False, None, True] * 4, "pay": [*range(16)],
})  # fmt: skip


@pytest.fixture(scope="module")
def permuted() -> dc.Release:
    data = microdata(PEOPLE, ["born", "name", "age", "married"], ["pay"])
    return dc.publish(data, dc.Permutation(dc.KE(2, 1)), insecure_seed=1)


@pytest.fixture(scope="module")
def blurred() -> dc.Release:
    data = microdata(PEOPLE.drop("married"), ["born", "name", "age"], ["pay"])
    return dc.publish(data, dc.Generalization(dc.KAnonymity(4)), insecure_seed=1)


@pytest.mark.parametrize("key", ["born", "name", "age", "married"])
def test_keys_of_groups_have_the_types_of_duckdb(
    permuted: dc.Release, postgres: str, key: str
) -> None:
    for condition in ("pay >= 0", "age > 99"):
        question = f"SELECT {key}, COUNT(*) FROM release WHERE {condition} GROUP BY {key}"
        expected = permuted.query(question).frame
        assert_frame_equal(permuted.query(question, engine=postgres).frame, expected)


def test_postgresql_knows_the_size_of_every_table(blurred: dc.Release, postgres: str) -> None:
    """Of those that a question needs as well, or a join of them may take minutes."""
    tree = parse_one(
        "SELECT relname, CAST(reltuples AS BIGINT) AS n FROM pg_class "
        "WHERE relname IN ('share 0', 'generalized') ORDER BY relname"
    )
    server = Server(postgres, blurred.tables)
    try:
        needed = {"share 0": pl.DataFrame({"n": [*range(5000)]})}
        found = server.run(server.write(tree, needed)).rows()
    finally:
        server.close()
    assert found == [("generalized", 16), ("share 0", 5000)]


def list_left(url: str) -> list[tuple[str, ...]]:
    with psycopg.connect(url) as connection:
        found = connection.execute(
            "SELECT n.nspname, c.relname FROM pg_class c JOIN pg_namespace n "
            "ON n.oid = c.relnamespace WHERE n.nspname LIKE 'pg_temp%' OR n.nspname LIKE 'discreet%'"
        )
        return found.fetchall()


def test_a_client_that_is_killed_leaves_nothing(
    permuted: dc.Release, postgres: str, tmp_path: Path
) -> None:
    permuted.write(tmp_path / "r", insecure=True)
    script = (
        "import sys, time, discreet as dc\n"
        "prepared = dc.load(sys.argv[1]).prepare(engine=sys.argv[2])\n"
        f"print(prepared.query({COUNT!r}).estimate, flush=True)\n"
        "time.sleep(600)\n"
    )
    command = [sys.executable, "-c", script, tmp_path / "r", postgres]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None and float(client.stdout.readline()) == 16
        client.kill()
    for _ in range(100):  # until the server has seen it
        with psycopg.connect(postgres) as connection:
            (others,) = connection.execute(
                "SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend' "
                "AND pid <> pg_backend_pid()"
            ).fetchone() or (0,)
        if not others:
            break
        time.sleep(0.1)
    assert list_left(postgres) == []


def test_whoever_gets_the_connection_next_finds_nothing(
    permuted: dc.Release, postgres: str
) -> None:
    """As with a pooler, which hands connections on when a transaction is over."""
    server = Server(postgres, permuted.tables)
    try:
        tree = parse_one("SELECT COUNT(*) AS n FROM permuted")
        assert server.run(server.write(tree)).item() == 16
        server._connection.rollback()
        assert server._connection.execute("SHOW search_path").fetchone() == ('"$user", public',)
        with pytest.raises(psycopg.errors.UndefinedTable):
            server._connection.execute("SELECT * FROM permuted")
    finally:
        server.close()


@pytest.mark.parametrize("where", ["here", "there"])
def test_own_tables_are_known_beside_those_of_the_release(
    permuted: dc.Release, postgres: str, where: str
) -> None:
    towns = pl.DataFrame({
        "name": ["Ann", "bob"], "town": ["Aix", None], "big": pl.Series([1, 2], dtype=pl.UInt8),
        "size": pl.Series(["1.50", "2.25"]).cast(pl.Decimal(10, 2)),
    })  # fmt: skip
    engine = postgres if where == "there" else None
    tree = parse_one(
        "SELECT mine.town, SUM(mine.big) AS b, MAX(mine.size) AS s, COUNT(*) AS n FROM permuted "
        "JOIN mine ON permuted.name = mine.name GROUP BY mine.town ORDER BY mine.town NULLS LAST"
    )
    session = connect(permuted.tables, engine, own={"mine": towns})
    try:
        found = session.run(session.write(tree))
    finally:
        session.close()
    expected = pl.DataFrame({"town": ["Aix", None], "b": [4, 8], "s": [1.5, 2.25], "n": [4, 4]})
    assert_frame_equal(found.rename(dict(zip(found.columns, expected.columns, strict=True))),
                       expected)  # fmt: skip
    with pytest.raises(dc.errors.QueryError, match="has a table 'Permuted' already"):
        connect(permuted.tables, engine, own={"Permuted": towns})
    with pytest.raises(dc.errors.QueryError, match="'x' holds List"):
        connect({}, postgres, own={"lists": pl.DataFrame({"x": [[1]]})})


def test_a_table_that_lies_in_the_database_can_be_joined(
    permuted: dc.Release, postgres: str
) -> None:
    tree = parse_one(
        "SELECT t.town, t.size, COUNT(*) AS n FROM permuted JOIN public.towns AS t "
        "ON permuted.name = t.name GROUP BY t.town, t.size ORDER BY t.town"
    )
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE TABLE towns (name TEXT, town VARCHAR, size NUMERIC)")
        connection.execute("INSERT INTO towns VALUES ('Ann', 'Aix', 1.5), ('bob', 'Ulm', 2)")
        session = connect(permuted.tables, postgres)
        try:
            found = session.run(session.write(tree))
        finally:
            session.close()
            connection.execute("DROP TABLE towns")
    assert found.rows() == [("Aix", 1.5, 4), ("Ulm", 2.0, 4)]
    assert found.dtypes == [pl.String, pl.Float64, pl.Int64]


REFUSED = [
    ("age > 'x'", "age > 'x' needs a number, and 'x' is none."),
    ("age BETWEEN 'ten' AND 'x'", "age BETWEEN 'ten' AND 'x' needs a number, and 'ten' is none."),
    ("born < 'soon'", "born < 'soon' needs a date, and 'soon' is none."),
    ("married = 'maybe'", "married = 'maybe' needs true or false, and 'maybe' is neither."),
    ("name > 5", "a text is compared with a number."),
    ("born > 5", "a date is compared with a number."),
    ("LOWER(age) = 'x'", "LOWER cannot be had of a number."),
]


@pytest.mark.parametrize(("condition", "says"), REFUSED)
def test_a_refusal_says_what_was_compared(
    permuted: dc.Release, blurred: dc.Release, postgres: str, condition: str, says: str
) -> None:
    question = f"{COUNT} WHERE {condition}"
    asked = [permuted] if "married" in condition else [permuted, blurred]
    for release in asked:
        for engine in (None, postgres):
            with pytest.raises(dc.errors.QueryError) as refused:
                release.query(question, engine=engine)
            assert str(refused.value).split(" refuses the question: ")[1].startswith(says)
            assert "cast" not in str(refused.value).lower()
            assert "LINE" not in str(refused.value)
