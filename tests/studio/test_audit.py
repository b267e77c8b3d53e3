"""Auditing in the studio: what the command finds and writes, and nothing else."""

from __future__ import annotations

import html
import json
import re
import time
from pathlib import Path

import pytest

import discreet as dc
from discreet.steward.evidence import check_evidence
from discreet.studio.jobs import Job
from studios import Studio

NASTY = "<script>alert(1)</script>\"'&amp;"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table with a value that is no harm only as text, and its release."""
    folder = tmp_path_factory.mktemp("published")
    towns = ["Ulm", NASTY]
    rows = [f'{20 + i % 12},"{towns[i % 2].replace(chr(34), chr(34) * 2)}",{"abc"[i % 3]}'
            for i in range(60)]  # fmt: skip
    (folder / "patients.csv").write_text("\n".join(["age,town,illness", *rows]), "utf-8")
    schema = dc.Schema(
        (
            dc.Attribute("age", dc.Role.QUASI_IDENTIFIER, dc.Type.INTEGER),
            dc.Attribute("town", dc.Role.QUASI_IDENTIFIER, dc.Type.CATEGORY),
            dc.Attribute("illness", dc.Role.SENSITIVE, dc.Type.CATEGORY),
        )
    )
    data = dc.read(folder / "patients.csv", schema)
    dc.publish(data, dc.Generalization(dc.KAnonymity(5))).write(folder / "release")
    return folder


@pytest.fixture
def reviewing(studio: Studio, published: Path) -> Studio:
    (studio.root / "patients.csv").write_bytes((published / "patients.csv").read_bytes())
    (studio.root / "release").mkdir()
    for path in (published / "release").iterdir():
        (studio.root / "release" / path.name).write_bytes(path.read_bytes())
    return studio


def wait_for(studio: Studio) -> Job:
    job = studio.visit().latest_job("audit")
    assert job is not None
    for _ in range(2400):
        if job.is_over:
            return job
        time.sleep(0.1)
    raise AssertionError(job.stage)


def examine(studio: Studio, **values: object) -> Job:
    answer = studio.post(
        "/audit/examine", **{"release": "release", "microdata": "patients.csv", **values}
    )
    assert answer.status_code == 200, answer.text
    return wait_for(studio)


def text_of(page: str) -> str:
    return html.unescape(re.sub(r"\s+", " ", page))


def test_an_audit_with_evidence_is_shown_handed_over_and_verified(reviewing: Studio) -> None:
    """One journey, since a worker is started for it: findings, evidence, and the check of it."""
    page = reviewing.client.get("/audit").text
    assert "patients.csv" in page and 'value="release"' in page
    job = examine(reviewing, evidence="on", folder="for review", preset="cell-11")
    shown = reviewing.client.get(f"/audit/found/{job.name}", headers=reviewing.proof()).text
    report = dc.audit(
        reviewing.root / "release",
        dc.read(reviewing.root / "patients.csv", dc.load(reviewing.root / "release").schema),
        presets=["cell-11"],
        attacks=True,
    )
    said = text_of(shown)
    assert all(problem in said for problem in report.problems) and not report.kept
    assert f"{report.people:,}</b>people" in shown
    assert "Why: the people who are worst off" in said and "Row 0" not in said
    assert "<script>alert" not in shown and " style=" not in shown
    assert "&lt;script&gt;alert(1)" in shown

    whole = reviewing.client.get(f"/audit/found/{job.name}/page")
    assert whole.headers["content-disposition"].startswith("attachment")
    assert whole.text.startswith("<!doctype html>")
    assert reviewing.let_in().get(f"/audit/found/{job.name}/page").status_code == 422

    seal = json.loads((reviewing.root / "for review" / "evidence.json").read_text("utf-8"))["seal"]
    assert seal in shown
    assert (reviewing.root / "for review.salt").stat().st_mode & 0o077 == 0
    given = reviewing.client.get("/audit/evidence/evidence.json?folder=for review")
    assert given.headers["content-disposition"].startswith("attachment")
    assert given.json()["seal"] == seal
    for name in ("../for review.salt", "for review.salt", "datapackage.json"):
        path = f"/audit/evidence/{name}?folder=release"
        assert reviewing.client.get(path).status_code in (404, 422)

    # the preset is not kept, which evidence says for good
    problems = check_evidence(reviewing.root / "for review", reviewing.root / "release")
    answer = reviewing.post("/audit/verify", evidence="for review", release="release")
    assert all(problem in text_of(answer.text) for problem in problems)
    assert "This is not what was signed off." in answer.text

    again = examine(reviewing, evidence="on", folder="for review")
    assert again.state == "refused"
    refusal = reviewing.client.get(f"/audit/found/{again.name}", headers=reviewing.proof()).text
    assert "evidence.html: exists already." in refusal


def test_evidence_that_is_dropped_tells_a_changed_release(reviewing: Studio) -> None:
    job = examine(reviewing, evidence="on")
    assert job.state == "done" and job.found["evidence"]["folder"] == "release-evidence"
    pack = reviewing.root / "release-evidence"
    files = [("dropped", (name, (pack / name).read_bytes()))
             for name in ("evidence.json", "evidence.html")]  # fmt: skip

    def compare() -> str:
        answer = reviewing.client.post(
            "/audit/verify", data={"release": "release"}, files=files, headers=reviewing.proof()
        )
        assert answer.status_code == 200
        return text_of(answer.text)

    assert "This is the release that was examined" in compare()
    assert job.found["evidence"]["seal"] in compare()
    readme = reviewing.root / "release" / "README.md"
    readme.write_text(readme.read_text("utf-8") + "\nMore.", "utf-8")
    assert "README.md was changed after the audit" in compare()


def drop(studio: Studio, name: str, content: bytes):  # type: ignore[no-untyped-def]
    return studio.client.put(f"/audit/dropped/{name}", content=content, headers=studio.proof())


def test_a_release_that_is_dropped_is_held_against_evidence(reviewing: Studio) -> None:
    examine(reviewing, evidence="on")
    files = sorted((reviewing.root / "release").iterdir())
    names = [f"{path.name}{'' if place else '?first'}" for place, path in enumerate(files)]
    for name, path in zip(names, files, strict=True):
        assert drop(reviewing, name, path.read_bytes()).status_code == 204

    def compare() -> str:
        answer = reviewing.post("/audit/verify", evidence="release-evidence", release="dropped:")
        return text_of(answer.text)

    assert "This is the release that was examined" in compare()
    kept = reviewing.visit().release.folder
    assert kept.stat().st_mode & 0o077 == 0
    drop(reviewing, "README.md", b"another")
    assert "README.md was changed after the audit" in compare()
    drop(reviewing, "README.md?first", b"another")  # another release: the one before is gone
    assert not (kept / "datapackage.json").exists()
    reviewing.visits.close()
    assert not kept.exists()


@pytest.mark.parametrize("name", ["../out", "a/../../out", "..%2f..%2fout", "a%00b", "a//b", "%5c"])
def test_no_file_of_a_dropped_release_lies_elsewhere(reviewing: Studio, name: str) -> None:
    assert drop(reviewing, name, b"x").status_code in (404, 405, 422)
    assert not [path for path in reviewing.visit().release.folder.rglob("*") if path.is_file()]


def test_all_files_of_a_dropped_release_are_counted_together(reviewing: Studio) -> None:
    assert drop(reviewing, "one?first", b"x" * 30_000).status_code == 204
    refused = drop(reviewing, "two", b"x" * 30_000)
    assert refused.status_code == 413 and "more than 50,000 bytes" in refused.text
    assert not (reviewing.visit().release.folder / "two").exists()


def test_one_person_and_everybody_are_told_as_the_command_tells(reviewing: Studio) -> None:
    (reviewing.root / "others.csv").write_text("age,town,illness\n20,Ulm,a\n31,Ulm,b\n", "utf-8")
    job = examine(
        reviewing, explain="7", per_person="on", attacks="on", control="others.csv", person=" "
    )
    assert job.state == "done", job.error
    data = dc.read(reviewing.root / "patients.csv", dc.load(reviewing.root / "release").schema)
    report = dc.audit(reviewing.root / "release", data)
    shown = reviewing.client.get(f"/audit/found/{job.name}", headers=reviewing.proof()).text
    assert " ".join(str(report.explain(7)).split()) in text_of(shown)
    given = reviewing.client.get(f"/audit/found/{job.name}/people")
    assert given.headers["content-disposition"].startswith("attachment")
    assert given.text == report.per_person.write_csv()
    assert reviewing.let_in().get(f"/audit/found/{job.name}/people").status_code == 422
    job = examine(reviewing, control="others.csv")
    assert job.state == "refused" and "A control group is for attacks." in str(job.error)


def test_other_files_are_no_evidence(reviewing: Studio) -> None:
    files = [("dropped", ("<b>.json", b"{}"))]
    answer = reviewing.client.post(
        "/audit/verify", data={"release": "release"}, files=files, headers=reviewing.proof()
    )
    assert answer.status_code == 422
    assert "&lt;b&gt;.json: is no file of evidence." in answer.text


def test_the_open_plan_gives_table_and_promise(reviewing: Studio) -> None:
    reviewing.post("/open/file", name="patients.csv")
    assert "patients.csv (open)" in reviewing.client.get("/audit").text
    plan = reviewing.root / "patients.plan.toml"
    plan.write_text(plan.read_text("utf-8").replace("k = 10", "k = 50"), "utf-8")
    job = examine(reviewing, microdata="plan:", by_plan="on")
    assert job.state == "done" and job.found["source"] == "patients.csv"
    assert not job.found["kept"] and "k-anonymity (k = 50) fails for 60 people" in text_of(
        job.found["findings"]
    )


def test_another_table_is_refused_in_the_words_of_the_command(reviewing: Studio) -> None:
    job = examine(reviewing, microdata="people.csv")
    assert job.state == "refused"
    shown = reviewing.client.get(f"/audit/found/{job.name}", headers=reviewing.proof()).text
    assert "No published group covers anybody in this microdata." in shown


@pytest.mark.parametrize(
    "values",
    [
        {"release": "../elsewhere", "microdata": "patients.csv"},
        {"release": "release", "microdata": "/etc/passwd"},
        {"release": "release", "microdata": "patients.csv", "evidence": "on", "folder": "../out"},
        {"release": "release", "microdata": "patients.csv", "earlier": "../out"},
        {"release": "release", "microdata": "patients.csv", "population": "<b>"},
        {"release": "release", "microdata": "patients.csv", "explain": "٣"},
        {"release": "release", "microdata": "patients.csv", "control": "../out"},
        {"release": "release", "microdata": "patients.csv", "population_file": "/etc/passwd"},
        {"release": "", "microdata": ""},
    ],
)
def test_nothing_outside_is_read_or_written(reviewing: Studio, values: dict[str, str]) -> None:
    assert reviewing.post("/audit/examine", **values).status_code == 422
    assert reviewing.visit().latest_job("audit") is None
