"""Files: opened only if they are plain, and replaced whole or not at all.

What is written is a draft first, beside its place and locked while somebody fills it. Whoever is
killed leaves an unlocked draft behind, which the next one who writes there removes. Nothing else
is ever removed.

What is written is its owner's only, unless it is said that it is shared: then others may read it,
as far as the umask lets them.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import io
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path
from tempfile import gettempdir
from time import monotonic, sleep

from discreet.errors import StoreError

try:
    import fcntl
except ImportError:  # no such locks on this system: drafts of the killed stay
    fcntl = None  # type: ignore[assignment]

LARGEST_TEXT = 2**27
"""Bytes of the largest text that is read whole."""
DRAFT, ASIDE = ".discreet-draft", ".discreet-aside"
OURS = re.compile(r"\.(.+)\.[0-9a-f]{8}(\.discreet-draft|\.discreet-aside)", re.DOTALL)
EXCHANGE, HERE = 2, -100
"""What Linux (``RENAME_EXCHANGE``, ``AT_FDCWD``) and macOS (``RENAME_SWAP``) call it."""
UNLOCKED = -1
OWNER = 0o700
"""What the owner of a file or folder may."""
PATIENCE = 60.0
"""Seconds to wait for others who replace something in the same folder."""


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

    If one of them cannot be put in place, what was there before comes back.
    """
    places = [resolve(path) for path in paths]
    with writing(paths[0]), drafting(places[0], folder=True) as draft:
        fill(draft)
        settle(draft)
        before = draft / "before"
        before.mkdir()
        tried: list[tuple[str, Path]] = []
        try:
            for path, place in zip(paths, places, strict=True):
                tried.append((path.name, place))
                _permit(draft / path.name, place, shared=shared)
                if place.exists():
                    shutil.copy2(place, before / path.name)
                place_file(draft / path.name, place)
        except BaseException:
            for name, place in tried:
                if (draft / name).exists():  # it has not been put in place
                    continue
                if (before / name).exists():
                    (before / name).replace(place)
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


def share(draft: Path) -> None:
    """Let others enter the draft of a folder, as far as the umask lets them."""
    new = draft / "new"  # the umask cannot be read without changing it for all threads
    new.mkdir()
    mode = stat.S_IMODE(new.stat().st_mode)
    new.rmdir()
    draft.chmod(mode)


def refuse_unwritable(path: Path, *, folder: bool = False) -> None:
    """Refuse a place in which nothing can be written; leave nothing there."""
    with writing(path), drafting(resolve(path), folder=folder):
        pass


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Take what keeps a file or folder from being written as one error that names it."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)
        check = "Check that its folder exists and is yours to write to"
        left = "" if error.errno == errno.EROFS else "; nothing was left behind"
        raise StoreError(
            f"{path}: cannot be written ({error.strerror or error}).",
            hint=f"{'Free some space' if full else check}, or choose another place{left}.",
        ) from error


@contextmanager
def drafting(target: Path, *, folder: bool = False, shared: bool = False) -> Iterator[Path]:
    """Give a draft, a file or a folder, to be filled and renamed to a target.

    A draft that was not renamed is gone afterwards, and so are folders made for it alone. Others
    can read only the draft of a file that is ``shared``.
    """
    missing = [place for place in target.parents if not place.exists()]
    try:
        sweep(target.parent)
        draft, lock = _make_draft(target, folder, shared)
        try:
            try:
                yield draft
            finally:
                remove(draft)
        finally:  # a second interrupt may strike just as the first clean-up begins
            remove(draft)
            _unlock(lock)
    finally:
        with suppress(OSError):
            for place in missing:  # the innermost first; one that holds something stops it
                place.rmdir()


def _make_draft(target: Path, folder: bool, shared: bool) -> tuple[Path, int]:
    for _ in range(100):
        draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}{DRAFT}")
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            if folder:
                draft.mkdir(mode=OWNER)
            else:
                draft.touch(mode=0o666 if shared else 0o600, exist_ok=False)
        except FileNotFoundError:  # somebody who failed has just removed the folder
            continue
        lock = _lock(draft)
        if lock is not None:  # else somebody swept it before it was locked
            return draft, lock
    raise FileNotFoundError(errno.ENOENT, "its folder does not stay", str(target.parent))


def _lock(path: Path) -> int | None:
    """Lock a file or folder: ``None`` if somebody else has it, or it is gone."""
    if fcntl is None:
        return UNLOCKED
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError:
        return UNLOCKED
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(path.stat(), os.fstat(descriptor)):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    except OSError:  # this file system has no locks
        os.close(descriptor)
        return UNLOCKED
    os.close(descriptor)
    return None


def _unlock(lock: int) -> None:
    if lock != UNLOCKED:
        os.close(lock)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """Give a folder for what is in between, which only this user can enter.

    What the killed left of theirs is removed by the next one who needs such a folder.
    """
    with drafting(Path(gettempdir()).resolve() / "discreet", folder=True) as folder:
        yield folder


def find_drafts(target: Path) -> list[Path]:
    """List the drafts of a target, finished or not."""
    found = ((path, OURS.fullmatch(path.name)) for path in target.parent.iterdir())
    return sorted(path for path, ours in found if ours and ours[1] == target.name)


@contextmanager
def replacing_in(folder: Path) -> Iterator[None]:
    """Keep others from replacing and sweeping in a folder, while what was replaced is still there.

    It lies where a draft was, and the lock of that has gone with what is in place now. A draft is
    locked by whoever fills it, and nobody else is there.
    """
    if OURS.fullmatch(folder.name):
        yield
        return
    until = monotonic() + PATIENCE
    while (lock := _lock(folder)) is None and folder.exists():
        if monotonic() > until:
            raise OSError(errno.EBUSY, "somebody keeps its folder locked", str(folder))
        sleep(0.01)
    try:
        yield
    finally:
        if lock is not None:
            _unlock(lock)


def sweep(folder: Path) -> None:
    """Remove drafts that nobody fills any more; put back what was only moved aside.

    Where somebody replaces something, or sweeps, that is left to the next.
    """
    if (held := _lock(folder)) is None:
        return
    try:
        _sweep(folder)
    finally:
        _unlock(held)


def _sweep(folder: Path) -> None:
    try:
        there = list(folder.iterdir())
    except OSError:  # what cannot be listed may still be written to
        return
    for path in there:
        ours = OURS.fullmatch(path.name)
        if ours is None or path.is_symlink() or not (path.is_file() or path.is_dir()):
            continue
        lock = _lock(path)
        if lock is None or lock == UNLOCKED:
            continue
        try:
            target = folder / ours[1]
            if ours[2] == ASIDE and not target.exists():
                path.rename(target)
            else:
                remove(path)
        except OSError:
            continue  # it stays, as it harms nobody
        finally:
            _unlock(lock)


def place_file(draft: Path, target: Path) -> None:
    """Put a file in place, at once, once the disk has what it holds."""
    sync(draft)
    draft.replace(target)
    _sync_folder(target.parent)


def place_folder(draft: Path, target: Path, *, replace: bool) -> None:
    """Put a folder in place, at once: where nothing or an empty folder lies, or with ``replace``.

    Of several that come at the same time to a new place, one gets there; to the others it is a
    ``FileExistsError``. What was replaced lies where the draft was: see :func:`replacing_in`.
    """
    try:
        draft.rename(target)  # never over a folder that holds something
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        if not replace:
            raise FileExistsError(errno.EEXIST, "it is taken", str(target)) from error
        if not exchange(draft, target):
            _exchange_in_steps(draft, target)
    _sync_folder(target.parent)


def _exchange_in_steps(draft: Path, target: Path) -> None:
    """Do it where the system cannot; ``sweep`` undoes half of it."""
    aside = draft.with_name(draft.name.removesuffix(DRAFT) + ASIDE)
    try:
        target.rename(aside)
        draft.rename(target)
    finally:
        if not target.exists() and aside.exists():
            aside.rename(target)
    aside.rename(draft)


def exchange(one: Path, other: Path) -> bool:
    """Put each of two where the other is, at once; say whether this system can."""
    names = os.fsencode(one), os.fsencode(other)
    try:
        system = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            failed = system.renamex_np(*names, EXCHANGE)
        else:
            failed = system.renameat2(HERE, names[0], HERE, names[1], EXCHANGE)
    except (AttributeError, TypeError):
        return False
    code = ctypes.get_errno()
    if failed and code not in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        raise OSError(code, os.strerror(code), str(other))
    return not failed


def settle(folder: Path) -> None:
    """Wait until the disk has all files of a folder, and their names."""
    for path in folder.iterdir():
        sync(path)
    _sync_folder(folder)


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # not every system can sync a folder
        sync(folder)


def sync(path: Path) -> None:
    """Wait until the disk has what was written."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove(path: Path) -> None:
    """Remove a draft, whatever interrupts."""
    while path.exists():
        try:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
        except KeyboardInterrupt:
            continue
        except OSError:
            return
