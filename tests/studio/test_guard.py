"""Nobody reads or changes anything who was not let in, whatever a browser is made to send."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from browsing import RunningStudio
from discreet.errors import SchemaError
from discreet.studio.server import name_hosts, run_studio
from discreet.studio.workers import Desk
from studios import HOST, PEOPLE, Studio


def test_without_the_token_nobody_gets_in(studio: Studio) -> None:
    stranger = studio.stranger()
    assert stranger.get("/open").status_code == 403
    answer = stranger.get("/?token=guessed")
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert "people.csv" not in answer.text


def test_the_token_leaves_the_address_and_a_cookie_stays(studio: Studio) -> None:
    answer = studio.stranger().get(f"/?token={studio.visits.token}", follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=strict" in cookie
    assert studio.visits.token not in cookie


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1", "127.0.0.1:9"])
def test_another_name_for_this_machine_is_refused(studio: Studio, host: str) -> None:
    """A site whose name is made to point here (DNS rebinding) asks under its own name."""
    answer = studio.client.get("/open", headers={"host": host})
    assert answer.status_code == 421
    assert "people" not in answer.text


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://" + HOST])
def test_other_sites_may_not_ask(studio: Studio, origin: str) -> None:
    headers = {**studio.proof(), "origin": origin}
    answer = studio.client.post("/open/file", data={"name": "people.csv"}, headers=headers)
    assert answer.status_code == 403
    assert studio.visit().plan is None
    assert not (studio.root / "people.plan.toml").exists()


def test_a_link_from_another_site_is_not_followed(studio: Studio) -> None:
    answer = studio.client.get("/open", headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 403


@pytest.mark.parametrize("proof", [None, "", "guessed"])
def test_nothing_changes_without_the_proof_of_the_page(studio: Studio, proof: str | None) -> None:
    headers = {} if proof is None else {"X-Discreet-Proof": proof}
    answer = studio.client.post("/open/file", data={"name": "people.csv"}, headers=headers)
    assert answer.status_code == 403
    assert studio.visit().plan is None


def test_the_proof_of_another_visit_is_none(studio: Studio) -> None:
    other = studio.let_in()
    answer = studio.client.post(
        "/open/file", data={"name": "people.csv"}, headers=studio.proof(other)
    )
    assert answer.status_code == 403


def test_visits_do_not_see_each_other(studio: Studio) -> None:
    """Neither what is open, nor what was dropped, nor what runs."""
    other = studio.let_in()
    content = b"age,illness\n1,a\n2,b\n"
    put = studio.client.put("/open/dropped/mine.csv", content=content, headers=studio.proof())
    assert put.status_code == 204
    assert "mine.csv" in studio.client.get("/open").text
    assert "mine.csv" not in other.get("/open").text
    taken = other.post("/open/file", data={"name": "dropped:mine.csv"}, headers=studio.proof(other))
    assert taken.status_code == 422
    job = studio.visit().start("open.list_files", studio.root, title="t", step="s", then="/open")
    assert studio.client.get(f"/jobs/{job.name}").status_code == 200
    for path in (f"/jobs/{job.name}", f"/jobs/{job.name}/events"):
        assert other.get(path).status_code == 422
    stop = other.post(f"/jobs/{job.name}/stop", headers=studio.proof(other))
    assert stop.status_code == 422


@pytest.mark.parametrize(
    "name", ["../secret.csv", "/etc/passwd", "link.csv", "folder/../../secret.csv", "a\0b.csv"]
)
def test_paths_lead_nowhere_else(tmp_path: Path, desk: Desk, name: str) -> None:
    root = tmp_path / "here"
    root.mkdir()
    (tmp_path / "secret.csv").write_text("age,illness\n1,a\n2,b\n")
    (root / "link.csv").symlink_to(tmp_path / "secret.csv")
    studio = Studio(root, desk)
    try:
        answer = studio.post("/open/file", name=name)
        assert answer.status_code == 422
        assert "outside of the folder" in answer.text or "holds a NUL" in answer.text
        assert studio.visit().plan is None
    finally:
        studio.visits.close()


def test_a_plan_reads_nothing_outside_of_the_folder(tmp_path: Path, desk: Desk) -> None:
    root = tmp_path / "here"
    root.mkdir()
    (tmp_path / "secret.csv").write_text("age,illness\n1,a\n2,b\n")
    (root / "evil.plan.toml").write_text(
        '[source]\nfile = "../secret.csv"\n[columns.age]\nrole = "quasi-identifier"\n'
        '[method]\nname = "generalization"\n[[method.principles]]\nname = "k-anonymity"\nk = 2\n'
    )
    studio = Studio(root, desk)
    try:
        answer = studio.post("/open/file", name="evil.plan.toml")
        assert answer.status_code == 422
        assert "outside of the folder" in answer.text
    finally:
        studio.visits.close()


@pytest.mark.parametrize("name", ["..%2Fevil.csv", "a%2Fb.csv", "..%5Cevil.csv", ".hidden", "%00"])
def test_a_dropped_file_gets_no_path(studio: Studio, name: str) -> None:
    put = studio.client.put(f"/open/dropped/{name}", content=b"x", headers=studio.proof())
    assert put.status_code in (404, 422)
    assert not list(studio.visit().table.folder.iterdir())


def test_an_upload_that_is_too_large_is_stopped_while_it_streams(studio: Studio) -> None:
    sent = []

    def stream():  # type: ignore[no-untyped-def]
        for _ in range(100):
            sent.append(1)
            yield b"x" * 1000

    put = studio.client.put("/open/dropped/big.csv", content=stream(), headers=studio.proof())
    assert put.status_code == 413
    assert "50,000 bytes" in put.text
    assert not list(studio.visit().table.folder.iterdir())


def test_a_form_is_not_a_way_around_that(studio: Studio) -> None:
    answer = studio.post("/open/file", name="x" * (2**20 + 1))
    assert answer.status_code == 413


def test_what_was_dropped_is_private_and_gone_in_the_end(studio: Studio) -> None:
    content = b"age,illness\n1,a\n2,b\n"
    studio.client.put("/open/dropped/mine.csv", content=content, headers=studio.proof())
    private = studio.visit().table.folder
    assert (private / "mine.csv").read_bytes() == content
    assert private.stat().st_mode & 0o077 == 0
    studio.visits.close()
    assert not private.exists()


def test_the_next_file_that_is_dropped_takes_the_place_of_the_last(studio: Studio) -> None:
    content = b"age,illness\n1,a\n2,b\n"
    studio.client.put("/open/dropped/one.csv", content=content, headers=studio.proof())
    first = studio.visit().table.folder
    (first / "one.comparison").mkdir()  # as a comparison leaves it
    put = studio.client.put("/open/dropped/two.csv", content=content, headers=studio.proof())
    assert put.status_code == 204
    assert not first.exists()
    assert "two.csv" in studio.client.get("/open").text


def test_browsers_are_told_to_run_nothing_that_stands_in_a_page(studio: Studio) -> None:
    for path in ("/open", "/static/studio.css", "/nowhere"):
        headers = studio.client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
    page = studio.client.get("/open").text
    assert " style=" not in page and "<style" not in page and " onclick=" not in page


NASTY = "<script>alert(1)</script>\"'&amp;\x1b[31m"


def test_names_and_values_are_shown_as_text(studio: Studio) -> None:
    cell, name = NASTY.replace('"', '""'), f"<script>alert(2)</script>{'n' * 10_000}"
    rows = "".join(f'{age},"{cell}"\n' for age in range(30))
    (studio.root / "nasty.csv").write_text(f"age,{name}\n{rows}", "utf-8")
    assert studio.post("/open/file", name="nasty.csv").status_code == 204
    page = studio.client.get("/open").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(2)&lt;/script&gt;nnn" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "\x1b" not in page and "\\u001b[31m" in page


def test_the_library_files_come_with_their_licences(studio: Studio) -> None:
    vendor = Path(__file__).parents[2] / "src" / "discreet" / "studio" / "static" / "vendor"
    scripts = {path.name.removesuffix(".min.js") for path in vendor.glob("*.js")}
    assert scripts == {path.stem for path in vendor.glob("*.LICENSE")} != set()
    told = (vendor / "README.md").read_text("utf-8")
    assert all(f"{name}.min.js" in told for name in scripts)


def test_what_lies_in_the_folder_leads_out_of_it_through_no_link(
    tmp_path: Path, desk: Desk
) -> None:
    """Neither is anything read there, nor written."""
    root, outside = tmp_path / "here", tmp_path / "outside"
    outside.mkdir()
    data = dc.read(pl.DataFrame({"age": [1, 1, 2, 2]}), age_only())
    dc.publish(data, dc.Generalization(dc.KAnonymity(2))).write(outside / "release")
    shutil.copytree(outside / "release", root / "release")
    for file in (root / "release").glob("*.parquet"):
        file.unlink()
        file.symlink_to(outside / "release" / file.name)
    dc.Ledger.init(outside / "book", "hidden source")
    shutil.copytree(outside / "book", root / "book")
    (root / "book" / "ledger.sqlite").unlink()
    (root / "book" / "ledger.sqlite").symlink_to(outside / "book" / "ledger.sqlite")
    (root / "people.csv").write_text(PEOPLE, "utf-8")
    (root / "others.csv").write_text(PEOPLE, "utf-8")
    (root / "others.plan.toml").symlink_to(outside / "new.plan.toml")
    (root / "people.comparison").mkdir()
    (root / "people.comparison" / "trials.jsonl").symlink_to(outside / "new.jsonl")
    (root / "people.town.groups.csv").symlink_to(outside / "new.csv")
    before = sorted(outside.iterdir())
    studio = Studio(root, desk)
    try:
        assert "hidden source" not in studio.client.get("/history").text
        answers = [
            studio.client.get("/ask?release=release"),
            studio.post("/history/tell", ledger="book"),
            studio.post("/open/file", name="others.csv"),
        ]
        assert studio.post("/open/file", name="people.csv").status_code == 204
        seen = studio.seen(studio.client.get("/open").text)
        answers += [
            studio.client.get("/choose"),
            studio.post("/hierarchies/group", column="town", seen=seen),
        ]
        for answer in answers:
            assert answer.status_code == 422 and "outside of the folder" in answer.text
    finally:
        studio.visits.close()
    assert sorted(outside.iterdir()) == before


def age_only() -> dc.Schema:
    return dc.Schema((dc.Attribute("age", dc.Role.QUASI_IDENTIFIER, dc.Type.INTEGER),))


def test_browsers_may_leave_the_usual_port_out() -> None:
    assert name_hosts("LOCALHOST", 80) == name_hosts("127.0.0.1", 80)
    assert {"localhost", "[::1]", "localhost:80"} <= name_hosts("127.0.0.1", 80)
    assert "localhost" not in name_hosts("127.0.0.1", 8000)
    assert name_hosts("192.0.2.1", 8000) == {"192.0.2.1:8000"}


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "0", "0::0"])
def test_nobody_listens_on_all_addresses(tmp_path: Path, host: str) -> None:
    with pytest.raises(SchemaError, match="by which name will browsers ask"):
        run_studio(tmp_path, host, 0, print)


def test_a_terminal_that_is_closed_ends_the_studio_properly(tmp_path: Path) -> None:
    assert RunningStudio(tmp_path).stop(by=signal.SIGHUP) == 0
