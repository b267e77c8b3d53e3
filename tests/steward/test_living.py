"""A ledger that knows people: who joined, left or changed, and what releases tell of them."""

from __future__ import annotations

import json
import shutil
import signal
import sqlite3
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from random import Random

import polars as pl
import pytest

import discreet as dc
from commands import discreet_here as discreet
from discreet.errors import MicrodataError, PromiseError, StoreError
from discreet.publishing.methods.signing import SigningMethod
from discreet.steward.ledger.people import KEY_FILE, Attendance
from oracles.versions import METHODS, believe_in_worlds, draw_people, publish_versions, read_version

FIRST = pl.DataFrame(
    {"pid": ["a", "b", "c", "d"], "age": [20, 21, 40, 41], "town": ["Bonn"] * 4,
     "pay": [10, 20, 10, 20]}
)  # fmt: skip
NEWCOMER = pl.DataFrame({"pid": ["e"], "age": [42], "town": ["Bonn"], "pay": [30]})
TWO = dc.Generalization(dc.FrequencyDiversity(2))


def begin(folder: Path, frame: pl.DataFrame = FIRST) -> dc.Ledger:
    ledger = dc.Ledger.init(folder / "book", "people")
    data = read_version(frame)
    ledger.publish(dc.publish(data, TWO), data, folder / "first")
    return ledger


def test_a_newcomer_whose_value_is_the_difference_of_two_releases_is_refused(
    tmp_path: Path,
) -> None:
    ledger, later = begin(tmp_path), read_version(pl.concat([FIRST, NEWCOMER]))
    with pytest.raises(PromiseError, match="believed with up to 100%"):
        ledger.publish(dc.publish(later, TWO), later, tmp_path / "later")
    assert not (tmp_path / "later").exists()


def test_newcomers_in_groups_of_their_own_are_published(tmp_path: Path) -> None:
    """Their groups have nobody who was there before, and the others' are as they were."""
    ledger = begin(tmp_path)
    two = pl.DataFrame({"pid": ["e", "f"], "age": [70, 71], "town": ["Bonn"] * 2, "pay": [10, 20]})
    later = read_version(pl.concat([FIRST, two]))
    entry, notes = ledger.publish(dc.publish(later, TWO), later, tmp_path / "later")
    assert entry.state == "published"
    assert "since 0001, 2 people joined, 0 left and 0 changed" in notes
    # and who is in it is known from then on
    once_more = read_version(FIRST)
    entry, notes = ledger.publish(
        dc.publish(once_more, dc.Anatomy(dc.FrequencyDiversity(2))), once_more, tmp_path / "third"
    )
    assert "since 0002, 0 people joined, 2 left and 0 changed" in notes


def test_who_changed_is_another_unknown(tmp_path: Path) -> None:
    """The group of c and d had 10 and 20, and has 10 and 40: d's old value must have been 20."""
    ledger = begin(tmp_path)
    changed = FIRST.with_columns(pl.Series("pay", [10, 20, 10, 40]))
    later = read_version(changed)
    with pytest.raises(PromiseError, match="believed with up to 100%"):
        ledger.publish(dc.publish(later, TWO), later, tmp_path / "later")


@pytest.mark.parametrize("one", METHODS)
@pytest.mark.parametrize("other", METHODS)
def test_no_ledger_lets_pass_what_all_worlds_tell(one: str, other: str, tmp_path: Path) -> None:
    """Of tiny tables with joiners and leavers: whatever exceeds a promise is refused."""
    passed = refused = 0
    for number in range(4):
        rng = Random(f"{one} {other} {number}")
        people = draw_people(rng, rng.randint(4, 6))
        versions = publish_versions(rng, people, [one, other])
        if versions is None:
            continue
        exceeds = False
        beliefs = believe_in_worlds(people, versions)
        alone = [believe_in_worlds(people, [version]) for version in versions]
        for version in versions:
            for part in version.release.promise.asked.parts:
                if isinstance(part, dc.FrequencyDiversity):
                    exceeds |= any(
                        max(beliefs[i].values()) > part.max_share
                        and max(beliefs[i].values())
                        > max(max(a[i].values(), default=0) for a in alone)
                        for i in version.members
                    )
        ledger = dc.Ledger.init(tmp_path / f"book {number}", "people")
        ledger.publish(versions[0].release, versions[0].data, tmp_path / f"first {number}",
                       insecure=True)  # fmt: skip
        broken, _ = ledger.check(versions[1].release, versions[1].data)
        if exceeds:
            assert broken, (number, [v.release.tables for v in versions])
        passed, refused = passed + (not broken), refused + bool(broken)
    assert passed + refused


def test_a_key_in_another_format_is_one_error(tmp_path: Path) -> None:
    ledger = begin(tmp_path)
    later = read_version(FIRST.with_columns(pid=pl.concat_str(pl.lit("P-"), "pid")))
    with pytest.raises(MicrodataError, match="None of the 4 people of this table, by 'pid'"):
        ledger.publish(dc.publish(later, TWO), later, tmp_path / "later")
    assert not (tmp_path / "later").exists()


def test_a_ledger_without_its_key_is_one_error(tmp_path: Path) -> None:
    ledger, later = begin(tmp_path), read_version(FIRST)
    (ledger.folder / KEY_FILE).unlink()
    with pytest.raises(StoreError, match=r"people\.key: the key of the ledger is not there"):
        dc.Ledger(ledger.folder).publish(dc.publish(later, TWO), later, tmp_path / "later")
    assert not (tmp_path / "later").exists()


def test_nobody_is_named_in_the_ledger_nor_in_a_release(tmp_path: Path) -> None:
    frame = FIRST.with_columns(pl.Series("pid", [f"person-{i}-key" for i in range(4)]))
    ledger = begin(tmp_path, frame)
    for path in [*ledger.folder.rglob("*"), *(tmp_path / "first").rglob("*")]:
        if path.is_file():
            assert b"-key" not in path.read_bytes(), path
    assert (ledger.folder / KEY_FILE).stat().st_mode & 0o077 == 0
    assert not [path for path in (tmp_path / "first").rglob("*") if path.name == KEY_FILE]


def test_without_a_key_a_table_that_changed_is_refused_with_what_to_do(tmp_path: Path) -> None:
    ledger = begin(tmp_path)
    frame = pl.concat([FIRST, NEWCOMER]).drop("pid")
    later = dc.read(frame, dc.Schema.infer(frame, quasi_identifiers=["age", "town"],
                                           sensitive=["pay"]))  # fmt: skip
    with pytest.raises(PromiseError) as refused:
        ledger.publish(dc.publish(later, TWO), later, tmp_path / "later")
    assert 'person = "the column that tells"' in str(refused.value.hint)


def test_estimates_are_accepted_only_if_the_steward_says_so(tmp_path: Path) -> None:
    """Of two releases of thousands of people the worlds cannot be counted."""
    data = dc.datasets.adult(sensitive="occupation", quasi_identifiers=["age", "sex", "education"])
    frame = data.to_polars().head(4000).with_row_index("pid")
    schema = dc.Schema.infer(frame, quasi_identifiers=["age", "sex", "education"],
                             sensitive=["occupation"], identifiers=["pid"])  # fmt: skip
    people = dc.read(frame, schema, person="pid")
    fewer = dc.read(frame.slice(40), schema, person="pid")
    ledger = dc.Ledger.init(tmp_path / "book", "people")
    promise = dc.FrequencyDiversity(2)
    methods = [dc.Generalization(dc.KAnonymity(k) & promise) for k in (400, 900)]
    ledger.publish(dc.publish(people, methods[0]), people, tmp_path / "first")
    later = dc.publish(fewer, methods[1])
    with pytest.raises(PromiseError, match="too many to be counted") as refused:
        ledger.publish(later, fewer, tmp_path / "later")
    assert "accept_estimates = true" in str(refused.value.hint)
    ledger.publish(later, fewer, tmp_path / "later", accept_estimates=True)
    said = dc.load(tmp_path / "later").promise.leaves_open
    assert any("was estimated, not counted" in text for text in said)


@pytest.mark.parametrize(
    "methods",
    [
        [dc.Republication(dc.MInvariance(2))],
        [dc.InvariantAngelization(dc.MInvariance(2), k=3)],
        [dc.InvariantAngelization(dc.MInvariance(2), k=2, marginals=[["age"], ["town"]]),
         dc.Republication(dc.MInvariance(2, epsilon=4))],
    ],
    ids=["generalized", "batched", "both"],
)  # fmt: skip
def test_a_table_that_changes_is_republished_again_and_again(
    methods: list[SigningMethod], tmp_path: Path
) -> None:
    """Everybody who stays keeps a signature, which the ledger remembers by tokens."""
    rng = Random("republished")
    ledger = dc.Ledger.init(tmp_path / "book", "people")
    people = draw_people(rng, 60)
    for version in range(6):
        here = people.filter(pl.Series([rng.random() < 0.8 for _ in range(60)]))
        data = read_version(here)
        method = ledger.prepare(methods[version % len(methods)], data)
        release = dc.publish(data, method)
        entry, _ = ledger.publish(
            release, data, tmp_path / f"release {version}", signed=method.sign(data)
        )
        assert entry.number == version + 1
    assert all(c.worst == Fraction(1, 2) and not c.estimated for c in ledger.tell())
    # anything else that tells of these people is held against all of them
    data = read_version(people)
    with pytest.raises(PromiseError, match="m-invariance"):
        ledger.publish(dc.publish(data, TWO), data, tmp_path / "other")


PLAN = """
[source]
file = "people.csv"
person = "pid"
[columns.pid]
role = "identifier"
[columns.age]
role = "quasi-identifier"
type = "integer"
[columns.town]
role = "quasi-identifier"
[columns.pay]
role = "sensitive"
type = "integer"
[method]
name = "republication"
[[method.principles]]
name = "m-invariance"
m = 2
[release]
folder = "release"
"""
KILLS = [
    ("before", "write"),
    ("after", "make_key"),
    ("before", "Book.insert"),
    ("after", "Book.insert"),
    ("before", "Ledger._place"),
    ("after", "Book.settle"),
]


@pytest.fixture
def office(tmp_path: Path) -> Path:
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    draw_people(Random(5), 40).write_csv(tmp_path / "people.csv")
    dc.Ledger.init(tmp_path / "book", "people")
    return tmp_path


@pytest.mark.parametrize(("when", "step"), KILLS)
def test_who_is_in_a_release_is_known_whenever_the_ledger_is_killed(
    office: Path, step: str, when: str
) -> None:
    script = f"""
import os, signal, sys
import discreet.steward.ledger as room
from discreet.cli import main
owner, _, name = {step!r}.rpartition(".")
home = getattr(room, owner) if owner else room
real = getattr(home, name)
def die(*a, **k):
    if {when!r} == "after":
        real(*a, **k)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(home, name, die)
sys.argv = ["discreet", "publish", "plan.toml", "--ledger", "book"]
main()
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=office, check=False)
    assert done.returncode == -signal.SIGKILL
    again = discreet("publish", "plan.toml", "--ledger", "book", cwd=office)
    assert again.returncode in (0, 2), again.stderr  # 2: it was finished, and says so
    ledger = dc.Ledger(office / "book")
    chapters = ledger.tell()
    assert [c.entry.state for c in chapters] == ["published"]
    assert chapters[0].people == 40 and chapters[0].unknown is None
    assert {path.name for path in ledger.folder.iterdir()} == {
        KEY_FILE, "ledger.sqlite", "lock.sqlite", "releases"
    }  # fmt: skip


IN_A_MOMENT = """
import signal, sys, time
from discreet.cli import main
from discreet.steward.ledger import Ledger
record, settle = Ledger._record, Ledger._settle
def begin(*given, **named):
    global began
    began = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, {after})
    return record(*given, **named)
def end(*given, **named):
    settle(*given, **named)
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(time.monotonic() - began)
Ledger._record, Ledger._settle = begin, end
sys.argv = ["discreet", "publish", "plan.toml", "--ledger", "book", "--out", "later"]
main()
"""
"""Publishes a second version, and is ended by the system so many seconds after it began to be
recorded, unless it has been by then; else it says how long that took."""


def kill_at_random(office: Path, rng: Random, times: int) -> int:
    """End a second publication so many times, each begun anew; say how often it was noted."""
    (office / "people.csv").write_text(draw_people(Random(6), 44).write_csv(), encoding="utf-8")

    def publish(where: Path, after: float) -> subprocess.CompletedProcess[str]:
        script = IN_A_MOMENT.format(after=after)
        return subprocess.run([sys.executable, "-c", script], cwd=where, check=False,
                              capture_output=True, text=True)  # fmt: skip

    def copy(name: str) -> Path:
        return Path(shutil.copytree(office, office.parent / name))

    whole = publish(copy("whole"), 0)
    assert whole.returncode == 0, whole.stderr
    longest, noted = float(whole.stdout.split()[0]), 0
    for number in range(times):
        here, at = copy(f"killed {number}"), rng.uniform(0.001, longest)
        ended = publish(here, at).returncode
        assert ended in (-signal.SIGALRM, 0), at
        noted += len(dc.Ledger(here / "book").entries) - 1 if ended else 0
        again = discreet("publish", "plan.toml", "--ledger", "book", "--out", "later", cwd=here)
        assert again.returncode in (0, 2), (at, again.stderr)  # 2: it was finished, and says so
        chapters = dc.Ledger(here / "book").tell()
        assert [(c.entry.state, c.people) for c in chapters] == [("published", n) for n in (40, 44)]
        assert all(c.worst == Fraction(1, 2) for c in chapters), at
        assert dc.load(here / "later").views[0].people.sum() == 44, at
        left = {path.name for path in here.iterdir()} | {p.name for p in (here / "book").iterdir()}
        assert left == {"plan.toml", "people.csv", "release", "later", "book", KEY_FILE,
                        "ledger.sqlite", "lock.sqlite", "releases"}, at  # fmt: skip
        shutil.rmtree(here)
    return noted


def test_nothing_is_lost_at_whatever_moment_a_second_version_is_killed(office: Path) -> None:
    assert discreet("publish", "plan.toml", "--ledger", "book", cwd=office).returncode == 0
    kill_at_random(office, Random(), 3)


def test_an_older_version_is_not_republished(tmp_path: Path) -> None:
    wanted, folder = dc.Republication(dc.MInvariance(2)), tmp_path / "book"
    ledger, people = dc.Ledger.init(folder, "people"), draw_people(Random(8), 30)
    for number, here in enumerate([people[:20], people[:25]]):
        data = read_version(here)
        method = ledger.prepare(wanted, data)
        ledger.publish(dc.publish(data, method), data, tmp_path / f"{number}",
                       signed=method.sign(data))  # fmt: skip
    data = read_version(people[:20])
    method = ledger.prepare(wanted, data)
    with pytest.raises(MicrodataError, match="just those of 0001, and 0002 is newer") as refused:
        ledger.publish(dc.publish(data, method), data, tmp_path / "again", signed=method.sign(data))
    assert "hand out 0001 once more" in str(refused.value.hint)
    assert not (tmp_path / "again").exists() and len(ledger.entries) == 2


def test_the_history_is_told_on_screen_and_page(office: Path) -> None:
    assert discreet("publish", "plan.toml", "--ledger", "book", cwd=office).returncode == 0
    everybody = pl.read_csv(office / "people.csv")
    everybody.slice(4).write_csv(office / "people.csv")
    again = discreet("publish", "plan.toml", "--ledger", "book", "--out", "later", cwd=office)
    assert again.returncode == 0, again.stderr
    shown = discreet("ledger", "show", "book", "--report", "history.html", cwd=office)
    assert shown.returncode == 0 and "2 releases that are out" in shown.stdout
    told = json.loads(discreet("ledger", "show", "book", "--json", cwd=office).stdout)
    first, later = told["releases"]
    assert (later["joined"], later["left"], later["changed"]) == (0, 4, 0)
    assert later["stayed"] == [36] and first["worst"] == later["worst"] == 0.5
    page = (office / "history.html").read_text(encoding="utf-8")
    assert "Who is in which release" in page and "0002" in page
    inside = discreet("ledger", "show", "book", "--report", "book/x.html", cwd=office)
    assert inside.returncode == 2 and "inside a ledger" in inside.stderr


def test_what_would_pass_is_said_and_does(tmp_path: Path) -> None:
    """A table was republished; generalized, it would tell more together with that than promised."""
    people = draw_people(Random(8), 60)
    ledger = dc.Ledger.init(tmp_path / "book", "people")
    wanted = dc.Republication(dc.MInvariance(2))
    first, later = read_version(people.slice(6)), read_version(people)
    ledger.publish(dc.publish(first, wanted), first, tmp_path / "first", signed=wanted.sign(first))
    broken, _ = ledger.check(dc.publish(later, TWO), later)
    said = ledger.propose(later, TWO, broken, known=later)
    assert said == (
        "Publish it by invariant-angelization, with m-invariance (m = 2): the release would pass."
    )
    method = ledger.prepare(dc.InvariantAngelization(dc.MInvariance(2)), later)
    ledger.publish(dc.publish(later, method), later, tmp_path / "later", signed=method.sign(later))


def test_twins_in_two_anatomies_are_judged_by_worlds(tmp_path: Path) -> None:
    """Where quasi-identifiers repeat, what two releases tell together was taken for a mixture."""
    found = 0
    for number in range(30):
        rng = Random(f"twins {number}")
        people = pl.DataFrame(
            {"pid": [f"p{i}" for i in range(7)], "age": [rng.choice([30, 40]) for _ in range(7)],
             "town": ["Bonn"] * 7, "pay": [rng.choice([10, 20, 30]) for _ in range(7)]}
        )  # fmt: skip
        versions = publish_versions(rng, people, ["anatomized", "anatomized"], away=0)
        if versions is None:
            continue
        worst = max(max(belief.values()) for belief in believe_in_worlds(people, versions))
        promised = min(v.release.promise.asked.max_share for v in versions)
        data = versions[1].data
        report = dc.audit(versions[1].release, data, earlier=[versions[0].release])
        if worst > promised:
            found += 1
            assert report.composed, (number, worst)
        elif promised < 1:
            assert not report.composed, (number, worst)
    assert found


def moved(*ages: int) -> pl.DataFrame:
    """The first four, of whom c and d differ from a and b, and some have moved."""
    return FIRST.with_columns(age=pl.Series(ages), pay=pl.Series([10, 20, 10, 30]))


@pytest.mark.parametrize("ages", [(42, 21, 22, 41), (40, 21, 20, 41)], ids=["other", "exchanged"])
def test_people_are_found_by_what_they_were_then(ages: tuple[int, ...], tmp_path: Path) -> None:
    """Nobody joined and no value changed, but a and c moved; then even the same table tells all."""
    ledger = begin(tmp_path, moved(20, 21, 40, 41))
    later = read_version(moved(*ages))
    with pytest.raises(PromiseError, match="believed with up to 100%"):
        ledger.publish(dc.publish(later, TWO), later, tmp_path / "later")


def publish_both(folder: Path, *tables: tuple[pl.DataFrame, dict[str, dc.Role]]) -> None:
    ledger = dc.Ledger.init(folder / "book", "people")
    for number, (frame, roles) in enumerate(tables):
        attributes = [dc.Attribute("pid", dc.Role.IDENTIFIER, dc.Type.CATEGORY)]
        attributes += [dc.Attribute(name, role, dc.Type.INTEGER if name == "age" else
                                    dc.Type.CATEGORY) for name, role in roles.items()]  # fmt: skip
        data = dc.read(frame, dc.Schema(tuple(attributes)), person="pid")
        ledger.publish(dc.publish(data, TWO), data, folder / str(number))


def test_what_stands_beside_a_value_links_releases_that_tell_other_things(tmp_path: Path) -> None:
    """By y, which both tell, everybody's x would be certain."""
    known, told = dc.Role.QUASI_IDENTIFIER, dc.Role.SENSITIVE
    first = pl.DataFrame({"pid": list("abcd"), "age": [20] * 4, "x": ["x1", "x2", "x1", "x2"],
                          "y": ["y1", "y2", "y3", "y4"]})  # fmt: skip
    later = pl.DataFrame({"pid": list("acef"), "age": [20, 20, 60, 61],
                          "y": ["y1", "y3", "y1", "y3"]})  # fmt: skip
    both = (first, {"age": known, "x": told, "y": told}), (later, {"age": known, "y": told})
    with pytest.raises(PromiseError, match=r"shows x beside y|shows y beside x"):
        publish_both(tmp_path, *both)


def test_a_release_without_a_key_does_not_hide_who_joined(tmp_path: Path) -> None:
    frame = pl.DataFrame({"pid": list("abcdef"), "age": [20, 21, 22, 40, 41, 42],
                          "town": ["Bonn"] * 6, "pay": [10, 20, 30, 10, 20, 30]})  # fmt: skip
    three = dc.FrequencyDiversity(3)
    ledger, data = dc.Ledger.init(tmp_path / "book", "people"), read_version(frame)
    ledger.publish(dc.publish(data, dc.Generalization(three)), data, tmp_path / "first")
    keyless = dc.read(frame.drop("pid"), data.public_schema)
    ledger.publish(dc.publish(keyless, dc.Anatomy(three)), keyless, tmp_path / "second")
    later = read_version(frame.with_columns(pid=pl.Series(list("abgdef")),
                                            age=pl.Series([20, 21, 43, 40, 41, 42])))  # fmt: skip
    with pytest.raises(PromiseError, match="0001 is about other people"):
        ledger.publish(dc.publish(later, TWO), later, tmp_path / "third")


def test_a_value_that_rises_is_not_excused_by_another_that_was_likely(tmp_path: Path) -> None:
    """The first release lets flu be as likely as it is; HIV is likelier by both than by either."""
    ledger = dc.Ledger.init(tmp_path / "book", "people")

    def read(keys: str, ill: list[str]) -> dc.Microdata:
        frame = pl.DataFrame({"pid": list(keys), "age": [20] * len(keys), "ill": ill})
        schema = dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["ill"],
                                 identifiers=["pid"])  # fmt: skip
        return dc.read(frame, schema, person="pid")

    first = read("abcdg", ["HIV", "HIV", "flu", "flu", "flu"])
    later = read("auvwxy", ["HIV", "HIV", "flu", "gout", "ulcer", "cold"])
    ledger.publish(dc.publish(first, dc.Generalization(dc.KAnonymity(5))), first, tmp_path / "1")
    three = dc.Generalization(dc.FrequencyDiversity(3))
    with pytest.raises(PromiseError, match="believed with up to 57%"):
        ledger.publish(dc.publish(later, three), later, tmp_path / "2")


@pytest.mark.parametrize("harm", ["cut", "text", "groups"])
def test_a_damaged_roll_is_one_error(harm: str, tmp_path: Path) -> None:
    ledger, later = begin(tmp_path), read_version(pl.concat([FIRST, NEWCOMER]))
    with sqlite3.connect(ledger.folder / "ledger.sqlite") as database:
        database.execute("DROP TRIGGER settle_people")
        (kept,) = database.execute("SELECT attendance FROM people").fetchone()
        made = Attendance.from_bytes(kept)
        assert made.matches is not None
        made.matches["groups"] = made.matches["groups"] + 1000
        harmed = {"cut": kept[:-40], "text": "damaged", "groups": made.to_bytes()}[harm]
        database.execute("UPDATE people SET attendance = ?", (harmed,))
    with pytest.raises(StoreError, match=r"cannot be read|not of that release"):
        dc.Ledger(ledger.folder).check(dc.publish(later, TWO), later)


def test_a_proposal_that_cannot_be_made_hides_no_refusal(tmp_path: Path) -> None:
    ledger, later = begin(tmp_path), read_version(pl.concat([FIRST, NEWCOMER]))
    method = dc.Permutation(dc.KE(2, 1))
    broken, _ = ledger.check(dc.publish(later, method), later)
    assert broken and ledger.propose(later, method, broken, known=later)


def test_a_check_writes_nothing(office: Path) -> None:
    before = sorted(path.name for path in (office / "book").iterdir())
    done = discreet("ledger", "check", "plan.toml", "--ledger", "book", cwd=office)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (office / "book").iterdir()) == before
