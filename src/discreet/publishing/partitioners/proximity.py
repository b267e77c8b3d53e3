"""Groups under (ε,m), which is not closed under union.

Li, Tao, Xiao, SIGMOD 2008, section 5.2: split as long as both sides could still be partitioned
(*splitting*), then deal what is left into groups that satisfy the principle (*partitioning*).
Dealing takes no notice of who is near whom. Beyond the paper, sets that no cut can split are
therefore first halved stretch by stretch of their numbers, by the quasi-identifier that makes
boxes smallest, as long as both halves can still be partitioned.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import numpy as np

from discreet.errors import PromiseError
from discreet.principles.base import Principle, demands
from discreet.principles.proximity import Proximity
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.histograms import holds, holds_whole, require_feasible
from discreet.publishing.partitioners.mondrian import Categories, Tree, grow
from discreet.table.microdata import Microdata

Dealing = Literal["local", "round-robin"]


def split_and_deal(
    data: Microdata,
    principle: Principle,
    *,
    categories: Categories = "set",
    dealing: Dealing = "local",
) -> Partition:
    """Partition under (ε,m), alone or with others; ``round-robin`` is the paper's way to deal.

    Other principles may be too much for dealing. Then people are split into sets that need none,
    because they satisfy what :attr:`Principle.mixture_safe` asks; and if that is too much as well,
    as far as both sides satisfy everything as they are, which the whole table must.
    """
    require_feasible(data, principle)
    wanted = list(demands(principle, data.sensitive))
    near, spaced = next((p, n) for p, n in wanted if isinstance(p, Proximity) and n is not None)
    rows = data.order([spaced, *(name for name in data.codes if name != spaced)])
    ranked = data.taken(rows)
    for condition in (principle.generalizable(), principle.mixture_safe, principle):
        if condition is None or not holds_whole(data, condition):
            continue
        tree = grow(ranked, condition, categories=categories, ranked=spaced)
        if condition is not principle:
            _partition_leaves(tree, ranked, near, spaced, dealing == "local")
        groups = tree.partition
        # alone, Theorem 1 says that it holds
        if len(wanted) == 1 or holds(ranked, groups, principle):
            return Partition(rows[groups.order].astype(np.int32), groups.offsets)
    raise PromiseError(
        f"No groups were found that keep {principle}.",
        hint="Ask for one of them alone, or for less: a smaller epsilon or m, or a weaker other "
        "principle.",
        subject=principle,
    )


def _partition_leaves(
    tree: Tree, data: Microdata, near: Proximity, spaced: str, local: bool
) -> None:
    from discreet.kernels.halving import halve_and_deal
    from discreet.kernels.rules import COVER

    starts = np.flatnonzero(tree.leaves >= 0)
    ends = np.append(starts[1:], data.n)
    spans = np.stack([starts, ends, tree.leaves[starts]], axis=1)
    ranked = np.flatnonzero((tree.rules[:, 0] == COVER) & (tree.rules[:, 3] == 1))[0]
    reach = np.stack(near.reach(data.domains[spaced]))
    # halving asks the rules alone, so they must say all that is promised
    last = (*tree.fixed, ranked, reach, near.m, local and tree.complete)
    cores = os.cpu_count() or 1
    # leaves lie side by side, so a thread's share is a stretch of them
    shares = np.searchsorted(starts, np.arange(1, 8 * cores) * data.n // (8 * cores))
    with ThreadPoolExecutor(cores) as pool:
        list(
            pool.map(
                lambda part: halve_and_deal(tree.cells.buffers, part, tree.leaves, *last),
                np.split(spans, shares),
            )
        )
