"""Balanced: groups of one signature that each hold all its values equally often."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.packing import rank_by_frequency
from discreet.publishing.signatures import Signed
from discreet.release import name_own
from discreet.table.arrays import Bools, Ints
from discreet.table.microdata import Microdata

COUNTERFEITS = "counterfeits"
"""Where a release says how many there are."""


class Counterfeits(NamedTuple):
    """Records or values of nobody: the group and the code of each."""

    group: Ints
    code: Ints

    def added(self, data: Microdata, name: str, like: Ints | None = None) -> Microdata:
        """Give as many more rows that have these values, and else are like those of somebody."""
        rows = np.zeros(len(self.code), dtype=np.int64) if like is None else like
        held = data.taken(np.concatenate([np.arange(data.n), rows]))
        codes = held.codes[name].copy()
        codes[data.n :] = self.code
        return replace(held, codes={**held.codes, name: codes})

    def numbered(self, groups: Partition, number: NDArray[np.int32]) -> NDArray[np.int32]:
        """Give everybody's number, which people of a group share, and after these theirs."""
        of = np.empty(groups.count, dtype=number.dtype)
        of[groups.labels] = number
        return np.concatenate([number, of[self.group]])


def tabulate_counterfeits(
    number: NDArray[np.integer], own: str, attributes: Iterable[str]
) -> pl.DataFrame:
    """List the groups that have counterfeits, by the number of each, and how many."""
    fakes = np.bincount(number)
    some = np.flatnonzero(fakes)
    often = name_own(COUNTERFEITS, attributes)
    return pl.DataFrame({own: some.astype(np.int32), often: fakes[some].astype(np.int64)})


@dataclass(frozen=True, eq=False)
class BalancedGroups:
    """The group of everybody, and of all counterfeits."""

    count: int
    of: Ints
    """Per row the group."""
    fakes: Counterfeits


def group_balanced(signed: Signed, name: str, least: int) -> BalancedGroups:
    """Part the bucket of every signature into groups of at least ``least`` people, near each other.

    Groups are as small as that allows: one record of every value.
    """
    from discreet.kernels.balanced import halve_balanced

    data = signed.data
    codes, sets, sizes = _rank(data)
    signature, code = signed.counts.list_lacking()
    # people in the order of what they are, so that ties do not go by the order of rows
    people = data.order([*dict.fromkeys([*data.quasi_identifiers, *data.codes])])
    records = np.concatenate([people, np.full(len(code), -1)])
    of = np.concatenate([signed.of[people], signature])
    own = np.concatenate([data.codes[name][people], code])
    order = np.lexsort((own, of))
    of, own = of[order], own[order]
    rows = np.where(records[order] >= 0, order, -1)  # numbers in the order of what people are
    buckets, first = np.unique(of, return_index=True)
    ends = np.append(first[1:], len(of))
    wide = np.array([len(signed.counts.list_values(s)) for s in buckets.tolist()])
    lanes = (ends - first) // wide
    begins = np.zeros(int(lanes.sum()), dtype=np.bool_)
    lane = np.cumsum(lanes) - lanes
    codes = np.ascontiguousarray(codes[people])

    def halve(some: Ints) -> None:
        seen = np.full((codes.shape[1], int(sizes.max(initial=1))), -1, dtype=np.int64)
        for b in some.tolist():
            seen[:] = -1
            halve_balanced(
                codes, sets, sizes, rows, first[b], wide[b], lanes[b], least,
                begins[lane[b] : lane[b] + lanes[b]], seen,
            )  # fmt: skip

    cores = os.cpu_count() or 1
    largest = np.argsort(-lanes, kind="stable")
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(halve, [largest[core::cores] for core in range(cores)]))
    number = np.cumsum(begins) - 1
    # the lane of every place, value by value
    bucket = np.repeat(np.arange(len(buckets)), ends - first)
    group = number[lane[bucket] + (np.arange(len(of)) - first[bucket]) % lanes[bucket]]
    found = np.empty(data.n, dtype=np.int64)
    there = rows >= 0
    found[people[rows[there]]] = group[there]
    return BalancedGroups(len(np.unique(number)), found, Counterfeits(group[~there], own[~there]))


def _rank(data: Microdata) -> tuple[NDArray[np.int32], Bools, Ints]:
    """Give everybody's codes, a column per quasi-identifier, such that near ones are alike.

    With which of them are shown as sets, and how many codes each has.
    """
    names = data.quasi_identifiers
    columns, sets, sizes = [], [], []
    for attribute in names:
        domain = data.domains[attribute]
        ordered = domain.attribute.type.ordered
        rank = np.arange(domain.size)
        if not ordered:
            rank = rank_by_frequency(data.count(attribute), domain)
        columns.append(np.asarray(rank)[data.codes[attribute]].astype(np.int32))
        sets.append(not ordered)
        sizes.append(domain.size)
    stacked = np.stack(columns, axis=1) if names else np.zeros((data.n, 0), dtype=np.int32)
    return stacked, np.array(sets, dtype=np.bool_), np.array(sizes, dtype=np.int64)
