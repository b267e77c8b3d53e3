"""Fitting: tables of noisy counts made consistent and non-negative, from nothing but themselves.

What several tables count, sums over some attributes that they share, each counts with other noise.
These sums are averaged, each as much as it is exact, and the difference is spread evenly over the
cells of every table (Barak et al., PODS 2007; Qardaji et al., PriView, SIGMOD 2014). Then counts
below nothing are cut off, at the expense of the others of their table; and both again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import combinations

import numpy as np

from discreet.table.arrays import Floats

Axes = tuple[str, ...]
ROUNDS = 30
STEPS = 100
"""So often totals are fitted in turn, at most."""
SETTLED = 1e-10
"""Totals that are off by so small a part of all are fitted."""
STALLED = 0.99
"""Totals that are off by nearly as much as a step before cannot all be had."""


def project(names: Axes, counts: Floats, onto: Axes) -> Floats:
    """Add a table up to some of its attributes, in their order there."""
    away = tuple(i for i, name in enumerate(names) if name not in onto)
    return np.asarray(counts.sum(axis=away))


def make_consistent(tables: Sequence[tuple[Axes, Floats]]) -> list[Floats]:
    """Give tables without negative counts that agree, nearly, on all that several of them count."""
    names = [one for one, _ in tables]
    made = [counts.astype(np.float64) for _, counts in tables]
    shared = _list_shared(names)
    for _ in range(ROUNDS):
        made = [_cut_negative(counts) for counts in _agree(names, made, shared)]
    return made


def _list_shared(names: Sequence[Axes]) -> list[Axes]:
    """List what tables have in common, and what these have, the fewest attributes first."""
    found: set[frozenset[str]] = {frozenset()}
    new = {frozenset(a) & frozenset(b) for a, b in combinations(names, 2)}
    while not new <= found:
        found |= new
        new = {a & b for a, b in combinations(found, 2)}
    order = list(dict.fromkeys(name for one in names for name in one))
    listed = (tuple(i for i, name in enumerate(order) if name in one) for one in found)
    return [tuple(order[i] for i in places)
            for places in sorted(listed, key=lambda places: (len(places), places))]  # fmt: skip


def _agree(names: Sequence[Axes], tables: Sequence[Floats], shared: Sequence[Axes]) -> list[Floats]:
    """Let all tables add up to the same; what agrees on fewer attributes goes on doing so."""
    made = list(tables)
    for common in shared:
        among = [i for i, one in enumerate(names) if set(common) <= set(one)]
        sums = [_sort_axes(names[i], made[i], common) for i in among]
        pooled = [made[i].size / s.size for i, s in zip(among, sums, strict=True)]
        weights = np.array([1 / cells for cells in pooled])
        mean = sum(w * s for w, s in zip(weights, sums, strict=True)) / weights.sum()
        for i, s, cells in zip(among, sums, pooled, strict=True):
            off = _spread_axes(common, np.asarray((mean - s) / cells), names[i])
            made[i] = made[i] + off
    return made


def _sort_axes(names: Axes, counts: Floats, onto: Axes) -> Floats:
    """Add a table up to some attributes, in an order that is given."""
    here = [name for name in names if name in onto]
    return np.asarray(project(names, counts, onto).transpose([here.index(n) for n in onto]))


def _spread_axes(names: Axes, counts: Floats, over: Axes) -> Floats:
    """Lay a table of some attributes over one that has more."""
    moved = counts.transpose([names.index(name) for name in over if name in names])
    sizes = iter(moved.shape)
    spread: Floats = moved.reshape([next(sizes) if name in names else 1 for name in over])
    return spread


def _cut_negative(counts: Floats) -> Floats:
    """Take off what is below nothing, and as much of all that is above it: the sum stays."""
    total = float(counts.sum())
    ordered = np.sort(counts, axis=None)[::-1]
    taken = (np.cumsum(ordered) - total) / np.arange(1, len(ordered) + 1)
    above = np.flatnonzero(ordered > taken)
    if total <= 0 or not len(above):  # there may be less in all than a float tells of one count
        return np.zeros_like(counts)
    cut: Floats = np.maximum(counts - taken[above[-1]], 0)
    return cut


def fit(names: Axes, shape: tuple[int, ...], known: Sequence[tuple[Axes, Floats]]) -> Floats:
    """Give the table of some attributes that tells nothing beyond its known sums.

    Of all that have these sums it is the one of most entropy, found by fitting them in turn
    (iterative proportional fitting, Deming and Stephan 1940). All add up to the same.
    """
    total = float(np.mean([counts.sum() for _, counts in known])) if known else 0.0
    cells = int(reduce(lambda a, b: a * b, shape, 1))
    made = np.full(shape, total / max(cells, 1))
    if total <= 0:
        return made
    wanted = [(one, counts * (total / counts.sum())) for one, counts in known]
    before = np.inf
    for _ in range(STEPS if len(wanted) > 1 else 1):
        off = 0.0
        for one, sums in wanted:
            now = _sort_axes(names, made, one)
            off = max(off, float(np.abs(now - sums).sum()))
            ratio = np.divide(sums, now, out=np.zeros_like(sums), where=now > 0)
            made = made * _spread_axes(one, ratio, names)
        if off <= SETTLED * total or off > STALLED * before:
            break
        before = off
    return made
