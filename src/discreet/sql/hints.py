"""Hints: values that nobody has, which whoever asks may have spelled otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import WeakKeyDictionary

from sqlglot import exp

from discreet.errors import name_closest
from discreet.release import Release
from discreet.release.labels import find_labels
from discreet.sql.query import Query
from discreet.table.schema import Type

MOST_VALUES = 10_000
"""Of attributes with more values nothing is proposed."""
_LISTED: WeakKeyDictionary[Release, dict[str, list[str]]] = WeakKeyDictionary()


def list_unknown(release: Release, questions: Sequence[Query]) -> list[str]:
    """Say which texts a question compares an attribute with that the release does not know."""
    found: dict[str, None] = {}
    for query in questions:
        parts = [query.where, *(key.expression for key in query.keys),
                 *(term.expression for term in query.terms)]  # fmt: skip
        for part in parts:
            for node in part.find_all(exp.EQ, exp.In) if part is not None else ():
                for name, text in _read_pairs(node):
                    if note := _propose(release, name, text):
                        found[note] = None
    return list(found)


def _read_pairs(node: exp.Expr) -> list[tuple[str, str]]:
    sides = [node.this, *(node.expressions or [node.expression])]
    columns = [side.name for side in sides if isinstance(side, exp.Column)]
    texts = [side.name for side in sides if isinstance(side, exp.Literal) and side.is_string]
    return [(columns[0], text) for text in texts[:50]] if len(columns) == 1 else []


def _propose(release: Release, name: str, text: str) -> str | None:
    if name not in release.schema.names or release.schema[name].type not in (
        Type.CATEGORY, Type.ORDINAL,
    ):  # fmt: skip
        return None
    values = list_values(release, name)
    if not values or text in values:
        return None
    alike = next((value for value in values if value.casefold() == text.casefold()), None)
    nearest = f"Did you mean {alike!r}?" if alike else name_closest(text, values)
    return f"Nobody has {text!r} for {name!r}. {nearest or ''}".strip()


def list_values(release: Release, name: str) -> list[str]:
    """List the texts that an attribute has in a release; none where these are too many.

    They are read once per release: every question would go through its tables again.
    """
    known = _LISTED.setdefault(release, {})
    if name not in known:
        title = next((t for t, table in release.carriers.items() if name in table.columns), None)
        sets = [] if title is None else find_labels(release, title, name).sets or []
        held = {text for texts in sets for text in texts}
        known[name] = sorted(held) if len(held) <= MOST_VALUES else []
    return known[name]
