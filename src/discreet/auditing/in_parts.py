"""In parts: the audit of a release and of a table that memory does not hold.

The release is read class by class. Everybody is held against every part in which a record might be
theirs, as far as a glance at its boxes tells, and the same audit is made of each part with those
whom it covers. Nothing is taken from how it was made: where parts end does not matter, as long as
everybody is in one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from discreet.auditing import AuditReport, audit, refuse_other_table
from discreet.auditing.grounds import Grounds
from discreet.auditing.merging import PartFindings, merge, put_together, rank_explained
from discreet.forms.verify import verify
from discreet.principles.base import Principle
from discreet.release import Release
from discreet.release.labels import Extent, read_extents
from discreet.release.parts import AT_ONCE, StoredParts
from discreet.release.store import find_rewritten, find_strangers
from discreet.table.arrays import Bools, Ints
from discreet.table.facts import Facts, Progress
from discreet.table.microdata import Microdata
from discreet.table.parquet_files import ParquetFiles
from discreet.table.schema import Schema
from discreet.table.spare_memory import give_back

BLOCKS = 8
"""A part is looked at in so many blocks of boxes, so that fewer people are held against it."""
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
    (view,) = part.views
    boxes, _ = view.list_shown()
    none = facts.hold({name: np.zeros(0, dtype=np.int32) for name in facts.domains})
    names = part.schema.quasi_identifiers
    ends = [boxes.height * i // BLOCKS for i in range(BLOCKS + 1)]
    seen = {}
    for name, extent in read_extents(part, none, boxes, names).items():
        size = facts.domains[name].size
        seen[name] = np.zeros(size, dtype=np.uint8)
        for block, (start, stop) in enumerate(pairwise(ends)):
            if start < stop:
                covered = _cover_any(extent.take(np.arange(start, stop)), size)
                seen[name] |= covered.astype(np.uint8) << block
    return seen


def put_side_by_side(seen: Sequence[dict[str, NDArray[np.uint8]]]) -> Glance:
    """Put what was seen of all parts together, in their order."""
    return Glance({name: np.stack([one[name] for one in seen], axis=1) for name in seen[0]})


@dataclass(frozen=True, eq=False)
class Seen:
    """What was seen of one part."""

    looked: dict[str, NDArray[np.uint8]]
    records: int
    groups: int
    runs: tuple[int, int]
    """The first and the last of the numbers that its records have."""


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


def audit_part(
    part: Release, people: Microdata, asked: AskedOfParts, explained: Sequence[Grounds] = ()
) -> PartFindings:
    """Verify a part, and audit it with those whom it covers of some people.

    Why people are at risk is said unless others, who are ``explained`` already, are worse off.
    """
    verify(part)
    (view,) = part.views
    covered = np.flatnonzero(view.match(people).set_of >= 0)
    rows = np.zeros(0, dtype=np.int64)
    if not len(covered):
        return PartFindings(None, view.table.height, view.count, rows)
    assert people.rows is not None
    data = people.taken(covered)
    report = audit(
        part, data, presets=list(asked.presets), principle=asked.principle, schema=asked.roles
    )
    return PartFindings(
        put_together(report, explained), view.table.height, view.count, people.rows[covered]
    )


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
    stored = StoredParts(release)
    stored.refuse_unsealed()
    refuse_other_table(stored.release, facts)
    seen = []
    for part_read in stored.read(at_once):
        seen.append(glance(part_read, facts))
        del part_read
        give_back(at_once)
    looked = put_side_by_side(seen)
    names, done = list(facts.domains), 0
    for frame in files.batches(list(facts.cells)):
        codes = facts.encode(frame)
        rows = np.arange(done, done + len(codes[names[0]]), dtype=np.int64)
        for part, some in looked.find(codes):
            line = np.empty((len(some), len(names) + 2), dtype=np.int32)
            line[:, :2] = rows[some, None].view(np.int32).reshape(-1, 2)
            for i, name in enumerate(names):
                line[:, i + 2] = codes[name][some]
            with (folder / f"people-{part}").open("ab") as file:
                line.tofile(file)
        done += len(rows)
        progress("Matching", done, facts.n)
    explained: list[Grounds] = []
    found, covered, records = [], np.zeros(facts.n, dtype=np.uint8), 0
    for number, piece in enumerate(stored.read(at_once)):
        people = _read_people(folder / f"people-{number}", piece, facts, at_once)
        found.append(audit_part(piece, people, asked or AskedOfParts(), explained))
        if found[-1].report is not None:
            explained = rank_explained([*explained, *(found[-1].report.explained or [])])
        covered[found[-1].rows] = np.minimum(covered[found[-1].rows] + 1, 2)
        found[-1] = replace(found[-1], rows=np.zeros(0, dtype=np.int64))  # nobody asks again
        records += found[-1].records
        del piece, people
        give_back(at_once)
        progress("Auditing", records, facts.n)
    report = merge(found, facts.n, int((covered == 0).sum()), int((covered > 1).sum()))
    return replace(report, findings=[*find_odd_words(stored), *report.findings])


def _read_people(path: Path, part: Release, facts: Facts, at_once: int) -> Microdata:
    """Give those who were sent to a part; of very many only those whom it covers.

    A box that is wide in every attribute has half of a table sent to its part.
    """
    (view,) = part.views
    held: list[Microdata] = []
    size = path.stat().st_size if path.exists() else 0
    width = len(facts.domains) + 2
    most = SENT * at_once
    for start in range(0, max(1, size), 4 * width * most):
        lines = np.zeros((0, width), dtype=np.int32)
        if size:
            read = np.fromfile(path, dtype=np.int32, count=width * most, offset=start)
            lines = read.reshape(-1, width)
            del read
        codes = {name: lines[:, i + 2].copy() for i, name in enumerate(facts.domains)}
        people = replace(facts.hold(codes), rows=lines[:, :2].copy().view(np.int64).ravel())
        del lines
        if size > 4 * width * most:
            people = people.taken(np.flatnonzero(view.match(people).set_of >= 0))
        held.append(people)
    path.unlink(missing_ok=True)
    if len(held) == 1:
        return held[0]
    codes = {name: np.concatenate([some.codes[name] for some in held]) for name in facts.domains}
    rows = [some.rows for some in held if some.rows is not None]
    return replace(facts.hold(codes), rows=np.concatenate(rows))


def find_odd_words(stored: StoredParts) -> list[str]:
    """Say what lies in the folder of a release, or stands in its manifest, and does not belong."""
    strangers = [f"the folder holds {name}, which the manifest does not list"
                 for name in find_strangers(stored.folder)]  # fmt: skip
    return [*strangers, *find_rewritten(stored.folder, stored.sample)]
