"""Who knows the method: weighs all arrangements of values by how likely each gives these groups.

This is the second oracle: worlds are listed, and the method itself says what it makes of them.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import comb
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.forms import find_form
from discreet.kernels import odds
from discreet.principles.groups import Groups
from discreet.publishing.draws import SeededDraws
from discreet.publishing.partitioners import simulatable
from discreet.publishing.partitioners.simulatable import DEAREST, split_simulatably
from oracles.known_method import (
    HIGHEST,
    PRINCIPLES,
    KnownMethod,
    People,
    SetDraws,
    arrange,
    draw_coins,
    draw_people,
    keeps,
    read,
    split_with,
)

FUZZ = settings.get_current_profile_name() == "fuzz"


def know(
    people: People,
    numbers: list[int],
    principle: dc.Principle,
    *,
    resist: bool = True,
    seed: int = 0,
) -> KnownMethod:
    split = split_with(people, numbers, principle, resist=resist)
    return KnownMethod(numbers, split, draw_coins(Random(seed), len(numbers)))


@pytest.mark.parametrize("principle", PRINCIPLES, ids=str)
def test_who_knows_the_method_believes_no_more_than_is_promised(principle: dc.Principle) -> None:
    rng, tried = Random(str(principle)), 0
    while tried < (100 if FUZZ else 5):
        people, numbers = draw_people(rng)
        try:
            found = know(people, numbers, principle, seed=tried)
        except dc.DiscreetError:
            continue
        tried += 1
        assert all(keeps(principle, belief) for belief in found.beliefs), (people, numbers)


def test_the_default_tells_by_where_it_stops_and_the_resistant_one_does_not() -> None:
    """Six people: who knows the default method is certain of two of them, under a promise of 1/2.

    The last four could not be split, which leaves 4 of 24 arrangements.
    """
    people: People = [(1, "M"), (3, "M"), (4, "F"), (5, "F"), (5, "F"), (6, "M")]
    numbers, promise = [3, 2, 2, 1, 1, 3], dc.FrequencyDiversity(2)
    told = know(people, numbers, promise, resist=False)
    assert max(max(belief.values()) for belief in told.beliefs) == 1
    assert (len(told.worlds), told.ruled_out) == (24, 20)
    told = know(people, numbers, promise)
    assert max(max(belief.values()) for belief in told.beliefs) <= Fraction(1, 2)


def test_the_chance_that_a_cut_is_not_tried_is_as_small_as_the_promise_allows() -> None:
    """Seven people in a line, of whom three have a, and the first three would be apart; l = 2.

    In 17 of 35 ways a side has too many a: always tried, that it is whole would tell the first
    three have a with 9/17. If it is not tried with 1/6, it tells (15/6 + 45/6) / (35/6 + 85/6).
    """
    people: People = [(age, "F") for age in range(7)]
    numbers = [1, 1, 1, 2, 3, 4, 5]
    broken = [world for world in arrange(numbers, [0] * 7)
              if 2 * world[:3].count(1) > 3 or 2 * world[3:].count(1) > 4]  # fmt: skip
    assert Fraction(sum(world[0] == 1 for world in broken), len(broken)) == Fraction(9, 17)
    split = split_with(people, numbers, dc.FrequencyDiversity(2))
    told = KnownMethod(numbers, split, SetDraws([0] * 7))
    (chance,) = told.chances.values()
    assert Fraction(1, 6) <= Fraction(chance, HIGHEST) <= Fraction(1, 6) * (1 + Fraction(1, 10**6))
    most = max(max(belief.values()) for belief in told.beliefs)
    assert Fraction(1, 2) - Fraction(1, 10**6) <= most <= Fraction(1, 2)


def test_halves_tell_nothing_of_anybody_whatever_they_break() -> None:
    """Six people in two halves: that they could not be parted tells of nobody on which side."""
    people: People = [(1 + i // 3, "F") for i in range(6)]
    numbers = [1, 1, 2, 3, 4, 5]
    told = KnownMethod(numbers, split_with(people, numbers, dc.FrequencyDiversity(2)),
                       SetDraws([0] * 6))  # fmt: skip
    assert set(told.groups) == {0} and not told.chances and told.ruled_out
    assert all(belief[1] == Fraction(1, 3) for belief in told.beliefs)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_excess_is_never_below_what_is_counted_exactly(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 200))
    c, size = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    b = data.draw(st.integers(1, 30))
    a = data.draw(st.integers(0, b))
    exact = sum(
        Fraction(comb(c, x) * comb(n - c, size - x), comb(n, size)) * (x - Fraction(size * a, b))
        for x in range(max(0, c + size - n), min(c, size) + 1)
        if x * b > size * a
    )
    t = a * size // b + 1
    above, below, chance = map(Fraction, odds.weigh_tail(n, c, size, t, a, b))
    assert below <= exact <= above <= exact * Fraction(1001, 1000) + Fraction(1, 10**200)
    assert below >= exact * Fraction(99, 100)
    likely = sum(Fraction(comb(c, x) * comb(n - c, size - x), comb(n, size))
                 for x in range(max(t, c + size - n), min(c, size) + 1))  # fmt: skip
    assert likely * Fraction(9, 10) <= chance <= likely
    within = Fraction(comb(c, size), comb(n, size))
    assert within <= Fraction(odds.find_chance_within(n, c, size)) <= within * Fraction(1001, 1000)


def test_tails_of_large_tables_are_positive_wherever_they_are_possible() -> None:
    """However far below what floats can say."""
    n = 10**6
    sizes = np.array([n // 2 - 1, n // 2 + 1])
    assert odds.weigh_share(n, n // 3, sizes, 1, 2) > 0
    assert odds.weigh_share(n, n // 4, sizes, 1, 2) > 0
    assert odds.weigh_share(n, n // 4 - 1, sizes, 1, 2) == 0
    assert [odds.price(x) for x in (0.0, 1e-300, float("inf"))] == [0, 2, HIGHEST]
    assert HIGHEST // 2 < odds.price(1.0) < HIGHEST // 2 * (1 + 1e-11)


@pytest.mark.parametrize("n", [4001, 12001, 10**6 + 1])
def test_what_is_exceeded_by_nearly_all_parts_is_exceeded_by_what_the_mean_is_above_it(
    n: int,
) -> None:
    """A tail that starts far below the likeliest number is a sum over nearly all there are."""
    few, size = 3 * (n // 4), n * 45 // 100
    above, below, chance = odds.weigh_tail(n, few, size, -(-size // 2), 1, 2)
    mean = size * few / n - size / 2
    assert mean <= above <= mean * 1.001 and mean * 0.99 <= below and 0.9 <= chance <= 1
    sizes = np.array([size, n - size])
    assert odds.price(odds.weigh_recursive(n, n // 4, few, sizes, 1, 1)) > HIGHEST // 2


def test_a_resistant_release_is_as_likely_whoever_of_a_group_has_which_value() -> None:
    """And says that it is, where others say that it is not."""
    people: People = [(i, "FM"[i % 2]) for i in range(8)]
    numbers = [1, 5, 2, 6, 3, 7, 4, 8]
    method = dc.Generalization(dc.FrequencyDiversity(2), resist="method")
    release = dc.publish(read(people, numbers), method)
    table = release.tables["generalized"]
    assert table["class"].n_unique() == 4
    partition = split_simulatably(read(people, numbers), method.principle, SeededDraws(0))
    for number, world in enumerate(arrange(numbers, partition.labels.tolist())):
        if number % 5 == 0:
            again = dc.publish(read(people, world), method)
            assert again.tables["generalized"].equals(table)
    assert "knows how the groups were found" in release.promise.guarantee
    assert not any("how the groups were chosen" in text for text in release.promise.leaves_open)
    report = dc.audit(release, read(people, numbers))
    assert report.kept and not report.problems


def test_nobody_is_dealt_where_the_method_is_resisted() -> None:
    with pytest.raises(dc.errors.SchemaError, match="nobody is dealt"):
        dc.Generalization(dc.Proximity(1, 2), dealing="round-robin", resist="method")


def test_two_releases_that_resist_the_method_do_not_together() -> None:
    """Chance decides twice which groups there are; that is left open, and audits say so."""
    people: People = [(i, "FM"[i % 2]) for i in range(8)]
    data = read(people, [1, 5, 2, 6, 3, 7, 4, 8])
    method = dc.Generalization(dc.FrequencyDiversity(2), resist="method")
    first, second = dc.publish(data, method), dc.publish(data, method)
    assert any("chance decides anew" in text for text in second.promise.leaves_open)
    assert "knows the method" in dc.audit(second, data).withstands
    assert "knows the method" not in dc.audit(second, data, earlier=[first]).withstands


@pytest.mark.parametrize(
    ("method", "found"),
    [
        (dc.Generalization(dc.EntropyDiversity(2)), "under entropy-diversity"),
        (dc.Slicing(dc.FrequencyDiversity(2), columns=[["age"], ["sex", "pay"]]), "beside what is"),
        (dc.Slicing(dc.FrequencyDiversity(2), columns=[["age", "sex"], ["pay"]], buckets=4),
         "buckets = 4"),
        (dc.Anatomy(dc.EntropyDiversity(2), batches="mondrian"), "under entropy-diversity"),
    ],
    ids=["parts", "beside", "buckets", "batches"],
)  # fmt: skip
def test_what_nobody_makes_so_is_not_believed_to_resist(method: dc.Method, found: str) -> None:
    people: People = [(i % 4, "FM"[i % 2]) for i in range(12)]
    data = read(people, [1, 5, 2, 6, 3, 7, 4, 8, 9, 10, 11, 12])
    release = dc.publish(data, method)
    said = replace(release, parameters={**release.parameters, "resist": "method"})
    promise, about = find_form(release.form).word(said) or (said.promise, said.about)
    report = dc.audit(replace(said, promise=promise, about=about), data)
    assert any(found in problem for problem in report.problems), report.problems


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


def write_nothing(*_: object) -> tuple[np.ndarray, np.ndarray, bool]:
    """Leave everything to the principles themselves."""
    return np.zeros((0, 6), dtype=np.int64), np.zeros(1, dtype=np.int64), False


@pytest.mark.parametrize("principle", PRINCIPLES, ids=str)
@pytest.mark.parametrize("dearest", [DEAREST, HIGHEST - 1])
def test_compiled_rules_and_principles_split_alike(principle: dc.Principle, dearest: int) -> None:
    for seed in range(4):
        rng = np.random.default_rng(seed)
        numbers = (rng.integers(1, 12, 90) ** 2 // 12).tolist()
        people = list(
            zip(rng.integers(1, 30, 90).tolist(), rng.choice(["M", "F"], 90), strict=True)
        )
        data = read(people, numbers)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(simulatable, "DEAREST", dearest)
            try:
                fast = split_simulatably(data, principle, SeededDraws(seed))
            except dc.DiscreetError:
                continue
            patch.setattr(simulatable, "write_rules", write_nothing)
            slow = split_simulatably(data, principle, SeededDraws(seed))
        assert fast.labels.tolist() == slow.labels.tolist()


def test_nothing_is_tried_by_shares_with_too_many_digits() -> None:
    """Whole numbers would not hold their products; halves, and what cannot fail, are cut."""
    data = dc.datasets.census(300, sensitive="occupation")
    fine, plain = (
        dc.FrequencyDiversity("2000000000000000001/1000000000000000000"),
        dc.FrequencyDiversity(2),
    )
    bag = Groups.from_counts(data.count("occupation"), data.domains["occupation"])
    uneven, halves = np.array([10, 290]), np.array([150, 150])
    assert 0 < plain.cut_odds(bag, uneven) < fine.cut_odds(bag, uneven) == float("inf")
    assert plain.cut_odds(bag, halves) == fine.cut_odds(bag, halves) == 0
    assert split_simulatably(data, fine, SeededDraws(0)).count > 1


def test_every_node_looks_at_a_coin_of_its_own() -> None:
    """That of the place where it is cut, where nothing below it can be cut."""
    people: People = [(age, "F") for age in range(29)]
    split = split_with(people, ([1, 2, 3, 1, 4, 5, 6, 7] * 4)[:29], dc.FrequencyDiversity(2))

    def cut(*forbidden: int) -> list[int]:
        coins = [0 if place in forbidden else HIGHEST - 1 for place in range(29)]
        numbers = ([1, 2, 3, 1, 4, 5, 6, 7] * 4)[:29]
        return split(numbers, SetDraws(coins)).offsets.tolist()

    every = cut()
    gone = {place: sorted(set(every) - set(cut(place))) for place in range(29)}
    assert {place: them for place, them in gone.items() if them} == {
        3: [3, 5], 10: [10, 12], 17: [17, 19], 21: [17, 19, 21, 23, 25, 27],
    }  # fmt: skip


def test_numbers_that_differ_are_split_as_finely_as_ever() -> None:
    data = dc.datasets.census(2000, sensitive="income")
    promise = dc.FrequencyDiversity(4)
    plain, made = (
        dc.evaluate.measure_loss(dc.publish(data, dc.Generalization(promise, resist=how)), data)  # type: ignore[arg-type]
        for how in ("reader", "method")
    )
    assert made.ncp <= 1.1 * plain.ncp
