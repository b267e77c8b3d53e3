"""All ways of dividing a few things into groups."""

from __future__ import annotations

from collections.abc import Iterator


def set_partitions(values: list[int]) -> Iterator[list[list[int]]]:
    """All ways of dividing a list into groups."""
    if not values:
        yield []
        return
    for groups in set_partitions(values[:-1]):
        yield [*groups, values[-1:]]
        for j in range(len(groups)):
            yield [*groups[:j], [*groups[j], values[-1]], *groups[j + 1 :]]
