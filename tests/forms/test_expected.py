"""Bounds of whatever condition: held against all worlds that a small release leaves possible."""

from __future__ import annotations

from itertools import permutations, product

import duckdb
import polars as pl
import pytest

import discreet as dc
from discreet.forms import find_form
from discreet.forms.bounding import bound_count, bound_sum
from discreet.forms.expected import expect
from samples import microdata

CONDITIONS = ["age < 40", "pay > 2", "age < 40 AND pay > 2", "age < 40 OR pay > 2",
              "age = 20 + 10 * pay", "age > 30 AND pay <> age / 10", "1 = 0"]  # fmt: skip
FRAME = pl.DataFrame({"age": [20, 30, 40, 50, 60, 70], "pay": [1, -2, 3, 4, 2, 5]})


@pytest.mark.parametrize("condition", CONDITIONS)
def test_bounds_hold_in_every_world_of_groups(condition: str) -> None:
    """Also where a condition ties people to values, which questions refuse."""
    release = dc.publish(microdata(FRAME, ["age"], ["pay"]), dc.Permutation(dc.KE(3, 1)))
    groups = [part for _, part in release.tables["permuted"].group_by("group")]
    worlds = []
    with duckdb.cursor() as database:
        for deal in product(*(permutations(part["pay"]) for part in groups)):
            pays = pl.Series([pay for part in deal for pay in part])
            database.register("world", pl.concat(groups).with_columns(pay=pays).to_arrow())
            counted = "COUNT(*), COALESCE(SUM(pay), 0), COALESCE(SUM(age), 0)"
            worlds += database.execute(f"SELECT {counted} FROM world WHERE {condition}").fetchall()
        database.register("permuted", release.tables["permuted"].to_arrow())
        pairs, _ = find_form("permuted").expect(release, ["age", "pay"], paired=True)
        for place, measure in enumerate([None, "pay", "age"]):
            tree = bound_count(pairs, "weight") if measure is None else bound_sum(pairs, "weight")
            text = tree.sql("duckdb").replace('"#condition"', condition)
            (found,) = database.execute(text.replace('"#measure"', str(measure))).fetchall()
            estimate, low, high = (end or 0 for end in found)
            truths = [world[place] for world in worlds]
            assert estimate == pytest.approx(sum(truths) / len(truths))
            assert low <= min(truths) and max(truths) <= high
            if measure is None and " OR " not in condition and "*" not in condition:
                assert (low, high) == (min(truths), max(truths))


def test_what_cannot_be_listed_is_refused_with_the_reason() -> None:
    people = dc.datasets.census(300, sensitive=["income"])
    perturbed = dc.publish(people, dc.Perturbation(dc.Proximity(1, 2), check="paper"))
    with pytest.raises(dc.errors.QueryError, match="solved for"):
        expect(perturbed, ["age", "income"])
    with pytest.raises(dc.errors.QueryError, match="Did you mean 'age'"):
        expect(perturbed, ["agee"])
    coarse = [
        dc.Attribute(a.name, a.role, a.type, top=70) if a.name == "age" else a
        for a in people.public_schema
    ]
    shown = dc.read(people.to_polars(), dc.Schema(tuple(coarse)))
    with pytest.raises(dc.errors.QueryError, match="70 means 70 or more"):
        expect(dc.publish(shown, dc.Permutation(dc.KE(3, 2))), ["age"])
