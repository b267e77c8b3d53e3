"""Simulatable splits: whoever knows how groups were found learns no more than is promised.

A search that stops where a promise ends tells by where it stopped that a finer split would have
broken it: the minimality attack (Wong, Fu, Wang, Pei, VLDB 2007). As in the auditing of queries
(Kenthapadi, Mishra, Nissim, PODS 2005), a decision tells nothing that the adversary could have made
as well. So of every node one cut is considered, which follows from the quasi-identifiers of its
people and from how often each value occurs in it; with a chance r that follows from the same it is
not even tried, and if it is, it is made where both sides keep the principle. A node whose cut is
not made is a group: it may be one of which nothing was asked.

**What is assumed.** Whoever reads the release knows the method and everybody's quasi-identifiers,
and takes all ways to hand the values of the table out to its people for equally likely.

**How likely each way is then.** Take a way that gives every group of the release the values it
holds. Every node is a union of groups, so it holds the same values as in truth: so which cut is
considered, and r, are the same, and whether the sides of a cut that was made keep the principle as
well. Only of a group whose cut was not made does it matter how its own values are handed out: that
happens with chance 1 where a side breaks the principle (event F), else with chance r. So groups
are independent of each other, and the belief that a person of a group has a value v, which p of
the group have, is

    (r·p + (1 - r)·P(F and v)) / (r + (1 - r)·P(F)),

where P is of handing the values of the group out at random.

**How large r is.** Let a value be promised to be believed with at most θ, and let X be how many of
the m people of the person's side have it. F depends on what sides hold, and on nothing else, so who
of a side has which of its values is still open, and P(F and v) = E[1_F·X/m]. So the belief is at
most θ if and only if

    r·(θ - p) ≥ (1 - r)·E[1_F·(X/m - θ)],

and that is so whenever r/(1 - r) ≥ E[max(X/m - θ, 0)] / (θ - p), whatever F is. The right side is a
sum over a hypergeometric distribution; r is computed from it, rounded up. ∎ The same holds for all
that is said of shares in a bag and is linear in them: of each value with its own θ, of several
sensitive attributes, of neighbourhoods of numbers, and of recursive diversity.

**How much smaller it may be.** Outside of the event that v itself breaks θ on some side, X/m - θ
is not above 0; that event belongs to F where θ is a bound on single values. Of two sides only one
can break it, and if the other does, X/m - θ is below 0. So E[max(X/m - θ, 0)] may be lessened by
the mean of that (``weigh_share``). ∎ And if two sides are halves, r may be 0 under any principle: F
is the same when both are exchanged, so given F either half is as likely the person's, and
P(F and v) = p·P(F): nothing is told of any one person. ∎

A node is a group where r would be large, and r is 0 where *every* way to hand the values out keeps
the principle (``PartBound.part_size``): then nothing is told at all. Of principles that promise
that values are possible, it is enough that r is more than 0 where F is possible, or that sides are
halves: then every value that a group holds is possible for everybody in it.

Groups are larger than those of a search that may look, since a cut that is likely to fail must not
be tried, and since a node stays whole where values go with quasi-identifiers so that it fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from discreet.errors import PromiseError
from discreet.principles.base import Principle
from discreet.principles.groups import Groups
from discreet.principles.parts import PartBound, bound_parts
from discreet.publishing.draws import Draws
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.levels import LevelSplitter, Split, SplitCells, SplitCheck
from discreet.publishing.partitioners.mondrian import (
    Categories,
    Demand,
    Tree,
    pack_cells,
    split_depth_first,
    write_rules,
)
from discreet.table.arrays import Ints
from discreet.table.microdata import Microdata

Resisted = Literal["reader", "method", "learning"]
"""Who reads the release, who knows the method that made it as well, and who learns across groups
how values go with quasi-identifiers (:mod:`discreet.publishing.partitioners.learning`)."""
DEAREST = 2**53 // 16
"""A cut that must be left untried with a larger chance, of 2**53, is not considered."""


def drop_plain(parameters: dict[str, object]) -> dict[str, object]:
    """Leave out of a method's parameters that it resists nobody but readers."""
    plain = parameters.get("resist") == "reader"
    return {name: value for name, value in parameters.items() if name != "resist" or not plain}


def split_simulatably(
    data: Microdata,
    principle: Principle,
    draws: Draws,
    attributes: Sequence[str] | None = None,
    *,
    categories: Categories = "set",
    certain: bool = False,
) -> Partition:
    """Partition by the given quasi-identifiers (all by default); the table itself must be a group.

    Of principles that tell by a bag alone which of its parts keep them. Only cuts that cannot fail
    are made if it must be ``certain`` that to see a node whole tells nothing at all.
    """
    from discreet.kernels.mondrian import open_root
    from discreet.kernels.simulatable import grow_simulatable

    names = list(data.quasi_identifiers if attributes is None else attributes)
    demand = Demand.of(data, principle, names)
    _require_whole(demand, principle)
    cells = pack_cells(data, demand, names, categories)
    told = [(part.part_rules(demand.wholes[name]), str(name)) for part, name in demand.wanted
            if part.reads_values and isinstance(part, PartBound)]  # fmt: skip
    leaves = np.full(data.n, -1, dtype=np.int8)
    tree = Tree(cells, leaves, *write_rules(told, list(cells.sensitive)), demand.min_size)
    coins = (draws.words(data.n) >> np.uint64(11)).astype(np.int64)
    root = open_root(cells.attrs, data.n)
    if tree.complete:
        split_depth_first(tree, root, grow_simulatable, coins, DEAREST, certain)
    else:
        split_by_nodes(tree, root, demand, coins, certain=certain)
    return tree.partition


def _require_whole(demand: Demand, principle: Principle) -> None:
    """Refuse a table that is no group, and principles that do not bound parts."""
    for part, name in demand.wanted:
        bound_parts(part, demand.wholes[name])
        if not part.admits(demand.wholes[name]).all():
            raise PromiseError(
                f"{part} does not hold of the whole table as one group, and groups that tell "
                "nothing by how they were found are parts of it.",
                hint='Ask for less, or leave resist = "method" out.',
                subject=principle,
            )


def split_by_nodes(
    tree: Tree, root: Ints, demand: Demand, coins: Ints, *, certain: bool = False
) -> None:
    """Do the same with the principles themselves: the reference for their rules."""
    from discreet.kernels.mondrian import open_side

    cells, nodes = tree.cells, [root]
    check = SplitCheck(cells, demand.wanted, demand.wholes)
    while nodes:
        node = nodes.pop()
        found = _consider(cells, node, demand, certain=certain)
        if found is not None:
            cut, price = found
            if coins[cut.ends[0]] < price or not check.admits_splits([(node, cut)])[0]:
                found = None
        if found is None:
            tree.leaves[node[0]] = node[2]
            continue
        ends = np.array(cut.ends)
        for side in range(len(ends)):
            child = np.empty_like(node)
            open_side(child, node, side, ends, cells.attrs, cut.attribute, cut.cut)
            nodes.append(child)


def _consider(
    cells: SplitCells, node: Ints, demand: Demand, *, certain: bool
) -> tuple[Split, int] | None:
    """Find the cut of a node that may be tried, and the chance that it must not be."""
    start, end = node[:2].tolist()
    n, smallest, bags = end - start, demand.min_size, _list_bags(cells, node, demand)
    while 2 * smallest <= n:
        if _price(bags, np.array([smallest, n - smallest]), certain=certain) <= DEAREST:
            break
        smallest += 1 + smallest // 8
    while 2 * smallest <= n:
        (found,) = LevelSplitter(cells, smallest, SplitCheck(cells, [], {})).cut_level([node])
        if found is None:
            break
        sizes = np.diff([start, *found.ends])
        price = _price(bags, sizes, certain=certain)
        if price <= DEAREST:
            return found, price
        smallest = int(sizes.min()) + 1
    return None


def _price(bags: list[tuple[PartBound, Groups]], sizes: Ints, *, certain: bool) -> int:
    from discreet.kernels.odds import WHOLE, price

    if certain:
        return WHOLE * any(sizes.min() < part.part_size(bag)[0] for part, bag in bags)
    return int(price(max(part.cut_odds(bag, sizes) for part, bag in bags)))


def _list_bags(cells: SplitCells, node: Ints, demand: Demand) -> list[tuple[PartBound, Groups]]:
    """Give the parts of what is demanded, each with what a node holds of its attribute."""
    start, end, buffer = node[:3].tolist()
    found = []
    for part, name in demand.wanted:
        assert isinstance(part, PartBound)
        whole, bag = demand.wholes[name], Groups.of_people(np.array([end - start]))
        if name is not None:
            codes = cells.read(cells.sensitive[name], buffer, start, end)
            bag = Groups.from_counts(np.bincount(codes, minlength=whole.domain.size), whole.domain)
        found.append((part, bag))
    return found
