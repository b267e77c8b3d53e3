"""Columns as the different cells they have, and who is alone by them."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.table.distinct_cells import tell_apart
from discreet.table.domain import read_decimal, reduce_column
from discreet.table.people import Persons
from discreet.table.uniqueness import Uniqueness

COLUMNS = [
    (pl.String(), st.sampled_from(["a", " a", "b", "", "Ü"])),
    (pl.Int64(), st.integers(-5, 5)),
    (pl.Int64(), st.sampled_from([0, 10**18, -7])),
    (pl.UInt64(), st.sampled_from([0, 2**63 + 1])),
    (pl.Float64(), st.sampled_from([0.0, -0.0, 1.5, float("nan")])),
    (pl.Date(), st.sampled_from([dt.date(2020, 1, 2), dt.date(1950, 1, 2)])),
    (pl.Boolean(), st.booleans()),
    (pl.Decimal(12, 2), st.sampled_from([Decimal("1.20"), Decimal("7.00")])),
    (pl.Enum(["x", "y", "z"]), st.sampled_from(["x", "z"])),
    (pl.Categorical(), st.sampled_from(["x", "z"])),
    (pl.List(pl.Int64), st.sampled_from([[1], [1, 2], []])),
    (pl.Binary(), st.sampled_from([b"a", b"b"])),
    (pl.Null(), st.none()),
]


@settings(deadline=None)
@given(st.data(), st.sampled_from(COLUMNS), st.booleans())
def test_every_row_has_its_cell_and_every_cell_is_there_once(
    data: st.DataObject, kind: tuple[pl.DataType, st.SearchStrategy[object]], nulls: bool
) -> None:
    dtype, values = kind
    drawn = data.draw(st.lists(st.none() | values if nulls else values, max_size=12))
    column = pl.Series(drawn, dtype=dtype)
    apart, cells = tell_apart(column), column.to_list()

    def settle(cell: object) -> str | None:
        nothing = cell is None or cell != cell  # noqa: PLR0124
        return None if nothing else str(cell).removeprefix("-0.0") or "0.0"

    known = [*map(settle, apart.cells.to_list()), None]
    assert len(set(known)) == len(known)
    assert [known[number] for number in apart.inverse] == list(map(settle, cells))
    found, counts = apart.count()
    assert dict(zip(map(settle, found.to_list()), counts.tolist(), strict=True)) == Counter(
        map(settle, cells)
    )


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 3), st.integers(0, 4)),
             min_size=1, max_size=12),
    st.sampled_from([10, 2**20, 2**40]), st.booleans(),
)  # fmt: skip
def test_those_alone_with_and_without_each_column_are_those_counted_one_by_one(
    rows: list[tuple[int, ...]], spread: int, several: bool
) -> None:
    names = ["a", "b", "c"]
    values = [{n: row[i] * (spread - 1) for i, n in enumerate(names)} for row in rows]
    frame = pl.DataFrame(values, schema=dict.fromkeys(names, pl.Int64))
    wide = {"low": 0, "high": 3 * spread} if spread < 2**22 else {}
    data = dc.read(frame, dc.Schema(tuple(
        dc.Attribute(n, dc.Role.QUASI_IDENTIFIER, dc.Type.INTEGER, **wide) for n in names
    )))  # fmt: skip
    owners = [row[3] for row in rows] if several else list(range(len(rows)))
    if several:
        of = np.unique(owners, return_inverse=True)[1].astype(np.int64)
        data = dc.Microdata(data.schema, data.codes, data.domains, data.intake,
                            persons=Persons(of, np.arange(of.max() + 1)))  # fmt: skip

    def count(known: list[str]) -> int:
        seen: dict[tuple[int, ...], set[int]] = {}
        for row, owner in zip(values, owners, strict=True):
            seen.setdefault(tuple(row[n] for n in known), set()).add(owner)
        alone = {next(iter(who)) for who in seen.values() if len(who) == 1}
        return len(alone) if known else 0

    for known in (["a", "b", "c"], ["a", "b"], ["c"], []):
        alone = Uniqueness(data, known)
        assert alone.count == count(known) == data.count_unique(known)
        for name in names:
            left = [n for n in known if n != name] if name in known else [*known, name]
            assert alone.count_beside(name) == count(left)


def test_those_alone_are_counted_where_combinations_are_more_than_numbers() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({f"c{i}": rng.integers(0, 2000, 3000) for i in range(7)})
    data = dc.read(frame.with_columns(pl.col("c0", "c1") % 2), dc.Schema(tuple(
        dc.Attribute(n, dc.Role.QUASI_IDENTIFIER, dc.Type.INTEGER) for n in frame.columns
    )))  # fmt: skip
    for known in (frame.columns, frame.columns[:6]):
        alone = Uniqueness(data, known)
        for name in frame.columns:
            left = [n for n in known if n != name] if name in known else [*known, name]
            assert alone.count_beside(name) == data.count_unique(left)
    assert Uniqueness(data, ["c0", "c1", "c2"]).count == data.count_unique(["c0", "c1", "c2"])


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["", "-", "+"]), st.integers(0, 10**17),
                          st.text("0123456789", max_size=7)), min_size=1, max_size=8),
       st.integers(1, 9))  # fmt: skip
def test_decimals_read_together_are_those_read_one_by_one(
    written: list[tuple[str, int, str]], decimals: int
) -> None:
    texts = [f"{sign}{whole}.{rest}" if rest else f"{sign}{whole}" for sign, whole, rest in written]
    attribute = dc.Attribute("x", dc.Role.SENSITIVE, dc.Type.DECIMAL, decimals=decimals)
    exact = {text: read_decimal(text, decimals) for text in texts}
    fits = [text for text in texts if abs(exact[text] or 0) < 10**15]
    if len(fits) < len(texts):
        with pytest.raises(dc.DiscreetError, match="is not a number of up to 15 digits"):
            reduce_column(pl.Series(texts), attribute)
    if fits:
        column = reduce_column(pl.Series(fits), attribute)
        assert column.canonical[column.inverse].tolist() == [exact[text] for text in fits]
