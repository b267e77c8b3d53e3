"""What principles are asked of: the whole table as one bag, and the groups of a partition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.errors import SchemaError
from discreet.principles.base import Principle, demands
from discreet.principles.groups import Groups
from discreet.publishing.partition import Partition
from discreet.table.arrays import Ints, add_up
from discreet.table.coded_table import CodedTable
from discreet.table.microdata import Microdata


def require_names(names: Sequence[str]) -> None:
    """Refuse a table, or a part of it, without any quasi-identifier."""
    if not names:
        raise SchemaError(
            "There is no quasi-identifier to publish.",
            hint='Set role = "quasi-identifier" for the columns others may know.',
        )


def require_feasible(data: CodedTable, principle: Principle) -> None:
    """Raise, with the best reachable, if no partition of the table can satisfy a principle."""
    for part, name in demands(principle, data.sensitive):
        part.require(histogram(data, name))


def histogram(data: CodedTable, name: str | None) -> Groups:
    """The table as one bag of a sensitive attribute; without a name, of people only."""
    if name is None:
        return Groups.of_people(np.array([data.n]))
    return Groups.from_counts(data.count(name), data.domains[name])


def holds_whole(data: CodedTable, principle: Principle) -> bool:
    """Whether the undivided table satisfies a principle."""
    return all(
        bool(part.admits(histogram(data, name))[0])
        for part, name in demands(principle, data.sensitive)
    )


def holds(data: Microdata, groups: Partition, principle: Principle) -> bool:
    """Whether every group of a partition satisfies a principle."""
    return all(
        bool(part.admits(bag_groups(data, groups, name)).all())
        for part, name in demands(principle, data.sensitive)
    )


def bag_groups(data: Microdata, groups: Partition, name: str | None) -> Groups:
    """The groups as bags of a sensitive attribute; without a name, of people only."""
    if name is None:
        return Groups.of_people(groups.sizes)
    return bag_codes(data.codes[name][groups.order], groups, histogram(data, name))


def bag_codes(codes: NDArray[np.int32], groups: Partition, whole: Groups) -> Groups:
    """The groups of a part of a table as bags of codes, which come in group order."""
    return Groups.from_labels(
        groups.sorted_labels, codes, whole.domain, count=groups.count, whole=whole.whole
    )


def bag_kinds(
    data: CodedTable,
    name: str | None,
    group_of: Ints,
    codes: NDArray[np.integer] | None,
    times: Ints,
    count: int,
) -> Groups:
    """The same of groups of kinds, which stand for so many people each and have these codes."""
    table = histogram(data, name)
    size = table.domain.size
    keys = group_of * size if codes is None else group_of * size + codes
    cells, which = np.unique(keys, return_inverse=True)
    offsets = np.searchsorted(cells // size, np.arange(count + 1))
    held = (cells % size).astype(np.int32)
    return Groups(offsets, held, add_up(which, times, len(cells)), table.domain, table.whole)
