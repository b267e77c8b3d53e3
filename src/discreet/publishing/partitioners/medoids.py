"""Medoids: k-medoids by PAM (Kaufman, Rousseeuw), the best of several starts."""

from __future__ import annotations

import numpy as np

from discreet.errors import SchemaError
from discreet.table.arrays import Floats, Ints

RESTARTS, LARGE = 10, 300
"""Other starts than the greedy one; more points are not started again, which would take long."""


def cluster(distances: Floats, c: int) -> list[list[int]]:
    """Part points into ``c`` clusters around medoids.

    The first start is greedy, the others are random but always the same. Clusters and their members
    are in ascending order.

    >>> near = np.array([[0, 1, 9, 9], [1, 0, 9, 9], [9, 9, 0, 1], [9, 9, 1, 0]]) / 10
    >>> cluster(near, 2)
    [[0, 1], [2, 3]]
    """
    n = len(distances)
    if not 1 <= c <= n:
        raise SchemaError(f"columns = {c}: give a whole number from 1 to {n}.")
    rng = np.random.default_rng(0)
    again = RESTARTS if n <= LARGE else 0
    starts = [_build(distances, c), *(rng.choice(n, c, replace=False) for _ in range(again))]
    found = [_swap(distances, np.sort(start)) for start in starts]
    medoids = min(found, key=lambda chosen: (_cost(distances, chosen), chosen.tolist()))
    nearest = distances[:, medoids].argmin(axis=1)
    nearest[medoids] = np.arange(c)
    return sorted(np.flatnonzero(nearest == k).tolist() for k in range(c))


def _cost(distances: Floats, medoids: Ints) -> float:
    return round(float(distances[:, medoids].min(axis=1).sum()), 12)


def _build(distances: Floats, c: int) -> Ints:
    """Take the medoid that saves most, again and again."""
    chosen: list[int] = []
    nearest = np.full(len(distances), np.inf)
    for _ in range(c):
        costs = np.minimum(distances, nearest).sum(axis=1)
        costs[chosen] = np.inf
        chosen.append(int(np.argmin(costs)))
        nearest = np.minimum(nearest, distances[chosen[-1]])
    return np.array(chosen)


def _swap(distances: Floats, medoids: Ints) -> Ints:
    """Exchange a medoid with another point as long as that saves something, and most of all."""
    cost = _cost(distances, medoids)
    while len(medoids) < len(distances):
        changes = _weigh_swaps(distances, medoids)
        point, k = np.unravel_index(int(changes.argmin()), changes.shape)
        swapped = np.sort(np.append(np.delete(medoids, k), point))
        if (now := _cost(distances, swapped)) >= cost:
            break
        cost, medoids = now, swapped
    return medoids


def _weigh_swaps(distances: Floats, medoids: Ints) -> Floats:
    """By how much the cost changes if a point (row) takes the place of a medoid (column).

    A point goes to the new medoid if that is nearer than its own; if its own is taken away, to the
    nearer of the new one and its second.
    """
    near = distances[:, medoids]
    own = near.argmin(axis=1)
    first = near[np.arange(len(near)), own]
    alone = np.full((len(near), 1), np.inf)
    second = np.partition(np.hstack([near, alone]), 1, axis=1)[:, 1]
    stays = np.minimum(distances - first, 0)
    leaves = np.minimum(distances, second) - first
    changes = stays.sum(axis=1)[:, None] + (leaves - stays) @ np.eye(len(medoids))[own]
    changes[medoids] = np.inf
    return np.asarray(changes)
