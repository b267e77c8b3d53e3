"""All worlds of a few people who keep signatures, over several releases of one table.

An adversary who knows everybody's age, who was in which version, and that whoever stays is always
in groups with the same set of values. Nothing of the publisher's is used: tables are read as they
are published.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import perm, prod
from typing import NamedTuple

import polars as pl

import discreet as dc


class Place(NamedTuple):
    """Room for so many people of some ages, whose values are in a bag."""

    low: int
    high: int
    bag: int
    room: int


def read_places(release: dc.Release, name: str) -> tuple[list[Place], list[Counter[object]]]:
    """Read where people may be, and what values there are in each bag."""
    people = release.tables["generalized"]
    if "batches" in release.tables:
        owner, held = "batch", release.tables["batches"]
        fakes: dict[int, int] = {}  # of nobody there is no record, only a value
    else:
        owner, held = "class", people.with_columns(count=pl.lit(1))
        fakes = dict(release.tables.get("counterfeits", pl.DataFrame()).iter_rows())
    bags: dict[int, Counter[object]] = {}
    for number, value, many in held.select(owner, name, "count").iter_rows():
        bags.setdefault(number, Counter())[value] += many
    order = {number: i for i, number in enumerate(bags)}
    places = people.group_by("age_low", "age_high", owner, maintain_order=True).len("n")
    return [
        Place(low, high, order[number], n - fakes.get(number, 0))
        for low, high, number, n in places.iter_rows()
    ], list(bags.values())


def list_placings(ages: Mapping[str, int], places: Sequence[Place]) -> list[dict[str, int]]:
    """All ways to put everybody into a place that covers them, each as full as it says.

    Gives everybody's bag.
    """
    fitting = [[i for i, p in enumerate(places) if p.low <= age <= p.high] for age in ages.values()]
    room = Counter({i: place.room for i, place in enumerate(places) if place.room})
    return [
        {who: places[i].bag for who, i in zip(ages, chosen, strict=True)}
        for chosen in product(*fitting)
        if Counter(chosen) == room
    ]


def believe(
    versions: Sequence[Mapping[str, int]],
    releases: Sequence[dc.Release],
    name: str,
    *,
    signed: bool = True,
) -> dict[str, dict[object, Fraction]]:
    """What is believed of everybody's value, over all worlds that all releases allow.

    Unless ``signed``, by who does not reckon with signatures.
    """
    read = [read_places(release, name) for release in releases]
    bags = [held for _, held in read]
    placings = [
        list_placings(ages, places) for ages, (places, _) in zip(versions, read, strict=True)
    ]
    found: dict[str, Counter[object]] = {}
    worlds = 0
    for world in product(*placings):
        may: dict[str, frozenset[object]] = {}
        kept = True
        for t, placed in enumerate(world):
            for who, g in placed.items():
                here = frozenset(bags[t][g])
                kept &= not signed or may.get(who, here) == here
                may[who] = may.get(who, here) & here
        for values in product(*(sorted(s, key=str) for s in may.values())) if kept else ():
            value = dict(zip(may, values, strict=True))
            ways = prod(_count_ways(placed, value, bags[t]) for t, placed in enumerate(world))
            worlds += ways
            for who, told in value.items() if ways else ():
                found.setdefault(who, Counter())[told] += ways
    assert worlds
    return {who: {v: Fraction(n, worlds) for v, n in told.items()} for who, told in found.items()}


def _count_ways(
    placed: Mapping[str, int], value: Mapping[str, object], bags: Sequence[Counter[object]]
) -> int:
    """In how many ways bags have the values of their people; what is left over is nobody's."""
    held = [Counter[object]() for _ in bags]
    for who, g in placed.items():
        held[g][value[who]] += 1
    return prod(
        perm(bag[v], n) for mine, bag in zip(held, bags, strict=True) for v, n in mine.items()
    )
