"""Strewn on a cluster: what groups with records in all parts hold, added up by its workers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.auditing.strewn import StoredShares, add_shares, list_shares
from discreet.release import Release
from discreet.release.parts import StoredParts
from discreet.release.release import PartedTable
from discreet.release.shown_runs import ShownRuns, find_runs, require_together
from discreet.table.by_workers import name_file, remove, run_each

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Listed = dict[tuple[str, int], Path]
"""By the title of a table and a bucket of its groups, where it stands what a part holds of them."""


@dataclass(frozen=True, eq=False)
class TakeFile:
    """Reads a file of records as a part that knows what strewn groups hold in all."""

    stored: StoredParts
    shares: Mapping[str, StoredShares]

    def __call__(self, number: int) -> Release:
        """Give the part."""
        return replace(self.stored.take_file(number), shares=dict(self.shares))


@dataclass(frozen=True, eq=False)
class _ListShares:
    """Puts down what files of records hold of strewn groups."""

    stored: StoredParts
    buckets: int
    folder: Path

    def __call__(self, number: int) -> Listed:
        part, listed = self.stored.take_file(number), Listed()
        for table in self.stored.strewn:
            for bucket, lines in list_shares(part, table, self.buckets):
                listed[table.title, bucket] = name_file(self.folder, "listed")
                lines.write_parquet(listed[table.title, bucket])
        return listed


@dataclass(frozen=True, eq=False)
class _AddShares:
    """Adds up what was put down of groups."""

    form: str
    pieces: list[list[Path]]
    folder: Path

    def __call__(self, number: int) -> tuple[Path, int]:
        path = name_file(self.folder, "shares")
        return path, add_shares(self.form, self.pieces[number], path)


@dataclass(frozen=True, eq=False)
class _FindRuns:
    """Looks for runs in files of a strewn table."""

    stored: StoredParts
    table: PartedTable

    def __call__(self, number: int) -> ShownRuns:
        return find_runs(self.stored, self.table, number)


def share_on_cluster(
    session: SparkSession, stored: StoredParts, folder: Path
) -> dict[str, StoredShares]:
    """Add up what all files hold of strewn groups; refuse tables that are not in their order."""
    if not stored.strewn:
        return {}
    files = len(stored.records.paths)
    listed = run_each(session, files, _ListShares(stored, files, folder))
    shares = {}
    for table in stored.strewn:
        own: dict[int, list[Path]] = {}
        for (title, bucket), path in (item for some in listed for item in some.items()):
            if title == table.title:
                own.setdefault(bucket, []).append(path)
        pieces = list(own.values())
        added = run_each(session, len(pieces), _AddShares(stored.release.form, pieces, folder))
        paths, groups = [path for path, _ in added], sum(count for _, count in added)
        runs = run_each(session, len(stored.find(table).paths), _FindRuns(stored, table))
        require_together(table, runs, groups)
        shares[table.title] = StoredShares(paths, groups)
    remove(path for some in listed for path in some.values())
    return shares
