"""Attacks by somebody who knows the method: held against plain enumeration, and by command."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from commands import discreet_here as discreet
from discreet.auditing.method_known import MinimalityAttack, ShadowAttack
from discreet.steward.method_known import attack_method
from discreet.steward.method_known.minimality import measure_minimality
from discreet.steward.method_known.shadows import attack_membership
from samples import microdata

DIVERSE = dc.Generalization(dc.FrequencyDiversity(2))


def enumerate_worlds(frame: pl.DataFrame, names: list[str]) -> list[tuple[str, ...]]:
    """All arrangements of the sensitive values of which the publisher makes the same table."""

    def show(values: tuple[str, ...]) -> list[tuple[str, ...]] | None:
        data = microdata(frame.with_columns(pl.Series("s", values)), names, ["s"])
        try:
            table = dc.publish(data, DIVERSE).tables["generalized"]
        except dc.DiscreetError:
            return None
        return sorted(tuple(map(str, row)) for row in table.rows())

    this = show(tuple(frame["s"]))
    return [world for world in sorted(set(permutations(frame["s"]))) if show(world) == this]


@pytest.mark.parametrize(
    "columns",
    [
        {"q0": list("abaabb"), "q1": [3, 1, 3, 2, 1, 2], "s": list("vxuwxu")},
        {"q0": [1, 2, 3, 4, 5], "s": list("aabcd")},
        {"q0": [1, 1, 2, 2, 9, 9], "s": list("abbaab")},
    ],
)
def test_minimality_is_what_all_worlds_say(columns: dict[str, list[object]]) -> None:
    frame = pl.DataFrame(columns)
    names = [name for name in frame.columns if name != "s"]
    data = microdata(frame, names, ["s"])
    found = measure_minimality(dc.publish(data, DIVERSE), data, DIVERSE)
    assert isinstance(found, MinimalityAttack)
    kept = enumerate_worlds(frame, names)
    beliefs = [Fraction(max(Counter(w[i] for w in kept).values()), len(kept))
               for i in range(frame.height)]  # fmt: skip
    assert found.kept == len(kept)
    assert found.worst == max(beliefs)
    assert found.tried == frame.height
    audited = dc.audit(dc.publish(data, DIVERSE), data)
    assert found.unaware == audited.worst
    raised = np.array(beliefs, dtype=float) > audited.beliefs["s"] + 1e-9
    assert found.raised == raised.sum()


def test_the_method_makes_one_person_certain() -> None:
    """The promise is a half, and kept; who knows Mondrian is certain of two people."""
    frame = pl.DataFrame({"q0": list("abaabb"), "q1": [3, 1, 3, 2, 1, 2], "s": list("vxuwxu")})
    data = microdata(frame, ["q0", "q1"], ["s"])
    found = measure_minimality(dc.publish(data, DIVERSE), data, DIVERSE)
    assert isinstance(found, MinimalityAttack)
    assert (found.worst, found.unaware, found.raised) == (1, Fraction(1, 2), 2)
    assert (found.kept, found.worlds) == (4, 24)


def test_larger_tables_are_tried_in_a_few_people_of_some_groups() -> None:
    data = dc.datasets.adult(sensitive="occupation").head(120)
    method = dc.Generalization(dc.KAnonymity(5))
    found = measure_minimality(dc.publish(data, method), data, method)
    assert isinstance(found, MinimalityAttack)
    assert found.worst == found.unaware  # it never looks at occupations
    assert found.raised == 0 and found.kept == found.worlds <= 200
    assert "everybody but a few people" in found.known


def test_what_cannot_be_measured_is_said() -> None:
    data = dc.datasets.adult(sensitive="occupation").head(100)
    drawn = dc.Anatomy(dc.FrequencyDiversity(2))
    found = attack_method(dc.publish(data, drawn), data, drawn)
    assert found.minimality == "the method draws at random"
    resisting = replace(DIVERSE, resist="method")
    said = measure_minimality(dc.publish(data, resisting), data, resisting)
    assert said == "the method draws which groups there are"
    release = dc.publish(data, DIVERSE)
    other = measure_minimality(release, data, dc.Generalization(dc.FrequencyDiversity(3)))
    assert other == "the plan's method does not make this release of this table"
    assert "fewer than" in str(attack_membership(data.head(30), DIVERSE))
    assert "not measured, as the method draws at random" in found.lines[1]
    hard = dc.Generalization(dc.KAnonymity(60))
    assert "no release can be made" in str(attack_membership(data, hard))


def test_members_are_told_by_shadow_releases() -> None:
    people = dc.datasets.adult(sensitive="occupation").head(400)
    exact = attack_membership(people, dc.Anatomy(dc.FrequencyDiversity(2)))
    assert isinstance(exact, ShadowAttack)
    assert exact.low > 0.85 and exact.people == 200 and exact.shadows == 8
    blurred = attack_membership(people, dc.Generalization(dc.KAnonymity(150)))
    assert isinstance(blurred, ShadowAttack)
    assert blurred.low <= blurred.auc <= blurred.high and blurred.auc < 0.6 < exact.auc


@pytest.fixture
def office(tmp_path: Path) -> Path:
    frame = dc.datasets.census_frame(160, seed=1).select("age", "sex", "region", "income")
    frame = frame.with_columns(pl.Series("ill", np.resize(list("abcde"), 160))).drop("income")
    frame[:80].write_csv(tmp_path / "people.csv")
    frame[80:].write_csv(tmp_path / "others.csv")
    types = {"age": "integer", "sex": "category", "region": "category", "ill": "category"}
    columns = "".join(
        f'[columns."{name}"]\nrole = "{"sensitive" if name == "ill" else "quasi-identifier"}"\n'
        f'type = "{kind}"\n'
        for name, kind in types.items()
    )
    (tmp_path / "plan.toml").write_text(
        f'[source]\nfile = "people.csv"\n{columns}[method]\nname = "generalization"\n'
        '[[method.principles]]\nname = "frequency-diversity"\nl = 2\n[release]\nfolder = "r"\n',
        encoding="utf-8",
    )
    schema = dc.Plan.read(tmp_path / "plan.toml").schema
    data = dc.read(tmp_path / "people.csv", schema)
    dc.publish(data, DIVERSE).write(tmp_path / "r", format="csv")
    return tmp_path


def test_a_reviewer_sees_all_of_it(office: Path) -> None:
    told = ["audit", "r", "--microdata", "people.csv", "--plan", "plan.toml", "--attacks",
            "--control", "others.csv", "--explain", "7"]  # fmt: skip
    done = discreet(*told, "--report", "a.html", "--evidence", "e", cwd=office)
    assert done.returncode == 0, done.stderr
    for words in ("Singling out (", "Linkability (", "Inference of ill (", ": risk ",
                  "Membership, learned on shadow releases", "Minimality: who knows the method",
                  "Row 7: "):  # fmt: skip
        assert words in done.stdout, words
    assert "no control group" not in done.stdout
    for page in ("a.html", "e/evidence.html"):
        text = (office / page).read_text(encoding="utf-8")
        assert "Singling out, linkability, inference" in text and "Who knows the method" in text
        assert "Row 7" not in text
    sealed = json.loads((office / "e" / "evidence.json").read_text(encoding="utf-8"))["audit"]
    assert [risk["name"] for risk in sealed["risks"]] == [
        "singling out", "linkability", "inference",
    ]  # fmt: skip
    assert sealed["method_known"]["membership"]["shadows"] == 8
    assert len(sealed["worst_explained"]) == 10


def test_what_a_reviewer_gets_wrong_writes_nothing(office: Path) -> None:
    told = ["audit", "r", "--microdata", "people.csv"]
    done = discreet(*told, "--control", "others.csv", "--report", "a.html", cwd=office)
    assert done.returncode == 2 and "--control is for attacks" in done.stderr
    done = discreet(*told, "--explain", "80", "--report", "a.html", cwd=office)
    assert done.returncode == 2 and "Row 80 is not one" in done.stderr
    assert not (office / "a.html").exists()
    done = discreet(*told, "--attacks", "--json", "--explain", "7", cwd=office)
    printed = json.loads(done.stdout)
    assert printed["explained"]["person"] == "Row 7"
    assert all(risk["control"] is None for risk in printed["risks"])
