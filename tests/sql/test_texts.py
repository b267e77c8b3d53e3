"""Texts on PostgreSQL: compared, ordered and folded as in DuckDB, whatever language is set."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import discreet as dc
from discreet.publishing import Method
from samples import microdata

TOWNS = ["apple", "Banana", "Ähre", "zebra", "Zoë", "straße", "İzmir", "ΣΟΦΟΣ", "a-b", "a b",
         "ab", "_x", "10", "9", "O'Hara", "ŉ"]  # fmt: skip
CONDITIONS = [
    "town < 'b'", "town > 'Z'", "town >= 'a b'", "town <= 'a-b'", "'ab' < town",
    "town BETWEEN 'A' AND 'a'", "NOT town BETWEEN 'a' AND 'Z'", "town BETWEEN '1' AND '_'",
    "town > 'Ä'", "town < 'É'", "town <> 'ab' AND town > 'a'", "town IN ('ab', 'Zoë')",
    "LOWER(town) < 'b'", "LOWER(town) = 'zoë'", "LOWER(town) = 'izmir'", "LOWER(town) LIKE 'ä%'",
    "LOWER(town) = 'σοφοσ'", "UPPER(town) = 'STRASSE'", "UPPER(town) = 'STRAẞE'",
    "UPPER(town) = 'ÄHRE'", "UPPER(town) > 'Z'", "UPPER(town) = 'ŉ'", "town LIKE 'a_b'",
    "town LIKE '%ß%'", "town ILIKE 'Z%'", "town ILIKE '%Ë'", "town ILIKE 'ähr_'",
    "town NOT ILIKE '%A%'", "LENGTH(town) = 3", "'a' < 'B'", "NOT 'a' > 'Z' OR town = 'ab'",
    "LOWER('I') = 'i' AND town > 'a'", "COALESCE(town, 'B') < 'a'",
    "CASE WHEN town > 'a' THEN 'a' ELSE 'B' END < 'Z'", "CASE town WHEN 'ab' THEN 'a' END > 'B'",
    "NULLIF(town, 'ab') > 'a'", "town IS NULL OR town > 'z'", "LOWER(UPPER(town)) = LOWER(town)",
]  # fmt: skip
OTHERS = [
    "SELECT town, COUNT(*) AS n FROM release GROUP BY town",
    "SELECT town, COUNT(*) AS n FROM release WHERE town > 'Z' GROUP BY town",
    "SELECT MIN(town) AS a, MAX(town) AS b FROM release",
    "SELECT age, MIN(town) AS a, MAX(town) AS b FROM release WHERE town <> '10' GROUP BY age",
    "SELECT CASE WHEN age > 21 THEN 'Old' ELSE 'young' END AS g, COUNT(*) AS n FROM release "
    "GROUP BY 1 ORDER BY g",
    "SELECT LOWER(town) AS g, COUNT(*) AS n FROM release GROUP BY 1 HAVING g > 'B' ORDER BY g DESC",
    "WITH a AS (SELECT town, COUNT(*) AS n FROM release GROUP BY town) "
    "SELECT UPPER(town) AS u, n * 2.5 AS m FROM a WHERE LOWER(town) > 'b' ORDER BY u",
]
QUESTIONS = [*(f"SELECT COUNT(*) AS n FROM release WHERE {c}" for c in CONDITIONS), *OTHERS]
METHODS: dict[str, Method] = {
    "permuted": dc.Permutation(dc.KE(3, 2)),
    "generalized": dc.Generalization(dc.KAnonymity(3)),
    "batched": dc.Angelization(dc.FrequencyDiversity(2), k=3),
    "sliced": dc.Slicing(dc.FrequencyDiversity(2)),
}


@contextmanager
def start_english(folder: Path) -> Iterator[str]:
    """Start a server for English, of those that this machine has: the wheel's knows C alone."""
    found = shutil.which("initdb")
    if found is None:
        pytest.skip("no PostgreSQL is installed besides the wheel's")
    tools = Path(found).resolve().parent
    data = folder / "data"
    who = {}
    if os.geteuid() == 0:  # it refuses to be root
        who = {"user": pwd.getpwnam("postgres").pw_uid}
        os.chown(folder, who["user"], -1)
    made = subprocess.run(
        [tools / "initdb", "-D", data, "-U", "postgres", "--auth=trust", "--no-sync", "-E", "UTF8",
         "--locale-provider=icu", "--icu-locale=en-US"],
        capture_output=True, check=False, cwd=folder, **who,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("the PostgreSQL that is installed knows no languages")
    control = [tools / "pg_ctl", "-w", "-D", data, "-l", folder / "log"]
    options = ["-o", f"-h '' -k {folder} -F", "start"]
    subprocess.run([*control, *options], check=True, cwd=folder, stdout=subprocess.DEVNULL, **who)
    try:
        yield f"postgresql://postgres:@/postgres?host={folder}"
    finally:
        stop = [*control, "-m", "immediate", "stop"]
        subprocess.run(stop, check=True, cwd=folder, stdout=subprocess.DEVNULL, **who)


@pytest.fixture(scope="module")
def english() -> Iterator[str]:
    with TemporaryDirectory(prefix="pg") as folder, start_english(Path(folder)) as url:
        yield url


@pytest.fixture(scope="module")
def folding(postgres: str) -> Iterator[str]:
    """A database that writes ß in capitals as SS, and i with a dot as two characters."""
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(
            "CREATE DATABASE folding LOCALE_PROVIDER builtin BUILTIN_LOCALE 'PG_UNICODE_FAST' "
            "TEMPLATE template0"
        )
        yield postgres.replace("/postgres?", "/folding?", 1)
        connection.execute("DROP DATABASE folding")


def publish(form: str) -> dc.Release:
    towns = [*TOWNS, *TOWNS, *TOWNS, None, None, None]
    count = len(towns)
    frame = pl.DataFrame({
        "town": towns, "age": [20 + i % 3 for i in range(count)],
        "pay": [7 * i % count for i in range(count)],
        "ill": [["flu", "Gout", "ähm"][i // 3 % 3] for i in range(count)],
    })  # fmt: skip
    frame = frame.drop("ill" if form == "permuted" else "pay")
    data = microdata(frame, ["town", "age"], frame.columns[2:])
    if form == "generalized":  # a column that nothing is done to, beside those in boxes
        kept = replace(data.public_schema["town"], role=dc.Role.OTHER, keep=True)
        data = dc.read(frame, data.public_schema.changed(kept))
    return dc.publish(data, METHODS[form], insecure_seed=1)


def ask_both(form: str, database: str, questions: list[str]) -> int:
    """Ask DuckDB and a database, and count what both answer, and answer alike."""
    release = publish(form)
    answered = 0
    with release.prepare() as here, release.prepare(engine=database) as there:
        for question in questions:
            try:
                expected = here.query(question).frame
            except dc.errors.QueryError:
                with pytest.raises(dc.errors.QueryError):
                    there.query(question)
                continue
            assert_frame_equal(there.query(question).frame, expected, rel_tol=1e-12)
            answered += 1
    return answered


@pytest.mark.parametrize("form", METHODS)
def test_texts_are_compared_and_folded_as_in_duckdb(form: str, english: str) -> None:
    """In batches conditions are looked at before any engine is asked: a few are enough."""
    every = {"batched": 5, "sliced": 2}.get(form, 1)
    asked = [*QUESTIONS[: len(CONDITIONS) : every], *OTHERS]
    assert ask_both(form, english, asked) >= len(asked) - 2


def test_letters_are_folded_one_by_one(folding: str) -> None:
    assert ask_both("permuted", folding, QUESTIONS) == len(QUESTIONS)
