"""People who are dealt in parts: the same groups, byte for byte, and the same risks found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.auditing.part_ends import CoveredSpans
from discreet.forms import assignments
from discreet.publishing.backends.disk import DiskLeaves
from discreet.publishing.method import Method
from discreet.release.store import fingerprint
from in_parts import (
    change,
    examine,
    publish_from_disk,
    require_alike,
    require_same_audit,
    reseal,
    spread,
)

CENSUS = dc.datasets.census(2000, sensitive="income")


def correlated_table() -> dc.Microdata:
    """Numbers that go with age, so that many cuts are refused; more codes than are counted each."""
    rng = np.random.default_rng(3)
    n = 1500
    age = rng.integers(0, 90, n)
    frame = pl.DataFrame(
        {
            "wide": rng.permutation(20_000)[:n],
            "pay": (age * 100 + rng.integers(0, 900, n)) / 4,
            "age": age,
            "place": [f"p{i}" for i in rng.zipf(1.4, n) % 200],
            "sick": [f"s{i}" for i in rng.integers(0, 6, n)],
        }
    )
    known = ["wide", "age", "place"]
    return dc.read(
        frame, dc.Schema.infer(frame, quasi_identifiers=known, sensitive=["pay", "sick"])
    )


PAY = dc.Proximity(epsilon=50, m=3, on="pay")
TABLES = {
    "census": CENSUS,
    "adult": dc.datasets.adult(sensitive="age").head(1500),
    "correlated": correlated_table(),
}


@pytest.fixture(autouse=True)
def all_chances_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a part as many steps are taken as of a whole table, so more of them could be counted."""
    monkeypatch.setattr(assignments, "MOST_STEPS_IN_ALL", 10**9)
    monkeypatch.setattr(assignments, "MOST_STEPS", 2000)


def require_same(data: dc.Microdata, method: Method, folder: Path, capacity: int) -> None:
    """Publish in memory and from disk, and compare every byte; audit both."""
    schema, frame = data.schema.published, data.to_own_values()
    dc.publish(dc.read(frame, schema), method).write(folder / "memory")
    source = spread(frame, folder / "source")
    found = publish_from_disk(source, schema, method, folder / "disk", capacity)
    assert fingerprint(folder / "disk") == fingerprint(folder / "memory")
    require_same_risks(found, dc.audit(folder / "memory", data))


def require_same_risks(found: dc.auditing.AuditReport, whole: dc.auditing.AuditReport) -> None:
    """Hold what is found in parts against what is found of the whole, how near numbers are too."""
    require_same_audit(found, whole)
    assert found.proximity.keys() == whole.proximity.keys()
    for name, near in found.proximity.items():
        other = whole.proximity[name]
        pairs = [*zip(near.curve, other.curve, strict=True), (near.promised, other.promised)]
        for mine, theirs in pairs:
            assert (mine is None) == (theirs is None)
            if mine is not None and theirs is not None:
                assert mine.mean == pytest.approx(theirs.mean)
                assert replace(mine, mean=theirs.mean) == theirs


@pytest.mark.parametrize(
    ("table", "principle", "capacity", "how"),
    [
        ("census", dc.Proximity(1000, 3), 500, {}),
        ("census", dc.Proximity(0.1, 4, relative=True), 900, {"dealing": "round-robin"}),
        ("census", dc.Proximity((100, 3000), 2) & dc.KAnonymity(8), 900, {}),
        ("adult", dc.Proximity(2, 3), 500, {"categories": "ancestor"}),
        ("correlated", PAY, 60, {"dealing": "round-robin"}),
        ("correlated", PAY, 500, {}),
        ("correlated", PAY & dc.KAnonymity(9) & dc.DistinctDiversity(2, on="sick"), 60, {}),
    ],
)
def test_people_are_dealt_alike_by_whoever_holds_fewer_rows(
    tmp_path: Path, table: str, principle: dc.Principle, capacity: int, how: dict[str, str]
) -> None:
    method = dc.Generalization(principle, **how)  # type: ignore[arg-type]
    require_same(TABLES[table], method, tmp_path, capacity)


def test_where_dealing_breaks_another_promise_all_leaves_are_split_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[DiskLeaves] = []
    discard = DiskLeaves.discard

    def watch(self: DiskLeaves) -> None:
        tried.append(self)
        discard(self)

    monkeypatch.setattr(DiskLeaves, "discard", watch)
    method = dc.Generalization(PAY & dc.FrequencyDiversity(3, on="sick"))
    require_same(TABLES["correlated"], method, tmp_path, 500)
    assert len(tried) == 1


@settings(max_examples=8, deadline=None)
@given(data=st.data())
def test_any_small_table_is_dealt_alike(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    n = data.draw(st.integers(2, 60))
    numbers = st.lists(st.integers(1, 9), min_size=n, max_size=n)
    frame = pl.DataFrame(
        {
            "a": data.draw(numbers),
            "b": data.draw(st.lists(st.sampled_from("uvwxyz"), min_size=n, max_size=n)),
            "s": data.draw(numbers),
        }
    )
    schema = dc.Schema.infer(frame, quasi_identifiers=["a", "b"], sensitive=["s"])
    schema = dc.read(frame, schema).schema
    relative = data.draw(st.booleans())
    near = data.draw(st.sampled_from(["0.1", "0.5"] if relative else [0, 1, 2]))
    promise: dc.Principle = dc.Proximity(near, data.draw(st.integers(1, 3)), relative)
    others = [None, dc.KAnonymity(5), dc.DistinctDiversity(3), dc.EntropyDiversity(2)]
    other = data.draw(st.sampled_from(others))
    promise = promise if other is None else promise & other
    method = dc.Generalization(
        promise, dealing=data.draw(st.sampled_from(["local", "round-robin"]))
    )
    folder = tmp_path_factory.mktemp("dealt")
    require_alike(frame, schema, method, folder, data.draw(st.integers(1, 30)), require_same)


@pytest.mark.parametrize("shuffled", ["all", "every other"])
def test_parts_end_only_where_nobody_may_be_in_both_of_them(tmp_path: Path, shuffled: str) -> None:
    """Whoever numbers classes otherwise does not lower anybody's risk."""
    source = spread(CENSUS.to_own_values(), tmp_path / "source")
    schema = CENSUS.schema.published
    frame = CENSUS.to_own_values().select("age", "sex", "education", "income")
    schema = schema.only(frame.columns)
    method = dc.Generalization(dc.Proximity(2000, 3))
    publish_from_disk(source, schema, method, tmp_path / "r", 500)

    def renumber(table: pl.DataFrame) -> pl.DataFrame:
        count = table["class"].n_unique()
        order = np.random.default_rng(1).permutation(count)
        if shuffled == "every other":
            order = np.concatenate([np.arange(0, count, 2), np.arange(1, count, 2)])
        number = np.argsort(order).astype(np.int32)[table["class"].to_numpy()]
        return table.with_columns(pl.Series("class", number)).sort("class", maintain_order=True)

    whole = dc.audit(tmp_path / "r", dc.read(frame, schema))
    change(tmp_path / "r", "generalized", renumber)
    reseal(tmp_path / "r")
    require_same_risks(examine(tmp_path / "r", source, schema, tmp_path / "w"), whole)
    assert not list((tmp_path / "w").iterdir())


def test_somebody_reaches_from_the_first_class_that_covers_them_to_the_last(tmp_path: Path) -> None:
    spans = CoveredSpans(9, 4, tmp_path / "seen")
    spans.add(np.array([0, 1]), np.array([0, 1]), np.array([0, 2]))
    spans.add(np.array([3, 2]), np.array([4, 5]), np.array([4, 5]))
    spans.add(np.array([3]), np.array([7]), np.array([7]))
    assert np.flatnonzero(spans.close()).tolist() == [0, 2, 3, 7, 8]
    assert not list(tmp_path.iterdir())
