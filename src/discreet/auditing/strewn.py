"""Strewn: tables of a release whose groups have records in all parts.

Parts are those of the table that shows most; of others each part has some records, and so some of
what their groups hold. Part by part this is put down, and added up by what groups show. A part then
knows of every group what it holds in all.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from discreet.auditing import AuditReport
from discreet.forms import View, find_form
from discreet.release import Release
from discreet.release.parts import StoredParts
from discreet.release.release import FindShares
from discreet.release.shown_runs import find_runs, require_together

BOX, BUCKET = "box", "bucket"


def find_view(part: Release, title: str | None = None) -> View:
    """Give the view of a table of a part; untitled, of the one by which it is parted."""
    title = title or find_form(part.form).find_parted(part)[0].title
    return part.views[list(part.shown).index(title)]


@dataclass(frozen=True, eq=False)
class StoredShares:
    """What the groups of a table hold in all, in a folder of files."""

    folder: Path

    def __call__(self, boxes: pl.Series) -> pl.DataFrame:
        """Give what some groups hold, by what they show."""
        wanted = pl.LazyFrame({BOX: boxes})
        files = sorted(self.folder.glob("*.parquet"))
        return (
            pl.scan_parquet(files, hive_partitioning=False)
            .join(wanted, on=BOX, how="semi")
            .collect()
        )

    @property
    def groups(self) -> int:
        """How many groups there are."""
        files = sorted(self.folder.glob("*.parquet"))
        return sum(int(pl.read_parquet(f, columns=[BOX])[BOX].n_unique()) for f in files)


class StrewnTables:
    """Adds up what parts hold of the groups of strewn tables, in files."""

    def __init__(self, stored: StoredParts, folder: Path, buckets: int) -> None:
        self._stored, self._buckets = stored, buckets
        self._folders = {table: folder / f"strewn-{table.title}" for table in stored.strewn}
        for place in self._folders.values():
            place.mkdir()

    def add(self, number: int, part: Release) -> None:
        """Put down what a part holds of them."""
        for table, place in self._folders.items():
            lines = find_view(part, table.title).list_shares()
            # groups that are the same go to the same place
            lines = lines.with_columns((pl.col(BOX).hash() % self._buckets).alias(BUCKET))
            for (bucket,), some in lines.group_by(BUCKET):
                some.drop(BUCKET).write_parquet(place / f"{bucket}-{number}")

    def seal(self) -> dict[str, FindShares]:
        """Add up what was put down, and refuse tables that are not in the order of their groups."""
        found: dict[str, FindShares] = {}
        for table, place in self._folders.items():
            for bucket in range(self._buckets):
                pieces = sorted(place.glob(f"{bucket}-*"))
                if pieces:
                    lines = pl.concat([pl.read_parquet(piece) for piece in pieces])
                    added = find_form(self._stored.release.form).add_shares(lines)
                    added.write_parquet(place / f"{bucket}.parquet")
                for piece in pieces:
                    piece.unlink()
            shares = StoredShares(place)
            files = range(len(self._stored.find(table).paths))
            runs = [find_runs(self._stored, table, number) for number in files]
            require_together(table, runs, shares.groups)
            found[table.title] = shares
        return found

    def remove(self) -> None:
        """Remove the files."""
        for place in self._folders.values():
            shutil.rmtree(place)


def count_groups(
    report: AuditReport, stored: StoredParts, shares: dict[str, FindShares]
) -> AuditReport:
    """Say how many groups the first table has, where parts have some of each of them."""
    first = shares.get(next(iter(stored.sample.shown)))
    return replace(report, groups=first.groups) if isinstance(first, StoredShares) else report
