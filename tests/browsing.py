"""Debian's Chromium on a studio that runs as a process of its own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from commands import COMMAND, WIDE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE = 120_000
"""Milliseconds; a machine may have other things to do."""


def find_chromium() -> str:
    """Give the browser of the system; where there is none, say so and skip."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        said = "Chromium is not installed: apt-get install chromium, then the studio is tried in it"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(said)
    return found


def go(page: Page, step: str) -> None:
    """Go to a step of the journey, and wait until its scripts are there: they take the clicks."""
    with page.expect_navigation(wait_until="load"):
        page.get_by_role("link", name=step).click()


class RunningStudio:
    """A studio for a folder, and pages that look at it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process = subprocess.Popen(
            [*COMMAND, "studio", str(folder), "--no-browser"],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **WIDE, "PYTHONUNBUFFERED": "1"},
        )
        assert self._process.stdout is not None
        said = re.search(r"http://\S+", self._process.stdout.readline())
        assert said is not None
        self.address = said[0]
        self.problems: list[str] = []

    def open(self, browser: Browser, width: int = 1280) -> Page:
        """Open the first address in a browser that was not there before."""
        page = browser.new_context(viewport={"width": width, "height": 900}).new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda m: self.problems.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("dialog", lambda dialog: self.problems.append(f"dialog: {dialog.message}"))
        page.goto(self.address)
        return page

    def stop(self, by: signal.Signals = signal.SIGINT) -> int:
        """End it as Ctrl-C does, or in another way."""
        self._process.send_signal(by)
        return self._process.wait(60)
