"""Isolation: files that could bring a reader down are read in a process of its own.

Workbooks, SPSS and Stata files and archives go through native code, or unpack to many times their
size: a damaged or hostile one may crash what reads it or take all memory. In a process with a limit
it brings down that process alone. What was read comes back through a pipe, and never onto a disk.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import polars as pl

from discreet.errors import DiscreetError, MicrodataError, explaining

Reader = Callable[..., tuple[pl.DataFrame, dict[str, Any]]]
"""Reads a table at a path, and what a file says besides it in values that JSON can hold; it may
take texts besides."""
PROGRAM = "import sys; from discreet.table.isolation import answer; answer(*sys.argv[1:])"
ENOUGH = 2**31
"""Bytes that a reader may take in any case."""


def read_apart(reader: Reader, path: Path, *given: str) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Read a file in a process of its own, with at most half of the memory that is free."""
    libraries = [str(Path(__file__).parents[1]), *filter(None, sys.path)]
    with TemporaryFile() as errors:
        child = subprocess.Popen(
            # -P: what lies in the folder one stands in is not a library
            [
                sys.executable,
                "-P",
                "-c",
                PROGRAM,
                reader.__module__,
                reader.__name__,
                str(path),
                *given,
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(libraries)},
        )
        with child:
            try:
                found = _receive(child)
            except BaseException:
                child.kill()
                raise
        if found is None or child.returncode:
            raise MicrodataError(
                f"{path.name}: cannot be read: it crashes the library that reads {path.suffix} "
                f"files, or needs more memory than there is ({_explain_end(child, errors)}).",
                hint="The file is damaged, or made to do harm. Open it with the program that wrote "
                "it and save it again, as CSV if that does not help.",
            )
    frame, told = found
    if "problem" in told:
        raise MicrodataError(told["problem"], hint=told["hint"])
    return frame, told


def _receive(child: subprocess.Popen[bytes]) -> tuple[pl.DataFrame, dict[str, Any]] | None:
    """Take what comes through the pipe, batch by batch; nothing if it ends too early."""
    import pyarrow as pa

    assert child.stdout is not None
    try:
        told: dict[str, Any] = json.loads(child.stdout.readline())
        if "problem" in told:
            return pl.DataFrame(), told
        frame = pl.from_arrow(pa.ipc.open_stream(child.stdout).read_all())
    except (ValueError, OSError):  # Arrow's own errors are either
        return None
    assert isinstance(frame, pl.DataFrame)
    return frame, told


def _explain_end(child: subprocess.Popen[bytes], errors: IO[bytes]) -> str:
    if child.returncode < 0:
        return signal.strsignal(-child.returncode) or f"signal {-child.returncode}"
    errors.seek(0)
    said = errors.read().decode(errors="replace").strip().splitlines()
    return said[-1][:200] if said else f"exit code {child.returncode}"


def reading(path: Path) -> AbstractContextManager[None]:
    """Take whatever a library says of a file that it cannot read, or dies of, as one error."""
    return explaining(lambda error: unreadable(path, error))


def unreadable(path: Path, error: BaseException) -> MicrodataError:
    """Say that a file is not of its kind; every reader has its own exceptions for that."""
    said = str(error).strip().split("\n")[0][:200]
    hint = "Check that the file is complete and of the kind its name says."
    if "worker thread" in said:  # of Arrow, which has no error of its own for it
        hint = "Allow for more memory or threads (ulimit -v, -u)."
    return MicrodataError(
        f"{path.name}: cannot be read as {path.suffix.lower()[1:]} ({said}).", hint=hint
    )


def answer(module: str, name: str, path: str, *given: str) -> None:
    """Read a file and write to standard output what it says, on a line, and the table in Arrow."""
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what native code prints is no answer
    _limit_memory()
    reader: Reader = getattr(import_module(module), name)
    try:
        with reading(Path(path)):
            frame, said = reader(Path(path), *given)
    except DiscreetError as problem:
        if isinstance(problem.__cause__, MemoryError):
            raise
        pipe.write(json.dumps({"problem": problem.message, "hint": problem.hint}).encode())
    else:
        pipe.write(json.dumps(said).encode() + b"\n")
        frame.write_ipc_stream(pipe, compat_level=pl.CompatLevel.oldest())
    pipe.close()


def _limit_memory() -> None:
    """Let this process take no more than half of the memory that is free, where that is known."""
    try:
        import resource
    except ImportError:
        return
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = max(measure_free() // 2, ENOUGH)
    if most != resource.RLIM_INFINITY:
        wanted = min(wanted, most)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, most))


def measure_free() -> int:
    """Say how many bytes of memory are free; where nobody tells, half of what there is."""
    try:
        free = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text("ascii"))
        if free:
            return int(free[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, ValueError, OSError):
        return ENOUGH
