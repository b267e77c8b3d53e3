"""Labels: what one published table shows of an attribute, label by label.

The one reader of published cells: for joins of releases, for people held against boxes, for
questions. It reads; what follows from a match is decided elsewhere, by the publisher and by the
auditor each for themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.errors import StoreError
from discreet.release.coarse_labels import alike, cover_runs, meet_runs, share_coarse
from discreet.release.release import Recoding, Release, Transformation
from discreet.release.selection import Selection, find_positions
from discreet.table.arrays import Bools, Ints
from discreet.table.coarsening import is_coarse
from discreet.table.domain import MISSING, Domain, reduce_column
from discreet.table.microdata import Microdata, representatives
from discreet.table.schema import Attribute

_READ: WeakKeyDictionary[Release, dict[tuple[str, str], Labels]] = WeakKeyDictionary()
AT_ONCE = 1000
"""Values of sets that are held against all intervals at a time."""


def rank_cells(table: pl.DataFrame, name: str, recoding: Recoding) -> Ints:
    """Rank what the rows of a table show of a blurred attribute, from 0 on without gaps.

    Intervals by their ends and sets by their labels as texts, in every format of file alike.
    """
    columns = recoding.columns(name)
    # of an interval the label says what its ends say
    key = pl.struct(columns[1:]) if len(columns) > 1 else pl.col(name).cast(pl.String)
    return table.select(key.rank("dense")).to_series().to_numpy().astype(np.int64) - 1


@dataclass(frozen=True, eq=False)
class Extent:
    """Which codes of one attribute of somebody's microdata each label, or box, covers.

    It covers codes from ``low`` to ``high``, none where ``low`` is above, and the missing one if
    ``absent``. For sets these are only bounds; row ``which`` of ``covers`` then tells exactly.
    """

    low: Ints
    high: Ints
    absent: Bools
    covers: Bools | None = None
    which: Ints | None = None

    @property
    def counts(self) -> Ints:
        """Number of codes each box covers."""
        if self.covers is not None:
            return np.asarray(self.covers.sum(axis=1)[self.which], dtype=np.int64)
        return np.asarray(np.maximum(self.high - self.low + 1, 0) + self.absent, dtype=np.int64)

    def take(self, rows: Ints) -> Extent:
        """Give those of some boxes."""
        which = None if self.which is None else self.which[rows]
        return Extent(self.low[rows], self.high[rows], self.absent[rows], self.covers, which)

    def matrix(self, domain: Domain) -> Bools:
        """Write it all out: per box and code, whether it is covered. For small tables."""
        if self.covers is not None:
            return np.asarray(self.covers[self.which], dtype=bool)
        codes = np.arange(domain.size)
        flags = (self.low[:, None] <= codes) & (codes <= self.high[:, None])
        if domain.missing:
            flags[:, -1] = self.absent
        return flags


@dataclass(frozen=True, eq=False)
class Labels:
    """The labels of an attribute, each with the values it may stand for."""

    attribute: Attribute
    texts: list[str]
    sets: list[frozenset[str]] | None
    """The values of each as texts, a missing one among them; ``None`` for intervals."""
    low: Ints
    high: Ints
    """Of intervals the ends, as numbers that can be compared; low above high has none."""
    absent: Bools
    """Whether it may stand for a missing value."""

    @property
    def sizes(self) -> Ints:
        """How many values each stands for."""
        if self.sets is not None:
            return np.fromiter(map(len, self.sets), np.int64, len(self.sets))
        return np.asarray(self.high - self.low + 1 + self.absent)

    def cover(self, domain: Domain) -> Extent:
        """Read each as codes of a domain; of values that it lacks nothing is covered."""
        if not alike(self.attribute, domain.attribute):
            return _extend(cover_runs(self, domain))
        if self.sets is None:
            known = find_positions(domain.series().head(len(domain.values)), domain.attribute)
            low = np.searchsorted(known, self.low, side="left")
            high = np.searchsorted(known, self.high, side="right") - 1
            none = self.low > self.high
            low, high = np.where(none, 1, low), np.where(none, 0, high)
            return Extent(low, high, self.absent & domain.missing)
        owner = np.repeat(np.arange(len(self.sets)), self.sizes)
        code = domain.find([text for held in self.sets for text in held])
        owner, code = owner[code >= 0], code[code >= 0]
        covers = np.zeros((len(self.sets), domain.size), dtype=bool)
        covers[owner, code] = True
        return _extend(covers)

    def share(self, asked: Sequence[Selection]) -> tuple[Ints, Ints]:
        """Count, of what each label (row) stands for, the values that each question takes; and all.

        Of intervals by arithmetic on their ends: they stand for every value between them.
        """
        if is_coarse(self.attribute):
            return share_coarse(self, asked)
        if self.sets is not None:
            texts, among = self._among
            taken = np.array([one.holds(texts) for one in asked], dtype=np.float32)
            hits = among @ taken.reshape(len(asked), len(texts)).T
            return np.rint(hits).astype(np.int64), self.sizes
        some = self.low <= self.high
        counted = [
            np.where(some, one.count_upto(self.high) - one.count_upto(self.low - 1), 0)
            + (self.absent & one.missing)
            for one in asked
        ]
        return np.array(counted, dtype=np.int64).reshape(len(asked), len(self.texts)).T, self.sizes

    @cached_property
    def _among(self) -> tuple[list[str], NDArray[np.float32]]:
        """All values that labels of sets stand for, and which of them each (row) does."""
        assert self.sets is not None
        number: dict[str, int] = {}
        place = [number.setdefault(text, len(number)) for held in self.sets for text in held]
        among = np.zeros((len(self.sets), len(number)), dtype=np.float32)
        among[np.repeat(np.arange(len(self.sets)), self.sizes), place] = 1
        return list(number), among

    def meets(self, other: Labels) -> Bools:
        """Which labels of two releases (rows, columns) have a value in common."""
        if not alike(self.attribute, other.attribute):
            return meet_runs(self, other)
        if self.sets is not None and other.sets is not None:
            return np.array([[bool(a & b) for b in other.sets] for a in self.sets], dtype=bool)
        if other.sets is not None:
            return other.meets(self).T
        if self.sets is not None:
            return self._lie_in(other)
        low, high = self.low[:, None], self.high[:, None]
        met = (low <= other.high) & (other.low <= high) & (low <= high)
        return np.asarray((met & (other.low <= other.high)) | (self.absent[:, None] & other.absent))

    def _lie_in(self, intervals: Labels) -> Bools:
        """Which sets have a value that lies in an interval."""
        assert self.sets is not None
        values = [sorted(held - {MISSING}) for held in self.sets]
        sizes = np.fromiter(map(len, values), np.int64, len(values))
        texts = pl.Series([text for held in values for text in held], dtype=pl.String)
        found = find_positions(texts, self.attribute)
        owner = np.repeat(np.arange(len(values)), sizes)
        met = self.absent[:, None] & intervals.absent
        for start in range(0, len(found), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            at = found[part, None]
            np.logical_or.at(met, owner[part], (intervals.low <= at) & (at <= intervals.high))
        return met


def _extend(covers: Bools) -> Extent:
    high = covers.shape[1] - 1 - covers[:, ::-1].argmax(axis=1)
    absent = np.zeros(len(covers), dtype=bool)
    return Extent(covers.argmax(axis=1), high, absent, covers, np.arange(len(covers)))


def read_labels(release: Release, table: pl.DataFrame, name: str) -> tuple[Labels, Ints]:
    """Read an attribute of a table: its labels, and the number of the one that every row shows."""
    recoding, attribute = release.recodings[name], release.schema[name]
    if not recoding.is_blurred:
        codes, domain = reduce_column(table[name], attribute).encode(None)
        if is_coarse(attribute):
            return _list_points(domain), codes.astype(np.int64)
        sets = [frozenset([text]) for text in domain.texts]
        return _list_sets(attribute, list(domain.texts), sets), codes.astype(np.int64)
    number = _number_rows(table, recoding.columns(name))
    rows = table[representatives(number)]
    texts = [MISSING if text is None else text for text in rows[name].cast(pl.String)]
    if recoding.transformation is Transformation.SET:
        unknown = sorted(set(texts) - set(recoding.labels))
        if unknown:
            raise StoreError(f"Label {unknown[0]!r} of {name!r} stands for nothing.")
        spelled = _spell({m for text in texts for m in recoding.labels[text]}, attribute)
        sets = [frozenset(spelled[member] for member in recoding.labels[t]) for t in texts]
        return _list_sets(attribute, texts, sets), number
    ends = [rows[f"{name}_{end}"] for end in ("low", "high")]
    none = (ends[0].is_null() | ends[1].is_null()).to_numpy()
    low, high = (find_positions(end, attribute) for end in ends)
    absent = rows[f"{name}_missing"].to_numpy() if recoding.missing else np.zeros(len(none), bool)
    made = Labels(attribute, texts, None, np.where(none, 1, low), np.where(none, 0, high), absent)
    return made, number


def find_labels(release: Release, title: str, name: str) -> Labels:
    """Give the labels of an attribute in a table of a release, which are read once."""
    known = _READ.setdefault(release, {})
    if (title, name) not in known:
        known[title, name], _ = read_labels(release, release.tables[title], name)
    return known[title, name]


def read_codes(release: Release, table: pl.DataFrame, name: str, domain: Domain) -> Ints:
    """Read exact cells of a table as codes of somebody's domain; -1 for what it lacks."""
    codes, own = reduce_column(table[name], release.schema[name]).encode(None)
    return domain.find(own.texts)[codes]


def _spell(members: set[str], attribute: Attribute) -> dict[str, str]:
    """Write values as domains write them: a manifest may spell 0 as 0.0, which is the same."""
    listed = sorted(members - {MISSING})
    if not listed:
        return {MISSING: MISSING}
    codes, domain = reduce_column(pl.Series(listed, dtype=pl.String), attribute).encode(None)
    written = [domain.texts[code] for code in codes.tolist()]
    return {MISSING: MISSING, **dict(zip(listed, written, strict=True))}


def _list_sets(attribute: Attribute, texts: list[str], sets: list[frozenset[str]]) -> Labels:
    nothing = np.zeros(len(sets), dtype=np.int64)
    absent = np.array([MISSING in held for held in sets], dtype=bool)
    return Labels(attribute, texts, sets, nothing + 1, nothing, absent)


def _list_points(domain: Domain) -> Labels:
    """Of numbers that may be others in truth: each is an interval, that has them around it."""
    at = np.asarray(domain.values, dtype=np.int64)
    low, high = (np.append(at, [end] * domain.missing).astype(np.int64) for end in (1, 0))
    absent = np.arange(domain.size) >= len(at)
    return Labels(domain.attribute, list(domain.texts), None, low, high, absent)


def _number_rows(table: pl.DataFrame, columns: Sequence[str]) -> Ints:
    """Number what rows show in some columns; mostly the first of them says it all."""
    number = table[columns[0]].rank("dense").fill_null(0).to_numpy().astype(np.int64)
    number -= number.min(initial=1)
    first = representatives(number)
    rest = table.select(columns[1:])
    if rest.width and not rest[first][number].equals(rest):
        shown = table.select(pl.struct(columns).rank("dense"))
        number = shown.to_series().to_numpy().astype(np.int64) - 1
    return number


def read_extents(
    release: Release, data: Microdata, boxes: pl.DataFrame, names: Sequence[str]
) -> dict[str, Extent]:
    """Read some attributes of one row per box, as codes of the microdata."""
    extents = {}
    for name in names:
        labels, number = read_labels(release, boxes, name)
        extents[name] = labels.cover(data.domains[name]).take(number)
    return extents
