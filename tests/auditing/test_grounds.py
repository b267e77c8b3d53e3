"""Grounds: why a person is at a belief, by hand and masked."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from samples import EVERY_FORM, angel_table_1a, microdata


def test_why_alan_is_believed_to_have_pneumonia() -> None:
    data = angel_table_1a()
    release = dc.publish(data, dc.Generalization(dc.FrequencyDiversity(2)))
    grounds = dc.audit(release, data).explain(0)
    (group,) = grounds.groups["generalized"]
    assert group.shows == {"age": "[21, 40]", "sex": "*"}
    assert (group.records, group.weight) == (4, 1)
    half = Fraction(1, 2)
    assert group.holds == {"disease": [("bronchitis", half), ("pneumonia", half)]}
    assert grounds.beliefs == grounds.truths == {"disease": 0.5}
    assert "4 records that show age [21, 40], sex *" in str(grounds)
    assert json.loads(json.dumps(grounds.to_dict()))["groups"]["generalized"][0]["records"] == 4


def test_groups_that_may_be_a_persons_are_weighed_by_their_records() -> None:
    """The same person is in batches of two and of four: two records of three are in the latter."""
    frame = pl.DataFrame({"age": [30, 30, 30, 41, 42, 43], "ill": ["a", "c", "d", "b", "e", "f"]})
    data = microdata(frame, ["age"], ["ill"])
    release = dc.publish(data, dc.Anatomy(dc.FrequencyDiversity(2)))
    grounds = dc.audit(release, data).explain(0)
    groups = grounds.groups["generalized"]
    assert sum(group.weight for group in groups) == 1
    assert [g.weight for g in groups] == sorted((g.weight for g in groups), reverse=True)
    assert grounds.candidates == 3


@pytest.mark.parametrize("case", EVERY_FORM)
def test_every_form_is_explained_and_the_worst_are_masked(case: str) -> None:
    both = dc.datasets.census(400, sensitive=["income"])
    names = ["age", "sex", "region", "income"]
    data = dc.read(both.to_polars().select(names), both.schema.only(names))
    release = dc.publish(data, EVERY_FORM[case])
    report = dc.audit(release, data)
    belief, truth = report.beliefs["income"], report.truths["income"]
    for person in (0, int(belief.argmax()), 399):
        grounds = report.explain(person)
        assert grounds.person == f"Row {person}"
        assert grounds.beliefs["income"] == belief[person]
        assert grounds.truths["income"] == truth[person]
        for title, groups in grounds.groups.items():
            assert groups and len(groups) <= 5
            rest = grounds.others.get(title, 0)
            assert rest or sum(group.weight for group in groups) == 1
    worst = report.worst_explained
    assert len(worst) == 10
    assert [g.beliefs["income"] for g in worst] == sorted(belief, reverse=True)[:10]
    for grounds in worst:
        assert "Row" not in str(grounds) and grounds.truths == {}
        for group in (g for groups in grounds.groups.values() for g in groups):
            for name, label in group.shows.items():
                assert label not in data.domains[name].texts, f"{name} is shown exactly"
    json.dumps(report.to_dict())


def test_rows_that_were_not_audited_are_refused() -> None:
    data = angel_table_1a()
    report = dc.audit(dc.publish(data, dc.Generalization(dc.FrequencyDiversity(2))), data)
    with pytest.raises(dc.DiscreetError, match="Row 8 is not one"):
        report.explain(8)


def test_rows_are_those_of_the_source_where_some_were_dropped(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [None, 1, 2, 8, 9], "ill": ["a", "a", "b", "a", "b"]})
    schema = dc.Schema((
        dc.Attribute("age", dc.Role.QUASI_IDENTIFIER, dc.Type.INTEGER, missing=dc.Missing.DROP),
        dc.Attribute("ill", dc.Role.SENSITIVE, dc.Type.CATEGORY),
    ))  # fmt: skip
    data = dc.read(frame, schema)
    report = dc.audit(dc.publish(data, dc.Generalization(dc.FrequencyDiversity(2))), data)
    assert report.explain(4).groups["generalized"][0].shows == {"age": "[8, 9]"}
    with pytest.raises(dc.DiscreetError, match="Row 0"):
        report.explain(0)
    page = report.to_html(tmp_path / "a.html").read_text(encoding="utf-8")
    assert "worst off" in page and "[8, 9]" in page and "Row 4" not in page
