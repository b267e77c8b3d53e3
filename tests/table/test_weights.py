"""Sampling weights: read exactly, carried into releases, counted by questions, loss and risk."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from commands import discreet_here as discreet
from discreet.auditing import population as by
from discreet.errors import MicrodataError, QueryError, SchemaError
from discreet.evaluate import measure_loss
from discreet.publishing.method import Method
from discreet.steward.plan import Plan

TINY = pl.DataFrame(
    {
        "age": [21, 22, 24, 40, 45, 47],
        "ill": ["flu", "flu", "cold", "flu", "cold", "cold"],
        "w": ["1.5", "2", "0", "10.25", "1.5", "4"],
    }
)
PLAN = """
[source]
file = "tiny.csv"
weight = "w"
[method]
name = "generalization"
principles = [{{ name = "k-anonymity", k = 3 }}]
[columns]
age = {{ role = "quasi-identifier", type = "integer" }}
ill = {{ role = "sensitive" }}
w = {{ role = "{role}", type = "decimal", decimals = 2{more} }}
"""


def expect_inverse(f: int, p: float) -> float:
    return float(by.expect_inverse(f, np.array([p]))[0])


def infer(frame: pl.DataFrame = TINY, **more: object) -> dc.Schema:
    wanted = {"quasi_identifiers": ["age"], "sensitive": ["ill"], "weight": "w", **more}
    return dc.Schema.infer(frame, **wanted)  # type: ignore[arg-type]


def test_weights_are_whole_units_and_add_up_exactly() -> None:
    data = dc.read(TINY, infer())
    assert data.schema["w"].keep and data.schema["w"].role is dc.Role.OTHER
    assert data.weights is not None
    assert (data.weights.units.tolist(), data.weights.decimals) == (
        [150, 200, 0, 1025, 150, 400],
        2,
    )
    assert data.weights.total == Fraction(1925, 100)
    taken = data.taken(np.array([3, 0])).weights
    assert taken is not None and taken.units.tolist() == [1025, 150]
    first = data.head(2).weights
    assert first is not None and first.units.tolist() == [150, 200]


def test_a_column_called_weight_is_no_sampling_weight_unless_said() -> None:
    frame = TINY.rename({"w": "weight"})
    assert dc.read(frame, infer(frame, weight=None)).weights is None
    schema = infer(frame, weight="weight")
    assert schema["weight"].role is dc.Role.OTHER and schema["weight"].keep
    blurred = infer(frame, weight="weight", quasi_identifiers=["age", "weight"])
    assert blurred["weight"].role is dc.Role.QUASI_IDENTIFIER and not blurred["weight"].keep
    assert dc.read(frame, blurred).weights is not None


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["1", "2", "-0.5", "3", "1", "-2"], "weight = 'w': 2 of 6 rows are below zero"),
        (["1", "2", "", "3", "1", "2"], "weight = 'w': 1 of 6 rows have none"),
        (["1", "2", "NaN", "3", "1", "2"], "weight = 'w': 1 of 6 rows have none"),
        (["1", "2", "many", "3", "1", "2"], "weight = 'w' is a category, not a number"),
        (["0", "0", "0", "0", "0", "0"], "weight = 'w': no row stands for anybody"),
    ],
)
def test_weights_that_are_none_are_refused(cells: list[str], said: str) -> None:
    frame = TINY.with_columns(w=pl.Series(cells))
    with pytest.raises(dc.DiscreetError, match=said):
        dc.read(frame, infer(frame))


def test_weights_that_are_no_numbers_are_refused_whatever_the_schema_says() -> None:
    frame = TINY.with_columns(w=pl.Series(["1", "2", "many", "3", "1", "2"]))
    with pytest.raises(MicrodataError, match="'w'"):
        dc.read(frame, infer())
    with pytest.raises(SchemaError, match="not in the table"):
        infer(weight="v")
    with pytest.raises(SchemaError, match="the column is sensitive"):
        dc.read(TINY, infer(sensitive=["ill", "w"]))


def test_weights_that_nearly_name_people_are_not_published_as_they_are() -> None:
    frame = pl.DataFrame({"age": [20, 30] * 20, "w": [i + 0.5 for i in range(40)]})
    with pytest.raises(SchemaError, match="it identifies people") as refused:
        dc.read(frame, dc.Schema.infer(frame, quasi_identifiers=["age"], weight="w"))
    assert "keep = false" in str(refused.value.hint)


def test_a_plan_keeps_blurs_or_leaves_out_the_weight(tmp_path: Path) -> None:
    TINY.write_csv(tmp_path / "tiny.csv")
    ways = {"kept": ("other", ""), "blurred": ("quasi-identifier", ""),
            "left": ("other", ", keep = false")}  # fmt: skip
    found = {}
    for name, (role, more) in ways.items():
        (tmp_path / f"{name}.toml").write_text(PLAN.format(role=role, more=more))
        plan = Plan.read(tmp_path / f"{name}.toml")
        data = dc.read(plan.source, plan.schema)
        dc.publish(data, plan.method).write(tmp_path / name)
        found[name] = dc.audit(tmp_path / name, data).population[0]
        assert found[name].population == 20  # 19.25, and nobody is a part of a person
    assert found["kept"] == found["left"] != found["blurred"]
    manifests = {
        name: json.loads((tmp_path / name / "datapackage.json").read_text())["discreet"]
        for name in ways
    }
    assert manifests["kept"]["weight"] == manifests["blurred"]["weight"] == "w"
    assert "weight" not in manifests["left"]
    assert dc.load(tmp_path / "kept").schema.weight == "w"
    asked = ["audit", "left", "--microdata", "tiny.csv", "--plan", "left.toml", "--json"]
    done = discreet(*asked, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["identity"]["journalist"] == found["left"].largest


def test_bad_weights_publish_nothing(tmp_path: Path) -> None:
    TINY.with_columns(w=pl.Series(["-1"] * 6)).write_csv(tmp_path / "tiny.csv")
    (tmp_path / "plan.toml").write_text(PLAN.format(role="other", more=""))
    done = discreet("publish", "plan.toml", "--out", "release", cwd=tmp_path)
    assert done.returncode != 0 and "below zero" in done.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == ["plan.toml", "tiny.csv"]


def test_risk_from_weights_by_hand() -> None:
    """Groups of 3 stand for 3.5 and 15.75 people, so p is 3/3.5 and 3/15.75."""
    data = dc.read(TINY, infer())
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(3)))
    report = dc.audit(release, data)
    (risk,) = report.population
    assert risk.way == "Benedetti–Franconi" and not risk.exact
    each = [expect_inverse(3, 3 / 3.5), expect_inverse(3, 3 / 15.75)]
    assert risk.largest == pytest.approx(each[0])
    assert risk.matches == pytest.approx(3 * sum(each))
    scaled = dc.audit(release, data, population=77).population[0]  # 4 · 19.25
    each = [expect_inverse(3, 3 / 14), expect_inverse(3, 3 / 63)]
    assert scaled.population == 77 and scaled.matches == pytest.approx(3 * sum(each))


def test_weights_that_were_divided_by_their_mean_hide_nobody() -> None:
    frame = TINY.with_columns(w=pl.Series([1, 1, 1, 1, 1, 1]))
    data = dc.read(frame, infer(frame))
    report = dc.audit(dc.publish(data, dc.Generalization(dc.KAnonymity(3))), data)
    assert report.population[0].largest == pytest.approx(float(report.identity.prosecutor))


def test_loss_counts_people_by_their_weight() -> None:
    """[21, 24] covers 2 of the 5 other ages, as does [40, 47]; a wider box of heavy people more."""
    data = dc.read(TINY, infer())
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(3)))
    assert measure_loss(release, data).ncp == pytest.approx(2 / 5)
    frame = pl.DataFrame({
        "age": [20, 20, 20, 40, 41, 42], "ill": ["a", "b"] * 3, "w": [1, 1, 1, 9, 9, 9]
    })  # fmt: skip
    heavy = dc.read(frame, infer(frame))
    release = dc.publish(heavy, dc.Generalization(dc.KAnonymity(3)))
    assert measure_loss(release, heavy).ncp == pytest.approx(27 / 30 * 2 / 3)
    plain = dc.read(frame, infer(frame, weight=None))
    assert measure_loss(release, plain).ncp == pytest.approx(1 / 2 * 2 / 3)


def test_sums_of_weights_are_bounded_by_all_worlds() -> None:
    """Everybody's age may be any of their box: all tables that could be behind the release."""
    data = dc.read(TINY, infer())
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(3)))
    asked = (
        "SELECT COUNT(*) AS people, SUM(w) AS population FROM release WHERE age {} AND ill = 'flu'"
    )
    conditions = {"< 23": lambda a: a < 23, ">= 45": lambda a: a >= 45, "> 30": lambda a: a > 30}
    rows = release.tables["generalized"].select("age_low", "age_high", "ill", "w").rows()
    ill = [(low, high, w) for low, high, ill, w in rows if ill == "flu"]
    ages = sorted(set(TINY["age"].to_list()))
    for condition, holds in conditions.items():
        worlds = [
            [holds(age) for age in chosen]
            for chosen in product(*([a for a in ages if lo <= a <= hi] for lo, hi, _ in ill))
        ]
        people = [sum(world) for world in worlds]
        sums = [sum(w for (*_, w), there in zip(ill, world, strict=True) if there)
                for world in worlds]  # fmt: skip
        answer = release.query(asked.format(condition)).frame.row(0, named=True)
        assert (answer["people_low"], answer["people_high"]) == (min(people), max(people))
        assert answer["population_low"] == pytest.approx(min(sums))
        assert answer["population_high"] == pytest.approx(max(sums))
        assert min(sums) <= answer["population"] <= max(sums)


@pytest.fixture(scope="module")
def survey() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    return pl.DataFrame({
        "age": rng.integers(20, 60, 200), "pay": rng.integers(0, 50, 200),
        "w": rng.integers(10, 30, 200) / 10,
    })  # fmt: skip


@pytest.mark.parametrize(
    "method",
    [
        dc.Generalization(dc.KAnonymity(3)),
        dc.Slicing(dc.FrequencyDiversity(3)),
        dc.Permutation(dc.KE(3, 2)),
        dc.RankSwapping(dc.KE(3, 2)),
        dc.Perturbation(dc.Proximity(0, 2), check="paper"),
    ],
    ids=lambda method: type(method).__name__,
)
def test_every_form_that_keeps_weights_sums_them_or_says_why_not(
    survey: pl.DataFrame, method: Method
) -> None:
    schema = dc.Schema.infer(survey, quasi_identifiers=["age"], sensitive=["pay"], weight="w")
    data = dc.read(survey, schema)
    release = dc.publish(data, method)
    assert release.schema.weight == "w"
    for where in ("age < 40", "age < 40 AND pay < 25", "pay >= 25"):
        try:
            asked = f"SELECT COUNT(*), SUM(w) FROM release WHERE {where}"
            answer = release.query(asked).frame.row(0, named=True)
        except QueryError as refused:
            assert "pay" in where and "SUM of 'w'" in str(refused) and refused.hint
            continue
        truth = survey.sql(f"SELECT SUM(w) FROM self WHERE {where}").item()
        if answer["sum_w_low"] is not None:
            assert answer["sum_w_low"] - 1e-6 <= truth <= answer["sum_w_high"] + 1e-6
    whole = release.query("SELECT SUM(w) FROM release").frame.row(0)[0]
    assert data.weights is not None and whole == pytest.approx(float(data.weights.total))


def test_tables_without_a_place_for_weights_leave_them_to_the_audit(survey: pl.DataFrame) -> None:
    frame = survey.with_columns(pay=pl.col("pay") // 10)
    schema = dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["pay"], weight="w")
    method = dc.Anatomy(dc.FrequencyDiversity(3))
    with pytest.raises(SchemaError, match="no table for it") as refused:
        dc.publish(dc.read(frame, schema), method)
    assert "keep = false" in str(refused.value.hint)
    data = dc.read(frame, schema.changed(replace(schema["w"], keep=False)))
    assert "w" not in data.codes and data.weights is not None
    release = dc.publish(data, method)
    assert release.schema.weight is None
    (risk,) = dc.audit(release, data).population
    # exact records: everybody of an age looks the same
    totals = frame.group_by("age").agg(pl.len(), pl.col("w").sum()).rows()
    wanted = [expect_inverse(f, f / total) * f for _, f, total in totals]
    assert risk.matches == pytest.approx(sum(wanted))


def test_a_blurred_weight_is_summed_between_the_ends_of_its_boxes() -> None:
    data = dc.read(TINY, infer(quasi_identifiers=["age", "w"]))
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(3)))
    answer = release.query("SELECT SUM(w) FROM release")
    assert answer.low <= data.to_polars()["w"].sum() <= answer.high  # type: ignore[operator]
    table = release.tables["generalized"]
    assert (answer.low, answer.high) == (table["w_low"].sum(), table["w_high"].sum())


def test_people_with_several_rows_weigh_once() -> None:
    frame = pl.DataFrame({
        "id": ["a", "a", "b", "c", "d", "e", "f"], "age": [20, 20, 21, 22, 40, 41, 42],
        "w": [2, 2, 2, 2, 5, 5, 5],
    })  # fmt: skip
    schema = dc.Schema.infer(
        frame, quasi_identifiers=["age"], sensitive=[], person="id", weight="w"
    )
    data = dc.read(frame, schema)
    report = dc.audit(dc.publish(data, dc.Generalization(dc.KAnonymity(3))), data)
    assert report.population[0].population == 21
    assert report.population[0].assumes.endswith("rows of one person are not put together")
    assert report.population[0].largest == pytest.approx(expect_inverse(3, 1 / 2))


@pytest.mark.parametrize("rows", ["one", "fold"])
@pytest.mark.parametrize("keep", [True, False])
def test_rows_that_are_taken_or_folded_have_their_weights(rows: Any, keep: bool) -> None:
    frame = pl.DataFrame({"id": ["a", "a", "b"], "age": [20, 20, 30], "w": [7, 7, 2]})
    schema = dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=[], weight="w")
    attributes = tuple(replace(a, keep=keep) if a.name == "w" else a for a in schema)
    data = dc.read(frame, dc.Schema(attributes, dc.PeopleKey("id", rows=rows), "w"))
    assert data.weights is not None
    ages = data.to_polars()["age"].to_list()
    assert dict(zip(ages, data.weights.units.tolist(), strict=True)) == {20: 7, 30: 2}
