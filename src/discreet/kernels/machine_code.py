"""Machine code on disk, each file under a seal: what was damaged is compiled again, never run."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import Any

from numba.core.caching import FunctionCache, IndexDataCacheFile


def keep(dispatcher: Any) -> None:
    """Keep the machine code of a compiled function from one process to the next."""
    dispatcher._cache = SealedCache(dispatcher.py_func)


class SealedCache(FunctionCache):  # type: ignore[misc]
    """Numba's cache of one function, over files under a seal."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self._cache_file = SealedFiles(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=self._impl.locator.get_source_stamp(),
        )


class SealedFiles(IndexDataCacheFile):  # type: ignore[misc]
    """An index and the files it names, each behind the SHA-256 of what it holds.

    Code is kept with what it is the code of: processes that write at once may name two files alike.
    """

    def save(self, key: Any, data: Any) -> None:
        """Keep code, if it can be kept."""
        try:
            super().save(key, (key, data))
        except OSError:  # a full disk costs time, nothing else
            return

    def load(self, key: Any) -> Any:
        """Give code that is whole and the one asked for, or nothing."""
        found = super().load(key)
        return found[1] if found is not None and found[0] == key else None

    def _load_index(self) -> dict[Any, str]:
        found = self._read(self._index_path)
        if found is None or found[:2] != (self._version, self._source_stamp):
            return {}
        overloads: dict[Any, str] = found[2]
        return overloads

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, (self._version, self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        return self._read(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _read(self, path: str) -> Any:
        try:
            content = Path(path).read_bytes()
            seal, held = content[:32], content[32:]
            return pickle.loads(held) if hashlib.sha256(held).digest() == seal else None
        except Exception:  # of another numba, whose classes are gone
            return None

    def _write(self, path: str, value: Any) -> None:
        held = self._dump(value)
        with self._open_for_write(path) as file:
            file.write(hashlib.sha256(held).digest() + held)
