"""Scenes: what is done while the disk fails, and what must hold of what is there afterwards.

Of every place that is written, the earlier content is there or the new one: never neither, and
never half.
"""

from __future__ import annotations

import errno
import json
import os
import pickle
import random
import shutil
import sqlite3
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

ERRORS = {"ENOSPC": errno.ENOSPC, "EIO": errno.EIO, "EROFS": errno.EROFS}
TEMPORARY = "tmp"
KEPT_BEFORE = "earlier"
PEOPLE = 24
PLAN = """
[source]
file = "{file}"
{person}
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
name = "{method}"
[[method.principles]]
name = "{principle}"
{letter} = {value}
[release]
folder = "out"
"""
AUDIT = ("audit", "out", "--microdata", "people.csv", "--evidence", "evidence")
CONTENDERS = """
[[compare]]
name = "generalization"
principles = [{ name = "frequency-diversity", l = 2 }]
[[compare]]
name = "anatomy"
principles = [{ name = "frequency-diversity", l = 2 }]
"""


class Disk(Protocol):
    """Fails when it is told to."""

    cleanable: bool
    """Whether what was left can be removed, while it fails."""

    def fail(self) -> None: ...
    def heal(self) -> None: ...


def write_people(path: Path, *, first: int = 0) -> None:
    """Write people, each with a key; some are in every table."""
    drawn = random.Random(3)
    rows = [(i, drawn.randrange(20, 60), drawn.choice("abcd"), drawn.randrange(1, 9) * 100)
            for i in range(PEOPLE + first)][first:]  # fmt: skip
    lines = ["pid,age,town,pay", *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_plan(
    path: Path, principle: str = "k-anonymity", value: int = 3, *, file: str = "people.csv",
    method: str = "generalization", person: str = "", more: str = "",
) -> None:  # fmt: skip
    letter = {"k-anonymity": "k", "m-invariance": "m"}.get(principle, "l")
    text = PLAN.format(file=file, person=person, method=method, principle=principle,
                       letter=letter, value=value)  # fmt: skip
    path.write_text(text + more, encoding="utf-8")


def command(place: Path, *arguments: str) -> int:
    """Ask the command line, standing in the folder."""
    import sys

    from discreet.cli import main

    os.chdir(place)
    sys.argv = ["discreet", *arguments]
    try:
        main()
    except SystemExit as stopped:
        return int(stopped.code or 0)
    return 0


def begin_alone(place: Path) -> None:
    write_people(place / "people.csv")
    write_plan(place / "plan.toml")
    write_plan(place / "other.toml", value=PEOPLE)  # goes together with whatever was out


def begin_with_release(place: Path) -> None:
    begin_alone(place)
    assert command(place, "publish", "plan.toml", "--report", "page.html") == 0


def begin_with_ledger(place: Path) -> None:
    begin_alone(place)
    assert command(place, "ledger", "init", "book", "--source", "people") == 0


def begin_with_history(place: Path) -> None:
    begin_with_ledger(place)
    assert command(place, "publish", "plan.toml", "--ledger", "book") == 0


def begin_republication(place: Path) -> None:
    begin_with_ledger(place)
    named = {"method": "republication", "person": 'person = "pid"'}
    write_plan(place / "plan.toml", "m-invariance", 2, **named)


def begin_second_version(place: Path) -> None:
    begin_republication(place)
    assert command(place, "publish", "plan.toml", "--ledger", "book") == 0
    write_people(place / "people.csv", first=4)


def begin_in_parts(place: Path) -> None:
    import polars as pl

    begin_alone(place)
    pl.read_csv(place / "people.csv").write_parquet(place / "people.parquet")
    write_plan(place / "plan.toml", file="people.parquet")


def begin_compare(place: Path) -> None:
    write_people(place / "people.csv")
    write_plan(place / "plan.toml", "frequency-diversity", 2, more=CONTENDERS)


def begin_evidence(place: Path) -> None:
    begin_with_release(place)
    assert command(place, *AUDIT) == 0


def begin_export(place: Path) -> None:
    """The workbook is of another release, or the new one would be the same to the byte."""
    begin_alone(place)
    assert command(place, "publish", "other.toml") == 0
    assert command(place, "export", "out", "--to", "table.xlsx") == 0
    assert command(place, "publish", "plan.toml", "--overwrite") == 0


def begin_catalog(place: Path) -> None:
    begin_with_release(place)
    assert command(place, "install", "out", "--into", "kept.duckdb", "--schema", "mine") == 0


def ask_studio(place: Path, work: str, *given: Any) -> int:
    """Have done what a worker of the studio does."""
    from discreet.errors import DiscreetError
    from discreet.studio.workers import find_work

    os.chdir(place)
    try:
        find_work(work)(*given, tell=lambda *_: None)
    except DiscreetError as error:
        import sys

        print(f"Error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def publish_in_studio(place: Path) -> int:
    return ask_studio(place, "publish.write", place / "other.toml", place, "book", True)


def compare_in_studio(place: Path) -> int:
    return ask_studio(place, "choose.run", place / "plan.toml", place, 20, [])


# what must hold of a file or folder that is new


def is_release(path: Path) -> None:
    import discreet as dc
    from discreet.forms.verify import verify

    verify(dc.load(path))


def is_page(path: Path) -> None:
    text = path.read_text("utf-8").strip().lower()
    assert text.startswith("<!doctype") and text.endswith("</html>")


def is_text(path: Path) -> None:
    assert path.read_text("utf-8").endswith("\n")


def is_evidence(path: Path) -> None:
    from discreet.steward.evidence import check_evidence

    salt = path.with_name(f"{path.name}.salt")
    problems = check_evidence(path, path.parent / "out", path.parent / "people.csv", salt)
    assert not problems, problems


def is_workbook(path: Path) -> None:
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None


def is_catalog(path: Path) -> None:
    import duckdb

    with duckdb.connect(str(path), read_only=True) as connection:
        asked = "SELECT schema_name, count(*) FROM duckdb_tables() GROUP BY 1"
        held = dict(connection.execute(asked).fetchall())
        for schema in held:
            connection.execute(f'SELECT count(*) FROM "{schema}".about').fetchall()
        assert set(held.values()) == {4}, held


def is_plan(path: Path) -> None:
    import discreet as dc

    dc.Plan.read(path)


def is_json(path: Path) -> None:
    json.loads(path.read_text("utf-8"))


def is_ledger(path: Path) -> None:
    import discreet as dc

    dc.Ledger(path.parent)


def check_ledger(place: Path, *, finished: bool) -> None:
    """Hold the ledger against what is out; the same places as the user sees them."""
    import discreet as dc
    from discreet.release.store import MANIFEST, fingerprint

    book = dc.Ledger(place / "book")
    entries = book.entries
    for entry in entries:
        assert entry.state in ("pending", "published", "withdrawn"), entry
        if entry.state != "withdrawn":
            book.load(entry)
    recorded = [entry.files for entry in entries if entry.state != "withdrawn"]
    out = {path.name: fingerprint(path) for path in place.iterdir() if (path / MANIFEST).exists()
           and not path.name.startswith(".")}  # fmt: skip
    for name, files in out.items():
        assert files in recorded, f"{name} is out, and the ledger has it as no release"
    for entry in entries:
        if entry.state == "published" and entry is entries[-1]:
            assert out.get(Path(entry.folder).name) == entry.files, f"{entry.name} is not out"
    if finished:
        assert all(entry.state != "pending" for entry in entries)
        copies = {path.name for path in (place / "book" / "releases").iterdir()}
        assert copies >= {e.name for e in entries if e.state != "withdrawn"}, copies
        assert copies <= {entry.name for entry in entries}, copies
    with closing(sqlite3.connect(place / "book" / "lock.sqlite", timeout=0)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        lock.rollback()


@dataclass(frozen=True)
class Scene:
    """Something that is done in a folder, and what it writes there."""

    begin: Callable[[Path], None]
    act: Callable[[Path], int]
    written: dict[str, Callable[[Path], None]]
    """Every file or folder it writes, and what must hold of it; else it is as before."""
    has_ledger: bool = False
    apart: bool = False
    """Whether what it writes comes one by one, each whole."""
    mixed: bool = False
    """Whether who is killed may leave earlier and new ones together, which verification refuses."""
    kept: dict[str, Callable[[Path], None]] = field(default_factory=dict)
    """What may be there besides."""
    again: Callable[[Path], int] | None = None
    """What the next run is asked, where it is told to write over what is there."""

    def prepare(self, place: Path) -> None:
        """Make what is there before."""
        shutil.rmtree(place, ignore_errors=True)
        (place / TEMPORARY).mkdir(parents=True)
        self.settle_in(place)
        self.begin(place)
        found = {path.name: take_print(path) for path in place.iterdir() if path.name != TEMPORARY}
        (place.parent / KEPT_BEFORE).write_bytes(pickle.dumps(found))

    def settle_in(self, place: Path) -> None:
        """Have temporary files in the folder, where they are counted."""
        os.environ["TMPDIR"] = str(place / TEMPORARY)
        tempfile.tempdir = None

    def strike(self, place: Path, disk: Disk) -> None:
        """Act while the disk fails; say what does not hold then, unless this is the end."""
        self.settle_in(place)
        disk.fail()
        code = self.act(place)
        disk.heal()
        ended = code if disk.cleanable or code == 0 else None
        self._say(place, self.judge(place, ended, cleanable=disk.cleanable))

    def recover(self, place: Path) -> None:
        """Say what does not hold after an end, and after another run."""
        self.settle_in(place)
        problems = self.judge(place, None)
        code = (self.again or self.act)(place)
        if code not in (0, 2):
            problems.append(f"the next run ends with {code}")
        # with 2 it says that what was interrupted is whole already, or is now
        self._say(place, problems + self.judge(place, 0, again=True))

    def _say(self, place: Path, problems: list[str]) -> None:
        (place.parent / "problems").write_text(json.dumps(problems), encoding="utf-8")

    def judge(
        self, place: Path, code: int | None, *, again: bool = False, cleanable: bool = True
    ) -> list[str]:
        """Say what does not hold: after an end (no code), an error, or when all is well.

        Drafts stay where nothing could be removed; the next run does that.
        """
        before = pickle.loads((place.parent / KEPT_BEFORE).read_bytes())
        problems, news = [], set()
        for name, must in self.written.items():
            now = take_print(place / name)
            if now == before.get(name):
                continue
            news.add(name)
            if self.mixed and code is None:
                continue
            try:
                must(place / name)
            except BaseException as error:
                problems.append(f"{name} is half: {type(error).__name__}: {error}")
        if not self.apart and code is not None and news and news != set(self.written):
            problems.append(f"of what is written only {sorted(news)} is new")
        if code == 0 and news != set(self.written):
            problems.append(f"done, and only {sorted(news)} is new")
        if self.has_ledger:
            try:
                check_ledger(place, finished=again)
            except BaseException as error:
                problems.append(f"the ledger: {type(error).__name__}: {error}")
        for name, stamp in before.items():
            if name not in self.written and name != "book" and take_print(place / name) != stamp:
                problems.append(f"{name} was changed")
        if code is not None and cleanable:
            written = (Path(name).parts[0] for name in self.written)
            known = {*before, *self.kept, TEMPORARY, *written}
            # Python tries temporary folders by a file that says "blat", which stays if it is killed
            strange = [path for path in place.iterdir() if path.name not in known]
            strange += [path for path in (place / TEMPORARY).iterdir() if not path.is_file()]
            strange += place.glob("*/.*")
            problems += [f"{path.relative_to(place)} was left" for path in strange]
        return problems


def take_print(path: Path) -> Any:
    """Tell a file or folder from any other, by what it holds."""
    if path.is_dir():
        return {part.name: take_print(part) for part in sorted(path.iterdir())}
    with suppress(FileNotFoundError):
        return path.read_bytes()
    return None


def run(*arguments: str) -> Callable[[Path], int]:
    return partial(_run, arguments)


def _run(arguments: Sequence[str], place: Path) -> int:
    return command(place, *arguments)


OUT = {"out": is_release}
COMPARED = {"comparison/comparison.json": is_json, "comparison/comparison.html": is_page}
PAGED = {"out": is_release, "page.html": is_page}
EVIDENCE = {"evidence": is_evidence, "evidence.salt": is_text}
SCENES = {
    "publish": Scene(
        begin_alone, run("publish", "plan.toml", "--report", "page.html"), PAGED,
        again=run("publish", "plan.toml", "--report", "page.html", "--overwrite"),
    ),
    "overwrite": Scene(
        begin_with_release,
        run("publish", "other.toml", "--overwrite", "--report", "page.html"), PAGED,
    ),
    "ledger": Scene(
        begin_with_ledger, run("publish", "plan.toml", "--ledger", "book"), OUT, has_ledger=True
    ),
    "ledger-overwrite": Scene(
        begin_with_history, run("publish", "other.toml", "--ledger", "book", "--overwrite"), OUT,
        has_ledger=True,
    ),
    "republish-first": Scene(
        begin_republication, run("publish", "plan.toml", "--ledger", "book"), OUT, has_ledger=True
    ),
    "republish": Scene(
        begin_second_version,
        run("publish", "plan.toml", "--ledger", "book", "--out", "later"),
        {"later": is_release}, has_ledger=True,
    ),
    "ledger-init": Scene(
        begin_alone, run("ledger", "init", "book", "--source", "people"),
        {"book/ledger.sqlite": is_ledger},
    ),
    "in-parts": Scene(
        begin_in_parts, run("publish", "plan.toml", "--memory", "1KB"), OUT,
        again=run("publish", "plan.toml", "--memory", "1KB", "--overwrite"),
    ),
    "dry-run": Scene(begin_alone, run("publish", "plan.toml", "--dry-run"), {}),
    "evidence": Scene(
        begin_with_release, run(*AUDIT), EVIDENCE, again=run(*AUDIT, "--overwrite"),
        mixed=True,
    ),
    "evidence-overwrite": Scene(
        begin_evidence, run(*AUDIT, "--overwrite"), EVIDENCE, mixed=True
    ),
    "compare": Scene(
        begin_compare, run("compare", "plan.toml", "--questions", "20", "--to", "tried.comparison"),
        {f"tried.{name}": must for name, must in COMPARED.items()}, apart=True,
    ),
    "export-xlsx": Scene(
        begin_export, run("export", "out", "--to", "table.xlsx", "--overwrite"),
        {"table.xlsx": is_workbook},
    ),
    "install-new": Scene(
        begin_with_release, run("install", "out", "--into", "new.duckdb"),
        {"new.duckdb": is_catalog},
    ),
    "install-more": Scene(
        begin_catalog, run("install", "out", "--into", "kept.duckdb", "--overwrite"),
        {"kept.duckdb": is_catalog}, kept={"kept.duckdb.wal": is_text},
    ),
    "inspect": Scene(
        begin_alone, run("inspect", "people.csv", "--plan", "new.toml"), {"new.toml": is_plan}
    ),
    "studio-publish": Scene(begin_with_history, publish_in_studio, OUT, has_ledger=True),
    "studio-compare": Scene(
        begin_compare, compare_in_studio,
        {f"plan.{name}": must for name, must in COMPARED.items()}, apart=True,
    ),
}  # fmt: skip
