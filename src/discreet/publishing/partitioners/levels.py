"""Levels: Mondrian's steps with the principles themselves in the place of compiled rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from discreet.principles.base import Principle
from discreet.principles.groups import Groups
from discreet.publishing.partitioners.packing import Field
from discreet.table.arrays import Bools, Ints


@dataclass(frozen=True, eq=False)
class SplitCells:
    """Packed rows and the numbers a kernel needs to split them."""

    buffers: Ints
    attrs: Ints
    trees: Ints
    row: Field
    sensitive: dict[str, Field]

    def read(self, field: Field, buffer: int, start: int, end: int) -> Ints:
        """Read one field of some rows."""
        return (self.buffers[buffer, field.plane, start:end] >> field.shift) & field.mask


class Split(NamedTuple):
    """A node's rows moved to the other buffer, side by side."""

    attribute: int
    cut: int
    ends: list[int]


@dataclass(frozen=True, eq=False)
class SplitCheck:
    """Asks the principles about rows of one or many sides."""

    cells: SplitCells
    wanted: list[tuple[Principle, str | None]]
    wholes: dict[str | None, Groups]

    def admits_splits(self, splits: list[tuple[Ints, Split]]) -> list[bool]:
        """Whether all sides of each split satisfy the principles."""
        if not splits:
            return []
        spans = [
            (1 - int(node[2]), start, end)
            for node, split in splits
            for start, end in pairwise([int(node[0]), *split.ends])
        ]
        labels = np.repeat(np.arange(len(spans)), [end - start for _, start, end in spans])
        good = np.ones(len(spans), dtype=bool)
        for part, name in self.wanted:
            if name is not None:
                field, whole = self.cells.sensitive[name], self.wholes[name]
                codes = np.concatenate([self.cells.read(field, *span) for span in spans])
                good &= part.admits(
                    Groups.from_labels(
                        labels, codes, whole.domain, count=len(spans), whole=whole.whole
                    )
                )
        ends = np.cumsum([len(split.ends) for _, split in splits])
        return [bool(part.all()) for part in np.split(good, ends[:-1])]

    def admits_cuts(self, node: Ints, bins: Ints, ends: Ints) -> Bools:
        """Whether both sides of a cut after each of the bins ``ends`` satisfy the principles."""
        good = np.ones(len(ends), dtype=bool)
        span = int(node[2]), int(node[0]), int(node[1])
        for part, name in self.wanted:
            if name is not None:
                codes, whole = self.cells.read(self.cells.sensitive[name], *span), self.wholes[name]
                size = whole.domain.size
                table = np.bincount(bins * size + codes, minlength=(int(bins.max()) + 1) * size)
                running = np.cumsum(table.reshape(-1, size), axis=0)
                left = running[ends]
                for side in (left, running[-1] - left):
                    good &= part.admits(Groups.from_table(side, whole.domain, whole.whole))
        return good


BestCut = tuple[float, int, int]
"""What it gains, of which attribute it is, -1 for none, and the last code of its left side."""


def sweep_cuts(
    node: Ints,
    attrs: Ints,
    min_size: int,
    count: Callable[[int, int, int], Ints],
    admits: Callable[[int, int, int, Ints], Bools],
) -> BestCut:
    """Find the cut that gains most among those of all attributes that are admitted.

    ``count`` gives the rows per bin of an attribute, from its lowest code on, with bins of so many
    codes (their logarithm); ``admits`` says after which of some bins it may be cut.
    """
    from discreet.kernels.cuts import SET, TREE, log_bin_width

    d, n = len(attrs), int(node[1] - node[0])
    found: BestCut = (-1.0, -1, -1)
    for a, (span, kind) in enumerate(attrs[:, 3:5].tolist()):
        if kind == TREE or span == 0 or node[3 + 2 * d + a] / span <= found[0]:
            continue
        low, high = int(node[3 + a]), int(node[3 + d + a])
        log_width = int(log_bin_width(low, high))
        counts = count(a, low, log_width)
        present = np.flatnonzero(counts)
        if len(present) < 2:
            continue
        ends, after = present[:-1], present[1:]
        left = np.cumsum(counts)[ends]
        if kind == SET and log_width == 0:
            width = len(present) - 1
            widths = np.arange(width), width - 1 - np.arange(width)
        else:
            width = int(present[-1] - present[0])
            widths = ends - present[0], present[-1] - after
        gain = n * width - left * widths[0] - (n - left) * widths[1]
        good = (left >= min_size) & (n - left >= min_size)
        good &= admits(a, low, log_width, ends)
        if not good.any():
            continue
        best = int(np.argmax(np.where(good, gain, -1)))
        merit = (int(gain[best]) << log_width) / n / span
        if merit > found[0]:
            found = merit, a, low + ((int(ends[best]) + 1) << log_width) - 1
    return found


class LevelSplitter:
    """The kernels' steps, one node at a time, with their scratch space."""

    def __init__(self, cells: SplitCells, min_size: int, check: SplitCheck) -> None:
        from discreet.kernels.cuts import BINS

        d, widest = len(cells.attrs), int(cells.attrs[:, 3].max()) + 1
        self.cells, self.min_size, self.check = cells, min_size, check
        self.hist = np.zeros(max(BINS, widest) + 2, dtype=np.int64)
        self.merit = np.empty(d)
        self.cuts = np.empty(d, dtype=np.int64)
        self.ends = np.empty(max(2, widest), dtype=np.int64)

    def cut_level(self, level: list[Ints]) -> list[Split | None]:
        """Cut every node of a level, or say that it stays whole."""
        first = [self._cut_best(node) for node in level]
        asked = [(node, split) for node, split in zip(level, first, strict=True) if split]
        verdicts = iter(self.check.admits_splits(asked))
        return [
            split if split is None or next(verdicts) else self._cut_otherwise(node)
            for node, split in zip(level, first, strict=True)
        ]

    def _cut_best(self, node: Ints) -> Split | None:
        """Cut where it gains most; ``None`` if no side would be large enough."""
        a = self._choose(node, every=False)
        return None if a < 0 else self._split(node, a, int(self.cuts[a]))

    def _cut_otherwise(self, node: Ints) -> Split | None:
        """Cut where it gains most among all cuts that the principles admit."""
        from discreet.kernels.cuts import rank_cuts

        self._choose(node, every=True)
        best, attribute, cut = self._sweep(node)
        for a in rank_cuts(self.cells.attrs, self.merit, best, True).tolist():
            split = self._split(node, a, int(self.cuts[a]))
            if self.check.admits_splits([(node, split)])[0]:
                return split
        return None if attribute < 0 else self._split(node, attribute, cut)

    def _sweep(self, node: Ints) -> BestCut:
        """Try all cuts of all attributes by the rows that are at hand."""
        cells = self.cells

        def read_bins(a: int, low: int, log_width: int) -> Ints:
            field = Field(*cells.attrs[a, :3].tolist())
            return (cells.read(field, int(node[2]), *map(int, node[:2])) - low) >> log_width

        def count(a: int, low: int, log_width: int) -> Ints:
            return np.bincount(read_bins(a, low, log_width))

        def admits(a: int, low: int, log_width: int, ends: Ints) -> Bools:
            return self.check.admits_cuts(node, read_bins(a, low, log_width), ends)

        return sweep_cuts(node, cells.attrs, self.min_size, count, admits)

    def _choose(self, node: Ints, *, every: bool) -> int:
        from discreet.kernels.cuts import AT_HAND, UNSEEN, choose_cuts

        cells = self.cells
        self.merit.fill(UNSEEN)
        fixed = (cells.buffers, node, cells.attrs, self.min_size, cells.trees)
        return int(choose_cuts(*fixed, self.hist, self.merit, every, self.cuts, AT_HAND))

    def _split(self, node: Ints, a: int, cut: int) -> Split:
        from discreet.kernels.mondrian import split

        cells = self.cells
        count = split(cells.buffers, node, cells.attrs, a, cut, cells.trees, self.ends)
        return Split(a, cut, self.ends[:count].tolist())
