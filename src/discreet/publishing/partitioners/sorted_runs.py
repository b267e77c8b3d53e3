"""Sorted runs: optimal (k,e)-anonymous partitions of a numeric sensitive attribute.

Zhang, Koudas, Srivastava, Yu, ICDE 2007, section 6. Quasi-identifiers play no part: groups are
runs of people in the order of their sensitive values. Algorithm 1 as printed solves nothing
(``f[0]`` must be 0 and ``max`` must be ``+``); written with the left ends that are valid as a
prefix, it is one running minimum, linear after sorting. The exact minimum of the largest range,
whose groups may overlap, is not by the printed Algorithm 2 (below the optimum on every third
small table, and O(n⁶)): an error is tried by chaining groups from left to right, and narrowed.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from discreet.principles.spread import KE, units
from discreet.publishing.draws import Draws
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.histograms import histogram
from discreet.table.arrays import Ints
from discreet.table.microdata import Microdata

Objective = Literal["sum", "max", "max-overlapping", "groups", "random"]


def partition_runs(
    data: Microdata, name: str, principle: KE, objective: Objective, draws: Draws
) -> Partition:
    """Partition people by their sensitive values so that every group satisfies (k,e).

    ``sum`` minimizes the sum of the groups' ranges, ``max`` the largest range (of groups that do
    not overlap; of any groups with ``max-overlapping``), ``groups`` makes as many groups as
    possible; ``random`` groups people at random and is the baseline. Which of several people
    with equal values goes where is drawn from ``draws``.
    """
    whole = histogram(data, name)
    principle.require(whole)
    codes, numbers = data.codes[name], whole.domain.numbers
    e = units(principle.e, whole)
    shuffled = draws.permutation(data.n).astype(np.int32)
    if objective == "random":
        from discreet.kernels.runs import close_greedily

        labels = close_greedily(numbers, codes[shuffled], whole.domain.size, principle.k, e)
        return Partition.from_labels(labels, shuffled)
    order = shuffled[np.argsort(codes[shuffled], kind="stable")]
    xs = numbers[codes[order]]
    if objective == "max-overlapping":
        return Partition.from_labels(interlock_runs(xs, principle.k, e), order)
    starts = cut_runs(xs, principle.k, e, objective)
    return Partition(order, np.append(starts, data.n))


def cut_runs(xs: Ints, k: int, e: int, objective: Objective) -> Ints:
    """Give where the runs of an optimal partition of sorted values start.

    >>> xs = np.array([54, 55, 56, 65, 70, 75, 75, 80, 85])
    >>> cut_runs(xs, 3, 0, "sum").tolist()
    [0, 3, 6]
    """
    from discreet.kernels import runs

    cut = {"sum": runs.cut_for_sum, "max": runs.cut_for_max, "groups": runs.cut_for_count}
    left = cut[objective](xs, k, e)
    starts, end = [], len(xs) - 1
    while end >= 0:
        starts.append(int(left[end]))
        end = starts[-1] - 1
    return np.array(starts[::-1], dtype=np.int64)


def interlock_runs(xs: Ints, k: int, e: int) -> Ints:
    """Give each of the sorted values its group in a partition of the least largest range.

    >>> interlock_runs(np.array([1, 2, 3, 5, 5, 6, 6, 8]), 4, 5).tolist()
    [0, 0, 1, 0, 1, 0, 1, 1]
    """
    from discreet.kernels.overlap import chain_narrowly, share_out

    starts = cut_runs(xs, k, e, "max")
    ends = np.append(starts[1:], len(xs)) - 1
    first_of = np.flatnonzero(np.append(True, xs[1:] != xs[:-1]))
    values, counts = xs[first_of], np.diff(np.append(first_of, len(xs)))
    reaching = np.searchsorted(values, values + e)
    chain = chain_narrowly(values, counts == 1, reaching, k, (xs[ends] - xs[starts]).max())
    if len(chain) == 0:  # overlap gains nothing
        return np.repeat(np.arange(len(starts)), ends - starts + 1)
    return np.asarray(share_out(counts, chain))
