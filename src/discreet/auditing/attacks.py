"""Attacks: what more than counting would tell, each beside what counting tells.

The promise bounds what follows from a person's own group. These attacks use more: that whole
groups share one value, that groups resemble each other, that somebody's value is known already.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.auditing.learned import LearnedBeliefs
from discreet.forms.matches import Matches
from discreet.forms.possibilities import Possibilities
from discreet.principles.groups import Groups
from discreet.table.arrays import Floats, Ints
from discreet.table.microdata import Microdata

ROUNDS = 10
MOST_ENTRIES = 50_000_000


@dataclass(frozen=True)
class Attack:
    """One attack on one sensitive attribute."""

    name: str
    attribute: str
    how: str
    success: float
    """Share of people whose value it tells."""
    chance: float
    """The same share for somebody who knows as much and only reads the release."""
    worst: float | None = None
    """The surest it makes anybody of a value, where that is more than the release says."""


def attack(found: Matches, data: Microdata, beliefs: dict[str, Floats]) -> list[Attack]:
    """Try all attacks on one table of a release."""
    if not found.view.holds_values:  # numbers that are drawn are nobody's
        return []
    attacks = []
    for name in found.release.schema.sensitive:
        belief = beliefs[name]
        chance = float(belief.mean())
        certain = float((belief > 1 - 1e-12).mean())
        attacks.append(
            Attack("homogeneity", name, "everybody of a group has the same value", certain, certain)
        )
        if found.view.count_possibilities(found, name) <= MOST_ENTRIES:
            listed = found.view.list_possibilities(found, data, name)
            own = data.codes_in(name, listed.bags.domain)[found.set_of >= 0]
            learned, _ = _guess(listed, _learn(listed))
            how = "groups are compared by naive Bayes, and each person's likeliest value guessed"
            right = float((learned == own).sum() / data.n)
            attacks.append(Attack("deFinetti", name, how, right, chance))
            trees = LearnedBeliefs.learn(listed)
            if trees is not None:
                told, worst = _guess(listed, trees.belief)
                how = "a forest learns from half of the groups, and judges people of the others"
                right = float((told == own).sum() / data.n)
                attacks.append(Attack("learning", name, how, right, chance, worst))
        _, bags = found.view.source_bags(name)
        average, worst = _corrupt(bags)
        alone = float(bags.largest.sum() / bags.sizes.sum())
        how = "the group is known, and one other person of it has told theirs"
        attacks.append(Attack("corruption", name, how, average, alone, worst))
    return attacks


def _corrupt(bags: Groups) -> tuple[float, float]:
    """Take one random member away from each bag; how sure is the best guess about another?

    Gives the average over people, and the worst over people and members taken away.
    """
    sizes, counts = bags.sizes, bags.weights
    largest = bags.largest
    often = np.add.reduceat((counts == largest[bags.owners]).astype(np.int64), bags.offsets[:-1])
    left = np.maximum(sizes - 1, 1)
    # only taking the one most frequent value away lowers the best guess
    lowered = np.where(often == 1, largest / sizes, 0.0)
    second = np.where(often == 1, np.maximum(largest - 1, _second(bags)), largest)
    guess = (lowered * second + (1 - lowered) * largest) / left
    guess = np.where(sizes > 1, guess, 1.0)
    other = bags.distinct > 1
    worst = np.where(other, largest / left, 1.0)
    return float((guess * sizes).sum() / sizes.sum()), float(worst.max())


def _second(bags: Groups) -> Ints:
    """The second largest weight of each bag; 0 if there is none."""
    order = np.lexsort((bags.weights, bags.owners))
    at = bags.offsets[1:] - 2
    found = bags.weights[order][np.maximum(at, 0)]
    return np.where(bags.distinct > 1, found, 0)


def _learn(listed: Possibilities) -> Floats:
    """Learn how values go with quasi-identifiers across groups (Kifer, SIGMOD 2009).

    Each record may have any value of its bag. From how probable each is now, naive Bayes learns
    how values show in the published columns; from that, how probable each is becomes clearer, while
    every bag keeps its counts.
    """
    bags, record, entry = listed.bags, listed.record, listed.entry
    value, size = bags.codes[entry].astype(np.int64), bags.domain.size
    first = np.flatnonzero(np.append(True, np.diff(record) != 0))
    p = listed.prior.copy()
    for _ in range(ROUNDS):
        weight = np.bincount(value, weights=p, minlength=size)
        score = np.log(listed.prior)
        for shown in listed.shown:
            kinds = int(shown.max()) + 1
            seen = np.bincount(shown[record] * size + value, weights=p, minlength=kinds * size)
            score += np.log((seen[shown[record] * size + value] + 1) / (weight[value] + kinds))
        score -= np.maximum.reduceat(score, first)[record]
        p = np.exp(score)
        for _ in range(3):  # every record has one value; every bag keeps its counts
            p /= np.bincount(record, weights=p)[record]
            held = np.bincount(entry, weights=p, minlength=len(bags.codes))[entry]
            p *= bags.weights[entry] / np.maximum(held, 1e-300)
        p /= np.bincount(record, weights=p)[record]
    return p


def _guess(listed: Possibilities, p: Floats) -> tuple[Ints, float]:
    """Guess each person's likeliest value over the records that may be theirs.

    Also gives how likely the surest guess is.
    """
    size, value = listed.bags.domain.size, listed.bags.codes[listed.entry].astype(np.int64)
    keys, inverse = np.unique(listed.place[listed.record] * size + value, return_inverse=True)
    total = np.bincount(inverse, weights=p)
    order = np.lexsort((-total, keys // size))
    first = np.append(True, np.diff((keys // size)[order]) != 0)
    places, best = (keys // size)[order][first], (keys % size)[order][first]
    of_all = np.bincount(keys // size, weights=total)[places]
    surest = float((total[order][first] / of_all).max())
    return np.asarray(best[np.searchsorted(places, listed.wanted)]), surest
