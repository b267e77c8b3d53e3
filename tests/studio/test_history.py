"""The history of a ledger in the studio: the chapters that the ledger tells."""

from __future__ import annotations

import html
import re
import time
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from oracles.versions import read_version
from studios import Studio

NASTY = "<script>alert(1)</script>\"'"


@pytest.fixture
def ledger(studio: Studio) -> dc.Ledger:
    """Two releases, between which two people joined; the source has a hostile name."""
    made = dc.Ledger.init(studio.root / "book", NASTY)
    first = pl.DataFrame({"pid": ["a", "b", "c", "d"], "age": [20, 21, 40, 41],
                          "town": ["Bonn"] * 4, "pay": [10, 20, 10, 20]})  # fmt: skip
    two = pl.DataFrame({"pid": ["e", "f"], "age": [70, 71], "town": ["Bonn"] * 2, "pay": [10, 20]})
    method = dc.Generalization(dc.FrequencyDiversity(2))
    for name, frame in (("first", first), ("later", pl.concat([first, two]))):
        data = read_version(frame)
        made.publish(dc.publish(data, method), data, studio.root / name)
    return made


def tell(studio: Studio, name: str) -> str:
    assert studio.post("/history/tell", ledger=name).status_code == 200
    job = studio.visit().latest_job("history")
    assert job is not None
    while not job.is_over:
        time.sleep(0.05)
    return studio.client.get(f"/history/told/{job.name}", headers=studio.proof()).text


def test_a_history_is_what_the_ledger_tells(studio: Studio, ledger: dc.Ledger) -> None:
    assert "&lt;script&gt;alert(1)" in studio.client.get("/history").text
    page = tell(studio, "book")
    said = html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", page)))
    first, later = ledger.tell()
    assert f"+{later.joined} joined" in said and f"−{later.left} left" in said
    assert later.worst is not None and f"{float(later.worst):.0%}".replace("%", " %") in said
    for entry in ledger.entries:
        assert f"Release {entry.name}" in said and entry.promise in said
        assert all(column["name"] in said for column in entry.columns)
    assert "Put into first." in said and str(studio.root) not in said
    assert first.people == 4 and "4 people" in said and "6 people" in said
    assert "<script>alert" not in page and " style=" not in page

    job = studio.visit().latest_job("history")
    assert job is not None
    whole = studio.client.get(f"/history/told/{job.name}/page")
    assert whole.headers["content-disposition"].startswith("attachment")
    assert "What all releases so far leave possible" in whole.text
    assert "<script>alert" not in whole.text


def test_bars_are_as_long_as_beliefs_are_large(studio: Studio, ledger: dc.Ledger) -> None:
    """Of a third, too: a fraction is no length."""
    from dataclasses import replace
    from fractions import Fraction

    from discreet.steward.ledger.chronicle import render_chronicle

    third = [replace(chapter, worst=Fraction(1, 3)) for chapter in ledger.tell()]
    widths = re.findall(r' width="([^"]*)"', render_chronicle("people", third))
    assert widths and all(0 <= float(width) <= 1000 for width in widths)
    assert any(333 < float(width) < 334 for width in widths)


def test_what_is_no_ledger_is_refused(studio: Studio, tmp_path: Path) -> None:
    assert "No ledger lies in this folder yet" in studio.client.get("/history").text
    assert "there is no ledger" in tell(studio, "people.csv")
    assert studio.post("/history/tell", ledger="../elsewhere").status_code == 422


def test_an_empty_ledger_says_so(studio: Studio) -> None:
    dc.Ledger.init(studio.root / "book", "people")
    assert "Nothing was published under this ledger so far." in tell(studio, "book")
