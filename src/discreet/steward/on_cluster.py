"""On a cluster: publish and audit a table where Spark has it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import discreet
from discreet import errors
from discreet.auditing import AuditReport, open_earlier
from discreet.auditing.earlier_in_parts import refuse_earlier
from discreet.auditing.in_parts import AskedOfParts
from discreet.auditing.on_cluster import audit_on_cluster
from discreet.cluster import open_session
from discreet.cluster.reaching import adjust, say, spark_errors
from discreet.errors import ClusterError, DiscreetError, SchemaError
from discreet.publishing.backends import Progress, say_nothing
from discreet.publishing.backends.spark import SparkBackend
from discreet.publishing.in_parts import publish_in_parts
from discreet.publishing.method import Method
from discreet.release.store import refuse_to_replace
from discreet.steward.beyond_memory import refuse_drawing, working_folder
from discreet.steward.inspection import Inspection
from discreet.steward.inspection_in_parts import inspect_in_parts
from discreet.steward.plan import Plan
from discreet.table.coded_table import Intake
from discreet.table.facts import survey
from discreet.table.parquet_files import ParquetFiles
from discreet.table.schema import Schema
from discreet.table.spark_frames import SparkFrame, collect

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

CAPACITY = 1_000_000
"""Rows of a leaf, which a worker holds in memory: some 200 MB."""
EXAMINED = 1 << 19
"""Records of a file that a worker audits."""
SETTINGS = {
    "spark.sql.execution.arrow.maxRecordsPerBatch": "200000",
    "spark.sql.caseSensitive": "true",
}


def _tell_version(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for _ in batches:
        yield pa.RecordBatch.from_pydict({"version": [discreet.__version__]})


@contextmanager
def _working_on(address: str) -> Iterator[SparkSession]:
    """Open a session whose workers have this very package; say in a line what goes wrong."""
    with open_session(address, **SETTINGS) as session, _explaining(session):
        yield session


@contextmanager
def _explaining(session: SparkSession) -> Iterator[None]:
    """Work with a session whose workers have this very package; say in a line what goes wrong."""
    try:
        _require_package(session)
        yield
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


def _require_package(session: SparkSession) -> None:
    """Refuse workers that could not do the work, before any of it."""
    try:
        found = collect(session.range(1).mapInArrow(_tell_version, "version string"))
    except spark_errors() as error:
        missing = re.search(r"No module named '([\w.]+)'", str(error))
        if missing is None:
            raise
        raise ClusterError(
            f"The workers of the cluster have no package {missing[1].split('.')[0]!r}.",
            hint="Install discreet[spark] for the Python that they run (PYSPARK_PYTHON).",
        ) from error
    theirs = found["version"][0]
    if theirs != discreet.__version__:
        raise ClusterError(
            f"The workers of the cluster have discreet {theirs}, here is {discreet.__version__}.",
            hint="Install the same version on both.",
        )


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
    raised = re.findall(r"^\w+(?:\.\w+)*(?:Error|Exception): .*$", text, re.MULTILINE)
    said = raised[-1] if raised else say(error)
    return ClusterError(f"The cluster could not finish: {said}", hint=advice)


def _open_source(session: SparkSession, source: Path | str) -> SparkFrame:
    """Read a table as the cluster sees it: a local one has to lie where all workers see it."""
    if isinstance(source, str):
        return SparkFrame(session.read.parquet(source), source)
    files = ParquetFiles(source)
    types = files.types  # differences between files are refused first
    paths = [file.absolute().as_uri() for file in files.files]
    return SparkFrame(session.read.parquet(*paths), files.where, types)


def inspect_on_cluster(
    source: Path | str, plan_folder: Path, address: str, progress: Progress
) -> Inspection:
    """Look at a table where the rows are."""
    file = source if isinstance(source, str) else os.path.relpath(source.absolute(), plan_folder)
    with _working_on(address) as session:
        return inspect_in_parts(_open_source(session, source), file, CAPACITY, progress)


def publish_on_cluster(
    plan: Plan,
    address: str,
    *,
    overwrite: bool,
    examine: Callable[[AuditReport, Intake], None],
    progress: Progress,
) -> None:
    """Publish what a plan says where the rows are; ``examine`` sees the audit, and may raise."""
    refuse_drawing(plan)
    plan.method.require_parts()
    if plan.format != "parquet":
        raise SchemaError(f"format = {plan.format!r}: a cluster writes Parquet.")
    with working_folder(plan.folder) as work, _working_on(address) as session:
        source = _open_source(session, plan.remote or plan.source)
        _publish(session, source, plan.schema, plan.method, plan.folder, work,
                 overwrite=overwrite, examine=examine, progress=progress)  # fmt: skip


def publish_frame(
    frame: DataFrame, method: Method, schema: Schema, folder: Path, *, overwrite: bool
) -> AuditReport:
    """Publish a frame of Spark by the cluster of its own session; give what the audit found."""
    method.require_parts()
    refuse_to_replace(folder, overwrite=overwrite)
    audits: list[AuditReport] = []

    def examine(found: AuditReport, intake: Intake) -> None:  # noqa: ARG001
        audits.append(found)
        found.require_kept()

    session = frame.sparkSession
    with working_folder(folder) as work, _borrowing(session), _explaining(session):
        _publish(session, SparkFrame(frame), schema, method, folder, work,
                 overwrite=overwrite, examine=examine, progress=say_nothing)  # fmt: skip
    return audits[0]


def _publish(
    session: SparkSession,
    source: SparkFrame,
    schema: Schema,
    method: Method,
    folder: Path,
    work: Path,
    *,
    overwrite: bool,
    examine: Callable[[AuditReport, Intake], None],
    progress: Progress,
) -> None:
    asked = AskedOfParts(earlier=open_earlier(method.earlier))
    progress("Reading", 0, 0)
    facts = survey(source, schema)
    refuse_earlier(facts, asked.earlier)
    backend = SparkBackend(session, source, facts, work, CAPACITY, EXAMINED, progress)

    def approve(draft: Path) -> None:
        found = audit_on_cluster(
            draft, session, source, facts, work, asked=asked, progress=progress
        )
        examine(found, facts.intake)

    publish_in_parts(
        backend, method, folder, format="parquet", overwrite=overwrite, approve=approve
    )


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
    with working_folder(release) as work, _working_on(address) as session:
        frame = _open_source(session, source)
        progress("Reading", 0, 0)
        facts = survey(frame, schema)
        return audit_on_cluster(
            release.absolute(), session, frame, facts, work, asked=asked, progress=progress
        )
