"""Releases of tables in which people have several rows: people are counted, not rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import polars as pl
import pytest

import discreet as dc
from commands import discreet_here as discreet
from discreet.errors import PromiseError
from discreet.publishing.methods import REGISTRY

PEOPLE = dc.KAnonymity(3)


def _draw_visits() -> pl.DataFrame:
    """Draw 300 people with 3 to 5 visits each."""
    rng, rows = Random(1), []
    for pid in range(300):
        job, code = rng.choice(["a", "b", "c", "d"]), rng.randint(100, 150)
        for _ in range(rng.randint(3, 5)):
            rows.append((pid, job, code, rng.choice(["hiv", "flu", "gout", "x-ray"])))
    return pl.DataFrame(rows, schema=["pid", "job", "zip", "test"], orient="row")


VISITS = _draw_visits()


def _infer(frame: pl.DataFrame = VISITS, **key: object) -> dc.Schema:
    return dc.Schema.infer(frame, quasi_identifiers=["job", "zip"], sensitive=["test"], **key)  # type: ignore[arg-type]


KEYED = dc.read(VISITS, _infer(person="pid"))


def _count_people(release: dc.Release, frame: pl.DataFrame, key: str = "pid") -> list[int]:
    """Count the people of every group, by the boxes alone."""
    boxes = release.tables["generalized"].select("class", "job", "zip_low", "zip_high").unique()
    jobs = release.recodings["job"].labels
    counts = []
    for _, job, low, high in boxes.rows():
        there = frame.filter(pl.col("job").is_in(jobs[job]), pl.col("zip").is_between(low, high))
        counts.append(there[key].n_unique())
    return counts


def test_by_rows_a_group_may_be_one_person_and_the_audit_names_such_groups() -> None:
    rows = dc.read(VISITS, _infer(rows_are_people=True))
    release = dc.publish(rows, dc.Generalization(PEOPLE))
    people = _count_people(release, VISITS)
    assert len(people) == 156
    assert sum(count == 1 for count in people) == 72
    assert sum(count < 3 for count in people) == 115
    assert dc.audit(release, rows).kept
    report = dc.audit(release, KEYED)
    assert not report.kept
    assert "115 of 156 groups hold fewer than 3 people, 72 of them a single one" in report.problems
    assert report.people == 300
    assert report.identity.smallest == 1


@pytest.mark.parametrize("title", ["generalization", "full-domain", "sequential"])
def test_by_the_key_every_group_has_so_many_people(title: str) -> None:
    method = REGISTRY[title](PEOPLE)
    release = dc.publish(KEYED, method)
    assert min(_count_people(release, VISITS)) >= 3
    report = dc.audit(release, KEYED)
    assert report.kept, report.problems
    assert report.breaches == 0
    assert report.rows_read == 1230
    assert len(report.per_person) == report.people == 300


def test_who_reads_it_without_the_key_is_told_so(tmp_path: Path) -> None:
    folder = dc.publish(KEYED, dc.Generalization(PEOPLE)).write(tmp_path / "release")
    loaded = dc.load(folder)
    assert loaded.promise.people is not None
    assert (loaded.promise.people.rows, loaded.promise.asked) == (5, PEOPLE)
    assert "up to 5 rows each" in loaded.promise.guarantee
    for text in (file.read_bytes() for file in folder.iterdir()):
        assert b"pid" not in text
    assert dc.audit(folder, KEYED).kept
    (problem,) = dc.audit(folder, dc.read(VISITS, _infer())).problems
    assert "nobody said whose are whose" in problem


def test_beliefs_are_about_all_rows_of_a_person() -> None:
    """Two people with two rows each, and two values twice: by hand 1 - 1/6."""
    frame = pl.DataFrame({"pid": [1, 1, 2, 2], "job": ["a"] * 4, "zip": [1] * 4, "test": [*"vvab"]})
    data = dc.read(frame, _infer(frame, person="pid"))
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(2)))
    report = dc.audit(release, data)
    assert str(report.worst) == "5/6"
    assert report.beliefs["test"].tolist() == pytest.approx([5 / 6, 5 / 6])
    assert report.truths["test"].tolist() == pytest.approx([5 / 6, 1 / 2])
    assert report.how == {"test": "exactly"}
    assert "2 rows" in str(report.explain(3))


def test_a_belief_over_people_takes_that_much_more_of_rows() -> None:
    with pytest.raises(PromiseError, match="l = 10") as found:
        dc.publish(KEYED, dc.Generalization(PEOPLE & dc.FrequencyDiversity(2)))
    assert "People have up to 5 rows here" in str(found.value.hint)
    with pytest.raises(PromiseError, match="says nothing of people who have several rows"):
        dc.publish(KEYED, dc.Generalization(dc.TCloseness("1/2")))
    wide = VISITS.with_columns(test=pl.int_range(pl.len()).cast(pl.String) + pl.col("test"))
    wide = wide.with_columns(test=pl.col("test").str.slice(1, 2))
    data = dc.read(wide, _infer(wide, person="pid"))
    promise = PEOPLE & dc.FrequencyDiversity(2)
    for method in (
        dc.Generalization(promise),
        dc.Anatomy(dc.FrequencyDiversity(2)),
        dc.Angelization(promise, k=3),
        dc.Slicing(promise),
    ):
        report = dc.audit(dc.publish(data, method), data)
        assert report.kept, (method, report.problems)
        assert report.max_belief <= 1 / 2


def test_rows_of_one_bucket_share_its_values() -> None:
    """Six values of a bucket, three of them the same; two rows of a person: 1 - C(3,2)/C(6,2)."""
    frame = pl.DataFrame({"pid": [0, 0, 1, 2, 3, 4], "q": [10, 12, 12, 10, 12, 10],
                          "pay": [1, 1, 1, 2, 3, 4], "ill": [*"abcabc"]})  # fmt: skip
    schema = dc.Schema.infer(frame, quasi_identifiers=["q"], sensitive=["pay", "ill"], person="pid")
    data = dc.read(frame, schema)
    rows = dc.read(frame, replace(schema, people=dc.PeopleKey(rows_are_people=True)))
    method = dc.Slicing(dc.KAnonymity(3), columns=[["pay"], ["q", "ill"]])
    report = dc.audit(dc.publish(rows, method), data)
    assert report.beliefs["pay"][0] >= 4 / 5


def test_no_row_of_a_person_is_near_a_number_of_theirs() -> None:
    """Two groups of four; of person 1's second row half of the group is near 100: 1 - 3/4 · 2/4."""
    frame = pl.DataFrame({"pid": [1, 2, 3, 4, 1, 5, 6, 7], "job": [*"aaaabbbb"],
                          "pay": [100, 300, 500, 700, 91, 109, 800, 900]})  # fmt: skip
    schema = dc.Schema.infer(frame, quasi_identifiers=["job"], sensitive=["pay"], person="pid")
    near = dc.Proximity(10, 2)
    rows = dc.read(frame, replace(schema, people=dc.PeopleKey(rows_are_people=True)))
    report = dc.audit(dc.publish(rows, dc.Generalization(near)), dc.read(frame, schema))
    assert not report.kept
    assert report.proximity["pay"].risks[0] >= 5 / 8
    assert near.over_rows(2, 2) == dc.Proximity(10, 6)


def test_who_has_one_row_is_promised_what_was_asked() -> None:
    for principle in (dc.TCloseness("1/2"), dc.Variance(3), dc.FrequencyDiversity(2)):
        assert principle.over_rows(1, 5) == principle


def test_people_who_look_the_same_in_two_releases_are_counted() -> None:
    """Groups of three people have fewer rows than three times the most of anybody."""
    schema = _infer(person="pid")
    old = dc.publish(dc.read(VISITS, schema.only(["pid", "job", "test"])),
                     dc.Generalization(dc.KAnonymity(3)))  # fmt: skip
    report = dc.audit(dc.publish(KEYED, dc.Generalization(PEOPLE)), KEYED, earlier=[old])
    assert not [made for made in report.composed if made.attribute is None]


def test_households_count_as_one() -> None:
    """Two people of one home are found by finding the home, so they do not hide each other."""
    rng, rows = Random(7), []
    for home in range(60):
        code = rng.randint(100, 110)
        for person in range(rng.randint(1, 4)):
            rows.append((f"{home}-{person}", home, rng.choice("ab"), code, rng.choice("wxyz")))
    columns = ["pid", "home", "job", "zip", "test"]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    plain = dc.read(frame, _infer(frame, identifiers=["pid"]))
    homes = dc.read(frame, _infer(frame, identifiers=["pid"], cluster="home"))
    method = dc.Generalization(PEOPLE)
    alone = dc.audit(dc.publish(plain, method), homes)
    assert any("clusters" in problem for problem in alone.problems)
    release = dc.publish(homes, method)
    assert min(_count_people(release, frame, "home")) >= 3
    report = dc.audit(release, homes)
    assert report.kept, report.problems
    assert report.people == len(frame)
    assert report.several is not None
    assert report.several.clusters == 60
    assert "count as one with those of their cluster" in release.promise.guarantee


def test_x_is_linked_to_k_patients_by_example_2() -> None:
    """Every patient has three tests: k records on X may be of one; with Y = Pid they are not."""
    rng, rows = Random(3), []
    for pid in range(40):
        job, code = rng.choice("ab"), rng.randint(1, 6)
        rows += [(pid, job, code, test) for test in rng.sample(["hiv", "flu", "gout", "iron"], 3)]
    frame = pl.DataFrame(rows, schema=["pid", "job", "zip", "test"], orient="row")
    schema = _infer(frame, person="pid")
    jobs = schema.only(["pid", "job", "test"])
    old = dc.publish(dc.read(frame.select("pid", "job", "test"), jobs),
                     dc.Generalization(dc.KAnonymity(1)))  # fmt: skip
    data = dc.read(frame, schema)
    by_people = dc.XYAnonymity(x=["job", "zip"], y="person", k=5)
    assert by_people == dc.XYAnonymity(x=["job", "zip"], y="people", k=5)
    new = dc.publish(data, dc.Sequential(principles=[by_people], earlier=[old]))
    assert min(_count_people(new, frame)) >= 5
    assert dc.audit(new, data, earlier=[old]).kept
    rows_only = dc.read(frame, replace(schema, people=dc.PeopleKey(rows_are_people=True)))
    loose = dc.publish(rows_only, dc.Sequential(principles=[by_people], earlier=[old]))
    assert min(_count_people(loose, frame)) < 5
    report = dc.audit(loose, data, principle=by_people, earlier=[old])
    assert report.breaches > 0


def test_the_command_line_asks_whose_rows_are_whose(tmp_path: Path) -> None:
    VISITS.write_csv(tmp_path / "visits.csv")
    seen = discreet("inspect", "visits.csv", cwd=tmp_path)
    assert "pid names people and has 300 values in 1,230 rows, 4.1 rows each" in seen.stdout
    plan = tmp_path / "visits.plan.toml"
    text = plan.read_text().replace('role = "other"', 'role = "sensitive"')
    refused = discreet("publish", plan, cwd=tmp_path)
    assert refused.returncode == 2
    assert not (tmp_path / "release").exists()
    plan.write_text(text.replace('# person = "pid"', 'person = "pid"'))
    made = discreet("publish", plan, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "300 of 300 people have several of the 1,230 rows" in made.stdout
    audited = ["audit", "release", "--microdata", "visits.csv"]
    assert discreet(*audited, cwd=tmp_path).returncode == 1
    assert discreet(*audited, "--person", "pid", cwd=tmp_path).returncode == 0
    assert discreet(*audited, "--plan", plan, cwd=tmp_path).returncode == 0
