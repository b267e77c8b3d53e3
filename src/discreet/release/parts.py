"""Parts: a release that memory does not hold, read so many records at a time.

A form says which of its tables can be parted, and by which column: what rows with the same number
in it tell is told by them alone. A run of records whose numbers no other record has is then, with
what other tables hold of these numbers, a release of its own: a part, which knows besides what the
whole holds of each sensitive attribute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from discreet.errors import DAMAGED, SchemaError, StoreError
from discreet.release.coarse_labels import refuse_finer_cells
from discreet.release.dictionary import ABOUT, refuse_unexplained, restore
from discreet.release.manifest import OLDER, Stored, understand
from discreet.release.release import PartedTable, Release
from discreet.release.rows_in_turn import RowsInTurn, require_numbers, require_sorted
from discreet.release.seals import Seal
from discreet.release.sound_cells import refuse_unsound_cells
from discreet.release.store import read_manifest
from discreet.release.table_files import join_rows, naming, read_file, read_table, scan_file
from discreet.table.arrays import Ints

if TYPE_CHECKING:
    from discreet.principles.groups import Groups

MORE = "Examine it on a machine whose memory holds it, or allow for more (--memory)."
AT_ONCE = 1 << 20
"""So many records are read at once, or more if they cannot be parted."""
JOINED = 4
"""So many times as much as by itself it takes to examine a record of tables put together."""
NEVER = 2**62
"""A number that nothing has."""


class PartEnd(NamedTuple):
    """Where a part ends: how many records it has, and the last number of any of them."""

    records: int
    last: int


@dataclass(frozen=True, eq=False)
class StoredParts:
    """The folder of a release of which parts can be examined by themselves."""

    folder: Path
    counted: dict[str, pl.DataFrame] | None = None
    """What :attr:`whole` would be, where somebody else counted it."""
    ends: Ints | None = None
    """The numbers after which a part may end, where somebody is shown by several of them."""

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
    def parted(self) -> tuple[PartedTable, ...]:
        """The tables that are parted, the one of records first."""
        from discreet.forms import find_form

        shapes = {title: pl.DataFrame(schema=list(table.types))
                  for title, table in self._opened[1].items()}  # fmt: skip
        parted = find_form(self.release.form).find_parted(replace(self.release, tables=shapes))
        if set(self._opened[1]) != {table.title for table in parted}:
            raise SchemaError(
                f"A release by {self.release.method} under {self.release.promise.principle} with "
                f"the tables {', '.join(self._opened[1])} is not examined in parts yet.",
                hint=MORE,
            )
        return parted

    @property
    def scattered(self) -> bool:
        """Whether records that show the same may be in different parts."""
        from discreet.forms import find_form

        assert self.parted
        return find_form(self.release.form).scattered

    @property
    def may_overlap(self) -> bool:
        """Whether several numbers may show somebody, so that parts may not end everywhere."""
        from discreet.forms import find_form

        return find_form(self.release.form).may_overlap(self.release)

    @property
    def records(self) -> Stored:
        """Where the table lies that has the records."""
        return self.find(self.parted[0])

    def find(self, table: PartedTable) -> Stored:
        """Say where a table lies."""
        return self._opened[1][table.title]

    def refuse_unsealed(self) -> None:
        """Refuse it unless all its files are those that its manifest speaks of."""
        for stored in map(self.find, self.parted):
            if stored.seals is None:
                said = "nothing says which file was published"
                raise StoreError(f"{stored.paths[0]}: {said}.", hint=MORE)
            for path, seal in zip(stored.paths, stored.seals, strict=True):
                try:
                    found = Seal.of(self.folder / path)
                except OSError as error:
                    why = error.strerror or error
                    raise StoreError(f"{path}: cannot be read ({why}).", hint=DAMAGED) from error
                if found != seal:
                    raise StoreError(f"{path}: is not what was published.", hint=DAMAGED)

    @property
    def sample(self) -> Release:
        """The release with its tables, which have all columns and no rows."""
        tables = {}
        for table in self.parted:
            first = next(self._read_rows(table, 1), None)
            if first is None:
                raise StoreError(f"{self.find(table).paths[0]}: the table has no rows.")
            tables[table.title] = first[:0]
        return replace(self.release, tables=self._arrange(tables))

    def _arrange(self, tables: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
        """Put tables into the order in which the release has them."""
        return {title: tables[title] for title in self._opened[1]}

    def read(self, at_once: int = AT_ONCE) -> Iterator[Release]:
        """Give it part by part, in the order of its records."""
        records, *others = self.parted
        rows = {t.title: RowsInTurn(self._read_rows(t, at_once), self.find(t).paths[0])
                for t in self.parted}  # fmt: skip
        cuts = list(self._find_cuts(at_once))
        before = -NEVER
        for number, cut in enumerate(cuts):
            tables = {records.title: rows[records.title].take(cut.records)}
            last = number == len(cuts) - 1  # with whatever no record refers to
            for other in others:
                held = rows[other.title]
                if not other.ordered:
                    ends = before + 1, NEVER if last else cut.last
                    tables[other.title] = self._read_between(other, *ends)
                else:
                    part = held.take_rest() if last else held.take_to(other, cut.last)
                    tables[other.title] = part
            yield self.take(tables)
            before = cut.last
            tables.clear()  # before more is read

    def _read_between(self, table: PartedTable, first: int, last: int) -> pl.DataFrame:
        """Read the rows of a table that have numbers from one to another."""
        stored = self.find(table)
        ends = pl.col(table.column).is_between(first, last)
        found = []
        for number, path in enumerate(self.folder / path for path in stored.paths):
            with naming(path):
                if path.suffix == ".parquet":
                    rows = scan_file(self.folder, stored, number).filter(ends).collect()
                else:
                    rows = read_file(self.folder, stored, number).filter(ends)
            found.append(rows)
        return join_rows(found, stored.paths[0])

    def _find_cuts(self, at_once: int) -> Iterator[PartEnd]:
        """Find where records can be parted: where all numbers before are below all behind.

        Parts are no longer than ``at_once`` wherever there is such a place.
        """
        files = range(len(self.records.paths))
        behind = np.minimum.accumulate([NEVER, *self._spans[::-1, 0]])[::-1][1:]
        start, base, top = 0, 0, -NEVER
        places = np.zeros((0, 2), dtype=np.int64)
        for number in files:
            values = self._read_numbers(number)
            tops = np.maximum.accumulate(np.append(top, values))
            rest = np.minimum.accumulate(np.append(behind[number], values[::-1]))[::-1]
            found = np.flatnonzero(tops[1:] < rest[1:]) + 1
            if self.ends is not None:
                found = found[np.isin(tops[found], self.ends)]
            places = np.concatenate([places, np.stack([base + found, tops[found]], axis=1)])
            while len(places) and places[-1, 0] - start > at_once:
                wanted = int(np.searchsorted(places[:, 0], start + at_once, side="right"))
                chosen = self._choose(places[:, 0], wanted)
                if chosen is None:
                    places = places[:0]
                    break
                yield PartEnd(int(places[chosen, 0]) - start, int(places[chosen, 1]))
                start, places = int(places[chosen, 0]), places[chosen + 1 :]
            base, top = base + len(values), int(tops[-1])
        if not base:
            raise StoreError(f"{self.records.paths[0]}: the table has no rows.")
        if base > start:
            yield PartEnd(base - start, top)

    def _choose(self, places: Ints, wanted: int) -> int | None:
        """Find a place, near below one that is wanted, where no look-alikes would be parted."""
        nearest: list[int] = [*range(wanted - 1, -1, -1), *range(wanted, len(places))]
        for number in nearest:
            if not self._goes_on(int(places[number])):
                return number
        return None

    def _goes_on(self, row: int) -> bool:
        """Whether a record shows what the one before it does, but for its number."""
        records, *others = self.parted
        if not others:  # numbers are of those that show the same
            return False
        shown = [self._read_row(place).drop(records.column) for place in (row - 1, row)]
        return shown[0].equals(shown[1])

    @cached_property
    def _spans(self) -> Ints:
        """Per file of records the least of their numbers, and how many there are up to its end."""
        files = map(self._read_numbers, range(len(self.records.paths)))
        spans = np.array([(numbers.min(initial=NEVER), len(numbers)) for numbers in files])
        spans[:, 1] = np.cumsum(spans[:, 1])
        return spans

    def _read_row(self, row: int) -> pl.DataFrame:
        ends = self._spans[:, 1]
        number = int(np.searchsorted(ends, row, side="right"))
        if number == len(ends):
            return pl.DataFrame({self.parted[0].column: []})  # behind the last is nobody
        row -= int(ends[number - 1]) if number else 0
        path = self.folder / self.records.paths[number]
        if path.suffix != ".parquet":
            return read_file(self.folder, self.records, number)[row : row + 1]
        with naming(path):
            return scan_file(self.folder, self.records, number).slice(row, 1).collect()

    def take_file(self, number: int) -> Release:
        """Give what begins in one file of records as a part, with what of it is elsewhere."""
        records, *others = self.parted
        table = read_file(self.folder, self.records, number)
        column, name = records.column, self.records.paths[number]
        if others:
            numbers = require_numbers(table, records)
            ends = int(numbers.min()), int(numbers.max())
            beside = {other.title: self._read_between(other, *ends) for other in others}
            return self.take({records.title: table, **beside})
        require_sorted(table, records)  # else what is left out here might be nobody's
        if number:
            before = self._read_numbers(number - 1)[-1]
            table = table.filter(pl.col(column) != before)
        if not table.height:
            raise SchemaError(f"{name}: no {column} begins in it.", hint=MORE)
        rest = []
        for after in range(number + 1, len(self.records.paths)):
            runs = self._read_numbers(after)
            if runs[0] != table[column][-1]:
                break
            same = runs == runs[0]
            rest.append(read_file(self.folder, self.records, after).filter(same))
            if not same.all():
                break
        return self.take({records.title: join_rows([table, *rest], name)})

    def _read_numbers(self, number: int) -> Ints:
        """Read the column of a file of records by which they are parted."""
        records, path = self.parted[0], self.folder / self.records.paths[number]
        if path.suffix != ".parquet":
            return require_numbers(read_file(self.folder, self.records, number), records)
        with naming(path):
            rows = scan_file(self.folder, self.records, number)
            return require_numbers(rows.select(records.column).collect(), records)

    def list_numbers(self, records: pl.DataFrame) -> Ints:
        """Give the numbers that some records have, each once, in their order."""
        return np.unique(require_numbers(records, self.parted[0]))

    def span(self, part: Release) -> tuple[tuple[int, int], int]:
        """Give the first and the last number of a part, and how many rows are beside its records.

        It is what :meth:`require_order` is asked about.
        """
        records, *others = self.parted
        numbers = self.list_numbers(part.tables[records.title])
        beside = sum(part.tables[other.title].height for other in others)
        return (int(numbers[0]), int(numbers[-1])), beside

    def require_order(self, ends: Sequence[tuple[int, int]], rows: Sequence[int]) -> None:
        """Refuse files of records of which one has numbers before those of the one before it.

        So many ``rows`` of other tables were found with each of them, which must be all.
        """
        records, *others = self.parted
        if any(start <= end for (_, end), (start, _) in pairwise(ends)):
            raise StoreError(
                f"{records.title}: is not in the order of {records.column!r}.", hint=DAMAGED
            )
        beside = (part.height for other in others
                  for part in self._read_rows(other, AT_ONCE, [other.column]))  # fmt: skip
        if sum(rows) != sum(beside):
            raise StoreError(
                f"{others[0].title}: has rows to which no record of {records.title!r} refers.",
                hint=DAMAGED,
            )

    @property
    def weight(self) -> int:
        """So many times as much as in a table of boxes it takes to examine a record."""
        from discreet.forms import find_form

        return JOINED if self.strewn else find_form(self.release.form).weight

    @property
    def strewn(self) -> list[PartedTable]:
        """The tables whose rows are not in the order of parts."""
        return [table for table in self.parted if not table.ordered]

    def take(self, tables: dict[str, pl.DataFrame]) -> Release:
        """Give some records, with what other tables hold of them, as a part."""
        if len(tables) == 1:
            require_sorted(tables[self.parted[0].title], self.parted[0])
        part = replace(self.release, tables=self._arrange(tables), whole=self.whole)
        refuse_unsound_cells(part)
        refuse_unexplained(part)
        refuse_finer_cells(part)
        return part

    def take_records(self, records: pl.DataFrame, bags: dict[str, Groups]) -> Release:
        """Give some records as a part, of whose groups it is told what they hold."""
        tables = {self.parted[0].title: records}
        return replace(self.release, tables=tables, whole=self.whole, bags=bags)

    @property
    def counting(self) -> dict[PartedTable, list[str]]:
        """Per table the attributes of which it says how many people have each value.

        They are those beside quasi-identifiers, each of which somebody may call sensitive.
        """
        found: dict[PartedTable, list[str]] = {}
        counting = [table for table in self.parted if table.counts]
        for name in self.release.schema.names:
            if name not in self.release.schema.quasi_identifiers:
                tables = [table for table in counting if name in self.find(table).types]
                found.setdefault(next(iter(tables), self.parted[0]), []).append(name)
        return found

    @cached_property
    def whole(self) -> dict[str, pl.DataFrame]:
        """What the whole holds of each attribute that is not a quasi-identifier, and how often."""
        if self.counted is not None:
            return self.counted
        counts: dict[str, list[pl.DataFrame]] = {}
        for table, names in self.counting.items():
            counts |= {name: [] for name in names}
            columns = [*names, *([table.counts] if table.counts else [])]
            for frame in self._read_rows(table, AT_ONCE, columns):
                for name in names:
                    counts[name].append(table.count_values(frame, name))
        return {name: pl.concat(found).group_by("value").agg(pl.col("rows").sum())
                for name, found in counts.items()}  # fmt: skip

    def _read_rows(
        self, table: PartedTable, at_once: int, columns: Sequence[str] = ()
    ) -> Iterator[pl.DataFrame]:
        """Read a table, or some columns of it, from its files, so many rows at a time."""
        stored = self.find(table)
        for number, path in enumerate(self.folder / path for path in stored.paths):
            if path.suffix != ".parquet":
                yield from read_file(self.folder, stored, number).iter_slices(at_once)
                continue
            with naming(path):
                rows = scan_file(self.folder, stored, number)
                height = rows.select(pl.len()).collect().item()
                rows = rows.select(columns) if columns else rows
                for start in range(0, height, at_once):
                    yield rows.slice(start, at_once).collect()
