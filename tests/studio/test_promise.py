"""Promises: what a table allows is said beside each, and what is changed stands in the plan."""

from __future__ import annotations

import pytest

from discreet.steward.plan import Plan
from studios import Studio


def begin(studio: Studio) -> str:
    studio.post("/open/file", name="people.csv")
    page = studio.client.get("/promise").text
    assert "k-anonymity" in page
    return page


def plan_of(studio: Studio) -> Plan:
    return Plan.read(studio.root / "people.plan.toml")


def test_what_the_table_allows_and_what_stays_open_is_said(studio: Studio) -> None:
    page = begin(studio)
    assert "up to 8 for this table" in page  # eight rows
    assert "the most frequent value of illness covers" not in page
    assert "k-anonymity lets everyone learn it" in page
    assert "a guess of 1 in 4" in page


def test_a_promise_is_changed_added_and_removed_in_the_plan(studio: Studio) -> None:
    page = begin(studio)
    answer = studio.post("/promise/set", number=0, seen=studio.seen(page), **{"given.k": "2"})
    assert "at least 1 others" in answer.text
    assert plan_of(studio).method.principle.parts[0].parameters() == {"k": 2}
    title = "t-closeness"
    answer = studio.post("/promise/add", title=title, seen=studio.seen(answer.text))
    assert [part.title for part in plan_of(studio).method.principle.parts][-1] == title
    count = len(plan_of(studio).method.principle.parts)
    studio.post("/promise/remove", number=count - 1, seen=studio.seen(answer.text))
    assert title not in str(plan_of(studio).method.principle)


def test_what_cannot_be_kept_is_said_at_once(studio: Studio) -> None:
    page = begin(studio)
    answer = studio.post("/promise/set", number=0, seen=studio.seen(page), **{"given.k": "9"})
    assert "This table cannot keep it: the table has 8 rows: k ≤ 8." in answer.text


def test_nonsense_is_refused_and_changes_nothing(studio: Studio) -> None:
    page = begin(studio)
    before = (studio.root / "people.plan.toml").read_bytes()
    seen = studio.seen(page)
    for given in ("many", "-1", "1/0"):
        answer = studio.post("/promise/set", number=0, seen=seen, **{"given.k": given})
        assert answer.status_code == 422, given
    assert studio.post("/promise/set", number=77, seen=seen).status_code == 422
    assert studio.post("/promise/add", title="trust-me", seen=seen).status_code == 422
    assert (studio.root / "people.plan.toml").read_bytes() == before


def test_the_last_promise_stays(studio: Studio) -> None:
    seen = studio.seen(begin(studio))
    while len(plan_of(studio).method.principle.parts) > 1:
        seen = studio.seen(studio.post("/promise/remove", number=0, seen=seen).text)
    answer = studio.post("/promise/remove", number=0, seen=seen)
    assert answer.status_code == 422
    assert "must promise something" in answer.text


@pytest.mark.parametrize("number", ["", "x", "-1", "9" * 5000])
def test_what_is_no_promise_of_the_plan_is_refused(studio: Studio, number: str) -> None:
    seen = studio.seen(begin(studio))
    for step in ("set", "remove"):
        answer = studio.post(f"/promise/{step}", number=number, seen=seen)
        assert answer.status_code == 422 and "no such promise" in answer.text
    assert studio.post("/promise/add", seen=seen).status_code == 422


def test_why_nearness_cannot_be_promised_is_said(studio: Studio) -> None:
    (studio.root / "pay.csv").write_text("age,pay\n" + "3,100\n4,200\n5,\n" * 3, "utf-8")
    (studio.root / "pay.plan.toml").write_text(
        '[source]\nfile = "pay.csv"\n[columns.age]\nrole = "quasi-identifier"\ntype = "integer"\n'
        '[columns.pay]\nrole = "sensitive"\ntype = "integer"\nmissing = "value"\n'
        '[method]\nname = "generalization"\n[[method.principles]]\nname = "frequency-diversity"\n'
        "l = 2\n",
        "utf-8",
    )
    studio.post("/open/file", name="pay.plan.toml")
    page = studio.client.get("/promise").text
    assert "has missing values; nearness is about numbers" in page
    assert "pay is “100”" in page or "pay is “200”" in page
