"""On a cluster: publish and audit a table where Spark has it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import discreet
from discreet import errors
from discreet.auditing import AuditReport, open_earlier
from discreet.auditing.earlier_in_parts import know_more, refuse_earlier
from discreet.auditing.in_parts import AskedOfParts
from discreet.auditing.on_cluster import WorkPlace, audit_on_cluster
from discreet.cluster import open_session
from discreet.cluster.reaching import adjust, say, spark_errors
from discreet.errors import ClusterError, DiscreetError, SchemaError
from discreet.publishing.backends import Progress, say_nothing
from discreet.publishing.backends.spark import SparkBackend
from discreet.publishing.in_parts import publish_in_parts
from discreet.publishing.method import Method
from discreet.release.store import refuse_to_replace
from discreet.steward.beyond_memory import refuse_unscaled, working_folder
from discreet.steward.inspection import NO_ROLES, Inspection
from discreet.steward.inspection_in_parts import inspect_in_parts
from discreet.steward.plan import Plan
from discreet.steward.worker_memory import WorkerMemory, measure_own
from discreet.table.facts import Facts, survey
from discreet.table.inference import GivenRoles
from discreet.table.parquet_files import ParquetFiles
from discreet.table.schema import Schema
from discreet.table.spark_frames import SparkFrame, collect
from discreet.table.staged_frames import PIECE, StagedFrame

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

CAPACITY = 1_000_000
"""Rows of a leaf, which a worker holds in memory: some 200 MB."""
EXAMINED = 1 << 19
"""Records of a file that a worker audits."""
ASKED = 64
"""So many times workers are asked what they have; where there are few, each answers once."""
SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "200000",
    "spark.sql.caseSensitive": "true",
}
LIGHT = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Java does little, and would spend more on compiling that well than it saves."""
STARTED = {
    "spark.driver.defaultJavaOptions": LIGHT,
    "spark.executor.defaultJavaOptions": LIGHT,
}
"""What Spark is started with where workers read files themselves, and it reads no rows."""


def _tell_version(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for _ in batches:
        told = {"version": discreet.__version__, **asdict(measure_own())}
        yield pa.RecordBatch.from_pylist([told])


@contextmanager
def _working_on(
    address: str, started: Mapping[str, str]
) -> Iterator[tuple[SparkSession, WorkerMemory]]:
    """Open a session whose workers have this very package; say in a line what goes wrong."""
    opened = open_session(address, **SETTINGS, **started)
    with opened as session, _explaining(session) as memory:
        yield session, memory


@contextmanager
def _explaining(session: SparkSession) -> Iterator[WorkerMemory]:
    """Work with a session whose workers have this very package; say in a line what goes wrong."""
    try:
        yield _require_package(session)
    except spark_errors() as error:
        raise _read_error(error) from error


@contextmanager
def _borrowing(session: SparkSession) -> Iterator[None]:
    """Set what the work needs in somebody else's session, and set it back."""
    before = {name: session.conf.get(name, None) for name in SETTINGS}
    adjust(session, SETTINGS)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, value)


def _require_package(session: SparkSession) -> WorkerMemory:
    """Refuse workers that could not do the work, before any of it; say what memory they have."""
    try:
        asked = session.range(ASKED).mapInArrow(
            _tell_version, "version string, limit long, free long, workers long"
        )
        found = collect(asked)
    except spark_errors() as error:
        missing = re.search(r"No module named '([\w.]+)'", str(error))
        if missing is None:
            raise
        raise ClusterError(
            f"The workers of the cluster have no package {missing[1].split('.')[0]!r}.",
            hint="Install discreet[spark] for the Python that they run (PYSPARK_PYTHON).",
        ) from error
    for theirs in found["version"].unique():
        if theirs != discreet.__version__:
            raise ClusterError(
                f"The workers of the cluster have discreet {theirs}, "
                f"here is {discreet.__version__}.",
                hint="Install the same version on both.",
            )
    told = [WorkerMemory(**line) for line in found.drop("version").iter_rows(named=True)]
    cores = session.conf.get("spark.executor.cores", None)
    told = [replace(one, workers=int(cores)) for one in told] if cores else told
    return min(told, key=lambda one: one.share)


def _read_error(error: Exception) -> DiscreetError:
    """Find what a worker raised on purpose; else say what Spark says."""
    text = str(error)
    told = re.search(r"^discreet\.errors\.(\w+): (.*)$", text, re.MULTILINE)
    if told is not None:
        kind = getattr(errors, told[1], ClusterError)
        hint = re.search(r"^Hint: (.*)$", text, re.MULTILINE)
        made: DiscreetError = kind(told[2], hint=hint[1] if hint else None)
        return made
    advice = "See the log of the cluster; nothing was published."
    if re.search(r"OutOfMemory|MemoryError|Lost executor|exited unexpectedly", text):
        advice = "Give executors more memory (spark.executor.memory), or fewer cores each."
    elif "No such file or directory" in text:
        advice = "The table, and the folder of the release, must lie where all workers see them."
    raised = re.findall(r"^\w+(?:\.\w+)*(?:Error|Exception): .*$", text, re.MULTILINE)
    said = raised[-1] if raised else say(error)
    return ClusterError(f"The cluster could not finish: {said}", hint=advice)


def _open_source(session: SparkSession, source: Path | str) -> SparkFrame:
    """Read a table as the cluster sees it: a local one has to lie where all workers see it."""
    if isinstance(source, str):
        return SparkFrame(session.read.parquet(source), source)
    files = ParquetFiles(source)
    types = files.types  # differences between files are refused first
    paths = [file.absolute() for file in files.files]
    frame = session.read.parquet(*(path.as_uri() for path in paths))
    return SparkFrame(frame, files.where, types, paths)


def inspect_on_cluster(
    source: Path | str, plan_folder: Path, address: str, progress: Progress,
    given: GivenRoles = NO_ROLES,
) -> Inspection:  # fmt: skip
    """Look at a table where the rows are."""
    file = source if isinstance(source, str) else os.path.relpath(source.absolute(), plan_folder)
    with _working_on(address, {}) as (session, _):
        return inspect_in_parts(_open_source(session, source), file, CAPACITY, progress, given)


def publish_on_cluster(
    plan: Plan,
    address: str,
    *,
    overwrite: bool,
    examine: Callable[[AuditReport, Facts], None],
    progress: Progress,
) -> None:
    """Publish what a plan says where the rows are; ``examine`` sees the audit, and may raise."""
    refuse_unscaled(plan)
    plan.method.require_parts()
    if plan.format != "parquet":
        raise SchemaError(f"format = {plan.format!r}: a cluster writes Parquet.")
    started = {} if plan.remote else STARTED
    with working_folder(plan.folder) as work, _working_on(address, started) as (session, memory):
        source = _open_source(session, plan.remote or plan.source)
        schema = plan.fit(source.columns)
        _publish(session, memory, source, schema, plan.method, plan.folder, work,
                 overwrite=overwrite, examine=examine, progress=progress)  # fmt: skip


def publish_frame(
    frame: DataFrame, method: Method, schema: Schema, folder: Path, *, overwrite: bool
) -> AuditReport:
    """Publish a frame of Spark by the cluster of its own session; give what the audit found."""
    method.require_parts()
    refuse_to_replace(folder, overwrite=overwrite)
    audits: list[AuditReport] = []

    def examine(found: AuditReport, facts: Facts) -> None:  # noqa: ARG001
        audits.append(found)
        found.require_kept()

    session = frame.sparkSession
    with working_folder(folder) as work, _borrowing(session), _explaining(session) as memory:
        _publish(session, memory, SparkFrame(frame), schema, method, folder, work,
                 overwrite=overwrite, examine=examine, progress=say_nothing)  # fmt: skip
    return audits[0]


def _publish(
    session: SparkSession,
    memory: WorkerMemory,
    source: SparkFrame,
    schema: Schema,
    method: Method,
    folder: Path,
    work: Path,
    *,
    overwrite: bool,
    examine: Callable[[AuditReport, Facts], None],
    progress: Progress,
) -> None:
    asked = AskedOfParts(earlier=open_earlier(method.earlier))
    place, facts = _read(session, memory, source, schema, work, progress)
    refuse_earlier(facts, asked.earlier)
    capacity = memory.choose_capacity(facts, CAPACITY)
    examined = memory.choose_records(facts, EXAMINED, method.weight)
    backend = SparkBackend(session, place.rows, facts, work, capacity, examined, progress)

    def approve(draft: Path) -> None:
        found = audit_on_cluster(draft, place, facts, asked=asked, progress=progress)
        examine(found, facts)

    publish_in_parts(
        backend, method, folder, format="parquet", overwrite=overwrite, approve=approve
    )


def _read(
    session: SparkSession,
    memory: WorkerMemory,
    source: SparkFrame,
    schema: Schema,
    work: Path,
    progress: Progress,
) -> tuple[WorkPlace, Facts]:
    """Read a table once, into files that all workers see, and count its cells."""
    progress("Reading", 0, 0)
    names = [a.name for a in schema.published]
    memory.require_enough(len(names))
    staged = StagedFrame(source, names, work, memory.choose_piece(max(1, len(names)), PIECE))
    facts = survey(staged, schema)
    return WorkPlace(session, staged.rows, work), facts


def audit_by_cluster(
    release: Path,
    source: Path,
    schema: Schema,
    address: str,
    *,
    asked: AskedOfParts,
    progress: Progress,
) -> AuditReport:
    """Audit a release against a table that a cluster has."""
    with working_folder(release) as work, _working_on(address, STARTED) as (session, memory):
        frame = _open_source(session, source)
        schema = know_more(frame, schema, asked.earlier)
        place, facts = _read(session, memory, frame, schema, work, progress)
        return audit_on_cluster(release.absolute(), place, facts, asked=asked, progress=progress)
