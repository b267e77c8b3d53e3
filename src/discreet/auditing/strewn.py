"""Strewn: tables of a release whose groups have records in all parts.

Parts are those of the table that shows most; of others each part has some records, and so some of
what their groups hold. Part by part this is put down, and added up by what groups show. A part then
knows of every group what it holds in all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from zlib import crc32

import numpy as np
import polars as pl

from discreet.auditing import AuditReport
from discreet.forms import View, find_form
from discreet.release import Release
from discreet.release.parts import StoredParts
from discreet.release.release import PartedTable
from discreet.release.shown_runs import find_runs, require_together

BOX, BUCKET = "box", "bucket"


def find_view(part: Release, title: str | None = None) -> View:
    """Give the view of a table of a part; untitled, of the one by which it is parted."""
    title = title or find_form(part.form).find_parted(part)[0].title
    return part.views[list(part.shown).index(title)]


@dataclass(frozen=True, eq=False)
class StoredShares:
    """What the groups of a table hold in all, in files."""

    paths: Sequence[Path]
    groups: int
    """How many groups there are."""

    def __call__(self, boxes: pl.Series) -> pl.DataFrame:
        """Give what some groups hold, by what they show."""
        held = pl.scan_parquet(list(self.paths), glob=False, hive_partitioning=False)
        return held.join(pl.LazyFrame({BOX: boxes}), on=BOX, how="semi").collect()


def list_shares(
    part: Release, table: PartedTable, buckets: int
) -> Iterable[tuple[int, pl.DataFrame]]:
    """List what a part holds of a table's groups, by buckets: the same group goes to the same."""
    lines = find_view(part, table.title).list_shares()
    boxes = lines[BOX].unique()
    # not by a hash of polars': workers may have another
    bucket = np.fromiter((crc32(text.encode()) % buckets for text in boxes), np.int64, len(boxes))
    found = lines.join(pl.DataFrame({BOX: boxes, BUCKET: bucket}), on=BOX)
    for (number,), some in found.group_by(BUCKET):
        yield int(str(number)), some.drop(BUCKET)


def add_shares(form: str, pieces: Sequence[Path], path: Path) -> int:
    """Add up what was listed of the groups of a bucket; say how many they are."""
    lines = pl.concat([pl.read_parquet(piece, glob=False) for piece in pieces])
    added = find_form(form).add_shares(lines)
    added.write_parquet(path)
    return added[BOX].n_unique()


class StrewnTables:
    """Adds up what parts hold of the groups of strewn tables, in files."""

    def __init__(self, stored: StoredParts, folder: Path, buckets: int) -> None:
        self._stored, self._folder, self._buckets = stored, folder, buckets
        self._pieces: dict[PartedTable, list[list[Path]]] = {
            table: [[] for _ in range(buckets)] for table in stored.strewn
        }
        self._added: list[Path] = []

    def add(self, number: int, part: Release) -> None:
        """Put down what a part holds of them."""
        for table, pieces in self._pieces.items():
            for bucket, lines in list_shares(part, table, self._buckets):
                pieces[bucket].append(self._folder / f"{table.title}-{bucket}-{number}")
                lines.write_parquet(pieces[bucket][-1])

    def seal(self) -> dict[str, StoredShares]:
        """Add up what was put down, and refuse tables that are not in the order of their groups."""
        found = {}
        for table, pieces in self._pieces.items():
            paths, groups = [], 0
            for bucket, some in enumerate(pieces):
                if some:
                    paths.append(self._folder / f"{table.title}-{bucket}")
                    groups += add_shares(self._stored.release.form, some, paths[-1])
                for piece in some:
                    piece.unlink()
            files = range(len(self._stored.find(table).paths))
            runs = [find_runs(self._stored, table, number) for number in files]
            require_together(table, runs, groups)
            found[table.title] = StoredShares(paths, groups)
            self._added += paths
        return found

    def remove(self) -> None:
        """Remove the files."""
        for path in self._added:
            path.unlink()


def count_groups(
    report: AuditReport, stored: StoredParts, shares: Mapping[str, StoredShares]
) -> AuditReport:
    """Say how many groups the first table has, where parts have some of each of them."""
    first = shares.get(next(iter(stored.sample.shown)))
    return report if first is None else replace(report, groups=first.groups)
