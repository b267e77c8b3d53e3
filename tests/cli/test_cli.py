"""The command line in an empty folder: as a process where that is the point, here where not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from commands import COMMAND, discreet, discreet_here
from discreet.cli import _explain
from discreet.errors import is_interrupt
from samples import reseal


@pytest.fixture(scope="module")
def adult(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("adult") / "adult.csv"
    dc.datasets.adult_frame().head(3000).with_columns(pl.col(pl.String).fill_null("?")).write_csv(
        path
    )
    return path


@pytest.fixture(scope="module")
def published(adult: Path) -> Path:
    """Inspect, then publish the draft as it is."""
    folder = adult.parent
    done = discreet("inspect", "adult.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "rows" in done.stdout and "are unique" in done.stdout
    done = discreet("publish", "adult.plan.toml", "--report", "report.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "verified from disk" in done.stdout
    return folder


def test_inspect_publish_audit_from_end_to_end(published: Path) -> None:
    assert (published / "release" / "generalized.parquet").is_file()
    assert "The promise holds" in (published / "report.html").read_text()
    done = discreet(
        "audit", "release", "--microdata", "adult.csv", "--json", "--population", "250000000",
        "--per-person", "people.csv", cwd=published,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["kept"] and found["people"] == 3000
    assert pl.read_csv(published / "people.csv").height == 3000


def test_a_breach_is_exit_1(published: Path) -> None:
    done = discreet_here(
        "audit", "release", "--microdata", "adult.csv", "--preset", "risk-0.09", cwd=published
    )
    assert done.returncode == 1
    assert "risk-0.09: NOT KEPT" in done.stdout
    assert done.stdout.rstrip().endswith("BREACH: do not publish this release.")
    plan = (published / "adult.plan.toml").read_text().replace("k = 10", "k = 25")
    (published / "stricter.toml").write_text(plan)
    done = discreet_here(
        "audit", "release", "--microdata", "adult.csv", "--plan", "stricter.toml", cwd=published
    )
    assert done.returncode == 1 and "k-anonymity (k = 25) fails for" in done.stdout
    tampered = dc.load(published / "release")
    table = tampered.tables["generalized"]
    folder = published / "tampered"
    tampered.write(folder, format="csv", overwrite=True)
    wrong = pl.read_csv(folder / "generalized.csv").with_columns(income=pl.lit("<=50K"))
    wrong.head(table.height - 5).write_csv(folder / "generalized.csv")
    reseal(folder)
    done = discreet_here("audit", "tampered", "--microdata", "adult.csv", cwd=published)
    assert done.returncode == 1
    assert "PROBLEM" in done.stdout


def test_inspect_speaks_json_and_keeps_an_edited_plan(published: Path) -> None:
    done = discreet_here("inspect", "adult.csv", "--plan", "other.toml", "--json", cwd=published)
    found = json.loads(done.stdout)
    assert found["rows"] == 3000 and found["unique_rows"] > 0
    told = {"distinction", "separation", "adds_unique_rows", "asked", "unreadable"}
    assert {"name", "role", "type", "missing", "reason", *told} == set(found["columns"][0])
    before = (published / "adult.plan.toml").read_bytes()
    done = discreet_here("inspect", "adult.csv", cwd=published)
    assert done.returncode == 2 and "exists already" in done.stderr
    assert (published / "adult.plan.toml").read_bytes() == before


@pytest.mark.parametrize("kind", ["parquet", "xlsx"])
def test_inspect_reads_other_files(adult: Path, tmp_path: Path, kind: str) -> None:
    frame = dc.datasets.adult_frame().head(100)
    if kind == "parquet":
        frame.write_parquet(tmp_path / "a.parquet")
    else:
        frame.write_excel(tmp_path / "a.xlsx")
    done = discreet_here("inspect", f"a.{kind}", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    columns = {c["name"]: c for c in json.loads(done.stdout)["columns"]}
    assert columns["age"]["type"] == "integer"
    assert columns["education"]["role"] == "quasi-identifier"


def test_a_promise_that_cannot_be_kept_says_what_could_be(published: Path) -> None:
    plan = (published / "adult.plan.toml").read_text()
    wrong = plan.replace('name = "k-anonymity"\nk = 10', 'name = "k-anonymity"\nk = 4000')
    (published / "wrong.toml").write_text(wrong)
    done = discreet_here("publish", "wrong.toml", "--out", "wrong", cwd=published)
    assert done.returncode == 1
    assert "the table has 3000 rows: k ≤ 3000" in done.stderr
    assert not (published / "wrong").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["inspect", "none.csv"], "no such file"),
        (["publish", "none.toml"], "cannot be read"),
        (["publish", "adult.plan.toml"], "holds a release already"),
        (["publish", "adult.plan.toml", "--format", "xml"], "give parquet or csv"),
        (["audit", "nowhere", "--microdata", "adult.csv"], "not a release"),
        (["audit", "release", "--microdata", "none.csv"], "no such file"),
        (["audit", "release", "--microdata", "adult.csv", "--report", "release/r.html"], "inside"),
        (["audit", "release", "--microdata", "adult.csv", "--preset", "x"], "no preset"),
        (["audit", "release", "--microdata", "adult.csv", "--report", "adult.csv"], "reads"),
        (["audit", "release", "--microdata", "adult.csv", "--per-person", "adult.csv"], "reads"),
        (["audit", "release", "--microdata", "adult.csv", "--report", "report.html"], "exists"),
        (["audit", "release", "--microdata", "adult.csv", "--report", "."], "is a folder"),
        (["publish", "adult.plan.toml", "--report", "adult.plan.toml", "--overwrite"], "reads"),
        (["publish", "adult.plan.toml", "--report", "x/../release/r.html"], "inside"),
        (["publish", "adult.plan.toml", "--out", "new", "--seed", "7"], "Leave it out"),
        (["publish", "adult.plan.toml", "--out", "new", "--insecure-seed", "7"], "add --insecure"),
        (["inspect", "adult.csv", "--plan", "adult.csv", "--overwrite"], "reads"),
        (["inspect", "."], "is a folder"),
        (["audit", "release"], "--microdata"),
        (["frobnicate"], "frobnicate"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_error_and_exit_2(
    published: Path, arguments: list[str], message: str
) -> None:
    before = {p: p.stat().st_mtime_ns for p in published.rglob("*")}
    done = discreet_here(*arguments, cwd=published)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr and done.stdout == ""
    assert {p: p.stat().st_mtime_ns for p in published.rglob("*")} == before


def test_a_test_release_by_a_seed_must_be_asked_for_as_what_it_is(published: Path) -> None:
    text = (published / "adult.plan.toml").read_text()
    seeded = text.replace("[release]\n", "[release]\ninsecure_seed = 7\n")
    (published / "seeded.toml").write_text(seeded)
    command = ["publish", "seeded.toml", "--out", "seeded"]
    done = discreet_here(*command, cwd=published)
    assert done.returncode == 2 and "add --insecure" in done.stderr
    assert not (published / "seeded").exists()
    done = discreet_here(*command, "--insecure", cwd=published)
    assert done.returncode == 0 and "give it to nobody" in done.stdout
    assert dc.load(published / "seeded").method == "generalization"


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that takes long enough to write, and the plan that is drafted for it."""
    folder = tmp_path_factory.mktemp("census")
    dc.datasets.census_frame(400_000).write_parquet(folder / "c.parquet")
    done = discreet_here("inspect", "c.parquet", "--plan", "p.toml", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("delay", [0.15, 0.3, 0.6])
def test_an_interrupt_leaves_nothing_half_written(
    census: Path, tmp_path: Path, name: str, delay: float
) -> None:
    for file in census.iterdir():
        (tmp_path / file.name).hardlink_to(file)
    before = {path.name for path in tmp_path.iterdir()}
    running = subprocess.Popen(
        [*COMMAND, "publish", "p.toml", "--format", "csv"],
        cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    # strike while files are being written: as soon as the draft folder shows up, and later
    while running.poll() is None and {p.name for p in tmp_path.iterdir()} == before:
        time.sleep(0.01)
    time.sleep(delay)
    running.send_signal(getattr(signal, name))
    _, errors = running.communicate(timeout=60)
    left = {path.name for path in tmp_path.iterdir()} - before
    assert left <= {"release"}
    if "release" in left:
        assert dc.load(tmp_path / "release").tables["generalized"].height == 400_000
    else:
        assert running.returncode == 130
        assert "Nothing half-written was left behind" in errors
    assert "Traceback" not in errors


def test_an_interrupt_that_strikes_native_code_is_known_for_one() -> None:
    """DuckDB says so in these words; whether it listens at all depends on its threads."""
    assert is_interrupt(KeyboardInterrupt()) and is_interrupt(RuntimeError("Query interrupted"))
    assert not is_interrupt(RuntimeError("Query failed"))


def test_the_demo_tells_its_story(tmp_path: Path) -> None:
    done = discreet("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "45,222 people" in done.stdout and "Breaches: 0" in done.stdout
    assert (tmp_path / "demo" / "report.html").is_file()
    assert dc.load(tmp_path / "demo" / "release").tables["generalized"].height == 45_222


def test_version_help_and_schema(tmp_path: Path) -> None:
    assert dc.__version__ in discreet("--version", cwd=tmp_path).stdout
    assert "inspect" in discreet("--help", cwd=tmp_path).stdout
    schema = json.loads(discreet_here("plan-schema", cwd=tmp_path).stdout)
    assert schema["title"] == "Plan"


COMMANDING = "\x1b[31mred\x1b]0;owned\x07\x9b2J\u202e"


def test_names_and_values_cannot_command_a_terminal(tmp_path: Path) -> None:
    """Escapes are spelled out, and what looks like markup is shown as it is."""
    name, value = f"col{COMMANDING}", f"[bold]x[/oops] :smile: {COMMANDING}"
    frame = pl.DataFrame(
        {name: [1, 2] * 30, "sex": [value, "F"] * 30, "ill": [value, "flu", "gout"] * 20}
    )
    frame.write_csv(tmp_path / "t.csv")
    shown = discreet_here("inspect", "t.csv", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert r"col\u001b[31mred\u001b]0;owned\u0007\u009b2J\u202e" in shown.stdout
    schema = dc.Schema.infer(frame, quasi_identifiers=[name, "sex"], sensitive=["ill"])
    release = dc.publish(dc.read(frame, schema), dc.Anatomy(dc.FrequencyDiversity(2)))
    release.write(tmp_path / "r")
    asked = "SELECT sex, COUNT(*) FROM release GROUP BY sex"
    outputs = [
        shown,
        discreet_here("query", "r", asked, cwd=tmp_path),
        discreet_here("query", "r", asked, "--json", cwd=tmp_path),
        discreet_here("query", "r", f'SELECT AVG("{COMMANDING}") FROM release', cwd=tmp_path),
        discreet_here("audit", f"no{COMMANDING}", "--microdata", "t.csv", cwd=tmp_path),
        discreet_here("columns", "t.csv", "--sensitive", "ill", cwd=tmp_path),
        discreet_here("audit", "r", "--microdata", "t.csv", "--json", cwd=tmp_path),
    ]
    assert [done.returncode for done in outputs] == [0, 0, 0, 2, 2, 0, 0]
    for done in outputs:
        assert not set(done.stdout + done.stderr) & set("\x1b\x07\x9b\u202e"), done
    assert r"[bold]x[/oops] :smile: \u001b[31mred" in outputs[1].stdout
    assert {row["sex"] for row in json.loads(outputs[2].stdout)["rows"]} == {value, "F"}


def test_words_that_look_like_markup_are_shown_as_they_are(tmp_path: Path) -> None:
    for word in ("[bold]x[/oops]", ":smile:", "[link=file:///etc]y[/link]"):
        frame = pl.DataFrame({word: [1, 2] * 5, "ill": ["flu", "gout"] * 5})
        frame.write_csv(tmp_path / "t.csv")
        done = discreet_here("inspect", "t.csv", "--overwrite", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert word in done.stdout


def test_too_little_memory_is_one_error() -> None:
    """Libraries that find no room when they are loaded say it in their own way."""
    said = _explain(MemoryError())
    assert said.startswith("There is not enough memory") and "Hint: Allow for more" in said
    said = _explain(OSError("Could not load libllvmlite.so"))
    assert said.startswith("Could not load libllvmlite.so\nHint: Allow for more memory")
    assert _explain(OSError(28, "No space left on device")) == (
        "standard output: No space left on device."
    )


@pytest.mark.parametrize("fault", ["RuntimeError('oops')", "BaseException('panic')"])
def test_a_fault_of_ours_is_no_breach(tmp_path: Path, fault: str) -> None:
    """Exit code 1 is a finding about a release; a traceback is none."""
    script = f"""
import sys
from discreet.release import store
from discreet.cli import main
def fail(*_):
    raise {fault}
store.load = fail
sys.argv = ["discreet", "query", "r", "SELECT COUNT(*) FROM release"]
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 70
    assert "Traceback" in done.stderr and "This is a fault in discreet" in done.stderr


@pytest.mark.parametrize("number", ["1e99999999", "1e9_9999999", "1/1e99999999", "9" * 5000])
def test_a_number_without_end_in_a_plan_is_refused_at_once(
    published: Path, tmp_path: Path, number: str
) -> None:
    plan = (published / "adult.plan.toml").read_text()
    promise = f'name = "frequency-diversity"\nl = "{number}"'
    plan = plan.replace('name = "k-anonymity"\nk = 10', promise)
    plan = plan.replace('"adult.csv"', f'"{published / "adult.csv"}"')
    (tmp_path / "p.toml").write_text(plan)
    done = discreet_here("publish", "p.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "give a number from 1" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["plan.toml", "evidence/evidence.json", "tree.csv"])
def test_devices_and_pipes_are_not_read(published: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "evidence").mkdir()
    plan = (published / "adult.plan.toml").read_text()
    plan = plan.replace('"adult.csv"', f'"{published / "adult.csv"}"')
    plan = plan.replace(
        "[method]", '[columns.x]\nrole = "other"\ntaxonomy = { file = "tree.csv" }\n[method]'
    )
    (tmp_path / "good.toml").write_text(plan)
    command = {
        "plan.toml": ["publish", "plan.toml"],
        "evidence/evidence.json": ["verify", "evidence", str(published / "release")],
        "tree.csv": ["publish", "good.toml"],
    }[name]
    for make in (os.mkfifo, lambda path: path.symlink_to("/dev/zero")):
        make(tmp_path / name)
        done = discreet_here(*command, cwd=tmp_path)
        assert done.returncode == 2
        assert "cannot be read" in done.stderr and "not a plain file" in done.stderr
        (tmp_path / name).unlink()


def shell(line: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which $discreet is the command."""
    program = 'import sys; sys.argv[0] = "discreet"; from discreet.cli import main; main()'
    command = f"discreet() {{ {sys.executable} -c '{program}' \"$@\"; }}"
    return subprocess.run(
        ["bash", "-c", f"{command}; {line}"], cwd=cwd, capture_output=True, text=True, check=False,
        env={**os.environ, **environment}, errors="replace",
    )  # fmt: skip


def test_completion_answers(tmp_path: Path) -> None:
    asked = {
        "COMP_WORDS": "discreet insp",
        "COMP_CWORD": "1",
        "_DISCREET_COMPLETE": "complete_bash",
    }
    done = shell("discreet", tmp_path, **asked)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "inspect", "")
    done = shell("discreet", tmp_path, _DISCREET_COMPLETE="source_bash")
    assert done.returncode == 0 and "complete" in done.stdout


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("discreet audit release --microdata adult.csv --preset cell-11 | true", 141),
        ("discreet --help | true", 141),
        ("discreet inspect none.csv 2>/dev/full", 2),
        ("discreet --bogus 2>/dev/full", 2),
        ("discreet inspect none.csv 2>&-", 2),
        ("discreet verify release release >&-", 2),
        ("discreet audit release --microdata adult.csv >&- 2>&-", 0),
        ("discreet audit release --microdata adult.csv --preset cell-11 >&- 2>&-", 1),
        ("discreet audit release --microdata adult.csv --preset cell-11 >/dev/full", 2),
    ],
)
def test_nobody_who_listens_is_no_finding(published: Path, line: str, code: int) -> None:
    """Exit code 1 means a breach and 0 that there is none, also where nothing can be said."""
    done = shell(f"set -o pipefail; {line}", published)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin1", "utf-8"])
def test_every_encoding_of_the_screen_is_served(tmp_path: Path, encoding: str) -> None:
    pl.DataFrame({"äge": [1, 2, 3], "pay ε": [1, 5, 9]}).write_csv(tmp_path / "t.csv")
    for command in ("inspect t.csv --overwrite", "tradeoff t.csv --sensitive 'pay ε'"):
        done = shell(f"discreet {command}", tmp_path, PYTHONIOENCODING=encoding)
        assert done.returncode == 0, done.stderr
    line = "discreet inspect t.csv --overwrite --json"
    raw = subprocess.run(
        [*COMMAND, *line.split()[1:]], cwd=tmp_path, capture_output=True, check=True,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    ).stdout  # fmt: skip
    assert json.loads(raw.decode(encoding))["columns"][0]["name"] == "äge"


def test_a_file_whose_name_is_not_utf8_is_one_error(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"bad\xff.csv")).write_text("a,b\n1,2\n")
    done = shell("discreet inspect $'bad\\xff.csv'", tmp_path)
    assert done.returncode == 2 and "its name is not UTF-8" in done.stderr


def test_a_plan_drafted_for_odd_names_is_a_plan(tmp_path: Path) -> None:
    """What commands a terminal commands nothing in the plan either."""
    odd = f"salary{COMMANDING}\x7f\u061c"
    frame = pl.DataFrame({"age": [*range(30)] * 2, odd: [*"abcdef"] * 10})
    frame.write_csv(tmp_path / "t.csv")
    assert discreet_here("inspect", "t.csv", cwd=tmp_path).returncode == 0
    text = (tmp_path / "t.plan.toml").read_text(encoding="utf-8")
    assert not set(text) & set("\x1b\x07\x9b\u202e\x7f\u061c")
    assert odd in dc.Plan.read(tmp_path / "t.plan.toml").schema.names
    done = discreet_here("publish", "t.plan.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for typed in (f"--x{COMMANDING}", f"a{COMMANDING}"):
        done = discreet_here("inspect", "t.csv", typed, cwd=tmp_path)
        assert done.returncode == 2
        assert not set(done.stdout + done.stderr) & set("\x1b\x07\x9b\u202e")


def test_commands_that_are_shown_can_be_copied(tmp_path: Path) -> None:
    odd = "people of [2026].csv"
    frame = pl.DataFrame({"age": [*range(15)] * 2, "disease": [*"abc"] * 10})
    frame.write_csv(tmp_path / odd)
    shown = discreet_here("inspect", odd, cwd=tmp_path).stdout
    command = shown.rstrip().splitlines()[-1].split("then: ")[1]
    assert shell(command, tmp_path).returncode == 0


def test_nothing_is_needed_that_a_bare_machine_lacks(published: Path, tmp_path: Path) -> None:
    """No home, no language, no terminal; in a folder whose name has spaces and other letters."""
    place = tmp_path / "Büro Zürich 北"
    place.mkdir()
    plan = (published / "adult.plan.toml").read_text()
    plan = plan.replace('"adult.csv"', f'"{published / "adult.csv"}"')
    (place / "größe.toml").write_text(plan, encoding="utf-8")
    bare = {"LC_ALL": "C", "HOME": "/nowhere", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [*COMMAND, "publish", "größe.toml", "--out", "für alle", "--report", "prüfung 1.html"],
        cwd=place, capture_output=True, check=False, env=bare,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert {path.name for path in place.iterdir()} == {"größe.toml", "für alle", "prüfung 1.html"}
    assert dc.load(place / "für alle").tables["generalized"].height == 3000
