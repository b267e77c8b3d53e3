"""The analyst and the reviewer in a real browser: by keyboard, with harmful values, and small."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as dc
from browsing import PATIENCE, RunningStudio, go

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect
expect.set_options(timeout=PATIENCE)

EVIL = "<img src=x onerror=alert(1)>'\""


@pytest.fixture
def published(running: RunningStudio) -> Path:
    """A table with a harmful value, and a release of it."""
    towns = ["Ulm", "Bonn", EVIL]
    rows = [f'{20 + i % 30},"{towns[i % 3].replace(chr(34), chr(34) * 2)}",{"ab"[i % 2]}'
            for i in range(90)]  # fmt: skip
    table = running.folder / "people.csv"
    table.write_text("\n".join(["age,home town,illness", *rows]), "utf-8")
    schema = dc.Schema(
        (
            dc.Attribute("age", dc.Role.QUASI_IDENTIFIER, dc.Type.INTEGER),
            dc.Attribute("home town", dc.Role.QUASI_IDENTIFIER, dc.Type.CATEGORY),
            dc.Attribute("illness", dc.Role.SENSITIVE, dc.Type.CATEGORY),
        )
    )
    release = dc.publish(dc.read(table, schema), dc.Generalization(dc.KAnonymity(4)))
    return release.write(running.folder / "release")


def test_the_analyst_asks(running: RunningStudio, browser, published: Path) -> None:  # type: ignore[no-untyped-def]
    page = running.open(browser)
    go(page, "Ask")
    go(page, "release")
    editor = page.get_by_label("SQL, as you would ask DuckDB")

    # completion by keyboard: a column that needs quotes, and a value that means harm
    editor.fill("")
    editor.press_sequentially("SELECT COUNT(*) FROM release WHERE home")
    expect(page.locator("#completions li", has_text="home town")).to_be_visible()
    editor.press("Tab")
    editor.press_sequentially(" = '<")
    expect(page.locator("#completions li", has_text="<img src=x")).to_be_visible()
    editor.press("Enter")
    sql = editor.input_value()
    assert (
        sql == f"""SELECT COUNT(*) FROM release WHERE "home town" = '{EVIL.replace("'", "''")}'"""
    )
    editor.press("Control+Enter")
    found = dc.load(published).query(sql)
    sign = "" if found.low == found.high else "≈ "
    expect(page.locator("#estimate")).to_have_text(f"{sign}{found.estimate:,.2f}")

    # the form writes SQL that all can see
    page.get_by_label("for each").select_option("home town")
    expect(editor).to_have_value(
        'SELECT\n  "home town",\n  COUNT(*)\nFROM release\nGROUP BY\n  "home town"\nORDER BY\n'
        '  "home town"'
    )
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.locator("#answer .chart svg")).to_be_visible()
    expect(page.locator("#answer-rows td", has_text="<img src=x")).to_be_visible()
    page.get_by_role("button", name="PostgreSQL").click()
    expect(page.locator("#statement-text")).to_contain_text("SELECT")

    # what is refused leads on
    editor.fill("SELECT agee FROM release")
    editor.press("Control+Enter")
    expect(page.get_by_text("There is no column 'agee'")).to_be_visible()
    page.get_by_role("button", name="Ask this instead").click()
    expect(page.locator("#answer-rows tbody tr").first).to_be_visible()


def test_the_reviewer_audits_signs_and_compares(  # type: ignore[no-untyped-def]
    running: RunningStudio, browser, published: Path
) -> None:
    page = running.open(browser, width=390)
    go(page, "Audit")
    page.get_by_label("Write evidence for a signature").check()
    page.get_by_role("button", name="Audit", exact=True).click()
    expect(page.get_by_role("heading", name="Who is at risk")).to_be_visible()
    with page.expect_download() as handed:
        page.get_by_role("link", name="Evidence: JSON").click()
    folder = running.folder / "release-evidence"
    assert handed.value.path().read_bytes() == (folder / "evidence.json").read_bytes()
    expect(page.locator("#compared [name=evidence]")).to_have_value("release-evidence")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_text("This is the release that was examined")).to_be_visible()

    (published / "README.md").write_text("another", "utf-8")
    page.get_by_label("Drop evidence.json and evidence.html here").set_input_files(
        [folder / "evidence.json", folder / "evidence.html"]
    )
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_text("README.md was changed after the audit")).to_be_visible()
    page.locator("#pick-release").set_input_files(published)
    expect(page.locator("#compared-release")).to_have_value("dropped:")
    page.get_by_label("Drop evidence.json and evidence.html here").set_input_files([])
    page.locator("#verified").evaluate("place => place.replaceChildren()")
    page.get_by_role("button", name="Compare").click()
    expect(page.get_by_text("README.md was changed after the audit")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390

    dc.Ledger.init(running.folder / "book", EVIL)
    go(page, "History")
    page.get_by_role("button", name="book").click()
    expect(page.get_by_text("Nothing was published under this ledger so far.")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
