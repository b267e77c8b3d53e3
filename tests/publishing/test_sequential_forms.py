"""A table that follows earlier releases of whatever form: joins, listed by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from random import Random

import polars as pl
import pytest

import discreet as dc
from discreet.auditing.links import list_x_groups
from discreet.errors import SchemaError
from discreet.publishing import Method
from oracles.lossy_joins import list_possible, list_values

EARLIER: dict[str, Method] = {
    "generalized": dc.Generalization(dc.DistinctDiversity(2)),
    "anatomized": dc.Anatomy(dc.FrequencyDiversity(2)),
    "angelized": dc.Angelization(dc.DistinctDiversity(2), k=2, marginals=[["age"], ["town"]]),
    "sliced": dc.Slicing(dc.DistinctDiversity(2), columns=[["age"], ["town"], ["pay"]]),
    "permuted": dc.Permutation(dc.KE(2, 1)),
}
X = ["age", "town", "job"]


def draw(rng: Random) -> pl.DataFrame:
    n = rng.randint(6, 14)
    return pl.DataFrame({
        "age": [rng.randint(20, 26) for _ in range(n)],
        "town": [rng.choice(["Bonn", "Jena"]) for _ in range(n)],
        "job": [rng.choice(["cook", "smith", "vet"]) for _ in range(n)],
        "pay": [rng.choice([10, 20, 30]) for _ in range(n)],
    })  # fmt: skip


def read(frame: pl.DataFrame, known: Sequence[str], told: Sequence[str]) -> dc.Microdata:
    shown = frame.select(*known, *told)
    schema = dc.Schema.infer(shown, quasi_identifiers=[*known], sensitive=[*told])
    return dc.read(shown, schema)


def join(
    new: dc.Release, old: dc.Release, told: str
) -> dict[tuple[object, ...], dict[object, Fraction]]:
    """Per X-group of the join, how likely every value is."""
    shared = [name for name in new.schema.names if name in old.schema.names]
    possible = list(list_possible(old))
    groups: dict[tuple[object, ...], dict[object, Fraction]] = defaultdict(
        lambda: defaultdict(Fraction)
    )
    for row in new.tables["generalized"].to_dicts():
        for other, weight in possible:
            if all(list_values(new, row, n) & list_values(old, other, n) for n in shared):
                x = tuple((row.get(n), other.get(n)) for n in X)
                groups[x][other[told]] += weight
    return groups


def find_worst(groups: dict[tuple[object, ...], dict[object, Fraction]]) -> Fraction:
    return max(max(values.values()) / sum(values.values()) for values in groups.values())


@pytest.mark.parametrize("form", EARLIER)
def test_beliefs_from_joins_are_those_of_all_rows(form: str) -> None:
    """The auditor counts what the join of a release with one of any form makes likely."""
    compared = 0
    for seed in range(10):
        frame = draw(Random(f"{form} {seed}"))
        try:
            old = dc.publish(read(frame, ["age", "town"], ["pay"]), EARLIER[form], insecure_seed=1)
        except dc.errors.PromiseError:
            continue
        new = dc.publish(read(frame, X, []), dc.Generalization(dc.KAnonymity(2)))
        promise = dc.XYLinkability(x=X, y=["pay"], k="1/2")
        (view,) = new.views
        groups, _, lost = list_x_groups(new, view.table, view.labels, [old], promise)
        listed = join(new, old, "pay")
        assert groups is not None and groups.count == len(listed) and not sum(lost)
        found = max(Fraction(int(a), int(b)) for a, b in
                    zip(groups.largest, groups.sizes, strict=True))  # fmt: skip
        assert found == find_worst(listed), (seed, old.tables, new.tables)
        compared += 1
    assert compared > 2


@pytest.mark.parametrize("form", EARLIER)
def test_a_table_follows_releases_of_every_form(form: str) -> None:
    """What is published keeps its promise, by all rows of the join."""
    published = 0
    for seed in range(10):
        frame = draw(Random(f"after {form} {seed}"))
        try:
            old = dc.publish(read(frame, ["age", "town"], ["pay"]), EARLIER[form], insecure_seed=1)
            data = read(frame, X, [])
            promise = dc.XYLinkability(x=X, y=["pay"], k="2/3")
            new = dc.publish(data, dc.Sequential(principles=[promise], earlier=[old]))
        except dc.errors.PromiseError:
            continue
        assert find_worst(join(new, old, "pay")) <= Fraction(2, 3), (seed, old.tables, new.tables)
        assert dc.audit(new, data, earlier=[old]).breaches == 0
        published += 1
    assert published > 0


def test_rows_of_a_join_are_not_counted_where_there_are_none() -> None:
    frame = draw(Random(3))
    old = dc.publish(read(frame, ["age", "town"], ["pay"]), EARLIER["anatomized"])
    promise = dc.XYAnonymity(x=X, y="pairs", k=3)
    with pytest.raises(SchemaError, match="tell only how likely they are") as refused:
        dc.publish(read(frame, X, []), dc.Sequential(principles=[promise], earlier=[old]))
    assert 'y = "people"' in str(refused.value.hint)


def test_numbers_that_were_exchanged_are_not_joined_by_and_all_else_is() -> None:
    frame = draw(Random(4))
    old = dc.publish(read(frame, ["age", "town"], ["pay"]), dc.RankSwapping(dc.KE(2, 1)))
    people = dc.XYAnonymity(x=X, y="people", k=2)
    data = read(frame, X, [])
    new = dc.publish(data, dc.Sequential(principles=[people], earlier=[old]))
    assert dc.audit(new, data, earlier=[old]).breaches == 0
    told = dc.XYLinkability(x=X, y=["pay"], k="2/3")
    with pytest.raises(SchemaError, match="rank-swapping has no records to join with"):
        dc.publish(data, dc.Sequential(principles=[told], earlier=[old]))
