"""Beyond memory: publish and audit a table on this machine that its memory does not hold."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.auditing import AuditReport
from discreet.auditing.in_parts import AskedOfParts, audit_files
from discreet.errors import SchemaError
from discreet.files import drafting, resolve, writing
from discreet.publishing.backends import Progress
from discreet.publishing.backends.disk import DiskBackend
from discreet.publishing.in_parts import publish_in_parts
from discreet.publishing.partitioners.packing import lay_out
from discreet.release.parts import AT_ONCE
from discreet.steward.plan import Plan
from discreet.table.coded_table import Intake
from discreet.table.facts import Facts, survey
from discreet.table.isolation import measure_free
from discreet.table.parquet_files import ParquetFiles
from discreet.table.readers import is_parquet
from discreet.table.schema import Schema

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
IN_MEMORY = 9
"""So many times the codes of a table are needed to publish it in memory."""
GROUND = 900 * 2**20
"""What work in parts needs whatever the table: the libraries, and a batch or a part of it."""
LEAST = 100_000
"""Rows of a leaf that are worth the trouble."""


def read_memory(text: str | None) -> int:
    """Read how much memory may be used; half of what is free if nothing is said.

    >>> read_memory("4GB") == 4 * 2**30, read_memory("512 MiB") == 2**29
    (True, True)
    """
    if text is None:
        return measure_free() // 2
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE)
    if found is None or float(found[1]) == 0:
        raise SchemaError(f"--memory {text}: is no amount of memory.", hint="Write 4GB, or 800MB.")
    return int(float(found[1]) * UNITS[found[2].upper()])


def is_beyond(source: Path, schema: Schema, memory: int) -> bool:
    """Whether a table in Parquet files takes more memory than may be used."""
    if not is_parquet(source):
        return False
    codes = ParquetFiles(source).height * len(list(schema.published)) * 4
    return IN_MEMORY * codes > memory


def choose_capacity(facts: Facts, memory: int) -> int:
    """Say how many rows of a table can be held at once."""
    exact = len(facts.domains) - len(facts.quasi_identifiers)
    planes = lay_out([domain.size for domain in facts.domains.values()])[1]
    each = 40 * planes + 24 * exact + 48  # words three times, codes and keys to sort by
    return max(LEAST, (memory - GROUND) // each)


def refuse_drawing(plan: Plan) -> None:
    """Refuse a seed where nothing is drawn."""
    if plan.insecure_seed is not None:
        raise SchemaError(
            "insecure_seed: nothing is drawn for tables beyond memory.", hint="Leave it out."
        )


def choose_records(memory: int) -> int:
    """Say how many records of a release can be audited at once."""
    return min(AT_ONCE, max(LEAST // 2, (memory - GROUND) // 2048))


@contextmanager
def working_folder(beside: Path) -> Iterator[Path]:
    """Give a folder for what is in between, which nobody else can read and a rerun removes."""
    place = resolve(beside)
    with writing(beside), drafting(place.with_name(f"{place.name}-work"), folder=True) as folder:
        yield folder


def publish_on_disk(
    plan: Plan,
    memory: int,
    *,
    overwrite: bool,
    examine: Callable[[AuditReport, Intake], None],
    progress: Progress,
) -> None:
    """Publish what a plan says from files, with no more memory than may be used.

    ``examine`` is shown what the audit finds of the draft, and may raise.
    """
    refuse_drawing(plan)
    plan.method.require_parts()
    files = ParquetFiles(plan.source)
    facts = _survey(files, plan.schema, progress)
    with working_folder(plan.folder) as work:
        capacity, at_once = choose_capacity(facts, memory), choose_records(memory)
        backend = DiskBackend(files, facts, work, capacity, at_once, plan.format, progress)

        def approve(draft: Path) -> None:
            found = audit_files(draft, files, facts, work, at_once=at_once, progress=progress)
            examine(found, facts.intake)

        publish_in_parts(
            backend,
            plan.method,
            plan.folder,
            format=plan.format,
            overwrite=overwrite,
            approve=approve,
        )


def audit_on_disk(
    release: Path,
    source: Path,
    schema: Schema,
    memory: int,
    *,
    asked: AskedOfParts,
    progress: Progress,
) -> AuditReport:
    """Audit a release against files, part by part."""
    files = ParquetFiles(source)
    facts = _survey(files, schema, progress)
    with tempfile.TemporaryDirectory() as work:
        return audit_files(
            release, files, facts, Path(work), asked=asked, at_once=choose_records(memory),
            progress=progress,
        )  # fmt: skip


def _survey(files: ParquetFiles, schema: Schema, progress: Progress) -> Facts:
    progress("Reading", 0, files.height)
    return survey(files, schema)
