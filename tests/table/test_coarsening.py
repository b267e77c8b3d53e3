"""Top and bottom codes, rounding and micro-aggregation: what is read is what is shown."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import MicrodataError, SchemaError
from discreet.table.coarsening import Coarsening, aggregate, describe_coarsening

QI, OTHER = dc.Role.QUASI_IDENTIFIER, dc.Role.OTHER


def number(**settings_: Any) -> dc.Attribute:
    return dc.Attribute("x", QI, dc.Type.INTEGER, **settings_)


def read(values: list[Any], attribute: dc.Attribute) -> list[Any]:
    frame = pl.DataFrame({"x": values}, strict=False)
    return dc.read(frame, dc.Schema((attribute,))).to_polars()["x"].to_list()


def test_codes_take_all_beyond_them_and_the_rest_is_rounded_between_them() -> None:
    ages = [3, 16, 17, 32, 33, 37, 38, 89, 90, 97]
    shown = [16, 16, 20, 30, 35, 35, 40, 85, 90, 90]
    assert read(ages, number(top=90, bottom=16, round=5)) == shown
    assert read([-7, -5, 4, 5, 14, 15], number(round=10)) == [-10, 0, 0, 10, 10, 20]  # halves up


def test_decimals_dates_and_missing_cells_keep_what_they_are() -> None:
    pay = dc.Attribute("x", QI, dc.Type.DECIMAL, decimals=2, top=9.5, round="0.25")
    assert read([0.12, 0.13, 9.49, 9.5, 1000.0], pay) == [0.0, 0.25, 9.25, 9.5, 9.5]
    born = dc.Attribute("x", QI, dc.Type.DATE, bottom="1930-01-01")
    assert [str(d) for d in read(["1911-05-06", "1930-01-01", "1999-12-31"], born)] == [
        "1930-01-01", "1930-01-01", "1999-12-31",
    ]  # fmt: skip
    gone = number(top=5, missing=dc.Missing.VALUE)
    assert read([1, None, 7], gone) == [1, None, 5]


def test_groups_are_of_people_who_are_left_and_show_their_mean() -> None:
    frame = pl.DataFrame({"x": [1, 2, 3, 50, 60, 61], "d": ["a", "a", "b", "b", None, "a"]})
    dropped = dc.Attribute("d", dc.Role.SENSITIVE, dc.Type.CATEGORY, missing=dc.Missing.DROP)
    data = dc.read(frame, dc.Schema((number(aggregate=2), dropped)))
    assert data.to_polars()["x"].to_list() == [2, 2, 2, 56, 56]  # (50 + 61) / 2, halves up
    assert data.to_own_values()["x"].to_list() == [1, 2, 3, 50, 61]
    assert data.head(2).to_polars()["x"].to_list() == [2, 2]
    assert read([4, None, 9, 9], number(aggregate=3, missing=dc.Missing.VALUE)) == [7, None, 7, 7]


@given(
    st.lists(st.integers(-30, 30), min_size=1, max_size=40),
    st.integers(1, 12), st.none() | st.integers(-20, 0), st.none() | st.integers(13, 25),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_what_a_value_stands_for_is_what_is_shown_as_it(
    asked: list[int], base: int, bottom: int | None, top: int | None
) -> None:
    coarse = Coarsening.of(number(round=base, bottom=bottom, top=top, low=-99, high=99))
    assert coarse is not None
    every = np.arange(-99, 100)
    shown = coarse.show(every)
    assert (np.diff(shown) >= 0).all() and (coarse.show(shown) == shown).all()
    for value in {*asked, *shown.tolist()} & {*range(int(shown[0]), int(shown[-1]) + 1)}:
        at = np.array([value])
        least, most = int(coarse.least(at)[0]), int(coarse.most(at)[0])
        if abs(value) < 70:  # farther out, multiples of what is shown are beyond the range tried
            assert least == (every[shown >= value].min())
            assert most == (every[shown <= value].max())


def measure_loss(people: list[int], starts: list[int]) -> float:
    groups = [people[a:b] for a, b in zip(starts, [*starts[1:], len(people)], strict=True)]
    return sum((v - sum(g) / len(g)) ** 2 for g in groups for v in g)


@given(st.lists(st.integers(0, 12), min_size=2, max_size=9), st.integers(2, 4))
@settings(max_examples=80, deadline=None)
def test_groups_lose_least_of_all_that_keep_equal_values_together(
    people: list[int], k: int
) -> None:
    people.sort()
    values, weights = np.unique(people, return_counts=True)
    if len(people) < k:
        with pytest.raises(MicrodataError, match="fewer than a group of aggregate"):
            aggregate(values, weights, k, "x")
        return
    of = dict(zip(values.tolist(), aggregate(values, weights, k, "x").tolist(), strict=True))
    shown = [of[v] for v in people]
    starts = [i for i in range(len(shown)) if i == 0 or shown[i] != shown[i - 1]]
    sizes = np.diff([*starts, len(people)])
    assert sizes.min() >= k
    cuts = [i for i in range(1, len(people)) if people[i] != people[i - 1]]
    allowed = [
        [0, *chosen]
        for size in range(len(cuts) + 1)
        for chosen in combinations(cuts, size)
        if min(np.diff([0, *chosen, len(people)])) >= k
    ]
    best = min(measure_loss(people, starts) for starts in allowed)
    assert measure_loss(people, starts) == pytest.approx(best)


def test_the_order_of_rows_does_not_matter_and_large_numbers_do_not_overflow() -> None:
    values = [7, 1, 900, 3, 2, 2, 850, 40]
    there = dict(zip(values, read(values, number(aggregate=3)), strict=True))
    assert dict(zip(values[::-1], read(values[::-1], number(aggregate=3)), strict=True)) == there
    huge = [4 * 10**18 + i for i in range(4)]
    assert read(huge, number(aggregate=4)) == [4 * 10**18 + 2] * 4


BAD: list[tuple[dict[str, Any], str]] = [
    ({"top": 10, "bottom": 10}, "columns.x.top: 10 is not above bottom = 10"),
    ({"round": 0}, "columns.x.round: 0 has no multiples"),
    ({"round": -5}, "columns.x.round"),
    ({"round": True}, "columns.x.round: True is no integer"),
    ({"top": 1.5}, "columns.x.top: 1.5 is no integer"),
    ({"top": "old"}, "columns.x.top: 'old' is no integer"),
    ({"aggregate": 1}, "columns.x.aggregate: groups of at least 1 people"),
    ({"aggregate": 5, "top": 9}, "columns.x.top: micro-aggregation stands alone"),
    ({"bottom": 11, "top": 14, "round": 10}, "columns.x.round: there is no multiple of 10"),
    ({"top": 200, "low": 0, "high": 120}, "columns.x.top: 200 is not in the column's public"),
    ({"type": dc.Type.CATEGORY, "top": 3}, "columns.x.top: a column of type category has none"),
    ({"type": dc.Type.DATE, "round": 3}, "columns.x.round: a column of type date has none"),
    ({"role": dc.Role.IDENTIFIER, "round": 3}, "columns.x.round: an identifier never leaves"),
    ({"role": dc.Role.SENSITIVE, "top": 3}, "columns.x.top: sensitive values are published"),
    ({"role": dc.Role.OTHER, "top": 3}, "columns.x.top: the column is not published"),
]


@pytest.mark.parametrize(("settings_", "said"), BAD)
def test_settings_that_make_no_sense_are_refused_by_name(
    settings_: dict[str, Any], said: str
) -> None:
    with pytest.raises(SchemaError) as error:
        dc.Attribute("x", **{"role": QI, "type": dc.Type.INTEGER, **settings_})
    assert said in error.value.message and error.value.hint


def test_a_plan_declares_them_and_errors_name_the_place(tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    text = (
        '[source]\nfile = "t.csv"\n[columns.age]\nrole = "quasi-identifier"\ntype = "integer"\n'
        'top = {top}\nbottom = 16\nround = 5\n[columns.d]\nrole = "sensitive"\n'
        '[method]\nname = "generalization"\nprinciples = [{{ name = "k-anonymity", k = 2 }}]\n'
    )
    plan.write_text(text.format(top=90))
    (tmp_path / "t.csv").write_text("age,d\n97,a\n91,b\n20,a\n18,b\n")
    assert dc.read(tmp_path / "t.csv", plan).to_polars()["age"].to_list() == [90, 90, 20, 20]
    plan.write_text(text.format(top=9))
    with pytest.raises(SchemaError, match=r"plan.toml: columns.age.top: 9 is not above"):
        dc.read(tmp_path / "t.csv", plan)


def test_words_say_what_was_done() -> None:
    assert describe_coarsening(number(bottom=16, top=90, round=5)) == (
        "16 means 16 or less; 90 means 90 or more; rounded to the nearest multiple of 5 between "
        "them, halves up"
    )
    assert describe_coarsening(number(round=5)) == "rounded to the nearest multiple of 5, halves up"
    assert describe_coarsening(number()) == ""


@pytest.mark.parametrize("trees", [True, False])
def test_public_domains_end_where_their_ends_are_shown(trees: bool) -> None:
    from discreet.table.public_domain import widen

    age = number(top=90, round=5, low=0, high=120,
                 taxonomy=dc.Intervals((10,)) if trees else None)  # fmt: skip
    data = widen(dc.read(pl.DataFrame({"x": [33, 97]}), dc.Schema((age,))), trees=trees)
    values = data.domains["x"].values.tolist()
    assert values == ([*range(0, 90, 5), 90] if trees else [0, 35, 90])
