"""Crosstabs and histograms: bounds hold the microdata's numbers, cell by cell."""

from __future__ import annotations

import datetime as dt
import json
from functools import partial
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from commands import discreet_here
from discreet.analysis.bins import choose_bins
from discreet.analysis.tabulation import MOST_BARS, draw_answer
from samples import EVERY_FORM, microdata

EACH = pytest.mark.parametrize("form", [form for form in EVERY_FORM if form != "angelization"])
PARTS = ["estimate", "low", "high", "stderr", "width"]


def draw_people() -> pl.DataFrame:
    people = dc.datasets.census(300, sensitive=["income"]).to_polars()
    few = pl.col("region").str.slice(2).str.to_integer() % 3
    return people.select("age", "sex", pl.format("R{}", few).alias("region"), "income")


@EACH
def test_every_cell_holds_the_truth(form: str) -> None:
    people = draw_people()
    release = dc.publish(microdata(people, ["age", "sex", "region"], ["income"]),
                         EVERY_FORM[form], insecure_seed=1)  # fmt: skip
    found = release.crosstab("sex", "region", "AVG(income)")
    assert found.frame.columns == ["sex", "region", *PARTS]
    truth = people.group_by("sex", "region").agg(pl.col("income").mean().alias("truth"))
    joined = found.frame.join(truth, on=["sex", "region"])
    assert joined.height == truth.height
    outside = (pl.col("truth") < pl.col("low") - 1e-6) | (pl.col("truth") > pl.col("high") + 1e-6)
    assert joined.filter(outside).is_empty()
    counted = release.histogram("age", by="sex")
    assert counted.frame.columns == ["from", "below", "sex", *PARTS]
    assert abs(counted.frame["estimate"].sum() - 300) < 1e-6
    for row in counted.frame.iter_rows(named=True):
        inside = people.filter(pl.col("age") >= row["from"], pl.col("age") < row["below"],
                               sex=row["sex"])  # fmt: skip
        assert row["low"] <= inside.height <= row["high"]
    assert "region" in repr(found) and "[" in repr(counted)


def test_bins_are_round_and_hold_everybody() -> None:
    frame = pl.DataFrame({
        "age": [*range(18, 98)] * 5,
        "born": [dt.date(1930, 1, 15) + dt.timedelta(days=70 * i) for i in range(400)],
        "rate": [i / 100 for i in range(400)],
        "pay": [2 * i for i in range(400)],
    })  # fmt: skip
    release = dc.publish(
        microdata(frame, ["age", "born", "rate"], ["pay"]), dc.Permutation(dc.KE(2, 2))
    )

    def ends(name: str, bins: object = None) -> list[object]:
        chosen = choose_bins(release, name, bins)  # type: ignore[arg-type]
        assert chosen is not None
        return list(chosen.ends)

    assert ends("age") == [*range(10, 110, 10)][: len(ends("age"))]
    assert ends("rate", 8) == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0]
    assert all(end.month == end.day == 1 for end in ends("born"))  # type: ignore[attr-defined]
    born = release.histogram("born")
    assert born.frame["estimate"].sum() == 400
    given = release.histogram("age", bins=[18, 40, 98])
    assert given.frame["estimate"].to_list() == [110, 290]
    for wrong in ([3, 1], [1], ["a", "b"], 0):
        with pytest.raises(dc.DiscreetError, match="bins"):
            release.histogram("age", bins=wrong)  # type: ignore[arg-type]


def test_ordinals_and_categories_have_a_bar_for_each_value() -> None:
    frame = pl.DataFrame({"school": ["low", "high", "mid", "low"] * 25, "pay": range(100)})
    school = dc.Attribute("school", dc.Role.QUASI_IDENTIFIER, dc.Type.ORDINAL,
                          order=("low", "mid", "high"))  # fmt: skip
    pay = dc.Attribute("pay", dc.Role.SENSITIVE, dc.Type.INTEGER)
    release = dc.publish(dc.read(frame, dc.Schema((school, pay))), dc.Permutation(dc.KE(2, 2)))
    found = release.histogram("school")
    assert found.frame.select("school", "estimate").rows() == [("low", 50), ("mid", 25),
                                                              ("high", 25)]  # fmt: skip
    with pytest.raises(dc.DiscreetError, match="no bins"):
        release.histogram("school", bins=3)


def test_the_commands_print_draw_and_refuse(tmp_path: Path) -> None:
    people = microdata(draw_people(), ["age", "sex", "region"], ["income"])
    folder = dc.publish(people, dc.Permutation(dc.KE(5, 1000))).write(tmp_path / "r")
    at, ask = str(folder), partial(discreet_here, cwd=tmp_path)
    done = ask("crosstab", at, "--rows", "sex", "--columns", "Region", "--json")
    assert sum(row["estimate"] for row in json.loads(done.stdout)["rows"]) == 300
    page = tmp_path / "age.html"
    done = ask("histogram", at, "age", "--by", "sex", "--chart", str(page))
    assert "at most" in done.stdout and "<html" in page.read_text(encoding="utf-8")
    done = ask("regress", at, "income ~ age + sex", "--seed", "1")
    assert "std. error" in done.stdout and "Note: Whose income is whose" in done.stdout
    assert ask("regress", at, "income ~ age ^ 2").returncode == 2
    done = ask("histogram", at, "age", "--chart", str(tmp_path / "age.gif"))
    assert done.returncode == 2 and "Hint:" in done.stderr
    for rows, columns in (("sex", "sex"), ("sex", "reg")):
        with pytest.raises(dc.DiscreetError):
            dc.load(folder).crosstab(rows, columns)


def test_an_answer_in_sql_is_drawn_as_a_crosstab_is() -> None:
    people = draw_people()
    release = dc.publish(microdata(people, ["age", "sex", "region"], ["income"]),
                         EVERY_FORM["generalization"], insecure_seed=1)  # fmt: skip
    asked = "SELECT sex, region, COUNT(*) AS many FROM release GROUP BY sex, region ORDER BY 1, 2"
    drawn = draw_answer(release.query(asked)).to_dict()  # type: ignore[union-attr]
    wanted = release.crosstab("sex", "region").chart().to_dict()
    shown, meant = (list(chart["datasets"].values()) for chart in (drawn, wanted))
    assert shown == meant and shown[0]


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT COUNT(*) FROM release",
        "SELECT sex, COUNT(*), AVG(age) FROM release GROUP BY sex",
        "SELECT sex, region, age, COUNT(*) FROM release GROUP BY ALL",
        "SELECT age, region, COUNT(*) FROM release GROUP BY age, region",
    ],
)
def test_what_is_no_crosstab_is_not_drawn(asked: str) -> None:
    release = dc.publish(microdata(draw_people(), ["age", "sex", "region"], ["income"]),
                         EVERY_FORM["generalization"], insecure_seed=1)  # fmt: skip
    found = release.query(asked)
    assert draw_answer(found) is None
    assert len(found.known) in (0, 3) or len(found.told) > 1 or found.frame.height > MOST_BARS
