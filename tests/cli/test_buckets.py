"""Bucket sizes for a steward: from a plan and a wanted ratio to lines of the plan."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from commands import discreet, discreet_here
from discreet.evaluate import bucket_sizes
from discreet.steward.plan import Plan

PLAN = """
[source]
file = "people.csv"
[roles]
quasi-identifier = ["age", "der erste Beruf é"]
sensitive = ["ill"]
[method]
name = "slicing"
columns = 2
alpha = 1
[[method.principles]]
name = "k-anonymity"
k = 2
[release]
folder = "release"
"""


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Forty people, and a plan to slice them."""
    monkeypatch.setattr(bucket_sizes, "MOST_DRAWN", 2)
    rng = np.random.default_rng(1)
    pl.DataFrame({
        "age": rng.integers(20, 60, 40), "der erste Beruf é": rng.choice(["A", "B", "C"], 40),
        "ill": rng.choice(["flu", "gout", "cold"], 40),
    }).write_csv(tmp_path / "people.csv")  # fmt: skip
    (tmp_path / "people.plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path / "people.plan.toml"


def test_what_is_printed_can_be_pasted_into_the_plan_and_published(plan: Path) -> None:
    done = discreet_here("buckets", plan.name, "--ratio", "1", cwd=plan.parent)
    assert done.returncode == 0, done.stderr
    assert "Under [method] of the plan, instead of alpha:" in done.stdout
    lines = done.stdout[done.stdout.index("buckets =") :]
    written = PLAN.replace("columns = 2\nalpha = 1\n", lines)
    plan.write_text(written, encoding="utf-8")
    size = tomllib.loads(lines)["buckets"]
    wanted = Plan.read(plan)
    assert isinstance(wanted.method, dc.Slicing) and wanted.method.buckets == size
    people = dc.read(plan.parent / "people.csv", schema=plan)
    release = dc.publish(people, wanted.method)
    assert dc.audit(release, people).problems == []
    assert not (plan.parent / "release").exists()


def test_it_says_the_same_as_json(plan: Path) -> None:
    done = discreet_here("buckets", plan.name, "--ratio", "1/2", "--json", cwd=plan.parent)
    found = json.loads(done.stdout)
    people = dc.read(plan.parent / "people.csv", schema=plan)
    method = Plan.read(plan).method
    assert isinstance(method, dc.Slicing)
    proposed = dc.propose_buckets(people, method, "1/2")
    assert found == {
        "buckets": proposed.method.buckets,
        "columns": [list(column) for column in proposed.method.columns],  # type: ignore[union-attr]
        "ratio": proposed.ratio,
        "exact": proposed.exact,
        "plan": found["plan"],
        "leave_out": ["alpha"],
    }
    assert tomllib.loads(found["plan"]) == {k: found[k] for k in ("buckets", "columns")}


@pytest.mark.parametrize(
    ("ratio", "change", "said"),
    [
        ("x", ("", ""), "ratio = x: give a number"),
        ("-1", ("", ""), "ratio = -1"),
        ("1000", ("", ""), "with everybody in one bucket"),
        ("1", ('name = "slicing"\ncolumns = 2\nalpha = 1', 'name = "anatomy"'), "no buckets"),
        ("1", ("k = 2", "k = 41"), "k-anonymity"),
    ],
)
def test_what_cannot_be_had_is_one_error(
    plan: Path, ratio: str, change: tuple[str, str], said: str
) -> None:
    plan.write_text(PLAN.replace(*change), encoding="utf-8")
    done = discreet_here("buckets", plan.name, f"--ratio={ratio}", cwd=plan.parent)
    assert done.returncode == (1 if "k = 41" in change else 2)
    assert said in done.stderr and done.stdout == ""
    assert "Traceback" not in done.stderr


def test_a_plan_that_is_not_there_is_bad_input(tmp_path: Path) -> None:
    done = discreet("buckets", "nowhere.toml", "--ratio", "2", cwd=tmp_path)
    assert done.returncode == 2 and "nowhere.toml: cannot be read" in done.stderr
    assert list(tmp_path.iterdir()) == []
