"""Pair counts: how often each code of an attribute occurs with each sensitive code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from discreet.table.arrays import Ints

if TYPE_CHECKING:
    from discreet.publishing.partitioners.descent import KeyCounts, Routes


@dataclass(frozen=True, eq=False)
class PairCounter:
    """Counts, of the rows at some nodes, the bins of every attribute with each sensitive code."""

    routes: Routes
    place: Ints
    attributes: Ints
    """Plane, shift and mask of each attribute."""
    lows: Ints
    """Per place and attribute the code at which bins start."""
    widths: Ints
    """Per place and attribute the logarithm of how many codes a bin has."""
    fields: Ints
    bases: Ints
    """Per place, attribute and sensitive field where its keys start."""
    sizes: Ints
    """Per sensitive field how many codes it has."""

    def __call__(self, words: Ints) -> KeyCounts:
        """Count some rows."""
        at = self.place[self.routes.walk(words)]
        words, at = words[:, at >= 0], at[at >= 0]
        keys = []
        codes = [_read(words, field) for field in self.fields]
        for a, attribute in enumerate(self.attributes):
            bins = (_read(words, attribute) - self.lows[at, a]) >> self.widths[at, a]
            keys += [self.bases[at, a, f] + bins * self.sizes[f] + own
                     for f, own in enumerate(codes)]  # fmt: skip
        return np.unique(np.concatenate(keys), return_counts=True)


def _read(words: Ints, field: Ints) -> Ints:
    return np.asarray((words[field[0]] >> field[1]) & field[2])


@dataclass(frozen=True, eq=False)
class Pairs:
    """How many rows have a code in a bin and a sensitive code, in the order of the bins."""

    bins: Ints
    codes: Ints
    rows: Ints


def gather_sides(pairs: Pairs, sides: Ints, size: int) -> Ints:
    """Count the sensitive codes of each side, where a bin is one code."""
    counts = np.zeros((int(sides.max()) + 1, size), dtype=np.int64)
    np.add.at(counts, (sides[pairs.bins], pairs.codes), pairs.rows)
    return counts
