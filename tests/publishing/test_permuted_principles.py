"""Permutation under other principles than (k,e): what is believed is bounded, and so are sums.

What may be whose is found by enumeration, by code that shares nothing with publisher or auditor.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, permutations, product
from pathlib import Path
from random import Random

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.principles.groups import Groups
from discreet.publishing.partitioners.sorted_runs import group_near, halve_runs
from samples import microdata

Belief = dict[int, Fraction]


def draw_people(rng: Random) -> pl.DataFrame:
    """Seven people at most; some look the same."""
    n = rng.randint(4, 7)
    return pl.DataFrame({
        "age": [rng.randint(30, rng.choice([31, 33, 60])) for _ in range(n)],
        "pay": [rng.randint(1, rng.choice([5, 12, 30])) for _ in range(n)],
    })  # fmt: skip


def list_worlds(table: pl.DataFrame) -> list[list[int]]:
    """Every way in which the records of a permuted table may have its numbers."""
    group, shown = table["group"].to_list(), table["pay"].to_list()
    places = [[i for i, g in enumerate(group) if g == here] for here in sorted(set(group))]
    worlds = []
    for orders in product(*(permutations(part) for part in places)):
        world = [0] * len(shown)
        for part, order in zip(places, orders, strict=True):
            for place, other in zip(part, order, strict=True):
                world[place] = shown[other]
        worlds.append(world)
    return worlds


def believe(table: pl.DataFrame, ages: list[int]) -> tuple[list[Belief], list[Belief]]:
    """Of everyone what is believed, by who knows all ages: record unknown, and each record."""
    worlds = list_worlds(table)
    alone: list[Belief] = []
    for record in range(table.height):
        tally = Counter(world[record] for world in worlds)
        alone.append({v: Fraction(c, len(worlds)) for v, c in tally.items()})
    mixed = []
    for age in ages:
        mine = [i for i, shown in enumerate(table["age"].to_list()) if shown == age]
        belief: Belief = defaultdict(Fraction)
        for record in mine:
            for value, share in alone[record].items():
                belief[value] += share / len(mine)
        mixed.append(dict(belief))
    return mixed, alone


def surest(belief: Belief) -> Fraction:
    return max(belief.values())


def nearest(belief: Belief, epsilon: int) -> Fraction:
    """The most that is believed to lie near one number."""
    return max(
        sum((w for v, w in belief.items() if abs(v - x) <= epsilon), Fraction(0)) for x in belief
    )


PROMISES: list[tuple[dc.Principle, Callable[[Belief], bool]]] = [
    (dc.FrequencyDiversity(2), lambda b: surest(b) <= Fraction(1, 2)),
    (dc.FrequencyDiversity("5/2"), lambda b: surest(b) <= Fraction(2, 5)),
    (dc.Proximity(1, 2), lambda b: nearest(b, 1) <= Fraction(1, 2)),
    (
        dc.KE(3, 4) & dc.FrequencyDiversity(2),
        lambda b: surest(b) <= Fraction(1, 2) and len(b) >= 3 and max(b) - min(b) >= 4,
    ),
    (
        dc.KE(2, 5) & dc.Proximity(1, 2),
        lambda b: nearest(b, 1) <= Fraction(1, 2) and len(b) >= 2 and max(b) - min(b) >= 5,
    ),
    (dc.EntropyDiversity(2), lambda b: len(b) >= 2),
]


@pytest.mark.parametrize(("promise", "kept"), PROMISES, ids=[str(p) for p, _ in PROMISES])
def test_no_world_gives_a_belief_beyond_the_promise(
    promise: dc.Principle, kept: Callable[[Belief], bool]
) -> None:
    rng, made = Random(3), 0
    for _ in range(40):
        frame = draw_people(rng)
        data = microdata(frame, ["age"], ["pay"])
        try:
            release = dc.publish(data, dc.Permutation(promise), insecure_seed=rng.randint(0, 99))
        except dc.errors.PromiseError:
            continue
        made += 1
        ages = frame["age"].to_list()
        mixed, alone = believe(release.tables["permuted"], ages)
        assert all(map(kept, mixed))
        assert all(map(kept, alone))
        report = dc.audit(release, data)
        assert report.kept, report.problems
        for person, belief in enumerate(mixed):
            assert report.beliefs["pay"][person] >= float(surest(belief)) - 1e-12
    assert made >= 3


def test_groups_follow_from_the_numbers_whosever_they_are() -> None:
    """So who knows how they are found learns no more: any order of the people is as likely."""
    rng, pays = np.random.default_rng(1), [1, 1, 2, 4, 7, 9, 9, 12, 15, 15, 15, 20]
    for promise in (dc.FrequencyDiversity(3), dc.Proximity(2, 2), dc.KE(2, 3) & dc.TCloseness(0.5)):
        found = set()
        for seed in range(4):
            frame = pl.DataFrame({"age": range(12), "pay": rng.permutation(pays)})
            data = microdata(frame, ["age"], ["pay"])
            table = dc.publish(data, dc.Permutation(promise), insecure_seed=seed).tables["permuted"]
            bags = table.group_by("group").agg("pay")["pay"].list.sort().to_list()
            found.add(str(sorted(bags)))
        assert len(found) == 1


@pytest.mark.parametrize("promise", [dc.FrequencyDiversity(2), dc.KE(2, 3) & dc.Proximity(1, 2)])
def test_bounds_of_sums_are_those_of_all_worlds(promise: dc.Principle) -> None:
    frame = pl.DataFrame({"age": range(30, 38), "pay": [1, 1, 3, 6, 8, 12, 15, 15]})
    release = dc.publish(microdata(frame, ["age"], ["pay"]), dc.Permutation(promise))
    table = release.tables["permuted"]
    for least in (31, 33, 36):
        chosen = (table["age"] >= least).to_list()
        sums = [sum(v for v, c in zip(w, chosen, strict=True) if c) for w in list_worlds(table)]
        answer = release.query(f"SELECT SUM(pay) FROM release WHERE age >= {least}")
        assert (answer.low, answer.high) == (min(sums), max(sums))
        assert answer.estimate == pytest.approx(sum(sums) / len(sums))


def test_no_two_numbers_of_a_group_are_near_where_there_is_room() -> None:
    """The paper's future work, in its own words: any two elements differ by more than that."""
    whole = Groups.of([[*range(0, 60, 2), *range(1000, 4000, 100)]])
    numbers = np.repeat(whole.domain.numbers[whole.codes], whole.weights)
    group = group_near(whole, dc.Proximity(5, 2).require_mixed()).find(np.arange(60))
    assert np.bincount(group).min() == 4
    for number in range(group.max() + 1):
        assert np.diff(numbers[group == number]).min() > 5
    far = [np.ptp(numbers[group == number]) for number in {*group[30:].tolist()} - {*group[:30]}]
    assert max(far) < 800  # where numbers are far apart, neighbours are enough


def test_halved_runs_keep_the_principle_and_cannot_be_halved_again() -> None:
    rng = np.random.default_rng(2)
    promise = dc.KE(3, 6) & dc.FrequencyDiversity(2)
    for _ in range(30):
        numbers = np.sort(rng.integers(0, rng.choice([8, 40]), 40))
        whole = Groups.of([numbers.tolist()])
        if not promise.admits(whole)[0]:
            continue
        ends = [*halve_runs(whole, promise).tolist(), 40]
        runs = [numbers[a:b].tolist() for a, b in pairwise(ends)]
        assert np.concatenate(runs).tolist() == numbers.tolist()
        for run in runs:
            assert promise.admits(Groups.of([run])).all()
            half = len(run) // 2
            assert half < 1 or not promise.admits(Groups.of([run[:half], run[half:]])).all()


def test_each_number_may_have_a_promise_of_its_own_kind() -> None:
    frame = pl.DataFrame({"age": range(12), "pay": range(100, 220, 10), "debt": [1, 2, 3] * 4})
    data = microdata(frame, ["age"], ["pay", "debt"])
    promise = dc.KE(3, 20, on="pay") & dc.FrequencyDiversity(3, on="debt")
    release = dc.publish(data, dc.Permutation(promise), insecure_seed=1)
    assert dc.audit(release, data).kept
    groups = release.tables["permuted"].group_by("group_2").agg(pl.col("debt").n_unique())
    assert set(groups["debt"]) == {3}
    both = dc.publish(data, dc.Permutation(dc.KE(2, 1) & dc.KE(3, 0)), insecure_seed=1)
    assert both.parameters == {"objective": "sum"}
    assert dc.audit(both, data).kept


def test_what_it_says_of_likelihood_is_what_it_promises(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": range(12), "pay": range(0, 120, 10)})
    data = microdata(frame, ["age"], ["pay"])
    release = dc.publish(data, dc.Permutation(dc.FrequencyDiversity(3)))
    assert release.parameters == {}
    assert "probability above 1/3" in release.promise.guarantee
    assert not any("How likely" in text for text in release.promise.leaves_open)
    loaded = dc.load(release.write(tmp_path / "r"))
    report = dc.audit(loaded, data)
    assert report.kept
    assert report.worst == Fraction(1, 3)
    assert not report.findings
    forged = replace(loaded, parameters={"objective": "best"})
    assert dc.audit(forged, data).findings


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dc.Permutation(dc.KAnonymity(3)), "tell people apart"),
        (lambda: dc.Permutation(dc.AlphaK(0.5, 2)), "tell people apart"),
        (lambda: dc.Permutation(dc.Proximity(1, 2), objective="max"), r"is for \(k,e\) alone"),
    ],
)
def test_what_exact_quasi_identifiers_cannot_promise_is_refused(
    make: Callable[[], dc.Permutation], message: str
) -> None:
    with pytest.raises(dc.DiscreetError, match=message):
        make()


def test_what_this_table_cannot_keep_is_refused_with_what_it_can() -> None:
    frame = pl.DataFrame({"age": range(8), "pay": [1, 1, 1, 1, 1, 2, 3, 4]})
    data = microdata(frame, ["age"], ["pay"])
    with pytest.raises(dc.errors.PromiseError, match="l ≤ 1"):
        dc.publish(data, dc.Permutation(dc.FrequencyDiversity(2)))
    with pytest.raises(dc.errors.PromiseError, match="m ≤ 1"):
        dc.publish(data, dc.Permutation(dc.Proximity(0, 2)))
    with pytest.raises(dc.errors.PromiseError, match="not monotone"):
        dc.publish(data, dc.Permutation(dc.MInvariance(2)))
    with pytest.raises(dc.DiscreetError, match="guards"):
        dc.publish(data, dc.Permutation(dc.PersonalPrivacy(2)))
