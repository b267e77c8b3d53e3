"""Ledger: what has been published from a source, and the check of what is to follow.

A folder with a database and a copy of every release. A release is recorded before it is put in
place: whatever stops a publication, nothing is out that the ledger does not know of.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import StoreError
from discreet.files import find_drafts, private_folder, refuse_unwritable, resolve, sweep
from discreet.release.store import (
    copy,
    fingerprint,
    load,
    refuse_insecure,
    refuse_to_replace,
    write,
)
from discreet.steward.ledger.book import Book, Entry, now
from discreet.steward.ledger.checking import Held, accept, check_release, refuse
from discreet.steward.ledger.chronicle import Chapter, tell_chronicle
from discreet.steward.ledger.copies import adopt, describe
from discreet.steward.ledger.people import (
    KEY_FILE,
    Attendance,
    draw_key,
    make_key,
    note_people,
    read_key,
    recall_signatures,
    sign,
)
from discreet.steward.ledger.proposing import Proposal, Proposals
from discreet.steward.ledger.rows import State

if TYPE_CHECKING:
    from discreet.auditing.composed import Composed
    from discreet.auditing.composition import Remembered
    from discreet.publishing.method import Method
    from discreet.publishing.signatures import History
    from discreet.release import Format, Release
    from discreet.table.facts import Progress
    from discreet.table.microdata import Microdata, TableLike
    from discreet.table.schema import Schema

RELEASES = "releases"
NUMBERED = re.compile(r"(?!0000)[0-9]{4}|[1-9][0-9]{4,8}")
"""The name of a copy."""


class Ledger:
    """What has been published from one source.

    >>> import tempfile, discreet as dc
    >>> ledger = Ledger.init(Path(tempfile.mkdtemp()) / "ledger", source="census 2026")
    >>> ledger.source, ledger.entries
    ('census 2026', [])
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._book = Book(self.folder)
        self._loaded: dict[str, Held] = {}
        self.source: str = self._book.source
        copies = self.folder / RELEASES
        if copies.is_symlink() or not copies.is_dir():
            what = "is a link" if copies.is_symlink() else "is not there"
            raise StoreError(
                f"{copies}: {what}; the copies of the ledger lie in a folder of its own.",
                hint="Move the folder back, or restore the ledger from a backup.",
            )

    @staticmethod
    def init(folder: str | Path, source: str) -> Ledger:
        """Begin a ledger for a source, in a folder that is empty or not there."""
        folder = Path(folder)
        if not source.strip():
            raise StoreError("A ledger needs the name of its source.", hint="Give --source NAME.")
        if folder.exists() and (not folder.is_dir() or _is_taken(folder)):
            raise StoreError(
                f"{folder}: is not empty.", hint="Choose another folder for the ledger."
            )
        try:
            with private_folder(folder), private_folder(folder / RELEASES):
                Book.init(folder, source)
        except OSError as error:
            raise StoreError(
                f"{folder}: cannot be written ({error.strerror or error}).",
                hint="Choose another place for the ledger, or another name for its source.",
            ) from error
        return Ledger(folder)

    @property
    def entries(self) -> list[Entry]:
        """Everything published so far, the oldest first.

        A copy that the database does not know of, because an older one was restored, counts too.
        """
        # copies before rows: a copy is named only after its row is written
        copies = {path.name: path for path in (self.folder / RELEASES).iterdir()
                  if NUMBERED.fullmatch(path.name)}  # fmt: skip
        known = self._book.entries
        for entry in known:
            copies.pop(entry.name, None)
        return sorted([*known, *map(adopt, copies.values())], key=lambda entry: entry.number)

    def add_epsilons(self) -> Fraction:
        """Add up the ε of all releases that promise differential privacy, and are or may be out.

        To somebody who has all of them that is the ε they promise together.
        """
        from discreet.auditing.noise import add_epsilons

        if not any("differential-privacy" in entry.promise for entry in self.entries):
            return Fraction(0)  # to read all copies takes long
        return add_epsilons([held.release for held in self._load_all()])

    def find(self, number: int) -> Entry:
        """Give one entry."""
        for entry in self.entries:
            if entry.number == number:
                return entry
        known = ", ".join(entry.name for entry in self.entries) or "none so far"
        raise StoreError(
            f"There is no release {number:04} in this ledger.", hint=f"Known: {known}."
        )

    def load(self, entry: Entry) -> Release:
        """Read the copy of a release, which must be what was recorded."""
        place = self.copy_of(entry)
        if not _holds(place, entry):
            what = "is not what was published" if place.exists() else "is gone"
            raise StoreError(
                f"{place}: the ledger's copy of {entry.name} {what}.",
                hint="Restore it from the release itself, or from a backup of the ledger.",
            )
        return load(place)

    def copy_of(self, entry: Entry) -> Path:
        """Give the folder of the ledger's own copy."""
        place = self.folder / RELEASES / entry.name
        if entry.state == "pending" and not place.exists():  # noted, and struck before it was named
            return next((made for made in find_drafts(place) if _holds(made, entry)), place)
        return place

    def read(self, source: TableLike, schema: Schema) -> Microdata:
        """Read a table with everything that earlier releases show of it, to check against them."""
        from discreet.forms.disclosure import read_known

        return read_known(source, schema, [held.release for held in self._load_all()])

    def _load_all(self) -> list[Held]:
        """Give every release that is out, or may be, each read once while it is what it was."""
        out = [entry for entry in self.entries if entry.state != "withdrawn"]
        for entry in out:
            if entry.name not in self._loaded or not _holds(self.copy_of(entry), entry):
                kept = self._book.read_people(entry.number)
                people = None if kept is None else Attendance.from_bytes(kept)
                self._loaded[entry.name] = Held(entry.name, self.load(entry), people)
        return [self._loaded[entry.name] for entry in out]

    def tell(self, progress: Progress = lambda *_: None) -> list[Chapter]:
        """Tell of all releases, the oldest first, who is in each and what all so far leave open."""
        held = {one.name: one for one in self._load_all()}
        out = [(entry, held[entry.name]) for entry in self.entries if entry.name in held]
        return tell_chronicle(out, progress)

    def prepare(self, method: Method, data: Microdata) -> Method:
        """Let a method know the signatures that earlier releases gave to people of a table."""
        held = [one.people for one in self._load_all() if one.people is not None]
        if data.keys is None or not any(one.signatures for one in held):
            return method
        return method.remember(recall_signatures(data, self._read_key(keep=False), held))

    def check(
        self,
        release: Release,
        data: Microdata,
        signed: History | None = None,
        *,
        accept_estimates: bool = False,
    ) -> tuple[list[Composed], list[str]]:
        """Say which promises would not survive a release, and what was left out of account.

        A release of a table that changed is examined with the people who are in each, where a key
        says who; else it is refused. ``signed`` are the signatures that a republication gave
        (:func:`sign`).
        """
        people = self._note(release, data, signed)
        broken, notes = check_release(release, data, people, self._load_all())
        return accept(release, broken, notes)[1:] if accept_estimates else (broken, notes)

    def _note(
        self, release: Release, data: Microdata, signed: History | None, *, keep: bool = False
    ) -> Attendance | None:
        """Note who is in a release, where a key says so and everybody has one row."""
        if data.keys is None or data.persons is not None:
            return None
        return note_people(release, data, self._read_key(keep=keep), signed)

    def _read_key(self, *, keep: bool) -> bytes:
        """Read the key of the ledger; draw one when people are first named, and keep it or not."""
        if not (self.folder / KEY_FILE).exists() and not self._book.has_people:
            if not keep:
                return draw_key()
            make_key(self.folder)
        return read_key(self.folder)

    def publish(
        self,
        release: Release,
        data: Microdata | Callable[[], Microdata],
        folder: str | Path,
        *,
        format: Format = "parquet",
        overwrite: bool = False,
        insecure: bool = False,
        examine: Callable[[Path, Release], None] | None = None,
        signed: History | None = None,
        accept_estimates: bool = False,
    ) -> tuple[Entry, list[str]]:
        """Check a release against all before it, audit it, record it, and put it into a folder.

        On a breach nothing is written. Gives the entry, and notes on what was not examined. What
        columns the check needs depends on the releases so far: ``data`` may be a function that
        reads them, called when no other publication can come in between. ``examine`` is shown the
        draft's folder and what was read back from it, in place of the audit here, and raises if it
        must not go out. A release that a seed decided is taken only with ``insecure``. With
        ``accept_estimates`` it is enough that promises hold by estimate, where the worlds of all
        releases are too many to be counted; the release then says so.
        """
        refuse_insecure(release, insecure=insecure)
        folder = resolve(Path(folder))
        self._refuse_inside(folder)
        with self._book.lock():
            self._clean(folder)
            refuse_to_replace(folder, overwrite=overwrite)
            refuse_unwritable(folder, folder=True)
            known = data() if callable(data) else data
            people = self._note(release, known, signed, keep=True)
            broken, notes = check_release(release, known, people, self._load_all())
            if accept_estimates:
                release, broken, notes = accept(release, broken, notes)
            if broken:
                raise refuse(broken)
            check = examine or (lambda _, written: self._examine(written, known))
            entry = self._record(release, folder, format, overwrite, check, people)
            try:
                self._place(entry)
            except BaseException:
                self._settle(entry, "published" if _is_placed(entry) else "withdrawn")
                raise
        return self.find(entry.number), notes

    def propose(
        self,
        data: Microdata,
        method: Method,
        broken: Sequence[Composed],
        *,
        known: Microdata,
        insecure_seed: int | None = None,
        progress: Progress = lambda *_: None,
    ) -> str:
        """Say how a release would pass, with the least loss; see :meth:`list_proposals`."""
        found = self.list_proposals(
            data, method, broken, known=known, insecure_seed=insecure_seed, progress=progress
        )
        return found[1]

    def list_proposals(
        self,
        data: Microdata,
        method: Method,
        broken: Sequence[Composed],
        *,
        known: Microdata,
        insecure_seed: int | None = None,
        progress: Progress = lambda *_: None,
    ) -> tuple[list[Proposal], str]:
        """List how a release would pass: with less, with larger groups, or by republication.

        Each is tried for real, and the one by which least is lost is the first, and said; or, if
        there is none, how near leaving attributes out comes. An attribute that is
        left out is generalized as far as can be. ``known`` is the table with all that earlier
        releases show.
        """
        earlier = self._load_all()
        remembered: Remembered = {}

        def check(release: Release, signed: History | None) -> list[Composed]:
            people = self._note(release, known, signed)
            return check_release(release, known, people, earlier, remembered)[0]

        found = Proposals(data, method, check, insecure_seed, progress)
        return found.find(broken, lambda other: self.prepare(other, data))

    def _record(
        self,
        release: Release,
        folder: Path,
        format: Format,
        replaces: bool,
        examine: Callable[[Path, Release], None],
        people: Attendance | None = None,
    ) -> Entry:
        """Write the copy, then the entry, then name the copy; whoever is struck can be told so."""
        number = max((entry.number for entry in self.entries), default=0) + 1
        place = self.folder / RELEASES / f"{number:04}"

        def note(draft: Path, written: Release) -> None:
            examine(draft, written)
            self._book.insert(
                describe(number, now(), written, draft, str(folder), replaces, "pending"),
                None if people is None else people.to_bytes(),
            )

        try:
            write(release, place, format=format, overwrite=False, approve=note,
                  insecure=release.insecure)  # fmt: skip
        except BaseException:
            # an interrupt may strike when the entry is written and nobody knows of it yet
            for entry in self._book.entries:
                if entry.number == number:
                    self._settle(entry, "withdrawn")
            raise
        return self.find(number)

    def _examine(self, release: Release, data: Microdata) -> None:
        """Refuse a release of which the audit finds that it breaks its promise.

        Promises about joins have just been asked, if there is anything to join with.
        """
        from discreet.auditing import audit
        from discreet.principles import KAnonymity
        from discreet.principles.base import part_joins

        alone, joins = part_joins(release.promise.asked)
        if joins and all(entry.state == "withdrawn" for entry in self.entries):
            raise StoreError(
                f"{joins[0]} is about joins, and this ledger has no earlier release.",
                hint="Record the earlier releases first, or audit it yourself: examine=....",
            )
        audit(release, data, principle=alone or KAnonymity(1)).require_kept()

    def _place(self, entry: Entry) -> None:
        copy(self.copy_of(entry), Path(entry.folder), overwrite=entry.replaces)
        self._settle(entry, "published")

    def _settle(self, entry: Entry, state: State) -> None:
        self._book.settle(entry, state)

    def _clean(self, wanted: Path) -> None:
        """Finish what was interrupted: put in place what is noted, remove drafts of what is not.

        What did not come from here stays where it is.
        """
        entries = self.entries
        noted = {entry.number for entry in self._book.entries}
        for entry in entries:
            if entry.number not in noted:
                self._book.insert(entry)
        for entry in entries:
            if entry.state != "pending":
                continue
            named = self.folder / RELEASES / entry.name
            if (copied := self.copy_of(entry)) != named:
                copied.rename(named)
            place = Path(entry.folder)
            sweep(place.parent)
            try:
                if _is_placed(entry):
                    self._settle(entry, "published")
                elif not named.exists():
                    # a copy gets its number before it is put anywhere: this one never was
                    self._settle(entry, "withdrawn")
                    continue
                else:
                    self.load(entry)
                    self._place(replace(entry, replaces=_is_older(entry, entries)))
            except StoreError:
                self._settle(entry, "recorded")
                continue
            if place == wanted:
                raise StoreError(
                    f"Release {entry.name} was interrupted while being put into {place}; it is now "
                    "complete there, and nothing else was published.",
                    hint="If this is not the release you want, publish to another folder.",
                )
        sweep(self.folder / RELEASES)

    def _refuse_inside(self, folder: Path) -> None:
        ours = resolve(self.folder)
        if folder.is_relative_to(ours) or ours.is_relative_to(folder):
            raise StoreError(
                f"{folder}: a release and its ledger cannot lie in one another.",
                hint="The ledger is yours; keep it away from what is published.",
            )


def _is_taken(folder: Path) -> bool:
    """Whether a folder holds more than what a ledger that was never begun has left."""
    sweep(folder)
    others = (path for path in folder.iterdir() if path.name != RELEASES or not path.is_dir())
    return any(others) or ((folder / RELEASES).is_dir() and any((folder / RELEASES).iterdir()))


def _is_placed(entry: Entry) -> bool:
    """Whether a release is out."""
    return _holds(Path(entry.folder), entry)


def _is_older(entry: Entry, entries: Sequence[Entry]) -> bool:
    """Whether an entry was to replace what lies in its folder, and nothing newer came since."""
    there = [e.number for e in entries if _holds(Path(entry.folder), e)]
    return entry.replaces and bool(there) and max(there) < entry.number


def _holds(place: Path, entry: Entry) -> bool:
    """Whether a folder holds a release, byte by byte, and nothing else."""
    try:
        return fingerprint(place) == entry.files
    except (OSError, StoreError):  # not there, or no longer files only
        return False


__all__ = ["Entry", "Ledger", "State", "refuse", "sign"]
