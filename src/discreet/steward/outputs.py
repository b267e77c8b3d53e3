"""Outputs: where a steward's files may go, checked before any work."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from discreet.errors import StoreError
from discreet.files import resolve


def refuse_outputs(
    outputs: Sequence[Path | None],
    *,
    inputs: Sequence[Path],
    release: Path | None = None,
    overwrite: bool,
) -> None:
    """Check where files will go before any work: not over what was given, not into a release."""
    read = [resolve(given) for given in inputs]
    releases = [given for given in read if (given / "datapackage.json").exists()]
    for path in [*outputs, release]:
        if path is None:
            continue
        place = resolve(path)
        if any((folder / "ledger.sqlite").exists() for folder in (place, *place.parents)):
            raise StoreError(
                f"{path}: lies inside a ledger, which only publications under it write to.",
                hint="Choose another place.",
            )
        if place in read or any(place.is_relative_to(given) for given in releases):
            raise StoreError(
                f"{path}: is what the command reads; it will not be written over.",
                hint="Choose another name.",
            )
        if path is release:
            continue
        holders = [folder for folder in place.parents if (folder / "datapackage.json").exists()]
        there = None if release is None else resolve(release)
        if holders or (there is not None and place.is_relative_to(there)):
            raise StoreError(
                f"{path}: lies inside the release, but is not for the public.",
                hint="Write it elsewhere.",
            )
        if path.is_dir() or (there is not None and there.is_relative_to(place)):
            raise StoreError(f"{path}: is a folder.", hint="Give the name of a file.")
        if path.exists() and not path.is_file():
            raise StoreError(
                f"{path}: is a device or a pipe, not a file.", hint="Give the name of a file."
            )
        if path.exists() and not overwrite:
            raise StoreError(
                f"{path}: exists already.", hint="Choose another name, or add --overwrite."
            )
