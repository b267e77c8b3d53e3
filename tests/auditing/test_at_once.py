"""What is found of few people at a time, or by a shorter way, is what is found of all at once."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.auditing import members
from discreet.forms import consistency, posterior
from discreet.forms.matching import number_jointly


@pytest.fixture
def people() -> dc.Microdata:
    return dc.datasets.census(900, sensitive="occupation")


@pytest.mark.parametrize("method", [
    dc.Generalization(dc.KAnonymity(5) & dc.FrequencyDiversity(2)),
    dc.Generalization(dc.Proximity(2000, 2)),
])  # fmt: skip
def test_the_audit_finds_the_same_of_few_people_at_a_time(
    method: dc.Generalization, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = dc.datasets.census(900, sensitive="income" if method.principle.dealt else "occupation")
    release = dc.publish(data, method)
    whole = dc.audit(release, data)
    for room, name in (
        (posterior, "AT_ONCE"), (members, "AT_ONCE"), (consistency, "ALONE_AT_ONCE"),
    ):  # fmt: skip
        monkeypatch.setattr(room, name, 70)
    parts = dc.audit(release, data)
    assert parts.to_dict() == whole.to_dict()
    assert parts.per_person.equals(whole.per_person)


@pytest.mark.parametrize("changed", [0, 1, 40])
def test_without_a_choice_as_many_are_misplaced_as_flows_find(
    people: dc.Microdata, changed: int
) -> None:
    release = dc.publish(people, dc.Generalization(dc.KAnonymity(5)))
    table, rng = release.tables["generalized"], np.random.default_rng(changed)
    jobs = table["occupation"].to_numpy().copy()
    jobs[rng.choice(len(jobs), changed, replace=False)] = jobs[0]
    release.tables["generalized"] = table.with_columns(pl.Series("occupation", jobs))
    matches = release.views[0].match(people)
    own, shown = number_jointly(release.views[0], people, ["occupation"])
    size = int(max(own.max(), shown.max())) + 1
    expected = consistency._count_unplaced(matches, own, shown, size)
    assert consistency.count_misplaced(matches, people, ["occupation"]) == expected
    assert (expected > 0) == (changed > 0)


def test_people_made_up_are_real_if_somebody_is_like_them(people: dc.Microdata) -> None:
    names, rng = people.quasi_identifiers[:3], np.random.default_rng(0)
    made = {name: people.codes[name][rng.integers(0, people.n, 300)] for name in names}
    rows = {tuple(row) for row in np.stack([people.codes[name] for name in names], axis=1).tolist()}
    expected = [tuple(row) in rows for row in np.stack(list(made.values()), axis=1).tolist()]
    assert members._find_real(people, made).tolist() == expected
    assert 0 < sum(expected) < 300
