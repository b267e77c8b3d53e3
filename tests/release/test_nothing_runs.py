"""Names and values that would command whatever shows them are shown as texts everywhere."""

from __future__ import annotations

import csv
import re
import zipfile
from collections.abc import Callable
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple

import duckdb
import polars as pl
import psycopg
import pytest
from markdown_it import MarkdownIt
from psycopg import sql

import discreet as dc
from commands import discreet_here
from discreet.errors import StoreError, visible
from discreet.evaluate.charts import save_chart
from discreet.forms.installing import install
from samples import microdata
from serving.process import Serving

SCRIPT = "</script><script>alert(1)</script>"
VALUES = [
    f"{SCRIPT}<img src=x onerror=alert(1)>'&amp;\"",
    "[x](javascript:alert(1)) **b** `c` | d | # e",
    "{{ 7 * 7 }}${7*7}",
    "a\x1b[31mred\x1b]0;owned\x07\x9b2J\u202egnp.exe",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2+3",
    "@SUM(1+1)",
    "'=1+1",
    "＝1+1",
    "'; DROP TABLE release; --",
    "\\'); DROP SCHEMA public CASCADE; --",
    "x" * 10_000,
]
NAMES = [
    f"{SCRIPT}<b>'&amp;",
    "=cmd|' /C calc'!A0",
    "@[x](javascript:alert(1))`|`*_",
    "-a\x1b[31m\u202e'; DROP TABLE x; --",
]
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]")
FORMULA = re.compile("[=+\\-@\t\r\n＝＋－＠]")


class Made(NamedTuple):
    """A release of such a table, and where it lies."""

    folder: Path
    release: dc.Release
    data: dc.Microdata


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    rows = len(VALUES) * 4
    values = VALUES * 4
    frame = pl.DataFrame(
        {
            NAMES[0]: [n % 4 - 2 for n in range(rows)],
            NAMES[1]: [values[n // 4] for n in range(rows)],
            NAMES[2]: values,
            NAMES[3]: values[5:] + values[:5],
        }
    )
    folder = tmp_path_factory.mktemp("made")
    frame.write_parquet(folder / "people.parquet")
    schema = dc.Schema.infer(
        frame, quasi_identifiers=NAMES[:2], sensitive=[NAMES[2]], keep=[NAMES[3]]
    )
    data = dc.read(folder / "people.parquet", schema)
    release = dc.publish(data, dc.Generalization(dc.FrequencyDiversity(2)))
    return Made(release.write(folder / "release", format="csv"), release, data)


class Page(HTMLParser):
    """What a page shows and what it holds."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.links: set[str] = set()
        self.shown: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links |= {value or "" for name, value in attrs if name in ("href", "src")}

    def handle_data(self, data: str) -> None:
        self.shown.append(data)


def require_page(text: str, *names: str) -> None:
    """Require that a page runs nothing of what it shows, and shows names to the letter."""
    page = Page(text)
    assert not OBEYED.search(text)
    assert "img" not in page.tags and not {a for a in page.attributes if a.startswith("on")}
    assert not {link for link in page.links if link.startswith("javascript")}
    shown = "".join(page.shown)
    for name in names:
        assert visible(name) in shown, name


def in_csv(made: Made, place: Path) -> None:
    for file in made.folder.glob("*.csv"):
        with file.open(encoding="utf-8", newline="") as opened:
            cells = {cell for row in csv.reader(opened) for cell in row}
        assert {cell for cell in cells if FORMULA.match(cell)} <= {"-2", "-1"}, file.name
    assert set(dc.load(made.folder).tables["generalized"][NAMES[2]]) == set(VALUES)
    assert not dc.audit(made.folder, made.data).problems


def in_the_readme(made: Made, place: Path) -> None:
    frame = pl.read_parquet(made.folder.parent / "people.parquet").drop(NAMES[3])
    data = microdata(frame, NAMES[:2], [NAMES[2]])  # what is said of its tables has names in it
    batched = dc.publish(data, dc.Angelization(dc.FrequencyDiversity(2), k=2))
    for folder, names in ((made.folder, NAMES), (batched.write(place / "batched"), NAMES[:3])):
        text = (folder / "README.md").read_text(encoding="utf-8")
        assert not OBEYED.search(text)
        rendered = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
        assert "<script" not in rendered
        require_page(rendered, *names)
        assert rendered.count("<td>") == 4 * len(names)


def in_reports(made: Made, place: Path) -> None:
    found = dc.audit(made.folder, made.data)
    page = found.to_html(place / "report.html", rows=20).read_text(encoding="utf-8")
    assert SCRIPT not in page
    require_page(page, NAMES[0], NAMES[2], VALUES[0], VALUES[1])


def in_evidence_and_on_the_terminal(made: Made, place: Path) -> None:
    (place / "release").symlink_to(made.folder)
    source = made.folder.parent / "people.parquet"
    asked = f'SELECT "{NAMES[2]}", COUNT(*) FROM release GROUP BY 1'
    for command in (
        ["audit", "release", "--microdata", source, "--evidence", "pack",
         "--per-person", "risks.csv"],
        ["query", "release", asked],
        ["query", "release", asked, "--json"],
        ["inspect", source, "--plan", "p.toml"],
    ):  # fmt: skip
        done = discreet_here(*command, cwd=place)
        assert done.returncode == 0, done.stderr
        assert not OBEYED.search(done.stdout + done.stderr)
    page = (place / "pack" / "evidence.html").read_text(encoding="utf-8")
    assert SCRIPT not in page
    require_page(page, *NAMES)
    with (place / "risks.csv").open(encoding="utf-8", newline="") as file:
        assert not any(map(FORMULA.match, (cell for row in csv.reader(file) for cell in row)))


def in_charts(made: Made, place: Path) -> None:
    pytest.importorskip("altair")
    import altair as alt

    rows = [{"value": value, "count": 1} for value in VALUES[:3]]
    chart = alt.Chart(alt.InlineData(rows)).mark_bar().encode(x="value:N", y="count:Q")
    page = save_chart(chart, place / "chart.html").read_text(encoding="utf-8")
    assert SCRIPT not in page and "<img src=x" not in page
    picture = save_chart(chart, place / "chart.svg").read_text(encoding="utf-8")
    assert "<script" not in picture and "<img" not in picture


def in_a_workbook(made: Made, place: Path) -> None:
    (file,) = made.release.export(place / "release.xlsx")  # compared cell by cell as it is written
    with zipfile.ZipFile(file) as book:
        sheets = "".join(book.read(name).decode() for name in book.namelist() if "sheet" in name)
    assert "<f>" not in sheets and "hyperlink" not in sheets


def in_spss_and_stata(made: Made, place: Path) -> None:
    assert made.release.export(place / "release.sav")
    with pytest.raises(StoreError, match=r"has 10,0.. bytes, and Stata takes at most 2,044"):
        made.release.export(place / "release.dta")


def in_a_database(made: Made, place: Path) -> None:
    install(made.release, f"{place / 'release.duckdb'}", schema="shown")
    with closing(duckdb.connect(str(place / "release.duckdb"), read_only=True)) as client:
        quoted = NAMES[2].replace('"', '""')
        rows = client.execute(f'SELECT DISTINCT "{quoted}" FROM shown.expected').fetchall()
    assert {value for (value,) in rows} == set(VALUES)


def in_a_served_database(made: Made, place: Path) -> None:
    name = NAMES[0].replace("/", "|")  # which no folder can be called
    (place / name).symlink_to(made.folder)
    served = Serving(place, name)
    with served.connect(name) as client:
        quoted = sql.Identifier(NAMES[2])
        asked = sql.SQL("SELECT {0}, COUNT(*) AS {1} FROM release GROUP BY 1")
        found = client.execute(asked.format(quoted, sql.Identifier(NAMES[0])))
        assert found.description is not None
        assert [column.name for column in found.description][:2] == [NAMES[2], NAMES[0]]
        assert {row[0] for row in found} == set(VALUES)
        for value in (value for value in VALUES if not OBEYED.search(value)):
            one = sql.SQL("SELECT COUNT(*) FROM release WHERE {} = %s").format(quoted)
            assert client.execute(one, [value]).fetchone()[0] == 4, value  # type: ignore[index]
        listed = client.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'release'"
        ).fetchall()
        assert {name for (name,) in listed} >= set(NAMES[:3])
    assert not OBEYED.search(served.stop().replace("\n", ""))


OUTPUTS: dict[str, Callable[[Made, Path], None]] = {
    found.__name__: found
    for found in (
        in_csv, in_the_readme, in_reports, in_evidence_and_on_the_terminal, in_charts,
        in_a_workbook, in_spss_and_stata, in_a_database, in_a_served_database,
    )
}  # fmt: skip


@pytest.mark.parametrize("output", OUTPUTS)
def test_names_and_values_are_texts(output: str, made: Made, tmp_path: Path) -> None:
    OUTPUTS[output](made, tmp_path)


def test_names_and_values_are_texts_in_postgresql(made: Made, postgres: str) -> None:
    install(made.release, postgres, schema="shown as text")
    with psycopg.connect(postgres) as client:
        place, name = sql.Identifier("shown as text", "expected"), sql.Identifier(NAMES[2])
        rows = client.execute(sql.SQL("SELECT DISTINCT {} FROM {}").format(name, place)).fetchall()
        assert {value for (value,) in rows} == set(VALUES)
        for name in NAMES[:3]:
            told = client.execute('SELECT says FROM "shown as text".about WHERE name = %s', [name])
            assert told.fetchall()
        client.execute('DROP SCHEMA "shown as text" CASCADE')
