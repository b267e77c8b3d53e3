"""Bucket sizes: held against fakes that are counted one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, product

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.evaluate import bucket_sizes
from samples import microdata

N, DRAWN = 9, 3
RNG = np.random.default_rng(5)
FRAME = pl.DataFrame({
    "A": RNG.integers(0, 5, N), "B": RNG.integers(0, 4, N), "S": RNG.choice(list("abc"), N),
})  # fmt: skip
DATA = microdata(FRAME, ["A", "B"], ["S"])
METHOD = dc.Slicing(dc.KAnonymity(2), columns=[["A"], ["B", "S"]])


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bucket_sizes, "MOST_DRAWN", DRAWN)


def count(buckets: Iterator[pl.DataFrame] | list[pl.DataFrame]) -> int:
    """Count what buckets match and nobody has, by listing it."""
    matched: set[tuple[object, ...]] = set()
    for part in buckets:
        pairs = product(part["A"].to_list(), part.select("B", "S").rows())
        matched |= {(a, *rest) for a, rest in pairs}
    return len(matched - set(FRAME.rows()))


@cache
def average(size: int) -> Fraction:
    fakes = 0
    for seed in range(DRAWN):
        table = dc.publish(DATA, replace(METHOD, buckets=size), insecure_seed=seed).tables["sliced"]
        fakes += count(table.partition_by("bucket"))
    return Fraction(fakes, DRAWN * len(set(FRAME.rows())))


@pytest.mark.parametrize("wanted", [0, "1/2", 1])
def test_the_size_is_the_smallest_that_does(wanted: int | str) -> None:
    found = dc.propose_buckets(DATA, METHOD, wanted)
    size = found.method.buckets
    assert isinstance(size, int) and found.exact
    assert found.ratio == pytest.approx(float(average(size))) and average(size) >= Fraction(wanted)
    assert size == 2 or average(size - 1) < Fraction(wanted)


def test_one_bucket_has_most_and_more_is_refused() -> None:
    most = Fraction(count([FRAME]), len(set(FRAME.rows())))
    assert dc.propose_buckets(DATA, METHOD, most).ratio == pytest.approx(float(most))
    with pytest.raises(dc.DiscreetError, match="everybody in one bucket") as refused:
        dc.propose_buckets(DATA, METHOD, most + Fraction(1, 1000))
    assert "more columns" in str(refused.value.hint)
    with pytest.raises(dc.DiscreetError, match="ratio = -1"):
        dc.propose_buckets(DATA, METHOD, -1)


def part(people: tuple[int, ...], sizes: list[int]) -> Iterator[list[tuple[int, ...]]]:
    """List all ways to part people into buckets of some sizes."""
    if not sizes:
        yield []
        return
    for chosen in combinations(people, sizes[0]):
        rest = tuple(i for i in people if i not in chosen)
        for others in part(rest, sizes[1:]):
            yield [chosen, *others]


def test_fewer_buckets_are_expected_to_have_more_fakes() -> None:
    """Over all ways to part seven people, also where sizes do not divide each other."""
    rows = FRAME.rows()[:7]
    expected = []
    for sizes in ([3, 2, 2], [4, 3], [7]):
        found = []
        for buckets in part(tuple(range(7)), sizes):
            matched = {
                (rows[i][0], *rows[j][1:]) for bucket in buckets for i in bucket for j in bucket
            }
            found.append(len(matched - set(rows)))
        expected.append(np.mean(found))
    assert expected == sorted(set(expected))


def test_a_size_that_breaks_the_promise_is_not_proposed() -> None:
    frame = pl.DataFrame({"A": range(8), "S": list("aaaabbbb")})
    data = microdata(frame, ["A"], ["S"])
    method = dc.Slicing(dc.FrequencyDiversity(2), columns=[["A"], ["S"]])
    found = dc.propose_buckets(data, method, 0)
    for seed in range(DRAWN):
        dc.publish(data, found.method, insecure_seed=seed)
    with pytest.raises(dc.DiscreetError):
        dc.propose_buckets(data, replace(method, principle=dc.FrequencyDiversity(3)), 0)


def test_columns_are_found_once() -> None:
    found = dc.propose_buckets(DATA, replace(METHOD, columns=2), 0)
    assert isinstance(found.method.columns, tuple) and len(found.method.columns) == 2
