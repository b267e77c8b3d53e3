"""What a release is worth: distributions rebuilt, records drawn, workloads answered."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.evaluate import (
    count_truth,
    draw_workload,
    estimate_counts,
    measure_divergence,
    measure_error,
)
from discreet.publishing.method import Method
from samples import microdata

METHODS = [
    dc.Generalization(dc.KAnonymity(4)),
    dc.Angelization(dc.FrequencyDiversity(3), k=4),
    dc.Angelization(dc.FrequencyDiversity(3), k=4, marginals=[["age", "sex"], ["age"]]),
    dc.Angelization(dc.TCloseness(0.5), k=4),
    dc.Anatomy(dc.FrequencyDiversity(3)),
]
each = pytest.mark.parametrize("method", METHODS, ids=lambda m: f"{m.title} {m.parameters()}")


@pytest.fixture(scope="module")
def people() -> dc.Microdata:
    frame = dc.datasets.adult_frame().drop_nulls().head(400)
    return microdata(frame, ["age", "sex", "race"], ["occupation"])


@each
def test_probabilities_add_up_and_agree_with_sql(method: Method, people: dc.Microdata) -> None:
    release = dc.publish(people, method, insecure_seed=1)
    rebuilt = release.reconstruct(["age", "sex", "occupation"])
    assert rebuilt["probability"].sum() == pytest.approx(1)
    assert rebuilt["probability"].min() > 0  # type: ignore[operator]
    for predicate, chosen in (
        ("age < 40 AND sex = 'Male'", (pl.col("age") < 40) & (pl.col("sex") == "Male")),
        ("age >= 30 AND sex = 'Female' AND occupation = 'Sales'",
         (pl.col("age") >= 30) & (pl.col("sex") == "Female") & (pl.col("occupation") == "Sales")),
    ):  # fmt: skip
        answer = release.query(f"SELECT COUNT(*) FROM release WHERE {predicate}")
        share = rebuilt.filter(chosen)["probability"].sum()
        assert answer.estimate == pytest.approx(share * people.n)


@each
def test_records_are_drawn_as_the_distribution_says(method: Method, people: dc.Microdata) -> None:
    release = dc.publish(people, method, insecure_seed=1)
    drawn = release.sample(40_000, seed=3)
    assert drawn.equals(release.sample(40_000, seed=3))
    assert drawn.null_count().sum_horizontal().item() == 0
    names = ["sex", "occupation"] if "sex" in drawn.columns else ["occupation"]
    both = release.reconstruct(names).join(drawn.group_by(names).len(), on=names, how="full")
    expected = both["probability"].fill_null(0).to_numpy()
    found = both["len"].fill_null(0).to_numpy() / 40_000
    spread = np.sqrt(expected * (1 - expected) / 40_000)
    assert (np.abs(found - expected) <= 6 * spread + 1e-9).all()


@each
def test_divergence_is_that_of_the_listed_distribution(
    method: Method, people: dc.Microdata
) -> None:
    """Once by boxes, once by listing every cell: the same number, and never below nothing."""
    release = dc.publish(people, method, insecure_seed=1)
    names = ["age", "sex", "occupation"]
    rebuilt = release.reconstruct(names)
    true = people.to_polars().group_by(names).len("n").join(rebuilt, on=names, how="left")
    d = true["n"].to_numpy() / people.n
    expected = float((d * np.log(d / true["probability"].to_numpy())).sum())
    assert measure_divergence(release, people, names) == pytest.approx(expected)
    assert measure_divergence(release, people) >= -1e-12


def test_the_original_diverges_by_nothing_and_its_counts_are_exact(people: dc.Microdata) -> None:
    workload = draw_workload(people, 0.1, 200, seed=2)
    truth = count_truth(people, workload)
    exact = dc.publish(people, dc.Generalization(dc.KAnonymity(1)))
    assert measure_divergence(exact, people) == pytest.approx(0, abs=1e-9)
    blurred = dc.publish(people, dc.Generalization(dc.KAnonymity(50)))
    errors = [measure_error(truth, estimate_counts(r, people, workload)) for r in (exact, blurred)]
    assert errors[0] < errors[1]


@settings(max_examples=15, deadline=None)
@given(volume=st.sampled_from([0.05, 0.3, 1.0]), seed=st.integers(0, 50))
def test_truth_of_a_workload_is_what_polars_counts(
    people: dc.Microdata, volume: float, seed: int
) -> None:
    workload = draw_workload(people, volume, 20, seed=seed)
    truth = count_truth(people, workload)
    for q in range(workload.count):
        chosen = np.ones(people.n, dtype=bool)
        for name, takes in workload.takes.items():
            chosen &= takes[q][people.codes[name]]
        assert truth[q] == chosen.sum()
    width = math.ceil(people.domains["age"].size * volume ** (1 / 4))
    assert set(workload.takes["age"].sum(axis=1).tolist()) == {width}
    if volume == 1:
        assert (truth == people.n).all()


@each
def test_a_workload_over_everything_counts_everybody(method: Method, people: dc.Microdata) -> None:
    release = dc.publish(people, method, insecure_seed=1)
    names = [*release.schema.quasi_identifiers, "occupation"]
    names = names if len(release.tables) < 3 else ["age", "occupation"]
    workload = draw_workload(people, 1.0, 3, names=names)
    assert estimate_counts(release, people, workload) == pytest.approx([people.n] * 3)


@each
def test_workload_and_sql_estimate_alike(method: Method) -> None:
    """Where every value between two occurs, codes and cells are the same."""
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {
            "age": [*range(20, 60), *rng.integers(20, 60, 160).tolist()],
            "sex": rng.choice(["f", "m"], 200),
            "work": rng.choice(list("abcdef"), 200),
        }
    )
    data = microdata(frame, ["age", "sex"], ["work"])
    release = dc.publish(data, method, insecure_seed=1)
    workload = draw_workload(data, 0.2, 12, names=["age", "work"], seed=4)
    estimates = estimate_counts(release, data, workload)
    for q in range(workload.count):
        ages = data.domains["age"].numbers[workload.takes["age"][q]]
        works = [t for t, taken in zip(data.domains["work"].texts, workload.takes["work"][q],
                                       strict=True) if taken]  # fmt: skip
        listed = ", ".join(f"'{work}'" for work in works)
        answer = release.query(
            f"SELECT COUNT(*) FROM release WHERE age BETWEEN {ages[0]} AND {ages[-1]} "
            f"AND work IN ({listed})"
        )
        assert answer.estimate == pytest.approx(estimates[q])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["wage"], "no 'wage'"),
        ([], "different attributes"),
        (["age", "age"], "different attributes"),
        (["sex", "race"], "together"),
    ],
)
def test_what_cannot_be_rebuilt_is_refused(
    people: dc.Microdata, names: list[str], message: str
) -> None:
    release = dc.publish(people, dc.Angelization(dc.FrequencyDiversity(2), k=4,
                                                 marginals=[["age", "sex"], ["race"]]))  # fmt: skip
    with pytest.raises(dc.DiscreetError, match=message):
        release.reconstruct(names)


def test_swapped_releases_say_no_distribution(people: dc.Microdata) -> None:
    frame = pl.DataFrame({"age": range(30), "pay": range(30)})
    release = dc.publish(microdata(frame, ["age"], ["pay"]), dc.RankSwapping(dc.KE(3, 2)))
    with pytest.raises(dc.DiscreetError, match="does not say"):
        release.reconstruct(["age", "pay"])
    assert release.sample(5).height == 5  # what it shows is read as if it were true
    with pytest.raises(dc.DiscreetError, match="volume"):
        draw_workload(people, 0)


def test_attacks_beyond_the_promise() -> None:
    """Groups that resemble each other: naive Bayes tells more than the promise says."""
    rng = np.random.default_rng(3)
    sex = rng.choice(["f", "m"], 2000)
    ill = np.where(rng.random(2000) < 0.9, np.where(sex == "f", "gout", "flu"),
                   rng.choice(["ulcer", "cold"], 2000))  # fmt: skip
    frame = pl.DataFrame({"age": rng.integers(20, 60, 2000), "sex": sex, "ill": ill})
    data = microdata(frame, ["age", "sex"], ["ill"])
    release = dc.publish(
        data, dc.Anatomy(dc.FrequencyDiversity(2), batches="anatomize"), insecure_seed=1
    )
    report = dc.audit(release, data, attacks=True)
    tried = {attack.name: attack for attack in report.attacks}
    assert report.max_belief == 0.5
    assert tried["homogeneity"].success == 0
    assert tried["deFinetti"].success > 0.75
    assert tried["deFinetti"].chance <= 0.5
    assert tried["corruption"].worst == 1
    named = microdata(frame.with_row_index("id"), ["id", "sex"], ["ill"])
    original = dc.publish(named, dc.Generalization(dc.KAnonymity(1)))
    certain = {a.name: a for a in dc.audit(original, named, attacks=True).attacks}
    assert certain["deFinetti"].success == certain["homogeneity"].success == 1


@settings(max_examples=40, deadline=None)
@given(bags=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=6), min_size=1, max_size=4))
def test_corruption_by_taking_everyone_away_in_turn(bags: list[list[int]]) -> None:
    from collections import Counter

    from discreet.auditing.attacks import _corrupt
    from discreet.principles.groups import Groups

    average, worst = _corrupt(Groups.of(bags))
    guesses, surest = [], []
    for bag in bags:
        for known in range(len(bag)):
            left = bag[:known] + bag[known + 1 :]
            best = max(Counter(left).values()) / len(left) if left else 1.0
            guesses.append(best)
            surest.append(best)
    assert average == pytest.approx(np.mean(guesses))
    assert worst == pytest.approx(max(surest))


def test_workloads_without_the_sensitive_attribute_and_odd_column_names() -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame({name: rng.integers(1, 9, 60) for name in ("value", "label", "age")})
    frame = frame.with_columns(ill=pl.Series(rng.choice(list("abcd"), 60)))
    data = microdata(frame, ["value", "label", "age"], ["ill"])
    for method in (METHODS[0], METHODS[1], METHODS[4]):
        release = dc.publish(data, method, insecure_seed=1)
        workload = draw_workload(data, 0.3, 5, names=["value", "age"])
        assert len(estimate_counts(release, data, workload)) == 5
        rebuilt = release.reconstruct(["value", "label", "ill"])
        assert rebuilt["probability"].sum() == pytest.approx(1)
        assert release.sample(7).columns == ["value", "label", "age", "ill"]
    named = microdata(frame.rename({"age": "probability"}), ["probability", "value"], ["ill"])
    release = dc.publish(named, METHODS[1], insecure_seed=1)
    assert release.reconstruct(["probability"]).columns == ["probability", "probability_"]
    for n in (1.5, "3", -1, True):
        with pytest.raises(dc.DiscreetError, match="number of records"):
            release.sample(n)  # type: ignore[arg-type]
    two = dc.publish(microdata(frame, ["age"], ["ill", "value"]), METHODS[0])
    with pytest.raises(dc.DiscreetError, match="2 sensitive"):
        measure_divergence(two, data)
