"""Remote: a session on a server of Spark Connect, which needs no Java here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

from discreet.cluster.reaching import (
    adjust,
    await_workers,
    find_places,
    name_places,
    say,
    spark_errors,
)
from discreet.errors import ClusterError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MODE = "SPARK_CONNECT_MODE_ENABLED"
"""What Spark sets in the environment, and would never take back."""


@contextmanager
def open_remote(address: str, settings: dict[str, str]) -> Iterator[SparkSession]:
    """Open a session of its own on a server, and release it there."""
    places, before = find_places(address), os.environ.get(MODE)
    session = None
    try:
        session = _greet(address)
        adjust(session, settings)
        await_workers(session, places, session.interruptAll)
        yield session
    finally:
        if session is not None:
            session.stop()
        if before is None:
            os.environ.pop(MODE, None)


def _greet(address: str) -> SparkSession:
    """Ask a server its version, and do not go on asking for minutes if it gives none."""
    try:
        from pyspark.sql import SparkSession
        from pyspark.sql.connect.client.retries import DefaultPolicy

        session = SparkSession.builder.remote(address).create()
    except ImportError as error:
        raise ClusterError(
            f"Spark Connect needs more packages: {say(error)}", hint="Install discreet[spark]."
        ) from error
    client = cast("Any", session).client
    usual = client.get_retry_policies()
    client.set_retry_policies([DefaultPolicy(max_retries=1)])
    try:
        _ = session.version
    except spark_errors() as error:
        session.stop()
        raise ClusterError(
            f"The server at {name_places(find_places(address))} does not answer as one of "
            f"Spark Connect: {say(error)}",
            hint="Check the port (15002, unless it was set), user and token of the address.",
        ) from error
    client.set_retry_policies(usual)
    return session
