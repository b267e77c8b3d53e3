"""Store: whole or not at all, verified as bytes, readable by others."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import polars as pl
import pytest

import discreet as dc
from discreet import files
from discreet.release import Release, store
from samples import angel_table_1a, reseal


@pytest.fixture
def release() -> Release:
    return dc.publish(angel_table_1a(), dc.Generalization(dc.FrequencyDiversity(2)))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def change(folder: Path, field: str, value: object) -> None:
    manifest = json.loads((folder / "datapackage.json").read_text())
    manifest["discreet"][field] = value
    (folder / "datapackage.json").write_text(json.dumps(manifest))


def test_a_release_is_never_replaced_without_being_asked(release: Release, tmp_path: Path) -> None:
    folder = release.write(tmp_path / "r")
    before = (folder / "datapackage.json").read_bytes()
    with pytest.raises(dc.errors.StoreError, match="holds a release already"):
        dc.publish(angel_table_1a(), dc.Generalization(dc.KAnonymity(2))).write(folder)
    assert (folder / "datapackage.json").read_bytes() == before
    other = dc.publish(angel_table_1a(), dc.Generalization(dc.KAnonymity(2)))
    other.write(folder, overwrite=True)
    assert dc.load(folder).promise.principle == dc.KAnonymity(2)
    assert names(tmp_path) == {"r"}


def test_a_release_that_is_spent_is_written_as_any_other(release: Release, tmp_path: Path) -> None:
    kept = release.write(tmp_path / "kept")
    folder = tmp_path / "spent"
    store.write(release, folder, format="parquet", overwrite=False, spend=True)
    assert store.fingerprint(folder) == store.fingerprint(kept)
    assert not release.tables


def test_a_folder_that_is_no_release_is_never_replaced(release: Release, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(dc.errors.StoreError, match="not a release"):
        release.write(tmp_path, overwrite=True)
    (tmp_path / "datapackage.json").write_text("{}")
    with pytest.raises(dc.errors.StoreError, match="not a release"):
        release.write(tmp_path, overwrite=True)
    assert names(tmp_path) == {"thesis.tex", "datapackage.json"}
    folder = release.write(tmp_path / "r")
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(dc.errors.StoreError, match=r"holds notes\.txt"):
        release.write(folder, overwrite=True)
    assert (folder / "notes.txt").is_file()


def test_an_empty_folder_is_taken(release: Release, tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    assert dc.load(release.write(tmp_path / "r")).method == "generalization"


@pytest.mark.parametrize(
    "step", ["release.store._write_files", "forms.verify.verify", "release.store._put_in_place"]
)
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_at_any_step_leaves_nothing(
    release: Release,
    tmp_path: Path,
    step: str,
    error: BaseException,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release.write(tmp_path / "old")
    before = (tmp_path / "old" / "datapackage.json").read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(f"discreet.{step}", fail)
    for target, overwrite in (("new", False), ("old", True)):
        with pytest.raises((dc.errors.StoreError, KeyboardInterrupt)):
            release.write(tmp_path / target, overwrite=overwrite)
    assert names(tmp_path) == {"old"}
    assert (tmp_path / "old" / "datapackage.json").read_bytes() == before


def test_what_is_verified_is_the_folder_on_disk(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer that garbles the file is caught, although the release in memory is good."""
    honest = store._write_files

    def garble(made: Release, draft: Path, format: str) -> None:
        honest(made, draft, format)  # type: ignore[arg-type]
        table = pl.read_parquet(draft / "generalized.parquet")
        table.with_columns(disease=pl.lit("flu")).write_parquet(draft / "generalized.parquet")
        reseal(draft)

    monkeypatch.setattr(store, "_write_files", garble)
    with pytest.raises(dc.errors.PromiseError, match="broken in 2 of 2 groups"):
        release.write(tmp_path / "r")
    assert names(tmp_path) == set()


def test_two_classes_with_one_box_are_one_group_to_the_verifier(
    release: Release, tmp_path: Path
) -> None:
    folder = release.write(tmp_path / "r", format="csv")
    table = pl.read_csv(folder / "generalized.csv").with_columns(
        pl.Series("class", [0, 1, 2, 3, 4, 5, 6, 7])
    )
    table.write_csv(folder / "generalized.csv")
    reseal(folder)
    assert dc.audit(folder, angel_table_1a()).groups == 2


def test_a_label_that_tells_more_than_its_ends_is_refused(release: Release, tmp_path: Path) -> None:
    folder = release.write(tmp_path / "r", format="csv")
    table = pl.read_csv(folder / "generalized.csv").with_columns(age_low=-999)
    table.write_csv(folder / "generalized.csv")
    reseal(folder)
    with pytest.raises(dc.errors.StoreError, match=r"does not say what its ends say: \[-999, "):
        dc.audit(folder, angel_table_1a())


def test_a_column_nobody_declared_is_refused_also_in_csv(release: Release, tmp_path: Path) -> None:
    folder = release.write(tmp_path / "r", format="csv")
    table = pl.read_csv(folder / "generalized.csv").with_columns(name=pl.lit("Alan"))
    table.write_csv(folder / "generalized.csv")
    reseal(folder)
    with pytest.raises(dc.errors.StoreError, match="undeclared column 'name'"):
        dc.audit(folder, angel_table_1a())


def test_rows_of_a_class_that_differ_are_refused(release: Release, tmp_path: Path) -> None:
    folder = release.write(tmp_path / "r", format="csv")
    table = pl.read_csv(folder / "generalized.csv")
    table = table.with_columns(pl.Series("age_low", [21, 22, *table["age_low"][2:]]))
    table.write_csv(folder / "generalized.csv")
    reseal(folder)
    with pytest.raises(dc.errors.StoreError, match="row 2 differs from its class"):
        dc.audit(folder, angel_table_1a())


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "datapackage.json").unlink(), "not a release"),
        (lambda f: (f / "datapackage.json").write_text("{}"), "json: name: Field required"),
        (lambda f: (f / "datapackage.json").write_text("[" * 9999), "is not JSON"),
        (lambda f: (f / "datapackage.json").write_text("3"), "json: Input should be an object"),
        (lambda f: change(f, "promise", {"principles": []}), r"promise\.principles: "),
        (lambda f: change(f, "parameters", None), r"discreet\.parameters: "),
        (lambda f: change(f, "attributes", [{"name": 5}]), r"attributes\[0\]\.name: "),
        (lambda f: change(f, "promise", {"principles": ["k"]}), r"principles\[0\]: "),
        (
            lambda f: (
                pl.read_parquet(f / "generalized.parquet")
                .clear()
                .write_parquet(f / "generalized.parquet"),
                reseal(f),
            ),
            "has no rows",
        ),
        (
            lambda f: (
                pl.read_parquet(f / "generalized.parquet")
                .cast(pl.String)
                .write_parquet(f / "generalized.parquet"),
                reseal(f),
            ),
            "is not of type integer",
        ),
        (
            lambda f: ((f / "generalized.parquet").write_bytes(b"x"), reseal(f)),
            "cannot be read",
        ),
        (lambda f: (f / "generalized.parquet").unlink(), "cannot be read"),
    ],
    ids=[
        "no manifest",
        "other manifest",
        "deep",
        "number",
        "promise",
        "parameters",
        "attributes",
        "principles",
        "empty",
        "types",
        "garbled table",
        "no table",
    ],
)
def test_a_damaged_release_is_refused(
    release: Release, tmp_path: Path, damage: object, message: str
) -> None:
    folder = release.write(tmp_path / "r")
    damage(folder)  # type: ignore[operator]
    with pytest.raises(dc.errors.StoreError, match=message):
        dc.load(folder)


def test_a_manifest_cannot_point_outside_its_folder(release: Release, tmp_path: Path) -> None:
    folder = release.write(tmp_path / "r")
    manifest = json.loads((folder / "datapackage.json").read_text())
    manifest["resources"][0]["path"] = "../secret.parquet"
    (folder / "datapackage.json").write_text(json.dumps(manifest))
    with pytest.raises(dc.errors.StoreError, match="not a table of this release"):
        dc.load(folder)


def test_names_that_could_carry_sql_are_refused(release: Release, tmp_path: Path) -> None:
    folder = release.write(tmp_path / "r")
    table = pl.read_parquet(folder / "generalized.parquet")
    table.rename({"disease": 'x" int); DROP TABLE y; --'}).write_parquet(
        folder / "generalized.parquet"
    )
    with pytest.raises(dc.errors.StoreError, match="not the name of a column"):
        dc.load(reseal(folder))
    manifest = json.loads((folder / "datapackage.json").read_text())
    manifest["resources"][0]["name"] = 'generalized"; DROP TABLE y; --'
    (folder / "datapackage.json").write_text(json.dumps(manifest))
    with pytest.raises(dc.errors.StoreError, match="not the name of a table"):
        dc.load(folder)


@pytest.mark.parametrize("format", ["parquet", "csv"])
@pytest.mark.parametrize("how", ["cut", "flipped", "replaced", "folder"])
def test_no_answer_comes_from_a_table_that_was_damaged(
    release: Release, tmp_path: Path, format: str, how: str
) -> None:
    """Whatever happened to the bytes of a table, they are not those the manifest speaks of."""
    folder = release.write(tmp_path / "r", format=format)  # type: ignore[arg-type]
    path = folder / f"generalized.{format}"
    content = path.read_bytes()
    if how == "cut":
        path.write_bytes(content[: content.rfind(b"\n", 0, -1) + 1])
    elif how == "flipped":
        path.write_bytes(content[:-20] + bytes([content[-20] ^ 1]) + content[-19:])
    elif how == "replaced":
        other = dc.publish(angel_table_1a(), dc.Generalization(dc.KAnonymity(8)))
        written = other.write(tmp_path / "other", format=format)  # type: ignore[arg-type]
        path.write_bytes((written / path.name).read_bytes())
    else:
        path.unlink()
        path.mkdir()
        (path / path.name).write_bytes(content)
    message = "cannot be read" if how == "folder" else "is not what was published"
    with pytest.raises(dc.errors.StoreError, match=message):
        dc.load(folder)
    done = subprocess.run(
        [sys.executable, "-c", "from discreet.cli import main; main()", "query", str(folder),
         "SELECT COUNT(*) FROM release"], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and done.stdout == ""


def test_releases_written_before_there_were_seals_and_forms_are_still_read(
    release: Release, tmp_path: Path
) -> None:
    folder = release.write(tmp_path / "r")
    manifest = json.loads((folder / "datapackage.json").read_text())
    assert manifest["discreet"].pop("form") == "generalized"
    for resource in manifest["resources"]:
        del resource["bytes"], resource["hash"]
    (folder / "datapackage.json").write_text(json.dumps(manifest))
    assert dc.load(folder).tables["generalized"].equals(release.tables["generalized"])
    for field, value in (("hash", "md5:0"), ("hash", 5), ("bytes", "many"), ("bytes", 1e400)):
        seal = {"hash": f"sha256:{'0' * 64}", "bytes": 1, field: value}
        changed = {**manifest, "resources": [{**r, **seal} for r in manifest["resources"]]}
        (folder / "datapackage.json").write_text(json.dumps(changed))
        with pytest.raises(dc.errors.StoreError):
            dc.load(folder)


@pytest.mark.parametrize("name", ["study [2026]", "rel*", "what?", "{a,b}", "~", "100%"])
def test_names_that_look_like_patterns_are_names(
    release: Release, tmp_path: Path, name: str
) -> None:
    other = dc.publish(angel_table_1a(), dc.Generalization(dc.KAnonymity(8)))
    for near in ("study 2", "rel", "rel1", "whatx", "a", "b"):
        other.write(tmp_path / near)
    folder = release.write(tmp_path / name)
    assert dc.load(folder).tables["generalized"].equals(release.tables["generalized"])
    assert dc.load(folder).query("SELECT COUNT(*) FROM release").estimate == 8
    dc.audit(folder, angel_table_1a()).require_kept()


@pytest.mark.parametrize("what", ["pipe", "device", "folder", "large"])
def test_a_manifest_that_is_no_plain_file_is_refused_at_once(
    release: Release, tmp_path: Path, what: str
) -> None:
    path = release.write(tmp_path / "r") / "datapackage.json"
    if what == "large":
        os.truncate(path, files.LARGEST_TEXT + 1)
    else:
        path.unlink()
    if what == "pipe":
        os.mkfifo(path)
    elif what == "device":
        path.symlink_to("/dev/zero")
    elif what == "folder":
        path.mkdir()
    with pytest.raises(dc.errors.StoreError, match=r"datapackage\.json cannot be read"):
        dc.load(tmp_path / "r")


@pytest.mark.parametrize("number", ["1e99999999", "1e-99999999", "9" * 5000, "1/" + "3" * 5000])
def test_a_number_that_has_no_end_is_refused_at_once(
    release: Release, tmp_path: Path, number: str
) -> None:
    folder = release.write(tmp_path / "r")
    change(folder, "promise", {
        "principles": [{"name": "frequency-diversity", "l": number}], "guarantee": "",
        "leaves_open": [],
    })  # fmt: skip
    with pytest.raises(dc.errors.StoreError, match="give a number"):
        dc.load(folder)


def test_a_real_full_disk_leaves_nothing(release: Release, tmp_path: Path) -> None:
    """A process that may write only a kilobyte per file stands for a disk that is full."""
    script = (
        "import resource, signal, discreet as dc, polars as pl\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "f = pl.DataFrame({'a': range(2000), 's': ['x', 'y'] * 1000})\n"
        "d = dc.read(f, dc.Schema.infer(f, quasi_identifiers=['a'], sensitive=['s']))\n"
        "r = dc.publish(d, dc.Generalization(dc.KAnonymity(2)))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))\n"
        f"r.write({str(tmp_path / 'r')!r})\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=os.environ, check=False
    )
    assert done.returncode != 0
    assert "StoreError" in done.stderr and "cannot be written" in done.stderr
    assert names(tmp_path) == set()


def test_the_manifest_passes_the_frictionless_validator(release: Release, tmp_path: Path) -> None:
    from frictionless import Package, validate

    folder = release.write(tmp_path / "r", format="csv")
    report = validate(str(folder / "datapackage.json"))
    assert report.valid, report.flatten(["type", "message"])
    assert Package(str(folder / "datapackage.json")).get_resource("generalized").schema.field_names


def test_the_readme_says_what_is_and_is_not_protected(release: Release, tmp_path: Path) -> None:
    text = (release.write(tmp_path / "r") / "README.md").read_text()
    assert "probability above 1/2" in text
    assert "## What is not protected" in text and "minimality" in text
    assert "`age_low`" in text


def test_where_a_link_lies_its_target_is_written(release: Release, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to("disk/r")
    assert dc.load(release.write(tmp_path / "link")).method == "generalization"
    other = dc.publish(angel_table_1a(), dc.Generalization(dc.KAnonymity(2)))
    with pytest.raises(dc.errors.StoreError, match="holds a release already"):
        other.write(tmp_path / "link")
    other.write(tmp_path / "link", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert dc.load(tmp_path / "disk" / "r").promise.principle == dc.KAnonymity(2)
    assert names(tmp_path) == {"disk", "link"} and names(tmp_path / "disk") == {"r"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_of_many_that_publish_to_one_new_folder_one_does(tmp_path: Path, overwrite: bool) -> None:
    """Each writes a release of its own; one stands at the end, whole."""
    made = [dc.publish(angel_table_1a(), dc.Generalization(dc.KAnonymity(k))) for k in (2, 4, 8)]
    start = Barrier(20)

    def publish(number: int) -> str:
        start.wait()
        try:
            made[number % 3].write(tmp_path / "r", overwrite=overwrite)
        except dc.errors.StoreError as error:
            return error.message
        return ""

    with ThreadPoolExecutor(20) as pool:
        said = list(pool.map(publish, range(20)))
    if not overwrite:
        assert said.count("") == 1
    assert all("holds a release already" in message for message in said if message)
    assert dc.load(tmp_path / "r").tables["generalized"].height == 8
    assert names(tmp_path) == {"r"}


KILLED = """
import os, signal, sys
from pathlib import Path
import discreet as dc
from discreet.files import placing
step, when, folder = sys.argv[1:]
real = getattr(placing, step) if step != "rename" else Path.rename
calls = []
def die(*arguments, **settings):
    calls.append(arguments)
    if when == "before": os.kill(os.getpid(), signal.SIGKILL)
    result = real(*arguments, **settings)
    if when == "after" or (when == "between" and str(arguments[1]).endswith("aside")):
        os.kill(os.getpid(), signal.SIGKILL)
    return result
if when == "between":
    placing.exchange = lambda *_: False
    Path.rename = die
elif step == "rename":
    Path.rename = die
else:
    setattr(placing, step, die)
import polars as pl
frame = pl.DataFrame({"a": [1, 2, 3, 4], "s": list("xyxy")})
data = dc.read(frame, dc.Schema.infer(frame, quasi_identifiers=["a"], sensitive=["s"]))
dc.publish(data, dc.Generalization(dc.KAnonymity(4))).write(folder, overwrite=True)
"""


@pytest.mark.parametrize(
    ("step", "when"),
    [("exchange", "before"), ("exchange", "after"), ("rename", "before"), ("rename", "between")],
)
def test_a_kill_while_replacing_leaves_a_release_and_the_next_one_cleans_up(
    release: Release, tmp_path: Path, step: str, when: str
) -> None:
    folder = release.write(tmp_path / "r")
    done = subprocess.run([sys.executable, "-c", KILLED, step, when, str(folder)], check=False)
    assert done.returncode == -signal.SIGKILL
    if when != "between":  # without an exchange of the system's, the next one puts it back
        assert dc.load(folder).tables["generalized"].height == (4 if when == "after" else 8)
    assert len(names(tmp_path)) > 1
    release.write(tmp_path / "elsewhere")
    assert names(tmp_path) == {"r", "elsewhere"}
    assert dc.load(folder).tables["generalized"].height == (4 if when == "after" else 8)


def test_what_was_just_replaced_is_not_swept_by_others(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It lies where a draft was, whose lock is gone; who replaced it still looks into it."""
    folder, honest = release.write(tmp_path / "r"), store.place_folder

    def place(draft: Path, target: Path, *, replace: bool) -> None:
        honest(draft, target, replace=replace)
        files.sweep(tmp_path)
        assert (draft / "datapackage.json").exists() and names(tmp_path) == {"r", draft.name}

    monkeypatch.setattr(store, "place_folder", place)
    release.write(folder, overwrite=True)
    assert names(tmp_path) == {"r"}


def test_temporary_folders_of_the_killed_are_removed_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files.drafts, "gettempdir", lambda: str(tmp_path))
    (tmp_path / ".discreet.01234567.discreet-draft").mkdir()
    with files.temporary_folder() as mine, files.temporary_folder() as other:
        assert names(tmp_path) == {mine.name, other.name}
        assert mine.stat().st_mode & 0o077 == 0
    assert names(tmp_path) == set()


def test_drafts_of_the_living_and_files_of_others_stay(release: Release, tmp_path: Path) -> None:
    mine = [".r.draft", ".r.12345678", "r.discreet-draft", ".x.abcdefgh.discreet-draft"]
    for name in mine:
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.tex").write_text("years of work")
    with files.drafting(tmp_path / "page.html") as draft:
        draft.write_text("half a page")
        release.write(tmp_path / "r")
        assert draft.read_text() == "half a page"
    assert names(tmp_path) == {"r", *mine}


def test_a_refused_release_leaves_no_folders(release: Release, tmp_path: Path) -> None:
    def refuse(*_: object) -> None:
        raise dc.errors.PromiseError("no")

    with pytest.raises(dc.errors.PromiseError):
        store.write(release, tmp_path / "a" / "b", format="csv", overwrite=False, approve=refuse)
    assert names(tmp_path) == set()


def test_what_comes_in_at_the_last_moment_is_not_removed(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = release.write(tmp_path / "r")
    before = (folder / "datapackage.json").read_bytes()
    honest = store.place_folder

    def place(draft: Path, target: Path, *, replace: bool) -> None:
        if not (draft / "thesis.tex").exists() and not (target / "thesis.tex").exists():
            (target / "thesis.tex").write_text("years of work")
        honest(draft, target, replace=replace)

    monkeypatch.setattr(store, "place_folder", place)
    other = dc.publish(angel_table_1a(), dc.Generalization(dc.KAnonymity(2)))
    with pytest.raises(dc.errors.StoreError, match=r"holds thesis\.tex"):
        other.write(folder, overwrite=True)
    assert (folder / "thesis.tex").read_text() == "years of work"
    assert (folder / "datapackage.json").read_bytes() == before
    assert names(tmp_path) == {"r"}


def test_a_pipe_that_is_called_like_a_draft_is_not_waited_for(
    release: Release, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / ".a.00000000.discreet-draft")
    release.write(tmp_path / "r")
    assert names(tmp_path) == {"r", ".a.00000000.discreet-draft"}
