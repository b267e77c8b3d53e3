"""Audit, loss and report: figures that can be checked by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.auditing.identity import PRESETS
from discreet.evaluate import measure_loss
from samples import angel_table_1a, microdata


@pytest.fixture
def report() -> dc.AuditReport:
    data = angel_table_1a()
    release = dc.publish(data, dc.Generalization(dc.FrequencyDiversity(2)))
    return dc.audit(release, data, population=80, presets=["cell-11", "risk-0.09"])


def test_loss_of_table_1b_by_hand(report: dc.AuditReport) -> None:
    """[21, 40] covers 4 of 8 ages, * covers both sexes."""
    assert report.loss.per_attribute == {"age": pytest.approx(3 / 7), "sex": 1.0}
    assert report.loss.ncp == pytest.approx((3 / 7 + 1) / 2)
    assert report.loss.discernibility == 32
    assert report.loss.average_class_size == 4


def test_identity_risk_by_hand(report: dc.AuditReport) -> None:
    assert report.identity.prosecutor == Fraction(1, 4)
    assert report.identity.marketer == Fraction(1, 4)
    # f = 4 and p = 8/80: p (1/3 - p/q (1/2 - p/q (1 - p/q log 1/p))) / q, more than p/f
    assert report.population[0].largest == pytest.approx(0.0318850, abs=1e-6)
    assert report.presets == {"cell-11": False, "risk-0.09": False}


def test_one_eleventh_is_above_nine_hundredths() -> None:
    assert [PRESETS["cell-11"].admits(k) for k in (10, 11, 12)] == [False, True, True]
    assert [PRESETS["risk-0.09"].admits(k) for k in (10, 11, 12)] == [False, False, True]


def test_per_person_gives_everyones_row_candidates_and_beliefs(report: dc.AuditReport) -> None:
    frame = report.per_person
    assert frame.columns == [
        "row", "candidates", "belief: disease", "belief in truth: disease", "breach",
    ]  # fmt: skip
    assert frame["belief in truth: disease"].to_list() == [0.5] * 8
    assert not frame["breach"].any()


def test_rows_are_numbered_as_in_the_source_also_after_dropping() -> None:
    frame = pl.DataFrame({"a": [1, None, 1, 2, 2], "s": ["x", "y", "x", "x", "y"]})
    schema = dc.Schema.infer(frame, quasi_identifiers=["a"], sensitive=["s"])
    from dataclasses import replace

    schema = schema.changed(replace(schema["a"], missing=dc.Missing.DROP))
    data = dc.read(frame, schema)
    report = dc.audit(dc.publish(data, dc.Generalization(dc.KAnonymity(2))), data)
    assert report.per_person["row"].to_list() == [0, 2, 3, 4]


def test_the_wrong_microdata_is_noticed() -> None:
    data = angel_table_1a()
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(2)))
    older = data.to_polars().with_columns(pl.col("age") + 2)
    report = dc.audit(release, microdata(older, ["age", "sex"], ["disease"]))
    assert report.uncovered > 0 and not report.kept
    assert "is this the table" in " ".join(report.problems)
    fewer = dc.audit(release, data.head(6))
    assert any("8 records for 6 people" in problem for problem in fewer.problems)
    far = data.to_polars().with_columns(pl.col("age") + 500)
    with pytest.raises(dc.DiscreetError, match="covers anybody"):
        dc.audit(release, microdata(far, ["age", "sex"], ["disease"]))
    with pytest.raises(dc.DiscreetError, match="does not have"):
        dc.audit(release, microdata(data.to_polars().drop("sex"), ["age"], ["disease"]))


def test_a_stricter_promise_can_be_asked_for() -> None:
    data = angel_table_1a()
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(2)))
    assert dc.audit(release, data).kept
    stricter = dc.audit(release, data, principle=dc.KAnonymity(5))
    assert stricter.breaches == 8
    with pytest.raises(dc.DiscreetError, match="no preset"):
        dc.audit(release, data, presets=["cell-12"])


def test_several_sensitive_attributes_are_each_checked() -> None:
    frame = pl.DataFrame({"a": [1, 1, 2, 2], "s": ["x", "y", "x", "y"], "t": ["u", "u", "v", "u"]})
    data = microdata(frame, ["a"], ["s", "t"])
    with pytest.raises(dc.errors.PromiseError, match="t's most frequent value covers 75"):
        dc.publish(data, dc.Generalization(dc.FrequencyDiversity(2)))
    release = dc.publish(data, dc.Generalization(dc.FrequencyDiversity(2, on="s")))
    report = dc.audit(release, data, principle=dc.FrequencyDiversity(2))
    assert {c.attribute: c.breaches for c in report.checks} == {"s": 0, "t": 2}


def test_without_a_sensitive_attribute_only_sizes_can_be_promised() -> None:
    data = microdata(pl.DataFrame({"a": [1, 1, 2, 2]}), ["a"], [])
    report = dc.audit(dc.publish(data, dc.Generalization(dc.KAnonymity(2))), data)
    assert report.kept and report.max_belief is None
    with pytest.raises(dc.DiscreetError, match="no column is sensitive"):
        dc.publish(data, dc.Generalization(dc.DistinctDiversity(2)))


def test_a_principle_that_is_not_monotone_is_refused_with_the_reason() -> None:
    from discreet.publishing.partitioners.mondrian import mondrian

    data = microdata(pl.DataFrame({"a": [1, 2, 3], "pay": [1, 50, 99]}), ["a"], ["pay"])
    with pytest.raises(dc.errors.PromiseError, match="m ≤ 3"):
        dc.publish(data, dc.Generalization(dc.Proximity(5, 4)))
    with pytest.raises(dc.errors.PromiseError, match="it is not monotone"):
        mondrian(data, dc.Proximity(5, 2))


def test_a_numeric_principle_on_text_is_refused() -> None:
    with pytest.raises(dc.DiscreetError, match="'disease' is a category"):
        dc.publish(angel_table_1a(), dc.Generalization(dc.KE(2, 5)))
    with pytest.raises(dc.DiscreetError, match="which is not sensitive"):
        dc.publish(angel_table_1a(), dc.Generalization(dc.KE(2, 5, on="age")))


def test_the_findings_are_json(report: dc.AuditReport) -> None:
    found = json.loads(json.dumps(report.to_dict()))
    assert found["max_belief"] == 0.5
    assert found["kept"] is False
    assert found["problems"] == ["the rule cell-11 is not kept", "the rule risk-0.09 is not kept"]


def test_the_page_is_self_contained_and_escapes_names(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a<b>": [1, 1, 2, 2], "s": ["x", "y", "x", "<script>"]})
    data = microdata(frame, ["a<b>"], ["s"])
    page = (
        dc.audit(dc.publish(data, dc.Generalization(dc.KAnonymity(2))), data)
        .to_html(tmp_path / "sub" / "r.html")
        .read_text()
    )
    assert "a&lt;b&gt;" in page and "<script" not in page
    for marker in ("http://", "https://", "src=", "@import", "url("):
        assert marker not in page


def test_loss_is_the_same_from_disk(tmp_path: Path) -> None:
    data = angel_table_1a()
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(2)))
    folder = release.write(tmp_path / "r", format="csv")
    assert measure_loss(dc.load(folder), data) == measure_loss(release, data)


def test_values_that_are_not_the_peoples_are_noticed() -> None:
    data = angel_table_1a()
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(4)))
    swapped = data.to_polars().with_columns(disease=pl.lit("flu"))
    report = dc.audit(release, microdata(swapped, ["age", "sex"], ["disease"]))
    assert report.findings == [
        "the published values of disease are not those of the people covered: 8 find no record"
    ]


def test_what_the_manifest_does_not_declare_is_noticed(tmp_path: Path) -> None:
    from dataclasses import replace

    data = angel_table_1a()
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(4)))
    folder = release.write(tmp_path / "r")
    (folder / "names.csv").write_text("Alan")
    assert dc.audit(folder, data).findings == [
        "the folder holds names.csv, which the manifest does not list"
    ]
    table = release.tables["generalized"]
    extra = replace(release, tables={"generalized": table.with_columns(ssn=pl.lit("1"))})
    with pytest.raises(dc.DiscreetError, match="undeclared column 'ssn'"):
        extra.write(tmp_path / "s")
    more = replace(release, tables={"generalized": table, "raw": table})
    with pytest.raises(dc.DiscreetError, match="has the tables"):
        more.write(tmp_path / "s")
    finer = replace(
        release, tables={"generalized": table.with_columns(age=pl.Series(map(str, range(8))))}
    )
    with pytest.raises(dc.DiscreetError, match="differs from its class"):
        finer.write(tmp_path / "s")


def test_microdata_of_other_types_is_refused() -> None:
    data = angel_table_1a()
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(4)))
    texts = data.to_polars().with_columns(pl.format("{}a", "age").alias("age"))
    with pytest.raises(dc.DiscreetError, match="category here and integer in the release"):
        dc.audit(release, microdata(texts, ["age", "sex"], ["disease"]))


@pytest.mark.parametrize("method", [dc.RankSwapping(dc.KE(3, 100)), dc.Permutation(dc.KE(3, 100))])
def test_kept_columns_that_moved_to_other_people_are_noticed(method: dc.Permutation) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"age": rng.integers(20, 60, 300), "note": rng.choice(list("abcdefghi"), 300),
         "pay": rng.integers(1, 400, 300) * 10}
    )  # fmt: skip
    schema = dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["pay"], keep=["note"])
    data = dc.read(frame, schema)
    release = dc.publish(data, method, insecure_seed=1)
    assert dc.audit(release, data).findings == []
    name, table = next(iter(release.tables.items()))
    moved = table.with_columns(pl.col("note").shuffle(seed=1))
    report = dc.audit(replace(release, tables={**release.tables, name: moved}), data)
    assert "columns, taken together, are not those of the people" in report.findings[0]


def test_records_that_refer_to_groups_without_their_peoples_values_are_noticed() -> None:
    """Ages repeat, so a person may be in several batches; none of them has the value."""
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({"age": rng.integers(0, 9, 24), "ill": rng.choice(list("abcdefgh"), 24)})
    data = microdata(frame, ["age"], ["ill"])
    release = dc.publish(data, dc.Anatomy(dc.FrequencyDiversity(3)), insecure_seed=1)
    assert dc.audit(release, data).findings == []
    table, held = release.tables["generalized"], release.tables["batches"]
    impossible = noticed = 0
    for i in range(24):
        for j in range(i):
            batch = table["batch"].to_list()
            batch[i], batch[j] = batch[j], batch[i]
            moved = table.with_columns(pl.Series("batch", batch, dtype=table["batch"].dtype))
            lost = False
            for (age, ill), people in frame.group_by("age", "ill"):
                records = moved.filter(pl.col("age") == age).group_by("batch").len()
                there = records.join(held.filter(pl.col("ill") == ill), on="batch")
                room = there.select(pl.min_horizontal("len", "count")).to_series().sum()
                lost |= people.height > room
            if lost:
                tables = {**release.tables, "generalized": moved.sort("age", "batch")}
                impossible += 1
                noticed += bool(dc.audit(replace(release, tables=tables), data).findings)
    assert impossible > 20 and noticed == impossible
