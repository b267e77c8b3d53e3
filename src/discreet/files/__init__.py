"""Files: opened only if they are plain, and replaced whole or not at all.

What is written is a draft first, beside its place, and then gets its name. What is written is its
owner's only, unless it is said that it is shared: then others may read it, as far as the umask
lets them.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedReader
from pathlib import Path

from discreet.errors import StoreError
from discreet.files.drafts import (
    OWNER,
    drafting,
    find_drafts,
    remove,
    replacing_in,
    sweep,
    temporary_folder,
)
from discreet.files.placing import exchange, place_file, place_folder, settle, sync

__all__ = [
    "digest", "digest_open", "drafting", "exchange", "find_drafts", "keep_private",
    "open_plain", "place_file", "place_folder", "private_folder", "read_shared_mode", "read_text",
    "refuse_unwritable", "remove", "replacing_in", "resolve", "settle", "split_lines", "sweep",
    "sync", "temporary_folder", "write_file", "write_files", "write_text", "writing",
]  # fmt: skip

BEFORE = "before"
"""A folder of a draft, for what is replaced."""
LARGEST_TEXT = 2**27
"""Bytes of the largest text that is read whole."""


def open_plain(path: Path) -> BufferedReader:
    """Open a file to read; a folder, a pipe or a device is an ``OSError``, and never waited for."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file", str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_text(path: Path, *, encoding: str = "utf-8") -> str:
    """Read a plain file of text; one that is too large is an ``OSError``."""
    with open_plain(path) as file:
        content = file.read(LARGEST_TEXT + 1)
    if len(content) > LARGEST_TEXT:
        raise OSError(errno.EFBIG, f"it has more than {LARGEST_TEXT:,} bytes", str(path))
    return content.decode(encoding)


def split_lines(text: str) -> list[str]:
    """Split a text where lines end, and not at other characters that Python takes for that.

    >>> split_lines("a\\u2028b\\n\\fc")
    ['a\\u2028b', '\\x0cc']
    """
    return io.StringIO(text, newline=None).read().split("\n")


def digest(path: Path) -> str:
    """Give the SHA-256 of a file."""
    with open_plain(path) as file:
        return digest_open(file)


def digest_open(file: BufferedReader) -> str:
    """Give the SHA-256 of an open file, and go back to its start."""
    found = hashlib.file_digest(file, "sha256").hexdigest()
    file.seek(0)
    return found


def resolve(path: Path) -> Path:
    """Follow links to where something lies or is to be written; what cannot be is an error."""
    try:
        place = path.resolve()
        str(place).encode()
    except (OSError, RuntimeError, ValueError) as error:
        why = "its links lead nowhere"
        if isinstance(error, ValueError):
            why = "its name is not UTF-8" if isinstance(error, UnicodeError) else "it holds a NUL"
        raise StoreError(f"{path}: {why}.", hint="Rename it, or choose another place.") from error
    return place


def write_file(path: Path, fill: Callable[[Path], object], *, shared: bool = False) -> Path:
    """Write one file whole or not at all: ``fill`` writes a draft, which is then renamed.

    Where a link lies, what it points to is written; what was there leaves its permissions, but
    those of others only to what is ``shared``.
    """
    place = resolve(path)
    with writing(path), drafting(place, shared=shared) as draft:
        fill(draft)
        _permit(draft, place, shared=shared)
        place_file(draft, place)
    return path


def _permit(draft: Path, place: Path, *, shared: bool) -> None:
    """Give a draft the permissions of what is in its place, but others none if it is not shared."""
    if place.exists() or not shared:
        mode = stat.S_IMODE((place if place.exists() else draft).stat().st_mode)
        draft.chmod(mode if shared else mode & OWNER)


def write_files(
    paths: Sequence[Path], fill: Callable[[Path], object], *, shared: bool = False
) -> None:
    """Write files that belong together, all or none: ``fill`` writes drafts into a folder.

    Each then has a draft beside its place, as another folder may be on another disk. If one of them
    cannot be put in place, what was there before comes back.
    """
    places = [resolve(path) for path in paths]
    with writing(paths[0]), ExitStack() as stack:
        beside: dict[Path, Path] = {}
        for place in places:
            if place.parent not in beside:
                beside[place.parent] = stack.enter_context(drafting(place, folder=True))
        filled = beside[places[0].parent]
        fill(filled)
        drafts = [beside[place.parent] / path.name
                  for path, place in zip(paths, places, strict=True)]  # fmt: skip
        for draft in drafts:
            if draft.parent != filled:
                shutil.copyfile(filled / draft.name, draft)
                (filled / draft.name).unlink()
        for folder in beside.values():
            settle(folder)
            (folder / BEFORE).mkdir()
        tried: list[tuple[Path, Path]] = []
        try:
            for draft, place in zip(drafts, places, strict=True):
                tried.append((draft, place))
                _permit(draft, place, shared=shared)
                if place.exists():
                    shutil.copy2(place, draft.parent / BEFORE / draft.name)
                place_file(draft, place)
        except BaseException:
            for draft, place in tried:
                before = draft.parent / BEFORE / draft.name
                if draft.exists():  # it has not been put in place
                    continue
                if before.exists():
                    before.replace(place)
                else:
                    place.unlink(missing_ok=True)
            raise


def write_text(path: Path, text: str, *, shared: bool = False) -> Path:
    """Write a text as it is, whole or not at all."""

    def fill(draft: Path) -> None:
        draft.write_text(text, encoding="utf-8", newline="")

    return write_file(path, fill, shared=shared)


@contextmanager
def private_folder(folder: Path) -> Iterator[None]:
    """Make a folder to be filled that only its owner can enter; one that is there stays as it is.

    If filling it fails, what was made and holds nothing is gone.
    """
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=OWNER, exist_ok=True)
        yield
    except BaseException:
        with suppress(OSError):
            for place in missing:
                place.rmdir()
        raise


def keep_private(path: Path) -> None:
    """Make a file that only its owner can read, or take from others what is there; if one may."""
    with suppress(OSError):
        path.touch(mode=0o600)
        path.chmod(stat.S_IMODE(path.stat().st_mode) & OWNER)


def read_shared_mode(draft: Path) -> int:
    """Give what others may in a folder that is shared, by the umask; the draft is empty still."""
    new = draft / "new"  # the umask cannot be read without changing it for all threads
    new.mkdir()
    mode = stat.S_IMODE(new.stat().st_mode)
    new.rmdir()
    return mode


def refuse_unwritable(path: Path, *, folder: bool = False) -> None:
    """Refuse a place in which nothing can be written, or replaced; leave nothing there."""
    place = resolve(path)
    with writing(path), drafting(place, folder=folder):
        if folder:
            with replacing_in(place.parent):
                pass


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Take what keeps a file or folder from being written as one error that names it."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
        check = "Check that its folder exists and is yours to write to"
        if error.errno == errno.EBUSY:
            check = f"Let the program end that keeps {error.filename} locked (as flock does)"
        left = "" if error.errno == errno.EROFS else "; nothing was left behind"
        raise StoreError(
            f"{path}: cannot be written ({error.strerror or error}).",
            hint=f"{'Free some space' if full else check}, or choose another place{left}.",
        ) from error
