"""Suppression: a few people are left out, or show ``*``, so that all others lose less.

Whoever stands apart from a group makes its box wide. People at the ends of a box are taken out as
long as the others gain more than they lose; and whoever is taken out loses everything, which
bounds what they do lose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.errors import PromiseError
from discreet.principles.base import Number, Principle, demands, ratio
from discreet.principles.groups import Groups
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.histograms import bag_groups, holds
from discreet.publishing.partitioners.mondrian import mondrian
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.microdata import Microdata

ROUNDS = 12
"""People are taken out of a group at most so many times."""


@dataclass(frozen=True, eq=False)
class Suppressed:
    """Who is published, in which groups, and whose cells are blank."""

    rows: Ints
    """The rows that are published."""
    partition: Partition
    """Of these."""
    blank: Bools
    """Per group whether its people were taken out of others: where they differ they show ``*``."""
    left_out: int
    """Rows that are not published."""

    @property
    def blanked(self) -> int:
        """Rows whose cells were replaced."""
        return int(self.partition.sizes[self.blank].sum())


def allow(data: Microdata, share: Number) -> int:
    """Give how many people may be suppressed."""
    return int(ratio(share) * data.people)


def suppress(
    data: Microdata, principle: Principle, partition: Partition, apart: Bools
) -> Suppressed | None:
    """Part those who are taken out from all others, in groups that keep the principle as well.

    If they cannot be parted so, they are left out. ``None`` if the rest does not keep it then, as
    may be where it is held against the whole table.
    """
    kept, gone = np.flatnonzero(~apart), np.flatnonzero(apart)
    _, labels = np.unique(partition.labels[kept], return_inverse=True)
    count = int(labels.max()) + 1
    try:
        if not len(gone):
            raise PromiseError("There is nobody to be parted.")
        among = mondrian(data.taken(gone), principle, data.quasi_identifiers).labels
        rows = np.concatenate([kept, gone])
        labels = np.concatenate([labels, among + count])
        left_out = 0
    except PromiseError:
        rows, left_out = kept, len(gone)
    made = Partition.from_labels(labels)
    found = Suppressed(rows, made, np.arange(made.count) >= count, left_out)
    return found if holds(data.taken(rows), made, principle) else None


def trim(
    data: Microdata, principle: Principle, partition: Partition, budget: int, names: Sequence[str]
) -> Bools:
    """Say whom to take out of their groups, so that these show less.

    In every round each group offers the people at one end of one attribute, or with its rarest
    value: as few as possible, for as much as possible. The best offers are taken, unless a group
    would break the principle without them.
    """
    apart = np.zeros(data.n, dtype=bool)
    persons = np.arange(data.n) if data.persons is None else data.persons.of
    taken: set[int] = set()
    groups = np.arange(partition.count)
    for _ in range(ROUNDS if len(names) else 0):
        some = _take_groups(partition, groups, apart)
        offers = _Offers(data, some, names, principle.min_size)
        order = np.flatnonzero(offers.worth > 0)
        order = order[np.argsort(-offers.worth[order], kind="stable")]
        rows = [offers.list_rows(group) for group in order[: 2 * budget].tolist()]
        chosen, touched = [], []
        for group, there in zip(order.tolist(), rows, strict=False):
            new = {int(p) for p in np.unique(persons[there])} - taken
            if len(taken) + len(new) <= budget:
                taken |= new
                chosen.append(there)
                touched.append(group)
        if not chosen:
            break
        apart[np.concatenate(chosen)] = True
        numbers = groups[np.array(touched)]
        good = _keep(data, principle, _take_groups(partition, numbers, apart))
        for place in np.flatnonzero(~good).tolist():
            apart[chosen[place]] = False  # its people stay counted: fewer are taken, never more
        groups = numbers[good]
        if not len(groups):
            break
    return apart


def _take_groups(partition: Partition, groups: Ints, apart: Bools) -> Partition:
    """Give some groups without the people who were taken out."""
    lengths = partition.sizes[groups]
    starts = np.repeat(partition.offsets[groups] - np.cumsum(lengths) + lengths, lengths)
    rows = partition.order[starts + np.arange(int(lengths.sum()))]
    here = ~apart[rows]
    sizes = np.add.reduceat(here.astype(np.int64), np.cumsum(lengths) - lengths)
    return Partition(rows[here], np.concatenate([[0], np.cumsum(sizes)]))


def _keep(data: Microdata, principle: Principle, groups: Partition) -> Bools:
    verdicts = [
        part.admits(bag_groups(data, groups, name))
        for part, name in demands(principle, data.sensitive)
    ]
    return np.asarray(np.logical_and.reduce(verdicts))


class _Offers:
    """Of every group, the people whom the others would gain most by losing."""

    def __init__(
        self, data: Microdata, groups: Partition, names: Sequence[str], least: int
    ) -> None:
        self.data, self.groups, self.names = data, groups, list(names)
        self.worth = np.full(groups.count, -1.0)
        """Per group what is gained for each of them; below 0 if there are none."""
        self.attribute = np.full(groups.count, -1, dtype=np.int64)
        self.code = np.full(groups.count, -1, dtype=np.int64)
        bags = [self._count(name) for name in names]
        shown = [self._measure(name, bag) for name, bag in zip(names, bags, strict=True)]
        lost = np.mean(shown, axis=0)
        for a, (name, bag) in enumerate(zip(names, bags, strict=True)):
            for entry, fewer in self._list_ends(name, bag):
                many = bag.weights[entry]
                left = groups.sizes - many
                gain = fewer / max(data.domains[name].size - 1, 1) / len(names)
                worth = (left * gain - many * (1 - lost)) / many
                better = (left >= least) & (worth > self.worth)
                self.worth[better] = worth[better]
                self.attribute[better], self.code[better] = a, bag.codes[entry][better]

    def _count(self, name: str) -> Groups:
        codes, domain = self.data.codes[name][self.groups.order], self.data.domains[name]
        return Groups.from_labels(self.groups.sorted_labels, codes, domain, count=self.groups.count)

    def _measure(self, name: str, bag: Groups) -> Floats:
        """Give what a group loses on an attribute: the share of other values that it shows."""
        domain = self.data.domains[name]
        reach = bag.codes[bag.offsets[1:] - 1] - bag.codes[bag.offsets[:-1]]
        covered = reach if domain.attribute.type.ordered else bag.distinct - 1
        return np.asarray(covered / max(domain.size - 1, 1), dtype=float)

    def _list_ends(self, name: str, bag: Groups) -> list[tuple[Ints, Floats]]:
        """List entries whose people could go, per group one, and how many fewer values it shows."""
        several = bag.distinct > 1
        first, last = bag.offsets[:-1], bag.offsets[1:] - 1
        if self.data.domains[name].attribute.type.ordered:
            above = np.where(several, first + 1, first)
            below = np.where(several, last - 1, last)
            return [
                (first, (bag.codes[above] - bag.codes[first]).astype(float)),
                (last, (bag.codes[last] - bag.codes[below]).astype(float)),
            ]
        rank = np.lexsort((bag.weights, bag.owners))
        return [(rank[first], several.astype(float))]

    def list_rows(self, group: int) -> Ints:
        """List the people whom a group offers."""
        rows = self.groups.rows(group)
        codes = self.data.codes[self.names[self.attribute[group]]][rows]
        return np.asarray(rows[codes == self.code[group]], dtype=np.int64)
