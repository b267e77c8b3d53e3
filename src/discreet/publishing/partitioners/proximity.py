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
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.errors import PromiseError
from discreet.principles.base import Principle, demands
from discreet.principles.proximity import Proximity
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.histograms import holds, holds_whole, require_feasible
from discreet.publishing.partitioners.mondrian import Categories, Tree, grow
from discreet.table.coded_table import CodedTable
from discreet.table.domain import Domain
from discreet.table.microdata import Microdata

Dealing = Literal["local", "round-robin"]


def split_and_deal(
    data: Microdata,
    principle: Principle,
    *,
    categories: Categories = "set",
    dealing: Dealing = "local",
) -> Partition:
    """Partition under (ε,m), alone or with others; ``round-robin`` is the paper's way to deal."""
    plan = DealingPlan.of(data, principle, dealing)
    rows = data.order(plan.order)
    ranked = data.taken(rows)
    for condition in plan.conditions:
        tree = grow(ranked, condition, categories=categories, ranked=plan.spaced)
        if condition is not principle:
            plan.dealer(tree)
        groups = tree.partition
        if plan.alone or holds(ranked, groups, principle):
            return Partition(rows[groups.order].astype(np.int32), groups.offsets)
    raise refuse_dealing(principle)


@dataclass(frozen=True, eq=False)
class DealingPlan:
    """How people are split and dealt under a principle, whatever rows there are."""

    dealer: Dealer
    spaced: str
    """The sensitive number by which they are dealt."""
    order: list[str]
    """The attributes in whose order rows come, that number first."""
    conditions: list[Principle]
    """Under which people are split, one after the other until groups keep the principle.

    Other principles may be too much for dealing. Then people are split into sets that need none,
    because they satisfy what :attr:`Principle.mixture_safe` asks; and if that is too much as well,
    as far as both sides satisfy everything as they are, which the whole table must.
    """
    alone: bool
    """Whether nothing else is promised: then Theorem 1 says that groups keep it."""

    @staticmethod
    def of(data: CodedTable, principle: Principle, dealing: Dealing) -> DealingPlan:
        """Make one, or raise if no partition of the table can satisfy the principle."""
        require_feasible(data, principle)
        wanted = list(demands(principle, data.sensitive))
        dealt = [(p, n) for p, n in wanted if isinstance(p, Proximity) and n is not None]
        if not dealt:  # some other principle that is not closed under union
            raise PromiseError(
                f"{principle} cannot be kept by dealing people whose numbers are near apart.",
                hint='Use the method "republication" for m-invariance.',
                subject=principle,
            )
        near, spaced = dealt[0]
        order = [spaced, *(name for name in data.domains if name != spaced)]
        asked = (principle.generalizable(), principle.mixture_safe, principle)
        held = [c for c in asked if c is not None and holds_whole(data, c)]
        dealer = Dealer(near, data.domains[spaced], dealing == "local")
        return DealingPlan(dealer, spaced, order, held, len(wanted) == 1)


@dataclass(frozen=True, eq=False)
class Dealer:
    """Deals the leaves of a tree, whose rows come in the order of a number, into groups."""

    near: Proximity
    domain: Domain
    local: bool

    def __call__(self, tree: Tree) -> None:
        """Halve leaves as far as both halves can be dealt, and deal them."""
        from discreet.kernels.halving import halve_and_deal
        from discreet.kernels.rules import COVER

        starts, n = np.flatnonzero(tree.leaves >= 0), len(tree.leaves)
        ends = np.append(starts[1:], n)
        spans = np.stack([starts, ends, tree.leaves[starts]], axis=1)
        ranked = np.flatnonzero((tree.rules[:, 0] == COVER) & (tree.rules[:, 3] == 1))[0]
        reach = np.stack(self.near.reach(self.domain))
        # halving asks the rules alone, so they must say all that is promised
        last = (*tree.fixed, ranked, reach, self.near.m, self.local and tree.complete)
        cores = os.cpu_count() or 1
        # leaves lie side by side, so a thread's share is a stretch of them
        shares = np.searchsorted(starts, np.arange(1, 8 * cores) * n // (8 * cores))
        with ThreadPoolExecutor(cores) as pool:
            list(
                pool.map(
                    lambda part: halve_and_deal(tree.cells.buffers, part, tree.leaves, *last),
                    np.split(spans, shares),
                )
            )


def refuse_dealing(principle: Principle) -> PromiseError:
    """Say that no groups were found."""
    return PromiseError(
        f"No groups were found that keep {principle}.",
        hint="Ask for one of them alone, or for less: a smaller epsilon or m, or a weaker other "
        "principle.",
        subject=principle,
    )
