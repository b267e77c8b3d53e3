"""Driver: Spark started in this process, for a standalone master or for this machine alone."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import TimeoutExpired
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any

from discreet.cluster.reaching import (
    adjust,
    await_workers,
    find_places,
    is_here,
    name_places,
    say,
    spark_errors,
)
from discreet.errors import ClusterError

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

HOST = "127.0.0.1"
FAREWELL = 20.0
"""Seconds that Java has to end, before it is ended."""


@contextmanager
def open_driver(address: str, settings: dict[str, str]) -> Iterator[SparkSession]:
    """Join what runs in this process at that address, or start it and stop it again."""
    from pyspark import SparkContext

    running = SparkContext._active_spark_context
    if running is not None:
        yield _join(running, address, settings)
        return
    places = find_places(address)
    gateway = None if SparkContext._gateway else _start_java(address, settings)
    session = None
    try:
        session = _start(address, settings, gateway)
        if places:
            await_workers(session, places, session.sparkContext.cancelAllJobs)
        yield session
    except BaseException as error:
        if gateway is not None and not isinstance(error, Exception):
            gateway.proc.terminate()  # who was interrupted while asking it gets no answers any more
        raise
    finally:
        _stop(session, gateway)


def _join(context: SparkContext, address: str, settings: dict[str, str]) -> SparkSession:
    from pyspark.sql import SparkSession

    master = str(context.master)
    both_local = not find_places(address) and master.startswith("local")
    if master != address and not both_local:
        raise ClusterError(
            f"Spark runs in this process already, at {master}, and can run only once.",
            hint="Give that address, or stop it first.",
        )
    session = SparkSession(context).newSession()
    adjust(session, settings)
    return session


def _configure(address: str, settings: dict[str, str]) -> Any:
    from pyspark import SparkConf

    found = {"spark.master": address, **settings}
    if is_here(find_places(address)):
        found.setdefault("spark.driver.host", HOST)
        found.setdefault("spark.driver.bindAddress", HOST)
        if "PYTHONPATH" in os.environ:
            found.setdefault("spark.executorEnv.PYTHONPATH", os.environ["PYTHONPATH"])
    return SparkConf().setAll(list(found.items()))


def _start_java(address: str, settings: dict[str, str]) -> Any:
    """Start Java with a log of its own, for it writes to the screen whatever it is told."""
    from pyspark.java_gateway import launch_gateway

    home = os.environ.get("JAVA_HOME")
    if not shutil.which("java", path=str(Path(home) / "bin") if home else None):
        place = f"at JAVA_HOME, {home}" if home else "on the PATH"
        raise ClusterError(
            f"Spark needs Java, and there is none {place}.",
            hint="Install Java 17 or later, or set JAVA_HOME to the folder where it is.",
        )
    with TemporaryFile() as log:
        try:
            return launch_gateway(  # type: ignore[no-untyped-call]
                _configure(address, settings), {"stdout": log, "stderr": log}
            )
        except spark_errors() as error:
            log.seek(0)
            lines = log.read().decode(errors="replace").strip().splitlines()
            raise ClusterError(
                f"Spark does not start: {lines[-1] if lines else say(error)}",
                hint="It needs Java 17 or later; java -version says which one is found.",
            ) from error


def _start(address: str, settings: dict[str, str], gateway: Any) -> SparkSession:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    places = find_places(address)
    try:
        with _own_signals():
            context = SparkContext(conf=_configure(address, settings), gateway=gateway)
    except spark_errors() as error:
        raise ClusterError(
            f"Spark does not start at {name_places(places) or address}: {say(error)}",
            hint="Check that a master of the same version of Spark listens there.",
        ) from error
    if is_here(places) and "PYSPARK_PYTHON" not in os.environ:
        context.pythonExec = sys.executable  # it has what this process has; any other may not
    return SparkSession(context)


@contextmanager
def _own_signals() -> Iterator[None]:
    """Keep what this process does when it is interrupted: Spark puts itself in its place."""
    before = signal.getsignal(signal.SIGINT)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, before)


def _stop(session: SparkSession | None, gateway: Any) -> None:
    from pyspark import SparkContext

    with suppress(*spark_errors()), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may be gone already
        if session is not None:
            session.stop()
    if gateway is None:
        return
    with suppress(*spark_errors()):
        gateway.shutdown()
    SparkContext._gateway = SparkContext._jvm = None
    with suppress(OSError):
        gateway.proc.stdin.close()  # it ends when nobody can speak to it
    try:
        gateway.proc.wait(FAREWELL)
    except TimeoutExpired:
        gateway.proc.kill()
        gateway.proc.wait()
