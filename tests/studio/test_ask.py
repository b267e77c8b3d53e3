"""Asking a release in the studio: the numbers and words of the command line, and nothing else."""

from __future__ import annotations

import html
import re
import threading
import time
from pathlib import Path

import pytest

import discreet as dc
from discreet.forms.asking import show_sql
from studios import Studio

NASTY = "<script>alert(1)</script>\"'&amp;"
LONG = "n" * 10_000
QUESTION = "SELECT COUNT(*) FROM release WHERE age < 36 AND \"the town\" <> 'Ulm'"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with a name that needs quotes, and a value that is no harm only as text."""
    folder = tmp_path_factory.mktemp("releases")
    towns = ["Ulm", "Bonn", NASTY, LONG]
    rows = [f'{20 + i % 30},"{towns[i % 4].replace(chr(34), chr(34) * 2)}",{"ab"[i % 2]}'
            for i in range(60)]  # fmt: skip
    (folder / "people.csv").write_text("\n".join(["age,the town,illness", *rows]), "utf-8")
    schema = dc.Schema(
        (
            dc.Attribute("age", dc.Role.QUASI_IDENTIFIER, dc.Type.INTEGER),
            dc.Attribute("the town", dc.Role.QUASI_IDENTIFIER, dc.Type.CATEGORY),
            dc.Attribute("illness", dc.Role.SENSITIVE, dc.Type.CATEGORY),
        )
    )
    data = dc.read(folder / "people.csv", schema)
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(5)))
    release.write(folder / "for all")
    return folder / "for all"


@pytest.fixture
def asking(studio: Studio, published: Path) -> Studio:
    (studio.root / "for all").mkdir()
    for path in published.iterdir():
        (studio.root / "for all" / path.name).write_bytes(path.read_bytes())
    return studio


def text_of(page: str) -> str:
    return html.unescape(re.sub(r"\s+", " ", page))


def test_a_release_is_found_and_asked_without_an_open_table(asking: Studio) -> None:
    assert "/ask?release=for%20all" in asking.client.get("/ask").text
    page = text_of(asking.client.get("/ask?release=for all").text)
    assert dc.load(asking.root / "for all").promise.guarantee in page
    assert asking.visit().plan is None


def test_an_answer_is_the_one_of_the_library_with_its_bounds_in_words(asking: Studio) -> None:
    page = asking.post("/ask/question", release="for all", sql=QUESTION).text
    found = dc.load(asking.root / "for all").query(QUESTION)
    assert f"≈ {found.estimate:,.2f}" in page
    assert f"certainly between {found.low:,} and {found.high:,}" in page
    assert f"The standard error is {found.stderr:,.2f}." in page
    assert found.coverage in text_of(page)


def test_one_number_by_two_columns_is_a_crosstab_with_a_chart(asking: Studio) -> None:
    sql = "SELECT illness, age // 10 * 10 AS decade, COUNT(*) FROM release GROUP BY 1, 2"
    page = asking.post("/ask/question", release="for all", sql=sql).text
    assert 'class="cross"' in page
    chart = html.unescape(re.search(r'data-chart="([^"]*)"', page)[1])  # type: ignore[index]
    assert '"likely_low"' in chart and "var(--ink)" in chart


def test_the_form_writes_sql_that_can_be_asked(asking: Studio) -> None:
    sent = {
        "measure": "avg", "of": "age", "by": ["the town", ""], "step": ["", ""],
        "where": ["age", "the town"], "compare": ["least", "not"], "value": ["25", "O'Hara"],
    }  # fmt: skip
    page = asking.post("/ask/form", release="for all", **sent).text
    sql = text_of(re.search(r">(.*)</textarea>", page, re.DOTALL)[1])  # type: ignore[index]
    assert sql == (
        "SELECT \"the town\", AVG(age) FROM release WHERE age >= 25 AND \"the town\" <> 'O''Hara' "
        'GROUP BY "the town" ORDER BY "the town"'
    )
    assert asking.post("/ask/question", release="for all", sql=sql).status_code == 200


def test_a_form_with_a_word_for_a_number_is_refused(asking: Studio) -> None:
    sent = {"measure": "count", "where": "age", "compare": "is", "value": "old"}
    answer = asking.post("/ask/form", release="for all", **sent)
    assert answer.status_code == 422
    assert "'old' is no number, as 'age' is." in text_of(answer.text)


@pytest.mark.parametrize(
    ("sql", "near"),
    [
        ("SELECT agee FROM people", "SELECT age, COUNT(*) FROM release GROUP BY age"),
        ("SELECT illness, COUNT(*) FROM release",
         "SELECT illness, COUNT(*) FROM release GROUP BY illness"),
        ("SELECT SUM(illness) FROM release WHERE age < 30",
         "SELECT COUNT(*) FROM release WHERE age < 30"),
    ],
)  # fmt: skip
def test_a_refusal_says_what_the_library_says_and_the_nearest_question(
    asking: Studio, sql: str, near: str
) -> None:
    page = text_of(asking.post("/ask/question", release="for all", sql=sql).text)
    with pytest.raises(dc.DiscreetError) as refused:
        dc.load(asking.root / "for all").query(sql)
    assert refused.value.message in page
    assert f'data-example="{near}"' in page
    dc.load(asking.root / "for all").query(near)


def test_the_rewritten_statement_is_that_of_the_command_line(asking: Studio) -> None:
    page = asking.post("/ask/statement", release="for all", sql=QUESTION, dialect="postgres").text
    shown = re.search(r'id="statement-text">(.*?)</pre>', page, re.DOTALL)
    wanted = show_sql(dc.load(asking.root / "for all"), QUESTION, "postgres")
    assert shown is not None and html.unescape(shown[1]) == wanted


@pytest.mark.parametrize("name", ["..", "/etc", "../elsewhere", "people.csv", "nowhere"])
def test_only_releases_of_the_folder_are_asked(asking: Studio, name: str) -> None:
    assert asking.client.get("/ask", params={"release": name}).status_code == 422
    answer = asking.post("/ask/question", release=name, sql=QUESTION)
    assert answer.status_code == 422
    assert "refusal" in answer.text


def test_a_dialect_that_there_is_not_is_refused(asking: Studio) -> None:
    answer = asking.post("/ask/statement", release="for all", sql=QUESTION, dialect="<b>")
    assert answer.status_code == 422


def test_values_names_and_questions_are_shown_as_text(asking: Studio) -> None:
    page = asking.client.get("/ask?release=for all").text
    by_town = 'SELECT "the town", COUNT(*) FROM release GROUP BY 1'
    hostile = (
        f"SELECT COUNT(*) FROM release WHERE illness = '{NASTY.replace(chr(39), chr(39) * 2)}'"
    )
    answers = [
        asking.post("/ask/question", release="for all", sql=sql).text
        for sql in (by_town, hostile, f'SELECT "{NASTY.replace(chr(34), "")}" FROM release')
    ]
    for shown in (page, *answers):
        assert "<script>alert" not in shown
        assert " style=" not in shown and " onclick=" not in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in answers[0]
    assert len(re.sub(r'data-chart="[^"]*"|value="[^"]*"', "", answers[0])) < 10_000


def test_a_hostile_name_of_a_release_is_shown_as_text(asking: Studio) -> None:
    name = '"><script>alert(3)<'
    (asking.root / "for all").rename(asking.root / name)
    listed = asking.client.get("/ask").text
    page = asking.client.get("/ask", params={"release": name}).text
    audited = asking.client.get("/audit").text
    for shown in (listed, page, audited):
        assert "<script>alert" not in shown
        assert "&lt;script&gt;alert(3)&lt;" in shown


def test_several_releases_of_a_table_are_asked_as_one(asking: Studio) -> None:
    years = asking.root / "years"
    for year in ("2024", "2025"):
        (years / year).mkdir(parents=True)
        for path in (asking.root / "for all").iterdir():
            (years / year / path.name).write_bytes(path.read_bytes())
    assert "2 releases asked as one" in asking.client.get("/ask").text
    sql = "SELECT release, COUNT(*) FROM releases GROUP BY release"
    assert "2025" in asking.post("/ask/question", release="years", sql=sql).text


def test_a_question_is_stopped_and_the_next_is_answered(asking: Studio) -> None:
    """Whoever answers has just been called, and needs longer to come than it takes to say stop."""
    visit, told = asking.visit(), []

    def ask() -> None:
        told.append(asking.post("/ask/question", release="for all", sql=QUESTION))

    waiting = threading.Thread(target=ask)
    waiting.start()
    while visit.analyst.pid is None:
        time.sleep(0.001)
    assert asking.client.get("/ask").status_code == 200  # nobody else waits for the answer
    assert asking.post("/ask/stop").status_code == 204
    waiting.join()
    assert told[0].status_code == 422 and "Interrupted." in told[0].text
    assert 'id="estimate"' in asking.post("/ask/question", release="for all", sql=QUESTION).text
