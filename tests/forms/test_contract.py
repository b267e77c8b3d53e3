"""Forms: what is known about a release is known by its form, whoever made it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.evaluate.questions import Batch, draw_questions
from discreet.forms import list_forms
from discreet.forms.asking import show_sql
from discreet.forms.estimates import Estimator
from discreet.forms.verify import verify
from discreet.publishing.methods import REGISTRY
from discreet.release.manifest import OLDER_FORMS
from discreet.steward.ledger import Ledger


@dataclass(frozen=True)
class Doubling(dc.Generalization):
    """Another algorithm for an existing form: asks for twice the people."""

    title: ClassVar[str] = "doubling"
    paper: ClassVar[str] = "nobody's"

    def publish(self, data: dc.Microdata, rng: np.random.Generator) -> dc.Release:
        made = dc.Generalization(dc.KAnonymity(2 * self.principle.min_size)).publish(data, rng)
        promise = replace(made.promise, principle=self.principle)
        return replace(made, method=self.title, promise=promise)


def test_every_method_names_a_form_that_is_known_everywhere() -> None:
    forms = {method.form for method in REGISTRY.values()}
    assert forms == set(list_forms())
    # releases written before forms were named are still read; newer methods always name theirs
    assert OLDER_FORMS.items() <= {t: method.form for t, method in REGISTRY.items()}.items()


def test_another_algorithm_for_a_form_needs_nothing_else(tmp_path: Path) -> None:
    data = dc.datasets.adult(sensitive="occupation").head(400)
    release = dc.publish(data, Doubling(dc.KAnonymity(3)))
    folder = release.write(tmp_path / "r")
    loaded = dc.load(folder)
    assert (loaded.form, loaded.method) == ("generalized", "doubling")
    verify(loaded)
    asked = "SELECT COUNT(*) FROM release WHERE age < 40"
    truth = int((data.to_polars()["age"] < 40).sum())
    answer = loaded.query(asked)
    assert answer.low <= truth <= answer.high  # type: ignore[operator]
    assert "generalized" in show_sql(loaded, asked, "spark")
    report = dc.audit(folder, data, attacks=True)
    assert report.kept and report.identity.smallest >= 6
    assert loaded.sample(10, seed=1).height == 10
    assert isinstance(loaded.reconstruct(["sex"]), pl.DataFrame)
    ledger = Ledger.init(tmp_path / "book", "adult")
    ledger.publish(release, data, tmp_path / "out")
    assert ledger.check(release, data) == ([], [])
    (trial,) = dc.compare(data, [Doubling(dc.KAnonymity(3))], 20).trials
    assert trial.problem is None
    joined = dc.XYAnonymity(x=[*data.quasi_identifiers], y="people", k=2)
    dc.publish(data, dc.Sequential(principles=[joined], earlier=[folder]))


METHODS = {
    "generalized": dc.Generalization(dc.KAnonymity(3)),
    "batched": dc.Anatomy(dc.FrequencyDiversity(2)),
    "sliced": dc.Slicing(dc.FrequencyDiversity(2)),
    "permuted": dc.Permutation(dc.KE(3, 2)),
    "swapped": dc.RankSwapping(dc.KE(3, 2)),
    "perturbed": dc.Perturbation(dc.Proximity(1, 2), check="paper"),
}


@pytest.mark.parametrize("form", sorted(list_forms()))
def test_records_can_be_drawn_from_every_form(form: str) -> None:
    people = dc.datasets.census(800, sensitive=["income"])
    release = dc.publish(people, METHODS[form], seed=1)
    assert release.form == form
    drawn = release.sample(50, seed=1)
    assert drawn.height == 50
    assert set(drawn.columns) == {*people.quasi_identifiers, "income"}
    assert drawn.equals(release.sample(50, seed=1))
    assert not drawn.equals(release.sample(50, seed=2))
    assert release.sample(0).height == 0


def test_perturbed_numbers_are_drawn_without_what_was_added_at_random() -> None:
    """A quarter of the people have each of four numbers; the rest shown is noise over 0 to 99."""
    pays = [10, 30, 60, 90]
    frame = pl.DataFrame({"age": [*range(4000)], "pay": pays * 1000})
    schema = dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["pay"])
    method = dc.Perturbation(dc.Proximity(0, 2), within=(0, 99))
    release = dc.publish(dc.read(frame, schema), method, seed=1)
    noise = 1 - release.tables["perturbed"]["pay"].is_in(pays).mean()  # type: ignore[operator]
    drawn = release.sample(4000, seed=1)["pay"]
    assert 1 - drawn.is_in(pays).mean() < noise / 4  # type: ignore[operator]
    assert drawn.is_in(pays).mean() > 0.8  # type: ignore[operator]


def ask_in_memory(estimator: Estimator, batch: Batch) -> np.ndarray | None:
    try:
        found = estimator.estimate(batch.workload, batch.number)
        if batch.kind != "average":
            return found
        counts = estimator.estimate(batch.workload)
    except dc.DiscreetError:
        return None
    return np.divide(found, counts, out=np.full_like(counts, np.nan), where=counts > 0)


def ask_in_sql(release: dc.Release, batch: Batch) -> np.ndarray | None:
    try:
        with release.prepare() as prepared:
            found = [prepared.query(sql).estimate for sql in batch.sql]
    except dc.DiscreetError:
        return None
    return np.array([np.nan if value is None else value for value in found], dtype=float)


@pytest.mark.parametrize(
    ("form", "kept"),
    [*((form, False) for form in sorted(METHODS)),
     *((form, True) for form in sorted(METHODS) if form != "batched")],  # it keeps no column
)  # fmt: skip
def test_questions_are_answered_alike_in_memory_and_in_sql(form: str, kept: bool) -> None:
    """Or refused alike; and what SQL answers has bounds that hold the truth."""
    people = dc.datasets.census(400, sensitive=["income"])
    if kept:
        others = [replace(a, role=dc.Role.OTHER, keep=True) if a.name == "region" else a
                  for a in people.public_schema]  # fmt: skip
        people = dc.read(people.to_polars(), dc.Schema(tuple(others)))
    release = dc.publish(people, METHODS[form], seed=1)
    estimator = Estimator(release, people)
    for batch in draw_questions(people, 24, seed=3).batches:
        memory, sql = ask_in_memory(estimator, batch), ask_in_sql(release, batch)
        assert (memory is None) == (sql is None), (batch.kind, batch.names)
        if memory is not None:
            empty = batch.kind in ("sum", "average") and form != "perturbed"
            if empty:  # of nobody there is no sum
                memory = np.where(np.isnan(sql), np.nan, memory)
            np.testing.assert_allclose(memory, sql, rtol=1e-7, atol=1e-6)
        for question, truth in zip(batch.sql, batch.truth, strict=True):
            answer = release.query(question)
            if not np.isnan(truth):
                assert answer.low <= truth + 1e-6 and truth - 1e-6 <= answer.high  # type: ignore[operator]
