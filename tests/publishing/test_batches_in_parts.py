"""Batches beyond memory: the same buckets, and batches that keep the promise, region by region."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.auditing import AuditReport
from discreet.publishing.draws import KeyedDraws
from discreet.publishing.method import Method
from discreet.release import parts, table_files
from discreet.table.schema import Missing
from in_parts import (
    change,
    examine,
    odd_table,
    publish_from_disk,
    require_alike,
    require_same_audit,
    require_same_batches,
    reseal,
    spread,
)

CENSUS = dc.datasets.census(2000, sensitive="income")
MANY = dc.datasets.census(1500, sensitive="income")
ADULT = dc.datasets.adult(sensitive="occupation").head(2000)
ODD = odd_table()
ODD = dc.read(ODD.to_own_values().drop("leaf"), ODD.schema.published.only(
    [name for name in ODD.schema.names if name != "leaf"]))  # fmt: skip
TABLES = {"census": CENSUS, "adult": ADULT, "odd": ODD}
SKEWED = pl.DataFrame({"age": list(range(400)), "ill": ["a"] * 150 + ["b"] * 150 + list("cd") * 50})


def read_skewed() -> dc.Microdata:
    """Whoever is young has one illness, so that few leaves have room for batches of two."""
    schema = dc.Schema.infer(SKEWED, quasi_identifiers=["age"], sensitive=["ill"])
    return dc.read(SKEWED, schema)


def require_batches(data: dc.Microdata, method: Method, folder: Path, capacity: int) -> AuditReport:
    """Publish in memory and from disk: the same people and values; audit it in parts and whole."""
    schema, frame = data.schema.published, data.to_own_values()
    source = spread(frame, folder / "source")
    found = publish_from_disk(source, schema, method, folder / "disk", capacity)
    made, wanted = dc.load(folder / "disk"), dc.publish(dc.read(frame, schema), method)
    require_same_batches(made, wanted)
    require_same_audit(found, dc.audit(folder / "disk", data))
    return found


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of 700 records."""
    monkeypatch.setattr(table_files, "PART", 700)


@pytest.mark.usefixtures("small_files")
@pytest.mark.parametrize(
    ("table", "method"),
    [
        ("census", dc.Angelization(dc.FrequencyDiversity(2), k=5, marginals=[["age", "sex"]])),
        ("census", dc.Anatomy(dc.FrequencyDiversity(4))),
        ("census", dc.Anatomy(dc.Proximity(epsilon=500, m=2))),
        ("adult", dc.Angelization(dc.FrequencyDiversity(3), k=5, categories="ancestor")),
        ("odd", dc.Angelization(dc.FrequencyDiversity(4), k=4)),
    ],
    ids=str,
)
def test_buckets_are_the_same_and_batches_keep_the_promise(
    tmp_path: Path, table: str, method: Method
) -> None:
    require_batches(TABLES[table], method, tmp_path, 300)


@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_any_small_table(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 60))
    cell = st.one_of(st.none(), st.integers(-3, 9))
    frame = pl.DataFrame(
        {
            "a": pl.Series(data.draw(st.lists(cell, min_size=n, max_size=n)), dtype=pl.Int64),
            "b": data.draw(st.lists(st.sampled_from("uvwx"), min_size=n, max_size=n)),
            "s": data.draw(st.lists(st.sampled_from("pqrst"), min_size=n, max_size=n)),
        }
    )
    schema = dc.Schema.infer(frame, quasi_identifiers=["a", "b"], sensitive=["s"])
    policy = data.draw(st.sampled_from([Missing.VALUE, Missing.DROP]))
    schema = schema.changed(*(replace(a, missing=policy) for a in schema))
    k = data.draw(st.integers(1, 4))
    method = dc.Angelization(
        dc.FrequencyDiversity(data.draw(st.integers(1, 3))), k=k, exact=k == 1, batches="direct"
    )
    folder = tmp_path_factory.mktemp("batches")
    capacity = data.draw(st.integers(1, 30))
    try:
        require_alike(frame, schema, method, folder, capacity, require_batches)
    except dc.errors.SchemaError as error:  # too many share batches to be held at once
        assert "held at once" in str(error)


def test_leaves_without_room_for_batches_are_put_together(tmp_path: Path) -> None:
    method = dc.Angelization(dc.FrequencyDiversity(2), k=2, batches="direct")
    require_batches(read_skewed(), method, tmp_path, 350)
    regions = parts.StoredParts(tmp_path / "disk")
    assert len(list(regions.read(40))) > 1
    source = tmp_path / "source"
    with pytest.raises(dc.errors.SchemaError, match="can be held at once"):
        publish_from_disk(source, read_skewed().schema.published, method, tmp_path / "d", 40)


def test_what_is_drawn_is_drawn_anew_for_every_release_and_again_for_a_lost_worker() -> None:
    key = KeyedDraws.draw_key()
    assert key != KeyedDraws.draw_key()
    first, again, other = KeyedDraws(key, 3), KeyedDraws(key, 3), KeyedDraws(key, 4)
    for _ in range(2):
        drawn = first.permutation(50)
        assert drawn.tolist() == again.permutation(50).tolist()
        assert drawn.tolist() != other.permutation(50).tolist()
        assert sorted(drawn.tolist()) == list(range(50))
    assert first.words(4).tolist() != first.words(4).tolist()
    shares = KeyedDraws(key, 1).shares(20_000)
    assert abs(float(shares.mean()) - 0.5) < 0.02
    assert np.unique(shares).size == shares.size


def test_two_releases_of_a_table_have_other_batches(tmp_path: Path) -> None:
    data = CENSUS.head(600)
    source = spread(data.to_own_values(), tmp_path / "source")
    method = dc.Anatomy(dc.FrequencyDiversity(3))
    for name in ("one", "other"):
        publish_from_disk(source, data.schema.published, method, tmp_path / name, 200)
    one, other = (dc.load(tmp_path / name).tables["batches"] for name in ("one", "other"))
    assert not one.equals(other)


def swap_two_batches(folder: Path) -> None:
    """Two batches of one region change numbers in the table of batches alone."""

    def swap(table: pl.DataFrame) -> pl.DataFrame:
        a, b = table["batch"][0], table["batch"][table.height // 2]
        moved = table.with_columns(pl.col("batch").replace({a: b, b: a}))
        return moved.sort("batch", "income")

    change(folder, "batches-00001", swap)


def refer_elsewhere(folder: Path) -> None:
    """A person of the first file refers to a batch of the last."""
    last = pl.read_parquet(folder / "generalized-00004.parquet")["batch"][-1]
    change(folder, "generalized-00000", lambda t: t.with_columns(
        batch=pl.when(pl.int_range(pl.len()) == 5).then(pl.lit(last)).otherwise("batch")
        .cast(pl.Int32)))  # fmt: skip


def add_a_batch(folder: Path) -> None:
    """A batch to which nobody refers is added behind the last."""

    def add(table: pl.DataFrame) -> pl.DataFrame:
        more = table[-3:].with_columns(pl.col("batch") + 7)
        return pl.concat([table, more])

    change(folder, "batches-00004", add)


def leave_a_batch_out(folder: Path) -> None:
    change(folder, "batches-00002", lambda t: t.filter(pl.col("batch") != t["batch"][50]))


def count_one_more(folder: Path) -> None:
    change(folder, "batches-00001", lambda t: t.with_columns(
        pl.when(pl.int_range(pl.len()) == 9).then(pl.col("count") + 1).otherwise("count")
        .alias("count")))  # fmt: skip


def make_a_value_certain(folder: Path) -> None:
    """All values of a batch become one, with as many people."""

    def unify(table: pl.DataFrame) -> pl.DataFrame:
        own = pl.col("batch") == table["batch"][40]
        people = table.filter(own)["count"].sum()
        first = table.filter(own)[:1].with_columns(pl.lit(people, pl.Int64).alias("count"))
        return pl.concat([table.filter(~own), first]).sort("batch", "income")

    change(folder, "batches-00001", unify)


def move_values(folder: Path) -> None:
    """Batches of one file hold each other's values: nobody finds their own."""
    change(folder, "batches-00003", lambda t: t.with_columns(pl.col("income") + 10)
                          .sort("batch", "income"))  # fmt: skip


FORGERIES = [swap_two_batches, refer_elsewhere, add_a_batch, leave_a_batch_out, count_one_more,
             make_a_value_certain, move_values]  # fmt: skip


@pytest.fixture(scope="module")
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table in files, and its release in files of 350 records, made once for all forgers."""
    folder, exact = tmp_path_factory.mktemp("made"), request.param
    source = spread(MANY.to_own_values(), folder / "source")
    method = dc.Angelization(dc.FrequencyDiversity(3), k=1 if exact else 5, exact=exact)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_files, "PART", 350)
        publish_from_disk(source, MANY.schema.published, method, folder / "r", 250)
    assert len(list((folder / "r").glob("batches-*.parquet"))) == 5
    return folder


@pytest.mark.usefixtures("small_files")
@pytest.mark.parametrize(
    ("made", "forge"),
    [*((False, forge) for forge in FORGERIES), (True, swap_two_batches), (True, move_values)],
    indirect=["made"],
)
def test_what_was_changed_is_found(
    tmp_path: Path, made: Path, forge: Callable[[Path], None]
) -> None:
    source, schema = made / "source", MANY.schema.published
    shutil.copytree(made / "r", tmp_path / "r")
    forge(tmp_path / "r")
    with pytest.raises(dc.errors.StoreError, match="not what was published"):
        examine(tmp_path / "r", source, schema, tmp_path / "sealed")
    reseal(tmp_path / "r")
    try:
        found = examine(tmp_path / "r", source, schema, tmp_path / "w")
    except dc.DiscreetError:
        return
    assert found.problems


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (dc.Angelization(dc.FrequencyDiversity(2), batches="direct"), "one sensitive attribute"),
        (dc.Anatomy(dc.FrequencyDiversity(2), batches="anatomize"), "anatomize"),
        (
            dc.Angelization(
                dc.FrequencyDiversity(2), k=1, exact=True, marginals=[["age"], ["sex"]]
            ),
            "several marginals of exact",
        ),
    ],
    ids=str,
)
def test_what_cannot_be_done_in_parts_is_refused(tmp_path: Path, method: Method, said: str) -> None:
    data = CENSUS.head(200)
    source = spread(data.to_own_values(), tmp_path / "source")
    both = data.schema.published.changed(replace(data.schema["education"], role=dc.Role.SENSITIVE))
    with pytest.raises(dc.DiscreetError, match=said):
        publish_from_disk(source, both, method, tmp_path / "d", 50)


@pytest.mark.usefixtures("small_files")
def test_a_release_of_memory_is_examined_as_far_as_it_can_be_parted(tmp_path: Path) -> None:
    data = dc.datasets.census(1000, sensitive="income")
    source = spread(data.to_own_values(), tmp_path / "source")
    dc.publish(data, dc.Anatomy(dc.FrequencyDiversity(3))).write(tmp_path / "r")
    found = examine(tmp_path / "r", source, data.schema.published, tmp_path / "w")
    require_same_audit(found, dc.audit(tmp_path / "r", data))
    several = dc.Angelization(
        dc.FrequencyDiversity(3), k=1, exact=True, marginals=[["age"], ["sex"]]
    )
    dc.publish(data, several).write(tmp_path / "several")
    with pytest.raises(dc.errors.SchemaError, match="not examined in parts"):
        examine(tmp_path / "several", source, data.schema.published, tmp_path / "w2")
