"""Slicing beyond the paper's examples: attacks, ratings, shared attributes, blurred columns."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from commands import discreet_here as discreet
from discreet.evaluate import (
    Workload,
    count_truth,
    draw_workload,
    estimate_counts,
    measure_error,
)
from discreet.evaluate.mining import classify, predict_ratings
from discreet.forms.sliced import fakes, matching
from discreet.forms.verify import verify
from discreet.publishing.partitioners.columns import correlate
from discreet.publishing.partitioners.slices import Within, slice_people
from discreet.table.ratings import spread_ratings
from samples import microdata
from worlds import shuffles, sliced_posteriors


@pytest.mark.parametrize("buckets", ["mondrian", 60])
def test_comparing_buckets_tells_more_where_values_follow_from_others(buckets: str | int) -> None:
    """deFinetti: age all but decides the disease, which shows across buckets."""
    rng = np.random.default_rng(3)
    n = 1200
    age = rng.integers(0, 8, n)
    told = np.where(rng.random(n) < 0.95, age // 4, rng.integers(0, 2, n))
    frame = pl.DataFrame(
        {"age": age, "zip": rng.integers(0, 30, n), "disease": np.array(["flu", "ulcer"])[told]}
    )
    data = microdata(frame, ["age", "zip"], ["disease"])
    method = dc.Slicing(
        dc.FrequencyDiversity("1.3"), columns=[["age", "zip"], ["disease"]], buckets=buckets
    )
    report = dc.audit(dc.publish(data, method, insecure_seed=2), data, attacks=True)
    tried = {found.name: found for found in report.attacks}
    assert tried["deFinetti"].success > tried["deFinetti"].chance + 0.1
    printed = dc.Slicing(method.principle, columns=method.columns, check="paper")
    report = dc.audit(dc.publish(data, printed, insecure_seed=2), data, attacks=True)
    assert {found.name for found in report.attacks} == set(tried)


BLURRED = [[["A"], ["B", "S"]], [["A", "B"], ["S"]], [["B"], ["A", "S"]]]


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 1), st.sampled_from("abc")),
        min_size=4, max_size=6,
    ),
    columns=st.sampled_from(BLURRED),
)  # fmt: skip
def test_no_world_of_blurred_columns_gives_a_belief_above_the_promise(
    rows: list[tuple[int, int, str]], columns: list[list[str]]
) -> None:
    frame = pl.DataFrame(rows, schema=["A", "B", "S"], orient="row")
    data = microdata(frame, ["A", "B"], ["S"])
    method = dc.Slicing(dc.FrequencyDiversity(2), columns=columns, frequency=2)
    try:
        release = dc.publish(data, method, insecure_seed=2)
    except dc.errors.PromiseError:
        return
    assert max(sliced_posteriors(release, frame.rows(named=True), "S")) <= Fraction(1, 2)
    assert dc.audit(release, data).problems == []


@pytest.mark.parametrize("columns", BLURRED)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_answers_over_regions_by_enumerating_values_and_shuffles(
    columns: list[list[str]], seed: int
) -> None:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {"A": rng.integers(0, 3, 4), "B": rng.choice(list("xyz"), 4), "S": rng.integers(-2, 3, 4)}
    )
    data = microdata(frame, ["A", "B"], ["S"])
    method = dc.Slicing(dc.KAnonymity(4), columns=columns, buckets=4, frequency=2)
    release = dc.publish(data, method, insecure_seed=2)
    worlds = shuffles(release)
    for where, takes in {
        "A > 0": lambda r: r["A"] > 0,
        "A <= 1 AND B <> 'x'": lambda r: r["A"] <= 1 and r["B"] != "x",
        "A >= 1 AND S < 1": lambda r: r["A"] >= 1 and r["S"] < 1,
    }.items():
        asked = f"SELECT COUNT(*) AS n, SUM(S) AS s FROM release WHERE {where}"
        row = release.query(asked).frame.row(0, named=True)
        taken = [[r["S"] for r in world if takes(r)] for world in worlds]
        counts = np.array([len(t) for t in taken], dtype=float)
        sums = np.array([sum(t) for t in taken], dtype=float)
        assert row["n"] == pytest.approx(counts.mean())
        assert (row["n_low"], row["n_high"]) == (counts.min(), counts.max())
        assert row["n_stderr"] == pytest.approx(counts.std(), abs=1e-6)
        if row["s"] is not None:
            assert row["s"] == pytest.approx(sums.mean(), abs=1e-9)
            assert row["s_low"] <= sums.min() and sums.max() <= row["s_high"]
            assert row["s_stderr"] == pytest.approx(sums.std(), abs=1e-6)
    grouped = release.query("SELECT A, COUNT(*) AS n FROM release GROUP BY A").frame
    for value, n in grouped.select("A", "n").iter_rows():
        counts = np.array([sum(r["A"] == value for r in world) for world in worlds], dtype=float)
        assert n == pytest.approx(counts.mean())
    names = ["A", "B", "S"]
    rebuilt = {row[:3]: row[3] for row in release.reconstruct(names).rows()}
    tally = Counter(tuple(r[n] for n in names) for world in worlds for r in world)
    assert rebuilt.keys() == tally.keys()
    for values, count in tally.items():
        assert rebuilt[values] == pytest.approx(count / len(worlds) / 4)


@pytest.fixture(scope="module")
def blurred() -> tuple[dc.Microdata, dc.Release]:
    data = dc.datasets.adult(sensitive="occupation").head(4000)
    method = dc.Slicing(dc.FrequencyDiversity(2), columns=2, alpha=2, frequency=20)
    return data, dc.publish(data, method, insecure_seed=1)


def test_blurred_columns_are_stored_verified_audited_and_asked(
    blurred: tuple[dc.Microdata, dc.Release], tmp_path: Path, postgres: str
) -> None:
    data, release = blurred
    release = dc.load(release.write(tmp_path / "r", format="csv", insecure=True))
    report = dc.audit(release, data, attacks=True)
    assert report.problems == [] and report.findings == [] and 0 < report.loss.ncp < 0.3
    frame = data.to_polars()
    for where, truth in {
        "age BETWEEN 30 AND 50 AND occupation = 'Sales'": frame.filter(
            pl.col("age").is_between(30, 50), pl.col("occupation") == "Sales"
        ).height,
        "education = 'Masters' AND sex = 'Female'": frame.filter(
            pl.col("education") == "Masters", pl.col("sex") == "Female"
        ).height,
    }.items():
        asked = f"SELECT COUNT(*) FROM release WHERE {where}"
        here, there = release.query(asked), release.query(asked, engine=postgres)
        assert here.low is not None and here.high is not None
        assert here.low <= truth <= here.high
        assert here.estimate == pytest.approx(truth, rel=0.5)
        assert there.estimate == pytest.approx(here.estimate) and there.low == here.low
    drawn = release.sample(3000, seed=2)
    assert drawn["age"].dtype.is_integer() and drawn["age"].n_unique() > 40
    workload = draw_workload(data, 0.1, 40, names=["age", "education", "occupation"], seed=1)
    estimates = estimate_counts(release, data, workload)
    assert measure_error(count_truth(data, workload), estimates) < 0.5
    answer = release.query("SELECT AVG(age) FROM release WHERE occupation = 'Sales'")
    truth = frame.filter(pl.col("occupation") == "Sales")["age"].mean()
    assert answer.low <= truth <= answer.high  # type: ignore[operator]


def test_values_rarer_than_the_release_says_are_refused(
    blurred: tuple[dc.Microdata, dc.Release],
) -> None:
    _, release = blurred
    with pytest.raises(dc.errors.StoreError, match="fewer than 4000 people"):
        verify(replace(release, parameters={**release.parameters, "frequency": 4000}))
    with pytest.raises(dc.errors.StoreError, match="whole number for frequency"):
        verify(replace(release, parameters={**release.parameters, "frequency": "2"}))


def test_regions_that_overlap_are_refused_by_the_auditor() -> None:
    frame = pl.DataFrame({"A": [1, 2, 3, 4] * 3, "B": [0, 1] * 6, "S": list("abc") * 4})
    data = microdata(frame, ["A", "B"], ["S"])
    method = dc.Slicing(dc.KAnonymity(2), columns=[["A"], ["B", "S"]], frequency=3)
    release = dc.publish(data, method, insecure_seed=1)
    table = release.tables["sliced"]
    labels = table["A"].cast(pl.String).to_list()
    assert len(set(labels)) > 1
    wide = table.with_columns(
        A=pl.Series(["[1, 4]" if label == labels[0] else label for label in labels]),
        A_low=pl.when(pl.col("A").cast(pl.String) == labels[0]).then(1).otherwise("A_low"),
        A_high=pl.when(pl.col("A").cast(pl.String) == labels[0]).then(4).otherwise("A_high"),
    )
    with pytest.raises(dc.errors.StoreError, match="regions of A overlap"):
        dc.audit(replace(release, tables={"sliced": wide}), data)


@pytest.fixture(scope="module")
def people() -> dc.Microdata:
    return dc.datasets.adult(sensitive="occupation").head(3000).sorted()


@pytest.mark.parametrize("columns", [2, 3])
def test_the_auditor_sees_columns_that_were_not_shuffled(
    people: dc.Microdata, columns: int
) -> None:
    """Rows that are people's own records, or of which only two columns go together."""
    known = people.quasi_identifiers
    given = [known, ["occupation"]] if columns == 2 else [known[:3], known[3:], ["occupation"]]
    method = dc.Slicing(dc.FrequencyDiversity(3), columns=given)
    release = dc.publish(people, method, insecure_seed=1)
    assert dc.audit(release, people).findings == []
    bucket = slice_people(people, method.principle, [["occupation"]]).labels
    table = people.to_polars().with_columns(bucket=pl.Series(bucket).cast(pl.Int32))
    table = table.sort("bucket", maintain_order=True).select(release.tables["sliced"].columns)
    if columns == 3:  # the sensitive column is shuffled
        order = np.lexsort((np.random.default_rng(1).random(people.n), table["bucket"].to_numpy()))
        table = table.with_columns(table["occupation"].gather(order))
    (finding,) = dc.audit(replace(release, tables={"sliced": table}), people).findings
    assert "of one person; shuffled, it would be about" in finding


def test_the_auditor_sees_values_in_other_peoples_buckets(people: dc.Microdata) -> None:
    known = people.quasi_identifiers
    method = dc.Slicing(dc.FrequencyDiversity(2), columns=[known, ["occupation"]])
    release = dc.publish(people, method, insecure_seed=1)
    table = release.tables["sliced"].sort("bucket", maintain_order=True)
    sizes = table.group_by("bucket", maintain_order=True).len()["len"].to_list()
    starts = np.cumsum([0, *sizes])
    values = table["occupation"].to_list()
    for size in set(sizes):
        same = [i for i, n in enumerate(sizes) if n == size]
        parts = [values[starts[i] : starts[i + 1]] for i in same]
        for i, part in zip(same, parts[1:] + parts[:1], strict=True):
            values[starts[i] : starts[i + 1]] = part
    moved = replace(release, tables={"sliced": table.with_columns(occupation=pl.Series(values))})
    verify(moved)  # the promise is kept, for other people
    assert "do not belong" in " ".join(dc.audit(moved, people).findings)


def test_a_label_may_not_hide_what_its_ends_tell(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {"age": rng.integers(20, 70, 400), "zip": rng.integers(0, 9, 400),
         "S": rng.choice(list("abcd"), 400)}
    )  # fmt: skip
    data = microdata(frame, ["age", "zip"], ["S"])
    method = dc.Slicing(
        dc.FrequencyDiversity(2), columns=[["zip"], ["age", "S"]], frequency=400, buckets=40
    )
    release = dc.publish(data, method, insecure_seed=1)
    table = release.tables["sliced"]
    ages = pl.Series([20, *rng.integers(20, 70, 399)])
    for told in (
        table.with_columns(age_low=ages, age_high=ages),
        table.with_columns(age_low=pl.lit(30), age_high=pl.lit(30)),
    ):
        with pytest.raises(dc.DiscreetError, match="label"):
            replace(release, tables={"sliced": told}).write(tmp_path / "r", insecure=True)


def test_many_columns_are_audited_in_little_memory(people: dc.Microdata) -> None:
    single = [[name] for name in [*people.quasi_identifiers, *people.sensitive]]
    release = dc.publish(
        people, dc.Slicing(dc.KAnonymity(5), columns=single, buckets=5), insecure_seed=1
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "AT_ONCE", 20_000)
        parts = dc.audit(release, people)
    whole = dc.audit(release, people)
    assert parts.findings == whole.findings == []
    assert parts.membership is not None and whole.membership is not None
    one, other = parts.membership.fakes, whole.membership.fakes
    assert one is not None and other is not None
    assert one.fakes == other.fakes and one.matches["originals"] == other.matches["originals"]
    assert one.matches["fakes"] == pytest.approx(other.matches["fakes"])


def test_more_combinations_than_numbers_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fakes, "MOST_COUNTED", 10**20)
    data = dc.read_ratings(dc.datasets.ratings_frame(60, 100, seed=1))
    columns = [[name] for name in data.quasi_identifiers]
    release = dc.publish(
        data, dc.Slicing(dc.KAnonymity(10), columns=columns, buckets=20), insecure_seed=1
    )
    found = release.views[0].count_fakes(data)
    assert found is not None and found.fakes == 1e20 and 0 <= found.advantage <= 1


def test_values_that_others_have_are_not_counted() -> None:
    frame = pl.DataFrame({"A": [1, 2, 3, 4, 5, 6] * 4, "S": list("abcdef") * 4})
    data = microdata(frame, ["A"], ["S"])
    fewer = microdata(frame.filter(pl.col("A") < 6), ["A"], ["S"])
    asked = Workload({"A": np.array([[False] * 4 + [True]])})
    for method in (
        dc.Slicing(dc.FrequencyDiversity(2), columns=[["A"], ["S"]], buckets=24),
        dc.Anatomy(dc.FrequencyDiversity(2)),
    ):
        release = dc.publish(data, method, insecure_seed=1)
        assert estimate_counts(release, fewer, asked).tolist() == [4]


def test_bad_columns_and_frequencies_are_refused(tmp_path: Path) -> None:
    data = microdata(pl.DataFrame({"A": [1, 2], "S": ["a", "b"]}), ["A"], ["S"])
    for make, reason in (
        (lambda: dc.Slicing(dc.KAnonymity(1), columns=["A", "S"]), "list of lists"),
        (lambda: dc.publish(data, dc.Slicing(dc.KAnonymity(1), columns=2, frequency=3)),
         "frequency = 3: there are only 2 people"),
        (lambda: dc.publish(data, dc.Slicing(dc.KAnonymity(1), columns=[["A"], ["A", "S"]],
                                             frequency=2)), "columns share 'A'"),
    ):  # fmt: skip
        with pytest.raises(dc.DiscreetError, match=reason):
            make()
    plan = tmp_path / "p.toml"
    plan.write_text(
        '[source]\nfile = "t.csv"\n[columns.A]\nrole = "quasi-identifier"\n[method]\n'
        'name = "slicing"\ncolumns = ["A"]\n[[method.principles]]\nname = "k-anonymity"\nk = 2\n'
    )
    with pytest.raises(dc.DiscreetError, match="columns: give a whole number, or a list of lists"):
        dc.Plan.read(plan)


Row = tuple[object, ...]
See = Callable[[object, Row, object], list[object]]


def believe(
    people: list[Row], tables: list[Counter[object]], parts: list[object], see: See
) -> list[Counter[object]]:
    """Per person, in how many worlds they have each sensitive value.

    A world gives people the sensitive values of their part in some order; it is possible if what
    would be published of it is what was published.
    """
    values = [person[-1] for person in people]
    found: list[Counter[object]] = [Counter() for _ in people]
    for world in set(permutations(values)):
        made = [Counter(see(part, person, value)[i]
                        for part, person, value in zip(parts, people, world, strict=True))
                for i in range(len(tables))]  # fmt: skip
        if made == tables:
            for tally, value in zip(found, world, strict=True):
                tally[value] += 1
    return found


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(3, 6))
def test_buckets_of_one_value_tell_what_a_shared_attribute_tells(seed: int, n: int) -> None:
    """Columns {A, B} and {A, S}, in two buckets; against {A, B} and {S} in buckets of one A."""
    rng = np.random.default_rng(seed)
    people = [(int(rng.integers(2)), int(rng.integers(2)), int(rng.integers(3))) for _ in range(n)]
    buckets = [int(rng.integers(2)) for _ in range(n)]

    def overlapping(bucket: object, person: Row, s: object) -> list[object]:
        return [(bucket, person[0], person[1]), (bucket, person[0], s)]

    def refined(bucket: object, person: Row, s: object) -> list[object]:
        within = (bucket, person[0])
        return [(within, person[1]), (within, s)]

    found = []
    for see in (overlapping, refined):
        shown = [see(b, person, person[2]) for b, person in zip(buckets, people, strict=True)]
        tables = [Counter(row[i] for row in shown) for i in range(2)]
        found.append(believe(people, tables, list(buckets), see))
    assert found[0] == found[1]


def test_the_papers_overlap_would_tell_everybodys_disease() -> None:
    """Section 9 proposes {age, sex, disease} and {zip, disease} for Table 1f."""
    people = [(22, "M", 47906, "dyspepsia"), (22, "F", 47906, "flu"), (33, "F", 47905, "flu"),
              (52, "F", 47905, "bronchitis")]  # fmt: skip

    def see(_: object, person: Row, s: object) -> list[object]:
        return [(person[0], person[1], s), (person[2], s)]

    shown = [see(0, person, person[3]) for person in people]
    tables = [Counter(row[i] for row in shown) for i in range(2)]
    for person, tally in zip(people, believe(people, tables, [0] * 4, see), strict=True):
        assert set(tally) == {person[3]}


def test_an_attribute_in_every_column_stays_linked_to_all(tmp_path: Path) -> None:
    data = dc.datasets.census(2000, seed=3)
    shared = ["sex", "region", "education", "marital", "household", "birthplace", "workclass"]
    columns = [["sex", "age", *shared[1:]], ["sex", "occupation"]]
    release = dc.publish(
        data, dc.Slicing(dc.FrequencyDiversity(3), columns=columns), insecure_seed=1
    )
    table = release.tables["sliced"]
    assert table.group_by("bucket").agg(pl.col("sex").n_unique())["sex"].max() == 1
    folder = release.write(tmp_path / "r", insecure=True)
    report = dc.audit(folder, data)
    assert not report.findings and report.max_belief <= 1 / 3
    sql = "SELECT COUNT(*) FROM release WHERE sex = 'female' AND {}"
    frame = data.to_polars().filter(pl.col("sex") == "female")
    for told, truth in (
        ("age > 40", frame.filter(pl.col("age") > 40).height),
        ("occupation = 'O05'", frame.filter(pl.col("occupation") == "O05").height),
    ):
        answer = release.query(sql.format(told))
        assert answer.low == answer.high == truth
    with pytest.raises(dc.errors.PromiseError, match="Of people with age = 20"):
        columns = [["age", *shared], ["age", "occupation"]]
        dc.publish(data, dc.Slicing(dc.FrequencyDiversity(3), columns=columns), insecure_seed=1)


def agreement(one: list[int | None], other: list[int | None]) -> float:
    """Section 7, word by word."""
    union = sum(a is not None or b is not None for a, b in zip(one, other, strict=True))
    same = sum(a is not None and a == b for a, b in zip(one, other, strict=True))
    return same / union if union else 0.0


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_agreement_is_that_of_the_paper(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = rng.integers(1, 5, (12, 4))
    wide = pl.DataFrame(
        {f"i{k}": [None if v == 4 else int(v) for v in cells[:, k]] for k in range(4)}
    ).select(pl.all().cast(pl.Int64))
    if any(column.null_count() == len(column) for column in wide):
        return
    long = wide.with_row_index("user").unpivot(
        index="user", variable_name="item", value_name="rating"
    )
    found = correlate(dc.read_ratings(long.drop_nulls()), similarity="agreement")
    kept = wide.filter(pl.any_horizontal(pl.all().is_not_null()))
    for one in wide.columns:
        for other in wide.columns:
            expected = (
                1.0 if one == other else agreement(kept[one].to_list(), kept[other].to_list())
            )
            assert found.between(one, other) == pytest.approx(expected)


def test_ratings_are_sliced_audited_and_learned_from(tmp_path: Path) -> None:
    data = dc.read_ratings(dc.datasets.ratings_frame(900, 80, seed=4))
    people, asked = data.taken(np.arange(800)), data.taken(np.arange(800, data.n)).to_polars()
    method = dc.Slicing(dc.KAnonymity(4), columns=8, buckets=4, similarity="agreement")
    folder = dc.publish(people, method, insecure_seed=1).write(tmp_path / "r", insecure=True)
    report = dc.audit(folder, people)
    assert not report.findings and report.membership is not None
    assert report.membership.fakes is not None and report.membership.fakes.ratio > 10
    release = dc.load(folder)
    rows = release.sample(800, seed=1)
    error, baseline = predict_ratings(people.to_polars(), asked)
    sliced, _ = predict_ratings(rows.select(asked.columns), asked)
    assert error < sliced < baseline
    counted = release.query('SELECT COUNT(*) FROM release WHERE "item 000" = 5 AND "item 001" = 5')
    truth = people.to_polars().filter((pl.col("item 000") == 5) & (pl.col("item 001") == 5)).height
    assert counted.low is not None and counted.high is not None
    assert counted.low <= truth <= counted.high


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        ({"user": [1, 1], "item": ["a", "a"], "rating": [1, 2]}, "rates 'a' more than once"),
        ({"user": [1, None], "item": ["a", "b"], "rating": [1, 2]}, "'user': 1 of 2 cells"),
        ({"person": [1], "item": ["a"], "rating": [1]}, "no column 'user'"),
        ({"user": [1, 2], "item": ["a", "A "], "rating": [1, 2]}, "Only case or spaces"),
    ],
)
def test_ratings_that_are_none_are_refused(frame: dict[str, list[object]], reason: str) -> None:
    with pytest.raises(dc.DiscreetError, match=reason):
        spread_ratings(pl.DataFrame(frame))


def test_items_may_be_called_as_columns_are() -> None:
    frame = pl.DataFrame({"user": [1, 2], "item": ["user", "rating"], "rating": [4, 5]})
    assert spread_ratings(frame).columns == ["rating", "user"]


def test_the_command_line_spreads_and_compares_ratings(tmp_path: Path) -> None:
    dc.datasets.ratings_frame(300, 30, seed=4).write_csv(tmp_path / "long.csv")
    made = discreet("ratings", "long.csv", "--to", "wide.parquet", "--json", cwd=tmp_path)
    assert json.loads(made.stdout)["items"] == 30
    asked = ["columns", "wide.parquet", "--similarity", "agreement"]
    found = json.loads(discreet(*asked, "--json", cwd=tmp_path).stdout)
    assert len(found["agreement"]) == 30 and len(found["columns"]["10"]) == 10
    shown = discreet(*asked, "--chart", "heat.svg", cwd=tmp_path).stdout
    assert "goes with" in shown and "and" in shown
    assert "<svg" in (tmp_path / "heat.svg").read_text(encoding="utf-8")
    again = discreet("ratings", "long.csv", "--to", "wide.parquet", cwd=tmp_path)
    assert again.returncode == 2
    wrong = discreet("ratings", "long.csv", "--to", "wide.xls", cwd=tmp_path)
    assert wrong.returncode == 2 and ".parquet or .csv" in wrong.stderr


def test_models_learn_from_records_of_any_type() -> None:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, 400)
    frame = pl.DataFrame(
        {
            "age": pl.Series(age).set(pl.Series(age == 30), None),
            "sex": rng.choice(["f", "m"], 400),
            "retired": pl.Series(age > 64),
        }
    )
    scores = classify(frame.head(300), frame.tail(100), "retired", ("tree", "bayes"))
    assert scores["tree"] > 0.95 and scores["bayes"] > 0.85
    unseen = frame.tail(100).with_columns(sex=pl.lit("x"))
    assert classify(frame.head(300), unseen, "retired", ("bayes",))["bayes"] > 0.85


WITHIN = [
    dc.TCloseness("2/5"), dc.TCloseness("1/3", "ordered"), dc.Variance("7/2"), dc.KE(2, 3),
    dc.DistinctDiversity(2), dc.RecursiveDiversity(2, 2), dc.AlphaK("2/3", 3),
    dc.FrequencyDiversity(2), dc.FrequencyDiversity(2, values={3: 3}),
]  # fmt: skip


@pytest.mark.parametrize("principle", WITHIN, ids=str)
def test_rules_of_parts_make_the_buckets_that_principles_do(
    principle: dc.Principle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What kernels ask of every part of a sensitive column is what the principle says of it."""
    rng = np.random.default_rng(4)
    frame = pl.DataFrame({
        "age": rng.integers(0, 30, 400), "town": rng.choice([*"abcdef"], 400),
        "sex": rng.choice([*"mf"], 400), "pay": rng.integers(0, 9, 400) ** 2 // 9,
    })  # fmt: skip
    data = microdata(frame, ["age", "town", "sex"], ["pay"])
    columns = [["age", "town"], ["sex", "pay"]]
    made = slice_people(data, principle, columns)
    assert made.count > 4
    monkeypatch.setattr(Within, "rules", lambda *_: None)
    asked = slice_people(data, principle, columns)
    assert np.array_equal(made.labels, asked.labels)
