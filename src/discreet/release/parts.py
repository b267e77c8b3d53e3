"""Parts: a release that memory does not hold, read class by class, so many records at a time.

Where a form says that runs of records can be examined by themselves, each run is a release of its
own: a part, which knows besides what the whole holds of each sensitive attribute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from discreet.errors import DAMAGED, SchemaError, StoreError
from discreet.release.coarse_labels import refuse_finer_cells
from discreet.release.dictionary import ABOUT, refuse_unexplained, restore
from discreet.release.manifest import OLDER, Stored, understand
from discreet.release.release import Release
from discreet.release.seals import Seal
from discreet.release.store import read_manifest
from discreet.release.table_files import join_rows, read_file, read_table, refuse_columns

MORE = "Examine it on a machine whose memory holds it, or allow for more (--memory)."
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
        if manifest.discreet.manifest == OLDER:
            raise StoreError("Releases of older versions are not examined in parts.", hint=MORE)
        release, stored = understand(manifest)
        explaining = {title: stored.pop(title) for title in ABOUT if title in stored}
        tables = {title: read_table(self.folder, table) for title, table in explaining.items()}
        about = {title: text for title, text in release.about.items() if title not in ABOUT}
        release = replace(release, about=about, recodings=restore(release, tables))
        for name in release.schema.names:  # a word that nobody can explain hides what was done
            release.explain(name)
        return release, stored

    @property
    def release(self) -> Release:
        """What it says of itself, without its tables."""
        return self._opened[0]

    @cached_property
    def run(self) -> tuple[str, str]:
        """The table that is read in parts, and the column whose runs stay together."""
        from discreet.forms import find_form

        run = find_form(self.release.form).run
        dealt = self.release.promise.principle.dealt
        if run is None or dealt or set(self._opened[1]) != {run[0]}:
            what = "whose people were dealt" if dealt else f"by {self.release.method}"
            raise SchemaError(f"A release {what} is not examined in parts yet.", hint=MORE)
        return run

    @property
    def stored(self) -> Stored:
        """Where the table lies that is read in parts."""
        return self._opened[1][self.run[0]]

    def refuse_unsealed(self) -> None:
        """Refuse it unless all its files are those that its manifest speaks of."""
        for path, seal in zip(self.stored.paths, self.stored.seals or [], strict=True):
            try:
                found = Seal.of(self.folder / path)
            except OSError as error:
                raise StoreError(f"{path}: cannot be read ({error}).", hint=DAMAGED) from error
            if found != seal:
                raise StoreError(f"{path}: is not what was published.", hint=DAMAGED)

    @property
    def sample(self) -> Release:
        """The release with its table, which has all columns and no rows."""
        first = next(self._read_file(0, 1), None)
        if first is None:
            raise StoreError(f"{self.stored.paths[0]}: the table has no rows.")
        return replace(self.release, tables={self.run[0]: first[:0]})

    def read(self, at_once: int = AT_ONCE) -> Iterator[Release]:
        """Give it part by part: whole runs of records, in their order, each run in one part."""
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
                # a slice would keep all of it
                held = [table.select(pl.all().gather(np.arange(whole, table.height)))]
                del table, runs
        table = join_rows(held, self.stored.paths[0]) if held else pl.DataFrame()
        if table.height:
            yield self.take(table, last)

    def take_file(self, number: int) -> Release:
        """Give the runs that begin in one file as a part, with what of them is in the next."""
        table = read_file(self.folder, self.stored, number)
        column, name = self.run[1], self.stored.paths[number]
        self._require_sorted(table)  # else what is left out here might be nobody's
        if number:
            before = self._read_runs(number - 1)[-1]
            table = table.filter(pl.col(column) != before)
        if not table.height:
            raise SchemaError(f"{name}: no {column} begins in it.", hint=MORE)
        rest = []
        for after in range(number + 1, len(self.stored.paths)):
            runs = self._read_runs(after)
            if runs[0] != table[column][-1]:
                break
            same = runs == runs[0]
            rest.append(read_file(self.folder, self.stored, after).filter(same))
            if not same.all():
                break
        return self.take(join_rows([table, *rest], name))

    def _read_runs(self, number: int) -> pl.Series:
        path = self.folder / self.stored.paths[number]
        try:
            return pl.read_parquet(path, columns=[self.run[1]], glob=False)[self.run[1]]
        except (OSError, pl.exceptions.PolarsError) as error:
            raise StoreError(f"{path.name}: cannot be read ({error}).", hint=DAMAGED) from error

    def require_order(self, runs: Sequence[tuple[int, int]]) -> None:
        """Refuse files of which one begins before the one before it ends."""
        numbers = [number for ends in runs for number in ends]
        starts = numbers[2::2]
        if any(start <= end for start, end in zip(starts, numbers[1::2], strict=False)):
            title, column = self.run
            raise StoreError(f"{title}: is not in the order of {column!r}.", hint=DAMAGED)

    def take(self, table: pl.DataFrame, last: int | None = None) -> Release:
        """Give some records as a part, if they are whole runs, and come after the ``last`` one."""
        title = self.run[0]
        self._require_sorted(table, last)
        part = replace(self.release, tables={title: table}, whole=self.whole)
        refuse_unexplained(part)
        refuse_finer_cells(part)
        return part

    def _require_sorted(self, table: pl.DataFrame, last: int | None = None) -> None:
        title, column = self.run
        runs = table[column] if column in table.columns else pl.Series([None])
        good = runs.dtype.is_integer() and not runs.null_count() and runs.is_sorted()
        if not good or (last is not None and runs[0] <= last):
            raise StoreError(f"{title}: is not in the order of {column!r}.", hint=DAMAGED)

    @cached_property
    def whole(self) -> dict[str, pl.DataFrame]:
        """Per sensitive attribute all values that the whole holds, and how often."""
        if self.counted is not None:
            return self.counted
        names = self.release.schema.sensitive
        counts: dict[str, list[pl.DataFrame]] = {name: [] for name in names}
        for number in range(len(self.stored.paths)):
            for frame in self._read_file(number, AT_ONCE, names) if names else ():
                for name in names:
                    counts[name].append(frame.group_by(name).len("rows"))
        return {name: pl.concat(found).group_by(name).agg(pl.col("rows").sum())
                for name, found in counts.items()}  # fmt: skip

    def _read_file(
        self, number: int, at_once: int, columns: Sequence[str] = ()
    ) -> Iterator[pl.DataFrame]:
        path = self.folder / self.stored.paths[number]
        if path.suffix != ".parquet":
            yield from read_file(self.folder, self.stored, number).iter_slices(at_once)
            return
        try:
            rows = pl.scan_parquet(path, glob=False)
            height = rows.select(pl.len()).collect().item()
            rows = rows.select(columns) if columns else rows
            for start in range(0, height, at_once):
                frame = rows.slice(start, at_once).collect()
                refuse_columns(frame, self.stored, path.name)
                yield frame
        except (OSError, pl.exceptions.PolarsError) as error:
            said = str(error).splitlines()[0]
            raise StoreError(f"{path.name}: cannot be read ({said}).", hint=DAMAGED) from error
