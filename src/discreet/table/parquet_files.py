"""Parquet files: a table that lies in one file or in a folder of them, read batch by batch.

Nothing here takes more memory than a batch of rows, or than a column has different cells.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
import polars as pl

from discreet.errors import MicrodataError
from discreet.table.arrays import Ints
from discreet.table.facts import Made, MakeOfCells, Progress, is_text, keep_rows, settle_cells
from discreet.table.isolation import reading
from discreet.table.people import take_names
from discreet.table.readers import PARQUET, refuse_empty
from discreet.table.row_keys import KeyWords, count_lone, key_rows
from discreet.table.schema import Attribute
from discreet.table.text_files import refuse_header

ROW = "#row"  # no column is called so
MOST_FILES = 250_000
"""A folder that holds more is not one of a table, but perhaps a whole disk."""
ALONE = "Give the folder of the table alone."
BATCH = 1 << 20
"""Rows that are read at once, unless fewer are asked for."""
BUFFER = 1 << 20
"""Bytes that are read at once of a column."""
SHARE = 1 << 22
"""So many hashes are looked through at once for repeated ones."""
PIECES = 256
"""What different cells, or keys of rows, that do not fit into memory are divided into."""


def list_files(path: Path) -> list[Path]:
    """Give the Parquet files of a path, which is one or a folder of them, in their order."""
    if not path.is_dir():
        if not path.exists():
            raise MicrodataError(
                f"{path}: no such file or folder.",
                hint="Check the path; a path in a plan starts where the plan lies.",
            )
        return [path]
    try:
        there = list(islice(path.rglob("*"), MOST_FILES + 1))
        found = sorted(p for p in there if p.suffix.lower() in PARQUET and p.is_file())
    except OSError as error:
        raise MicrodataError(
            f"{path}: cannot be looked through ({error.strerror or error}).", hint=ALONE
        ) from error
    if len(there) > MOST_FILES:
        raise MicrodataError(f"{path}: holds more than {MOST_FILES:,} files.", hint=ALONE)
    # what others leave beside their tables: _SUCCESS, .crc, _metadata
    found = [p for p in found if not p.name.startswith((".", "_"))]
    if not found:
        raise MicrodataError(
            f"{path}: is a folder that holds no Parquet file.",
            hint="Give a folder whose files end in .parquet.",
        )
    return found


@dataclass(frozen=True, eq=False)
class ParquetFiles:
    """A table in Parquet files that all have the same columns."""

    path: Path
    at_once: int = BATCH
    """Rows that are read at once."""

    @property
    def where(self) -> str:
        """What to call it in errors."""
        return self.path.name

    @cached_property
    def files(self) -> list[Path]:
        """Where it lies."""
        return list_files(self.path)

    @property
    def columns(self) -> list[str]:
        """The names of its columns."""
        return list(self.types)

    @cached_property
    def types(self) -> dict[str, pl.DataType]:
        """The types of its columns, which are those of every file; another one is refused."""
        first, types = self.files[0], _read_types(self.files[0])
        refuse_header(list(types), first.name)
        for file in self.files[1:]:
            others = _read_types(file)
            for name in sorted({name for name, _ in others.items() ^ types.items()}):
                if name in types and name in others:
                    what = f"column {name!r} is {_word(others[name])}, not {_word(types[name])}"
                else:
                    lacks = name in types
                    what = f"column {name!r} is {'not ' if lacks else ''}there"
                raise MicrodataError(
                    f"{self.where}: is a folder of files that are not one table: in {file.name} "
                    f"{what}.",
                    hint="Write all of them with the same columns, or give the name of one.",
                )
        return types

    @cached_property
    def height(self) -> int:
        """Number of rows."""
        import pyarrow.parquet as pq

        self.types  # noqa: B018  what cannot be read is refused first
        with reading(self.path):
            rows: int = sum(pq.read_metadata(file).num_rows for file in self.files)
        refuse_empty(len(self.types), rows, f"{self.where}: ")
        return rows

    @property
    def _lazy(self) -> pl.LazyFrame:
        self.types  # noqa: B018  differences between files are refused first
        return pl.scan_parquet(self.files, glob=False)

    def count_cells(self, name: str, dropped: Mapping[str, pl.Series]) -> tuple[pl.Series, Ints]:
        """Give the different cells of a column, settled, and how often each occurs."""
        cell = settle_cells(name, self.types[name]).alias("cell")
        rows = self._lazy.filter(keep_rows(dropped, self.types))
        found = self._collect(rows.select(cell).group_by("cell").len("rows"))
        return found["cell"], found["rows"].to_numpy().astype(np.int64)

    def count_distinct(self, name: str, na: Sequence[str]) -> tuple[int, int]:
        """Count the different cells of a column that are neither empty nor ``na``, and all such.

        Cells are told apart by a hash of 64 bits, in shares that fit into memory; those whose hash
        is somebody else's, too, are then looked at themselves.
        """
        shares = max(1, self.height // SHARE)
        total, suspects = 0, []
        with ExitStack() as stack:
            files = [stack.enter_context(tempfile.TemporaryFile()) for _ in range(shares)]
            for frame in self.batches([name]):
                hashes = take_names(frame[name], na).hash(seed=0).to_numpy()
                total += len(hashes)
                for share, file in enumerate(files):
                    hashes[hashes % shares == share].tofile(file)
            for file in files:
                file.seek(0)
                values, counts = np.unique(np.fromfile(file, dtype=np.uint64), return_counts=True)
                suspects.append(values[counts > 1])
        repeated = np.concatenate(suspects)
        if not len(repeated):
            return total, total
        cells = [
            (names := take_names(frame[name], na)).filter(
                np.isin(names.hash(seed=0).to_numpy(), repeated)
            )
            for frame in self.batches([name])
        ]
        same = pl.concat(cells)
        return total - len(same) + same.n_unique(), total

    def map_cells(self, name: str, work: MakeOfCells[Made], at_once: int) -> Iterator[Made]:
        """Have something made of the different cells of a column, about so many ``at_once``.

        Cells that differ in blanks around them only are in the same part.
        """
        dtype = self.types[name]
        cell = settle_cells(name, dtype).alias("cell")
        stripped = pl.col("cell").str.strip_chars() if is_text(dtype) else pl.col("cell")
        piece = stripped.hash(seed=0) % PIECES
        begin, end = 0, PIECES if self.height <= at_once else 1
        while begin < PIECES:
            rows = self._lazy.select(cell)
            if end - begin < PIECES:
                rows = rows.filter(piece.is_between(begin, end, closed="left"))
            found = self._collect(rows.group_by("cell").len("rows"))
            yield work(found["cell"], found["rows"].to_numpy().astype(np.int64))
            # as many more as may be held, if those to come are as many as those that were here
            more = at_once * (end - begin) // max(1, found.height)
            begin, end = end, min(PIECES, end + max(1, more))

    def count_lone(
        self, attributes: Sequence[Attribute], person: Attribute | None, at_once: int,
        progress: Progress,
    ) -> int:  # fmt: skip
        """Count the rows that no other equals on some attributes; the people, if one names them."""
        names = [attribute.name for attribute in attributes]
        owner = [] if person is None else [person]

        def key_all() -> Iterator[KeyWords]:
            done = 0
            for frame in self.batches([*names, *(one.name for one in owner)]):
                keys = [key_rows(frame, attributes), *(key_rows(frame, [one]) for one in owner)]
                yield np.concatenate(keys)
                done += frame.height
                progress("Comparing", done, self.height)

        shares = min(PIECES, -(-self.height // at_once))
        return count_lone(key_all(), shares, owned=person is not None)

    def find_row(self, name: str, cell: object) -> int:
        """Give the number of the first row that has a cell, blanks around a text aside."""
        found, sought = settle_cells(name, self.types[name]), pl.lit(cell)
        if isinstance(cell, str):
            found, sought = found.str.strip_chars(), sought.str.strip_chars()
        rows = self._lazy.select(pl.col(name)).with_row_index(ROW)
        return int(self._collect(rows.filter(found.eq_missing(sought)).head(1))[ROW][0])

    def _collect(self, rows: pl.LazyFrame) -> pl.DataFrame:
        with reading(self.path):
            return rows.collect(engine="streaming")

    def batches(self, names: list[str]) -> Iterator[pl.DataFrame]:
        """Read some columns, so many rows at a time."""
        for file in self.files:
            yield from self._read_batches(file, names)

    def _read_batches(self, file: Path, names: list[str]) -> Iterator[pl.DataFrame]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        # without a buffer all that a row group has of a column would be read together
        with reading(file), pq.ParquetFile(file, buffer_size=BUFFER) as opened:
            for batch in opened.iter_batches(self.at_once, columns=names):
                frame = pl.from_arrow(pa.Table.from_batches([batch]))
                assert isinstance(frame, pl.DataFrame)
                yield frame


def read_folder(path: Path) -> pl.DataFrame:
    """Read all Parquet files of a folder as one table."""
    table = ParquetFiles(path)
    return pl.concat([pl.DataFrame(schema=table.types), *table.batches(table.columns)])


def _word(dtype: pl.DataType) -> str:
    """Name a type without all its categories."""
    return str(dtype.base_type())


def _read_types(file: Path) -> dict[str, pl.DataType]:
    import pyarrow.parquet as pq

    with reading(file):
        pq.read_metadata(file)  # which does not panic, and says more
        return dict(pl.read_parquet_schema(file))
