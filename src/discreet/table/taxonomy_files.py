"""Taxonomy files: ARX hierarchies, JSON trees in several spellings, and Amnesia hierarchies.

Every reader gives one path per leaf, leaf first and root last.
"""

from __future__ import annotations

import csv
import datetime as dt
import json
import math
import re
from calendar import monthrange
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from discreet.errors import TaxonomyError
from discreet.files import read_text, split_lines

NAMES = ("parent", "name", "cat")
BELOW = ("leaves", "children", "subcats")
NODE = 'Write each node as {"name": ..., "children": [...]}, or the tree as {"root": {"a": {}}}.'
MISSING = re.compile(r"\(?(nan|null)\b", re.IGNORECASE)
MOST_VALUES = 100_000
"""More values than that are not listed one by one from a range."""


def read_paths(path: Path, attribute: str | None) -> list[list[str]]:
    """Read the paths of a taxonomy from a file of any of these kinds."""
    try:
        text = read_text(path, encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise TaxonomyError(
            f"{path.name}: the taxonomy cannot be read ({error}).",
            hint="Give the path of a UTF-8 file.",
        ) from error
    if path.suffix.lower() == ".json":
        return _read_json(text, path.name, attribute)
    lines = split_lines(text)
    if amnesia := re.match(r"\s*(distinct|range)\s*\n\s*(name|type|height)\b", text):
        return _read_amnesia(lines, amnesia[1], path.name)
    separator = ";" if lines and ";" in lines[0] else ","
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=separator)]
    except csv.Error as error:
        raise TaxonomyError(
            f"{path.name}: the taxonomy cannot be read ({error}).",
            hint="Write one line per value: leaf;…;root.",
        ) from error
    rows = [row for row in rows if any(row)]
    if not rows:
        raise TaxonomyError(
            f"{path.name}: the taxonomy is empty.",
            hint="Write one line per value: leaf;…;root.",
        )
    return rows


def _read_json(text: str, source: str, attribute: str | None) -> list[list[str]]:
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TaxonomyError(
            f"{source}: not JSON ({error}).", hint="Check brackets, quotes and commas."
        ) from error
    if isinstance(tree, dict) and attribute in tree:
        tree = tree[attribute]
    elif isinstance(tree, dict) and tree and all(map(_is_named, tree.values())):
        raise TaxonomyError(
            f"{source}: holds trees of {', '.join(tree)}, not of {attribute or 'one attribute'}.",
            hint="Name trees after the columns of the table, or write one tree alone.",
        )
    if not isinstance(tree, dict):
        raise TaxonomyError(
            f"{source}: holds no tree.",
            hint='Write {"name": "*", "children": [...]}, or one such tree per attribute.',
        )
    return list_paths(tree, source)


def list_paths(tree: Mapping[str, Any], source: str) -> list[list[str]]:
    """List the paths of a nested tree, short ones with their leaf repeated.

    >>> list_paths({"cat": "any", "subcats": [{"cat": "a", "subcats": None}, "b"]}, "t")
    [['a', 'any'], ['b', 'any']]
    >>> list_paths({"lung": {"flu": {}, "asthma": {}}, "stomach": ["ulcer"]}, "t")
    [['flu', 'lung'], ['asthma', 'lung'], ['ulcer', 'stomach']]
    """
    paths: list[list[str]] = []

    def walk(name: str, below: Any, above: list[str]) -> None:
        path = [name.strip(), *above]
        children = _list_children(below, path, source)
        for child, grandchildren in children:
            walk(child, grandchildren, path)
        if not children:
            paths.append(path)

    try:
        for name, below in _list_children(tree, [], source):
            walk(name, below, [])
    except RecursionError as error:
        raise TaxonomyError(f"{source}: the tree is nested too deeply.") from error
    return _level(paths)


def _list_children(below: Any, path: list[str], source: str) -> list[tuple[str, Any]]:
    """Give the names of nodes and what is below each, however that is written."""
    if below is None:
        return []
    if isinstance(below, list):
        return [pair for node in below for pair in _list_children(node, path, source)]
    if isinstance(below, str):  # a leaf written as its name alone
        return [(below, None)]
    if not isinstance(below, Mapping):
        raise TaxonomyError(f"{source}: {below!r} below {path[:1]} is not a node.", hint=NODE)
    if _is_named(below):
        name = next(below[key] for key in NAMES if isinstance(below.get(key), str))
        return [(name, next((below[key] for key in BELOW if key in below), None))]
    if any(isinstance(below.get(key), list) for key in BELOW):
        raise TaxonomyError(
            f"{source}: a node below {path[:1] or 'the root'} has no name.", hint=NODE
        )
    return list(below.items())


def _is_named(node: Any) -> bool:
    return isinstance(node, Mapping) and any(isinstance(node.get(key), str) for key in NAMES)


def _level(paths: list[list[str]]) -> list[list[str]]:
    """Repeat short leaves upwards so that every path has the same number of levels."""
    longest = max(map(len, paths), default=0)
    return [[path[0]] * (longest - len(path)) + path for path in paths]


def _read_amnesia(lines: list[str], form: str, source: str) -> list[list[str]]:
    """Read lines ``parent has child child …`` after a head that says what the nodes are."""
    head = [line.split() for line in lines if " has " not in f" {line} "]
    kind = next((words[1] for words in head if len(words) > 1 and words[0] == "type"), "string")
    parents: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if "has" not in words:
            continue
        if words.index("has") != 1:
            raise TaxonomyError(
                f"{source}: line {number} does not say which node has which below it.",
                hint="Write: parent has child child …; a name holds no spaces.",
            )
        for child in words[2:]:
            if parents.setdefault(child, words[0]) != words[0]:
                raise TaxonomyError(
                    f"{source}: line {number}: {child!r} lies below {parents[child]!r} already.",
                    hint="Put every node below one parent.",
                )
    above = set(parents.values())
    paths = []
    for leaf in (node for node in parents if node not in above):
        path = [leaf]
        while path[-1] in parents and len(path) <= len(parents):
            path.append(parents[path[-1]])
        paths.append(path)
    if not paths or any(path[-1] in parents for path in paths):
        raise TaxonomyError(
            f"{source}: the hierarchy has no {'root' if paths else 'leaves'}.",
            hint="Write: parent has child child …, from the leaves up to one root.",
        )
    if kind != "string":  # their missing value is no value of a column of numbers or dates
        paths = [path for path in paths if not MISSING.match(path[0])]
    if form == "range":
        return _list_values(paths, kind, source)
    if kind in ("int", "decimal", "double"):
        paths.sort(key=lambda path: _read_number(path[0], source))
    return _level(paths)


def _list_values(paths: list[list[str]], kind: str, source: str) -> list[list[str]]:
    """List every whole number or day of each range; nodes are named by what they hold."""
    if kind not in ("int", "date"):
        raise TaxonomyError(
            f"{source}: ranges of type {kind} do not list their values.",
            hint="Say how wide they are instead: taxonomy = { intervals = [5, 10] }.",
        )
    ranges = sorted((*_read_range(path[0], kind, source), path) for path in paths)
    starts = {path[0].partition(",")[0]: low for low, _, path in ranges}
    held: list[tuple[int, list[str]]] = []
    for low, last, path in ranges:
        end = path[0].partition(",")[2]
        # a bound that two ranges share is the first value of the upper one
        high = starts[end] - 1 if starts.get(end, low) > low else last
        if low > high or (held and low <= held[-1][0]) or len(held) + high - low >= MOST_VALUES:
            raise TaxonomyError(
                f"{source}: the range {path[0]} is empty, overlaps another or is too long.",
                hint=f"Give ranges side by side, of at most {MOST_VALUES:,} values in all.",
            )
        held += [(value, path) for value in range(low, high + 1)]
    spans: dict[str, tuple[int, int]] = {}
    for value, path in held:
        for node in path:
            spans[node] = (spans.get(node, (value, value))[0], value)
    write = str if kind == "int" else lambda day: dt.date.fromordinal(day).isoformat()
    names = {node: f"[{write(low)}, {write(high)}]" for node, (low, high) in spans.items()}
    return _level([[write(value), *(names[node] for node in path)] for value, path in held])


def _read_range(text: str, kind: str, source: str) -> tuple[int, int]:
    low, _, high = text.partition(",")
    if kind == "date":
        return _read_day(low, source, last=False), _read_day(high or low, source, last=True)
    return math.ceil(_read_number(low, source)), math.floor(_read_number(high or low, source))


def _read_number(text: str, source: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise TaxonomyError(
            f"{source}: {text!r} is not a number.", hint="Give type string in its head."
        )
    return number


def _read_day(text: str, source: str, *, last: bool) -> int:
    """Read ``31/12/1990``, ``12/1990`` or ``1990`` as the first or the last day that it means."""
    try:
        year, month, day = [*map(int, reversed(text.split("/"))), 0, 0][:3]
        month = month or (12 if last else 1)
        day = day or (monthrange(year, month)[1] if last else 1)
        return dt.date(year, month, day).toordinal()
    except (ValueError, OverflowError) as error:
        raise TaxonomyError(
            f"{source}: {text!r} is not a date.", hint="Write 31/12/1990, 12/1990 or 1990."
        ) from error
