"""Running: faults struck one after the other, in children of a process that has loaded all."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
KILLED = "killed"
ERRORS = {"ENOSPC": 28, "EIO": 5, "EROFS": 30}
"""By their numbers on Linux. A full and a read-only disk stay so; a device errs once."""
STAYING = ("ENOSPC", "EROFS")
GROWING, READING = ("open", "write", "mkdir", "fsync", "allocate", "link"), ("write", "fsync")
"""What a full disk refuses, and what comes after what a read-only one has refused."""
COMMITS = ("rename", "exchange")
DRAWN = re.compile(r"\b[0-9a-f]{8}\b|discreet-\w+|tmp\w{8}")
ENDS = {KILLED: -9}


def find_compiler() -> str | None:
    """Find what compiles the failing disk, where there can be one."""
    return shutil.which("cc") if sys.platform == "linux" else None


@dataclass(frozen=True)
class Fault:
    """What fails, and at which call."""

    scene: str
    kind: str
    at: int
    call: str

    def __str__(self) -> str:
        return f"{self.scene}: {self.kind} at {self.at}, {self.call}"


class Stage:
    """A process for faults, and a folder for it."""

    def __init__(self, folder: Path, scenes: Sequence[str]) -> None:
        self.folder = folder
        compiler = find_compiler()
        assert compiler is not None
        shim = folder / "shim.so"
        command = [compiler, "-O1", "-shared", "-fPIC", "-o", shim, HERE / "shim.c", "-ldl"]
        subprocess.run(command, check=True)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "faults.warm", folder, *scenes],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "LD_PRELOAD": str(shim), "COLUMNS": "200", "POLARS_MAX_THREADS": "1",
                 "PYTHONPATH": os.pathsep.join([str(HERE.parents[1] / "src"), str(HERE.parent)])},
        )  # fmt: skip

    def close(self) -> None:
        """Let it end."""
        self._process.communicate()

    def _ask(self, **asked: Any) -> dict[str, Any]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        found: dict[str, Any] = json.loads(self._process.stdout.readline())
        return found

    def begin(self, scene: str) -> list[str]:
        """Prepare a scene; list its calls."""
        prepared = self._ask(scene=scene, step="prepare")
        assert prepared["status"] == 0, prepared
        shutil.rmtree(self.folder / "template", ignore_errors=True)
        shutil.copytree(self.folder / "place", self.folder / "template")
        found = self._strike(scene, 0, 0, stays=False)
        assert found["status"] == 0, found
        assert not self._read_problems(), (found, self._read_problems())
        calls: list[str] = found["calls"]
        assert not (unsynced := list_unsynced(calls)), unsynced
        return calls

    def strike(self, fault: Fault) -> list[str]:
        """Have a call fail; say what does not hold after it, and after another run."""
        shutil.rmtree(self.folder / "place")
        shutil.copytree(self.folder / "template", self.folder / "place", symlinks=True)
        code = ERRORS.get(fault.kind, 0)
        found = self._strike(fault.scene, fault.at, code, stays=fault.kind in STAYING)
        problems = []
        if fault.kind == KILLED:
            if found["status"] not in (0, ENDS[KILLED]):  # 0: there are fewer calls this time
                problems.append(f"ends with {found['status']}: {found['stderr']}")
        elif found["status"] != 0:
            problems.append(f"ends with {found['status']}: {found['stderr']}")
        else:
            problems += self._read_problems()
            problems += judge_words(found["stderr"])
        if fault.kind != KILLED and self._is_as_before():
            return problems
        again = self._ask(scene=fault.scene, step="recover")
        told = self._read_problems() if again["status"] == 0 else [str(again)]
        return [*problems, *(f"then {problem}" for problem in told)]

    def _is_as_before(self) -> bool:
        """Whether nothing is left of what was tried: who tries again then begins where it began."""
        return read_all(self.folder / "place") == read_all(self.folder / "template")

    def _strike(self, scene: str, at: int, code: int, *, stays: bool) -> dict[str, Any]:
        return self._ask(scene=scene, step="strike", at=at, code=code, stays=stays)

    def _read_problems(self) -> list[str]:
        problems: list[str] = json.loads((self.folder / "problems").read_text("utf-8"))
        return problems


def read_all(folder: Path) -> dict[str, bytes | None]:
    """Give all that a folder holds."""
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
            for path in folder.rglob("*")}  # fmt: skip


def judge_words(said: str) -> list[str]:
    """Say what is wrong with an error: it must be one, and ours to explain."""
    if "Traceback" in said or "fault in discreet" in said:
        return [f"a traceback: {said}"]
    many = sum(line.startswith("Error: ") for line in said.splitlines())
    return [] if many <= 1 else [f"more than one error: {said}"]


def list_unsynced(calls: Sequence[str]) -> list[str]:
    """List what gets its name before the disk has what it holds: a loss of power would leave half.

    Temporary files get no name that lasts, and SQLite keeps its own order.
    """
    open_ones: dict[str, str] = {}
    found = []
    for call in calls:
        name, _, path = call.partition(" ")
        if name == "write":
            open_ones[path] = call
        elif name == "fsync":
            open_ones.pop(path, None)
        elif name in COMMITS:
            found += [f"{call}, and not synced: {written}" for written in open_ones
                      if written == path or written.startswith(f"{path}/")]  # fmt: skip
    return found


def list_faults(scene: str, calls: Sequence[str], kinds: Sequence[str]) -> Iterator[Fault]:
    """List faults at all calls; of such as do the same to the same file, at the first and the last.

    Nobody looks into a file while it is written.
    """
    told = [DRAWN.sub("*", call) for call in calls]
    last = {call: number for number, call in enumerate(told, 1)}
    seen: set[str] = set()
    for number, call in enumerate(told, 1):
        among = call in seen and last[call] != number
        seen.add(call)
        name = call.partition(" ")[0]
        for kind in kinds:
            never = {"ENOSPC": name not in GROWING, "EROFS": name in READING}.get(kind, False)
            if not among and not never:
                yield Fault(scene, kind, number, call)
