"""Values that were shuffled within buckets: every aggregate of every side, as all worlds say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from itertools import permutations, product
from random import Random
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
import sqlglot
from sqlglot import exp

import discreet as dc
from discreet.forms import find_form
from discreet.release import Transformation
from discreet.sql.engines import connect
from discreet.sql.query import Aggregate, Query, Term
from samples import microdata
from worlds import shuffles

NAMES = ["a", "b", "s"]
CONDITIONS = ["a > 0", "a <= 1", "b <> 'x'", "s > 0", "s <= 1", "a = 1", "b IN ('x', 'y')", "1 = 1"]
KEYS = ["a", "b", "s", "a % 2", "ABS(s)"]
TERMS = ["a", "s", "a * a", "s + 1", "CASE WHEN s > 0 THEN s END", "b", "a * s"]
METHODS = {
    "slices": dc.Slicing(dc.KAnonymity(2), columns=[["a"], ["b"], ["s"]], buckets=4),
    "two in a slice": dc.Slicing(dc.KAnonymity(2), columns=[["a"], ["b", "s"]], buckets=2),
    "blurred slices": dc.Slicing(
        dc.KAnonymity(2), columns=[["a"], ["b", "s"]], buckets=4, frequency=2
    ),
    "permuted": dc.Permutation(dc.KE(1, 2), objective="groups"),
    "batches": dc.Anatomy(dc.DistinctDiversity(2)),
    "blurred records": dc.Angelization(dc.DistinctDiversity(2), k=2, batches="mondrian"),
}


def read_term(text: str, place: int) -> Term:
    read = sqlglot.parse_one(text, read="duckdb")
    return Term(read.name if isinstance(read, exp.Column) else f"#{place}", read)


def make_query(functions: list[str], terms: list[str], where: list[str], keys: list[str]) -> Query:
    """People counted, and every function of every term that has one."""
    aggregates = [Aggregate("COUNT", None, "n")]
    for i, text in enumerate(terms):
        term = read_term(text, 10 + i)
        for function in functions:
            kind = {"b": ("COUNT", "MIN", "MAX"), "a * s": ("COUNT", "SUM", "AVG")}.get(text)
            if kind is None or function in kind:
                share = Fraction(1, 3) if function == "QUANTILE" else None
                aggregates.append(Aggregate(function, term, f"{function.lower()}_{i}", share))
    condition = sqlglot.parse_one(" AND ".join(where), read="duckdb") if where else None
    return Query(tuple(aggregates), condition, tuple(read_term(k, i) for i, k in enumerate(keys)))


def ask(release: dc.Release, query: Query, engine: str | None = None) -> pl.DataFrame:
    tree, needed = find_form(release.form).rewrite(query, release)
    with closing(connect(release.tables, engine)) as session:
        frame = session.run(session.write(tree, needed))
    names = [*query.group_by, *(name for a in query.aggregates for name in a.names)]
    return frame.rename(dict(zip(frame.columns, names, strict=True)))


def write_plain(query: Query, keys: list[str], by: str = "") -> str:
    """The question as one would ask it of the people themselves."""
    asked = [by] if by else []
    asked += [f'{k} AS "{name}"' for k, name in zip(keys, query.group_by, strict=True)]
    for a in query.aggregates:
        of = "*" if a.term is None else a.term.expression.sql("duckdb")
        call = f"QUANTILE_CONT({of}, 1 / 3)" if a.share else f"{a.function}({of})"
        asked.append(f"{call} AS {a.alias}")
    where = "" if query.where is None else f" WHERE {query.where.sql('duckdb')}"
    return f"SELECT {', '.join(asked)} FROM people{where}" + (" GROUP BY ALL" if by or keys else "")


def list_worlds(release: dc.Release) -> list[list[dict[str, Any]]]:
    """Every table that the release leaves possible, as often as chance makes it."""
    if release.form == "sliced":
        return shuffles(release)
    if release.form == "permuted":
        rows = release.tables["permuted"].rename({"group": "batch"}).to_dicts()
        bags = [(row["batch"], row["s"]) for row in rows]
    else:
        rows = release.tables["generalized"].to_dicts()
        held = release.tables["batches"].select("batch", "s", "count").rows()
        bags = [(batch, s) for batch, s, count in held for _ in range(count)]
    by_batch: dict[int, list[int]] = {}
    for batch, s in bags:
        by_batch.setdefault(batch, []).append(s)
    found = []
    for places in product(*(list(_fill(release, row)) for row in rows)):
        for deals in product(*(permutations(values) for values in by_batch.values())):
            left = {batch: list(deal) for batch, deal in zip(by_batch, deals, strict=True)}
            found.append([{**shown, "s": left[row["batch"]].pop()}
                          for shown, row in zip(places, rows, strict=True)])  # fmt: skip
    return found


def _fill(release: dc.Release, row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    choices = []
    for name in ("a", "b"):
        recoding = release.recodings[name]
        if recoding.transformation is Transformation.INTERVAL:
            choices.append(list(range(row[f"{name}_low"], row[f"{name}_high"] + 1)))
        elif recoding.transformation is Transformation.SET:
            choices.append(list(recoding.labels[row[name]]))
        else:
            choices.append([row[name]])
    for a, b in product(*choices):
        yield {"a": a, "b": b}


@pytest.mark.parametrize("method", list(METHODS))
def test_every_aggregate_of_every_side_by_enumerating_all_worlds(method: str) -> None:
    """COUNT, SUM, MIN and MAX have the tightest bounds there are; means and errors are exact."""
    random, rng = Random(method), np.random.default_rng(len(method))
    functions = ["COUNT", "SUM", "AVG", "MIN", "MAX", "QUANTILE"]
    asked = 0
    while asked < 4:
        frame = pl.DataFrame({
            "a": rng.integers(-1, 3, 4), "b": rng.choice(list("xyz"), 4),
            "s": rng.integers(-2, 4, 4),
        })  # fmt: skip
        try:
            release = dc.publish(microdata(frame, ["a", "b"], ["s"]), METHODS[method],
                                 insecure_seed=asked)  # fmt: skip
        except dc.errors.PromiseError:
            continue
        worlds = list_worlds(release)
        people = pl.DataFrame([{"world": i, **{n: row[n] for n in NAMES}}
                               for i, world in enumerate(worlds) for row in world])  # fmt: skip
        terms = [t for t in TERMS if t != "a * s" or release.form != "sliced"]
        keys = random.sample(KEYS, random.choice([0, 1, 2]))
        where = random.sample(CONDITIONS, random.choice([0, 1, 2, 3]))
        query = make_query(functions, random.sample(terms, 2), where, keys)
        with duckdb.cursor() as plain:
            plain.register("people", people.to_arrow())
            truth = plain.sql(write_plain(query, keys, "world")).pl()
        told = ask(release, query)
        for group in truth.select(query.group_by).unique().rows() if keys else [()]:
            same = [pl.col(name).eq_missing(pl.lit(value))
                    for name, value in zip(query.group_by, group, strict=True)]  # fmt: skip
            here, answer = truth.filter(*same), told.filter(*same).row(0, named=True)
            for aggregate in query.aggregates:
                hold_against(aggregate, answer, here[aggregate.alias], len(worlds))
        asked += 1


def hold_against(
    aggregate: Aggregate, answer: dict[str, Any], found: pl.Series, worlds: int
) -> None:
    estimate, low, high, error = (answer[name] for name in aggregate.names[:4])
    there = found.drop_nulls()
    if aggregate.function in ("COUNT", "SUM"):
        if aggregate.function == "SUM" and there.is_empty():
            assert estimate is None and low is None
            return
        values = np.zeros(worlds)
        values[: len(there)] = there.cast(pl.Float64).to_numpy()
        assert estimate == pytest.approx(values.mean(), abs=1e-9)
        assert error == pytest.approx(values.std(), abs=1e-6)
        if low is not None:  # none of products of what is blurred
            assert (low, high) == (pytest.approx(values.min()), pytest.approx(values.max()))
        return
    if there.is_empty():
        assert low is None and high is None
        return
    least, most = there.min(), there.max()
    if aggregate.function in ("MIN", "MAX"):
        assert (low, high) == (least, most)
    else:
        assert low <= least + 1e-9 and most - 1e-9 <= high  # type: ignore[operator]
        assert low - 1e-9 <= estimate <= high + 1e-9


@pytest.mark.parametrize(
    "method",
    [
        dc.Slicing(dc.FrequencyDiversity(3), frequency=5),
        dc.Angelization(dc.FrequencyDiversity(3), k=5),
        dc.Permutation(dc.KE(4, 500)),
    ],
    ids=lambda method: type(method).__name__,
)
def test_the_truth_lies_within_the_bounds_on_every_engine(method: Any, postgres: str) -> None:
    people = dc.datasets.census(500, sensitive=["income"], seed=2)
    release = dc.publish(people, method, insecure_seed=1)
    random = Random(5)
    conditions = ["age < 45", "income > 30000", "sex = 'male'", "region <> 'R1'", "income < 90000"]
    functions = ["COUNT", "SUM", "AVG", "MIN", "MAX", "QUANTILE"]
    for place in range(12):
        keys = random.sample(["sex", "age % 3", "income > 40000"], random.choice([0, 1, 2]))
        where = random.sample(conditions, random.choice([0, 1, 2]))
        terms = random.sample(["age", "income", "income / 1000", "age * age"], 2)
        query = make_query(functions, terms, where, keys)
        with duckdb.cursor() as plain:
            plain.register("people", people.to_polars().to_arrow())
            truth = plain.sql(write_plain(query, keys)).pl()
        told = ask(release, query)
        for row in truth.rows(named=True):
            same = [pl.col(name).eq_missing(pl.lit(row[name])) for name in query.group_by]
            answer = told.filter(*same).row(0, named=True)
            for a in query.aggregates:
                low, high = answer[f"{a.alias}_low"], answer[f"{a.alias}_high"]
                if row[a.alias] is not None:
                    value = float(row[a.alias])
                    slack = 1e-9 * abs(value)
                    assert low - slack <= value <= high + slack, (a, where, keys)
        if place < 3:
            there = ask(release, query, postgres)
            for one, two in zip(told.rows(), there.rows(), strict=True):
                close = [pytest.approx(cell, rel=1e-6, abs=1e-6) if isinstance(cell, float)
                         else cell for cell in two]  # fmt: skip
                assert list(one) == close


def test_averages_are_bounded_by_their_own_sums_and_counts() -> None:
    """And from the expected average on, so that not even the number of people must be known."""
    people = dc.datasets.census(800, sensitive=["income"])
    release = dc.publish(people, dc.Slicing(dc.FrequencyDiversity(3)), insecure_seed=1)
    asked = "COUNT(*) AS n, SUM(income) AS s, AVG(income) AS a, MIN(income) AS least"
    answer = release.query(f"SELECT {asked} FROM release WHERE age < 50")
    row = answer.frame.row(0, named=True)
    assert row["a_low"] >= max(row["s_low"] / row["n_high"], row["least_low"])
    assert row["a_high"] <= row["s_high"] / row["n_low"]
    assert row["a_stderr"] > 0


def test_what_was_torn_apart_on_purpose_is_not_put_together() -> None:
    people = dc.datasets.census(300, sensitive=["income"])
    columns = [[n for n in people.quasi_identifiers if n != "sex"], ["sex", "income"]]
    release = dc.publish(people, dc.Slicing(dc.FrequencyDiversity(2), columns=columns))
    for query in (
        make_query(["SUM"], ["age * income"], [], []),
        make_query(["COUNT"], [], ["age < income"], []),
        make_query(["COUNT"], [], [], ["age + income"]),
    ):
        with pytest.raises(dc.errors.QueryError, match="age and income are in diff") as refused:
            ask(release, query)
        assert "sex, income" in str(refused.value.hint)
