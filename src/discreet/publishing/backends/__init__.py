"""Backends: where rows live that one machine's memory does not hold.

A backend knows nothing of privacy. It codes rows and packs them into words, adds up what is counted
of them, brings those of a leaf together and has something made of them, and writes what is to be
shown of that. Whoever publishes asks it for counts and gives it functions; these must give the same
again for the same rows, as whoever runs one may be lost and another begin anew.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.publishing.partitioners.descent import KeyCounts
from discreet.publishing.partitioners.packing import Layout
from discreet.release.seals import Seal
from discreet.table.arrays import Ints, add_up
from discreet.table.facts import Facts, Progress, say_nothing

Count = Callable[[Ints], KeyCounts]
"""Counts something of some rows' words: keys and how often each occurs."""
Find = Callable[[Ints], NDArray[np.int32]]
"""Gives the leaf of every row, by its words."""
Finish = Callable[[int, Ints], Mapping[str, pl.DataFrame]]
"""Makes of a leaf, by its number and its rows' words, lines for every table: one per class, with
the number of its records as ``size``."""
Reword = Callable[[int, Ints], Ints]
"""Gives the rows of a leaf, by its number and their words, other words."""
ShowClasses = Callable[[pl.DataFrame, int], pl.DataFrame]
"""Gives the records of some classes, the first of which has this number."""


class Backend(ABC):
    """A table of which the facts are known, and whose rows are somewhere."""

    facts: Facts
    capacity: int
    """So many rows can be held at once by whoever finishes a leaf."""
    examined: int
    """So many records of a release can be examined at once, of which others cannot be parted."""

    @abstractmethod
    def pack(self, layout: Layout) -> PackedRows:
        """Code all rows and pack them into words."""


class PackedRows(ABC):
    """All rows of a table as words, wherever they are."""

    @abstractmethod
    def tally(self, count: Count) -> KeyCounts:
        """Add up what is counted of all rows."""

    @abstractmethod
    def reword(self, reword: Callable[[Ints], Ints], planes: int) -> PackedRows:
        """Give all rows other words, of so many planes. These words are gone then."""

    @abstractmethod
    def regroup(self, find: Find, leaves: int, reword: Reword, planes: int) -> PackedRows:
        """Bring the rows of each leaf together, and give them other words, of so many planes.

        That is done once: whatever is drawn for it stays as it is. These words are gone then.
        """

    @abstractmethod
    def map_leaves(
        self,
        find: Find,
        leaves: int,
        finish: Finish,
        samples: Mapping[str, pl.DataFrame],
        *,
        keep: bool = False,
        whole: bool = False,
    ) -> Mapping[str, FinishedLeaves]:
        """Bring the rows of each leaf together, and make something of each, for every table.

        ``samples`` have no lines, and the columns and types of what is made. The first table has a
        record for every row. ``keep`` says whether these words are needed again; else they are gone
        then. ``whole``: whether what is made of a leaf has to be examined together, as it is if
        there are several tables.
        """

    @abstractmethod
    def discard(self) -> None:
        """Remove these words, which were kept."""


class FinishedLeaves(ABC):
    """What was made of each leaf for a table: lines about classes, where the rows were."""

    @property
    @abstractmethod
    def height(self) -> int:
        """How many records all classes have."""

    @abstractmethod
    def count_classes(self) -> Ints:
        """Say how many classes each leaf has."""

    @abstractmethod
    def distinct(self, columns: list[str]) -> pl.DataFrame:
        """Give the different lines of some columns."""

    @abstractmethod
    def discard(self) -> None:
        """Remove these lines, of which nothing will be written."""

    @abstractmethod
    def write(
        self, show: ShowClasses, folder: Path, title: str, sample: pl.DataFrame
    ) -> list[Seal]:
        """Write the records of all classes as the files of a table, and say what was written.

        ``sample`` has no rows, and the columns and types of what is shown.
        """


def add_counts(parts: list[KeyCounts]) -> KeyCounts:
    """Add up counts by their keys."""
    if not parts:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    keys = np.concatenate([part[0] for part in parts])
    found, which = np.unique(keys, return_inverse=True)
    return found, add_up(which, np.concatenate([part[1] for part in parts]), len(found))


__all__ = ["Backend", "FinishedLeaves", "KeyCounts", "PackedRows", "Progress", "say_nothing"]
