"""Whose rows are whose: keys, clusters, and what is published of a person's rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import DiscreetError, MicrodataError, SchemaError

VISITS = pl.DataFrame(
    {
        "pid": ["ann", "bob", "ann ", "cyd", "bob", "ann"],
        "zip": [10, 20, 10, 30, 20, 10],
        "cost": ["1.10", "2.25", "0.05", "3.00", "4.00", None],
        "test": ["flu", "hiv", "gout", "flu", "hiv", "flu"],
    }
)


def _schema(frame: pl.DataFrame = VISITS, **folds: str) -> dc.Schema:
    schema = dc.Schema.infer(
        frame, quasi_identifiers=["zip"], sensitive=["test"], keep=["cost"], person="pid"
    )
    return schema.changed(*(replace(schema[n], fold=how) for n, how in folds.items()))  # type: ignore[arg-type]


def _read(rows: str = "all", most_rows: int | None = None, **folds: str) -> dc.Microdata:
    schema = _schema(**folds)
    key = replace(schema.people, rows=rows, most_rows=most_rows)  # type: ignore[arg-type]
    return dc.read(VISITS, replace(schema, people=key))


def test_a_key_says_whose_rows_are_whose_and_does_not_leave() -> None:
    data = _read()
    assert data.persons is not None
    assert data.persons.of.tolist() == [0, 1, 0, 2, 1, 0]  # spaces around a key mean nothing
    assert data.persons.rows.tolist() == [3, 2, 1]
    assert "pid" not in data.codes
    assert data.public_schema.people == dc.PeopleKey()
    assert data.taken(np.array([4, 3])).persons.of.tolist() == [0, 1]  # type: ignore[union-attr]


def test_a_key_can_be_given_to_read() -> None:
    plain = replace(_schema(), people=dc.PeopleKey())
    assert dc.read(VISITS, plain).persons is None
    assert dc.read(VISITS, plain, person="pid").persons.count == 3  # type: ignore[union-attr]


def test_everybody_with_one_row_is_a_table_of_people() -> None:
    assert dc.read(VISITS.unique("zip"), _schema()).persons is None


def test_one_row_of_everybody_follows_from_what_rows_say() -> None:
    one = _read("one")
    assert one.n == 3
    assert one.persons is None
    assert one.intake.left_out == 3
    key = replace(_schema(), people=replace(_schema().people, rows="one"))
    turned = dc.read(VISITS.reverse(), key)
    assert turned.to_polars().sort("zip").equals(one.to_polars().sort("zip"))


def test_rows_are_drawn_evenly() -> None:
    frame = pl.DataFrame(
        {"pid": np.repeat(np.arange(4000), 2), "zip": 1, "test": ["a", "b"] * 4000}
    )
    frame = frame.with_columns(test=pl.col("test") + (pl.col("pid") % 97).cast(pl.String))
    schema = dc.Schema.infer(frame, quasi_identifiers=["zip"], sensitive=["test"], person="pid")
    data = dc.read(frame, replace(schema, people=replace(schema.people, rows="one")))
    first = data.to_polars()["test"].str.starts_with("a").sum()
    assert 1800 < first < 2200


def test_at_most_so_many_rows_of_everybody() -> None:
    data = _read(most_rows=2)
    assert data.n == 5
    assert data.persons.rows.tolist() == [2, 2, 1]  # type: ignore[union-attr]
    assert data.intake.left_out == 1


@pytest.mark.parametrize(
    ("how", "wanted"),
    [
        ("first", [1.1, 2.25, 3.0]),
        ("last", [None, 4.0, 3.0]),
        ("sum", [1.15, 6.25, 3.0]),
        ("mean", [0.58, 3.12, 3.0]),  # halves go to even
        ("min", [0.05, 2.25, 3.0]),
        ("max", [1.1, 4.0, 3.0]),
        ("count", [3, 2, 1]),
    ],
)
def test_numbers_are_folded_exactly(how: str, wanted: list[Any]) -> None:
    data = _read("fold", cost=how, test="first")
    assert data.to_polars()["cost"].to_list() == wanted
    assert data.to_polars()["test"].to_list() == ["flu", "hiv", "flu"]
    assert data.persons is None


def test_sets_of_what_is_not_sensitive() -> None:
    schema = dc.Schema.infer(VISITS, quasi_identifiers=["zip"], sensitive=[], person="pid")
    key = replace(schema.people, rows="fold")
    shown = replace(schema["test"], role=dc.Role.OTHER, keep=True, fold="set")
    data = dc.read(VISITS, replace(schema.changed(shown), people=key))
    assert data.to_polars()["test"].to_list() == ["flu, gout", "hiv", "flu"]
    with pytest.raises(SchemaError, match="of sets of values nobody says how likely one is"):
        replace(shown, role=dc.Role.SENSITIVE)


def test_which_row_is_taken_depends_on_no_role() -> None:
    schema = _schema()
    one = replace(schema, people=replace(schema.people, rows="one"))
    wide, narrow = dc.read(VISITS, one), dc.read(VISITS, one.only(["zip", "test"]))
    assert wide.rows.tolist() == narrow.rows.tolist()  # type: ignore[union-attr]


def test_values_of_rows_that_are_not_taken_are_in_no_domain() -> None:
    one = _read("one")
    for name, codes in one.codes.items():
        assert set(codes.tolist()) == set(range(one.domains[name].size))


def test_what_differs_must_be_folded_somehow() -> None:
    with pytest.raises(MicrodataError) as found:
        _read("fold")
    assert "'cost' differs between rows of 2 people" in found.value.message
    assert "'test' differs between rows of 1 people" in found.value.message
    assert "'zip'" not in found.value.message


def test_those_found_together_are_one() -> None:
    frame = VISITS.with_columns(home=pl.col("pid").str.strip_chars().replace("bob", "ann"))
    frame = pl.concat([frame, frame.with_columns(pid=pl.lit("dan"), home=pl.lit("dan"))])
    frame = pl.concat([frame, frame.with_columns(pid=pl.lit("eve"), home=pl.lit("eve"))])
    schema = dc.Schema.infer(
        frame, quasi_identifiers=["zip"], sensitive=["test"], person="pid", cluster="home"
    )
    data = dc.read(frame, schema)
    assert data.persons is not None
    assert data.persons.most_rows == 12
    assert len(np.unique(data.persons.units)) == 4
    assert len(np.unique(data.persons.of)) == 5


@pytest.mark.parametrize(
    ("frame", "people", "said"),
    [
        (VISITS.with_columns(pid=None), {"person": "pid"}, "6 of 6 rows have none"),
        (
            VISITS.with_columns(pid=pl.col("pid").replace("cyd", "")),
            {"person": "pid"},
            "1 of 6 rows have none",
        ),
        (VISITS, {"person": "pit"}, "pit"),
        (VISITS, {"person": "zip"}, "named both|is a quasi-identifier|never leaves"),
        (VISITS, {"person": "pid", "cluster": "pid"}, "both person and cluster"),
        (VISITS, {"person": "pid", "rows_are_people": True}, "Rows are people, but"),
        (
            VISITS.with_columns(home=pl.Series(["a", "b", "c", "d", "b", "a"])),
            {"person": "pid", "cluster": "home"},
            "1 people are in several",
        ),
        (
            VISITS.with_columns(home=pl.lit("a")),
            {"person": "pid", "cluster": "home"},
            "holds 3 of 3 people",
        ),
    ],
)
def test_bad_keys_are_one_clear_error(
    frame: pl.DataFrame, people: dict[str, Any], said: str
) -> None:
    with pytest.raises(DiscreetError, match=said):
        dc.read(
            frame,
            dc.Schema.infer(frame, quasi_identifiers=["zip"], sensitive=["test"], **people),
        )


def test_bad_keys_of_plans() -> None:
    for bad in (
        {"rows": "one"},
        {"most_rows": 2},
        {"person": "pid", "rows": "some"},
        {"person": "pid", "rows": "fold", "most_rows": 2},
        {"person": "pid", "most_rows": "2"},
        {"person": "pid", "most_rows": True},
    ):
        with pytest.raises(SchemaError):
            dc.PeopleKey(**bad)  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="it has no sum"):
        replace(_schema()["test"], fold="sum")


def test_a_repeated_name_is_refused_until_somebody_says() -> None:
    frame = pl.concat([VISITS] * 4)
    schema = dc.Schema.infer(frame, quasi_identifiers=["zip"], sensitive=["test"])
    assert schema["pid"].role is dc.Role.IDENTIFIER
    method = dc.Generalization(dc.KAnonymity(2))
    with pytest.raises(SchemaError, match=r"'pid' names people and has 3 values in 24 rows"):
        dc.publish(dc.read(frame, schema), method)
    told = replace(schema, people=dc.PeopleKey(rows_are_people=True))
    assert dc.publish(dc.read(frame, told), method).promise.people is None
    keyed = replace(schema, people=dc.PeopleKey("pid"))
    assert dc.publish(dc.read(frame, keyed), method).promise.people is not None
