"""All worlds of tiny tables in which people guard what must not be told of them."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.publishing.method import Method
from guarded import BELOW, LEAVES, Row, guarded_data
from worlds import posteriors

ROW = st.tuples(
    st.integers(1, 5),
    st.sampled_from(LEAVES),
    st.sampled_from([None, None, *LEAVES[:4], *BELOW]),
)
TABLE = st.lists(ROW, min_size=2, max_size=6)


def believe_guarded(release: dc.Release, rows: list[Row]) -> list[Fraction]:
    """Per person the probability, over all worlds, of having what the person guards."""
    people = [{"age": age, "disease": disease} for age, disease, _ in rows]
    beliefs = posteriors(release, people, "disease")
    guarded = [BELOW.get(wish or "", [wish]) for _, _, wish in rows]
    return [
        sum((belief.get(value, Fraction(0)) for value in values), Fraction(0))
        for belief, values in zip(beliefs, guarded, strict=True)
    ]


@pytest.mark.parametrize("l", [2, "3/2"])
@pytest.mark.parametrize("settings_of", [{}, {"ends": "cuts"}], ids=str)
@settings(max_examples=12, deadline=None)
@given(rows=TABLE)
def test_in_no_world_is_a_guard_broken(
    l: int | str,  # noqa: E741
    settings_of: dict[str, str],
    rows: list[Row],
) -> None:
    data, most = guarded_data(rows), 1 / Fraction(l)
    try:
        release = dc.publish(data, dc.Generalization(dc.PersonalPrivacy(l), **settings_of))  # type: ignore[arg-type]
    except dc.errors.PromiseError:  # groups are split from the whole: it breaks somebody's
        whole = [[r for r in rows if r[1] in BELOW.get(w or "", [w])] for _, _, w in rows]
        assert any(Fraction(len(have), len(rows)) > most for have in whole)
        return
    assert max(believe_guarded(release, rows)) <= most
    assert dc.audit(release, data).kept


@pytest.mark.parametrize("k", [1, 2, 3])
@settings(max_examples=12, deadline=None)
@given(rows=TABLE)
def test_the_audit_finds_in_any_release_whom_all_worlds_find(k: int, rows: list[Row]) -> None:
    data = guarded_data(rows)
    if len(rows) < k:
        return
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(k)))
    beliefs = believe_guarded(release, rows)
    for l in (1, "3/2", 2, 3):  # noqa: E741
        report = dc.audit(release, data, principle=dc.PersonalPrivacy(l))
        assert report.breached.tolist() == [belief > 1 / Fraction(l) for belief in beliefs]


@pytest.mark.parametrize(
    "method",
    [
        dc.Anatomy(dc.DistinctDiversity(2)),
        dc.Slicing(dc.DistinctDiversity(2), columns=[["age"], ["disease"]]),
        dc.FullDomain(dc.KAnonymity(2)),
    ],
    ids=lambda m: m.title,
)
@settings(max_examples=8, deadline=None)
@given(rows=TABLE)
def test_of_other_forms_the_audit_tells_nobody_to_be_safer_than_in_all_worlds(
    method: Method, rows: list[Row]
) -> None:
    data = guarded_data(rows)
    try:
        release = dc.publish(data, method)
    except dc.DiscreetError:
        return
    beliefs = believe_guarded(release, rows)
    for l in (2, 3):  # noqa: E741
        report = dc.audit(release, data, principle=dc.PersonalPrivacy(l))
        for broken, belief in zip(report.breached.tolist(), beliefs, strict=True):
            assert broken or belief <= Fraction(1, l)


@settings(max_examples=12, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4)), min_size=4, max_size=6),
    whose=st.lists(st.integers(-2, 3), min_size=6, max_size=6),
)
def test_the_audit_finds_them_where_several_groups_may_be_somebodys(
    rows: list[tuple[int, int]], whose: list[int]
) -> None:
    """Under proximity people are dealt, and boxes overlap: nobody is told to be safer than so."""
    wishes = [str(10 * rows[i][1]) if i >= 0 else None for i in whose[: len(rows)]]
    frame = pl.DataFrame(
        {"age": [a for a, _ in rows], "pay": [10 * v for _, v in rows], "wish": wishes},
        schema={"age": pl.Int64, "pay": pl.Int64, "wish": pl.String},
    )
    schema = dc.Schema.infer(
        frame, quasi_identifiers=["age"], sensitive=["pay"], guards={"wish": "pay"}
    )
    data = dc.read(frame, schema)
    try:
        release = dc.publish(data, dc.Generalization(dc.Proximity(5, 2)))
    except dc.errors.PromiseError:
        return
    beliefs = posteriors(release, frame.select("age", "pay").to_dicts(), "pay")
    told = [
        b.get(int(w), Fraction(0)) if w else Fraction(0)
        for b, w in zip(beliefs, wishes, strict=True)
    ]
    for l in (2, 3, 4):  # noqa: E741
        report = dc.audit(release, data, principle=dc.PersonalPrivacy(l))
        for broken, belief in zip(report.breached.tolist(), told, strict=True):
            assert broken or belief <= Fraction(1, l)
