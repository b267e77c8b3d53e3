"""Exports: what Excel, SPSS and Stata are given is what is published, cell by cell."""

from __future__ import annotations

import datetime as dt
import json
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import fastexcel
import polars as pl
import pyreadstat
import pytest

import discreet as dc
from commands import discreet_here
from discreet.errors import StoreError
from discreet.publishing.method import Method
from discreet.release import exporting
from discreet.release.dictionary import tabulate
from discreet.release.labelled_files import LABELLED, choose_names
from discreet.table.readers import TableFile, read_described
from discreet.table.schema import Type
from samples import EVERY_FORM, microdata

HEALTH = ("poor", "fair", "good")
ODD = ["=1+1", "+49", "-2", "@sum", "ünïcode  ", "http://a.b"]
NAMES = {"sex": "sex", "region": "where they live", "born": "born-on", "health": "with"}


def make_people(n: int = 240) -> pl.DataFrame:
    frame = dc.datasets.census(n, sensitive=["income"]).to_polars()
    row = pl.int_range(pl.len())
    return frame.select(
        "age",
        pl.when(row % 11 > 0).then(pl.col("sex")).alias(NAMES["sex"]),
        (row % 6).replace_strict(range(6), ODD, return_dtype=pl.String).alias(NAMES["region"]),
        (dt.date(1920, 2, 3) + pl.duration(days=row * 11)).alias(NAMES["born"]),
        (row % 3).replace_strict(range(3), HEALTH, return_dtype=pl.String).alias(NAMES["health"]),
        pl.when(row % 13 > 0).then(row % 2 == 0).alias("insured"),
        (pl.col("income") / 100 + 0.01).alias("income"),
    )


@pytest.fixture(scope="module")
def release() -> dc.Release:
    """One with every type of column, kept ones too, and names that nobody takes."""
    frame = make_people()
    schema = dc.Schema.infer(
        frame,
        quasi_identifiers=["age", *(NAMES[n] for n in ("sex", "region", "born"))],
        sensitive=["income"],
        keep=[NAMES["health"], "insured"],
    )
    ordinal = replace(schema["with"], type=Type.ORDINAL, order=HEALTH)
    return dc.publish(dc.read(frame, schema.changed(ordinal)), dc.Generalization(dc.KAnonymity(3)))


def published(release: dc.Release) -> dict[str, pl.DataFrame]:
    tables = {**release.tables, **tabulate(release)}
    texts = pl.selectors.by_dtype(pl.Enum, pl.Categorical)
    return {title: table.with_columns(texts.cast(pl.String)) for title, table in tables.items()}


def read_sheets(path: Path, like: dict[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    book = fastexcel.read_excel(path)
    assert book.sheet_names == ["about", *like]
    return {title: book.load_sheet(title).to_polars() for title in like}


def read_statistics(
    path: Path, like: dict[str, pl.DataFrame]
) -> dict[str, tuple[pl.DataFrame, Any]]:
    read = pyreadstat.read_sav if path.suffix == ".sav" else pyreadstat.read_dta
    return {
        title: read(path.with_name(f"{path.stem}-{title}{path.suffix}"), output_format="polars")
        for title in ("about", *like)
    }


@pytest.mark.parametrize("name", EVERY_FORM)
@pytest.mark.parametrize("ending", exporting.ENDINGS)
def test_every_form_is_exported_cell_by_cell(name: str, ending: str, tmp_path: Path) -> None:
    method: Method = EVERY_FORM[name]
    frame = dc.datasets.census(240, sensitive=["income"]).to_polars()
    data = microdata(frame, ["age", "sex", "region"], ["income"])
    made = dc.publish(data, method)
    path = tmp_path / f"people{ending}"
    files = made.export(path)
    assert sorted(files) == sorted(tmp_path.iterdir())
    like = published(made)
    read = {title: table for title, (table, _) in read_statistics(path, like).items()} if (
        ending != ".xlsx") else read_sheets(path, like)  # fmt: skip
    for title, table in like.items():
        assert read[title].columns == table.columns
        for column in table:
            assert read[title][column.name].cast(column.dtype).to_list() == column.to_list()


def test_a_workbook_has_texts_numbers_dates_and_holes_and_no_formulas(
    release: dc.Release, tmp_path: Path
) -> None:
    (file,) = release.export(tmp_path / "people.xlsx")
    table = published(release)["generalized"]
    shown = read_sheets(file, published(release))["generalized"]
    assert shown["age"].dtype == pl.String and shown["age_low"].dtype.is_numeric()
    assert shown["income"].to_list() == table["income"].to_list()
    assert shown["born-on_low"].cast(pl.Date).to_list() == table["born-on_low"].to_list()
    assert shown["insured"].to_list() == table["insured"].to_list()
    assert shown["insured"].null_count() > 0
    labels = read_sheets(file, published(release))["domains"].filter(attribute="where they live")
    assert set(labels["value"]) == {text.strip() for text in ODD}
    with zipfile.ZipFile(file) as book:
        sheets = [book.read(name).decode() for name in book.namelist() if "sheet" in name]
        assert not any("<f>" in sheet or "hyperlink" in sheet for sheet in sheets)
        # who made it, and where, is nobody's business
        assert b"<dc:creator></dc:creator>" in book.read("docProps/core.xml")
    about = fastexcel.read_excel(file).load_sheet("about").to_polars()
    assert release.promise.guarantee in about["says"].to_list()
    assert "generalized.born-on_low" in about["name"].to_list()


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_labels_keep_true_names_and_ordinals_their_order(
    release: dc.Release, ending: str, tmp_path: Path
) -> None:
    path = tmp_path / f"people{ending}"
    release.export(path)
    table, (read, told) = published(release)["generalized"], read_statistics(
        path, published(release))["generalized"]  # fmt: skip
    assert read.columns[-4:] == ["born_on_high", "with_", "insured", "income"]
    assert told.column_names_to_labels["where_they_live"].startswith("where they live")
    assert told.column_names_to_labels["with_"].startswith("with")
    assert told.variable_value_labels["with_"] == {1: "poor", 2: "fair", 3: "good"}
    assert [None if code is None else HEALTH[int(code) - 1] for code in read["with_"]] == (
        table["with"].to_list()
    )
    assert read["insured"].to_list() == [None if c is None else float(c) for c in table["insured"]]
    assert read["born_on_low"].to_list() == table["born-on_low"].to_list()
    assert read["income"].to_list() == table["income"].to_list()
    about = read_statistics(path, published(release))["about"][0].rows()
    program = LABELLED[ending].program
    assert ("renamed", "generalized.with_", f"{program} does not take the name: with") in about
    # the reader of tables takes it for what it was
    described = read_described(TableFile(tmp_path / f"people-generalized{ending}"))
    assert described.frame["with_"].to_list() == table["with"].to_list()
    if ending == ".sav":
        assert described.orders["with_"] == HEALTH


def test_names_that_do_not_fit_are_replaced_by_such_as_do() -> None:
    long = "the number of years spent in the country of birth"
    names = [long, f"{long}!", "sum", "SUM_", "sum!", "1st", "ü" * 40, "by", "if", "_b"]
    for kind in LABELLED.values():
        chosen = choose_names(names, kind)
        assert all(map(kind.takes, chosen.values()))
        assert len({name.casefold() for name in chosen.values()}) == len(names)
        assert chosen["sum"] == "sum" and chosen["1st"] == "v1st"
    assert choose_names(names, LABELLED[".sav"])["by"] == "by_"
    assert choose_names(names, LABELLED[".dta"])["by"] == "by"


@pytest.mark.parametrize(
    ("ending", "cell", "said"),
    [
        (".xlsx", "x" * 32_768, r"32,767 characters"),
        (".xlsx", "😀" * 16_384, r"32,767 characters"),
        (".xlsx", dt.date(1899, 12, 31), r"before 1900"),
        (".xlsx", 2**53 + 1, r"more than 15 digits"),
        (".sav", -(2**53) - 1, r"more than 15 digits"),
        (".dta", "x" * 2_045, r"2,045 bytes, and Stata takes at most 2,044"),
        (".sav", "x" * 32_768, r"32,768 bytes, and SPSS"),
    ],
)
def test_what_a_format_cannot_hold_is_refused_and_nothing_is_written(
    ending: str, cell: Any, said: str, tmp_path: Path
) -> None:
    frame = dc.datasets.census(240, sensitive=["income"]).to_polars()
    frame = frame.select("age", "income", odd=pl.Series([cell] * 240))
    schema = dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["income"], keep=["odd"])
    made = dc.publish(dc.read(frame, schema), dc.Generalization(dc.KAnonymity(3)))
    with pytest.raises(StoreError, match=said):
        made.export(tmp_path / f"people{ending}")
    assert not list(tmp_path.iterdir())


def test_more_rows_than_a_sheet_has_are_refused(
    release: dc.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from discreet.release import workbooks

    monkeypatch.setattr(workbooks, "MOST_ROWS", 100)
    with pytest.raises(StoreError, match="it has 240 rows, and a sheet of Excel at most 100"):
        release.export(tmp_path / "people.xlsx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("library", "ending", "extra"),
    [("xlsxwriter", ".xlsx", "excel"), ("pyreadstat", ".sav", "stats")],
)
def test_a_missing_library_is_one_error(
    release: dc.Release, library: str, ending: str, extra: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(StoreError, match=rf"pip install 'discreet\[{extra}\]'"):
        release.export(tmp_path / f"people{ending}")
    assert not list(tmp_path.iterdir())


def test_what_reads_back_otherwise_is_never_put_in_place(
    release: dc.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = pyreadstat.write_sav

    def lossy(frame: pl.DataFrame, *rest: Any, **told: Any) -> None:
        honest(frame.head(frame.height - 1), *rest, **told)

    monkeypatch.setattr(pyreadstat, "write_sav", lossy)
    with pytest.raises(StoreError, match="cannot be kept as it is published"):
        release.export(tmp_path / "people.sav")
    assert not list(tmp_path.iterdir())


def test_a_failure_brings_back_what_was_there(
    release: dc.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = release.export(tmp_path / "people.sav")
    with pytest.raises(StoreError, match="exists already"):
        release.export(tmp_path / "people.sav")
    files[1].write_text("mine")
    files[2].unlink()
    moved = Path.replace

    def strike(self: Path, target: Path) -> Path:
        if self.name == files[3].name and "before" not in self.parts:
            raise OSError(28, "No space left on device")
        return moved(self, target)

    kept = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    monkeypatch.setattr(Path, "replace", strike)
    with pytest.raises(StoreError, match="No space left"):
        release.export(tmp_path / "people.sav", overwrite=True)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == kept
    monkeypatch.undo()
    assert release.export(tmp_path / "people.sav", overwrite=True) == files
    assert files[1].read_bytes() != b"mine"


def test_a_release_by_a_seed_or_one_that_breaks_its_promise_is_not_exported(
    tmp_path: Path,
) -> None:
    frame = dc.datasets.census(240, sensitive=["income"]).to_polars()
    data = microdata(frame, ["age", "sex", "region"], ["income"])
    seeded = dc.publish(data, dc.Anatomy(dc.FrequencyDiversity(2)), insecure_seed=1)
    for put in (seeded.export, seeded.to_database):
        with pytest.raises(StoreError, match="seed"):
            put(str(tmp_path / "people.xlsx"))
    loose = dc.publish(data, dc.Generalization(dc.KAnonymity(2)))
    strict = replace(loose, promise=replace(loose.promise, principle=dc.KAnonymity(40)))
    for put in (strict.export, strict.to_database):
        with pytest.raises(dc.errors.PromiseError, match="is broken in"):
            put(str(tmp_path / "people.duckdb"))
    assert not list(tmp_path.iterdir())


def test_the_command_writes_refuses_and_replaces(release: dc.Release, tmp_path: Path) -> None:
    release.write(tmp_path / "release", format="csv")
    done = discreet_here("export", "release", "--to", "people.dta", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["files"][:2] == ["people-about.dta", "people-generalized.dta"]
    again = discreet_here("export", "release", "--to", "people.dta", cwd=tmp_path)
    assert again.returncode == 2 and "--overwrite" in again.stderr
    again = discreet_here("export", "release", "--to", "people.dta", "--overwrite", cwd=tmp_path)
    assert again.returncode == 0 and "Written: people-about.dta" in again.stdout
    for to, said in [("people.ods", ".xlsx, .sav, .dta"), ("people", ".xlsx, .sav, .dta"),
                     ("release/people.xlsx", "release/people.xlsx: is what")]:  # fmt: skip
        refused = discreet_here("export", "release", "--to", to, cwd=tmp_path)
        assert refused.returncode == 2 and said in refused.stderr, refused.stderr
    tampered = tmp_path / "release" / "generalized.csv"
    tampered.write_bytes(tampered.read_bytes().replace(b"poor", b"good", 1))
    refused = discreet_here("export", "release", "--to", "other.xlsx", cwd=tmp_path)
    assert refused.returncode == 2 and "not what was published" in refused.stderr
    assert not (tmp_path / "other.xlsx").exists()
