"""Attacker: the records that somebody outside holds, and how people are found in them.

Records of a release where these show people beside their own values; else as many as there are
people, drawn from what the release stands for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from discreet.release import Release
from discreet.release.labels import read_codes, read_labels
from discreet.table.arrays import Bools, Floats, Ints
from discreet.table.domain import Domain
from discreet.table.microdata import Microdata, read, representatives, row_ids
from discreet.table.schema import Schema

SEED = 0
"""What attacks draw protects nobody; who repeats them gets the same."""
FEW_LABELS = 4096
"""Of attributes with more labels, distances are not kept."""


class Lookup:
    """Finds the rows whose numbers, in several columns, are among some."""

    def __init__(self, columns: dict[str, Ints], sizes: dict[str, int]) -> None:
        self.columns = columns
        self.order = {name: np.argsort(column, kind="stable") for name, column in columns.items()}
        self.counts = {
            name: np.bincount(column, minlength=sizes[name]) for name, column in columns.items()
        }
        self.starts = {name: np.cumsum(c) - c for name, c in self.counts.items()}

    def count(self, wanted: dict[str, Bools]) -> int:
        """Count the rows that have in every named column one of the numbers that are flagged."""
        hits = {name: int(self.counts[name][flags].sum()) for name, flags in wanted.items()}
        rarest = min(hits, key=hits.__getitem__)
        if not hits[rarest]:
            return 0
        starts, counts, order = self.starts[rarest], self.counts[rarest], self.order[rarest]
        parts = [order[starts[c] : starts[c] + counts[c]] for c in np.flatnonzero(wanted[rarest])]
        rows = np.concatenate(parts)
        for name, flags in wanted.items():
            if name != rarest:
                rows = rows[flags[self.columns[name][rows]]]
        return len(rows)


@dataclass(frozen=True, eq=False)
class ShownColumn:
    """What records show of an attribute, label by label, as codes of the people's domain."""

    domain: Domain
    label: Ints
    """Per record its label."""
    low: Ints
    high: Ints
    """Of each label the codes it covers, where these are a range; none where low is above."""
    absent: Bools
    covers: Bools | None = None
    """Per label and code whether it is covered, where labels are sets."""
    is_drawn: bool = False
    """Whether values were drawn within labels, so that they are only about right."""

    @property
    def count(self) -> int:
        """Number of labels."""
        return len(self.low)

    @cached_property
    def middle(self) -> float:
        """The label in the middle of all records."""
        return float(np.median(self.label))

    def claim(self, label: int) -> Bools:
        """Flag the codes that a label covers; of a number drawn within one, all on its side."""
        if self.covers is not None:
            return np.asarray(self.covers[label], dtype=bool)
        low, high, numbers = int(self.low[label]), int(self.high[label]), len(self.domain.values)
        if self.is_drawn and self.domain.attribute.type.ordered and low <= high:
            low, high = (low, numbers - 1) if label > self.middle else (0, high)
        flags = np.zeros(self.domain.size, dtype=bool)
        flags[low : high + 1] = True
        if self.domain.missing:
            flags[-1] = self.absent[label]
        return flags

    def labels_that_meet(self, codes: Bools) -> Bools:
        """Flag the labels that cover any of some codes."""
        if self.covers is not None:
            return np.asarray(self.covers[:, codes].any(axis=1))
        running = np.concatenate([[0], np.cumsum(codes[: len(self.domain.values)])])
        high = np.maximum(self.high + 1, self.low)
        met = running[np.minimum(high, len(running) - 1)] > running[self.low]
        return np.asarray(met | (self.absent & (self.domain.missing and codes[-1])))

    def distances(self, code: int) -> Floats:
        """Give how far a code is from what each label covers, from 0 to 1.

        Of ordered values the steps between them, beside all there are; of others, 0 or 1.
        """
        if self.covers is not None:
            return np.asarray(~self.covers[:, code], dtype=float)
        if self.domain.missing and code == self.domain.size - 1:
            return np.asarray(~self.absent, dtype=float)
        found = np.asarray((code < self.low) | (self.high < code), dtype=float)
        if self.domain.attribute.type.ordered:
            steps = np.maximum(np.maximum(self.low - code, code - self.high), 0)
            found = np.minimum(steps / max(len(self.domain.values) - 1, 1), 1)
            found[self.low > self.high] = 1
        return found


@dataclass(frozen=True, eq=False)
class Attacker:
    """Records, and the people they are tried on."""

    columns: dict[str, ShownColumn]
    people: Microdata
    control: Microdata | None
    """People whom the release was not made from."""
    quasi_identifiers: list[str]
    sensitive: list[str]
    is_own: bool
    """Whether records show people beside their own values; else they are drawn."""

    @cached_property
    def records(self) -> int:
        """Number of records."""
        return len(next(iter(self.columns.values())).label)

    def claim(self, name: str, record: int) -> tuple[Bools, Bools]:
        """Give the codes that a record claims of an attribute, and the labels that meet them."""
        column = self.columns[name]
        key = name, int(column.label[record])
        if key not in self._claimed:
            codes = column.claim(key[1])
            self._claimed[key] = codes, column.labels_that_meet(codes)
        return self._claimed[key]

    @cached_property
    def _claimed(self) -> dict[tuple[str, int], tuple[Bools, Bools]]:
        return {}

    @cached_property
    def lookup(self) -> Lookup:
        """The records by their labels."""
        labels = {name: column.label for name, column in self.columns.items()}
        return Lookup(labels, {name: column.count for name, column in self.columns.items()})

    def look_up(self, data: Microdata) -> Lookup:
        """Give people by their codes."""
        codes = {name: data.codes[name].astype(np.int64) for name in self.columns}
        return Lookup(codes, {name: data.domains[name].size for name in self.columns})

    def nearest(self, names: Sequence[str]) -> Nearest:
        """Be ready to find the records that are nearest to people, by some attributes."""
        number = row_ids([self.columns[name].label for name in names], self.records)
        first = representatives(number)
        shown = {name: self.columns[name].label[first] for name in names}
        order = np.argsort(number, kind="stable")
        return Nearest({n: self.columns[n] for n in names}, shown, order, np.bincount(number))


@dataclass(frozen=True, eq=False)
class Nearest:
    """Records by what they show of some attributes, to be held against people."""

    columns: dict[str, ShownColumn]
    shown: dict[str, Ints]
    """Per attribute, the label of each different combination."""
    order: Ints
    """Records, by the combination they show."""
    counts: Ints
    """How many records show each combination."""

    @property
    def work(self) -> int:
        """How many distances one person costs."""
        return len(self.counts) * len(self.columns)

    def find(self, data: Microdata, person: int) -> Ints:
        """Give the records that are nearest to a person, all of them that are as near."""
        total = np.zeros(len(self.counts))
        for name, column in self.columns.items():
            total += self._measure(name, column, int(data.codes[name][person]))[self.shown[name]]
        tied = np.flatnonzero(total <= total.min() + 1e-9)
        starts = (np.cumsum(self.counts) - self.counts)[tied]
        lengths = self.counts[tied]
        place = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
        return np.asarray(self.order[place + np.arange(int(lengths.sum()))])

    def _measure(self, name: str, column: ShownColumn, code: int) -> Floats:
        """Give how far a value is from every label; many people have the same few values."""
        if column.count > FEW_LABELS:
            return column.distances(code)
        if (name, code) not in self._measured:
            self._measured[name, code] = column.distances(code)
        return self._measured[name, code]

    @cached_property
    def _measured(self) -> dict[tuple[str, int], Floats]:
        return {}


def take_place(release: Release, data: Microdata, control: Microdata | None) -> Attacker:
    """Put together what an attacker holds: a release's own records, or records drawn from it."""
    view = max(release.views, key=lambda view: view.width)
    schema = view.release.schema
    is_own = view.shows_whose and view.holds_values
    known = schema.quasi_identifiers
    names = [*known, *(name for name in schema.names if name not in known)]
    drawn = None
    if not is_own:
        drawn = release.sample(data.n, seed=SEED)
        names = [name for name in names if name in drawn.columns]
    parts = _share_domains(names, schema, data, control, drawn)
    people, others = parts[0], parts[1] if control is not None else None
    if drawn is None:
        columns = {
            name: _read_column(view.release, view.table, name, people.domains[name])
            for name in names
        }
    else:
        columns = {
            name: _take_codes(
                people.domains[name],
                parts[-1].codes[name].astype(np.int64),
                is_drawn=release.recodings[name].is_blurred,
            )
            for name in names
        }
    sensitive = [name for name in schema.sensitive if name in names]
    quasi_identifiers = [name for name in known if name in names]
    return Attacker(columns, people, others, quasi_identifiers, sensitive, is_own)


def _share_domains(
    names: list[str], schema: Schema, data: Microdata, *others: Microdata | pl.DataFrame | None
) -> list[Microdata]:
    """Give several tables as codes of the same domains."""
    tables = [data.to_polars().select(names)]
    for other in others:
        if other is not None:
            frame = other if isinstance(other, pl.DataFrame) else other.to_polars()
            tables.append(frame.select(names).cast(tables[0].schema))
    if len(tables) == 1:
        return [data]
    both = read(pl.concat(tables), schema.only(names))
    ends = np.cumsum([table.height for table in tables])
    return [
        both.taken(np.arange(end - table.height, end))
        for end, table in zip(ends, tables, strict=True)
    ]


def _read_column(release: Release, table: pl.DataFrame, name: str, domain: Domain) -> ShownColumn:
    """Read what records show of an attribute, exactly or by labels."""
    if not release.recodings[name].is_blurred:
        return _take_codes(domain, read_codes(release, table, name, domain), is_drawn=False)
    labels, number = read_labels(release, table, name)
    extent = labels.cover(domain)
    covers = None if extent.covers is None else extent.covers[extent.which]
    return ShownColumn(domain, number, extent.low, extent.high, extent.absent, covers)


def _take_codes(domain: Domain, codes: Ints, *, is_drawn: bool) -> ShownColumn:
    """Take exact values, each a label of its own; the last label is of what nobody has."""
    every = np.arange(domain.size + 1)
    absent = np.zeros(len(every), dtype=bool)
    low, high = every.copy(), every.copy()
    low[-1], high[-1] = 1, 0
    if domain.missing:
        absent[domain.size - 1] = True
        low[domain.size - 1], high[domain.size - 1] = 1, 0
    label = np.where(codes < 0, domain.size, codes)
    return ShownColumn(domain, label, low, high, absent, is_drawn=is_drawn)
