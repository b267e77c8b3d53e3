"""Folder: the releases, ledgers and evidence that lie in the folder of the studio."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from discreet.errors import DiscreetError
from discreet.release.manifest import MANIFEST, understand
from discreet.release.series import find_releases
from discreet.release.store import read_manifest
from discreet.steward.evidence import NAME
from discreet.steward.ledger.book import DATABASE

MOST_LISTED, DEEPEST = 200, 3
"""How much is listed of one kind, and how many folders deep it is looked for."""


def list_releases(root: Path) -> list[dict[str, Any]]:
    """List the releases of a folder, and folders that hold several of one table."""
    found: list[dict[str, Any]] = []
    columns: dict[Path, frozenset[str]] = {}
    several: dict[Path, list[Path]] = {}
    for place in _walk(root):
        if _holds(place, MANIFEST):
            try:
                release, _ = understand(read_manifest(place))
            except DiscreetError:  # a data package of somebody else's
                continue
            columns[place] = frozenset(release.schema.names)
            asked = " and ".join(str(part) for part in release.promise.asked.parts)
            found.append({"name": _name(place, root), "method": release.method, "said": asked,
                          "several": 0})  # fmt: skip
        else:
            several[place] = find_releases(place)
    for place, held in several.items():
        if len(held) > 1 and len({columns.get(one) for one in held}) == 1:
            said = ", ".join(one.name for one in held)
            found.append({"name": _name(place, root), "method": f"{len(held)} releases asked as "
                          "one", "said": said, "several": len(held)})  # fmt: skip
    return sorted(found, key=lambda one: str(one["name"]))[:MOST_LISTED]


def list_ledgers(root: Path) -> list[dict[str, Any]]:
    """List the ledgers of a folder."""
    from discreet.steward.ledger.book import Book

    found = []
    for place in _walk(root):
        if _holds(place, DATABASE):
            try:
                found.append({"name": _name(place, root), "said": Book(place).source})
            except DiscreetError as error:
                found.append({"name": _name(place, root), "said": error.message})
    return sorted(found[:MOST_LISTED], key=lambda one: one["name"])


def list_evidence(root: Path) -> list[str]:
    """List the folders that hold evidence."""
    return sorted(_name(place, root) for place in _walk(root) if _holds(place, NAME))


def _walk(root: Path) -> Iterator[Path]:
    """Go through folders, not hidden ones, nor into releases and ledgers."""
    for place, folders, _ in os.walk(root):
        here = Path(place)
        yield here
        whole = (here / MANIFEST).exists() or (here / DATABASE).exists()
        deep = whole or len(here.relative_to(root).parts) >= DEEPEST
        folders[:] = [] if deep else [name for name in folders if name[0] not in "._"]


def _holds(place: Path, name: str) -> bool:
    file = place / name
    return file.is_file() and not file.is_symlink()


def _name(place: Path, root: Path) -> str:
    return str(place.relative_to(root))
