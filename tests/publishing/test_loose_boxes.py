"""Loose boxes end at cuts, tile the public domain, and name nobody's own values."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.auditing.claims import find_false_claims
from discreet.errors import DiscreetError, MicrodataError, PlanError, SchemaError
from discreet.forms.verify import verify
from discreet.steward.plan import Plan

KNOWN = dc.Role.QUASI_IDENTIFIER
TREE = dc.Taxonomy.from_paths(
    [["be", "eu"], ["nl", "eu"], ["fr", "eu"], ["jp", "as"], ["cn", "as"], ["ug", "af"]]
)
SCHEMA = dc.Schema(
    (
        dc.Attribute("age", KNOWN, dc.Type.INTEGER, missing=dc.Missing.VALUE, low=18, high=29),
        dc.Attribute("level", KNOWN, dc.Type.ORDINAL, order=("low", "mid", "high", "top")),
        dc.Attribute("land", KNOWN, dc.Type.CATEGORY, taxonomy=TREE, values=TREE.leaves),
        dc.Attribute("flag", KNOWN, dc.Type.BOOLEAN),
        dc.Attribute("disease", dc.Role.SENSITIVE, dc.Type.CATEGORY),
    )
)
PLACES = list(
    product([*range(18, 30), None], ["low", "mid", "high", "top"], TREE.leaves, ["false", "true"])
)
"""Everything that anybody can be."""


def draw(seed: int, n: int = 60) -> pl.DataFrame:
    """People who are not at the ends of what can be, and lack some of its values."""
    rng = np.random.default_rng(seed)
    ages = pl.Series([*range(20, 27), None] if seed % 2 else range(20, 27))
    return pl.DataFrame(
        {
            "age": ages.gather(rng.integers(0, len(ages), n)),
            "level": rng.choice(["low", "mid", "high"], n),
            "land": rng.choice(["be", "be", "nl", "jp"], n),
            "flag": rng.choice([False, True], n),
            "disease": pl.Series(["flu", "gout", "ulcer"]).gather(np.arange(n) % 3),
        }
    )


def covers(release: dc.Release, box: dict[str, Any], place: dict[str, Any]) -> bool:
    """Whether a box holds a place, by its published cells alone; ordinals as ranks."""
    for name, value in place.items():
        labels = release.recodings[name].labels
        if labels:
            if ("(missing)" if value is None else str(value)) not in labels[box[name]]:
                return False
        elif value is None:
            if not box[f"{name}_missing"]:
                return False
        elif box[f"{name}_low"] is None or not box[f"{name}_low"] <= value <= box[f"{name}_high"]:
            return False
    return True


def count_covering(release: dc.Release) -> set[int]:
    """How many boxes each place of the public domain lies in."""
    table = release.tables["generalized"]
    shown = [
        c for n in release.schema.quasi_identifiers for c in release.recodings[n].columns(n)
    ]  # fmt: skip
    boxes = table.select(shown).unique().to_dicts()
    rank = {level: i for i, level in enumerate(SCHEMA["level"].order)}
    for box in boxes:
        box["level_low"], box["level_high"] = rank[box["level_low"]], rank[box["level_high"]]
    names = ["age", "level", "land", "flag"]
    people = [dict(zip(names, place, strict=True)) for place in PLACES]
    return {
        sum(covers(release, box, {**p, "level": rank[p["level"]]}) for box in boxes) for p in people
    }


METHODS: dict[str, Any] = {
    "set": dc.Generalization(dc.KAnonymity(3), ends="cuts"),
    "ancestor": dc.Generalization(dc.KAnonymity(3), categories="ancestor", ends="cuts"),
    "angelization": dc.Angelization(dc.FrequencyDiversity(2), k=3, ends="cuts"),
    "full-domain": dc.FullDomain(dc.KAnonymity(3), ends="cuts"),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("case", list(METHODS))
def test_loose_boxes_are_disjoint_and_hold_their_people(case: str, seed: int) -> None:
    data = dc.read(draw(seed), SCHEMA)
    release = dc.publish(data, METHODS[case])
    verify(release)
    report = dc.audit(release, data)
    assert report.kept, report.problems
    assert release.recodings["age"].domain == ["18", "29"]
    assert set(release.recodings["land"].domain) == set(TREE.leaves)
    assert release.recodings["level"].domain == ["low", "top"]
    # that nobody's age is missing shows no more than that somebody's is
    assert release.recodings["age"].missing
    assert not any("no public domain" in text for text in release.promise.leaves_open)
    times = count_covering(release)
    # cuts tile everything; nodes of a taxonomy leave out values below which nobody was cut off
    assert times == {1} if case in ("set", "angelization") else times <= {0, 1}


def test_cuts_lie_anywhere_between_people() -> None:
    """Two groups, of 10 to 12 and of 40 to 42: the cut says nothing about either."""
    frame = pl.DataFrame({"age": [10, 11, 12, 40, 41, 42]})
    schema = dc.Schema((dc.Attribute("age", KNOWN, dc.Type.INTEGER, low=0, high=99),))
    data = dc.read(frame, schema)
    method = dc.Generalization(dc.KAnonymity(3), ends="cuts")
    cuts = set()
    for _ in range(40):
        table = dc.publish(data, method).tables["generalized"]
        rows = table.select("age_low", "age_high").unique().sort("age_low").rows()
        (low, cut), (after, high) = rows
        assert (low, high, after) == (0, 99, cut + 1)
        cuts.add(cut)
    assert cuts <= set(range(12, 40)) and len(cuts) > 5


def test_dealt_groups_show_the_region_they_were_dealt_in() -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"age": rng.integers(20, 60, 80), "pay": rng.permutation(80) * 10})
    schema = dc.Schema(
        (
            dc.Attribute("age", KNOWN, dc.Type.INTEGER, low=0, high=99),
            dc.Attribute("pay", dc.Role.SENSITIVE, dc.Type.INTEGER),
        )
    )
    data = dc.read(frame, schema)
    release = dc.publish(data, dc.Generalization(dc.Proximity(40, 2), ends="cuts"))
    verify(release)
    assert dc.audit(release, data).kept
    assert release.tables["generalized"]["age_low"].min() == 0


def test_numbers_below_a_taxonomy_stand_for_all_that_can_be() -> None:
    frame = pl.DataFrame({"age": [20, 21, 23, 31, 33, 38], "born": ["2000-01-05"] * 6})
    schema = dc.Schema(
        (
            dc.Attribute(
                "age", KNOWN, dc.Type.INTEGER, taxonomy=dc.Intervals((10,)), low=20, high=49
            ),
            dc.Attribute(
                "born", KNOWN, dc.Type.DATE, low=dt.date(2000, 1, 1), high="2000-12-31",
                taxonomy=dc.Dates(("month",)),
            ),
        )
    )  # fmt: skip
    release = dc.publish(dc.read(frame, schema), dc.FullDomain(dc.KAnonymity(3), ends="cuts"))
    assert release.recodings["age"].labels["[20, 30)"] == [str(age) for age in range(20, 30)]
    assert len(release.recodings["born"].domain) == 366
    huge = schema.changed(replace(schema["age"], high=10**9))
    with pytest.raises(SchemaError, match="too many to list below its taxonomy"):
        dc.publish(dc.read(frame, huge), dc.FullDomain(dc.KAnonymity(3), ends="cuts"))


def test_what_has_no_public_domain_is_said() -> None:
    frame = draw(0)
    plain = SCHEMA.changed(replace(SCHEMA["age"], low=None, high=None))
    for method in METHODS.values():
        release = dc.publish(dc.read(frame, plain), method)
        (said,) = [text for text in release.promise.leaves_open if "public domain" in text]
        assert "values of age are" in said
        assert release.recodings["age"].domain == ["20", "26"]
        assert [release.recodings[n].public for n in ("age", "land")] == [False, True]


def test_a_public_domain_that_is_not_one_is_found() -> None:
    data = dc.read(draw(0), SCHEMA)
    tight, loose = (
        dc.publish(data, dc.Generalization(dc.KAnonymity(3), ends=ends))
        for ends in ("tight", "cuts")  # type: ignore[arg-type]
    )
    age, land = loose.recodings["age"], loose.recodings["land"]
    forged = [
        (tight, {"age": replace(tight.recodings["age"], public=True)}, "is called public"),
        (loose, {"age": replace(age, domain=["21", "29"])}, "goes from 20 to 26"),
        (loose, {"age": replace(age, public=False)}, "goes from 20 to 26"),
        (loose, {"land": replace(land, domain=[*land.domain[1:]])}, "values of land"),
    ]
    for release, changed, said in forged:
        false = replace(release, recodings={**release.recodings, **changed})
        findings, _ = find_false_claims(false, data, np.ones(data.n, dtype=bool))
        assert any(said in finding for finding in findings), findings
    assert find_false_claims(loose, data, np.ones(data.n, dtype=bool)) == ([], [])
    # without a public domain, too, it is not told whether anybody's value is missing
    plain = SCHEMA.changed(
        replace(SCHEMA["age"], low=None, high=None),
        replace(SCHEMA["land"], values=(), missing=dc.Missing.VALUE),
    )
    own = dc.read(draw(0), plain)
    for method in METHODS.values():
        everybody = np.ones(own.n, dtype=bool)
        assert find_false_claims(dc.publish(own, method), own, everybody) == ([], [])


def test_the_default_is_tight_and_says_so() -> None:
    data = dc.read(draw(0), SCHEMA)
    for method in (dc.Generalization(dc.KAnonymity(3)), dc.FullDomain(dc.KAnonymity(3))):
        release = dc.publish(data, method)
        assert release.parameters["ends"] == "tight"
        assert release.recodings["age"].domain == ["20", "26"]
        assert any("are somebody's" in text for text in release.promise.leaves_open)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"type": dc.Type.INTEGER, "low": 1}, "two ends"),
        ({"type": dc.Type.CATEGORY, "low": 1, "high": 2}, "two ends"),
        ({"type": dc.Type.INTEGER, "values": ("1", "2")}, "what a category can be"),
    ],
)
def test_public_domains_that_are_none_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        dc.Attribute("a", KNOWN, **settings)


def test_public_domains_must_hold_the_table() -> None:
    method = dc.Generalization(dc.KAnonymity(3), ends="cuts")
    for name, other, said in (
        ("age", {"high": 22}, "not in its public domain"),
        ("age", {"low": 30}, "not the ends"),
        ("age", {"low": "young"}, "not the ends"),
        ("land", {"values": ("be", "fr")}, "not in its public domain"),
        ("land", {"values": ("be", "nl", "jp", "mars")}, "not a leaf"),
    ):
        schema = SCHEMA.changed(replace(SCHEMA[name], **other))
        with pytest.raises((SchemaError, MicrodataError), match=said):
            dc.publish(dc.read(draw(0), schema), method)


def test_exact_quasi_identifiers_have_no_ends() -> None:
    with pytest.raises(SchemaError, match="have no boxes"):
        dc.Angelization(dc.FrequencyDiversity(2), k=1, exact=True, ends="cuts")
    with pytest.raises(DiscreetError, match="ends"):
        dc.Generalization(dc.KAnonymity(2), ends="loose")  # type: ignore[arg-type]


PLAN = """
[source]
file = "people.csv"
[columns.age]
role = "quasi-identifier"
type = "integer"
low = 0
high = 120
[columns.born]
role = "quasi-identifier"
type = "date"
low = 1900-01-01
high = 2020-12-31
[columns.land]
role = "quasi-identifier"
values = "taxonomy"
{taxonomy}
[method]
name = "generalization"
ends = "cuts"
principles = [{{ name = "k-anonymity", k = 2 }}]
"""


def test_plans_give_public_domains(tmp_path: Path) -> None:
    (tmp_path / "land.csv").write_text("be;eu\nnl;eu\njp;as\n", encoding="utf-8")
    (tmp_path / "people.csv").write_text(
        "age,born,land\n20,1990-02-03,be\n30,1991-02-03,be\n40,1980-02-03,jp\n41,1979-02-03,jp\n",
        encoding="utf-8",
    )
    path = tmp_path / "plan.toml"
    path.write_text(PLAN.format(taxonomy='taxonomy = { file = "land.csv" }'), encoding="utf-8")
    plan = Plan.read(path)
    release = dc.publish(dc.read(plan.source, plan.schema), plan.method)
    assert release.recodings["land"].domain == ["be", "nl", "jp"]
    assert release.recodings["born"].domain == ["1900-01-01", "2020-12-31"]
    assert dc.load(release.write(tmp_path / "r")).recodings["land"].public
    path.write_text(PLAN.format(taxonomy=""), encoding="utf-8")
    with pytest.raises(PlanError, match="no file of a taxonomy"):
        Plan.read(path)
