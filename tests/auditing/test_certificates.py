"""Certificates: nothing is signed that what is published, put together, does not bear out."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.forms.assignments import Places, count_chances
from samples import microdata


@pytest.fixture(scope="module")
def people() -> dc.Microdata:
    return dc.datasets.adult(sensitive="occupation").head(2000)


def test_overlapping_boxes_are_matched_not_pooled() -> None:
    """Two boxes cover the first two people; the third and the fourth leave them little choice."""
    frame = pl.DataFrame({"age": [2, 2, 5, 6], "pay": [2, 5, 6, 9]})
    data = microdata(frame, ["age"], ["pay"])
    release = dc.publish(data, dc.Generalization(dc.Proximity(3, 2)))
    records = release.tables["generalized"].to_dicts()
    worlds = [
        order
        for order in permutations(range(4))
        if all(records[r]["age_low"] <= frame["age"][p] <= records[r]["age_high"]
               for p, r in enumerate(order))
    ]  # fmt: skip
    near = sum(abs(records[order[1]]["pay"] - 5) <= 3 for order in worlds)
    assert Fraction(near, len(worlds)) == Fraction(5, 6)
    report = dc.audit(release, data)
    promised = report.proximity["pay"].promised
    assert promised is not None and promised.mixed == Fraction(5, 6)
    assert promised.worst == Fraction(1, 2)  # to somebody who knows the group
    assert report.proximity["pay"].risks[1] == pytest.approx(5 / 6)


def test_what_cannot_be_counted_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.forms.assignments.MOST_STEPS", 1)
    frame = pl.DataFrame({"age": [2, 2, 5, 6], "pay": [2, 5, 6, 9]})
    data = microdata(frame, ["age"], ["pay"])
    report = dc.audit(dc.publish(data, dc.Generalization(dc.Proximity(3, 2))), data)
    promised = report.proximity["pay"].promised
    assert promised is not None and promised.mixed == 1  # both of one group are near 5
    assert report.how["pay"] == "exactly, but for 3 people as an upper bound: by their most " \
        "telling group"  # fmt: skip


def test_places_are_counted_as_all_ways_to_fill_them() -> None:
    """Three who may be in either group of two, and one who must be in the second."""
    places = Places(np.array([3, 1]), np.array([0, 2, 3]), np.array([[0], [1], [1]]),
                    np.array([2, 2]))  # fmt: skip
    chances = count_chances(places)
    assert chances.counted.all()
    assert [chances.shares[o] for o in range(3)] == [Fraction(2, 3), Fraction(1, 3), 1]


def test_a_column_of_quasi_identifiers_tells_people_apart(people: dc.Microdata) -> None:
    """All quasi-identifiers stand in one column, exactly: slicing hides nobody's record."""
    columns = [people.quasi_identifiers, people.sensitive]
    release = dc.publish(people, dc.Slicing(dc.FrequencyDiversity(4), columns=columns))
    report = dc.audit(release, people, presets=["cell-11", "risk-0.09"])
    unique = int((np.bincount(people.number(people.quasi_identifiers)) == 1).sum())
    assert unique > 1000
    assert int((report.candidates == 1).sum()) >= unique
    assert report.identity.prosecutor == 1
    assert report.presets == {"cell-11": False, "risk-0.09": False}
    exact = dc.audit(dc.publish(people, dc.Anatomy(dc.FrequencyDiversity(4))), people)
    assert exact.identity.prosecutor == report.identity.prosecutor


def test_k_anonymity_is_not_said_of_buckets(people: dc.Microdata) -> None:
    both = dc.KAnonymity(4) & dc.FrequencyDiversity(2)
    release = dc.publish(people, dc.Slicing(both, columns=2))
    report = dc.audit(release, people)
    assert report.kept
    assert "at least 4 people in every bucket" in [check.said for check in report.checks]
    assert "k-anonymity" not in " ".join(check.said for check in report.checks)
    asked = dc.audit(release, people, principle=dc.KAnonymity(3))
    assert not asked.kept and asked.checks[0].breaches > 0


def test_rules_are_judged_on_joined_cells_and_counts(people: dc.Microdata) -> None:
    names = people.quasi_identifiers
    method = dc.Angelization(dc.FrequencyDiversity(3), k=12, marginals=[names[:3], names[3:]])
    report = dc.audit(dc.publish(people, method), people, presets=["cell-11", "risk-0.09"])
    assert report.joined is not None and report.joined.alone > 0
    assert report.presets == {"cell-11": False, "risk-0.09": False}
    assert report.identity.smallest == report.joined.smallest == 1
    single = dc.Angelization(dc.FrequencyDiversity(3), k=12)
    report = dc.audit(dc.publish(people, single), people, presets=["cell-11", "risk-0.09"])
    # nobody is named by it, but batches are counts of one
    assert report.presets == {"cell-11": False, "risk-0.09": True}


def test_there_is_one_measure_of_membership(people: dc.Microdata) -> None:
    """Who is made up of other people's values is not in a column that has all of them."""
    columns = [people.quasi_identifiers, people.sensitive]
    sliced = dc.publish(people, dc.Slicing(dc.FrequencyDiversity(4), columns=columns))
    found = dc.audit(sliced, people).membership
    assert found is not None and found.told == 1.0
    assert found.to_dict()["told"] == 1.0 and found.fakes is not None


def test_several_tables_tell_more_of_a_value_than_each() -> None:
    """Each table leaves two batches possible; together they leave one."""
    frame = pl.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 1, 2], "s": ["x", "y", "z", "u"]})
    data = microdata(frame, ["a", "b"], ["s"])
    method = dc.Angelization(dc.FrequencyDiversity(2), k=2, marginals=[["a"], ["b"]])
    made = dc.publish(data, method)
    report = dc.audit(made, data)
    assert report.joined is not None and report.joined.alone == 4
    assert (report.truths["s"] >= 0.25).all()
