"""Roles proposed from names in several languages, and from values."""

from __future__ import annotations

import polars as pl
import pytest

import discreet as dc

HEADERS = {
    "German": (["Alter", "Geschlecht", "PLZ", "Familienstand"], ["Nettoeinkommen", "Diagnose"],
               ["Vorname", "Straße"]),
    "French": (["Âge", "Sexe", "Code postal", "État civil"], ["Revenus", "Maladie"],
               ["Prénom", "Téléphone"]),
    "Spanish": (["Edad", "Sexo", "Código postal", "Estado civil"], ["Ingresos", "Enfermedad"],
                ["Apellidos", "Teléfono"]),
    "Portuguese": (["Idade", "Município", "CEP", "Escolaridade"], ["Renda", "Doença"],
                   ["Nome", "CPF"]),
}  # fmt: skip


@pytest.mark.parametrize("language", HEADERS)
def test_headers_in_several_languages_get_roles(language: str) -> None:
    known, sensitive, names = HEADERS[language]
    frame = pl.DataFrame(
        {name: [f"{i % 7}a" for i in range(40)] for name in [*known, *sensitive]}
        | {name: [f"text {i}" for i in range(40)] for name in names}
    )
    schema = dc.Schema.infer(frame)
    assert schema.quasi_identifiers == known and schema.sensitive == sensitive
    assert [a.name for a in schema.having(dc.Role.IDENTIFIER)] == names


@pytest.mark.parametrize(("name", "cells", "role"), [
    ("hispanic", ["1", "2", "3"] * 9, dc.Role.QUASI_IDENTIFIER),
    ("disability", ["yes", "no", "part"] * 9, dc.Role.SENSITIVE),
    ("sampling_weight", [str(100 + i * 3) for i in range(27)], dc.Role.OTHER),
    ("fnlwgt", [str(100 + i * 7) for i in range(27)], dc.Role.OTHER),
    ("weight", [str(60 + i % 9) for i in range(27)], dc.Role.QUASI_IDENTIFIER),
    ("q7", ["F", "M", "F"] * 9, dc.Role.QUASI_IDENTIFIER),
    ("q8", ["weiblich", "männlich"] * 9, dc.Role.QUASI_IDENTIFIER),
    ("q9", ["E11.9", "I10.0", "J45.1"] * 9, dc.Role.SENSITIVE),
    ("q10", ["01234", "56789", "00001"] * 9, dc.Role.QUASI_IDENTIFIER),
    ("q11", ["1990-01-05", "1991-07-01", "1985-03-04"] * 9, dc.Role.QUASI_IDENTIFIER),
    ("q12", ["a@b.org", "c@d.org", "e@f.net"] * 9, dc.Role.IDENTIFIER),
    ("q13", ["123-45-6789", "987-65-4321", "555-12-3456"] * 9, dc.Role.IDENTIFIER),
    ("q14", ["blue", "red", "green"] * 9, dc.Role.OTHER),
])  # fmt: skip
def test_roles_by_names_and_by_values(name: str, cells: list[str], role: dc.Role) -> None:
    (found,) = dc.Schema.infer(pl.DataFrame({name: cells}))
    assert found.role is role, found.reason


@pytest.mark.parametrize(("name", "type_"), [
    ("industry", dc.Type.CATEGORY), ("occupation_code", dc.Type.CATEGORY),
    ("zip", dc.Type.CATEGORY), ("state", dc.Type.CATEGORY), ("age", dc.Type.INTEGER),
    ("education-num", dc.Type.INTEGER),
    ("hours-per-week", dc.Type.INTEGER), ("income", dc.Type.INTEGER),
])  # fmt: skip
def test_numbers_that_are_codes_are_categories(name: str, type_: dc.Type) -> None:
    (found,) = dc.Schema.infer(pl.DataFrame({name: [str(i * 7 % 52) for i in range(60)]}))
    assert found.type is type_, found.reason
