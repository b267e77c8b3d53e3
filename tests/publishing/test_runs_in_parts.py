"""Permutation beyond memory: the same groups of numbers, shuffled where the rows are."""

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
from discreet.forms.permuted.help_table import build_help
from discreet.publishing.method import Method
from discreet.release import table_files
from in_parts import (
    change,
    examine,
    publish_from_disk,
    require_alike,
    require_same_audit,
    require_same_runs,
    reseal,
    spread,
)

CENSUS = dc.datasets.census(2000, sensitive="income")
MANY = dc.datasets.census(1500, sensitive="income")
SHOWN = ["age", "sex", "education", "income"]


def read_few() -> dc.Microdata:
    """Few columns, so that many people look the same; one is kept, numbers have decimals."""
    frame = CENSUS.to_own_values().select(SHOWN).with_columns(
        income=(pl.col("income") // 500) / 4, kept=pl.int_range(pl.len()) % 5
    )  # fmt: skip
    schema = dc.Schema.infer(frame, quasi_identifiers=SHOWN[:3], sensitive=["income"])
    return dc.read(frame, schema.changed(replace(schema["kept"], keep=True)))


TABLES = {"census": CENSUS, "few": read_few()}


def require_runs(data: dc.Microdata, method: Method, folder: Path, capacity: int) -> None:
    schema, frame = data.schema.published, data.to_own_values()
    source = spread(frame, folder / "source")
    found = publish_from_disk(source, schema, method, folder / "disk", capacity)
    require_same_runs(dc.load(folder / "disk"), dc.publish(dc.read(frame, schema), method))
    require_same_audit(found, dc.audit(folder / "disk", data))


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of 700 records."""
    monkeypatch.setattr(table_files, "PART", 700)


@pytest.mark.usefixtures("small_files")
@pytest.mark.parametrize(
    ("table", "objective"),
    [("census", "sum"), ("census", "max-overlapping"), ("few", "max"), ("few", "groups")],
)
def test_groups_are_the_same_for_whoever_holds_fewer_rows(
    tmp_path: Path, table: str, objective: str
) -> None:
    method = dc.Permutation(dc.KE(k=4, e=20), objective=objective)  # type: ignore[arg-type]
    require_runs(TABLES[table], method, tmp_path, 300)


@pytest.mark.usefixtures("small_files")
@pytest.mark.parametrize(
    "promise", [dc.FrequencyDiversity(3), dc.KE(4, 20) & dc.Proximity(5, 2)], ids=str
)
def test_so_they_are_under_other_principles(tmp_path: Path, promise: dc.Principle) -> None:
    require_runs(TABLES["few"], dc.Permutation(promise), tmp_path, 300)


@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_any_small_table(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 50))
    frame = pl.DataFrame(
        {
            "a": data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)),
            "s": data.draw(st.lists(st.integers(-5, 9), min_size=n, max_size=n)),
        }
    )
    schema = dc.Schema.infer(frame, quasi_identifiers=["a"], sensitive=["s"])
    schema = schema.changed(replace(schema["s"], type=dc.Type.INTEGER))
    objective = data.draw(st.sampled_from(["sum", "max", "max-overlapping", "groups"]))
    promise = dc.KE(k=data.draw(st.integers(1, 4)), e=data.draw(st.integers(0, 4)))
    method = dc.Permutation(promise, objective=objective)
    folder, capacity = tmp_path_factory.mktemp("runs"), data.draw(st.integers(1, 30))
    require_alike(frame, schema, method, folder, capacity, require_runs)


def test_half_of_all_numbers_are_equal(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": list(range(400)), "s": [0] * 200 + list(range(200))})
    schema = dc.Schema.infer(frame, quasi_identifiers=["a"], sensitive=["s"])
    require_runs(dc.read(frame, schema), dc.Permutation(dc.KE(k=3, e=2)), tmp_path, 50)


def test_who_goes_where_and_who_shows_what_is_drawn(tmp_path: Path) -> None:
    """Of two people with one number either may go into either group; nobody keeps their own."""
    frame = pl.DataFrame({"a": list(range(6)), "s": [1, 2, 3, 3, 4, 5]})
    schema = dc.Schema.infer(frame, quasi_identifiers=["a"], sensitive=["s"])
    source = spread(frame, tmp_path / "source")
    method = dc.Permutation(dc.KE(k=3, e=0), objective="groups")
    with_low, own = set(), []
    for number in range(25):
        publish_from_disk(source, schema, method, tmp_path / str(number), 3)
        table = dc.load(tmp_path / str(number)).tables["permuted"]
        group = table.filter(pl.col("a") == 0)["group"][0]
        with_low |= set(table.filter(pl.col("group") == group)["a"]) & {2, 3}
        own.append(int((table.sort("a")["s"] == frame["s"]).sum()))
    assert with_low == {2, 3}
    assert 0.8 < float(np.mean(own)) < 3.2


def swap_people(folder: Path) -> None:
    """Two people of different groups change places, with what they show: others see no trace."""
    one, other = (folder / f"permuted-0000{number}.parquet" for number in (0, 3))
    first, last = pl.read_parquet(one), pl.read_parquet(other)
    known = [name for name in first.columns if name not in ("group", "income")]
    half = first.height // 2
    mixed = [
        pl.concat([a[:half].select(known), b[half:].select(known)])
        for a, b in ((first, last[: first.height]), (last[: first.height], first))
    ]
    first.with_columns(mixed[0]).write_parquet(one)
    pl.concat([last[: first.height].with_columns(mixed[1]), last[first.height :]]).write_parquet(
        other
    )


def make_a_number_certain(folder: Path) -> None:
    change(folder, "permuted-00001", lambda t: t.with_columns(
        income=pl.when(pl.col("group") == t["group"][300]).then(pl.lit(7)).otherwise("income")
        .cast(pl.Int64)))  # fmt: skip


def drop_people(folder: Path) -> None:
    change(folder, "permuted-00002", lambda t: t[:-9])


def widen_a_bound(folder: Path) -> None:
    change(folder, "help-00002", lambda t: t.with_columns(
        sum_high=pl.when(pl.int_range(pl.len()) == 5).then(pl.col("sum_high") + 1)
        .otherwise("sum_high")))  # fmt: skip


def move_a_number(folder: Path) -> None:
    change(folder, "permuted-00001", lambda t: t.with_columns(
        income=pl.when(pl.int_range(pl.len()) == 5).then(pl.col("income") + 10)
        .otherwise("income")))  # fmt: skip


def age_somebody(folder: Path) -> None:
    change(folder, "permuted-00001", lambda t: t.with_columns(
        age=pl.when(pl.int_range(pl.len()) == 5).then(pl.lit(20)).otherwise(pl.lit(21))
        .cast(pl.Int64)))  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table in files, and its release in files of 350 records, made once for all forgers."""
    folder = tmp_path_factory.mktemp("made")
    source = spread(MANY.to_own_values(), folder / "source")
    method = dc.Permutation(dc.KE(k=4, e=2000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_files, "PART", 350)
        publish_from_disk(source, MANY.schema.published, method, folder / "r", 250)
    return folder


@pytest.mark.usefixtures("small_files")
@pytest.mark.parametrize(
    "forge",
    [swap_people, make_a_number_certain, drop_people, widen_a_bound, move_a_number, age_somebody],
)
def test_what_was_changed_is_found(
    tmp_path: Path, made: Path, forge: Callable[[Path], None]
) -> None:
    shutil.copytree(made / "r", tmp_path / "r")
    forge(tmp_path / "r")
    reseal(tmp_path / "r")
    try:
        found = examine(tmp_path / "r", made / "source", MANY.schema.published, tmp_path / "w")
    except dc.DiscreetError:
        return
    assert found.problems


def publish_numbers(frame: pl.DataFrame, folder: Path, method: Method) -> tuple[Path, dc.Schema]:
    schema = dc.Schema.infer(frame, quasi_identifiers=["a"], sensitive=["s"])
    source = spread(frame, folder / "source")
    publish_from_disk(source, schema, method, folder / "r", 600)
    return source, schema


def rewrite(folder: Path, table: pl.DataFrame, attribute: dc.Attribute) -> None:
    """Put other records into a release, with the bounds that follow from them."""
    table.write_parquet(folder / "permuted.parquet")
    bounds = build_help(table["group"], table["s"], attribute)
    bounds.write_parquet(folder / "help.parquet")
    reseal(folder)


def test_numbers_that_were_not_shuffled_are_noticed_over_all_windows(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"a": range(2000), "s": rng.integers(0, 700, 2000)})
    source, schema = publish_numbers(frame, tmp_path, dc.Permutation(dc.KE(k=4, e=1)))
    table = pl.read_parquet(tmp_path / "r" / "permuted.parquet")
    own = table.drop("s").join(frame, on="a", how="left", maintain_order="left")
    rewrite(tmp_path / "r", own.select(table.columns), schema["s"])
    found = examine(tmp_path / "r", source, schema, tmp_path / "w")
    assert [text for text in found.problems if "stand beside their own" in text]
    assert found.problems == dc.audit(tmp_path / "r", dc.read(frame, schema)).problems


def test_groups_that_people_of_all_windows_do_not_fit_are_noticed(tmp_path: Path) -> None:
    """Two people change groups, each of which holds a number of theirs, but not of both."""
    frame = pl.DataFrame({"a": range(2000), "s": [i // 8 * 4 + i % 4 for i in range(2000)]})
    method = dc.Permutation(dc.KE(k=4, e=1), objective="groups")
    source, schema = publish_numbers(frame, tmp_path, method)
    types = pl.read_parquet(tmp_path / "r" / "permuted.parquet").schema
    members = np.arange(2000).reshape(-1, 4)
    members[40, 0], members[41, 1] = members[41, 1], members[40, 0]
    rng = np.random.default_rng(0)
    rows = [
        (g, a, s)
        for g, people in enumerate(members.tolist())
        for a, s in zip(sorted(people), rng.permutation(4) + g // 2 * 4, strict=True)
    ]
    table = pl.DataFrame(rows, schema=["group", "a", "s"], orient="row")
    rewrite(tmp_path / "r", table.cast(dict(types)).select(types.names()), schema["s"])
    found = examine(tmp_path / "r", source, schema, tmp_path / "w")
    assert [text for text in found.problems if "do not belong" in text]
    assert not list((tmp_path / "w").iterdir())


@pytest.mark.parametrize(
    "method",
    [
        dc.Permutation(dc.KE(k=3, e=0)),
        dc.Anatomy(dc.FrequencyDiversity(2)),
        dc.Slicing(dc.FrequencyDiversity(2)),
        dc.Generalization(dc.KAnonymity(2)),
    ],
    ids=lambda method: method.title,
)
@pytest.mark.parametrize("name", ["rows", "value"])
def test_numbers_may_be_called_what_counts_are_called(
    tmp_path: Path, method: Method, name: str
) -> None:
    frame = pl.DataFrame({"a": range(12), name: range(12)})
    schema = dc.Schema.infer(frame, quasi_identifiers=["a"], sensitive=[name])
    source = spread(frame, tmp_path / "source")
    assert publish_from_disk(source, schema, method, tmp_path / "r", 5).kept


def test_what_cannot_be_done_in_parts_is_refused(tmp_path: Path) -> None:
    data = dc.datasets.census(300, sensitive="income")
    source = spread(data.to_own_values(), tmp_path / "source")
    random = dc.Permutation(dc.KE(k=3, e=5), objective="random")
    with pytest.raises(dc.errors.SchemaError, match="random"):
        publish_from_disk(source, data.schema.published, random, tmp_path / "d", 50)
    both = data.schema.published.changed(replace(data.schema["education"], role=dc.Role.SENSITIVE))
    several = dc.Permutation(dc.KE(k=3, e=2))
    with pytest.raises(dc.errors.SchemaError, match="several"):
        publish_from_disk(source, both, several, tmp_path / "e", 50)
