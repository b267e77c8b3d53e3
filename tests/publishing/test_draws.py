"""What is drawn, and that no seed decides it in anything that goes out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.kernels.swaps import pair_up
from discreet.publishing.draws import Draws, SeededDraws, SystemDraws, Words
from discreet.steward.ledger import Ledger
from samples import microdata

LARGEST = 2**64 - 1


class GivenDraws(Draws):
    """Words that a test has written down."""

    def __init__(self, *given: int) -> None:
        self.given = list(given)

    def words(self, count: int) -> Words:
        taken, self.given = self.given[:count], self.given[count:]
        return np.array(taken, dtype=np.uint64)


def test_equal_keys_are_drawn_again() -> None:
    assert GivenDraws(5, 5, 1, 9, 7, 8).permutation(3).tolist() == [1, 2, 0]


def test_words_that_would_favour_small_numbers_are_drawn_again() -> None:
    # 2**64 is one more than a multiple of 5, and of 3
    assert GivenDraws(LARGEST, 7, 3).integers(5, 2).tolist() == [3, 2]
    assert GivenDraws(LARGEST - 1, 4).integers(3, 2).tolist() == [2, 1]
    assert GivenDraws(LARGEST, 6).integers(4, 2).tolist() == [3, 2]
    assert GivenDraws(LARGEST, 6).integers(1, 2).tolist() == [0, 0]


@pytest.mark.parametrize("draws", [SeededDraws(1), SystemDraws()], ids=["seeded", "system"])
def test_every_order_and_every_number_is_drawn(draws: Draws) -> None:
    orders = Counter(tuple(draws.permutation(3).tolist()) for _ in range(600))
    assert set(orders) == set(permutations(range(3))) and min(orders.values()) > 40
    numbers = np.bincount(draws.integers(7, 7000), minlength=7)
    assert len(numbers) == 7 and numbers.min() > 800
    assert draws.permutation(0).tolist() == draws.integers(3, 0).tolist() == []


def test_what_the_system_draws_is_not_drawn_again() -> None:
    assert len({tuple(SystemDraws().words(4).tolist()) for _ in range(50)}) == 50
    assert SeededDraws(3).words(4).tolist() == SeededDraws(3).words(4).tolist()


def test_a_partner_is_any_who_is_free_within_the_window() -> None:
    """Ranks take turns as given; after 1 and 2 are a pair, rank 0 finds 0 and 3, and no others."""
    low, high = np.array([0, 1, 0, 0]), np.array([3, 2, 3, 3])
    found = Counter()
    for words in ([a, b, c, 0] for a in range(2) for b in range(6) for c in range(6)):
        made = pair_up(np.array([1, 0, 2, 3]), low, high, np.array(words, dtype=np.uint64))
        assert made[made].tolist() == [0, 1, 2, 3]
        found[tuple(made.tolist())] += 1
    assert found == {
        (0, 2, 1, 3): 18, (3, 2, 1, 0): 18,
        (0, 1, 2, 3): 6, (0, 1, 3, 2): 6, (2, 1, 0, 3): 12, (3, 1, 2, 0): 12,
    }  # fmt: skip


def test_a_partner_is_drawn_with_words_that_favour_nobody() -> None:
    turns, low, high = np.arange(3), np.zeros(3, dtype=np.int64), np.full(3, 2)
    words = np.array([LARGEST, 1, 0, 0], dtype=np.uint64)  # 2**64 is one more than a multiple of 3
    assert pair_up(turns, low, high, words).tolist() == [1, 0, 2]
    with pytest.raises(ValueError, match="more random words"):
        pair_up(turns, low, high, words[:2])


@pytest.mark.parametrize("n", [1, 2, 7, 8, 9, 100])
def test_everyone_has_a_partner_within_the_window(n: int) -> None:
    draws, ranks = SeededDraws(n), np.arange(n)
    low, high = np.maximum(ranks - 5, 0), np.minimum(ranks + 5, n - 1)
    made = pair_up(draws.permutation(n), low, high, draws.words(n))
    assert (made[made] == ranks).all() and (np.abs(made - ranks) <= 5).all()


def undo(table: pl.DataFrame, seed: int) -> dict[int, int]:
    """Attack a permuted table: draw as its publisher did, and give every age its income back.

    Groups hold runs of the incomes in order, so that everybody's place in them follows.
    """
    draws, n = SeededDraws(seed), table.height
    draws.permutation(n)  # who of equal incomes comes first
    lowest = table.group_by("group").agg(pl.col("income").min()).sort("income")
    rank = {group: place for place, group in enumerate(lowest["group"])}
    groups = np.sort([rank[group] for group in table["group"]])
    drawn = draws.permutation(n)
    source = drawn[np.argsort(groups[drawn], kind="stable")]
    incomes = np.sort(table["income"].to_numpy())
    shown = dict(zip(incomes[source].tolist(), incomes.tolist(), strict=True))
    return {age: shown[income] for age, income in table.select("age", "income").rows()}


@pytest.fixture(scope="module")
def incomes() -> dc.Microdata:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"age": np.arange(400), "income": rng.permutation(400) * 10})
    return microdata(frame, ["age"], ["income"])


def test_who_guesses_a_seed_undoes_a_permutation_and_there_is_none_to_guess(
    incomes: dc.Microdata,
) -> None:
    method = dc.Permutation(dc.KE(5, 20))
    truth = dict(incomes.to_polars().rows())
    seeded = dc.publish(incomes, method, insecure_seed=777)
    assert undo(seeded.tables["permuted"], 777) == truth
    drawn = dc.publish(incomes, method).tables["permuted"]
    for seed in (0, 1, 42, 777, 20251103):
        told = undo(drawn, seed)
        assert sum(told[age] == truth[age] for age in truth) < 200  # one in five, by chance


def test_a_sliced_table_holds_nothing_of_a_draw() -> None:
    """Its rows were once in an order that a seed gave, and gave everybody away with it."""
    data = dc.datasets.census(400)
    method = dc.Slicing(dc.FrequencyDiversity(3), columns=3)
    made = [dc.publish(data, method, insecure_seed=seed).tables["sliced"] for seed in (1, 20251103)]
    assert made[0].equals(made[1]) and made[0].equals(dc.publish(data, method).tables["sliced"])


def test_a_release_that_a_seed_decided_is_not_written(
    incomes: dc.Microdata, tmp_path: Path
) -> None:
    made = dc.publish(incomes, dc.Permutation(dc.KE(5, 20)), insecure_seed=777)
    ledger = Ledger.init(tmp_path / "ledger", "people")
    for release in (made, replace(made, about={})):
        with pytest.raises(dc.errors.StoreError, match="insecure=True") as refused:
            release.write(tmp_path / "out")
        assert "guesses it" in refused.value.message
        with pytest.raises(dc.errors.StoreError, match="made with a seed"):
            ledger.publish(release, incomes, tmp_path / "out")
    assert not (tmp_path / "out").exists() and not ledger.entries
    made.write(tmp_path / "test", insecure=True)
    ledger.publish(made, incomes, tmp_path / "out", insecure=True)
    for path in (tmp_path / "test").iterdir():
        assert b"insecure" not in path.read_bytes() and b"seed" not in path.read_bytes()


def test_publishing_takes_no_other_seed(incomes: dc.Microdata) -> None:
    method = dc.Permutation(dc.KE(5, 20))
    with pytest.raises(TypeError, match="seed"):
        dc.publish(incomes, method, seed=1)  # type: ignore[call-arg]
    with pytest.raises(dc.errors.SchemaError, match="at least 0"):
        dc.publish(incomes, method, insecure_seed=-1)
    assert not dc.publish(incomes, method).insecure
