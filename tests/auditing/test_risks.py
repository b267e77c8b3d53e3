"""Singling out, linkability, inference: rates that can be checked by hand, and the self-test."""

from __future__ import annotations

from math import sqrt

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.auditing.attacker import Lookup, take_place
from discreet.auditing.rates import PrivacyRisk, SuccessRate
from discreet.auditing.risks import measure_risks
from samples import EVERY_FORM, microdata


@pytest.fixture(scope="module")
def halves() -> tuple[dc.Microdata, dc.Microdata]:
    both = dc.datasets.census(600, sensitive=["income"])
    names = ["age", "sex", "region", "household", "income"]
    frame, schema = both.to_polars().select(names), both.schema.only(names)
    return dc.read(frame[:300], schema), dc.read(frame[300:], schema)


def by_name(risks: list[PrivacyRisk]) -> dict[str, PrivacyRisk]:
    return {risk.name: risk for risk in risks}


def test_rates_and_risks_are_wilsons_and_anonymeters() -> None:
    z = 1.959963984540054
    rate = SuccessRate(30, 100)
    center = (30 + z * z / 2) / (100 + z * z)
    error = z / (100 + z * z) * sqrt(30 * 70 / 100 + z * z / 4)
    assert rate.value == 0.3
    assert (rate.low, rate.high) == pytest.approx((center - error, center + error))
    control = SuccessRate(10, 50)
    other = (10 + z * z / 2) / (50 + z * z)
    wide = z / (50 + z * z) * sqrt(10 * 40 / 50 + z * z / 4)
    risk = (center - other) / (1 - other)
    spread = sqrt((error / (1 - other)) ** 2 + (wide * (center - 1) / (1 - other) ** 2) ** 2)
    assert rate.beyond(control) == pytest.approx((risk, max(risk - spread, 0), risk + spread))
    assert control.beyond(rate)[0] == 0  # others fare better: nothing is added
    assert SuccessRate(50, 50).beyond(SuccessRate(50, 50))[0] == 0
    assert (SuccessRate(0, 0).low, SuccessRate(0, 0).high) == pytest.approx((0, 1))


def test_a_rate_for_another_size_of_table_keeps_its_doubt() -> None:
    few = SuccessRate(2, 100, scale=10)
    assert few.value == pytest.approx(0.2)
    assert few.low == pytest.approx(10 * SuccessRate(2, 100).low)
    assert few.high == pytest.approx(10 * SuccessRate(2, 100).high)
    assert SuccessRate(90, 100, scale=10).value == 1
    value, low, high = SuccessRate(100, 100).beyond(SuccessRate(90, 100, scale=10))
    assert 0 <= low <= value <= high <= 1


def test_lookups_count_rows_by_several_columns() -> None:
    rng = np.random.default_rng(1)
    columns = {name: rng.integers(0, 5, 200) for name in "ab"}
    found = Lookup(columns, {"a": 5, "b": 5})
    for _ in range(20):
        flags = {name: rng.random(5) < 0.4 for name in "ab"}
        truth = (flags["a"][columns["a"]] & flags["b"][columns["b"]]).sum()
        assert found.count(flags) == truth


def test_publishing_the_original_is_all_risk(halves: tuple[dc.Microdata, dc.Microdata]) -> None:
    data, control = halves
    original = dc.publish(data, dc.Generalization(dc.KAnonymity(1)))
    found = by_name(measure_risks(original, data, control))
    assert set(found) == {"singling out", "linkability", "inference"}
    for risk in found.values():
        assert risk.risk is not None and risk.risk[1] > 0.75, str(risk)
    assert found["singling out"].main.value == 1
    assert found["inference"].attribute == "income"


def test_one_group_of_everybody_is_no_risk(halves: tuple[dc.Microdata, dc.Microdata]) -> None:
    """Every value stands beside every person; only values that one person has stand alone."""
    data, control = halves
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(data.n)))
    found = by_name(measure_risks(release, data, control))
    assert found["linkability"].main.value < 0.05
    risk = found["inference"].risk
    assert risk is not None and risk[1] == 0
    without = by_name(measure_risks(release, data, None))
    assert without["inference"].control is None and without["inference"].risk is None
    assert without["inference"].main == found["inference"].main  # the same draws


def test_who_stands_alone_by_hand() -> None:
    """Two groups of two: only box and value together tell one person, and rightly."""
    frame = pl.DataFrame({"age": [1, 2, 8, 9], "ill": ["a", "b", "a", "b"]})
    data = microdata(frame, ["age"], ["ill"])
    release = dc.publish(data, dc.Generalization(dc.FrequencyDiversity(2)))
    assert release.views[0].count == 2
    found = by_name(measure_risks(release, data, None))
    alone = found["singling out"]
    assert (alone.main.successes, alone.main.guesses, alone.ventured) == (4, 4, 1.0)
    assert "attributes" in alone.how
    nobody = microdata(frame.with_columns(pl.lit("a").alias("ill")), ["age"], ["ill"])
    same = dc.publish(nobody, dc.Generalization(dc.KAnonymity(2)))
    assert by_name(measure_risks(same, nobody, None))["singling out"].main.guesses == 0


def test_nearest_records_are_those_whose_labels_cover() -> None:
    frame = pl.DataFrame({"age": [1, 2, 8, 9], "sex": list("fmfm"), "ill": ["a", "b", "a", "b"]})
    data = microdata(frame, ["age", "sex"], ["ill"])
    release = dc.publish(data, dc.Generalization(dc.FrequencyDiversity(2)))
    attacker = take_place(release, data, None)
    search = attacker.nearest(["age", "sex"])
    labels = release.views[0].labels
    found = release.views[0].match(data).group_of
    for person in range(4):
        assert set(labels[search.find(data, person)]) == {found[person]}


@pytest.mark.parametrize("case", EVERY_FORM)
def test_every_form_is_attacked(case: str, halves: tuple[dc.Microdata, dc.Microdata]) -> None:
    data, control = halves
    release = dc.publish(data, EVERY_FORM[case])
    found = measure_risks(release, data, control)
    assert [risk.name for risk in found] == ["singling out", "linkability", "inference"]
    for risk in found:
        assert risk.control is not None and risk.risk is not None
        value, low, high = risk.risk
        assert 0 <= low <= value <= high <= 1
        assert risk.main.guesses <= 500 and 0 <= risk.main.low <= risk.main.high <= 1
        assert risk.name in str(risk).lower() and risk.to_dict()["main"]["guesses"] >= 0


def test_values_that_the_table_lacks_and_missing_ones_do_not_disturb() -> None:
    schema = dc.Schema((
        dc.Attribute("age", dc.Role.QUASI_IDENTIFIER, dc.Type.INTEGER, missing=dc.Missing.VALUE),
        dc.Attribute("town", dc.Role.QUASI_IDENTIFIER, dc.Type.CATEGORY, missing=dc.Missing.VALUE),
        dc.Attribute("ill", dc.Role.SENSITIVE, dc.Type.CATEGORY),
    ))  # fmt: skip
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {
            "age": [None, None, None, *rng.integers(20, 40, 57).tolist()],
            "town": [*rng.choice(list("pqr"), 56).tolist(), None, None, None, None],
            "ill": rng.choice(["a", "b", "c"], 60).tolist(),
        }
    )
    others = pl.DataFrame(
        {"age": [99, None, 30], "town": ["far", "p", None], "ill": ["a", "z", "b"]}
    )
    data, control = dc.read(frame, schema), dc.read(others, schema)
    for method in (
        dc.Generalization(dc.KAnonymity(4)),
        dc.Anatomy(dc.FrequencyDiversity(2)),
        dc.Slicing(dc.FrequencyDiversity(2)),
    ):
        found = measure_risks(dc.publish(data, method), data, control)
        assert len(found) == 3 and all(risk.control is not None for risk in found)


def test_an_audit_takes_a_control_group(halves: tuple[dc.Microdata, dc.Microdata]) -> None:
    data, control = halves
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(3)))
    report = dc.audit(release, data, attacks=True, control=control)
    assert [risk["name"] for risk in report.to_dict()["risks"]] == [
        "singling out", "linkability", "inference",
    ]  # fmt: skip
    assert all(risk["risk"] is not None for risk in report.to_dict()["risks"])
    assert dc.audit(release, data).risks == []
    with pytest.raises(dc.DiscreetError, match="in the table too"):
        dc.audit(release, data, attacks=True, control=data)
