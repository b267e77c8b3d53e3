"""Projections: tables of an angelization that tell no batch (ANGEL, section 4.1)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.forms.verify import verify
from discreet.publishing.partition import Partition
from samples import microdata, reseal

METHOD = dc.Angelization(
    dc.FrequencyDiversity(3), k=6, marginals=[["age", "sex"]],
    projections=[["sex", "race"], ["age", "education"]],
)  # fmt: skip


@pytest.fixture(scope="module")
def people() -> dc.Microdata:
    known = ["age", "sex", "race", "education"]
    return dc.datasets.adult(sensitive="occupation", quasi_identifiers=known).head(600)


@pytest.fixture(scope="module")
def release(people: dc.Microdata) -> dc.Release:
    return dc.publish(people, METHOD, insecure_seed=1)


def without(release: dc.Release) -> dc.Release:
    """The same to somebody who was never given its projections."""
    tables = {t: table for t, table in release.tables.items() if not t.startswith("projection")}
    shown = {column for table in tables.values() for column in table.columns}
    schema = release.schema.only([n for n in release.schema.names if n in shown])
    parameters = {**release.parameters, "projections": None}
    return replace(release, tables=tables, schema=schema, parameters=parameters)


def test_a_projection_has_boxes_of_k_people_and_no_batch(release: dc.Release) -> None:
    assert list(release.tables) == ["batches", "generalized", "projection", "projection_2"]
    for title, names in (("projection", ["sex", "race"]), ("projection_2", ["age", "education"])):
        table = release.tables[title]
        assert set(release.shown[title]) == set(names)
        assert "batch" not in table.columns and table.height == 600
        assert table.group_by(names).len()["len"].min() >= 6  # type: ignore[operator]
    assert "no `batch`" in release.about["projection"]


def test_beliefs_are_what_they_are_without_projections(
    people: dc.Microdata, release: dc.Release
) -> None:
    """Of values nothing is added, of who looks the same all that the boxes tell."""
    report, before = dc.audit(release, people), dc.audit(without(release), people)
    assert report.kept
    for part in ("beliefs", "truths"):
        own, others = getattr(report, part)["occupation"], getattr(before, part)["occupation"]
        np.testing.assert_array_equal(own, others)
    assert (report.worst, report.breached.sum()) == (before.worst, before.breached.sum())
    assert (report.candidates <= before.candidates).all()
    assert report.joined is not None and before.joined is None
    boxes = [view.match(people).set_of for view in release.views]
    cells = pl.DataFrame({str(i): own for i, own in enumerate(boxes)})
    smallest = cells.group_by(cells.columns).len()["len"].min()
    assert report.joined.smallest == smallest < before.identity.smallest


def test_batches_are_the_same_whatever_is_projected(
    people: dc.Microdata, release: dc.Release
) -> None:
    """Their numbers would say else who of a batch is where in a projection."""
    alone = dc.publish(people, replace(METHOD, projections=None), insecure_seed=1)
    for title, table in alone.tables.items():
        assert table.equals(release.tables[title])


def test_projections_show_nothing_that_depends_on_values(people: dc.Microdata) -> None:
    """Whoever has which value: who exchanges them changes batches, and no projection."""
    frame = people.to_polars()
    shuffled = frame.with_columns(pl.col("occupation").shuffle(seed=3))
    made = [dc.publish(dc.read(f, people.schema), METHOD, insecure_seed=1)
            for f in (frame, shuffled)]  # fmt: skip
    for title in ("projection", "projection_2"):
        assert made[0].tables[title].equals(made[1].tables[title])


def test_questions_go_to_projections_unless_values_are_asked(release: dc.Release) -> None:
    for asked, tables in (
        ("race = 'White'", ["projection"]),
        ("age > 30 AND education = 'Masters'", ["projection_2"]),
        ("age > 30 AND occupation = 'Sales'", ["generalized", "batches"]),
        ("occupation = 'Sales'", ["batches"]),
    ):
        answer = release.query(f"SELECT COUNT(*) FROM release WHERE {asked}")
        assert answer.tables == tables
    for asked in ("race = 'White' AND occupation = 'Sales'", "age > 30 AND race = 'White'"):
        with pytest.raises(dc.errors.QueryError, match="together"):
            release.query(f"SELECT COUNT(*) FROM release WHERE {asked}")
    assert release.reconstruct(["race"])["probability"].sum() == pytest.approx(1)
    with pytest.raises(dc.errors.QueryError, match="together"):
        release.reconstruct(["race", "occupation"])
    assert set(release.sample(5, seed=1).columns) == {"age", "sex", "occupation"}
    assert set(release.impute(1, seed=1)[0].columns) == {"age", "sex", "occupation"}


def test_table_7_with_a_projection_in_place_of_a_marginal() -> None:
    """Everybody is believed a half, and who is in both boxes may be one person."""
    frame = pl.DataFrame({
        "age": [21, 23, 58, 60, 70, 72], "zip": [10, 58, 12, 60, 78, 80],
        "disease": ["pneumonia", "flu", "bronchitis", "pneumonia", "flu", "bronchitis"],
    })  # fmt: skip
    data = microdata(frame, ["age", "zip"], ["disease"])
    method = dc.Angelization(dc.FrequencyDiversity(2), k=2, marginals=[["age"]],
                             projections=[["zip"]])  # fmt: skip
    parts = [Partition.from_labels(np.array(g)) for g in ([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 2, 2])]
    made = method.angelize(data, [["age"]], parts, parts[0], projections=[["zip"]])
    report = dc.audit(made, data)
    assert report.kept and report.beliefs["disease"].tolist() == [0.5] * 6
    assert report.joined is not None
    assert (report.joined.smallest, report.joined.alone) == (1, 4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.with_columns(batch=pl.int_range(pl.len()) % 3), "undeclared columns"),
        (lambda t: t.sample(fraction=1, shuffle=True, seed=1), "not in the order"),
        (lambda t: t.head(3), "not a record of everybody"),
    ],
)
def test_a_projection_that_tells_more_is_refused(
    release: dc.Release, change: object, message: str
) -> None:
    tables = {**release.tables, "projection": change(release.tables["projection"])}  # type: ignore[operator]
    with pytest.raises(dc.DiscreetError, match=message):
        verify(replace(release, tables=tables))


def test_a_projection_is_written_read_and_held_against_people(
    people: dc.Microdata, release: dc.Release, tmp_path: Path
) -> None:
    folder = release.write(tmp_path / "r", insecure=True)
    assert dc.audit(folder, people, attacks=True).kept
    table = pl.read_parquet(folder / "projection.parquet")
    column, label = "sex", table["sex"][0]
    others = table.filter(pl.col(column).cast(pl.String) != str(label))
    forged = pl.concat([table.filter(pl.col(column).cast(pl.String) == str(label))[1:],
                        others, others[-1:]])  # fmt: skip
    forged.write_parquet(folder / "projection.parquet")
    report = dc.audit(dc.load(reseal(folder)), people)
    assert "not as many records as people" in str(report.problems)


def test_projections_that_make_no_sense_are_refused(people: dc.Microdata) -> None:
    with pytest.raises(dc.errors.SchemaError, match="list of lists"):
        replace(METHOD, projections=["age"])  # type: ignore[list-item]
    with pytest.raises(dc.errors.SchemaError, match="boxes"):
        dc.Angelization(dc.FrequencyDiversity(2), k=1, exact=True, projections=[["age"]])
    for names, message in ((["occupation"], "not a quasi-identifier"), (["age", "age"], "twice")):
        with pytest.raises(dc.errors.SchemaError, match=message):
            dc.publish(people, replace(METHOD, projections=[names]))
