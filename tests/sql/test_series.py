"""Several releases of a table that changes, asked as one, with the truth inside the bounds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

import discreet as dc
from commands import discreet_here
from questions import METHODS, Drawer, draw_people, find_wrong

YEARS = ["2023", "2024", "2025"]


def draw_versions(rng: np.random.Generator, n: int) -> dict[str, dc.Microdata]:
    """Draw people of three years: some leave, others join, and some earn more."""
    first = draw_people(rng, n)
    people = first.to_polars()
    found = {YEARS[0]: first}
    for year in YEARS[1:]:
        stay = people.filter(pl.Series(rng.random(people.height) < 0.8))
        raised = pl.Series(rng.integers(0, 2, stay.height) * 700)
        joined = people.sample(n // 4, seed=int(rng.integers(1000)), with_replacement=True)
        people = pl.concat([stay.with_columns(pl.col("wage") + raised), joined])
        found[year] = dc.read(people, first.public_schema)
    return found


def open_versions(versions: dict[str, dc.Microdata]) -> duckdb.DuckDBPyConnection:
    """Open a database that has the microdata of all years as ``releases``."""
    database = duckdb.connect()
    frames = [data.to_polars().with_columns(year=int(name)) for name, data in versions.items()]
    database.register("given", pl.concat(frames).to_arrow())
    database.execute("CREATE TABLE releases AS SELECT * FROM given")
    return database


@dataclass
class OverTime(Drawer):
    """Draws questions that are about the year as well."""

    def condition(self, depth: int = 1) -> str:
        if self.rng.random() < 0.75:
            return super().condition(depth)
        a, b = self.one(YEARS), self.one([*YEARS, "2020"])
        return self.one([
            f"year = {a}", f"year <> {a}", f"year >= {a}", f"year IN ({a}, {b})", "year % 2 = 1",
            f"NOT year = {a}", f"CASE year WHEN {a} THEN {super().condition(0)} ELSE TRUE END",
            f"(year = {a} OR {super().condition(0)})", f"COALESCE(NULLIF(year, {a}), 0) > {b}",
            f"NOT (year = {a} AND {super().condition(0)})",
        ])  # fmt: skip

    def key(self) -> str:
        if self.rng.random() < 0.4:
            return super().key()
        return self.one([
            "year", "year", "year", "year % 2", f"year > {self.one(YEARS)}",
            f"CASE WHEN year = {self.one(YEARS)} THEN 'then' ELSE 'else' END",
            f"CASE WHEN year = {self.one(YEARS)} THEN {super().condition(0)} END",
        ])  # fmt: skip

    def aggregate(self) -> str:
        if self.rng.random() < 0.9:
            return super().aggregate()
        return self.one(["MAX(year)", "MIN(year)", "SUM(year)", "AVG(year)", "COUNT(year)",
                         "COUNT(DISTINCT year)", "SUM(wage - year)"])  # fmt: skip

    def draw(self) -> str:
        return super().draw().replace("FROM release", "FROM releases")


@pytest.mark.parametrize("seed", range(4))
def test_random_questions_have_the_truth_inside_their_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    versions = draw_versions(rng, 60)
    cases = [*METHODS] if seed < 2 else rng.permutation([*METHODS]).tolist()
    mixed = cases[3 * (seed % 2) :][: len(YEARS)]  # the first two seeds have all forms
    releases = {year: dc.publish(data, METHODS[case], insecure_seed=1)
                for (year, data), case in zip(versions.items(), mixed, strict=True)}  # fmt: skip
    drawer = OverTime(rng, versions[YEARS[0]].public_schema.names)
    answered = 0
    with open_versions(versions) as database, dc.Series(releases, by="year").prepare() as prepared:
        for _ in range(12):
            sql = drawer.draw()
            wrong = find_wrong(prepared, database, sql)
            assert not wrong, (sql, wrong)
            answered += wrong is not None
    assert answered >= 4


PEOPLE = {"age": [20, 30, 40, 50], "sex": ["f", "m", "f", "m"], "wage": [10, 20, 30, 40]}
WHOLE = dc.Permutation(dc.KE(2, 10))


def publish(people: Mapping[str, Sequence[object]]) -> dc.Release:
    """Publish a few people, whose wages are exchanged within groups of two."""
    frame = pl.DataFrame(people)
    known = [name for name in frame.columns if name != "wage"]
    schema = dc.Schema.infer(frame, quasi_identifiers=known, sensitive=["wage"])
    return dc.publish(dc.read(frame, schema), WHOLE, insecure_seed=1)


@pytest.fixture
def series() -> dc.Series:
    """Four people; then all earn 100 more; then two more have come, and zip is asked."""
    more = {**PEOPLE, "wage": [110, 120, 130, 140]}
    last = {"age": [20, 30, 40, 50, 60, 70], "sex": ["f", "m"] * 3, "zip": [*"aabbbb"],
            "wage": [200, 210, 220, 230, 240, 250]}  # fmt: skip
    years = {"2024": PEOPLE, "2025": more, "2026": last}
    return dc.Series({year: publish(people) for year, people in years.items()}, by="year")


def test_every_year_is_answered_by_itself(series: dc.Series) -> None:
    found = series.query("SELECT year, COUNT(*) AS n, SUM(wage) AS s FROM releases GROUP BY year")
    rows = found.frame.select("year", "n", "s", "s_low", "s_high").rows()
    assert rows == [(2024, 4, 100, 100, 100), (2025, 4, 500, 500, 500), (2026, 6, 1350, 1350, 1350)]
    assert {"permuted 2024", "help 2026"} <= set(found.tables)


def test_years_are_pooled(series: dc.Series) -> None:
    text = "SELECT COUNT(*) AS n, SUM(wage) AS s, AVG(wage) AS a, MIN(wage) AS f, MAX(wage) AS l"
    found = series.query(f"{text} FROM releases WHERE year <= 2025").frame.row(0, named=True)
    assert (found["n"], found["s"], found["a"]) == (8, 600, 75)
    assert (found["a_low"], found["a_high"], found["a_stderr"]) == (75, 75, 0)
    assert (found["f_low"], found["f_high"], found["l_low"], found["l_high"]) == (10, 10, 140, 140)


def test_bounds_and_errors_of_pooled_years_follow_from_those_of_each(series: dc.Series) -> None:
    """A person of 20 has 10 or 20, and a year later 110 or 120; each with an error of 5."""
    text = "FROM releases WHERE age = 20 AND year < 2026"
    each = series.query(f"SELECT year, SUM(wage) AS s {text} GROUP BY year").frame
    assert each.select("s", "s_low", "s_high", "s_stderr").rows() == [
        (15, 10, 20, 5), (115, 110, 120, 5)]  # fmt: skip
    both = series.query(f"SELECT SUM(wage) AS s, AVG(wage) AS a {text}").frame.row(0, named=True)
    assert (both["s"], both["s_low"], both["s_high"]) == (130, 120, 140)
    assert both["s_stderr"] == pytest.approx(50**0.5)
    assert (both["a"], both["a_low"], both["a_high"]) == (65, 60, 70)
    assert both["a_stderr"] == pytest.approx(50**0.5 / 2)


def test_an_average_leans_to_the_year_that_may_have_more_people() -> None:
    """Of a box of four it is not known how many are below 35; they earn about 10, or 110."""
    frames = [pl.DataFrame({**PEOPLE, "wage": [w, w, w, w + 1]}) for w in (10, 110)]
    schema = dc.Schema.infer(frames[0], quasi_identifiers=["age", "sex"], sensitive=["wage"])
    boxes = dc.Generalization(dc.KAnonymity(4))
    both = dc.Series({str(i): dc.publish(dc.read(f, schema), boxes) for i, f in enumerate(frames)})
    found = both.query("SELECT AVG(wage) FROM releases WHERE age < 35")
    text = "SELECT release, COUNT(*) AS n, AVG(wage) AS a FROM releases WHERE age < 35 GROUP BY 1"
    poor, rich = both.query(text).frame.rows(named=True)
    assert poor["n_low"] < poor["n_high"]

    def weigh(end: str, some: str, others: str) -> float:
        weights = poor[some], rich[others]
        return (weights[0] * poor[end] + weights[1] * rich[end]) / sum(weights)

    assert found.low == pytest.approx(weigh("a_low", "n_high", "n_low"))
    assert found.high == pytest.approx(weigh("a_high", "n_low", "n_high"))


def test_differences_between_years(series: dc.Series) -> None:
    lagged = "AVG(wage) - LAG(AVG(wage)) OVER (ORDER BY year) AS d"
    found = series.query(f"SELECT year, {lagged} FROM releases WHERE sex = 'f' GROUP BY year").frame
    joined = series.query(
        "WITH g AS (SELECT year, AVG(wage) AS a FROM releases WHERE sex = 'f' GROUP BY year) "
        "SELECT l.year, l.a - f.a AS d FROM g f JOIN g l ON l.year = f.year + 1 ORDER BY 1"
    ).frame
    for name in ("d", "d_low", "d_high"):
        assert found[name].to_list()[1:] == joined[name].to_list()
    assert joined.row(0, named=True)["d_low"] < 100 < joined.row(0, named=True)["d_high"]


def test_the_year_is_a_column_like_others(series: dc.Series) -> None:
    text = "SELECT year % 2 AS odd, MAX(year) AS last, COUNT(*) AS n FROM releases GROUP BY 1"
    assert series.query(text).frame.select("odd", "last", "n").rows() == [
        (0, 2026, 10),
        (1, 2025, 4),
    ]
    born = "SELECT (year - age) // 10 * 10 AS born, COUNT(*) AS n FROM releases GROUP BY 1"
    assert series.query(born).frame.select("born", "n").rows() == [
        (1950, 1), (1960, 1), (1970, 3), (1980, 3), (1990, 3), (2000, 3)]  # fmt: skip
    inner = "SELECT * FROM releases WHERE year BETWEEN 2025 AND 2030"
    assert series.query(f"SELECT COUNT(*) FROM ({inner}) t WHERE t.age > 30").estimate == 6
    part = "CASE WHEN year = 2026 THEN zip ELSE 'before' END"
    found = series.query(f"SELECT {part} AS z, COUNT(*) AS n FROM releases GROUP BY 1").frame
    assert found.select("z", "n").rows() == [("a", 2), ("b", 4), ("before", 8)]


def test_numbers_that_nothing_holds_are_texts() -> None:
    made = dc.Series({name: publish(PEOPLE) for name in ("9" * 20, "5")}, by="year")
    assert made.query("SELECT year, COUNT(*) FROM releases GROUP BY year").frame["year"].to_list()


def test_names_that_are_no_numbers_are_texts() -> None:
    release = publish(PEOPLE)
    series = dc.Series({"spring": release, "2025": release})
    assert series.query("SELECT COUNT(*) FROM releases WHERE release = '2025'").estimate == 4
    assert series.query("SELECT COUNT(*) FROM releases WHERE release LIKE 's%'").estimate == 4
    assert dc.Series({"01": release}).values.to_list() == ["01"]


def test_attributes_that_some_releases_lack(series: dc.Series) -> None:
    assert series.attributes.row(2) == ("wage", "integer", "integer", "integer")
    assert series.attributes.filter(attribute="zip").row(0) == ("zip", None, None, "category")
    found = series.query("SELECT COUNT(*) FROM releases WHERE year = 2026 AND zip = 'a'")
    assert (found.estimate, found.notes) == (2, [])
    with pytest.raises(dc.DiscreetError, match="'zip' is not in 2024, 2025") as refused:
        series.query("SELECT year, COUNT(*) FROM releases WHERE zip = 'a' GROUP BY year")
    assert "WHERE year = 2026" in str(refused.value)


def test_attributes_that_releases_have_as_something_else() -> None:
    """Ages of 2025 are texts. A question about either year is answered, none about both."""
    texts = {**PEOPLE, "age": ["young", "young", "old", "old"]}
    series = dc.Series({"2024": publish(PEOPLE), "2025": publish(texts)}, by="year")
    counted = "SELECT COUNT(*) FROM releases WHERE"
    assert series.query(f"{counted} year = 2025 AND age = 'old'").estimate == 2
    assert series.query(f"{counted} year = 2024 AND age % 20 = 0").estimate == 2
    assert series.query(f"{counted} sex = 'f'").estimate == 4
    for asked in ("AVG(age)", "COUNT(DISTINCT age)", "COUNT(age)"):
        with pytest.raises(dc.DiscreetError, match="not the same in all releases"):
            series.query(f"SELECT {asked} FROM releases")


def test_whole_numbers_are_numbers_and_orders_may_grow() -> None:
    schema = [
        dc.Schema((dc.Attribute("age", dc.Role.QUASI_IDENTIFIER, kind, decimals=digits),
                   dc.Attribute("level", dc.Role.QUASI_IDENTIFIER, dc.Type.ORDINAL, order=order),
                   dc.Attribute("wage", dc.Role.SENSITIVE, dc.Type.INTEGER)))
        for kind, digits, order in ((dc.Type.INTEGER, None, ("low", "high")),
                                    (dc.Type.DECIMAL, 1, ("low", "mid", "high")))
    ]  # fmt: skip
    first = pl.DataFrame({"age": [20, 30, 40, 50], "level": ["low", "high"] * 2,
                          "wage": PEOPLE["wage"]})  # fmt: skip
    last = first.with_columns(age=pl.col("age") + 0.5, level=pl.Series(["low", "mid"] * 2))
    both = dc.Series({
        year: dc.publish(dc.read(frame, held), WHOLE, insecure_seed=1)
        for year, frame, held in zip(("1", "2"), (first, last), schema, strict=True)
    })  # fmt: skip
    assert both.query("SELECT SUM(age) FROM releases").estimate == 282
    assert both.query("SELECT COUNT(*) FROM releases WHERE level >= 'mid'").estimate == 4


def test_what_is_refused(series: dc.Series) -> None:
    for text, match in {
        "SELECT MEDIAN(wage) FROM releases": "quantile of wage .* several releases together",
        "SELECT COUNT(*) FROM release": "not 'releases'",
        "SELECT COUNT(*) FROM releases WHERE year = 2020": "none of the releases",
        "SELECT year, age FROM releases": "no aggregate",
        "SELECT AVG(sex) FROM releases": "not a number",
    }.items():
        with pytest.raises(dc.DiscreetError, match=match):
            series.query(text)
    assert (
        series.query("SELECT year, MEDIAN(wage) AS m FROM releases GROUP BY year").frame.height == 3
    )
    with pytest.raises(dc.DiscreetError, match="table of all releases"):
        series.query("SELECT COUNT(*) FROM releases", tables={"Releases": pl.DataFrame({"a": [1]})})
    with pytest.raises(dc.DiscreetError, match="'AGE' itself"):
        dc.Series({"2024": publish(PEOPLE)}, by="AGE")
    with pytest.raises(dc.DiscreetError, match="no release"):
        dc.Series({})


def test_years_that_there_are_not_are_said(series: dc.Series) -> None:
    found = series.query("SELECT COUNT(*) FROM releases WHERE year IN (2024, 2020)")
    assert found.estimate == 4
    assert found.notes == ["There is no release 2020, only 2024, 2025, 2026."]
    filtered = "SELECT COUNT(*) AS n, MAX(wage) FILTER (WHERE year = 2020) AS m FROM releases"
    row = series.query(filtered).frame.row(0, named=True)
    assert (row["n"], row["m"], row["m_low"], row["m_high"]) == (14, None, None, None)
    assert series.query("SELECT COUNT(*) FROM releases WHERE sex = 'F'").notes == [
        "Nobody has 'F' for 'sex'. Did you mean 'f'?"]  # fmt: skip


def test_series_are_loaded_by_folder_or_by_name(series: dc.Series, tmp_path: Path) -> None:
    for name in series:
        series[name].write(tmp_path / "yearly" / name, insecure=True)
    (tmp_path / "yearly" / "notes").mkdir()
    folders = {name: tmp_path / "yearly" / name for name in reversed(series.releases)}
    for given in (tmp_path / "yearly", str(tmp_path / "yearly"), list(folders.values()), folders):
        loaded = dc.load_series(given, by="year")
        assert sorted(loaded) == ["2024", "2025", "2026"] and len(loaded) == 3
        assert loaded.query("SELECT COUNT(*) FROM releases WHERE year > 2024").estimate == 10
    assert repr(loaded) == "Series of 3 releases by year: 2026, 2025, 2024; 4 attributes"
    with pytest.raises(dc.DiscreetError, match="holds no release"):
        dc.load_series(tmp_path)
    with pytest.raises(dc.DiscreetError, match="both called '2024'"):
        dc.load_series([folders["2024"], folders["2024"]])
    asked = "SELECT year, COUNT(*) AS n FROM releases GROUP BY year"
    shown = discreet_here("query", "yearly", asked, "--by", "year", "--json", cwd=tmp_path)
    rows = json.loads(shown.stdout)["rows"]
    assert [(row["year"], row["n"]) for row in rows] == [(2024, 4), (2025, 4), (2026, 6)]
    alone = discreet_here("query", "yearly/2024", asked, "--by", "year", cwd=tmp_path)
    assert alone.returncode == 2 and "is one release" in alone.stderr


def test_postgresql_answers_the_same(series: dc.Series, postgres: str) -> None:
    for text in ("SELECT year, AVG(wage) AS a FROM releases WHERE age < 50 GROUP BY year",
                 "SELECT sex, AVG(wage) AS a, MIN(wage) AS m FROM releases GROUP BY sex "
                 "HAVING COUNT(*) > 2"):  # fmt: skip
        assert series.query(text, engine=postgres).frame.equals(series.query(text).frame)
