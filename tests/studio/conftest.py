"""A studio in a folder with a small table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from discreet.studio.workers import Desk
from studios import PEOPLE, Studio


@pytest.fixture(scope="session")
def desk() -> Iterator[Desk]:
    """One process that computes for all tests: to start one takes longer than most of them."""
    made = Desk()
    yield made
    made.close()


@pytest.fixture
def studio(tmp_path: Path, desk: Desk) -> Iterator[Studio]:
    (tmp_path / "people.csv").write_text(PEOPLE, "utf-8")
    made = Studio(tmp_path, desk)
    yield made
    made.visits.close()
