"""Hierarchies: the taxonomy of a column seen as a tree, built by a rule, grouped, or imported."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import tomlkit

from discreet.errors import DiscreetError, SchemaError, name_closest
from discreet.files import write_text
from discreet.studio.places import confine
from discreet.studio.plan_files import change_plan, read_plan, read_seen
from discreet.studio.work.open import open_table
from discreet.table.arrays import Ints
from discreet.table.schema import Attribute, Type
from discreet.table.taxonomy import (
    DATE_LEVELS,
    ROOT,
    Dates,
    Intervals,
    Prefixes,
    Taxonomy,
    TaxonomyRule,
)

IMPORTED = (".csv", ".json", ".txt")
MOST_SHOWN = 40
"""Children of a node that are listed."""
MOST_GROUPED = 200
"""Values that somebody would put into groups by hand."""
LONGEST_SPELLED = 80
"""Bytes of a column in the name of a file."""
OTHERS = "others"
"""The group of values that are in none."""


def look(path: Path, home: Path, column: str) -> dict[str, Any]:
    """Say which columns may have a hierarchy, and all about the one of a column."""
    plan = read_plan(path, home)
    opened = open_table(plan.table)
    schema = plan.fit(opened.table.frame.columns)
    columns = [a for a in schema if a.published]
    if not columns:
        raise SchemaError("No column is published.", hint="Give roles in the first step.")
    chosen = _find(columns, column) if column else columns[0]
    codes, domain = opened.table.code(replace(chosen, taxonomy=None))
    counts = np.bincount(codes, minlength=domain.size)
    texts = domain.texts[: len(domain.values)]
    return {
        "columns": [{"name": a.name, "role": str(a.role), "type": str(a.type),
                     "has": a.taxonomy is not None} for a in columns],
        "name": chosen.name,
        "type": str(chosen.type),
        "kind": _name_kind(chosen),
        "values": len(texts),
        "builders": _list_builders(chosen, texts, path, home),
        "groups": _list_groups(chosen, texts, counts),
        **_draw(opened.table, chosen, counts),
    }  # fmt: skip


def try_rule(path: Path, home: Path, column: str, given: Mapping[str, str]) -> dict[str, Any]:
    """Build a hierarchy without keeping it, and say what does not fit."""
    plan = read_plan(path, home)
    opened = open_table(plan.table)
    chosen = _find(list(plan.fit(opened.table.frame.columns)), column)
    rule = _make_rule(given, home, chosen.name)
    codes, domain = opened.table.code(replace(chosen, taxonomy=None))
    counts = np.bincount(codes, minlength=domain.size)
    return _draw(opened.table, replace(chosen, taxonomy=rule), counts)


def set_rule(
    path: Path, home: Path, seen: str, column: str, given: Mapping[str, str]
) -> dict[str, Any]:
    """Give a column a hierarchy in the plan, if it fits the table; or take it away."""
    kind = given.get("kind", "")
    if kind != "none":
        found = try_rule(path, home, column, given)
        if found["problem"]:
            raise SchemaError(found["problem"]["message"], hint=found["problem"]["hint"])

    def change(document: Any) -> None:
        section = document.get("columns", {}).get(column)
        if section is None:
            raise SchemaError(f"columns.{column}: is not in the plan.", hint="Edit the plan.")
        section.pop("taxonomy", None)
        if kind == "none":
            return
        told = tomlkit.inline_table()
        told[kind] = given["file"] if kind == "file" else _read_setting(kind, given)
        section["taxonomy"] = told

    change_plan(path, home, seen, change)
    return look(path, home, column)


def group(
    path: Path, home: Path, seen: str, column: str, groups: Mapping[str, str]
) -> dict[str, Any]:
    """Write groups of values as a hierarchy beside the plan, and give it to the column."""
    read_seen(path, seen)  # the file must not change either, if the plan did
    plan = read_plan(path, home)
    opened = open_table(plan.table)
    chosen = _find(list(plan.fit(opened.table.frame.columns)), column)
    _, domain = opened.table.code(replace(chosen, taxonomy=None))
    paths = [
        [text, groups.get(text, "").strip() or OTHERS, ROOT]
        for text in domain.texts[: len(domain.values)]
    ]
    paths.sort(key=lambda path: path[1])  # values of a group stand together
    Taxonomy.from_paths(paths, source=column)
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(paths)
    file = f"{path.name.split('.')[0]}.{_spell_in_file(column)}.groups.csv"
    place = confine(home, path.parent / file)
    write_text(place, text.getvalue(), shared=True)
    return set_rule(path, home, seen, column, {"kind": "file", "file": file})


def _spell_in_file(column: str) -> str:
    """Spell a column in the name of a file, each in a way of its own."""
    plain = re.sub(r"[^\w-]+", "_", column)
    if plain == column and len(plain.encode()) <= LONGEST_SPELLED:
        return plain
    return f"{plain[: LONGEST_SPELLED // 4]}-{hashlib.sha256(column.encode()).hexdigest()[:8]}"


def _find(columns: list[Attribute], name: str) -> Attribute:
    for attribute in columns:
        if attribute.name == name:
            return attribute
    raise SchemaError(
        f"Column {name!r} is not in the plan.", hint=name_closest(name, [a.name for a in columns])
    )


def _name_kind(attribute: Attribute) -> str:
    match attribute.taxonomy:
        case None:
            return ""
        case Intervals(widths=widths):
            return f"intervals of {', '.join(f'{width:g}' for width in widths)}"
        case Prefixes(lengths=lengths):
            return f"prefixes of {', '.join(map(str, lengths))} signs"
        case Dates(levels=levels):
            return f"by {', '.join(levels)}"
        case _:
            return "from a file"


def _list_builders(
    attribute: Attribute, texts: list[str], path: Path, home: Path
) -> dict[str, Any]:
    """Say by which rules a column can get a hierarchy, each with something to begin from."""
    built: dict[str, Any] = {"intervals": None, "dates": None, "prefixes": None}
    rule = attribute.taxonomy
    if attribute.type in (Type.INTEGER, Type.DECIMAL):
        numbers = [float(text) for text in texts] or [0.0]
        reach = max(numbers) - min(numbers)
        width = _round_width(reach / 20)
        widths = rule.widths if isinstance(rule, Intervals) else (width, 2 * width, 4 * width)
        built["intervals"] = {"said": ", ".join(f"{w:g}" for w in widths), "least": width / 5,
                              "most": _round_width(reach / 2), "first": widths[0]}  # fmt: skip
    elif attribute.type is Type.DATE:
        chosen = rule.levels if isinstance(rule, Dates) else ("month", "year")
        built["dates"] = {"levels": list(DATE_LEVELS), "chosen": list(chosen)}
    else:
        longest = max((len(text) for text in texts), default=1)
        lengths = rule.lengths if isinstance(rule, Prefixes) else (max(longest - 2, 1),)
        if longest > 1:
            built["prefixes"] = {"said": ", ".join(map(str, lengths))}
    there = [place for place in sorted(path.parent.iterdir())
             if place.suffix.lower() in IMPORTED and place.is_file()
             and place.resolve().is_relative_to(home)]  # fmt: skip
    table = read_plan(path, home).source.name
    built["files"] = [place.name for place in there if place.name != table]
    return built


def _round_width(width: float) -> float:
    """Give a round number near a width: 1, 2 or 5 times a power of ten."""
    if width <= 0:
        return 1.0
    power = 10.0 ** np.floor(np.log10(width))
    return float(min((power, 2 * power, 5 * power, 10 * power), key=lambda one: abs(one - width)))


def _list_groups(attribute: Attribute, texts: list[str], counts: Ints) -> dict[str, Any] | None:
    """Give the values with the groups that they are in now; nothing where there are too many."""
    if attribute.type.ordered or not 2 <= len(texts) <= MOST_GROUPED:
        return None
    above: dict[str, str] = {}
    if isinstance(attribute.taxonomy, Taxonomy):
        above = {path[0]: path[1] for path in attribute.taxonomy.to_paths() if len(path) > 2}
    names = list(dict.fromkeys(above.values()))
    values = [{"text": text, "count": int(n), "group": above.get(text, "")}
              for text, n in zip(texts, counts, strict=False)]  # fmt: skip
    return {"names": names, "values": values}


def _make_rule(given: Mapping[str, str], home: Path, column: str) -> Taxonomy | TaxonomyRule:
    kind = given.get("kind", "")
    if kind == "file":
        return Taxonomy.read(confine(home, given.get("file", "")), attribute=column)
    setting = _read_setting(kind, given)
    if kind == "intervals":
        return Intervals(tuple(setting))
    return Prefixes(tuple(setting)) if kind == "prefixes" else Dates(tuple(setting))


def _read_setting(kind: str, given: Mapping[str, str]) -> list[Any]:
    texts = [part for part in re.split(r"[,;\s]+", given.get("said", "")) if part]
    if kind == "dates":
        return texts
    if kind not in ("intervals", "prefixes"):
        raise SchemaError(f"There is no such hierarchy: {kind!r}.")
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        raise SchemaError(
            f"{given.get('said')!r}: are no numbers.", hint="Write 5, 10, 20."
        ) from None
    if kind == "prefixes" and not all(n.is_integer() for n in numbers):
        raise SchemaError(f"{given.get('said')!r}: signs are counted.", hint="Write 3, 1.")
    return [int(n) if n.is_integer() else n for n in numbers]


def _draw(table: Any, attribute: Attribute, counts: Ints) -> dict[str, Any]:
    """Give the tree of a hierarchy, with how many people are below each node; or what is wrong."""
    if attribute.taxonomy is None:
        return {"tree": None, "problem": None}
    try:
        codes, domain = table.code(attribute)
    except DiscreetError as error:
        return {"tree": None, "problem": {"message": error.message, "hint": error.hint}}
    tree = domain.taxonomy
    if tree is None:
        return {"tree": None, "problem": None}
    people = np.bincount(codes, minlength=domain.size)[: len(tree.leaves)]
    below = np.concatenate([[0], np.cumsum(people)])
    total = max(int(counts.sum()), 1)

    def show(number: int) -> dict[str, Any]:
        node, children = tree.nodes[number], tree.children[number]
        many = int(below[node.high] - below[node.low])
        return {
            "name": node.name,
            "values": node.high - node.low,
            "people": many,
            "share": many / total,
            "children": [show(child) for child in children[:MOST_SHOWN]],
            "more": max(0, len(children) - MOST_SHOWN),
        }

    return {"tree": show(0), "problem": None, "levels": tree.height}
