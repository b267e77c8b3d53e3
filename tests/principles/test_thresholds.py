"""Thresholds of single values: by hand, by their proof, and from plans to manifests."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from commands import discreet_here as discreet
from discreet.forms.verify import verify
from discreet.kernels.rules import obeys
from discreet.principles.groups import Groups
from discreet.publishing.draws import SeededDraws
from discreet.publishing.partitioners.batches import make_batches
from discreet.publishing.partitioners.mondrian import mondrian
from discreet.publishing.partitioners.slices import _look_within
from discreet.steward.evidence import _list_risks
from discreet.steward.inspection import inspect_table
from discreet.steward.plan import Plan, plan_model
from samples import microdata

SOME = dc.FrequencyDiversity(2, values={"hiv": 10, "none": None})
VALUES = ["none", "flu", "gout", "hiv"]
WANTED = st.one_of(st.none(), st.integers(1, 5), st.sampled_from(["3/2", "5/2"]))
THRESHOLDS = st.dictionaries(st.sampled_from(VALUES), WANTED, min_size=1)
BAG = st.lists(st.sampled_from(VALUES), min_size=1, max_size=12)


def stays_below(bag: list[str], l: object, values: dict[str, object]) -> bool:  # noqa: E741
    """The definition, in plain Python."""
    wanted = {value: values.get(value, l) for value in bag}
    return all(
        n is None or bag.count(value) * Fraction(str(n)) <= len(bag) for value, n in wanted.items()
    )


def ten_people() -> pl.DataFrame:
    disease = ["none"] * 7 + ["flu", "gout", "hiv"]
    return pl.DataFrame({"age": range(20, 30), "sex": list("FM" * 5), "disease": disease})


def test_thresholds_by_hand() -> None:
    """Nine tell hiv with 1/9, above 1/10; seven in ten have none, which tells nothing."""
    ten = ["none"] * 7 + ["flu", "gout", "hiv"]
    groups = Groups.of([ten, ten[1:], ["none"], ["flu"], ["flu", "gout"], ["none", "flu"], ["hiv"]])
    assert SOME.admits(groups).tolist() == [True, False, True, False, True, True, False]
    alpha = dc.AlphaK("1/2", 2, values={"hiv": "1/10", "none": None})
    assert alpha.admits(groups).tolist() == [True, False, False, False, True, True, False]


def test_principles_with_thresholds_go_into_sets() -> None:
    again = dc.FrequencyDiversity(2, values={"none": "any", "hiv": 10})
    other = dc.FrequencyDiversity(2, values={"none": None, "hiv": 9})
    assert {SOME, again, other, dc.FrequencyDiversity(2)} == {SOME, other, dc.FrequencyDiversity(2)}
    assert SOME & again == SOME & SOME
    assert dc.FrequencyDiversity(2, values={}) == dc.FrequencyDiversity(2)
    tables = {"test": {"hiv": "1/4"}, "drug": ["azt"]}
    assert {dc.XYLinkability(x=["job"], y=["test", "drug"], k=1, values=tables)}


def test_what_most_people_have_need_not_count() -> None:
    whole = Groups.of([ten_people()["disease"].to_list()])
    assert not dc.FrequencyDiversity(2).feasible(whole).possible
    assert "no threshold for 'none'" in dc.FrequencyDiversity(2).feasible(whole).best
    assert SOME.feasible(whole).possible
    more = dc.FrequencyDiversity(2, values={"hiv": 11, "none": None}).feasible(whole)
    assert not more.possible and more.best.endswith("values.hiv ≤ 10")
    assert SOME.min_size == 1  # somebody with none alone is fine
    assert dc.FrequencyDiversity(3, values={"hiv": 10}).min_size == 3
    assert SOME.distinct_enough == 10


@settings(max_examples=150, deadline=None)
@given(one=BAG, other=BAG, times=st.integers(1, 4), values=THRESHOLDS)
def test_bounds_per_value_are_closed_under_union_and_mixture(
    one: list[str], other: list[str], times: int, values: dict[str, object]
) -> None:
    principle = dc.FrequencyDiversity(2, values=values)
    mixed = one + other * times
    kept = principle.admits(Groups.of([one, other, mixed])).tolist()
    assert kept == [stays_below(bag, 2, values) for bag in (one, other, mixed)]
    assert kept[2] or not (kept[0] and kept[1])


@settings(max_examples=60, deadline=None)
@given(bag=st.lists(st.sampled_from(VALUES), min_size=1, max_size=30), values=THRESHOLDS,
       how=st.sampled_from(["direct", "anatomize"]))  # fmt: skip
def test_batches_are_found_wherever_the_whole_table_keeps_thresholds(
    bag: list[str], values: dict[str, object], how: str
) -> None:
    data = microdata(pl.DataFrame({"age": range(len(bag)), "disease": bag}), ["age"], ["disease"])
    principle, draws = dc.FrequencyDiversity(2, values=values), SeededDraws(1)
    buckets = mondrian(data, dc.KAnonymity(1))
    if not stays_below(bag, 2, values):
        with pytest.raises(dc.errors.PromiseError):
            make_batches(data, principle, how, buckets, draws)  # type: ignore[arg-type]
        return
    made = make_batches(data, principle, how, buckets, draws)  # type: ignore[arg-type]
    held = [[bag[i] for i in made.rows(g).tolist()] for g in range(made.count)]
    assert all(stays_below(part, 2, values) for part in held)
    assert sum(map(Counter, held), Counter()) == Counter(bag)


def test_batches_stay_small_beside_a_value_that_does_not_count() -> None:
    """A hundred people, 70 with none: ten batches of ten, a hiv in each at most."""
    frame = pl.concat([ten_people()] * 10)
    data = microdata(frame, ["age", "sex"], ["disease"])
    release = dc.publish(data, dc.Anatomy(SOME))
    sizes = release.tables["batches"].group_by("batch").agg(pl.col("count").sum())["count"]
    assert sizes.to_list() == [10] * 10


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(VALUES)), min_size=1,
                     max_size=14), values=THRESHOLDS)  # fmt: skip
def test_slices_are_judged_alike_by_kernels(
    rows: list[tuple[str, str]], values: dict[str, object]
) -> None:
    frame = pl.DataFrame(rows, schema=["sex", "disease"], orient="row")
    data = microdata(frame, ["sex"], ["disease"])
    asked = dc.FrequencyDiversity(2, values=values)
    joint, wanted = _look_within(data, asked, [["sex", "disease"]])
    (within,) = wanted.parts
    codes, size = joint.codes["disease"].astype(np.int64), joint.domains["disease"].size
    whole = Groups.from_labels(np.zeros(data.n, np.int64), codes, joint.domains["disease"], count=1)
    (rule,) = within.rules(whole) or []
    counts = np.bincount(codes, minlength=size)
    said = obeys(
        np.array([[rule.op, 0, rule.a, rule.b, rule.c, 0]]), 0, np.asarray(rule.table), counts,
        np.arange(size), 0, size, size, data.n,
    )  # fmt: skip
    parts = [[d for s, d in rows if s == sex] for sex in {s for s, _ in rows}]
    expected = all(stays_below(part, 2, values) for part in parts)
    assert said == expected == bool(within.admits(whole)[0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dc.FrequencyDiversity(2, values={"hiv": 0.5}), r"values.hiv = 0.5: give a number"),
        (lambda: dc.FrequencyDiversity(2, values={"hiv": "all"}), "values.hiv = all"),
        (lambda: dc.FrequencyDiversity(2, values={"hiv": True}), "values.hiv = True"),
        (lambda: dc.FrequencyDiversity(2, values=["hiv"]), "give a threshold per value"),
        (lambda: dc.FrequencyDiversity(2, values={"1": 2, 1: 3}), "'1' has two thresholds"),
        (lambda: dc.AlphaK(0.5, 2, values={"hiv": 2}), "values.hiv = 2: give a number from 0 to 1"),
        (lambda: dc.XYLinkability(x=["job"], y=["test", "drug"], k=1, values={"test": ["hiv"]}),
         "several attributes y"),
        (lambda: dc.XYLinkability(x=["job"], y=["test", "drug"], k=1,
                                  values={"test": {"hiv": 7}, "drug": ["azt"]}), "values.hiv = 7"),
    ],
)  # fmt: skip
def test_thresholds_that_make_no_sense_are_refused(make: object, message: str) -> None:
    with pytest.raises(dc.errors.SchemaError, match=message):
        make()  # type: ignore[operator]


def test_thresholds_for_values_that_nobody_has_are_refused() -> None:
    data = microdata(ten_people(), ["age", "sex"], ["disease"])
    asked = dc.FrequencyDiversity(2, values={"nome": None})
    for method in (dc.Generalization(asked), dc.Anatomy(asked), dc.Slicing(asked)):
        with pytest.raises(dc.errors.SchemaError, match="nobody's disease is 'nome'") as told:
            dc.publish(data, method)
        assert "Did you mean 'none'?" in (told.value.hint or "")
    release = dc.publish(data, dc.Generalization(SOME))
    with pytest.raises(dc.errors.SchemaError, match="nobody's disease is 'nome'"):
        dc.audit(release, data, principle=asked)
    # of two sensitive attributes it must be said which is meant
    both = microdata(ten_people(), ["age"], ["disease", "sex"])
    with pytest.raises(dc.errors.SchemaError, match="nobody's sex is 'hiv'"):
        dc.publish(both, dc.Generalization(SOME))
    on = dc.FrequencyDiversity(2, values={"hiv": 10, "none": None}, on="disease")
    assert dc.audit(dc.publish(both, dc.Generalization(on)), both).kept


def test_values_may_be_numbers() -> None:
    frame = pl.DataFrame({"age": range(6), "children": [0, 0, 0, 0, 1, 2]})
    data = microdata(frame, ["age"], ["children"])
    release = dc.publish(data, dc.Generalization(dc.FrequencyDiversity(2, values={0: None, 2: 3})))
    assert dc.audit(release, data).kept
    assert release.promise.principle.parameters()["values"] == {"0": "any", "2": 3}


def test_a_sure_value_that_does_not_count_is_said_and_is_no_breach(tmp_path: Path) -> None:
    """Nine none and one flu look the same: 0.9 for none, 0.1 for what counts."""
    disease = ["none"] * 9 + ["flu"]
    data = microdata(pl.DataFrame({"age": [30] * 10, "disease": disease}), ["age"], ["disease"])
    asked = dc.FrequencyDiversity(10, values={"none": None})
    release = dc.publish(data, dc.Generalization(asked))
    report = dc.audit(release, data)
    assert report.kept and report.max_belief == 0.9
    assert report.counted is not None and report.counted.worst == Fraction(1, 10)
    assert report.to_dict()["counted"]["left_out"] == {"disease": ["none"]}
    assert "protected by nothing: disease: none" in str(report.counted)
    assert "in a value that counts" in report.to_html(tmp_path / "r.html").read_text()
    strict = dc.audit(release, data, principle=dc.FrequencyDiversity(10))
    assert strict.breaches == 10 and strict.counted is None
    # another principle that protects none makes it count
    both = dc.audit(release, data, principle=asked & dc.AlphaK("9/10", 2))
    assert both.kept and both.counted is None


PLAN = """
[source]
file = "people.csv"
[columns.age]
role = "quasi-identifier"
type = "integer"
[columns.disease]
role = "sensitive"
[method]
name = "angelization"
k = 2
[[method.principles]]
name = "frequency-diversity"
l = 2
values = { hiv = 10, none = "any" }
[[compare]]
name = "generalization"
[[compare.principles]]
name = "frequency-diversity"
l = 2
values = { hiv = { try = [5, 10] }, none = "any" }
"""


def test_thresholds_go_from_a_plan_through_the_command_line_into_the_manifest(
    tmp_path: Path,
) -> None:
    ten_people().select("age", "disease").write_csv(tmp_path / "people.csv")
    (tmp_path / "plan.toml").write_text(PLAN)
    plan = Plan.read(tmp_path / "plan.toml")
    assert plan.method.principle == SOME
    assert [m.principle.parameters()["values"]["hiv"] for m in plan.contenders] == [5, 10]  # type: ignore[index]
    done = discreet("publish", "plan.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    written = json.loads((tmp_path / "release" / "datapackage.json").read_text())
    promised = written["discreet"]["promise"]
    assert promised["principles"][-1]["values"] == {"hiv": 10, "none": "any"}
    assert "not protected: none" in promised["guarantee"]
    release = dc.load(tmp_path / "release")
    assert release.promise.principle.parts[-1] == SOME
    verify(release)
    examined = discreet("audit", "release", "--microdata", "people.csv", cwd=tmp_path)
    assert examined.returncode == 0, examined.stderr
    assert "Of values that count as sensitive: 1/10" in examined.stdout


def test_a_plan_with_a_value_that_nobody_has_writes_nothing(tmp_path: Path) -> None:
    ten_people().select("age", "disease").write_csv(tmp_path / "people.csv")
    (tmp_path / "plan.toml").write_text(PLAN.replace("hiv = 10", "hvi = 10"))
    before = sorted(tmp_path.iterdir())
    done = discreet("publish", "plan.toml", cwd=tmp_path)
    assert done.returncode == 2 and "nobody's disease is 'hvi'" in done.stderr
    assert sorted(tmp_path.iterdir()) == before


def test_a_plan_says_in_one_line_what_is_wrong_with_thresholds(tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text(PLAN.replace("hiv = 10", "hiv = [10]"))
    with pytest.raises(dc.errors.PlanError, match="give thresholds by value") as told:
        Plan.read(tmp_path / "plan.toml")
    assert len(told.value.message.splitlines()) == 2


def test_the_schema_of_plans_knows_thresholds() -> None:
    defined = plan_model().model_json_schema()["$defs"]
    for kind in ("FrequencyDiversity", "AlphaK", "XYLinkability"):
        assert "values" in defined[kind]["properties"]


def test_a_promise_about_a_value_that_is_not_in_the_release_is_not_believed(tmp_path: Path) -> None:
    data = microdata(ten_people(), ["age", "sex"], ["disease"])
    folder = dc.publish(data, dc.Generalization(SOME)).write(tmp_path / "r", format="csv")
    path = folder / "datapackage.json"
    path.write_text(path.read_text().replace('"hiv": 10', '"hvi": 10'))
    with pytest.raises(dc.errors.SchemaError, match="nobody's disease is 'hvi'"):
        verify(dc.load(folder))


def test_a_draft_suggests_what_need_not_count(tmp_path: Path) -> None:
    """The suggestion, with its marks of a comment taken away, is a plan that can be kept."""
    frame = pl.concat([ten_people()] * 5)
    frame.write_csv(tmp_path / "people.csv")
    plan = inspect_table(tmp_path / "people.csv", tmp_path).plan
    assert "frequency-diversity" not in str(tomllib.loads(plan)["method"])
    start = plan.index("# [[method.principles]]")
    end = plan.index("[release]")
    asked = plan[start:end].replace("# ", "")
    assert 'values = { "none" = "any" }' in asked
    (tmp_path / "plan.toml").write_text(plan[:start] + asked + plan[end:])
    read = Plan.read(tmp_path / "plan.toml")
    data = dc.read(tmp_path / "people.csv", read.schema)
    assert dc.audit(dc.publish(data, read.method), data).kept


def test_linkability_of_several_attributes_is_one_principle_for_each(tmp_path: Path) -> None:
    jobs = ["cook", "cook", "judge", "judge"] * 3
    test = ["hiv", "no", "no", "no"] * 3
    drug = ["azt", "x", "x", "azt"] * 3
    frame = pl.DataFrame({"job": jobs, "place": list("abcd") * 3, "test": test, "drug": drug})
    old = dc.publish(microdata(frame.select("place", "drug"), ["place"], ["drug"]),
                     dc.Generalization(dc.KAnonymity(1)))  # fmt: skip
    values = {"test": {"hiv": "1/4"}, "drug": {"azt": "1/2"}}
    both = dc.XYLinkability(x=["job"], y=["test", "drug"], k=1, values=values)
    data = microdata(frame.select("job", "test"), ["job"], ["test"])
    release = dc.publish(data, dc.Sequential(principles=[both], earlier=[old]))
    assert release.tables["generalized"]["job"].unique().to_list() == ["*"]
    report = dc.audit(release, data, earlier=[old])
    assert report.kept and [check.principle for check in report.checks] == list(both.parts)
    again = dc.load(release.write(tmp_path / "r"))
    assert again.promise.principle.parts == both.parts
    wrong = dc.XYLinkability(x=["job"], y=["test", "drug"], k=1,
                             values={"test": {"hvi": "1/4"}, "drug": ["azt"]})  # fmt: skip
    with pytest.raises(dc.errors.SchemaError, match="'test' has no value 'hvi'"):
        dc.publish(data, dc.Sequential(principles=[wrong], earlier=[old]))


def test_where_small_batches_are_not_found_groups_of_mondrian_are_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A third may have flu, but no ten people hold four of them: twelve would."""
    monkeypatch.setattr("discreet.publishing.partitioners.batches.MOST_TRIED", 0)
    disease = ["flu"] * 4 + ["hiv"] + ["none"] * 7
    data = microdata(pl.DataFrame({"age": range(12), "disease": disease}), ["age"], ["disease"])
    asked = dc.FrequencyDiversity(3, values={"hiv": 10, "none": None})
    assert dc.audit(dc.publish(data, dc.Anatomy(asked)), data).kept
    with pytest.raises(dc.errors.PromiseError, match='or set batches = "mondrian"'):
        dc.publish(data, dc.Anatomy(asked, batches="direct"))


def test_evidence_and_comparisons_tell_values_that_count_from_others() -> None:
    frame = pl.concat([ten_people()] * 4)
    data = microdata(frame, ["age", "sex"], ["disease"])
    report = dc.audit(dc.publish(data, dc.Generalization(SOME)), data)
    risks = {row["risk"]: row for row in _list_risks(data, report)}
    counted = risks["belief in a value of disease that counts (not: none), at most"]
    assert counted["before"] == 1  # four of age 29, all with hiv
    assert report.counted is not None
    assert counted["after"] == float(report.counted.beliefs["disease"]) == 0.1
    assert risks["belief in a value of disease, at most"]["after"] == report.max_belief == 0.7
    compared = dc.compare(data, [dc.Generalization(SOME)], 5).table
    assert compared["worst belief"].item() == float(report.counted.worst)
