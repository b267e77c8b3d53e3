"""Places: names that a browser gives, found in the folder of the studio and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from discreet.errors import StoreError
from discreet.files import resolve

LONGEST_NAME = 255
DEEPEST = 3
"""How deep the folders of a release or a ledger are."""
UNCHANGED = "Give the folder as its publisher gave it to you."


def confine(folder: Path, name: str | Path) -> Path:
    """Give the place of a name in a folder; one that leads out of it is refused.

    Links are followed first, so that none leads out either; nor may one that lies in a folder that
    is named, such as a file of a release.
    """
    if len(str(name)) > LONGEST_NAME * 16:
        raise StoreError("The name is too long.", hint="Choose a file of the folder.")
    place = resolve(folder / name)
    for one in (place, *_list_links(place)):
        if not resolve(one).is_relative_to(folder):
            said = name if one == place else one.relative_to(folder)
            raise StoreError(
                f"{said}: lies outside of the folder that the studio was started in.",
                hint="Put it into the folder, or start the studio in another one.",
            )
    return place


def _list_links(place: Path) -> Iterator[Path]:
    """List the links that lie in a folder, as deep as releases and ledgers go."""
    for here, folders, files in os.walk(place):
        yield from (one for name in (*folders, *files) if (one := Path(here, name)).is_symlink())
        if len(Path(here).relative_to(place).parts) >= DEEPEST:
            folders.clear()


def take_name(name: str) -> str:
    """Give the plain name of a file that was dropped; one that is a path is refused.

    >>> take_name("people 2026.csv")
    'people 2026.csv'
    """
    plain = name.strip()
    if not plain or len(plain.encode()) > LONGEST_NAME or plain.startswith("."):
        raise StoreError(f"{name!r}: is no name for a file.", hint="Rename it, then drop it again.")
    if any(sign in plain for sign in "/\\:\0") or not plain.isprintable():
        raise StoreError(
            f"{name!r}: a name may not hold slashes, colons or signs that cannot be seen.",
            hint="Rename it, then drop it again.",
        )
    return plain


def take_path(name: str) -> str:
    """Give the place of a file in a folder that was dropped; one that leads out is refused.

    >>> take_path("people/part-1.parquet")
    'people/part-1.parquet'
    """
    for part in name.split("/"):
        if part.strip(".") == "" or len(part.encode()) > LONGEST_NAME:
            raise StoreError(f"{name!r}: is no place in a release.", hint=UNCHANGED)
        if any(sign in part for sign in "\\:\0") or not part.isprintable():
            raise StoreError(
                f"{name!r}: holds backslashes, colons or signs that cannot be seen.",
                hint=UNCHANGED,
            )
    return name
