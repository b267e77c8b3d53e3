"""Several sensitive numbers, shuffled, exchanged or perturbed: all worlds of both at once.

A world says which record is whose, and which number of each attribute the people of the records
have. Records are read from the published table; nothing is shared with publisher or auditor.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations, product
from random import Random
from typing import Any

import polars as pl
import pytest

import discreet as dc
from oracles.noise import pair_up, seek_windows
from samples import microdata

TOLD = ["pay", "debt"]
Ways = dict[tuple[int, ...], Fraction]
"""Per way to give the records' people their numbers, how likely it is."""
Belief = dict[int, Fraction]


def draw_people(rng: Random) -> tuple[pl.DataFrame, dc.Microdata]:
    n = 4
    ages = rng.sample(range(20, 40), n) if rng.random() < 0.5 else rng.choices(range(20, 23), k=n)
    numbers = {name: [rng.randint(1, rng.choice([4, 9])) for _ in range(n)] for name in TOLD}
    frame = pl.DataFrame({"age": ages, **numbers})
    return frame, microdata(frame, ["age"], TOLD)


def shuffled_ways(release: dc.Release, name: str) -> Ways:
    table = release.tables["permuted"]
    group = table["group" if name == TOLD[0] else "group_2"].to_list()
    shown = table[name].to_list()
    places = [[i for i, g in enumerate(group) if g == here] for here in sorted(set(group))]
    found: Ways = defaultdict(Fraction)
    for order in product(*(permutations(part) for part in places)):
        world = [0] * len(shown)
        for part, mixed in zip(places, order, strict=True):
            for place, other in zip(part, mixed, strict=True):
                world[place] = shown[other]
        found[tuple(world)] += 1
    return found


def exchanged_ways(release: dc.Release, name: str) -> Ways:
    shown, principle = release.tables["swapped"][name].to_list(), release.promise.principle
    assert isinstance(principle, dc.KE)
    numbers = sorted(shown)
    ways = pair_up(tuple(seek_windows(numbers, principle.k, int(str(principle.e)))))
    found: Ways = defaultdict(Fraction)
    for ranks in permutations(range(len(shown))):
        for partner, weight in ways:
            if all(numbers[partner[r]] == y for r, y in zip(ranks, shown, strict=True)):
                found[tuple(numbers[r] for r in ranks)] += weight
    return found


def drawn_ways(release: dc.Release, name: str, own: list[int]) -> Ways:
    shown = release.tables["perturbed"][name].to_list()
    low, high = map(int, release.recodings[name].domain)
    step, retention = (release.parameters[key][name] for key in ("step", "retention"))  # type: ignore[index]
    kept = Fraction(str(retention))
    other = (1 - kept) / ((high - low) // step + 1)
    found: Ways = {}
    for world in set(permutations(own)):
        same = sum(x == y for x, y in zip(world, shown, strict=True))
        found[world] = (other + kept) ** same * other ** (len(shown) - same)
    return found


def believe(
    ages: list[int], rows: list[int], ways: dict[str, Ways], known: dict[str, list[int]]
) -> dict[str, list[Belief]]:
    """Weigh all worlds of both attributes; those that agree with what is ``known`` of people."""
    fitting = [
        sigma
        for sigma in permutations(range(len(ages)))
        if all(rows[record] == age for record, age in zip(sigma, ages, strict=True))
    ]
    tallies: dict[str, list[Belief]] = {n: [defaultdict(Fraction) for _ in ages] for n in TOLD}
    total = Fraction(0)
    for (pays, one), (debts, two) in product(ways["pay"].items(), ways["debt"].items()):
        for sigma in fitting:
            world = {"pay": [pays[r] for r in sigma], "debt": [debts[r] for r in sigma]}
            if all(world[name] == numbers for name, numbers in known.items()):
                total += one * two
                for name in TOLD:
                    for tally, number in zip(tallies[name], world[name], strict=True):
                        tally[number] += one * two
    return {
        name: [{v: w / total for v, w in tally.items()} for tally in tallies[name]] for name in TOLD
    }


def run(method: Any, seed: int) -> tuple[pl.DataFrame, dc.Release, Any, Any] | None:
    """Publish a table; give what the worlds say, to the public and to who knows one attribute."""
    rng = Random(seed)
    frame, data = draw_people(rng)
    try:
        release = dc.publish(data, method, insecure_seed=seed)
    except dc.errors.PromiseError:
        return None
    own = {name: frame[name].to_list() for name in TOLD}
    ways: dict[str, Callable[[str], Ways]] = {
        "permuted": lambda name: shuffled_ways(release, name),
        "swapped": lambda name: exchanged_ways(release, name),
        "perturbed": lambda name: drawn_ways(release, name, own[name]),
    }
    weighed = {name: ways[release.form](name) for name in TOLD}
    ages, rows = frame["age"].to_list(), release.tables[release.form]["age"].to_list()
    beliefs = believe(ages, rows, weighed, {})
    known = {
        name: believe(ages, rows, weighed, {other: own[other]})[name]
        for name, other in zip(TOLD, reversed(TOLD), strict=True)
    }
    report = dc.audit(release, data)
    assert report.kept, report.problems
    for name in TOLD:
        for person, belief in enumerate(beliefs[name]):
            surest, truth = max(belief.values()), belief.get(own[name][person], Fraction(0))
            assert float(surest) <= report.beliefs[name][person] + 1e-9
            assert float(truth) <= report.truths[name][person] + 1e-9
            if report.how[name] == "exactly":
                assert float(surest) == pytest.approx(report.beliefs[name][person])
                assert float(truth) == pytest.approx(report.truths[name][person])
    return frame, release, beliefs, known


@pytest.mark.parametrize("kind", [dc.Permutation, dc.RankSwapping])
def test_every_number_has_as_many_possible_values_as_promised(kind: Any) -> None:
    made = 0
    for seed in range(12):
        if found := run(kind(dc.KE(2, 2)), seed):
            made += 1
            *_, beliefs, known = found
            for believed in (*beliefs.values(), *known.values()):
                for belief in believed:
                    assert len(belief) >= 2
                    assert max(belief) - min(belief) >= 2
    assert made >= 4


def test_no_number_is_told_more_surely_than_promised() -> None:
    made = 0
    for seed in range(40):
        if found := run(dc.Perturbation(dc.Proximity(0, 2)), seed):
            made += 1
            frame, _, beliefs, known = found
            for name in TOLD:
                for belief in (*beliefs[name], *known[name]):
                    assert max(belief.get(x, 0) for x in frame[name]) * 2 <= 1
    assert made >= 4


def test_each_number_may_have_a_promise_of_its_own() -> None:
    frame = pl.DataFrame({"age": range(12), "pay": range(100, 220, 10), "debt": [1, 2, 3] * 4})
    data = microdata(frame, ["age"], TOLD)
    promise = dc.KE(3, 20, on="pay") & dc.KE(2, 1, on="debt")
    for kind in (dc.Permutation, dc.RankSwapping):
        release = dc.publish(data, kind(promise), insecure_seed=1)
        assert dc.audit(release, data).kept
        with pytest.raises(dc.DiscreetError, match=r"promises .*thing of each .* 0 of 'debt'"):
            dc.publish(data, kind(dc.KE(3, 20, on="pay")))
    release = dc.publish(data, dc.Permutation(promise), insecure_seed=1)
    groups = release.tables["permuted"].group_by("group_2").agg(pl.col("debt").n_unique())
    assert groups["debt"].min() >= 2  # type: ignore[operator]


@pytest.mark.parametrize(
    "method",
    [
        dc.Permutation(dc.KE(3, 2)),
        dc.RankSwapping(dc.KE(3, 2)),
        dc.Perturbation(dc.Proximity(0, 2)),
    ],
)
def test_questions_are_about_one_number_and_bounds_hold(method: Any, tmp_path: Any) -> None:
    rng = Random(5)
    frame = pl.DataFrame({
        "age": [rng.randint(20, 60) for _ in range(60)],
        "pay": [rng.randint(1, 40) for _ in range(60)],
        "debt": [rng.randint(50, 90) for _ in range(60)],
    })  # fmt: skip
    data = microdata(frame, ["age"], TOLD)
    release = dc.publish(data, method, insecure_seed=3)
    release = dc.load(release.write(tmp_path / "r", format="csv", insecure=True))
    old = frame.filter(pl.col("age") >= 40)
    for name in TOLD:
        answer = release.query(f"SELECT SUM({name}) FROM release WHERE age >= 40")
        assert answer.low <= old[name].sum() <= answer.high
        assert answer.tables[0] == release.form
        many = release.query(f"SELECT COUNT(*) FROM release WHERE {name} >= 30")
        assert many.low <= frame.filter(pl.col(name) >= 30).height <= many.high
        prepared = release.prepare().query(f"SELECT SUM({name}) FROM release WHERE age >= 40")
        assert prepared.estimate == pytest.approx(answer.estimate)
    with pytest.raises(dc.DiscreetError, match="pay, debt are told each by itself"):
        release.query("SELECT SUM(pay) FROM release WHERE debt > 60")
    assert release.sample(20, seed=1).columns == ["age", *TOLD]
    assert dc.audit(release, data, attacks=True).kept
