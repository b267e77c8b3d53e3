"""In windows: the audit of a release in which people who look the same are all over the table.

Where groups are of people who have something else in common than what they show, no run of groups
holds all records that may be somebody's. So groups are verified run by run, and what each holds is
put down; then records are sorted by what they show into windows, each with what the groups of its
records hold, and everybody is held against the one window that has all records that may be theirs.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.auditing import AuditReport
from discreet.auditing.in_parts import AskedOfParts, PeopleFiles, audit_each, freeing
from discreet.auditing.merging import ScatteredValues
from discreet.forms.consistency import OwnValues, UsedValues
from discreet.forms.verify import verify
from discreet.principles.groups import Groups
from discreet.release import Release
from discreet.release.labels import read_codes
from discreet.release.parts import StoredParts
from discreet.table.arrays import Ints
from discreet.table.facts import Facts, Progress
from discreet.table.parquet_files import ParquetFiles

SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""An odd number whose multiples are spread over all words of 64 bits."""


@dataclass(frozen=True)
class WindowFinder:
    """Says by what they show into which of so many windows people and records go."""

    names: tuple[str, ...]
    windows: int

    def find(self, codes: Mapping[str, NDArray[np.integer]]) -> Ints:
        """Give everybody's window."""
        mixed = np.zeros(len(codes[self.names[0]]), dtype=np.uint64)
        for name in self.names:
            mixed = (mixed + codes[name].astype(np.uint64) + np.uint64(1)) * SPREAD
            mixed ^= mixed >> np.uint64(29)
        return ((mixed >> np.uint64(11)) % np.uint64(self.windows)).astype(np.int64)

    def send(self, codes: Mapping[str, NDArray[np.integer]]) -> Iterator[tuple[int, Ints]]:
        """Give, window by window, the people who go there."""
        window = self.find(codes)
        order = np.argsort(window, kind="stable")
        ends = np.searchsorted(window[order], np.arange(self.windows + 1))
        for number in np.unique(window).tolist():
            yield number, order[ends[number] : ends[number + 1]]


class StoredBags:
    """What groups hold of a sensitive attribute, in files, by their numbers."""

    def __init__(self, folder: Path) -> None:
        self._codes, self._weights = folder / "bag-codes", folder / "bag-weights"
        self._left, self._lacks = folder / "bag-left", False
        self._numbers: list[Ints] = []
        self._lengths: list[Ints] = []
        self._shape: Groups | None = None

    def add(self, numbers: Ints, bags: Groups) -> None:
        """Put down what the groups of these numbers hold, which are behind all others."""
        with self._codes.open("ab") as file:
            bags.codes.astype(np.int32).tofile(file)
        with self._weights.open("ab") as file:
            bags.weights.astype(np.int64).tofile(file)
        self._numbers.append(numbers)
        self._lengths.append(np.diff(bags.offsets))
        self._shape = bags

    def seal(self) -> None:
        """Go over from putting down to looking up."""
        shutil.copyfile(self._weights, self._left)
        self._numbers = [np.concatenate(self._numbers)]
        self._lengths = [np.append(0, np.cumsum(np.concatenate(self._lengths)))]

    def _find(self, numbers: Ints) -> tuple[Ints, Ints]:
        """Say where in the files what some groups hold is, one after the other, and their ends."""
        at = np.searchsorted(self._numbers[0], numbers)
        starts, ends = self._lengths[0][at], self._lengths[0][at + 1]
        offsets = np.append(0, np.cumsum(ends - starts))
        return np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], ends - starts), offsets

    def use(self, numbers: Ints, used: UsedValues) -> None:
        """Take what people of a window have, who can be in one of these groups only."""
        places, _ = self._find(numbers)
        self._lacks |= bool((used.entries < 0).any())
        there = used.entries >= 0
        left = np.memmap(self._left, dtype=np.int64, mode="r+")
        left[places[used.entries[there]]] -= used.people[there]  # each entry is there once

    @property
    def overdrawn(self) -> bool:
        """Whether people have more of a value than their groups hold."""
        left = np.memmap(self._left, dtype=np.int64, mode="r")
        return self._lacks or bool((left < 0).any())

    def take(self, numbers: Ints) -> Groups:
        """Give what some groups hold, in this order."""
        assert self._shape is not None
        places, offsets = self._find(numbers)
        codes = np.memmap(self._codes, dtype=np.int32, mode="r")[places]
        weights = np.memmap(self._weights, dtype=np.int64, mode="r")[places]
        return replace(
            self._shape, offsets=offsets, codes=np.asarray(codes), weights=np.asarray(weights)
        )

    def remove(self) -> None:
        """Remove the files."""
        for path in (self._codes, self._weights, self._left):
            path.unlink()


@dataclass
class GroupTotals:
    """What is known of groups once all were verified."""

    groups: int = 0
    discernibility: int = 0

    def add(self, sizes: Ints) -> None:
        """Count some groups."""
        self.groups += len(sizes)
        self.discernibility += int((sizes.astype(np.int64) ** 2).sum())


def audit_windows(
    stored: StoredParts,
    files: ParquetFiles,
    facts: Facts,
    people: PeopleFiles,
    folder: Path,
    *,
    asked: AskedOfParts | None,
    at_once: int,
    progress: Progress,
) -> AuditReport:
    """Verify all groups, then audit window by window."""
    finder = WindowFinder(
        tuple(stored.release.schema.quasi_identifiers), max(1, -(-facts.n // at_once))
    )
    bags, totals = StoredBags(folder), GroupTotals()
    for number, part in freeing(enumerate(stored.read(at_once)), at_once):
        verify(part)
        _put_down(stored, part, bags, totals)
        _sort_records(part, facts, finder, folder, number)
    bags.seal()
    people.send(files, finder.send, progress)
    own: list[OwnValues] = []

    def settle(window: Release, told: ScatteredValues) -> None:
        own.append(told.own)
        assert told.used is not None
        bags.use(stored.list_numbers(window.views[0].table), told.used)

    windows = _read_windows(stored, bags, folder, finder.windows)
    report = audit_each(windows, people, facts, asked, progress, settle)
    overdrawn = bags.overdrawn
    bags.remove()
    people.forget()
    return conclude(report, stored, facts, totals, own, overdrawn=overdrawn)


def conclude(
    report: AuditReport,
    stored: StoredParts,
    facts: Facts,
    totals: GroupTotals,
    own: Sequence[OwnValues],
    *,
    overdrawn: bool,
) -> AuditReport:
    """Say of the whole what no window tells."""
    (name,) = stored.release.schema.sensitive
    findings = OwnValues(
        sum(some.hits for some in own), sum(some.expected for some in own),
        sum(some.variance for some in own),
    ).judge(name)  # fmt: skip
    if overdrawn:
        findings.append(
            f"values of {name} are in groups to which the people who have them do not belong"
        )
    held = stored.whole[name]
    shown = pl.DataFrame([held["value"].alias(name)])
    codes = read_codes(stored.release, shown, name, facts.domains[name])
    counts = np.zeros(facts.domains[name].size + 1, dtype=np.int64)  # the last is of no value
    np.add.at(counts, codes, held["rows"].to_numpy())
    if counts[-1] or not np.array_equal(counts[:-1], facts.count(name)):
        findings.append(f"the published values of {name} are not those of the people")
    loss = replace(
        report.loss,
        discernibility=totals.discernibility,
        average_class_size=report.records / max(totals.groups, 1),
    )
    return replace(report, groups=totals.groups, loss=loss, findings=[*report.findings, *findings])


def _put_down(stored: StoredParts, part: Release, bags: StoredBags, totals: GroupTotals) -> None:
    """Put down what the groups of a part hold."""
    (view,) = part.views
    (name,) = part.schema.sensitive
    bags.add(stored.list_numbers(view.table), view.bags(name))
    totals.add(view.sizes)


def _sort_records(
    part: Release, facts: Facts, finder: WindowFinder, folder: Path, number: int
) -> None:
    """Write the records of a part to the windows they belong to."""
    (view,) = part.views
    codes = {name: read_codes(part, view.table, name, facts.domains[name]) for name in finder.names}
    for window, rows in finder.send(codes):
        place = folder / f"window-{window}"
        place.mkdir(exist_ok=True)
        view.table[rows].write_parquet(place / f"{number}.parquet")


def _read_windows(
    stored: StoredParts, bags: StoredBags, folder: Path, windows: int
) -> Iterator[tuple[int, Release]]:
    """Give window by window, by its number, its records with what their groups hold."""
    (name,) = stored.release.schema.sensitive
    for window in range(windows):
        place = folder / f"window-{window}"
        if not place.exists():
            continue  # whoever is sent there is in no group
        pieces = sorted(place.iterdir())
        table = pl.concat([pl.read_parquet(piece) for piece in pieces])
        for piece in pieces:
            piece.unlink()
        place.rmdir()
        yield window, stored.take_records(table, {name: bags.take(stored.list_numbers(table))})
