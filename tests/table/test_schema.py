"""Schema: roles and types are proposed with reasons, clashes are refused."""

from __future__ import annotations

import polars as pl
import pytest

import discreet as dc
from discreet.table.schema import Missing, Role, Type

N = 40
FRAME = pl.DataFrame(
    {
        "patient_id": range(1000, 1000 + N),
        "fullName": [f"Person {chr(65 + i % 26)}{i}" for i in range(N)],
        "mail": [f"p{i}@example.org" for i in range(N)],
        "zip": [f"0{1000 + i % 9}" for i in range(N)],
        "birth_date": ["1980-05-17", "1971-01-02"] * (N // 2),
        "gender": ["F", "M"] * (N // 2),
        "smoker": ["yes", "no"] * (N // 2),
        "bmi": [f"{20 + i % 7}.{i % 10}" for i in range(N)],
        "visits": ["1", "2", "NA", "3"] * (N // 4),
        "country": ["NA", "DE"] * (N // 2),
        "Diagnosis": ["flu", "gout", "?", "flu"] * (N // 4),
        "remark": ["x", "y"] * (N // 2),
    }
)


@pytest.mark.parametrize(
    ("name", "role", "kind"),
    [
        ("patient_id", Role.IDENTIFIER, Type.INTEGER),
        ("fullName", Role.IDENTIFIER, Type.CATEGORY),
        ("mail", Role.IDENTIFIER, Type.CATEGORY),
        ("zip", Role.QUASI_IDENTIFIER, Type.CATEGORY),
        ("birth_date", Role.QUASI_IDENTIFIER, Type.DATE),
        ("gender", Role.QUASI_IDENTIFIER, Type.CATEGORY),
        ("smoker", Role.OTHER, Type.BOOLEAN),
        ("bmi", Role.OTHER, Type.DECIMAL),
        ("visits", Role.OTHER, Type.INTEGER),
        ("Diagnosis", Role.SENSITIVE, Type.CATEGORY),
        ("remark", Role.OTHER, Type.CATEGORY),
    ],
)
def test_roles_and_types_are_proposed_with_a_reason(name: str, role: Role, kind: Type) -> None:
    attribute = dc.Schema.infer(FRAME)[name]
    assert (attribute.role, attribute.type) == (role, kind)
    assert attribute.reason


def test_na_means_missing_among_numbers_but_may_be_namibia_among_texts() -> None:
    schema = dc.Schema.infer(FRAME)
    assert schema["visits"].na == ("NA",) and schema["visits"].missing is Missing.VALUE
    assert schema["country"].na == ()
    assert schema["Diagnosis"].na == ("?",)


def test_given_roles_win_and_close_the_list() -> None:
    schema = dc.Schema.infer(FRAME, quasi_identifiers=["remark"], sensitive=["bmi"])
    assert schema.quasi_identifiers == ["remark"]
    assert schema.sensitive == ["bmi"]
    assert schema["gender"].role is Role.OTHER


def test_role_clashes_and_unknown_columns_are_refused() -> None:
    with pytest.raises(dc.DiscreetError, match="named both quasi-identifier and sensitive"):
        dc.Schema.infer(FRAME, quasi_identifiers=["bmi"], sensitive=["bmi"])
    with pytest.raises(dc.DiscreetError, match="Did you mean 'gender'"):
        dc.Schema.infer(FRAME, quasi_identifiers=["gendre"])
    with pytest.raises(dc.DiscreetError, match="cannot be kept"):
        dc.Schema.infer(FRAME, keep=["mail"])
    with pytest.raises(dc.DiscreetError, match="no order"):
        dc.Attribute("x", Role.OTHER, Type.ORDINAL)


def test_an_error_leaves_what_was_loaded_as_it_was() -> None:
    tree = dc.Taxonomy.from_paths([["F", "*"], ["M", "*"]])
    schema = dc.Schema.infer(FRAME).with_taxonomies({"gender": tree})
    with pytest.raises(dc.DiscreetError, match="not in the schema"):
        schema.with_taxonomies({"gender": dc.Prefixes((1,)), "nobody": tree})
    assert schema["gender"].taxonomy is tree


def test_floats_of_many_digits_are_rounded_and_it_is_said() -> None:
    frame = pl.DataFrame({"x": [123456.123456789012345, 0.1]})
    attribute = dc.Schema.infer(frame, quasi_identifiers=["x"])["x"]
    assert attribute.type is Type.DECIMAL
    assert attribute.decimals is not None and attribute.decimals <= 12
    dc.read(frame, dc.Schema((attribute,)))
