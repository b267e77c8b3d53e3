"""Workers: processes that compute for the pages, so that none of them takes the server down.

A worker is asked one thing after the other. It ends when the server does, however that ends.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection, wait
from typing import Any

from discreet.errors import DiscreetError, is_interrupt

PATIENCE = 10.0
"""Seconds that a worker has to clean up once it is told to stop."""
IMPATIENCE = 0.5
"""The same of one who has nothing to clean up."""
FAULT = "This is a fault in discreet. Nothing was found out about your data; please report it."
INTERRUPTED, INTERRUPT = "Interrupted. Nothing half-written was left behind.", 130

Tell = Callable[[str, int, int], None]
"""Takes the stage of long work, and how much of it is done."""


class WorkerFault(Exception):
    """A worker died, or met what it should not have met; its text is for people."""

    def __init__(self, message: str, details: str = "") -> None:
        super().__init__(message)
        self.details = details


class Worker:
    """A process of its own, and a line to it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._line, far_end = context.Pipe()
        self._process = context.Process(target=_serve, args=(far_end,), name="discreet worker")
        self._process.start()
        far_end.close()
        self._turn, self._ending = threading.Lock(), threading.Lock()
        self._told_to_stop = False

    @property
    def pid(self) -> int | None:
        """The number of the process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it can still be asked."""
        return self._process.is_alive()

    def ask(self, work: str, *given: Any, tell: Tell | None = None) -> Any:
        """Have a function of ``studio.work`` run there, and wait for what it gives.

        It goes by its module and name, ``"open.look_at_plan"``, since only workers load it. With
        ``tell`` it is also given a function that says how far it is. What it refuses is refused
        here in the same words.
        """
        with self._turn:
            try:
                self._line.send((work, given, tell is not None))
                while True:
                    kind, *told = self._line.recv()
                    if kind != "stage":
                        break
                    assert tell is not None
                    tell(*told)
            except (EOFError, OSError):
                if self._told_to_stop:
                    raise _refuse(INTERRUPTED, None, INTERRUPT) from None
                raise WorkerFault(self._explain_end()) from None
        if kind == "refused":
            raise _refuse(*told)
        if kind == "fault":
            raise WorkerFault(*told)
        return told[0]

    def stop(self, patience: float = PATIENCE) -> None:
        """Tell it to stop; end it if it does not. Several may say so at once."""
        self._told_to_stop = True
        with self._ending:
            if self._process.is_alive():
                self._process.terminate()
                self._process.join(patience)
            if self._process.is_alive():
                self._process.kill()
                self._process.join()
            self._line.close()

    def _explain_end(self) -> str:
        self._process.join(PATIENCE)
        code = self._process.exitcode
        how = f"exit code {code}"
        if code is not None and code < 0:
            how = signal.strsignal(-code) or f"signal {-code}"
        return (
            f"The process that worked on this has ended ({how}). It may have needed more memory "
            "than there is. Nothing half-written was left behind."
        )


class Desk:
    """The worker that keeps open tables for the pages; a new one takes over if it dies."""

    def __init__(self) -> None:
        self._worker: Worker | None = None
        self._turn = threading.Lock()

    @property
    def worker(self) -> Worker:
        """Whoever is at the desk."""
        with self._turn:
            if self._worker is None or not self._worker.is_alive:
                self._worker = Worker()
            return self._worker

    @property
    def pid(self) -> int | None:
        """The number of its process; nothing while nobody was needed."""
        return None if self._worker is None else self._worker.pid

    def ask(self, work: str, *given: Any) -> Any:
        """Have something computed, and wait for it."""
        return self.worker.ask(work, *given)

    def warm_up(self, work: str, *given: Any) -> None:
        """Have done what the first question will need; do not wait for it."""

        def load() -> None:
            with suppress(WorkerFault, DiscreetError):  # whoever asks next is told
                self.ask(work, *given)

        threading.Thread(target=load, daemon=True).start()

    def interrupt(self) -> None:
        """Stop what is being computed; whoever waits for it is told. A new one takes over."""
        with self._turn:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.stop(IMPATIENCE)

    def close(self) -> None:
        """End it."""
        if self._worker is not None:
            self._worker.stop()


def _refuse(message: str, hint: str | None, code: int) -> DiscreetError:
    """Say here what was refused there."""
    error = DiscreetError(message, hint=hint)
    error.exit_code = code
    return error


def _serve(line: Connection) -> None:
    """Answer until nobody asks any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server is told, and tells its workers
    told = threading.Event()

    def stop(*_: object) -> None:
        told.set()
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError, KeyboardInterrupt):
        while not told.is_set():
            work, given, telling = line.recv()
            more = {"tell": _Teller(line)} if telling else {}
            line.send(_attempt(work, given, more))


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait(PATIENCE)
        os._exit(1)


class _Teller:
    """Sends how far work is."""

    def __init__(self, line: Connection) -> None:
        self._line = line

    def __call__(self, stage: str, done: int, total: int) -> None:
        self._line.send(("stage", stage, done, total))


def find_work(work: str) -> Callable[..., Any]:
    """Give the function of a name."""
    module, _, name = work.partition(".")
    found: Callable[..., Any] = getattr(import_module(f"discreet.studio.work.{module}"), name)
    return found


def _attempt(work: str, given: Any, more: dict[str, Any]) -> tuple[Any, ...]:
    try:
        return ("done", find_work(work)(*given, **more))
    except DiscreetError as error:
        return ("refused", error.message, error.hint, error.exit_code)
    except OSError as error:
        where = error.filename or "a file"
        return ("refused", f"{where}: {error.strerror or error}.", None, 2)
    except BaseException as error:
        if is_interrupt(error):
            return ("refused", INTERRUPTED, None, INTERRUPT)
        return ("fault", FAULT, traceback.format_exc())
