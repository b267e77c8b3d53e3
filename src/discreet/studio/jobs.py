"""Jobs: long work, each in a worker of its own, that can be watched and stopped."""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass, field
from typing import Any, Literal

from discreet.errors import DiscreetError
from discreet.studio.workers import Worker, WorkerFault

JobState = Literal["running", "done", "refused", "failed", "stopped"]


@dataclass(eq=False)
class Job:
    """One piece of long work, and how far it is."""

    title: str
    step: str
    """The step of the journey that it belongs to."""
    then: str
    """The address of what is shown once it is done."""
    name: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    state: JobState = "running"
    stage: str = "Starting"
    done: int = 0
    total: int = 0
    found: Any = None
    """What it gave; of one that was stopped, what it had."""
    error: DiscreetError | WorkerFault | None = None
    version: int = 0
    """Counts what has changed, for those who watch."""
    worker: Worker | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing will change any more."""
        return self.state != "running"

    def run(self, work: str, given: tuple[Any, ...]) -> None:
        """Start a worker on it; come back at once."""
        threading.Thread(target=self._run, args=(work, given), daemon=True).start()

    def _run(self, work: str, given: tuple[Any, ...]) -> None:
        try:
            self.worker = Worker()
            if self.is_over:  # told to stop before it began
                return
            self.found = self.worker.ask(work, *given, tell=self._tell)
            self._end("done")
        except DiscreetError as error:
            self.error = error
            self._end("refused")
        except WorkerFault as fault:
            self.error = fault
            self._end("failed")
        finally:
            if self.worker is not None:
                self.worker.stop()

    def _tell(self, stage: str, done: int, total: int) -> None:
        self.stage, self.done, self.total = stage, done, total
        self.version += 1

    def _end(self, state: JobState) -> None:
        if not self.is_over:
            self.state = state
        self.version += 1

    def stop(self) -> None:
        """Stop it; what it has kept stays."""
        if not self.is_over:
            self.state = "stopped"
            self.version += 1
            if self.worker is not None:
                self.worker.stop()
