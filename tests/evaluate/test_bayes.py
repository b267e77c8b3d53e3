"""Naive Bayes learned from buckets: counts by hand, over all relinkings, and of every form."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.evaluate import learn_bayes
from discreet.evaluate.bayes import NaiveBayes
from samples import microdata

PEOPLE = pl.DataFrame({
    "sex": list("MFFMM"), "zip": list("ppqqr"), "ill": list("aabcc"),
})  # fmt: skip
BUCKETS = PEOPLE.with_columns(pl.Series("bucket", [0, 0, 0, 1, 1]))
COLUMNS = [["sex"], ["zip", "ill"]]


@pytest.fixture(scope="module")
def release() -> dc.Release:
    """Two buckets: M, F, F beside (p, a), (p, a), (q, b), and M, M beside (q, c), (r, c)."""
    data = microdata(PEOPLE, ["sex", "zip"], ["ill"])
    made = dc.publish(data, dc.Slicing(dc.KAnonymity(2), columns=COLUMNS), insecure_seed=1)
    return replace(made, tables={"sliced": BUCKETS})


def test_pairs_of_two_columns_are_products_of_shares_and_those_of_one_are_counted(
    release: dc.Release,
) -> None:
    found = learn_bayes(release, "ill")
    assert found.answers.tolist() == ["a", "b", "c"]
    # rows a, b, c; columns F, M: of two with a, two thirds are women
    assert found.counts["sex"] == pytest.approx(np.array([[4 / 3, 2 / 3], [2 / 3, 1 / 3], [0, 2]]))
    # columns p, q, r, as they stand side by side
    assert found.counts["zip"] == pytest.approx(np.array([[2, 0, 0], [0, 1, 0], [0, 1, 1]]))


def test_counts_are_the_mean_over_all_relinkings(release: dc.Release) -> None:
    """Every order of one column within its bucket is as likely as any other."""
    first, second = PEOPLE["sex"].to_list()[:3], PEOPLE["sex"].to_list()[3:]
    orders = [[*a, *b] for a, b in product(permutations(first), permutations(second))]
    for target, others in (("ill", ["sex", "zip"]), ("sex", ["ill", "zip"])):
        learned = learn_bayes(release, target)
        summed = {name: np.zeros_like(learned.counts[name]) for name in others}
        for order in orders:
            linked = PEOPLE.with_columns(pl.Series("sex", order))
            for name in others:
                values = PEOPLE[name].unique().sort().to_list()
                for value, answer in linked.select(name, target).iter_rows():
                    place = learned.answers.tolist().index(answer), values.index(value)
                    summed[name][place] += 1
        for name in others:
            assert learned.counts[name] == pytest.approx(summed[name] / len(orders))


def test_what_is_drawn_comes_to_the_same(release: dc.Release) -> None:
    drawn = release.sample(100_000, seed=1)
    counted = drawn.group_by("ill", "sex").len().sort("ill", "sex")["len"].to_numpy()
    learned = learn_bayes(release, "ill").counts["sex"].ravel()
    assert counted / 20_000 == pytest.approx(learned[learned > 0], abs=0.05)


def test_the_same_release_always_gives_the_same_answers(release: dc.Release) -> None:
    one, other = (learn_bayes(release, "ill") for _ in range(2))
    assert one.predict(PEOPLE).tolist() == other.predict(PEOPLE).tolist()
    # of a woman of q: 2/5 · 7/12 · 1/5 for a, 1/5 · 5/9 · 2/4 for b
    assert one.predict(PEOPLE).tolist() == ["a", "a", "b", "c", "c"]
    assert one.score(PEOPLE.with_columns(ill=pl.Series(list("aaacc")))) == 4 / 5
    unseen = pl.DataFrame({"sex": ["X"], "zip": ["x"]})
    assert one.predict(unseen).tolist() == ["a"]  # of the commonest, the first


def test_boxes_are_read_as_well() -> None:
    frame = pl.DataFrame({"age": [20, 21, 40, 41], "ill": list("abbb")})
    data = microdata(frame, ["age"], ["ill"])
    boxes = dc.publish(data, dc.Generalization(dc.KAnonymity(2)))
    found = learn_bayes(boxes, "ill")
    # everybody of 20 to 21 is as likely 20 as 21; ten intervals, of which the ends are taken
    assert found.counts["age"][:, [0, 9]] == pytest.approx(np.array([[1, 0], [1, 2]]))


def test_records_are_learned_from_by_the_plain_definition() -> None:
    rng = np.random.default_rng(3)
    seen = rng.integers(0, 4, (60, 3))
    frame = pl.DataFrame({f"v{i}": seen[:, i].astype(str) for i in range(3)})
    answers = [list("xyz")[i % 3] for i in seen.sum(axis=1) + rng.integers(0, 2, 60)]
    pairs = {n: (frame[n], pl.Series("t", answers), np.ones(60)) for n in frame.columns}
    rows, often = frame.rows(), Counter(answers)
    together = Counter(
        (i, row[i], answer) for row, answer in zip(rows, answers, strict=True) for i in range(3)
    )

    def weigh(row: tuple[str, ...], answer: str) -> Fraction:
        found = Fraction(often[answer])
        for i, value in enumerate(row):
            found *= Fraction(together[i, value, answer] + 1, often[answer] + 4)
        return found

    for row, told in zip(rows, NaiveBayes.learn("t", pairs).predict(frame).tolist(), strict=True):
        assert weigh(row, told) == max(weigh(row, answer) for answer in "xyz")


def test_what_cannot_be_learned_is_refused(release: dc.Release) -> None:
    with pytest.raises(dc.DiscreetError, match="nothing to tell 'ill' from"):
        learn_bayes(release, "ill", [])
    with pytest.raises(dc.DiscreetError, match="no 'pet'"):
        learn_bayes(release, "pet")
