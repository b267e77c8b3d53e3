"""On a cluster: the audit in parts, each by whichever worker has the time.

Workers read the files of the release themselves, from a folder that all of them see, and are sent
the people whom a file might cover.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from discreet.auditing import AuditReport, refuse_other_table
from discreet.auditing.earlier_in_parts import (
    MOST_KINDS,
    DisclosedKinds,
    HeldAgainst,
    ShownRecords,
    hold_against,
)
from discreet.auditing.in_parts import (
    AskedOfParts,
    FindParts,
    Seen,
    audit_part,
    find_odd_words,
    glance,
    put_side_by_side,
)
from discreet.auditing.merging import PartFindings, merge
from discreet.release import Release
from discreet.release.parts import StoredParts
from discreet.table.facts import Facts, Progress
from discreet.table.spark_frames import (
    ArrowBatches,
    SparkFrame,
    collect,
    number_columns,
    quote,
    read_batch,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

PART, ROW, SAID, ROWS = "part", "row", "said", "rows"
NUMBER = "#row"  # no column is called so


@dataclass(frozen=True, eq=False)
class _Look:
    """Looks at the boxes of files."""

    stored: StoredParts
    facts: Facts
    held: HeldAgainst | None

    def __call__(self, batches: ArrowBatches) -> ArrowBatches:
        for number in list_sent(batches):
            part = self.stored.take_file(number)
            (view,) = part.views
            shown = None if self.held is None else self.held.count_shown(part)
            seen = Seen(glance(part, self.facts), view.table.height, view.count,
                        *self.stored.span(part), shown)  # fmt: skip
            yield say(number, seen, NOBODY)


def list_sent(batches: ArrowBatches) -> Iterator[int]:
    """List the numbers of what a worker is to look at."""
    for batch in batches:
        yield from batch.column(0).to_pylist()


def say(number: int, said: object, rows: Any) -> pa.RecordBatch:
    """Say something of a part, and which rows it is about."""
    import pyarrow as pa

    columns = [pa.array([number], pa.int64()), pa.array([pickle.dumps(said)], pa.binary()),
               pa.array([rows], pa.list_(pa.int64()))]  # fmt: skip
    return pa.RecordBatch.from_arrays(columns, names=[PART, SAID, ROWS])


NOBODY = np.zeros(0, dtype=np.int64)
SAYING = f"{PART} long, {SAID} binary, {ROWS} array<long>"


@dataclass(frozen=True, eq=False)
class SendPeople:
    """Sends people to the parts that might cover them."""

    facts: Facts
    names: list[str]
    find: FindParts

    def __call__(self, batches: ArrowBatches) -> ArrowBatches:
        """Send some of them."""
        import pyarrow as pa

        for batch in batches:
            frame = read_batch(batch, [*self.names, NUMBER])
            rows = frame.filter(self.facts.keeps(frame))[NUMBER].to_numpy()
            codes = self.facts.encode(frame)
            for part, people in self.find(codes):
                columns = [pa.array(np.full(len(people), part)), pa.array(rows[people]),
                           *(pa.array(codes[name][people]) for name in self.names)]  # fmt: skip
                titles = [PART, ROW, *(f"c{i}" for i in range(len(self.names)))]
                yield pa.RecordBatch.from_arrays(columns, names=titles)


def examine_sent(
    take: Callable[[int], Release | None],
    facts: Facts,
    names: list[str],
    asked: AskedOfParts,
    settle: Callable[[int, Release, PartFindings], PartFindings] | None = None,
) -> Callable[[pa.Table], pa.Table]:
    """Make a function, of one argument, that audits a part with the people who were sent to it.

    ``settle`` puts down what has to be added up over all parts, and leaves the rest.
    """

    def run(table: pa.Table) -> pa.Table:
        import pyarrow as pa

        number = table.column(PART)[0].as_py()
        codes = {name: table.column(f"c{i}").to_numpy().astype(np.int32)
                 for i, name in enumerate(names)}  # fmt: skip
        people = replace(facts.hold(codes), rows=table.column(ROW).to_numpy())
        part = take(number)
        found = PartFindings(None, 0, 0, NOBODY)
        if part is not None:
            found = audit_part(part, people, asked)
            found = found if settle is None else settle(number, part, found)
        return pa.Table.from_batches([say(number, replace(found, rows=NOBODY), found.rows)])

    return run


def audit_on_cluster(
    release: Path,
    session: SparkSession,
    source: SparkFrame,
    facts: Facts,
    folder: Path,
    *,
    asked: AskedOfParts | None = None,
    progress: Progress,
) -> AuditReport:
    """Audit a release in its folder against a table that a cluster has."""
    from discreet.auditing.windows_on_cluster import audit_windows_on_cluster

    stored = StoredParts(release)
    stored.refuse_unsealed()
    refuse_other_table(stored.release, facts)
    stored = replace(stored, counted=_count_whole(session, stored))
    progress("Matching", 0, facts.n)
    asked = asked or AskedOfParts()
    held = hold_against(stored, facts, asked.earlier, asked.principle, asked.roles)
    asked = replace(asked, held=held)
    audit_all = audit_windows_on_cluster if stored.scattered else _audit_each_file
    report = audit_all(stored, session, source, facts, folder, asked=asked, progress=progress)
    return replace(report, findings=[*find_odd_words(stored), *report.findings])


def _audit_each_file(
    stored: StoredParts,
    session: SparkSession,
    source: SparkFrame,
    facts: Facts,
    folder: Path,
    *,
    asked: AskedOfParts,
    progress: Progress,
) -> AuditReport:
    """Look at all files, then audit each with the people whom it might cover."""
    seen: list[Seen] = look_at_files(session, stored, _Look(stored, facts, asked.held))
    held, lost = asked.held, list[str]()
    if held is not None:
        shown = ShownRecords(MOST_KINDS)
        for one in seen:
            shown.add(one.shown)
        held, lost = shown.judge(held, asked.earlier)
    looked = put_side_by_side([one.looked for one in seen])
    send = SendPeople(facts, list(facts.cells), looked.find)
    light = replace(asked, held=held, earlier=())  # workers need none of their records
    examine = examine_sent(stored.take_file, facts, send.names, light)
    progress("Auditing", 0, facts.n)
    findings, some, twice = examine_parts(session, source, send, examine, folder)
    found = [findings.get(number) or PartFindings(None, one.records, one.groups, NOBODY)
             for number, one in enumerate(seen)]  # fmt: skip
    report = merge(found, facts.n, facts.n - some, twice)
    disclosed = DisclosedKinds(MOST_KINDS)
    for part in found:
        disclosed.add(part.disclosed)
    report = disclosed.compose(report, asked.earlier, held, facts)
    return replace(report, findings=[*report.findings, *lost])


def look_at_files(session: SparkSession, stored: StoredParts, look: Any) -> list[Any]:
    """Have workers look at all files of records, and refuse these unless they are in order."""
    files = len(stored.records.paths)
    numbers = session.range(files).repartition(files)
    said = _collect_said(numbers.mapInArrow(look, SAYING))
    seen = [said[number] for number in range(files)]
    stored.require_order([one.ends for one in seen], [one.beside for one in seen])
    return seen


def examine_parts(
    session: SparkSession,
    source: SparkFrame,
    send: SendPeople,
    examine: Callable[[pa.Table], pa.Table],
    folder: Path,
) -> tuple[dict[int, PartFindings], int, int]:
    """Send people to parts, and have these examined where they arrive.

    Also says how many people are covered, and how many twice.
    """
    from pyspark.sql import functions as f

    names = send.names
    cells = number_columns(source.frame, names)
    numbered = cells.withColumn(ROW, f.monotonically_increasing_id())
    kept = f"{PART} long, {ROW} long, " + ", ".join(f"c{i} int" for i in range(len(names)))
    place = (folder / "findings").as_uri()
    sent = numbered.mapInArrow(send, kept).groupBy(PART).applyInArrow(examine, SAYING)
    sent.write.mode("overwrite").parquet(place)
    written = session.read.parquet(place)
    covered = written.select(f.explode(ROWS).alias(ROW)).groupBy(ROW).count()
    ((some, twice),) = covered.agg(f.count("*"), f.count_if(f.col("count") > 1)).collect()
    return _collect_said(written), int(some), int(twice)


def _count_whole(session: SparkSession, stored: StoredParts) -> dict[str, pl.DataFrame]:
    """Count, on the cluster, what the release holds of what is not a quasi-identifier."""
    from pyspark.sql import functions as f

    parted = stored.counting
    paths = [(stored.folder / path).as_uri() for path in stored.find(parted).paths]
    table = session.read.parquet(*paths)
    people = f.count("*") if parted.counts is None else f.sum(quote(parted.counts))
    whole = {}
    for name in stored.counted_names:
        counted = table.groupBy(table[quote(name)].alias("value")).agg(people.alias("rows"))
        whole[name] = collect(counted)
    return whole


def _collect_said(frame: DataFrame) -> dict[int, Any]:
    """Bring what workers said of each part to this process."""
    found = collect(frame.select(PART, SAID))
    said = zip(found[PART].to_list(), found[SAID].to_list(), strict=True)
    return {number: pickle.loads(text) for number, text in said}  # its own workers wrote it
