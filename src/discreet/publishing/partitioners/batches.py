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

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import PromiseError
from discreet.principles.base import Principle, demands
from discreet.principles.groups import Groups
from discreet.publishing.draws import Draws
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.histograms import histogram, require_feasible
from discreet.publishing.partitioners.mondrian import mondrian, refuse_dealt
from discreet.table.arrays import Ints
from discreet.table.coded_table import CodedTable
from discreet.table.microdata import Microdata

MOST_TRIED = 1000
"""So many sizes of batches are tried."""
Batching = Literal["direct", "mondrian", "anatomize"]


def choose_batching(principle: Principle, data: CodedTable) -> Batching:
    """Give the way that answers best under a principle: ``direct`` wherever it applies."""
    q = principle.distinct_enough
    if q is None or len(data.sensitive) > 1:
        return "mondrian"
    whole = histogram(data, data.sensitive[0])
    can_split = principle.monotone and not principle.spaced and principle.admits(whole)[0]
    return "mondrian" if can_split and _find_size(principle, whole, q) is None else "direct"


def make_batches(
    data: Microdata,
    principle: Principle,
    how: Batching,
    buckets: Partition,
    draws: Draws,
) -> Partition:
    """Partition people into batches that satisfy a principle on their sensitive attributes."""
    size = require_batches(data, principle, how)
    if size is None:
        return mondrian(data, principle)
    (name,) = data.sensitive
    whole = histogram(data, name)
    order = draws.permutation(data.n) if how == "anatomize" else _walk(buckets, draws)
    return Partition.from_labels(batch_along(order, data.codes[name], principle, whole, size))


def batch_along(
    order: NDArray[np.integer],
    codes: NDArray[np.int32],
    principle: Principle,
    whole: Groups,
    size: int,
) -> Ints:
    """Give everyone a batch of that size or more, of people who come soon after each other."""
    if principle.spaced:
        cover = int(principle.max_conflict(whole)[0])
        return _deal_lanes(order, codes, size, cover)
    return _fill(order, codes, whole.whole, size)


def require_batches(data: CodedTable, principle: Principle, how: Batching) -> int | None:
    """Refuse a table of which there are no such batches; give their size, where they have one.

    Different values of one attribute are found in a straight line; of several at once it is not
    known how.
    """
    list(demands(principle, data.sensitive))  # refuses to be about another attribute
    if how == "mondrian":
        refuse_dealt(principle)
        require_feasible(data, principle)
        return None
    if len(data.sensitive) > 1:
        raise PromiseError(
            f"batches = {how!r} is for one sensitive attribute: {', '.join(data.sensitive)} given.",
            hint='Leave batches out, or set batches = "mondrian".',
            subject=principle,
        )
    return _require_room(principle, histogram(data, data.sensitive[0]), how)


def _require_room(principle: Principle, whole: Groups, how: Batching) -> int:
    """Give the size of batches in which all people of a table have room, or say what could be."""
    q = principle.distinct_enough
    if q is None:
        raise PromiseError(
            f"{principle} asks for more than different values: batches = {how!r} cannot keep it.",
            hint='Leave batches out, or set batches = "mondrian".',
            subject=principle,
        )
    size = find_batch_size(principle, whole)
    if size is None:
        n, cover = int(whole.sizes[0]), int(principle.max_conflict(whole)[0])
        raise PromiseError(
            f"{principle} cannot be kept by batches of {q} different values: {cover} of "
            f"{n} people have the same or too near a value.",
            hint=f"Ask for at most {n // cover} different values"
            + (
                ', or set batches = "mondrian".'
                if principle.monotone and principle.admits(whole)[0]
                else "."
            ),
            subject=principle,
        )
    return size


def find_batch_size(principle: Principle, whole: Groups) -> int | None:
    """Give the least size of batches of different values in which all people have room, if any."""
    q = principle.distinct_enough
    if q is None:
        return None
    if principle.spaced:
        n, cover = int(whole.sizes[0]), int(principle.max_conflict(whole)[0])
        return q if q * cover <= n else None
    return _find_size(principle, whole, q)


def _find_size(principle: Principle, whole: Groups, q: int) -> int | None:
    """Give the least size, from q on, at which batches have room for all people; or nothing.

    A value that may not be more than a share of a batch may be so many times in one of q people or
    more as that share of q says, rounded down: a larger q may leave more room.
    """
    n = int(whole.sizes[0])
    if principle.monotone and not principle.admits(whole)[0]:
        return None
    if principle.monotone and n <= q:
        return n  # everybody in one
    for size in range(q, min(n, q + MOST_TRIED) + 1):
        if (_count_lanes(whole.whole, size) <= principle.room(size, whole)).all():
            return size
    return None


def _count_lanes(counts: Ints, q: int) -> Ints:
    """How often each value must be in some batch, if there are as many of q people as can be."""
    return -(-counts // (int(counts.sum()) // q))


def _fill(order: NDArray[np.integer], codes: NDArray[np.int32], counts: Ints, q: int) -> Ints:
    """Fill batches of at least q along an order, each value as rarely in one as can be.

    A value that is too frequent to be in a batch once is dealt, along the order, into several of
    which each is.
    """
    from discreet.kernels.batches import fill_batches

    lanes = _count_lanes(counts, q)
    if lanes.max() > 1:
        starts = np.cumsum(lanes) - lanes
        ranked = order[np.argsort(codes[order], kind="stable")]
        within = np.arange(len(codes)) - np.repeat(np.cumsum(counts) - counts, counts)
        own = codes[ranked]
        dealt = np.empty_like(codes)
        dealt[ranked] = starts[own] + within % lanes[own]
        codes, counts = dealt, np.bincount(dealt, minlength=int(lanes.sum()))
    return np.asarray(fill_batches(order, codes, counts, q))


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
