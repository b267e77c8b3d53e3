"""The ledger: what was published stays published, whatever happens in between."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from commands import COMMAND
from commands import discreet_here as discreet
from discreet.release import store
from discreet.steward.ledger import Entry, Ledger, State
from discreet.steward.ledger.book import Book
from samples import microdata

PLAN = """
[source]
file = "people.csv"
[columns.age]
role = "quasi-identifier"
type = "integer"
[columns.zip]
role = "quasi-identifier"
type = "integer"
[columns.ill]
role = "sensitive"
[method]
name = "generalization"
[[method.principles]]
name = "{principle}"
{letter} = {value}
[release]
folder = "{folder}"
"""
STEPS = {"copying": "write", "recording": "_record", "placing": "_place", "settling": "_settle"}


def write_plan(
    folder: Path, name: str, principle: str = "frequency-diversity", value: int = 2
) -> Path:
    letter = "k" if principle == "k-anonymity" else "l"
    path = folder / f"{name}.toml"
    path.write_text(
        PLAN.format(principle=principle, value=value, letter=letter, folder=name), encoding="utf-8"
    )
    return path


@pytest.fixture
def office(tmp_path: Path) -> Path:
    """A folder with a table, a ledger and a plan."""
    rng = random.Random(1)
    frame = pl.DataFrame(
        {
            "age": [rng.randrange(20, 60) for _ in range(60)],
            "zip": [rng.randrange(100) for _ in range(60)],
            "ill": [rng.choice("abcdef") for _ in range(60)],
        }
    )
    frame.write_csv(tmp_path / "people.csv")
    write_plan(tmp_path, "first")
    Ledger.init(tmp_path / "book", "people 2026")
    return tmp_path


def is_whole(office: Path) -> None:
    """Nothing is out that is not in the ledger, and everything in the ledger is whole."""
    ledger = Ledger(office / "book")
    for entry in ledger.entries:
        ledger.load(entry)
    recorded = [entry.files for entry in ledger.entries]
    for path in office.iterdir():
        if (path / store.MANIFEST).exists() and not path.name.startswith("."):
            assert store.fingerprint(path) in recorded


def test_publish_list_show_check(office: Path) -> None:
    done = discreet("publish", "first.toml", "--ledger", "book", cwd=office)
    assert done.returncode == 0, done.stderr
    assert "release 0001" in done.stdout
    listed = json.loads(discreet("ledger", "list", "book", "--json", cwd=office).stdout)
    (entry,) = listed["releases"]
    assert listed["source"] == "people 2026"
    assert entry["state"] == "published"
    assert entry["files"] == store.fingerprint(office / "first")
    shown = discreet("ledger", "show", "book", "1", cwd=office)
    assert shown.returncode == 0
    assert "is what was published" in shown.stdout
    checked = discreet("ledger", "check", "first.toml", "--ledger", "book", "--json", cwd=office)
    assert json.loads(checked.stdout)["passes"]
    is_whole(office)


def test_nothing_of_the_ledger_is_in_the_release(office: Path) -> None:
    discreet("publish", "first.toml", "--ledger", "book", cwd=office)
    alone = discreet("publish", "first.toml", "--out", "alone", cwd=office)
    assert alone.returncode == 0
    assert store.fingerprint(office / "alone") == store.fingerprint(office / "first")


def test_a_breach_is_refused_with_names_numbers_and_a_way_out(office: Path) -> None:
    frame = pl.read_csv(office / "people.csv")
    frame.sort("age").with_columns(zip=pl.Series(range(60))).write_csv(office / "people.csv")
    discreet("publish", "first.toml", "--ledger", "book", cwd=office)
    plan = write_plan(office, "second")
    text = plan.read_text(encoding="utf-8").replace('"generalization"', '"anatomy"')
    # batches are drawn, and not every draw tells so much
    plan.write_text(f"{text}insecure_seed = 1\n", encoding="utf-8")
    done = discreet("publish", "second.toml", "--ledger", "book", "--insecure", cwd=office)
    assert done.returncode == 1
    assert "0001" in done.stderr
    assert "smallest group found" in done.stderr
    assert "Leav" in done.stderr or "Publish an earlier release again" in done.stderr
    assert not (office / "second").exists()
    assert len(Ledger(office / "book").entries) == 1
    tried = discreet("ledger", "check", "second.toml", "--ledger", "book", "--json", cwd=office)
    assert tried.returncode == 1
    told = json.loads(tried.stdout)
    assert not told["passes"]
    assert told["breaches"][0]["releases"] == ["the new release", "0001"]
    assert told["proposal"]


def test_a_proposal_passes_when_followed(tmp_path: Path) -> None:
    """Zip codes part people otherwise than ages do; without them both releases say the same."""
    frame = pl.DataFrame(
        {"age": [0, 10, 20, 10, 20, 10, 10, 0], "zip": [3, 4, 1, 4, 4, 1, 0, 0],
         "ill": list("bcbaaaac")}
    )  # fmt: skip
    data = microdata(frame, ["age", "zip"], ["ill"])
    ledger = Ledger.init(tmp_path / "book", "people")
    method = dc.Generalization(dc.DistinctDiversity(2))
    ledger.publish(dc.publish(data.without("zip"), method), data, tmp_path / "one")
    with pytest.raises(dc.DiscreetError, match="0001") as refused:
        ledger.publish(dc.publish(data, method), data, tmp_path / "two")
    assert not (tmp_path / "two").exists()
    hint = ledger.propose(data, method, refused.value.subject, known=data)  # type: ignore[arg-type]
    assert hint == "Leave out zip: generalized that far, the release would pass."
    ledger.publish(dc.publish(data.without("zip"), method), data, tmp_path / "two")


def test_columns_the_plan_leaves_out_still_count(office: Path) -> None:
    """Whoever knows the zip code finds people in the first release by it, whatever comes later."""
    discreet("publish", "first.toml", "--ledger", "book", cwd=office)
    ledger = Ledger(office / "book")
    schema = dc.Plan.read(office / "first.toml").schema.only(["age", "ill"])
    assert set(ledger.read(office / "people.csv", schema).codes) == {"age", "zip", "ill"}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_at_any_step_loses_nothing(office: Path, step: str, when: str) -> None:
    """The process is killed in the middle; the next one finds everything or nothing."""
    script = f"""
import os, signal
import discreet.steward.ledger as room
from discreet.cli import main
def kill(*a, **k): os.kill(os.getpid(), signal.SIGKILL)
home = room if {step!r} == "copying" else room.Ledger
real = getattr(home, {STEPS[step]!r})
def die(*a, **k):
    if {when!r} == "after":
        real(*a, **k)
    kill()
setattr(home, {STEPS[step]!r}, die)
import sys
sys.argv = ["discreet", "publish", "first.toml", "--ledger", "book"]
main()
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=office, check=False)
    assert done.returncode == -signal.SIGKILL
    is_whole(office)
    killed = Ledger(office / "book").entries
    again = discreet("publish", "first.toml", "--ledger", "book", cwd=office)
    entries = Ledger(office / "book").entries
    assert [entry.state for entry in entries] == ["published"]
    assert store.fingerprint(office / "first") == entries[0].files
    if killed:  # it was recorded: finished, and said so; nothing is published twice
        assert again.returncode == 2
        assert "0001" in again.stderr or "holds a release already" in again.stderr
    else:
        assert again.returncode == 0
    assert sorted(path.name for path in (office / "book" / "releases").iterdir()) == ["0001"]
    is_whole(office)


def test_kills_at_random_moments(office: Path) -> None:
    rng = random.Random(7)
    for i in range(6):
        process = subprocess.Popen(
            [*COMMAND, "publish", "first.toml", "--ledger", "book", "--out", f"r{i}"],
            cwd=office, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(rng.uniform(0.3, 2.0))
        process.send_signal(signal.SIGKILL)
        process.wait()
        is_whole(office)
    done = discreet("publish", "first.toml", "--ledger", "book", "--out", "last", cwd=office)
    assert done.returncode == 0, done.stderr
    states = {entry.state for entry in Ledger(office / "book").entries}
    assert states == {"published"}
    is_whole(office)


def test_two_publishers_at_once(office: Path) -> None:
    processes = [
        subprocess.Popen(
            [*COMMAND, "publish", "first.toml", "--ledger", "book", "--out", f"r{i}"],
            cwd=office, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for i in range(3)
    ]  # fmt: skip
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    entries = Ledger(office / "book").entries
    assert [entry.number for entry in entries] == [1, 2, 3]
    assert {Path(entry.folder).name for entry in entries} == {"r0", "r1", "r2"}
    is_whole(office)


def test_what_was_recorded_cannot_be_changed(office: Path) -> None:
    discreet("publish", "first.toml", "--ledger", "book", cwd=office)
    with sqlite3.connect(office / "book" / "ledger.sqlite") as database:
        for statement in ("DELETE FROM release", "UPDATE release SET promise = 'none'",
                          "UPDATE release SET state = 'pending'"):  # fmt: skip
            with pytest.raises(sqlite3.IntegrityError, match="published"):
                database.execute(statement)


def test_a_changed_copy_stops_everything(office: Path) -> None:
    discreet("publish", "first.toml", "--ledger", "book", cwd=office)
    with (office / "book" / "releases" / "0001" / "README.md").open("a") as file:
        file.write("more")
    shown = discreet("ledger", "show", "book", "1", cwd=office)
    assert shown.returncode == 1
    assert "WAS CHANGED" in shown.stdout
    done = discreet("publish", "first.toml", "--ledger", "book", "--out", "r", cwd=office)
    assert done.returncode == 2
    assert "not what was published" in done.stderr
    assert not (office / "r").exists()


def test_a_folder_that_was_taken_in_between_is_left_alone(office: Path) -> None:
    """Recorded, not yet in place, and now something else lies there: it counts all the same."""
    plan = dc.Plan.read(office / "first.toml")
    data = dc.read(plan.source, plan.schema)
    ledger = Ledger(office / "book")
    release = dc.publish(data, plan.method)
    ledger._record(release, office / "taken", "parquet", False, lambda *_: None)
    (office / "taken").mkdir()
    (office / "taken" / "mine.txt").write_text("mine", encoding="utf-8")
    ledger.publish(release, data, office / "next")
    assert [entry.state for entry in ledger.entries] == ["recorded", "published"]
    assert [path.name for path in (office / "taken").iterdir()] == ["mine.txt"]


def test_a_release_that_cannot_be_put_in_place_does_not_count(
    office: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = dc.Plan.read(office / "first.toml")
    data = dc.read(plan.source, plan.schema)
    ledger = Ledger(office / "book")
    release = dc.publish(data, plan.method)

    def fail(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("discreet.steward.ledger.copy", fail)
    with pytest.raises(KeyboardInterrupt):
        ledger.publish(release, data, office / "out")
    assert [entry.state for entry in ledger.entries] == ["withdrawn"]
    assert ledger.check(dc.publish(data, dc.Anatomy(dc.FrequencyDiversity(2))), data) == ([], [])
    (office / "file").write_text("", encoding="utf-8")
    done = discreet("publish", "first.toml", "--ledger", "book", "--out", "file/r", cwd=office)
    assert done.returncode == 2
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("struck", [KeyboardInterrupt, OSError])
def test_a_release_that_is_out_counts_even_if_nobody_could_note_it(
    office: Path, monkeypatch: pytest.MonkeyPatch, struck: type[BaseException]
) -> None:
    """Interrupted between the last rename and the note of it: it is public, and must count."""
    plan = dc.Plan.read(office / "first.toml")
    data = dc.read(plan.source, plan.schema)
    ledger = Ledger(office / "book")
    real, notes = Ledger._settle, []

    def settle(self: Ledger, entry: Entry, state: State) -> None:
        notes.append(state)
        if len(notes) == 1:
            raise struck
        real(self, entry, state)

    monkeypatch.setattr(Ledger, "_settle", settle)
    with pytest.raises(struck):
        ledger.publish(dc.publish(data, plan.method), data, office / "out")
    assert (office / "out" / store.MANIFEST).exists()
    assert [entry.state for entry in ledger.entries] == ["published"]


def test_a_refused_release_leaves_no_folders(office: Path) -> None:
    discreet("publish", "first.toml", "--ledger", "book", cwd=office)
    plan = write_plan(office, "second")
    text = plan.read_text(encoding="utf-8").replace('"generalization"', '"anatomy"')
    plan.write_text(text, encoding="utf-8")
    done = discreet("publish", "second.toml", "--ledger", "book", "--out", "a/b/c", cwd=office)
    assert done.returncode == 1
    assert not (office / "a").exists()


def test_columns_that_another_publisher_just_published_count(office: Path) -> None:
    """What the check must read is known only when nobody else can publish any more."""
    frame = pl.DataFrame({"age": range(6), "zip": [0, 2, 4, 1, 3, 5], "ill": list("abcabc")})
    data = microdata(frame, ["age", "zip"], ["ill"])
    ledger = Ledger(office / "book")
    method = dc.Generalization(dc.DistinctDiversity(2))
    by_zip = data.without("age").schema
    ledger.publish(dc.publish(data.without("zip"), method), data, office / "one")
    with pytest.raises(dc.DiscreetError, match="0001"):
        ledger.publish(
            dc.publish(data.without("age"), method), lambda: ledger.read(frame, by_zip),
            office / "two",
        )  # fmt: skip


def test_one_unreadable_column_takes_no_other_with_it(office: Path) -> None:
    frame = pl.DataFrame({"age": range(6), "x": [1, 2, 3] * 2, "zip": range(6), "ill": ["a"] * 6})
    ledger = Ledger(office / "book")
    data = microdata(frame, ["age", "x"], ["ill"])
    ledger.publish(dc.publish(data, dc.Generalization(dc.KAnonymity(2))), data, office / "one")
    later = frame.with_columns(x=pl.Series(["n/a", "2", "3", "1", "2", "3"]))
    schema = microdata(frame, ["zip"], ["ill"]).schema
    assert set(ledger.read(later, schema).codes) == {"age", "zip", "ill"}


def test_the_audit_reads_what_earlier_releases_show(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": range(6), "zip": [0, 2, 4, 1, 3, 5], "ill": list("abcabc")})
    frame.write_csv(tmp_path / "people.csv")
    method = dc.Generalization(dc.DistinctDiversity(2))
    for name in ("age", "zip"):
        dc.publish(microdata(frame, [name], ["ill"]), method).write(tmp_path / name)
    done = discreet("audit", "zip", "--microdata", "people.csv", "--earlier", "age", cwd=tmp_path)
    assert done.returncode == 1
    assert "believed with up to 100%" in done.stdout
    assert discreet("audit", "zip", "--microdata", "people.csv", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize("harm", ["folder", "lock", "source"])
def test_a_damaged_ledger_is_one_error(office: Path, harm: str) -> None:
    book = office / "book"
    if harm == "folder":
        (book / "releases").rmdir()
        (book / "lock.sqlite").mkdir()
    elif harm == "lock":
        (book / "lock.sqlite").write_text("junk" * 100, encoding="utf-8")
    else:
        with sqlite3.connect(book / "ledger.sqlite") as database:
            database.execute("DELETE FROM source")
    done = discreet("publish", "first.toml", "--ledger", "book", cwd=office)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: ")
    assert "Hint: " in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["ledger", "init", "book", "--source", "x"], "not empty"),
        (["ledger", "init", "new", "--source", " "], "name of its source"),
        (["ledger", "list", "nowhere"], "there is no ledger"),
        (["ledger", "show", "book", "9"], "no release 0009"),
        (["publish", "first.toml", "--ledger", "nowhere"], "there is no ledger"),
        (["publish", "first.toml", "--ledger", "book", "--out", "book/x"], "inside a ledger"),
        (["publish", "first.toml", "--out", "book/releases/x"], "inside a ledger"),
        (["publish", "first.toml", "--report", "book/ledger.sqlite", "--overwrite"], "inside"),
        (["ledger", "check", "nothing.toml", "--ledger", "book"], "cannot be read"),
    ],
)
def test_bad_input_is_one_error_and_exit_2(office: Path, arguments: list[str], says: str) -> None:
    done = discreet(*arguments, cwd=office)
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.startswith("Error: ")
    assert not (office / "first").exists()


def test_what_the_ledger_does_not_know_stays(office: Path) -> None:
    copies = office / "book" / "releases"
    (copies / "notes.txt").write_text("mine", encoding="utf-8")
    (copies / "old scans").mkdir()
    (copies / "old scans" / "page.txt").write_text("mine", encoding="utf-8")
    (copies / "00000007").mkdir()
    (copies / ".0001.backup").mkdir()
    before = sorted(path.name for path in copies.iterdir())
    for folder in ("one", "two"):
        done = discreet(
            "publish", "first.toml", "--ledger", "book", "--out", folder, cwd=office
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in copies.iterdir()) == sorted([*before, "0001", "0002"])
    assert (copies / "old scans" / "page.txt").read_text(encoding="utf-8") == "mine"


def test_a_ledger_whose_copies_are_a_link_is_refused_and_nothing_behind_it_removed(
    office: Path,
) -> None:
    copies, elsewhere = office / "book" / "releases", office / "elsewhere"
    copies.rename(elsewhere)
    copies.symlink_to(elsewhere)
    (elsewhere / "thesis.tex").write_text("years of work", encoding="utf-8")
    for arguments in (["publish", "first.toml", "--ledger", "book"], ["ledger", "list", "book"]):
        done = discreet(*arguments, cwd=office)
        assert done.returncode == 2
        assert "is a link" in done.stderr and "Hint: " in done.stderr
    assert (elsewhere / "thesis.tex").is_file()
    assert not (office / "first").exists()


@pytest.fixture
def restored(office: Path) -> Path:
    """Two releases are out, and the ledger's book is one from before the second."""
    frame = pl.read_csv(office / "people.csv")
    frame.sort("age").with_columns(zip=pl.Series(range(60))).write_csv(office / "people.csv")
    book = office / "book" / "ledger.sqlite"
    assert discreet("publish", "first.toml", "--ledger", "book", cwd=office).returncode == 0
    older = book.read_bytes()
    done = discreet("publish", "first.toml", "--ledger", "book", "--out", "other", cwd=office)
    assert done.returncode == 0
    book.write_bytes(older)
    return office


def test_a_copy_that_an_older_book_does_not_know_counts(restored: Path) -> None:
    """Forget the first release too: the second alone must stop what does not go with it."""
    listed = json.loads(discreet("ledger", "list", "book", "--json", cwd=restored).stdout)
    assert [e["state"] for e in listed["releases"]] == ["published", "recorded"]
    plan = write_plan(restored, "second")
    text = plan.read_text(encoding="utf-8").replace('"generalization"', '"anatomy"')
    plan.write_text(text, encoding="utf-8")
    checked = discreet("ledger", "check", "second.toml", "--ledger", "book", "--json", cwd=restored)
    assert {"0002", "0001"} <= {
        name for breach in json.loads(checked.stdout)["breaches"] for name in breach["releases"]
    }
    done = discreet("publish", "second.toml", "--ledger", "book", cwd=restored)
    assert done.returncode == 1 and "0002" in done.stderr
    done = discreet("publish", "first.toml", "--ledger", "book", "--out", "third", cwd=restored)
    assert done.returncode == 0, done.stderr
    ledger = Ledger(restored / "book")
    assert [entry.name for entry in ledger.entries] == ["0001", "0002", "0003"]
    assert [entry.state for entry in ledger.entries] == ["published", "recorded", "published"]
    assert store.fingerprint(restored / "other") == ledger.find(2).files
    shown = discreet("ledger", "show", "book", "2", cwd=restored)
    assert shown.returncode == 0 and "where to is not known" in shown.stdout


@pytest.mark.parametrize("harm", ["cut", "link", "file"])
def test_an_unknown_copy_that_cannot_be_read_stops_everything(restored: Path, harm: str) -> None:
    """It may be out, and nobody can tell what it shows."""
    copy = restored / "book" / "releases" / "0002"
    if harm == "cut":
        (copy / "generalized.parquet").write_bytes(b"PAR1")
    else:
        copy.rename(restored / "aside")
        if harm == "link":
            copy.symlink_to(restored / "aside")
        else:
            copy.write_text("", encoding="utf-8")
    done = discreet("publish", "first.toml", "--ledger", "book", "--out", "third", cwd=restored)
    assert done.returncode == 2
    assert "it may be out" in done.stderr and "Hint: " in done.stderr
    assert not (restored / "third").exists() and (copy.exists() or copy.is_symlink())


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_kill_while_the_copy_is_named_loses_nothing(office: Path, when: str) -> None:
    """The entry is written, and the copy is still a draft or has just its name."""
    script = f"""
import os, signal, sys
from discreet.release import store
from discreet.cli import main
real = store._put_in_place
def die(*a, **k):
    if {when!r} == "after":
        real(*a, **k)
    os.kill(os.getpid(), signal.SIGKILL)
store._put_in_place = die
sys.argv = ["discreet", "publish", "first.toml", "--ledger", "book"]
main()
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=office, check=False)
    assert done.returncode == -signal.SIGKILL
    assert [entry.state for entry in Ledger(office / "book").entries] == ["pending"]
    is_whole(office)
    again = discreet("publish", "first.toml", "--ledger", "book", cwd=office)
    assert again.returncode == 2 and "it is now complete there" in again.stderr
    (entry,) = Ledger(office / "book").entries
    assert entry.state == "published" and store.fingerprint(office / "first") == entry.files
    assert sorted(path.name for path in (office / "book" / "releases").iterdir()) == ["0001"]
    is_whole(office)


BREACHING = """
[source]
file = "census.csv"
[columns.age]
role = "quasi-identifier"
type = "integer"
[columns.income]
role = "sensitive"
type = "integer"
[method]
name = "perturbation"
check = "paper"
[[method.principles]]
name = "proximity"
epsilon = 800
m = 4
[release]
folder = "out/there"
"""


@pytest.fixture
def breaching(office: Path) -> Path:
    """Equation 3 of the proximity paper promises less than who reads the number believes."""
    people = dc.datasets.census_frame(2000).select("age", "income")
    people.filter(pl.col("income") < 90_000).write_csv(office / "census.csv")
    (office / "breach.toml").write_text(BREACHING, encoding="utf-8")
    return office


@pytest.mark.parametrize("ledger", [[], ["--ledger", "book"]])
def test_a_release_that_breaks_its_promise_is_neither_put_out_nor_recorded(
    breaching: Path, ledger: list[str]
) -> None:
    done = discreet("publish", "breach.toml", *ledger, "--report", "why.html", cwd=breaching)
    assert done.returncode == 1
    assert "fails for" in done.stdout and "BREACH" in done.stdout
    assert "Nothing was published" in done.stderr
    assert "Release: " not in done.stdout
    assert not (breaching / "out").exists()
    assert "fails for" in (breaching / "why.html").read_text(encoding="utf-8")
    assert Ledger(breaching / "book").entries == []
    assert not list((breaching / "book" / "releases").iterdir())
    told = discreet("publish", "breach.toml", *ledger, "--json", cwd=breaching)
    assert told.returncode == 1
    assert json.loads(told.stdout)["release"] is None
    assert not (breaching / "out").exists()


def test_the_ledger_audits_what_python_gives_it(breaching: Path) -> None:
    plan = dc.Plan.read(breaching / "breach.toml")
    data = dc.read(plan.source, plan.schema)
    ledger = Ledger(breaching / "book")
    with pytest.raises(dc.errors.PromiseError, match="The audit found a breach"):
        ledger.publish(dc.publish(data, plan.method), data, plan.folder)
    assert ledger.entries == [] and not (breaching / "out").exists()


@pytest.mark.parametrize("ledger", [[], ["--ledger", "book"]])
@pytest.mark.parametrize("report", ["file/why.html", "/proc/why.html", "people.csv/why.html"])
def test_a_report_that_cannot_be_written_stops_the_publication(
    office: Path, ledger: list[str], report: str
) -> None:
    (office / "file").write_text("", encoding="utf-8")
    done = discreet("publish", "first.toml", *ledger, "--report", report, cwd=office)
    assert done.returncode == 2
    assert "why.html: cannot be written" in done.stderr
    assert not (office / "first").exists()
    assert Ledger(office / "book").entries == []


def test_a_report_goes_where_a_link_points(office: Path) -> None:
    (office / "pages").mkdir()
    (office / "why.html").symlink_to("pages/first.html")
    done = discreet("publish", "first.toml", "--report", "why.html", cwd=office)
    assert done.returncode == 0, done.stderr
    assert (office / "why.html").is_symlink() and (office / "pages" / "first.html").is_file()
    assert not [path for path in office.iterdir() if "discreet-draft" in path.name]


@pytest.fixture
def made(office: Path) -> tuple[Ledger, dc.Release, dc.Microdata]:
    plan = dc.Plan.read(office / "first.toml")
    data = dc.read(plan.source, plan.schema)
    return Ledger(office / "book"), dc.publish(data, plan.method), data


Made = tuple[Ledger, dc.Release, dc.Microdata]


@pytest.mark.parametrize("step", ["insert", "settle"])
def test_an_interrupt_just_when_the_book_is_written_blocks_nothing(
    office: Path, made: Made, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """What is written is written; nobody had the time to take note of it."""
    ledger, release, data = made
    real, struck = getattr(Book, step), []

    def strike(*arguments: object) -> None:
        real(*arguments)
        if not struck:
            struck.append(True)
            raise KeyboardInterrupt

    monkeypatch.setattr(Book, step, strike)
    with pytest.raises(KeyboardInterrupt):
        ledger.publish(release, data, office / "out")
    out = step == "settle"
    assert [e.state for e in ledger.entries] == (["published"] if out else ["withdrawn"])
    assert (office / "out").exists() is out
    ledger.publish(release, data, office / "next")
    assert [e.state for e in ledger.entries][1:] == ["published"]


def test_an_entry_whose_copy_never_got_its_number_does_not_count(office: Path, made: Made) -> None:
    ledger, release, data = made
    ledger._record(release, office / "out", "parquet", False, lambda *_: None)
    shutil.rmtree(office / "book" / "releases" / "0001")
    ledger.publish(release, data, office / "next")
    assert [e.state for e in ledger.entries] == ["withdrawn", "published"]


@pytest.mark.parametrize("newer", ["another ledger's", "this ledger's"])
def test_an_interrupted_replacement_replaces_nothing_newer(
    office: Path, made: Made, newer: str
) -> None:
    ledger, release, data = made
    ledger.publish(release, data, office / "r")
    ledger._record(release, office / "r", "csv", True, lambda *_: None)  # and is struck here
    older = (office / "book" / "ledger.sqlite").read_bytes()
    other = dc.publish(data, dc.Generalization(dc.FrequencyDiversity(3)))
    if newer == "another ledger's":
        Ledger.init(office / "second", "x").publish(other, data, office / "r", overwrite=True)
    else:
        ledger.publish(release, data, office / "elsewhere")
        ledger.publish(release, data, office / "r", overwrite=True, format="parquet")
        (office / "book" / "ledger.sqlite").write_bytes(older)
    before = store.fingerprint(office / "r")
    ledger.publish(release, data, office / "next")
    assert store.fingerprint(office / "r") == before
    states = [e.state for e in ledger.entries]
    assert states[:2] == ["published", "recorded"] and "pending" not in states


def test_an_interrupted_replacement_is_finished(office: Path, made: Made) -> None:
    ledger, release, data = made
    ledger.publish(release, data, office / "r")
    ledger._record(release, office / "r", "csv", True, lambda *_: None)
    ledger.publish(release, data, office / "next")
    assert [e.state for e in ledger.entries] == ["published"] * 3
    assert store.fingerprint(office / "r") == ledger.find(2).files


def test_promises_about_joins_are_not_taken_on_trust(office: Path, made: Made) -> None:
    ledger, _, data = made
    early = dc.publish(data.without("zip"), dc.Generalization(dc.KAnonymity(30)))
    schema = data.schema.only(["age", "zip"])
    people = dc.read(office / "people.csv", schema)
    promise = dc.XYAnonymity(x=["age", "zip"], y="people", k=2)
    release = dc.publish(people, dc.Sequential(principles=[promise], earlier=[early]))
    with pytest.raises(dc.DiscreetError, match="has no earlier release"):
        ledger.publish(release, data, office / "out")
    ledger.publish(early, data, office / "early")
    others = pl.DataFrame({"age": [70] * 60, "zip": [5] * 60, "ill": ["x"] * 60})
    with pytest.raises(dc.DiscreetError, match=r"covers anybody|find no record|not of the same"):
        ledger.publish(release, dc.read(others, data.schema), office / "out")
    assert not (office / "out").exists()
    ledger.publish(release, data, office / "out")


@pytest.mark.parametrize("ledger", [[], ["--ledger", "book"]])
@pytest.mark.parametrize("overwrite", [[], ["--overwrite"]])
def test_a_report_that_cannot_be_named_stops_the_publication(
    office: Path, ledger: list[str], overwrite: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of a file that is mounted or may not be changed: a draft can be written beside it."""
    if overwrite:
        (office / "why.html").write_text("before", encoding="utf-8")
    real = Path.replace

    def refuse(self: Path, target: Path) -> Path:
        if Path(target).name == "why.html":
            raise OSError(16, "Device or resource busy", str(target))
        return real(self, target)

    monkeypatch.setattr(Path, "replace", refuse)
    told = ["--report", "why.html", *ledger, *overwrite]
    done = discreet("publish", "first.toml", *told, cwd=office)
    assert done.returncode == 2, done.stderr
    assert "why.html: cannot be written (Device or resource busy)" in done.stderr
    assert not (office / "first").exists()
    assert {e.state for e in Ledger(office / "book").entries} <= {"withdrawn"}
    assert (office / "why.html").exists() is bool(overwrite)


def test_a_report_is_taken_back_if_the_release_cannot_be_put_out(
    office: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (office / "why.html").write_text("before", encoding="utf-8")
    (office / "why.html").chmod(0o600)

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(store, "place_folder", fail)
        for report in ("why.html", "new.html"):
            done = discreet(
                "publish", "first.toml", "--report", report, "--overwrite", cwd=office
            )  # fmt: skip
            assert done.returncode == 2, done.stderr
            assert "first: cannot be written" in done.stderr
    assert (office / "why.html").read_text(encoding="utf-8") == "before"
    assert not (office / "new.html").exists() and not (office / "first").exists()
    done = discreet(
        "publish", "first.toml", "--report", "why.html", "--overwrite", cwd=office
    )  # fmt: skip
    assert done.returncode == 0
    assert (office / "why.html").stat().st_mode & 0o777 == 0o600  # it is about people


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["publish", "first.toml", "--out", "a/b", "--report", "a"], "is a folder"),
        (["publish", "first.toml", "--report", "null", "--overwrite"], "a device or a pipe"),
        (["publish", "first.toml", "--out", "."], "the folder you stand in"),
        (["publish", "first.toml", "--out", ".", "--ledger", "book"], "in one another"),
        (["publish", "first.toml", "--out", "loop"], "lead nowhere"),
        (["publish", "first.toml", "--out", "loop/x", "--ledger", "book"], "lead nowhere"),
        (["publish", "first.toml", "--report", "loop"], "lead nowhere"),
        (["publish", "nul.toml"], "holds a NUL"),
        (["publish", "first.toml", "--out", os.fsdecode(b"r\xff")], "not UTF-8"),
        (
            ["ledger", "init", "new", "--source", os.fsdecode(b"\xff")],
            "name for its source",
        ),
        (["ledger", "init", "/".join(["x" * 200] * 3), "--source", "x"], "cannot be written"),
    ],
)
def test_odd_places_are_one_error(office: Path, arguments: list[str], says: str) -> None:
    (office / "loop").symlink_to("loop")
    (office / "null").symlink_to("/dev/null")
    text = (office / "first.toml").read_text(encoding="utf-8")
    nul = text.replace('folder = "first"', 'folder = "a\\u0000b"')
    (office / "nul.toml").write_text(nul, encoding="utf-8")
    before = sorted(path.name for path in office.rglob("*"))
    done = discreet(*arguments, cwd=office)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr and "Traceback" not in done.stderr
    assert [n for n in sorted(p.name for p in office.rglob("*")) if n != "lock.sqlite"] == before


@pytest.mark.parametrize("field", ["columns", "files"])
@pytest.mark.parametrize("value", ["not json", "[1]", "{}", "3", '{"a": 1}', "[[]]"])
def test_a_row_that_was_changed_by_hand_is_one_error(
    office: Path, made: Made, field: str, value: str
) -> None:
    ledger, release, data = made
    ledger.publish(release, data, office / "r")
    with sqlite3.connect(office / "book" / "ledger.sqlite") as database:
        database.execute("DROP TRIGGER settle")
        database.execute(f"UPDATE release SET {field} = ?", (value,))
    for command in (["ledger", "list", "book"], ["ledger", "show", "book", "1"],
                    ["publish", "first.toml", "--ledger", "book", "--out", "x"]):  # fmt: skip
        done = discreet(*command, cwd=office)
        assert done.returncode == 2
        assert done.stderr.startswith("Error: ") and "Restore the ledger" in done.stderr
    assert not (office / "x").exists()


def test_a_clock_that_was_set_back_changes_nothing(
    office: Path, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Releases are in the order in which they came, and of two in a folder the later one stays."""
    ledger, release, data = made
    for year in ("2026", "2025", "1970"):
        monkeypatch.setattr("discreet.steward.ledger.now", lambda y=year: f"{y}-01-01T00:00:00")
        ledger.publish(release, data, office / "out", overwrite=True)
    again = Ledger(office / "book")
    assert [(e.number, e.made[:4]) for e in again.entries] == [
        (1, "2026"),
        (2, "2025"),
        (3, "1970"),
    ]
    assert [chapter.entry.number for chapter in again.tell()] == [1, 2, 3]
