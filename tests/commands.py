"""The command line: as a process of its own, or in this one where the process is not the point."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO
from unittest.mock import patch

COMMAND = [sys.executable, "-c", "from discreet.cli import main; main()"]
WIDE = {"COLUMNS": "200"}
STREAMS = {1: "stdout", 2: "stderr"}


def discreet(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **WIDE},
    )


def discreet_here(
    *arguments: str | Path, cwd: Path, width: str = "200"
) -> subprocess.CompletedProcess[str]:
    """Ask the same of this process, which has loaded everything: the same words and exit code.

    A process takes longer to load libraries than to do what most tests ask of it.
    """
    from discreet.cli import main

    command = ["discreet", *map(str, arguments)]
    code: object = None
    with ExitStack() as stack:
        written = [stack.enter_context(_taking(number)) for number in STREAMS]
        stack.enter_context(chdir(cwd))
        stack.enter_context(patch.dict(os.environ, {"COLUMNS": width}))
        stack.enter_context(patch.object(sys, "argv", command))
        stack.enter_context(_keeping_signals())
        try:
            main()
        except SystemExit as stopped:
            code = stopped.code
        for name in STREAMS.values():
            getattr(sys, name).flush()
        told = [_read(file) for file in written]
    assert isinstance(code, int)
    return subprocess.CompletedProcess(command, code, *told)


@contextmanager
def _taking(number: int) -> Iterator[IO[bytes]]:
    """Send a stream into a file, also what native code and other processes write to it."""
    kept = os.dup(number)
    with TemporaryFile() as file:
        os.dup2(file.fileno(), number)
        try:
            with (
                open(number, "w", encoding="utf-8", closefd=False) as stream,
                patch.object(sys, STREAMS[number], stream),
            ):
                yield file
        finally:
            os.dup2(kept, number)
            os.close(kept)


@contextmanager
def _keeping_signals() -> Iterator[None]:
    kept = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8")
