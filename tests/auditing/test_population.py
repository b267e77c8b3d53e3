"""Population risk: formulas by hand, estimates beside what samples of known populations say."""

from __future__ import annotations

from fractions import Fraction
from math import comb, log
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from auditing.test_presence import PLAIN, PUBLIC, draw_tiny, list_boxes, list_worlds, weigh
from commands import discreet_here as discreet
from discreet.auditing import population as by
from discreet.auditing.population import (
    PopulationRisk,
    estimate_population,
    share_unique,
)


def draw_sample(
    sizes: np.ndarray, share: float, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, int]:
    """Give, for everybody of a sample, how many look the same in it and in the population."""
    sizes = sizes[sizes > 0]
    groups = np.repeat(np.arange(len(sizes)), sizes)
    drawn = groups[rng.permutation(len(groups))[: int(len(groups) * share)]]
    return np.bincount(drawn, minlength=len(sizes))[drawn], sizes[drawn], len(groups)


def draw_by_ratio(groups: int, rng: np.random.Generator) -> np.ndarray:
    """Draw sizes F up to 1,000, each with a chance in proportion to 1/F."""
    sizes = np.arange(1, 1_001)
    return rng.choice(sizes, groups, p=1 / sizes / (1 / sizes).sum())


def expect_inverse(f: int, p: float) -> float:
    return float(by.expect_inverse(f, np.array([p]))[0])


def find_way(found: list[PopulationRisk], way: str) -> PopulationRisk:
    return next(risk for risk in found if risk.way.startswith(way))


# Capobianchi, Polettini, Lucarelli (2001), as sdcMicro's manual has it: f, sum of weights, risk
PUBLISHED = [
    (2, 110.0, 0.01714426), (2, 84.5, 0.02204233), (1, 17.0, 0.17707583), (1, 541.0, 0.01165448),
    (1, 8.0, 0.29706308), (1, 5.0, 0.40235948),
]  # fmt: skip


@pytest.mark.parametrize(("f", "total", "risk"), PUBLISHED)
def test_individual_risks_are_those_published(f: int, total: float, risk: float) -> None:
    assert expect_inverse(f, f / total) == pytest.approx(risk, abs=1e-8)


@pytest.mark.parametrize("p", [0.001, 0.05, 0.3, 0.49, 0.51, 0.8, 0.999])
def test_closed_forms_for_small_groups(p: float) -> None:
    q = 1 - p
    digits = 1e-6 if q < 0.01 else 1e-10  # the closed forms lose digits near 1
    assert expect_inverse(1, p) == pytest.approx(p / q * log(1 / p), rel=digits)
    two = p / q - (p / q) ** 2 * log(1 / p)
    assert expect_inverse(2, p) == pytest.approx(two, rel=digits)
    three = p / q * (0.5 - p / q + (p / q) ** 2 * log(1 / p))
    assert expect_inverse(3, p) == pytest.approx(three, rel=max(digits, 1e-6))


@pytest.mark.parametrize(
    ("f", "p"), [(1, 0.2), (4, 0.1), (12, 0.3), (29, 0.4), (30, 0.2), (60, 0.5)]
)
def test_the_expectation_is_that_of_the_negative_binomial(f: int, p: float) -> None:
    """Summed over F term by term: C(F-1, f-1) p^f q^(F-f) / F."""
    share, rest = Fraction(p).limit_denominator(10), 1 - Fraction(p).limit_denominator(10)
    total = sum(float(comb(F - 1, f - 1) * share**f * rest ** (F - f)) / F for F in range(f, 800))
    assert expect_inverse(f, p) == pytest.approx(total, rel=1e-9)


def test_nobody_passed_over_leaves_what_the_prosecutor_has() -> None:
    found = estimate_population(np.array([1, 2, 2, 3, 3, 3]), 6)
    for risk in found[:2]:
        assert risk.largest == pytest.approx(1.0)
        assert risk.matches == pytest.approx(3.0)
        assert risk.population_uniques == pytest.approx(1.0)
    assert find_way(found, "Zayatz").population_uniques == pytest.approx(1.0)


def test_zayatz_by_hand() -> None:
    """Two groups, of one and of two, three of six people drawn: H(1) = 1/2, H(2) = 3/5."""
    assert share_unique(np.array([1, 2, 2]), 6) == pytest.approx(0.5 / (0.5 + 0.6))
    assert share_unique(np.array([2, 2]), 6) == 0
    n, population = 7, 40
    sizes = {1: 2, 2: 1, 3: 1}
    drawn = {
        j: Fraction(j * comb(population - j, n - 1), comb(population, n)) for j in sizes
    }  # one of j is drawn
    wanted = sizes[1] * drawn[1] / sum(sizes[j] * drawn[j] for j in sizes)
    candidates = np.array([1, 1, 2, 2, 3, 3, 3])
    assert share_unique(candidates, population) == pytest.approx(float(wanted))


@pytest.mark.parametrize("share", [0.5, 0.1])
@pytest.mark.parametrize(("mean", "spread"), [(0.5, 1.2), (-1.0, 2.0)])
def test_poisson_lognormal_finds_the_truth_of_its_populations(
    mean: float, spread: float, share: float
) -> None:
    """Matches within 5 %, uniques (some hundreds, drawn) within 15 %."""
    rng = np.random.default_rng(7)
    sizes = rng.poisson(rng.lognormal(mean, spread, 20_000))
    alike, people, population = draw_sample(sizes, share, rng)
    risk = find_way(estimate_population(alike, population), "Poisson")
    assert risk.matches == pytest.approx((1 / people).sum(), rel=0.05)
    alone = ((alike == 1) & (people == 1)).sum()
    assert risk.population_uniques == pytest.approx(alone, rel=0.15)


def test_benedetti_franconi_finds_the_truth_where_all_sizes_are_as_likely_by_ratio() -> None:
    """Sizes F have chance 1/F: matches within 5 %, uniques within three times their scatter."""
    rng = np.random.default_rng(8)
    sizes = draw_by_ratio(6_000, rng)
    for share in (0.3, 0.1):
        alike, people, population = draw_sample(sizes, share, rng)
        risk = find_way(estimate_population(alike, population), "Benedetti")
        assert risk.matches == pytest.approx((1 / people).sum(), rel=0.05)
        alone = ((alike == 1) & (people == 1)).sum()
        assert risk.population_uniques == pytest.approx(alone, abs=3 * alone**0.5)


def test_weights_tell_parts_apart_that_were_drawn_differently() -> None:
    """Half of one part and a tenth of the other: within 5 % of each; equal weights are far off."""
    rng = np.random.default_rng(9)
    parts = []
    for share in (0.5, 0.1):
        sizes = draw_by_ratio(3_000, rng)
        alike, people, _ = draw_sample(sizes, share, rng)
        parts.append((alike, people, alike / share))
    alike, people, totals = (np.concatenate(part) for part in zip(*parts, strict=True))
    population = round(float((totals / alike).sum()))
    risk = estimate_population(alike, population, totals)[0]
    assert risk.way == "Benedetti–Franconi"
    assert risk.matches == pytest.approx((1 / people).sum(), rel=0.05)
    for own, truth, theirs in parts:
        count = round(float((theirs / own).sum()))
        matches = estimate_population(own, count, theirs)[0].matches
        assert matches == pytest.approx((1 / truth).sum(), rel=0.05)
    many = parts[0][0]  # half was drawn: far more is told of it than of the other part
    assert estimate_population(many, population, parts[0][2])[0].largest == pytest.approx(log(2))


def test_zayatz_says_too_much_of_small_samples_and_little_too_much_of_large() -> None:
    rng = np.random.default_rng(10)
    sizes = rng.poisson(rng.lognormal(0.5, 1.2, 20_000))
    for share, most in ((0.9, 1.1), (0.5, 1.35), (0.1, 5.0)):
        alike, people, population = draw_sample(sizes, share, rng)
        alone = int(((alike == 1) & (people == 1)).sum())
        found = find_way(estimate_population(alike, population), "Zayatz").population_uniques
        assert alone <= found <= most * alone


def test_real_people_are_estimated_well() -> None:
    """3,000 of Adult's, exact: what is counted in all 45,222 is estimated to within 5 %."""
    everyone = dc.datasets.adult(sensitive="occupation")
    rows = np.sort(np.random.default_rng(1).permutation(everyone.n)[:3_000])
    few = everyone.taken(rows)
    release = dc.publish(few, dc.Generalization(dc.KAnonymity(1)))
    counted = dc.audit(release, few, population_data=everyone).population
    number, ours = np.unique(everyone.number(everyone.quasi_identifiers), return_inverse=True)
    people = np.bincount(ours, minlength=len(number))[ours[rows]]
    assert [risk.way for risk in counted] == ["counted in a table of it"]
    assert counted[0].exact and counted[0].matches == pytest.approx((1 / people).sum())
    assert counted[0].above == int((1 / people > 0.09).sum())
    found = dc.audit(release, few, population=everyone.n).population
    assert [risk.exact for risk in found] == [False] * 3
    risk = find_way(found, "Poisson")
    assert risk.matches == pytest.approx(counted[0].matches, rel=0.05)
    assert risk.population_uniques == pytest.approx(counted[0].population_uniques, rel=0.05)
    # of boxes that are made to fit who was drawn, within 15 %
    release = dc.publish(few, dc.Generalization(dc.KAnonymity(5), ends="cuts"))
    counted = dc.audit(release, few, population_data=everyone).population
    for risk in dc.audit(release, few, population=everyone.n).population:
        assert risk.matches == pytest.approx(counted[0].matches, rel=0.15)


@pytest.mark.parametrize("ends", ["tight", "cuts"])
def test_what_is_counted_is_never_less_than_in_all_worlds(ends: Any) -> None:
    """Who must be in the table, by the end of a box, is put down to a record with 1/f."""
    rng = np.random.default_rng(11)
    told = 0
    for _ in range(25):
        everyone, members = draw_tiny(rng)
        data = dc.read(members, PUBLIC)
        release = dc.publish(data, dc.Generalization(dc.KAnonymity(2), ends=ends))
        risk = dc.audit(release, data, population_data=dc.read(everyone, PLAIN)).population[0]
        shares = weigh(list(list_worlds(release, everyone, tight=ends == "tight")), everyone.height)
        worst, matches = Fraction(0), Fraction(0)
        for age, sex in members.rows():
            box = next(b for b in list_boxes(release) if b[0] <= age <= b[1] and sex in b[2])
            chance = shares[everyone.rows().index((age, sex))] / box[3]
            worst, matches = max(worst, chance), matches + chance
        assert risk.largest is not None and risk.largest >= float(worst) - 1e-12
        assert risk.matches is not None and risk.matches >= float(matches) - 1e-9
        if ends == "cuts":
            assert risk.exact and risk.matches == pytest.approx(float(matches))
        told += risk.exact
    assert told > 0


def test_slices_and_several_tables_hide_nobody_among_more_than_in_the_table() -> None:
    everyone = dc.datasets.adult(sensitive="occupation")
    few = everyone.taken(np.arange(0, 4_000, 4))
    for method in (dc.Slicing(dc.FrequencyDiversity(3)), dc.Anatomy(dc.FrequencyDiversity(3))):
        release = dc.publish(few, method)
        report = dc.audit(release, few, population_data=everyone)
        risk = report.population[0]
        assert risk.largest is not None and risk.largest <= float(report.identity.prosecutor)
        assert risk.matches is not None
        assert risk.matches <= float(report.identity.marketer) * few.n + 1e-6


def test_a_population_smaller_than_the_table_is_refused() -> None:
    with pytest.raises(dc.DiscreetError, match="smaller than the table"):
        estimate_population(np.array([2, 2]), 1)
    data = dc.read(pl.DataFrame({"age": [20, 21, 22, 23], "sex": ["F"] * 4}), PLAIN)
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(2)))
    with pytest.raises(dc.DiscreetError, match="said to be 9 people, and its table has 4"):
        dc.audit(release, data, population=9, population_data=data)


def test_the_command_line_names_the_estimator_and_what_it_assumes(tmp_path: Path) -> None:
    ages = pl.DataFrame({"age": [20, 21, 22, 23, 40, 41, 42, 43], "sex": ["F"] * 8})
    data = dc.read(ages, PLAIN)
    dc.publish(data, dc.Generalization(dc.KAnonymity(4))).write(tmp_path / "release")
    ages.write_csv(tmp_path / "few.csv")
    asked = ["audit", "release", "--microdata", "few.csv"]
    done = discreet(*asked, "--population", "80", "--report", "report.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    line = (
        "Seen from a population of 80, estimated, by Benedetti–Franconi with equal weights: about"
    )
    assert line in done.stdout and "; assuming that a group stands for" in done.stdout
    assert "at most 3." not in done.stdout
    page = (tmp_path / "report.html").read_text()
    assert "estimated, by Benedetti–Franconi" in page and "estimated, by Poisson–lognormal" in page
    done = discreet(*asked, "--population-file", "few.csv", cwd=tmp_path)
    assert "counted in a table of it: at most 25.0000% for one person" in done.stdout
