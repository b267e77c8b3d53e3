"""Groups: many weighted bags of sensitive values in one sparse structure.

A QI-group is a bag; so is a batch, an adversary's belief about one person, an X-group of a
lossy join. A principle judges bags and never asks where they come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.table.arrays import Ints, count_runs
from discreet.table.domain import Domain, reduce_column
from discreet.table.schema import Attribute, Role, Type


@dataclass(frozen=True, eq=False)
class Groups:
    """Bags over one attribute's codes. Bag ``g`` is ``codes[offsets[g]:offsets[g + 1]]``, each
    code once and ascending, with its multiplicity in ``weights``. No bag is empty.

    ``whole`` holds the counts of the table the bags come from, for principles that compare a
    bag with it.

    >>> g = Groups.of([["flu", "flu", "ulcer"], ["asthma"]])
    >>> g.sizes.tolist(), g.distinct.tolist(), g.largest.tolist()
    ([3, 1], [2, 1], [2, 1])
    """

    offsets: Ints
    codes: NDArray[np.int32]
    weights: Ints
    domain: Domain
    whole: Ints

    @staticmethod
    def from_labels(
        labels: NDArray[np.integer],
        codes: NDArray[np.integer],
        domain: Domain,
        *,
        count: int,
        whole: Ints | None = None,
    ) -> Groups:
        """Count the codes of the rows of each of ``count`` groups; every group has a row."""
        size = domain.size
        keys = labels.astype(np.int64)
        keys *= size
        keys += codes
        if count * size <= 4 * len(keys) + 4096:
            table = np.bincount(keys, minlength=count * size)
            cells = np.flatnonzero(table)
            weights = table[cells]
            del table
        else:
            cells, weights = count_runs(keys if (keys[1:] >= keys[:-1]).all() else np.sort(keys))
        del keys
        owners = cells // size
        offsets = np.searchsorted(owners, np.arange(count + 1))
        if whole is None:
            whole = np.bincount(codes, minlength=size).astype(np.int64)
        return Groups(
            offsets.astype(np.int64),
            (cells - owners * size).astype(np.int32),
            weights.astype(np.int64),
            domain,
            whole,
        )

    @staticmethod
    def from_counts(counts: Ints, domain: Domain) -> Groups:
        """Build one bag from the count of each code: a whole table."""
        codes = np.flatnonzero(counts)
        return Groups(
            np.array([0, len(codes)]), codes.astype(np.int32), counts[codes], domain, counts
        )

    @staticmethod
    def from_entries(
        owners: Ints,
        codes: NDArray[np.int32],
        weights: Ints,
        domain: Domain,
    ) -> Groups:
        """Build from entries in the order of their bags and codes; the whole is their union."""
        whole = np.zeros(domain.size, dtype=np.int64)
        np.add.at(whole, codes, weights)
        offsets = np.searchsorted(owners, np.arange(int(owners.max()) + 2))
        return Groups(offsets, codes, weights, domain, whole)

    @staticmethod
    def from_table(table: Ints, domain: Domain, whole: Ints) -> Groups:
        """Build from one row of counts per bag; no row is all zero."""
        owners, codes = np.nonzero(table)
        offsets = np.searchsorted(owners, np.arange(len(table) + 1))
        return Groups(offsets, codes.astype(np.int32), table[owners, codes], domain, whole)

    @staticmethod
    def of_people(sizes: Ints) -> Groups:
        """Build bags that hold people and nothing about them, for principles that only count."""
        person = Domain(Attribute("person", Role.OTHER, Type.BOOLEAN), np.zeros(1, dtype=np.int64))
        codes = np.zeros(len(sizes), dtype=np.int32)
        whole = np.array([int(sizes.sum())])
        return Groups(np.arange(len(sizes) + 1), codes, sizes, person, whole)

    @staticmethod
    def of(bags: Sequence[Sequence[object]], attribute: Attribute | None = None) -> Groups:
        """Build from lists of values; the whole is their union. For examples and tests."""
        import polars as pl

        cells = [value for bag in bags for value in bag]
        if attribute is None:
            number = all(isinstance(value, int) for value in cells)
            kind = Type.INTEGER if number else Type.CATEGORY
            attribute = Attribute("value", Role.SENSITIVE, kind)
        codes, domain = reduce_column(pl.Series(cells), attribute).encode(None)
        labels = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
        return Groups.from_labels(labels, codes, domain, count=len(bags))

    @property
    def count(self) -> int:
        """Number of bags."""
        return len(self.offsets) - 1

    @cached_property
    def total(self) -> Ints:
        """How often all bags together have each code, whatever the whole table has."""
        counts = np.bincount(self.codes, weights=self.weights, minlength=self.domain.size)
        return counts.astype(np.int64)

    @cached_property
    def sizes(self) -> Ints:
        """Total weight of each bag."""
        return self.sum(self.weights)

    @cached_property
    def distinct(self) -> Ints:
        """Number of distinct codes in each bag."""
        return np.diff(self.offsets)

    @cached_property
    def largest(self) -> Ints:
        """Largest weight in each bag."""
        return np.maximum.reduceat(self.weights, self.offsets[:-1])

    @cached_property
    def owners(self) -> Ints:
        """Bag number of each entry of ``codes``."""
        return np.repeat(np.arange(self.count), self.distinct)

    @cached_property
    def by_code(self) -> Ints:
        """The entries in the order of their codes, then bags."""
        return np.argsort(self.codes, kind="stable")

    def sum(self, per_entry: np.ndarray) -> np.ndarray:
        """Add up a number per entry over each bag."""
        return np.add.reduceat(per_entry, self.offsets[:-1])

    def entries_of(self, bags: NDArray[np.integer]) -> tuple[Ints, Ints]:
        """List the entries of some bags, one bag after the other: of which bag, and which entry."""
        lengths = self.distinct[bags]
        which = np.repeat(np.arange(len(bags)), lengths)
        # where each bag starts, plus a running count
        shift = np.repeat(self.offsets[bags] - np.cumsum(lengths) + lengths, lengths)
        return which, np.arange(int(lengths.sum())) + shift

    def mix(
        self,
        bags: NDArray[np.integer],
        into: Ints,
        times: Ints,
        count: int,
    ) -> Groups:
        """Make ``count`` new bags: each listed bag goes, so many times, into one of them."""
        which, entry = self.entries_of(bags)
        size = self.domain.size
        keys, inverse = np.unique(into[which] * size + self.codes[entry], return_inverse=True)
        weights = np.zeros(len(keys), dtype=np.int64)
        np.add.at(weights, inverse, times[which] * self.weights[entry])
        offsets = np.searchsorted(keys // size, np.arange(count + 1))
        return Groups(offsets, (keys % size).astype(np.int32), weights, self.domain, self.whole)

    def take(self, g: int) -> Groups:
        """Give one bag as a whole of its own."""
        entries = slice(self.offsets[g], self.offsets[g + 1])
        counts = np.zeros(self.domain.size, dtype=np.int64)
        counts[self.codes[entries]] = self.weights[entries]
        return Groups.from_counts(counts, self.domain)

    def union(self) -> Groups:
        """Pour all bags into one."""
        counts = np.zeros(self.domain.size, dtype=np.int64)
        np.add.at(counts, self.codes, self.weights)
        return Groups.from_counts(counts, self.domain)
