"""Worker memory: what those who would do the work on a cluster may use, asked before any of it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from discreet.errors import ClusterError
from discreet.steward.beyond_memory import (
    AUDITED,
    CELL,
    LEAST,
    LIBRARIES,
    choose_capacity,
)
from discreet.table.facts import Facts
from discreet.table.isolation import measure_free

UNLIMITED = 2**62
CGROUPS = (
    ("/sys/fs/cgroup", "memory.max", "memory.current"),
    ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
)
"""Where Linux says what a container may use and does, newer and older."""


@dataclass(frozen=True)
class WorkerMemory:
    """What a worker found: its own limit, what is free where it runs, and who shares that."""

    limit: int
    free: int
    workers: int

    @property
    def share(self) -> int:
        """What each of them can count on."""
        return min(self.limit, self.free // max(1, self.workers))

    def require_enough(self, columns: int) -> None:
        """Refuse workers that could not even hold a few rows of so many columns."""
        need = LIBRARIES + LEAST * columns * AUDITED
        if min(self.limit, self.free) < need:
            raise ClusterError(
                f"A worker of the cluster has {min(self.limit, self.free) >> 20:,} MB of memory "
                f"beside Java, and {columns} published columns take {-(-need >> 20):,} MB.",
                hint="Give executors more memory (spark.executor.pyspark.memory, "
                "spark.executor.memoryOverhead), or fewer cores each (spark.executor.cores).",
            )

    def fit(self, most: int, each: int) -> int:
        """Say how many rows that take so many bytes each can be held at once."""
        return min(most, max(LEAST, (self.share - LIBRARIES) // each))

    def choose_piece(self, columns: int, most: int) -> int:
        """Say how many rows can be read at once."""
        return self.fit(most, CELL * columns)

    def choose_capacity(self, facts: Facts, most: int) -> int:
        """Say how many rows of a leaf can be held at once."""
        # on a cluster nobody keeps a byte for everybody
        return min(most, choose_capacity(facts, self.share + facts.n))

    def choose_records(self, facts: Facts, most: int, weight: int) -> int:
        """Say how many records can be audited at once, each so many times as much as of boxes."""
        return self.fit(most, AUDITED * len(facts.domains)) // weight


def measure_own() -> WorkerMemory:
    """Say what this process may use."""
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]  # spark.executor.pyspark.memory
        limit = UNLIMITED if limit == resource.RLIM_INFINITY else limit
        cores = len(os.sched_getaffinity(0))
    except (ImportError, AttributeError):
        limit, cores = UNLIMITED, os.cpu_count() or 1
    return WorkerMemory(limit, min(measure_free(), _measure_container()), cores)


def _measure_container() -> int:
    """Say how much is free of what the container of this process may use, if it is in one."""
    for place, most, used in CGROUPS:
        try:
            limit = (Path(place) / most).read_text("ascii").strip()
            current = int((Path(place) / used).read_text("ascii"))
            stat = (Path(place) / "memory.stat").read_text("ascii")
        except (OSError, ValueError):
            continue
        if limit.isdigit():
            cached = re.search(r"^(?:total_)?inactive_file (\d+)$", stat, re.MULTILINE)
            return int(limit) - current + (int(cached[1]) if cached else 0)
    return UNLIMITED
