"""Reaching: who is meant by an address, whether anybody listens there, and has workers."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from threading import Event, Thread
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from discreet.errors import ClusterError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KNOCKING, PATIENCE = 5.0, 120.0
"""Seconds until an address counts as silent, and until a cluster counts as one without workers."""
LOCAL = re.compile(r"local(\[(\*|[1-9]\d*)\])?")
CONNECT_PORT = 15002
Place = tuple[str, int]


def find_places(address: str) -> list[Place]:
    """Give the hosts and ports of an address, of which a local one has none.

    >>> find_places("spark://one:7077,two:7077"), find_places("sc://one/;token=x")
    ([('one', 7077), ('two', 7077)], [('one', 15002)])
    >>> find_places("local[2]")
    []
    """
    if LOCAL.fullmatch(address):
        return []
    scheme, _, rest = address.partition("://")
    default = CONNECT_PORT if scheme == "sc" else None
    try:
        parts = [urlsplit(f"//{part}") for part in rest.split(",")]
        places = [(part.hostname, part.port or default) for part in parts]
    except ValueError:
        places = []
    found = [(host, port) for host, port in places if host and port]
    if scheme not in ("spark", "sc") or not found or len(found) < len(places):
        named = address.partition("/;")[0]  # what follows may be a token
        raise ClusterError(
            f"{named!r} is no address of Spark.",
            hint="Give spark://host:7077, sc://host:15002, or local[*] for this machine.",
        )
    return found


def is_here(places: list[Place]) -> bool:
    """Whether all of an address is this very machine."""
    return all(_is_loopback(host) for host, _ in places)


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def refuse_silence(places: list[Place]) -> None:
    """Refuse an address at which nobody listens, before anything waits for it."""
    problems: list[OSError] = []
    for place in places:
        try:
            socket.create_connection(place, timeout=KNOCKING).close()
        except OSError as error:
            problems.append(error)
        else:
            return
    if problems:
        raise ClusterError(
            f"Nobody listens at {name_places(places)} ({problems[0].strerror or problems[0]}).",
            hint="Check the address, and that the cluster runs and can be reached from here.",
        ) from problems[0]


def await_workers(session: SparkSession, places: list[Place], cancel: Callable[[], object]) -> None:
    """Run the smallest of jobs, and refuse a cluster that has nobody to run it."""
    done, late = Event(), Event()

    def give_up() -> None:
        wait = PATIENCE
        while not done.wait(wait):
            late.set()
            with suppress(*spark_errors()):
                cancel()
            wait = 1.0  # once more: the job may not have been there yet

    Thread(target=give_up, daemon=True).start()
    try:
        session.range(1).collect()
    except spark_errors() as error:
        told = (
            f"nothing within {PATIENCE:.0f} seconds." if late.is_set() else f"no job. {say(error)}"
        )
        raise ClusterError(
            f"The cluster at {name_places(places)} runs {told}",
            hint="It needs workers with free cores and memory, who can reach this machine.",
        ) from error
    finally:
        done.set()


def adjust(session: SparkSession, settings: dict[str, str]) -> None:
    """Set what a session can still be set to, and is not."""
    for name, value in settings.items():
        if session.conf.isModifiable(name) and session.conf.get(name, None) != value:
            session.conf.set(name, value)


def spark_errors() -> tuple[type[Exception], ...]:
    """Give what Spark raises, in this process, from its own or from a server."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError, OSError


def say(error: BaseException) -> str:
    """Give the sentence that an error of Spark begins with, without its codes.

    >>> say(ValueError("[CAST_INVALID] The value 'x' is malformed. Correct it."))
    "The value 'x' is malformed."
    """
    text = str(getattr(error, "java_exception", None) or error).strip() or type(error).__name__
    if told := re.search(r'details = "(.*)"', text):  # of what lies between here and a server
        text = told[1]
    text = re.sub(r"^([\w.$]+: )?(\[[\w.]+\] )?", "", text.splitlines()[0])
    return f"{re.split(r'[.] | SQLSTATE', text)[0].rstrip('.')}."


def name_places(places: list[Place]) -> str:
    """Write hosts and ports, and nothing that was given to log in."""
    return ", ".join(f"{host}:{port}" for host, port in places)
