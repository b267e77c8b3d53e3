"""t-closeness: no bag tells much more than the table as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from discreet.errors import SchemaError
from discreet.principles.base import (
    Feasibility,
    KernelRule,
    Number,
    Principle,
    ratio,
    require_choice,
    require_ratio,
)
from discreet.principles.exact import fits
from discreet.principles.groups import Groups
from discreet.table.arrays import Bools, Ints

GroundDistance = Literal["equal", "ordered", "hierarchical"]
DENSE_CELLS = 4_000_000
"""Bags are compared with the whole in dense chunks of at most this many cells."""


@dataclass(frozen=True)
class TCloseness(Principle):
    """The earth mover's distance from every bag to the whole table is at most ``t``.

    Li, Li, Venkatasubramanian, ICDE 2007, section 4, with its three ground distances: ``equal``
    (any two values are 1 apart), ``ordered`` (ranks apart, over the number of ranks less one)
    and ``hierarchical`` (height of the lowest common ancestor in the taxonomy, over the height
    of the taxonomy). All three have closed forms, computed here in whole numbers: with counts
    w of n and W of N, ``w/n - W/N`` is ``(wN - Wn)/(nN)``.

    Monotone for all three: transport cost is convex, so the distance of a mixture is at most
    the larger of the two.

    >>> g = Groups.of([[1, 3, 5000], [2, 4000, 6000]])
    >>> TCloseness(0.1, "ordered").admits(g).tolist()
    [True, True]
    >>> TCloseness(0.09, "ordered").admits(g).tolist()
    [False, False]

    **Guarantee**: what a person's quasi-identifiers add to the public distribution is at most t
    in that distance. It bounds no probability of a value: a value that is frequent in the table
    stays frequent.
    """

    title: ClassVar[str] = "t-closeness"
    paper: ClassVar[str] = "Li, Li, Venkatasubramanian: t-Closeness, ICDE 2007"
    monotone: ClassVar[bool] = True
    leaves_open: ClassVar[str] = (
        "What the published distribution of the whole table tells about everyone; and distance "
        "is not probability: values may be likely in a group although the group is close."
    )

    t: Number
    distance: GroundDistance = "equal"

    def __post_init__(self) -> None:
        require_ratio("t", self.t, 0, 1)
        require_choice("distance", self.distance, GroundDistance)

    def admits(self, groups: Groups) -> Bools:
        """Distance at most t, compared as whole numbers."""
        exact = ratio(self.t)
        cost, scale = self.transport(groups)
        # as Python integers: counts × counts × scale × denominator can pass int64
        allowed = groups.sizes.astype(object) * (int(groups.whole.sum()) * scale * exact.numerator)
        return np.asarray(cost.astype(object) * exact.denominator <= allowed, dtype=bool)

    def transport(self, groups: Groups) -> tuple[Ints, int]:
        """Give the distance of each bag as whole numbers: cost / (scale · size · N)."""
        self._refuse_unordered(groups)
        size, total = groups.domain.size, int(groups.whole.sum())
        if not fits(size, total, total, 4):
            raise SchemaError(
                f"{groups.domain.attribute.name!r} has {size} values in {total} rows: t-closeness "
                "cannot be computed exactly.",
                hint="Round the column, or use a principle that does not need the whole table.",
            )
        if self.distance == "equal":
            return self._move_equal(groups), 2
        cost = np.empty(groups.count, dtype=np.int64)
        step = max(1, DENSE_CELLS // size)
        move = self._move_ordered if self.distance == "ordered" else self._move_in_tree
        scale = max(size - 1, 1)
        for start in range(0, groups.count, step):
            stop = min(start + step, groups.count)
            cost[start:stop], scale = move(groups, _surplus(groups, start, stop))
        return cost, scale

    def _refuse_unordered(self, groups: Groups) -> None:
        attribute = groups.domain.attribute
        if self.distance == "ordered" and not attribute.type.ordered:
            raise SchemaError(
                f"Column {attribute.name!r} is a {attribute.type}, which has no order.",
                hint="Use distance = 'equal', or make it ordinal by listing its order.",
            )
        if self.distance == "ordered" and groups.domain.missing:
            raise SchemaError(
                f"Column {attribute.name!r} has missing values, which have no rank.",
                hint=f'Set missing = "drop" for {attribute.name!r}.',
            )
        if self.distance == "hierarchical" and groups.domain.taxonomy is None:
            raise SchemaError(
                f"Column {attribute.name!r} has no taxonomy.",
                hint="Give it one, or use distance = 'equal'.",
            )

    def _move_equal(self, groups: Groups) -> Ints:
        total, whole = int(groups.whole.sum()), groups.whole[groups.codes]
        sizes = np.repeat(groups.sizes, groups.distinct)
        present = groups.sum(np.abs(groups.weights * total - whole * sizes))
        absent = (total - groups.sum(whole)) * groups.sizes
        return np.asarray(present + absent, dtype=np.int64)

    def _move_ordered(self, groups: Groups, surplus: Ints) -> tuple[Ints, int]:
        """Carry each surplus to the next rank: Σ over ranks of |running surplus|."""
        carried = np.abs(np.cumsum(surplus, axis=1)).sum(axis=1)
        return carried, max(groups.domain.size - 1, 1)

    def _move_in_tree(self, groups: Groups, surplus: Ints) -> tuple[Ints, int]:
        """At each node, move between its children what cancels out there, at the node's height."""
        tree = groups.domain.taxonomy
        assert tree is not None
        running = np.zeros((surplus.shape[0], surplus.shape[1] + 1), dtype=np.int64)
        np.cumsum(surplus, axis=1, out=running[:, 1:])
        cost = np.zeros(surplus.shape[0], dtype=np.int64)
        heights = _heights(tree.children)
        top = heights[0] + groups.domain.missing
        for number, children in enumerate(tree.children):
            if len(children) < 2:
                continue
            parts = [
                running[:, tree.nodes[c].high] - running[:, tree.nodes[c].low] for c in children
            ]
            cost += heights[number] * _cancelled(parts)
        if groups.domain.missing:  # missing hangs beside the root, one level up
            leaves = len(tree.leaves)
            parts = [running[:, leaves], running[:, leaves + 1] - running[:, leaves]]
            cost += top * _cancelled(parts)
        return cost, max(top, 1)

    def feasible(self, whole: Groups) -> Feasibility:
        """The undivided table is at distance 0, so any t is reachable."""
        self._refuse_unordered(whole)
        return Feasibility(True, "t ≥ 0")

    def rules(self, whole: Groups) -> list[KernelRule] | None:
        """Equal and ordered distance in one pass over the codes."""
        from discreet.kernels.rules import EQUAL, ORDERED

        p, q = ratio(self.t).as_integer_ratio()
        n, size = int(whole.whole.sum()), whole.domain.size
        if self.distance == "hierarchical" or not fits(2 * max(p, q), n, n, size):
            return None
        self._refuse_unordered(whole)
        table = np.append(whole.whole, n)
        if self.distance == "equal":
            return [KernelRule(EQUAL, p, q, size, table)]
        upto = np.cumsum(whole.whole)
        return [
            KernelRule(ORDERED, p, q, size, np.concatenate([table, upto, [0], np.cumsum(upto)]))
        ]

    @property
    def promise(self) -> str:
        """In words."""
        return (
            "The distribution of sensitive values in every group is within an earth mover's "
            f"distance ({self.distance}) of {self.t} of the whole table's."
        )


def _surplus(groups: Groups, start: int, stop: int) -> Ints:
    """Per bag and code ``wN - Wn``: what the bag has too much of, in units of 1/(nN)."""
    entries = slice(groups.offsets[start], groups.offsets[stop])
    total = int(groups.whole.sum())
    surplus = -np.outer(groups.sizes[start:stop], groups.whole)
    surplus[groups.owners[entries] - start, groups.codes[entries]] += (
        groups.weights[entries] * total
    )
    return surplus


def _heights(children: tuple[tuple[int, ...], ...]) -> list[int]:
    heights = [0] * len(children)
    for number in range(len(children) - 1, -1, -1):  # preorder: children come later
        heights[number] = max((heights[c] + 1 for c in children[number]), default=0)
    return heights


def _cancelled(parts: list[Ints]) -> Ints:
    stacked = np.stack(parts)
    return np.asarray(
        np.minimum(np.maximum(stacked, 0).sum(axis=0), np.maximum(-stacked, 0).sum(axis=0)),
        dtype=np.int64,
    )
