"""Inspection of tables beyond memory: what is found is what memory would find."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands import discreet_here as discreet
from discreet.errors import DiscreetError
from discreet.steward.inspection import Inspection, inspect_table
from discreet.steward.inspection_in_parts import inspect_in_parts, is_large
from discreet.table import parquet_files
from discreet.table.parquet_files import ParquetFiles
from in_parts import odd_table, spread

NAMES = ["age", "sex", "zip", "born", "diagnosis", "pay", "pid", "mail", "q"]
DTYPES: dict[pl.DataType, list[object]] = {
    pl.String(): ["a", " a", "b", "1", "1.0", "01", "?", "NA", "", " ", "x@y.de", "2020-01-02",
                  "yes", "no", "1.25", "Zu\u0308rich", "Zürich", "(missing)", "2020-13-45"],
    pl.Int64(): [0, 1, 2, 3, -9, 10**18, 7 * 10**18],
    pl.Float64(): [0.0, -0.0, 1.0, 1.5, float("nan"), float("inf"), 1e-9],
    pl.Decimal(12, 2): [Decimal("1.20"), Decimal("1.25"), Decimal(7)],
    pl.Date(): [dt.date(2020, 1, 2), dt.date(1950, 1, 2)],
    pl.Datetime("us"): [dt.datetime(2020, 1, 2, 3), dt.datetime(2020, 1, 2, 4)],
    pl.Boolean(): [True, False],
    pl.Categorical(): ["a", "b", "1", "?"],
    pl.Null(): [None],
    pl.List(pl.Int64): [[1], [2]],
}  # fmt: skip


@st.composite
def columns(draw: st.DrawFn, height: int) -> pl.Series:
    dtype = draw(st.sampled_from(list(DTYPES)[:-1] * 3 + list(DTYPES)[-1:]))
    usual = draw(st.lists(st.sampled_from([None, *DTYPES[dtype]]), min_size=1, max_size=4))
    return pl.Series(draw(st.lists(st.sampled_from(usual), min_size=height, max_size=height)),
                     dtype=dtype)  # fmt: skip


@st.composite
def strayed(draw: st.DrawFn, height: int) -> pl.Series:
    """Numbers or dates, of which some cells are none."""
    write = draw(st.sampled_from(["{0}", "{0},5", "{0} €", "{0}.03.19{0}", "{0}.03.{0}"]))
    cells = [write.format(10 + row % 19) for row in range(height)]
    odd = ["12O", " >100 ", "k.A.", "unknown", "00.00.0000", "00.00.00", "01", None]
    for row in draw(st.lists(st.integers(0, height - 1), max_size=2)):
        cells[row] = draw(st.sampled_from(odd))  # type: ignore[call-overload]
    return pl.Series(cells, dtype=pl.String)


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    height = draw(st.sampled_from([1, 3, 24, 48]))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=6, unique=True))
    frame = pl.DataFrame(
        {name: draw(st.one_of(columns(height), strayed(height))) for name in names}
    )
    if draw(st.booleans()):
        people = [f"{i} "[: 1 + i % 2] for i in range(1, height + 1)]
        keys = draw(st.lists(st.sampled_from(people), min_size=height, max_size=height))
        frame = frame.with_columns(patient=pl.Series(keys))
    return frame


def attempt(found: object) -> Inspection | str:
    try:
        return found()  # type: ignore[operator, no-any-return]
    except DiscreetError as error:
        return error.message.split(" in data row ")[0].split(";")[0]


@settings(deadline=None, max_examples=12)
@given(frame=tables(), at_once=st.sampled_from([1, 2, 100]))
def test_drawn_tables_look_the_same_in_parts(frame: pl.DataFrame, at_once: int) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        # of few rows most of 256 pieces are empty, and every one is looked for
        patch.setattr(parquet_files, "PIECES", 16)
        place = Path(folder)
        spread(frame, place / "source", files=2)
        whole = attempt(lambda: inspect_table(place / "source", place))
        scan = ParquetFiles(place / "source")
        told: list[str] = []
        found = attempt(
            lambda: inspect_in_parts(scan, "source", at_once, lambda *said: told.append(said[0]))
        )
    assert found == whole
    assert told[0] == "Reading"


def test_the_command_says_and_drafts_the_same_whatever_memory_it_has(tmp_path: Path) -> None:
    keys = pl.Series([f"p{row % 2000}" for row in range(3000)])
    frame = odd_table().to_polars().with_columns(patient=keys, nothing=pl.lit(None))
    spread(frame.rename({"illness": "diagnosis"}), tmp_path / "source")
    assert is_large(tmp_path / "source", 100_000)
    said = {}
    for memory in ("4GB", "100KB"):
        done = discreet("inspect", "source", "--memory", memory, "--overwrite", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        plan = (tmp_path / "source.plan.toml").read_text()
        told = discreet("inspect", "source", "--memory", memory, "--overwrite", "--json",
                        cwd=tmp_path)  # fmt: skip
        said[memory] = done.stdout, plan, told.stdout
    assert said["4GB"] == said["100KB"]
    assert 'file = "source"' in said["4GB"][1]
    assert "of 2,000 people" in said["4GB"][0]
    spread(frame.select("age"), tmp_path / "one")
    (tmp_path / "one" / "0.parquet").rename(tmp_path / "one.parquet")
    done = discreet("inspect", "one.parquet", "--memory", "1KB", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_bad_input_beyond_memory_is_one_error(tmp_path: Path) -> None:
    frame = odd_table().to_polars()
    frame.write_parquet(tmp_path / "whole.parquet")
    (tmp_path / "torn.parquet").write_bytes((tmp_path / "whole.parquet").read_bytes()[:5000])
    (tmp_path / "empty").mkdir()
    spread(frame, tmp_path / "two")
    frame.drop("age").write_parquet(tmp_path / "two" / "9.parquet")
    before = {path.name for path in tmp_path.iterdir()}
    for command, message in (
        (["torn.parquet"], "torn.parquet: cannot be read"),
        (["two"], "column 'age' is not there"),
        (["empty"], "holds no Parquet file"),
        (["whole.parquet", "--memory", "much"], "is no amount of memory"),
        (["s3a://bucket/table"], "only a cluster reads that"),
        (["whole.parquet", "--engine", "spork://x"], "is no address of Spark"),
    ):
        memory = [] if "--memory" in command else ["--memory", "100KB"]
        done = discreet("inspect", *command, *memory, cwd=tmp_path)
        assert done.returncode == 2, done.stderr
        assert message in done.stderr
        assert "Hint: " in done.stderr and "Traceback" not in done.stderr
        assert done.stdout == ""
    assert {path.name for path in tmp_path.iterdir()} == before
