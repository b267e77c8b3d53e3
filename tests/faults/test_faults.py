"""Wherever a publication is struck, the earlier release is there or the new one: a sample.

``make faults`` strikes every call of every command.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from faults.running import COMMITS, KILLED, Fault, Stage, find_compiler, list_faults, list_unsynced

SCENES = ("ledger-overwrite", "install-new")
needs_compiler = pytest.mark.skipif(
    find_compiler() is None,
    reason="the failing disk needs Linux and a C compiler: apt-get install gcc",
)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    made = Stage(tmp_path_factory.mktemp("faults"), SCENES)
    yield made
    made.close()


def choose(faults: list[Fault]) -> list[Fault]:
    """Take faults where something gets its name, or just before, and a few of the others."""
    named = {fault.at for fault in faults if fault.call.startswith(COMMITS)}
    chosen = [f for f in faults if f.kind == KILLED and f.at in named]
    chosen += [f for f in faults if f.kind == "EIO" and f.at + 1 in named]
    return [*chosen, *faults[5::97]]


@needs_compiler
@pytest.mark.parametrize("scene", SCENES)
def test_wherever_it_is_struck_the_earlier_or_the_new_is_there(stage: Stage, scene: str) -> None:
    """Also the next run finds its way, and nothing is left of the one that was struck."""
    faults = list(list_faults(scene, stage.begin(scene), (KILLED, "ENOSPC", "EIO", "EROFS")))
    struck = {str(fault): stage.strike(fault) for fault in choose(faults)}
    assert any("exchange" in name or "rename" in name for name in struck)
    assert {name: problems for name, problems in struck.items() if problems} == {}


def test_what_gets_its_name_before_the_disk_has_it_is_found() -> None:
    good = ["write /r/.a/x", "write /r/.a/x", "fsync /r/.a/x", "rename /r/.a"]
    assert list_unsynced(good) == []
    assert list_unsynced([*good[:3], good[0], good[3]]) == [
        "rename /r/.a, and not synced: /r/.a/x"
    ]  # fmt: skip


@needs_compiler
def test_a_disk_that_loses_a_release_would_be_told_of(stage: Stage) -> None:
    """What is gone is found by those who judge, or nothing would be."""
    stage.begin(SCENES[0])
    (stage.folder / "template" / "out" / "datapackage.json").unlink()
    told = stage.strike(Fault(SCENES[0], KILLED, 1, ""))
    assert any("out is half" in problem for problem in told), told
