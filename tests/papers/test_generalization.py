"""What the papers compute by hand about generalization, number by number."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.datasets import adult, adult_frame
from samples import angel_table_1a, proximity_table_1a
from worlds import posteriors


def boxes(release: dc.Release, *columns: str) -> list[tuple[object, ...]]:
    return release.tables["generalized"].select(columns).unique(maintain_order=True).rows()


class TestAngel:
    def test_table_1b_is_the_2_diverse_generalization_of_table_1a(self) -> None:
        release = dc.publish(angel_table_1a(), dc.Generalization(dc.FrequencyDiversity(2)))
        assert boxes(release, "age", "sex") == [("[21, 40]", "*"), ("[41, 60]", "*")]

    def test_example_1_both_groups_have_half_pneumonia_half_bronchitis(self) -> None:
        data = angel_table_1a()
        release = dc.publish(data, dc.Generalization(dc.FrequencyDiversity(2)))
        report = dc.audit(release, data)
        assert report.worst == Fraction(1, 2)
        assert report.candidates.tolist() == [4] * 8

    def test_the_only_2_diverse_strict_recoding_of_table_1a_splits_at_4(self) -> None:
        """All partitions by cuts on age, each side optionally cut by sex."""
        disease = np.array([0, 0, 1, 1, 0, 0, 1, 1])
        male = np.array([1, 1, 0, 0, 1, 1, 0, 0], dtype=bool)
        found = set()
        for cuts in product([False, True], repeat=7):
            runs = np.concatenate([[0], np.cumsum(cuts)])
            for by_sex in product([False, True], repeat=int(runs[-1]) + 1):
                labels = [
                    2 * r + (1 if by_sex[r] and m else 0) for r, m in zip(runs, male, strict=True)
                ]
                names = sorted(set(labels))
                bags = [[disease[i] for i in range(8) if labels[i] == g] for g in names]
                if all(2 * max(bag.count(0), bag.count(1)) <= len(bag) for bag in bags):
                    found.add(tuple(labels))
        sizes = {tuple(sorted(np.unique(labels, return_counts=True)[1])) for labels in found}
        assert sizes == {(8,), (4, 4)}

    def test_table_1b_is_0_close_to_the_whole(self) -> None:
        release = dc.publish(angel_table_1a(), dc.Generalization(dc.TCloseness(0)))
        assert boxes(release, "age") == [("[21, 40]",), ("[41, 60]",)]

    def test_tables_2b_and_2c_together_leave_two_worlds_and_expose_alan(self) -> None:
        """Both are 2-diverse alone; the worlds that fit both give Alan pneumonia."""
        names = ["Alan", "Bob", "Carrie", "Daisy", "Eddy", "Frank"]
        table_2b = [({"Alan", "Bob"}, ["flu", "pneumonia"]),
                    ({"Carrie", "Daisy"}, ["bronchitis", "pneumonia"]),
                    ({"Eddy", "Frank"}, ["bronchitis", "flu"])]  # fmt: skip
        table_2c = [({"Alan", "Carrie"}, ["bronchitis", "pneumonia"]),
                    ({"Bob", "Daisy"}, ["flu", "pneumonia"]),
                    ({"Eddy", "Frank"}, ["bronchitis", "flu"])]  # fmt: skip
        diseases = ["pneumonia", "flu", "bronchitis"]
        worlds = []
        for guess in product(diseases, repeat=6):
            world = dict(zip(names, guess, strict=True))
            if all(
                sorted(world[name] for name in group) == bag for group, bag in table_2b + table_2c
            ):
                worlds.append(world)
        assert len(worlds) == 2
        assert {world["Alan"] for world in worlds} == {"pneumonia"}


class TestProximity:
    salaries = (1000, 1010, 1020, 16000, 24000, 31000, 33000, 50000)

    @pytest.mark.parametrize("epsilon", [(20, 10000), (10000, 20)])
    def test_maxsize_of_the_running_example_is_3_in_either_order(
        self, epsilon: tuple[int, int]
    ) -> None:
        whole = dc.Groups.of([self.salaries])
        assert dc.Proximity(epsilon, m=2).max_conflict(whole).tolist() == [3]
        assert dc.Proximity(epsilon, m=2).feasible(whole).possible
        assert not dc.Proximity(epsilon, m=3).feasible(whole).possible
        assert "m ≤ 2" in dc.Proximity(epsilon, m=3).feasible(whole).best

    def test_maxsize_of_the_two_parts_is_2_and_3(self) -> None:
        parts = dc.Groups.of([self.salaries[:2], self.salaries[2:]])
        assert dc.Proximity((20, 10000), m=2).max_conflict(parts).tolist() == [2, 3]

    def test_theorem_2_is_strict_at_20_for_three_and_at_23000_for_two(self) -> None:
        whole = dc.Groups.of([self.salaries])
        for m, supremum in ((3, 20), (2, 23000)):
            assert not dc.Proximity(supremum, m).feasible(whole).possible
            assert dc.Proximity(supremum - Fraction(1, 1000), m).feasible(whole).possible

    def test_relative_suprema_are_1_51st_and_068(self) -> None:
        whole = dc.Groups.of([self.salaries])
        for m, supremum in ((3, Fraction(1, 51)), (2, Fraction(68, 100))):
            below = supremum - Fraction(1, 10**9)
            assert not dc.Proximity(supremum, m, relative=True).feasible(whole).possible
            assert dc.Proximity(below, m, relative=True).feasible(whole).possible

    def test_it_is_not_monotone(self) -> None:
        bags = dc.Groups.of([[40, 60], [50, 80], [40, 60, 50, 80]])
        assert dc.Proximity(15, m=2).admits(bags).tolist() == [True, True, False]
        assert not dc.Proximity.monotone

    def test_andys_breach_risk_is_three_quarters(self) -> None:
        group = dc.Groups.of([[1000, 1010, 1020, 50000]])
        assert dc.Proximity(100, m=1).neighbours(group).tolist() == [3, 3, 3, 1]

    def test_table_1b_is_4_diverse_and_says_within_20_where_andy_is(self) -> None:
        data = proximity_table_1a()
        release = dc.publish(data, dc.Generalization(dc.DistinctDiversity(2)))
        report = dc.audit(release, data, principle=dc.Proximity(20, m=2))
        assert report.breaches >= 2

    def test_both_t_closeness_groups_are_a_tenth_from_the_table(self) -> None:
        groups = dc.Groups.of([[1, 3, 5000], [2, 4000, 6000]])
        cost, scale = dc.TCloseness(0.1, "ordered").transport(groups)
        distances = [Fraction(int(c), scale * 3 * 6) for c in cost]
        assert distances == [Fraction(1, 10), Fraction(1, 10)]


class TestPermutation:
    def test_figure_2_is_3_2000_but_not_3_10000_anonymous(self) -> None:
        groups = dc.Groups.of([[56000, 54000, 55000], [65000, 75000, 70000], [80000, 75000, 85000]])
        assert dc.KE(3, 2000).admits(groups).all()
        assert dc.KE(3, 10000).admits(groups).tolist() == [False, True, True]


class TestAdult:
    def test_it_is_uci_adult(self) -> None:
        frame = adult_frame()
        assert frame.shape == (48_842, 15)
        assert frame.drop_nulls().height == 45_222
        assert frame.head(32_561).drop_nulls().height == 30_162
        missing = {n: c for n, c in frame.null_count().row(0, named=True).items() if c}
        assert missing == {"workclass": 2799, "occupation": 2809, "native-country": 857}

    def test_permutation_section_7_has_1427_rows_with_a_capital_loss(self) -> None:
        train = adult_frame().head(32_561).drop_nulls()
        losses = train.filter(pl.col("capital-loss") > 0)["capital-loss"]
        assert (len(losses), losses.n_unique(), losses.min(), losses.max()) == (1427, 89, 155, 4356)

    def test_occupation_allows_l_up_to_7(self) -> None:
        data = adult(sensitive="occupation")
        with pytest.raises(dc.DiscreetError, match=r"covers 13\.3% of rows: l ≤ 7"):
            dc.publish(data, dc.Generalization(dc.FrequencyDiversity(8)))
        dc.publish(data, dc.Generalization(dc.FrequencyDiversity(7)))


def test_table_1_of_angel_leaves_everybody_at_one_half_by_enumeration() -> None:
    data = angel_table_1a()
    release = dc.publish(data, dc.Generalization(dc.FrequencyDiversity(2)))
    for belief in posteriors(release, data.to_polars().to_dicts(), "disease"):
        assert max(belief.values()) == Fraction(1, 2)
