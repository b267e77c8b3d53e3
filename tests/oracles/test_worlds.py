"""What releases of a table that changes tell together, against all worlds of tiny tables."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest

from discreet.auditing.worlds import Sighting, tell_worlds
from oracles.versions import METHODS, Version, believe_in_worlds, draw_people, publish_versions


def look(version: Version) -> Sighting:
    views = version.release.views
    found = [view.match(version.data) for view in views]
    dealt = views[0].deal(found)
    assert dealt is not None
    return Sighting(dealt, np.array(version.members))


PAIRS = [*product(METHODS, repeat=2), *((form, form, form) for form in METHODS)]


@pytest.mark.parametrize("forms", PAIRS, ids=" and ".join)
def test_beliefs_are_those_of_all_worlds(forms: tuple[str, ...]) -> None:
    """With people who join and leave, and people who look the same."""
    compared = 0
    for number in range(10):
        rng = Random(f"{forms} {number}")
        people = draw_people(rng, rng.randint(4, 6))
        versions = publish_versions(rng, people, forms)
        if versions is None:
            continue
        sights = [look(version) for version in versions]
        assert all(sight.is_whole for sight in sights)
        domain = max((v.data.domains["pay"] for v in versions), key=lambda d: d.size)
        everybody = {text for v in versions for text in v.data.domains["pay"].texts}
        if everybody - set(domain.texts):
            continue
        told = tell_worlds(sights, "pay", domain, people.height)
        worlds = believe_in_worlds(people, versions)
        assert told.counted.all()
        for person, kind in enumerate(told.kind_of):
            if kind < 0:
                continue
            entries = slice(told.bags.offsets[kind], told.bags.offsets[kind + 1])
            size = int(told.bags.sizes[kind])
            said = {int(domain.texts[code]): Fraction(int(weight), size)
                    for code, weight in zip(told.bags.codes[entries], told.bags.weights[entries],
                                            strict=True)}  # fmt: skip
            assert said == worlds[person], (person, [v.release.tables for v in versions])
            compared += 1
    assert compared > 5
