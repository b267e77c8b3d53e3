"""Copies: what a ledger writes down of a release that lies somewhere."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import StoreError
from discreet.forms import find_form
from discreet.release.manifest import MANIFEST
from discreet.release.store import fingerprint, load
from discreet.steward.ledger.book import Entry
from discreet.steward.ledger.rows import RESTORE, State

if TYPE_CHECKING:
    from discreet.release import Release


def describe(
    number: int, made: str, release: Release, place: Path, folder: str, replaces: bool, state: State
) -> Entry:
    """Write the entry of a release of which a copy lies at a place."""
    return Entry(
        number, made, release.method, str(release.promise.asked),
        _count_records(release),
        [{"name": a.name, "role": str(a.role), "type": str(a.type),
          "published": str(release.recodings[a.name].transformation)} for a in release.schema],
        fingerprint(place), folder, replaces, state,
    )  # fmt: skip


def _count_records(release: Release) -> int:
    """Count the records of the largest table; of tables of counts, how many people these count."""
    if not find_form(release.form).shows_people:
        return int(release.views[0].people.sum())
    return max(table.height for table in release.tables.values())


def adopt(place: Path) -> Entry:
    """Write the entry of a copy that nothing else speaks of; what it is must be known."""
    try:
        if place.is_symlink():
            raise StoreError("a link")
        made = datetime.fromtimestamp((place / MANIFEST).stat().st_mtime, UTC)
        when = made.isoformat(timespec="seconds")
        return describe(int(place.name), when, load(place), place, "", False, "recorded")
    except (StoreError, OSError) as error:
        reason = error.message if isinstance(error, StoreError) else error.strerror
        raise StoreError(
            f"{place}: is not in the ledger's book and cannot be read ({reason}); it may be out.",
            hint=RESTORE + " If it was never published, move it elsewhere.",
        ) from error
