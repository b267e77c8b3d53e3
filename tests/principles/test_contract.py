"""What every registered principle must do, whatever it is."""

from __future__ import annotations

import random
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.principles import REGISTRY, Principle, make_principle
from discreet.principles.groups import Groups
from principle_cases import CASES, INSTANCES

BAG = st.lists(st.integers(1, 8), min_size=1, max_size=9)
BAGS = st.lists(BAG, min_size=1, max_size=5)
each_instance = pytest.mark.parametrize("principle", INSTANCES, ids=str)


def test_every_registered_principle_has_a_case() -> None:
    assert set(CASES) == set(REGISTRY)


@each_instance
@settings(max_examples=60, deadline=None)
@given(bags=BAGS)
def test_it_agrees_with_its_definition_in_plain_python(
    principle: Principle, bags: list[list[int]]
) -> None:
    whole = [value for bag in bags for value in bag]
    define = CASES[principle.title].define
    expected = [define(principle, bag, whole) for bag in bags]
    assert principle.admits(Groups.of(bags)).tolist() == expected


def _unions_of_admitted(principle: Principle) -> list[bool]:
    """Draw bags from a table, keep those admitted, and ask about the union of random pairs."""
    rng = random.Random(1)
    values = [*range(1, 10)]
    drawn = [rng.choices(values, k=rng.randint(1, 12)) for _ in range(4000)]
    drawn += [rng.sample(values, k=rng.randint(1, 9)) for _ in range(2000)]
    whole = np.full(9, 20, dtype=np.int64)

    def admitted(bags: list[list[int]]) -> list[bool]:
        groups = Groups.of([*bags, values])
        counted = Groups(groups.offsets, groups.codes, groups.weights, groups.domain, whole)
        return principle.admits(counted)[:-1].tolist()

    good = [bag for bag, verdict in zip(drawn, admitted(drawn), strict=True) if verdict]
    pairs = [rng.choice(good) + rng.choice(good) for _ in range(2000)] if len(good) > 20 else []
    return admitted(pairs)


@each_instance
def test_monotone_means_closed_under_union_and_not_vacuously(principle: Principle) -> None:
    verdicts = _unions_of_admitted(principle)
    if principle.drawn:  # it is about how a release is drawn: no bag is admitted at all
        assert not verdicts and principle.title == "differential-privacy"
        return
    assert verdicts, "too few bags admitted for the test to mean anything"
    assert all(verdicts) or not principle.monotone


def test_some_principle_that_calls_itself_not_monotone_is_not() -> None:
    loose = [principle for principle in INSTANCES if not principle.monotone]
    assert not all(all(_unions_of_admitted(principle)) for principle in loose)


@each_instance
@settings(max_examples=60, deadline=None)
@given(bags=BAGS)
def test_no_value_is_more_of_an_admitted_bag_than_its_largest_share(
    principle: Principle, bags: list[list[int]]
) -> None:
    groups = Groups.of(bags)
    admitted = np.flatnonzero(principle.admits(groups))
    for bag in [bags[i] for i in admitted]:
        counted = [value for value in bag if principle.counts(str(value))]
        most = max((bag.count(value) for value in counted), default=0)
        assert most <= min(part.max_share for part in principle.parts) * len(bag)


@each_instance
@settings(max_examples=40, deadline=None)
@given(bags=BAGS)
def test_no_bag_below_the_least_size_is_admitted(
    principle: Principle, bags: list[list[int]]
) -> None:
    groups = Groups.of(bags)
    assert (groups.sizes[principle.admits(groups)] >= principle.min_size).all()


@each_instance
@settings(max_examples=40, deadline=None)
@given(bag=BAG)
def test_feasible_agrees_with_admitting_the_whole_if_monotone(
    principle: Principle, bag: list[int]
) -> None:
    whole = Groups.of([bag])
    possible, best = principle.feasible(whole)
    assert best
    if principle.monotone:
        assert possible == bool(principle.admits(whole)[0])


@settings(max_examples=60, deadline=None)
@given(bag=st.lists(st.integers(1, 20), min_size=1, max_size=7), m=st.integers(1, 4))
def test_proximity_is_feasible_exactly_if_some_partition_satisfies_it(
    bag: list[int], m: int
) -> None:
    """Theorem 1 against all partitions of at most seven values."""
    principle = dc.Proximity(3, m)
    parts = range(1, 2 ** len(bag))
    # each part is asked about once, whichever partitions it is in
    bags = [[value for i, value in enumerate(bag) if part >> i & 1] for part in parts]
    good = dict(zip(parts, principle.admits(Groups.of(bags)), strict=True))
    some = any(all(good[part] for part in found) for found in _partitions(2 ** len(bag) - 1))
    assert principle.feasible(Groups.of([bag])).possible == some


def _partitions(items: int) -> Iterator[list[int]]:
    """List all partitions of a set, which is a number with a bit for each of its members."""
    if not items:
        yield []
        return
    first = items & -items
    rest = others = items ^ first
    while True:
        yield from ([first | others, *found] for found in _partitions(rest ^ others))
        if not others:
            return
        others = (others - 1) & rest


@each_instance
@settings(max_examples=60, deadline=None)
@given(bags=BAGS)
def test_its_rule_for_kernels_agrees_with_it(principle: Principle, bags: list[list[int]]) -> None:
    groups = Groups.of(bags)
    if principle.rules(groups.union()) is not None:
        assert ask_rules(principle, groups) == principle.admits(groups).tolist()


def ask_rules(principle: dc.Principle, groups: Groups) -> list[bool]:
    """Ask a principle's rules of every bag."""
    from discreet.kernels.rules import obeys

    rules, found = principle.rules(groups.union()), []
    assert rules
    tables = np.concatenate([[0], *(np.asarray(r.table, dtype=np.int64) for r in rules)])
    places = 1 + np.cumsum([0, *(len(r.table) for r in rules)])
    for g in range(groups.count):
        counts = np.zeros(groups.domain.size, dtype=np.int64)
        codes = groups.codes[groups.offsets[g] : groups.offsets[g + 1]].astype(np.int64)
        counts[codes] = groups.weights[groups.offsets[g] : groups.offsets[g + 1]]
        verdicts = {
            all(
                obeys(
                    np.array([[r.op, 0, r.a, r.b, r.c, place]], dtype=np.int64), 0,
                    tables.astype(np.int64), counts, listed, 0, len(listed), len(codes),
                    int(counts.sum()),
                )
                for r, place in zip(rules, places, strict=False)
            )
            # codes the bag does not hold may be listed, and must not matter
            for listed in (codes, np.arange(len(counts), dtype=np.int64))
        }  # fmt: skip
        assert len(verdicts) == 1
        found += verdicts
    return found


@settings(max_examples=40, deadline=None)
@given(bags=st.lists(st.lists(st.integers(0, 10**7), min_size=1, max_size=9), min_size=2),
       spread=st.sampled_from([1, 1000, 10**6]))  # fmt: skip
def test_rules_of_large_numbers_and_domains_are_exact(bags: list[list[int]], spread: int) -> None:
    """At the very variance and distance that a bag has, and right beside it."""
    groups = Groups.of([[x // spread for x in bag] for bag in bags])
    numbers = [x // spread for x in bags[0]]
    n = len(numbers)
    exact = Fraction(n * sum(x * x for x in numbers) - sum(numbers) ** 2, n * n)
    cost, scale = dc.TCloseness(0, "ordered").transport(groups)
    far = Fraction(int(cost[0]), int(groups.sizes[0]) * int(groups.whole.sum()) * scale)
    beside = Fraction(1, 10**4)
    for principle in (
        dc.Variance(str(exact)), dc.Variance(str(exact + beside)),
        dc.TCloseness(str(far), "ordered"), dc.TCloseness(str(max(far - beside, 0)), "ordered"),
    ):  # fmt: skip
        if principle.rules(groups.union()) is not None:
            assert ask_rules(principle, groups) == principle.admits(groups).tolist()


@each_instance
def test_it_survives_the_way_through_plans_and_manifests(principle: Principle) -> None:
    written = {"name": principle.title, **principle.parameters()}
    again = make_principle(written)
    assert str(again) == str(principle)
    groups = Groups.of([[1, 1, 2], [3, 5, 8, 8], [1, 2, 3, 4, 5, 6]])
    assert again.admits(groups).tolist() == principle.admits(groups).tolist()


@pytest.mark.parametrize("kind", REGISTRY.values(), ids=lambda kind: kind.__name__)
def test_it_says_what_it_is(kind: type[Principle]) -> None:
    assert kind.paper and kind.leaves_open and kind.title
    assert "**Guarantee**" in (kind.__doc__ or "") and ">>>" in (kind.__doc__ or "")


def test_thresholds_are_compared_exactly() -> None:
    """In floats 1 - 5/6 > 1/6, and 0.1 + 0.2 > 0.3."""
    six = Groups.of([[1, 2, 3, 4, 5, 6]])
    assert dc.FrequencyDiversity(6).admits(six).all()
    assert dc.AlphaK("1/6", 6).admits(six).all()
    tenths = Groups.of([[1, 2, 3], [4] * 7])
    assert dc.TCloseness(0.7).admits(tenths).tolist() == [True, True]
    assert dc.TCloseness("0.6999999999999999999").admits(tenths).tolist() == [False, True]


@settings(max_examples=40, deadline=None)
@given(bags=st.lists(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=6), min_size=1))
def test_hierarchical_distance_is_the_cheapest_transport(bags: list[list[str]]) -> None:
    """Against the tree metric's own formula: Σ over edges of |mass below| × edge length."""
    from fractions import Fraction

    tree = dc.Taxonomy.from_paths(
        [
            ["a", "ab", "abc"], ["b", "ab", "abc"], ["c", "c1", "abc"],
            ["d", "de", "dg"], ["e", "de", "dg"], ["f", "fg", "dg"], ["g", "fg", "dg"],
        ]
    )  # fmt: skip
    attribute = dc.Attribute("v", dc.Role.SENSITIVE, dc.Type.CATEGORY, taxonomy=tree)
    whole = [v for bag in bags for v in bag]
    groups = Groups.of(bags, attribute)
    restricted = groups.domain.taxonomy
    assert restricted is not None
    cost, scale = dc.TCloseness(1, "hierarchical").transport(groups)
    for g, bag in enumerate(bags):
        surplus = {
            v: Fraction(bag.count(v), len(bag)) - Fraction(whole.count(v), len(whole))
            for v in set(whole)
        }
        # all leaves are three levels deep: two of them meeting at height h are h/3 apart, so an
        # edge between heights h and h + 1 is half of 1/3 long, used on both ways
        expected = Fraction(0)
        for node in restricted.nodes[1:]:
            below = restricted.leaves[node.low : node.high]
            expected += abs(sum(surplus[v] for v in below)) * Fraction(1, 3) / 2
        assert Fraction(int(cost[g]), scale * len(bag) * len(whole)) == expected


def test_the_same_promise_twice_is_one_promise() -> None:
    data = dc.datasets.adult(sensitive="occupation").head(300)
    twice = dc.KAnonymity(5) & dc.FrequencyDiversity(2) & dc.KAnonymity(5)
    assert twice == dc.KAnonymity(5) & dc.FrequencyDiversity(2)
    release = dc.publish(data, dc.Angelization(twice, k=5), insecure_seed=1)
    told = [str(part) for part in release.promise.principle.parts]
    assert told == list(dict.fromkeys(told))
    report = dc.audit(release, data, principle=dc.KAnonymity(400) & dc.KAnonymity(400))
    assert len([p for p in report.problems if "k = 400" in p]) == 1


@pytest.mark.parametrize("old", ["least", "singles", "alike", "cover", "mixed"])
def test_a_principle_written_for_older_names_is_refused(old: str) -> None:
    """What a search does not hear of, it would not keep."""
    with pytest.raises(TypeError, match=f"Older.{old} is called"):
        type("Older", (dc.KAnonymity,), {old: property(lambda _: 5)})
