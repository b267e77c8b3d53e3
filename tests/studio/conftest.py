"""A studio in a folder with a small table; and one that runs, with a browser to look at it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from browsing import ARGUMENTS, RunningStudio, find_chromium
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


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    sync_api = pytest.importorskip("playwright.sync_api")
    path = find_chromium()
    with sync_api.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningStudio]:
    made = RunningStudio(tmp_path)
    yield made
    assert made.stop() == 0
    assert not made.problems
