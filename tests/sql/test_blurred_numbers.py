"""Numbers that are blurred, swapped or perturbed are aggregated, alone and as terms."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from math import ceil, floor
from typing import Any

import numpy as np
import polars as pl
import pytest

import discreet as dc
from direct_questions import aggregate, ask, check_inside, write_query, write_term
from discreet.forms.perturbed.randomized_response import RandomizedResponse
from discreet.release.cells import write_positions
from discreet.sql.query import Aggregate, Query
from samples import microdata

Row = dict[str, Any]
SHARES = ("1/2", "1/3", "9/10", "0", "1")


def list_worlds(rows: list[Row], values: Callable[[Row], list[Any]]) -> Iterator[list[Row]]:
    """Every choice of one value per record."""
    for chosen in product(*(values(row) for row in rows)):
        yield [{**row, "x": x} for row, x in zip(rows, chosen, strict=True)]


def list_aggregates(text: str) -> list[Aggregate]:
    term = write_term(text)
    every = [aggregate(f, term, f.lower()) for f in ("COUNT", "SUM", "AVG", "MIN", "MAX")]
    return every + [aggregate("QUANTILE", term, f"q{i}", s) for i, s in enumerate(SHARES)]


def measure(found: list[float], asked: Aggregate) -> tuple[float, float]:
    """An aggregate of one world; a quantile as the two people it lies between."""
    if asked.share is not None:
        place = (len(found) - 1) * asked.share
        ordered = sorted(found)
        return ordered[floor(place)], ordered[ceil(place)]
    called: dict[str, Callable[[list[float]], float]] = {
        "COUNT": len, "SUM": sum, "MIN": min, "MAX": max, "AVG": lambda all_: sum(all_) / len(all_)
    }  # fmt: skip
    return (called[asked.function](found),) * 2


def check_tight(row: Row, worlds: list[list[float]], query: Query, *, averages: bool) -> None:
    """Hold bounds against the outermost that worlds give; AVG only if it claims to be tight."""
    worlds = [list(world) for world in {tuple(sorted(world)) for world in worlds}]
    for asked in query.aggregates:
        lone = asked.function in ("COUNT", "SUM")
        told = [measure(world, asked) for world in worlds if world or lone]
        low, high = row[f"{asked.alias}_low"], row[f"{asked.alias}_high"]
        if not any(worlds):
            assert asked.function == "COUNT" or low is None
            continue
        least, most = min(a for a, _ in told), max(b for _, b in told)
        if asked.share is not None and all(world == worlds[0] for world in worlds):
            least = most = float(np.quantile(worlds[0], float(asked.share)))
        if asked.function == "AVG" and not averages:
            assert low <= least + 1e-9 and most - 1e-9 <= high
            continue
        assert (low, high) == (pytest.approx(least), pytest.approx(most)), asked
        if row[asked.alias] is not None:
            assert low - 1e-9 <= row[asked.alias] <= high + 1e-9


TERMS: dict[str, Callable[[Any], Any]] = {
    "age": lambda x: x,
    "age * age - 4 * age": lambda x: None if x is None else x * x - 4 * x,
    "CASE WHEN age > 2 THEN age END": lambda x: x if x is not None and x > 2 else None,
    "COALESCE(age, 9)": lambda x: 9 if x is None else x,
}
CONDITIONS: dict[str | None, Callable[[Row], bool]] = {
    None: lambda row: True,
    "age <= 3": lambda row: row["x"] is not None and row["x"] <= 3,
    "age % 2 = 0 AND pay > 2": lambda row: (
        row["x"] is not None and row["x"] % 2 == 0 and row["pay"] > 2
    ),
    "age IS NULL OR age >= 4": lambda row: row["x"] is None or row["x"] >= 4,
}


@pytest.mark.parametrize("seed", range(2))
def test_blurred_numbers_are_bounded_as_all_worlds_say(seed: int) -> None:
    """Estimates and errors of counts and sums are the mean and the spread over them."""
    rng = random.Random(seed)
    people = pl.DataFrame(
        {
            "age": [rng.choice([1, 2, 3, 4, 5, None][: 6 - seed % 2]) for _ in range(5)],
            "pay": [rng.randint(0, 5) for _ in range(5)],
        },
        schema={"age": pl.Int64, "pay": pl.Int64},
    )
    age = dc.Attribute("age", dc.Role.QUASI_IDENTIFIER, dc.Type.INTEGER, missing="value")  # type: ignore[arg-type]
    pay = dc.Attribute("pay", dc.Role.SENSITIVE, dc.Type.INTEGER)
    data = dc.read(people, dc.Schema((age, pay)))
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(2)), insecure_seed=1)
    rows = release.tables["generalized"].to_dicts()

    def values(row: Row) -> list[Any]:
        low, high = row["age_low"], row["age_high"]
        known = [] if low is None else list(range(low, high + 1))
        return [*known, *([None] if row.get("age_missing") else [])]

    worlds = list(list_worlds(rows, values))
    for i, (text, term) in enumerate(TERMS.items()):
        for where, meant in list(CONDITIONS.items())[(i + seed) % 2 :: 2]:
            query = write_query(list_aggregates(text), where)
            (row,) = ask(release, query)
            found = [[x for r in world if meant(r) and (x := term(r["x"])) is not None]
                     for world in worlds]  # fmt: skip
            check_tight(row, found, query, averages=True)
            for name, added in (("count", len), ("sum", sum)):
                each = [added(world) for world in found]
                if row[name] is not None:
                    assert row[name] == pytest.approx(np.mean(each))
                    assert row[f"{name}_stderr"] == pytest.approx(np.std(each), abs=1e-6)


def test_the_groups_of_blurred_numbers_are_bounded_as_all_worlds_say() -> None:
    people = pl.DataFrame({"age": [1, 2, 3, 4, 6, 5], "pay": [1, 5, 2, 7, 3, 3]})
    data = microdata(people, ["age"], ["pay"])
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(3)), insecure_seed=1)
    rows = release.tables["generalized"].to_dicts()
    worlds = list(list_worlds(rows, lambda r: list(range(r["age_low"], r["age_high"] + 1))))
    for text, term in (("age", lambda r: r["x"]), ("pay", lambda r: r["pay"])):
        query = write_query(list_aggregates(text), "age <> 3", ("age // 2",))
        for row in ask(release, query):
            group = row[query.group_by[0]]
            inside = [[term(r) for r in world if r["x"] != 3 and r["x"] // 2 == group]
                      for world in worlds]  # fmt: skip
            check_tight(row, inside, query, averages=True)


SWAPPED_TERMS: dict[str, Callable[[int], Any]] = {
    "pay": lambda x: x,
    "pay * pay - 6 * pay": lambda x: x * x - 6 * x,
    "CASE WHEN pay > 2 THEN -pay END": lambda x: -x if x > 2 else None,
}


@pytest.mark.parametrize(
    ("where", "key"), [(None, None), ("pay % 2 = 0", None), ("pay < 6", "pay // 3")]
)
def test_terms_of_swapped_numbers_are_bounded_as_their_windows_say(
    where: str | None, key: str | None
) -> None:
    """Every record may have any number of its window, whatever the others have."""
    people = pl.DataFrame({"age": [1, 2, 3, 4, 5, 6], "pay": [1, 2, 4, 5, 7, 8]})
    data = microdata(people, ["age"], ["pay"])
    release = dc.publish(data, dc.RankSwapping(dc.KE(2, 2)), insecure_seed=2)
    windows = {row["value"]: row for row in release.tables["windows"].to_dicts()}
    rows = release.tables["swapped"].to_dicts()

    def values(row: Row) -> list[int]:
        window = windows[row["pay"]]
        return [value for value in windows if window["low"] <= value <= window["high"]]

    worlds = list(list_worlds(rows, values))
    meant: Callable[[int], bool] = {
        None: lambda x: True, "pay % 2 = 0": lambda x: x % 2 == 0, "pay < 6": lambda x: x < 6
    }[where]  # fmt: skip
    for text, term in SWAPPED_TERMS.items():
        query = write_query(list_aggregates(text), where, () if key is None else (key,))
        for row in ask(release, query):
            group = row[query.group_by[0]] if key else None
            found = [[y for r in world if meant(r["x"]) and (key is None or r["x"] // 3 == group)
                      and (y := term(r["x"])) is not None] for world in worlds]  # fmt: skip
            check_tight(row, found, query, averages=False)


def perturb(release: dc.Release, people: pl.DataFrame, rng: np.random.Generator) -> dc.Release:
    """Draw what is shown once more."""
    (name,) = release.schema.sensitive
    response = RandomizedResponse.read(release)
    drawn = response.low + response.step * rng.integers(0, response.size, people.height)
    kept = rng.random(people.height) < float(response.retention)
    shown = np.where(kept, people[name].to_numpy(), write_positions(drawn, release.schema[name]))
    table = people.select(release.tables["perturbed"].columns).with_columns(pl.Series(name, shown))
    return replace(release, tables={"perturbed": table})


def test_terms_and_groups_of_perturbed_numbers_are_right_on_average_with_their_errors() -> None:
    rng = np.random.default_rng(1)
    people = pl.DataFrame({"age": rng.integers(20, 60, 400), "pay": rng.integers(0, 60, 400)})
    data = microdata(people, ["age"], ["pay"])
    release = dc.publish(data, dc.Perturbation(dc.Proximity(2, 2), within=(0, 59)), insecure_seed=1)
    square, both, age = (write_term(t) for t in ("pay * pay - 900", "pay * (age - 40)", "age"))
    asked = [aggregate("COUNT", None, "n"), aggregate("SUM", square, "s"),
             aggregate("SUM", both, "b"), aggregate("SUM", age, "a")]  # fmt: skip
    query = write_query(asked, "age < 50", ("pay // 20",))
    key = query.group_by[0]
    rounds = [ask(perturb(release, people, rng), query) for _ in range(20)]
    some = people.filter(pl.col("age") < 50).with_columns(
        s=pl.col("pay") ** 2 - 900, b=pl.col("pay") * (pl.col("age") - 40), a=pl.col("age"),
        n=pl.lit(1), k=pl.col("pay") // 20,
    )  # fmt: skip
    for group, (k,) in [(g, name) for name, g in some.group_by("k")]:
        rows = [next(row for row in answer if row[key] == k) for answer in rounds]
        for name in "nsba":
            found = np.array([row[name] for row in rows])
            stated = np.mean([row[f"{name}_stderr"] for row in rows])
            spread = found.std(ddof=1)
            assert abs(found.mean() - group[name].sum()) < 4.5 * spread / np.sqrt(len(rows))
            assert 0.55 < stated / spread < 1.8
            assert all(
                row[f"{name}_low"] <= group[name].sum() <= row[f"{name}_high"] for row in rows
            )
    median = write_query([aggregate("QUANTILE", write_term("pay"), "m", "1/2")])
    found = [ask(perturb(release, people, rng), median)[0]["m"] for _ in range(6)]
    assert abs(np.mean(found) - float(people["pay"].median() or 0)) < 6  # type: ignore[arg-type]


METHODS = {
    "generalized": dc.Generalization(dc.KAnonymity(3)),
    "full-domain": dc.FullDomain(dc.KAnonymity(3)),
    "swapped": dc.RankSwapping(dc.KE(3, 2000)),
    "perturbed": dc.Perturbation(dc.Proximity(1, 2), check="paper"),
}


@pytest.mark.parametrize("case", list(METHODS))
def test_the_truth_is_inside_the_bounds_of_random_questions(case: str) -> None:
    people = dc.datasets.census(150, sensitive=["income"])
    release = dc.publish(people, METHODS[case], insecure_seed=1)
    rng, held = random.Random(7), 0
    texts = ["age", "income", "income / 1000", "age * income", "age * age", "income - 30000",
             "CASE WHEN age < 40 THEN 1 ELSE 0 END", "household * age"]  # fmt: skip
    conditions = ["age < 50", "income > 20000", "income % 2 = 0", "age % 3 = 1",
                  "sex = 'Male' OR age < 40", "age BETWEEN 25 AND 60"]  # fmt: skip
    keys: list[tuple[str, ...]] = [(), ("sex",), ("age // 20",), ("income // 20000", "sex")]
    for _ in range(8):
        some = [write_term(t) for t in rng.sample(texts, 2)]
        asked = [aggregate("COUNT", None, "n")]
        for i in range(3):
            function = rng.choice(["COUNT", "SUM", "AVG", "MIN", "MAX", "QUANTILE"])
            share = rng.choice(SHARES) if function == "QUANTILE" else None
            asked.append(aggregate(function, rng.choice(some), f"a{i}", share))
        where = " AND ".join(f"({c})" for c in rng.sample(conditions, rng.randint(0, 2))) or None
        try:
            held += check_inside(
                release, people.to_polars(), write_query(asked, where, rng.choice(keys))
            )
        except dc.errors.QueryError as refusal:
            assert "quantile" in str(refusal) or "ties" in str(refusal)
    assert held > 30


def test_what_ties_a_blurred_number_to_others_is_refused_with_what_can_be_asked() -> None:
    people = dc.datasets.census(60, sensitive=["income"])
    sums = write_query([aggregate("SUM", write_term("age + income"), "s")])
    for case in ("generalized", "swapped", "perturbed"):
        release = dc.publish(people, METHODS[case], insecure_seed=1)
        with pytest.raises(dc.errors.QueryError, match="ties") as refusal:
            ask(release, sums)
        assert "SUM(a * b)" in str(refusal.value.hint)


def test_postgresql_aggregates_blurred_numbers_alike(postgres: str) -> None:
    people = dc.datasets.census(120, sensitive=["income"])
    for case in ("generalized", "swapped", "perturbed"):
        release = dc.publish(people, METHODS[case], insecure_seed=1)
        for text, where, keys in (
            ("age", "age < 50", ("sex",)),
            ("income * income", "income > 20000", ("income // 20000",)),
            ("age * income", None, ()),
        ):
            asked = list_aggregates(text)
            if case == "perturbed" and "age" in text:
                asked = [a for a in asked if a.share is None]
            query = write_query(asked, where, keys)
            for a, b in zip(ask(release, query), ask(release, query, postgres), strict=True):
                for name, value in a.items():
                    assert value == b[name] or float(value) == pytest.approx(float(b[name])), name
