"""Sorted runs: groups of people whose sensitive numbers are near, under (k,e) optimal ones.

Zhang, Koudas, Srivastava, Yu, ICDE 2007, section 6. Quasi-identifiers play no part: groups are
runs of people in the order of their sensitive values. Algorithm 1 as printed solves nothing
(``f[0]`` must be 0 and ``max`` must be ``+``); written with the left ends that are valid as a
prefix, it is one running minimum, linear in the different values. The exact minimum of the largest
range, whose groups may overlap, is not by the printed Algorithm 2 (below the optimum on every third
small table, and O(n⁶)): an error is tried by chaining groups from left to right, and narrowed.

Beyond the paper, which leaves them to the future: under other principles (or several) numbers are
put into batches along their order, as small as the principle allows; or into runs that are halved
as far as both halves keep it, and dealt out where numbers may be too near.

Whatever the principle, groups follow from how often each number occurs, and who of equals goes
where is drawn. So who knows how groups are found learns nothing from it that the release does not
say: everybody in a group is as likely to have any of its numbers as before.
"""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import PromiseError
from discreet.principles import DistinctDiversity
from discreet.principles.base import Principle
from discreet.principles.groups import Groups
from discreet.principles.spread import KE, units
from discreet.publishing.draws import Draws
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.batches import batch_along, find_batch_size
from discreet.publishing.partitioners.histograms import histogram
from discreet.table.arrays import Bools, Ints
from discreet.table.microdata import Microdata, row_ids

Objective = Literal["sum", "max", "max-overlapping", "groups", "groups-overlapping", "random"]
PARTS = 16
"""After so many parts of its rows a run is tried to be cut, the middle first."""


class SortedRuns(NamedTuple):
    """Rows in the order of their numbers, cut into runs, and the group of each."""

    starts: Ints
    groups: Ints

    @property
    def are_groups(self) -> bool:
        """Whether every run is a group of its own."""
        return bool((self.groups == np.arange(len(self.starts))).all())

    def find(self, rows: Ints) -> Ints:
        """Give the groups of some rows, by their places in the order."""
        return self.groups[np.searchsorted(self.starts, rows, side="right") - 1]


def plan_runs(whole: Groups, principle: Principle, objective: Objective) -> SortedRuns:
    """Say how a table, given as one bag, is grouped; it follows from its numbers alone.

    The objective is what groups are optimal for under (k,e).

    >>> plan_runs(Groups.of([[54, 55, 56, 65, 70, 75]]), KE(k=3, e=2), "sum").starts.tolist()
    [0, 3]
    """
    if not isinstance(principle, KE):
        require_mixable(whole, principle)
        return group_near(whole, principle.require_mixed())
    principle.require(whole)
    values, counts = whole.domain.numbers[whole.codes], whole.weights
    k, e = principle.k, units(principle.e, whole)
    if objective == "max-overlapping":
        return interlock_values(values, counts, k, e)
    if objective == "groups-overlapping":
        return deal_values(values, counts, k, e)
    starts = cut_values(values, counts, k, e, objective)
    return SortedRuns(starts, np.arange(len(starts)))


def partition_runs(
    data: Microdata, name: str, principle: Principle, objective: Objective, draws: Draws
) -> Partition:
    """Partition people by their sensitive numbers so that every group satisfies a principle.

    Under (k,e) ``sum`` minimizes the sum of the groups' ranges, ``max`` the largest range (of
    groups that do not overlap; of any groups with ``max-overlapping``), ``groups`` makes as many
    groups as there can be of runs of the sorted numbers, ``groups-overlapping`` as many as there
    can be at all, whose ranges are wider; ``random`` groups people at random and is the baseline.
    Which of several people with equal values goes where is drawn from ``draws``.
    """
    whole, codes = histogram(data, name), data.codes[name]
    if objective == "random" and isinstance(principle, KE):
        from discreet.kernels.runs import close_greedily

        principle.require(whole)
        numbers, e = whole.domain.numbers, units(principle.e, whole)
        shuffled = draws.permutation(data.n).astype(np.int32)
        labels = close_greedily(numbers, codes[shuffled], whole.domain.size, principle.k, e)
        return Partition.from_labels(labels, shuffled)
    runs = plan_runs(whole, principle, objective)
    shuffled = draws.permutation(data.n).astype(np.int32)
    order = shuffled[np.argsort(codes[shuffled], kind="stable")]
    if runs.are_groups:
        return Partition(order, np.append(runs.starts, data.n))
    return Partition.from_labels(runs.find(np.arange(data.n)), order)


def require_mixable(whole: Groups, principle: Principle) -> None:
    """Raise if a table cannot be grouped so that what groups are mixed to keeps a principle."""
    principle.require(whole)
    mixed = principle.require_mixed()
    possible, best = mixed.feasible(whole)
    if not possible:
        raise PromiseError(
            f"{principle} cannot be kept of people who look the same, for whom groups are mixed: "
            f"that takes {mixed}, and {best}.",
            hint="Ask for less, or use generalization, which does not mix them.",
            subject=principle,
        )


def group_near(whole: Groups, principle: Principle) -> SortedRuns:
    """Group rows by their numbers under a principle that mixtures keep, and all of them do.

    Values that may be near each other are dealt out run by run, or they would be told as far from
    each other as the densest of them are.

    >>> from discreet.principles import FrequencyDiversity
    >>> group_near(Groups.of([[1, 1, 2, 5, 5, 6]]), FrequencyDiversity(2)).find(np.arange(6))
    array([0, 1, 0, 1, 2, 2])
    """
    # of (k,e) batches of different numbers keep the k, and often the e
    loose = reduce(and_, (DistinctDiversity(part.k) if isinstance(part, KE) else part
                          for part in principle.parts))  # fmt: skip
    rows = np.repeat(whole.codes, whole.weights)
    size = None if loose.spaced else find_batch_size(loose, whole)
    if size is not None:
        batch = batch_along(np.arange(len(rows)), rows, loose, whole, size)
        if principle.admits(_bag(rows, batch, whole)).all():
            return _find_runs(batch)
    run_of = np.zeros(len(rows), dtype=np.int64)
    run_of[halve_runs(whole, principle)[1:]] = 1
    run_of = np.cumsum(run_of)
    if loose.spaced and loose.distinct_enough is not None:
        run_of = _deal_runs(rows, run_of, whole, principle, loose)
    return _find_runs(run_of)


def _deal_runs(
    rows: NDArray[np.int32], run_of: Ints, whole: Groups, principle: Principle, loose: Principle
) -> Ints:
    """Deal each run into batches of values none of which are near, if these keep a principle.

    A run is dealt into as many lanes as a neighbourhood of it holds values, and lanes are cut
    (Li, Tao, Xiao, SIGMOD 2008, section 4).
    """
    assert loose.distinct_enough is not None
    sizes = np.bincount(run_of)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    lanes = loose.max_conflict(_bag(rows, run_of, whole))[run_of]
    lane, place = within % lanes, within // lanes
    length = -((lane - sizes[run_of]) // lanes)
    cuts = np.maximum(length // loose.distinct_enough, 1)
    batch = row_ids((run_of, lane, place * cuts // length), len(rows))
    bad = ~principle.admits(_bag(rows, batch, whole))
    spoilt = np.isin(run_of, run_of[bad[batch]])
    return row_ids((run_of, np.where(spoilt, 0, batch)), len(rows))


def _bag(rows: NDArray[np.int32], labels: Ints, whole: Groups) -> Groups:
    """Give groups of rows, by their codes and labels, as bags."""
    count = int(labels.max()) + 1
    return Groups.from_labels(labels, rows, whole.domain, count=count, whole=whole.whole)


def _find_runs(labels: Ints) -> SortedRuns:
    """Put rows in the order of their numbers together that stand in the same group."""
    starts = np.flatnonzero(np.append(True, labels[1:] != labels[:-1]))
    return SortedRuns(starts, labels[starts])


def halve_runs(whole: Groups, principle: Principle) -> Ints:
    """Give where runs start that are cut as long as both sides keep a principle, as all rows do.

    All runs are cut at once, each at the first place that will do.

    >>> from discreet.principles import KE, FrequencyDiversity
    >>> halve_runs(Groups.of([[1, 2, 5, 7, 8, 9]]), KE(2, 2) & FrequencyDiversity(2)).tolist()
    [0, 3]
    """
    rows = np.repeat(whole.codes, whole.weights)
    n, starts = len(rows), np.zeros(1, dtype=np.int64)
    open_runs = np.ones(1, dtype=bool)
    while open_runs.any():
        first, sizes = starts[open_runs], np.diff(np.append(starts, n))[open_runs]
        cuts = np.full(len(first), -1, dtype=np.int64)
        for part in sorted(range(1, PARTS), key=lambda part: abs(2 * part - PARTS)):
            tried = np.flatnonzero((cuts < 0) & (sizes > 1))
            at = first[tried] + np.maximum(sizes[tried] * part // PARTS, 1)
            good = _keep_both(rows, first[tried], at, first[tried] + sizes[tried], whole, principle)
            cuts[tried[good]] = at[good]
        made = cuts >= 0
        done = np.setdiff1d(starts, first[made], assume_unique=True)
        going = np.concatenate([first[made], cuts[made]])
        starts = np.sort(np.concatenate([done, going]))
        open_runs = np.isin(starts, going)
    return starts


def _keep_both(
    rows: NDArray[np.int32],
    starts: Ints,
    cuts: Ints,
    stops: Ints,
    whole: Groups,
    principle: Principle,
) -> Bools:
    """Say of some runs whether both sides of a cut keep a principle."""
    if not len(starts):
        return np.zeros(0, dtype=bool)
    sizes = np.stack([cuts - starts, stops - cuts], axis=1).ravel()
    first = np.stack([starts, cuts], axis=1).ravel()
    side = np.repeat(np.arange(len(sizes)), sizes)
    inside = np.arange(len(side)) + np.repeat(first - (np.cumsum(sizes) - sizes), sizes)
    bags = _bag(rows[inside], side, whole)
    return np.asarray(principle.admits(bags).reshape(-1, 2).all(axis=1))


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


def deal_values(values: Ints, counts: Ints, k: int, e: int) -> SortedRuns:
    """Group rows of different values, ascending, so that no partition has more groups.

    >>> dealt = deal_values(np.array([1, 2, 3]), np.array([1, 1, 2]), 2, 0)
    >>> dealt.find(np.arange(4)).tolist()
    [0, 1, 0, 1]
    """
    from discreet.kernels.dealing import cut_and_deal

    if k <= 1 and e <= 0:  # everybody is a group
        return SortedRuns(np.arange(counts.sum()), np.arange(counts.sum()))
    group = cut_and_deal(values, np.cumsum(counts), max(k, 2), e)
    return _find_runs(group)
