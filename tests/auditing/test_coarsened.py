"""Audits of coarser numbers: the adversary knows people's own."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.auditing.composition import compose
from discreet.errors import DiscreetError, SchemaError
from discreet.forms.disclosure import background_knowledge, disclose
from discreet.release.labels import read_labels
from discreet.steward.ledger import Ledger

QI, OTHER, SENSITIVE = dc.Role.QUASI_IDENTIFIER, dc.Role.OTHER, dc.Role.SENSITIVE
CODES = {"top": 90, "bottom": 16, "round": 10}


def make_schema(ages: dict[str, Any], *others: dc.Attribute) -> dc.Schema:
    age = dc.Attribute("age", **{"role": QI, "type": dc.Type.INTEGER, **ages})
    return dc.Schema((age, *others, dc.Attribute("d", SENSITIVE, dc.Type.CATEGORY)))


def show(age: int) -> int:
    """Top code 90, bottom code 16, else the nearest of 20, 30, … 80, the higher of two."""
    if age >= 90 or age <= 16:
        return 90 if age >= 90 else 16
    return min(range(20, 90, 10), key=lambda m: (abs(m - age), -m))


def count_beliefs(
    ages: list[int], records: list[tuple[int, int, str]]
) -> list[dict[str, Fraction]]:
    """Try every way to give records to people that agrees with everybody's own age."""
    tally: list[dict[str, int]] = [{} for _ in ages]
    worlds = 0
    for given_out in permutations(records):
        pairs = list(zip(ages, given_out, strict=True))
        if all(low <= show(age) <= high for age, (low, high, _) in pairs):
            worlds += 1
            for held, (_, (_, _, d)) in zip(tally, pairs, strict=True):
                held[d] = held.get(d, 0) + 1
    return [{d: Fraction(n, worlds) for d, n in held.items()} for held in tally]


@given(
    st.lists(st.tuples(st.integers(0, 120), st.sampled_from("abc")), min_size=4, max_size=6),
    st.sampled_from(["tight", "cuts"]),
)
@settings(max_examples=12, deadline=None)
def test_beliefs_are_those_of_all_worlds_that_agree_with_true_ages(
    people: list[tuple[int, str]], ends: str
) -> None:
    frame = pl.DataFrame(people, schema=["age", "d"], orient="row")
    data = dc.read(frame, make_schema(CODES))
    assert data.to_polars()["age"].to_list() == [show(age) for age, _ in people]
    method = dc.Generalization(dc.KAnonymity(2), ends=ends)  # type: ignore[arg-type]
    release = dc.publish(data, method, insecure_seed=1)
    table = release.tables["generalized"]
    records = list(table.select("age_low", "age_high", "d").iter_rows())
    worlds = count_beliefs([age for age, _ in people], records)
    report = dc.audit(release, data)
    assert report.kept
    assert report.beliefs["d"].tolist() == pytest.approx([float(max(b.values())) for b in worlds])
    assert report.truths["d"].tolist() == pytest.approx(
        [float(b[d]) for b, (_, d) in zip(worlds, people, strict=True)]
    )


FOUR = pl.DataFrame(
    {"age": [91, 93, 97, 99], "sex": [*"FMFM"], "d": ["flu", "ulcer", "cold", "asthma"]}
)
SEX = dc.Attribute("sex", QI, dc.Type.CATEGORY)


@pytest.mark.parametrize("coarse_first", [True, False])
def test_releases_are_joined_by_true_ages_whichever_was_coarser(
    coarse_first: bool, tmp_path: Path
) -> None:
    """By age 91 has flu or ulcer; by sex, among those of 90 or more, flu or cold. So it is flu."""
    fine, coarse = make_schema({}), make_schema({"top": 90}, SEX)
    ages = dc.read(FOUR, fine)
    sexes = dc.read(FOUR, coarse)
    promise = dc.Generalization(dc.FrequencyDiversity(2))
    by_age, by_sex = dc.publish(ages, promise), dc.publish(sexes, promise)
    assert by_age.views[0].count == by_sex.views[0].count == 2
    assert set(by_sex.tables["generalized"]["age"].cast(pl.String)) == {"≥ 90"}
    data, new, old = (ages, by_age, by_sex) if coarse_first else (sexes, by_sex, by_age)
    if coarse_first:  # whoever checks has all that the other release shows of people
        data = dc.read(FOUR, make_schema({}, SEX))
    broken, _ = compose(new, data, [("old", old)])
    assert {found.people for found in broken} == {4}
    assert {found.worst for found in broken} == {Fraction(1)}
    table = tmp_path / "t.csv"
    FOUR.write_csv(table)
    ledger = Ledger.init(tmp_path / "book", "study")
    ledger.publish(old, sexes if coarse_first else ages, tmp_path / "old")
    with pytest.raises(DiscreetError, match="together"):
        ledger.publish(new, data, tmp_path / "new")


def test_exact_records_of_coarser_releases_are_found_by_true_ages() -> None:
    sexes = dc.read(FOUR, make_schema({"top": 92, "bottom": 91}, SEX))
    coarse = dc.publish(sexes, dc.Anatomy(dc.FrequencyDiversity(2)))
    data = dc.read(FOUR, make_schema({}, SEX))
    told, notes = disclose(coarse, data, background_knowledge([("", coarse)], data))
    assert (told.set_of >= 0).all() and not notes


def test_labels_of_releases_meet_where_they_may_be_one_persons() -> None:
    frame = FOUR.with_columns(age=pl.Series([33, 36, 90, 97]))
    kept = {"role": OTHER, "keep": True}
    labels = []
    for how in ({}, {"top": 90, "round": 5}, {"top": 95}):
        data = dc.read(frame, make_schema({**kept, **how}, SEX))
        release = dc.publish(data, dc.Generalization(dc.KAnonymity(2)))
        labels.append(read_labels(release, release.tables["generalized"], "age")[0])
    exact, rounded, top = labels
    assert [held.texts for held in labels] == [
        ["33", "36", "90", "97"], ["35", "90"], ["33", "36", "90", "95"],
    ]  # fmt: skip
    both, above = [True, False], [False, True]
    assert exact.meets(rounded).tolist() == [both, both, above, above]
    assert rounded.meets(exact).T.tolist() == exact.meets(rounded).tolist()
    assert top.meets(rounded).tolist() == [both, both, above, above]
    assert top.meets(top).tolist() == np.eye(4, dtype=bool).tolist()
    assert exact.meets(top).tolist() == np.eye(4, dtype=bool).tolist()


def test_joins_that_a_promise_is_about_go_by_true_numbers() -> None:
    """Earlier 97 was published as it is; now as 90 or more: they are not of different people."""
    frame = pl.DataFrame({"age": [92, 92, 97, 97], "d": [*"abab"], "e": [*"xyxy"]})
    other = dc.Attribute("e", SENSITIVE, dc.Type.CATEGORY)
    before = dc.publish(
        dc.read(frame, dc.Schema((make_schema({})["age"], other))),
        dc.Generalization(dc.KAnonymity(2)),
    )
    data = dc.read(frame, make_schema({"top": 90}))
    joined = dc.XYAnonymity(x=["age"], y="people", k=2)
    release = dc.publish(data, dc.Sequential(principles=[joined], earlier=[before]))
    report = dc.audit(release, data, earlier=[before])
    assert report.kept, report.problems


def test_microdata_read_otherwise_is_one_clear_error(tmp_path: Path) -> None:
    data = dc.read(FOUR, make_schema({"top": 95}, SEX))
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(2)))
    plain = dc.read(FOUR, make_schema({}, SEX))
    with pytest.raises(SchemaError, match="'age' was read otherwise") as error:
        dc.audit(release, plain)
    assert "In the release: 95 means 95 or more" in error.value.message
    assert dc.audit(release, dc.read(FOUR, release.schema)).kept
    folder = release.write(tmp_path / "r")
    assert dc.audit(folder, data, schema=data.schema).kept
    found = dc.audit(folder, data, schema=plain.schema).findings
    assert found == ["age is not as coarse in the release as the plan says"]


def test_a_population_is_known_by_what_the_release_would_show_of_it() -> None:
    everyone = pl.concat([FOUR, FOUR.with_columns(age=pl.Series([90, 94, 101, 118]))])
    schema = make_schema({"top": 90}, SEX)
    data = dc.read(FOUR, schema)
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(2)))
    known = schema.only(["age", "sex"])
    presence = dc.audit(release, data, population_data=dc.read(everyone, known)).presence
    assert presence is not None and presence.possible == 8  # 118 may be among those of 90 or more
    plain = make_schema({}, SEX).only(["age", "sex"])
    with pytest.raises(SchemaError, match="In the population: taken as it is"):
        dc.audit(release, data, population_data=dc.read(everyone, plain))
    means = make_schema({"aggregate": 2}, SEX)
    data = dc.read(FOUR, means)
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(2)))
    with pytest.raises(SchemaError, match="people of another table are in none of the groups"):
        dc.audit(release, data, population_data=dc.read(everyone, means.only(["age", "sex"])))


def test_means_are_audited_as_what_everybody_shows_and_joined_with_nothing_else() -> None:
    data = dc.read(FOUR, make_schema({"aggregate": 2}, SEX))
    assert data.to_polars()["age"].to_list() == [92, 92, 98, 98]
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(2)))
    report = dc.audit(release, data)
    assert report.kept and report.identity.smallest == 2
    kept = make_schema({"role": OTHER, "keep": True}, SEX)
    other = dc.publish(dc.read(FOUR, kept), dc.Generalization(dc.KAnonymity(2)))
    numbers = [read_labels(r, r.tables["generalized"], "age")[0] for r in (release, other)]
    with pytest.raises(SchemaError, match="micro-aggregated in one table and not so in another"):
        numbers[0].meets(numbers[1])


def test_what_was_done_stands_in_the_release_in_words_and_numbers(tmp_path: Path) -> None:
    schema = make_schema(CODES, dc.Attribute("pay", OTHER, dc.Type.INTEGER, keep=True, aggregate=2))
    frame = FOUR.with_columns(pay=pl.Series([1, 2, 3, 4]))
    release = dc.publish(dc.read(frame, schema), dc.Generalization(dc.KAnonymity(2)))
    folder = release.write(tmp_path / "r", format="csv")
    loaded = dc.load(folder)
    age, pay = loaded.schema["age"], loaded.schema["pay"]
    assert (age.top, age.bottom, age.round, age.aggregate) == (90, 16, 10, None)
    assert (pay.aggregate, pay.top) == (2, None)
    readme = (folder / "README.md").read_text()
    assert "90 means 90 or more; rounded to the nearest multiple of 10 between them" in readme
    assert "the mean of at least 2 people" in readme
    told = json.loads((folder / "datapackage.json").read_text())["discreet"]["attributes"]
    assert "97" not in str(told) and "91" not in str(told)
