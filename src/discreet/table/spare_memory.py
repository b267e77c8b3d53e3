"""Spare memory: what is free is given back to the system at once, where little may be used.

Allocators keep what was freed for whoever asks next. Each library has one of its own, so what one
keeps is of no use to another, and together they held as much again as was in use.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from typing import Any

MMAP_THRESHOLD = -3
"""How glibc calls the size from which on a block is the system's own, and goes back to it."""
LARGE = 1 << 20
FEW = 10_000


def spare() -> None:
    """Have what is freed given back, from now on; polars does so by itself within seconds."""
    import pyarrow as pa

    pa.set_memory_pool(pa.system_memory_pool())
    _call("mallopt", MMAP_THRESHOLD, LARGE)


def give_back(records: int) -> None:
    """Free what nobody can reach any more, and give back what is free.

    A release and its views hold each other, so that nothing else frees them soon. Looking for such
    takes a while, which a few ``records`` are not worth.
    """
    if records < FEW:
        return
    gc.collect()
    _call("malloc_trim", 0)


def _call(name: str, *values: int) -> None:
    """Call a function of glibc; other libraries of C have no such."""
    try:
        function: Callable[..., Any] = getattr(ctypes.CDLL(None), name)
    except (AttributeError, OSError, TypeError):
        return
    function(*values)
