"""Who learns across groups: a learner of this file's own, which shares nothing with the publisher.

It reads nothing but published tables, learns on half of the groups how values go with ages, and
works out for every group of the other half, over all ways to hand its values out, who has which.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations
from math import exp, prod
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.forms import find_form
from discreet.forms.adversaries import Adversary
from discreet.publishing.method import Method
from samples import microdata

TOLERANCE, FEW = 0.1, 0.01
"""So much more may be believed by a learner whom the publisher did not try, and more than that of
so few people: these are models, and what is drawn here is off by some hundredths."""
MOST_HANDED = 5
"""All ways to hand values out are listed for groups of so many people; else some are drawn."""
SWEEPS = 400
MANY_LEFT = 20
"""More groups than that are left: one of everybody would withstand anything."""

Groups = dict[int, tuple[list[tuple[Any, ...]], list[Any]]]


def draw_correlated(share: float, n: int = 1200) -> pl.DataFrame:
    """Age decides which of six diseases a share of people has; all others have any."""
    rng = np.random.default_rng(4)
    age = rng.integers(0, 6, n)
    disease = np.where(rng.random(n) < share, age, rng.integers(0, 6, n))
    return pl.DataFrame({
        "age": 20 + 10 * age, "sex": rng.choice(["F", "M"], n),
        "disease": np.array(["flu", "gout", "ulcer", "asthma", "measles", "cold"])[disease],
    })  # fmt: skip


def draw_pay(n: int = 900) -> pl.DataFrame:
    """Pay that age tells but for little."""
    rng = np.random.default_rng(4)
    age = rng.integers(20, 65, n)
    return pl.DataFrame({
        "age": age, "sex": rng.choice(["F", "M"], n),
        "pay": 100 * age + rng.integers(0, 60, n),
    })  # fmt: skip


def read_groups(release: dc.Release) -> Groups:
    """Give the people of each group by what they show, and its values."""
    found: Groups = defaultdict(lambda: ([], []))
    if "batches" in release.tables:
        for age, sex, batch in release.tables["generalized"].select("age", "sex", "batch").rows():
            found[batch][0].append((age, sex))
        for batch, value, count in release.tables["batches"].rows():
            found[batch][1].extend([value] * count)
    else:
        for group, age, sex, value in release.tables["permuted"].rows():
            found[group][0].append((age, sex))
            found[group][1].append(value)
    return found


class Tally:
    """How often values go with each thing that is shown, by turns."""

    def __init__(self) -> None:
        self.often: dict[tuple[Any, Any], float] = {}

    def learn(self, groups: Groups) -> None:
        """Count anew by what is believed now; each thing counts as five more, as often as all."""
        counts: Counter[tuple[Any, Any]] = Counter()
        shown_in_all: Counter[Any] = Counter()
        kinds: Counter[Any] = Counter()
        for people, values in groups.values():
            for person, belief in zip(people, self.believe(people, values), strict=True):
                for value, chance in belief.items():
                    kinds[value] += chance
                    for thing in enumerate(person):
                        counts[thing, value] += chance
                        shown_in_all[thing] += chance
        n = sum(kinds.values())
        self.often = {
            (thing, kind): (counts[thing, kind] + 5 * kinds[kind] / n)
            / (shown_in_all[thing] + 5) / (kinds[kind] / n)
            for thing in shown_in_all for kind in kinds
        }  # fmt: skip

    def score(self, person: tuple[Any, ...], value: Any) -> float:
        return prod(self.often.get((t, value), 1.0) for t in enumerate(person))

    def believe(self, people: list[tuple[Any, ...]], values: list[Any]) -> list[dict[Any, float]]:
        """Say for everybody of a group how likely each of its values is."""
        if not self.often:
            return [{v: c / len(values) for v, c in Counter(values).items()} for _ in people]
        scores = np.array([[self.score(p, v) for v in values] for p in people])
        found: list[dict[Any, float]] = [defaultdict(float) for _ in people]
        for world, often in hand_out(scores):
            for belief, place in zip(found, world, strict=True):
                belief[values[place]] += often
        return [{v: w / sum(b.values()) for v, w in b.items()} for b in found]


class Nearness(Tally):
    """What people of near ages have on average, and how far numbers are from it."""

    def learn(self, groups: Groups) -> None:
        """Count anew; numbers are told by what those who are up to a year older or younger have."""
        ages, means, squares = [], [], []
        for people, values in groups.values():
            for person, belief in zip(people, self.believe(people, values), strict=True):
                ages.append(person[0])
                means.append(sum(value * chance for value, chance in belief.items()))
                squares.append(sum(value**2 * chance for value, chance in belief.items()))
        told, by_age = np.array(means), np.array(ages)
        self.middle = {a: told[abs(by_age - a) <= 1].mean() for a in range(19, 66)
                       if (abs(by_age - a) <= 1).any()}  # fmt: skip
        middle = np.array([self.middle[a] for a in ages])
        self.spread = float(np.sqrt(np.mean(np.array(squares) - 2 * told * middle + middle**2)))
        self.often = self.middle

    def score(self, person: tuple[Any, ...], value: Any) -> float:
        off = (value - self.middle.get(person[0], value)) / self.spread
        return exp(-(min(abs(off), 10) ** 2) / 2)


def hand_out(scores: np.ndarray) -> Iterator[tuple[Sequence[int], float]]:
    """List who has the value at which place, and how likely that is; or draw it, of many people.

    Drawn is by exchanging values of two people at a time (Metropolis).
    """
    n = len(scores)
    if n <= MOST_HANDED:
        for world in permutations(range(n)):
            yield world, prod(scores[i, place] for i, place in enumerate(world))
        return
    rng, logs, world = (
        np.random.default_rng(n),
        np.log(scores),
        np.random.default_rng(1).permutation(n),
    )
    for sweep in range(SWEEPS + SWEEPS // 4):
        one, other = rng.permutation(n)[: n // 2 * 2].reshape(2, -1)
        gain = (logs[one, world[other]] + logs[other, world[one]]
                - logs[one, world[one]] - logs[other, world[other]])  # fmt: skip
        taken = np.log(rng.random(len(gain))) < gain
        world[one[taken]], world[other[taken]] = world[other[taken]], world[one[taken]]
        if sweep >= SWEEPS // 4:
            yield world.tolist(), 1.0


def learn_across(release: dc.Release) -> Iterator[float]:
    """Give the largest belief in a value of each person, learned from the other half of groups."""
    groups = read_groups(release)
    halves = [{g: groups[g] for g in groups if g % 2 == side} for side in (0, 1)]
    for taught, judged in (halves, halves[::-1]):
        tally = Nearness() if release.form == "permuted" else Tally()
        for _ in range(3):
            tally.learn(taught)
        for people, values in judged.values():
            yield from (max(belief.values()) for belief in tally.believe(people, values))


DECIDED, DISEASES, PAY = draw_correlated(0.6), draw_correlated(0.15), draw_pay()
"""Of the first, age alone tells more than a third, which few groups could withstand."""
THIRD = dc.FrequencyDiversity(3)
METHODS = [
    dc.Anatomy(THIRD, batches="anatomize"), dc.Angelization(THIRD, k=4, batches="anatomize"),
    dc.Permutation(THIRD),
]  # fmt: skip
each = pytest.mark.parametrize("method", METHODS, ids=lambda m: m.title)


def read_for(method: Method) -> dc.Microdata:
    if method.title == "permutation":
        return microdata(PAY, ["age", "sex"], ["pay"])
    return microdata(DISEASES, ["age", "sex"], ["disease"])


@each
def test_who_learns_across_groups_tells_nobody_apart_where_that_is_resisted(
    method: Method,
) -> None:
    data = read_for(method)
    plain = dc.publish(data, method, insecure_seed=1)
    release = dc.publish(data, replace(method, resist="learning"), insecure_seed=1)
    told = np.array(list(learn_across(plain)))
    assert (told > 1 / 3 + TOLERANCE).mean() > 0.1
    left = np.array(list(learn_across(release)))
    assert (left > 1 / 3 + TOLERANCE).mean() <= FEW
    assert len(read_groups(release)) > MANY_LEFT
    report = dc.audit(release, data)
    assert report.problems == [] and report.max_belief <= 1 / 3
    assert find_form(release.form).list_withstood(release)[Adversary.LEARNER]


def test_across_small_batches_it_tells_nearly_everybody_apart() -> None:
    data = microdata(DECIDED, ["age", "sex"], ["disease"])
    told = np.array(list(learn_across(dc.publish(data, METHODS[0]))))
    assert (told > 1 / 3 + TOLERANCE).mean() > 0.9
