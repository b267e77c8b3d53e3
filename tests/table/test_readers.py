"""Tables in: every kind of file and frame, and what is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import discreet as dc
from discreet.steward.inspection import inspect_table
from discreet.steward.plan import Plan
from discreet.table import parquet_files
from discreet.table.arx_projects import read_project
from discreet.table.readers import TableFile, list_columns, read_table
from discreet.table.text_files import FileFormat

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


def test_a_line_break_in_a_cell_is_read_wherever_the_first_quote_stands(tmp_path: Path) -> None:
    rows = [f"{row},plain" for row in range(200_000)]
    (tmp_path / "t.csv").write_text("\n".join(["a,b", *rows, '7,"two\nlines"']))
    frame = read_table(tmp_path / "t.csv")
    assert (frame.height, frame["b"][-1]) == (200_001, "two\nlines")
    (tmp_path / "u.csv").write_text("\n".join(["a,b", *rows, "8,Zoë"]), encoding="utf-8")
    assert read_table(tmp_path / "u.csv")["b"].tail(2).to_list() == ["plain", "Zoë"]


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
        ("a,b\0c\n1,2\n", r"has a NUL character in the name 'b\\x00c'"),
        ("a,\n1,2\n", "a column without a name"),
        ("", "the file is empty"),
        ("a,b\n", "no rows"),
        ("a,b", "no rows"),
    ],
    ids=[
        "too few",
        "too many",
        "repeated",
        "NUL",
        "unnamed",
        "empty",
        "header only",
        "no line end",
    ],
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


WORDS = {
    "de": "Straße;Größe\nMühlenweg, Köln;groß\nÄpfel und Öl;überall\n",
    "fr": "prénom;ville\nZoé;Orléans-la-Forêt\nAïcha;à côté de Nîmes\n",
    "es": "año;niñez\n¿qué?;acción\n3ª;Peñíscola\n",
    "pl": "imię;płaca\nŁukasz;źródło\nżona;Gdańsk\n",
    "ru": "имя;город\nАлексей;Нижний Новгород\nОльга;Тверь\n",
    "el": "όνομα;πόλη\nΓιώργος;Αθήνα\nΜαρία;Πάτρα\n",
}
WRITTEN = [
    ("de", "utf-8"), ("de", "utf-8-sig"), ("de", "utf-16"), ("de", "utf-16-le"),
    ("de", "utf-16-be"), ("ru", "utf-16"), ("de", "utf-32"), ("de", "cp1252"),
    ("de", "latin-1"), ("de", "cp850"),
    ("fr", "cp1252"), ("fr", "mac_roman"), ("es", "cp1252"), ("pl", "cp1250"), ("ru", "cp1251"),
    ("el", "cp1253"),
]  # fmt: skip


@pytest.mark.parametrize(("language", "encoding"), WRITTEN)
def test_text_is_read_in_the_encoding_it_was_written_in(
    tmp_path: Path, language: str, encoding: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(WORDS[language].encode(encoding))
    header, *rows = [tuple(line.split(";")) for line in WORDS[language].splitlines()]
    for file in (TableFile(path), TableFile(path, FileFormat(encoding=encoding, separator=";"))):
        frame = read_table(file)
        assert tuple(frame.columns) == header and frame.rows() == rows


@pytest.mark.parametrize("ending", ["gz", "bz2", "zst"])
def test_text_may_be_compressed(tmp_path: Path, ending: str) -> None:
    import pyarrow as pa

    path = tmp_path / f"t.csv.{ending}"
    kind = {"gz": "gzip", "bz2": "bz2", "zst": "zstd"}[ending]
    with pa.output_stream(str(path), compression=kind) as file:
        file.write(WORDS["fr"].encode("cp1252"))
    assert read_table(path).rows()[0] == ("Zoé", "Orléans-la-Forêt")


def test_an_encoding_that_is_told_is_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 50_000 + "é,1\n".encode("latin1"))
    assert read_table(path)["a"][-1] == "é"
    with pytest.raises(dc.DiscreetError, match="the text is not utf-8"):
        read_table(TableFile(path, FileFormat(encoding="utf-8")))
    with pytest.raises(dc.DiscreetError, match="no encoding 'klingon'"):
        FileFormat(encoding="klingon")
    with pytest.raises(dc.DiscreetError, match="not one character"):
        FileFormat(separator=";;")
    with pytest.raises(dc.DiscreetError, match="has no sheet to be told"):
        read_table(TableFile(path, FileFormat(sheet="2024")))


MISSED = """
[source]
file = "{file}"
missing = ["NA", "-9", "?"]
[roles]
quasi-identifier = ["a", "b"]
sensitive = ["c*"]
[columns.a]
type = "{a}"
missing = "value"
[columns.b]
type = "{b}"
decimals = 1
missing = "value"
na = ["x"]
[columns.c]
missing = "value"
[method]
name = "generalization"
[[method.principles]]
name = "k-anonymity"
k = 1
"""


def read_missing(path: Path, a: str, b: str) -> list[tuple[object, ...]]:
    plan = path.with_suffix(".toml")
    plan.write_text(MISSED.format(file=path.name, a=a, b=b))
    read = dc.Plan.read(plan)
    data = dc.read(read.table, read.schema)
    assert dc.read(path, plan).to_polars().rows() == data.to_polars().rows()
    return data.to_polars().rows()


def test_texts_and_numbers_that_mean_missing_are_emptied(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,c\n1,NA,u\n-9,x,-9\n?, NA ,?\n")
    told = [("1", None, "u"), (None, None, None), (None, None, None)]
    assert read_missing(path, "category", "category") == told
    numbers = tmp_path / "t.parquet"
    cells = {"a": [1, -9], "b": [-9.0, 2.5], "c": ["?", "y"]}
    pl.DataFrame(cells).write_parquet(numbers)
    assert read_missing(numbers, "integer", "decimal") == [(1, None, None), (None, 2.5, "y")]
    assert read_missing(numbers, "category", "category") == [
        ("1", None, None), (None, "2.5", "y"),
    ]  # fmt: skip
    odd = {"a": [True, None], "b": [-9, 1], "c": pl.Series(["?", "y"], dtype=pl.Categorical)}
    pl.DataFrame(odd).write_parquet(numbers)
    assert read_missing(numbers, "boolean", "boolean") == [(True, None, None), (None, True, "y")]


def test_a_text_that_means_missing_names_nobody(tmp_path: Path) -> None:
    """Else all whose name is unknown would be one person, or one who repeats."""
    path = tmp_path / "t.csv"
    path.write_text("pid,home,a,b,c\n" + "".join(f"{i},h{i},{i},1,u\n" for i in range(30)))
    plan = tmp_path / "plan.toml"
    text = MISSED.format(file="t.csv", a="integer", b="integer")
    listed = text.replace("[roles]", '[roles]\nidentifier = ["pid"]')
    plan.write_text(listed)
    nameless = path.read_text().replace("\n3,", "\n-9,").replace("\n4,", "\n-9,")
    path.write_text(nameless)
    assert dc.read(path, plan).intake.repeats == {}
    path.write_text(nameless.replace("\n5,", "\n6,"))
    assert dc.read(path, plan).intake.repeats == {"pid": 27}
    for key in ("person", "cluster"):
        for unsaid in (text, listed):
            plan.write_text(unsaid.replace("[source]", f'[source]\n{key} = "pid"'))
            with pytest.raises(dc.DiscreetError, match=f"{key} = 'pid': 2 of 30 rows have none"):
                dc.read(path, plan)
    own = listed.replace("[source]", '[source]\nperson = "pid"').replace('"-9", ', "")
    plan.write_text(own + '[columns.pid]\nna = ["-9"]\n')
    with pytest.raises(dc.DiscreetError, match="2 of 30 rows have none"):
        dc.read(path, plan)


def test_a_sheet_is_found_by_its_name(tmp_path: Path) -> None:
    import xlsxwriter

    path = tmp_path / "t.xlsx"
    with xlsxwriter.Workbook(path) as book:
        for name in ("2023", "2024"):
            sheet = book.add_worksheet(name)
            sheet.write_row(0, 0, ["year"])
            sheet.write_row(1, 0, [name])
    assert read_table(path)["year"].to_list() == ["2023"]
    assert read_table(TableFile(path, FileFormat(sheet="2024")))["year"].to_list() == ["2024"]
    with pytest.raises(dc.DiscreetError, match="no sheet '2025'") as refused:
        read_table(TableFile(path, FileFormat(sheet="2025")))
    assert refused.value.hint == "It has '2023', '2024'."


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


@pytest.mark.parametrize(
    "names",
    [
        [f"a column with a rather long name, number {i}" for i in range(3000)],
        ["x" * 40_000, "y" * 40_000],
        [f"{'x' * 60}{i}" for i in range(25_000)],
        ["zip\u2028code", "age"],
        ["zip\fcode", "age"],
        ["zip\x1cco\x85d\ve", "a\u2029ge"],
        ["zip\ncode", "age"],
    ],
    ids=["over 64 KiB", "two long names", "over 1 MiB", "U+2028", "form feed", "others", "line"],
)
def test_leading_zeros_stay_whatever_the_header_holds(tmp_path: Path, names: list[str]) -> None:
    path = tmp_path / "t.csv"
    header = ",".join(f'"{name}"' for name in names)
    row = ",".join(f"{i % 10:05}" for i in range(len(names)))
    path.write_text(f"{header}\n{row}\n", encoding="utf-8", newline="")
    read = read_table(path)
    assert read.columns == names
    assert read.row(0) == tuple(f"{i % 10:05}" for i in range(len(names)))


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("\n\na;b\n01;02\n", [{"a": "01", "b": "02"}]),
        ("\na\n01\n\n02\n", [{"a": "01"}, {"a": None}, {"a": "02"}]),
        ("\r\n\r\na\tb\r\n01\t02\r\n", [{"a": "01", "b": "02"}]),
        (f'"{"n" * 200_000}",b\n01,02\n', [{"n" * 200_000: "01", "b": "02"}]),
        (f'a,b\n01,"{"x" * 200_000}"\n', [{"a": "01", "b": "x" * 200_000}]),
    ],
    ids=["blank lines", "blank, one column", "tabs", "a long name", "a long cell"],
)
def test_blank_lines_and_long_cells_are_read(
    tmp_path: Path, text: str, rows: list[dict[str, str]]
) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, newline="")
    assert read_table(path).to_dicts() == rows


@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx", "sav"])
def test_a_file_is_read_by_its_name_and_not_by_a_pattern(tmp_path: Path, kind: str) -> None:
    import pyreadstat

    for name in ("people[1]", "people1", "all*", "all2"):
        frame, path = pl.DataFrame({"name": [name]}), tmp_path / f"{name}.{kind}"
        if kind == "sav":
            pyreadstat.write_sav(frame, path)
        else:
            with path.open("wb") as file:
                getattr(frame, f"write_{'excel' if kind == 'xlsx' else kind}")(file)
    for name in ("people[1]", "all*"):
        assert read_table(tmp_path / f"{name}.{kind}")["name"].to_list() == [name]


@pytest.mark.parametrize("kind", ["csv", "parquet", "xlsx", "dta", "deid"])
def test_only_plain_files_are_read(tmp_path: Path, kind: str) -> None:
    folder, pipe = tmp_path / f"folder.{kind}", tmp_path / f"pipe.{kind}"
    folder.mkdir()
    FRAME.write_parquet(folder / f"t.{kind}")
    os.mkfifo(pipe)
    for path in (folder, pipe) if kind != "parquet" else (pipe,):  # a folder of these is a table
        with pytest.raises(dc.DiscreetError, match=r"is a folder|no such file"):
            read_project(path) if kind == "deid" else read_table(path)


def test_a_number_without_end_is_a_text(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("age,pay\n30,1e99999999\n41,1e-999999999\n")
    assert [a.type for a in dc.Schema.infer(read_table(path))] == ["integer", "category"]
    schema = dc.Schema((dc.Attribute("pay", dc.Role.SENSITIVE, dc.Type.INTEGER),))
    with pytest.raises(dc.errors.MicrodataError, match="1e99999999"):
        dc.read(path, schema)


def test_a_plan_says_how_the_file_was_read_and_reads_it_so(tmp_path: Path) -> None:
    path = tmp_path / "leute.csv"
    lines = [f"{20 + i % 40};{['Köln', 'Düsseldorf'][i % 2]};{['Grippe', 'Röteln'][i // 2 % 2]}"
             for i in range(80)]  # fmt: skip
    path.write_bytes("\n".join(["age;city;disease", *lines]).encode("cp1252"))
    plan = tmp_path / "plan.toml"
    plan.write_text(inspect_table(path, tmp_path).plan, encoding="utf-8")
    assert 'encoding = "cp1252"' in plan.read_text("utf-8")
    assert 'separator = ";"' in plan.read_text("utf-8")
    told = Plan.read(plan)
    assert dc.read(told.table, told.schema).domains["city"].texts == ["Düsseldorf", "Köln"]
    wrong = plan.read_text("utf-8").replace('"cp1252"', '"klingon"')
    plan.write_text(wrong, encoding="utf-8")
    with pytest.raises(dc.DiscreetError, match=r"plan\.toml: There is no encoding 'klingon'"):
        Plan.read(plan)


class PanicException(BaseException):
    """What native code of polars raises: it is no Exception."""


@pytest.mark.parametrize("said", ["index out of bounds", "KeyboardInterrupt: "])
def test_a_panic_of_native_code_is_a_file_that_cannot_be_read_unless_it_is_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    def panic(*_: object) -> None:
        raise PanicException(said)

    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "a.parquet")
    for name in ("read_parquet", "read_parquet_schema"):
        monkeypatch.setattr(pl, name, panic)
    expected = PanicException if "Interrupt" in said else dc.errors.MicrodataError
    for look in (read_table, lambda path: list_columns(TableFile(path))):
        with pytest.raises(expected, match=said):
            look(tmp_path / "a.parquet")


def test_an_interrupt_while_a_file_is_read_stays_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "a.parquet")
    monkeypatch.setattr(pl, "read_parquet", interrupt)
    with pytest.raises(KeyboardInterrupt):
        read_table(tmp_path / "a.parquet")


def test_a_folder_of_too_many_files_is_not_looked_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        pl.DataFrame({"a": [1]}).write_parquet(tmp_path / f"{name}.parquet")
    assert read_table(tmp_path).height == 3
    monkeypatch.setattr(parquet_files, "MOST_FILES", 2)
    with pytest.raises(dc.errors.MicrodataError, match="more than 2 files"):
        read_table(tmp_path)
