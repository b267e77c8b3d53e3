"""Signatures of numbers, whose neighbourhoods are apart: (ε,m) over time."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import PromiseError, SchemaError
from discreet.publishing.signature_counts import Counts, count_crowds, make_eligible
from oracles.signed_worlds import believe

Person = tuple[int, int]
"""An age and a wage."""


def read(people: Mapping[str, Person]) -> dc.Microdata:
    frame = pl.DataFrame({
        "who": list(people), "age": [age for age, _ in people.values()],
        "wage": [wage for _, wage in people.values()],
    })  # fmt: skip
    schema = dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["wage"], person="who")
    return dc.read(frame, schema)


@settings(max_examples=200, deadline=None)
@given(
    newcomers=st.lists(st.integers(0, 6), min_size=4, max_size=12),
    near=st.integers(0, 2),
    m=st.integers(2, 4),
    seed=st.integers(0, 2**32),
)
def test_whoever_comes_gets_values_that_are_apart(
    newcomers: list[int], near: int, m: int, seed: int
) -> None:
    """Codes differ by more than ``near``; buckets hold each of their values equally often."""
    many, rng = np.array(newcomers), np.random.default_rng(seed)
    nearest = np.maximum(np.arange(len(many)) - near, 0)
    standing = own = np.zeros(0, dtype=np.int64)
    listed: list[np.ndarray] = []
    for _ in range(2):
        counts = Counts(nearest, m, listed)
        try:
            signature, code, people = counts.assign(standing, own, many)
        except PromiseError:
            # some value has no m - 1 others that are apart, which nothing could mend
            assert _lacks_signature(np.flatnonzero(many), len(many), near, m)
            return
        assert np.bincount(code, people, len(many)).tolist() == many.tolist()
        of = np.concatenate([standing, np.repeat(signature, people)])
        own = np.concatenate([own, np.repeat(code, people)])
        for s in np.unique(of).tolist():
            values = counts.list_values(s)
            assert len(values) >= m and (np.diff(values) > near).all()
            held = np.bincount(own[of == s], minlength=len(many))
            held[values] += counts.lacking.get(s, np.zeros(len(values), dtype=np.int64))
            assert held[values].min() == held.max() and held.sum() == held[values].sum()
        stays = rng.random(len(of)) < 0.6
        standing, own, listed = of[stays], own[stays], counts.listed
        many = rng.permutation(many)


def _lacks_signature(present: np.ndarray, size: int, near: int, m: int) -> bool:
    """Whether some code is in no set of m codes that are apart: as many as fit on either side."""
    step = near + 1
    return any(1 + code // step + (size - 1 - code) // step < m for code in present.tolist())


def test_counterfeits_go_where_they_are_apart_from_everybody() -> None:
    nearest = np.array([0, 0, 1, 2, 3, 4])
    left = np.array([0, 3, 0, 0, 3, 0])
    extra = make_eligible(left, 3, nearest, np.ones(6, dtype=np.int64))
    most = count_crowds(left + extra, nearest).max()
    assert 3 * most <= (left + extra).sum()
    with pytest.raises(PromiseError, match="m = 3 cannot be kept"):
        make_eligible(np.array([0, 3, 0, 0]), 3, nearest[:4], np.ones(4, dtype=np.int64))


def test_groups_hold_numbers_whose_neighbourhoods_are_apart() -> None:
    rng = np.random.default_rng(4)
    people = {f"p{i}": (int(rng.integers(20, 60)), int(w)) for i, w in
              enumerate(rng.choice(np.arange(10, 100, 2), 300))}  # fmt: skip
    method = dc.Republication(dc.MInvariance(3, epsilon=5))
    history = method.sign(read(people))
    later = {**dict([*people.items()][60:]), **{f"n{i}": (30, 10 + i) for i in range(40)}}
    again = method.remember(history)
    for data, release in (
        (read(people), dc.publish(read(people), method)),
        (read(later), dc.publish(read(later), again)),
    ):
        assert dc.audit(release, data).kept
        for _, wages in release.tables["generalized"].group_by("class"):
            shown = sorted(set(wages["wage"].to_list()))
            assert len(shown) >= 3 and all(b - a > 10 for a, b in pairwise(shown))


@pytest.mark.parametrize("seed", range(12))
def test_over_all_worlds_no_number_is_told_to_within_epsilon(seed: int) -> None:
    rng = np.random.default_rng(seed)
    wages = [10, 12, 30, 32, 33, 60]
    everybody = {f"p{i}": (int(rng.integers(20, 26)), wages[rng.integers(6)]) for i in range(7)}
    versions = []
    for _ in range(int(rng.integers(2, 4))):
        chosen = rng.permutation(7)[: rng.integers(4, 6)]
        versions.append({f"p{i}": everybody[f"p{i}"] for i in sorted(chosen)})
    method, history, made = dc.Republication(dc.MInvariance(2, epsilon=4)), None, []
    try:
        for people in versions:
            now = method if history is None else method.remember(history)
            made.append(dc.publish(read(people), now))
            signed = now.sign(read(people))
            history = signed if history is None else history.followed(signed)
    except (PromiseError, SchemaError):  # too few values, or nobody stayed
        return
    ages = [{who: age for who, (age, _) in people.items()} for people in versions]
    for beliefs in believe(ages, made, "wage").values():
        for x in range(65):
            near = sum(share for wage, share in beliefs.items() if abs(int(str(wage)) - x) <= 4)
            assert near <= Fraction(1, 2)


def test_what_epsilon_cannot_be_is_refused() -> None:
    people = {f"p{i}": (20 + i, 10 * i) for i in range(8)}
    with pytest.raises(
        PromiseError, match=r"within 2 × 20 of each other cover up to 62\.5% of rows"
    ):
        dc.publish(read(people), dc.Republication(dc.MInvariance(3, epsilon=20)))
    with pytest.raises(SchemaError, match="epsilon"):
        dc.MInvariance(3, epsilon=-1)
    frame = pl.DataFrame({"age": [20, 21], "town": ["Ulm", "Bonn"]})
    data = dc.read(frame, dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["town"]))
    with pytest.raises(SchemaError, match="town"):
        dc.publish(data, dc.Republication(dc.MInvariance(2, epsilon=1)))


def test_a_stricter_promise_than_people_have_been_given_is_refused() -> None:
    people = {f"p{i}": (20 + i, [10, 12, 40, 42][i % 4]) for i in range(8)}
    signed = pl.DataFrame({"key": ["p0", "p1"], "signature": [0, 0]})
    history = dc.History(signed, (("10", "12"),))
    for stricter in (dc.MInvariance(3), dc.MInvariance(2, epsilon=3)):
        with pytest.raises(PromiseError, match="people had in earlier releases") as caught:
            dc.publish(read(people), dc.Republication(stricter).remember(history))
        assert "promised before" in str(caught.value.hint)


def test_a_number_that_is_written_otherwise_than_before_is_refused() -> None:
    people = {f"p{i}": (20 + i, [10, 12, 40, 42][i % 4]) for i in range(8)}
    signed = pl.DataFrame({"key": ["p0", "p1"], "signature": [0, 0]})
    history = dc.History(signed, (("10", "12", "41.50"),))
    with pytest.raises(SchemaError, match="written otherwise"):
        dc.publish(read(people), dc.Republication(dc.MInvariance(2)).remember(history))
