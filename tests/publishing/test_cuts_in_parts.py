"""Cuts beyond memory: the same release, byte for byte, and the same audit, earlier ones too."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from commands import discreet_here as discreet
from discreet.auditing import AuditReport, open_earlier
from discreet.auditing.in_parts import AskedOfParts
from discreet.publishing.method import Method
from discreet.publishing.methods import cuts_in_parts
from discreet.release.store import fingerprint
from discreet.steward.beyond_memory import publish_on_disk
from discreet.steward.plan import Plan
from discreet.table.facts import survey
from discreet.table.parquet_files import ParquetFiles
from discreet.table.schema import Missing
from in_parts import (
    audit_parts,
    odd_table,
    publish_from_disk,
    require_alike,
    require_same_audit,
    spread,
)

ADULT = dc.datasets.adult(sensitive="occupation").head(3000)


def draw_people(n: int) -> pl.DataFrame:
    """People of few kinds, about whom two tables are released one after the other."""
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "job": [f"j{i}" for i in rng.integers(0, 4, n)],
            "age": rng.integers(20, 28, n),
            "sex": rng.choice(list("FM"), n),
            "race": [f"r{i}" for i in rng.zipf(2.0, n) % 4],
            "kind": [f"c{i}" for i in rng.integers(0, 3, n)],
            "disease": [f"d{i}" for i in rng.integers(0, 6, n)],
        }
    )


PEOPLE = draw_people(1500)
BEFORE, AFTER = PEOPLE.select("job", "age", "disease"), PEOPLE.drop("disease")
OLD = dc.publish(
    dc.read(
        BEFORE, dc.Schema.infer(BEFORE, quasi_identifiers=["job", "age"], sensitive=["disease"])
    ),
    dc.Generalization(dc.KAnonymity(30) & dc.FrequencyDiversity(3)),
)
SCHEMA = dc.Schema.infer(AFTER, quasi_identifiers=["job", "age", "sex", "race"], sensitive=["kind"])


def require_same(data: dc.Microdata, method: Method, folder: Path, capacity: int) -> None:
    """Publish in memory and from disk, and compare every byte; audit both."""
    schema, frame = data.schema.published, data.to_own_values()
    dc.publish(dc.read(frame, schema), method).write(folder / "memory")
    source = spread(frame, folder / "source")
    found = publish_from_disk(source, schema, method, folder / "disk", capacity, 1000)
    assert fingerprint(folder / "disk") == fingerprint(folder / "memory")
    whole = dc.audit(folder / "memory", data, earlier=method.earlier)
    require_same_audit(found, whole)
    assert [c.to_dict() for c in found.composed] == [c.to_dict() for c in whole.composed]
    assert set(whole.notes) <= set(found.notes)


PROMISES = {
    "people": (dc.XYAnonymity(["job", "age", "sex"], "people", k=10), None),
    "rows of the join": (dc.XYAnonymity(["job", "age", "sex"], "pairs", k=400), "kind"),
    "what only earlier ones show": (dc.XYAnonymity(["job", "sex", "race"], ["disease"], k=5), None),
    "what both show": (dc.XYAnonymity(["sex", "race"], ["kind", "disease"], k=12), "kind"),
    "a share": (dc.XYLinkability(["job", "age", "sex", "race"], ["kind"], "1/2"), None),
    "a share elsewhere": (dc.XYLinkability(["job", "sex"], ["disease"], 0.4), "kind"),
    "two": (dc.XYAnonymity(["job", "race"], "people", k=9) & dc.KAnonymity(4), None),
    "nothing of joins": (dc.KAnonymity(3), None),
}


@pytest.mark.parametrize("named", PROMISES)
def test_sequential_releases_are_the_same_from_disk(tmp_path: Path, named: str) -> None:
    promise, target = PROMISES[named]
    method = dc.Sequential(promise, earlier=[OLD], target=target)
    require_same(dc.read(AFTER, SCHEMA), method, tmp_path, 800)


@pytest.mark.parametrize("gain", ["distortion", "discernibility"])
def test_numbers_and_what_is_missing_are_cut_alike(
    tmp_path: Path, gain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cuts_in_parts, "MOST_NODES", 1)
    odd = odd_table()
    names = ["age", "half", "illness", "leaf"]
    schema = odd.schema.only(names)
    data = dc.read(odd.to_polars().select(names), schema)
    method = dc.Sequential(dc.KAnonymity(25), gain=gain)  # type: ignore[arg-type]
    require_same(data, method, tmp_path, 1900)


def test_what_stays_exact_may_have_more_kinds_than_can_be_held(tmp_path: Path) -> None:
    people = AFTER.with_columns(born=pl.Series(np.random.default_rng(4).integers(0, 150, 1500)))
    known = ["born", "sex", "race"]
    schema = dc.Schema.infer(people, quasi_identifiers=known, sensitive=["kind"])
    schema = schema.only([*known, "kind"])
    promise = dc.XYAnonymity(["sex", "race"], "people", k=20)
    method = dc.Sequential(promise, earlier=[OLD])
    require_same(dc.read(people, schema), method, tmp_path, 60)
    source = tmp_path / "source"
    with pytest.raises(dc.errors.SchemaError, match="examined beside earlier releases: 100 can"):
        publish_from_disk(source, schema, method, tmp_path / "d", 60, 100)


@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_any_small_table_gives_the_same_sequential_release(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    frame, schema = draw_table(data)
    method = dc.Sequential(dc.KAnonymity(data.draw(st.integers(1, 5))))
    folder = tmp_path_factory.mktemp("same")
    require_alike(frame, schema, method, folder, frame.height, require_same)


def draw_table(data: st.DataObject) -> tuple[pl.DataFrame, dc.Schema]:
    n = data.draw(st.integers(2, 60))
    cell = st.one_of(st.none(), st.integers(-3, 9))
    frame = pl.DataFrame(
        {
            "a": pl.Series(data.draw(st.lists(cell, min_size=n, max_size=n)), dtype=pl.Int64),
            "b": data.draw(st.lists(st.sampled_from("uvwxyz"), min_size=n, max_size=n)),
            "s": data.draw(st.lists(st.sampled_from("pqr"), min_size=n, max_size=n)),
        }
    )
    policy = data.draw(st.sampled_from([Missing.VALUE, Missing.DROP]))
    schema = dc.Schema.infer(frame, quasi_identifiers=["a", "b"], sensitive=["s"])
    return frame, schema.changed(*(replace(a, missing=policy) for a in schema))


def test_more_kinds_than_can_be_held_are_refused_with_their_number(tmp_path: Path) -> None:
    source = spread(ADULT.to_polars(), tmp_path / "source")
    method = dc.Sequential(dc.KAnonymity(5))
    with pytest.raises(dc.errors.SchemaError, match=r"About [\d,]+ different combinations of age"):
        publish_from_disk(source, ADULT.schema.published, method, tmp_path / "d", 300)
    assert not (tmp_path / "d").exists()


def test_a_release_that_breaks_a_promise_of_joins_is_found_out_in_parts(tmp_path: Path) -> None:
    promise = dc.XYAnonymity(["job", "age", "sex"], "people", k=10)
    made = dc.publish(dc.read(AFTER, SCHEMA), dc.Sequential(promise, earlier=[OLD]))
    harder = replace(promise, k=60)
    made.write(tmp_path / "release")
    source = spread(AFTER, tmp_path / "source")
    files = ParquetFiles(source)
    facts = survey(files, SCHEMA)
    (tmp_path / "work").mkdir()
    asked = AskedOfParts(principle=harder, earlier=[("earlier release 1", OLD)])
    found = audit_parts(tmp_path / "release", files, facts, tmp_path / "work", asked, 700)
    whole = dc.audit(tmp_path / "release", dc.read(AFTER, SCHEMA), principle=harder, earlier=[OLD])
    assert whole.breaches > 0
    require_same_audit(found, whole)
    with pytest.raises(dc.errors.SchemaError, match="earlier releases are needed"):
        audit_parts(tmp_path / "release", files, facts, tmp_path / "work")


def test_what_releases_tell_together_is_found_in_parts(tmp_path: Path) -> None:
    data = dc.read(AFTER, SCHEMA)
    dc.publish(data, dc.Sequential(dc.KAnonymity(3))).write(tmp_path / "release")
    files = ParquetFiles(spread(AFTER, tmp_path / "source"))
    (tmp_path / "work").mkdir()
    some = AFTER.select("age", "race", "kind")
    schema = dc.Schema.infer(some, quasi_identifiers=["age", "race"], sensitive=["kind"])
    promise = dc.KAnonymity(3) & dc.FrequencyDiversity("3/2")
    telling = dc.publish(dc.read(some, schema), dc.Generalization(promise))
    same = dc.load(tmp_path / "release")  # of which nothing is learned
    for earlier in ([same], [telling], [OLD, same, telling]):
        asked = AskedOfParts(earlier=open_earlier(earlier))
        found = audit_parts(
            tmp_path / "release", files, survey(files, SCHEMA), tmp_path / "work", asked, 900
        )
        whole = dc.audit(tmp_path / "release", data, earlier=earlier)
        assert (telling in earlier) == bool(whole.composed)
        assert [c.to_dict() for c in found.composed] == [c.to_dict() for c in whole.composed]
        require_same_audit(found, whole)


def test_people_who_are_not_those_of_earlier_releases_are_found_out_in_parts(
    tmp_path: Path,
) -> None:
    promise = dc.XYAnonymity(["job", "sex"], "people", k=5)
    made = dc.publish(dc.read(AFTER, SCHEMA), dc.Sequential(promise, earlier=[OLD]))
    made.write(tmp_path / "release")
    files = ParquetFiles(spread(AFTER, tmp_path / "source"))
    some = BEFORE.filter(pl.col("job") != "j1")
    other = dc.publish(dc.read(some, OLD.schema), dc.Generalization(dc.KAnonymity(5)))
    (tmp_path / "work").mkdir()
    asked = AskedOfParts(earlier=[("earlier release 1", other)])
    found = audit_parts(
        tmp_path / "release", files, survey(files, SCHEMA), tmp_path / "work", asked, 900
    )
    whole = dc.audit(tmp_path / "release", dc.read(AFTER, SCHEMA), earlier=[other])
    assert any("not releases of the same people" in finding for finding in whole.findings)
    require_same_audit(found, whole)


def test_a_plan_is_held_against_its_earlier_releases_from_disk(tmp_path: Path) -> None:
    OLD.write(tmp_path / "old")
    spread(AFTER, tmp_path / "source")
    (tmp_path / "t.plan.toml").write_text(
        """
[source]
file = "source"
[columns.job]
role = "quasi-identifier"
[columns.age]
role = "quasi-identifier"
type = "integer"
[columns.sex]
role = "quasi-identifier"
[columns.kind]
role = "sensitive"
[method]
name = "sequential"
earlier = ["old"]
[[method.principles]]
name = "xy-anonymity"
x = ["job", "age", "sex"]
y = "people"
k = 8
"""
    )
    plan = Plan.read(tmp_path / "t.plan.toml")
    found: list[AuditReport] = []
    publish_on_disk(
        plan, 20_000, overwrite=False, progress=lambda *told: None,
        examine=lambda report, intake: found.append(report),
    )  # fmt: skip
    data = dc.read(plan.source, plan.schema)
    dc.publish(data, plan.method).write(tmp_path / "memory")
    assert fingerprint(plan.folder) == fingerprint(tmp_path / "memory")
    whole = dc.audit(plan.folder, data, earlier=plan.method.earlier)
    require_same_audit(found[0], whole)
    asked = ["audit", "release", "--microdata", "source", "--memory", "20KB", "--json"]
    again = discreet(*asked, "--earlier", "old", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    told = json.loads(again.stdout)
    assert (told["checks"], told["breaches"]) == (whole.to_dict()["checks"], whole.breaches)
    refused = discreet(*asked, cwd=tmp_path)
    assert refused.returncode == 2 and "--earlier" in refused.stderr
    assert [check.principle for check in found[0].checks] == [plan.method.principle]


ODD = ["age", "half", "size", "illness", "leaf"]
FULL = {
    "few people": dc.KAnonymity(6),
    "values": dc.KAnonymity(3) & dc.DistinctDiversity(3),
    "shares": dc.EntropyDiversity(2) & dc.TCloseness("2/5"),
}


@pytest.mark.parametrize(
    ("table", "named", "capacity"),
    [
        ("adult", "few people", 5000),
        ("adult", "few people", 400),
        ("adult", "shares", 700),
        ("odd", "values", 300),
        ("people", "values", 60),
        ("people", "shares", 1200),
    ],
)
def test_levels_are_the_same_from_disk(
    tmp_path: Path, table: str, named: str, capacity: int
) -> None:
    odd = odd_table()
    data = {
        "adult": ADULT,
        "odd": dc.read(odd.to_polars().select(ODD), odd.schema.only(ODD)),
        "people": dc.read(AFTER, SCHEMA),
    }[table]
    require_same(data, dc.FullDomain(FULL[named]), tmp_path, capacity)


@pytest.mark.parametrize("more", [{"suppress": 0.1}, {"ends": "cuts"}])
def test_levels_with_all_rows_at_hand_are_refused_before_any_work(
    tmp_path: Path, more: dict[str, Any]
) -> None:
    source = spread(AFTER, tmp_path / "source")
    method = dc.FullDomain(dc.KAnonymity(2), **more)
    with pytest.raises(dc.errors.SchemaError, match="is not made of tables beyond memory"):
        publish_from_disk(source, SCHEMA, method, tmp_path / "d", 100)
    assert not list((tmp_path / "d-work").iterdir())


def test_more_combinations_than_one_number_tells_apart_are_refused(tmp_path: Path) -> None:
    frame = pl.DataFrame({f"c{i}": [(j * (i + 3)) % 7 for j in range(60)] for i in range(30)})
    schema = dc.Schema.infer(frame, quasi_identifiers=frame.columns, sensitive=[])
    source = spread(frame, tmp_path / "source")
    for number, method in enumerate((dc.FullDomain, dc.Sequential)):
        with pytest.raises(dc.errors.SchemaError, match="than can be told apart"):
            publish_from_disk(source, schema, method(dc.KAnonymity(2)), tmp_path / f"d{number}", 50)


@settings(max_examples=5, deadline=None)
@given(data=st.data())
def test_any_small_table_gives_the_same_levels(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    frame, schema = draw_table(data)
    promise = dc.KAnonymity(data.draw(st.integers(1, 5))) & dc.DistinctDiversity(
        data.draw(st.integers(1, 2))
    )
    folder = tmp_path_factory.mktemp("same")
    capacity = data.draw(st.integers(1, 20))
    require_alike(frame, schema, dc.FullDomain(promise), folder, capacity, require_same)
