"""Who knows the method: every world that a release leaves, weighed by how likely it is made of it.

The method is asked, with coins that are set here, what it makes of each world: so nothing is taken
from it but what it does. Of nodes that are left whole the chance that they are not tried is found
by trying coins, in every world anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, permutations, product
from random import Random
from unittest.mock import patch

import numpy as np
import polars as pl

import discreet as dc
from discreet.publishing.draws import Draws
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners import simulatable
from discreet.publishing.partitioners.mondrian import mondrian
from samples import microdata

People = list[tuple[int, str]]
Groups = list[int]
Belief = dict[int, Fraction]
Split = Callable[[list[int], Draws], Partition]
"""Group some people, whichever of them has which of some numbers."""
HIGHEST, SHIFT = 2**53, 11
"""Coins are the first 53 bits of a word."""
PRINCIPLES = [
    dc.FrequencyDiversity(2),
    dc.FrequencyDiversity(3),
    dc.FrequencyDiversity("3/2"),
    dc.FrequencyDiversity("3/2", values={"1": 3}),
    dc.DistinctDiversity(2),
    dc.DistinctDiversity(3),
    dc.RecursiveDiversity(3, 2),
    dc.RecursiveDiversity(2, 3),
    dc.AlphaK("2/3", 2),
    dc.KE(2, 2),
    dc.Proximity(1, 2),
    dc.KAnonymity(2) & dc.FrequencyDiversity("3/2", values={"1": 3}),
    dc.FrequencyDiversity("3/2") & dc.DistinctDiversity(2),
]


class SetDraws(Draws):
    """Words that are given: those that decide which cuts are tried."""

    def __init__(self, coins: list[int]) -> None:
        self.coins = coins

    def words(self, count: int) -> np.ndarray:
        assert count == len(self.coins)
        return np.array([coin << SHIFT for coin in self.coins], dtype=np.uint64)


def read(people: People, numbers: list[int]) -> dc.Microdata:
    frame = pl.DataFrame(
        {"age": [age for age, _ in people], "sex": [sex for _, sex in people], "pay": numbers}
    )
    return microdata(frame, ["age", "sex"], ["pay"])


def split_with(
    people: People,
    numbers: list[int],
    principle: dc.Principle,
    *,
    resist: bool = True,
    dearest: int = HIGHEST - 1,
) -> Split:
    """Few cuts of so few people are cheap: here those are tried, too, that are left mostly."""
    data = read(people, numbers)
    code = dict(zip(numbers, data.codes["pay"].tolist(), strict=True))

    def split(numbers: list[int], draws: Draws) -> Partition:
        pay = np.array([code[number] for number in numbers], dtype=np.int32)
        world = replace(data, codes={**data.codes, "pay": pay})
        if not resist:
            return mondrian(world, principle)
        with patch.object(simulatable, "DEAREST", dearest):
            return simulatable.split_simulatably(world, principle, draws)

    return split


def name_groups(partition: Partition) -> Groups:
    first: dict[int, int] = {}
    return [first.setdefault(g, len(first)) for g in partition.labels.tolist()]


def arrange(numbers: list[int], groups: Groups) -> Iterator[list[int]]:
    """List all ways to hand out the numbers of each group to its people."""
    places = [[i for i, g in enumerate(groups) if g == group] for group in sorted(set(groups))]
    ways = [sorted(set(permutations([numbers[i] for i in place]))) for place in places]
    for world in product(*ways):
        found = list(numbers)
        for place, values in zip(places, world, strict=True):
            for i, value in zip(place, values, strict=True):
                found[i] = value
        yield found


class KnownMethod:
    """A release, and how likely the method makes it of every world that the release leaves."""

    def __init__(self, numbers: list[int], split: Split, draws: Draws) -> None:
        self.numbers, self.split = numbers, split
        partition = split(numbers, draws)
        self.groups = name_groups(partition)
        ends = partition.offsets.tolist()
        # cuts between groups are tried, and no other
        self.coins = [HIGHEST - 1 if place in ends else 0 for place in range(len(numbers))]
        self.places = [range(a + 1, b) for a, b in pairwise(ends)]
        self.chances: dict[int, int] = {}
        self.worlds = list(arrange(numbers, self.groups))
        self.weights = [self._weigh(world) for world in self.worlds]

    def _makes(self, world: list[int], group: int, coin: int) -> bool:
        """Whether this release is made if a coin decides of one group, and others are left."""
        coins = [coin if i in self.places[group] else c for i, c in enumerate(self.coins)]
        return name_groups(self.split(world, SetDraws(coins))) == self.groups

    def _weigh(self, world: list[int]) -> Fraction:
        weight = Fraction(1)
        for group in range(len(self.places)):
            if not self._makes(world, group, 0):
                return Fraction(0)
            if self._makes(world, group, HIGHEST - 1):
                continue  # whatever the coin says, the group stays whole
            chance = self.chances.get(group) or self._find_chance(world, group)
            assert self._makes(world, group, chance - 1)
            assert not self._makes(world, group, chance)
            self.chances[group] = chance
            weight *= Fraction(chance, HIGHEST)
        return weight

    def _find_chance(self, world: list[int], group: int) -> int:
        """Find the least coin with which a group is split."""
        low, high = 0, HIGHEST - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._makes(world, group, middle) else (low, middle)
        return high

    @property
    def beliefs(self) -> list[Belief]:
        """What is believed of every person."""
        whole, found = sum(self.weights), []
        for person in range(len(self.numbers)):
            belief = dict.fromkeys(sorted(set(self.numbers)), Fraction(0))
            for world, weight in zip(self.worlds, self.weights, strict=True):
                belief[world[person]] += weight / whole
            found.append(belief)
        return found

    @property
    def ruled_out(self) -> int:
        return sum(not weight for weight in self.weights)


def keeps(principle: dc.Principle, belief: Belief) -> bool:
    """Whether what is believed of a person is as promised; in plain words."""
    shares = {value: share for value, share in belief.items() if share}
    most = max(shares.values())
    match principle:
        case dc.FrequencyDiversity() | dc.AlphaK():
            common = principle.common
            return all(share <= principle.own.get(str(v), common) for v, share in shares.items())
        case dc.DistinctDiversity():
            return len(shares) >= principle.l
        case dc.RecursiveDiversity():
            tail = sum(sorted(shares.values(), reverse=True)[principle.l - 1 :])
            return most < Fraction(principle.c) * tail  # type: ignore[arg-type]
        case dc.KE():
            wide = max(shares) - min(shares) >= principle.e  # type: ignore[operator]
            return len(shares) >= principle.k and wide
        case dc.Proximity():
            return all(
                sum(share for y, share in shares.items() if abs(x - y) <= principle.epsilon)  # type: ignore[operator]
                <= Fraction(1, principle.m)
                for x in shares
            )
        case dc.KAnonymity():
            return True
    return all(keeps(part, belief) for part in principle.parts)


def draw_people(rng: Random) -> tuple[People, list[int]]:
    """Draw 4 to 6 people, some of whom look alike, and their numbers."""
    n, most = rng.randint(4, 6), rng.choice([3, 4, 6])
    people = [(rng.randint(1, 4), rng.choice("MF")) for _ in range(n)]
    return people, [rng.randint(1, most) for _ in range(n)]


def draw_coins(rng: Random, n: int) -> SetDraws:
    """Draw coins of which some forbid whatever cut they are about."""
    return SetDraws([0 if rng.random() < 0.2 else HIGHEST - 1 for _ in range(n)])


def run_generalization(tables: int, seed: int) -> dict[str, int]:
    """Count tables of which somebody believes more than is promised."""
    rng = Random(seed)
    tally = {"tables": 0, "refused": 0, "left to chance": 0, "broken": 0, "broken without": 0}
    while tally["tables"] < tables:
        people, numbers = draw_people(rng)
        principle = rng.choice(PRINCIPLES)
        try:
            found = KnownMethod(
                numbers, split_with(people, numbers, principle), draw_coins(rng, len(numbers))
            )
        except dc.DiscreetError:
            tally["refused"] += 1
            continue
        tally["tables"] += 1
        tally["left to chance"] += bool(found.chances)
        tally["broken"] += not all(keeps(principle, belief) for belief in found.beliefs)
        if not principle.dealt:
            split = split_with(people, numbers, principle, resist=False)
            plain = KnownMethod(numbers, split, SetDraws([0] * len(numbers)))
            tally["broken without"] += not all(keeps(principle, belief) for belief in plain.beliefs)
    return tally
