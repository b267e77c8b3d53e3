"""Who knows how people were batched: every world and everything that can be drawn, table by table.

All releases that can be made of any world are made, and for each it is counted of how many pairs
of a world and a draw it is made in which somebody has a value. So the beliefs of somebody who knows
the method and everybody's quasi-identifiers are exact, whatever the release is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from random import Random
from unittest.mock import patch

import numpy as np

import discreet as dc
from discreet.publishing.draws import Draws
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners import blind_batches
from discreet.publishing.partitioners.batches import make_batches
from discreet.publishing.partitioners.blind_batches import find_blind_regions
from discreet.publishing.partitioners.mondrian import mondrian
from oracles.known_method import People, read

Shown = tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
"""What is seen of every batch: what its people show, and their numbers."""
Make = Callable[[dc.Microdata, Draws], Partition]


class ListedDraws(Draws):
    """Words that are given, one list after the other."""

    def __init__(self, *listed: tuple[int, ...]) -> None:
        self.listed = list(listed)

    def words(self, count: int) -> np.ndarray:
        drawn = self.listed.pop(0)
        assert len(drawn) == count
        return np.array(drawn, dtype=np.uint64)


def draw_blindly(n: int) -> Iterator[ListedDraws]:
    """All that can be drawn once there are regions, which do not depend on it: any order."""
    for order in permutations(range(n)):
        yield ListedDraws(order)


class FoundRegions:
    """The regions of each world, found once."""

    def __init__(self) -> None:
        self.known: dict[bytes, Partition] = {}

    def __call__(
        self, data: dc.Microdata, principle: dc.Principle, size: int, _: Draws
    ) -> Partition:
        key = data.codes["pay"].tobytes()
        if key not in self.known:
            some, others = (
                find_blind_regions(data, principle, size, ListedDraws((word,) * data.n))
                for word in (0, 2**64 - 1)
            )
            assert some.labels.tolist() == others.labels.tolist()
            self.known[key] = some
        return self.known[key]


def draw_walks(n: int, buckets: int) -> Iterator[ListedDraws]:
    """All that can be drawn for a walk: where it starts, its direction, and any order."""
    for start, turn, order in product(range(buckets), range(2), permutations(range(n))):
        yield ListedDraws((start,), (turn,), order)


def measure_beliefs(
    people: People, numbers: list[int], show: list[int], make: Make, draws: list[ListedDraws]
) -> Fraction:
    """Give the largest belief in any number of anybody, over all releases of all worlds."""
    data = read(people, numbers)
    code = dict(zip(numbers, data.codes["pay"].tolist(), strict=True))
    seen: dict[Shown, int] = defaultdict(int)
    having: dict[Shown, dict[tuple[int, int], int]] = defaultdict(lambda: defaultdict(int))
    for world in sorted(set(permutations(numbers))):
        pay = np.array([code[number] for number in world], dtype=np.int32)
        moved = replace(data, codes={**data.codes, "pay": pay})
        for drawn in draws:
            made = make(moved, ListedDraws(*drawn.listed))
            batches = [made.rows(g).tolist() for g in range(made.count)]
            release = tuple(sorted(
                (tuple(sorted(show[i] for i in batch)), tuple(sorted(world[i] for i in batch)))
                for batch in batches
            ))  # fmt: skip
            seen[release] += 1
            for person, number in enumerate(world):
                having[release][person, number] += 1
    return max(
        Fraction(times, seen[release])
        for release, most in having.items()
        for times in most.values()
    )


def try_table(rng: Random, *, blind: bool) -> bool | None:
    """Say of a table whether somebody believes more than is promised; none if it is refused."""
    n = rng.choice([4] * 9 + [5])
    people = [(rng.randint(1, 4), rng.choice("MF")) for _ in range(n)]
    numbers = [rng.randint(1, 3 if n == 5 else 4) for _ in range(n)]
    l, data = rng.choice([2, 2, 3]), read(people, numbers)  # noqa: E741
    principle = dc.FrequencyDiversity(l)
    # what people show is exact, as of anatomy, or the box of two, as of angelization
    buckets = mondrian(data, dc.KAnonymity(rng.choice([1, 2])))
    show = buckets.labels.tolist()

    regions = FoundRegions()

    def make(world: dc.Microdata, draws: Draws) -> Partition:
        if blind:
            with patch.object(blind_batches, "find_blind_regions", regions):
                return blind_batches.make_blind_batches(world, principle, "anatomize", draws)
        return make_batches(world, principle, "direct", buckets, draws)

    drawn = list(draw_blindly(n) if blind else draw_walks(n, buckets.count))
    try:
        return measure_beliefs(people, numbers, show, make, drawn) > Fraction(1, l)
    except dc.DiscreetError:
        return None


def run_batches(tables: int, seed: int) -> dict[str, int]:
    """Count tables of which somebody believes more than is promised, some batched directly.

    Half as many tables as are asked for: each takes as long as hundreds of others.
    """
    tally = {"tables": 0, "refused": 0, "broken": 0, "direct": 0, "broken, direct": 0}
    rng = Random(seed)
    while tally["tables"] < tables // 2:
        found = try_table(rng, blind=True)
        tally["tables"] += found is not None
        tally["refused"] += found is None
        tally["broken"] += bool(found)
    while tally["direct"] < tables // 20:
        found = try_table(rng, blind=False)
        tally["direct"] += found is not None
        tally["broken, direct"] += bool(found)
    return tally
