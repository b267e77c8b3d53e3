"""The lossy join of a new table with earlier releases, never made row by row.

Wang and Fung, KDD 2006, sections 3.3, 5 and 7. Rows of tables match if what they show of every
common attribute may come from one value: if runs, sets or intervals overlap, which in a taxonomy is
to lie on one path. Earlier releases are kept as distinct combinations with weights, each by itself;
what several of them make of a row is summed in ``star_joins``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from discreet.errors import SchemaError
from discreet.release import PossibleRecords, Release
from discreet.release.labels import Extent, Labels, read_labels
from discreet.table.arrays import Bools, Ints, add_up
from discreet.table.coded_table import CodedTable
from discreet.table.microdata import representatives, row_ids
from discreet.table.schema import refuse_other_kind

LARGEST = 2**62
"""More rows of a join are not counted: 64 bits would not hold them."""


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
class EarlierTable:
    """One earlier release as distinct combinations of what it shows."""

    columns: list[EarlierAttribute]
    codes: Ints
    """Per column and combination the number of its label."""
    weights: Ints
    counted: bool = True
    """Whether weights are numbers of records, and not how likely combinations are."""

    @property
    def names(self) -> list[str]:
        """The attributes there are."""
        return [column.name for column in self.columns]

    def number(self, names: Collection[str]) -> Ints:
        """Number the combinations of what it shows of some attributes."""
        places = [i for i, column in enumerate(self.columns) if column.name in names]
        return row_ids((self.codes[i] for i in places), len(self.weights))

    def take(self, names: Collection[str]) -> EarlierTable:
        """Give what it shows of some attributes only; the weights of what is then alike add up."""
        number = self.number(names)
        first = representatives(number)
        places = [i for i, column in enumerate(self.columns) if column.name in names]
        codes = self.codes[places][:, first]
        weights = add_up(number, self.weights, len(first))
        return EarlierTable([self.columns[i] for i in places], codes, weights, self.counted)

    def joined(self, names: Sequence[str], rules: Sequence[Inconsistency]) -> list[str]:
        """Which attributes of a new table decide what matches."""
        ruled = {rule.here for rule in rules if rule.there in self.names}
        return [name for name in names if name in self.names or name in ruled]

    def match(
        self,
        data: CodedTable,
        names: Sequence[str],
        low: Ints,
        high: Ints,
        rules: Sequence[Inconsistency],
    ) -> Bools:
        """Of runs of codes of some attributes (rows): which combinations match."""
        met = np.ones((len(low), len(self.weights)), dtype=bool)
        for column, codes in zip(self.columns, self.codes, strict=True):
            if column.name in names and column.extent is not None:
                a = list(names).index(column.name)
                domain = data.domains[column.name]
                missing = domain.size - 1 if domain.missing else -1
                met &= column.overlaps(low[:, a], high[:, a], missing)[:, codes]
        for rule in rules:
            if rule.there in self.names:
                met &= ~self._contradict(rule, data, names, low, high)
        return met

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


@dataclass(frozen=True, eq=False)
class EarlierTables:
    """All earlier releases, and which values of them cannot be somebody's of a new table."""

    tables: list[EarlierTable]
    rules: tuple[Inconsistency, ...] = ()

    @property
    def columns(self) -> list[EarlierAttribute]:
        """What releases show, one after the other; of a common attribute each shows its own."""
        return [column for table in self.tables for column in table.columns]

    @property
    def names(self) -> list[str]:
        """The attributes there are."""
        return list(dict.fromkeys(column.name for column in self.columns))

    @cached_property
    def met(self) -> dict[tuple[int, int, str], Bools]:
        """Which labels meet of each attribute that two releases share (rows, columns)."""
        return {
            (i, j, mine.name): mine.labels.meets(other.labels)
            for (i, one), (j, table) in combinations(enumerate(self.tables), 2)
            for mine in one.columns
            for other in table.columns
            if other.name == mine.name
        }

    @property
    def counted(self) -> bool:
        """Whether all weights are numbers of records."""
        return all(table.counted for table in self.tables)

    def find_first(self, name: str) -> int:
        """Give the first release that has an attribute: of Y it is the one that counts."""
        return next(i for i, table in enumerate(self.tables) if name in table.names)

    def joined(self, names: Sequence[str]) -> list[str]:
        """Which attributes of a new table decide what matches."""
        deciding = {n for table in self.tables for n in table.joined(names, self.rules)}
        return [name for name in names if name in deciding]

    def settle(self, data: CodedTable, names: Sequence[str], low: Ints, high: Ints) -> Bools:
        """Say of runs of codes (rows) whether releases that match them match each other by these.

        So it is if every two labels that a run meets meet: then what is shared with the new table
        need not be compared between earlier releases. Of exact values it always is.
        """
        settled = np.ones(len(low), dtype=bool)
        for (i, j, name), met in self.met.items():
            columns = [c for place in (i, j) for c in self.tables[place].columns if c.name == name]
            if name in names:
                a = list(names).index(name)
                run = row_ids((low[:, a], high[:, a]), len(low))
                first, domain = representatives(run), data.domains[name]
                missing = domain.size - 1 if domain.missing else -1
                here, there = (column.overlaps(low[first, a], high[first, a], missing)
                               for column in columns)  # fmt: skip
                apart = here.astype(np.float32) @ (~met).astype(np.float32) > 0
                broken = np.asarray(apart & there).any(axis=1)
                settled &= ~np.asarray(broken)[run]
        return settled


def read_history(
    earlier: Sequence[Release],
    data: CodedTable,
    names: Sequence[str],
    rules: Sequence[Inconsistency],
) -> EarlierTables:
    """Read what earlier releases show of some attributes and of those the new table has."""
    tables = []
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
        tables.append(_read(release, records, data, shown))
    return EarlierTables(tables, tuple(rules))


def _read(
    release: Release, records: PossibleRecords, data: CodedTable, names: list[str]
) -> EarlierTable:
    table = records.table
    columns, codes = [], []
    for name in names:
        labels, number = read_labels(release, table, name)
        extent = labels.cover(data.domains[name]) if name in data.domains else None
        columns.append(EarlierAttribute(name, labels, extent))
        codes.append(number)
    if records.weights.sum(dtype=np.float64) > LARGEST:
        raise refuse_counting()
    key = row_ids(codes, table.height)
    first = representatives(key)
    weights = add_up(key, records.weights, len(first))
    kept = np.array([c[first] for c in codes], dtype=np.int64).reshape(len(codes), len(first))
    return EarlierTable(columns, kept, weights, counted=records.own)


def refuse_counting() -> SchemaError:
    """Say that a join is too large for 64 bits."""
    return SchemaError(
        "The join of this table with the earlier releases has more rows than can be counted.",
        hint="Check against fewer of them at a time.",
    )
