"""Distributions before and after, and what is lost of sensitive attributes, by plain counting."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.evaluate.distributions import (
    MOST_BINS,
    bin_values,
    compare_distributions,
    measure_sensitive_loss,
)
from discreet.publishing.method import Method

METHODS: list[Method] = [
    dc.Generalization(dc.KAnonymity(4)),
    dc.Angelization(dc.FrequencyDiversity(2), k=4),
    dc.Anatomy(dc.FrequencyDiversity(2)),
    dc.Slicing(dc.FrequencyDiversity(2)),
    dc.Permutation(dc.KE(3, 2)),
    dc.RankSwapping(dc.KE(3, 2)),
    dc.Perturbation(dc.Proximity(1, 2), check="paper"),
]
each = pytest.mark.parametrize("method", METHODS, ids=lambda method: method.title)


@pytest.fixture(scope="module")
def people() -> dc.Microdata:
    rng = np.random.default_rng(4)
    age = rng.integers(18, 90, 300)
    frame = pl.DataFrame({
        "age": age,
        "sex": rng.choice(["f", "m"], 300),
        "town": [f"t{i}" for i in rng.integers(0, 15, 300)],
        "pay": age * 100 + rng.integers(0, 20, 300) * 50,
    })  # fmt: skip
    schema = dc.Schema.infer(frame, quasi_identifiers=["age", "sex", "town"], sensitive=["pay"])
    return dc.read(frame, schema)


def test_values_are_put_into_bins_that_hold_all_of_them(people: dc.Microdata) -> None:
    for name in people.schema.names:
        bins = bin_values(people.domains[name], people.codes[name])
        assert len(bins.labels) <= MOST_BINS
        assert (bins.takes.sum(axis=0) == 1).all()
        assert bins.takes.any(axis=1).all()
    ages = bin_values(people.domains["age"], people.codes["age"])
    assert (np.diff(ages.of) >= 0).all()
    many = np.bincount(ages.of[people.codes["age"]])
    assert many.max() < 2 * many.min()
    towns = bin_values(people.domains["town"], people.codes["town"])
    assert towns.labels[-1] == "8 others"


def test_people_of_whom_a_value_is_missing_are_a_bin() -> None:
    frame = pl.DataFrame({"age": [30, None, 50, 60], "ill": ["a", "b", "a", "b"]})
    schema = dc.Schema((
        dc.Attribute("age", dc.Role.QUASI_IDENTIFIER, dc.Type.INTEGER, missing=dc.Missing.VALUE),
        dc.Attribute("ill", dc.Role.SENSITIVE, dc.Type.CATEGORY),
    ))  # fmt: skip
    data = dc.read(frame, schema)
    assert bin_values(data.domains["age"], data.codes["age"]).labels == (
        "30",
        "50",
        "60",
        "missing",
    )


@each
def test_what_is_expected_are_the_answers_of_the_release(
    method: Method, people: dc.Microdata
) -> None:
    release = dc.publish(people, method, insecure_seed=3)
    found = compare_distributions(release, people)
    assert list(found) == people.schema.names
    told = release.query("SELECT COUNT(*) FROM release WHERE sex = 'f'").estimate
    frame = people.to_polars()
    assert found["sex"].labels == ("f", "m")
    assert told is not None and found["sex"].after[0] == pytest.approx(told / 300)
    assert found["sex"].before[0] == pytest.approx((frame["sex"] == "f").mean())
    for spread in found.values():
        assert sum(spread.before) == pytest.approx(1) and sum(spread.after) == pytest.approx(1)
        assert 0 <= spread.distance <= 1


@each
def test_a_sensitive_attribute_loses_what_its_two_way_tables_lose(
    method: Method, people: dc.Microdata
) -> None:
    release = dc.publish(people, method, insecure_seed=3)
    lost = measure_sensitive_loss(release, people)["pay"]
    assert list(lost.associations) == ["age", "sex", "town"]
    frame = people.to_polars()
    pair = lost.associations["age"]
    assert pair.measure == "rank correlation"
    ranks = frame.select(pl.corr("age", "pay", method="spearman")).item()
    assert pair.before == pytest.approx(ranks, abs=0.03)  # bins are coarser than people
    sums, true = [], []
    for sex in ("f", "m"):
        sums.append(release.query(f"SELECT SUM(pay) FROM release WHERE sex = '{sex}'").estimate)
        true.append(frame.filter(pl.col("sex") == sex)["pay"].sum())
    off = [abs(a - b) / b for a, b in zip(sums, true, strict=True)]  # type: ignore[operator]
    assert lost.associations["sex"].sums == pytest.approx(np.median(off), abs=1e-9)
    assert lost.moved is not None and 0 <= lost.moved <= 1
    assert lost.to_dict()["with"]["age"]["before"] == pair.before


def test_nothing_is_lost_of_a_table_published_as_it_is(people: dc.Microdata) -> None:
    release = dc.publish(people, dc.Generalization(dc.KAnonymity(1)))
    lost = measure_sensitive_loss(release, people)["pay"]
    assert lost.moved == 0 and lost.sums == 0 and lost.distribution.distance == 0
    for pair in lost.associations.values():
        assert pair.before == pair.after


def test_a_perturbation_that_keeps_hardly_a_number_loses_how_they_go_together(
    people: dc.Microdata,
) -> None:
    """Its quasi-identifiers are exact, and yet it is not true that nothing is lost."""
    release = dc.publish(people, dc.Perturbation(dc.Proximity(500, 4)), insecure_seed=1)
    assert dc.evaluate.measure_loss(release, people).ncp == 0
    lost = measure_sensitive_loss(release, people)["pay"]
    assert lost.moved is not None and lost.moved > 0.1
    assert abs(lost.associations["age"].after) < lost.associations["age"].before


def test_how_categories_go_together_is_cramers_v() -> None:
    frame = pl.DataFrame({"a": ["x", "x", "y", "y"] * 5, "ill": ["u", "u", "v", "w"] * 5})
    data = dc.read(frame, dc.Schema.infer(frame, quasi_identifiers=["a"], sensitive=["ill"]))
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(1)))
    pair = measure_sensitive_loss(release, data)["ill"].associations["a"]
    assert (pair.measure, pair.before, pair.sums) == ("Cramér's V", 1.0, None)
