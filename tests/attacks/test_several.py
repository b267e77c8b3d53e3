"""Several sensitive attributes: all worlds of tiny tables, whatever the form, nothing estimated.

The worlds are those of ``oracles``, which reads tables and nothing else of the project.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import discreet as dc
from oracles.all_worlds import Worlds, count_worlds
from oracles.pieces import Piece, read_pieces
from samples import microdata

ROW = st.tuples(
    st.integers(1, 3), st.sampled_from("FM"), st.sampled_from("abc"), st.sampled_from("xyz")
)
TABLE = st.lists(ROW, min_size=4, max_size=6)
TOLD = ["job", "home"]
HALF = dc.FrequencyDiversity(2)
few = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


def as_data(rows: list[Any]) -> dc.Microdata:
    frame = pl.DataFrame(rows, schema=["age", "sex", *TOLD], orient="row")
    return microdata(frame, ["age", "sex"], TOLD)


def publish(data: dc.Microdata, method: Any, seed: int) -> dc.Release:
    try:
        return dc.publish(data, method, insecure_seed=seed)
    except dc.errors.PromiseError:
        assume(False)
        raise


def enumerate_worlds(release: dc.Release, data: dc.Microdata) -> Worlds:
    people = data.to_polars().to_dicts()
    return count_worlds(len(people), [read_pieces(release, people)])


def know_the_other(release: dc.Release, data: dc.Microdata, name: str) -> Worlds:
    """Enumerate the worlds of somebody who knows the other attribute of everybody."""
    (other,) = set(TOLD) - {name}
    people = data.to_polars().to_dicts()

    def rule_out(piece: Piece) -> Piece:
        told = dict(piece.values)
        left = (i for i in piece.fits if told.get(other, people[i][other]) == people[i][other])
        return replace(piece, fits=frozenset(left))

    read = read_pieces(release, people)
    groups = [
        replace(g, columns=tuple(Counter(map(rule_out, c.elements())) for c in g.columns))
        for g in read.groups
    ]
    return count_worlds(len(people), [replace(read, groups=tuple(groups))])


def pool(release: dc.Release, data: dc.Microdata, name: str) -> list[dict[Any, Fraction]]:
    """What is believed by somebody who knows one person: all pieces of a group that fit, put
    together in all ways; each of the group's people is as likely the one sought. Who has a piece
    has one of the next column that agrees with it, and each of these is as likely."""
    people = data.to_polars().to_dicts()
    shared = list_shared(release)
    found = []
    for person in range(len(people)):
        belief: dict[Any, Fraction] = defaultdict(Fraction)
        for group in read_pieces(release, people).groups:
            fitting = [
                [(piece, many) for piece, many in column.items() if person in piece.fits]
                for column in group.columns
            ]
            agreeing = [
                sum(many for piece, many in column.items()
                    if all(piece.shown[at] == people[person][n] for at, n in places))
                for column, places in zip(group.columns[1:], shared or [[]] * 9, strict=False)
            ]  # fmt: skip
            for chosen in product(*fitting):
                told = {n: v for piece, _ in chosen for n, v in piece.values}
                ways = prod(many for _, many in chosen)
                belief[told[name]] += Fraction(ways, prod(agreeing))
        found.append({value: share / sum(belief.values()) for value, share in belief.items()})
    return found


def list_shared(release: dc.Release) -> list[list[tuple[int, str]]]:
    """Per column of slices but the first, where its pieces show what an earlier one shows."""
    if release.form != "sliced":
        return []
    listed: Any = release.parameters["columns"]
    known = [[n for n in column if n not in TOLD] for column in listed]
    return [
        [(at, n) for at, n in enumerate(names) if any(n in earlier for earlier in known[:i])]
        for i, names in enumerate(known)
    ][1:]


def hold_audit_against_worlds(release: dc.Release, data: dc.Microdata, most: Fraction) -> None:
    """Nobody believes more than was promised, nor other than the audit says."""
    worlds, report = enumerate_worlds(release, data), dc.audit(release, data)
    assert report.kept, report.problems
    truth = data.to_polars().to_dicts()
    for name in TOLD:
        pooled = pool(release, data, name)
        for person, belief in enumerate(worlds.believe(name)):
            own = truth[person][name]
            surest = max(*belief.values(), *pooled[person].values())
            truly = max(b.get(own, Fraction(0)) for b in (belief, pooled[person]))
            assert surest <= most
            assert float(surest) <= report.beliefs[name][person] + 1e-9
            assert float(truly) <= report.truths[name][person] + 1e-9
            if report.how[name] == "exactly":
                assert float(surest) == pytest.approx(report.beliefs[name][person])
                assert float(truly) == pytest.approx(report.truths[name][person])


SLICINGS = [
    dc.Slicing(HALF),
    dc.Slicing(HALF, columns=1),
    dc.Slicing(HALF, together=True),
    dc.Slicing(HALF, buckets=3),
    dc.Slicing(HALF, columns=[["age", "job"], ["sex", "home"]]),
    dc.Slicing(HALF, columns=[["age"], ["sex", "job"], ["home"]]),
    dc.Slicing(HALF, columns=[["age"], ["sex", "job", "home"]]),
    dc.Slicing(HALF, columns=[["age", "job"], ["sex", "home"]], buckets=3),
    dc.Slicing(HALF, columns=[["age", "sex"], ["sex", "job"], ["home"]]),
    dc.Slicing(HALF, columns=[["age"], ["sex", "job"], ["sex", "home"]]),
    dc.Slicing(HALF, columns=[["age"], ["sex", "job"], ["sex", "home"]], buckets=3),
]


@few
@given(rows=TABLE, method=st.sampled_from(SLICINGS), seed=st.integers(0, 9))
def test_no_world_of_slices_gives_a_belief_above_the_promise(
    rows: list[Any], method: dc.Slicing, seed: int
) -> None:
    data = as_data(rows)
    hold_audit_against_worlds(publish(data, method, seed), data, Fraction(1, 2))


@few
@given(rows=TABLE, method=st.sampled_from(SLICINGS[3:6] + SLICINGS[8:]), seed=st.integers(0, 9))
def test_who_knows_the_attribute_of_another_column_is_promised_the_same(
    rows: list[Any], method: dc.Slicing, seed: int
) -> None:
    data = as_data(rows)
    release = publish(data, method, seed)
    assert "holds also against somebody who knows the others" in release.promise.guarantee
    for name in TOLD:
        for belief in know_the_other(release, data, name).believe(name):
            assert max(belief.values()) <= Fraction(1, 2)


def test_who_knows_the_attribute_of_the_same_column_is_promised_nothing() -> None:
    data = as_data([(1, "F", "a", "x"), (1, "F", "b", "y"), (2, "M", "c", "z"), (2, "M", "a", "y")])
    release = dc.publish(data, dc.Slicing(HALF, together=True), insecure_seed=0)
    assert any("who knows one of job, home learns" in text for text in release.promise.leaves_open)
    assert "holds also against" not in release.promise.guarantee
    beliefs = know_the_other(release, data, "job").believe("job")
    assert max(beliefs[0].values()) == 1


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("buckets", ["mondrian", 3])
def test_parts_of_two_columns_are_weighed_each_by_its_own(buckets: Any, shared: bool) -> None:
    rows = [(age, sex, job, home) for age in (1, 2) for sex, job, home in (
        ("F", "a", "x"), ("M", "b", "y"), ("F", "b", "y"), ("M", "a", "x"), ("M", "c", "z"),
        ("F", "c", "z"))]  # fmt: skip
    data = as_data(rows)
    columns = [["age", "job"], ["sex", "home"]]
    if shared:
        columns = [["age"], ["sex", "job"], ["sex", "home"]]
    method = dc.Slicing(dc.DistinctDiversity(1), columns=columns, buckets=buckets)
    for seed in range(8):
        release = dc.publish(data, method, insecure_seed=seed)
        hold_audit_against_worlds(release, data, Fraction(1))


BATCHES = [
    dc.Anatomy(HALF),
    dc.Anatomy(HALF, together=True),
    dc.Angelization(HALF, k=2),
    dc.Angelization(HALF, k=2, together=True),
    dc.Angelization(HALF, k=2, marginals=[["age"], ["sex"]]),
]


@few
@given(rows=TABLE, method=st.sampled_from(BATCHES))
def test_no_world_of_batches_gives_a_belief_above_the_promise(rows: list[Any], method: Any) -> None:
    data = as_data(rows)
    release = publish(data, method, 0)
    worlds, report = enumerate_worlds(release, data), dc.audit(release, data)
    assert report.kept, report.problems
    for name in TOLD:
        for person, belief in enumerate(worlds.believe(name)):
            surest = max(belief.values())
            assert surest <= Fraction(1, 2)
            if report.joined is None:
                assert float(surest) <= report.beliefs[name][person] + 1e-9
            else:
                assert surest <= report.joined.worst
    if not method.together:
        assert "holds also against somebody who knows the others" in release.promise.guarantee
        for name in TOLD:
            for belief in know_the_other(release, data, name).believe(name):
                assert max(belief.values()) <= Fraction(1, 2)


@pytest.mark.parametrize("together", [False, True])
def test_batches_of_two_attributes_by_hand(together: bool) -> None:
    """Four people of one batch: a, b, c, a and x, y, z, y, as people have them or not."""
    data = as_data([(1, "F", "a", "x"), (1, "F", "b", "y"), (2, "M", "c", "z"), (2, "M", "a", "y")])
    release = dc.publish(data, dc.Anatomy(HALF, together=together), insecure_seed=0)
    report, worlds = dc.audit(release, data), enumerate_worlds(release, data)
    assert report.kept
    for name in TOLD:
        assert report.how[name] == "exactly"
        for person, belief in enumerate(worlds.believe(name)):
            assert report.beliefs[name][person] == pytest.approx(float(max(belief.values())))
    known = know_the_other(release, data, "job").believe("job")
    assert max(max(belief.values()) for belief in known) == (1 if together else Fraction(1, 2))


@few
@given(rows=TABLE)
def test_no_world_of_classes_gives_a_belief_above_the_promise(rows: list[Any]) -> None:
    data = as_data(rows)
    hold_audit_against_worlds(publish(data, dc.Generalization(HALF), 0), data, Fraction(1, 2))
