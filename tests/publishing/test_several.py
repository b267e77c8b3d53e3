"""Several sensitive attributes: how they are published, asked, stored and refused."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

import discreet as dc
from discreet.publishing.method import Method
from samples import microdata, reseal

HALF = dc.FrequencyDiversity(2)
TOLD = ["job", "home"]


def people(n: int = 120, seed: int = 1) -> pl.DataFrame:
    rng = Random(seed)
    rows = [
        (rng.randint(20, 70), rng.choice("FM"), rng.choice("NS"), rng.choice("abcde"),
         rng.choice("vwxyz"))
        for _ in range(n)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=["age", "sex", "region", *TOLD], orient="row")


FRAME = people()
DATA = microdata(FRAME, ["age", "sex", "region"], TOLD)
APART: list[Method] = [
    dc.Slicing(HALF),
    dc.Angelization(HALF, k=3),
    dc.Angelization(HALF, k=3, marginals=[["age", "sex"], ["region"]]),
    dc.Anatomy(HALF),
]
TOGETHER: list[Method] = [
    dc.Slicing(HALF, together=True),
    dc.Angelization(HALF, k=3, together=True),
    dc.Anatomy(HALF, together=True),
]


@pytest.mark.parametrize("method", [*APART, *TOGETHER], ids=str)
def test_releases_are_stored_verified_audited_and_asked(method: Method, tmp_path: Path) -> None:
    made = dc.publish(DATA, method, insecure_seed=2)
    release = dc.load(made.write(tmp_path / "r", format="csv", insecure=True))
    report = dc.audit(release, DATA, attacks=True)
    assert report.kept, report.problems
    assert report.max_belief is not None
    assert report.max_belief <= 0.5
    for name, value in (("job", "a"), ("home", "v")):
        question = f"SELECT COUNT(*) FROM release WHERE sex = 'F' AND {name} = '{value}'"
        truth = FRAME.filter((pl.col("sex") == "F") & (pl.col(name) == value)).height
        answer = release.query(question)
        assert answer.low <= truth <= answer.high
        assert release.prepare().query(question).estimate == pytest.approx(answer.estimate)
        everyone = release.query(f"SELECT COUNT(*) FROM release WHERE {name} = '{value}'")
        assert everyone.low == everyone.high == FRAME.filter(pl.col(name) == value).height
    assert set(TOLD) < set(release.sample(30, seed=1).columns)
    assert release.reconstruct(["sex", "home"])["probability"].sum() == pytest.approx(1)


@pytest.mark.parametrize("method", TOGETHER, ids=str)
def test_what_is_told_together_is_asked_together(method: Method) -> None:
    release = dc.publish(DATA, method, insecure_seed=2)
    both = (pl.col("job") == "a") & (pl.col("home") == "v")
    answer = release.query("SELECT COUNT(*) FROM release WHERE job = 'a' AND home = 'v'")
    assert answer.low == answer.high == FRAME.filter(both).height
    where = "sex = 'F' AND job IN ('a', 'b')"
    asked = release.query(f"SELECT home, COUNT(*) FROM release WHERE {where} GROUP BY home").frame
    some = FRAME.filter((pl.col("sex") == "F") & pl.col("job").is_in(["a", "b"]))
    truth = dict(some.group_by("home").len().rows())
    for home, _, low, high, *_ in asked.rows():
        assert low <= truth.get(home, 0) <= high
    pairs = release.query("SELECT job, home, COUNT(*) FROM release GROUP BY job, home").frame
    counted = {(job, home): low for job, home, _, low, high, *_ in pairs.rows() if low == high}
    truth = {(job, home): many for job, home, many in FRAME.group_by(*TOLD).len().rows()}
    assert counted == truth


def test_sums_of_what_is_told_together_have_bounds() -> None:
    rng = Random(4)
    frame = people(80).with_columns(pay=pl.Series([rng.randint(-3, 9) for _ in range(80)]))
    data = microdata(frame.drop("home"), ["age", "sex", "region"], ["job", "pay"])
    release = dc.publish(data, dc.Angelization(HALF, k=3, together=True), insecure_seed=2)
    for where in ("sex = 'F'", "job <> 'a'", "sex = 'F' AND job IN ('a', 'c')", "pay > 2"):
        kept = frame.sql(f"SELECT * FROM self WHERE {where}")
        for function, truth in (("SUM", kept["pay"].sum()), ("AVG", kept["pay"].mean())):
            answer = release.query(f"SELECT {function}(pay) FROM release WHERE {where}")
            assert answer.low <= truth <= answer.high  # type: ignore[operator]
    exact = release.query("SELECT SUM(pay) FROM release WHERE job = 'a'")
    assert exact.low == exact.high == frame.filter(pl.col("job") == "a")["pay"].sum()
    for pay, *told in release.query("SELECT pay, SUM(pay) FROM release GROUP BY pay").frame.rows():
        assert told[:3] == [pay * frame.filter(pl.col("pay") == pay).height] * 3


@pytest.mark.parametrize("method", APART[1:], ids=str)
def test_what_is_told_apart_is_not_asked_together(method: Method) -> None:
    release = dc.publish(DATA, method, insecure_seed=2)
    with pytest.raises(dc.DiscreetError, match="counted in tables of their own"):
        release.query("SELECT COUNT(*) FROM release WHERE job = 'a' AND home = 'v'")


def test_slices_told_apart_are_asked_together_with_bounds() -> None:
    release = dc.publish(DATA, dc.Slicing(HALF), insecure_seed=2)
    answer = release.query("SELECT COUNT(*) FROM release WHERE job = 'a' AND home = 'v'")
    truth = FRAME.filter((pl.col("job") == "a") & (pl.col("home") == "v")).height
    assert answer.low <= truth <= answer.high
    assert answer.low < answer.high


@pytest.mark.parametrize(
    ("given", "columns"),
    [
        ({}, [["job"], ["home"]]),
        ({"columns": 3}, [["job"], ["home"]]),
        ({"together": True}, [["job", "home"]]),
        ({"columns": [["age", "home"], ["sex", "region", "job"]]}, [["home"], ["job"]]),
    ],
)
def test_sensitive_columns_come_last_each_its_own(given: Any, columns: Sequence[Any]) -> None:
    method = dc.Slicing(dc.DistinctDiversity(1), **given)
    found: Any = dc.publish(DATA, method, insecure_seed=1).parameters["columns"]
    told = [[name for name in column if name in TOLD] for column in found]
    assert [names for names in told if names] == told[-len(columns) :]
    assert sorted(map(sorted, told[-len(columns) :])) == sorted(map(sorted, columns))


def test_alpha_counts_the_attributes_of_every_sensitive_column() -> None:
    easy = dc.DistinctDiversity(1)
    apart: Any = dc.publish(DATA, dc.Slicing(easy, alpha=2), insecure_seed=1)
    assert [len(column) for column in apart.parameters["columns"]] == [1, 2, 2]
    both: Any = dc.publish(DATA, dc.Slicing(easy, alpha=3, together=True), insecure_seed=1)
    assert [len(column) for column in both.parameters["columns"]] == [2, 3]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"check": "paper"}, "takes one sensitive attribute: job, home"),
        ({"together": True, "columns": [["age"], ["sex", "region", *TOLD]]}, "together goes with"),
        ({"columns": [["age", "job"], ["sex", "region", "job", "home"]]}, "in several columns"),
        ({"alpha": 1, "together": True}, "alpha = 0"),
    ],
)
def test_what_cannot_be_sliced_is_refused(given: Any, message: str) -> None:
    with pytest.raises(dc.DiscreetError, match=message) as caught:
        dc.publish(DATA, dc.Slicing(HALF, **given))
    # to make sensitive attributes quasi-identifiers would publish them beside others
    assert "quasi-identifier" not in str(caught.value)


def test_a_forged_link_between_sensitive_attributes_is_found(tmp_path: Path) -> None:
    """Two people of a batch exchange their homes: each attribute is counted as before."""
    release = dc.publish(DATA, dc.Anatomy(HALF, together=True), insecure_seed=2)
    folder = release.write(tmp_path / "r", format="csv", insecure=True)
    rows = pl.read_csv(folder / "batches.csv").rows()
    batch, job, home, _ = rows[0]
    other = next(r for r in rows if r[0] == batch and r[1] != job and r[2] != home)
    counts = {row[:3]: row[3] for row in rows}
    for key, change in (
        ((batch, job, home), -1), (other[:3], -1),
        ((batch, job, other[2]), 1), ((batch, other[1], home), 1),
    ):  # fmt: skip
        counts[key] = counts.get(key, 0) + change
    forged = sorted((*key, many) for key, many in counts.items() if many)
    columns = ["batch", *TOLD, "count"]
    pl.DataFrame(forged, schema=columns, orient="row").write_csv(folder / "batches.csv")
    report = dc.audit(reseal(folder), DATA)
    assert report.findings == ["the published values of job, home are not those of the people"]


@pytest.mark.parametrize(
    ("method", "certain"),
    [
        (dc.Anatomy(HALF), False),
        (dc.Anatomy(HALF, together=True), True),
        (dc.Angelization(HALF, k=2, together=True), True),
        (dc.Slicing(HALF), False),
        (dc.Slicing(HALF, together=True), True),
    ],
    ids=str,
)
def test_a_release_of_one_attribute_tells_the_other_only_if_they_are_told_together(
    method: Method, certain: bool
) -> None:
    rows = [(1, "a", "x"), (2, "b", "y"), (3, "c", "z"), (4, "d", "w")]
    frame = pl.DataFrame(rows, schema=["age", *TOLD], orient="row")
    data = microdata(frame, ["age"], TOLD)
    release = dc.publish(data, method, insecure_seed=1)
    assert dc.audit(release, data).kept
    # beside their ages, an earlier release shows everybody's home
    beside = microdata(frame.drop("job"), ["age", "home"], [])
    earlier = dc.publish(beside, dc.Generalization(dc.KAnonymity(1)))
    composed = dc.audit(release, data, earlier=[earlier]).composed
    assert bool([made for made in composed if made.attribute == "job"]) is certain


def test_numbers_are_held_against_earlier_releases_each_by_itself() -> None:
    """Of two shufflings in groups at random, hardly anything is possible in both."""
    rng = Random(2)
    numbers = {name: [rng.randint(1, 40) for _ in range(80)] for name in ("pay", "debt")}
    data = microdata(pl.DataFrame({"age": range(80), **numbers}), ["age"], ["pay", "debt"])
    method = dc.Permutation(dc.KE(3, 1), objective="random")
    first, second = (dc.publish(data, method, insecure_seed=seed) for seed in (1, 2))
    found = dc.audit(second, data, earlier=[first]).composed
    assert {made.attribute for made in found} == {"pay", "debt"}
    for other in (dc.RankSwapping(dc.KE(3, 1)), dc.Perturbation(dc.Proximity(0, 2))):
        dc.audit(dc.publish(data, other, insecure_seed=1), data, earlier=[first])
