"""Store: whole or not at all, verified as bytes, readable by others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet import store
from discreet.release import Release
from samples import angel_table_1a


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


@pytest.mark.parametrize("step", ["_write_files", "verify", "_put_in_place"])
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

    monkeypatch.setattr(store, step, fail)
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
    assert dc.audit(folder, angel_table_1a()).groups == 2


def test_a_label_that_tells_more_than_its_ends_is_refused(release: Release, tmp_path: Path) -> None:
    folder = release.write(tmp_path / "r", format="csv")
    table = pl.read_csv(folder / "generalized.csv").with_columns(age_low=-999)
    table.write_csv(folder / "generalized.csv")
    with pytest.raises(dc.errors.StoreError, match=r"does not say what its ends say: \[-999, "):
        dc.audit(folder, angel_table_1a())


def test_a_column_nobody_declared_is_refused_also_in_csv(release: Release, tmp_path: Path) -> None:
    folder = release.write(tmp_path / "r", format="csv")
    table = pl.read_csv(folder / "generalized.csv").with_columns(name=pl.lit("Alan"))
    table.write_csv(folder / "generalized.csv")
    with pytest.raises(dc.errors.StoreError, match="undeclared column 'name'"):
        dc.audit(folder, angel_table_1a())


def test_rows_of_a_class_that_differ_are_refused(release: Release, tmp_path: Path) -> None:
    folder = release.write(tmp_path / "r", format="csv")
    table = pl.read_csv(folder / "generalized.csv")
    table = table.with_columns(pl.Series("age_low", [21, 22, *table["age_low"][2:]]))
    table.write_csv(folder / "generalized.csv")
    with pytest.raises(dc.errors.StoreError, match="row 2 differs from its class"):
        dc.audit(folder, angel_table_1a())


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "datapackage.json").unlink(), "not a release"),
        (lambda f: (f / "datapackage.json").write_text("{}"), "not the manifest of a release"),
        (lambda f: (f / "datapackage.json").write_text("[" * 9999), "is not JSON"),
        (lambda f: (f / "datapackage.json").write_text("3"), "holds no object"),
        (lambda f: change(f, "promise", {"principles": []}), "promises nothing"),
        (lambda f: change(f, "parameters", None), "not the manifest"),
        (lambda f: change(f, "attributes", [{"name": 5}]), "not the manifest"),
        (lambda f: change(f, "promise", {"principles": ["k"]}), "not the manifest"),
        (
            lambda f: (
                pl.read_parquet(f / "generalized.parquet")
                .clear()
                .write_parquet(f / "generalized.parquet")
            ),
            "has no rows",
        ),
        (
            lambda f: (
                pl.read_parquet(f / "generalized.parquet")
                .cast(pl.String)
                .write_parquet(f / "generalized.parquet")
            ),
            "is not of type integer",
        ),
        (lambda f: (f / "generalized.parquet").write_bytes(b"x"), "cannot be read"),
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
        dc.load(folder)
    manifest = json.loads((folder / "datapackage.json").read_text())
    manifest["resources"][0]["name"] = 'generalized"; DROP TABLE y; --'
    (folder / "datapackage.json").write_text(json.dumps(manifest))
    with pytest.raises(dc.errors.StoreError, match="not the name of a table"):
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
