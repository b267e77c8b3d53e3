"""Compiled loops over codes: no policy, no papers, no objects.

Importing a kernel imports numba, so import kernels inside the function that needs them.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def compiled(function: Callable[..., Any]) -> Any:
    """Compile with numba and cache the machine code, where something is writable.

    Numba looks only at the file of a kernel to tell whether its machine code is stale, not at the
    kernels that it calls: after an update it might run old rules. So the code is kept in a folder
    that is named after the content of all kernels. Where nothing is writable, each process compiles
    anew.
    """
    import numba
    from numba import njit

    made = njit(nogil=True)(function)
    config: Any = numba.config
    given = config.CACHE_DIR
    folder = "" if config.DISABLE_JIT else find_cache(given)
    if not folder:
        return made
    from discreet.kernels.machine_code import keep

    config.CACHE_DIR = folder
    try:
        keep(made)
    except RuntimeError:  # numba finds no place for it
        return made
    finally:
        config.CACHE_DIR = given
    return made


@cache
def find_cache(given: str) -> str:
    """Find a writable folder for the machine code of these very sources; empty if there is none."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser())
    for root in [Path(given)] if given else [HERE / "__pycache__", home / "discreet"]:
        folder = root / f"kernels-{hash_sources(HERE)}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=folder):
                return str(folder)
        except OSError:
            continue
    return ""


def hash_sources(folder: Path) -> str:
    """Give a name to the content of all kernels."""
    digest = hashlib.sha256()
    for file in sorted(folder.glob("*.py")):
        digest.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
