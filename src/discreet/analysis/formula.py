"""Formulas: what is explained by what, as ``wage ~ age + sex``, and nothing else."""

from __future__ import annotations

import re
from typing import NamedTuple

from discreet.errors import QueryError, name_closest
from discreet.sql.reading import spell
from discreet.table.schema import Schema

TOKEN = re.compile(r'\s*(?:"(?P<quoted>[^"]+)"|(?P<name>\w+)|(?P<sign>\S))')
POSSIBLE = "Write attributes only: wage ~ age + sex. Names that need it stand in double quotes."


class Formula(NamedTuple):
    """An attribute, and those that it is explained by."""

    response: str
    regressors: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.response} ~ {' + '.join(self.regressors)}"


def read_formula(text: str, schema: Schema) -> Formula:
    """Read a formula, or say at which place it goes beyond what can be fitted.

    >>> from discreet.table.schema import Attribute, Role, Type
    >>> schema = Schema((Attribute("age", Role.QUASI_IDENTIFIER, Type.INTEGER),
    ...                  Attribute("pay", Role.SENSITIVE, Type.INTEGER)))
    >>> str(read_formula("Pay ~ age", schema))
    'pay ~ age'
    """
    names: list[str] = []
    expected = "name"
    for found in TOKEN.finditer(text):
        place = found.start() + len(found[0]) - len(found[0].lstrip()) + 1
        if expected == "name":
            if found["sign"] is not None:
                raise _refuse(f"{found['sign']!r} stands where an attribute should", place)
            if found["name"] is not None and found["name"].isdigit():
                raise _refuse(f"{found['name']} is a number, not an attribute", place)
            written = found["quoted"] or found["name"]
            name = find_name(written, schema)
            if name is None:
                raise QueryError(
                    f"There is no attribute {written!r} (at character {place}).",
                    hint=name_closest(written, schema.names),
                )
            names.append(name)
        elif found["sign"] != expected:
            said = found["sign"] or found["quoted"] or found["name"]
            raise _refuse(f"{said!r} stands where {expected!r} should", place)
        expected = "name" if expected != "name" else "~" if len(names) == 1 else "+"
    if len(names) < 2 or expected == "name":
        raise _refuse("the formula ends too early", len(text) + 1)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise QueryError(f"The formula has {twice!r} twice.", hint=POSSIBLE)
    return Formula(names[0], tuple(names[1:]))


def find_name(written: str, schema: Schema) -> str | None:
    """Find an attribute as questions do: any case, ``_`` for what SQL would need to quote."""
    if written in schema.names:
        return written
    alike = [name for name in schema.names if spell(name) == spell(written)]
    return alike[0] if len(alike) == 1 else None


def _refuse(what: str, place: int) -> QueryError:
    return QueryError(f"{what[0].upper()}{what[1:]} (at character {place}).", hint=POSSIBLE)
