"""Taxonomies: trees over the values of an attribute, read from files or built by a rule.

A taxonomy fixes two things: the left-to-right order of an attribute's values, and the names
under which several of them may be published together.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from discreet.errors import TaxonomyError, list_problems
from discreet.table.taxonomy_files import list_paths, read_paths

ROOT = "*"
WHOLE_AS_DECIMAL = re.compile(r"^(-?\d+)\.0+$")


def canonical_text(text: str) -> str:
    """Write a text in the one way all spellings of it share.

    >>> canonical_text(" 1.0 "), canonical_text("-0"), canonical_text("Zu\u0308rich")
    ('1', '0', 'Zürich')
    """
    text = unicodedata.normalize("NFC", text.strip())
    text = WHOLE_AS_DECIMAL.sub(r"\1", text)
    return "0" if text == "-0" else text


@dataclass(frozen=True)
class Node:
    """A named run of leaves: the values ``leaves[low:high]`` of its taxonomy."""

    name: str
    low: int
    high: int
    depth: int
    parent: int


@dataclass(frozen=True)
class Taxonomy:
    """A tree over values. Nodes are in preorder, so every node is a run of leaves.

    >>> t = Taxonomy.from_paths([["flu", "lung"], ["asthma", "lung"], ["ulcer", "stomach"]])
    >>> t.leaves
    ('flu', 'asthma', 'ulcer')
    >>> t.ancestor(0, 1).name, t.ancestor(1, 2).name
    ('lung', '*')
    >>> t.cover([0, 1])
    'lung'
    """

    leaves: tuple[str, ...]
    nodes: tuple[Node, ...]

    @staticmethod
    def from_paths(paths: Sequence[Sequence[str]], *, source: str = "taxonomy") -> Taxonomy:
        """Build from one path per leaf, written leaf first and root last as ARX does."""
        paths = [[canonical_text(path[0]), *path[1:]] if path else [] for path in paths]
        problems = _lint_paths(paths)
        if problems:
            raise TaxonomyError(
                f"{source}: not a usable taxonomy:\n{list_problems(problems)}",
                hint="Every leaf once, every line with the same levels, every node below one "
                "parent.",
            )
        tops = {path[-1] for path in paths}
        tree: dict[str, Any] = {}
        for path in paths:
            upward = list(path) if len(tops) == 1 and len(path) > 1 else [*path, ROOT]
            branch = tree
            for name in reversed(upward):
                branch = branch.setdefault(name, {})
        name, children = next(iter(tree.items()))
        return _from_tree(name, children)

    @staticmethod
    def from_json(tree: Mapping[str, Any], *, source: str = "taxonomy") -> Taxonomy:
        """Build from a nested tree.

        Nodes are written ``{"name": name, "children": [...]}``, or with ``parent`` and ``leaves``
        as in top-down specialization tools, or with ``cat`` and ``subcats`` as mosaicrown does;
        or the tree is nested names, ``{"root": {"a": {}, "b": {}}}``.
        """
        return Taxonomy.from_paths(list_paths(tree, source), source=source)

    @staticmethod
    def read(path: str | Path, *, attribute: str | None = None) -> Taxonomy:
        """Read an ARX hierarchy (``;`` or ``,`` separated), a JSON tree or an Amnesia hierarchy.

        A JSON file that holds one tree per attribute needs ``attribute`` to choose.
        """
        path = Path(path)
        return Taxonomy.from_paths(read_paths(path, attribute), source=path.name)

    @property
    def height(self) -> int:
        """Edges on the longest way from the root to a leaf."""
        return max(node.depth for node in self.nodes)

    def lint(self, values: Iterable[str]) -> list[str]:
        """Say which of the values are not leaves; an empty list means it fits."""
        known = set(self.leaves)
        return [f"value {value!r} is in the data but not a leaf" for value in values
                if value not in known]  # fmt: skip

    def restrict(self, values: Iterable[str]) -> Taxonomy:
        """Keep only the given leaves, in taxonomy order, and the nodes above them."""
        keep = set(values)
        position = [0]
        for leaf in self.leaves:
            position.append(position[-1] + (leaf in keep))
        nodes: list[Node] = []
        renumbered: dict[int, int] = {-1: -1}
        for index, node in enumerate(self.nodes):
            low, high = position[node.low], position[node.high]
            if low < high:
                renumbered[index] = len(nodes)
                nodes.append(Node(node.name, low, high, node.depth, renumbered[node.parent]))
        return Taxonomy(tuple(leaf for leaf in self.leaves if leaf in keep), tuple(nodes))

    @cached_property
    def _leaf_nodes(self) -> tuple[int, ...]:
        deepest = [0] * len(self.leaves)
        for number, node in enumerate(self.nodes):  # preorder: the last writer is the leaf
            if node.high - node.low == 1:
                deepest[node.low] = number
        return tuple(deepest)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of the nodes directly below each node, left to right."""
        below: list[list[int]] = [[] for _ in self.nodes]
        for number, node in enumerate(self.nodes):
            if node.parent >= 0:
                below[node.parent].append(number)
        return tuple(map(tuple, below))

    def path(self, leaf: int) -> list[int]:
        """Numbers of the nodes from the root down to a leaf."""
        number, upward = self._leaf_nodes[leaf], []
        while number >= 0:
            upward.append(number)
            number = self.nodes[number].parent
        return upward[::-1]

    def ancestor(self, low: int, high: int) -> Node:
        """Find the lowest common ancestor of the leaves from ``low`` to ``high``, inclusive."""
        node = self.nodes[self._leaf_nodes[low]]
        while node.high <= high:
            node = self.nodes[node.parent]
        return node

    def cover(self, leaves: Sequence[int]) -> str | None:
        """Name the highest node that covers exactly these leaves, if there is one."""
        low, high = min(leaves), max(leaves) + 1
        if high - low != len(leaves):
            return None
        for node in self.nodes:
            if (node.low, node.high) == (low, high):
                return node.name
        return None

    def to_paths(self) -> list[list[str]]:
        """Write one path per leaf, leaf first: the inverse of :meth:`from_paths`."""
        paths = []
        for leaf, name in enumerate(self.leaves):
            above = [self.nodes[i].name for i in self.path(leaf)]
            paths.append([name, *reversed(above[:-1])])
        return paths


def _from_tree(name: str, children: dict[str, Any]) -> Taxonomy:
    leaves: list[str] = []
    nodes: list[Node] = []

    def walk(name: str, below: dict[str, Any], parent: int, depth: int) -> None:
        number = len(nodes)
        nodes.append(Node(name, len(leaves), 0, depth, parent))
        if not below:
            leaves.append(name)
        for child, grandchildren in below.items():
            walk(child, grandchildren, number, depth + 1)
        node = nodes[number]
        nodes[number] = Node(name, node.low, len(leaves), depth, parent)

    walk(name, children, -1, 0)
    return Taxonomy(tuple(leaves), tuple(nodes))


def _lint_paths(paths: Sequence[Sequence[str]]) -> list[str]:
    if not paths:
        return ["it has no leaves"]
    problems = []
    levels = len(paths[0])
    seen: set[str] = set()
    duplicates: set[str] = set()
    parents: dict[tuple[int, str], set[str]] = {}
    for number, path in enumerate(paths, start=1):
        if len(path) != levels:
            problems.append(f"line {number} has {len(path)} levels, line 1 has {levels}")
        if any(not name for name in path):
            problems.append(f"line {number} has an empty level")
        (duplicates if path[0] in seen else seen).add(path[0])
        for level in range(1, len(path) - 1):
            parents.setdefault((level, path[level]), set()).add(path[level + 1])
    problems += [f"leaf {leaf!r} appears more than once" for leaf in sorted(duplicates)]
    problems += [
        f"level {level} is not a tree: {name!r} lies below {' and '.join(map(repr, sorted(above)))}"
        for (level, name), above in sorted(parents.items())
        if len(above) > 1
    ]
    return problems


@dataclass(frozen=True)
class Intervals:
    """Build a taxonomy over numbers from nested interval widths.

    >>> t = Intervals((5, 10)).build(["3", "7", "12"])
    >>> t.to_paths()
    [['3', '[0, 5)', '[0, 10)', '*'], ['7', '[5, 10)', '[0, 10)', '*'],
     ['12', '[10, 15)', '[10, 20)', '*']]
    """

    widths: tuple[float, ...]
    origin: float = 0

    def build(self, values: Sequence[str]) -> Taxonomy:
        """Build over the given values, each written as a number."""
        widths = [Decimal(str(width)) for width in self.widths]
        usable = all(width.is_finite() and width >= Decimal("1e-15") for width in widths)
        if not widths or not usable or any(b <= a or b % a for a, b in pairwise(widths)):
            raise TaxonomyError(
                f"Interval widths {list(self.widths)} do not nest.",
                hint="Give growing widths, each a multiple of the one before: [5, 10, 20].",
            )
        origin = Decimal(str(self.origin))
        paths = []
        for value in sorted(values, key=_number):
            path = [value]
            for width in widths:
                low = (_number(value) - origin) // width * width
                low = low - width if low + origin > _number(value) else low
                path.append(
                    f"[{write_decimal(low + origin)}, {write_decimal(low + origin + width)})"
                )
            paths.append([*path, ROOT])
        return Taxonomy.from_paths(paths, source="intervals")


@dataclass(frozen=True)
class Prefixes:
    """Build a taxonomy over codes such as zip codes from the lengths of their prefixes.

    >>> Prefixes((3, 1)).build(["47906", "47302"]).to_paths()
    [['47302', '473**', '4****', '*'], ['47906', '479**', '4****', '*']]
    """

    lengths: tuple[int, ...]

    def build(self, values: Sequence[str]) -> Taxonomy:
        """Build over the given codes."""
        shrinking = all(a > b for a, b in pairwise(self.lengths))
        if not self.lengths or not shrinking or self.lengths[-1] < 1:
            raise TaxonomyError(
                f"Prefix lengths {list(self.lengths)} do not shrink.",
                hint="Give the longest first: [3, 1].",
            )
        paths = [
            [value, *(value[:n] + "*" * (len(value) - n) for n in self.lengths), ROOT]
            for value in sorted(values)
        ]
        return Taxonomy.from_paths(paths, source="prefixes")


DATE_LEVELS = ("month", "quarter", "year", "decade")


@dataclass(frozen=True)
class Dates:
    """Build a taxonomy over ISO dates from calendar levels.

    >>> Dates(("month", "year")).build(["2020-02-29", "2020-03-01"]).to_paths()
    [['2020-02-29', '2020-02', '2020', '*'], ['2020-03-01', '2020-03', '2020', '*']]
    """

    levels: tuple[str, ...]

    def build(self, values: Sequence[str]) -> Taxonomy:
        """Build over the given dates."""
        ranks = [DATE_LEVELS.index(level) if level in DATE_LEVELS else -1 for level in self.levels]
        if -1 in ranks or ranks != sorted(set(ranks)):
            raise TaxonomyError(
                f"Date levels {list(self.levels)} are not calendar levels in growing order.",
                hint=f"Choose from {list(DATE_LEVELS)}, in this order.",
            )
        paths = []
        for value in sorted(values):
            try:
                day = dt.date.fromisoformat(value)
            except ValueError as error:
                raise TaxonomyError(
                    f"Value {value!r} is not a date, so it lies in no month or year.",
                    hint="Use dates for date columns only.",
                ) from error
            names = {
                "month": f"{day:%Y-%m}",
                "quarter": f"{day.year}-Q{(day.month + 2) // 3}",
                "year": f"{day.year}",
                "decade": f"{day.year // 10 * 10}s",
            }
            paths.append([value, *(names[level] for level in self.levels), ROOT])
        return Taxonomy.from_paths(paths, source="dates")


TaxonomyRule = Intervals | Prefixes | Dates


def write_decimal(number: Decimal) -> str:
    """Write a number without zeros at the end of its decimals."""
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _number(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation as error:
        raise TaxonomyError(
            f"Value {text!r} is not a number, so it lies in no interval.",
            hint="Use intervals for integer and decimal columns only.",
        ) from error
