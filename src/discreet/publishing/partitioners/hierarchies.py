"""Hierarchies: the values of attributes from the most general down, step by step.

A node covers a run of codes. Categories step down their taxonomy, or from all values to each. The
interval of an ordered attribute without a taxonomy is split in two, where that gains most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.table.arrays import Floats, Ints
from discreet.table.domain import Domain

Gain = Literal["entropy", "distortion", "discernibility"]
Run = tuple[int, int, str | None]
"""First and last code, and the name of a taxonomy's node."""
ANY = "*"
"""The name of the run of all codes."""


@dataclass(eq=False)
class Hierarchies:
    """The nodes of all attributes, in one numbering; children of a node are consecutive."""

    domains: list[Domain]
    classes: list[Ints]
    """Per attribute a row per code: how many people of each class have it."""
    gain: Gain
    owner: list[int] = field(default_factory=list)
    low: list[int] = field(default_factory=list)
    high: list[int] = field(default_factory=list)
    first: list[int] = field(default_factory=list)
    count: list[int] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)
    """Names of taxonomy nodes; ``None`` for intervals."""
    gains: list[float] = field(default_factory=list)
    """What stepping down gains, where that does not depend on other attributes."""

    def __post_init__(self) -> None:
        self._upto = [
            np.concatenate([np.zeros((1, counts.shape[1]), np.int64), np.cumsum(counts, axis=0)])
            for counts in self.classes
        ]
        self.roots = []
        for a, domain in enumerate(self.domains):
            split = domain.taxonomy is None and domain.attribute.type.ordered
            self.roots.append(self._add(a, (0, domain.size - 1, None if split else ANY)))
            self.unfold(self.roots[-1])
            if not split:
                self._unfold_below(self.roots[-1])

    def _unfold_below(self, node: int) -> None:
        for child in range(self.first[node], self.first[node] + self.count[node]):
            self.unfold(child)
            self._unfold_below(child)

    def _add(self, owner: int, run: Run) -> int:
        self.owner.append(owner)
        self.low.append(run[0])
        self.high.append(run[1])
        self.names.append(run[2])
        self.first.append(0)
        self.count.append(0)
        self.gains.append(0.0)
        return len(self.low) - 1

    def unfold(self, node: int) -> None:
        """Add the children of a node that anybody is in, and weigh the step."""
        upto = self._upto[self.owner[node]]
        runs = [run for run in self._list_runs(node) if (upto[run[1] + 1] > upto[run[0]]).any()]
        self.first[node], self.count[node] = len(self.low), len(runs)
        for run in runs:
            self._add(self.owner[node], run)
        if runs:
            self.gains[node] = self._weigh(node, runs)

    def _list_runs(self, node: int) -> Sequence[Run]:
        domain, low, high = self.domains[self.owner[node]], self.low[node], self.high[node]
        if low == high:
            return []
        if self.names[node] is None:
            cut = self._choose_cut(node)
            return [(low, cut, None), (cut + 1, high, None)]
        if domain.taxonomy is None:
            return [(code, code, domain.texts[code]) for code in range(low, high + 1)]
        return _step_down(domain, low, high)

    def _weigh(self, node: int, runs: Sequence[Run]) -> float:
        """Equations 2 and 3; for intervals, what their records lose in width."""
        upto = self._upto[self.owner[node]]
        parts = np.array([upto[high + 1] - upto[low] for low, high, _ in runs])
        sizes = parts.sum(axis=1)
        if self.gain == "entropy":
            spread = _entropy(parts.sum(axis=0)[None])[0]
            return float(spread - (sizes / sizes.sum() * _entropy(parts)).sum())
        if self.names[node] is None:
            ends = self._find_ends(node)
            widths = np.array([ends[high] - ends[low] for low, high, _ in runs])
            whole = ends[self.high[node]] - ends[self.low[node]]
            full = max(float(ends[-1] - ends[0]), 1e-300)
            return float((sizes * (whole - widths)).sum() / full)
        return float(sizes.sum())

    def _find_ends(self, node: int) -> Floats:
        """Where codes lie on a line; a missing value at its end."""
        domain = self.domains[self.owner[node]]
        if not domain.attribute.type.numeric:
            return np.arange(domain.size, dtype=np.float64)
        values = np.asarray(domain.values, dtype=np.float64)
        return np.append(values, values[-1:])[: domain.size]

    def _choose_cut(self, node: int) -> int:
        """The last code of the left side: where entropy falls, or width shrinks, most."""
        low, high = self.low[node], self.high[node]
        upto = self._upto[self.owner[node]]
        left = upto[low + 1 : high + 1] - upto[low]
        right = upto[high + 1] - upto[low + 1 : high + 1]
        sizes = left.sum(axis=1), right.sum(axis=1)
        if self.gain == "entropy":
            cost = sizes[0] * _entropy(left) + sizes[1] * _entropy(right)
        elif self.gain == "distortion":
            ends = self._find_ends(node)
            cost = sizes[0] * (ends[low:high] - ends[low])
            cost = cost + sizes[1] * (ends[high] - ends[low + 1 : high + 1])
        else:
            cost = sizes[0].astype(float) ** 2 + sizes[1].astype(float) ** 2
        empty = (sizes[0] == 0) | (sizes[1] == 0)
        return low + int(np.where(empty, np.inf, np.round(cost, 9)).argmin())


def _step_down(domain: Domain, low: int, high: int) -> list[Run]:
    """The runs one step below a run of a taxonomy."""
    tree = domain.taxonomy
    assert tree is not None
    if high >= len(tree.leaves):  # everything, missing included
        runs: list[Run] = [(high, high, domain.texts[high])]
        low, high = 0, high - 1
    else:
        runs = []
    here = next(i for i, n in enumerate(tree.nodes) if (n.low, n.high) == (low, high + 1))
    while True:  # of nodes that cover the same, the lowest
        below = [(i, n) for i, n in enumerate(tree.nodes) if n.parent == here]
        if len(below) != 1 or not any(n.parent == below[0][0] for n in tree.nodes):
            break
        here = below[0][0]
    return [*((n.low, n.high - 1, n.name) for _, n in below), *runs]


def _entropy(counts: NDArray[np.integer]) -> Floats:
    """Shannon entropy of each row of counts, in bits."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-(shares * logs).sum(axis=1))
