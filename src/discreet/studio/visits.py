"""Visits: one per browser, with what it has open; nobody reads another's."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.errors import StoreError
from discreet.studio.jobs import Job
from discreet.studio.places import confine
from discreet.studio.private_folders import PrivateFolder
from discreet.studio.workers import Desk

MOST_VISITS = 8
"""Whoever opens one more ends the one that was opened first."""
MOST_JOBS = 20
"""Jobs whose outcome a visit keeps."""
DROPPED = "dropped:"
"""What stands before the name of a file that was dropped."""


@dataclass(eq=False)
class Visit:
    """What one browser has open."""

    root: Path
    """The folder that the studio was started in."""
    desk: Desk
    key: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    """The cookie of the browser."""
    proof: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    """Shown by the pages with every change, so that no other site can ask for one."""
    plan: Path | None = None
    """The plan that is worked on."""
    jobs: dict[str, Job] = field(default_factory=dict)
    table: PrivateFolder = field(default_factory=PrivateFolder)
    """The table that was dropped last, with its plan and all that was made of it."""
    release: PrivateFolder = field(default_factory=PrivateFolder)
    """The release that was dropped last, to be held against evidence."""
    made: PrivateFolder = field(default_factory=PrivateFolder)
    """What jobs made to be downloaded."""
    analyst: Desk = field(default_factory=Desk)
    """Whoever answers this visit's questions, which may be long, and may be stopped."""

    @property
    def is_dropped(self) -> bool:
        """Whether the plan is of a file that was dropped, and would go with the visit."""
        return self.plan is not None and self.table.holds(self.plan)

    @property
    def home(self) -> Path:
        """The folder that the plan and all it names must lie in."""
        return self.table.folder if self.is_dropped else self.root

    def find(self, name: str) -> Path:
        """Give the place of a file that a page names."""
        if name.startswith(DROPPED):
            return confine(self.table.folder, name.removeprefix(DROPPED))
        return confine(self.root, name)

    def require_plan(self) -> Path:
        """Give the plan that is worked on; say so if there is none."""
        if self.plan is None:
            raise StoreError("No table is open.", hint="Open one in the first step.")
        return self.plan

    async def ask(self, work: str, *given: Any, of: Desk | None = None) -> Any:
        """Have something computed, and wait for it without keeping others waiting."""
        from starlette.concurrency import run_in_threadpool

        return await run_in_threadpool(lambda: (of or self.desk).ask(work, *given))

    def keep(self, ending: str) -> Path:
        """Give a place for a file that a job makes to be downloaded."""
        return self.made.folder / f"{secrets.token_hex(8)}.{ending}"

    def start(self, work: str, *given: Any, title: str, step: str, then: str) -> Job:
        """Start long work in a worker of its own; it is given ``tell`` to say how far it is.

        A step does one thing at a time. ``{job}`` in the address of what is shown ``then`` is the
        name of the job.
        """
        if (before := self.find_running(step)) is not None:
            raise StoreError(
                f"Not yet: {before.title} is still going on.",
                hint="Wait until it is done, or load the page again and stop it.",
            )
        job = Job(title, step, then)
        job.then = then.format(job=job.name)
        over = [name for name, old in self.jobs.items() if old.is_over]
        for name in over[: max(0, len(self.jobs) - MOST_JOBS)]:
            del self.jobs[name]
        self.jobs[job.name] = job
        job.run(work, given)
        return job

    def find_job(self, name: str) -> Job:
        """Give a job of this visit; those of others are as if they were not."""
        if name not in self.jobs:
            raise StoreError("There is no such job.", hint="It may have been started elsewhere.")
        return self.jobs[name]

    def find_outcome(self, name: str, step: str) -> Job:
        """Give a job that a step started, once it is over."""
        job = self.find_job(name)
        if job.step != step or not job.is_over:
            raise StoreError("There is nothing to be shown.", hint="Wait until the work is done.")
        return job

    def find_running(self, step: str) -> Job | None:
        """Give the job of a step that is not over."""
        return next((j for j in self.jobs.values() if j.step == step and not j.is_over), None)

    def latest_job(self, step: str) -> Job | None:
        """Give the job that a step started last."""
        return next((j for j in reversed(self.jobs.values()) if j.step == step), None)

    def forget_table(self) -> None:
        """Remove the table that was dropped, with all that was made of it."""
        if self.is_dropped:
            self.plan = None
        self.table.forget()

    def close(self) -> None:
        """Stop what runs, and remove what was dropped."""
        for job in self.jobs.values():
            job.stop()
        self.analyst.close()
        self.forget_table()
        self.release.forget()
        self.made.forget()


class Visits:
    """All sessions of a studio, and the token that opens one."""

    def __init__(self, root: Path, desk: Desk) -> None:
        self.root, self.desk = root, desk
        self.token = secrets.token_urlsafe(32)
        self._open: dict[str, Visit] = {}

    def admit(self, token: str) -> Visit | None:
        """Open a visit for who has the token."""
        if not secrets.compare_digest(token.encode(), self.token.encode()):
            return None
        if len(self._open) >= MOST_VISITS:
            self._open.pop(next(iter(self._open))).close()
        visit = Visit(self.root, self.desk)
        self._open[visit.key] = visit
        return visit

    def find(self, key: str) -> Visit | None:
        """Give the visit of a cookie."""
        return self._open.get(key)

    def close(self) -> None:
        """End all of them."""
        while self._open:
            self._open.popitem()[1].close()
