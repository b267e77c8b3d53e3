"""Parts: where a principle says that every part of a size keeps it, every one does."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import PromiseError
from discreet.principles import REGISTRY
from discreet.principles.base import UNBOUNDED
from discreet.principles.groups import Groups
from discreet.principles.parts import PartBound, bound_parts

BOUND = [
    dc.KAnonymity(3),
    dc.DistinctDiversity(2),
    dc.DistinctDiversity(3),
    dc.FrequencyDiversity(2),
    dc.FrequencyDiversity("5/2", values={"1": None, "2": 4}),
    dc.AlphaK("2/5", 3),
    dc.RecursiveDiversity(2, 2),
    dc.RecursiveDiversity("1/2", 3),
    dc.KE(2, 3),
    dc.KE(3, 0),
    dc.Proximity(1, 2),
    dc.Proximity((0, 2), 2),
]


@pytest.mark.parametrize("principle", BOUND, ids=str)
@settings(max_examples=25, deadline=None)
@given(bag=st.lists(st.integers(1, 6), min_size=1, max_size=8))
def test_every_part_that_is_large_enough_keeps_the_principle(
    principle: dc.Principle, bag: list[int]
) -> None:
    groups = Groups.of([bag])
    (needed,) = bound_parts(principle, groups)
    kept = {
        size: all(
            principle.admits(Groups.from_counts(count(part, groups), groups.domain))[0]
            for part in set(combinations(sorted(bag), size))
        )
        for size in range(1, len(bag) + 1)
    }
    assert all(kept[size] for size in kept if size >= needed)
    if not isinstance(principle, dc.KE | dc.AlphaK | dc.FrequencyDiversity):
        return  # of these nothing less will do
    if needed < UNBOUNDED and 1 < needed <= len(bag):
        assert not all(kept[size] for size in kept if size >= needed - 1)


def count(part: tuple[int, ...], groups: Groups) -> np.ndarray:
    """Count the values of a part, by their codes in a bag."""
    held = Counter(str(value) for value in part)
    return np.array([held[text] for text in groups.domain.texts], dtype=np.int64)


def test_others_are_refused() -> None:
    groups = Groups.of([[1, 2, 3]])
    for principle in (dc.TCloseness(0.5), dc.EntropyDiversity(2), dc.Variance(1)):
        with pytest.raises(PromiseError, match="which parts of a group"):
            bound_parts(principle, groups)
    known = {title for title, kind in REGISTRY.items() if issubclass(kind, PartBound)}
    assert {type(principle).title for principle in BOUND} == known
