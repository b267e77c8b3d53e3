"""Long work: watched, stopped, struck by lightning, and gone on with."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from discreet.datasets import census_frame
from discreet.steward.choosing.comparison import count_kept
from discreet.steward.plan import Plan
from discreet.studio.jobs import Job
from studios import Studio

PATIENCE = 240
"""Seconds; a machine may have other things to do."""
COMPARED = """
[[compare]]
name = "generalization"
principles = [{ name = "k-anonymity", k = "2..4" }]

[[compare]]
name = "anatomy"
principles = [{ name = "frequency-diversity", l = 2 }]
"""


def wait_for(what: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < until
        time.sleep(0.02)


def begin(studio: Studio) -> Path:
    census_frame(400).write_csv(studio.root / "census.csv")
    studio.post("/open/file", name="census.csv")
    plan = studio.root / "census.plan.toml"
    plan.write_text(plan.read_text("utf-8") + COMPARED, "utf-8")
    return plan


def run(studio: Studio, path: str, **values: object) -> Job:
    answer = studio.post(path, **values)
    assert answer.status_code == 200, answer.text
    job = list(studio.visit().jobs.values())[-1]
    assert f"/jobs/{job.name}/events" in answer.text
    return job


def test_a_preview_leaves_nothing_and_a_publication_is_the_command_lines(studio: Studio) -> None:
    begin(studio)
    job = run(studio, "/publish/preview", ledger="")
    events = studio.client.get(f"/jobs/{job.name}/events").text  # until it is over
    assert "event: progress" in events and events.rstrip().endswith("data:")
    wait_for(lambda: job.is_over)
    assert job.state == "done", job.error
    page = studio.client.get(f"/publish/found/{job.name}").text
    assert "the promise would hold for all 400 people" in page
    assert not (studio.root / "release").exists()
    job = run(studio, "/publish/write", ledger="")
    wait_for(lambda: job.is_over)
    assert "verified from disk" in studio.client.get(f"/publish/found/{job.name}").text
    assert (studio.root / "release" / "datapackage.json").exists()
    job = run(studio, "/publish/write", ledger="")
    wait_for(lambda: job.is_over)
    assert job.state == "refused"
    assert "holds a release already" in studio.client.get(f"/publish/found/{job.name}").text


def test_a_comparison_whose_worker_is_killed_goes_on_where_it_was(studio: Studio) -> None:
    plan = begin(studio)
    job = run(studio, "/choose/run", questions="40")
    trials = studio.root / "census.comparison" / "trials.jsonl"
    wait_for(lambda: job.is_over or (job.done >= 1 and trials.exists()))
    assert job.worker is not None and job.worker.pid is not None
    os.kill(job.worker.pid, signal.SIGKILL)
    wait_for(lambda: job.is_over)
    assert job.state == "failed"
    page = studio.client.get(f"/choose/found/{job.name}").text
    assert "has ended" in page and "Go on" in page
    kept = trials.read_bytes()
    assert studio.client.get("/choose").status_code == 200  # the studio lives
    again = run(studio, "/choose/run", questions="40")
    wait_for(lambda: again.is_over)
    assert again.state == "done", again.error
    assert trials.read_bytes().startswith(kept)
    page = studio.client.get(f"/choose/found/{again.name}").text
    assert page.count("Take it: trial") == 4
    before = plan.read_bytes()
    shown = run(studio, "/choose/trial", job=again.name, number="4")
    wait_for(lambda: shown.is_over)
    page = studio.client.get(shown.then).text
    assert "Trial 4: anatomy" in page and "would hold for all 400 people" in page
    assert plan.read_bytes() == before and not (studio.root / "release").exists()
    assert studio.post("/choose/trial", job=again.name, number="5").status_code == 422
    seen = studio.seen(studio.client.get("/choose").text)
    taken = studio.post("/choose/take", job=again.name, number="4", seen=seen)
    assert taken.headers["hx-redirect"] == "/publish"
    assert Plan.read(plan).method.title == "anatomy"


def test_a_job_is_stopped_at_once_and_leaves_nothing_running(studio: Studio) -> None:
    begin(studio)
    job = run(studio, "/choose/run", questions="40")
    wait_for(lambda: job.worker is not None)
    answer = studio.post(f"/jobs/{job.name}/stop")
    assert answer.status_code == 200
    assert job.state == "stopped"
    wait_for(lambda: job.worker is not None and not job.worker.is_alive)
    assert "What was finished is kept" in studio.client.get(f"/choose/found/{job.name}").text


TOLD_APART = """age,zip,ill
0,3,b
10,4,c
20,1,b
10,4,a
20,4,a
10,1,a
10,0,a
0,0,c
"""
PLAN = """[source]
file = "told.csv"
[columns.age]
role = "quasi-identifier"
type = "integer"
[columns.zip]
role = "other"
type = "integer"
[columns.ill]
role = "sensitive"
[method]
name = "generalization"
[[method.principles]]
name = "distinct-diversity"
l = 2
"""


def test_a_ledger_says_no_and_what_it_proposes_passes(studio: Studio) -> None:
    """Zip codes part people otherwise than ages do."""
    (studio.root / "told.csv").write_text(TOLD_APART)
    plan = studio.root / "told.plan.toml"
    plan.write_text(PLAN)
    studio.post("/open/file", name="told.plan.toml")
    assert studio.post("/publish/ledger", name="book", source="people").status_code == 204
    job = run(studio, "/publish/write", ledger="book")
    wait_for(lambda: job.is_over)
    assert job.state == "done" and job.found["entry"] == "0001", job.error
    plan.write_text(PLAN.replace('"other"', '"quasi-identifier"'))
    job = run(studio, "/publish/preview", ledger="book")
    wait_for(lambda: job.is_over)
    page = studio.client.get("/publish").text
    assert "It would not go together with 1 earlier release." in page
    proposals = job.found["ledger"]["proposals"]
    number = next(i for i, one in enumerate(proposals) if one["without"] == ["zip"])
    assert "Leave out zip: generalized that far, the release would pass." in page
    answer = studio.post("/publish/adopt", job=job.name, number=number, seen=studio.seen(page))
    assert answer.headers["hx-redirect"] == "/publish"
    assert Plan.read(plan).schema["zip"].role == "other"
    job = run(studio, "/publish/preview", ledger="book")
    wait_for(lambda: job.is_over)
    assert job.found["ledger"]["passes"] is True, job.error


def test_a_step_does_one_thing_at_a_time(studio: Studio) -> None:
    begin(studio)
    visit = studio.visit()
    job = Job("Trying", "choose", "/open")
    visit.jobs[job.name] = job
    answer = studio.post("/choose/run", questions="40")
    assert answer.status_code == 422 and "Trying is still going on" in answer.text
    assert studio.client.get(f"/choose/found/{job.name}").status_code == 422  # it is not over
    job.state = "stopped"
    assert "Go on" in studio.client.get(f"/choose/found/{job.name}").text
    for step in ("publish", "audit", "history"):
        path = "told" if step == "history" else "found"
        assert studio.client.get(f"/{step}/{path}/{job.name}").status_code == 422
    assert studio.post("/publish/adopt").status_code == 422


@pytest.mark.parametrize("questions", ["0", "1e3", "٣", "9" * 5000])
def test_questions_are_a_whole_number(studio: Studio, questions: str) -> None:
    begin(studio)
    answer = studio.post("/choose/run", questions=questions)
    assert answer.status_code == 422 and "give a whole number" in answer.text


def test_a_damaged_ledger_does_not_stand_in_the_way(studio: Studio) -> None:
    begin(studio)
    (studio.root / "book").mkdir()
    (studio.root / "book" / "ledger.sqlite").write_bytes(b"no ledger")
    assert studio.client.get("/publish").status_code == 200


def test_finished_trials_are_counted_and_nothing_else_that_is_kept(tmp_path: Path) -> None:
    lines = ['{"key": "a", "value": [0.3, 0.1]}', '{"key": "b", "value": {"method": "anatomy"}}']
    (tmp_path / "trials.jsonl").write_text("\n".join([*lines, '{"key": "c"']), "utf-8")
    assert count_kept(tmp_path) == 1
    assert count_kept(tmp_path / "nowhere") == 0
