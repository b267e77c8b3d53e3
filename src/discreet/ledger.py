"""Ledger: what has been published from a source, and the check of what is to follow.

A folder with a database and a copy of every release. A release is recorded before it is put in
place: whatever stops a publication, nothing is out that the ledger does not know of.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from discreet.errors import DiscreetError, PromiseError, StoreError, list_problems
from discreet.store import (
    copy,
    fingerprint,
    load,
    refuse_to_replace,
    refuse_unwritable,
    remove,
    write,
)

if TYPE_CHECKING:
    from discreet.auditing.composition import Composed
    from discreet.microdata import Microdata, TableLike
    from discreet.release import Format, Method, Release
    from discreet.schema import Schema

DATABASE, LOCK, RELEASES = "ledger.sqlite", "lock.sqlite", "releases"
VERSION, NEW = 1, "the new release"
MOST_LEFT_OUT = 3
"""A proposal leaves out no more attributes."""
RESTORE = "Restore the ledger from a backup."
PATIENCE = 600.0
"""Seconds to wait for another publication to end."""
TABLES = """
CREATE TABLE source (name TEXT NOT NULL, made TEXT NOT NULL, version INTEGER NOT NULL);
CREATE TABLE release (
    number INTEGER PRIMARY KEY CHECK (number > 0),
    made TEXT NOT NULL,
    method TEXT NOT NULL,
    promise TEXT NOT NULL,
    people INTEGER NOT NULL,
    columns TEXT NOT NULL,
    files TEXT NOT NULL,
    folder TEXT NOT NULL,
    replaces INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'published', 'recorded', 'withdrawn'))
);
CREATE TRIGGER keep BEFORE DELETE ON release
BEGIN SELECT RAISE(ABORT, 'what was published stays published'); END;
CREATE TRIGGER settle BEFORE UPDATE ON release
WHEN OLD.state <> 'pending' OR NEW.number <> OLD.number OR NEW.made <> OLD.made
  OR NEW.method <> OLD.method OR NEW.promise <> OLD.promise OR NEW.people <> OLD.people
  OR NEW.columns <> OLD.columns OR NEW.files <> OLD.files OR NEW.folder <> OLD.folder
BEGIN SELECT RAISE(ABORT, 'what was published stays as it was'); END;
"""
State = Literal["pending", "published", "recorded", "withdrawn"]


@dataclass(frozen=True)
class Entry:
    """One release in a ledger."""

    number: int
    made: str
    """When, in universal time."""
    method: str
    promise: str
    people: int
    """Records of its largest table."""
    columns: list[dict[str, str]]
    """Of every attribute its role, type and how it is published."""
    files: dict[str, str]
    """The SHA-256 of each file."""
    folder: str
    """Where it was put."""
    replaces: bool
    """Whether it was to replace a release that lay there."""
    state: State
    """``pending`` until it is in place; ``recorded`` if, after a kill, that is not known, which
    counts as published; ``withdrawn`` if it could not be put there, which does not."""

    @property
    def name(self) -> str:
        """Its number as it is written: that of its copy, too."""
        return f"{self.number:04}"

    def to_dict(self) -> dict[str, Any]:
        """Give the entry as plain values, for ``--json``."""
        return {"name": self.name, **asdict(self)}


class Ledger:
    """What has been published from one source.

    >>> import tempfile, discreet as dc
    >>> ledger = Ledger.init(Path(tempfile.mkdtemp()) / "ledger", source="census 2026")
    >>> ledger.source, ledger.entries
    ('census 2026', [])
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not (self.folder / DATABASE).is_file():
            raise StoreError(
                f"{folder}: there is no ledger.",
                hint=f"Begin one: discreet ledger init {folder} --source NAME.",
            )
        with self._connect() as database:
            row = database.execute("SELECT name, version FROM source").fetchone()
        if row is None:
            raise StoreError(f"{folder}: the ledger has no source.", hint=RESTORE)
        self.source, version = row
        if version != VERSION:
            raise StoreError(
                f"{folder}: a ledger of version {version}; this discreet reads {VERSION}.",
                hint="Install the version of discreet that wrote it.",
            )

    @staticmethod
    def init(folder: str | Path, source: str) -> Ledger:
        """Begin a ledger for a source, in a folder that is empty or not there."""
        folder = Path(folder)
        if not source.strip():
            raise StoreError("A ledger needs the name of its source.", hint="Give --source NAME.")
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise StoreError(
                f"{folder}: is not empty.", hint="Choose another folder for the ledger."
            )
        try:
            (folder / RELEASES).mkdir(parents=True, exist_ok=True)
            draft = folder / f".{DATABASE}"
            with closing(sqlite3.connect(draft)) as database, database:
                database.executescript(TABLES)
                database.execute("INSERT INTO source VALUES (?, ?, ?)", (source, _now(), VERSION))
            draft.rename(folder / DATABASE)
        except OSError as error:
            raise StoreError(f"{folder}: cannot be written ({error.strerror or error}).") from error
        return Ledger(folder)

    @property
    def entries(self) -> list[Entry]:
        """Everything published so far, the oldest first."""
        with self._connect() as database:
            rows = database.execute("SELECT * FROM release ORDER BY number").fetchall()
        return [_read_entry(row) for row in rows]

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
            raise StoreError(
                f"{place}: the ledger's copy of {entry.name} is not what was published.",
                hint="Restore it from the release itself, or from a backup of the ledger.",
            )
        return load(place)

    def copy_of(self, entry: Entry) -> Path:
        """Give the folder of the ledger's own copy."""
        return self.folder / RELEASES / entry.name

    def read(self, source: TableLike, schema: Schema) -> Microdata:
        """Read a table with everything that earlier releases show of it, to check against them."""
        from discreet.auditing.telling import read_known

        return read_known(source, schema, [held for _, held in self._load_all()])

    def _load_all(self) -> list[tuple[str, Release]]:
        """Read every release that is out, or may be."""
        return [(e.name, self.load(e)) for e in self.entries if e.state != "withdrawn"]

    def check(self, release: Release, data: Microdata) -> tuple[list[Composed], list[str]]:
        """Say which promises would not survive a release, and what was left out of account."""
        return _check(release, data, self._load_all())

    def publish(
        self,
        release: Release,
        data: Microdata | Callable[[], Microdata],
        folder: str | Path,
        *,
        format: Format = "parquet",
        overwrite: bool = False,
    ) -> tuple[Entry, list[str]]:
        """Check a release against all before it, record it, and put it into a folder.

        On a breach nothing is written. Gives the entry, and notes on what was not examined. What
        columns the check needs depends on the releases so far: ``data`` may be a function that
        reads them, called when no other publication can come in between.
        """
        folder = Path(folder).absolute()
        self._refuse_inside(folder)
        with self._lock():
            self._clean(folder)
            refuse_to_replace(folder, overwrite=overwrite)
            refuse_unwritable(folder)
            broken, notes = self.check(release, data() if callable(data) else data)
            if broken:
                raise refuse(broken)
            entry = self._record(release, folder, format, overwrite)
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
        seed: int | None = None,
    ) -> str:
        """Say what to generalize so that a release passes: try each quasi-identifier in turn.

        An attribute that is left out is generalized as far as can be. ``known`` is the table with
        all that earlier releases show.
        """
        from discreet.methods import publish

        earlier = self._load_all()
        gone: list[str] = []
        failing = most = max(found.people for found in broken)
        while failing and len(data.quasi_identifiers) > 1 and len(gone) < MOST_LEFT_OUT:
            tried: dict[str, int] = {}
            for name in data.quasi_identifiers:
                with suppress(DiscreetError):  # a method may not do without it
                    release = publish(data.without(name), method, seed=seed)
                    found, _ = _check(release, known, earlier)
                    tried[name] = max((b.people for b in found), default=0)
            best = min(tried, key=tried.__getitem__, default=None)
            if best is None or tried[best] >= failing:
                break
            gone.append(best)
            data, failing = data.without(best), tried[best]
        listed = " and ".join(gone)
        if gone and not failing:
            return f"Leave out {listed}: generalized that far, the release would pass."
        less = f"Without {listed} it would still fail for {failing:,} people of {most:,}. "
        return (
            (less if gone else "Leaving out one attribute does not help. ")
            + "Publish the sensitive attribute only once, or hand out the earlier release's folder "
            "once more as it is."
        )

    def _record(self, release: Release, folder: Path, format: Format, replaces: bool) -> Entry:
        """Write the copy, then the entry; only both together count."""
        number = max((entry.number for entry in self.entries), default=0) + 1
        place = write(
            release, self.folder / RELEASES / f"{number:04}", format=format, overwrite=False
        )
        entry = Entry(
            number, _now(), release.method, str(release.promise.principle),
            max(table.height for table in release.tables.values()),
            [{"name": a.name, "role": str(a.role), "type": str(a.type),
              "published": str(release.recodings[a.name].transformation)} for a in release.schema],
            fingerprint(place), str(folder), replaces, "pending",
        )  # fmt: skip
        with self._connect() as database:
            database.execute(
                "INSERT INTO release VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (entry.number, entry.made, entry.method, entry.promise, entry.people,
                 json.dumps(entry.columns), json.dumps(entry.files), entry.folder,
                 entry.replaces, entry.state),
            )  # fmt: skip
        return entry

    def _place(self, entry: Entry) -> None:
        copy(self.copy_of(entry), Path(entry.folder), overwrite=entry.replaces)
        self._settle(entry, "published")

    def _settle(self, entry: Entry, state: State) -> None:
        with self._connect() as database:
            database.execute("UPDATE release SET state = ? WHERE number = ?", (state, entry.number))

    def _clean(self, wanted: Path) -> None:
        """Finish what was interrupted: put in place what is recorded, remove what is not."""
        entries = self.entries
        known = {entry.name for entry in entries}
        for path in (self.folder / RELEASES).iterdir():
            if path.name not in known:
                remove(path)
        for entry in entries:
            if entry.state != "pending":
                continue
            place = Path(entry.folder)
            try:
                if _is_placed(entry):
                    self._settle(entry, "published")
                else:
                    self.load(entry)
                    self._place(entry)
            except StoreError:
                self._settle(entry, "recorded")
                continue
            if place == wanted:
                raise StoreError(
                    f"Release {entry.name} was interrupted while being put into {place}; it is now "
                    "complete there, and nothing else was published.",
                    hint="If this is not the release you want, publish to another folder.",
                )

    def _refuse_inside(self, folder: Path) -> None:
        ours = self.folder.resolve()
        there = folder.resolve()
        if there.is_relative_to(ours) or ours.is_relative_to(there):
            raise StoreError(
                f"{folder}: a release and its ledger cannot lie in one another.",
                hint="The ledger is yours; keep it away from what is published.",
            )

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        """Open the database for one transaction, which is on the disk when it ends."""
        try:
            with closing(sqlite3.connect(self.folder / DATABASE, timeout=30)) as database:
                database.execute("PRAGMA synchronous = EXTRA")
                with database:
                    yield database
        except sqlite3.DatabaseError as error:
            raise _cannot_use(self.folder / DATABASE, error) from error

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Keep other publishers out until a publication is over, however it ends."""
        until = monotonic() + PATIENCE
        try:
            lock = sqlite3.connect(self.folder / LOCK, timeout=1, isolation_level=None)
        except sqlite3.DatabaseError as error:
            raise _cannot_use(self.folder / LOCK, error) from error
        with closing(lock):
            while True:
                try:
                    lock.execute("BEGIN EXCLUSIVE")
                    break
                except sqlite3.DatabaseError as error:
                    if "locked" not in str(error):
                        raise _cannot_use(self.folder / LOCK, error) from error
                    if monotonic() > until:
                        raise StoreError(
                            f"{self.folder}: another publication is under way.",
                            hint="Wait until it is over, then try again.",
                        ) from error
            yield


def _check(
    release: Release, data: Microdata, earlier: Sequence[tuple[str, Release]]
) -> tuple[list[Composed], list[str]]:
    """Put a release together with earlier ones in every way there is."""
    from discreet.auditing.composition import compose, compose_joins

    if not earlier:
        return [], []
    broken, notes = compose(release, data, earlier, NEW)
    return [*broken, *compose_joins(release, earlier, NEW)], notes


def _is_placed(entry: Entry) -> bool:
    """Whether a release is out."""
    return _holds(Path(entry.folder), entry)


def _holds(place: Path, entry: Entry) -> bool:
    """Whether a folder holds a release, byte by byte, and nothing else."""
    try:
        return fingerprint(place) == entry.files
    except (OSError, StoreError):  # not there, or no longer files only
        return False


def refuse(broken: Sequence[Composed]) -> PromiseError:
    """Say why a release cannot follow the earlier ones."""
    listed = list_problems([str(found) for found in broken])
    return PromiseError(
        f"This release does not go together with what was published before:\n{listed}",
        subject=broken,
    )


def _cannot_use(path: Path, error: sqlite3.DatabaseError) -> StoreError:
    refused = "readonly" in str(error) or "unable to open" in str(error)
    hint = "Check that the ledger's folder is yours to write to." if refused else RESTORE
    return StoreError(f"{path}: cannot be used ({error}).", hint=hint)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _read_entry(row: Sequence[Any]) -> Entry:
    number, made, method, promise, people, columns, files, folder, replaces, state = row
    return Entry(number, made, method, promise, people, json.loads(columns), json.loads(files),
                 folder, bool(replaces), state)  # fmt: skip
