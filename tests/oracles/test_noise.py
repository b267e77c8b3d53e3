"""Audits of tables with noise never say less than all worlds; safe ones keep their promise."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.forms.perturbed.randomized_response import RandomizedResponse
from discreet.forms.swapped import exchanges
from discreet.forms.swapped.rank_windows import build_windows
from discreet.publishing.methods.perturbation import find_joint_risk
from discreet.publishing.partitioners.histograms import histogram
from oracles.noise import (
    believe_by_rooks,
    believe_drawn,
    believe_swapped,
    run_perturbed,
    run_swapped,
    seek_windows,
)
from samples import microdata

TABLES = int(os.environ.get("ORACLE_TABLES", "60"))


def told_apart(pays: list[int]) -> dc.Microdata:
    return microdata(pl.DataFrame({"id": range(len(pays)), "pay": pays}), ["id"], ["pay"])


@pytest.mark.parametrize("run", [run_perturbed, run_swapped])
def test_audits_never_say_less_than_the_worlds(run: object) -> None:
    found = run(TABLES, seed=1)  # type: ignore[operator]
    assert found["tables"] == TABLES
    assert (found["under"], found["broken"], found["silent"]) == (0, 0, 0)


def test_two_ways_to_weigh_all_arrangements_agree() -> None:
    rng = Random(3)
    for _ in range(40):
        pays = [rng.randint(1, 4) for _ in range(rng.randint(2, 6))]
        shown = [rng.randint(1, 5) for _ in pays]
        retention = Fraction(rng.randint(1, 99), 100)
        assert believe_by_rooks(shown, pays, retention, 5) == [
            {x: belief[x] for x in Counter(pays)}
            for belief in believe_drawn(shown, pays, retention, 5)
        ]


def draw(rng: Random, n: int, highest: int, retention: Fraction) -> tuple[list[int], list[int]]:
    pays = [rng.randint(1, highest) for _ in range(n)]
    shown = [x if rng.random() < retention else rng.randint(1, highest) for x in pays]
    return pays, shown


@pytest.mark.parametrize(("n", "highest"), [(24, 6), (24, 40), (40, 12)])
def test_beliefs_from_whole_tables_are_those_of_all_arrangements(n: int, highest: int) -> None:
    rng, retention = Random(n + highest), Fraction(3, 10)
    pays, shown = draw(rng, n, highest, retention)
    data = told_apart(pays)
    made = dc.publish(data, dc.Perturbation(dc.Proximity(0, 2), check="paper", within=(1, highest)))
    release = replace(
        made,
        tables={"perturbed": pl.DataFrame({"id": range(n), "pay": shown})},
        parameters={**made.parameters, "retention": float(retention), "step": 1},
    )
    report = dc.audit(release, data)
    beliefs = believe_by_rooks(shown, pays, retention, highest)
    alone = [
        {x: Fraction(pays.count(x)) * (Fraction(7, 10) / highest + (x == y) * retention)
         for x in set(pays)}
        for y in shown
    ]  # fmt: skip
    for person, x in enumerate(pays):
        own = max(beliefs[person][x], alone[person][x] / sum(alone[person].values()))
        assert float(own) <= report.truths["pay"][person] <= float(own) * (1 + 2e-7)


def test_a_table_in_which_everyone_shows_their_own_number_tells_more_than_each_record() -> None:
    """A record alone makes its number believed with 39 %, all of them together with 54 %."""
    pays = [*range(1, 9)]
    data = told_apart(pays)
    method = dc.Perturbation(dc.Proximity(0, 2), check="paper", within=(1, 8))
    made = dc.publish(data, method)
    release = replace(
        made,
        tables={"perturbed": pl.DataFrame({"id": range(8), "pay": pays})},
        parameters={**made.parameters, "retention": 0.3, "step": 1},
    )
    (jointly,) = {
        belief[x]
        for belief, x in zip(believe_drawn(pays, pays, Fraction(3, 10), 8), pays, strict=True)
    }
    assert jointly > Fraction(3, 10) + Fraction(7, 80)
    report = dc.audit(release, data)
    assert report.truths["pay"] == pytest.approx([float(jointly)] * 8, rel=2e-7)
    assert (report.truths["pay"] >= float(jointly)).all()


def test_the_publisher_takes_no_table_for_safer_than_it_is() -> None:
    rng = Random(5)
    for _ in range(60):
        n, highest, epsilon = rng.randint(3, 12), rng.choice([3, 8, 20]), rng.choice([0, 1, 3])
        retention = Fraction(rng.choice([5, 30, 80]), 100)
        pays, shown = draw(rng, n, highest, retention)
        shown = pays if rng.random() < 0.2 else shown
        drawn = RandomizedResponse(1, highest, 1, retention)
        whole, promise = histogram(told_apart(pays), "pay"), dc.Proximity(epsilon, 2)
        found = find_joint_risk(whole, promise, drawn, np.array(shown))
        beliefs = believe_by_rooks(shown, pays, retention, highest)
        worst = max(
            sum((share for v, share in belief.items() if abs(v - x) <= epsilon), Fraction(0))
            for belief in beliefs
            for x in set(pays)
        )
        assert float(worst) * (1 - 1e-9) <= found <= float(worst) * 1.2 + 1e-9


def test_every_number_of_a_window_is_possible_and_no_other() -> None:
    rng = Random(7)
    for _ in range(150):
        numbers = sorted(rng.randint(1, rng.choice([4, 12, 30])) for _ in range(rng.randint(3, 9)))
        k, e = rng.randint(1, 3), rng.choice([0, 1, 2, 5, 9])
        if len(set(numbers)) < k or numbers[-1] - numbers[0] < e:
            continue
        data = told_apart(numbers)
        windows = build_windows(pl.Series(numbers), data.schema["pay"], dc.KE(k, e))
        sought = list(seek_windows(numbers, k, e))
        for value, low, high in windows.iter_rows():
            here = numbers.index(value)
            possible = {
                x
                for there, x in enumerate(numbers)
                if there in sought[here] or here in sought[there]
            }
            assert possible == {x for x in numbers if low <= x <= high}


def test_possible_numbers_have_a_chance_and_others_none() -> None:
    for shown, k, e in (([1, 2, 4, 8, 9], 2, 3), ([3, 1, 1, 7, 5], 2, 2)):
        beliefs = believe_swapped(shown, k, e)
        schema = told_apart(shown).schema["pay"]
        windows = build_windows(pl.Series(shown), schema, dc.KE(k, e))
        inside = {v: {x for x in shown if low <= x <= high} for v, low, high in windows.iter_rows()}
        assert [set(belief) for belief in beliefs] == [inside[y] for y in shown]


def test_bounds_from_drawn_exchanges_hold_what_all_exchanges_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = Random(2)
    for n, highest in ((5, 9), (10, 30), (12, 4)):
        data = told_apart([1, highest, *(rng.randint(1, highest) for _ in range(n - 2))])
        release = dc.publish(data, dc.RankSwapping(dc.KE(2, 2)))
        exact = dc.audit(release, data)
        monkeypatch.setattr(exchanges, "FEW", 0)
        monkeypatch.setattr(exchanges, "MOST", 3000)
        drawn = dc.audit(replace(release), data)
        monkeypatch.undo()
        for one, other in ((exact.beliefs, drawn.beliefs), (exact.truths, drawn.truths)):
            assert (other["pay"] >= one["pay"]).all()
            assert (other["pay"] <= one["pay"] + 0.15).all()
        assert exact.how["pay"].startswith("exactly")
        assert "3,000 times" in drawn.how["pay"]


def test_of_too_many_people_nothing_is_said_to_be_unlikely(monkeypatch: pytest.MonkeyPatch) -> None:
    data = told_apart([*range(30)])
    release = dc.publish(data, dc.RankSwapping(dc.KE(3, 2)))
    monkeypatch.setattr(exchanges, "TURNS", 1000)
    report = dc.audit(release, data)
    assert report.max_belief == 1
    assert (report.truths["pay"] == 1).all()
    assert report.kept and "none below 1 is known" in report.how["pay"]


def test_swapped_numbers_are_not_judged_by_what_cannot_be_told() -> None:
    data = told_apart([*range(12)])
    release = dc.publish(data, dc.RankSwapping(dc.KE(3, 2)))
    with pytest.raises(dc.errors.SchemaError, match="cannot be judged of a rank-swapped release"):
        dc.audit(release, data, principle=dc.EntropyDiversity(2))
    assert dc.audit(release, data, principle=dc.Proximity(0, 2)).breaches < 12
    assert dc.audit(release, data, principle=dc.Proximity(0, 9)).breaches == 12
