"""What another model learns across groups than a publisher may have tried: trees.

Somebody who reads a release knows of each record which values it may have, and how likely each is.
A forest learns from the records of half of the groups how values follow from what is shown, and the
records of the other half are judged by it (Kifer, SIGMOD 2009, with a model that sees attributes
together). The values of a group are shared out among its records; then it is learned anew.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.forms.possibilities import Possibilities
from discreet.table.arrays import Floats, Ints

TURNS = 3
TREES, LEAF = 20, 20
"""So many trees, no leaf of which has fewer records."""
MOST_TAUGHT, MOST_JUDGED = 8_000, 200_000
"""Records that a forest learns from, and a release may have to be tried on."""
MOST_KINDS = 24
"""Values are told apart by so many kinds, along their order."""
BALANCED = 8
"""So often values are shared out such that all of a group are somebody's."""


@dataclass(frozen=True, eq=False)
class LearnedBeliefs:
    """How likely each value that a record may have is, as learned across groups."""

    belief: Floats
    """Per line of the possibilities."""

    @staticmethod
    def learn(listed: Possibilities) -> LearnedBeliefs | None:
        """Learn them; ``None`` without the library for it, or of too many records."""
        records = int(listed.record.max()) + 1
        forest = _find_forest()
        if forest is None or records > MOST_JUDGED or not listed.shown:
            return None
        bags, rng = listed.bags, np.random.default_rng(0)
        kind = _part_evenly(bags.total, MOST_KINDS)[bags.codes[listed.entry]]
        kinds = int(kind.max()) + 1
        shown = np.stack(listed.shown, axis=1)
        half_of = rng.permutation(bags.count) % 2
        group = np.empty(records, dtype=np.int64)
        group[listed.record] = bags.owners[listed.entry]  # of several, the last one
        half, order = half_of[group], rng.permutation(records)
        belief = listed.prior
        for _ in range(TURNS):
            cells = listed.record * kinds + kind
            held = np.bincount(cells, weights=belief, minlength=records * kinds)
            held = held.reshape(records, kinds)
            told = np.tile(held.mean(axis=0), (records, 1))
            for side in (0, 1):
                taught = order[half[order] != side][:MOST_TAUGHT]
                judged = np.flatnonzero(half == side)
                if len(taught) >= 2 * LEAF and len(judged):
                    model = forest(n_estimators=TREES, min_samples_leaf=LEAF, random_state=0)
                    found = model.fit(shown[taught], held[taught]).predict(shown[judged])
                    told[judged] = found.reshape(len(judged), kinds)
            often = np.maximum(held.mean(axis=0), 1e-12)
            odds = (told[listed.record, kind] + often[kind] / 100) / often[kind]
            belief = _share_out(listed, listed.prior * odds)
        return LearnedBeliefs(belief)


def _find_forest() -> Any:
    """Give the library's forest, where it is installed."""
    try:
        from sklearn.ensemble import RandomForestRegressor
    except ImportError:
        return None
    return RandomForestRegressor


def _part_evenly(counts: Ints, most: int) -> Ints:
    """Give each code the kind it is of; as many people have each kind, as far as that goes."""
    if np.count_nonzero(counts) <= most:
        return np.asarray(np.maximum(np.cumsum(counts > 0) - 1, 0))
    before = np.cumsum(counts) - counts
    return np.asarray(before * most // max(int(counts.sum()), 1))


def _share_out(listed: Possibilities, likely: Floats) -> Floats:
    """Share values out by how likely they are, and say what that leaves to believe of each record.

    Where all others of a group take the rest of its values, that is more than a share: of c of a
    value, p of which are somebody's, p : c - p.
    """
    record, entry, weights = listed.record, listed.entry, listed.bags.weights
    p = likely / np.bincount(record, weights=likely)[record]
    for _ in range(BALANCED):
        held = np.bincount(entry, weights=p, minlength=len(weights))[entry]
        p = p * weights[entry] / np.maximum(held, 1e-300)
        p /= np.bincount(record, weights=p)[record]
    p = p / np.maximum(1 - p / weights[entry], 1e-9)
    return np.asarray(p / np.bincount(record, weights=p)[record])
