"""Groups that are held against who learns across them: what is counted, refused and kept."""

from __future__ import annotations

import sys
from itertools import permutations
from math import exp

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.kernels.learned import compare_expected, judge_people
from discreet.publishing.draws import KeyedDraws
from discreet.publishing.partition import Partition
from discreet.publishing.partitioners.histograms import bag_groups, histogram
from discreet.publishing.partitioners.learned_models import (
    Shown,
    learn_by_regression,
    learn_from_all,
    learn_from_others,
    show_exactly,
)
from discreet.publishing.partitioners.learning import LEARNERS, limit_beliefs, resist_learning
from samples import microdata

HALF = dc.FrequencyDiversity(2)


def judge_one(scores: np.ndarray, values: list[int]) -> np.ndarray:
    """Give what is believed of the people of one group, each of whom shows something else."""
    n, (codes, counts) = len(values), np.unique(values, return_counts=True)
    kinds = np.arange(scores.shape[1])
    seen = judge_people(
        np.array([0, n]), np.arange(n, dtype=np.int32), np.array([0, len(codes)]),
        codes.astype(np.int32), counts, np.arange(n, dtype=np.int32)[:, None], scores[None],
        np.zeros(1, dtype=np.int64), kinds, np.ones(len(kinds)), np.ones(len(kinds)),
        np.full(n, -1), 0,
    )[0]  # fmt: skip
    return np.asarray(seen[0])


def list_worlds(scores: np.ndarray, values: list[int]) -> np.ndarray:
    """The same by all ways to hand the values out."""
    found = np.zeros(scores.shape)
    for world in permutations(values):
        weight = exp(sum(scores[i, value] for i, value in enumerate(world)))
        for i, value in enumerate(world):
            found[i, value] += weight
    return found / found.sum(axis=1, keepdims=True)


def test_of_two_people_what_is_believed_is_exact() -> None:
    scores = np.log(np.array([[3.0, 1.0], [1.0, 2.0]]))
    assert judge_one(scores, [0, 1])[0] == pytest.approx([6 / 7, 1 / 7], abs=1e-3)


def test_what_is_believed_is_near_to_what_all_worlds_say() -> None:
    rng = np.random.default_rng(0)
    for n in (3, 4, 5, 6):
        for _ in range(8):
            scores, values = rng.normal(0, 1, (n, 3)), rng.integers(0, 3, n).tolist()
            values[:3] = [0, 1, 2]
            off = np.abs(judge_one(scores, values) - list_worlds(scores, values))
            assert off.max() < 0.12 and off.mean() < 0.03


def test_who_scores_the_same_as_all_others_is_told_the_share_of_the_group() -> None:
    assert judge_one(np.ones((4, 2)), [0, 0, 0, 1])[0] == pytest.approx([3 / 4, 1 / 4])


def pair_up() -> tuple[dc.Microdata, Partition]:
    """Pairs of a young and an old person, in which flu and gout are; and pairs of one age.

    All young people have flu and all old ones gout or a cold. Pairs of one age say so.
    """
    age = [20, 60] * 20 + [60, 60] * 10
    disease = ["flu", "gout"] * 20 + ["gout", "cold"] * 10
    data = microdata(pl.DataFrame({"age": age, "disease": disease}), ["age"], ["disease"])
    return data, Partition.from_labels(np.arange(60) // 2)


def pair_some() -> tuple[dc.Microdata, Partition]:
    """Pairs of different diseases, none of which more than two fifths of an age have."""
    young = ["cold", "cold", "flu", "flu", "gout"] * 60
    old = ["flu", "flu", "gout", "gout", "cold"] * 60
    frame = pl.DataFrame({"age": [20] * 300 + [60] * 300, "disease": young + old})
    order = np.random.default_rng(0).permutation(600)
    data = microdata(frame[order].sort("disease", maintain_order=True), ["age"], ["disease"])
    return data, Partition.from_labels(np.arange(600) % 300)


def test_people_whom_other_groups_tell_apart_are_exchanged_or_put_among_more() -> None:
    data, pairs = pair_some()
    draws, columns = KeyedDraws(b"key", 0), show_exactly(data, ["age"])
    made = resist_learning(data, "disease", HALF, pairs, draws, columns)
    limit, whole = limit_beliefs(HALF, data.domains["disease"]), histogram(data, "disease")
    shown = Shown.read(columns, data.codes["disease"], whole, limit)
    key = KeyedDraws(b"key", 0).words(4).tobytes()
    for learn, deal in LEARNERS:
        before, after = (learn(shown, g, KeyedDraws(key, deal))[0].worst for g in (pairs, made))
        assert (before > 1).mean() > 0.3 and after.max() <= 1
        other = learn(shown, made, KeyedDraws(b"other", 0))[0].worst
        assert (other > 1).mean() < (before > 1).mean() / 2  # by a deal that was not tried
    assert 1 < made.count <= pairs.count
    assert HALF.admits(bag_groups(data, made, "disease")).all()
    assert sorted(made.order.tolist()) == list(range(600))


def test_what_leaves_one_group_of_everybody_is_refused() -> None:
    data, pairs = pair_up()
    draws, columns = KeyedDraws(b"key", 0), show_exactly(data, ["age"])
    with pytest.raises(dc.errors.PromiseError, match="one of everybody says nothing") as caught:
        resist_learning(data, "disease", HALF, pairs, draws, columns)
    assert "leave out quasi-identifiers" in str(caught.value.hint)


def test_one_group_to_begin_with_is_left_alone() -> None:
    data, pairs = pair_some()
    everybody = Partition.from_labels(np.zeros(len(pairs.order), dtype=np.int64))
    draws, columns = KeyedDraws(b"key", 0), show_exactly(data, ["age"])
    assert resist_learning(data, "disease", HALF, everybody, draws, columns).count == 1


def test_regression_is_fitted_to_what_is_expected_and_draws_no_values() -> None:
    """Two groups that hold the same of everybody who looks the same teach nothing at all."""
    frame = pl.DataFrame({"age": [20, 60] * 30, "disease": (["flu", "gout", "gout", "flu"] * 15)})
    data = microdata(frame, ["age"], ["disease"])
    pairs = Partition.from_labels(np.arange(60) // 2)
    limit, whole = limit_beliefs(HALF, data.domains["disease"]), histogram(data, "disease")
    shown = Shown.read(show_exactly(data, ["age"]), data.codes["disease"], whole, limit)
    for key in range(20):
        judged, _ = learn_by_regression(shown, pairs, KeyedDraws(b"key", key))
        assert (judged.worst == 0).all()


def test_slopes_of_regression_are_those_of_a_fit_to_every_value_one_by_one() -> None:
    """A row with expected values is as good as one of each value, weighted by them."""
    rng = np.random.default_rng(0)
    shown, expected = rng.integers(0, 3, (5, 1)), rng.random((5, 3))
    scores, always, off = rng.normal(0, 1, (3, 3)), rng.normal(0, 1, 3), 1e-6
    rows = np.arange(5)
    likely, slopes, added = compare_expected(shown, rows, expected, scores, always)
    by_hand = scores[shown[:, 0]] + always
    by_hand -= np.log(np.exp(by_hand).sum(axis=1, keepdims=True))
    assert likely == pytest.approx((expected * by_hand).sum())
    for place in np.ndindex(3, 3):
        more = scores.copy()
        more[place] += off
        told = compare_expected(shown, rows, expected, more, always)[0]
        assert (told - likely) / off == pytest.approx(slopes[place], abs=1e-4)
    assert added == pytest.approx(slopes.sum(axis=0))


def test_groups_that_are_all_alike_teach_naive_bayes_nothing() -> None:
    """Every group has one young and one old person, and both values: nothing tells them apart."""
    frame = pl.DataFrame({"age": [20, 60] * 30, "disease": (["flu", "gout", "gout", "flu"] * 15)})
    data = microdata(frame, ["age"], ["disease"])
    pairs = Partition.from_labels(np.arange(60) // 2)
    limit, whole = limit_beliefs(HALF, data.domains["disease"]), histogram(data, "disease")
    shown = Shown.read(show_exactly(data, ["age"]), data.codes["disease"], whole, limit)
    for learn in (learn_from_others, learn_from_all):
        judged, _ = learn(shown, pairs, KeyedDraws(b"key", 0))
        assert (judged.worst == 0).all()


def test_limits_are_those_of_each_value_and_never_rounded_up() -> None:
    data, _ = pair_up()
    some = dc.FrequencyDiversity(2, values={"flu": 3, "cold": None}) & dc.RecursiveDiversity(9, 2)
    limit = dict(zip(data.domains["disease"].texts, limit_beliefs(some, data.domains["disease"]),
                     strict=True))  # fmt: skip
    assert limit["gout"] < 1 / 2 and limit["flu"] < 1 / 3 and limit["cold"] < 9 / 10
    assert limit["gout"] == pytest.approx(1 / 2) and limit["cold"] == pytest.approx(9 / 10)


@pytest.mark.parametrize(
    "principle", [dc.KE(2, 2), dc.TCloseness(0.3), dc.Proximity(1, 2), dc.DistinctDiversity(2)]
)
def test_promises_that_limit_no_belief_are_refused(principle: dc.Principle) -> None:
    for method in (dc.Permutation, dc.Anatomy):
        with pytest.raises(dc.errors.SchemaError, match="how likely values may be") as caught:
            method(principle, resist="learning")
        assert "Promise frequency-diversity" in str(caught.value.hint)


def test_without_the_library_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn", None)
    data, _ = pair_up()
    with pytest.raises(dc.errors.SchemaError, match="scikit-learn") as caught:
        dc.publish(data, dc.Anatomy(HALF, resist="learning"))
    assert "discreet[mining]" in str(caught.value.hint)


def test_what_cannot_be_repaired_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.publishing.partitioners.learning.ROUNDS", 1)
    data, pairs = pair_up()
    draws, columns = KeyedDraws(b"key", 0), show_exactly(data, ["age"])
    with pytest.raises(dc.errors.PromiseError, match="more is told still"):
        resist_learning(data, "disease", HALF, pairs, draws, columns)


def test_batches_of_several_sensitive_attributes_are_refused() -> None:
    frame = pl.DataFrame({"age": [1, 2, 3, 4], "a": list("xyxy"), "b": list("uvvu")})
    with pytest.raises(dc.errors.SchemaError, match="for one sensitive attribute"):
        dc.publish(microdata(frame, ["age"], ["a", "b"]), dc.Anatomy(HALF, resist="learning"))


def test_a_release_says_whom_it_resists_and_what_is_left_open() -> None:
    data, _ = pair_some()
    for method in (dc.Anatomy(HALF), dc.Anatomy(HALF, resist="learning")):
        release = dc.publish(data, method)
        resists = release.parameters.get("resist") == "learning"
        assert ("naive Bayes" in release.promise.guarantee) is resists
        assert any("another model" in said for said in release.promise.leaves_open) is resists
        assert dc.audit(release, data).problems == []
    with pytest.raises(dc.errors.SchemaError, match="resist"):
        dc.Permutation(HALF, resist="method")
    with pytest.raises(dc.errors.SchemaError, match="resist"):
        dc.Generalization(HALF, resist="learning")
