"""Walks find what a command may not do, or nothing that they pass would mean anything."""

from __future__ import annotations

from pathlib import Path

from hostile.walking import BYTES, Outcome, Walker, find_faults, walk


def test_a_refusal_names_what_is_wrong_and_writes_nothing(walker: Walker, tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("")
    assert walk(walker, tmp_path, [["inspect", "empty.csv"]]) == []
    assert walker.run("inspect", "empty.csv", cwd=tmp_path).code == 2


def test_what_no_command_may_do_is_found() -> None:
    refused = Outcome(2, "", "Error: no.")
    assert find_faults(refused, []) == []
    assert find_faults(refused, ["made.csv"]) == ["writes made.csv although it refuses"]
    assert find_faults(Outcome(2, "", ""), []) == ["refuses and does not say why"]
    assert find_faults(Outcome(0, "", "", BYTES + 1), []) == ["holds 2,147,483,649 bytes"]
    assert find_faults(Outcome(1, "", ""), [".a.0badf00d.discreet-draft"])
    assert find_faults(Outcome(70, "", "Traceback (most recent call last):"), [])[0] == (
        "exit code 70"
    )


def test_a_command_that_needs_too_long_is_stopped_and_the_next_one_runs(
    walker: Walker, tmp_path: Path
) -> None:
    stopped = walker.run("demo", cwd=tmp_path, seconds=-17)
    assert stopped.code is None and "CPU time limit" in stopped.err
    assert walker.run("--version", cwd=tmp_path).code == 0
