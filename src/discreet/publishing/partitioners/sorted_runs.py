"""Sorted runs: optimal (k,e)-anonymous partitions of a numeric sensitive attribute.

Zhang, Koudas, Srivastava, Yu, ICDE 2007, section 6. Quasi-identifiers play no part: groups are
runs of people in the order of their sensitive values. Algorithm 1 as printed solves nothing
(``f[0]`` must be 0 and ``max`` must be ``+``); written with the left ends that are valid as a
prefix, it is one running minimum, linear in the different values. The exact minimum of the largest
range, whose groups may overlap, is not by the printed Algorithm 2 (below the optimum on every third
small table, and O(n⁶)): an error is tried by chaining groups from left to right, and narrowed.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from discreet.principles.groups import Groups
from discreet.principles.spread import KE, units
from discreet.publishing.draws import Draws
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.histograms import histogram
from discreet.table.arrays import Ints
from discreet.table.microdata import Microdata

Objective = Literal["sum", "max", "max-overlapping", "groups", "random"]


class SortedRuns(NamedTuple):
    """Rows in the order of their numbers, cut into runs, and the group of each."""

    starts: Ints
    groups: Ints

    def find(self, rows: Ints) -> Ints:
        """Give the groups of some rows, by their places in the order."""
        return self.groups[np.searchsorted(self.starts, rows, side="right") - 1]


def plan_runs(whole: Groups, principle: KE, objective: Objective) -> SortedRuns:
    """Say how a table, given as one bag, is grouped; it follows from its numbers alone.

    >>> plan_runs(Groups.of([[54, 55, 56, 65, 70, 75]]), KE(k=3, e=2), "sum").starts.tolist()
    [0, 3]
    """
    principle.require(whole)
    values, counts = whole.domain.numbers[whole.codes], whole.weights
    k, e = principle.k, units(principle.e, whole)
    if objective == "max-overlapping":
        return interlock_values(values, counts, k, e)
    starts = cut_values(values, counts, k, e, objective)
    return SortedRuns(starts, np.arange(len(starts)))


def partition_runs(
    data: Microdata, name: str, principle: KE, objective: Objective, draws: Draws
) -> Partition:
    """Partition people by their sensitive values so that every group satisfies (k,e).

    ``sum`` minimizes the sum of the groups' ranges, ``max`` the largest range (of groups that do
    not overlap; of any groups with ``max-overlapping``), ``groups`` makes as many groups as
    possible; ``random`` groups people at random and is the baseline. Which of several people
    with equal values goes where is drawn from ``draws``.
    """
    whole, codes = histogram(data, name), data.codes[name]
    if objective == "random":
        from discreet.kernels.runs import close_greedily

        principle.require(whole)
        numbers, e = whole.domain.numbers, units(principle.e, whole)
        shuffled = draws.permutation(data.n).astype(np.int32)
        labels = close_greedily(numbers, codes[shuffled], whole.domain.size, principle.k, e)
        return Partition.from_labels(labels, shuffled)
    runs = plan_runs(whole, principle, objective)
    shuffled = draws.permutation(data.n).astype(np.int32)
    order = shuffled[np.argsort(codes[shuffled], kind="stable")]
    if objective == "max-overlapping":
        return Partition.from_labels(runs.find(np.arange(data.n)), order)
    return Partition(order, np.append(runs.starts, data.n))


def cut_runs(xs: Ints, k: int, e: int, objective: Objective) -> Ints:
    """Give where the runs of an optimal partition of sorted values start.

    >>> xs = np.array([54, 55, 56, 65, 70, 75, 75, 80, 85])
    >>> cut_runs(xs, 3, 0, "sum").tolist()
    [0, 3, 6]
    """
    return cut_values(*np.unique(xs, return_counts=True), k, e, objective)


def cut_values(values: Ints, counts: Ints, k: int, e: int, objective: Objective) -> Ints:
    """Do the same with different values, ascending, and how many rows have each."""
    from discreet.kernels import runs

    if k <= 1 and e <= 0:  # everybody is a group
        return np.arange(counts.sum())
    if objective == "groups":
        return np.asarray(runs.cut_for_count(values, counts, k, e))
    left = {"sum": runs.cut_for_sum, "max": runs.cut_for_max}[objective](values, counts, k, e)
    ends = np.cumsum(counts)
    starts, value = [], len(values) - 1
    while value >= 0:
        starts.append(int(left[value]))
        value = int(np.searchsorted(ends, starts[-1] - 1, side="right")) if starts[-1] else -1
    return np.array(starts[::-1], dtype=np.int64)


def interlock_runs(xs: Ints, k: int, e: int) -> Ints:
    """Give each of the sorted values its group in a partition of the least largest range.

    >>> interlock_runs(np.array([1, 2, 3, 5, 5, 6, 6, 8]), 4, 5).tolist()
    [0, 0, 1, 0, 1, 0, 1, 1]
    """
    runs = interlock_values(*np.unique(xs, return_counts=True), k, e)
    return runs.find(np.arange(len(xs)))


def interlock_values(values: Ints, counts: Ints, k: int, e: int) -> SortedRuns:
    """Do the same with different values, ascending, and how many rows have each."""
    from discreet.kernels.overlap import chain_narrowly, share_out

    starts, ends = cut_values(values, counts, k, e, "max"), np.cumsum(counts)
    first, last = (values[np.searchsorted(ends, rows, side="right")]
                   for rows in (starts, np.append(starts[1:], ends[-1]) - 1))  # fmt: skip
    reaching = np.searchsorted(values, values + e)
    chain = chain_narrowly(values, counts == 1, reaching, k, (last - first).max())
    if len(chain) == 0:  # overlap gains nothing
        return SortedRuns(starts, np.arange(len(starts)))
    return SortedRuns(*share_out(counts, chain))
