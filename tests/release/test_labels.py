"""Labels: sets, intervals and exact values of releases meet each other, and only where they may."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.publishing.methods.lossy_join import EarlierAttribute
from discreet.release import Recoding, Transformation
from discreet.release.labels import Extent, read_labels
from discreet.steward.ledger import Ledger
from samples import angel_table_1a

VALUES: dict[str, list[Any]] = {
    "integer": [*range(-3, 5)],
    "decimal": [round(-0.2 + i / 10, 1) for i in range(8)],
    "date": [dt.date(2026, 2, 26) + dt.timedelta(i) for i in range(8)],
    "ordinal": ["none", "low", "mid", "high", "higher", "most", "all", "more"],
}
MISSING = "(missing)"
Shown = list[tuple[str, list[int]]]


def write_text(value: Any) -> str:
    return MISSING if value is None else f"{value:.1f}" if isinstance(value, float) else str(value)


def make(kind: str, how: str, cells: list[list[int]]) -> tuple[dc.Release, list[set[int]]]:
    """Make a release that shows an attribute in some way, and say what each row may be.

    A cell is a list of places among the values; 8 is a missing one.
    """
    values = [*VALUES[kind], None]
    order = tuple(VALUES["ordinal"]) if kind == "ordinal" else ()
    attribute = dc.Attribute(
        "x", dc.Role.QUASI_IDENTIFIER, dc.Type(kind), missing=dc.Missing.VALUE,
        order=order, decimals=1 if kind == "decimal" else None,
    )  # fmt: skip
    base = dc.publish(angel_table_1a(), dc.Generalization(dc.KAnonymity(1)))
    if how == "exact":
        meant = [{cell[0]} for cell in cells]
        table = pl.DataFrame({"x": [values[cell[0]] for cell in cells]})
        recoding = Recoding(Transformation.EXACT, missing=True)
    elif how == "set":
        meant = [set(cell) for cell in cells]
        names = [f"L{i}" for i in range(len(cells))]
        labels = {n: [write_text(values[i]) for i in sorted(cell)]
                  for n, cell in zip(names, meant, strict=True)}  # fmt: skip
        table = pl.DataFrame({"x": names})
        recoding = Recoding(Transformation.SET, labels, missing=True)
    else:
        known = [[i for i in cell if i < 8] for cell in cells]
        absent = [8 in cell for cell in cells]
        meant = [
            {*(range(min(k), max(k) + 1) if k else ()), *([8] if a else ())}
            for k, a in zip(known, absent, strict=True)
        ]
        table = pl.DataFrame({
            "x": [f"{sorted(m)}" for m in meant],
            "x_low": pl.Series([values[min(k)] if k else None for k in known]),
            "x_high": pl.Series([values[max(k)] if k else None for k in known]),
            "x_missing": absent,
        })  # fmt: skip
        recoding = Recoding(Transformation.INTERVAL, missing=True)
    made = replace(
        base, schema=dc.Schema((attribute,)), recodings={"x": recoding}, tables={"t": table}
    )
    return made, meant


CELLS = st.lists(st.lists(st.integers(0, 8), min_size=1, max_size=4), min_size=1, max_size=5)


@pytest.mark.parametrize("kind", VALUES)
@settings(max_examples=60, deadline=None)
@given(
    one=CELLS,
    other=CELLS,
    hows=st.tuples(*[st.sampled_from(["exact", "set", "interval"])] * 2),
)
def test_labels_meet_where_they_have_a_value_in_common(
    kind: str, one: list[list[int]], other: list[list[int]], hows: tuple[str, str]
) -> None:
    (left, ours), (right, theirs) = make(kind, hows[0], one), make(kind, hows[1], other)
    a, rows = read_labels(left, left.tables["t"], "x")
    b, columns = read_labels(right, right.tables["t"], "x")
    wanted = [[bool(mine & yours) for yours in theirs] for mine in ours]
    assert a.meets(b)[rows][:, columns].tolist() == wanted
    assert b.meets(a)[columns][:, rows].T.tolist() == wanted


def test_ends_that_differ_under_one_label_are_told_apart() -> None:
    release, _ = make("integer", "interval", [[0, 2], [4, 6]])
    table = release.tables["t"].with_columns(x=pl.lit("same"))
    labels, number = read_labels(release, table, "x")
    assert len(set(number.tolist())) == 2
    assert labels.low[number].tolist() == [-3, 1]


FRAME = pl.DataFrame({
    "age": np.random.default_rng(1).integers(20, 60, 60),
    "job": np.random.default_rng(2).choice(list("abc"), 60),
    "ill": np.random.default_rng(3).choice(list("xyz"), 60),
})  # fmt: skip


def read(names: list[str], quasi: list[str], taxonomy: object = None) -> dc.Microdata:
    schema = dc.Schema.infer(
        FRAME.select(names), quasi_identifiers=quasi, sensitive=["ill"] if "ill" in names else []
    )
    if taxonomy is not None:
        schema = schema.with_taxonomies({"age": taxonomy})  # type: ignore[dict-item]
    return dc.read(FRAME.select(names), schema)


def test_a_sequential_release_is_audited_against_one_that_shows_sets() -> None:
    """Ages by a taxonomy before, and in intervals now: these are the same people."""
    before = dc.publish(
        read(["age", "ill"], ["age"], dc.Intervals((10, 20))),
        dc.Generalization(dc.KAnonymity(5), categories="ancestor"),
    )
    assert before.recodings["age"].transformation is Transformation.SET
    data = read(["age", "job"], ["age", "job"])
    promise = dc.XYAnonymity(x=["age", "job"], y="people", k=3)
    release = dc.publish(data, dc.Sequential(principles=[promise], earlier=[before]))
    report = dc.audit(release, data, earlier=[before])
    assert report.problems == []


@pytest.mark.parametrize("taxonomy", [None, dc.Intervals((1, 2))])
def test_the_ledger_catches_a_breach_whether_ages_are_shown_in_intervals_or_sets(
    tmp_path: Path, taxonomy: object
) -> None:

    ledger = Ledger.init(tmp_path / "book", "people")
    coarse = read(["age", "ill"], ["age"])
    first = dc.publish(coarse, dc.Generalization(dc.KAnonymity(30)))
    ledger.publish(first, ledger.read(FRAME, coarse.schema), tmp_path / "one")
    jobs = read(["age", "job"], ["age", "job"])
    promise = dc.XYLinkability(x=["age", "job"], y=["ill"], k="2/3")
    second = dc.publish(jobs, dc.Sequential(principles=[promise], earlier=[first]))
    ledger.publish(second, ledger.read(FRAME, jobs.schema), tmp_path / "two")
    exact = read(["age", "ill"], ["age"], taxonomy)
    how = "set" if taxonomy is None else "ancestor"
    third = dc.publish(exact, dc.Generalization(dc.KAnonymity(1), categories=how))  # type: ignore[arg-type]
    broken, _ = ledger.check(third, ledger.read(FRAME, exact.schema))
    assert any(str(made.principle).startswith("xy-linkability") for made in broken)


def test_an_interval_of_nothing_but_missing_is_no_value() -> None:
    """A run of values is not the same person's as a label that only a missing value has."""
    only_missing = Extent(np.array([1]), np.array([0]), np.array([True]))
    shown = EarlierAttribute("age", None, only_missing)  # type: ignore[arg-type]
    runs = np.array([0, 0, 5]), np.array([3, 5, 5])
    assert shown.overlaps(*runs, missing=5).tolist() == [[False], [True], [True]]
