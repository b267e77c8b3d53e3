"""Roles: what an adversary knows is what microdata, plan and release say, and none of them less."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from commands import discreet_here as discreet
from discreet.publishing.method import Method
from samples import reseal

PEOPLE = pl.DataFrame(
    {"age": [20, 30, 40, 50], "sex": list("MMFF"), "s": ["flu", "gout", "flu", "gout"]}
)


def read_as(
    frame: pl.DataFrame, known: Sequence[str], sensitive: Sequence[str], keep: Sequence[str] = ()
) -> dc.Microdata:
    schema = dc.Schema.infer(frame, quasi_identifiers=known, sensitive=sensitive, keep=keep)
    roles = [replace(a, role=dc.Role.OTHER) if a.name in keep else a for a in schema]
    return dc.read(frame, dc.Schema(tuple(roles)))


def test_what_the_microdata_calls_a_quasi_identifier_is_known_whatever_the_release_says() -> None:
    """Every age stands beside its disease: all worlds are one, and the belief is certain."""
    kept = read_as(PEOPLE, ["sex"], ["s"], ["age"])
    release = dc.publish(kept, dc.Generalization(dc.FrequencyDiversity(2)))
    assert dc.audit(release, kept).max_belief == 0.5
    report = dc.audit(release, read_as(PEOPLE, ["age", "sex"], ["s"]))
    assert report.max_belief == 1 and report.breaches == 4 and report.identity.smallest == 1
    said = "age is other in the release and a quasi-identifier in the microdata"
    assert said in report.problems
    # what does not depend on who knows what is as before
    assert report.groups == 2 and report.loss == dc.audit(release, kept).loss


def test_the_plan_counts_beside_the_microdata() -> None:
    kept = read_as(PEOPLE, ["sex"], ["s"], ["age"])
    release = dc.publish(kept, dc.Generalization(dc.FrequencyDiversity(2)))
    plan = read_as(PEOPLE, ["age", "sex"], ["s"]).schema
    report = dc.audit(release, kept, schema=plan)
    assert report.max_belief == 1
    assert "age is other in the release and a quasi-identifier in the plan" in report.problems
    hidden = plan.changed(replace(plan["age"], role=dc.Role.IDENTIFIER))
    problems = dc.audit(release, kept, schema=hidden).problems
    assert "age is other in the release and an identifier in the plan" in problems
    dropped = plan.changed(replace(plan["age"], role=dc.Role.OTHER))
    problems = dc.audit(release, kept, schema=dropped).problems
    assert "age is other in the release and not published in the plan" in problems


def pay_table(n: int = 60) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {"age": rng.integers(20, 30, n), "note": rng.choice(list("abcdef"), n),
         "pay": rng.integers(1, 40, n) * 10}
    )  # fmt: skip


METHODS: list[Method] = [
    dc.Generalization(dc.DistinctDiversity(2)),
    dc.Generalization(dc.Proximity(5, 2)),
    dc.FullDomain(dc.DistinctDiversity(2)),
    dc.Slicing(dc.DistinctDiversity(2)),
    dc.Permutation(dc.KE(3, 20)),
    dc.RankSwapping(dc.KE(3, 20)),
    dc.Perturbation(dc.Proximity(5, 2), check="paper"),
]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: f"{m.title}-{m.principle.title}")
def test_every_form_is_matched_by_kept_columns_that_are_known(method: Method) -> None:
    frame = pay_table()
    release = dc.publish(read_as(frame, ["age"], ["pay"], ["note"]), method)
    before = dc.audit(release, read_as(frame, ["age"], ["pay"], ["note"]))
    after = dc.audit(release, read_as(frame, ["age", "note"], ["pay"]))
    assert before.kept, before.problems
    assert "note is other in the release and a quasi-identifier in the microdata" in after.problems
    assert after.identity.smallest <= before.identity.smallest
    assert (after.candidates <= before.candidates).all()
    # no finding is about the table itself, which is what it says
    assert after.findings == [
        "note is other in the release and a quasi-identifier in the microdata"
    ]
    told = dc.audit(release, read_as(frame, ["age"], ["pay", "note"]))
    assert "note is other in the release and sensitive in the microdata" in told.problems
    assert (told.beliefs["note"] == 1).all() == (method.form != "generalized")
    open_ = dc.audit(release, read_as(frame, ["age", "pay", "note"], []))
    assert open_.beliefs["pay"].min() == 1 and open_.max_belief == 1
    assert "pay is sensitive in the release and a quasi-identifier in the microdata" in (
        open_.problems
    )
    assert open_.identity.smallest == 1
    secret = dc.audit(release, read_as(frame, ["note"], ["pay", "age"]))
    assert secret.beliefs["age"].min() == 1
    assert {c.breaches for c in secret.checks if c.attribute == "age"} == {60}


def test_what_is_believed_of_a_kept_column_that_is_sensitive_is_what_its_box_holds() -> None:
    frame = PEOPLE.with_columns(note=pl.Series(list("aabc")))
    release = dc.publish(
        read_as(frame, ["age", "sex"], ["s"], ["note"]), dc.Generalization(dc.KAnonymity(2))
    )
    report = dc.audit(release, read_as(frame, ["age", "sex"], ["s", "note"]))
    assert sorted(report.beliefs["note"].tolist()) == [0.5, 0.5, 1, 1]


def test_a_role_changed_in_the_manifest_is_noticed(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [20, 30, 40, 50], "sex": list("MMFF"), "pay": [1, 5, 20, 30]})
    data = read_as(frame, ["age", "sex"], ["pay"])
    folder = dc.publish(data, dc.Permutation(dc.KE(2, 1))).write(tmp_path / "r", format="csv")
    assert dc.audit(folder, data).kept
    path = folder / "datapackage.json"
    manifest = json.loads(path.read_text(encoding="utf-8"))
    for place in [*manifest["discreet"]["attributes"],
                  *manifest["resources"][0]["schema"]["fields"]]:  # fmt: skip
        if place["name"] == "age":
            place["role"] = "other"
    path.write_text(json.dumps(manifest), encoding="utf-8")
    report = dc.audit(reseal(folder), data)
    assert "age is other in the release and a quasi-identifier in the microdata" in report.problems
    assert report.identity.smallest == 1


PLAN = """
[source]
file = "people.csv"
{columns}
[method]
name = "generalization"
[[method.principles]]
name = "k-anonymity"
k = 2
[release]
folder = "release"
"""


def write_plan(folder: Path, name: str, **roles: str) -> None:
    columns = "".join(f"[columns.{c}]\n{text}\n" for c, text in roles.items())
    (folder / name).write_text(PLAN.format(columns=columns), encoding="utf-8")


KNOWN, KEPT, TOLD = (
    'role = "quasi-identifier"\ntype = "integer"',
    'role = "other"\ntype = "integer"\nkeep = true',
    'role = "sensitive"\ntype = "category"',
)


@pytest.fixture
def office(tmp_path: Path) -> Path:
    PEOPLE.select("age", pl.Series("code", [1, 2, 3, 3]), "s").write_csv(tmp_path / "people.csv")
    write_plan(tmp_path, "kept.toml", age=KNOWN, code=KEPT, s=TOLD)
    done = discreet("publish", "kept.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    # nobody reads of a crowd without reading of what stands beside it
    crowd, warned = done.stdout.split("groups; ")[1].split("\n")[:2]
    assert crowd == "everyone looks like at least 1 others, by quasi-identifiers alone."
    assert warned == (
        "CAUTION: 2 of 4 people are unique on code, which is published as it is; "
        "with the quasi-identifiers as they are shown, 2."
    )
    return tmp_path


def test_an_audit_by_a_plan_takes_its_roles(office: Path) -> None:
    write_plan(office, "known.toml", age=KNOWN, code=KNOWN, s=TOLD)
    command = ("audit", "release", "--microdata", "people.csv", "--plan")
    same = discreet(*command, "kept.toml", cwd=office)
    assert same.returncode == 0, same.stdout
    done = discreet(*command, "known.toml", "--json", cwd=office)
    found = json.loads(done.stdout)
    assert done.returncode == 1 and found["identity"]["smallest_group"] == 1
    assert (
        found["problems"][-1] == "code is other in the release and a quasi-identifier in the plan"
    )
    write_plan(office, "dropped.toml", age=KNOWN, code=KEPT.replace("true", "false"), s=TOLD)
    done = discreet(*command, "dropped.toml", cwd=office)
    assert done.returncode == 1
    assert "code is other in the release and not published in the plan" in done.stdout


def test_kept_columns_are_counted_and_shown_everywhere(office: Path) -> None:
    done = discreet("audit", "release", "--microdata", "people.csv", "--json", "--report", "r.html",
                    "--evidence", "evidence", cwd=office)  # fmt: skip
    assert json.loads(done.stdout)["kept_columns"] == {
        "unique": {"code": 2}, "unique_with_quasi_identifiers": 2, "people": 4,
    }  # fmt: skip
    said = "2 of 4 people are unique on code, which is published as it is"
    for page in ("r.html", "evidence/evidence.html"):
        text = (office / page).read_text(encoding="utf-8")
        assert said in text
        assert 'class="amber"' in text
    evidence = json.loads((office / "evidence" / "evidence.json").read_text(encoding="utf-8"))
    assert evidence["kept_columns"]["unique"] == {"code": 2}
