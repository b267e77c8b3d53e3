"""Tables that lie in files, and releases of them made in parts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

import discreet as dc
from discreet.auditing import AuditReport
from discreet.auditing.in_parts import audit_files
from discreet.publishing.backends.disk import DiskBackend
from discreet.publishing.in_parts import publish_in_parts
from discreet.publishing.method import Method
from discreet.table.facts import survey
from discreet.table.parquet_files import ParquetFiles


def spread(frame: pl.DataFrame, folder: Path, files: int = 3) -> Path:
    """Write a table, in another order, into several files and an empty one."""
    folder.mkdir()
    frame = frame[np.random.default_rng(1).permutation(frame.height)]
    ends = [frame.height * i // files for i in range(files + 1)]
    for i in range(files):
        frame[ends[i] : ends[i + 1]].write_parquet(folder / f"{i}.parquet")
    frame[:0].write_parquet(folder / f"{files}.parquet")
    return folder


def publish_from_disk(
    source: Path, schema: dc.Schema, method: Method, target: Path, capacity: int
) -> AuditReport:
    """Publish a table in files, so many rows at once, and audit it before it is put in place."""
    files = ParquetFiles(source)
    facts = survey(files, schema)
    work = target.with_name(f"{target.name}-work")
    work.mkdir()
    found: list[AuditReport] = []

    def approve(draft: Path) -> None:
        found.append(audit_files(draft, files, facts, work, progress=lambda *told: None))

    backend = DiskBackend(files, facts, work, capacity)
    publish_in_parts(backend, method, target, format="parquet", overwrite=False, approve=approve)
    assert not list(work.iterdir())
    return found[0]
