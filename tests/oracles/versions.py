"""Versions of a tiny table: people join, leave and come back, and each version is published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import polars as pl

import discreet as dc
from discreet.publishing import Method
from oracles.all_worlds import Belief, count_worlds
from oracles.pieces import read_pieces

METHODS: dict[str, list[Method]] = {
    "generalized": [dc.Generalization(dc.FrequencyDiversity(2)),
                    dc.Generalization(dc.DistinctDiversity(2)),
                    dc.Generalization(dc.KAnonymity(2))],
    "anatomized": [dc.Anatomy(dc.FrequencyDiversity(2)), dc.Anatomy(dc.DistinctDiversity(2))],
    "angelized": [dc.Angelization(dc.FrequencyDiversity(2), k=2),
                  dc.Angelization(dc.DistinctDiversity(2), k=2, marginals=[["age"], ["town"]])],
    "sliced": [dc.Slicing(dc.FrequencyDiversity(2)), dc.Slicing(dc.DistinctDiversity(2))],
    "permuted": [dc.Permutation(dc.KE(2, 1))],
}  # fmt: skip
"""By form: what values are dealt in."""


@dataclass(frozen=True)
class Version:
    members: list[int]
    data: dc.Microdata
    release: dc.Release


def draw_people(rng: Random, n: int) -> pl.DataFrame:
    """Draw people who look alike now and then."""
    ages = rng.sample(range(20, 60), rng.randint(2, n))
    return pl.DataFrame(
        {
            "pid": [f"p{i}" for i in range(n)],
            "age": [rng.choice(ages) for _ in range(n)],
            "town": [rng.choice(["Bonn", "Jena"]) for _ in range(n)],
            "pay": [rng.choice([10, 20, 30, 40]) for _ in range(n)],
        }
    )


def read_version(people: pl.DataFrame) -> dc.Microdata:
    roles = dc.Role.QUASI_IDENTIFIER, dc.Role.SENSITIVE
    schema = dc.Schema(
        (
            dc.Attribute("pid", dc.Role.IDENTIFIER, dc.Type.CATEGORY),
            dc.Attribute("age", roles[0], dc.Type.INTEGER),
            dc.Attribute("town", roles[0], dc.Type.CATEGORY),
            dc.Attribute("pay", roles[1], dc.Type.INTEGER),
        )
    )
    return dc.read(people, schema, person="pid")


def publish_versions(
    rng: Random, people: pl.DataFrame, forms: Sequence[str], away: int = 1
) -> list[Version] | None:
    """Publish a version per form; in each, some of the people are away. None where it cannot be."""
    made = []
    for form in forms:
        gone = set(rng.sample(range(people.height), rng.randint(0, away)))
        members = [i for i in range(people.height) if i not in gone]
        data = read_version(people[members])
        try:
            release = dc.publish(data, rng.choice(METHODS[form]), insecure_seed=rng.getrandbits(32))
        except (dc.errors.PromiseError, dc.errors.SchemaError):
            return None
        made.append(Version(members, data, release))
    return made


def believe_in_worlds(people: pl.DataFrame, versions: Sequence[Version]) -> list[Belief]:
    """Per person what all worlds say of their pay, to who knows everybody and who was in when."""
    listed: list[dict[str, Any]] = people.to_dicts()
    published = [
        replace(read_pieces(v.release, listed), members=frozenset(v.members)) for v in versions
    ]
    present = sorted({i for v in versions for i in v.members})
    number = {i: place for place, i in enumerate(present)}
    if len(present) < len(listed):
        few = people[present]
        moved = [replace(v, members=[number[i] for i in v.members]) for v in versions]
        found = believe_in_worlds(few, moved)
        return [found[number[i]] if i in number else {} for i in range(len(listed))]
    return count_worlds(len(listed), published).believe("pay")
