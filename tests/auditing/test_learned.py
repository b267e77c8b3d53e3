"""The audit learns across groups by a model of its own."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.auditing.attacks import Attack
from samples import microdata

ANATOMY = dc.Anatomy(dc.FrequencyDiversity(3), batches="anatomize")


@pytest.fixture(scope="module")
def people() -> dc.Microdata:
    """Neither age nor sex tells anything of the disease, but both together do."""
    rng = np.random.default_rng(1)
    old, woman = rng.integers(0, 2, (2, 600))
    disease = np.where(rng.random(600) < 0.4, 2 + (old ^ woman), rng.integers(0, 6, 600))
    frame = pl.DataFrame({
        "age": 30 + 30 * old, "sex": np.array(["F", "M"])[woman],
        "disease": np.array(["flu", "gout", "ulcer", "asthma", "measles", "cold"])[disease],
    })  # fmt: skip
    return microdata(frame, ["age", "sex"], ["disease"])


def attack(release: dc.Release, data: dc.Microdata) -> dict[str, Attack]:
    return {one.name: one for one in dc.audit(release, data, attacks=True).attacks}


def test_a_forest_learns_what_attributes_tell_together(people: dc.Microdata) -> None:
    found = attack(dc.publish(people, ANATOMY, insecure_seed=1), people)
    learned, bayes = found["learning"], found["deFinetti"]
    assert learned.success > 0.4 > learned.chance
    assert learned.success > bayes.success - 0.05
    assert learned.worst is not None and 1 / 3 < learned.worst <= 1


def test_where_all_are_one_group_it_learns_nothing(people: dc.Microdata) -> None:
    one = dc.publish(people, replace(ANATOMY, principle=dc.FrequencyDiversity(3), batches=None))
    (view,) = one.views
    held = view.bags("disease")
    table = one.tables["generalized"].with_columns(batch=pl.lit(0, pl.Int32))
    batches = (one.tables["batches"].group_by("disease").agg(pl.col("count").sum())
               .select(pl.lit(0, pl.Int32).alias("batch"), "disease", "count")
               .sort("disease"))  # fmt: skip
    merged = replace(one, tables={"batches": batches, "generalized": table})
    learned = attack(merged, people)["learning"]
    assert held.count > 1
    assert learned.worst == pytest.approx(float(batches["count"].max()) / 600)


def test_without_the_library_there_is_no_forest(
    people: dc.Microdata, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    found = attack(dc.publish(people, ANATOMY, insecure_seed=1), people)
    assert "learning" not in found and "deFinetti" in found
