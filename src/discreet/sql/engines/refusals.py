"""Refusals: what an engine says of a question, in words of the question.

Engines speak of casts that nobody wrote and of lines of a statement that nobody saw.
"""

from __future__ import annotations

import re

from sqlglot import exp

from discreet.errors import QueryError

WORDS = {
    r"TINYINT|SMALLINT|INT|INTEGER|BIGINT|HUGEINT|U?INT\d+|FLOAT|DOUBLE( PRECISION)?|REAL|NUMERIC"
    r"|DECIMAL(\(.*\))?|INTEGER_LITERAL|UNSIGNED|LONG": "a number",
    r"VARCHAR|TEXT|STRING|STRING_LITERAL|UNKNOWN|CHARACTER VARYING": "a text",
    r"DATE": "a date",
    r"BOOL|BOOLEAN": "true or false",
}
VALUES = [
    r"Could not convert string '(?P<value>.*?)' to (?P<kind>\w+)",
    r'invalid (?P<kind>date) field format: "(?P<value>.*?)"',
    r'(?P<kind>date)(/time)? field value out of range: "(?P<value>.*?)"',
    r'invalid input syntax for type (?P<kind>[\w ]+): "(?P<value>.*?)"',
    r"The value '(?P<value>.*?)' of the type \S+ cannot be cast to \"(?P<kind>\w+)\"",
]
"""A value that is not of the kind that is needed where it stands."""
PAIRS = {
    r"Cannot compare values of type (?P<one>[\w(), ]+) and type (?P<two>[\w(), ]+) - ": "compared",
    r"operator does not exist: (?P<one>[\w ]+) [^\w\s]+ (?P<two>[\w ]+)": "compared",
    r"incompatible types \(\"(?P<one>.*?)\" and \"(?P<two>.*?)\"\)": "compared",
    r"Cannot mix values of type (?P<one>[\w(), ]+?) and (?P<two>[\w(), ]+?) in ": "mixed",
    r"CASE types (?P<one>[\w ]+) and (?P<two>[\w ]+) cannot be matched": "mixed",
}
CALLS = [
    r"argument types '(?P<call>\w+)\((?P<kinds>.*?)\)'",
    r"function (pg_catalog\.)?(?P<call>\w+)\((?P<kinds>.*?)\) does not exist",
]
HINT = "Compare numbers with numbers, dates with DATE '2020-01-31' and texts with quoted texts."


def refuse(engine: str, told: str, tree: exp.Expr) -> QueryError:
    """Say why an engine refuses a question.

    >>> import sqlglot
    >>> told = "Conversion Error: Could not convert string 'x' to INT32"
    >>> print(refuse("DuckDB", told, sqlglot.parse_one("SELECT 1 WHERE t.age > 'x'")).message)
    DuckDB refuses the question: age > 'x' needs a number, and 'x' is none.
    """
    return QueryError(f"{engine} refuses the question: {_reword(told, tree)}", hint=HINT)


def _reword(told: str, tree: exp.Expr) -> str:
    first = told.splitlines()[0]
    for pattern in VALUES:
        if found := re.search(pattern, first):
            value, kind = found["value"], _name(found["kind"])
            place = _find_place(value, tree)
            if place is None:
                return f"{kind} is needed where {value!r} is."
            return f"{place} needs {kind}, and {value!r} is {_deny(kind)}."
    for pattern, done in PAIRS.items():
        if found := re.search(pattern, first):
            return f"{_name(found['one'])} is {done} with {_name(found['two'])}."
    for pattern in CALLS:
        if found := re.search(pattern, first):
            kinds = ", ".join(_name(kind) for kind in found["kinds"].split(","))
            return f"{found['call'].upper()} cannot be had of {kinds}."
    return re.sub(r"^\w[\w ]* Error: ", "", first)


def _name(kind: str) -> str:
    kind = kind.strip().upper()
    return next((word for names, word in WORDS.items() if re.fullmatch(names, kind)), kind)


def _deny(kind: str) -> str:
    return "neither" if kind == "true or false" else "none"


def _find_place(value: str, tree: exp.Expr) -> str | None:
    """Find the condition in which a value was written, as the question had it."""
    for literal in tree.find_all(exp.Literal):
        if not literal.is_string or literal.this != value:
            continue
        part = literal.find_ancestor(exp.Predicate)
        if part is not None:
            bare = part.transform(
                lambda node: exp.column(node.name) if isinstance(node, exp.Column) else node
            )
            return bare.sql(dialect="duckdb")
    return None
