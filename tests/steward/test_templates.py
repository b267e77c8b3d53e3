"""A template for every method is a plan that runs as it is."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import discreet as dc
from commands import discreet, discreet_here
from discreet.cli import screen
from discreet.publishing.methods import REGISTRY
from discreet.steward.plan import Plan
from discreet.steward.templates import SETTINGS


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("people")
    frame = dc.datasets.census(2000, sensitive=["income", "occupation"]).to_polars()
    known = frame.select("age", "sex")
    schema = dc.Schema.infer(known, quasi_identifiers=["age", "sex"], sensitive=[])
    earlier = dc.publish(dc.read(known, schema), dc.Generalization(dc.KAnonymity(5)))
    earlier.write(folder / "last-year")
    frame.rename({"occupation": "work"}).write_csv(folder / "people.csv")
    return folder


@pytest.mark.parametrize("method", REGISTRY)
def test_a_template_is_a_plan_that_can_be_tried(method: str, people: Path) -> None:
    assert method in SETTINGS
    done = discreet_here("plan", method, "--to", f"{method}.toml", cwd=people)
    assert done.returncode == 0, done.stderr
    done = discreet_here("plan", "check", f"{method}.toml", cwd=people)
    assert done.returncode == 0 and method in done.stdout
    assert Plan.read(people / f"{method}.toml").method.title == method
    before = sorted(path.name for path in people.iterdir())
    done = discreet_here("publish", f"{method}.toml", "--dry-run", cwd=people)
    assert done.returncode == 0, done.stderr
    assert "the release was removed again" in done.stdout
    assert sorted(path.name for path in people.iterdir()) == before


def test_what_is_no_plan_and_no_method_is_one_error(people: Path) -> None:
    (people / "wrong.toml").write_text("[source]\nfile = 'people.csv'\n[columns.age]\nrole = 'x'\n")
    for command, message in (
        (["plan", "slicin"], "There is no method 'slicin'"),
        (["plan", "check"], "Which plan is to be checked?"),
        (["plan", "check", "wrong.toml"], "columns.age.role"),
        (["plan", "slicing", "people.csv"], "only check takes a file"),
        (["publish", "slicing.toml", "--dry-run", "--ledger", "book"], "records nothing"),
    ):
        done = discreet_here(*command, cwd=people)
        assert done.returncode == 2 and message in done.stderr, done.stderr
        assert "Hint: " in done.stderr and "Traceback" not in done.stderr


def test_a_template_is_printed_for_pipes(people: Path) -> None:
    done = discreet("plan", "slicing", cwd=people)
    assert done.returncode == 0 and done.stdout.startswith("# A plan") and not done.stderr


def test_long_work_is_told_of_where_nobody_looks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(screen, "EVERY", 0.01)
    told = ""
    with screen.working_in_stages() as progress:
        progress("Comparing", 1, 4)
        while "Comparing 25% … " not in told:
            time.sleep(0.01)
            told += capsys.readouterr().err
    with screen.working("Auditing"):
        while "Auditing … " not in told:
            time.sleep(0.01)
            told += capsys.readouterr().err
