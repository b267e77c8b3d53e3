"""Li, Li, Zhang, Molloy, TKDE 2012: columns, buckets, what is believed and what is answered."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from commands import discreet_here
from discreet.forms.sliced.matching import match_buckets
from discreet.forms.sliced.view import SlicedView
from discreet.forms.verify import verify
from discreet.publishing.partitioners.columns import choose_columns, correlate
from discreet.publishing.partitioners.medoids import cluster
from samples import microdata
from worlds import shuffles, sliced_posteriors

TABLE_1A = pl.DataFrame(
    {
        "age": [22, 22, 33, 52, 54, 60, 60, 64],
        "sex": list("MFFFMMMF"),
        "zip": [47906, 47906, 47905, 47905, 47302, 47302, 47304, 47304],
        "disease": ["dyspepsia", "flu", "flu", "bronchitis",
                    "flu", "dyspepsia", "dyspepsia", "gastritis"],
    }
)  # fmt: skip
TABLE_1F = pl.DataFrame(
    {
        "bucket": [0] * 4 + [1] * 4,
        "age": [22, 22, 33, 52, 54, 60, 60, 64],
        "sex": list("MFFFMMMF"),
        "zip": [47905, 47906, 47905, 47906, 47304, 47302, 47302, 47304],
        "disease": ["flu", "dyspepsia", "bronchitis", "flu",
                    "gastritis", "flu", "dyspepsia", "dyspepsia"],
    }
)  # fmt: skip
COLUMNS = [["age", "sex"], ["zip", "disease"]]


def table_1a() -> dc.Microdata:
    return microdata(TABLE_1A, ["age", "sex", "zip"], ["disease"])


def sliced(
    data: dc.Microdata,
    table: pl.DataFrame,
    columns: list[list[str]],
    l: int,  # noqa: E741
) -> dc.Release:
    """Somebody else's sliced table, with a promise."""
    method = dc.Slicing(dc.FrequencyDiversity(1), columns=columns)
    release = dc.publish(data, method, insecure_seed=1)
    principle = dc.FrequencyDiversity(l)
    promise = replace(release.promise, principle=principle, guarantee=principle.promise)
    return replace(release, tables={"sliced": table}, promise=promise)


def test_table_1f_as_the_paper_works_it_out() -> None:
    """p(t1,B1) = 1, f1 = 1/4, f2 = 1/2, D = (dyspepsia .5, flu .5); everyone at most 1/2."""
    data = table_1a()
    release = sliced(data, TABLE_1F, COLUMNS, 2)
    verify(release)
    (classes,) = release.views
    assert isinstance(classes, SlicedView)
    found = match_buckets(classes, data)
    (group,) = found.group[found.person == found.person_of[0]].tolist()
    assert classes.bucket_of[group] == 0
    bag = classes.bags("disease")
    assert bag.sizes[group] / classes.bucket_sizes[0] == 1 / 2  # f2
    ages = classes.table.filter(pl.col("bucket") == 0)
    assert ages.filter((pl.col("age") == 22) & (pl.col("sex") == "M")).height / 4 == 1 / 4  # f1
    held = bag.codes[bag.offsets[group] : bag.offsets[group + 1]]
    assert {bag.domain.texts[code] for code in held} == {"dyspepsia", "flu"}
    report = dc.audit(release, data)
    assert report.problems == []
    assert report.beliefs["disease"].tolist() == [0.5] * 8


def test_a_bucket_of_table_1f_matches_16_combinations_of_which_12_are_fake() -> None:
    data = microdata(TABLE_1A.head(4), ["age", "sex", "zip"], ["disease"])
    found = sliced(data, TABLE_1F.head(4), COLUMNS, 2).views[0].count_fakes(data)
    assert found is not None
    assert (found.originals, found.fakes, found.exact) == (4, 12, True)
    assert found.advantage == 0.5  # one bucket matches everything


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(4, 30))
def test_fakes_are_what_enumeration_finds(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {"A": rng.integers(0, 4, n), "B": rng.integers(0, 3, n), "S": rng.choice(list("abc"), n)}
    )
    data = microdata(frame, ["A", "B"], ["S"])
    release = dc.publish(
        data,
        dc.Slicing(dc.KAnonymity(2), columns=[["A"], ["B"], ["S"]], buckets=4),
        insecure_seed=seed,
    )
    matched: Counter[tuple[object, ...]] = Counter()
    for part in release.tables["sliced"].partition_by("bucket"):
        matched.update(product(*(set(part[name]) for name in ("A", "B", "S"))))
    originals = set(frame.rows())
    fakes = {t for t in matched if t not in originals}
    found = release.views[0].count_fakes(data)
    assert found is not None
    assert (found.originals, found.fakes) == (len(originals), len(fakes))
    if fakes:
        wins = [
            1.0 if matched[o] > matched[f] else 0.5 if matched[o] == matched[f] else 0.0
            for o in originals
            for f in fakes
        ]
        assert found.advantage == pytest.approx(np.mean(wins))


@pytest.mark.parametrize(
    "columns",
    [COLUMNS, [["age"], ["sex"], ["zip"], ["disease"]], [["age", "sex", "zip"], ["disease"]]],
)
def test_every_column_holds_the_multisets_of_the_table(columns: list[list[str]]) -> None:
    """Tables 1f, 1e (multisets in place of intervals) and 1c (bucketization)."""
    data = table_1a()
    release = dc.publish(
        data, dc.Slicing(dc.FrequencyDiversity(2), columns=columns), insecure_seed=4
    )
    table = release.tables["sliced"]
    for column in columns:
        assert Counter(table.select(column).rows()) == Counter(TABLE_1A.select(column).rows())
    assert dc.audit(release, data).problems == []


def test_bucketization_believes_as_its_buckets_say() -> None:
    """With two columns, all quasi-identifiers and the sensitive value, it is anatomy's model."""
    data = table_1a()
    method = dc.Slicing(dc.FrequencyDiversity(2), columns=[["age", "sex", "zip"], ["disease"]])
    release = dc.publish(data, method, insecure_seed=4)
    report = dc.audit(release, data)
    table = release.tables["sliced"]
    for row, person in enumerate(TABLE_1A.rows(named=True)):
        same = (pl.col("age") == person["age"]) & (pl.col("sex") == person["sex"])
        bucket = table.filter(same & (pl.col("zip") == person["zip"]))["bucket"][0]
        values = table.filter(pl.col("bucket") == bucket)["disease"].to_list()
        assert report.truths["disease"][row] == values.count(person["disease"]) / len(values)


def test_a_bucket_counts_by_its_size() -> None:
    """Identical people in buckets {a, a, a} and {b}: the formula says 1/2, the truth is 3/4."""
    frame = pl.DataFrame({"age": [1] * 4, "s": list("aaab")})
    data = microdata(frame, ["age"], ["s"])
    table = pl.DataFrame({"bucket": [0, 0, 0, 1], "age": [1] * 4, "s": list("aaab")})
    release = sliced(data, table, [["age"], ["s"]], 2)
    assert dc.audit(release, data).beliefs["s"].tolist() == [0.75] * 4
    with pytest.raises(dc.errors.PromiseError, match="broken in 2 of 2 groups"):
        verify(release)


def test_what_the_papers_check_passes_and_is_certain_is_seen() -> None:
    """Every p(t,s) ≤ 1/2, and somebody who knows everybody's quasi-identifiers is certain."""
    rows = [(0, 2, "c"), (2, 1, "b"), (1, 1, "c"), (2, 0, "a"), (0, 0, "c"), (1, 2, "a")]
    frame = pl.DataFrame(rows, schema=["A", "B", "S"], orient="row")
    data = microdata(frame, ["A", "B"], ["S"])
    table = frame.with_columns(bucket=pl.Series([0, 0, 0, 1, 1, 1])).select("bucket", "A", "B", "S")
    release = sliced(data, table, [["A"], ["B", "S"]], 2)
    with pytest.raises(dc.errors.PromiseError, match="frequency-diversity"):
        verify(release)
    assert not dc.audit(release, data).kept
    method = dc.Slicing(dc.FrequencyDiversity(2), columns=[["A"], ["B", "S"]])
    made = dc.publish(data, method, insecure_seed=1)
    assert max(sliced_posteriors(made, frame.rows(named=True), "S")) <= Fraction(1, 2)
    surest = sliced_posteriors(release, frame.rows(named=True), "S")
    assert sum(belief == 1 for belief in surest) == 2


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 1), st.sampled_from("abc")),
        min_size=3, max_size=6,
    ),
    columns=st.sampled_from([[["A"], ["B", "S"]], [["A", "B"], ["S"]], [["A"], ["B"], ["S"]]]),
)  # fmt: skip
def test_no_world_gives_a_belief_above_the_promise(
    rows: list[tuple[int, int, str]], columns: list[list[str]]
) -> None:
    frame = pl.DataFrame(rows, schema=["A", "B", "S"], orient="row")
    data = microdata(frame, ["A", "B"], ["S"])
    try:
        release = dc.publish(
            data, dc.Slicing(dc.FrequencyDiversity(2), columns=columns), insecure_seed=2
        )
    except dc.errors.PromiseError:
        return
    assert max(sliced_posteriors(release, frame.rows(named=True), "S")) <= Fraction(1, 2)
    assert dc.audit(release, data).problems == []


QUESTIONS = {
    "S = 'a'": lambda r: r["S"] == "a",
    "A > -1 AND B = 0 AND S <> 'b'": lambda r: r["A"] > -1 and r["B"] == 0 and r["S"] != "b",
    "A < 1 AND S IN ('a', 'c')": lambda r: r["A"] < 1 and r["S"] in "ac",
}


@pytest.mark.parametrize("columns", [[["A"], ["B", "S"]], [["A"], ["B"], ["S"]]])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.sampled_from([3, 4, 6]))
def test_bounds_means_and_errors_by_enumerating_all_shuffles(
    columns: list[list[str]], seed: int, n: int
) -> None:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {"A": rng.integers(-2, 3, n), "B": rng.integers(0, 2, n), "S": rng.choice(list("abc"), n)}
    )
    data = microdata(frame, ["A", "B"], ["S"])
    release = dc.publish(
        data, dc.Slicing(dc.KAnonymity(3), columns=columns, buckets=3), insecure_seed=2
    )
    worlds = shuffles(release)
    for where, takes in QUESTIONS.items():
        asked = f"SELECT COUNT(*) AS n, SUM(A) AS s, AVG(A) AS a FROM release WHERE {where}"
        row = release.query(asked).frame.row(0, named=True)
        taken = [[r["A"] for r in world if takes(r)] for world in worlds]
        counts = np.array([len(t) for t in taken], dtype=float)
        sums = np.array([sum(t) for t in taken], dtype=float)  # type: ignore[arg-type]
        assert row["n"] == pytest.approx(counts.mean())
        assert (row["n_low"], row["n_high"]) == (counts.min(), counts.max())
        assert row["n_stderr"] == pytest.approx(counts.std(), abs=1e-7)
        if row["s"] is not None:
            assert row["s"] == pytest.approx(sums.mean(), abs=1e-9)
            assert row["s_low"] == pytest.approx(sums.min())
            assert row["s_high"] == pytest.approx(sums.max())
            assert row["s_stderr"] == pytest.approx(sums.std(), abs=1e-7)
        means = [sum(t) / len(t) for t in taken if t]  # type: ignore[arg-type]
        if means:
            assert row["a_low"] <= min(means) + 1e-9 and row["a_high"] >= max(means) - 1e-9


@pytest.fixture(scope="module")
def adult() -> dc.Microdata:
    return dc.datasets.adult(sensitive="occupation")


@pytest.fixture(scope="module")
def release(adult: dc.Microdata) -> dc.Release:
    return dc.publish(adult, dc.Slicing(dc.FrequencyDiversity(3), columns=3), insecure_seed=7)


def test_correlations_of_adult_are_those_of_the_notes(adult: dc.Microdata) -> None:
    found = correlate(adult)
    expected = {"sex": 0.190, "workclass": 0.047, "education": 0.039}
    assert {n: round(found.between(n, "occupation"), 3) for n in expected} == expected
    assert choose_columns(found, 2, sensitive="occupation", alpha=2)[-1] == ["sex", "occupation"]


def test_people_of_occ_7_are_not_all_unique() -> None:
    """The paper says that each combination of the quasi-identifiers is."""
    known = ["age", "workclass", "education", "marital-status", "race", "sex"]
    counts = dc.datasets.adult_frame().drop_nulls().group_by(known).len()["len"]
    assert (len(counts), int((counts == 1).sum())) == (12_546, 7_578)


def test_sex_beside_occupation_allows_l_up_to_3(adult: dc.Microdata) -> None:
    others = [name for name in adult.quasi_identifiers if name != "sex"]
    columns = [others, ["sex", "occupation"]]
    dc.publish(adult, dc.Slicing(dc.FrequencyDiversity(3), columns=columns), insecure_seed=1)
    with pytest.raises(dc.errors.PromiseError, match="frequency-diversity"):
        dc.publish(adult, dc.Slicing(dc.FrequencyDiversity(4), columns=columns), insecure_seed=1)


def test_attributes_with_one_value_correlate_with_nothing() -> None:
    frame = pl.DataFrame({"a": [1, 1, 1, 1], "b": list("xyxy"), "c": list("xyxy")})
    found = correlate(microdata(frame, ["a", "b"], ["c"]))
    assert found.between("a", "b") == 0 and found.between("b", "c") == pytest.approx(1)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 8), c=st.integers(1, 8))
def test_clusters_cost_no_more_than_any_others(seed: int, n: int, c: int) -> None:
    """PAM with restarts against all choices of medoids, up to eight attributes."""
    c = min(c, n)
    points = np.random.default_rng(seed).random((n, n))
    distances = (points + points.T) / 2
    np.fill_diagonal(distances, 0)
    parts = cluster(distances, c)
    assert sorted(i for part in parts for i in part) == list(range(n))
    cost = sum(min(distances[part, m].sum() for m in part) for part in parts)
    best = min(distances[:, list(chosen)].min(axis=1).sum() for chosen in combinations(range(n), c))
    assert cost <= best + 1e-9


def test_truth_lies_within_the_bounds_on_both_engines(
    adult: dc.Microdata, release: dc.Release, postgres: str
) -> None:
    frame = adult.to_polars()
    for asked in (
        "SELECT COUNT(*) AS n, SUM(age) AS s, AVG(age) AS a FROM release "
        "WHERE age BETWEEN 25 AND 50 AND occupation = 'Sales'",
        "SELECT sex, COUNT(*) AS n FROM release WHERE age < 40 GROUP BY sex",
        "SELECT sex, education, COUNT(*) AS n FROM release GROUP BY sex, education",
        "SELECT COUNT(*) AS n FROM release WHERE age > 200",
    ):
        with duckdb.cursor() as plain:
            plain.register("release", frame.to_arrow())
            order = " ORDER BY ALL" if "GROUP" in asked else ""
            found = plain.execute(asked + order)
            names = [d[0] for d in found.description or []]
            truth = pl.DataFrame(found.fetchall(), schema=names, orient="row")
        here = release.query(asked).frame
        there = release.query(asked, engine=postgres).frame
        keys = [n for n in here.columns if n in ("sex", "education")]
        both = truth.join(here, on=keys, suffix="_told") if keys else pl.concat(
            [truth.select(pl.all().name.suffix("_true")), here], how="horizontal")  # fmt: skip
        for name in ("n", "s", "a"):
            if f"{name}_low" in here.columns:
                value = both[name] if keys else both[f"{name}_true"]
                low, high = both[f"{name}_low"], both[f"{name}_high"]
                good = (low <= value + 1e-6) & (value <= high + 1e-6)
                assert good.fill_null(True).all()
        for name in here.columns:
            for one, other in zip(here[name], there[name], strict=True):
                assert one == other or one == pytest.approx(other)


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        (
            "SELECT COUNT(*) FROM release WHERE age > 30 OR occupation = 'Sales'",
            "age and occupation are in different columns .* destroyed on purpose",
        ),
        ("SELECT COUNT(*) FROM release WHERE age = LENGTH(occupation)", "different columns"),
    ],
)
def test_what_cannot_be_answered_is_refused(
    release: dc.Release, question: str, reason: str
) -> None:
    with pytest.raises(dc.errors.QueryError, match=reason):
        release.query(question)


def test_records_for_tools_that_want_rows(release: dc.Release) -> None:
    drawn = release.sample(20_000, seed=1)
    assert drawn.columns == release.schema.names
    share = drawn.filter(pl.col("sex") == "Female").height / 20_000
    assert share == pytest.approx(14695 / 45222, abs=0.02)


def test_random_buckets_for_tables_without_a_sensitive_attribute(tmp_path: Path) -> None:
    frame = (
        dc.datasets.adult_frame().drop_nulls().head(3000).select("age", "sex", "race", "education")
    )
    data = microdata(frame, frame.columns, [])
    method = dc.Slicing(dc.KAnonymity(50), columns=2, buckets=50)
    loaded = dc.load(dc.publish(data, method, insecure_seed=1).write(tmp_path / "r", insecure=True))
    report = dc.audit(loaded, data)
    assert report.problems == [] and loaded.views[0].bucket_sizes.min() >= 50
    assert report.candidates.min() == 1  # a column's values may be one person's of a bucket
    assert loaded.promise.guarantee == "Every bucket holds at least 50 people."


def test_the_auditor_sees_values_of_a_column_that_are_not_the_peoples(
    adult: dc.Microdata, release: dc.Release
) -> None:
    table = release.tables["sliced"]
    turned = table.with_columns(pl.col("sex").reverse())
    findings = dc.audit(replace(release, tables={"sliced": turned}), adult).findings
    assert "occupation, sex are not those of the people" in findings[0]


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: dc.Slicing(dc.KAnonymity(2), columns=0), "columns = 0"),
        (lambda: dc.Slicing(dc.KAnonymity(2), columns=[["a"]], alpha=1), "alpha goes with"),
        (lambda: dc.Slicing(dc.KAnonymity(2), buckets=1), "buckets = 1"),
    ],
)
def test_bad_parameters_are_refused(make: object, reason: str) -> None:
    with pytest.raises(dc.errors.SchemaError, match=reason):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ([["age", "sex"], ["disease"]], "'zip' to none"),
        ([["age", "sex", "disease"], ["zip", "disease"]], "'disease' is sensitive and in several"),
        (
            [["age", "sex"], ["age", "zip"], ["zip", "disease"]],
            "'age' and 'zip' are in several",
        ),
        ([["age", "sex"], ["sex", "zip"], ["zip", "age"], ["disease"]], "not in the same ones"),
        ([["age", "age", "sex", "zip"], ["age", "disease"]], "'age' is twice in one column"),
        ([["age", "sex", "zipp"], ["disease"]], "no attribute 'zipp'"),
    ],
)
def test_columns_that_are_no_partition_are_refused(columns: list[list[str]], reason: str) -> None:
    with pytest.raises(dc.errors.SchemaError, match=reason):
        dc.publish(table_1a(), dc.Slicing(dc.FrequencyDiversity(2), columns=columns))


def test_a_promise_that_cannot_be_kept_names_the_people() -> None:
    with pytest.raises(dc.errors.PromiseError, match="of people with zip = 47302"):
        dc.publish(table_1a(), dc.Slicing(dc.FrequencyDiversity(3), columns=COLUMNS))


def halve(rows: list[int], codes: list[list[int]], spans: list[int]) -> tuple[list[int], list[int]]:
    """Mondrian's split in plain Python: the median of the attribute with the widest extent."""
    widths = [
        (max(c[r] for r in rows) - min(c[r] for r in rows)) / span if span else 0
        for c, span in zip(codes, spans, strict=True)
    ]
    chosen = codes[widths.index(max(widths))]
    ranked = sorted(chosen[r] for r in rows)
    cut = ranked[(len(ranked) - 1) // 2]
    if cut == ranked[-1]:
        below = [x for x in ranked if x < cut]
        cut = below[-1] if below else cut
    left, right = [r for r in rows if chosen[r] <= cut], [r for r in rows if chosen[r] > cut]
    return left, right


def diverse(buckets: list[list[int]], rows: list[tuple[object, ...]], l: int) -> bool:  # noqa: E741
    """p(t,s) ≤ 1/l for everyone, from scratch and in fractions; columns {A}, {B, S}."""
    for a, b, _ in rows:
        weights: Counter[object] = Counter()
        for bucket in buckets:
            here = [rows[r] for r in bucket]
            match = Fraction(sum(x == a for x, _, _ in here), len(here))
            for _, y, s in here:
                weights[s] += match * (y == b)
        if l * max(weights.values()) > sum(weights.values()):
            return False
    return True


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 24))
def test_the_papers_check_gives_the_buckets_of_a_full_recheck(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {"A": rng.integers(0, 6, n), "B": rng.integers(0, 2, n), "S": rng.choice(list("abcd"), n)}
    )
    data = microdata(frame, ["A", "B"], ["S"])
    method = dc.Slicing(dc.FrequencyDiversity(2), columns=[["A"], ["B", "S"]], check="paper")
    data = data.sorted()
    rows = data.to_polars().rows()
    codes = [data.codes[name].tolist() for name in ("A", "B")]
    spans = [data.domains[name].size - 1 for name in ("A", "B")]
    queue, final = [list(range(n))], []
    if not diverse(queue, rows, 2):
        with pytest.raises(dc.errors.PromiseError, match="even in one bucket"):
            dc.publish(data, method)
        return
    while queue:
        bucket = queue.pop(0)
        left, right = halve(bucket, codes, spans)
        if left and right and diverse([*queue, left, right, *final], rows, 2):
            queue += [left, right]
        else:
            final.append(bucket)
    release = dc.publish(data, method, insecure_seed=3)
    made = release.tables["sliced"].partition_by("bucket")
    expected = sorted(sorted(rows[r][0] for r in bucket) for bucket in final)
    assert sorted(sorted(part["A"].to_list()) for part in made) == expected
    assert "paper's check" in release.promise.leaves_open[0]


def test_the_auditor_flags_who_is_not_safe_under_the_papers_check(tmp_path: Path) -> None:
    """Both counterexamples, made by a publisher that checks as the paper does."""
    rows = [(0, 2, "c"), (2, 1, "b"), (1, 1, "c"), (2, 0, "a"), (0, 0, "c"), (1, 2, "a")]
    frame = pl.DataFrame(rows, schema=["A", "B", "S"], orient="row")
    data = microdata(frame, ["A", "B"], ["S"])
    table = frame.with_columns(bucket=pl.Series([0, 0, 0, 1, 1, 1])).select("bucket", "A", "B", "S")
    release = sliced(data, table, [["A"], ["B", "S"]], 2)
    printed = replace(release, parameters={**release.parameters, "check": "paper"})
    folder = printed.write(tmp_path / "r", insecure=True)  # nothing in it tells that it is not safe
    report = dc.audit(folder, data)
    worlds = sliced_posteriors(printed, frame.to_dicts(), "S")
    assert report.max_belief == max(worlds) == 1 and report.breaches > 0
    assert diverse([[0, 1, 2], [3, 4, 5]], rows, 2)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 60), kinds=st.integers(2, 12))
def test_the_rule_inside_a_column_splits_as_the_principle_does(
    seed: int, n: int, kinds: int
) -> None:
    from discreet.publishing.partitioners import mondrian
    from discreet.publishing.partitioners.slices import slice_people

    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "A": rng.integers(0, 9, n),
            "B": rng.integers(0, 4, n),
            "S": rng.choice([f"s{i}" for i in range(kinds)], n),
        }
    )
    data = microdata(frame, ["A", "B"], ["S"])
    try:
        fast = slice_people(data, dc.FrequencyDiversity(2), [["B", "S"]])
    except dc.errors.PromiseError:
        return
    with pytest.MonkeyPatch.context() as patch:
        nothing = np.zeros((0, 6), dtype=np.int64), np.zeros(1, dtype=np.int64), False
        patch.setattr(mondrian, "_compile", lambda *_: nothing)
        slow = slice_people(data, dc.FrequencyDiversity(2), [["B", "S"]])
    assert fast.labels.tolist() == slow.labels.tolist()


def test_the_command_line_shows_correlations_and_columns(tmp_path: Path) -> None:
    file, chart = tmp_path / "t.csv", tmp_path / "heat.svg"
    TABLE_1A.write_csv(file)
    asked = ["columns", file, "--sensitive", "disease", "--attributes", "age,sex,zip"]
    done = discreet_here(*asked, "--chart", chart, "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["names"] == ["age", "sex", "zip", "disease"]
    assert {name for part in found["columns"]["2"] for name in part} == set(found["names"])
    assert "<svg" in chart.read_text(encoding="utf-8")
    shown = discreet_here(*asked, cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "φ²" in shown.stdout and "would stay together" in shown.stdout
    wrong = discreet_here("columns", file, "--sensitive", "x", cwd=tmp_path)
    assert wrong.returncode == 2 and "has no column 'x'" in wrong.stderr
