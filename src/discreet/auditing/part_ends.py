"""Part ends: where a release may be parted in which several classes may be somebody's.

What is believed of a person follows from all classes that cover the person, so these must be in one
part. Everybody is held against all classes once, in parts that end anywhere, to find how far anyone
reaches; then parts end where nobody is covered by a class before and by one behind.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.auditing.in_parts import PeopleFiles, freeing, glance, put_side_by_side
from discreet.release.parts import StoredParts
from discreet.table.arrays import Bools, Ints
from discreet.table.facts import Facts, Progress
from discreet.table.parquet_files import ParquetFiles


def find_ends(
    stored: StoredParts,
    files: ParquetFiles,
    facts: Facts,
    people: PeopleFiles,
    folder: Path,
    progress: Progress,
) -> Ints:
    """Give the numbers after which a part may end, with a folder for what is between."""
    title, column = stored.parted[0].title, stored.parted[0].column
    looked, numbers = [], []
    for part in freeing(stored.read(people.at_once), people.at_once):
        looked.append(glance(part, facts))
        numbers.append(_shorten(stored.list_numbers(part.tables[title])))
    people.send(files, put_side_by_side(looked).find, progress)
    spans = CoveredSpans(sum(map(len, numbers)), facts.n, folder / "reached")
    number = first = 0
    for part in freeing(stored.read(people.at_once), people.at_once):
        (view,), own = part.views, numbers[number]
        places = first + np.searchsorted(own, view.table[column].to_numpy())
        start, end = np.full(view.count, first + len(own)), np.zeros(view.count, dtype=np.int64)
        np.minimum.at(start, view.labels, places)
        np.maximum.at(end, view.labels, places)
        for some in people.take_in_turn(number):
            matches = view.match(some)
            covered = np.flatnonzero(matches.set_of >= 0)
            if len(covered):
                assert some.rows is not None
                sets, options = matches.set_of[covered], matches.groups
                low = np.minimum.reduceat(start[options], matches.offsets[:-1])[sets]
                high = np.maximum.reduceat(end[options], matches.offsets[:-1])[sets]
                spans.add(some.rows[covered], low, high)
        number, first = number + 1, first + len(own)
        del part, view
        progress("Parting", first, len(spans.last))
    last = spans.close()
    ends, first = [], 0
    for own in numbers:
        ends.append(own[np.flatnonzero(last[first : first + len(own)])].astype(np.int64))
        first += len(own)
    return np.concatenate(ends)


def _shorten(numbers: Ints) -> NDArray[np.integer]:
    """Give ascending numbers in fewer bytes: there may be nearly as many as people."""
    fit = numbers[0] >= -(2**31) and numbers[-1] < 2**31
    return numbers.astype(np.int32) if fit else numbers


class CoveredSpans:
    """How far forward, from each of so many places, anybody reaches who is covered there.

    Where everybody was seen last is kept in a file, as there may be very many of them.
    """

    def __init__(self, places: int, people: int, path: Path) -> None:
        self.last = np.arange(places, dtype=np.int32 if places < 2**31 else np.int64)
        self._path = path
        self._seen = np.memmap(path, dtype=np.int64, mode="w+", shape=people)
        """Per person the place after that where the person was seen last; 0 before any."""

    def add(self, rows: Ints, low: Ints, high: Ints) -> None:
        """Add that some people are covered from one place to another, beside what was added."""
        np.maximum.at(self.last, low, high)
        before = self._seen[rows]
        known = before > 0
        np.maximum.at(self.last, before[known] - 1, high[known])
        self._seen[rows] = high + 1

    def close(self) -> Bools:
        """Say across which places nobody reaches, and forget all people."""
        del self._seen
        self._path.unlink()
        np.maximum.accumulate(self.last, out=self.last)
        return np.asarray(self.last == np.arange(len(self.last), dtype=self.last.dtype))
