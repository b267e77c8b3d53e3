"""In parts: the audit of a release and of a table that memory does not hold.

The release is read class by class. Everybody is held against every part in which a record might be
theirs, as far as a glance at its boxes tells, and the same audit is made of each part with those
whom it covers. Nothing is taken from how it was made: where parts end does not matter, as long as
everybody is in one. Where several classes may be somebody's it is looked for where parts may end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.auditing import AuditReport, audit, refuse_other_table
from discreet.auditing.earlier_in_parts import (
    DisclosedKinds,
    HeldAgainst,
    ShownRecords,
    hold_against,
    part_judged,
)
from discreet.auditing.grounds import Grounds
from discreet.auditing.merging import (
    PartFindings,
    ScatteredValues,
    merge,
    put_together,
    rank_explained,
)
from discreet.auditing.strewn import StrewnTables, count_groups, find_view
from discreet.forms import find_form
from discreet.forms.consistency import count_own, list_used
from discreet.forms.verify import verify
from discreet.principles.base import Principle
from discreet.release import Release
from discreet.release.labels import Extent, read_codes, read_extents
from discreet.release.parts import AT_ONCE, StoredParts
from discreet.release.release import FindShares
from discreet.release.store import find_rewritten, find_strangers
from discreet.table.arrays import Bools, Ints
from discreet.table.facts import Facts, Progress
from discreet.table.microdata import Microdata
from discreet.table.parquet_files import ParquetFiles
from discreet.table.schema import Schema
from discreet.table.spare_memory import give_back

Some = TypeVar("Some")
BLOCKS = 8
"""A part is looked at in so many blocks of boxes, so that fewer people are held against it."""
FindParts = Callable[[Mapping[str, NDArray[np.int32]]], Iterator[tuple[int, Ints]]]
"""Gives, part by part, the people, by their codes, who have to be held against it."""
MOST_HELD = 1 << 24
"""So many pairs of people and parts are looked at together."""
SENT = 2
"""So many times the records of a part may be sent to it before only those are kept it covers."""


@dataclass(frozen=True, eq=False)
class Glance:
    """Which codes of each quasi-identifier some box of each part covers."""

    bits: Mapping[str, NDArray[np.uint8]]
    """Per attribute a line per code and a number per part, with a bit per block of its boxes."""

    def find(self, codes: Mapping[str, NDArray[np.int32]]) -> Iterator[tuple[int, Ints]]:
        """Give, part by part, the people whom one of its boxes might cover."""
        parts = next(iter(self.bits.values())).shape[1]
        rows, step = len(next(iter(codes.values()))), max(1, MOST_HELD // parts)
        for first in range(0, rows, step):
            some = slice(first, first + step)
            left = reduce(np.bitwise_and, (b[codes[name][some]] for name, b in self.bits.items()))
            people, part = np.nonzero(left)
            order = np.argsort(part, kind="stable")
            ends = np.searchsorted(part[order], np.arange(parts + 1))
            for number, (start, stop) in enumerate(pairwise(ends.tolist())):
                if start < stop:
                    yield number, people[order[start:stop]] + first


def glance(part: Release, facts: Facts) -> dict[str, NDArray[np.uint8]]:
    """Look at the boxes of a part: say, per attribute and code, in which blocks one covers it."""
    view = find_view(part)
    boxes, _ = view.list_shown()
    none = facts.hold({name: np.zeros(0, dtype=np.int32) for name in facts.domains})
    ends = _cut_blocks(boxes, find_form(part.form).find_parted(part)[0].column)
    seen = {}
    for name in view.release.schema.quasi_identifiers:
        domain = facts.domains[name]
        blurred = part.recodings[name].is_blurred
        extent = read_extents(part, none, boxes, [name])[name] if blurred else None
        codes = None if blurred else read_codes(part, boxes, name, domain)
        seen[name] = np.zeros(domain.size, dtype=np.uint8)
        for block, (start, stop) in enumerate(pairwise(ends)):
            if start < stop and extent is not None:
                covered = _cover_any(extent.take(np.arange(start, stop)), domain.size)
                seen[name] |= covered.astype(np.uint8) << block
            elif codes is not None:
                own = np.unique(codes[start:stop])
                seen[name][own[own >= 0]] |= np.uint8(1 << block)
    return seen


def _cut_blocks(boxes: pl.DataFrame, column: str) -> list[int]:
    """Cut what is shown into blocks; rows of one number may only show a person together."""
    ends = [boxes.height * i // BLOCKS for i in range(BLOCKS + 1)]
    if column not in boxes.columns:
        return ends
    starts = np.flatnonzero(np.append(True, np.diff(boxes[column].to_numpy()) != 0))
    starts = np.append(starts, boxes.height)
    return [int(starts[np.searchsorted(starts, end)]) for end in ends]


def put_side_by_side(seen: Sequence[dict[str, NDArray[np.uint8]]]) -> Glance:
    """Put what was seen of all parts together, in their order."""
    return Glance({name: np.stack([one[name] for one in seen], axis=1) for name in seen[0]})


@dataclass(frozen=True, eq=False)
class Seen:
    """What was seen of one part."""

    looked: dict[str, NDArray[np.uint8]]
    records: int
    groups: int
    ends: tuple[int, int]
    """The first and the last of the numbers that its records have."""
    beside: int
    """How many rows other tables have of these."""
    shown: pl.DataFrame | None = None
    """Its different records, where what joins make of them is asked."""


def _cover_any(extent: Extent, size: int) -> Bools:
    """Say which codes any of some boxes covers."""
    if extent.covers is not None and extent.which is not None:
        return np.asarray(extent.covers[np.unique(extent.which)].any(axis=0))
    some = extent.low <= extent.high
    steps = np.zeros(size + 1, dtype=np.int64)
    np.add.at(steps, extent.low[some], 1)
    np.add.at(steps, extent.high[some] + 1, -1)
    covered = np.cumsum(steps)[:size] > 0
    covered[-1] |= bool(extent.absent.any())
    return covered


@dataclass(frozen=True, eq=False)
class AskedOfParts:
    """What is asked of every part, as of a whole."""

    presets: Sequence[str] = ()
    principle: Principle | None = None
    roles: Schema | None = None
    earlier: Sequence[tuple[str, Release]] = ()
    """Earlier releases, by their names."""
    held: HeldAgainst | None = None
    """What has to be known of the whole to hold a part against them."""


def audit_part(
    part: Release, people: Microdata, asked: AskedOfParts, explained: Sequence[Grounds] = ()
) -> PartFindings:
    """Verify a part, and audit it with those whom it covers of some people.

    Why people are at risk is said unless others, who are ``explained`` already, are as badly off.
    """
    verify(part)
    view = find_view(part)
    found = [one.match(people) for one in part.views]
    covered = np.flatnonzero(np.logical_and.reduce([matches.set_of >= 0 for matches in found]))
    rows = np.zeros(0, dtype=np.int64)
    if not len(covered):
        return PartFindings(None, view.table.height, view.count, rows)
    assert people.rows is not None
    scattered = None
    for name, bags in part.bags.items():
        own, (matches,) = people.codes_in(name, bags.domain), found
        scattered = ScatteredValues(count_own(matches, name, own), list_used(matches, bags, own))
        del matches
    held = asked.held
    linked, broken = ([], None) if held is None else held.check(found[0], covered)
    del found
    data = people.taken(covered)
    alone, judged = part_judged(part, asked.principle)
    report = audit(part, data, presets=list(asked.presets), principle=alone, schema=asked.roles)
    report = replace(report, judged=judged, checks=[*report.checks, *linked])
    if broken is not None:
        report = replace(report, breached=report.breached | broken)
    return PartFindings(
        put_together(report, explained), view.table.height, view.count, people.rows[covered],
        scattered, None if held is None else held.disclose(part, data, asked.roles),
    )  # fmt: skip


def write_people(rows: Ints, codes: Mapping[str, NDArray[np.int32]]) -> NDArray[np.int32]:
    """Write people as lines: the number of the row, in two halves, and all codes."""
    halves = rows.astype(np.int64)[:, None].view(np.int32).reshape(-1, 2)
    return np.column_stack([halves, *codes.values()])


def read_people(facts: Facts, lines: NDArray[np.integer]) -> Microdata:
    """Read people from lines, whose codes are in the order of the table's attributes."""
    codes = {name: lines[:, i + 2].astype(np.int32) for i, name in enumerate(facts.cells)}
    rows = lines[:, :2].astype(np.int32).view(np.int64).ravel()
    return replace(facts.hold(codes), rows=rows)


class PeopleFiles:
    """People who were sent to parts, in a file each, until these are audited."""

    def __init__(self, folder: Path, facts: Facts, at_once: int) -> None:
        self._folder, self._facts, self.at_once = folder, facts, at_once
        self._names = list(facts.cells)

    def send(self, files: ParquetFiles, find: FindParts, progress: Progress) -> None:
        """Send everybody of a table to the parts that might cover them."""
        done = 0
        for frame in files.batches(list(self._facts.cells)):
            codes = self._facts.encode(frame)
            rows = np.arange(done, done + len(codes[self._names[0]]), dtype=np.int64)
            for part, some in find(codes):
                self._add(part, rows[some], {name: codes[name][some] for name in self._names})
            done += len(rows)
            progress("Matching", done, self._facts.n)

    def _add(self, part: int, rows: Ints, codes: Mapping[str, NDArray[np.int32]]) -> None:
        with (self._folder / f"people-{part}").open("ab") as file:
            write_people(rows, codes).tofile(file)

    def take(self, number: int, part: Release) -> Microdata:
        """Give those who were sent to a part, once; of very many only those whom it covers.

        A box that is wide in every attribute has half of a table sent to its part.
        """
        held: list[Microdata] = []
        for people in self.take_in_turn(number):
            if held or people.n == SENT * self.at_once:  # there are more, or may be
                there = find_view(part).match(people).set_of >= 0
                held.append(people.taken(np.flatnonzero(there)))
            else:
                held.append(people)
        return held[0] if len(held) == 1 else self._hold(held)

    def take_in_turn(self, number: int) -> Iterator[Microdata]:
        """Give those who were sent to a part, once, so many at a time."""
        path = self._folder / f"people-{number}"
        size = path.stat().st_size if path.exists() else 0
        step = 4 * (len(self._names) + 2) * SENT * self.at_once
        for start in range(0, size, step):
            yield self._read(path, start, step // 4)
        path.unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove those whom nobody takes: they were sent where no record is."""
        for path in self._folder.glob("people-*"):
            path.unlink()

    def _read(self, path: Path, start: int, count: int) -> Microdata:
        lines = np.fromfile(path, dtype=np.int32, count=count, offset=start)
        return read_people(self._facts, lines.reshape(-1, len(self._names) + 2))

    def _hold(self, some: Sequence[Microdata]) -> Microdata:
        """Put people together."""
        nobody, nowhere = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int64)
        codes = {name: np.concatenate([nobody, *(one.codes[name] for one in some)])
                 for name in self._names}  # fmt: skip
        rows = [one.rows for one in some if one.rows is not None]
        return replace(self._facts.hold(codes), rows=np.concatenate([nowhere, *rows]))


def freeing(parts: Iterable[Some], records: int) -> Iterator[Some]:
    """Give parts of so many records in turn, and give back what each took before the next."""
    for part in parts:
        yield part
        del part
        give_back(records)


def audit_files(
    release: Path,
    files: ParquetFiles,
    facts: Facts,
    folder: Path,
    *,
    asked: AskedOfParts | None = None,
    at_once: int = AT_ONCE,
    progress: Progress,
) -> AuditReport:
    """Audit a release in its folder against a table in files, with a folder for what is between."""
    from discreet.auditing.in_windows import audit_windows
    from discreet.auditing.part_ends import find_ends

    stored = StoredParts(release)
    stored.refuse_unsealed()
    refuse_other_table(stored.release, facts)
    asked = asked or AskedOfParts()
    held = hold_against(stored, facts, asked.earlier, asked.principle, asked.roles)
    people, lost = PeopleFiles(folder, facts, at_once), list[str]()
    if stored.scattered:
        report = audit_windows(
            stored, files, facts, people, folder, asked=asked, at_once=at_once, progress=progress
        )
    else:
        if stored.may_overlap:
            ends = find_ends(stored, files, facts, people, folder, progress)
            stored = replace(stored, counted=stored.whole, ends=ends)
        strewn = StrewnTables(stored, folder, max(1, facts.n // at_once))
        looked: list[dict[str, NDArray[np.uint8]]] = []
        shown = ShownRecords(at_once)
        for part in freeing(stored.read(at_once), at_once):
            strewn.add(len(looked), part)
            looked.append(glance(part, facts))
            shown.add(None if held is None else held.count_shown(part))
            del part
        if held is not None:
            held, lost = shown.judge(held, asked.earlier)
        people.send(files, put_side_by_side(looked).find, progress)
        shares = strewn.seal()
        asked = replace(asked, held=held)
        parts = _number_parts(stored, at_once, shares)
        report = audit_each(parts, people, facts, asked, progress)
        report = count_groups(report, stored, shares)
        strewn.remove()
    return replace(report, findings=[*find_odd_words(stored), *report.findings, *lost])


def _number_parts(
    stored: StoredParts, at_once: int, shares: Mapping[str, FindShares]
) -> Iterator[tuple[int, Release]]:
    """Give parts by their numbers; ``enumerate`` would hold each until the next is read."""
    number = 0
    for part in stored.read(at_once):
        yield number, replace(part, shares=dict(shares))
        del part
        number += 1  # noqa: SIM113


def audit_each(
    parts: Iterable[tuple[int, Release]],
    people: PeopleFiles,
    facts: Facts,
    asked: AskedOfParts | None,
    progress: Progress,
    settle: Callable[[Release, ScatteredValues], None] | None = None,
) -> AuditReport:
    """Audit parts, one after the other, with the people who were sent to each by its number.

    ``settle`` is told what has to be added up over all of them.
    """
    asked = asked or AskedOfParts()
    explained, disclosed = list[Grounds](), DisclosedKinds(people.at_once)
    found, covered, records = [], np.zeros(facts.n, dtype=np.uint8), 0
    for number, part in freeing(parts, people.at_once):
        sent = people.take(number, part)
        found.append(audit_part(part, sent, asked, explained))
        if found[-1].report is not None:
            explained = rank_explained([*explained, *(found[-1].report.explained or [])])
        covered[found[-1].rows] = np.minimum(covered[found[-1].rows] + 1, 2)
        if settle is not None and found[-1].scattered is not None:
            settle(part, found[-1].scattered)
        disclosed.add(found[-1].disclosed)
        # nobody asks for these again
        found[-1] = replace(
            found[-1], rows=np.zeros(0, dtype=np.int64), scattered=None, disclosed=None
        )
        records += found[-1].records
        del part, sent
        progress("Auditing", records, facts.n)
    report = merge(found, facts.n, int((covered == 0).sum()), int((covered > 1).sum()))
    return disclosed.compose(report, asked.earlier, asked.held, facts)


def find_odd_words(stored: StoredParts) -> list[str]:
    """Say what lies in the folder of a release, or stands in its manifest, and does not belong."""
    strangers = [f"the folder holds {name}, which the manifest does not list"
                 for name in find_strangers(stored.folder)]  # fmt: skip
    return [*strangers, *find_rewritten(stored.folder, stored.sample)]
