"""The whole journey in a real browser: on Adult, on a messy table, and on one that means harm."""

from __future__ import annotations

import pytest

from browsing import PATIENCE, RunningStudio, go
from discreet.datasets import adult_frame
from discreet.steward.plan import Plan

sync_api = pytest.importorskip("playwright.sync_api")
expect = sync_api.expect
expect.set_options(timeout=PATIENCE)

MESSY = """Pers-Nr.;Geburtstag;PLZ;Größe (cm);Gehalt;Diagnose
A-001;25.03.1970;01067;178,5;1.234,50 €;Grippe
A-002;01.12.1981;01069;162,0;2.034,00 €;Grippe
A-003;13.07.1975;04103;181,2;3.100,10 €;Asthma
A-004;30.01.1969;04105;169,9;1.999,99 €;Gicht
A-005;22.05.1990;01067;175,0;2.750,00 €;
A-006;05.08.1984;04103;190,4;k. A.;Asthma
"""
COMPARED = """
[[compare]]
name = "anatomy"
principles = [{ name = "frequency-diversity", l = 2, on = "occupation" }]

[[compare]]
name = "generalization"
principles = [{ name = "k-anonymity", k = "3..4" }]
"""


def number(text: str | None) -> int:
    assert text is not None
    return int(text.replace(",", ""))


def see_a_trial(page) -> None:  # type: ignore[no-untyped-def]
    """A click on a point of a chart shows the release that it stands for."""
    page.locator(".chart svg path[aria-label^='1: anatomy']").first.click()
    expect(page.locator("#trial h2", has_text="Trial 1: anatomy")).to_be_visible()
    expect(page.locator("#trial").get_by_text("would hold for all 1,500 people")).to_be_visible()


def test_the_journey_of_adult(running: RunningStudio, browser) -> None:  # type: ignore[no-untyped-def]
    kept = ["age", "education", "race", "sex", "occupation"]
    frame = adult_frame().select(kept).drop_nulls().head(1500)
    frame.write_csv(running.folder / "adult.csv")
    page = running.open(browser)
    page.get_by_role("button", name="adult.csv").press("Enter")

    alone = page.locator("#alone")
    expect(alone).to_be_visible()
    many = number(alone.text_content())
    assert many == frame.select(kept).is_unique().sum()  # all five are proposed to be known
    page.get_by_label("Role of occupation").select_option("sensitive")
    expect(alone).not_to_have_text(f"{many:,}")
    assert number(alone.text_content()) == frame.select(kept[:4]).is_unique().sum()
    page.get_by_label("Choose race", exact=True).check()
    page.get_by_label("Choose education", exact=True).check()
    page.locator(".bar button[value=other]").click()
    expect(page.locator("[data-chosen-count]")).to_have_text("0")
    assert number(alone.text_content()) == frame.select("age", "sex").is_unique().sum()

    go(page, "Hierarchies")
    page.locator("#widths").fill("7, 10")
    expect(page.get_by_text("do not nest")).to_be_visible()
    page.locator("#widths").fill("5, 10")
    expect(page.get_by_text("Not kept yet")).to_be_visible()
    page.get_by_role("button", name="Keep").click()
    expect(page.get_by_text("intervals of 5, 10")).to_be_visible()

    go(page, "Promise")
    page.locator("input[name='given.k']").fill("4")
    page.locator("input[name='given.k']").press("Tab")
    expect(page.get_by_text("at least 3 others")).to_be_visible()
    page.get_by_label("Principle").select_option("frequency-diversity")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_text("No sensitive value of a person can be told")).to_be_visible()

    plan = running.folder / "adult.plan.toml"
    plan.write_text(plan.read_text("utf-8") + COMPARED, "utf-8")
    expect(page.get_by_text("was changed on disk")).to_be_visible()
    go(page, "Choose")
    page.get_by_label("Questions").fill("40")
    page.get_by_role("button", name="Compare 3 methods").click()
    expect(page.locator("#trials tbody tr")).to_have_count(3)
    expect(page.locator(".chart svg").first).to_be_visible()
    see_a_trial(page)
    page.get_by_label("Show only").fill("generalization")
    expect(page.locator("#trials tbody tr:visible")).to_have_count(2)
    page.get_by_role("button", name="Take it: trial 3, generalization").click()

    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_text("would hold for all 1,500 people")).to_be_visible()
    page.get_by_role("button", name="Publish", exact=True).click()
    expect(page.get_by_text("verified from disk")).to_be_visible()
    assert (running.folder / "release" / "datapackage.json").exists()
    assert str(Plan.read(plan).method.principle) == "k-anonymity (k = 4)"


def test_a_messy_table_on_a_small_screen(running: RunningStudio, browser) -> None:  # type: ignore[no-untyped-def]
    page = running.open(browser, width=390)
    expect(page.get_by_text("No table lies in this folder yet")).to_be_visible()
    file = {"name": "büro.csv", "mimeType": "text/csv", "buffer": MESSY.encode("cp1252")}
    page.locator("#pick").set_input_files(file)
    expect(page.locator("#alone")).to_be_visible()
    expect(page.get_by_label("Choose Größe (cm)")).to_be_visible()
    assert page.get_by_label("Role of Diagnose").input_value() == "sensitive"
    page.get_by_role("button", name="Keep both in").click()
    expect(page.get_by_text("This table was dropped")).to_have_count(0)
    assert Plan.read(running.folder / "büro.plan.toml").schema["PLZ"].type == "category"
    for step in ("Hierarchies", "Promise", "Choose", "Publish", "Open"):
        go(page, step)
        expect(page.locator("nav .here")).to_contain_text(step)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, step


def test_what_means_harm_is_shown_as_text(running: RunningStudio, browser) -> None:  # type: ignore[no-untyped-def]
    evil = "<img src=x onerror=alert(1)>"
    rows = "".join(f'{20 + i % 7},"{evil}{i % 3}"\n' for i in range(40))
    (running.folder / "evil.csv").write_text(f"age,<script>alert(2)</script>\n{rows}", "utf-8")
    page = running.open(browser)
    page.get_by_role("button", name="evil.csv").click()
    expect(page.locator("#alone")).to_be_visible()
    expect(page.locator("td", has_text="<img src=x").first).to_be_visible()
    expect(page.locator("th label", has_text="<script>alert(2)</script>")).to_be_visible()
    other = browser.new_context().new_page()
    assert other.goto(running.address.split("?")[0] + "open").status == 403
    other.close()
