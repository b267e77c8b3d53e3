"""Averages of chosen people, bounded from groups or windows; and ways of choosing people."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.table.arrays import Bools, Ints
from discreet.table.microdata import Microdata

SEED = 20070415


@dataclass(frozen=True, eq=False)
class Grouped:
    """Numbers in groups, ready to bound the average of any set of people."""

    order: Ints
    starts: Ints
    numbers: Ints
    prefix: Ints

    @staticmethod
    def by(labels: NDArray[np.integer], values: Ints) -> Grouped:
        """Lay values out group by group, ascending."""
        order = np.argsort(labels, kind="stable")
        grouped = labels[order]
        starts = np.flatnonzero(np.concatenate([[True], grouped[1:] != grouped[:-1], [True]]))
        numbers = values[np.lexsort((values, labels))]
        return Grouped(order, starts, numbers, np.concatenate([[0], np.cumsum(numbers)]))

    def error(self, chosen: Bools, truth: float) -> float:
        """The width of the bounds of the average of the people chosen, over the truth."""
        from discreet.kernels.bounds import bound_groups

        nothing = np.zeros(len(self.starts) - 1)
        found = bound_groups(
            chosen[self.order], self.starts, self.numbers, self.prefix, nothing, nothing
        )
        return float((found[2] - found[1]) / found[0] / truth)


@dataclass(frozen=True, eq=False)
class SwappedColumn:
    """Numbers shown after rank swapping, with their windows."""

    low: Ints
    high: Ints

    def error(self, chosen: Bools, truth: float) -> float:
        """The same error, where each person's number is anywhere in its window."""
        return float((self.high[chosen] - self.low[chosen]).sum() / chosen.sum() / truth)


def choose_any(n: int, size: int, count: int) -> list[Bools]:
    """Draw arbitrary queries of one size."""
    rng = np.random.default_rng(SEED + size)
    return [np.isin(np.arange(n), rng.choice(n, size, replace=False)) for _ in range(count)]


def choose_ages(data: Microdata, span: int, count: int) -> list[tuple[int, int, Bools]]:
    """Give range queries of one span, evenly over the ages; empty ones are left out."""
    ages = data.domains["age"].numbers[data.codes["age"]]
    firsts = np.unique(np.linspace(ages.min(), ages.max() - span, count).round().astype(int))
    found = [(int(x), int(x) + span, (ages >= x) & (ages <= x + span)) for x in firsts]
    return [(low, high, chosen) for low, high, chosen in found if chosen.any()]


def mean_error(made: Grouped | SwappedColumn, values: Ints, queries: Iterable[Bools]) -> float:
    """Average the error over queries."""
    return float(np.mean([made.error(chosen, values[chosen].mean()) for chosen in queries]))
