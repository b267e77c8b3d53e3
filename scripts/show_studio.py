"""Take the pictures of docs/start/studio.md: every step of the studio, on Adult, in Chromium.

Usage: python scripts/show_studio.py   (needs Debian's chromium, and the package playwright)
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
from playwright.sync_api import Page, expect, sync_playwright

from discreet import (
    Attribute,
    Generalization,
    KAnonymity,
    Ledger,
    MInvariance,
    PeopleKey,
    Republication,
    Role,
    Schema,
    Type,
    publish,
    read,
)
from discreet.datasets import adult_frame
from discreet.steward.ledger import sign

TARGET = Path(__file__).parents[1] / "docs" / "start" / "studio"
COLUMNS = ["age", "education", "race", "sex", "occupation", "hours-per-week"]
PROGRAM = "from discreet.cli import main; main()"
PATIENCE = 180_000
SIZE = {"width": 1000, "height": 720}
SCHEMA = Schema(
    tuple(
        Attribute(name, Role.SENSITIVE if name == "occupation" else Role.QUASI_IDENTIFIER,
                  Type.INTEGER if name in ("age", "hours-per-week") else Type.CATEGORY)
        for name in COLUMNS
    )
)  # fmt: skip
STAFF = Schema(
    (
        Attribute("staff", Role.IDENTIFIER, Type.CATEGORY),
        Attribute("age", Role.QUASI_IDENTIFIER, Type.INTEGER),
        Attribute("pay", Role.SENSITIVE, Type.INTEGER),
    ),
    people=PeopleKey(person="staff"),
)
COMPARED = """
[[compare]]
name = "generalization"
principles = [{ name = "frequency-diversity", l = { try = [2, 3, 4] } }]

[[compare]]
name = "angelization"
k = 10
principles = [{ name = "frequency-diversity", l = { try = [2, 3, 4] } }]

[[compare]]
name = "slicing"
columns = 3
principles = [{ name = "frequency-diversity", l = { try = [2, 3, 4] } }]
"""


def walk(page: Page, plan: Path, shoot: Any) -> None:
    """Go through all steps, and take a picture of each."""
    page.get_by_role("button", name="adult.csv").wait_for()
    shoot("begin")
    page.get_by_role("button", name="adult.csv").click()
    page.get_by_label("Role of occupation").select_option("sensitive")
    expect(page.get_by_label("Role of occupation")).to_have_class(re.compile("sensitive"))
    shoot("open")
    page.get_by_role("link", name="Hierarchies").click()
    page.get_by_role("button", name="Keep").click()
    expect(page.get_by_text("intervals of 5, 10, 20")).to_be_visible()
    shoot("hierarchies")
    page.get_by_role("link", name="Promise").click()
    page.get_by_label("Principle").select_option("frequency-diversity")
    page.get_by_role("button", name="Add").click()
    page.locator("input[name='given.l']").fill("3")
    page.locator("input[name='given.l']").press("Tab")
    expect(page.get_by_text("with at most 33%")).to_be_visible()
    page.evaluate("window.scrollTo(0, 0)")
    shoot("promise")
    plan.write_text(plan.read_text("utf-8") + COMPARED, "utf-8")
    page.get_by_role("link", name="Choose").click()
    page.get_by_label("Questions").fill("200")
    page.get_by_role("button", name="Compare").click()
    page.locator(".chart svg").first.wait_for()
    page.evaluate("window.scrollTo(0, document.querySelector('.charts').offsetTop - 190)")
    shoot("choose")
    page.get_by_role("link", name="Publish").click()
    page.get_by_role("button", name="Preview").click()
    page.locator(".figures").wait_for()
    page.evaluate("window.scrollTo(0, document.querySelector('#outcome').offsetTop - 70)")
    shoot("publish")


def look_on(page: Page, folder: Path, shoot: Any) -> None:
    """Show the steps of those who get releases, on one of the table and on a ledger."""
    data = read(folder / "adult.csv", SCHEMA)
    publish(data, Generalization(KAnonymity(5))).write(folder / "adult-2026")
    keep_ledger(folder)
    page.get_by_role("link", name="Audit").click()
    page.get_by_label("made from").select_option("adult.csv")
    page.get_by_label("Release").first.select_option("adult-2026")
    page.get_by_label("Write evidence for a signature").check()
    page.get_by_role("button", name="Audit", exact=True).click()
    page.locator(".report").wait_for()
    page.evaluate("window.scrollTo(0, document.querySelector('#audit').offsetTop - 70)")
    shoot("audit")
    page.get_by_role("link", name="Ask").click()
    page.get_by_role("link", name="adult-2026").click()
    page.get_by_label("for each").select_option("age")
    page.get_by_label("in steps of").first.fill("10")
    page.get_by_label("and each").select_option("sex")
    expect(page.locator("#sql")).to_have_value(re.compile("age // 10"))
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator("#answer .chart svg").wait_for()
    page.evaluate("window.scrollTo(0, document.querySelector('#answer').offsetTop - 230)")
    shoot("ask")
    page.get_by_role("link", name="History").click()
    page.get_by_role("button", name="ledger").click()
    page.locator(".timeline").wait_for()
    page.evaluate("window.scrollTo(0, document.querySelector('#history').offsetTop - 70)")
    shoot("history")


def keep_ledger(folder: Path) -> None:
    """Publish a table three times, while people come and go."""
    book = Ledger.init(folder / "ledger", "payroll")
    method = Republication(MInvariance(3))
    for year in range(3):
        staff = range(9 * year, 120 + 14 * year)
        frame = pl.DataFrame(
            {"staff": [f"S{i}" for i in staff], "age": [20 + 7 * i % 45 for i in staff],
             "pay": [1000 * (30 + 13 * i % 6) for i in staff]}
        )  # fmt: skip
        data = read(frame, STAFF)
        prepared = book.prepare(method, data)
        place = folder / f"payroll-{2024 + year}"
        book.publish(publish(data, prepared), data, place, signed=sign(prepared, data))


def main() -> None:
    """Start a studio, walk through it, and leave the pictures."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("Chromium is not installed: apt-get install chromium")
    TARGET.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as started:
        folder = Path(name) / "adult"
        folder.mkdir()
        adult_frame().select(COLUMNS).drop_nulls().head(5000).write_csv(folder / "adult.csv")
        studio = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, "studio", str(folder), "--no-browser"],
            stdout=subprocess.PIPE, text=True,
            env={**os.environ, "COLUMNS": "200", "PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        try:
            assert studio.stdout is not None
            address = re.search(r"http://\S+", studio.stdout.readline())
            assert address is not None
            browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
            page.set_default_timeout(PATIENCE)
            expect.set_options(timeout=PATIENCE)
            page.goto(address[0])
            walk(page, folder / "adult.plan.toml",
                 lambda step: page.screenshot(path=TARGET / f"{step}.png"))  # fmt: skip
            look_on(page, folder, lambda step: page.screenshot(path=TARGET / f"{step}.png"))
            browser.close()
        finally:
            studio.send_signal(signal.SIGINT)
            studio.wait()


if __name__ == "__main__":
    main()
