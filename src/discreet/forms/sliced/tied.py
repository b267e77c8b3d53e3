"""Tied columns: those of a sliced table that share attributes.

Overlapping slicing (Li, Li, Zhang, Molloy, TKDE 2012, section 9): an attribute may stand in several
columns. Pieces of these go together only if they agree on it; so they are shuffled not within
buckets but within what of a bucket shows one value of it. Every row shows pieces that agree, and
the table has the attribute once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Tied(NamedTuple):
    """Columns that share attributes, all of them the same ones."""

    names: tuple[str, ...] = ()
    places: tuple[int, ...] = ()

    def order(self, column: Sequence[str]) -> list[str]:
        """Give the attributes of a column in the order by which it is sorted: what it shares first.

        Buckets hold every value of that as often in each of these columns; so sorting each column
        by itself puts pieces side by side that agree.
        """
        shared = [name for name in self.names if name in column]
        return [*shared, *(name for name in column if name not in shared)]

    def find_own(self, columns: Sequence[Sequence[str]]) -> list[list[str]]:
        """Give every attribute to one column, the first that has it."""
        seen: set[str] = set()
        found = []
        for column in columns:
            found.append([name for name in column if name not in seen])
            seen.update(column)
        return found


def find_tied(columns: Sequence[Sequence[str]]) -> Tied | None:
    """Say which columns share attributes; nothing if not all of these share the same ones.

    Pieces of columns that share A with one neighbour and B with another can be put together, too,
    but not column by column; and where three share an attribute with each other pair by pair, it is
    not even easy to find a way.

    >>> find_tied([["age", "sex"], ["sex", "zip"], ["disease"]])
    Tied(names=('sex',), places=(0, 1))
    >>> find_tied([["age", "sex"], ["sex", "zip"], ["zip", "disease"]]) is None
    True
    """
    listed = dict.fromkeys(name for column in columns for name in column)
    stands = {name: tuple(i for i, c in enumerate(columns) if name in c) for name in listed}
    names = tuple(name for name, places in stands.items() if len(places) > 1)
    ways = {stands[name] for name in names}
    return None if len(ways) > 1 else Tied(names, *ways) if ways else Tied()
