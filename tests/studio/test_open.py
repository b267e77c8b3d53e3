"""Opening a table: a plan is drafted and kept, roles change in it, and figures are the table's."""

from __future__ import annotations

import os
import re
import signal
import time

import pytest

import discreet as dc
from discreet.steward.plan import Plan
from studios import Studio


def alone(page: str) -> int:
    found = re.search(r'id="alone">([\d,]+)<', page)
    assert found is not None
    return int(found[1].replace(",", ""))


def test_a_table_gets_the_plan_that_inspect_drafts(studio: Studio) -> None:
    from discreet.steward.inspection import inspect_table

    assert studio.post("/open/file", name="people.csv").headers["hx-redirect"] == "/open"
    drafted = inspect_table(studio.root / "people.csv", studio.root).plan
    assert (studio.root / "people.plan.toml").read_text("utf-8") == drafted
    page = studio.client.get("/open").text
    assert "people.csv" in page and "Köln" in page


def test_roles_change_in_the_plan_and_the_count_with_them(studio: Studio) -> None:
    studio.post("/open/file", name="people.csv")
    page = studio.client.get("/open").text
    plan = studio.root / "people.plan.toml"
    comments = [line for line in plan.read_text("utf-8").splitlines() if line.startswith("#")]
    answer = studio.post(
        "/open/roles", column=["sex", "town"], role="other", seen=studio.seen(page)
    )
    assert answer.status_code == 200
    schema = Plan.read(plan).schema
    assert {schema[name].role for name in ("sex", "town")} == {"other"}
    assert alone(answer.text) == dc.read(studio.root / "people.csv", plan).count_unique()
    assert alone(answer.text) < alone(page)
    after = [line for line in plan.read_text("utf-8").splitlines() if line.startswith("#")]
    assert after == comments


def test_a_column_that_the_plan_does_not_name_can_be_added(studio: Studio) -> None:
    studio.post("/open/file", name="people.csv")
    plan = studio.root / "people.plan.toml"
    text = plan.read_text("utf-8")
    start = text.index('[columns."town"]')
    plan.write_text(text[:start] + text[text.index('[columns."illness"]') :], "utf-8")
    page = studio.client.get("/open").text
    assert "not in the plan" in page
    seen = studio.seen(page)
    answer = studio.post("/open/roles", column="town", role="quasi-identifier", seen=seen)
    assert answer.status_code == 200
    assert "town" in Plan.read(plan).schema.quasi_identifiers


def test_a_plan_that_changed_on_disk_is_noticed_and_not_overwritten(studio: Studio) -> None:
    studio.post("/open/file", name="people.csv")
    seen = studio.seen(studio.client.get("/open").text)
    assert studio.client.get(f"/plan/state?seen={seen}").status_code == 204
    plan = studio.root / "people.plan.toml"
    changed = plan.read_text("utf-8") + "# mine\n"
    plan.write_text(changed, "utf-8")
    assert "was changed on disk" in studio.client.get(f"/plan/state?seen={seen}").text
    answer = studio.post("/open/roles", column="town", role="other", seen=seen)
    assert answer.status_code == 422
    assert "The plan was changed on disk since this page was shown." in answer.text
    assert plan.read_text("utf-8") == changed


def test_a_plan_is_edited_as_text_and_refused_in_the_same_words(studio: Studio) -> None:
    studio.post("/open/file", name="people.csv")
    seen = studio.seen(studio.client.get("/plan").text)
    plan = studio.root / "people.plan.toml"
    before = plan.read_text("utf-8")
    bad = before.replace('type = "integer"', 'type = "number"')
    answer = studio.post("/plan", text=bad, seen=seen)
    assert answer.status_code == 422
    assert "people.plan.toml: not a plan:" in answer.text
    assert plan.read_text("utf-8") == before
    good = before.replace("k = 4", "k = 2")
    assert studio.post("/plan", text=good, seen=seen).status_code == 200
    assert plan.read_text("utf-8") == good


def test_what_the_command_line_refuses_is_refused_in_the_same_words(studio: Studio) -> None:
    (studio.root / "ragged.csv").write_text("a,b\n1,2\n1,2,3\n")
    answer = studio.post("/open/file", name="ragged.csv")
    assert answer.status_code == 422
    try:
        dc.read(studio.root / "ragged.csv")
    except dc.DiscreetError as error:
        assert error.message.split("\n")[0] in answer.text.replace("&#39;", "'")
    assert 'role="alert"' in answer.text


def test_a_dropped_table_is_kept_only_if_asked(studio: Studio) -> None:
    content = b"age,illness\n1,a\n2,b\n2,b\n"
    studio.client.put("/open/dropped/mine.csv", content=content, headers=studio.proof())
    assert not (studio.root / "mine.csv").exists()
    assert "removed when the studio ends" in studio.client.get("/open").text
    studio.post("/open/keep")
    assert (studio.root / "mine.csv").read_bytes() == content
    assert Plan.read(studio.root / "mine.plan.toml").source == studio.root / "mine.csv"
    assert "removed when the studio ends" not in studio.client.get("/open").text


def test_keeping_overwrites_nothing(studio: Studio) -> None:
    before = (studio.root / "people.csv").read_bytes()
    content = b"age,illness\n1,a\n2,b\n2,b\n"
    studio.client.put("/open/dropped/people.csv", content=content, headers=studio.proof())
    answer = studio.post("/open/keep")
    assert answer.status_code == 422 and "exists already" in answer.text
    assert (studio.root / "people.csv").read_bytes() == before
    assert not (studio.root / "people.plan.toml").exists()


def test_an_empty_folder_says_what_to_do(studio: Studio) -> None:
    (studio.root / "people.csv").unlink()
    assert "Drop one above" in studio.client.get("/open/files").text


def test_a_desk_that_dies_is_replaced(studio: Studio) -> None:
    studio.post("/open/file", name="people.csv")
    worker = studio.visit().desk.worker
    assert worker.pid is not None
    os.kill(worker.pid, signal.SIGKILL)
    while worker.is_alive:
        time.sleep(0.01)
    assert "people.csv" in studio.client.get("/open").text


def test_whose_rows_a_table_has_is_asked_and_settled_in_the_plan(studio: Studio) -> None:
    (studio.root / "visits.csv").write_text(
        "who,age,ill\na,30,x\na,30,y\nb,31,x\nc,31,z\n", "utf-8"
    )
    studio.post("/open/file", name="visits.csv")
    plan = studio.root / "visits.plan.toml"
    page = studio.client.get("/open").text
    asked = studio.post("/open/roles", column="who", role="identifier", seen=studio.seen(page)).text
    assert "Whose rows are these?" in asked and "3 values in 4 rows" in asked
    refused = studio.post("/open/people", person="nobody", seen=studio.seen(asked))
    assert refused.status_code == 422
    told = studio.post("/open/people", person="who", seen=studio.seen(asked)).text
    assert Plan.read(plan).schema.people.person == "who"
    assert "of 3 people" in told and "Whose rows are these?" not in told
    told = studio.post("/open/people", person="", seen=studio.seen(told)).text
    people = Plan.read(plan).schema.people
    assert people.person is None and people.rows_are_people
    assert "of 4 rows" in told and "Whose rows are these?" not in told


def test_what_is_no_file_of_the_folder_is_not_listed(studio: Studio, tmp_path_factory) -> None:  # type: ignore[no-untyped-def]
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "secret.csv"
    elsewhere.write_text("age\n1\n", "utf-8")
    (studio.root / "out.csv").symlink_to(elsewhere)
    (studio.root / "nowhere.csv").symlink_to(studio.root / "nothing")
    os.mkfifo(studio.root / "pipe.csv")
    listed = studio.client.get("/open/files")
    assert listed.status_code == 200 and "people.csv" in listed.text
    assert not any(name in listed.text for name in ("out.csv", "nowhere.csv", "pipe.csv"))


@pytest.mark.parametrize(("content", "why"), [(None, "cannot be read"), (b"\xff\xfe", "not TOML")])
def test_a_plan_that_cannot_be_read_any_more_is_said_so(
    studio: Studio, content: bytes | None, why: str
) -> None:
    studio.post("/open/file", name="people.csv")
    plan = studio.root / "people.plan.toml"
    text = plan.read_text("utf-8")
    plan.unlink() if content is None else plan.write_bytes(content)
    for answer in (studio.client.get("/plan"), studio.post("/plan", text=text, seen="unreadable")):
        assert answer.status_code == 422
        assert f"people.plan.toml: {why}" in answer.text
