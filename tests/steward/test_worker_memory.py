"""Worker memory: less of it is smaller leaves, and only far too little is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import discreet as dc
from discreet.steward.worker_memory import UNLIMITED, WorkerMemory, measure_own
from discreet.table.facts import survey
from discreet.table.parquet_files import ParquetFiles
from in_parts import spread


def test_workers_with_little_memory_are_given_fewer_rows(tmp_path: Path) -> None:
    frame = dc.datasets.census(100, sensitive="income").to_polars()
    schema = dc.Schema.infer(
        frame, quasi_identifiers=[c for c in frame.columns if c != "income"], sensitive=["income"]
    )
    facts = survey(ParquetFiles(spread(frame, tmp_path / "source")), schema)
    plenty, little = WorkerMemory(UNLIMITED, 2**36, 4), WorkerMemory(700 << 20, 2**36, 4)
    assert plenty.choose_capacity(facts, 10**6) == plenty.choose_records(facts, 10**6, 1) == 10**6
    assert 10**5 < little.choose_capacity(facts, 10**7) < 10**7
    assert 10**5 < little.choose_records(facts, 10**6, 1) < 10**6
    plenty.require_enough(9)
    little.require_enough(9)


def test_workers_that_hold_nothing_beside_libraries_are_refused() -> None:
    for memory in (WorkerMemory(500 << 20, 2**36, 1), WorkerMemory(UNLIMITED, 500 << 20, 1)):
        with pytest.raises(dc.errors.ClusterError, match="500 MB") as refused:
            memory.require_enough(9)
        assert "spark.executor" in str(refused.value.hint)
    assert WorkerMemory(UNLIMITED, 8 << 30, 16).share == 512 << 20  # smaller leaves, not refused
    WorkerMemory(UNLIMITED, 8 << 30, 16).require_enough(9)


def test_a_process_knows_what_it_may_use() -> None:
    own = measure_own()
    assert 0 < own.share <= own.free
    assert own.workers >= 1
