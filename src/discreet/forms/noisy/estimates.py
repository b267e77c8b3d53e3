"""Estimates: how many people are in each combination of some attributes' cells.

Where tables show them all, their sums are added up, each as much as it is exact: no estimate is
biased, and its standard error is known. Where no table does, what tables tell is put together by
the table of most entropy: what goes together in no table is taken not to, but by what it has in
common. How far that is off nobody knows from the release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from discreet.errors import QueryError
from discreet.forms.noisy.fitting import Axes, fit, project
from discreet.forms.noisy.layout import MOST_CELLS, NoisyCounts
from discreet.table.arrays import Floats


@dataclass(frozen=True, eq=False)
class CellCounts:
    """How many people each combination of cells has, an axis per attribute."""

    names: Axes
    counts: Floats
    variance: float | None
    """Of every count alike, each by itself; ``None`` where it is not known."""


class Estimates:
    """What noisy counts tell of any attributes, worked out once."""

    def __init__(self, noisy: NoisyCounts) -> None:
        self.noisy = noisy
        self._known: dict[frozenset[str], CellCounts] = {}
        self.fitted = noisy.fit()

    def find(self, wanted: Sequence[str]) -> CellCounts:
        """Estimate the counts of some attributes, in the order of the release."""
        names = tuple(name for name in self.noisy.names if name in wanted)
        key = frozenset(names)
        if key not in self._known:
            self._known[key] = self._add_up(names) or self._put_together(names)
        return self._known[key]

    def _add_up(self, names: Axes) -> CellCounts | None:
        """Take the mean of all tables that show these attributes, by the inverse of its noise."""
        total, weights = np.zeros(self.noisy.shape(names)), 0.0
        for one in self.noisy.marginals:
            if set(names) <= set(one.names):
                weight = prod(self.noisy.shape(names)) / one.counts.size
                order = [name for name in one.names if name in names]
                sums = project(one.names, one.counts.astype(np.float64), names)
                total += weight * sums.transpose([order.index(name) for name in names])
                weights += weight
        if not weights:
            return None
        return CellCounts(names, total / weights, self.noisy.variance / weights)

    def _put_together(self, names: Axes) -> CellCounts:
        """Fit the sums that tables tell, with attributes by which they hang together."""
        self._refuse_large(names)
        wider = self._connect(names)
        known: dict[Axes, Floats] = {}
        for one, fitted in self.fitted:
            common = tuple(name for name in one if name in wider)
            if common and not any(set(common) <= set(other) for other in known):
                known = {n: c for n, c in known.items() if not set(n) <= set(common)}
                known[common] = project(one, fitted, common)
        made = fit(wider, self.noisy.shape(wider), list(known.items()))
        return CellCounts(names, project(wider, made, names), None)

    def _connect(self, names: Axes) -> Axes:
        """Add attributes until tables tell how all those asked for go together, if any do.

        One at a time: that which joins most parts that nothing joins yet, in the fewest cells.
        """
        wider = set(names)
        while len(parts := self._list_parts(wider)) > 1:
            options = []
            for place, name in enumerate(self.noisy.names):
                more = wider | {name}
                cells, left = prod(self.noisy.shape([*more])), len(self._list_parts(more))
                if name not in wider and left < len(parts) and cells <= MOST_CELLS:
                    options.append((left, cells, place))
            if not options:
                break
            wider.add(self.noisy.names[min(options)[-1]])
        return tuple(name for name in self.noisy.names if name in wider)

    def _list_parts(self, names: set[str]) -> list[set[str]]:
        """Part attributes so that no table has some of two parts."""
        parts: list[set[str]] = []
        for one in self.noisy.marginals:
            common = names & set(one.names)
            if common:
                met = [part for part in parts if part & common]
                parts = [part for part in parts if not part & common]
                parts.append(common.union(*met))
        return parts

    def _refuse_large(self, names: Axes) -> None:
        cells = prod(self.noisy.shape(names))
        if cells > MOST_CELLS:
            listed = "; ".join(", ".join(one.names) for one in self.noisy.marginals)
            raise QueryError(
                f"No table counts {', '.join(names)} together, and there are {cells:,} "
                "combinations to estimate.",
                hint=f"Ask about fewer attributes, or about those of one table: {listed}.",
            )
