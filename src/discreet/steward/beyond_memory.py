"""Beyond memory: publish and audit a table on this machine that its memory does not hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.auditing import AuditReport, open_earlier
from discreet.auditing.earlier_in_parts import know_more, refuse_earlier
from discreet.auditing.in_parts import AskedOfParts, audit_files
from discreet.errors import SchemaError
from discreet.files import drafting, resolve, temporary_folder, writing
from discreet.principles.base import Principle
from discreet.publishing.backends import Progress
from discreet.publishing.backends.disk import DiskBackend
from discreet.publishing.in_parts import publish_in_parts
from discreet.publishing.partitioners.packing import lay_out
from discreet.release.parts import StoredParts
from discreet.release.table_files import PART
from discreet.steward.plan import Plan
from discreet.table.facts import Facts, survey
from discreet.table.isolation import measure_free
from discreet.table.parquet_files import BATCH, ParquetFiles
from discreet.table.readers import is_parquet
from discreet.table.schema import Role, Schema
from discreet.table.spare_memory import spare

UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
IN_MEMORY = 9
"""So many times the codes of a table are needed to publish it in memory."""
LIBRARIES = 550 * 2**20
"""What libraries and compiled code take, whatever the table."""
GROUND = 900 * 2**20
"""What any work in parts may take: a smaller limit is taken for this one."""
LEAST = 100_000
"""Rows that are worth the trouble of holding them at once."""
MOST_RECORDS = 1 << 22
"""So many records are audited at once at most: more would take longer, each of them."""
CELL, AUDITED = 64, 80
"""Bytes that a cell takes while it is read and coded, and while its record is audited."""
CLASS = 13
"""Bytes that a class takes where several may be somebody's, until it is known where parts end."""


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


def require_enough(schema: Schema, n: int, memory: int, principle: Principle) -> None:
    """Refuse, before any work, a limit that cannot be kept for a table of so many rows."""
    shown = [20 if a.role is Role.QUASI_IDENTIFIER and a.type.ordered else 8
             for a in schema.published]  # fmt: skip
    # a file is written as a whole, with what is shown besides until it is full
    written = min(n, PART) * (4 + sum(shown)) * 5 // 4
    need = LIBRARIES + _count_bytes(n, principle) + max(written, LEAST * len(shown) * AUDITED)
    if need > max(memory, GROUND):
        raise SchemaError(
            f"{memory >> 20:,} MB of memory are not enough for {n:,} rows with {len(shown)} "
            f"published columns: {-(-need >> 20):,} MB are.",
            hint=f"Allow for that (--memory {-(-need >> 20)}MB), or publish fewer columns.",
        )


def _count_bytes(n: int, principle: Principle | None) -> int:
    """Count what so many people take: a byte each, and their classes where these may overlap."""
    if principle is None or not principle.dealt:
        return n
    return n + CLASS * (n // principle.min_size)


def _leave_room(n: int, memory: int, principle: Principle | None = None) -> int:
    """Give what is left for rows, beside libraries and what everybody takes."""
    return max(memory, GROUND) - LIBRARIES - _count_bytes(n, principle)


def choose_batch(schema: Schema, n: int, memory: int) -> int:
    """Say how many rows can be read at once."""
    fit = _leave_room(n, memory) // (CELL * len(list(schema.published)))
    return min(BATCH, max(LEAST, fit))


def choose_capacity(facts: Facts, memory: int) -> int:
    """Say how many rows of a table can be held at once."""
    exact = len(facts.domains) - len(facts.quasi_identifiers)
    planes = lay_out([domain.size for domain in facts.domains.values()])[1]
    each = 40 * planes + 24 * exact + 48  # words three times, codes and keys to sort by
    return max(LEAST, _leave_room(facts.n, memory) // each)


def refuse_unscaled(plan: Plan) -> None:
    """Refuse what a plan says that is done only to tables that are read into memory.

    What is drawn for parts of a table follows from no one order of its rows.
    """
    if plan.insecure_seed is not None:
        raise SchemaError(
            "insecure_seed: decides nothing for tables beyond memory.", hint="Leave it out."
        )


def choose_records(facts: Facts, memory: int, principle: Principle, weight: int) -> int:
    """Say how many records of a release under a principle can be audited at once.

    Each takes ``weight`` times as much as in a table of boxes.
    """
    fit = _leave_room(facts.n, memory, principle) // (AUDITED * len(facts.domains))
    return min(MOST_RECORDS, max(LEAST, fit)) // weight


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
    examine: Callable[[AuditReport, Facts], None],
    progress: Progress,
) -> None:
    """Publish what a plan says from files, with no more memory than may be used.

    ``examine`` is shown what the audit finds of the draft, and may raise.
    """
    refuse_unscaled(plan)
    plan.method.require_parts()
    asked = AskedOfParts(earlier=open_earlier(plan.method.earlier))
    files = _open(plan.source, plan.schema, memory, plan.method.principle)
    facts = _survey(files, plan.schema, progress)
    refuse_earlier(facts, asked.earlier)
    with working_folder(plan.folder) as work:
        capacity = choose_capacity(facts, memory)
        at_once = choose_records(facts, memory, plan.method.principle, plan.method.weight)
        backend = DiskBackend(files, facts, work, capacity, at_once, plan.format, progress)

        def approve(draft: Path) -> None:
            found = audit_files(
                draft, files, facts, work, asked=asked, at_once=at_once, progress=progress
            )
            examine(found, facts)

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
    stored = StoredParts(release)
    promised = stored.release.promise.principle
    schema = know_more(ParquetFiles(source), schema, asked.earlier)
    files = _open(source, schema, memory, promised)
    facts = _survey(files, schema, progress)
    with temporary_folder() as work:
        return audit_files(
            release, files, facts, work, asked=asked,
            at_once=choose_records(facts, memory, promised, stored.weight), progress=progress,
        )  # fmt: skip


def _open(source: Path, schema: Schema, memory: int, principle: Principle) -> ParquetFiles:
    """Open a table that is read by as many rows at once as memory allows for."""
    n = ParquetFiles(source).height
    require_enough(schema, n, memory, principle)
    spare()
    return ParquetFiles(source, choose_batch(schema, n, memory))


def _survey(files: ParquetFiles, schema: Schema, progress: Progress) -> Facts:
    progress("Reading", 0, files.height)
    return survey(files, schema)
