"""Drafts: what is written lies beside its place until it is whole, locked while it is filled.

Whoever is killed leaves an unlocked draft behind, which the next one who writes there removes.
Nothing else is ever removed.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import gettempdir
from time import monotonic, sleep

try:
    import fcntl
except ImportError:  # no such locks on this system: drafts of the killed stay
    fcntl = None  # type: ignore[assignment]

DRAFT, ASIDE = ".discreet-draft", ".discreet-aside"
OURS = re.compile(r"\.(.+)\.[0-9a-f]{8}(\.discreet-draft|\.discreet-aside)", re.DOTALL)
UNLOCKED = -1
OWNER = 0o700
"""What the owner of a file or folder may."""
PATIENCE = 60.0
"""Seconds to wait for others who replace something in the same folder."""


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
