"""Who walks past hostile files."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from hostile.walking import Walker


@pytest.fixture(scope="session")
def walker() -> Iterator[Walker]:
    """A process that runs commands."""
    if sys.platform != "linux":
        pytest.skip("what a command holds at most, only Linux tells")
    with Walker() as started:
        yield started
