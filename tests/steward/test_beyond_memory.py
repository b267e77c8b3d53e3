"""Work beyond memory: how much is held at once follows from the limit, which is kept or refused."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.errors import SchemaError
from discreet.steward import beyond_memory
from discreet.steward.beyond_memory import (
    GROUND,
    LIBRARIES,
    choose_batch,
    choose_capacity,
    choose_records,
    publish_on_disk,
    require_enough,
)
from discreet.steward.plan import Plan
from discreet.table.facts import survey
from discreet.table.parquet_files import ParquetFiles
from in_parts import spread, write_plan

CENSUS = dc.datasets.census(4000, sensitive="income")
GB = 2**30
PROMISE = dc.KAnonymity(5)


def test_more_memory_holds_more_rows_at_once(tmp_path: Path) -> None:
    schema = CENSUS.schema.published
    facts = survey(ParquetFiles(spread(CENSUS.to_polars(), tmp_path / "source")), schema)
    assert choose_capacity(facts, GB) < choose_capacity(facts, 4 * GB)
    records = choose_records(facts, GB, PROMISE, 1)
    assert records < choose_records(facts, 4 * GB, PROMISE, 1)
    assert choose_records(facts, GB, PROMISE, 4) < records
    assert choose_batch(schema, 10**8, GB) < choose_batch(schema, 10**8, 4 * GB)
    # what all do for themselves is below the limit, whatever the others do
    for rows, each in (
        (choose_capacity(facts, GB), 112),
        (records, 720),
    ):
        assert LIBRARIES + rows * each <= GB


def test_a_limit_is_refused_that_cannot_be_kept() -> None:
    schema = CENSUS.schema.published
    require_enough(schema, 50_000_000, GROUND, PROMISE)
    require_enough(schema, 1000, 10, PROMISE)
    with pytest.raises(SchemaError, match="1,024 MB of memory are not enough") as refused:
        require_enough(schema, 10**9, GB, PROMISE)
    (asked,) = (word for word in str(refused.value.hint).split() if "MB" in word)
    require_enough(schema, 10**9, beyond_memory.read_memory(asked.strip("),")), PROMISE)


def test_classes_that_overlap_take_memory_of_their_own() -> None:
    schema, dealt = CENSUS.schema.published, dc.Proximity(epsilon=500, m=2)
    require_enough(schema, 30_000_000, GROUND, PROMISE)
    with pytest.raises(SchemaError, match="are not enough"):
        require_enough(schema, 30_000_000, GROUND, dealt)
    require_enough(schema, 30_000_000, GROUND, dealt & dc.KAnonymity(10))


def test_it_is_refused_before_any_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spread(CENSUS.to_polars().select("age", "sex", "income"), tmp_path / "source")
    plan = Plan.read(write_plan(tmp_path))
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(beyond_memory, "GROUND", 0)
    with pytest.raises(SchemaError, match="are not enough for 4,000 rows with 3 published"):
        publish_on_disk(
            plan, GB // 4, overwrite=False, examine=lambda *_: None, progress=lambda *_: None
        )
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says what a program itself used")
def test_little_memory_is_used(tmp_path: Path) -> None:
    frame = dc.datasets.census(60_000, sensitive="income").to_polars()
    spread(frame.with_columns(pl.col(pl.Enum).cast(pl.String)), tmp_path / "source")
    # what a process used counts from before it became the command, when it was one of these tests
    telling = "import atexit, pathlib, shutil; atexit.register(shutil.copyfile, "
    telling += "'/proc/self/status', 'used'); from discreet.cli import main; main()"
    command = [sys.executable, "-c", telling, "publish", str(write_plan(tmp_path))]
    subprocess.run([*command, "--memory", "20KB"], cwd=tmp_path, check=True, capture_output=True)
    found = re.search(r"^VmHWM:\s+(\d+) kB", (tmp_path / "used").read_text(), re.MULTILINE)
    assert found is not None
    assert int(found[1]) * 1024 < GROUND
