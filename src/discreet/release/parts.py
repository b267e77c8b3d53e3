"""Parts: a release that memory does not hold, read class by class, so many records at a time.

Where a form says that runs of records can be examined by themselves, each run is a release of its
own: a part, which knows besides what the whole holds of each sensitive attribute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import polars as pl

from discreet.errors import DAMAGED, SchemaError, StoreError
from discreet.release.dictionary import ABOUT, refuse_unexplained, restore
from discreet.release.manifest import Stored, understand
from discreet.release.release import Release
from discreet.release.seals import Seal
from discreet.release.store import join_rows, read_file, read_manifest, read_table

AT_ONCE = 1 << 20
"""So many records are read at once, or more if a class has more."""


@dataclass(frozen=True, eq=False)
class StoredParts:
    """The folder of a release of which runs of records can be examined by themselves."""

    folder: Path
    counted: dict[str, pl.DataFrame] | None = None
    """Per sensitive attribute how often each value is in the whole, where that was counted."""

    @cached_property
    def _opened(self) -> tuple[Release, dict[str, Stored]]:
        manifest = read_manifest(self.folder)
        release, stored = understand(manifest)
        explaining = {title: stored.pop(title) for title in ABOUT if title in stored}
        tables = {title: read_table(self.folder, table) for title, table in explaining.items()}
        about = {title: text for title, text in release.about.items() if title not in ABOUT}
        return replace(release, about=about, recodings=restore(release, tables)), stored

    @property
    def release(self) -> Release:
        """What it says of itself, without its tables."""
        return self._opened[0]

    @cached_property
    def run(self) -> tuple[str, str]:
        """The table that is read in parts, and the column whose runs stay together."""
        from discreet.forms import find_form

        run = find_form(self.release.form).run
        if run is None or set(self._opened[1]) != {run[0]}:
            raise SchemaError(
                f"A {self.release.form} release is not examined in parts yet.",
                hint="Examine it on a machine whose memory holds it, or allow for more (--memory).",
            )
        return run

    @property
    def stored(self) -> Stored:
        """Where the table lies that is read in parts."""
        return self._opened[1][self.run[0]]

    @cached_property
    def sealed(self) -> bool:
        """Whether all its files are those that its manifest speaks of; else it is refused."""
        seals = self.stored.seals
        for path, seal in zip(self.stored.paths, seals or [], strict=True):
            if Seal.of(self.folder / path) != seal:
                raise StoreError(f"{path}: is not what was published.", hint=DAMAGED)
        return True

    def read(self, at_once: int = AT_ONCE) -> Iterator[Release]:
        """Give it part by part: whole runs of records, in their order, each run in one part."""
        assert self.sealed
        last: int | None = None
        held: list[pl.DataFrame] = []
        for number in range(len(self.stored.paths)):
            for frame in self._read_file(number, at_once):
                held.append(frame)
                if sum(part.height for part in held) < at_once:
                    continue
                table = join_rows(held, self.stored.paths[0])
                runs = table[self.run[1]]
                whole = int((runs != runs[-1]).sum()) if runs.is_sorted() else table.height
                if whole:
                    yield self.take(table[:whole], last)
                    last = runs[whole - 1]
                held = [table[whole:]]
        table = join_rows(held, self.stored.paths[0])
        if table.height:
            yield self.take(table, last)

    def take_file(self, number: int) -> Release:
        """Give one file as a part: it is the one that was sealed, and its runs are whole."""
        return self.take(read_file(self.folder, self.stored, number))

    def require_order(self, runs: Sequence[tuple[int, int]]) -> None:
        """Refuse files of which one begins before the one before it ends."""
        numbers = [number for ends in runs for number in ends]
        starts = numbers[2::2]
        if any(start <= end for start, end in zip(starts, numbers[1::2], strict=False)):
            title, column = self.run
            raise StoreError(f"{title}: is not in the order of {column!r}.", hint=DAMAGED)

    def take(self, table: pl.DataFrame, last: int | None = None) -> Release:
        """Give some records as a part, if they are whole runs, and come after the ``last`` one."""
        title, column = self.run
        runs = table[column] if column in table.columns else pl.Series([None])
        if not runs.dtype.is_integer() or runs.null_count() or not runs.is_sorted():
            raise StoreError(
                f"{title}: is not in the order of its column {column!r}.", hint=DAMAGED
            )
        if last is not None and runs[0] <= last:
            raise StoreError(
                f"{title}: is not in the order of its column {column!r}.", hint=DAMAGED
            )
        part = replace(self.release, tables={title: table}, whole=self.whole)
        refuse_unexplained(part)
        return part

    @cached_property
    def whole(self) -> dict[str, pl.DataFrame]:
        """Per sensitive attribute all values that the whole holds, and how often."""
        if self.counted is not None:
            return self.counted
        names = self.release.schema.sensitive
        counts: dict[str, list[pl.DataFrame]] = {name: [] for name in names}
        for number in range(len(self.stored.paths)):
            for frame in self._read_file(number, AT_ONCE) if names else ():
                for name in names:
                    counts[name].append(frame.group_by(name).len("rows"))
        return {name: pl.concat(found).group_by(name).agg(pl.col("rows").sum())
                for name, found in counts.items()}  # fmt: skip

    def _read_file(self, number: int, at_once: int) -> Iterator[pl.DataFrame]:
        path = self.folder / self.stored.paths[number]
        if path.suffix != ".parquet":
            yield from read_file(self.folder, self.stored, number).iter_slices(at_once)
            return
        try:
            rows = pl.scan_parquet(path, glob=False)
            height = rows.select(pl.len()).collect().item()
            for start in range(0, height, at_once):
                yield rows.slice(start, at_once).collect()
        except (OSError, pl.exceptions.PolarsError) as error:
            said = str(error).splitlines()[0]
            raise StoreError(f"{path.name}: cannot be read ({said}).", hint=DAMAGED) from error
