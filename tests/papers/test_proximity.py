"""Li, Tao, Xiao, SIGMOD 2008: the partition of section 5 and the breach risk of Definition 5."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.principles.groups import Groups
from samples import microdata, proximity_table_1a
from worlds import posteriors

SALARIES = (1000, 1010, 1020, 16000, 24000, 31000, 33000, 50000)
DEALINGS = ("local", "round-robin")
ROWS = st.lists(st.tuples(st.integers(1, 9), st.integers(1, 30)), min_size=1, max_size=24)


def as_data(rows: list[tuple[int, int]]) -> dc.Microdata:
    frame = pl.DataFrame(rows, schema=["age", "pay"], orient="row")
    return microdata(frame, ["age"], ["pay"])


def groups_of(release: dc.Release) -> list[list[int]]:
    sensitive = release.schema.sensitive[0]
    table = release.tables["generalized"].group_by("class", maintain_order=True).agg(sensitive)
    return table[sensitive].to_list()


def is_near(x: int, y: int, promise: dc.Proximity) -> bool:
    """Definition 6, in plain Python: y lies in the neighbourhood of x."""
    pair = promise.epsilon if isinstance(promise.epsilon, tuple) else (promise.epsilon,) * 2
    below, above = (Fraction(str(side)) for side in pair)
    if promise.relative:
        below, above = below * x, above * x
    return x - below <= y <= x + above


def largest_risk(group: list[int], promise: dc.Proximity) -> Fraction:
    near = max(sum(is_near(x, y, promise) for y in group) for x in group)
    return Fraction(near, len(group))


def test_round_robin_of_the_running_example() -> None:
    """{1000, 16000, 33000}, {1010, 24000, 50000}, {1020, 31000}: one after the other."""
    from discreet.kernels.halving import deal

    buffers = np.stack([np.arange(8)[None], np.zeros((1, 8), dtype=np.int64)])
    leaves = np.full(8, -1, dtype=np.int8)
    deal(buffers, np.array([0, 8, 0]), False, 3, leaves)
    assert [SALARIES[code] for code in buffers[1, 0]] == [
        1000, 16000, 33000, 1010, 24000, 50000, 1020, 31000,
    ]  # fmt: skip
    assert np.flatnonzero(leaves >= 0).tolist() == [0, 3, 6]


@pytest.mark.parametrize("dealing", DEALINGS)
def test_the_non_monotone_pair_is_found_by_dealing(dealing: str) -> None:
    """{40, 50, 60, 80} fails ε = 15, m = 2, and {40, 60} with {50, 80} is the only way."""
    data = as_data([(1, 40), (1, 50), (1, 60), (1, 80)])
    release = dc.publish(data, dc.Generalization(dc.Proximity(15, 2), dealing=dealing))  # type: ignore[arg-type]
    assert sorted(groups_of(release)) == [[40, 60], [50, 80]]
    assert dc.audit(release, data).kept


def test_andys_breach_risk_in_table_1b_is_three_quarters() -> None:
    data = proximity_table_1a()
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(8)))
    number = [0, 0, 0, 0, 1, 1, 2, 2]
    ends = {"age": [(17, 24), (29, 34), (39, 45)], "zip": [(12, 16), (21, 24), (36, 39)]}
    columns = {
        column: values
        for name, pairs in ends.items()
        for column, values in (
            (name, [f"[{pairs[g][0]}, {pairs[g][1]}]" for g in number]),
            (f"{name}_low", [pairs[g][0] for g in number]),
            (f"{name}_high", [pairs[g][1] for g in number]),
        )
    }
    table = pl.DataFrame({"class": number, **columns, "salary": data.to_polars()["salary"]})
    table_1b = replace(release, tables={"generalized": table})
    report = dc.audit(table_1b, data, principle=dc.Proximity(100, 2))
    near = report.proximity["salary"]
    assert near.promised is not None and near.promised.worst == Fraction(3, 4)
    assert near.risks.tolist() == [0.75, 0.75, 0.75, 0.25, 0.5, 0.5, 0.5, 0.5]
    assert near.promised.chance == Fraction(3, 8)
    assert report.breached.tolist() == [True] * 4 + [False] * 4
    assert report.per_person["breach risk: salary"].to_list() == near.risks.tolist()


@pytest.mark.parametrize("dealing", DEALINGS)
@pytest.mark.parametrize(
    "promise",
    [
        dc.Proximity(3, 2),
        dc.Proximity(0, 3),
        dc.Proximity((4, 1), 3),
        dc.Proximity("1/3", 2, relative=True),
    ],
    ids=str,
)
@settings(max_examples=60, deadline=None)
@given(rows=ROWS)
def test_it_is_published_exactly_if_theorem_1_allows_and_keeps_every_risk_down(
    promise: dc.Proximity, dealing: str, rows: list[tuple[int, int]]
) -> None:
    data = as_data(rows)
    pays = sorted(pay for _, pay in rows)
    sides = [
        sum(is_near(x, y, promise) and (y <= x if side else y >= x) for y in pays)
        for x in pays
        for side in (0, 1)
    ]
    method = dc.Generalization(promise, dealing=dealing)  # type: ignore[arg-type]
    if promise.m * max(sides) > len(pays):
        with pytest.raises(dc.errors.PromiseError, match=f"m ≤ {len(pays) // max(sides)}"):
            dc.publish(data, method)
        return
    release = dc.publish(data, method)
    groups = groups_of(release)
    assert sorted(pay for group in groups for pay in group) == pays
    assert max(largest_risk(group, promise) for group in groups) <= Fraction(1, promise.m)
    report = dc.audit(release, data)
    assert report.problems == []
    near = report.proximity["pay"].promised
    assert near is not None and near.worst <= Fraction(1, promise.m)
    assert near.mixed <= Fraction(2, promise.m)


@settings(max_examples=60, deadline=None)
@given(
    bags=st.lists(st.lists(st.integers(1, 6), min_size=1, max_size=9), min_size=1),
    m=st.integers(1, 4),
)
def test_with_epsilon_0_it_is_frequency_diversity(bags: list[list[int]], m: int) -> None:
    groups = Groups.of(bags)
    expected = dc.FrequencyDiversity(m).admits(groups).tolist()
    assert dc.Proximity(0, m).admits(groups).tolist() == expected
    assert dc.Proximity(0, m).generalizable().admits(groups).tolist() == expected


@pytest.mark.parametrize("dealing", DEALINGS)
@settings(max_examples=40, deadline=None)
@given(rows=ROWS, shift=st.integers(-50, 50), scale=st.integers(2, 9))
def test_shifting_or_scaling_the_numbers_leaves_the_groups_as_they_are(
    dealing: str, rows: list[tuple[int, int]], shift: int, scale: int
) -> None:
    for promise, moved in (
        (dc.Proximity(3, 2), [(age, pay + shift) for age, pay in rows]),
        (dc.Proximity("1/4", 2, relative=True), [(age, pay * scale) for age, pay in rows]),
    ):
        method = dc.Generalization(promise, dealing=dealing)  # type: ignore[arg-type]
        tables = []
        for table in (rows, moved):
            try:
                release = dc.publish(as_data(table), method)
            except dc.errors.PromiseError:
                tables.append(None)
                continue
            tables.append(release.tables["generalized"].drop("pay").to_dicts())
        assert tables[0] == tables[1]


@pytest.mark.parametrize("dealing", DEALINGS)
@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(1, 4), st.integers(1, 12)), min_size=4, max_size=7),
    epsilon=st.integers(1, 3),
)
def test_no_world_tells_a_number_better_than_one_in_m_or_two_if_the_group_is_unknown(
    dealing: str,
    rows: list[tuple[int, int]],
    epsilon: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Who knows everybody's age, and the release from disk: all matchings are enumerated."""
    data, promise = as_data(rows), dc.Proximity(epsilon, 2)
    try:
        release = dc.publish(data, dc.Generalization(promise, dealing=dealing))  # type: ignore[arg-type]
    except dc.errors.PromiseError:
        return
    loaded = dc.load(release.write(tmp_path_factory.mktemp("w") / "r", format="csv"))
    people = data.to_polars().to_dicts()
    believed = posteriors(loaded, people, "pay")
    for person, belief in zip(people, believed, strict=True):
        near = sum(p for y, p in belief.items() if is_near(person["pay"], y, promise))
        assert near <= Fraction(2, promise.m)
    for group in groups_of(loaded):  # whoever knows the group believes what it holds
        assert largest_risk(group, promise) <= Fraction(1, promise.m)


@pytest.fixture(scope="module")
def people() -> dc.Microdata:
    known = ["age", "birthplace", "education"]
    return microdata(dc.datasets.census_frame(4000).select(*known, "income"), known, ["income"])


@pytest.fixture(scope="module")
def release(people: dc.Microdata) -> dc.Release:
    return dc.publish(people, dc.Generalization(dc.Proximity(4500, 5)))


def test_keeping_people_together_loses_less_than_round_robin(
    people: dc.Microdata, release: dc.Release
) -> None:
    from discreet.evaluate import measure_loss

    dealt = dc.publish(people, dc.Generalization(dc.Proximity(4500, 5), dealing="round-robin"))
    assert measure_loss(release, people).ncp < 0.9 * measure_loss(dealt, people).ncp


@pytest.mark.parametrize(
    "promise",
    [
        dc.Proximity(4500, 4) & dc.KAnonymity(6),
        dc.Proximity(4500, 3) & dc.KAnonymity(50),
        dc.Proximity(4500, 4) & dc.Proximity("0.1", 5, relative=True),
        dc.Proximity(4500, 3) & dc.TCloseness("0.3", "ordered"),
        dc.Proximity(4500, 3) & dc.KE(4, 20_000),
        dc.Proximity(4500, 3) & dc.EntropyDiversity(4),
    ],
    ids=str,
)
def test_it_combines_with_other_principles(people: dc.Microdata, promise: dc.Principle) -> None:
    release = dc.publish(people, dc.Generalization(promise))
    report = dc.audit(release, people)
    assert report.problems == []
    assert report.groups > 1


def test_two_numbers_at_once() -> None:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {"age": rng.integers(20, 60, 400), "pay": rng.integers(1, 10_000, 400),
         "debt": rng.integers(1, 10_000, 400)}
    )  # fmt: skip
    data = microdata(frame, ["age"], ["pay", "debt"])
    release = dc.publish(data, dc.Generalization(dc.Proximity(200, 3)))
    report = dc.audit(release, data)
    assert report.problems == [] and report.groups > 5
    assert set(report.proximity) == {"pay", "debt"}


def test_what_is_not_found_together_is_refused_with_what_could_be_asked() -> None:
    data = as_data([(1, 40), (1, 50), (1, 60), (1, 80)])
    with pytest.raises(dc.errors.PromiseError, match="No groups were found that keep") as caught:
        dc.publish(data, dc.Generalization(dc.Proximity(15, 2) & dc.KAnonymity(3)))
    assert "one of them alone" in str(caught.value)


@pytest.mark.parametrize(
    ("pays", "promise"),
    [
        ([0, 0, 100, 100], dc.KAnonymity(3) & dc.Proximity(1, 2)),
        ([4, 12, 5, 0, 4], dc.Proximity(0, 2) & dc.KAnonymity(3)),
        ([2, 3, 0, 7, 5], dc.Proximity(0, 3) & dc.Proximity(1, 2)),
        ([11, 9, 1, 0], dc.Proximity(1, 2) & dc.DistinctDiversity(3)),
    ],
)
def test_where_the_whole_table_keeps_everything_it_is_published(
    pays: list[int], promise: dc.Principle
) -> None:
    data = as_data([(age, pay) for age, pay in enumerate(pays)])
    release = dc.publish(data, dc.Generalization(promise))
    assert dc.audit(release, data).problems == []


def test_numbers_that_just_allow_m_are_dealt_in_groups_of_m() -> None:
    """Half the people have each of two numbers: pairs are possible, so pairs are made."""
    data = as_data([(i % 80, 5 + 90 * (i % 2)) for i in range(2000)])
    release = dc.publish(data, dc.Generalization(dc.Proximity(1, 2)))
    assert {len(group) for group in groups_of(release)} == {2}


def test_wide_numbers_and_written_fractions_are_audited_and_reported(tmp_path: Path) -> None:
    data = as_data([(i, i * 10**15) for i in range(8)])
    report = dc.audit(dc.publish(data, dc.Generalization(dc.KAnonymity(2))), data)
    assert report.proximity["pay"].curve[-1].worst == 1
    small = as_data([(i, i) for i in range(8)])
    for epsilon in ("1/3", ("1/3", 1)):
        release = dc.publish(small, dc.Generalization(dc.Proximity(epsilon, 2)))
        found = dc.audit(release, small)
        assert found.to_dict()["proximity"]["pay"]["promised"]["worst"] <= 0.5
        assert "1/3" in found.to_html(tmp_path / "report.html").read_text(encoding="utf-8")


def test_an_angelization_whose_boxes_overlap_is_a_finding_still() -> None:
    data = as_data([(i // 2, 1000 * (i // 3)) for i in range(60)])
    release = dc.publish(data, dc.Angelization(dc.Proximity(10, 2), k=4), insecure_seed=1)
    title, table = next(
        (n, t) for n, t in release.tables.items() if n != "batches" and "age_high" in t.columns
    )
    highest = table["age_high"].max()
    first = pl.col("age_low") == table["age_low"].min()
    label = pl.when(first).then(pl.lit("*")).otherwise(pl.col("age").cast(pl.String))
    wide = table.with_columns(
        label.alias("age"),
        pl.when(first).then(highest).otherwise(pl.col("age_high")).alias("age_high"),
    )
    report = dc.audit(replace(release, tables={**release.tables, title: wide}), data)
    assert any("boxes overlap" in finding for finding in report.findings)


def test_pairs_of_sensitive_values_that_nobody_has_are_seen() -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame(
        {"age": rng.integers(20, 60, 40), "pay": [*range(40)], "debt": [*range(100, 140)]}
    )
    data = microdata(frame, ["age"], ["pay", "debt"])
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(4)))
    table = release.tables["generalized"]
    turned = table.with_columns(pl.col("debt").reverse().over("class"))
    findings = dc.audit(replace(release, tables={"generalized": turned}), data).findings
    assert "values of pay, debt are not those of the people covered" in findings[0]


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        (pl.DataFrame({"a": [1, 2, 3], "pay": [0, 1, 5]}), "needs positive numbers"),
        (pl.DataFrame({"a": [1, 2, 3], "pay": [-2, 1, 5]}), "needs positive numbers"),
        (pl.DataFrame({"a": [1, 2, 3], "pay": [None, 1, 5]}), "missing"),
    ],
)
def test_numbers_without_a_relative_neighbourhood_are_refused(
    frame: pl.DataFrame, reason: str
) -> None:
    schema = dc.Schema.infer(frame, quasi_identifiers=["a"], sensitive=["pay"])
    kept = schema.changed(replace(schema["pay"], missing=dc.Missing.VALUE))
    with pytest.raises(dc.DiscreetError, match=reason):
        dc.publish(dc.read(frame, kept), dc.Generalization(dc.Proximity("0.1", 2, relative=True)))


def test_the_boundary_is_exact() -> None:
    """0.1 + 0.2 is 0.3 here; in floats it would be more, and the three would not be near."""
    frame = pl.DataFrame({"a": [1, 2, 3, 4], "pay": ["0.1", "0.3", "0.5", "9.9"]}).with_columns(
        pl.col("pay").cast(pl.Float64)
    )
    data = microdata(frame, ["a"], ["pay"])
    with pytest.raises(dc.errors.PromiseError, match="m ≤ 2"):
        dc.publish(data, dc.Generalization(dc.Proximity("0.2", 3)))
    assert dc.publish(data, dc.Generalization(dc.Proximity("0.19999999999", 4))) is not None


QUESTIONS = [
    "age BETWEEN 30 AND 50",
    "income BETWEEN 20000 AND 40000",
    "age BETWEEN 30 AND 50 AND income BETWEEN 20000 AND 40000",
    "age < 40 AND education IN (8, 9, 12) AND income > 30000",
]


@pytest.mark.parametrize("where", QUESTIONS)
def test_ranges_on_both_sides_are_answered_with_bounds_on_both_engines(
    people: dc.Microdata, release: dc.Release, postgres: str, where: str
) -> None:
    asked = f"SELECT COUNT(*) AS n, SUM(income) AS s, AVG(income) AS a FROM release WHERE {where}"
    with duckdb.cursor() as plain:
        plain.register("release", people.to_polars().to_arrow())
        truth = plain.execute(asked).fetchone()
    here, there = release.query(asked).frame, release.query(asked, engine=postgres).frame
    row, other = here.row(0, named=True), there.row(0, named=True)
    assert truth is not None
    for name, value in zip(("n", "s", "a"), truth, strict=True):
        if value is not None:
            assert row[f"{name}_low"] <= float(value) * (1 + 1e-12) + 1e-9
            assert row[f"{name}_high"] >= float(value) * (1 - 1e-12) - 1e-9
        for end in ("", "_low", "_high"):
            assert row[f"{name}{end}"] == pytest.approx(other[f"{name}{end}"])


def test_the_auditor_sees_values_that_moved_to_people_who_cannot_have_them(
    people: dc.Microdata, release: dc.Release, tmp_path: Path
) -> None:
    assert dc.audit(release, people).findings == []
    table = release.tables["generalized"]
    turned = table.with_columns(pl.Series("income", table["income"].to_list()[::-1]))
    findings = dc.audit(replace(release, tables={"generalized": turned}), people).findings
    assert "find no record" in findings[0]


def test_classes_that_show_one_box_stay_apart() -> None:
    """Poured together they would break the promise that each of them keeps."""
    data = as_data([(1, 40), (1, 50), (1, 60), (1, 80)])
    release = dc.publish(data, dc.Generalization(dc.Proximity(15, 2)))
    assert dc.audit(release, data).groups == 2
    near = dc.audit(release, data).proximity["pay"].promised
    assert near is not None and (near.worst, near.mixed) == (Fraction(1, 2), Fraction(3, 4))
    assert "twice the m" in release.promise.leaves_open[0]
