"""Sets of items: however a cell spells a set, it is read as one."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.table.facts import survey
from discreet.table.item_sets import EMPTY, split_items, write_items
from discreet.table.parquet_files import ParquetFiles
from discreet.table.schema import Attribute, Role, Schema, Type


def read(cells: object, **settings: object) -> dc.Microdata:
    attribute = Attribute("items", Role.SENSITIVE, Type.SET, **settings)  # type: ignore[arg-type]
    series = pl.Series("items", cells)  # type: ignore[arg-type]
    return dc.read(series.to_frame(), Schema((attribute,)))


ITEMS = st.lists(st.sampled_from(["flu", "gout", "hiv", "Zürich", "1"]), max_size=4)


@settings(max_examples=30, deadline=None)
@given(sets=st.lists(ITEMS, min_size=1, max_size=6))
def test_lists_and_texts_of_the_same_items_are_the_same_sets(sets: list[list[str]]) -> None:
    texts = [";".join(f" {item} " for item in reversed(items)) for items in sets]
    lists = read(pl.Series(sets, dtype=pl.List(pl.String)), separator=";")
    spelled = read(pl.Series(texts, dtype=pl.String), separator=";")
    assert lists.domains["items"].texts == spelled.domains["items"].texts
    assert lists.codes["items"].tolist() == spelled.codes["items"].tolist()
    held = [lists.domains["items"].item_sets[code] for code in lists.codes["items"]]
    assert held == [tuple(sorted(set(items))) for items in sets]


def test_an_empty_set_is_a_set_and_a_missing_one_is_none() -> None:
    data = read(["a|b", "", None, " | ", EMPTY, "n/a"], na=("n/a",), missing=dc.Missing.DROP)
    assert data.domains["items"].texts == [EMPTY, "a|b"]
    assert (data.n, data.intake.dropped) == (5, 1)
    assert data.domains["items"].item_sets == [(), ("a", "b")]
    with pytest.raises(dc.DiscreetError, match="1 of 2 cells are missing"):
        read(pl.Series([["a"], None]))


def test_one_unicode_form_and_one_spelling_of_numbers_is_one_item() -> None:
    assert split_items("Zu\u0308rich|1.0|Z\u00fcrich|1", "|") == ("1", "Zürich")
    assert split_items(write_items(["b", "a"], ", "), ", ") == ("a", "b")
    assert read(pl.Series([[1, 2], [2, 1]])).domains["items"].texts == ["1|2"]


@pytest.mark.parametrize(
    ("cells", "told", "said"),
    [
        (pl.Series([["a|b"], ["c"]]), {}, r"'a\|b' holds the separator"),
        (["a", f"b|{EMPTY}"], {}, "stands for a set without items"),
        ([[["a"]]], {}, "not lists of items"),
        (["a"], {"separator": " "}, "cannot separate items"),
        (["a"], {"missing": dc.Missing.VALUE}, "no value of its own"),
    ],
    ids=["separator in an item", "empty and not", "nested", "blank separator", "missing value"],
)
def test_what_is_no_set_is_refused(cells: object, told: dict[str, object], said: str) -> None:
    with pytest.raises(dc.DiscreetError, match=said) as caught:
        read(cells, **told)
    assert caught.value.hint


def test_a_set_is_sensitive_and_a_separator_is_of_sets() -> None:
    with pytest.raises(dc.DiscreetError, match="cannot be a quasi-identifier"):
        Attribute("items", Role.QUASI_IDENTIFIER, Type.SET)
    with pytest.raises(dc.DiscreetError, match="cannot be kept"):
        Attribute("items", Role.OTHER, Type.SET, keep=True)
    with pytest.raises(dc.DiscreetError, match="only a set has a separator"):
        Attribute("items", Role.SENSITIVE, Type.CATEGORY, separator=";")


def test_sets_beyond_memory_are_refused_before_any_work(tmp_path: Path) -> None:
    pl.DataFrame({"items": [["a"], ["b"]]}).write_parquet(tmp_path / "sets.parquet")
    schema = Schema((Attribute("items", Role.SENSITIVE, Type.SET),))
    with pytest.raises(dc.DiscreetError, match="with sets of items yet"):
        survey(ParquetFiles(tmp_path / "sets.parquet"), schema)


def test_a_column_of_lists_is_proposed_as_sets() -> None:
    frame = pl.DataFrame({"age": [1, 2], "items": [["a"], ["b", "a"]]})
    schema = dc.Schema.infer(frame, sensitive=["items"])
    assert schema["items"].type is Type.SET
    assert dc.read(frame, schema).domains["items"].texts == ["a", "a|b"]
