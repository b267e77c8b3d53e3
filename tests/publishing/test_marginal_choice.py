"""Which marginals to publish: measured on boxes, and on nothing that is sensitive."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from random import Random

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.publishing.partitioners.mondrian import Categories
from discreet.steward.plan import Plan

KNOWN = ["age", "level", "city", "pet"]
CITIES = dc.Taxonomy.from_paths(
    [["Bonn", "west"], ["Köln", "west"], ["Jena", "east"], ["Gera", "east"]]
)


def draw(n: int, seed: int) -> dc.Microdata:
    """People of every type of attribute, with missing values; what they are goes together."""
    rng = Random(seed)
    ages = [rng.choice([None, *range(20, 60, 3)]) for _ in range(n)]
    frame = pl.DataFrame({
        "age": ages,
        "level": [("low", "mid", "high")[((a or 0) // 20 + rng.randint(0, 1)) % 3] for a in ages],
        "city": [rng.choice(["Bonn", "Köln", "Jena", "Gera"][(a or 50) // 40 :]) for a in ages],
        "pet": [rng.choice(["cat", "dog", "newt"]) for _ in range(n)],
        "ill": [rng.choice("abcd") for _ in range(n)],
    })  # fmt: skip
    quasi = dc.Role.QUASI_IDENTIFIER
    schema = dc.Schema((
        dc.Attribute("age", quasi, dc.Type.INTEGER, missing=dc.Missing.VALUE),
        dc.Attribute("level", quasi, dc.Type.ORDINAL, order=("low", "mid", "high")),
        dc.Attribute("city", quasi, dc.Type.CATEGORY, taxonomy=CITIES),
        dc.Attribute("pet", quasi, dc.Type.CATEGORY),
        dc.Attribute("ill", dc.Role.SENSITIVE, dc.Type.CATEGORY),
    ))  # fmt: skip
    return dc.read(frame, schema)


@pytest.fixture(scope="module")
def people() -> dc.Microdata:
    return draw(300, 1)


def diverge(release: dc.Release, people: dc.Microdata, names: list[str]) -> float:
    """KL(D ‖ D*) of what a release rebuilds, by listing it."""
    text = [pl.col(name).cast(pl.String) for name in names]
    rebuilt = release.reconstruct(names).with_columns(text)
    counts = people.to_polars().select(text).group_by(names).len("n")
    both = counts.join(rebuilt, on=names, how="left", nulls_equal=True)
    d = both["n"].to_numpy() / people.n
    return float((d * np.log(d / both["probability"].to_numpy())).sum())


@pytest.mark.parametrize("categories", ["set", "ancestor"])
def test_what_is_measured_is_what_the_release_rebuilds(
    people: dc.Microdata, categories: Categories
) -> None:
    found = dc.propose_marginals(people, k=5, budget=2, categories=categories)
    assert found.marginals[0] == KNOWN and len(found.marginals) == 3
    method = dc.Angelization(dc.DistinctDiversity(2), k=5, categories=categories)
    for many in (1, 3):
        release = dc.publish(people, replace(method, marginals=found.marginals[:many]))
        apart = [diverge(release, people, [*pair]) for pair in combinations(KNOWN, 2)]
        assert found.divergence[many - 1] == pytest.approx(np.mean(apart))
    assert found.divergence[0] > found.divergence[1] > found.divergence[2]


def test_who_has_which_sensitive_value_changes_no_choice(people: dc.Microdata) -> None:
    """Nor does the order of rows."""
    frame = people.to_polars()
    mixed = frame.with_columns(pl.col("ill").shuffle(seed=2)).sample(
        fraction=1, shuffle=True, seed=3
    )
    assert dc.propose_marginals(people, k=5) == dc.propose_marginals(
        dc.read(mixed, people.schema), k=5
    )


def test_a_workload_is_what_tables_are_chosen_for(people: dc.Microdata) -> None:
    asked = [["pet", "age"], ["pet", "age"], ["city"]]
    found = dc.propose_marginals(people, k=5, workload=asked, budget=1)
    assert found.marginals == [KNOWN, ["age", "pet"]]
    assert dc.propose_marginals(people, k=5, workload=asked, budget=0).marginals == [KNOWN]
    every = dc.propose_marginals(people, k=5, workload=[KNOWN])
    assert every.marginals == [KNOWN]
    for wrong, message in (([["ill"]], "not a quasi-identifier"), (["age"], "list of lists")):
        with pytest.raises(dc.errors.SchemaError, match=message):
            dc.propose_marginals(people, workload=wrong)  # type: ignore[arg-type]


def test_of_many_values_neighbours_are_measured_together() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({
        "zip": rng.integers(0, 500, 2000), "pay": rng.integers(0, 900, 2000) ** 2,
        "town": [f"t{i}" for i in rng.integers(0, 80, 2000)],
        "none": pl.Series([None] * 2000, dtype=pl.Int64), "ill": rng.choice([*"ab"], 2000),
    })  # fmt: skip
    known = ["zip", "pay", "town", "none"]
    schema = dc.Schema.infer(frame, quasi_identifiers=known, sensitive=["ill"])
    found = dc.propose_marginals(dc.read(frame, schema), k=10)
    assert found.divergence == sorted(found.divergence, reverse=True)
    assert all(np.isfinite(found.divergence))


def test_auto_publishes_what_is_proposed(people: dc.Microdata, tmp_path: Path) -> None:
    method = dc.Angelization(dc.FrequencyDiversity(2), k=5, marginals="auto")
    release = dc.publish(people, method)
    wanted = dc.propose_marginals(people, k=5).marginals
    assert release.parameters["marginals"] == wanted
    assert list(release.shown.values()) == wanted
    assert dc.audit(release, people).kept
    plan = tmp_path / "p.toml"
    plan.write_text(
        '[source]\nfile = "a.csv"\n[method]\nname = "angelization"\nmarginals = "auto"\n'
        '[[method.principles]]\nname = "distinct-diversity"\nl = 2\n'
        '[columns.a]\nrole = "quasi-identifier"\n[columns.b]\nrole = "sensitive"\n'
    )
    assert Plan.read(plan).method.marginals == "auto"  # type: ignore[attr-defined]
    with pytest.raises(dc.DiscreetError, match='give "auto", or lists of names'):
        plan.write_text(plan.read_text().replace('"auto"', '"best"'))
        Plan.read(plan)


def test_where_nothing_can_be_chosen_it_is_said() -> None:
    with pytest.raises(dc.errors.SchemaError, match="list of lists"):
        dc.Angelization(dc.KAnonymity(2), marginals="best")  # type: ignore[arg-type]
    with pytest.raises(dc.errors.SchemaError, match="every version"):
        dc.InvariantAngelization(dc.MInvariance(2), marginals="auto")  # type: ignore[arg-type]
    with pytest.raises(dc.errors.SchemaError, match="memory"):
        dc.Angelization(dc.KAnonymity(2), marginals="auto").require_parts()
