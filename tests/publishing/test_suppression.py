"""Suppression: few people show ``*`` or are left out, so that all others lose less."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from random import Random

import polars as pl
import pytest

import discreet as dc
from discreet.errors import SchemaError
from discreet.publishing.method import Method

ADULT = dc.datasets.adult(sensitive="occupation").head(3000)
AGED = ADULT.schema.with_taxonomies({"age": dc.Intervals((10, 40))})
LEVELS = dc.read(ADULT.to_polars(), AGED.only(["age", "sex", "race", "education", "occupation"]))
DIVERSE = dc.KAnonymity(20) & dc.FrequencyDiversity(3)


@pytest.mark.parametrize(
    ("data", "method"),
    [(ADULT, dc.Generalization(DIVERSE)), (LEVELS, dc.FullDomain(dc.KAnonymity(3)))],
    ids=["boxes", "levels"],
)
def test_who_is_suppressed_makes_the_rest_lose_less(data: dc.Microdata, method: Method) -> None:
    plain = dc.publish(data, method)
    release = dc.publish(data, replace(method, suppress="0.02"))  # type: ignore[call-arg]
    given = release.parameters
    gone = given["left_out"] + given["blanked"]  # type: ignore[operator]
    assert 0 < gone <= 60
    assert dc.evaluate.measure_loss(release, data).ncp < dc.evaluate.measure_loss(plain, data).ncp
    report = dc.audit(release, data)
    assert report.kept, report.problems
    assert not plain.parameters.keys() & {"suppress", "left_out", "blanked"}


def test_nobody_is_suppressed_for_nothing() -> None:
    """Four people who look the same lose nothing that anybody could win back."""
    frame = pl.DataFrame({"age": [30] * 4, "ill": [*"abab"]})
    schema = dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["ill"])
    release = dc.publish(
        dc.read(frame, schema), dc.Generalization(dc.KAnonymity(2), suppress="1/2")
    )
    assert release.parameters["left_out"] == release.parameters["blanked"] == 0
    assert (
        release.promise.leaves_open
        == dc.publish(
            dc.read(frame, schema), dc.Generalization(dc.KAnonymity(2))
        ).promise.leaves_open
    )


OLD = pl.DataFrame({"age": [20, 20, 21, 21, 90], "ill": [*"ababc"]})
OLD_DATA = dc.read(OLD, dc.Schema.infer(OLD, quasi_identifiers=["age"], sensitive=["ill"]))


def test_one_old_man_is_left_out_and_the_audit_says_so(tmp_path: Path) -> None:
    release = dc.publish(OLD_DATA, dc.Generalization(dc.KAnonymity(4), suppress="1/5"))
    assert release.parameters["left_out"] == 1
    shown = release.tables["generalized"].select("age_low", "age_high").unique().rows()
    assert shown == [(20, 21)]
    assert release.recodings["age"].domain == ["20", "21"]  # nothing tells of 90
    folder = release.write(tmp_path / "release")
    assert "1 rows were left out" in (folder / "README.md").read_text()
    assert '"suppressed": "1 rows were left out' in (folder / "datapackage.json").read_text()
    report = dc.audit(folder, OLD_DATA)
    assert report.kept, report.problems
    assert (report.uncovered, report.left_out, report.people, report.records) == (1, 1, 5, 4)
    assert report.candidates.tolist() == [4, 4, 4, 4, 0]
    assert any(
        "is in the microdata and finds no box" in text for text in release.promise.leaves_open
    )
    assert dc.evaluate.measure_loss(release, OLD_DATA).ncp == pytest.approx((4 / 2 + 1) / 5)


def test_more_left_out_than_is_said_is_found() -> None:
    release = dc.publish(OLD_DATA, dc.Generalization(dc.KAnonymity(4), suppress="1/5"))
    release.parameters["left_out"] = 0
    assert not dc.audit(release, OLD_DATA).kept
    release.parameters["left_out"] = 1
    release.parameters["suppress"] = "1/10"
    (problem,) = dc.audit(release, OLD_DATA).problems
    assert "allows for 0 rows, not for 1" in problem


def test_of_people_left_out_no_world_tells_more_than_the_audit() -> None:
    """Any as many people as there are records may be in it, everybody in a box that fits."""
    found = 0
    for seed in range(40):
        rng = Random(f"left out {seed}")
        n = rng.randint(4, 6)
        frame = pl.DataFrame({"q": [rng.choice([1, 1, 2, 2, 3, 9]) for _ in range(n)],
                              "ill": [rng.choice("abc") for _ in range(n)]})  # fmt: skip
        schema = dc.Schema.infer(frame, quasi_identifiers=["q"], sensitive=["ill"])
        data = dc.read(frame, schema)
        release = dc.publish(data, dc.Generalization(dc.KAnonymity(n // 2), suppress="1/3"))
        if not release.left_out:
            continue
        found += 1
        report = dc.audit(release, data)
        assert report.kept, report.problems
        records = release.tables["generalized"].select("q_low", "q_high", "ill").rows()
        people = frame["q"].to_list()
        worlds = [
            dict(zip(order, records, strict=True))
            for order in permutations(range(n), len(records))
            if all(low <= people[p] <= high
                   for p, (low, high, _) in zip(order, records, strict=True))
        ]  # fmt: skip
        for person in range(n):
            inside = [world[person][2] for world in worlds if person in world]
            if inside:
                most = max(Fraction(inside.count(v), len(inside)) for v in set(inside))
                assert report.beliefs["ill"][person] >= most - Fraction(1, 10**9)
            else:
                assert report.candidates[person] == 0
    assert found > 3


def test_people_are_suppressed_not_rows() -> None:
    rows = [(p, 20 + p % 3, "ab"[p % 2]) for p in range(12) for _ in range(3)]
    rows += [(12, 90, "a"), (12, 91, "b"), (12, 92, "a")]
    frame = pl.DataFrame(rows, schema=["pid", "age", "ill"], orient="row")
    schema = dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["ill"], person="pid")
    data = dc.read(frame, schema)
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(4), suppress="1/13"))
    assert release.left_out == 3  # one person, with three rows
    report = dc.audit(release, data)
    assert report.kept, report.problems
    assert report.uncovered == 3
    assert (report.candidates == 0).sum() == 1


@pytest.mark.parametrize("bad", [-1, 2, "a"])
def test_a_share_is_a_share(bad: object) -> None:
    with pytest.raises(SchemaError, match="suppress"):
        dc.Generalization(dc.KAnonymity(2), suppress=bad)  # type: ignore[arg-type]


def test_where_nobody_can_be_suppressed() -> None:
    with pytest.raises(SchemaError, match="ends"):
        dc.Generalization(dc.KAnonymity(2), suppress="0.1", ends="cuts")
    with pytest.raises(SchemaError, match="not monotone"):
        dc.Generalization(dc.Proximity(1, 2), suppress="0.1")
