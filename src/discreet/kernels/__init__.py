"""Compiled loops over codes: no policy, no papers, no objects.

Importing a kernel imports numba, so import kernels inside the function that needs them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def compiled(function: Callable[..., Any]) -> Any:
    """Compile with numba and cache the machine code, falling back where nothing is writable.

    On a read-only install without a home folder numba raises when it looks for a cache
    folder; compiling anew in each process is then the only choice left.
    """
    from numba import njit

    try:
        return njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return njit(nogil=True)(function)
