"""Retyping: JSON in which anything may stand anywhere, as forgers write it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

LEAVES = [
    None, True, 0, -1, 1, 2, 10**30, 1.5, 1e308, "", "x", "*", "1/0", "1e9999", "\x00", "../x",
    "set", "exact", "interval", "integer", "date", "ordinal", "labels", "other",
]  # fmt: skip
ANYTHING = st.recursive(
    st.sampled_from(LEAVES),
    lambda inside: (
        st.lists(inside, max_size=2)
        | st.dictionaries(st.sampled_from(["name", "k", ""]), inside, max_size=2)
    ),
    max_leaves=3,
)
Place = tuple[Any, ...]


def list_places(node: Any, above: Place = ()) -> Iterator[Place]:
    """List every place of a JSON value that lies below its root."""
    steps = node.items() if isinstance(node, dict) else enumerate(node)
    for step, below in steps:
        yield (*above, step)
        if isinstance(below, dict | list):
            yield from list_places(below, (*above, step))


def find(node: Any, place: Place) -> Any:
    for step in place:
        node = node[step]
    return node


def retype(value: Any) -> Any:
    """Give what says the same in another type."""
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    if isinstance(value, int):
        return float(value) if value % 2 else str(value)
    if isinstance(value, float):
        return str(value)
    if isinstance(value, str):
        return int(value) if value.lstrip("-").isdecimal() else [value]
    return list(value.items()) if isinstance(value, dict) else dict(enumerate(map(str, value)))


@st.composite
def mutate_json(draw: st.DrawFn, value: Any) -> Any:
    """Change a place or two: remove, retype, replace, put there what stands elsewhere, repeat."""
    value = json.loads(json.dumps(value))
    for _ in range(draw(st.integers(1, 2))):
        places = list(list_places(value))
        if not places:
            break
        *above, last = draw(st.sampled_from(places))
        node = find(value, tuple(above))
        match draw(st.sampled_from(["remove", "retype", "replace", "exchange", "repeat"])):
            case "remove":
                del node[last]
            case "retype":
                node[last] = retype(node[last])
            case "replace":
                node[last] = draw(ANYTHING)
            case "exchange":
                other = find(value, draw(st.sampled_from(places)))
                node[last] = json.loads(json.dumps(other))
            case "repeat":
                if isinstance(node, list):
                    node.append(node[last])
                else:
                    node[f"{last}_2"] = node[last]
    return value
