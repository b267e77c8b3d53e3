"""Walks of the command line past hostile files, and what may come of a command that is given one.

Commands run one after another in one process, which has loaded everything and has limits. If one
brings it down or takes too long, that is found, and the next one gets another process. A test gives
`walk` a folder that holds what is hostile, and commands: nothing is wrong with them if it gives an
empty list. What is hostile lies in a folder here per kind, or is made by `making`, if it is not
text or not small.
"""

from __future__ import annotations

import json
import os
import re
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import NamedTuple

HERE = Path(__file__).parent
CODES = {0, 1, 2, 130}
"""Done, a promise that is not kept, something to put right, an interrupt."""
SECONDS, BYTES = 20, 2**31
"""Of processor and of memory, for one command; the processes that it starts have as much each."""
RESERVED = 2 * BYTES
"""What it may ask of the system: libraries reserve much more than they use."""
PATIENCE = 900
"""Seconds after which a command waits for something that never comes, however busy others are."""
OFTEN = 400
"""A process ends after so many commands: what libraries keep is no fault of the next one."""
PROGRAM = "from hostile.walking import answer; answer()"
SAID = "Traceback (most recent call last)", "panicked at", "This is a fault in discreet"
"""What nobody may read who gave a bad file."""


class Outcome(NamedTuple):
    """What came of a command."""

    code: int | None
    """Nothing if it brought the process down, or had to be stopped."""
    out: str
    err: str
    memory: int = 0
    """Bytes that were held at most."""


class Walker:
    """A process that runs commands of `discreet`, and is replaced when one brings it down."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._passing = TemporaryDirectory(prefix="hostile-")
        self._left = OFTEN

    def __enter__(self) -> Walker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._end()
        self._passing.cleanup()

    def run(self, *arguments: str | Path, cwd: Path, seconds: int = SECONDS) -> Outcome:
        """Run a command in a folder; one that may be the first to compile is given more time."""
        process = self._process or self._start()
        assert process.stdin is not None
        task = {"arguments": list(map(str, arguments)), "folder": str(cwd), "seconds": seconds}
        process.stdin.write(json.dumps(task).encode() + b"\n")
        process.stdin.flush()
        line = self._receive(process)
        if line is None:
            return self._bury(process)
        self._left -= 1
        if not self._left:
            self._end()
        return Outcome(*json.loads(line))

    def list_passing(self) -> list[str]:
        """List what commands left behind where passing files are put."""
        return sorted(path.name for path in Path(self._passing.name).iterdir())

    def _start(self) -> subprocess.Popen[bytes]:
        libraries = [str(HERE.parent), *filter(None, sys.path)]
        self._left = OFTEN
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(libraries),
                "TMPDIR": self._passing.name,
            },
        )
        return self._process

    def _receive(self, process: subprocess.Popen[bytes]) -> bytes | None:
        assert process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            if not selector.select(PATIENCE):
                process.kill()
        return process.stdout.readline() or None

    def _bury(self, process: subprocess.Popen[bytes]) -> Outcome:
        self._end()
        self._passing.cleanup()
        self._passing = TemporaryDirectory(prefix="hostile-")
        code = process.returncode
        ended = signal.strsignal(-code) if code < 0 else f"exit code {code}"
        return Outcome(None, "", f"the process ended: {ended}")

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.communicate()


def walk(walker: Walker, folder: Path, commands: Iterable[Sequence[str | Path]]) -> list[str]:
    """Run commands in a folder, one after another; list what is wrong with what came of them."""
    found = []
    for arguments in commands:
        before = _list_state(folder)
        outcome = walker.run(*arguments, cwd=folder)
        changed = before.items() ^ _list_state(folder).items()
        problems = find_faults(outcome, sorted({path for path, _ in changed}))
        problems += [f"leaves {name} behind" for name in walker.list_passing()]
        shown = " ".join(repr(str(word)[:80]) for word in arguments)
        found += [f"{shown}: {problem}\n{outcome.err[-3000:]}" for problem in problems]
    return found


def find_faults(outcome: Outcome, changed: Sequence[str]) -> list[str]:
    """List what no command may do, whatever it is given."""
    faults = []
    if outcome.code not in CODES:
        faults.append(f"exit code {outcome.code}")
    if outcome.memory > BYTES:
        faults.append(f"holds {outcome.memory:,} bytes")
    faults += [f"says {text!r}" for text in SAID if text in outcome.out + outcome.err]
    if outcome.code == 2:
        faults += [f"writes {path} although it refuses" for path in changed]
        if not outcome.err.strip():
            faults.append("refuses and does not say why")
    return faults + [f"leaves the draft {path}" for path in changed if ".discreet-" in path]


def list_files(kind: str) -> list[Path]:
    """List what lies in the folder of a kind."""
    return sorted(HERE.joinpath(kind).iterdir())


def _list_state(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Say of everything below a folder what changes when it is written to."""
    found = {}
    for path in folder.rglob("*"):
        told = path.lstat()
        found[str(path.relative_to(folder))] = (
            told.st_ino,
            0 if path.is_dir() else told.st_size,
            0 if path.is_dir() else told.st_mtime_ns,
        )
    return found


def answer() -> None:
    """Run the commands that come through standard input, and say what came of each."""
    import resource

    from commands import discreet_here

    tasks, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with Path(os.devnull).open() as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (RESERVED, RESERVED))
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    for line in tasks:
        task = json.loads(line)
        Path("/proc/self/clear_refs").write_text("5", "ascii")  # what was held at most begins anew
        used, before = resource.getrusage(resource.RUSAGE_SELF), _measure_children()
        spent = int(used.ru_utime + used.ru_stime) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (max(1, spent + task["seconds"]), most))
        done = discreet_here(*task["arguments"], cwd=Path(task["folder"]))
        held = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text("ascii"))
        assert held is not None
        most_held = max(int(held[1]) * 1024, _measure_children(before))
        outcome = Outcome(done.returncode, done.stdout, done.stderr, most_held)
        replies.write(json.dumps(outcome).encode())
        replies.write(b"\n")
        replies.flush()


def _measure_children(before: int = 0) -> int:
    """Say how much the largest process held that was started; nothing if it is an earlier one."""
    import resource

    held = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    return held if held > before else 0
