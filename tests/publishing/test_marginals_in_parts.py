"""Several marginals and sensitive attributes beyond memory: the same buckets, the same audit."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.auditing import AuditReport
from discreet.forms.batched.shares import PEOPLE, add_shares
from discreet.publishing.method import Method
from discreet.release import parts, table_files
from in_parts import (
    change,
    examine,
    publish_from_disk,
    require_alike,
    require_same_audit,
    require_same_batches,
    reseal,
    spread,
)

ADULT = dc.datasets.adult(sensitive="occupation").head(1500)
SCHEMA = ADULT.schema.changed(replace(ADULT.schema["education"], role=dc.Role.SENSITIVE))
TWO = dc.read(ADULT.to_own_values(), SCHEMA.published)
CENSUS = dc.datasets.census(1500, sensitive="income")
TABLES = {"adult": ADULT, "two": TWO, "census": CENSUS}
NARROW = [["sex"], ["age", "sex", "race"]]


def require_marginals(
    data: dc.Microdata, method: Method, folder: Path, capacity: int
) -> AuditReport:
    """Publish from disk as in memory; audit both releases in parts and as a whole."""
    schema, frame = data.schema.published, data.to_own_values()
    source = spread(frame, folder / "source")
    found = publish_from_disk(source, schema, method, folder / "disk", capacity)
    read = dc.read(frame, schema)
    whole = dc.publish(read, method)
    require_same_batches(dc.load(folder / "disk"), whole)
    require_same_audit(found, dc.audit(folder / "disk", read))
    whole.write(folder / "memory")
    again = examine(folder / "memory", source, schema, folder / "again")
    require_same_audit(again, dc.audit(folder / "memory", read))
    return found


@pytest.mark.parametrize(
    ("table", "method"),
    [
        ("adult", dc.Angelization(dc.FrequencyDiversity(3), k=4, marginals=NARROW)),
        ("adult", dc.Angelization(dc.TCloseness(0.5), k=4, marginals=NARROW[::-1])),
        ("adult", dc.Angelization(dc.FrequencyDiversity(2), k=4, marginals=[
            ["age", "education"], ["age", "sex", "workclass"]], categories="ancestor")),
        ("two", dc.Angelization(dc.FrequencyDiversity(2), k=4)),
        ("two", dc.Angelization(dc.FrequencyDiversity(2), k=4, marginals=NARROW, together=True)),
        ("two", dc.Anatomy(dc.FrequencyDiversity(2))),
        ("census", dc.Angelization(dc.Proximity(epsilon=500, m=2), k=4, marginals=[
            ["age", "sex"], ["region", "age", "birthplace"]])),
    ],
    ids=str,
)  # fmt: skip
def test_buckets_of_every_marginal_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, method: Method
) -> None:
    monkeypatch.setattr(table_files, "PART", 700)
    report = require_marginals(TABLES[table], method, tmp_path, 400)
    assert report.kept
    assert len(list(parts.StoredParts(tmp_path / "disk").read(500))) > 1


@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_any_small_table(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    n = data.draw(st.integers(4, 60))
    frame = pl.DataFrame(
        {
            "a": data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)),
            **{name: data.draw(st.lists(st.sampled_from("uvwx"), min_size=n, max_size=n))
               for name in ("b", "c", "s", "t")},
        }
    )  # fmt: skip
    secret = data.draw(st.sampled_from([["s"], ["s", "t"]]))
    schema = dc.Schema.infer(frame, quasi_identifiers=["a", "b", "c"], sensitive=secret)
    names = st.lists(st.sampled_from("abc"), min_size=1, unique=True)
    marginals = data.draw(st.lists(names.map(sorted), min_size=1, max_size=3, unique_by=str))
    method = dc.Angelization(
        dc.FrequencyDiversity(data.draw(st.integers(1, 2))), k=data.draw(st.integers(2, 4)),
        marginals=marginals, together=data.draw(st.booleans()),
        batches=data.draw(st.sampled_from([None, "mondrian"])),
    )  # fmt: skip
    folder = tmp_path_factory.mktemp("marginals")
    capacity = data.draw(st.integers(4, 30))
    try:
        require_alike(frame, schema, method, folder, capacity, require_marginals)
    except dc.errors.SchemaError as error:
        assert "held at once" in str(error)


def test_a_box_that_nobody_can_hold_is_listed_region_by_region(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    # too few have "z" to be a bucket of their own, and only some regions have any of them
    frame = pl.DataFrame({"age": np.arange(1000) % 90, "town": ["x", "y"] * 500,
                          "ill": rng.choice(list("pqrst"), 1000)})  # fmt: skip
    frame = frame.with_columns(
        pl.when(pl.col("age") == 3, pl.int_range(pl.len()) < 200)
        .then(pl.lit("z"))
        .otherwise("town")
        .alias("town")
    )
    schema = dc.Schema.infer(frame, quasi_identifiers=["age", "town"], sensitive=["ill"])
    method = dc.Angelization(dc.FrequencyDiversity(2), k=5, marginals=[["town"], ["age", "town"]])
    require_marginals(dc.read(frame, schema), method, tmp_path, 60)
    towns = dc.load(tmp_path / "disk").tables["generalized"]
    assert towns["town"].n_unique() == 2
    assert towns.group_by("town").len()["len"].min() > 60


def test_regions_that_nobody_can_hold_are_listed_beside_those_without_people(
    tmp_path: Path,
) -> None:
    frame = pl.DataFrame({"age": [1] * 30 + [2] * 10 + [3] * 10, "sex": ["F"] * 40 + ["M"] * 10,
                          "ill": list("pqrst") * 10})  # fmt: skip
    schema = dc.Schema.infer(frame, quasi_identifiers=["age", "sex"], sensitive=["ill"])
    method = dc.Angelization(dc.FrequencyDiversity(2), k=5, marginals=[["sex"], ["age", "sex"]])
    require_marginals(dc.read(frame, schema), method, tmp_path, 8)


def test_what_batches_of_many_sizes_hold_of_millions_of_people_fits_64_bits() -> None:
    sizes = np.array([7, 8, 9, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43])
    each = 10**6  # of every size so many records refer to batches, where one of all has value 0
    weights = [*np.full(13, each), *each * (sizes - 1), 13 * each]
    lines = pl.DataFrame({"box": ["m"] * 27, "attribute": [0] * 26 + [PEOPLE],
                          "size": [*sizes, *sizes, 1], "code": [0] * 13 + [1] * 13 + [0],
                          "weight": weights})  # fmt: skip
    added = {row[:2]: row[2] for row in add_shares(lines).select(
        "attribute", "code", "weight").iter_rows()}  # fmt: skip
    assert added[PEOPLE, 0] == 13 * each
    assert 0 < added[0, 0] + added[0, 1] < 2**63
    share = added[0, 0] / (added[0, 0] + added[0, 1])
    assert share == pytest.approx((1 / sizes).mean())


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some people of Adult in files, published by two tables, once for all forgers."""
    folder = tmp_path_factory.mktemp("towns")
    source = spread(ADULT.to_own_values(), folder / "source")
    method = dc.Angelization(dc.FrequencyDiversity(3), k=4, marginals=NARROW)
    publish_from_disk(source, ADULT.schema.published, method, folder / "disk", 400)
    return folder


@pytest.mark.parametrize("order", ["descending", "one apart"])
def test_records_of_a_marginal_in_another_order_are_refused(
    tmp_path: Path, towns: Path, order: str
) -> None:
    shutil.copytree(towns / "disk", tmp_path / "disk")

    def change_order(table: pl.DataFrame) -> pl.DataFrame:
        return table.reverse() if order == "descending" else pl.concat([table[1:], table[:1]])

    change(tmp_path / "disk", "generalized", change_order)
    reseal(tmp_path / "disk")
    with pytest.raises(dc.errors.StoreError, match="in the order of what they show"):
        examine(tmp_path / "disk", towns / "source", ADULT.schema.published, tmp_path / "work")


def test_people_of_two_boxes_of_a_marginal_who_change_places_are_found(
    tmp_path: Path, towns: Path
) -> None:
    shutil.copytree(towns / "disk", tmp_path / "disk")

    def swap(table: pl.DataFrame) -> pl.DataFrame:
        """Give the first record of one box the batch of somebody in the other."""
        batch = table["batch"].to_list()
        other = next(i for i in range(table.height) if table["sex"][i] != table["sex"][0])
        batch[0], batch[other] = batch[other], batch[0]
        moved = table.with_columns(pl.Series("batch", batch, pl.Int32))
        return moved.sort("sex", "batch") if table["sex"][0] < table["sex"][-1] else moved.sort(
            pl.col("sex").cast(pl.String), "batch", descending=[True, False])  # fmt: skip

    change(tmp_path / "disk", "generalized", swap)
    reseal(tmp_path / "disk")
    report = examine(tmp_path / "disk", towns / "source", ADULT.schema.published, tmp_path / "work")
    assert not report.kept
    assert any("not as many records as people" in problem for problem in report.problems)


def test_what_is_not_made_region_by_region_is_refused_before_any_work() -> None:
    for method in (
        dc.Angelization(dc.FrequencyDiversity(2), k=4, batches="anatomize"),
        dc.Angelization(dc.FrequencyDiversity(2), k=1, exact=True, marginals=NARROW),
        dc.Angelization(dc.FrequencyDiversity(2), k=4, ends="cuts"),
    ):
        with pytest.raises(dc.errors.SchemaError, match="beyond memory"):
            method.require_parts()
