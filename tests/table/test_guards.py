"""What people guard is read from a column that never leaves; what cannot be guarded is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import MicrodataError, SchemaError
from discreet.table.guards import list_guarded, pair_guards
from guarded import HOSPITAL, TREE, guarded_data, guarded_schema

FRAME = pl.DataFrame(HOSPITAL, schema=["age", "disease", "wish"], orient="row")


def test_everybody_guards_a_value_a_node_or_nothing() -> None:
    data = guarded_data()
    assert list(data.codes) == ["age", "disease"]
    guard_of, sets = list_guarded(data, "disease")
    told = [set() if g < 0 else set(sets[g]) for g in guard_of]
    lungs, stomach = {"flu", "pneumonia"}, {"ulcer", "gastritis"}
    assert told == [{"flu"}, set(), lungs, set(), stomach, set(), set(), {"hiv"}]


def test_pairs_say_the_same_as_runs_of_codes() -> None:
    data = guarded_data()
    codes, pairs = pair_guards(data, "disease")
    texts = data.domains["disease"].texts
    guard_of, sets = list_guarded(data, "disease")
    for row, code in enumerate(codes):
        low, high = pairs.runs[code]
        assert pairs.value_of[code] == data.codes["disease"][row]
        expected = set(sets[guard_of[row]]) if guard_of[row] >= 0 else set()
        assert set(texts[low:high]) == expected & set(texts)


def test_what_nobody_has_can_be_guarded_if_the_taxonomy_knows_it() -> None:
    rows = [(1, "flu", "typhus"), (2, "ulcer", "infection")]
    data = guarded_data(rows)
    codes, pairs = pair_guards(data, "disease")
    assert [int(high - low) for low, high in pairs.runs[codes]] == [0, 0]
    with pytest.raises(MicrodataError, match="'typhus' is no value of 'disease' and no node"):
        guarded_data(rows, tree=None)


def test_numbers_are_guarded_however_they_are_written() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3], "pay": [10, 20, 20], "wish": ["10.0", "[20, 30)", ""]})
    schema = dc.Schema.infer(
        frame, quasi_identifiers=["age"], sensitive=["pay"], guards={"wish": "pay"}
    ).with_taxonomies({"pay": dc.Intervals((10,))})
    guard_of, sets = list_guarded(dc.read(frame, schema), "pay")
    assert [sorted(sets[g]) if g >= 0 else [] for g in guard_of] == [["10"], ["20"], []]


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        ("flue", "'flue' is no value of 'disease' and no node of its taxonomy"),
        ("*", r"'\*' stands for every value of 'disease'"),
    ],
)
def test_a_guard_that_is_no_value_and_no_node_is_refused(wish: str, message: str) -> None:
    with pytest.raises(MicrodataError, match=message) as caught:
        guarded_data([*HOSPITAL, (50, "flu", wish)])
    assert "respiratory, stomach, infection" in str(caught.value.hint)


def test_a_name_that_stands_for_several_nodes_is_refused() -> None:
    tree = dc.Taxonomy.from_paths([["a", "x", "y", "*"], ["b", "z", "x", "*"]])
    with pytest.raises(MicrodataError, match="the name of several nodes"):
        guarded_data([(1, "a", "x"), (2, "b", None)], tree)


@pytest.mark.parametrize(
    "change",
    [{"role": dc.Role.QUASI_IDENTIFIER}, {"role": dc.Role.SENSITIVE}, {"keep": True}],
    ids=str,
)
def test_a_column_of_guards_that_would_be_published_is_refused(change: dict[str, object]) -> None:
    wish = guarded_schema(FRAME)["wish"]
    with pytest.raises(SchemaError, match="says what people guard and never leaves") as caught:
        replace(wish, **change)  # type: ignore[arg-type]
    assert 'role = "other"' in str(caught.value.hint)


def test_a_column_that_is_named_a_quasi_identifier_does_not_say_what_is_guarded() -> None:
    with pytest.raises(SchemaError, match="never leaves"):
        dc.Schema.infer(
            FRAME,
            quasi_identifiers=["age", "wish"],
            sensitive=["disease"],
            guards={"wish": "disease"},
        )


def test_only_one_column_guards_and_only_what_is_sensitive() -> None:
    schema = guarded_schema(FRAME)
    with pytest.raises(SchemaError, match="guards = 'age': there is no such sensitive attribute"):
        schema.changed(replace(schema["wish"], guards="age"))
    second = replace(schema["wish"], name="wish2")
    with pytest.raises(SchemaError, match="Several columns say what people guard of 'disease'"):
        dc.Schema((*schema, second))


def test_a_column_that_the_table_does_not_have_is_named() -> None:
    with pytest.raises(SchemaError, match="Column 'wish' is not in the table"):
        dc.read(FRAME.drop("wish"), guarded_schema(FRAME))
    with pytest.raises(SchemaError, match="'wisch' is not in the schema"):
        dc.Schema.infer(FRAME, sensitive=["disease"], guards={"wisch": "disease"})


def test_guards_stay_with_their_people() -> None:
    data = guarded_data()

    def told(some: dc.Microdata) -> list[tuple[str, str]]:
        codes, guards = some.guards["disease"]
        disease = some.to_polars()["disease"]
        return list(zip(disease, (guards.texts[c] for c in codes), strict=True))

    everybody = told(data)
    rows = np.array([7, 2, 0])
    assert told(data.taken(rows)) == [everybody[i] for i in rows]
    assert told(data.head(3)) == everybody[:3]
    assert sorted(told(data.sorted())) == sorted(everybody)
    dropped = FRAME.with_columns(disease=pl.Series([None, *FRAME["disease"][1:]]))
    schema = guarded_schema(FRAME)
    schema = schema.changed(replace(schema["disease"], missing=dc.Missing.DROP))
    assert told(dc.read(dropped, schema)) == everybody[1:]


def test_all_rows_of_a_person_guard_the_same() -> None:
    frame = FRAME.with_columns(pid=pl.Series([1, 1, 2, 3, 4, 5, 6, 7]))
    schema = guarded_schema(frame)
    with pytest.raises(MicrodataError, match="1 people guard different values of 'disease'"):
        dc.read(frame, schema, person="pid")
    same = frame.with_columns(wish=pl.Series(["flu", "flu", *frame["wish"][2:]]))
    folded = replace(schema, people=dc.PeopleKey(person="pid", rows="fold"))
    first = folded.changed(replace(folded["age"], fold="first"))
    data = dc.read(same, first)
    assert data.n == 7 and list_guarded(data, "disease")[0][0] >= 0
    several = first.changed(replace(first["disease"], fold="count", taxonomy=None))
    with pytest.raises(SchemaError, match="a fold by count makes others"):
        dc.read(same, several)


def test_a_schema_without_what_is_guarded_has_no_guards() -> None:
    schema = guarded_schema(FRAME)
    assert schema.only(["age", "wish"])["wish"].guards is None
    assert schema.published.names == ["age", "disease"]
    assert TREE.height == 2
