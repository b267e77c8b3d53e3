"""On a cluster: the audit in parts, each by whichever worker has the time.

Workers read the files of the release themselves, from a folder that all of them see, and those in
which the people are whom a file might cover.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.auditing import AuditReport, refuse_other_table
from discreet.auditing.earlier_in_parts import (
    MOST_KINDS,
    DisclosedKinds,
    HeldAgainst,
    ShownRecords,
    hold_against,
)
from discreet.auditing.in_parts import (
    SENT,
    AskedOfParts,
    FindParts,
    Seen,
    audit_part,
    find_odd_words,
    glance,
    put_side_by_side,
    read_people,
    write_people,
)
from discreet.auditing.merging import PartFindings, merge
from discreet.auditing.strewn import count_groups, find_view
from discreet.errors import SchemaError
from discreet.release import Release
from discreet.release.parts import MORE, StoredParts
from discreet.release.release import PartedTable
from discreet.table.arrays import Ints
from discreet.table.by_workers import Spills, name_file, remove, run_each, run_shares, spill
from discreet.table.facts import Facts, Progress
from discreet.table.microdata import Microdata
from discreet.table.staged_frames import StagedRows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOBODY = np.zeros(0, dtype=np.int64)
MOST_SENT = 1 << 21
"""So many people are held before they are sent."""
Settle = Callable[[int, Release, PartFindings], PartFindings]
"""Puts down what has to be added up over all parts, and leaves the rest."""


class WorkPlace(NamedTuple):
    """Where an audit works: a session, all rows of the table, and a folder that workers see."""

    session: SparkSession
    rows: StagedRows
    folder: Path


@dataclass(frozen=True, eq=False)
class _Look:
    """Looks at the boxes of files."""

    stored: StoredParts
    facts: Facts
    held: HeldAgainst | None

    def __call__(self, number: int) -> Seen:
        part = self.stored.take_file(number)
        view = find_view(part)
        shown = None if self.held is None else self.held.count_shown(part)
        return Seen(glance(part, self.facts), view.table.height, view.count,
                    *self.stored.span(part), shown)  # fmt: skip


@dataclass(frozen=True, eq=False)
class SendPeople:
    """Sends people to the parts that might cover them: a line of numbers each, row and codes."""

    rows: StagedRows
    facts: Facts
    find: FindParts
    folder: Path

    def __call__(self, number: int) -> list[Path]:
        """Send those of a piece."""
        rows, codes = self.rows.encode(number, self.facts)
        lines = write_people(rows, codes)
        paths: list[Path] = []
        parts: list[Ints] = []
        people: list[Ints] = []
        for part, some in self.find(codes):
            parts.append(np.full(len(some), part))
            people.append(some)
            if sum(map(len, people)) > MOST_SENT:
                paths.append(self._send(parts, people, lines))
                parts, people = [], []
        return [*paths, self._send(parts, people, lines)] if parts else paths

    def _send(self, parts: list[Ints], people: list[Ints], lines: NDArray[np.int32]) -> Path:
        return spill(self.folder, np.concatenate(parts), lines[np.concatenate(people)])


@dataclass(frozen=True, eq=False)
class SentPeople:
    """People who were sent to parts."""

    facts: Facts
    spills: Spills

    def take(self, number: int, part: Release) -> Microdata:
        """Give those who were sent to a part; of very many only those whom it covers.

        A box that is wide in every attribute has half of a table sent to its part.
        """
        view = find_view(part)
        most = SENT * view.table.height
        held: list[NDArray[np.integer]] = [np.zeros((0, self.spills.width), np.int32)]
        for lines in self.spills.read(number):
            held.append(lines)
            if sum(map(len, held)) > most:
                some = self._hold(held)
                kept = np.flatnonzero(view.match(some).set_of >= 0)
                held = [np.concatenate(held)[kept]]
                most = max(most, 2 * len(kept))
        return self._hold(held)

    def _hold(self, held: Sequence[NDArray[np.integer]]) -> Microdata:
        return read_people(self.facts, np.concatenate(held))


@dataclass(frozen=True, eq=False)
class _Examine:
    """Audits a part with the people who were sent to it."""

    take: Callable[[int], Release | None]
    people: SentPeople
    asked: AskedOfParts
    settle: Settle | None
    folder: Path

    def __call__(self, number: int) -> tuple[PartFindings, Path]:
        """Give what was found, and where it stands whom it covers."""
        part = self.take(number)
        found = PartFindings(None, 0, 0, NOBODY)
        if part is not None:
            found = audit_part(part, self.people.take(number, part), self.asked)
            found = found if self.settle is None else self.settle(number, part, found)
        path = name_file(self.folder, "covered")
        with path.open("wb") as file:
            np.save(file, np.sort(found.rows))
        return replace(found, rows=NOBODY), path


@dataclass(frozen=True, eq=False)
class _CountCovered:
    """Counts the people of a piece whom no part covers, and those whom several do."""

    rows: StagedRows
    facts: Facts
    paths: list[Path]

    def __call__(self, number: int) -> tuple[int, int]:
        low, high = self.rows.starts[number : number + 2].tolist()
        times = np.zeros(high - low, dtype=np.int64)
        for path in self.paths:
            covered = np.load(path, mmap_mode="r")
            some = slice(*np.searchsorted(covered, [low, high]).tolist())
            times += np.bincount(covered[some] - low, minlength=high - low)
        times = times[self.rows.list_kept(number, self.facts)]
        return int((times == 0).sum()), int((times > 1).sum())


@dataclass(frozen=True, eq=False)
class _CountValues:
    """Counts what files of a table of a release hold of some attributes."""

    stored: StoredParts
    table: PartedTable
    names: list[str]

    def __call__(self, numbers: Sequence[int]) -> dict[str, pl.DataFrame]:
        table, names = self.table, self.names
        columns = [*names, *([table.counts] if table.counts else [])]
        held: dict[str, list[pl.DataFrame]] = {name: [] for name in names}
        for number in numbers:
            path = self.stored.folder / self.stored.find(table).paths[number]
            frame = pl.read_parquet(path, columns=columns, glob=False)
            for name in names:
                held[name] = [_add_up([*held[name], table.count_values(frame, name)])]
        return {name: found for name, (found,) in held.items()}


def _add_up(parts: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat(parts).group_by("value").agg(pl.col("rows").sum())


def audit_on_cluster(
    release: Path,
    place: WorkPlace,
    facts: Facts,
    *,
    asked: AskedOfParts | None = None,
    progress: Progress,
) -> AuditReport:
    """Audit a release in its folder against a table that a cluster has."""
    from discreet.auditing.windows_on_cluster import audit_windows_on_cluster

    stored = StoredParts(release)
    stored.refuse_unsealed()
    refuse_other_table(stored.release, facts)
    stored = replace(stored, counted=_count_whole(place.session, stored))
    progress("Matching", 0, facts.n)
    asked = asked or AskedOfParts()
    held = hold_against(stored, facts, asked.earlier, asked.principle, asked.roles)
    asked = replace(asked, held=held)
    audit_all = audit_windows_on_cluster if stored.scattered else _audit_each_file
    report = audit_all(stored, place, facts, asked=asked, progress=progress)
    return replace(report, findings=[*find_odd_words(stored), *report.findings])


def _count_whole(session: SparkSession, stored: StoredParts) -> dict[str, pl.DataFrame]:
    """Count, on the cluster, what the release holds of what is not a quasi-identifier."""
    whole: dict[str, pl.DataFrame] = {}
    for table, names in stored.counting.items():
        files = len(stored.find(table).paths)
        told = run_shares(session, files, _CountValues(stored, table, names))
        whole |= {name: _add_up([some[name] for some in told]) for name in names}
    return whole


def _audit_each_file(
    stored: StoredParts, place: WorkPlace, facts: Facts, *, asked: AskedOfParts, progress: Progress
) -> AuditReport:
    """Look at all files, then audit each with the people whom it might cover."""
    from discreet.auditing.strewn_on_cluster import TakeFile, share_on_cluster

    seen: list[Seen] = look_at_files(place.session, stored, _Look(stored, facts, asked.held))
    held, lost = asked.held, list[str]()
    if held is not None:
        shown = ShownRecords(MOST_KINDS)
        for one in seen:
            shown.add(one.shown)
        held, lost = shown.judge(held, asked.earlier)
    looked = put_side_by_side([one.looked for one in seen])
    shares = share_on_cluster(place.session, stored, place.folder)
    progress("Auditing", 0, facts.n)
    light = replace(asked, held=held, earlier=())  # workers need none of their records
    take = TakeFile(stored, shares)
    found, people, none, twice = examine_parts(place, facts, looked.find, len(seen), take, light)
    if twice and stored.may_overlap:
        # beliefs of them follow from all classes together, which nobody had
        raise SchemaError(
            f"{twice:,} people are covered by classes of several files, which are examined apart.",
            hint=MORE,
        )
    report = count_groups(merge(found, people, none, twice), stored, shares)
    disclosed = DisclosedKinds(MOST_KINDS)
    for part in found:
        disclosed.add(part.disclosed)
    report = disclosed.compose(report, asked.earlier, held, facts)
    return replace(report, findings=[*report.findings, *lost])


def look_at_files(session: SparkSession, stored: StoredParts, look: Callable[[int], Any]) -> Any:
    """Have workers look at all files of records, and refuse these unless they are in order."""
    seen = run_each(session, len(stored.records.paths), look)
    stored.require_order([one.ends for one in seen], [one.beside for one in seen])
    return seen


def examine_parts(
    place: WorkPlace,
    facts: Facts,
    find: FindParts,
    parts: int,
    take: Callable[[int], Release | None],
    asked: AskedOfParts,
    settle: Settle | None = None,
) -> tuple[list[PartFindings], int, int, int]:
    """Send people to so many parts, and have these examined.

    Gives what was found, how many people there are, and how many are not covered, and twice.
    """
    session, rows, folder = place
    send = SendPeople(rows, facts, find, folder)
    sent = [path for paths in run_each(session, len(rows.pieces), send) for path in paths]
    people = SentPeople(facts, Spills(sent, len(facts.cells) + 2, np.int32))
    told = run_each(session, parts, _Examine(take, people, asked, settle, folder))
    people.spills.forget()
    covered = [path for _, path in told]
    counted = run_each(session, len(rows.pieces), _CountCovered(rows, facts, covered))
    remove(covered)
    none, twice = np.array(counted, dtype=np.int64).reshape(-1, 2).sum(axis=0).tolist()
    return [found for found, _ in told], facts.n, none, twice
