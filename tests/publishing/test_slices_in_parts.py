"""Slicing beyond memory: the same columns and buckets, whoever holds how many rows at once."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.publishing.method import Method
from in_parts import (
    examine,
    publish_from_disk,
    require_alike,
    require_same_audit,
    require_same_slices,
    reseal,
    spread,
)

ADULT = dc.datasets.adult(sensitive="occupation").head(2000)


def read_two() -> dc.Microdata:
    """Two sensitive attributes, one of which has missing values, and a column that is kept."""
    frame = ADULT.to_own_values().with_columns(
        pl.when(pl.int_range(pl.len()) % 9 == 0).then(None).otherwise("occupation")
        .alias("occupation"), kept=pl.int_range(pl.len()) % 4)  # fmt: skip
    known = ["age", "sex", "education", "race"]
    schema = dc.Schema.infer(frame.select(*known, "occupation", "marital-status", "kept"),
                             quasi_identifiers=known,
                             sensitive=["occupation", "marital-status"])  # fmt: skip
    missing = replace(schema["occupation"], missing=dc.table.schema.Missing.VALUE)
    return dc.read(frame, schema.changed(missing, replace(schema["kept"], keep=True)))


TABLES = {"adult": ADULT, "two": read_two()}


def require_slices(data: dc.Microdata, method: Method, folder: Path, capacity: int) -> None:
    schema, frame = data.schema.published, data.to_own_values()
    source = spread(frame, folder / "source")
    found = publish_from_disk(source, schema, method, folder / "disk", capacity)
    require_same_slices(dc.load(folder / "disk"), dc.publish(dc.read(frame, schema), method))
    require_same_audit(found, dc.audit(folder / "disk", data))


@pytest.mark.parametrize(
    ("table", "method"),
    [
        ("adult", dc.Slicing(dc.FrequencyDiversity(3))),
        ("adult", dc.Slicing(dc.KAnonymity(6) & dc.FrequencyDiversity(2), columns=3, alpha=2)),
        ("two", dc.Slicing(dc.FrequencyDiversity(2), columns=2)),
        ("two", dc.Slicing(dc.FrequencyDiversity(2), columns=3, together=True)),
    ],
    ids=str,
)
def test_columns_and_buckets_are_the_same(tmp_path: Path, table: str, method: Method) -> None:
    require_slices(TABLES[table], method, tmp_path, 300)


@settings(max_examples=10, deadline=None)
@given(data=st.data())
def test_any_small_table(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 50))
    frame = pl.DataFrame(
        {name: data.draw(st.lists(st.sampled_from(values), min_size=n, max_size=n))
         for name, values in (("a", range(6)), ("b", "uvw"), ("c", "xyz"), ("s", "pqr"))}
    )  # fmt: skip
    schema = dc.Schema.infer(frame, quasi_identifiers=["a", "b", "c"], sensitive=["s"])
    columns = data.draw(
        st.sampled_from([1, 2, 3, [["a"], ["b", "c"], ["s"]], [["a", "b"], ["c", "s"]]])
    )
    method = dc.Slicing(dc.FrequencyDiversity(data.draw(st.integers(1, 3))), columns=columns)
    folder, capacity = tmp_path_factory.mktemp("slices"), data.draw(st.integers(1, 30))
    require_alike(frame, schema, method, folder, capacity, require_slices)


def put_values_into_another_bucket(table: pl.DataFrame) -> pl.DataFrame:
    middle = table.height // 2
    return table.with_columns(age=pl.when(pl.int_range(pl.len()) < middle).then(
        pl.col("age").reverse()).otherwise("age"))  # fmt: skip


def make_a_value_certain(table: pl.DataFrame) -> pl.DataFrame:
    own = pl.col("bucket") == table["bucket"][500]
    value = table.filter(own)["occupation"][0]
    return table.with_columns(
        occupation=pl.when(own).then(pl.lit(value)).otherwise(pl.col("occupation").cast(pl.String))
    )


def part_a_bucket(table: pl.DataFrame) -> pl.DataFrame:
    """Rows of a bucket go behind all others under a number of their own."""
    own = pl.col("bucket") == table["bucket"][500]
    moved = table.filter(own)[:2].with_columns(bucket=pl.lit(10**6, pl.Int32))
    return pl.concat([table.filter(~own), table.filter(own)[2:], moved]).sort(
        "bucket", maintain_order=True)  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table in files and its release, made once for all forgers."""
    folder = tmp_path_factory.mktemp("made")
    source = spread(ADULT.to_own_values(), folder / "source")
    method = dc.Slicing(dc.FrequencyDiversity(3))
    publish_from_disk(source, ADULT.schema.published, method, folder / "r", 300)
    return folder


@pytest.mark.parametrize(
    "forge", [put_values_into_another_bucket, make_a_value_certain, part_a_bucket]
)
def test_what_was_changed_is_found(
    tmp_path: Path, made: Path, forge: Callable[[pl.DataFrame], pl.DataFrame]
) -> None:
    shutil.copytree(made / "r", tmp_path / "r")
    path = tmp_path / "r" / "sliced.parquet"
    forge(pl.read_parquet(path)).write_parquet(path)
    reseal(tmp_path / "r")
    try:
        found = examine(tmp_path / "r", made / "source", ADULT.schema.published, tmp_path / "w")
    except dc.DiscreetError:
        return
    assert found.problems


@pytest.mark.parametrize(
    "method",
    [
        dc.Slicing(dc.FrequencyDiversity(2), buckets=200),
        dc.Slicing(dc.FrequencyDiversity(2), frequency=3),
        dc.Slicing(dc.FrequencyDiversity(2), similarity="agreement"),
        dc.Slicing(dc.FrequencyDiversity(2), check="paper"),
    ],
)
def test_what_cannot_be_done_in_parts_is_refused(method: Method) -> None:
    with pytest.raises(dc.errors.SchemaError, match="beyond memory"):
        method.require_parts()
