"""Enumeration oracle: all worlds that agree with what was published.

Everything an adversary has is used, nothing of the project but the loaded tables: the published
records with their boxes, and everybody's quasi-identifiers.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations
from typing import Any

import discreet as dc
from discreet.release import Transformation


def covers(release: dc.Release, record: dict[str, Any], person: dict[str, Any]) -> bool:
    for name in release.schema.quasi_identifiers:
        recoding, value = release.recodings[name], person[name]
        if recoding.transformation is Transformation.SET:
            text = "(missing)" if value is None else str(value)
            if text not in recoding.labels[record[name]]:
                return False
        elif value is None:
            if not record[f"{name}_missing"]:
                return False
        elif record[f"{name}_low"] is None or not (
            record[f"{name}_low"] <= value <= record[f"{name}_high"]
        ):
            return False
    return True


def posteriors(
    release: dc.Release, people: list[dict[str, Any]], sensitive: str
) -> list[dict[Any, Fraction]]:
    """Per person the probability of each sensitive value, all matchings equally likely."""
    records = release.tables["generalized"].to_dicts()
    assert len(records) == len(people) <= 8
    fits = [[covers(release, record, person) for record in records] for person in people]
    tallies: list[Counter[Any]] = [Counter() for _ in people]
    worlds = 0
    for matching in permutations(range(len(records))):
        if all(fits[person][record] for person, record in enumerate(matching)):
            worlds += 1
            for person, record in enumerate(matching):
                tallies[person][records[record][sensitive]] += 1
    assert worlds > 0, "no world fits what was published"
    return [{v: Fraction(c, worlds) for v, c in tally.items()} for tally in tallies]
