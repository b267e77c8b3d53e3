"""Who knows the method: keeps, of all arrangements of values, those that give the same groups.

This is the second oracle: worlds are listed here, and the method itself says what it makes of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners import simulatable
from discreet.publishing.partitioners.mondrian import mondrian
from discreet.publishing.partitioners.simulatable import split_simulatably
from samples import microdata

People = list[tuple[int, str]]
Grouping = Callable[[list[int]], list[int]]
PRINCIPLES = [
    dc.FrequencyDiversity(2),
    dc.DistinctDiversity(2),
    dc.DistinctDiversity(3),
    dc.RecursiveDiversity(3, 2),
    dc.AlphaK("2/3", 2),
    dc.KE(2, 2),
    dc.Proximity(1, 2),
    dc.KAnonymity(2) & dc.FrequencyDiversity("3/2", values={"1": 3}),
]


def read(people: People, numbers: list[int]) -> dc.Microdata:
    frame = pl.DataFrame(
        {"age": [age for age, _ in people], "sex": [sex for _, sex in people], "pay": numbers}
    )
    return microdata(frame, ["age", "sex"], ["pay"])


def arrange(numbers: list[int], groups: list[int]) -> Iterator[list[int]]:
    """List all ways to hand out the numbers of each group to its people."""
    places = [[i for i, g in enumerate(groups) if g == group] for group in sorted(set(groups))]
    ways = [sorted(set(permutations([numbers[i] for i in place]))) for place in places]
    for world in product(*ways):
        found = list(numbers)
        for place, values in zip(places, world, strict=True):
            for i, value in zip(place, values, strict=True):
                found[i] = value
        yield found


def believe(people: People, numbers: list[int], group: Grouping) -> tuple[Fraction, int, int]:
    """Give the largest belief in any number of anybody; how many worlds there are, and are left."""
    made = group(numbers)
    worlds = list(arrange(numbers, made))
    kept = [world for world in worlds if group(world) == made]
    most = max(
        Fraction(sum(world[i] == value for world in kept), len(kept))
        for i in range(len(people))
        for value in set(numbers)
    )
    return most, len(worlds), len(kept)


def group_with(
    people: People, numbers: list[int], principle: dc.Principle, search: Callable[..., Partition]
) -> Grouping:
    """Group people by a search, whichever of them has which of some numbers."""
    data = read(people, numbers)
    code = dict(zip(numbers, data.codes["pay"].tolist(), strict=True))

    def group(numbers: list[int]) -> list[int]:
        pay = np.array([code[number] for number in numbers], dtype=np.int32)
        found = search(replace(data, codes={**data.codes, "pay": pay}), principle)
        first: dict[int, int] = {}
        return [first.setdefault(g, len(first)) for g in found.labels.tolist()]

    return group


tables = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from("MF"), st.integers(1, 4)), min_size=4, max_size=6
)


@pytest.mark.parametrize("principle", PRINCIPLES, ids=str)
@settings(max_examples=15 if settings.get_current_profile_name() != "fuzz" else 200, deadline=None)
@given(rows=tables)
def test_to_know_the_method_rules_no_arrangement_out(
    principle: dc.Principle, rows: list[tuple[int, str, int]]
) -> None:
    people, numbers = [(age, sex) for age, sex, _ in rows], [number for *_, number in rows]
    if "1" not in map(str, numbers) and "1" in str(principle):
        return
    group = group_with(people, numbers, principle, split_simulatably)
    try:
        _, worlds, kept = believe(people, numbers, group)
    except dc.DiscreetError:
        return
    assert kept == worlds


def test_the_default_tells_by_where_it_stops_and_the_resistant_one_does_not() -> None:
    """Six people: who knows the default method is certain of two of them, under a promise of 1/2.

    The last four could not be split, which leaves 4 of 24 arrangements.
    """
    people: People = [(1, "M"), (3, "M"), (4, "F"), (5, "F"), (5, "F"), (6, "M")]
    numbers, promise = [3, 2, 2, 1, 1, 3], dc.FrequencyDiversity(2)
    told = believe(people, numbers, group_with(people, numbers, promise, mondrian))
    assert told == (1, 24, 4)
    told = believe(people, numbers, group_with(people, numbers, promise, split_simulatably))
    assert told == (Fraction(1, 3), 90, 90)


def test_a_resistant_release_is_the_same_whoever_of_a_group_has_which_value() -> None:
    """And says that it is, where others say that it is not."""
    people: People = [(i, "FM"[i % 2]) for i in range(8)]
    numbers = [1, 5, 2, 6, 3, 7, 4, 8]
    method = dc.Generalization(dc.FrequencyDiversity(2), resist="method")
    release = dc.publish(read(people, numbers), method)
    table = release.tables["generalized"]
    assert table["class"].n_unique() == 4
    groups = split_simulatably(read(people, numbers), method.principle).labels.tolist()
    for number, world in enumerate(arrange(numbers, groups)):
        if number % 5 == 0:
            again = dc.publish(read(people, world), method)
            assert again.tables["generalized"].equals(table)
    assert "knows how the groups were found" in release.promise.guarantee
    assert not any("how the groups were chosen" in text for text in release.promise.leaves_open)
    report = dc.audit(release, read(people, numbers))
    assert report.kept and not report.problems


def test_what_cannot_be_resisted_is_refused() -> None:
    people: People = [(i, "F") for i in range(6)]
    data = read(people, [1, 2, 3, 4, 5, 6])
    for promise, said in (
        (dc.TCloseness(0.5), "which parts of a group keep it"),
        (dc.Proximity(1, 3), "as one group"),
    ):
        with pytest.raises(dc.errors.PromiseError, match=said):
            dc.publish(data, dc.Generalization(promise, resist="method"))
    with pytest.raises(dc.errors.SchemaError, match="who is taken out"):
        dc.Generalization(dc.KAnonymity(2), suppress=0.1, resist="method")
    with pytest.raises(dc.errors.SchemaError, match="resist = 'nobody'"):
        dc.Generalization(dc.KAnonymity(2), resist="nobody")  # type: ignore[arg-type]


@pytest.mark.parametrize("principle", PRINCIPLES, ids=str)
@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 2**32 - 1))
def test_compiled_rules_and_principles_split_alike(principle: dc.Principle, seed: int) -> None:
    rng = np.random.default_rng(seed)
    numbers = rng.integers(1, 12, 60).tolist()
    people = list(zip(rng.integers(1, 30, 60).tolist(), rng.choice(["M", "F"], 60), strict=True))
    data = read(people, numbers)
    try:
        fast = split_simulatably(data, principle)
    except dc.DiscreetError:
        return
    with pytest.MonkeyPatch.context() as patch:
        nothing = np.zeros((0, 6), dtype=np.int64), np.zeros(1, dtype=np.int64), False
        patch.setattr(simulatable, "write_rules", lambda *_: nothing)
        slow = split_simulatably(data, principle)
    assert fast.labels.tolist() == slow.labels.tolist()
