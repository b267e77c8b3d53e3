"""Honest files of which something is changed: a few on every run, and many by `make fuzz`."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hostile.making import (
    METHODS,
    QUESTIONS,
    TAXONOMIES,
    WORDS,
    make_people,
    make_ratings,
    warm_up,
    write_plan,
    write_tables,
)
from hostile.mutating import mutate_bytes, mutate_lines, mutate_toml, mutate_words
from hostile.walking import Walker, walk

SHARED = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
FEW = 2 if settings.get_current_profile_name() != "fuzz" else settings().max_examples
"""Examples of each kind; a command takes longer than what else is drawn."""
mutated = settings(max_examples=FEW, deadline=None, suppress_health_check=SHARED)
KINDS = ("people.csv", "people.tsv", "people.csv.gz", "people.parquet")
APART = ("people.xlsx", "people.deid", "people.sav", "people.dta", "people.xpt", "people.duckdb")
"""Read in a process of their own, which takes longer."""


@pytest.fixture(scope="module")
def place(walker: Walker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that commands run in, one after another."""
    folder = tmp_path_factory.mktemp("mutated")
    warm_up(walker, folder)
    write_tables(folder)
    return folder


def find_problems(walker: Walker, place: Path, *commands: list[str]) -> list[str]:
    """Walk, and take away what was made."""
    made = {path: path.read_bytes() for path in place.iterdir() if path.is_file()}
    found = walk(walker, place, commands)
    for path in place.iterdir():
        if path.is_file() and path not in made:
            path.unlink()
    return found


@pytest.mark.parametrize("kind", KINDS)
@mutated
@given(data=st.data())
def test_changed_tables_are_read_or_refused(
    kind: str, walker: Walker, place: Path, data: st.DataObject
) -> None:
    name = f"changed{kind.removeprefix('people')}"
    content = data.draw(mutate_bytes((place / kind).read_bytes()))
    (place / name).write_bytes(content)
    (place / "changed.toml").write_text(write_plan("generalization", name), encoding="utf-8")
    inspect = ["inspect", name, "--plan", "drafted.toml"]
    publish = ["publish", "changed.toml", "--dry-run"]
    assert find_problems(walker, place, inspect, publish) == []


@pytest.mark.parametrize("kind", APART)
@settings(mutated, max_examples=max(1, FEW // 4))
@given(data=st.data())
def test_changed_tables_of_other_programs_are_read_or_refused(
    kind: str, walker: Walker, place: Path, data: st.DataObject
) -> None:
    name = f"changed{kind.removeprefix('people')}"
    (place / name).write_bytes(data.draw(mutate_bytes((place / kind).read_bytes())))
    assert find_problems(walker, place, ["inspect", name, "--plan", "drafted.toml"]) == []


@mutated
@given(text=mutate_lines(make_people().write_csv()))
def test_tables_with_odd_cells_are_worked_on_or_refused(
    walker: Walker, place: Path, text: str
) -> None:
    (place / "changed.csv").write_text(text, encoding="utf-8")
    commands = [
        ["inspect", "changed.csv", "--plan", "drafted.toml"],
        ["publish", "drafted.toml", "--dry-run"],
        ["columns", "changed.csv"],
        ["tradeoff", "changed.csv", "--sensitive", "income"],
        ["query", "release", "SELECT t.sex, COUNT(*) FROM release JOIN t ON release.sex = t.sex "
         "GROUP BY t.sex", "--table", "t=changed.csv"],
    ]  # fmt: skip
    assert find_problems(walker, place, *commands) == []


@mutated
@given(text=mutate_lines(make_ratings().write_csv()))
def test_changed_ratings_are_spread_or_refused(walker: Walker, place: Path, text: str) -> None:
    (place / "changed.csv").write_text(text, encoding="utf-8")
    commands = [
        ["ratings", "changed.csv", "--to", "wide.csv"],
        ["columns", "wide.csv", "--similarity", "agreement"],
    ]
    assert find_problems(walker, place, *commands) == []


@pytest.mark.parametrize("method", METHODS)
@mutated
@given(data=st.data())
def test_changed_plans_are_followed_or_refused(
    method: str, walker: Walker, place: Path, data: st.DataObject
) -> None:
    text = data.draw(mutate_toml(write_plan(method)))
    (place / "changed.toml").write_bytes(text.encode("utf-8", "surrogatepass"))
    commands = [["plan", "check", "changed.toml"], ["publish", "changed.toml", "--dry-run"]]
    assert find_problems(walker, place, *commands) == []


@pytest.mark.parametrize("name", TAXONOMIES)
@settings(mutated, max_examples=max(1, FEW // 2))
@given(data=st.data())
def test_changed_taxonomies_are_used_or_refused(
    name: str, walker: Walker, place: Path, data: st.DataObject
) -> None:
    (place / f"changed-{name}").write_bytes(data.draw(mutate_bytes(TAXONOMIES[name].encode())))
    old = "intervals = [5, 10]" if name == "range.txt" else 'file = "region.csv"'
    text = write_plan("generalization").replace(old, f'file = "changed-{name}"')
    (place / "changed.toml").write_text(text, encoding="utf-8")
    assert find_problems(walker, place, ["publish", "changed.toml", "--dry-run"]) == []


@pytest.mark.parametrize("question", QUESTIONS)
@mutated
@given(data=st.data())
def test_changed_questions_are_answered_or_refused(
    question: str, walker: Walker, place: Path, data: st.DataObject
) -> None:
    asked = data.draw(mutate_words(question, WORDS))
    assert find_problems(walker, place, ["query", "release", asked]) == []
