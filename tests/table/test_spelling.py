"""Numbers and dates as offices write them: found, said in a plan, and read exactly."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from commands import discreet_here as discreet
from discreet.steward.cell_notes import find_strays, note_cells
from discreet.table.cell_summaries import CellSummary, merge_summaries, summarize
from discreet.table.domain import reduce_column
from discreet.table.inference import propose
from discreet.table.spelling import DATE_FORMATS, NUMBERS, SHORT_FORMATS, Spelling


def infer(cells: list[str], name: str = "x") -> dc.Attribute:
    (found,) = dc.Schema.infer(pl.DataFrame({name: cells}))
    return found


def read(cells: list[str], attribute: dc.Attribute) -> list[object]:
    known = dc.Attribute(
        attribute.name, dc.Role.SENSITIVE, attribute.type, decimals=attribute.decimals,
        spelling=attribute.spelling, unreadable=attribute.unreadable, missing=attribute.missing,
        na=attribute.na,
    )  # fmt: skip
    return (
        dc.read(pl.DataFrame({attribute.name: cells}), dc.Schema((known,)))
        .to_polars()[attribute.name]
        .to_list()
    )


@pytest.mark.parametrize(("cells", "values"), [
    (["61.998,00", "1.234.567,89", "5,50"], [61998, 1234567.89, 5.5]),
    (["12,345", "1,234,567", "999"], [12345, 1234567, 999]),
    (["12,5", "7,25", "3"], [12.5, 7.25, 3]),
    (["$1,200.50", "$ 3", "$17.25"], [1200.5, 3, 17.25]),
    (["12 345,60 €", "1\u00a0000 €", "8,5 €"], [12345.6, 1000, 8.5]),
    (["1'234.50", "9’876.00", "5"], [1234.5, 9876, 5]),
    (["12.50-", "(3.25)", "4"], [-12.5, -3.25, 4]),
    (["45 %", "7 %", "100%"], [45, 7, 100]),
    (["\u22125,5", "5,5", "0,1"], [-5.5, 5.5, 0.1]),
    (["R$ 1.500,00", "R$ 20,99", "R$ 7,00"], [1500, 20.99, 7]),
])  # fmt: skip
def test_numbers_are_found_as_they_are_written(cells: list[str], values: list[float]) -> None:
    attribute = infer(cells)
    assert attribute.type in (dc.Type.INTEGER, dc.Type.DECIMAL), attribute.reason
    assert read(cells, attribute) == pytest.approx(values)


@pytest.mark.parametrize("cells", [
    ["12 €", "13 $", "14 €"], ["1,2,3", "4", "5"], ["1.2.3", "1,5", "2"], ["12,5", "12.5", "x1"],
])  # fmt: skip
def test_what_is_written_in_no_one_way_is_text(cells: list[str]) -> None:
    assert infer(cells).type is dc.Type.CATEGORY


@pytest.mark.parametrize(("cells", "format_"), [
    (["03/25/1970", "12/01/1999", "01/31/2001"], "%m/%d/%Y"),
    (["25.03.1970", "1.12.1999", "31.1.2001"], "%d.%m.%Y"),
    (["1970/3/25", "1999/12/1", "2001/1/31"], "%Y/%m/%d"),
    (["25-Mar-1970", "01-DEC-1999", "31-jan-2001"], "%d-%b-%Y"),
    (["1970-03-25T10:15:00", "1999-12-01 00:00", "2001-01-31"], "%Y-%m-%d"),
    (["March 25, 1970", "Dec 1, 1999", "January 31, 2001"], "%B %d, %Y"),
    (["19700325", "19991201", "20010131", "20010201", "20010301"], "%Y%m%d"),
])  # fmt: skip
def test_dates_are_found_as_they_are_written(cells: list[str], format_: str) -> None:
    attribute = infer(cells)
    assert (attribute.type, attribute.spelling.date_format) == (dc.Type.DATE, format_)
    days = [dt.date(1970, 3, 25), dt.date(1999, 12, 1), dt.date(2001, 1, 31)]
    assert read(cells, attribute)[:3] == days


def test_dates_of_which_there_is_no_such_day_are_missing_by_proposal_and_refused_else() -> None:
    cells = [*(f"2021-01-{day:02}" for day in range(1, 29)), "0000-00-00", "2021-02-30"]
    attribute = infer(cells)
    assert attribute.type is dc.Type.DATE and attribute.unreadable == "missing"
    assert "2 texts are none, such as '0000-00-00'" in attribute.reason
    assert read(cells, attribute)[-2:] == [None, None]
    with pytest.raises(dc.DiscreetError, match="'0000-00-00' in data row 29 is not a date"):
        read(cells, dc.Attribute("x", dc.Role.SENSITIVE, dc.Type.DATE))


@settings(deadline=None)
@given(st.lists(st.integers(-(10**9), 10**9), min_size=1, max_size=8), st.sampled_from(NUMBERS),
       st.sampled_from(["", "€", "%", "CHF"]))  # fmt: skip
def test_every_spelling_is_read_back(units: list[int], spelling: Spelling, unit: str) -> None:
    """Cents written with a spelling are read as they were, by an independent writer."""

    def write(cents: int) -> str:
        whole, rest = divmod(abs(cents), 100)
        body = f"{whole:,}".replace(",", spelling.thousands)
        return f"{'-' * (cents < 0)}{body}{spelling.decimal}{rest:02d} {unit}".strip()

    told = Spelling(spelling.decimal, spelling.thousands, unit)
    found = told.read_numbers(pl.Series([write(cents) for cents in units]))
    assert [round(float(text) * 100) for text in found] == units


@settings(deadline=None)
@given(st.lists(st.dates(dt.date(1900, 1, 1), dt.date(2099, 12, 31)), min_size=1, max_size=8),
       st.sampled_from(DATE_FORMATS))  # fmt: skip
def test_every_format_of_dates_is_read_back(days: list[dt.date], format_: str) -> None:
    texts = pl.Series([day.strftime(format_) for day in days])
    assert Spelling(date_format=format_).read_dates(texts).to_list() == days


@settings(deadline=None)
@given(st.lists(st.text("0123456789.,-+()' €", max_size=9), max_size=8), st.sampled_from(NUMBERS))
def test_numbers_of_usual_shape_are_read_as_all_are(texts: list[str], spelling: Spelling) -> None:
    cells = pl.Series(texts, dtype=pl.String)
    assert spelling.read_cleaned(cells).to_list() == spelling._read_signed(cells).to_list()


ODD_CELLS = ["1.234,5", "12,5", "3", "1,234", "1.234", "1.5", "5 €", "€ 7", "25.03.1970",
             "1.2.2000", "13/12/2001", "01/02/2003", "x", "", "?", "0000-00-00", "12O", ">100",
             "k.A.", "04", "unknown", "25.03.70", "1.2.05", "29.02.00"]  # fmt: skip
SERIES = [[], [], [str(i) for i in range(30)], [f"{i},5" for i in range(30)],
          [f"{i}.5 €" for i in range(30)],
          [f"{i % 28 + 1}.3.{i + 50}" for i in range(30)]]  # fmt: skip


@settings(deadline=None)
@given(st.lists(st.sampled_from(ODD_CELLS), max_size=12, unique=True),
       st.sampled_from(SERIES), st.sampled_from([1, 40]), st.integers(0, 12))  # fmt: skip
def test_parts_propose_what_the_whole_does(
    odd: list[str], usual: list[str], often: int, cut: int
) -> None:
    counts = {**dict.fromkeys(usual, often), **dict.fromkeys(odd, 1)}
    cells = [*odd, *(cell for cell in usual if cell not in odd)] or ["a"]

    def look(some: list[str], is_part: bool) -> CellSummary:
        rows = np.array([counts.get(cell, 1) for cell in some])
        return summarize(
            pl.Series(some, dtype=pl.String), rows, stored=pl.String(), is_part=is_part
        )

    whole = look(cells, False)
    parts = [part for part in (cells[:cut], cells[cut:]) if part]
    merged = merge_summaries([look(part, True) for part in parts])
    proposed = propose("x", [whole])
    assert propose("x", [merged]) == proposed
    schema = dc.Schema((proposed,))
    noted = [note_cells(schema, {"x": seen}, lambda *_: None) for seen in (whole, merged)]
    assert noted[0] == noted[1]
    assert merged.separation == whole.separation
    # what is proposed can be read, and what is said to be unreadable is so
    absent = reduce_column(pl.Series(cells), proposed).absent
    assert absent.sum() == len(cells) - len({*cells} - {"", *proposed.na, *strays(proposed, whole)})


def strays(attribute: dc.Attribute, seen: CellSummary) -> frozenset[str]:
    found = find_strays(attribute, seen)
    return frozenset() if found is None else found.none


NUMBERS_READ = [str(number) for number in range(15, 100)] * 3


def test_few_cells_that_are_no_numbers_are_missing_by_proposal_and_refused_else() -> None:
    cells = [*NUMBERS_READ, "12O", ">100", "k.A.", "unbekannt"]
    attribute = infer(cells)
    assert attribute.type is dc.Type.INTEGER and attribute.unreadable == "missing"
    assert attribute.na == ("k.A.", "unbekannt")
    assert "whole numbers, but 2 texts are none, such as '12O'" in attribute.reason
    assert read(cells, attribute)[-5:] == [99, None, None, None, None]
    with pytest.raises(dc.DiscreetError, match="'12O' in data row 256 is not an integer"):
        read(cells, dc.Attribute("x", dc.Role.SENSITIVE, dc.Type.INTEGER, na=attribute.na))
    spelled = [*(f"{i}.{i:03},50 €" for i in range(100, 200)), "ca. 5.000 €", "n/a"]
    attribute = infer(spelled)
    assert (attribute.spelling, attribute.na) == (Spelling(",", ".", "€"), ("n/a",))
    assert attribute.unreadable == "missing"
    assert read(spelled, attribute)[-3:] == [199199.5, None, None]


@pytest.mark.parametrize("cells", [
    [*NUMBERS_READ, *(f"V{i}" for i in range(21))],  # codes, of which some have letters
    [*["0"] * 96, "A", "B"],
    [*NUMBERS_READ, *["unsure"] * 20],
    [*(f"0{i}" for i in range(1000, 1400)), "D-1234"],  # the zeros mean something
    [*NUMBERS_READ, "123456789012345678901", "about 20"],  # what is too large would be lost unsaid
])  # fmt: skip
def test_a_column_whose_texts_are_too_many_or_tell_something_is_text(cells: list[str]) -> None:
    attribute = infer(cells)
    assert (attribute.type, attribute.unreadable) == (dc.Type.CATEGORY, "reject")


def test_words_of_nothing_mean_missing_among_numbers_and_dates_only() -> None:
    words = ["unknown", "Keine Angabe", "–"]
    assert infer(["1", "2", "3", *words]).na == tuple(sorted(words))
    assert infer(["2020-01-02", "1999-12-31", "2001-02-03", *words]).na == tuple(sorted(words))
    answers = infer(["yes", "no", "unknown"])
    assert (answers.type, answers.na) == (dc.Type.CATEGORY, ())
    assert infer(["red", "blue", "unknown"]).na == ()


def test_codes_with_a_stray_text_stay_codes() -> None:
    attribute = infer([*NUMBERS_READ, "none of it"], "occupation")
    assert (attribute.type, attribute.unreadable) == (dc.Type.CATEGORY, "reject")


@settings(deadline=None)
@given(st.dates(dt.date(1800, 1, 1), dt.date(2099, 12, 31)), st.integers(0, 99),
       st.sampled_from(SHORT_FORMATS))  # fmt: skip
def test_years_of_two_digits_are_those_up_to_the_last(
    day: dt.date, later: int, format_: str
) -> None:
    told = Spelling(date_format=format_, last_year=day.year + later)
    assert told.problem is None
    written = pl.Series([day.strftime(format_), "99.99.99", None])
    assert told.read_dates(written).to_list() == [day, None, None]


def test_years_of_two_digits_are_asked_and_read_as_the_plan_says(tmp_path: Path) -> None:
    rows = [f"{i % 28 + 1:02}.{i % 12 + 1:02}.{i * 7 % 100:02};{i % 5}" for i in range(80)]
    (tmp_path / "t.csv").write_text("\n".join(["geburtsdatum;pay", *rows, "00.00.00;3"]))
    done = discreet("inspect", "t.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "may be read in several ways" in done.stdout
    assert "One cell is no date: '00.00.00' in row 81." in done.stdout.replace("\n", " ")
    plan = (tmp_path / "t.plan.toml").read_text("utf-8")
    assert "# No cell tells centuries. Nothing is published until you say" in plan
    assert "# last_year = 1999   from 1900-" in plan and 'unreadable = "missing"\n' not in plan
    assert discreet("publish", "t.plan.toml", cwd=tmp_path).returncode == 2
    half = plan.replace('# date_format = "%d.%m.%y"\n', 'date_format = "%d.%m.%y"\n', 1)
    (tmp_path / "t.plan.toml").write_text(half, "utf-8")
    refused = discreet("publish", "t.plan.toml", cwd=tmp_path)
    assert refused.returncode == 2 and "such as last_year = 1999" in refused.stderr
    said = half.replace("# last_year = 1999 ", 'unreadable = "missing"\nlast_year = 1999 #', 1)
    (tmp_path / "t.plan.toml").write_text(said, "utf-8")
    done = discreet("publish", "t.plan.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    data = dc.read(tmp_path / "t.csv", tmp_path / "t.plan.toml")
    assert data.to_polars()["geburtsdatum"].max() < dt.date(2000, 1, 1)
    assert data.intake.missing == {"geburtsdatum": 1}
    audited = discreet("audit", "release", "--microdata", "t.csv", cwd=tmp_path)
    assert audited.returncode == 2 and "Give the plan" in audited.stderr


def test_a_whole_table_may_have_years_of_two_digits(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("born,died\n" + "1.2.34,2001-02-03\n" * 4)
    (tmp_path / "plan.toml").write_text("""
[source]
file = "t.csv"
date_format = "%d.%m.%y"
last_year = 2010
[columns.born]
role = "quasi-identifier"
type = "date"
[columns.died]
role = "quasi-identifier"
type = "date"
date_format = "%Y-%m-%d"
[method]
name = "generalization"
[[method.principles]]
name = "k-anonymity"
k = 2
""")
    data = dc.read(tmp_path / "t.csv", tmp_path / "plan.toml").to_polars()
    assert data.row(0) == (dt.date(1934, 2, 1), dt.date(2001, 2, 3))


@pytest.mark.parametrize(("spelling", "what"), [
    (Spelling(date_format="%d.%m.%y"), "has years of two digits"),
    (Spelling(last_year=1999), "is about years of two digits"),
    (Spelling(date_format="%d.%m.%y", last_year=99), "give a year of four digits"),
])  # fmt: skip
def test_a_century_is_said_where_it_is_needed_and_nowhere_else(
    spelling: Spelling, what: str
) -> None:
    with pytest.raises(dc.DiscreetError, match=what):
        dc.Attribute("x", dc.Role.SENSITIVE, dc.Type.DATE, spelling=spelling)


def test_a_table_with_stray_cells_is_published_as_the_draft_says(tmp_path: Path) -> None:
    rows = [f"{20 + i % 50},{i % 9 + 1}00" for i in range(120)]
    rows[6], rows[40], rows[41] = "12O,300", "k.A.,100", "30, ca. 5 "
    (tmp_path / "t.csv").write_text("\n".join(["age,pay", *rows]))
    done = discreet("inspect", "t.csv", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = {column["name"]: column for column in json.loads(done.stdout)["columns"]}
    assert [told[n]["unreadable"] for n in ("age", "pay")] == [1, 1]
    assert [told[n]["missing"] for n in ("age", "pay")] == [2, 1]
    plan = (tmp_path / "t.plan.toml").read_text("utf-8")
    assert "# One cell is no number: '12O' in row 7." in plan
    assert "# One cell is no number: 'ca. 5' in row 42." in plan
    assert "# One cell says that nothing is known, by a text in na" in plan
    assert plan.count('unreadable = "missing"\n') == 2
    done = discreet("publish", "t.plan.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "12O" not in "".join(
        path.read_text("utf-8", errors="ignore")
        for path in (tmp_path / "release").rglob("*")
        if path.is_file()
    )
    audited = discreet("audit", "release", "--microdata", "t.csv", cwd=tmp_path)
    assert audited.returncode == 0, audited.stderr
    strict = plan.replace('unreadable = "missing"\n', 'unreadable = "reject"\n')
    (tmp_path / "t.plan.toml").write_text(strict, "utf-8")
    refused = discreet("publish", "t.plan.toml", "--overwrite", cwd=tmp_path)
    assert refused.returncode == 2 and "'12O' in data row 7" in refused.stderr


def test_a_file_as_an_office_has_it_is_published_after_one_answer(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = ["Kunde;Geburtsdatum;Geschlecht;PLZ;Gehalt;Aufnahme;Branche"]
    for i in range(60):
        born = f"{i % 28 + 1:02}.{i % 12 + 1:02}.{1950 + i % 40}" if i != 7 else "00.00.0000"
        pay = f"{i % 9 + 1}.{rng.integers(1000):03},{rng.integers(100):02} €"
        came = f"{i % 12 + 1:02}/{i % 11 + 1:02}/2020"
        rows.append(f"K{i};{born};{'mw'[i % 2]};0{1000 + i % 5};{pay};{came};{i % 13 * 7}")
    (tmp_path / "kunden.csv").write_text("\n".join(rows), encoding="utf-8")
    done = discreet("inspect", "kunden.csv", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    plan = (tmp_path / "kunden.plan.toml").read_text("utf-8")
    assert "One cell is no date: '00.00.0000' in row 8." in plan
    assert 'decimal = ","\nthousands = "."\nunit = "€"' in plan
    assert "'branche' is told by codes" in plan
    refused = discreet("publish", "kunden.plan.toml", cwd=tmp_path)
    assert refused.returncode == 2 and "or say date_format" in refused.stderr
    assert plan.count("# date_format = ") == 2 and not (tmp_path / "release").exists()
    answered = plan.replace('# date_format = "%d/%m/%Y" ', 'date_format = "%d/%m/%Y"  # ')
    (tmp_path / "kunden.plan.toml").write_text(answered, encoding="utf-8")
    done = discreet("publish", "kunden.plan.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Largest belief" in done.stdout and "= 100" not in done.stdout
    audited = discreet("audit", "release", "--microdata", "kunden.csv", cwd=tmp_path)
    assert audited.returncode == 2 and "Give the plan" in audited.stderr
    audited = discreet("audit", "release", "--microdata", "kunden.csv", "--plan",
                       "kunden.plan.toml", cwd=tmp_path)  # fmt: skip
    assert audited.returncode == 0, audited.stderr


def test_a_whole_table_may_be_said_to_be_written_so(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age;pay;born\n" + "30;1.000,5;1.2.1990\n31;2,5;3.4.1991\n" * 3)
    (tmp_path / "plan.toml").write_text("""
[source]
file = "t.csv"
decimal = ","
thousands = "."
date_format = "%d.%m.%Y"
[columns.age]
role = "quasi-identifier"
type = "integer"
[columns.born]
role = "quasi-identifier"
type = "date"
[columns.pay]
role = "sensitive"
type = "decimal"
decimals = 1
[method]
name = "generalization"
[[method.principles]]
name = "k-anonymity"
k = 2
""")
    data = dc.read(tmp_path / "t.csv", tmp_path / "plan.toml")
    assert data.to_polars()["pay"].unique().sort().to_list() == [2.5, 1000.5]
    assert data.to_polars()["born"].max() == dt.date(1991, 4, 3)
    wrong = (
        (tmp_path / "plan.toml")
        .read_text()
        .replace('role = "sensitive"', 'role = "sensitive"\nthousands = ","')
    )
    (tmp_path / "plan.toml").write_text(wrong)
    with pytest.raises(dc.DiscreetError, match="decimal and thousands are both ','"):
        dc.read(tmp_path / "t.csv", tmp_path / "plan.toml")


def test_an_auditor_finds_how_a_table_is_written(tmp_path: Path) -> None:
    rows = [
        f"{20 + i % 7};{i % 5 + 1}.{i:03},50 €;{i % 27 + 1:02}.01.19{50 + i}" for i in range(40)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["age;pay;born", *rows]), encoding="utf-8")
    assert discreet("inspect", "t.csv", "--sensitive", "pay", cwd=tmp_path).returncode == 0
    done = discreet("publish", "t.plan.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = discreet("audit", "release", "--microdata", "t.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
