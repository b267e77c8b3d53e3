"""Placing: drafts get their names at once, when the disk has what they hold."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from contextlib import suppress
from pathlib import Path

from discreet.files.drafts import ASIDE, DRAFT

EXCHANGE, HERE = 2, -100
"""What Linux (``RENAME_EXCHANGE``, ``AT_FDCWD``) and macOS (``RENAME_SWAP``) call it."""


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
