"""The steward's book of what was published: ledger init, list, show, check."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.app import Json, Overwrite, app
from discreet.cli.screen import (
    make_table,
    print_json,
    show,
    working,
    working_in_stages,
)
from discreet.errors import DiscreetError, StoreError
from discreet.steward.outputs import refuse_outputs

if TYPE_CHECKING:
    from discreet.steward.ledger import Ledger

commands = typer.Typer(
    help="Keep a book of what was published from a source, and check what is to follow.",
    no_args_is_help=True,
)
app.add_typer(commands, name="ledger")

Folder = Annotated[Path, typer.Argument(help="The folder of the ledger.")]


@commands.command()
def init(
    folder: Annotated[Path, typer.Argument(help="A new folder, kept away from releases.")],
    source: Annotated[str, typer.Option(help="What the releases are made from.")],
) -> None:
    """Begin a ledger."""
    from discreet.steward.ledger import Ledger

    Ledger.init(folder, source)
    place = quote(str(folder))
    show(f"Ledger of {source}: {folder}. Publish under it: discreet publish PLAN --ledger {place}")


@commands.command("list")
def list_entries(folder: Folder, json: Json = False) -> None:
    """List what was published."""
    from discreet.steward.ledger import Ledger

    book = Ledger(folder)
    entries = book.entries
    if json:
        listed = [entry.to_dict() for entry in entries]
        print_json({"source": book.source, "releases": listed, **_tell_epsilon(book)})
        return
    show(f"{book.source}: {len(entries)} {'release' if len(entries) == 1 else 'releases'}.")
    if entries:
        table = make_table("release", "when (UTC)", "method", "promise", "state")
        for entry in entries:
            when = entry.made[:16].replace("T", " ")
            table.add_row(entry.name, when, entry.method, entry.promise, entry.state)
        show(table)
    _show_epsilon(book)


@commands.command("show")
def show_entry(
    folder: Folder,
    release: Annotated[
        int | None, typer.Argument(help="The number of a release; without it, the history.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Also draw the history on a page, written here.")
    ] = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Show the history of all releases; or one: columns, promise, files, and whether it is intact.

    The history says who (how many) is in which release, and what all of them so far leave possible.
    """
    from discreet.steward.ledger import Ledger

    if release is None:
        _show_history(Ledger(folder), report, overwrite=overwrite, as_json=json)
        return
    if report is not None:
        raise StoreError(
            "--report draws the history of all releases.", hint="Leave out the number."
        )
    book = Ledger(folder)
    entry = book.find(release)
    try:
        book.load(entry)
        intact = True
    except StoreError:
        intact = False
    if json:
        print_json({"source": book.source, "intact": intact, **entry.to_dict()})
    else:
        show(f"{book.source}, release {entry.name}, {entry.made}: {entry.method}.")
        where = entry.folder or "where to is not known"
        show(f"Promise: {entry.promise}. {entry.people:,} records. {entry.state}: {where}")
        table = make_table("attribute", "role", "type", "published")
        for column in entry.columns:
            table.add_row(*column.values())
        show(table)
        table = make_table("file", "SHA-256")
        for name, digest in entry.files.items():
            table.add_row(name, digest)
        show(table)
        kept = "is what was published" if intact else "WAS CHANGED since it was published"
        show(f"The copy in {book.copy_of(entry)} {kept}.")
    if not intact:
        raise typer.Exit(1)


def _show_history(book: Ledger, report: Path | None, *, overwrite: bool, as_json: bool) -> None:
    """Say who is in which release, and what all so far leave possible."""
    from discreet.steward.ledger.chronicle import write_chronicle

    refuse_outputs([report], inputs=[], overwrite=overwrite)
    with working_in_stages() as progress:
        chapters = book.tell(progress)
    if report is not None:
        write_chronicle(report, book.source, chapters)
    if as_json:
        listed = [c.to_dict() for c in chapters]
        print_json({"source": book.source, "releases": listed, **_tell_epsilon(book)})
        return
    many = len(chapters)
    show(f"{book.source}: {many} {'release' if many == 1 else 'releases'} that are out.")
    if chapters:
        # methods stand in the list of releases: here they would be broken on a narrow screen
        table = make_table(
            "release", "people", "joined", "left", "changed", "fakes", "belief", "certain"
        )
        for c in chapters:
            moves = (c.joined, c.left, c.changed)
            numbers = ["" if n is None else f"{n:,}" for n in moves]
            sure = "" if c.certain is None else f"{c.certain:,}"
            about = "≈ " if c.estimated else ""
            worst = "?" if c.worst is None else f"{about}{float(c.worst):.0%}"
            table.add_row(c.entry.name, f"{c.people:,}", *numbers, f"{c.counterfeits:,}", worst,
                          sure)  # fmt: skip
        show(table)
        show("Belief: the likeliest value of anybody, to who has all releases up to this one.")
        for why in dict.fromkeys(c.unknown for c in chapters if c.unknown):
            show(f"Not known: {why}.")
    _show_epsilon(book)
    if report is not None:
        show(f"Report: {report} (yours; do not publish it).")


def _tell_epsilon(book: Ledger) -> dict[str, float]:
    """Give the ε of all releases together, where any promises differential privacy."""
    total = book.add_epsilons()
    return {"epsilon": float(total)} if total else {}


def _show_epsilon(book: Ledger) -> None:
    for total in _tell_epsilon(book).values():
        show(f"Differential privacy: of all releases together, ε = {total:g}.")


@commands.command()
def check(
    plan: Annotated[Path, typer.Argument(help="A plan of the release to make.")],
    ledger: Annotated[Path, typer.Option(help="The folder of the ledger.")],
    json: Json = False,
) -> None:
    """Try whether a plan's release would go together with all before it; nothing is written."""
    from discreet.publishing import publish as make
    from discreet.steward.ledger import Ledger, sign
    from discreet.steward.plan import Plan
    from discreet.steward.publication import count_earlier
    from discreet.table.microdata import read

    wanted, book = Plan.read(plan), Ledger(ledger)
    with working("Making the release"):
        data = read(wanted.table, wanted.schema)
        method = book.prepare(wanted.method, data)
        release = make(data, method, insecure_seed=wanted.insecure_seed)
    with working(f"Checking against {count_earlier(book)}"):
        known = book.read(wanted.table, wanted.schema)
        broken, notes = book.check(
            release, known, sign(method, data), accept_estimates=wanted.accept_estimates
        )
    hint = None
    if broken:
        with working_in_stages() as progress, suppress(DiscreetError):
            hint = book.propose(
                data, wanted.method, broken, known=known, insecure_seed=wanted.insecure_seed,
                progress=progress,
            )  # fmt: skip
    if json:
        found = [made.to_dict() for made in broken]
        print_json({"passes": not broken, "breaches": found, "notes": notes, "proposal": hint})
    else:
        for made in broken:
            show(f"BREACH: {made}.")
        for note in notes:
            show(f"Note: {note}.")
        show(hint or f"Goes together with {count_earlier(book)}.")
    if broken:
        raise typer.Exit(1)
