"""Regions: boxes that end at cuts, not at people.

The tight box of a group ends at values that somebody in it has. Its region is what a recursion of
cuts leaves of the whole domain: regions of groups that can be told apart tile the domain, and a cut
lies anywhere between the people on its two sides, drawn at random, so that no end is known to be
anybody's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.publishing.draws import Draws
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.mondrian import Categories
from discreet.publishing.partitioners.packing import rank_by_frequency
from discreet.table.arrays import Ints
from discreet.table.domain import Domain
from discreet.table.microdata import Microdata
from discreet.table.schema import Type


@dataclass(frozen=True, eq=False)
class Region:
    """One attribute of all groups, from ``low`` to ``high``: places in the order it is cut in."""

    low: Ints
    high: Ints
    place: Ints
    """Per code its place: whole units, the place in an ordinal's order, a rank. Missing is last."""


def find_regions(
    data: Microdata,
    partition: Partition,
    names: Sequence[str],
    categories: Categories,
    draws: Draws,
) -> dict[str, Region]:
    """Give every group a region that holds its people, in the named attributes.

    Groups come in the order of the recursion that made them. Those that no cut parts, because
    people were dealt to them, share one region.
    """
    from discreet.kernels.apart import cut_apart

    places, lows, highs, depths, where = [], [], [], [np.zeros(1, dtype=np.int64)], []
    starts = partition.offsets[:-1]
    for name in names:
        domain, codes = data.domains[name], data.codes[name][partition.order]
        in_tree = categories == "ancestor" and domain.taxonomy is not None
        place = np.arange(domain.size) if in_tree else _order_codes(data, name)
        at = place[codes]
        low, high = np.minimum.reduceat(at, starts), np.maximum.reduceat(at, starts)
        if in_tree:
            low, high = _spread_to_nodes(domain, low, high)
            where.append(sum(map(len, depths)))
            depths.append(_measure_boundaries(domain))
        else:
            where.append(-1)
        places.append(place)
        lows.append(low)
        highs.append(high)
    ends = [(np.full(partition.count, p.min()), np.full(partition.count, p.max())) for p in places]
    floor, ceiling = (np.stack(end).astype(np.int64) for end in zip(*ends, strict=True))
    cut_apart(
        np.stack(lows).astype(np.int64),
        np.stack(highs).astype(np.int64),
        partition.sizes,
        floor,
        ceiling,
        np.concatenate(depths),
        np.array(where, dtype=np.int64),
        draws.shares(partition.count),
    )
    return {name: Region(floor[i], ceiling[i], places[i]) for i, name in enumerate(names)}


def _order_codes(data: Microdata, name: str) -> Ints:
    """Give the place of every code: of categories by frequency, as they are split."""
    domain = data.domains[name]
    kind = domain.attribute.type
    if not kind.ordered:
        return rank_by_frequency(data.count(name), domain)
    if kind is Type.ORDINAL:
        rank = {text: i for i, text in enumerate(domain.attribute.order)}
        known = np.array([rank[text] for text in domain.values], dtype=np.int64)
    else:
        known = np.asarray(domain.values, dtype=np.int64)
    return np.append(known, known.max(initial=-1) + 1) if domain.missing else known


def _spread_to_nodes(domain: Domain, low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """Give the first and the last leaf of each group's lowest common ancestor."""
    tree = domain.taxonomy
    assert tree is not None
    pairs, which = np.unique(np.stack([low, high], axis=1), axis=0, return_inverse=True)
    spread = []
    for first, last in pairs.tolist():
        if first == last:
            spread.append((first, last))
        elif last >= len(tree.leaves):  # with missing, nothing short of everything covers it
            spread.append((0, domain.size - 1))
        else:
            node = tree.ancestor(first, last)
            spread.append((node.low, node.high - 1))
    found = np.array(spread, dtype=np.int64)[which.ravel()]
    return found[:, 0], found[:, 1]


def _measure_boundaries(domain: Domain) -> Ints:
    """Give, per leaf, the depth of the lowest node that holds it and the next; of the last, -1."""
    tree = domain.taxonomy
    assert tree is not None
    depths = [tree.ancestor(i, i + 1).depth for i in range(len(tree.leaves) - 1)]
    return np.array([*depths, -1], dtype=np.int64)
