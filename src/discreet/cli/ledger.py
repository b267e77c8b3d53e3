"""The steward's book of what was published: ledger init, list, show, check."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.app import Json, app
from discreet.cli.screen import make_table, print_json, show, working
from discreet.errors import PromiseError, StoreError

if TYPE_CHECKING:
    from discreet.release import Release
    from discreet.steward.ledger import Entry, Ledger
    from discreet.steward.plan import Plan
    from discreet.table.microdata import Microdata

commands = typer.Typer(
    help="Keep a book of what was published from a source, and check what is to follow.",
    no_args_is_help=True,
)
app.add_typer(commands, name="ledger")

Folder = Annotated[Path, typer.Argument(help="The folder of the ledger.")]


def record(
    book: Ledger,
    wanted: Plan,
    release: Release,
    data: Microdata,
    examine: Callable[[Path, Release], None],
    *,
    overwrite: bool,
) -> tuple[Entry, list[str]]:
    """Publish under a ledger; of a breach, say what to generalize."""

    @cache  # a proposal is about what was refused
    def know() -> Microdata:
        return book.read(wanted.table, wanted.schema)

    try:
        with working(f"Checking against {_count(book)}"):
            return book.publish(
                release,
                know,
                wanted.folder,
                format=wanted.format,
                overwrite=overwrite,
                insecure=release.insecure,  # the command was asked first
                examine=examine,
            )
    except PromiseError as error:
        broken = error.subject
        if isinstance(broken, list):
            with working("Refused; looking for what could be left out"):
                error.hint = book.propose(
                    data, wanted.method, broken, known=know(), insecure_seed=wanted.insecure_seed
                )
        raise


def _count(book: Ledger) -> str:
    many = len(book.entries)
    return "1 earlier release" if many == 1 else f"{many} earlier releases"


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
        print_json({"source": book.source, "releases": listed})
        return
    show(f"{book.source}: {len(entries)} {'release' if len(entries) == 1 else 'releases'}.")
    if entries:
        table = make_table("release", "when (UTC)", "method", "promise", "state")
        for entry in entries:
            when = entry.made[:16].replace("T", " ")
            table.add_row(entry.name, when, entry.method, entry.promise, entry.state)
        show(table)


@commands.command("show")
def show_entry(
    folder: Folder,
    release: Annotated[int, typer.Argument(help="The number of a release.")],
    json: Json = False,
) -> None:
    """Show one release: columns, promise, files, and whether the copy is still what it was."""
    from discreet.steward.ledger import Ledger

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


@commands.command()
def check(
    plan: Annotated[Path, typer.Argument(help="A plan of the release to make.")],
    ledger: Annotated[Path, typer.Option(help="The folder of the ledger.")],
    json: Json = False,
) -> None:
    """Try whether a plan's release would go together with all before it; nothing is written."""
    from discreet.publishing import publish as make
    from discreet.steward.ledger import Ledger
    from discreet.steward.plan import Plan
    from discreet.table.microdata import read

    wanted, book = Plan.read(plan), Ledger(ledger)
    with working("Making the release"):
        data = read(wanted.table, wanted.schema)
        release = make(data, wanted.method, insecure_seed=wanted.insecure_seed)
    with working(f"Checking against {_count(book)}"):
        known = book.read(wanted.table, wanted.schema)
        broken, notes = book.check(release, known)
    hint = None
    if broken:
        with working("Refused; looking for what could be left out"):
            hint = book.propose(
                data, wanted.method, broken, known=known, insecure_seed=wanted.insecure_seed
            )
    if json:
        found = [made.to_dict() for made in broken]
        print_json({"passes": not broken, "breaches": found, "notes": notes, "proposal": hint})
    else:
        for made in broken:
            show(f"BREACH: {made}.")
        for note in notes:
            show(f"Note: {note}.")
        show(hint or f"Goes together with {_count(book)}.")
    if broken:
        raise typer.Exit(1)
