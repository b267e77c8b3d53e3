"""The book of a ledger: one row per release, in a database that forgets nothing."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from time import monotonic
from typing import Any

from discreet.errors import StoreError
from discreet.files import drafting, keep_private, place_file
from discreet.steward.ledger.rows import RESTORE, EntryRow, SourceRow, State

DATABASE, LOCK = "ledger.sqlite", "lock.sqlite"
VERSION, OLDER = 2, 1
"""Ledgers of an older version know nobody by a token; who is in a release is noted from now on."""
PATIENCE = 600.0
"""Seconds to wait for another publication to end."""
PEOPLE = (
    """CREATE TABLE people (
    number INTEGER PRIMARY KEY REFERENCES release (number),
    attendance BLOB NOT NULL
);""",
    """CREATE TRIGGER keep_people BEFORE DELETE ON people
BEGIN SELECT RAISE(ABORT, 'who was in a release stays known'); END;""",
    """CREATE TRIGGER settle_people BEFORE UPDATE ON people
BEGIN SELECT RAISE(ABORT, 'who was in a release stays as it was'); END;""",
)
TABLES = f"""
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
{"".join(PEOPLE)}
CREATE TRIGGER keep BEFORE DELETE ON release
BEGIN SELECT RAISE(ABORT, 'what was published stays published'); END;
CREATE TRIGGER settle BEFORE UPDATE ON release
WHEN OLD.state <> 'pending' OR NEW.number <> OLD.number OR NEW.made <> OLD.made
  OR NEW.method <> OLD.method OR NEW.promise <> OLD.promise OR NEW.people <> OLD.people
  OR NEW.columns <> OLD.columns OR NEW.files <> OLD.files OR NEW.folder <> OLD.folder
BEGIN SELECT RAISE(ABORT, 'what was published stays as it was'); END;
"""


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
    """Where it was put; empty if that is not known."""
    replaces: bool
    """Whether it was to replace a release that lay there."""
    state: State
    """``pending`` until it is in place; ``recorded`` if, after a kill or where only a copy speaks
    of it, that is not known, which counts as published; ``withdrawn`` if it could not be put there,
    which does not."""

    @property
    def name(self) -> str:
        """Its number as it is written: that of its copy, too."""
        return f"{self.number:04}"

    def to_dict(self) -> dict[str, Any]:
        """Give the entry as plain values, for ``--json``."""
        return {"name": self.name, **asdict(self)}


FIELDS = tuple(field.name for field in fields(Entry))


class Book:
    """The database of a ledger."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if not (folder / DATABASE).is_file():
            raise StoreError(
                f"{folder}: there is no ledger.",
                hint=f"Begin one: discreet ledger init {quote(str(folder))} --source NAME.",
            )
        with self._connect() as database:
            rows = database.execute("SELECT name, version FROM source").fetchall()
        if len(rows) != 1:
            raise StoreError(f"{folder}: the ledger has no source, or several.", hint=RESTORE)
        cells = dict(zip(("name", "version"), rows[0], strict=True))
        told = SourceRow.read(cells, f"{folder / DATABASE}: what the ledger is about")
        self.source, version = told.name, told.version
        if version not in (OLDER, VERSION):
            raise StoreError(
                f"{folder}: a ledger of version {version}; this discreet reads {VERSION}.",
                hint="Install the version of discreet that wrote it.",
            )
        self._is_older = version == OLDER

    @staticmethod
    def init(folder: Path, source: str) -> None:
        """Begin a book, whole or not at all."""
        with drafting(folder / DATABASE, folder=True) as draft:
            try:
                (draft / DATABASE).touch(mode=0o600)  # and so is whatever SQLite writes beside it
                with closing(sqlite3.connect(draft / DATABASE)) as database, database:
                    database.executescript(TABLES)
                    told = (source, now(), VERSION)
                    database.execute("INSERT INTO source VALUES (?, ?, ?)", told)
            except (sqlite3.Error, UnicodeError) as error:
                raise OSError(f"{error}") from error
            place_file(draft / DATABASE, folder / DATABASE)

    @property
    def entries(self) -> list[Entry]:
        """Everything that is written down, the oldest first."""
        with self._connect() as database:
            chosen = f"SELECT {', '.join(FIELDS)} FROM release ORDER BY number"
            rows = database.execute(chosen).fetchall()
        return [_read_entry(row, f"{self.folder / DATABASE}: row {number}")
                for number, row in enumerate(rows, start=1)]  # fmt: skip

    def insert(self, entry: Entry, people: bytes | None = None) -> None:
        """Write an entry down, and who is in the release, where that is known: both or neither."""
        with self._connect() as database:
            if people is not None:
                self._renew(database)
                database.execute("INSERT INTO people VALUES (?, ?)", (entry.number, people))
            marks = ", ".join("?" * len(FIELDS))
            chosen = f"INSERT INTO release ({', '.join(FIELDS)}) VALUES ({marks})"
            database.execute(chosen, _write_entry(entry))

    def _renew(self, database: sqlite3.Connection) -> None:
        """Give a ledger of an older version the table that it lacks."""
        if self._is_older:
            for statement in PEOPLE:
                database.execute(statement)
            database.execute("UPDATE source SET version = ?", (VERSION,))
            self._is_older = False

    @property
    def has_people(self) -> bool:
        """Whether it was noted of any release who is in it."""
        if self._is_older:
            return False
        with self._connect() as database:
            return database.execute("SELECT 1 FROM people LIMIT 1").fetchone() is not None

    def read_people(self, number: int) -> bytes | None:
        """Give what was noted of the people in a release; ``None`` if nothing was."""
        if self._is_older:
            return None
        with self._connect() as database:
            asked = "SELECT attendance FROM people WHERE number = ?"
            row = database.execute(asked, (number,)).fetchone()
        if row is not None and not isinstance(row[0], bytes):
            raise StoreError(
                f"{self.folder / DATABASE}: who was in a release was changed and cannot be read.",
                hint=RESTORE,
            )
        return None if row is None else row[0]

    def settle(self, entry: Entry, state: State) -> None:
        """Say what became of a pending entry; what was said already stays said."""
        with self._connect() as database:
            database.execute(
                "UPDATE release SET state = ? WHERE number = ? AND state = 'pending'",
                (state, entry.number),
            )

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        """Open the database for one transaction, which is on the disk when it ends."""
        try:
            with closing(sqlite3.connect(self.folder / DATABASE, timeout=30)) as database:
                database.execute("PRAGMA synchronous = EXTRA")
                with database:
                    yield database
        except sqlite3.Error as error:
            raise _cannot_use(self.folder / DATABASE, error) from error

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other publishers out until a publication is over, however it ends."""
        until = monotonic() + PATIENCE
        try:
            for name in (LOCK, DATABASE):  # whoever cannot write here is told by SQLite
                keep_private(self.folder / name)
            lock = sqlite3.connect(self.folder / LOCK, timeout=1, isolation_level=None)
        except sqlite3.Error as error:
            raise _cannot_use(self.folder / LOCK, error) from error
        with closing(lock):
            while True:
                try:
                    lock.execute("BEGIN EXCLUSIVE")
                    break
                except sqlite3.Error as error:
                    if "locked" not in str(error):
                        raise _cannot_use(self.folder / LOCK, error) from error
                    if monotonic() > until:
                        raise StoreError(
                            f"{self.folder}: another publication is under way.",
                            hint="Wait until it is over, then try again.",
                        ) from error
            yield


def _cannot_use(path: Path, error: sqlite3.Error) -> StoreError:
    refused = "readonly" in str(error) or "unable to open" in str(error)
    hint = "Check that the ledger's folder is yours to write to." if refused else RESTORE
    hint = "Free some space on its disk." if "is full" in str(error) else hint
    return StoreError(f"{path}: cannot be used ({error}).", hint=hint)


def now() -> str:
    """Give the time as it is written down."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _write_entry(entry: Entry) -> list[Any]:
    row = EntryRow(
        **{**asdict(entry), "replaces": int(entry.replaces),
           "columns": json.dumps(entry.columns), "files": json.dumps(entry.files)}
    )  # fmt: skip
    written = row.model_dump(round_trip=True)
    return [written[field] for field in FIELDS]


def _read_entry(cells: Sequence[Any], place: str) -> Entry:
    row = EntryRow.read(dict(zip(FIELDS, cells, strict=True)), place)
    told = {field: getattr(row, field) for field in FIELDS}
    columns = [column.model_dump() for column in row.columns]
    return Entry(**{**told, "columns": columns, "replaces": bool(row.replaces)})
