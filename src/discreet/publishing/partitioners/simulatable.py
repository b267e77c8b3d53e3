"""Simulatable splits: whoever knows how groups were found learns nothing from it.

A search that stops where a promise ends tells by where it stopped that a finer split would have
broken it: the minimality attack (Wong, Fu, Wang, Pei, VLDB 2007). As in the auditing of queries
(Kenthapadi, Mishra, Nissim, PODS 2005), a decision tells nothing that the adversary could have made
as well. So a node is cut only where *every* way to hand its values out to its people would keep the
principle on both sides.

**What holds.** Whether and where a node is cut follows from the quasi-identifiers of its people and
from how often each value occurs in it, and from nothing else. Take any other arrangement of the
values within the groups of a release. Every node is a union of groups, so it holds the same values
as before; so every step is the same, and so are the groups. Who knows the method and everybody's
quasi-identifiers can therefore rule no arrangement out, and none has become likelier: what is
believed of a person is the share of their group, which the principle bounds. ∎

It is dear where a value is frequent: no cut is made of a node in which a value has more than half
of what the promise allows. Numbers that differ are cut as finely as ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from discreet.errors import PromiseError
from discreet.principles.base import Principle
from discreet.principles.groups import Groups
from discreet.principles.parts import PartBound, bound_parts
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.levels import LevelSplitter, SplitCells, SplitCheck
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


def split_simulatably(
    data: Microdata,
    principle: Principle,
    attributes: Sequence[str] | None = None,
    *,
    categories: Categories = "set",
) -> Partition:
    """Partition by the given quasi-identifiers (all by default); the table itself must be a group.

    Of principles that tell by a bag alone which of its parts keep them.
    """
    from discreet.kernels.mondrian import open_root
    from discreet.kernels.part_sizes import grow_simulatable

    names = list(data.quasi_identifiers if attributes is None else attributes)
    demand = Demand.of(data, principle, names)
    _require_whole(demand, principle)
    cells = pack_cells(data, demand, names, categories)
    told = [(part.part_rules(demand.wholes[name]), str(name)) for part, name in demand.wanted
            if part.reads_values and isinstance(part, PartBound)]  # fmt: skip
    leaves = np.full(data.n, -1, dtype=np.int8)
    tree = Tree(cells, leaves, *write_rules(told, list(cells.sensitive)), demand.min_size)
    root = open_root(cells.attrs, data.n)
    if tree.complete:
        split_depth_first(tree, root, grow_simulatable)
    else:
        split_by_nodes(tree, root, demand)
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


def split_by_nodes(tree: Tree, root: Ints, demand: Demand) -> None:
    """Do the same with the principles themselves: the reference for their rules."""
    from discreet.kernels.mondrian import open_side

    cells, nodes = tree.cells, [root]
    check = SplitCheck(cells, [], demand.wholes)  # nothing is asked of sides
    while nodes:
        node = nodes.pop()
        needed, (start, end) = _size_parts(cells, node, demand), node[:2].tolist()
        splitter = LevelSplitter(cells, needed, check)
        (found,) = splitter.cut_level([node]) if end - start >= 2 * needed else (None,)
        if found is None:
            tree.leaves[start] = node[2]
            continue
        ends = np.array(found.ends)
        for side in range(len(ends)):
            child = np.empty_like(node)
            open_side(child, node, side, ends, cells.attrs, found.attribute, found.cut)
            nodes.append(child)


def _size_parts(cells: SplitCells, node: Ints, demand: Demand) -> int:
    start, end, buffer = node[:3].tolist()
    needed = demand.min_size
    for part, name in demand.wanted:
        whole, bag = demand.wholes[name], Groups.of_people(np.array([end - start]))
        if name is not None:
            codes = cells.read(cells.sensitive[name], buffer, start, end)
            bag = Groups.from_counts(np.bincount(codes, minlength=whole.domain.size), whole.domain)
        needed = max(needed, int(bound_parts(part, bag)[0]))
    return needed
