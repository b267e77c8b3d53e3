"""Publication: the release of a plan made, audited as a draft, and put in place if that holds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

from discreet.auditing import AuditReport, audit
from discreet.errors import DiscreetError, PromiseError
from discreet.publishing import publish as make
from discreet.release import Release
from discreet.release.store import write
from discreet.steward.ledger import Entry, Ledger, sign
from discreet.steward.ledger.checking import NOT_KNOWN
from discreet.steward.plan import Plan
from discreet.table.facts import Progress
from discreet.table.microdata import Microdata, read
from discreet.table.schema import Schema

Stage = Callable[[str], AbstractContextManager[None]]
"""Says what is being done, while it is."""
Trying = Callable[[], AbstractContextManager[Progress]]
"""Says how far it is with trying what would pass, where a ledger refuses."""
Examined = Callable[[Path, AuditReport], None]
"""Takes the draft of a release, and what was found of it, before it is put in place."""


def make_release(
    wanted: Plan, book: Ledger | None, stage: Stage
) -> tuple[Release, Microdata, Plan]:
    """Read the table of a plan and make its release; a ledger has methods remember who is who."""
    with stage(f"Reading {wanted.source.name}"):
        data = read(wanted.table, wanted.schema)
    method = wanted.method if book is None else book.prepare(wanted.method, data)
    with stage("Publishing"):
        release = make(data, method, insecure_seed=wanted.insecure_seed)
    return release, data, replace(wanted, method=method)


def put_out(
    release: Release,
    wanted: Plan,
    data: Microdata,
    book: Ledger | None,
    *,
    overwrite: bool,
    stage: Stage,
    trying: Trying,
    examined: Examined,
) -> tuple[AuditReport, Entry | None, list[str]]:
    """Audit a draft, and put it in place if the promise is kept; say what was found."""
    audits: list[AuditReport] = []
    entry: Entry | None = None
    notes: list[str] = []

    def examine(draft: Path, written: Release) -> None:
        found = audit(written, data, earlier=wanted.method.earlier)
        audits.append(found)
        examined(draft, found)
        found.require_kept()

    try:
        if book is not None:
            entry, notes = _record(book, wanted, release, data, examine, overwrite, stage, trying)
        else:
            with stage("Auditing"):
                write(release, wanted.folder, format=wanted.format, overwrite=overwrite,
                      approve=examine,
                      insecure=release.insecure, spend=True)  # fmt: skip
    except PromiseError as error:  # of a breach what was found is what is left
        if not audits or error.subject is not audits[0]:
            raise
    return audits[0], entry, notes


def _record(
    book: Ledger,
    wanted: Plan,
    release: Release,
    data: Microdata,
    examine: Callable[[Path, Release], None],
    overwrite: bool,
    stage: Stage,
    trying: Trying,
) -> tuple[Entry, list[str]]:
    """Publish under a ledger; of a breach, say what to generalize."""

    @cache  # a proposal is about what was refused
    def know() -> Microdata:
        return book.read(wanted.table, wanted.schema)

    try:
        with stage(f"Checking against {count_earlier(book)}"):
            entry, notes = book.publish(
                release,
                know,
                wanted.folder,
                format=wanted.format,
                overwrite=overwrite,
                insecure=release.insecure,  # whoever asked for it was asked first
                examine=examine,
                signed=sign(wanted.method, data),
                accept_estimates=wanted.accept_estimates,
            )
        alone = data.keys is not None or entry.number == 1
        return entry, notes if alone else [*notes, NOT_KNOWN]
    except PromiseError as error:
        broken = error.subject
        if isinstance(broken, list):
            with trying() as progress, suppress(DiscreetError):
                proposed = book.propose(
                    data, wanted.method, broken, known=know(),
                    insecure_seed=wanted.insecure_seed, progress=progress,
                )  # fmt: skip
                error.hint = f"{proposed} {error.hint or ''}".strip()
        raise


def count_earlier(book: Ledger) -> str:
    """Say how many releases a ledger has."""
    many = len(book.entries)
    return "1 earlier release" if many == 1 else f"{many} earlier releases"


def list_remarks(wanted: Plan, schema: Schema) -> list[str]:
    """Say what a steward may have overlooked in a plan."""
    unseen = [attribute.name for attribute in schema if not attribute.published]
    remarks = [f"not published: {', '.join(unseen)}"] if unseen else []
    if wanted.insecure_seed is not None:
        remarks.append("a seed decided what protects people: this is a test, give it to nobody")
    if not schema.sensitive:
        remarks.append("no column is sensitive: what is promised is about finding people")
    return remarks
