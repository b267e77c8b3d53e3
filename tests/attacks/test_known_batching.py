"""Who knows how people were batched believes what batches hold, whatever a release is."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest

import discreet as dc
from discreet.forms import find_form
from discreet.forms.adversaries import Adversary
from discreet.publishing.draws import Draws, SeededDraws
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.batches import make_batches
from discreet.publishing.partitioners.blind_batches import (
    find_blind_regions,
    make_blind_batches,
)
from discreet.publishing.partitioners.histograms import bag_groups, holds
from oracles.known_batching import (
    ListedDraws,
    measure_beliefs,
    try_table,
)
from oracles.known_method import People

HALF = dc.FrequencyDiversity(2)
RESISTANT = [
    dc.Angelization(HALF, k=2, resist="method"),
    dc.Angelization(HALF, k=2, batches="anatomize", resist="method"),
    dc.Anatomy(HALF, resist="method"),
]
TABLES = 4


def test_nobody_is_believed_to_have_a_value_with_more_than_is_promised() -> None:
    """Of all releases that any world and any draw give."""
    rng, tried = Random(4), 0
    while tried < TABLES:
        broken = try_table(rng, blind=True)
        assert not broken
        tried += broken is not None


def test_batches_along_buckets_may_make_certain_who_knows_how_they_were_filled() -> None:
    """Six people in three buckets of two; a a b b c c, a batch of two different values each.

    All that can be drawn is where the walk starts, its direction, and who of a bucket comes first.
    """
    people: People = [(1 + i // 2, "F") for i in range(6)]
    buckets = Partition.from_labels(np.array([0, 0, 1, 1, 2, 2]))

    def walk(world: dc.Microdata, draws: Draws) -> Partition:
        return make_batches(world, HALF, "direct", buckets, draws)

    orders = [tuple(2 * b + (s ^ i) for b, s in enumerate(swaps) for i in range(2))
              for swaps in product(range(2), repeat=3)]  # fmt: skip
    drawn = [ListedDraws((start,), (turn,), order)
             for start, turn, order in product(range(3), range(2), orders)]  # fmt: skip
    assert measure_beliefs(people, [1, 1, 2, 2, 3, 3], list(range(6)), walk, drawn) == 1


@pytest.mark.parametrize("method", RESISTANT, ids=lambda m: f"{m.title} {m.batches}")
def test_a_resistant_release_says_so_and_keeps_its_promise(method: dc.Angelization) -> None:
    data = dc.datasets.adult(sensitive="occupation").head(1500)
    release = dc.publish(data, method)
    assert release.parameters["resist"] == "method"
    assert "knows how the batches were found" in release.promise.guarantee
    assert not any("how the batches were chosen" in text for text in release.promise.leaves_open)
    assert Adversary.METHOD in find_form(release.form).list_withstood(release)
    report = dc.audit(release, data)
    assert report.kept and not report.problems
    assert report.worst is not None and report.worst <= Fraction(1, 2)


def test_people_are_batched_within_regions_wherever_anybody_could_be() -> None:
    """Incomes are many, so that regions are small; every batch lies in one."""
    data = dc.datasets.census(3000, sensitive="income")
    promise = dc.FrequencyDiversity(4)
    regions = find_blind_regions(data, promise, 4, SeededDraws(1))
    assert regions.count > 100
    most = bag_groups(data, regions, "income").largest
    assert (4 * most <= regions.sizes).all()
    batches = make_blind_batches(data, promise, "anatomize", SeededDraws(1))
    assert holds(data, batches, promise)
    owners = {(b, r) for b, r in zip(batches.labels.tolist(), regions.labels.tolist(), strict=True)}
    assert len(owners) == batches.count
    near = dc.Proximity(100, 2).require_mixed()
    batches = make_blind_batches(data, near, "anatomize", SeededDraws(1))
    assert holds(data, batches, near)
    regions = find_blind_regions(data, near, near.distinct_enough or 0, SeededDraws(1))
    assert 1 < regions.count < batches.count


def test_a_table_of_which_no_region_is_certain_is_one() -> None:
    """Two thirds may have one value: room for two in a batch, and none to spare."""
    people: People = [(age, "F") for age in range(6)]
    promise = dc.FrequencyDiversity("3/2")

    def batch(world: dc.Microdata, draws: Draws) -> Partition:
        return make_blind_batches(world, promise, "anatomize", draws)

    drawn = [ListedDraws((*order,)) for order in [(0, 1, 2, 3, 4, 5), (5, 3, 1, 0, 2, 4)]]
    told = measure_beliefs(people, [1, 1, 1, 1, 2, 3], [0] * 6, batch, drawn)
    assert told <= Fraction(2, 3)


def test_what_follows_from_whose_values_are_whose_is_refused() -> None:
    for kind in (dc.Anatomy, dc.Angelization):
        with pytest.raises(dc.errors.SchemaError, match='"direct" does not go with'):
            kind(HALF, batches="direct", resist="method")
        with pytest.raises(dc.errors.SchemaError, match="resist = 'nobody'"):
            kind(HALF, resist="nobody")  # type: ignore[arg-type]
        with pytest.raises(dc.errors.SchemaError, match="not made of tables beyond memory"):
            kind(HALF, resist="method").require_parts()


def test_slices_resist_where_sensitive_values_stand_alone() -> None:
    data = dc.datasets.adult(sensitive="occupation").head(1500)
    known = data.quasi_identifiers
    method = dc.Slicing(HALF, columns=[known, ["occupation"]], resist="method")
    release = dc.publish(data, method)
    assert release.tables["sliced"]["bucket"].n_unique() > 20
    assert release.parameters["resist"] == "method"
    assert "knows how the buckets were found" in release.promise.guarantee
    assert not any("how they were chosen" in text for text in release.promise.leaves_open)
    assert Adversary.METHOD in find_form(release.form).list_withstood(release)
    report = dc.audit(release, data)
    assert report.kept and not report.problems
    beside = [known[:-1], [known[-1], "occupation"]]
    with pytest.raises(dc.errors.SchemaError, match="stands beside what is sensitive"):
        dc.publish(data, dc.Slicing(HALF, columns=beside, resist="method"))
    for given in ({"columns": 2}, {"frequency": 2}, {"buckets": 4}, {"check": "paper"}):
        with pytest.raises(dc.errors.SchemaError, match='does not go with resist = "method"'):
            dc.Slicing(HALF, **{"columns": [known, ["occupation"]], "resist": "method", **given})  # type: ignore[arg-type]
