"""A process that has loaded everything, and has children do what may kill them.

It is started with the failing disk (``shim.c``) before the C library, and told line by line what to
do. Whoever starts Python for every fault waits for imports only.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import pickle
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from faults.scenes import SCENES, Disk

ASKING = ("discreet.table.missing_texts", "discreet.table.inference")
"""Modules that ask polars when they are loaded, which starts its threads."""
PATIENCE = 600.0
"""Seconds until whoever does not come back is taken for hanging."""


class FailingDisk(Disk):
    """Counts calls about what lies below a folder, and has one of them fail."""

    def __init__(self, below: Path, at: int, code: int, *, stays: bool, told: Path) -> None:
        self._shim = ctypes.CDLL(None)
        self._given = os.fsencode(below), ctypes.c_long(at), code, int(stays)
        self._told = told
        self.cleanable = code != errno.EROFS

    def fail(self) -> None:
        """Begin to count."""
        told = os.open(self._told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        self._shim.faults_arm(*self._given, told)

    def heal(self) -> None:
        """Let everything pass again."""
        self._shim.faults_arm(b"", ctypes.c_long(0), 0, 0, -1)


def learn(scenes: list[str], work: Path) -> None:
    """Load what children had to load for scenes; without threads, as these are not forked."""
    for scene in scenes:
        found = in_child(partial(_look, scene, work), work)
        if found["status"]:
            raise SystemExit(f"{scene}: {found}")
        with patch.dict(sys.modules, dict.fromkeys(ASKING)):
            loaded = _load(json.loads((work / "modules").read_text()))
        sys.modules.update(loaded)
        for module, function, signatures in pickle.loads((work / "kernels").read_bytes()):
            for signature in signatures:
                getattr(sys.modules[module], function).compile(signature)


def _load(names: list[str]) -> dict[str, ModuleType]:
    """Load modules, but for those that need what cannot be had."""
    for name in names:
        with suppress(ImportError):
            import_module(name)
    return {name: module for name, module in sys.modules.items() if module is not None}


def _look(scene: str, work: Path) -> None:
    SCENES[scene].prepare(work / "place")
    SCENES[scene].act(work / "place")
    names = [name for name in sys.modules if name.partition(".")[0] != "__main__"]
    (work / "modules").write_text(json.dumps(names))
    kernels = [
        (name, made, tuple(getattr(found, "signatures", ())))
        for name in names if name.startswith("discreet.kernels.")
        for made, found in vars(sys.modules[name]).items()
        if type(found).__name__ == "CPUDispatcher" and found.py_func.__module__ == name
    ]  # fmt: skip
    (work / "kernels").write_bytes(pickle.dumps(kernels))


def in_child(work: Callable[[], Any], place: Path) -> dict[str, Any]:
    """Have a child do something; say how it ended and what it said."""
    said = {number: place / name for number, name in ((1, "stdout"), (2, "stderr"))}
    child = os.fork()
    if child == 0:
        code = 70
        try:
            for number, path in said.items():
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    until = time.monotonic() + PATIENCE
    status: int | None = None
    while status is None:
        ended, found = os.waitpid(child, os.WNOHANG)
        if ended:
            status = os.waitstatus_to_exitcode(found)
        elif time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            status = -signal.SIGALRM
        else:
            time.sleep(0.002)
    return {"status": status, **{path.name: path.read_text("utf-8", "replace")
                                 for path in said.values()}}  # fmt: skip


def serve() -> None:
    """Answer a line with a line, until there are no more."""
    work = Path(sys.argv[1])
    learn(sys.argv[2:], work)
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line), work)) + "\n")
        answers.flush()


def answer(asked: dict[str, Any], work: Path) -> dict[str, Any]:
    """Do what a line asks for."""
    scene, place = SCENES[asked["scene"]], work / "place"
    if asked["step"] == "prepare":
        return in_child(lambda: scene.prepare(place), work)
    if asked["step"] == "recover":
        return in_child(lambda: scene.recover(place), work)
    told = work / "calls"
    disk = FailingDisk(place, asked["at"], asked["code"], stays=asked["stays"], told=told)
    found = in_child(lambda: scene.strike(place, disk), work)
    return {**found, "calls": told.read_text("utf-8", "replace").splitlines()}


if __name__ == "__main__":
    serve()
