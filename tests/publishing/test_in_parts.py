"""Tables beyond memory: the same release, byte for byte, whoever holds how many rows at once."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from commands import COMMAND
from commands import discreet_here as discreet
from discreet.publishing.method import Method
from discreet.release.store import fingerprint
from discreet.table.schema import Missing
from in_parts import (
    odd_table,
    publish_from_disk,
    require_alike,
    require_same_audit,
    spread,
    write_plan,
)
from principle_cases import CASES

CENSUS = dc.datasets.census(2000, sensitive="income")
ADULT = dc.datasets.adult(sensitive="occupation").head(2000)
MONOTONE = [
    principle
    for case in CASES.values()
    for principle in case.instances
    if principle.monotone and not principle.dealt and not principle.joins and not principle.personal
]


TABLES = {"adult": ADULT, "census": CENSUS, "odd": odd_table()}


def require_same(data: dc.Microdata, method: Method, folder: Path, capacity: int) -> None:
    """Publish in memory and from disk, and compare every byte; audit both."""
    schema, frame = data.schema.published, data.to_own_values()
    release = dc.publish(dc.read(frame, schema), method)
    release.write(folder / "memory")
    source = spread(frame, folder / "source")
    found = publish_from_disk(source, schema, method, folder / "disk", capacity)
    assert fingerprint(folder / "disk") == fingerprint(folder / "memory")
    whole = dc.audit(folder / "memory", data)
    require_same_audit(found, whole)
    assert found.kept_columns == whole.kept_columns


@pytest.mark.parametrize("capacity", [700, 60])
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("categories", ["set", "ancestor"])
def test_the_release_is_the_same_for_whoever_holds_fewer_rows(
    tmp_path: Path, table: str, categories: str, capacity: int
) -> None:
    data = TABLES[table]
    if categories == "ancestor" and table != "adult":
        pytest.skip("no taxonomy")
    promise = dc.KAnonymity(5) & dc.FrequencyDiversity(2)
    method = dc.Generalization(promise, categories=categories)  # type: ignore[arg-type]
    require_same(data, method, tmp_path, capacity)


@pytest.mark.parametrize("principle", MONOTONE, ids=str)
def test_every_principle_is_kept_by_the_same_groups(
    tmp_path: Path, principle: dc.Principle
) -> None:
    data = CENSUS.head(600)  # whoever is held at once is one in eight, as of many more
    try:
        dc.publish(data, dc.Generalization(principle))
    except dc.DiscreetError:
        pytest.skip("the table does not allow it")
    require_same(data, dc.Generalization(principle), tmp_path, 80)


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_small_table_gives_the_same_release(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    n = data.draw(st.integers(2, 60))
    cell = st.one_of(st.none(), st.integers(-3, 9))
    frame = pl.DataFrame(
        {
            "a": pl.Series(data.draw(st.lists(cell, min_size=n, max_size=n)), dtype=pl.Int64),
            "b": data.draw(st.lists(st.sampled_from("uvwxyz"), min_size=n, max_size=n)),
            "c": data.draw(
                st.lists(st.sampled_from([0.0, -0.0, 1.5, float("nan")]), min_size=n, max_size=n)
            ),
            "s": data.draw(st.lists(st.sampled_from("pqr"), min_size=n, max_size=n)),
        }
    )
    policy = data.draw(st.sampled_from([Missing.VALUE, Missing.DROP]))
    schema = dc.Schema.infer(frame, quasi_identifiers=["a", "b", "c"], sensitive=["s"])
    schema = schema.changed(*(replace(a, missing=policy) for a in schema))
    k = data.draw(st.integers(1, 5))
    method = dc.Generalization(
        dc.KAnonymity(k) & dc.DistinctDiversity(data.draw(st.integers(1, 2)))
    )
    folder = tmp_path_factory.mktemp("same")
    capacity = data.draw(st.integers(1, 30))
    require_alike(frame, schema, method, folder, capacity, require_same)


@pytest.mark.parametrize(
    ("name", "frame"),
    {
        "one value in all rows": pl.DataFrame({"a": [1] * 400, "s": list("xy") * 200}),
        "half of all rows are equal": pl.DataFrame(
            {"a": [0] * 200 + list(range(200)), "s": list("xy") * 200}
        ),
        "very many labels": pl.DataFrame(
            {"a": [f"v{i}" for i in range(5000)], "s": list("xy") * 2500}
        ),
        "very many columns": pl.DataFrame(
            # three bits each: several words per row
            {f"c{i}": [(j * (i + 3)) % 7 for j in range(150)] for i in range(50)}
            | {"s": list("xyz") * 50}
        ),
    }.items(),
)
def test_skewed_tables(tmp_path: Path, name: str, frame: pl.DataFrame) -> None:
    known = [column for column in frame.columns if column != "s"]
    schema = dc.Schema.infer(frame, quasi_identifiers=known, sensitive=["s"])
    require_same(dc.read(frame, schema), dc.Generalization(dc.KAnonymity(4)), tmp_path, 50)


def test_the_command_line_works_from_disk_with_little_memory(tmp_path: Path) -> None:
    frame = CENSUS.to_polars().select("age", "sex", "income")
    spread(frame, tmp_path / "source")
    plan = write_plan(tmp_path)
    made = discreet("publish", plan, "--memory", "20KB", "--out", "disk", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "worked on from disk" in made.stdout
    whole = discreet("publish", plan, "--out", "memory", "--json", cwd=tmp_path)
    assert whole.returncode == 0, whole.stderr
    assert fingerprint(tmp_path / "disk") == fingerprint(tmp_path / "memory")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"source", "t.plan.toml", "disk", "memory"}


@pytest.mark.parametrize(
    ("options", "more", "method", "said"),
    [
        (["--memory", "lots"], "", "", "is no amount of memory"),
        (["--memory", "20KB", "--ledger", "book"], "", "", "ledgers"),
        (["--memory", "20KB"], "", 'name = "angelization"\nbatches = "anatomize"', "beyond memory"),
        (["--memory", "20KB"], "", 'name = "generalization"\nsuppress = 0.1', "beyond memory"),
        (["--memory", "20KB"], "", 'name = "generalization"\nends = "cuts"', "beyond memory"),
    ],
)
def test_what_is_not_done_from_disk_is_refused_before_any_work(
    tmp_path: Path, options: list[str], more: str, method: str, said: str
) -> None:
    spread(CENSUS.to_polars().select("age", "sex", "income"), tmp_path / "source")
    if "--ledger" in options:
        assert discreet("ledger", "init", "book", "--source", "x", cwd=tmp_path).returncode == 0
    plan = write_plan(tmp_path, more, method or 'name = "generalization"')
    before = sorted(path.name for path in tmp_path.iterdir())
    refused = discreet("publish", plan, "--out", "out", *options, cwd=tmp_path)
    assert refused.returncode == 2, refused.stderr
    assert said in refused.stderr
    assert "Traceback" not in refused.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_files_that_are_not_one_table_are_refused(tmp_path: Path) -> None:
    source = spread(CENSUS.to_polars().select("age", "sex", "income"), tmp_path / "source")
    plan = write_plan(tmp_path)
    odd = pl.read_parquet(source / "0.parquet").with_columns(pl.col("age").cast(pl.String))
    odd.write_parquet(source / "9.parquet")
    refused = discreet("publish", plan, "--memory", "20KB", cwd=tmp_path)
    assert refused.returncode == 2
    assert "in 9.parquet column 'age' is String, not Int64" in refused.stderr
    odd.drop("sex").write_parquet(source / "9.parquet")
    refused = discreet("publish", plan, "--memory", "20KB", cwd=tmp_path)
    assert refused.returncode == 2
    assert "9.parquet" in refused.stderr
    (source / "9.parquet").write_bytes(b"PAR1 nothing PAR1")
    refused = discreet("publish", plan, "--memory", "20KB", cwd=tmp_path)
    assert refused.returncode == 2
    assert "Traceback" not in refused.stderr
    for path in source.iterdir():
        path.unlink()
    refused = discreet("publish", plan, "--memory", "20KB", cwd=tmp_path)
    assert (refused.returncode, "holds no Parquet file" in refused.stderr) == (2, True)
    assert not (tmp_path / "release").exists()


def test_columns_may_be_called_what_parts_are_called(tmp_path: Path) -> None:
    frame = CENSUS.to_polars()[:400].select(
        pl.col("age").alias("0 low"), pl.col("sex").alias("1 set"),
        pl.col("education").alias("row"), pl.col("household").alias("size"),
        pl.col("income").alias("c0"),
    )  # fmt: skip
    schema = dc.Schema.infer(
        frame, quasi_identifiers=["0 low", "1 set", "row", "size"], sensitive=["c0"]
    )
    require_same(dc.read(frame, schema), dc.Generalization(dc.KAnonymity(4)), tmp_path, 50)


@pytest.mark.parametrize(
    ("name", "said"), [("income_low", "needs for 'income'"), ("row", "data row 8")]
)
def test_what_is_wrong_with_a_column_is_said_as_in_memory(
    tmp_path: Path, name: str, said: str
) -> None:
    frame = CENSUS.to_polars()[:40].select(pl.col("age").alias(name), "income")
    if name == "row":
        cells = [str(cell) for cell in frame["row"]]
        frame = frame.with_columns(row=pl.Series([*cells[:7], "?", *cells[8:]]))
    schema = dc.Schema(
        (
            dc.Attribute(name, dc.Role.QUASI_IDENTIFIER, dc.Type.INTEGER),
            dc.Attribute("income", dc.Role.QUASI_IDENTIFIER, dc.Type.INTEGER),
        )
    )
    method = dc.Generalization(dc.KAnonymity(4))
    (tmp_path / "source").mkdir()
    frame.write_parquet(tmp_path / "source" / "t.parquet")
    with pytest.raises(dc.DiscreetError, match=said):
        dc.publish(dc.read(frame, schema), method)
    with pytest.raises(dc.DiscreetError, match=said):
        publish_from_disk(tmp_path / "source", schema, method, tmp_path / "d", 10)


def test_ancestors_need_a_taxonomy_from_disk_too(tmp_path: Path) -> None:
    source = spread(CENSUS.to_polars(), tmp_path / "source")
    method = dc.Generalization(dc.KAnonymity(4), categories="ancestor")
    with pytest.raises(dc.errors.SchemaError, match="needs a taxonomy"):
        publish_from_disk(source, CENSUS.schema.published, method, tmp_path / "d", 100)


def test_nothing_is_left_of_a_publication_that_was_killed(tmp_path: Path) -> None:
    frame = dc.datasets.census(30_000, sensitive="income").to_polars()
    spread(frame.select("age", "sex", "income"), tmp_path / "source")
    plan = write_plan(tmp_path)
    command = [*COMMAND, "publish", str(plan), "--memory", "20KB"]
    running = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    end = monotonic() + 120
    while not list(tmp_path.glob(".*discreet-draft/*")) and monotonic() < end:
        sleep(0.01)
    running.kill()
    running.wait()
    assert not (tmp_path / "release").exists()
    for draft in tmp_path.glob(".*discreet-draft"):
        assert draft.stat().st_mode & 0o077 == 0
    assert discreet("publish", plan, "--memory", "20KB", cwd=tmp_path).returncode == 0
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"source", "t.plan.toml", "release"}


def test_what_is_no_table_to_publish_is_refused_with_what_to_do() -> None:
    method = dc.Generalization(dc.KAnonymity(2))
    with pytest.raises(dc.errors.SchemaError, match="neither microdata nor a DataFrame of Spark"):
        dc.publish(pl.DataFrame({"age": [1, 2]}), method)  # type: ignore[call-overload]
    data = dc.datasets.census(100, sensitive="income")
    with pytest.raises(dc.errors.SchemaError, match="are for frames of Spark"):
        dc.publish(data, method, schema=data.schema, folder="release")  # type: ignore[call-overload]
