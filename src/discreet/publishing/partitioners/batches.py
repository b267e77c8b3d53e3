"""Batches: groups that satisfy a principle and need not look alike.

Tao, Chen, Xiao, Zhou, Zhang, TKDE, section 3.4: the values of a batch are published apart from
quasi-identifiers, so a batch may hold anybody. Three ways to choose them:

- ``mondrian``: the paper's; the groups of a generalization under the principle.
- ``anatomize`` (Xiao, Tao, VLDB 2006): as few different values as the principle needs, drawn from
  the whole table without regard to quasi-identifiers.
- ``direct``, the paper's open question: the same small batches, but filled along the order of the
  buckets, so that a batch takes people of one bucket and of its neighbours wherever it can. What
  the batches of a bucket add up to is then nearest to what the bucket truly holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import PromiseError
from discreet.principles.base import Principle, demands
from discreet.publishing.draws import Draws
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.histograms import histogram
from discreet.publishing.partitioners.mondrian import mondrian
from discreet.table.arrays import Ints
from discreet.table.microdata import Microdata

Batching = Literal["direct", "mondrian", "anatomize"]


def choose_batching(principle: Principle, names: Sequence[str]) -> Batching:
    """Give the way that answers best under a principle: ``direct`` wherever it applies."""
    direct = principle.distinct_enough is not None and len(names) == 1
    return "direct" if direct else "mondrian"


def make_batches(
    data: Microdata,
    names: Sequence[str],
    principle: Principle,
    how: Batching,
    buckets: Partition,
    draws: Draws,
) -> Partition:
    """Partition people into batches that satisfy a principle on their sensitive attributes.

    Different values of one attribute are found in a straight line; of several at once it is not
    known how.
    """
    list(demands(principle, data.sensitive))  # refuses to be about another attribute
    if how == "mondrian":
        return mondrian(data, principle)
    if len(names) > 1:
        raise PromiseError(
            f"batches = {how!r} is for one sensitive attribute: {', '.join(names)} given.",
            hint='Leave batches out, or set batches = "mondrian".',
            subject=principle,
        )
    (name,) = names
    whole = histogram(data, name)
    q, cover = principle.distinct_enough, int(principle.max_conflict(whole)[0])
    if q is None:
        raise PromiseError(
            f"{principle} asks for more than different values: batches = {how!r} cannot keep it.",
            hint='Leave batches out, or set batches = "mondrian".',
            subject=principle,
        )
    if q * cover > data.n:
        raise PromiseError(
            f"{principle} cannot be kept by batches of {q} different values: {cover} of "
            f"{data.n} people have the same or too near a value.",
            hint=f"Ask for at most {data.n // cover} different values"
            + (
                ', or set batches = "mondrian".'
                if principle.monotone and principle.admits(whole)[0]
                else "."
            ),
            subject=principle,
        )
    order = draws.permutation(data.n) if how == "anatomize" else _walk(buckets, draws)
    codes = data.codes[name]
    if principle.spaced:
        return Partition.from_labels(_deal_lanes(order, codes, q, cover))
    if int(whole.whole.max()) > data.n // q:  # it asks nothing of values: anybody stands beside all
        labels = np.empty(data.n, dtype=np.int64)
        labels[order] = np.arange(data.n) * (data.n // q) // data.n
        return Partition.from_labels(labels)
    from discreet.kernels.batches import fill_batches

    return Partition.from_labels(fill_batches(order, codes, whole.whole, q))


def _walk(buckets: Partition, draws: Draws) -> NDArray[np.int32]:
    """Go through the buckets, neighbours after each other, people of a bucket in random order.

    Where the walk starts, and in which direction, is drawn too: who knows the buckets shall not
    know who was taken first.
    """
    (start,) = draws.integers(buckets.count, 1)
    number = (np.arange(buckets.count) - start) % buckets.count
    number = -number if draws.integers(2, 1)[0] else number
    mixed = draws.permutation(len(buckets.order))
    # numbers with their place in one integer: sorting integers is far faster than rows
    keys = number[buckets.sorted_labels[mixed]] << 32 | np.arange(len(mixed))
    keys.sort()
    return np.asarray(buckets.order[mixed[keys & 0xFFFFFFFF]])


def _deal_lanes(order: NDArray[np.integer], codes: NDArray[np.int32], q: int, cover: int) -> Ints:
    """Cut lanes of people, none near another, into batches of at least q along an order.

    People are dealt by value into as many lanes as a neighbourhood can hold (Li, Tao, Xiao, SIGMOD
    2008, section 4), so no two of a lane are neighbours, nor of any part of it.
    """
    n = len(codes)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    lane = np.empty(n, dtype=np.int64)
    lane[order[np.argsort(codes[order], kind="stable")]] = np.arange(n) % cover
    rows = np.lexsort((place, lane))
    sizes = np.bincount(lane, minlength=cover)
    cuts = sizes // q  # batches in each lane
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    within = np.arange(n) - starts[lane[rows]]
    first = np.concatenate([[0], np.cumsum(cuts)[:-1]])
    labels = np.empty(n, dtype=np.int64)
    labels[rows] = first[lane[rows]] + within * cuts[lane[rows]] // sizes[lane[rows]]
    return labels
