"""Attributes in some columns of a sliced table, held against every way to put pieces together."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.forms import find_form
from discreet.forms.bounding import bound_count, bound_sum
from discreet.forms.verify import verify
from oracles.all_worlds import count_worlds
from oracles.pieces import read_pieces
from questions import Drawer, draw_people, find_wrong, open_truth
from samples import microdata, reseal
from worlds import shuffles

Row = dict[str, Any]
SHAPES = [
    [["a", "x"], ["x", "b"], ["s"]],
    [["a", "x"], ["b"], ["x", "s"]],
    [["a"], ["x", "b"], ["x", "s"]],
]
EACH = pytest.mark.parametrize("columns", SHAPES)


def table_1a() -> dc.Microdata:
    """Slicing, Table 1a."""
    frame = pl.DataFrame({
        "age": [22, 22, 33, 52, 54, 60, 60, 64], "sex": list("MFFFMMMF"),
        "zip": [47906, 47906, 47905, 47905, 47302, 47302, 47304, 47304],
        "disease": ["dyspepsia", "flu", "flu", "bronchitis",
                    "flu", "dyspepsia", "dyspepsia", "gastritis"],
    })  # fmt: skip
    return microdata(frame, ["age", "sex", "zip"], ["disease"])


@cache
def slice_paper() -> dc.Release:
    """Table 1f, but with sex beside age and beside zip, and diseases by themselves."""
    columns = [["age", "sex"], ["sex", "zip"], ["disease"]]
    promise = dc.FrequencyDiversity(2) & dc.KAnonymity(4)
    return dc.publish(table_1a(), dc.Slicing(promise, columns=columns))


def draw(seed: int, columns: list[list[str]], *, missing: bool = False) -> dc.Release | None:
    """Slice four people at random: into one bucket, or two."""
    rng = np.random.default_rng(seed)
    sexes = ["F", "M", None] if missing else ["F", "M"]
    frame = pl.DataFrame({
        "a": rng.integers(0, 3, 4), "x": pl.Series(rng.choice(sexes, 4).tolist(), dtype=pl.String),
        "b": rng.integers(0, 3, 4), "s": rng.integers(-2, 3, 4),
    })  # fmt: skip
    size = int(rng.choice([2, 4]))
    method = dc.Slicing(dc.KAnonymity(size), columns=columns, buckets=size)
    try:
        return dc.publish(microdata(frame, ["a", "x", "b"], ["s"]), method, insecure_seed=seed)
    except dc.errors.PromiseError:
        return None


def test_the_papers_table_is_in_rows_that_agree() -> None:
    rows = slice_paper().tables["sliced"].filter(pl.col("bucket") == 0).rows()
    assert [row[1:4] for row in rows] == [
        (22, "F", 47905), (33, "F", 47905), (52, "F", 47906), (22, "M", 47906),
    ]  # fmt: skip
    assert sorted(row[4] for row in rows) == ["bronchitis", "dyspepsia", "flu", "flu"]


@pytest.mark.parametrize(
    ("where", "estimate", "low", "high"),
    [
        ("age = 22 AND zip = 47906", 4 / 3, 1, 2),  # the man for sure, one of three women
        ("age = 22 AND zip = 47906 AND sex = 'M'", 1, 1, 1),
        ("sex = 'F' AND zip = 47905", 2, 2, 2),
        ("age = 33 AND zip = 47905 AND disease = 'flu'", 1 / 3, 0, 1),
        ("sex = 'F' AND disease = 'flu'", 7 / 4, 1, 3),
    ],
)
def test_what_agrees_answers_more_closely(where: str, estimate: float, low: int, high: int) -> None:
    answer = slice_paper().query(f"SELECT COUNT(*) FROM release WHERE {where}")
    assert (answer.estimate, answer.low, answer.high) == (pytest.approx(estimate), low, high)


def run(release: dc.Release, sql: str) -> list[tuple[Any, ...]]:
    """Run a statement over the published table."""
    with duckdb.cursor() as database:
        database.register("sliced", release.tables["sliced"].to_arrow())
        return database.execute(sql).fetchall()


CONDITIONS: dict[str, Callable[[Row], bool]] = {
    "a > 0 AND b = 1": lambda r: r["a"] > 0 and r["b"] == 1,
    "a < 2 AND b >= 1 AND s > -1": lambda r: r["a"] < 2 and r["b"] >= 1 and r["s"] > -1,
    "x = 'F' AND b < 2": lambda r: r["x"] == "F" and r["b"] < 2,
    "x = 'M' AND a < 2 AND s > -2": lambda r: r["x"] == "M" and r["a"] < 2 and r["s"] > -2,
    "x IS NULL AND s < 2": lambda r: r["x"] is None and r["s"] < 2,
}


@EACH
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 10**6), missing=st.booleans())
def test_answers_are_those_of_all_linkings_that_agree(
    columns: list[list[str]], seed: int, missing: bool
) -> None:
    """Mean, spread and bounds, also of sums of what one column shows and others choose."""
    release = draw(seed, columns, missing=missing)
    if release is None:
        return
    worlds = shuffles(release)
    with release.prepare() as prepared:
        for (where, takes), name in product(CONDITIONS.items(), "abs"):
            sql = f"SELECT COUNT(*) n, SUM({name}) t, AVG({name}) v FROM release WHERE {where}"
            row = prepared.query(sql).frame.row(0, named=True)
            taken = [[r[name] for r in world if takes(r)] for world in worlds]
            counts = np.array([len(t) for t in taken], dtype=float)
            sums = np.array([sum(t) for t in taken], dtype=float)
            assert row["n"] == pytest.approx(counts.mean())
            assert (row["n_low"], row["n_high"]) == (counts.min(), counts.max())
            assert row["n_stderr"] == pytest.approx(counts.std(), abs=1e-6)
            if row["t"] is None:
                assert not counts.any()
                continue
            assert row["t"] == pytest.approx(sums.mean(), abs=1e-9)
            assert row["t_low"] <= sums.min() and sums.max() <= row["t_high"]
            assert row["t_stderr"] == pytest.approx(sums.std(), abs=1e-6)
            averages = [np.mean(t) for t in taken if t]
            assert row["v_low"] <= min(averages) + 1e-9 and max(averages) - 1e-9 <= row["v_high"]


@EACH
@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 10**6), missing=st.booleans())
def test_every_distribution_is_that_of_all_linkings_that_agree(
    columns: list[list[str]], seed: int, missing: bool
) -> None:
    """Groups, what is rebuilt, what is possible, what is expected, and what is drawn."""
    release = draw(seed, columns, missing=missing)
    if release is None:
        return
    worlds, form = shuffles(release), find_form(release.form)
    for names in ["axbs", "ab", "xs", "as", "bs", "abs", "x"]:
        wanted = Counter(tuple(r[n] for n in names) for world in worlds for r in world)
        shares = {key: count / len(worlds) / 4 for key, count in wanted.items()}
        rebuilt = {row[:-1]: row[-1] for row in release.reconstruct([*names]).rows()}
        assert rebuilt == pytest.approx(shares)
        possible = form.list_possible(release, [*names])
        weights = Counter[tuple[Any, ...]]()
        for key, weight in zip(
            possible.table.select([*names]).rows(), possible.weights, strict=True
        ):
            weights[key] += int(weight) / int(possible.weights.sum())
        assert weights == pytest.approx(shares)
        tree, _ = form.expect(release, [*names])
        expected = Counter[tuple[Any, ...]]()
        for *key, weight in run(release, tree.sql("duckdb")):
            expected[tuple(key)] += weight / 4
        assert expected == pytest.approx(shares)
        drawn = form.open_records(release, [*names]).draw(np.random.default_rng(seed))
        assert set(drawn.rows()) <= set(shares)
    assert set(release.sample(200, seed=1).select("a", "x", "b", "s").rows()) <= {
        tuple(r[n] for n in "axbs") for world in worlds for r in world
    }


@EACH
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_pairs_bound_whatever_condition_in_all_linkings_that_agree(
    columns: list[list[str]], seed: int
) -> None:
    release = draw(seed, columns)
    if release is None:
        return
    form, worlds = find_form(release.form), shuffles(release)
    for names, condition, takes in [
        ("ab", "a = b", lambda r: r["a"] == r["b"]),
        ("bs", "b < s + 1", lambda r: r["b"] < r["s"] + 1),
    ]:
        pairs, _ = form.expect(release, [*names], paired=True)
        trees = [bound_count(pairs, "weight"), bound_sum(pairs, "weight")]
        for tree, measure in zip(trees, ["1", "b"], strict=True):
            text = tree.sql("duckdb").replace('"#condition"', condition)
            ((_, low, high),) = run(release, text.replace('"#measure"', measure))
            truths = [sum(eval(measure, {}, r) for r in world if takes(r)) for world in worlds]
            assert (low or 0) <= min(truths) and max(truths) <= (high or 0)


@EACH
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(2, 4))
def test_fakes_are_combinations_that_agree_and_nobody_has(
    columns: list[list[str]], seed: int, size: int
) -> None:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({name: rng.integers(0, 3, 7) for name in "axbs"})
    data = microdata(frame, ["a", "x", "b"], ["s"])
    method = dc.Slicing(dc.KAnonymity(size), columns=columns, buckets=size)
    try:
        release = dc.publish(data, method, insecure_seed=seed)
    except dc.errors.PromiseError:
        return
    found = set()
    for _, bucket in release.tables["sliced"].group_by("bucket"):
        for pieces in product(*(bucket.select(c).unique().rows(named=True) for c in columns)):
            cells = {item for piece in pieces for item in piece.items()}
            if len(cells) == 4:  # no attribute has two values
                found.add(tuple(sorted(cells)))
    people = {tuple(sorted(row.items())) for row in frame.rows(named=True)}
    counted = dc.audit(release, data).membership.fakes
    assert counted.exact and counted.fakes == len(found - people)


def test_random_questions_have_the_truth_inside_their_bounds() -> None:
    answered = 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        people = draw_people(rng, 80)
        first, shared, *rest = people.quasi_identifiers
        half = len(rest) // 2
        columns = [[first, shared], [shared, *rest[:half]], [*rest[half:], "wage"]]
        method = dc.Slicing(dc.KAnonymity(4), columns=columns, buckets=8)
        release = dc.publish(people, method, insecure_seed=1)
        drawer = Drawer(rng, people.public_schema.names)
        with open_truth(people) as database, release.prepare() as prepared:
            for _ in range(15):
                sql = drawer.draw()
                wrong = find_wrong(prepared, database, sql)
                assert not wrong, (sql, wrong)
                answered += wrong is not None
    assert answered >= 15


def test_whoever_knows_the_attribute_believes_what_stands_beside_it() -> None:
    """Sex beside the disease as well: of two women with one disease, each has it for certain."""
    frame = pl.DataFrame({
        "age": [20, 30, 40, 50], "sex": list("FFMM"), "zip": [1, 2, 3, 4],
        "ill": ["flu", "flu", "flu", "cold"],
    })  # fmt: skip
    data = microdata(frame, ["age", "sex", "zip"], ["ill"])
    apart = [["age", "sex"], ["sex", "zip"], ["ill"]]
    beside = [["age", "sex"], ["zip"], ["sex", "ill"]]
    for columns, most in ((apart, 3 / 4), (beside, 1)):
        release = dc.publish(data, dc.Slicing(dc.KAnonymity(4), columns=columns))
        worlds = count_worlds(4, [read_pieces(release, frame.rows(named=True))])
        assert max(max(belief.values()) for belief in worlds.believe("ill")) == most
        assert dc.audit(release, data).worst == most
    with pytest.raises(dc.errors.PromiseError, match="of people with sex = F"):
        dc.publish(data, dc.Slicing(dc.FrequencyDiversity("4/3"), columns=beside))
    dc.publish(data, dc.Slicing(dc.FrequencyDiversity("4/3"), columns=apart))


def test_it_is_stored_verified_and_refused_if_columns_do_not_fit(tmp_path: Path) -> None:
    release = dc.load(slice_paper().write(tmp_path / "r", insecure=True))
    assert release.parameters["columns"] == [["age", "sex"], ["sex", "zip"], ["disease"]]
    verify(release)
    report = dc.audit(release, table_1a())
    assert report.problems == [] and report.findings == []
    assert "belong together only if they show the same sex" in str(release.about)
    manifest = (tmp_path / "r" / "datapackage.json").read_text(encoding="utf-8")
    for forged in (
        [["age", "sex"], ["sex", "zip"], ["zip", "disease"]],
        [["age", "sex", "disease"], ["sex", "zip"], ["disease"]],
        [["age", "sex", "sex"], ["zip"], ["disease"]],
    ):
        told = json.dumps(release.parameters["columns"])
        document = json.loads(manifest)
        text = json.dumps(document).replace(told, json.dumps(forged))
        assert text != json.dumps(document)
        (tmp_path / "r" / "datapackage.json").write_text(text, encoding="utf-8")
        with pytest.raises(dc.errors.StoreError, match="which attributes stand together"):
            verify(dc.load(reseal(tmp_path / "r")))


@pytest.mark.parametrize(
    ("listed", "kept"),
    [
        ([["age", "sex"], ["sex"], ["zip", "disease"]], [["age", "sex"], ["zip", "disease"]]),
        ([["age", "sex"], ["sex", "age"], ["zip"], ["disease"]],
         [["age", "sex"], ["zip"], ["disease"]]),
        ([["sex"], ["age", "sex"], ["zip"], ["sex", "disease"]],
         [["age", "sex"], ["zip"], ["sex", "disease"]]),
    ],
)  # fmt: skip
def test_a_column_that_another_holds_adds_nothing(
    listed: list[list[str]], kept: list[list[str]]
) -> None:
    release = dc.publish(table_1a(), dc.Slicing(dc.KAnonymity(4), columns=listed))
    assert release.parameters["columns"] == kept


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"frequency": 2}, "frequency = 2 is not kept where columns share 'sex'"),
        ({"check": "paper"}, "does not cover attributes in several columns"),
    ],
)
def test_what_is_not_known_of_shared_attributes_is_refused(
    asked: dict[str, Any], reason: str
) -> None:
    columns = [["age", "sex"], ["sex", "zip"], ["disease"]]
    method = dc.Slicing(dc.FrequencyDiversity(2), columns=columns, **asked)
    with pytest.raises(dc.errors.SchemaError, match=reason):
        dc.publish(table_1a(), method)


def test_whoever_does_not_know_what_is_shared_is_not_told_people_apart() -> None:
    """Zip stands beside the sex, and a disease beside it: neither says nothing of the other."""
    release = slice_paper()
    form = find_form(release.form)
    with pytest.raises(dc.errors.StoreError, match="What agrees in several columns is not known"):
        form.leave_out(release, ["sex"])
    assert form.leave_out(release, ["zip"]).parameters["columns"] == [
        ["age", "sex"], ["sex"], ["disease"],
    ]  # fmt: skip
    left = form.leave_out(form.leave_out(release, ["zip"]), ["sex"])
    assert left.parameters["columns"] == [["age"], ["disease"]]


def test_postgresql_answers_as_duckdb_does(postgres: str) -> None:
    """Of what shares an attribute and what does not at once, for everybody with a missing value."""
    release = draw(5, SHAPES[0], missing=True)
    assert release is not None
    for what in ("COUNT(*)", "SUM(a)", "AVG(s)"):
        sql = f"SELECT {what} AS n FROM release WHERE a < 2 AND b >= 0 AND s > -2"
        here, there = (release.query(sql, engine=engine).frame for engine in (None, postgres))
        for name in here.columns:
            assert there[name].to_list() == pytest.approx(here[name].to_list())
