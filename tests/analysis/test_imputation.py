"""Imputation: completed tables are possible ones, and Rubin's rules put them together."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import discreet as dc
from samples import EVERY_FORM


@pytest.mark.parametrize("form", EVERY_FORM)
def test_completed_tables_hold_the_people_of_the_release(form: str) -> None:
    people = dc.datasets.census(400, sensitive=["income"])
    release = dc.publish(people, EVERY_FORM[form], insecure_seed=1)
    first, second = release.impute(2, seed=1)
    assert first.height == second.height == 400 and not first.equals(second)
    assert first.equals(release.impute(1, seed=1)[0])
    answer = release.query("SELECT COUNT(*) FROM release WHERE age < 50")
    own = people.to_polars()
    for table in (first, second):
        assert answer.low <= (table["age"] < 50).sum() <= answer.high  # type: ignore[operator]
        if form != "perturbation":  # whose numbers may be anybody's
            assert table["income"].sort().equals(own["income"].sort())


def test_values_stay_in_their_groups_and_windows() -> None:
    people = dc.datasets.census(300, sensitive=["income"])
    release = dc.publish(people, dc.Permutation(dc.KE(5, 1000)), insecure_seed=1)
    table, (drawn,) = release.tables["permuted"], release.impute(1, seed=1)
    held = [
        pl.DataFrame({"group": table["group"], "income": t["income"]}).sort("group", "income")
        for t in (table, drawn)
    ]
    assert held[0].equals(held[1])
    swapped = dc.publish(people, dc.RankSwapping(dc.KE(5, 1000)), insecure_seed=1)
    (drawn,) = swapped.impute(1, seed=1)
    shown = swapped.tables["swapped"].select("income").with_columns(own=drawn["income"])
    inside = shown.join(swapped.tables["windows"], left_on="income", right_on="value")
    assert inside.select(pl.col("own").is_between("low", "high").all()).item()
    assert (shown["own"] != shown["income"]).any()


def test_rubins_rules() -> None:
    """By hand: within 4, between 1, 4/3 of it counts; freedom of 2 (1 + 3)²."""
    found = dc.combine([10, 11, 12], [4, 4, 4])
    assert found.estimate == 11 and np.isclose(found.stderr**2, 4 + 4 / 3)
    assert np.isclose(found.freedom, 32) and np.isclose(found.lost, 0.25)
    assert np.isclose(found.high - 11, 2.0369 * found.stderr, rtol=1e-4)
    small = dc.combine([10, 11, 12], [4, 4, 4], n=10)
    assert np.isclose(small.freedom, 1 / (1 / 32 + 1 / (11 / 13 * 10 * 0.75)))
    same = dc.combine([5.0, 5.0], [1.0, 1.0])
    assert same.freedom == np.inf and np.isclose(same.high, 5 + 1.959964)
    for wrong in ([[1.0], [1.0]], [[1.0, 2.0], [1.0]], [[1.0, 2.0], [1.0, -1.0]]):
        with pytest.raises(dc.DiscreetError):
            dc.combine(*wrong)
    with pytest.raises(dc.DiscreetError, match="number of tables"):
        dc.publish(dc.datasets.census(50, sensitive=["income"]),
                   dc.Generalization(dc.KAnonymity(2))).impute(0)  # fmt: skip
