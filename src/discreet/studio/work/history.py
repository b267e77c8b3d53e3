"""History: what was published under a ledger, and what all of it leaves possible."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.errors import visible
from discreet.steward.ledger import Ledger
from discreet.steward.ledger.book import Entry
from discreet.steward.ledger.chronicle import Chapter, render_chronicle
from discreet.studio.workers import Tell


def tell(folder: Path, root: Path, *, tell: Tell) -> dict[str, Any]:
    """Tell the history of a ledger, as ``ledger show`` does."""
    book = Ledger(folder)
    chapters = book.tell(tell)
    told = {chapter.entry.number: chapter for chapter in chapters}
    return {
        "source": book.source,
        "folder": folder.name,
        "entries": [_describe(entry, told.get(entry.number), root) for entry in book.entries],
        "parts": visible(render_chronicle(book.source, chapters, whole=False)),
        "page": render_chronicle(book.source, chapters),
    }


def _describe(entry: Entry, chapter: Chapter | None, root: Path) -> dict[str, Any]:
    place = Path(entry.folder)
    near = place.relative_to(root) if entry.folder and place.is_relative_to(root) else place
    shown = {**entry.to_dict(), "folder": str(near) if entry.folder else ""}
    return {"entry": shown, "told": {} if chapter is None else chapter.to_dict()}
