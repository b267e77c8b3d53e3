"""The command line past everything that lies here: refused well, or done, and never more."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hostile.making import QUESTIONS_TOO_FAR, TAXONOMIES, lay_out, warm_up, write_plan
from hostile.walking import Walker, find_faults, list_files, walk


@pytest.fixture(scope="module")
def published(walker: Walker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table, plans, and a release; what it takes is compiled."""
    folder = tmp_path_factory.mktemp("published")
    warm_up(walker, folder)
    return folder


@pytest.mark.parametrize("table", list_files("tables"), ids=lambda path: path.name)
def test_tables_are_read_or_refused(walker: Walker, tmp_path: Path, table: Path) -> None:
    shutil.copy(table, tmp_path)
    name = table.name
    commands = [
        ["inspect", name, "--plan", "drafted.toml"],
        ["publish", "drafted.toml", "--dry-run"],
    ]
    if table.suffix == ".csv":
        commands.append(["columns", name])
    assert walk(walker, tmp_path, commands) == []


@pytest.mark.parametrize("plan", list_files("plans"), ids=lambda path: path.name)
def test_plans_are_followed_or_refused(
    walker: Walker, published: Path, tmp_path: Path, plan: Path
) -> None:
    lay_out(tmp_path)
    shutil.copy(plan, tmp_path / "tried.toml")
    commands = [["publish", "tried.toml", "--dry-run"], ["compare", "tried.toml"]]
    assert walk(walker, tmp_path, [["plan", "check", "tried.toml"], *commands]) == []
    # all of them are refused, and none is compared before it is
    assert [walker.run(*command, cwd=tmp_path).code for command in commands] == [2, 2]


@pytest.mark.parametrize("taxonomy", list_files("taxonomies"), ids=lambda path: path.name)
def test_taxonomies_are_used_or_refused(
    walker: Walker, published: Path, tmp_path: Path, taxonomy: Path
) -> None:
    lay_out(tmp_path)
    shutil.copy(taxonomy, tmp_path)
    text = write_plan("generalization").replace("region.csv", taxonomy.name)
    (tmp_path / "tried.toml").write_text(text, encoding="utf-8")
    assert walk(walker, tmp_path, [["publish", "tried.toml", "--dry-run"]]) == []


@pytest.mark.parametrize("name", QUESTIONS_TOO_FAR)
def test_questions_that_go_too_far_are_refused_in_a_few_words(
    walker: Walker, published: Path, name: str
) -> None:
    outcome = walker.run("query", "release", QUESTIONS_TOO_FAR[name], cwd=published)
    assert find_faults(outcome, []) == []
    assert outcome.code == 2 and len(outcome.err) < 1000


def test_own_questions_that_go_too_far_are_refused(
    walker: Walker, published: Path, tmp_path: Path
) -> None:
    lay_out(tmp_path)
    (tmp_path / "own.sql").write_text(QUESTIONS_TOO_FAR["parentheses"], encoding="utf-8")
    asked = ["compare", "slicing.toml", "--own", "own.sql", "--to", "compared"]
    outcome = walker.run(*asked, cwd=tmp_path)
    assert find_faults(outcome, []) == []
    assert outcome.code == 2 and "own.sql" in outcome.err and not (tmp_path / "compared").exists()


@pytest.mark.parametrize(
    "name", ["a\0b", "x" * 5000, "/dev/zero", "/dev/null", ".", "", "loop", "a\nb", "\udcff"]
)
def test_names_of_files_that_lead_nowhere_are_refused(
    walker: Walker, published: Path, tmp_path: Path, name: str
) -> None:
    lay_out(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    commands = [
        ["inspect", name],
        ["plan", "check", name],
        ["columns", name],
        ["ratings", name, "--to", "wide.csv"],
        ["ratings", "ratings.csv", "--to", f"{name}/wide.csv"],
        ["query", name, "SELECT COUNT(*) FROM release"],
        ["query", str(published / "release"), "SELECT 1 FROM t", "--table", f"t={name}"],
    ]
    assert walk(walker, tmp_path, commands) == []


def test_every_kind_of_honest_taxonomy_is_taken(
    walker: Walker, published: Path, tmp_path: Path
) -> None:
    """Else nothing would follow from those that are refused."""
    lay_out(tmp_path)
    for name in TAXONOMIES:
        text = write_plan("generalization")
        old = "intervals = [5, 10]" if name == "range.txt" else 'file = "region.csv"'
        (tmp_path / "tried.toml").write_text(text.replace(old, f'file = "{name}"'))
        outcome = walker.run("publish", "tried.toml", "--dry-run", cwd=tmp_path)
        assert outcome.code == 0, (name, outcome.err)
