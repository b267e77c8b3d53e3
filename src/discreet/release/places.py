"""Places: how a part of what was read from JSON is named to people."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError


def name_place(steps: tuple[int | str, ...]) -> str:
    """Name a place in a manifest.

    >>> name_place(("discreet", "attributes", 2, "decimals"))
    'discreet.attributes[2].decimals: '
    """
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
    return f"{place.removeprefix('.')}: " if place else ""


def say_first(error: ValidationError) -> str:
    """Say the first thing that is not as it should be, and where."""
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{name_place(first['loc'])}{first['msg']}"


def list_differences(one: Any, other: Any, place: tuple[int | str, ...] = ()) -> list[str]:
    """Name the places in which two manifests differ, as plain values.

    >>> list_differences({"a": 1, "b": [2, 3]}, {"a": 1, "b": [2, 4]})
    ['b[1]']
    """
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        steps = [(key, one[key], other[key]) for key in one]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        steps = list(zip(range(len(one)), one, other, strict=True))
    else:
        return [] if one == other else [name_place(place).removesuffix(": ")]
    return [p for step, a, b in steps for p in list_differences(a, b, (*place, step))]
