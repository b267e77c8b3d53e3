"""Promise: what a plan promises, what the table allows, and what it means for somebody."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from fractions import Fraction
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit

from discreet.errors import DiscreetError, SchemaError
from discreet.evaluate import tradeoff
from discreet.evaluate.charts import dress
from discreet.principles import REGISTRY, Principle, demands, make_principle
from discreet.principles.base import ratio
from discreet.principles.groups import Groups
from discreet.publishing.partitioners.histograms import histogram
from discreet.steward.plan_text import parse_plan, read_plan_text
from discreet.studio.plan_files import change_plan, read_plan
from discreet.studio.work.open import open_table
from discreet.table.microdata import Microdata
from discreet.table.schema import Type

SHARES = {"alpha": 0.01, "t": 0.01}
"""Parameters between 0 and 1, and by how much a slider moves them."""
COUNTS = ("k", "l", "m")
"""Parameters that count, and have a largest one that a table allows."""
WORDS = ("on", "distance")
"""Parameters that are no numbers."""
LONGEST_SLIDER = 50
BEGINNINGS: dict[str, dict[str, Any]] = {
    "k-anonymity": {"k": 10},
    "distinct-diversity": {"l": 2},
    "frequency-diversity": {"l": 2},
    "entropy-diversity": {"l": 2},
    "recursive-diversity": {"c": 2, "l": 2},
    "alpha-k": {"alpha": 0.5, "k": 5},
    "t-closeness": {"t": 0.3},
    "k-e": {"k": 3, "e": 10},
    "variance": {"v": 10},
    "proximity": {"epsilon": 1, "m": 2},
}
"""What is offered, and with what it begins."""
OF_NUMBERS = ("k-e", "variance", "proximity")
KNOWN_OF_SOMEBODY = 4


def look(path: Path, home: Path) -> dict[str, Any]:
    """Say what a plan promises, and of each promise whether the table allows it."""
    plan = read_plan(path, home)
    data = open_table(plan.table).read(plan.schema)
    written = parse_plan(read_plan_text(path), path)["method"]["principles"]
    numbers = [n for n in data.sensitive if data.schema[n].type in (Type.INTEGER, Type.DECIMAL)]
    offered = [title for title in BEGINNINGS if _is_about(title, data.sensitive, numbers)]
    return {
        "method": plan.method.title,
        "person": _imagine(data),
        "sensitive": data.sensitive,
        "numbers": numbers,
        "offered": [{"title": t, "said": _say_shortly(REGISTRY[t])} for t in offered],
        "cards": [_describe(number, entry, data) for number, entry in enumerate(written)],
        "curves": [_draw(data, name) for name in numbers],
    }


def set_principle(
    path: Path, home: Path, seen: str, number: int, given: Mapping[str, str]
) -> dict[str, Any]:
    """Change the parameters of one promise."""

    def change(document: Any) -> None:
        entry = _find(document, number)
        for name, text in given.items():
            if name == "on" and not text:
                entry.pop("on", None)
            else:
                entry[name] = text if name == "on" else _read_number(name, text)

    change_plan(path, home, seen, change)
    return look(path, home)


def add_principle(
    path: Path, home: Path, seen: str, title: str, given: Mapping[str, str]
) -> dict[str, Any]:
    """Promise something more."""
    if title not in BEGINNINGS:
        raise SchemaError(f"There is no principle {title!r} to add.", hint="Edit the plan.")

    def change(document: Any) -> None:
        entry = tomlkit.table()
        entry["name"] = title
        for name, value in BEGINNINGS[title].items():
            entry[name] = _read_number(name, given[name]) if name in given else value
        if given.get("relative"):
            entry["relative"] = True
        if given.get("on"):
            entry["on"] = given["on"]
        document["method"]["principles"].append(entry)

    change_plan(path, home, seen, change)
    return look(path, home)


def remove_principle(path: Path, home: Path, seen: str, number: int) -> dict[str, Any]:
    """Promise one thing less."""

    def change(document: Any) -> None:
        _find(document, number)
        del document["method"]["principles"][number]
        if not document["method"]["principles"]:
            raise SchemaError("A release must promise something.", hint="Add another one first.")

    change_plan(path, home, seen, change)
    return look(path, home)


def _find(document: Any, number: int) -> Any:
    principles = document["method"]["principles"]
    if not 0 <= number < len(principles):
        raise SchemaError("There is no such promise in the plan any more.")
    return principles[number]


def _read_number(name: str, text: str) -> int | float | str:
    """Read a parameter as plans write it: a whole number, a decimal, or a fraction."""
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    try:
        ratio(text)
    except (ValueError, ZeroDivisionError):
        raise SchemaError(f"{name} = {text!r}: is no number.") from None
    return text


def _is_about(title: str, sensitive: Sequence[str], numbers: Sequence[str]) -> bool:
    """Whether a table has what a principle is about."""
    if title in OF_NUMBERS:
        return bool(numbers)
    return bool(sensitive) or not REGISTRY[title].reads_values


def _say_shortly(kind: type[Principle]) -> str:
    """Say what a principle asks, in the words of those who publish: a bag is a group of people."""
    said = (kind.__doc__ or "").split("\n")[0].replace("``", "").replace("bag", "group")
    return said.split(" (")[0].rstrip(".") + "."


def _describe(number: int, entry: Mapping[str, Any], data: Microdata) -> dict[str, Any]:
    principle = make_principle(entry)
    settable = _list_parameters(principle)
    limits: list[dict[str, Any]] = []
    problem = None
    asked: list[tuple[Principle, str | None]] = []
    try:
        asked = list(demands(principle, data.sensitive))
        for part, name in asked:
            possible, best = part.feasible(_whole(data, name))
            limits.append({"possible": possible, "best": best})
    except DiscreetError as error:
        problem = {"message": error.message, "hint": error.hint}
    return {
        "number": number,
        "title": principle.title,
        "on": principle.on or "",
        "reads": principle.reads_values,
        "promise": principle.promise,
        "open": principle.leaves_open,
        "paper": principle.paper,
        "limits": limits,
        "possible": problem is None and all(limit["possible"] for limit in limits),
        "problem": problem,
        "somebody": _say_of_somebody(principle, [n for _, n in asked if n is not None], data),
        "parameters": [_offer(principle, name, asked, data) for name in settable],
        "others": sorted({*entry} - {"name", "on", *settable}),
    }


def _whole(data: Microdata, name: str | None) -> Groups:
    return histogram(data, name)


def _list_parameters(principle: Principle) -> list[str]:
    """Give the parameters that are one number."""
    told = principle.parameters()
    names = [f.name for f in fields(principle) if f.name in told and f.name not in WORDS]
    return [n for n in names if type(told[n]) in (int, float, str)]


def _offer(
    principle: Principle,
    name: str,
    asked: Sequence[tuple[Principle, str | None]],
    data: Microdata,
) -> dict[str, Any]:
    """Say how a parameter can be set: how far the table lets it go, and whether it slides."""
    value: Any = principle.parameters()[name]
    offer: dict[str, Any] = {"name": name, "value": value, "slides": False, "reach": None}
    if name in SHARES:
        return {**offer, "slides": True, "low": 0, "high": 1, "step": SHARES[name]}
    if name in COUNTS and asked:
        most = _find_most(name, asked, data)
        high = max(min(most, LONGEST_SLIDER), 2)
        return {**offer, "slides": isinstance(value, int) and value <= LONGEST_SLIDER, "low": 1,
                "high": max(high, value if isinstance(value, int) else 0), "step": 1,
                "reach": most}  # fmt: skip
    return offer


def _find_most(name: str, asked: Sequence[tuple[Principle, str | None]], data: Microdata) -> int:
    """Give the largest number that a parameter can be so that the table allows it."""

    def allows(number: int) -> bool:
        changed = [(replace(part, **{name: number}), on) for part, on in asked]  # type: ignore[arg-type]
        return all(part.feasible(_whole(data, on)).possible for part, on in changed)

    kept, refused = 1, data.n + 1
    while refused - kept > 1:
        middle = (kept + refused) // 2
        if allows(middle):
            kept = middle
        else:
            refused = middle
    return kept


def _imagine(data: Microdata) -> list[dict[str, str]]:
    """Give somebody who might be in the table: of each of a few attributes what most people have.

    It is nobody's record, but by chance.
    """
    return [
        {"name": name, "value": data.domains[name].write_code(int(np.argmax(data.count(name))))}
        for name in data.quasi_identifiers[:KNOWN_OF_SOMEBODY]
    ]


def _say_of_somebody(principle: Principle, names: Sequence[str], data: Microdata) -> str:
    """Say what a promise comes to for one person."""
    if not principle.reads_values:
        k = principle.look_alikes
        return (
            f"Whoever looks for this person finds at least {k} records that fit, and to say which "
            f"of them it is remains a guess of 1 in {k}."
        )
    share = principle.max_share
    if share == Fraction(1) or not names:
        return ""
    said = []
    for name in names:
        domain = data.domains[name]
        known = data.count(name)[: len(domain.values)]  # that nothing is known says nothing
        if not len(known):
            return ""
        value = domain.write_code(int(np.argmax(known)))
        what = f"near {value}" if principle.spaced else f"“{value}”"
        said.append(f"that the person's {name} is {what}")
    return f"From the release, {' or '.join(said)} is believed with at most {float(share):.0%}."


def _draw(data: Microdata, name: str) -> dict[str, Any]:
    """Draw which (ε,m) a number allows; a click on a point proposes it."""
    try:
        curve = tradeoff(data, name)
    except DiscreetError as error:
        problem = {"message": error.message, "hint": error.hint or ""}
        return {"name": name, "spec": None, "problem": problem}
    if curve.largest_m(0) < 2:
        return {"name": name, "spec": None, "problem": None}
    spec = dress(curve.chart()).to_dict()
    for row in chain(*spec["datasets"].values()):
        relative = row["kind"] == "relative"
        if row["m"] >= 2:  # one in one is no promise
            row["fill"] = {"epsilon": row["epsilon"], "m": row["m"], "relative": relative}
    return {"name": name, "spec": spec, "problem": None}
