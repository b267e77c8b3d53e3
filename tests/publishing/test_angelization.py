"""Angelization and anatomy: what is refused, what is asked, what is attacked."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from commands import discreet_here
from discreet.principles.groups import Groups
from discreet.publishing.draws import SeededDraws
from discreet.publishing.method import Method
from discreet.publishing.partitioners.batches import make_batches
from discreet.publishing.partitioners.mondrian import mondrian
from samples import microdata


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: dc.Angelization(dc.KAnonymity(2), k=1), "published as they are"),
        (lambda: dc.Angelization(dc.KAnonymity(2), k=5, exact=True), "published as they are"),
        (lambda: dc.Angelization(dc.KAnonymity(2), marginals=[]), "marginals is empty"),
        (lambda: dc.Angelization(dc.KAnonymity(2), batches="best"), "give one of direct"),
        (lambda: dc.Angelization(dc.KAnonymity(2), categories="x"), "categories"),
        (lambda: dc.Anatomy(dc.KAnonymity(2), batches="best"), "give one of direct"),
    ],
)
def test_methods_that_make_no_sense_are_refused(make: object, message: str) -> None:
    with pytest.raises(dc.DiscreetError, match=message):
        make()  # type: ignore[operator]


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (dc.Angelization(dc.FrequencyDiversity(2), marginals=[["agee"]]), "not a quasi-identifier"),
        (dc.Angelization(dc.FrequencyDiversity(2), marginals=[["pay"]]), "is empty"),
        (dc.Angelization(dc.FrequencyDiversity(2), marginals=[["age"], ["age"]]), "twice"),
        (dc.Angelization(dc.FrequencyDiversity(9)), "cannot be kept"),
        (dc.Angelization(dc.TCloseness(0.3), batches="direct"), "more than different values"),
        (dc.Angelization(dc.Proximity(5, 2)), "cannot be kept"),
        (dc.Anatomy(dc.KAnonymity(2) & dc.FrequencyDiversity(2)), "tell people apart"),
        (dc.Angelization(dc.FrequencyDiversity(2, on="age")), "not sensitive"),
    ],
)
def test_what_a_table_does_not_allow_is_refused(method: Method, message: str) -> None:
    frame = pl.DataFrame({"age": range(20), "pay": [1, 2, 3, 4] * 5})
    data = microdata(frame, ["age"], ["pay"])
    with pytest.raises(dc.DiscreetError, match=message):
        dc.publish(data, method)


def test_sensitive_attributes_and_no_kept_columns() -> None:
    frame = pl.DataFrame({"age": range(20), "pay": [1, 2, 3, 4] * 5, "place": ["a", "b"] * 10})
    method = dc.Angelization(dc.FrequencyDiversity(2), k=2)
    with pytest.raises(dc.DiscreetError, match="no column is sensitive"):
        dc.publish(microdata(frame.select("age"), ["age"], []), method)
    direct = dc.Angelization(dc.FrequencyDiversity(2), k=2, batches="direct")
    with pytest.raises(dc.DiscreetError, match="is for one sensitive attribute: pay, place"):
        dc.publish(microdata(frame, ["age"], ["pay", "place"]), direct)
    schema = dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["pay"], keep=["place"])
    with pytest.raises(dc.DiscreetError, match="no table for it"):
        dc.publish(dc.read(frame, schema), method)
    renamed = dc.publish(microdata(frame.select("pay", Batch="age"), ["Batch"], ["pay"]), method)
    assert renamed.tables["generalized"].columns == ["Batch", "Batch_low", "Batch_high", "batch_"]


values = st.lists(st.integers(0, 5), min_size=4, max_size=24)


@settings(max_examples=60, deadline=None)
@given(values=values, q=st.integers(1, 4), how=st.sampled_from(["direct", "anatomize"]))
def test_small_batches_hold_different_values(values: list[int], q: int, how: str) -> None:
    data = microdata(pl.DataFrame({"age": range(len(values)), "pay": values}), ["age"], ["pay"])
    buckets = mondrian(data, dc.KAnonymity(2))
    draws = SeededDraws(1)
    principle = dc.DistinctDiversity(q)
    if len(values) // q < max(map(values.count, values)):
        with pytest.raises(dc.DiscreetError, match="different values"):
            make_batches(data, principle, how, buckets, draws)  # type: ignore[arg-type]
        return
    batches = make_batches(data, principle, how, buckets, draws)  # type: ignore[arg-type]
    for g in range(batches.count):
        held = data.codes["pay"][batches.rows(g)]
        assert len(held) >= q and len(set(held.tolist())) == len(held)
    assert sorted(batches.order.tolist()) == list(range(len(values)))


NUMBERS = st.lists(st.integers(1, 40), min_size=1, max_size=6)
SIDES = st.sampled_from([0, 3, 7, (2, 5), (6, 0)])


@settings(max_examples=300, deadline=None)
@given(bags=st.lists(NUMBERS, min_size=1, max_size=4), shares=st.lists(st.integers(1, 5)),
       epsilon=SIDES, m=st.integers(1, 3))  # fmt: skip
def test_mixtures_of_bags_with_2m_keep_m(
    bags: list[list[int]], shares: list[int], epsilon: object, m: int
) -> None:
    """The theorem that lets proximity be angelized, by brute force over mixtures."""
    below, above = epsilon if isinstance(epsilon, tuple) else (epsilon, epsilon)
    strict = dc.Proximity(epsilon, m).mixture_safe  # type: ignore[arg-type]
    good = [bag for bag in bags if strict.admits(Groups.of([bag]))[0]]
    weights = (shares + [1] * len(good))[: len(good)]
    total = sum(weights)
    for y in {x for bag in good for x in bag}:
        near = sum(
            Fraction(w, total) * Fraction(sum(y - below <= x <= y + above for x in bag), len(bag))
            for bag, w in zip(good, weights, strict=True)
        )
        assert near <= Fraction(1, m)


@settings(max_examples=25, deadline=None)
@given(
    pays=st.lists(st.integers(1, 60), min_size=8, max_size=20, unique=True),
    relative=st.booleans(),
)
def test_proximity_is_kept_for_everyone(pays: list[int], relative: bool) -> None:
    principle = dc.Proximity(0.2 if relative else 4, 2, relative=relative)
    frame = pl.DataFrame({"age": range(len(pays)), "pay": pays})
    data = microdata(frame, ["age"], ["pay"])
    try:
        release = dc.publish(data, dc.Angelization(principle, k=2), insecure_seed=3)
    except dc.errors.PromiseError:
        return
    report = dc.audit(release, data)
    assert report.kept
    box = release.tables["generalized"]
    held = dict(release.tables["batches"].group_by("batch").agg("pay").iter_rows())
    for label in box["age"].unique():
        mixed = [held[b] for b in box.filter(pl.col("age") == label)["batch"]]
        for y in {x for bag in mixed for x in bag}:
            low, high = (y * 0.8, y * 1.2) if relative else (y - 4, y + 4)
            near = sum(Fraction(sum(low <= x <= high for x in bag), len(bag)) for bag in mixed)
            assert near / len(mixed) <= Fraction(1, 2)


@pytest.fixture(scope="module")
def adult() -> dc.Microdata:
    return dc.datasets.adult(sensitive="occupation").head(6000)


@pytest.fixture(scope="module")
def incomes() -> dc.Microdata:
    data = dc.datasets.census(3000, sensitive="income")
    return dc.read(data.to_polars().select("age", "sex", "education", "income"),
                   data.schema.only(["age", "sex", "education", "income"]))  # fmt: skip


RELEASES = {
    "direct": dc.Angelization(dc.FrequencyDiversity(4), k=8),
    "marginals": dc.Angelization(
        dc.FrequencyDiversity(4), k=8, marginals=[["age", "sex", "education"], ["age"], ["sex"]]
    ),
    "closeness": dc.Angelization(dc.TCloseness(0.4), k=8),
    "anatomy": dc.Anatomy(dc.FrequencyDiversity(4)),
}
ABOUT_WORK = [
    "age < 30", "sex = 'Male' AND occupation = 'Sales'", "age BETWEEN 35 AND 45 OR sex = 'Female'",
    "occupation IN ('Sales', 'Tech-support') AND education <> 'Masters'", "age > 99",
    "NOT occupation LIKE '%a%'", "1 = 1",
]  # fmt: skip


@pytest.mark.parametrize("form", RELEASES)
@pytest.mark.parametrize("predicate", ABOUT_WORK)
@pytest.mark.parametrize("group", ["", "sex", "occupation", "sex, occupation"])
def test_the_truth_lies_within_the_bounds_on_every_engine(
    adult: dc.Microdata, postgres: str, form: str, predicate: str, group: str
) -> None:
    release = dc.publish(adult, RELEASES[form], insecure_seed=1)
    names = group.split(", ") if group else []
    head = f"{group}, " if group else ""
    tail = f" GROUP BY {group}" if group else ""
    question = f"SELECT {head}COUNT(*) AS n, COUNT(occupation) AS m FROM release WHERE {predicate}"
    with duckdb.cursor() as plain:
        plain.register("release", adult.to_polars().to_arrow())
        truth = plain.execute(question + tail).fetchall()
    here = release.query(question + tail)
    rows = {tuple(row[n] for n in names): row for row in here.frame.to_dicts()}
    for expected in truth:
        row = rows[tuple(expected[: len(names)])]
        assert row["n_low"] <= expected[-2] <= row["n_high"]
        assert row["n_low"] <= row["n"] + 1e-9 and row["n"] - 1e-9 <= row["n_high"]
    there = release.query(question + tail, engine=postgres)
    assert there.frame.columns == here.frame.columns
    for one, two in zip(here.frame.rows(), there.frame.rows(), strict=True):
        for a, b in zip(one, two, strict=True):
            assert a == (pytest.approx(b, rel=1e-6, abs=1e-6) if isinstance(b, float) else b)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(
    "predicate", ["age < 40", "income > 20000", "income < 0", "sex = 'male' AND income < 30000"]
)
def test_sums_and_averages_of_batched_numbers(
    incomes: dc.Microdata, postgres: str, exact: bool, predicate: str
) -> None:
    principle = dc.FrequencyDiversity(5)
    method = dc.Anatomy(principle) if exact else dc.Angelization(principle, k=5)
    release = dc.publish(incomes, method, insecure_seed=2)
    question = f"SELECT SUM(income) AS s, AVG(income) AS a FROM release WHERE {predicate}"
    with duckdb.cursor() as plain:
        plain.register("release", incomes.to_polars().to_arrow())
        truth = plain.execute(question).fetchone()
    assert truth is not None
    row = release.query(question).frame.row(0, named=True)
    there = release.query(question, engine=postgres).frame.row(0, named=True)
    for name, value in zip(("s", "a"), truth, strict=True):
        if value is None:
            assert row[name] is None and row[f"{name}_low"] is None
        else:
            assert row[f"{name}_low"] - 1e-6 <= value <= row[f"{name}_high"] + 1e-6
            assert row[f"{name}_low"] - 1e-6 <= row[name] <= row[f"{name}_high"] + 1e-6
    for name, value in row.items():
        close = pytest.approx(there[name], rel=1e-6) if value is not None else None
        assert value == close


def worlds(release: dc.Release) -> Iterator[list[tuple[int, int]]]:
    """Every way the records can be: a place in their box, and a value of their batch."""
    records = release.tables["generalized"].to_dicts()
    held = {
        batch: [v for v, c in zip(part["pay"], part["count"], strict=True) for _ in range(c)]
        for (batch,), part in release.tables["batches"].group_by("batch", maintain_order=True)
    }
    ages = [range(r["age_low"], r["age_high"] + 1) for r in records]
    for places in product(*ages):
        for deals in product(*(permutations(values) for values in held.values())):
            left = {batch: list(values) for batch, values in zip(held, deals, strict=True)}
            yield [(age, left[r["batch"]].pop()) for age, r in zip(places, records, strict=True)]


@settings(max_examples=20, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(1, 3), st.integers(-3, 4)), min_size=2, max_size=5),
    predicate=st.sampled_from(
        ["age <= 2", "age = 1 AND pay > 0", "pay < 2", "age > 1 AND pay <> 1"]
    ),
)
def test_bounds_means_and_errors_by_enumerating_all_worlds(
    rows: list[tuple[int, int]], predicate: str
) -> None:
    data = microdata(pl.DataFrame(rows, schema=["age", "pay"], orient="row"), ["age"], ["pay"])
    try:
        method = dc.Angelization(dc.DistinctDiversity(2), k=2, batches="mondrian")
        release = dc.publish(data, method, insecure_seed=1)
    except dc.errors.PromiseError:
        return
    meant = {
        "age <= 2": lambda age, pay: age <= 2,
        "age = 1 AND pay > 0": lambda age, pay: age == 1 and pay > 0,
        "pay < 2": lambda age, pay: pay < 2,
        "age > 1 AND pay <> 1": lambda age, pay: age > 1 and pay != 1,
    }[predicate]
    hits = [[pay for age, pay in world if meant(age, pay)] for world in worlds(release)]
    answer = release.query(
        f"SELECT COUNT(*), SUM(pay), AVG(pay) FROM release WHERE {predicate}"
    ).frame.row(0, named=True)
    counts, sums = [len(h) for h in hits], [sum(h) for h in hits]
    assert (answer["count_low"], answer["count_high"]) == (min(counts), max(counts))
    assert answer["count"] == pytest.approx(np.mean(counts))
    assert answer["count_stderr"] == pytest.approx(np.std(counts), abs=1e-6)
    if max(counts) == 0:
        assert answer["sum_pay"] is None and answer["avg_pay_low"] is None
        return
    assert (answer["sum_pay_low"], answer["sum_pay_high"]) == (min(sums), max(sums))
    assert answer["sum_pay"] == pytest.approx(np.mean(sums), abs=1e-9)
    assert answer["sum_pay_stderr"] == pytest.approx(np.std(sums), abs=1e-6)
    means = [np.mean(h) for h in hits if h]
    assert answer["avg_pay_low"] <= min(means) + 1e-9
    assert max(means) - 1e-9 <= answer["avg_pay_high"]


def test_the_answer_says_which_table_was_asked(adult: dc.Microdata) -> None:
    release = dc.publish(adult, RELEASES["marginals"], insecure_seed=1)
    for predicate, table in (
        ("age > 30", "generalized_2"),
        ("sex = 'Male'", "generalized_3"),
        ("age > 30 AND sex = 'Male'", "generalized"),
    ):
        for sold, tables in (("", [table]), (" AND occupation = 'Sales'", [table, "batches"])):
            answer = release.query(f"SELECT COUNT(*) FROM release WHERE {predicate}{sold}")
            assert answer.tables == tables
    for question, message in (
        ("SELECT COUNT(*) FROM release WHERE race = 'White'", "no column 'race'"),
        ("SELECT COUNT(*) FROM release WHERE age > 30 OR occupation = 'Sales'", "ties"),
        ("SELECT COUNT(*) FROM release WHERE age > LENGTH(occupation)", "not known whose"),
    ):
        with pytest.raises(dc.errors.QueryError, match=message):
            release.query(question)
    apart = dc.publish(
        adult, replace(RELEASES["marginals"], marginals=[["age"], ["sex"]]), insecure_seed=1
    )
    with pytest.raises(dc.errors.QueryError, match="shows age, sex together"):
        apart.query("SELECT COUNT(*) FROM release WHERE age > 30 AND sex = 'Male'")


def test_every_table_has_the_same_batches_and_the_whole_domain_counts_everybody(
    adult: dc.Microdata,
) -> None:
    for method in RELEASES.values():
        release = dc.publish(adult, method, insecure_seed=1)
        sizes = release.tables["batches"].group_by("batch").agg(pl.col("count").sum()).sort("batch")
        for title, table in release.tables.items():
            if title != "batches":
                assert table["batch"].value_counts().sort("batch")["count"].to_list() == (
                    sizes["count"].to_list()
                )
        answer = release.query("SELECT COUNT(*) FROM release")
        assert answer.low == answer.high == answer.estimate == adult.n


def test_batches_are_drawn_and_their_numbers_carry_no_order_of_values(adult: dc.Microdata) -> None:
    one, two = (dc.publish(adult, RELEASES["direct"]).tables["batches"] for _ in "ab")
    assert not one.equals(two)
    sizes = one.group_by("batch", maintain_order=True).agg("occupation")
    first = [values[0] for values in sizes["occupation"].to_list()]
    assert first != sorted(first)


@pytest.mark.parametrize("change", ["count", "batch", "value", "column", "table"])
def test_tampering_is_noticed(adult: dc.Microdata, tmp_path: Path, change: str) -> None:
    release = dc.publish(adult.head(400), RELEASES["direct"], insecure_seed=1)
    batches, boxes = release.tables["batches"], release.tables["generalized"]
    first = pl.int_range(pl.len()) == 0
    elsewhere = pl.when(first).then(pl.lit(99_999)).otherwise("batch")
    tables = {
        "count": {"batches": batches.with_columns(count=pl.when(first).then(9).otherwise("count"))},
        "batch": {"generalized": boxes.with_columns(batch=elsewhere)},
        "value": {"batches": batches.with_columns(occupation=pl.lit("Sales"))},
        "column": {"generalized": boxes.with_columns(name=pl.lit("Alan"))},
        "table": {"more": boxes},
    }[change]  # fmt: skip
    with pytest.raises(dc.DiscreetError):
        replace(release, tables={**release.tables, **tables}).write(tmp_path / "r", insecure=True)


def test_a_plan_can_ask_for_it_and_the_command_line_answers(
    adult: dc.Microdata, tmp_path: Path
) -> None:
    adult.head(600).to_polars().select("age", "sex", "race", "occupation").write_csv(
        tmp_path / "people.csv"
    )

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return discreet_here(*arguments, cwd=tmp_path)

    columns = "".join(
        f'[columns."{name}"]\nrole = "{role}"\ntype = "{kind}"\n'
        for name, role, kind in (
            ("age", "quasi-identifier", "integer"), ("sex", "quasi-identifier", "category"),
            ("race", "quasi-identifier", "category"), ("occupation", "sensitive", "category"),
        )
    )  # fmt: skip
    head = f'[source]\nfile = "people.csv"\n{columns}[method]\nname = "angelization"\nk = 4\n'
    rest = '[[method.principles]]\nname = "frequency-diversity"\nl = 3\n[release]\nfolder = "r"\n'
    plan = tmp_path / "p.toml"
    plan.write_text(f'{head}marginals = [["age", "sex"], ["race"]]\n{rest}')
    published = run("publish", "p.toml")
    assert published.returncode == 0, published.stderr
    assert "All tables together" in published.stdout
    answered = run("query", "r", "SELECT race, COUNT(*) FROM release GROUP BY race")
    assert "From generalized_2." in answered.stdout  # whose values are whose was not asked
    audited = run("audit", "r", "--microdata", "people.csv", "--attacks", "--report", "a.html")
    assert audited.returncode == 0 and "deFinetti" in audited.stdout
    assert "Attacks that go beyond the promise" in (tmp_path / "a.html").read_text()
    plan.write_text(f'{head}marginals = [["agee"]]\n{rest}')
    refused = run("publish", "p.toml", "--out", "other")
    assert refused.returncode == 2 and "Did you mean 'age'" in refused.stderr
    assert not (tmp_path / "other").exists()


def test_near_values_are_kept_apart_even_where_equal_ones_are_most() -> None:
    pays = [1000] * 9 + list(range(1, 10)) + [2000 * i for i in range(2, 20)]
    data = microdata(pl.DataFrame({"age": range(36), "pay": pays}), ["age"], ["pay"])
    for method in (dc.Anatomy(dc.Proximity(9, m=2)), dc.Angelization(dc.Proximity(9, m=2), k=2)):
        assert dc.audit(dc.publish(data, method, insecure_seed=1), data).kept


@pytest.mark.parametrize("principle", [dc.AlphaK(0.5, 50), dc.KAnonymity(50)])
def test_look_alikes_that_a_principle_promises_are_in_every_box(
    adult: dc.Microdata, principle: dc.Principle
) -> None:
    release = dc.publish(
        adult, dc.Angelization(principle, k=2, batches="mondrian"), insecure_seed=1
    )
    report = dc.audit(release, adult)
    assert report.kept
    assert report.identity.smallest >= 50
    with pytest.raises(dc.errors.PromiseError, match="tell people apart"):
        dc.publish(adult, dc.Anatomy(principle))
    small = dc.publish(adult, dc.Angelization(dc.FrequencyDiversity(2), k=5, batches="mondrian"))
    assert dc.audit(small, adult, principle=principle).breaches > 0


def test_records_moved_to_batches_that_cannot_be_theirs_are_noticed() -> None:
    frame = pl.DataFrame({"x": [1, 1, 1, 9, 9, 9], "s": list("aaabbb")})
    data = microdata(frame, ["x"], ["s"])
    release = dc.publish(data, dc.Angelization(dc.FrequencyDiversity(2), k=3), insecure_seed=1)
    assert dc.audit(release, data).kept
    moved = release.tables["generalized"].with_columns(
        pl.Series("batch", [0, 0, 1, 1, 2, 2], dtype=pl.Int32)
    )
    found = dc.audit(replace(release, tables={**release.tables, "generalized": moved}), data)
    assert "not those of the people" in str(found.problems)


@settings(max_examples=80, deadline=None)
@given(
    people=st.lists(st.integers(0, 2), min_size=3, max_size=3),
    room=st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), min_size=3, max_size=3),
    seed=st.integers(0, 99),
)
def test_whether_people_fit_into_batches_by_trying_all(
    people: list[int], room: list[list[int]], seed: int
) -> None:
    from discreet.kernels.flow import fits

    values = [v for v, count in enumerate(people) for _ in range(count)]
    need = np.bincount(np.random.default_rng(seed).integers(0, 3, len(values)), minlength=3)
    records = np.repeat(np.arange(3), need).tolist()
    possible = any(
        all(sum(1 for v, b in zip(values, order, strict=True) if (v, b) == (x, y)) <= room[x][y]
            for x in range(3) for y in range(3))
        for order in set(permutations(records))
    )  # fmt: skip
    assert fits(np.array(people), need, np.array(room)) == possible


@pytest.mark.parametrize("title", ["generalized", "batches"])
def test_rows_in_another_order_than_they_show_are_refused(
    adult: dc.Microdata, tmp_path: Path, title: str
) -> None:
    """The order of people, the same in two tables, would link them row by row."""
    for form in ("marginals", "anatomy"):
        release = dc.publish(adult.head(300), RELEASES[form], insecure_seed=1)
        mixed = release.tables[title].sample(fraction=1, shuffle=True, seed=1)
        with pytest.raises(dc.DiscreetError, match="order"):
            replace(release, tables={**release.tables, title: mixed}).write(
                tmp_path / form, insecure=True
            )


def test_a_declared_attribute_that_no_table_shows_is_refused(adult: dc.Microdata) -> None:
    method = dc.Angelization(dc.FrequencyDiversity(2), k=4, marginals=[["age"], ["sex"]])
    release = dc.publish(adult, method, insecure_seed=1)
    tables = {name: t for name, t in release.tables.items() if name != "generalized_2"}
    with pytest.raises(dc.DiscreetError, match="No table shows 'sex'"):
        dc.audit(replace(release, tables=tables), adult)


@pytest.mark.parametrize("marginals", [[1], 5, [[1]], "age"])
def test_marginals_that_are_no_lists_of_names_are_refused(marginals: object) -> None:
    with pytest.raises(dc.DiscreetError, match="list of lists"):
        dc.Angelization(dc.FrequencyDiversity(2), marginals=marginals)  # type: ignore[arg-type]


@settings(max_examples=12, deadline=None)
@given(rows=st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3), st.sampled_from("ab")),
                     min_size=4, max_size=6))  # fmt: skip
def test_several_tables_together_are_believed_no_more_than_the_audit_says(
    rows: list[tuple[int, int, str]],
) -> None:
    """All worlds that agree with both tables, everybody's quasi-identifiers known."""
    data = microdata(pl.DataFrame(rows, schema=["x", "y", "s"], orient="row"), ["x", "y"], ["s"])
    try:
        release = dc.publish(
            data,
            dc.Angelization(dc.FrequencyDiversity(2), k=2, marginals=[["x"], ["y"]]),
            insecure_seed=1,
        )
    except dc.errors.PromiseError:
        return
    held = {
        batch: sorted(v for v, c in zip(part["s"], part["count"], strict=True) for _ in range(c))
        for (batch,), part in release.tables["batches"].group_by("batch")
    }
    agreeing: set[tuple[int, ...]] | None = None
    for title, name in (("generalized", "x"), ("generalized_2", "y")):
        records = release.tables[title].to_dicts()
        own = data.to_polars()[name].to_list()
        found = {
            tuple(records[r]["batch"] for r in order)
            for order in permutations(range(len(own)))
            if all(records[r][f"{name}_low"] <= v <= records[r][f"{name}_high"]
                   for v, r in zip(own, order, strict=True))
        }  # fmt: skip
        agreeing = found if agreeing is None else agreeing & found
    tally = [{"a": 0, "b": 0} for _ in rows]
    worlds = 0
    for assignment in agreeing or ():
        for deal in product(*(permutations(values) for values in held.values())):
            left = {batch: list(values) for batch, values in zip(held, deal, strict=True)}
            worlds += 1
            for person, batch in enumerate(assignment):
                tally[person][left[batch].pop()] += 1
    report = dc.audit(release, data)
    for person, counts in enumerate(tally):
        assert max(counts.values()) / worlds <= report.beliefs["s"][person] + 1e-12
    assert report.worst is not None
    assert report.worst <= Fraction(1, 2)


def test_a_principle_whose_mixtures_need_not_keep_it_is_refused() -> None:
    """By what it declares, not by what it is."""

    class Odd(dc.KAnonymity):
        monotone = False

    frame = pl.DataFrame({"age": range(20), "pay": [1, 2, 3, 4] * 5})
    with pytest.raises(dc.errors.PromiseError, match="not monotone"):
        dc.publish(microdata(frame, ["age"], ["pay"]), dc.Angelization(Odd(2), k=2))
