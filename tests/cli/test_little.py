"""Little of everything: what an install, a disk, a clock or another user does not give."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import discreet as dc
from commands import COMMAND, discreet_here
from discreet.steward.ledger import book

SOURCE = Path(dc.__file__).parent
MEGABYTES = 1000
"""What a command may hold of a small table's publication."""
SOMEBODY = 65534
PLAN = """
[source]
file = "people.csv"
[columns.age]
role = "quasi-identifier"
type = "integer"
[columns.illness]
role = "sensitive"
[method]
name = "generalization"
[[method.principles]]
name = "k-anonymity"
k = 3
[release]
folder = "out"
"""


@pytest.fixture
def office(tmp_path: Path) -> Path:
    rows = [f"{20 + i % 40},{'abc'[i % 3]}" for i in range(120)]
    (tmp_path / "people.csv").write_text("\n".join(["age,illness", *rows, ""]), encoding="utf-8")
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    return tmp_path


def require_tools(*names: str) -> None:
    """Some of it can only be tried by root, with tools of Linux, and not in every container."""
    if sys.platform != "linux" or os.getuid() != 0 or not all(map(shutil.which, names)):
        pytest.skip("to be tried by root on Linux")


def run_where(prepared: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command where the file system is prepared otherwise, for it alone."""
    require_tools("unshare", "mount")
    if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], check=False,
                      capture_output=True).returncode:  # fmt: skip
        pytest.skip("nothing can be mounted here")
    script = f'{prepared} && exec "$@"'
    return subprocess.run(
        ["unshare", "-m", "sh", "-c", script, "sh", *COMMAND, *arguments],
        cwd=cwd, capture_output=True, text=True, check=False, env={**os.environ, "HOME": "/mnt"},
    )  # fmt: skip


@pytest.mark.parametrize(
    "prepared",
    [
        f"mount --bind {SOURCE} {SOURCE} && mount -o remount,ro,bind {SOURCE} "
        "&& mount -t tmpfs -o ro none /mnt",
        "mount -t tmpfs -o ro,size=4k none /dev/shm",
    ],
    ids=["an install and a home that are read-only", "no shared memory"],
)
def test_what_cannot_be_written_is_not_needed(prepared: str, office: Path) -> None:
    """Nor is it for publishing, but each process would compile what that takes."""
    drafted = run_where(prepared, "inspect", "people.csv", "--plan", "drafted.toml", cwd=office)
    assert drafted.returncode == 0, drafted.stderr
    assert discreet_here("publish", "plan.toml", cwd=office).returncode == 0
    asked = "SELECT COUNT(*) FROM release WHERE age < 40"
    assert "60" in run_where(prepared, "query", "out", asked, cwd=office).stdout


MEASURING = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:], stdout=sys.stderr).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
"""A process of its own: a child counts what its parent held when it came to be."""


def test_a_small_table_takes_less_than_a_gigabyte(office: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEASURING, *COMMAND, "publish", "plan.toml"],
        cwd=office, capture_output=True, text=True, check=True,
    )  # fmt: skip
    code, most = map(int, done.stdout.split())
    assert code == 0, done.stderr
    assert most * (1 if sys.platform == "darwin" else 1024) < MEGABYTES * 10**6


@pytest.fixture
def others() -> Iterator[Path]:
    """A folder of somebody else, which others may look into."""
    require_tools("setpriv")
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_another_user_reads_releases_and_nothing_else(office: Path, others: Path) -> None:
    discreet_here("ledger", "init", "book", "--source", "people", cwd=office)
    discreet_here("publish", "plan.toml", "--ledger", "book", "--report", "page.html", cwd=office)
    for name in ("out", "book", "page.html"):
        shutil.move(office / name, others / name)
    for path in (others, *others.rglob("*")):
        os.chown(path, SOMEBODY, SOMEBODY)
    powerless = ["setpriv", "--bounding-set=-all", "--inh-caps=-all",
                 "--securebits=+noroot,+noroot_locked"]  # fmt: skip

    def ask(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [*powerless, *COMMAND, *map(str, arguments)]
        return subprocess.run(command, cwd=office, capture_output=True, text=True, check=False)

    assert "120" in ask("query", others / "out", "SELECT COUNT(*) FROM release").stdout
    refusals: list[list[str | Path]] = [
        ["ledger", "show", others / "book"],
        ["publish", "plan.toml", "--ledger", others / "book"],
        ["publish", "plan.toml", "--out", others / "out", "--overwrite"],
    ]
    for refused in refusals:
        done = ask(*refused)
        assert done.returncode == 2 and str(others) in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
    assert not (office / "out").exists()
    assert not subprocess.run([*powerless, "cat", others / "page.html"], check=False,
                              capture_output=True).stdout  # fmt: skip


def test_a_clock_that_was_set_back_changes_no_order(
    office: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = dc.Ledger.init(office / "book", "people")
    plan = dc.Plan.read(office / "plan.toml")
    data = dc.read(plan.source, plan.schema)

    class Earlier(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime.now(UTC) - timedelta(days=3650)

    ledger.publish(dc.publish(data, dc.Generalization(dc.KAnonymity(120))), data, office / "one")
    monkeypatch.setattr(book, "datetime", Earlier)
    ledger.publish(dc.publish(data, dc.Generalization(dc.KAnonymity(120))), data, office / "two")
    entries = dc.Ledger(office / "book").entries
    assert [Path(entry.folder).name for entry in entries] == ["one", "two"]
    assert entries[0].made > entries[1].made
    assert [entry.number for entry in entries] == [1, 2]
    assert discreet_here("ledger", "show", "book", cwd=office).returncode == 0
