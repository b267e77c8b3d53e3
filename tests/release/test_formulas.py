"""Texts in CSV files are no formulas, and come back as they were."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import StoreError
from discreet.release import store, table_files
from discreet.release.formulas import (
    NUMBER,
    SIGNS,
    escape_table,
    escape_text,
    restore_table,
    restore_text,
    write_csv,
)
from samples import microdata, reseal

SIGN = re.compile(f"[{SIGNS}]")
TEXTS = st.text(
    st.one_of(st.sampled_from("'=+-@\t\r\n＝＋－＠a1 ;,\""), st.characters(codec="utf-8"))
)


@settings(deadline=None)
@given(TEXTS)
def test_what_is_escaped_comes_back_and_is_no_formula(text: str) -> None:
    escaped = escape_text(text)
    assert restore_text(escaped) == text
    assert not SIGN.match(escaped) or re.fullmatch(NUMBER, text)
    assert escaped in (text, f"'{text}")


@settings(deadline=None)
@given(TEXTS, TEXTS)
def test_two_texts_are_never_written_alike(one: str, other: str) -> None:
    assert (escape_text(one) == escape_text(other)) == (one == other)


@settings(deadline=None)
@given(st.lists(st.one_of(st.none(), TEXTS), min_size=1, max_size=6, unique=True))
def test_a_table_is_written_and_read_as_its_texts_are(texts: list[str | None]) -> None:
    known = [text for text in texts if text is not None]
    table = pl.DataFrame({"=a": texts, "b": texts}, schema={"=a": pl.String, "b": pl.Enum(known)})
    written = escape_table(table)
    told = [None if text is None else escape_text(text) for text in texts]
    assert written.to_dict(as_series=False) == {"'=a": told, "b": told}
    assert restore_table(written).equals(table.cast(pl.String))


def test_numbers_that_are_negative_are_no_texts(tmp_path: Path) -> None:
    table = pl.DataFrame({"n": [-1, 2], "-x": [-1.5, None], "t": ["-1", "-1-1"]})
    write_csv(table, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text("utf-8") == "n,'-x,t\n-1,-1.5,-1\n2,,'-1-1\n"


@pytest.fixture
def release(tmp_path: Path) -> Path:
    frame = pl.DataFrame({"@age": [-2, -1, 4, 5], "=ill": ["=1+1", "'=1+1", "-", "flu"]})
    data = microdata(frame, ["@age"], ["=ill"])
    made = dc.publish(data, dc.Generalization(dc.KAnonymity(2)))
    return made.write(tmp_path / "release", format="csv")


def test_the_manifest_says_how_texts_are_written_and_names_columns_as_files_do(
    release: Path,
) -> None:
    manifest = json.loads((release / "datapackage.json").read_text(encoding="utf-8"))
    for resource in manifest["resources"]:
        assert resource["escape"].startswith("' before texts that")
        with (release / resource["path"]).open(encoding="utf-8", newline="") as file:
            header = next(csv.reader(file))
        assert [field["name"] for field in resource["schema"]["fields"]] == header
    generalized = (release / "generalized.csv").read_text(encoding="utf-8")
    assert "'=ill" in generalized and "''=1+1" in generalized
    assert set(dc.load(release).tables["generalized"]["=ill"]) == {"=1+1", "'=1+1", "-", "flu"}
    assert "take away one apostrophe" in (release / "README.md").read_text(encoding="utf-8")


def test_a_release_whose_texts_stand_as_they_are_is_read_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Releases used to be written like that."""
    data = microdata(pl.DataFrame({"age": [1, 1], "ill": ["=1+1", "'=1+1"]}), ["age"], ["ill"])
    made = dc.publish(data, dc.Generalization(dc.KAnonymity(2)))
    monkeypatch.setattr(store, "ESCAPE", None)
    monkeypatch.setattr(table_files, "write_csv", pl.DataFrame.write_csv)
    old = made.write(tmp_path / "old", format="csv")
    assert "escape" not in (old / "datapackage.json").read_text(encoding="utf-8")
    assert set(dc.load(old).tables["generalized"]["ill"]) == {"=1+1", "'=1+1"}
    assert dc.audit(old, data).kept


def test_texts_that_are_written_otherwise_are_not_read(release: Path) -> None:
    path = release / "datapackage.json"
    path.write_text(path.read_text(encoding="utf-8").replace("' before", "'' before"), "utf-8")
    with pytest.raises(StoreError, match=r"resources\[0\].escape"):
        dc.load(release)


def test_a_formula_without_its_apostrophe_is_refused(release: Path) -> None:
    """Read as the same text, it would tell one record from those that look the same."""
    path = release / "generalized.csv"
    text = path.read_text(encoding="utf-8")
    for changed in (text.replace(",'=1+1", ",=1+1"), text.replace("'=ill", "=ill")):
        assert changed != text
        path.write_text(changed, encoding="utf-8")
        reseal(release)
        with pytest.raises(StoreError, match="apostrophe"):
            dc.load(release)


def test_booleans_are_written_in_one_way(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "ill": [True, False] * 2})
    made = dc.publish(microdata(frame, ["age"], ["ill"]), dc.Generalization(dc.KAnonymity(4)))
    folder = made.write(tmp_path / "release", format="csv")
    path = folder / "generalized.csv"
    path.write_text(path.read_text(encoding="utf-8").replace("true", "TRUE"), encoding="utf-8")
    reseal(folder)
    with pytest.raises(StoreError, match="cannot be read"):
        dc.load(folder)
