"""The lossy join of a new table with earlier releases, never made row by row.

Wang and Fung, KDD 2006, sections 3.3, 5 and 7. Rows of tables match if what they show of every
common attribute may come from one value: if runs, sets or intervals overlap, which in a taxonomy is
to lie on one path. Earlier releases are kept as distinct combinations with weights; several are
joined with each other first, their own common attributes respected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from discreet.errors import SchemaError
from discreet.release import PossibleRecords, Release
from discreet.release.labels import Extent, Labels, read_labels
from discreet.table.arrays import Bools, Ints
from discreet.table.coded_table import CodedTable
from discreet.table.microdata import representatives, row_ids
from discreet.table.schema import refuse_other_kind

MOST_PAIRS, MOST_CELLS = 50_000_000, 500_000_000


@dataclass(frozen=True)
class Inconsistency:
    """Values that cannot be one person's: of an attribute of the new table, and of earlier ones."""

    here: str
    values: tuple[str, ...]
    there: str
    others: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class EarlierAttribute:
    """One attribute as an earlier release shows it, label by label."""

    name: str
    labels: Labels
    extent: Extent | None
    """The same as codes of the new table, if that has the attribute."""

    def overlaps(self, low: Ints, high: Ints, missing: int) -> Bools:
        """Of runs of codes of the new table (rows): which labels may be the same value.

        ``missing`` is the code of a missing value, or -1.
        """
        extent = self.extent
        assert extent is not None
        if extent.covers is not None:
            flags = extent.covers[extent.which]
            upto = np.concatenate([np.zeros((len(flags), 1), np.int64), flags.cumsum(1)], axis=1)
            return np.asarray((upto[:, high + 1] - upto[:, low] > 0).T)
        last = np.where(high == missing, high - 1, high)[:, None]
        met = (low[:, None] <= extent.high) & (extent.low <= last) & (low[:, None] <= last)
        met &= extent.low <= extent.high  # it may hold no value that anybody has
        return np.asarray(met | ((high == missing)[:, None] & extent.absent))


@dataclass(frozen=True, eq=False)
class JoinedEarlier:
    """Earlier releases as one table of distinct combinations."""

    columns: list[EarlierAttribute]
    """A common attribute of several releases has a column for each."""
    codes: Ints
    """Per column and combination the number of its label."""
    weights: Ints
    members: Ints
    """Per release and combination, which of the release's own combinations it is made of."""
    counts: list[Ints]
    """Per release how many records its own combinations have; 0 where these are only possible."""
    counted: bool = True
    """Whether weights are numbers of records, and not how likely combinations are."""
    rules: tuple[Inconsistency, ...] = ()

    @property
    def names(self) -> list[str]:
        """The attributes there are."""
        return list(dict.fromkeys(column.name for column in self.columns))

    def number(self, names: Sequence[str]) -> Ints:
        """Number the combinations of what all releases show of some attributes."""
        return self._number([i for i, c in enumerate(self.columns) if c.name in names])

    def number_once(self, names: Sequence[str]) -> Ints:
        """Number the combinations of what the first release that has each attribute shows."""
        return self._number(self.find_first(names))

    def find_first(self, names: Sequence[str]) -> list[int]:
        """Give the first column of each of some attributes."""
        shown = [column.name for column in self.columns]
        return [shown.index(name) for name in names]

    def _number(self, places: Sequence[int]) -> Ints:
        return row_ids((self.codes[i] for i in places), len(self.weights))

    def joined(self, names: Sequence[str]) -> list[str]:
        """Which attributes of a new table decide what matches."""
        ruled = {rule.here for rule in self.rules}
        return [name for name in names if name in self.names or name in ruled]

    def match(self, data: CodedTable, names: Sequence[str], low: Ints, high: Ints) -> Bools:
        """Of runs of codes of some attributes (rows): which combinations match."""
        if len(low) * len(self.weights) > MOST_CELLS:
            raise SchemaError(
                f"{len(low):,} combinations here and {len(self.weights):,} in earlier releases are "
                "too many to match.",
                hint="Give what tables share taxonomies or coarser values, or put it into X.",
            )
        met = np.ones((len(low), len(self.weights)), dtype=bool)
        for column, codes in zip(self.columns, self.codes, strict=True):
            if column.name in names and column.extent is not None:
                a = list(names).index(column.name)
                domain = data.domains[column.name]
                missing = domain.size - 1 if domain.missing else -1
                met &= column.overlaps(low[:, a], high[:, a], missing)[:, codes]
        for rule in self.rules:
            met &= ~self._contradict(rule, data, names, low, high)
        return met

    def count_unmet(self, met: Bools) -> int:
        """Count the records, of any release, in no combination that is met."""
        lost = 0
        for counts, members in zip(self.counts, self.members, strict=True):
            there = np.zeros(len(counts), dtype=bool)
            there[members[met]] = True
            lost += int(counts[~there].sum())
        return lost

    def _contradict(
        self, rule: Inconsistency, data: CodedTable, names: Sequence[str], low: Ints, high: Ints
    ) -> Bools:
        """Values contradict each other if all that either may be is named by the rule."""
        a = list(names).index(rule.here)
        named = np.isin(data.domains[rule.here].texts, rule.values)
        upto = np.concatenate([[0], np.cumsum(named)])
        here = upto[high[:, a] + 1] - upto[low[:, a]] == high[:, a] - low[:, a] + 1
        there = np.zeros(len(self.weights), dtype=bool)
        for column, codes in zip(self.columns, self.codes, strict=True):
            sets = column.labels.sets
            if column.name == rule.there and sets is not None:
                inside = np.array([bool(s) and s <= set(rule.others) for s in sets])
                there |= inside[codes]
        return np.asarray(here[:, None] & there)


def read_history(
    earlier: Sequence[Release],
    data: CodedTable,
    names: Sequence[str],
    rules: Sequence[Inconsistency],
) -> JoinedEarlier:
    """Read what earlier releases show of some attributes and of those the new table has."""
    parts = []
    often = Counter(name for release in earlier for name in release.schema.names)
    common = [name for name, times in often.items() if times > 1]
    seen = {attribute.name: attribute for attribute in data.public_schema}
    for release in earlier:
        for attribute in release.schema:
            refuse_other_kind(attribute, seen.setdefault(attribute.name, attribute))
        known = [*data.schema.published.names, *names, *common, *(rule.there for rule in rules)]
        shown = [n for n in release.schema.names if n in known]
        records = release.list_possible(shown)
        if records is None:
            raise SchemaError(
                f"An earlier release by {release.method} has no records to join with.",
                hint="Leave it out; what it tells together with this table is then not examined.",
            )
        parts.append(_read(release, records, data, shown))
    whole = reduce(_combine, parts)
    return replace(whole, rules=tuple(rules))


def _read(
    release: Release, records: PossibleRecords, data: CodedTable, names: list[str]
) -> JoinedEarlier:
    table = records.table
    columns, codes = [], []
    for name in names:
        labels, number = read_labels(release, table, name)
        extent = labels.cover(data.domains[name]) if name in data.domains else None
        columns.append(EarlierAttribute(name, labels, extent))
        codes.append(number)
    key = row_ids(codes, table.height)
    first = representatives(key)
    weights = np.zeros(len(first), dtype=np.int64)
    np.add.at(weights, key, records.weights)
    kept = np.array([c[first] for c in codes], dtype=np.int64).reshape(len(codes), len(first))
    # of combinations that are merely possible, most are nobody's
    counts = weights if records.own else np.zeros_like(weights)
    return JoinedEarlier(columns, kept, weights, np.arange(len(weights))[None], [counts],
                         counted=records.own)  # fmt: skip


def _combine(one: JoinedEarlier, other: JoinedEarlier) -> JoinedEarlier:
    """Join what two releases show; their common attributes must overlap."""
    pairs = len(one.weights) * len(other.weights)
    if pairs > MOST_PAIRS:
        raise SchemaError(
            f"The earlier releases have {pairs:,} combinations together.",
            hint="Check against fewer of them at a time.",
        )
    met = np.ones((len(one.weights), len(other.weights)), dtype=bool)
    for column, codes in zip(one.columns, one.codes, strict=True):
        for shown, numbers in zip(other.columns, other.codes, strict=True):
            if shown.name == column.name:
                met &= column.labels.meets(shown.labels)[codes][:, numbers]
    left, right = np.nonzero(met)
    codes = np.concatenate([one.codes[:, left], other.codes[:, right]])
    weights = one.weights[left] * other.weights[right]
    members = np.concatenate([one.members[:, left], other.members[:, right]])
    columns = [*one.columns, *other.columns]
    return JoinedEarlier(columns, codes, weights, members, [*one.counts, *other.counts],
                         counted=one.counted and other.counted)  # fmt: skip
