"""Forms: what is known about a release is known by its form, whoever made it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import discreet as dc
from discreet.evaluate.questions import Batch, draw_questions
from discreet.forms import find_form, list_forms
from discreet.forms.asking import show_sql
from discreet.forms.bounding import bound_count, bound_sum
from discreet.forms.estimates import Estimator
from discreet.forms.expected import expect
from discreet.forms.prepared import Prepared
from discreet.forms.verify import verify
from discreet.forms.workload import Workload
from discreet.publishing.draws import Draws
from discreet.publishing.method import Method
from discreet.publishing.methods import REGISTRY
from discreet.release.manifest import OLDER_FORMS
from discreet.steward.ledger import Ledger


@dataclass(frozen=True)
class Doubling(dc.Generalization):
    """Another algorithm for an existing form: asks for twice the people."""

    title: ClassVar[str] = "doubling"
    paper: ClassVar[str] = "nobody's"

    def publish(self, data: dc.Microdata, draws: Draws) -> dc.Release:
        made = dc.Generalization(dc.KAnonymity(2 * self.principle.min_size)).publish(data, draws)
        promise = replace(made.promise, principle=self.principle, guarantee=self.principle.promise)
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


CASES: dict[str, Method] = {
    "generalization": dc.Generalization(dc.KAnonymity(3)),
    "generalization, loose": dc.Generalization(dc.KAnonymity(3), ends="cuts"),
    "full-domain": dc.FullDomain(dc.KAnonymity(3)),
    "full-domain, loose": dc.FullDomain(dc.KAnonymity(3), ends="cuts"),
    "angelization": dc.Angelization(
        dc.FrequencyDiversity(2), k=3, marginals=[["age", "sex"], ["sex", "region"]]
    ),
    "angelization, projected": dc.Angelization(
        dc.FrequencyDiversity(2), k=3, projections=[["age", "sex"], ["region"]]
    ),
    "angelization, loose": dc.Angelization(dc.FrequencyDiversity(2), k=3, ends="cuts"),
    "anatomy": dc.Anatomy(dc.FrequencyDiversity(2)),
    "slicing": dc.Slicing(dc.FrequencyDiversity(2)),
    "slicing, blurred": dc.Slicing(dc.FrequencyDiversity(2), frequency=3),
    "slicing, shared": dc.Slicing(
        dc.FrequencyDiversity(2),
        columns=[
            ["age", "sex", "region", "education"],
            ["sex", "marital", "household"],
            ["birthplace", "workclass"],
            ["sex", "income"],
        ],
    ),
    "republication": dc.Republication(dc.MInvariance(3)),
    "invariant-angelization": dc.InvariantAngelization(dc.MInvariance(3), k=4),
    "sequential": dc.Sequential(dc.KAnonymity(3)),
    "permutation": dc.Permutation(dc.KE(3, 2)),
    "rank-swapping": dc.RankSwapping(dc.KE(3, 2)),
    "perturbation": dc.Perturbation(dc.Proximity(1, 2), check="paper"),
    "noisy-marginals": dc.NoisyMarginals(dc.DifferentialPrivacy(1)),
}
EACH = pytest.mark.parametrize("case", list(CASES))


def test_every_method_and_every_form_is_tried() -> None:
    of_sets = {method.title for method in REGISTRY.values() if method.takes_sets}
    assert {method.title for method in CASES.values()} == set(REGISTRY) - of_sets
    # forms of sets have no single values to be asked for: publishing/test_apriori tries them
    forms_of_sets = {REGISTRY[title].form for title in of_sets}
    assert {method.form for method in CASES.values()} == set(list_forms()) - forms_of_sets
    assert (of_sets, forms_of_sets) == ({"apriori"}, {"recoded"})


@EACH
def test_records_can_be_drawn_from_every_form(case: str) -> None:
    people = declare(dc.datasets.census(800, sensitive=["income"]), case)
    release = dc.publish(people, CASES[case], insecure_seed=1)
    drawn = release.sample(50, seed=1)
    assert drawn.height == 50
    shown = {name for names in release.shown.values() for name in names}
    assert {"income"} < set(drawn.columns) <= {*shown, "income"}
    assert drawn.equals(release.sample(50, seed=1))
    assert not drawn.equals(release.sample(50, seed=2))
    assert release.sample(0).height == 0


def test_perturbed_numbers_are_drawn_without_what_was_added_at_random() -> None:
    """A quarter of the people have each of four numbers; the rest shown is noise over 0 to 99."""
    pays = [10, 30, 60, 90]
    frame = pl.DataFrame({"age": [*range(4000)], "pay": pays * 1000})
    schema = dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["pay"])
    method = dc.Perturbation(dc.Proximity(0, 2), within=(0, 99))
    release = dc.publish(dc.read(frame, schema), method, insecure_seed=1)
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


def ask_in_sql(prepared: Prepared, batch: Batch) -> np.ndarray | None:
    """Per question the estimate and its bounds."""
    try:
        answers = [prepared.query(sql) for sql in batch.sql]
    except dc.DiscreetError:
        return None
    return np.array([(a.estimate, a.low, a.high) for a in answers], dtype=float).T


def take_some(people: dc.Microdata, seed: int) -> list[Batch]:
    """Questions that take values here and there, of a number, an order or a set."""
    rng = np.random.default_rng(seed)
    batches = []
    for name in ("income", "age", "sex"):
        takes = np.zeros((3, people.domains[name].size), dtype=bool)
        for row in takes:
            for start in rng.integers(0, len(row), 3):
                row[start : start + rng.integers(1, 1 + len(row) // 3 + 1)] = True
        where = [write(people, name, row) for row in takes]
        for kind, number in (("count", None), ("sum", "income")):
            asked = f"SUM({number})" if number else "COUNT(*)"
            sql = [f"SELECT {asked} FROM release WHERE {text}" for text in where]
            truth = np.array([answer(people, text) for text in sql], dtype=float)
            batches.append(Batch(kind, number, Workload({name: takes}), sql, truth))
    return batches


def write(people: dc.Microdata, name: str, taken: np.ndarray) -> str:
    """Write the values taken: of what is ordered, those in a row by the first and the last."""
    texts, kind = people.domains[name].texts, people.schema[name].type
    if not kind.ordered:
        return f"{name} IN ({', '.join(repr(texts[code]) for code in np.flatnonzero(taken))})"
    steps = np.diff(np.pad(taken.astype(int), 1))
    runs = zip(np.flatnonzero(steps > 0), np.flatnonzero(steps < 0) - 1, strict=True)
    return " OR ".join(f"{name} BETWEEN {texts[a]} AND {texts[b]}" for a, b in runs)


def answer(people: dc.Microdata, sql: str) -> float | None:
    with duckdb.cursor() as database:
        database.register("release", people.to_polars())
        (value,) = database.execute(sql).fetchone() or (None,)
    return value


ANYBODY = [
    "SELECT COUNT(*) AS n, SUM(income) AS s, AVG(income) AS a FROM release WHERE age > 30",
    "SELECT COUNT(*) AS n, SUM(income) AS s, AVG(income) AS a FROM release WHERE age > 200",
    "SELECT sex, COUNT(*) AS n, SUM(income) AS s FROM release WHERE income >= 0 GROUP BY sex",
    "SELECT region, MIN(income) AS a, MAX(income) AS b FROM release GROUP BY region",
    "SELECT sex, AVG(income) AS a FROM release WHERE sex = 'nobody' GROUP BY sex",
]


@pytest.mark.parametrize("case", {method.form: case for case, method in CASES.items()}.values())
def test_postgresql_gives_the_types_of_duckdb(case: str, postgres: str) -> None:
    """Also of columns without a value, and of answers without a row."""
    people = declare(make_people("as they are").head(120), case)
    release = dc.publish(people, CASES[case], insecure_seed=1)
    answered = 0
    with release.prepare() as here, release.prepare(engine=postgres) as there:
        for question in ANYBODY:
            try:
                expected = here.query(question).frame
            except dc.DiscreetError:
                continue
            assert_frame_equal(there.query(question).frame, expected)
            answered += 1
    assert answered >= 3


def make_people(kind: str) -> dc.Microdata:
    people = dc.datasets.census(400, sensitive=["income"])
    if kind == "with a kept column":
        others = [replace(a, role=dc.Role.OTHER, keep=True) if a.name == "region" else a
                  for a in people.public_schema]  # fmt: skip
        return dc.read(people.to_polars(), dc.Schema(tuple(others)))
    if kind == "in cents":  # over more values than are looked at one by one
        frame = people.to_polars().with_columns(
            income=pl.col("income") + pl.Series([i * 37 % 100 / 100 for i in range(people.n)])
        )
        cents = [replace(a, type=dc.Type.DECIMAL, decimals=2) if a.name == "income" else a
                 for a in people.public_schema]  # fmt: skip
        return dc.read(frame, dc.Schema(tuple(cents)))
    if kind == "coarser":
        ages = {"top": 70, "bottom": 22, "round": 5}
        coarser = [replace(a, **ages) if a.name == "age" else a for a in people.public_schema]
        return dc.read(people.to_polars(), dc.Schema(tuple(coarser)))
    return people


def declare(people: dc.Microdata, case: str) -> dc.Microdata:
    """Say of all columns what they can be, where a method asks for it."""
    if CASES[case].form != "noisy":
        return people
    known = []
    for attribute in people.schema.published:
        texts = people.domains[attribute.name].texts
        numeric = attribute.type.numeric
        told = {"low": texts[0], "high": texts[-1]} if numeric else {"values": tuple(texts)}
        known.append(replace(attribute, **told))  # type: ignore[arg-type]
    return dc.read(people.to_own_values(), dc.Schema(tuple(known)))


@EACH
@pytest.mark.parametrize("kind", ["as they are", "with a kept column", "in cents", "coarser"])
def test_questions_are_answered_alike_in_memory_and_in_sql(case: str, kind: str) -> None:
    """Or refused alike; and what SQL answers has bounds that hold the truth."""
    method, people = CASES[case], declare(make_people(kind), case)
    if kind == "with a kept column" and method.form in ("batched", "noisy"):
        return  # it keeps no column
    if kind == "coarser" and method.form == "noisy":
        return  # it puts numbers into cells, and takes none that are coarser already
    release = dc.publish(people, method, insecure_seed=1)
    estimator = Estimator(release, people)
    refused = 0
    with release.prepare() as prepared:
        some = [] if kind == "coarser" else take_some(people, 5)  # values that are shown
        many = 24 if kind == "as they are" else 12
        for batch in [*draw_questions(people, many, seed=3).batches, *some]:
            memory, sql = ask_in_memory(estimator, batch), ask_in_sql(prepared, batch)
            assert (memory is None) == (sql is None), batch.sql[0]
            if memory is None or sql is None:
                refused += 1
                continue
            estimate, low, high = sql
            nobody = np.isnan(estimate)  # there is no sum of nothing in SQL
            assert not np.nan_to_num(memory[nobody]).any()
            np.testing.assert_allclose(memory[~nobody], estimate[~nobody], rtol=1e-7, atol=1e-6)
            if method.form == "noisy":  # nothing bounds noise, and it says so
                assert np.isnan(high).all() and np.isin(low[~np.isnan(low)], [0]).all()
                continue
            there = ~np.isnan(batch.truth)
            assert (low[there] <= batch.truth[there] + 1e-6).all()
            assert (batch.truth[there] - 1e-6 <= high[there]).all()
    assert bool(refused) == (case == "angelization")  # no table shows all that is asked


def fetch(release: dc.Release, needed: dict[str, pl.DataFrame], sql: str) -> list[float]:
    """Run plain SQL over the tables of a release; nothing is not a number."""
    with duckdb.cursor() as database:
        for name, table in {**release.tables, **needed}.items():
            database.register(name, table.to_arrow())
        return as_floats(database.execute(sql).fetchone() or ())


def as_floats(cells: Iterable[float | None]) -> list[float]:
    return [np.nan if cell is None else cell for cell in cells]


@EACH
def test_sums_of_expected_weights_and_bounds_of_pairs_are_those_of_questions(case: str) -> None:
    """What cannot be listed together is refused, and only that."""
    people = declare(dc.datasets.census(400, sensitive=["income"]), case)
    release = dc.publish(people, CASES[case], insecure_seed=1)
    form, asked = find_form(release.form), 0
    batches = [*draw_questions(people, 6, seed=3).batches, *take_some(people, 5)]
    with release.prepare() as prepared:
        for sql in (batch.sql[0] for batch in batches):
            names = [name for name in people.schema.names if re.search(rf"\b{name}\b", sql)]
            if not any(set(names) <= set(told) for told in form.tell_together(release)):
                with pytest.raises(dc.DiscreetError):
                    expect(release, names)
                continue
            asked += 1
            found = re.fullmatch(r"SELECT (\w+)\((.*?)\) FROM release WHERE (.*)", sql)
            assert found is not None
            function, measure, condition = found.groups()
            answer = prepared.query(sql)
            what = {"COUNT": "COALESCE(SUM(weight), 0)", "SUM": f"SUM(weight * {measure})",
                    "AVG": f"SUM(weight * {measure}) / SUM(weight)"}[function]  # fmt: skip
            tree, needed = expect(release, names)
            text = f"SELECT {what} FROM ({tree.sql('duckdb')}) e WHERE {condition}"
            estimate, low, high = as_floats((answer.estimate, answer.low, answer.high))
            np.testing.assert_allclose(fetch(release, needed, text), [estimate], rtol=1e-9)
            if function == "AVG":
                continue
            try:
                pairs, needed = form.expect(release, names, paired=True)
            except dc.errors.QueryError as error:  # three columns of a sliced release
                assert "of 3 columns that are mixed with each other" in error.message
                continue
            bounds = (
                bound_count(pairs, "weight") if function == "COUNT" else bound_sum(pairs, "weight")
            )
            text = bounds.sql("duckdb").replace('"#condition"', condition)
            ends = fetch(release, needed, text.replace('"#measure"', measure))
            np.testing.assert_allclose(ends, [estimate, low, high], rtol=1e-9, atol=1e-9)
    assert asked > 3 or case == "noisy-marginals"  # which lists no combinations of values
