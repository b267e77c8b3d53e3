"""Microdata: cells become exact codes, or one error names everything that is wrong."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.table.arrays import count_runs, number_by_sorting, number_lists
from discreet.table.domain import read_decimal
from discreet.table.schema import Attribute, Missing, Role, Schema, Type

QI = Role.QUASI_IDENTIFIER


def one(cells: list[object], kind: Type, **options: object) -> dc.Microdata:
    schema = Schema((Attribute("x", QI, kind, **options),))  # type: ignore[arg-type]
    return dc.read(pl.DataFrame({"x": pl.Series(cells, strict=False)}), schema)


@pytest.mark.parametrize(
    ("cells", "kind", "texts"),
    [
        ([3, 1, 3], Type.INTEGER, ["1", "3"]),
        (["10", " 9", "9.0", "+9"], Type.INTEGER, ["9", "10"]),
        ([-0.0, 0.0, 1.0], Type.INTEGER, ["0", "1"]),
        ([True, False], Type.BOOLEAN, ["false", "true"]),
        (["yes", "No", "TRUE"], Type.BOOLEAN, ["false", "true"]),
        (["2020-02-29", "1969-12-31"], Type.DATE, ["1969-12-31", "2020-02-29"]),
        ([dt.datetime(2020, 1, 1, 23), dt.datetime(2020, 1, 1, 1)], Type.DATE, ["2020-01-01"]),
        (["b", "a", " a"], Type.CATEGORY, ["a", "b"]),
        ([1, 2], Type.CATEGORY, ["1", "2"]),
        ([1.0, 2.5], Type.CATEGORY, ["1", "2.5"]),
        (["01234", "1234"], Type.CATEGORY, ["01234", "1234"]),
    ],
)
def test_values_come_in_domain_order(cells: list[object], kind: Type, texts: list[str]) -> None:
    assert one(cells, kind).domains["x"].texts == texts


def test_decimals_are_exact_whole_units() -> None:
    data = one(["0.1", "0.30", "1e1", "-2"], Type.DECIMAL, decimals=2)
    assert data.domains["x"].values.tolist() == [-200, 10, 30, 1000]
    assert data.domains["x"].texts == ["-2", "0.1", "0.3", "10"]
    assert one([0.1, 0.3, 0.1 + 0.2], Type.DECIMAL, decimals=2).domains["x"].size == 2
    assert read_decimal("1e-400", 2) == 0


def test_an_ordinal_keeps_the_order_given() -> None:
    data = one(["high", "low"], Type.ORDINAL, order=("low", "mid", "high"))
    assert data.codes["x"].tolist() == [1, 0]
    with pytest.raises(dc.DiscreetError, match="'huge' in data row 2"):
        one(["low", "huge"], Type.ORDINAL, order=("low", "mid", "high"))


class TestMissing:
    frame = pl.DataFrame({"x": ["a", "?", None, " "], "y": [1, 2, None, 4]})

    def schema(self, x: Missing, y: Missing) -> Schema:
        return Schema(
            (
                Attribute("x", QI, Type.CATEGORY, missing=x, na=("?",)),
                Attribute("y", QI, Type.INTEGER, missing=y),
            )
        )

    def test_reject_names_all_columns_and_counts(self) -> None:
        with pytest.raises(dc.DiscreetError) as caught:
            dc.read(self.frame, self.schema(Missing.REJECT, Missing.REJECT))
        assert "column 'x': 3 of 4 cells are missing" in str(caught.value)
        assert "column 'y': 1 of 4 cells are missing" in str(caught.value)

    def test_value_makes_missing_the_last_code(self) -> None:
        data = dc.read(self.frame, self.schema(Missing.VALUE, Missing.VALUE))
        assert data.codes["x"].tolist() == [0, 1, 1, 1]
        assert data.domains["y"].texts == ["1", "2", "4", "(missing)"]
        assert data.intake.missing == {"x": 3, "y": 1}

    def test_drop_leaves_rows_out_counts_them_and_shrinks_domains(self) -> None:
        data = dc.read(self.frame, self.schema(Missing.DROP, Missing.VALUE))
        assert data.n == 1
        assert data.intake.dropped == 3
        assert data.rows is not None and data.rows.tolist() == [0]
        assert data.domains["y"].texts == ["1"]

    def test_dropping_every_row_is_refused(self) -> None:
        with pytest.raises(dc.DiscreetError, match="Every row has a missing value"):
            dc.read(self.frame.tail(3), self.schema(Missing.DROP, Missing.VALUE))

    def test_numbers_with_missing_have_no_distances(self) -> None:
        frame = pl.DataFrame({"a": [1, 1, 2], "pay": [1, None, 3]})
        schema = dc.Schema.infer(frame, quasi_identifiers=["a"], sensitive=["pay"])
        with pytest.raises(dc.DiscreetError, match="missing = \"drop\" for 'pay'"):
            dc.publish(dc.read(frame, schema), dc.Generalization(dc.KE(1, 1)))


def test_all_problems_of_all_columns_are_one_error() -> None:
    tree = dc.Taxonomy.from_paths([["a", "*"]])
    frame = pl.DataFrame({"n": ["1", "x"], "d": ["2020-01-01", "soon"], "c": ["a", "b"]})
    schema = Schema((Attribute("n", QI, Type.INTEGER), Attribute("d", QI, Type.DATE)))
    with pytest.raises(dc.DiscreetError) as caught:
        dc.read(frame, schema)
    assert "'x' in data row 2" in str(caught.value)
    assert "'soon' in data row 2" in str(caught.value)
    with pytest.raises(dc.DiscreetError, match="value 'b' is in the data but not a leaf"):
        dc.read(frame, Schema((Attribute("c", QI, Type.CATEGORY, taxonomy=tree),)))


def test_an_unknown_column_is_named_with_the_closest() -> None:
    with pytest.raises(dc.DiscreetError, match="Did you mean 'age'"):
        dc.read(pl.DataFrame({"age": [1]}), Schema((Attribute("agee", QI, Type.INTEGER),)))


def test_text_that_names_people_is_not_published_unchanged() -> None:
    frame = pl.DataFrame({"a": [1] * 30, "note": [f"n{i}" for i in range(30)]})
    schema = dc.Schema.infer(frame, quasi_identifiers=["a"])
    for role in (Role.SENSITIVE, Role.OTHER):
        named = replace(schema["note"], role=role, keep=role is Role.OTHER)
        with pytest.raises(dc.DiscreetError, match="it identifies people"):
            dc.read(frame, schema.changed(named))


def test_one_row_and_one_value_are_tables_too() -> None:
    data = one([7], Type.INTEGER)
    assert (data.n, data.domains["x"].size, data.count_unique()) == (1, 1, 1)
    same = one(["a"] * 5, Type.CATEGORY)
    release = dc.publish(same, dc.Generalization(dc.KAnonymity(5)))
    assert release.tables["generalized"]["x"].to_list() == ["a"] * 5
    with pytest.raises(dc.errors.PromiseError, match="k ≤ 5"):
        dc.publish(same, dc.Generalization(dc.KAnonymity(6)))


def test_unique_people_are_counted_also_where_keys_do_not_fit_a_word() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"q{i}": rng.integers(0, 50, 400) for i in range(14)})
    data = dc.read(frame, dc.Schema.infer(frame, quasi_identifiers=frame.columns))
    assert data.count_unique() == frame.is_unique().sum()


@pytest.mark.parametrize("dtype", [pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt64])
def test_integers_of_every_width_come_through(dtype: pl.DataType) -> None:
    cells = [0, 100, 45, 3] if dtype in (pl.UInt8, pl.UInt64) else [-100, 100, 45, 3]
    schema = Schema((Attribute("x", QI, Type.INTEGER),))
    data = dc.read(pl.DataFrame({"x": pl.Series(cells, dtype=dtype)}), schema)
    assert data.to_polars()["x"].to_list() == cells


@pytest.mark.parametrize(
    ("series", "kind"),
    [
        (pl.Series([2**64 - 1], dtype=pl.UInt64), Type.INTEGER),
        (pl.Series([-(2**63) + 1]), Type.INTEGER),
        (pl.Series([-(10**7)]).cast(pl.Date), Type.DATE),
        (pl.Series(["2020-01-01garbage"]), Type.DATE),
        (pl.Series([dt.time(1)]), Type.DATE),
        (pl.Series([float("inf")]), Type.INTEGER),
    ],
    ids=["uint64", "int64", "year", "garbage", "time", "infinite"],
)
def test_values_out_of_reach_are_refused(series: pl.Series, kind: Type) -> None:
    with pytest.raises(dc.DiscreetError, match="in data row 1"):
        dc.read(pl.DataFrame({"x": series}), Schema((Attribute("x", QI, kind),)))


def test_a_day_is_the_local_day() -> None:
    moment = pl.Series([dt.datetime(2020, 1, 1, 0, 30)]).dt.replace_time_zone("Europe/Helsinki")
    data = dc.read(pl.DataFrame({"x": moment}), Schema((Attribute("x", QI, Type.DATE),)))
    assert data.domains["x"].texts == ["2020-01-01"]


@pytest.mark.parametrize("cells", [[-9, 5], ["-9", "5"], ["-9.0", "5"], [-9.0, 5.0]])
@pytest.mark.parametrize("kind", [Type.INTEGER, Type.CATEGORY])
def test_a_number_that_means_missing_does_so_in_every_spelling(
    cells: list[object], kind: Type
) -> None:
    data = one(cells, kind, na=("-9",), missing=Missing.VALUE)
    assert data.domains["x"].texts == ["5", "(missing)"]


def test_the_text_for_missing_is_not_a_value() -> None:
    with pytest.raises(dc.DiscreetError, match="stands for missing cells"):
        one(["(missing)", "a"], Type.CATEGORY)
    data = one(["(missing)", "a"], Type.CATEGORY, na=("(missing)",), missing=Missing.VALUE)
    assert data.domains["x"].missing


def test_columns_of_nothing_and_of_objects_are_read() -> None:
    nothing = pl.DataFrame({"x": [None, None], "y": [1, 2]})
    data = dc.read(nothing, dc.Schema.infer(nothing, quasi_identifiers=["x", "y"]))
    assert data.domains["x"].texts == ["(missing)"]
    things = pl.DataFrame({"x": pl.Series([object, 1], dtype=pl.Object)})
    assert dc.read(things, dc.Schema.infer(things, quasi_identifiers=["x"])).n == 2


def test_true_is_one_and_decimals_stay_within_what_a_float_keeps() -> None:
    assert one([True, False], Type.DECIMAL, decimals=2).domains["x"].texts == ["0", "1"]
    assert one([1.0, 0.0], Type.BOOLEAN).domains["x"].texts == ["false", "true"]
    with pytest.raises(dc.DiscreetError, match="up to 15 digits"):
        one(["0.1234567890123456"], Type.DECIMAL, decimals=16)
    rng = np.random.default_rng(0)
    cells = [f"{x:.13f}" for x in rng.random(200)]
    data = one(cells, Type.DECIMAL, decimals=13)
    assert data.to_polars()["x"].to_list() == [float(c) for c in cells]


@pytest.mark.parametrize("name", ["*", "^a.*$", "", 'a"b', "#which"])
def test_names_that_tables_cannot_carry_are_refused(name: str) -> None:
    with pytest.raises(dc.DiscreetError, match="cannot carry"):
        Attribute(name, QI, Type.INTEGER)


def test_a_schema_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(dc.DiscreetError, match="repeats a value"):
        Attribute("x", QI, Type.ORDINAL, order=("lo", "hi", "lo"))
    with pytest.raises(dc.DiscreetError, match="how many digits"):
        Attribute("x", QI, Type.DECIMAL)
    data = one(["1", "2.0"], Type.ORDINAL, order=("2.0", "1.0"))
    assert data.codes["x"].tolist() == [1, 0]


def test_a_decimal_comma_is_recognised_and_nested_cells_are_refused() -> None:
    with pytest.raises(dc.DiscreetError, match="decimal comma"):
        one(["10,5"], Type.DECIMAL, decimals=1)
    with pytest.raises(dc.DiscreetError, match="not single values"):
        one([[1], [2]], Type.CATEGORY)


def test_many_problems_are_counted_not_all_listed() -> None:
    tree = dc.Taxonomy.from_paths([["a", "*"]])
    with pytest.raises(dc.DiscreetError, match=r"… and \d+ more") as caught:
        one([f"v{i}" for i in range(300)], Type.CATEGORY, taxonomy=tree)
    assert len(str(caught.value).splitlines()) < 20


@pytest.mark.parametrize("keys", [[], [5], [3, 1, 3, 0], [2**62, -1, 2**62], [2**50, 7, 2**50]])
def test_keys_are_numbered_in_their_order(keys: list[int]) -> None:
    values, numbers = number_by_sorting(np.array(keys, dtype=np.int64))
    assert values.tolist() == sorted(set(keys))
    assert [values[number] for number in numbers.tolist()] == keys
    found, many = count_runs(np.sort(np.array(keys, dtype=np.int64)))
    assert dict(zip(found.tolist(), many.tolist(), strict=True)) == Counter(keys)


@pytest.mark.parametrize("lists", [[], [[]], [[1, 2], [], [2, 1], [1, 2], []], [[2**62], [-1]]])
def test_lists_are_numbered_by_what_they_hold(lists: list[list[int]]) -> None:
    values = np.array([value for one in lists for value in one], dtype=np.int64)
    numbers, firsts = number_lists(np.cumsum([0, *map(len, lists)]), values)
    different = list(dict.fromkeys(map(tuple, lists)))
    assert [different[number] for number in numbers.tolist()] == [*map(tuple, lists)]
    assert [tuple(lists[first]) for first in firsts.tolist()] == different
