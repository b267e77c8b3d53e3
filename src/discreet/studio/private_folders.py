"""Private folders: for files that were dropped or made, which only this user can enter."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path

from discreet.files import temporary_folder
from discreet.studio.places import confine

MOST_FILES = 10_000
"""Files that may be dropped together."""


class TooLarge(Exception):
    """More came in than may."""

    def __init__(self, largest: int) -> None:
        super().__init__(
            f"That is more than {largest:,} bytes. Put the file into the folder that the studio "
            "was started in, and open it there."
        )


class PrivateFolder:
    """A folder that is made when it is needed, filled as files come in, and removed in the end."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._held = ExitStack()
        self._bytes = self._files = 0

    @property
    def folder(self) -> Path:
        """Where the files lie."""
        if self._folder is None:
            self._folder = self._held.enter_context(temporary_folder())
        return self._folder

    def holds(self, path: Path) -> bool:
        """Whether a file is one of these, or was made beside them."""
        return self._folder is not None and path.is_relative_to(self._folder)

    async def take(self, name: str, chunks: AsyncIterator[bytes], largest: int) -> Path:
        """Write a file as it comes in, unless all of them together become too large."""
        place = confine(self.folder, name)
        place.parent.mkdir(parents=True, exist_ok=True)
        self._files += 1
        try:
            with place.open("wb") as file:
                async for chunk in chunks:
                    self._bytes += len(chunk)
                    if self._bytes > largest or self._files > MOST_FILES:
                        raise TooLarge(largest)
                    file.write(chunk)
        except BaseException:
            place.unlink(missing_ok=True)
            raise
        return place

    def forget(self) -> None:
        """Remove them, with all that was made of them."""
        self._held.close()
        self._folder = None
        self._bytes = self._files = 0
