"""Spark tasks: what workers do with the rows that they have, as functions over Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from discreet.publishing.backends import Count, Find, Finish, Reword, ShowClasses, add_counts
from discreet.publishing.partitioners.packing import Layout
from discreet.release.table_files import write_frame
from discreet.table.arrays import Ints
from discreet.table.facts import Facts
from discreet.table.spark_frames import ArrowBatches, read_batch

if TYPE_CHECKING:
    import pyarrow as pa

AT_ONCE = 1 << 19
"""So many rows are counted at once by a worker."""
LEAF, PLACE, TABLE = "leaf", "place", "table"


@dataclass(frozen=True, eq=False)
class PackRows:
    """Codes and packs rows."""

    facts: Facts
    layout: Layout
    names: list[str]

    def __call__(self, batches: ArrowBatches) -> ArrowBatches:
        """Work on some of them."""
        for batch in batches:
            yield give_words(self.layout.pack(self.facts.encode(read_batch(batch, self.names))))


def give_words(words: Ints, **more: NDArray[np.integer]) -> pa.RecordBatch:
    """Give words, a column for each plane, and what else goes with them."""
    import pyarrow as pa

    planes = {f"c{number}": plane for number, plane in enumerate(words)}
    return pa.RecordBatch.from_pydict({**planes, **more})


def read_words(columns: Iterable[pa.Array]) -> Ints:
    """Read the planes of words."""
    return np.stack([column.to_numpy() for column in columns])


def spell_words(planes: int) -> str:
    """Give the columns of words, as Spark spells them."""
    return ", ".join(f"c{plane} long" for plane in range(planes))


def gather_words(batches: ArrowBatches) -> Iterator[Ints]:
    """Put batches of words together, so that fewer are worked on."""
    held: list[Ints] = []
    for batch in batches:
        held.append(read_words(batch.columns))
        if sum(words.shape[1] for words in held) >= AT_ONCE:
            yield np.concatenate(held, axis=1)
            held = []
    if held:
        yield np.concatenate(held, axis=1)


@dataclass(frozen=True, eq=False)
class CountRows:
    """Counts something of rows."""

    count: Count

    def __call__(self, batches: ArrowBatches) -> ArrowBatches:
        """Work on some of them."""
        import pyarrow as pa

        keys, rows = add_counts([self.count(words) for words in gather_words(batches)])
        yield pa.RecordBatch.from_arrays([pa.array(keys), pa.array(rows)], names=["key", "rows"])


@dataclass(frozen=True, eq=False)
class RewordRows:
    """Gives rows other words."""

    reword: Callable[[Ints], Ints]

    def __call__(self, batches: ArrowBatches) -> ArrowBatches:
        """Work on some of them."""
        for words in gather_words(batches):
            yield give_words(self.reword(words))


@dataclass(frozen=True, eq=False)
class FindLeaf:
    """Says to which leaf each row belongs."""

    find: Find

    def __call__(self, batches: ArrowBatches) -> ArrowBatches:
        """Work on some of them."""
        for batch in batches:
            words = read_words(batch.columns)
            yield give_words(words, **{LEAF: self.find(words).astype(np.int32)})


def finish_leaf(finish: Finish, planes: int) -> Callable[[pa.Table], pa.Table]:
    """Make a function of one argument, by the number of which Spark tells what to call it with."""

    def run(table: pa.Table) -> pa.Table:
        words = read_words(table.columns[:planes])
        leaf = table.column(LEAF)[0].as_py()
        return to_arrow(put_together(finish(leaf, words), leaf))

    return run


def reword_leaf(reword: Reword, planes: int) -> Callable[[pa.Table], pa.Table]:
    """Make a function of one argument, as above."""

    def run(table: pa.Table) -> pa.Table:
        import pyarrow as pa

        made = reword(table.column(LEAF)[0].as_py(), read_words(table.columns[:planes]))
        return pa.Table.from_batches([give_words(made)])

    return run


def put_together(made: Mapping[str, pl.DataFrame], leaf: int) -> pl.DataFrame:
    """Put the lines for all tables into one, as a stage makes one: each has columns of its own."""
    numbered = []
    for number, frame in enumerate(made.values()):
        place = pl.int_range(frame.height, dtype=pl.Int64, eager=True)
        lead = [pl.Series(LEAF, [leaf], pl.Int32).new_from_index(0, frame.height),
                pl.Series(TABLE, [number], pl.Int32).new_from_index(0, frame.height),
                place.alias(PLACE)]  # fmt: skip
        own = [column.alias(name_own(number, column.name)) for column in frame]
        numbered.append(pl.DataFrame([*lead, *own]))
    return pl.concat(numbered, how="diagonal")


def name_own(table: int, column: str) -> str:
    """Name the column of one of several tables whose lines are together."""
    return f"t{table} {column}"


def to_arrow(frame: pl.DataFrame) -> pa.Table:
    """Give a frame with the types that Spark knows."""
    import pyarrow as pa

    table = frame.with_columns(pl.col(pl.Enum).cast(pl.String)).to_arrow()
    plain = {pa.large_string(): pa.string(), pa.large_binary(): pa.binary(),
             pa.large_list(pa.int32()): pa.list_(pa.int32()),
             pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}  # fmt: skip
    fields = []
    for column in table.schema:
        kind = column.type
        if pa.types.is_large_list(kind):
            kind = pa.list_(kind.value_type)
        fields.append(pa.field(column.name, plain.get(kind, kind)))
    return table.cast(pa.schema(fields))


@dataclass(frozen=True, eq=False)
class WriteLines:
    """Shows the records of classes, and writes them to a file for each range of classes.

    Workers write it themselves: many columns of texts would take far longer through Spark's rows. A
    file is of one attempt, and only those count of which Spark says that they were finished.
    """

    show: ShowClasses
    first: dict[int, int]
    """Per leaf the number of its first class."""
    sample: pl.DataFrame
    place: Path

    def __call__(self, batches: ArrowBatches) -> ArrowBatches:
        """Write the records of some lines, and say where."""
        import pyarrow as pa
        from pyspark import TaskContext

        shown = []
        for batch in batches:
            frame: Any = pl.from_arrow(pa.Table.from_batches([batch]))
            for leaf, classes in frame.group_by(LEAF, maintain_order=True):
                first = self.first[int(leaf[0])] + int(classes[PLACE][0])
                records = self.show(classes.drop(LEAF, PLACE), first)
                shown.append(records.match_to_schema(self.sample.schema))
        context = TaskContext.get()
        if not shown or context is None:
            return
        table = pl.concat(shown, rechunk=True)
        number = context.partitionId()
        path = self.place / f"{number:06d}-{context.taskAttemptId()}.parquet"
        write_frame(table, path, "parquet")
        told = {"number": [number], "path": [str(path)], "rows": [table.height]}
        yield pa.RecordBatch.from_pydict(told, schema=pa.schema(
            [("number", pa.int64()), ("path", pa.string()), ("rows", pa.int64())]))  # fmt: skip
