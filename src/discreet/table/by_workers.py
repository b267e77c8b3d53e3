"""By workers: numbered work that workers of Spark do, with files in a folder that all of them see.

Rows never go through Spark's own: a worker writes a file, under a name that nobody else has, and
says which. Whoever is lost, or slower than another who was given the same, leaves a file of which
nobody was told.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from discreet.table.facts import Made
from discreet.table.spark_frames import ArrowBatches, collect, keep_what_is_loaded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAYING = "number long, said binary"


def run_each(session: SparkSession, count: int, work: Callable[[int], Made]) -> list[Made]:
    """Have workers do so many pieces of work, one by one; give what they made, in order."""
    return _run(session, count, count, _Each(work))


def run_shares(
    session: SparkSession, count: int, work: Callable[[Sequence[int]], Made]
) -> list[Made]:
    """Have workers do so many pieces of work, each its share at once: there are fewer answers."""
    return _run(session, count, None, _Share(work))


def _run(session: SparkSession, count: int, tasks: int | None, work: Any) -> list[Any]:
    if not count:
        return []
    said = collect(session.range(0, count, 1, tasks).mapInArrow(work, SAYING)).sort("number")
    return [pickle.loads(text) for text in said["said"]]  # its own workers wrote it


@dataclass(frozen=True, eq=False)
class _Each:
    work: Callable[[int], Any]

    def __call__(self, batches: ArrowBatches) -> ArrowBatches:
        keep_what_is_loaded()
        for number in _list_numbers(batches):
            yield from say([number], self.work(number))


@dataclass(frozen=True, eq=False)
class _Share:
    work: Callable[[Sequence[int]], Any]

    def __call__(self, batches: ArrowBatches) -> ArrowBatches:
        keep_what_is_loaded()
        numbers = list(_list_numbers(batches))
        if numbers:
            yield from say(numbers[:1], self.work(numbers))


def _list_numbers(batches: ArrowBatches) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()


def say(numbers: list[int], said: object) -> ArrowBatches:
    """Say what was made of a piece of work."""
    import pyarrow as pa

    columns = [pa.array(numbers, pa.int64()), pa.array([pickle.dumps(said)], pa.binary())]
    yield pa.RecordBatch.from_arrays(columns, names=["number", "said"])


def name_file(folder: Path, kind: str) -> Path:
    """Name a file as nobody else does."""
    return folder / f"{kind}-{uuid4().hex}"


def spill(folder: Path, keys: NDArray[np.integer], lines: NDArray[np.integer]) -> Path:
    """Write lines in the order of their keys, so that those of one can be read by themselves."""
    order = np.argsort(keys, kind="stable")
    found, starts = np.unique(keys[order], return_index=True)
    path = name_file(folder, "spill")
    with path.open("wb") as file:
        np.save(file, np.stack([np.append(found, -1), np.append(starts, len(keys))]))
        lines[order].tofile(file)
    return path


@dataclass(frozen=True, eq=False)
class Spills:
    """Lines of so many numbers, in files by their keys."""

    paths: Sequence[Path]
    width: int
    dtype: type[np.integer]

    def read(self, key: int) -> Iterator[NDArray[np.integer]]:
        """Give the lines of a key, file by file."""
        each = self.width * np.dtype(self.dtype).itemsize
        for path in self.paths:
            with path.open("rb") as file:
                keys, starts = np.load(file)
                place = int(np.searchsorted(keys[:-1], key))
                if keys[place] != key:
                    continue
                first, last = int(starts[place]), int(starts[place + 1])
                file.seek(first * each, 1)
                lines = np.fromfile(file, dtype=self.dtype, count=(last - first) * self.width)
                yield lines.reshape(-1, self.width)

    def forget(self) -> None:
        """Remove what nobody reads again."""
        remove(self.paths)


def remove(paths: Iterable[Path]) -> None:
    """Remove files that nobody reads again; somebody slower may have done so."""
    for path in paths:
        path.unlink(missing_ok=True)
