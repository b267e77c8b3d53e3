"""A publication that fails leaves nothing, and says what it was."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from commands import discreet_here
from discreet.release.store import fingerprint

PLAN = """
[source]
file = "people.parquet"
[roles]
quasi-identifier = ["age", "zip", "job"]
sensitive = ["ill"]
[columns.age]
type = "integer"
[columns.zip]
type = "integer"
[method]
name = "sequential"
earlier = ["old"]
[[method.principles]]
name = "xy-anonymity"
x = ["age", "zip", "job"]
y = "people"
k = 2
[release]
folder = "new"
"""
REASON = "frequency-diversity (l = 2) on ill, promised by old, fails for"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A table of which a release is out; another keeps its own promise, and breaks that one's."""
    drawn, n = np.random.default_rng(0), 120
    people = pl.DataFrame({
        "age": drawn.integers(20, 40, n), "zip": drawn.integers(0, 12, n),
        "job": drawn.choice(list("abcdef"), n),
        "ill": drawn.choice(["flu", "cold", "gout", "no"], n),
    })  # fmt: skip
    people.write_parquet(tmp_path / "people.parquet")
    known = people.select("age", "zip", "ill")
    schema = dc.Schema.infer(known, quasi_identifiers=["age", "zip"], sensitive=["ill"])
    method = dc.Generalization(dc.FrequencyDiversity(2))
    dc.publish(dc.read(known, schema), method).write(tmp_path / "old")
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


@pytest.mark.parametrize("memory", ["9GB", "1KB"])
@pytest.mark.parametrize("more", [[], ["--dry-run"], ["--into", "r.duckdb"], ["--json"]])
def test_a_sequential_release_whose_audit_fails_is_not_there(
    place: Path, memory: str, more: list[str]
) -> None:
    before = {path.name for path in place.iterdir()}
    done = discreet_here("publish", "plan.toml", "--memory", memory, *more, cwd=place)
    assert done.returncode == 1
    assert "Nothing was published." in done.stderr and REASON in done.stderr
    assert "Hint: Releases that are out stay as they are" in done.stderr
    if "--json" in more:
        told = json.loads(done.stdout)
        assert told["release"] is None and not told["kept"]
    else:
        assert f"PROBLEM: {REASON}" in done.stdout
    assert {path.name for path in place.iterdir()} == before


def test_what_was_there_before_it_stays(place: Path) -> None:
    """Also the report, which says why; and the ledger, which has nothing new."""
    dc.load(place / "old").write(place / "new")
    kept = fingerprint(place / "new")
    assert discreet_here("ledger", "init", "book", "--source", "x", cwd=place).returncode == 0
    for more in (["--report", "r.html"], ["--ledger", "book"]):
        done = discreet_here("publish", "plan.toml", "--overwrite", *more, cwd=place)
        assert done.returncode == 1 and REASON in done.stderr, done.stderr
    assert fingerprint(place / "new") == kept
    assert "frequency-diversity" in (place / "r.html").read_text()
    assert not list((place / "book" / "releases").iterdir())
    assert not [path for path in place.iterdir() if path.name.startswith(".")]
