"""In parts: a release of a table that memory does not hold, written where its records are made."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from discreet.principles.thresholds import require_named
from discreet.publishing.backends import Backend
from discreet.publishing.method import Method
from discreet.release import Format
from discreet.release.store import fill_folder, write_words

ApproveDraft = Callable[[Path], None]
"""Verifies a draft, from its bytes on disk, and raises if that or anything else is wrong."""


def publish_in_parts(
    backend: Backend,
    method: Method,
    folder: Path,
    *,
    format: Format,
    overwrite: bool,
    approve: ApproveDraft,
) -> Path:
    """Make a release of rows wherever they are, and put it in place once it is approved.

    Tables are written first, the manifest last: without one a folder is no release.
    """
    method.require_parts()
    facts = backend.facts
    require_named(method.principle, facts.domains, facts.sensitive)

    def fill(draft: Path) -> None:
        made = method.publish_in_parts(backend)
        tables = made.release.tables
        seals = {
            title: leaves.write(show, draft, title, tables[title])
            for title, (leaves, show) in made.parts.items()
        }
        heights = {title: leaves.height for title, (leaves, _) in made.parts.items()}
        write_words(made.release, draft, format, seals, heights)
        del made, tables  # labels may be many, and whoever approves reads them again
        approve(draft)

    return fill_folder(folder, overwrite, fill)
