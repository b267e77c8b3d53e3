"""Publishing: the release that a plan describes, made, audited and put in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from discreet.cli.app import Engine, IntoSchema, Json, Memory, Overwrite, app
from discreet.cli.screen import (
    print_findings,
    print_json,
    refuse_unreached,
    say_error,
    show,
    working,
    working_in_stages,
)
from discreet.errors import DiscreetError, PromiseError, SchemaError, StoreError, list_problems
from discreet.steward.outputs import refuse_outputs

if TYPE_CHECKING:
    from discreet.auditing import AuditReport
    from discreet.forms.installing import Installation
    from discreet.release import Release
    from discreet.steward.ledger import Entry, Ledger
    from discreet.steward.plan import Plan
    from discreet.table.coded_table import CodedTable
    from discreet.table.microdata import Microdata

TOGETHER = (
    "Releases that are out stay as they are: leave out, or generalize, what this one shows of the "
    "attributes that they show, too."
)


@app.command()
def publish(
    plan: Annotated[Path, typer.Argument(help="A plan as written by `discreet inspect`.")],
    out: Annotated[Path | None, typer.Option(help="Folder of the release.")] = None,
    format: Annotated[str | None, typer.Option(help="parquet or csv.")] = None,
    seed: Annotated[int | None, typer.Option(hidden=True)] = None,
    insecure_seed: Annotated[
        int | None, typer.Option(help="Make a test release that can be made again.", min=0)
    ] = None,
    insecure: Annotated[
        bool, typer.Option(help="Write it although a seed decides what protects people.")
    ] = False,
    report: Annotated[Path | None, typer.Option(help="Also write an audit page here.")] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(help="Check it against all releases in this ledger, and record it there."),
    ] = None,
    into: Annotated[
        str | None,
        typer.Option(
            help="Then also install it: in release.duckdb, postgresql://user@host/name or a "
            "catalog of Spark."
        ),
    ] = None,
    schema: IntoSchema = "discreet",
    memory: Memory = None,
    engine: Engine = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Do everything, and leave no release.")
    ] = False,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Make the release a plan describes, verify and audit it from disk, and say what was lost.

    It is put in place only if the audit finds that the promise is kept for everybody.
    """
    from discreet.files import refuse_unwritable, temporary_folder
    from discreet.release.store import refuse_to_replace
    from discreet.steward.ledger import Ledger
    from discreet.steward.plan import NO_SEED, Plan, with_overrides

    if format not in (None, "parquet", "csv"):
        raise StoreError(f"--format {format}: give parquet or csv.")
    if seed is not None:
        raise SchemaError(f"--seed: {NO_SEED}.")
    wanted = with_overrides(Plan.read(plan), out, format, insecure_seed)  # type: ignore[arg-type]
    _refuse_plan(wanted, engine, insecure=insecure)
    refuse_outputs([report], inputs=wanted.inputs, release=wanted.folder, overwrite=overwrite)
    goal = None if into is None else _Goal(into, schema, overwrite=overwrite)
    if goal is not None:
        goal.check(wanted)
    if dry_run:
        _refuse_dry(ledger)
        with temporary_folder() as folder:
            tried = replace(wanted, folder=folder / "release")
            _carry_out(tried, None, None, report, memory, engine, overwrite, as_json=json, dry=True)
        return
    book = None if ledger is None else Ledger(ledger)
    if book is None:  # a ledger first finishes what was interrupted
        refuse_to_replace(wanted.folder, overwrite=overwrite)
        refuse_unwritable(wanted.folder, folder=True)
    _carry_out(wanted, book, goal, report, memory, engine, overwrite, as_json=json, dry=False)


class _Goal(NamedTuple):
    """A database that a release goes into once it is published."""

    into: str
    schema: str
    overwrite: bool

    def check(self, wanted: Plan) -> None:
        """Refuse, before any work, what could not be filled."""
        from discreet.sql.catalogs import find_catalog, is_file

        if is_file(self.into):  # a file that is there may get another schema
            refuse_outputs(
                [Path(self.into)], inputs=wanted.inputs, release=wanted.folder, overwrite=True
            )
        find_catalog(self.into).check(self.schema, overwrite=self.overwrite)

    def fill(self, folder: Path) -> Installation:
        """Install a release from its folder."""
        from discreet.forms.installing import install
        from discreet.release.store import load

        with working("Installing"):
            return install(load(folder), self.into, schema=self.schema, overwrite=self.overwrite)


def _carry_out(
    wanted: Plan, book: Ledger | None, goal: _Goal | None, report: Path | None,
    memory: str | None, engine: str | None, overwrite: bool, *, as_json: bool, dry: bool,
) -> None:  # fmt: skip
    """Make, audit and put out the release of a plan, and say what came of it."""
    from discreet.steward.beyond_memory import is_beyond, read_memory
    from discreet.steward.publication import make_release

    limit = read_memory(memory)
    if engine is not None or is_beyond(wanted.source, wanted.schema, limit):
        found, table = _put_out_in_parts(wanted, engine or limit, book, report, overwrite)
        entry, notes = None, []
        if engine is None:
            notes.append("the table was worked on from disk: memory does not hold it")
    else:
        release, data, wanted = make_release(wanted, book, working)
        table = data
        found, entry, notes = _put_out(release, wanted, data, book, report, overwrite)
    taken = table.intake
    installed, failed = None, None
    if goal is not None and found.kept:
        try:
            installed = goal.fill(wanted.folder)
        except DiscreetError as error:
            failed = error
            error.message = f"{wanted.folder} is published, but not installed. {error.message}"
            error.hint = f"{error.hint or ''} Then: discreet install RELEASE --into …".lstrip()
    if as_json:
        intake = {"read": taken.read, "dropped": taken.dropped, "missing": taken.missing}
        made: dict[str, Any] = (
            {} if entry is None else {"ledger": {"entry": entry.name, "notes": notes}}
        )
        place = str(wanted.folder) if found.kept and not dry else None
        made |= {} if installed is None else {"installed": asdict(installed)}
        print_json({"release": place, "intake": intake, **made, **found.to_dict()})
    else:
        _tell(wanted, found, table, notes, dry=dry)
        if entry is not None and book is not None:
            show(f"Ledger: {book.folder}, release {entry.name}; goes together with all before it.")
        if installed is not None:
            show(f"Installed: schema {installed.schema!r}, {', '.join(installed.tables)}.")
        if report is not None:
            show(f"Report: {report} (yours; do not publish it).")
    if failed is not None:
        raise failed
    if not found.kept:
        why = f"The audit found a breach. Nothing was published.\n{list_problems(found.problems)}"
        say_error(f"{why}\nHint: {TOGETHER}" if found.composed else why)
        raise typer.Exit(1)


def _refuse_dry(ledger: Path | None) -> None:
    if ledger is not None:
        raise SchemaError(
            "--dry-run records nothing in a ledger.",
            hint="Ask the ledger: discreet ledger check PLAN --ledger FOLDER.",
        )


def _refuse_plan(wanted: Plan, engine: str | None, *, insecure: bool) -> None:
    """Refuse a plan that cannot be followed as it is asked for."""
    if not insecure:
        wanted.refuse_seed()
    refuse_unreached(wanted.remote, engine)


def _tell(
    wanted: Plan, found: AuditReport, table: CodedTable, notes: list[str], *, dry: bool
) -> None:
    """Say what was left out, found and put in place."""
    from discreet.steward.publication import list_remarks

    taken = table.intake
    if taken.dropped:
        show(f"{taken.dropped:,} of {taken.read:,} rows were left out: missing.")
    print_findings(found)
    for note in [*list_remarks(wanted, table.schema), *notes]:
        show(f"Note: {note}.")
    if found.kept:
        place = f"Release: {wanted.folder}, verified from disk."
        show("A dry run: the release was removed again." if dry else place)


def _put_out(
    release: Release,
    wanted: Plan,
    data: Microdata,
    book: Ledger | None,
    report: Path | None,
    overwrite: bool,
) -> tuple[AuditReport, Entry | None, list[str]]:
    """Audit a draft, and put it in place if the promise is kept; say what was found."""
    from discreet.auditing.report import Subject, render_html
    from discreet.publishing import ask_of_rows
    from discreet.steward.publication import put_out

    def draw(draft: Path, found: AuditReport) -> None:
        if report is not None:
            how = ask_of_rows(wanted.method, data).explain(data)
            subject = Subject.of(draft, wanted.source, wanted.folder.name)
            write_page(render_html(found, how, subject=subject))

    with _beforehand(report) as write_page:
        return put_out(
            release, wanted, data, book, overwrite=overwrite, stage=working,
            trying=working_in_stages, examined=draw,
        )  # fmt: skip


def _put_out_in_parts(
    wanted: Plan, means: int | str, book: Ledger | None, report: Path | None, overwrite: bool
) -> tuple[AuditReport, CodedTable]:
    """Do the same with so much memory, or on the cluster at an address."""
    from discreet.auditing.report import render_html
    from discreet.steward.beyond_memory import publish_on_disk

    if book is not None:
        raise SchemaError(
            "--ledger: releases of tables beyond memory are not kept in ledgers yet.",
            hint="Publish on a machine whose memory holds the table, or give it more (--memory).",
        )
    audits: list[tuple[AuditReport, CodedTable]] = []

    def examine(found: AuditReport, facts: CodedTable) -> None:
        audits.append((found, facts))
        if report is not None:
            write_page(render_html(found, None))
        found.require_kept()

    with _beforehand(report) as write_page, working_in_stages() as progress:
        try:
            how: dict[str, Any] = {
                "overwrite": overwrite, "examine": examine, "progress": progress,
            }  # fmt: skip
            if isinstance(means, str):
                from discreet.steward.on_cluster import publish_on_cluster

                publish_on_cluster(wanted, means, **how)
            else:
                publish_on_disk(wanted, means, **how)
        except PromiseError as error:  # of a breach the page is what is left
            if not audits or error.subject is not audits[0][0]:
                raise
    return audits[0]


@contextmanager
def _beforehand(report: Path | None) -> Iterator[Callable[[str], None]]:
    """Let a page be written before the rest is done, and take it back if that fails.

    So nothing is done whose page cannot be written.
    """
    from discreet.files import refuse_unwritable, remove, resolve, write_file, write_text

    before: bytes | None = None
    written: list[Path] = []

    def write(text: str) -> None:
        assert report is not None
        written.append(write_text(report, text))

    if report is not None:
        refuse_unwritable(report)
        before = report.read_bytes() if report.is_file() else None
    try:
        yield write
    except BaseException:
        for path in written:
            if before is None:
                remove(resolve(path))
            else:
                write_file(path, partial(Path.write_bytes, data=before))
        raise
