"""Cluster: a session of Spark, opened at an address, and nothing of it left behind.

``spark://host:7077`` is a standalone master, ``sc://host:15002`` a server of Spark Connect, and
``local[4]`` or ``local[*]`` are so many cores of this machine.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from discreet.cluster.reaching import find_places, refuse_silence
from discreet.errors import ClusterError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    "spark.app.name": "discreet",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.python.worker.reuse": "true",
}
"""What every session is opened with, unless the caller says otherwise."""
TALKATIVE = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""What writes every refused statement to the screen, with the stack of the server."""


def is_cluster(address: str) -> bool:
    """Whether an address is meant for Spark.

    >>> [is_cluster(text) for text in ("spark://host:7077", "local[2]", "postgresql://host/db")]
    [True, True, False]
    """
    return address == "local" or address.startswith(("spark://", "sc://", "local["))


@contextmanager
def open_session(address: str, **conf: str) -> Iterator[SparkSession]:
    """Open a session, with settings by their names in Spark; stop all that was started for it.

    Where this process runs Spark at that address already, as a notebook does, its cluster is used
    and goes on: the session has settings and views of its own.
    """
    places = find_places(address)
    try:
        import pyspark.sql  # noqa: F401
    except ImportError as error:
        raise ClusterError(
            "Spark needs the package pyspark.", hint="Install discreet[spark]."
        ) from error
    refuse_silence(places)
    with _hush(), _open(address, {**SETTINGS, **conf}) as session:
        yield session


def _open(address: str, settings: dict[str, str]) -> AbstractContextManager[SparkSession]:
    if address.startswith("sc://"):
        from discreet.cluster.remote import open_remote

        return open_remote(address, settings)
    from discreet.cluster.driver import open_driver

    return open_driver(address, settings)


@contextmanager
def _hush() -> Iterator[None]:
    """Keep off the screen what Spark says in this process: errors say it in a line."""
    from pyspark.logger import PySparkLogger

    # by its own class: a plain logger of that name would fail it ever after
    loggers = [logging.getLogger(), *(PySparkLogger.getLogger(name) for name in TALKATIVE)]
    # of pandas wherever Arrow is used, of settings, of servers that are asked twice
    warnings.filterwarnings("ignore", module=r"pyspark\.")
    added = warnings.filters[0]
    for logger in loggers:
        logger.addFilter(_is_ours)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(_is_ours)
        with suppress(ValueError):
            warnings.filters.remove(added)  # type: ignore[attr-defined]


def _is_ours(record: logging.LogRecord) -> bool:
    return record.name not in TALKATIVE and "py4j" not in Path(record.pathname).parts
