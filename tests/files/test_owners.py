"""What is about people is its owner's only; what is published can be read as the umask says."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from commands import discreet_here
from discreet.files import (
    drafts,
    keep_private,
    private_folder,
    refuse_unwritable,
    write_file,
    write_files,
    write_text,
)
from discreet.steward.ledger import Ledger
from samples import microdata

PLAN = """
[source]
file = "people.csv"
[columns.age]
role = "quasi-identifier"
[columns.illness]
role = "sensitive"
[method]
name = "generalization"
[[method.principles]]
name = "k-anonymity"
k = 2
[release]
folder = "release"
"""


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """Let others read what nobody forbids, as most systems do."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def list_open(folder: Path) -> set[str]:
    """Name what others can read."""
    return {path.name for path in [folder, *folder.iterdir()] if mode(path) & 0o077}


def test_reports_evidence_comparisons_and_ledgers_are_their_owners_only(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [20, 21, 22, 23, 24, 25] * 4, "illness": list("abcabd") * 4})
    frame.write_csv(tmp_path / "people.csv")
    (tmp_path / "p.toml").write_text(PLAN, encoding="utf-8")
    for command in (
        ["ledger", "init", "book", "--source", "s"],
        ["publish", "p.toml", "--ledger", "book", "--report", "publish.html"],
        ["audit", "release", "--microdata", "people.csv", "--plan", "p.toml",
         "--report", "audit.html", "--per-person", "risks.csv", "--evidence", "pack"],
        ["compare", "p.toml", "--to", "found"],
    ):  # fmt: skip
        done = discreet_here(*command, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    private = ["pack", "pack.salt", "book", "found", "publish.html", "audit.html", "risks.csv"]
    assert {name for name in private if mode(tmp_path / name) & 0o077} == set()
    for folder in ("pack", "book", "found"):
        assert list_open(tmp_path / folder) == set()
    release = tmp_path / "release"
    assert list_open(release) == {"release", *(path.name for path in release.iterdir())}
    assert mode(release) == 0o755
    assert {mode(path) for path in release.iterdir()} == {0o644}


def test_a_release_is_as_open_as_the_umask_says(tmp_path: Path) -> None:
    people = microdata(pl.DataFrame({"age": [1, 1], "ill": ["a", "b"]}), ["age"], ["ill"])
    made = dc.publish(people, dc.Generalization(dc.KAnonymity(2)))
    for umask, folder, file in ((0o027, 0o750, 0o640), (0o077, 0o700, 0o600)):
        os.umask(umask)
        place = made.write(tmp_path / f"{umask}")
        assert mode(place) == folder
        assert {mode(path) for path in place.iterdir()} == {file}
        export = dc.load(place).export(tmp_path / f"{umask}.xlsx")
        assert {mode(path) for path in export} == {file}


def test_what_was_open_to_others_is_not_once_a_report_is_there(tmp_path: Path) -> None:
    place = tmp_path / "page.html"
    place.write_text("before", encoding="utf-8")
    place.chmod(0o664)
    write_text(place, "shared", shared=True)
    assert mode(place) == 0o664
    write_text(place, "about people")
    assert mode(place) == 0o600


def test_while_it_is_written_nobody_else_can_read_it(tmp_path: Path) -> None:
    def fill(draft: Path) -> None:
        assert mode(draft) == 0o600
        draft.write_bytes(b"about people")

    assert mode(write_file(tmp_path / "page.html", fill)) == 0o600


def test_a_private_folder_that_cannot_be_filled_is_not_left(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "pack"
    with pytest.raises(OSError, match="full"), private_folder(folder):
        assert mode(folder) == 0o700
        raise OSError("full")
    assert list(tmp_path.iterdir()) == []


def test_a_ledger_begun_in_a_folder_that_others_can_enter_is_closed_to_them(tmp_path: Path) -> None:
    folder = tmp_path / "book"
    folder.mkdir()
    Ledger.init(folder, "s")
    assert list_open(folder) == {"book"}


def test_what_was_open_is_closed_when_it_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("kept", encoding="utf-8")
    for name in ("old", "new"):
        keep_private(tmp_path / name)
        assert mode(tmp_path / name) == 0o600
    assert (tmp_path / "old").read_text(encoding="utf-8") == "kept"


def test_files_that_belong_together_may_lie_in_two_folders(tmp_path: Path) -> None:
    """Each has its draft beside it, as the other folder may be on another disk."""
    paths = [tmp_path / "pack" / "page", tmp_path / "salt"]
    (tmp_path / "pack").mkdir()
    paths[0].write_text("old", encoding="utf-8")

    def fill(draft: Path) -> None:
        for path in paths:
            (draft / path.name).write_text("new", encoding="utf-8")

    renamed: list[tuple[Path, Path]] = []
    honest = Path.replace

    def note(draft: Path, place: Path) -> Path:
        renamed.append((draft, place))
        if place == paths[1] and len(renamed) == 2:
            raise OSError("no")
        return honest(draft, place)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Path, "replace", note)
        with pytest.raises(dc.errors.StoreError, match="no"):
            write_files(paths, fill)
    assert paths[0].read_text(encoding="utf-8") == "old" and not paths[1].exists()
    assert all(draft.parent.parent == place.parent for draft, place in renamed[:2])
    write_files(paths, fill)
    assert [path.read_text(encoding="utf-8") for path in paths] == ["new"] * 2
    assert {path.name for path in tmp_path.rglob("*")} == {"pack", "page", "salt"}


def test_a_folder_that_another_program_keeps_locked_is_refused_before_any_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "PATIENCE", 0.01)
    lock = drafts._lock(tmp_path)
    assert lock is not None
    with pytest.raises(dc.errors.StoreError, match="locked") as refused:
        refuse_unwritable(tmp_path / "release", folder=True)
    assert refused.value.hint is not None and "flock" in refused.value.hint
    drafts._unlock(lock)
    refuse_unwritable(tmp_path / "release", folder=True)
    assert not any(tmp_path.iterdir())
