"""SPSS and Stata files: labels instead of codes, nothing merged, nothing invented."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from pathlib import Path

import polars as pl
import pyreadstat
import pytest

import discreet as dc
from commands import discreet_here
from discreet.steward.inspection import inspect_table
from discreet.steward.plan import Plan
from discreet.table.readers import TableFile, read_described, read_table
from discreet.table.spss_stata import read_labelled

BORN = [dt.date(1990, 1, 2), None, dt.date(1980, 5, 6), dt.date(1970, 1, 1)]
FRAME = pl.DataFrame(
    {
        "sex": [1.0, 2.0, 9.0, 1.0],
        "health": [3.0, 1.0, 2.0, 1.0],
        "born": BORN,
        "children": [0.0, 2.0, 99.0, None],
        "height": [1.8, 1.6, 1.7, 1.75],
    }
)
HEALTH = {1: "poor", 2: "fair", 3: "good"}


def write_spss(path: Path, frame: pl.DataFrame = FRAME) -> Path:
    pyreadstat.write_sav(
        frame,
        path,
        compress=path.suffix == ".zsav",
        column_labels={"sex": "Sex of the\nperson"},
        variable_value_labels={
            "sex": {1: "male", 2: "female", 9: "no answer"},
            "health": HEALTH,
            "children": {99: "not asked"},
        },
        missing_ranges={"sex": [9], "children": [{"lo": 90, "hi": 99}]},
        variable_measure={"health": "ordinal", "sex": "nominal"},
    )
    return path


@pytest.mark.parametrize("kind", ["sav", "zsav"])
def test_spss_codes_become_labels_and_user_missing_values_empty_cells(
    tmp_path: Path, kind: str
) -> None:
    read = read_table(write_spss(tmp_path / f"t.{kind}"))
    assert read["sex"].to_list() == ["male", "female", None, "male"]
    assert read["health"].to_list() == ["good", "poor", "fair", "poor"]
    assert read["born"].to_list() == BORN
    assert read["children"].dtype == pl.Int64  # only a missing value of it has a label
    assert read["children"].to_list() == [0, 2, None, None]
    assert read["height"].to_list() == [1.8, 1.6, 1.7, 1.75]


def test_stata_files_are_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "t.dta"
    pyreadstat.write_dta(FRAME, path, variable_value_labels={"health": HEALTH})
    read = read_table(path)
    assert read["sex"].to_list() == [1, 2, 9, 1] and read["sex"].dtype == pl.Int64
    assert read["health"].to_list() == ["good", "poor", "fair", "poor"]
    assert read["born"].to_list() == BORN


def test_a_value_without_a_label_keeps_its_number_and_codes_of_one_label_stay_apart(
    tmp_path: Path,
) -> None:
    path = tmp_path / "t.sav"
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.5]})
    meanings = {1: "other", 2: "Other (3)", 3: "other ", 4: "5"}
    pyreadstat.write_sav(frame, path, variable_value_labels={"x": meanings})
    assert read_table(path)["x"].to_list() == [
        "other (1)", "Other (3)", "other (3)", "5 (4)", "5 (5)", "6.5",
    ]  # fmt: skip


def test_texts_may_be_coded_too(tmp_path: Path) -> None:
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(
        pl.DataFrame({"x": ["m", "f", "d"]}),
        path,
        variable_value_labels={"x": {"m": "male", "f": "female"}},
    )
    assert read_table(path)["x"].to_list() == ["male", "female", "d"]


def test_inspect_drafts_ordinals_in_the_order_of_codes_and_quotes_the_file(tmp_path: Path) -> None:
    found = inspect_table(write_spss(tmp_path / "t.sav"), tmp_path)
    assert found.schema["health"].type is dc.Type.ORDINAL
    assert found.schema["health"].order == ("poor", "fair", "good")
    assert found.schema["health"].reason.startswith("ordered in the file; ")
    assert found.schema["sex"].reason.startswith("Sex of the person; text; ")
    (tmp_path / "p.toml").write_text(found.plan, encoding="utf-8")
    plan = Plan.read(tmp_path / "p.toml")
    assert plan.schema["health"].order == ("poor", "fair", "good")
    data = dc.read(tmp_path / "t.sav", plan.schema)
    assert data.n == 4


def test_labels_tell_roles_where_names_are_codes(tmp_path: Path) -> None:
    frame = pl.DataFrame({"v017": [1200.0, 900.0, 3100.0], "v018": [1.0, 2.0, 2.0]})
    file = tmp_path / "t.sav"
    pyreadstat.write_sav(frame, file, column_labels={"v017": "Monthly income", "v018": "Ward"})
    found = inspect_table(file, tmp_path).schema
    assert found["v017"].role is dc.Role.SENSITIVE
    assert "label says 'income'" in found["v017"].reason
    assert found["v018"].role is dc.Role.OTHER


def test_a_broken_file_is_refused_and_an_empty_one(tmp_path: Path) -> None:
    path = tmp_path / "t.sav"
    path.write_bytes(b"$FL2 nothing")
    with pytest.raises(dc.errors.MicrodataError, match=r"t\.sav: cannot be read as sav"):
        read_table(path)
    write_spss(path, FRAME.head(0))
    with pytest.raises(dc.errors.MicrodataError, match="no rows"):
        read_table(path)


def test_without_the_package_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_spss(tmp_path / "t.sav")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(dc.errors.MicrodataError, match=r"pip install 'discreet\[stats\]'"):
        read_labelled(path)


def test_an_spss_file_goes_through_inspect_publish_and_audit(tmp_path: Path) -> None:
    def discreet(*arguments: str) -> subprocess.CompletedProcess[str]:
        return discreet_here(*arguments, cwd=tmp_path)

    write_spss(tmp_path / "t.sav", pl.concat([FRAME] * 10))
    for command in (
        ("inspect", "t.sav"),
        ("publish", "t.plan.toml"),
        ("audit", "release", "--microdata", "t.sav"),
    ):
        done = discreet(*command)
        assert done.returncode == 0, done.stderr
    assert set(dc.load(tmp_path / "release").tables["generalized"]["sex"]) <= {
        "male", "female", "(missing)", "{male, female}", "{male, (missing)}",
        "{female, (missing)}", "*",
    }  # fmt: skip


def test_a_transport_file_of_sas_is_read(tmp_path: Path) -> None:
    path = tmp_path / "t.xpt"
    frame = pl.DataFrame({"age": [31.0, 42.0], "job": ["nurse", "cook"]})
    pyreadstat.write_xport(frame.to_pandas(), path, column_labels=["Age in years", "Occupation"])
    found = read_described(TableFile(path))
    assert found.frame.rows() == frame.rows() and found.labels["age"] == "Age in years"
