"""Tables in: every kind of file and frame, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import discreet as dc
from discreet.tables import read_table

FRAME = pl.DataFrame({"zip": ["01234", "99999"], "age": ["30", "41"]})


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_text_files_keep_their_texts(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "t.csv"
    FRAME.write_csv(path, separator=separator)
    assert read_table(path).equals(FRAME)


def test_a_byte_order_mark_quotes_and_line_breaks_are_read(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'\xef\xbb\xbfname,note\nA,"x, y"\nB,"two\nlines"\n')
    assert read_table(path).rows() == [("A", "x, y"), ("B", "two\nlines")]


def test_spreadsheets_are_read_as_text(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    FRAME.write_excel(path)
    assert read_table(path)["zip"].to_list() == ["01234", "99999"]


def test_parquet_keeps_its_types(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame = pl.DataFrame({"age": [1, 2]})
    frame.write_parquet(path)
    assert read_table(path).equals(frame)


@pytest.mark.parametrize(
    "convert",
    [lambda f: f, pl.DataFrame.lazy, pl.DataFrame.to_pandas, pl.DataFrame.to_arrow],
    ids=["polars", "lazy", "pandas", "arrow"],
)
def test_frames_of_every_library_go_in_and_come_out(convert: object) -> None:
    frame = pl.DataFrame({"age": [30, 41, 30], "disease": ["flu", None, "gout"]})
    schema = dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["disease"])
    data = dc.read(convert(frame), schema)  # type: ignore[operator]
    assert data.to_polars().equals(frame)
    assert data.to_polars().to_pandas().shape == (3, 2)
    assert data.to_polars().to_arrow().num_rows == 3


def test_a_pandas_column_of_mixed_types_becomes_text() -> None:
    frame = pd.DataFrame({"code": [1, "a", None, 1.0]})
    data = dc.read(frame, dc.Schema.infer(frame, quasi_identifiers=["code"]))
    assert data.domains["code"].texts == ["1", "a", "(missing)"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a,b\n1,2\n3\n", "line 3 has 1 cells, the header has 2"),
        ("a,b\n1,2,3\n", "line 2 has 3 cells, the header has 2"),
        ("a,a\n1,2\n", "repeats the column 'a'"),
        ("a,\n1,2\n", "a column without a name"),
        ("", "the file is empty"),
        ("a,b\n", "no rows"),
        ("a,b", "no rows"),
    ],
    ids=["too few", "too many", "repeated", "unnamed", "empty", "header only", "no line end"],
)
def test_a_broken_text_file_is_refused_with_its_place(
    tmp_path: Path, content: str, message: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content)
    with pytest.raises(dc.DiscreetError, match=message):
        read_table(path)


def test_what_is_no_table_is_refused(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path / "none.csv", "no such file"),
        (tmp_path / "t.docx", "not a kind discreet reads"),
        (tmp_path / "t.parquet", "cannot be read as parquet"),
        (tmp_path / "latin.csv", "not UTF-8"),
    ):
        if path.name != "none.csv":
            path.write_bytes("a\nZürich\n".encode("latin1"))
        with pytest.raises(dc.DiscreetError, match=message):
            read_table(path)
    with pytest.raises(dc.DiscreetError, match="not a table"):
        read_table(3)  # type: ignore[arg-type]


def test_foreign_frames_with_odd_headers_and_cells(tmp_path: Path) -> None:
    with pytest.raises(dc.DiscreetError, match="repeats the column 'a'"):
        read_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    mixed = pd.DataFrame({"a": pd.Series([1, "x", pd.NA], dtype=object)})
    assert read_table(mixed)["a"].to_list() == ["1", "x", None]
    path = tmp_path / "one.csv"
    path.write_text("a\n1\n\n2\n")
    assert read_table(path)["a"].to_list() == ["1", None, "2"]


def test_text_that_stops_being_utf8_far_in_is_named_so(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 50_000 + "é,1\n".encode("latin1"))
    with pytest.raises(dc.DiscreetError, match="not UTF-8"):
        read_table(path)


def test_a_sheet_with_a_title_or_repeated_names_is_refused(tmp_path: Path) -> None:
    import xlsxwriter

    for name, header in (("title", ["My title"]), ("twice", ["age", "age"])):
        book = xlsxwriter.Workbook(tmp_path / f"{name}.xlsx")
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, header)
        sheet.write_row(1, 0, ["age", "sex"])
        sheet.write_row(2, 0, [30, "F"])
        book.close()
        with pytest.raises(dc.DiscreetError, match="first sheet: its header"):
            read_table(tmp_path / f"{name}.xlsx")
