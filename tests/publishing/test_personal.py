"""Personal privacy: what somebody guards is not believed of them; who guards nothing is not asked.

Xiao and Tao, SIGMOD 2006.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from commands import discreet_here as discreet
from discreet.errors import PromiseError, SchemaError
from discreet.forms.verify import list_unverifiable, verify
from discreet.publishing.methods import REGISTRY
from guarded import BELOW, HOSPITAL, Row, guarded_data, guarded_schema

PROMISE = dc.PersonalPrivacy(2)
DATA = guarded_data()


def _groups(release: dc.Release) -> list[tuple[str, list[str]]]:
    table = release.tables["generalized"]
    return [(str(part["age"][0]), sorted(part["disease"])) for part in table.partition_by("class")]


def test_groups_are_split_as_far_as_every_guard_allows() -> None:
    """Of the four younger ones three are respiratory, which one of them guards: 3/4 > 1/2.

    Up to 43 it is three of six, which is allowed, and of the stomach three of six as well. One of
    the two others has what she guards, hiv, and one not: 1/2.
    """
    release = dc.publish(DATA, dc.Generalization(PROMISE))
    assert _groups(release) == [
        ("[21, 43]", ["flu", "flu", "gastritis", "pneumonia", "ulcer", "ulcer"]),
        ("[45, 47]", ["gastritis", "hiv"]),
    ]
    assert dc.audit(release, DATA).kept


def test_who_guards_nothing_holds_nobody_up() -> None:
    nothing = [(age, disease, None) for age, disease, _ in HOSPITAL]
    alone = dc.publish(guarded_data(nothing), dc.Generalization(PROMISE))
    assert len(_groups(alone)) == 8
    lungs = [(1, "flu", None), (2, "flu", None), (3, "ulcer", "ulcer"), (4, "flu", None)]
    release = dc.publish(guarded_data(lungs), dc.Generalization(PROMISE))
    assert ("[3, 4]", ["flu", "ulcer"]) in _groups(release)


def test_it_is_not_closed_under_union() -> None:
    def admits(*rows: Row) -> bool:
        data = guarded_data(rows)
        try:
            dc.publish(data, dc.Generalization(PROMISE & dc.KAnonymity(len(rows))))
        except PromiseError:
            return False
        return True

    flus = [(age, "flu", None) for age in range(4)]
    guards = [(8, "ulcer", "flu"), (9, "flu", None)]
    assert admits(*flus) and admits(*guards) and not admits(*flus, *guards)


def test_it_goes_with_what_is_monotone() -> None:
    both = PROMISE & dc.KAnonymity(3) & dc.DistinctDiversity(2)
    release = dc.publish(DATA, dc.Generalization(both))
    assert min(len(values) for _, values in _groups(release)) >= 3
    report = dc.audit(release, DATA)
    assert report.kept and [check.principle.title for check in report.checks] == [
        "personal-privacy", "k-anonymity", "distinct-diversity"
    ]  # fmt: skip
    cuts = dc.publish(DATA, dc.Generalization(both, ends="cuts"))
    assert dc.audit(cuts, DATA).kept


def test_a_promise_that_the_whole_table_breaks_is_refused_with_what_it_allows() -> None:
    rows = [*HOSPITAL, (50, "flu", None), (51, "flu", None), (52, "flu", None)]
    with pytest.raises(
        PromiseError, match=r"somebody guards 'respiratory', which 54\.5%"
    ) as caught:
        dc.publish(guarded_data(rows), dc.Generalization(PROMISE))
    assert "l ≤ 1.83" in str(caught.value.hint)
    assert "on = wish" not in str(caught.value)
    kept = dc.publish(guarded_data(rows), dc.Generalization(dc.PersonalPrivacy("1.83")))
    assert dc.audit(kept, guarded_data(rows)).kept


@pytest.mark.parametrize("title", sorted(set(REGISTRY) - {"generalization"}))
def test_every_other_method_says_to_use_generalization(title: str) -> None:
    with pytest.raises(dc.DiscreetError) as caught:
        dc.publish(DATA, REGISTRY[title](PROMISE))
    assert "personal-privacy" in caught.value.message
    assert "generalization" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("settings", "promise"),
    [({"suppress": 0.1}, PROMISE), ({}, PROMISE & dc.Proximity(1, 2)), ({"dealing": "round-robin"},
     PROMISE)],
    ids=str,
)  # fmt: skip
def test_what_does_not_go_with_it_is_refused(
    settings: dict[str, object], promise: dc.Principle
) -> None:
    with pytest.raises(SchemaError) as caught:
        dc.Generalization(promise, **settings)  # type: ignore[arg-type]
    assert "personal-privacy" in str(caught.value) and caught.value.hint


def test_a_table_that_does_not_say_what_is_guarded_is_refused() -> None:
    frame = pl.DataFrame(HOSPITAL, schema=["age", "disease", "wish"], orient="row")
    plain = dc.read(frame, guarded_schema(frame).published)
    with pytest.raises(SchemaError, match="What people guard of 'disease' is not known"):
        dc.publish(plain, dc.Generalization(PROMISE))
    release = dc.publish(DATA, dc.Generalization(PROMISE))
    with pytest.raises(SchemaError, match="What people guard of 'disease' is not known"):
        dc.audit(release, plain)


def test_people_with_several_rows_are_refused_and_households_are_not() -> None:
    rows = [(*row, pid, pid // 2) for pid, row in enumerate(HOSPITAL)]
    frame = pl.DataFrame(rows, schema=["age", "disease", "wish", "pid", "home"], orient="row")
    schema, method = guarded_schema(frame), dc.Generalization(PROMISE & dc.KAnonymity(2))
    homes = dc.read(frame, schema, cluster="home")
    release = dc.publish(homes, method)
    assert dc.audit(release, homes).kept
    assert dc.audit(release, DATA, principle=PROMISE).breaches == 0
    twice = frame.with_columns(pid=pl.Series([0, 1, 2, 3, 4, 5, 6, 3]))
    twice = twice.with_columns(wish=pl.when(pl.col("pid") == 3).then(None).otherwise("wish"))
    several = dc.read(twice, schema, person="pid")
    with pytest.raises(PromiseError, match="says nothing of people who have several rows"):
        dc.publish(several, method)
    one = replace(schema, people=dc.PeopleKey(person="pid", rows="one"))
    single = dc.read(twice, one)
    less = dc.Generalization(dc.PersonalPrivacy("3/2"))
    assert single.n == 7 and dc.audit(dc.publish(single, less), single).kept
    by_rows = dc.publish(homes, dc.Generalization(dc.KAnonymity(2)))
    report = dc.audit(by_rows, several, principle=PROMISE)
    assert report.breached[3], "whoever has several rows is taken for unprotected"


def test_nothing_of_it_is_published(tmp_path: Path) -> None:
    rows = [*HOSPITAL, (60, "flu", "typhus"), (61, "hiv", None)]
    data = guarded_data(rows)
    release = dc.publish(data, dc.Generalization(PROMISE))
    for format in ("parquet", "csv"):
        folder = tmp_path / format
        release.write(folder, format=format)
        told = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
        assert b"wish" not in told and b"typhus" not in told and b'guards"' not in told
        again = dc.load(folder)
        assert again.promise == release.promise
        assert dc.audit(folder, data).kept
    assert release.schema.names == ["age", "disease"]


def test_the_release_says_what_it_does_not_tell() -> None:
    release = dc.publish(DATA, dc.Generalization(PROMISE))
    assert "one that the person guards is believed with probability at most 1/2" in (
        release.promise.guarantee
    )
    opened = " ".join(release.promise.leaves_open)
    assert "because of somebody's guard" in opened and "who guard nothing" in opened
    assert "Boxes of different groups may overlap" not in opened
    verify(release)
    (said,) = list_unverifiable(release)
    assert "who guards what is not published" in said
    assert list_unverifiable(dc.publish(DATA, dc.Generalization(dc.KAnonymity(2)))) == []


def test_a_release_that_breaks_somebodys_guard_passes_its_bytes_and_fails_the_audit() -> None:
    """Ulcers are moved from the first group to the second: of six, four are respiratory."""
    release = dc.publish(DATA, dc.Generalization(PROMISE))
    table = release.tables["generalized"]
    shown = table["disease"].to_list()
    assert shown[3] == "ulcer" and shown[7] == "hiv"
    shown[3], shown[7] = "hiv", "ulcer"
    forged = replace(release, tables={"generalized": table.with_columns(disease=pl.Series(shown))})
    verify(forged)
    report = dc.audit(forged, DATA)
    assert not report.kept and report.breaches == 0  # nobody's guard, but not this table
    merged = dc.publish(DATA, dc.Generalization(dc.KAnonymity(4)))
    forged = replace(merged, promise=release.promise)
    verify(forged)
    report = dc.audit(forged, DATA)
    assert report.breached.tolist() == [False, False, True, False, True, False, False, False]
    assert "personal-privacy (l = 2) fails for 2 people on disease" in report.problems


@pytest.mark.parametrize(
    "method",
    [
        dc.Angelization(dc.FrequencyDiversity(2), k=2),
        dc.Angelization(dc.FrequencyDiversity(2), k=2, marginals=[["age"], ["sex"]]),
    ],
    ids=str,
)
def test_it_is_not_judged_of_tables_that_have_to_be_put_together(method: dc.Angelization) -> None:
    frame = pl.DataFrame(HOSPITAL, schema=["age", "disease", "wish"], orient="row")
    frame = frame.with_columns(sex=pl.Series(list("FMFMFMFM")))
    schema = guarded_schema(frame)
    data = dc.read(frame, schema.changed(replace(schema["sex"], role=dc.Role.QUASI_IDENTIFIER)))
    release = dc.publish(data, method, insecure_seed=1)
    with pytest.raises(SchemaError, match="whose tables have to be put together"):
        dc.audit(release, data, principle=PROMISE)


def test_several_sensitive_attributes_are_guarded_each_by_its_column() -> None:
    rows = [
        (1, "flu", "x", "flu", "x"),
        (2, "flu", "y", None, None),
        (3, "ulcer", "y", None, "y"),
        (4, "hiv", "z", "hiv", None),
        (5, "ulcer", "z", None, "x"),
        (6, "hiv", "x", None, None),
    ]
    frame = pl.DataFrame(rows, schema=["age", "disease", "job", "wish", "hide"], orient="row")
    schema = dc.Schema.infer(
        frame,
        quasi_identifiers=["age"],
        sensitive=["disease", "job"],
        guards={"wish": "disease", "hide": "job"},
    )
    data = dc.read(frame, schema)
    release = dc.publish(data, dc.Generalization(PROMISE))
    report = dc.audit(release, data)
    assert report.kept and [check.attribute for check in report.checks] == ["disease", "job"]
    for part in release.tables["generalized"].partition_by("class"):
        for age, _, _, wish, hide in rows:
            if part["age_low"][0] <= age <= part["age_high"][0]:
                for name, value in (("disease", wish), ("job", hide)):
                    held = part[name].to_list().count(value)
                    assert Fraction(held, part.height) <= Fraction(1, 2)
    one = dc.read(frame, schema.changed(replace(schema["hide"], guards=None)))
    with pytest.raises(SchemaError, match="What people guard of 'job' is not known"):
        dc.publish(one, dc.Generalization(PROMISE))
    assert dc.audit(
        dc.publish(one, dc.Generalization(dc.PersonalPrivacy(2, on="disease"))), one
    ).kept


def test_releases_together_are_asked_as_if_anybody_guarded_anything() -> None:
    """Of the first person one release tells flu or ulcer, the other flu or hiv."""
    rows = [(1, 1, "flu", "flu"), (1, 2, "ulcer", None), (2, 1, "hiv", None), (2, 2, "gout", None)]
    frame = pl.DataFrame(rows, schema=["age", "zip", "disease", "wish"], orient="row")
    data, first, second = (
        dc.read(
            frame,
            dc.Schema.infer(
                frame, quasi_identifiers=known, sensitive=["disease"], guards={"wish": "disease"}
            ),
        )
        for known in (["age", "zip"], ["age"], ["zip"])
    )
    both = dc.Generalization(PROMISE & dc.KAnonymity(2))
    by_age, by_zip = dc.publish(first, both), dc.publish(second, both)
    assert dc.audit(by_age, data).kept and dc.audit(by_zip, data).kept
    report = dc.audit(by_age, data, earlier=[by_zip])
    assert "personal-privacy" in {made.principle.title for made in report.composed}
    assert any("as if anybody guarded anything" in note for note in report.notes)


PLAN = """
[source]
file = "t.csv"
[columns.age]
role = "quasi-identifier"
type = "integer"
[columns.disease]
role = "sensitive"
taxonomy = { file = "disease.csv" }
[columns.wish]
role = "other"
guards = "disease"
[method]
name = "generalization"
[[method.principles]]
name = "personal-privacy"
l = 2
"""


def test_a_plan_names_the_column(tmp_path: Path) -> None:
    frame = pl.DataFrame(HOSPITAL, schema=["age", "disease", "wish"], orient="row")
    frame.write_csv(tmp_path / "t.csv")
    lines = [f"{leaf};{node};*" for node, below in BELOW.items() for leaf in below]
    (tmp_path / "disease.csv").write_text("\n".join(lines))
    (tmp_path / "plan.toml").write_text(PLAN)
    made = discreet("publish", "plan.toml", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    held = ("audit", "release", "--microdata", "t.csv")
    told = discreet(*held, "--plan", "plan.toml", "--evidence", "pack", cwd=tmp_path)
    assert told.returncode == 0, told.stderr
    seen = discreet("verify", "pack", "release", cwd=tmp_path)
    assert "Not told by the release alone: personal-privacy (l = 2)" in seen.stdout
    assert "every published group keeps the promise" not in seen.stdout
