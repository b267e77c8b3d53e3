"""Layout: how noisy counts are laid out as tables, and what follows from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp

import numpy as np
import polars as pl

from discreet.forms.noisy.fitting import Axes, make_consistent
from discreet.release import number_title
from discreet.table.arrays import Floats, Ints
from discreet.table.public_cells import PublicCells

MARGINAL, CELLS = "marginal", "public_cells"
COUNT, FITTED = "count", "fitted"
LISTED = pl.Schema(
    {"attribute": pl.String, "cell": pl.String, "first": pl.String, "last": pl.String}
)
MOST_CELLS = 2_000_000
"""A table has no more cells."""
DIGITS = 3
"""Fitted counts are written with so many digits after the point."""


@dataclass(frozen=True, eq=False)
class NoisyMarginal:
    """The noisy counts of all combinations of some attributes' cells, an axis for each."""

    names: Axes
    counts: Ints


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """All that a noisy release tells."""

    cells: Mapping[str, PublicCells]
    marginals: Sequence[NoisyMarginal]
    scale: Fraction
    """Of the discrete Laplace distribution whose draws were added to every count."""

    @property
    def spent(self) -> Fraction:
        """The ε that this takes: a person is in one cell of every table."""
        return len(self.marginals) / self.scale

    @property
    def variance(self) -> float:
        """How far noise spreads: the variance of one draw."""
        q = exp(-1 / float(self.scale))
        return 2 * q / (1 - q) ** 2

    @property
    def names(self) -> list[str]:
        """All attributes that are counted by."""
        return list(self.cells)

    def shape(self, names: Sequence[str]) -> tuple[int, ...]:
        """How many cells each of some attributes has."""
        return tuple(self.cells[name].count for name in names)

    def fit(self) -> list[tuple[Axes, Floats]]:
        """Give the tables as they are once they agree, without counts below nothing."""
        made = make_consistent(
            [(one.names, one.counts.astype(np.float64)) for one in self.marginals]
        )
        return [(one.names, fitted) for one, fitted in zip(self.marginals, made, strict=True)]


def write_tables(own: Mapping[str, str], noisy: NoisyCounts) -> dict[str, pl.DataFrame]:
    """Lay noisy counts out as tables: one per marginal, and the cells that these count.

    ``own`` gives the names of the columns that are no attributes, by their words.
    """
    tables = {}
    for place, (one, (_, fitted)) in enumerate(zip(noisy.marginals, noisy.fit(), strict=True)):
        columns: dict[str, object] = dict(list_rows(noisy, one.names))
        columns[own[COUNT]] = pl.Series(one.counts.ravel(), dtype=pl.Int64)
        rounded = np.round(fitted.ravel(), DIGITS) + 0.0
        columns[own[FITTED]] = pl.Series(rounded, dtype=pl.Float64)
        tables[number_title(MARGINAL, place)] = pl.DataFrame(columns)
    listed = [
        (name, text, first, last)
        for name, cells in noisy.cells.items()
        for text, first, last in zip(cells.texts, cells.first, cells.last, strict=True)
    ]
    tables[CELLS] = pl.DataFrame(listed, schema=LISTED, orient="row")
    return tables


def list_rows(noisy: NoisyCounts, names: Axes) -> dict[str, pl.Series]:
    """List all combinations of cells, the last attribute changing fastest."""
    places = np.indices(noisy.shape(names)).reshape(len(names), -1)
    return {
        name: pl.Series(noisy.cells[name].texts, dtype=pl.String).gather(place)
        for name, place in zip(names, places, strict=True)
    }
