"""Seals: the files of a table, and by what each of them is known."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from discreet.files import digest

HASH = "sha256:"


class Seal(NamedTuple):
    """By what a table's file is known."""

    size: int
    """In bytes."""
    sha256: str

    @staticmethod
    def of(path: Path) -> Seal:
        """Take it from a file."""
        return Seal(path.stat().st_size, digest(path))


def name_files(title: str, count: int, format: str) -> list[str]:
    """Name the files of a table, of which there are several where it is large.

    >>> name_files("generalized", 1, "csv"), name_files("generalized", 2, "csv")[1]
    (['generalized.csv'], 'generalized-00001.csv')
    """
    if count == 1:
        return [f"{title}.{format}"]
    return [f"{title}-{number:05}.{format}" for number in range(count)]
