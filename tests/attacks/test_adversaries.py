"""Against whom the promise of a release holds: what forms say is what worlds say.

What only limits a reader (all quasi-identifiers) is tried by ``oracles``, who knows the method by
``test_known_method``. Here are those whom hardly any release withstands: each breaks a promise.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import permutations

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.forms import find_form
from discreet.forms.adversaries import Adversary
from discreet.publishing.method import Method
from oracles.all_worlds import count_worlds
from oracles.pieces import read_pieces
from samples import microdata

HALF = dc.FrequencyDiversity(2)
GROUPING = [
    dc.Generalization(HALF),
    dc.Generalization(HALF, resist="method"),
    dc.FullDomain(HALF),
    dc.Angelization(HALF, k=2),
    dc.Anatomy(HALF),
    dc.Angelization(HALF, k=2, resist="method"),
    dc.Anatomy(HALF, resist="method"),
    dc.Slicing(HALF, columns=[["age", "sex"], ["pay"]]),
    dc.Permutation(HALF),
]
"""Methods whose promise is that nobody's value is believed with more than a half."""
each = pytest.mark.parametrize("method", GROUPING, ids=lambda m: f"{m.title}-{m.parameters()}")


def draw_people() -> Iterator[pl.DataFrame]:
    """Six people with a number each, no two of which are the same."""
    rng = np.random.default_rng(5)
    for _ in range(100):
        yield pl.DataFrame({
            "age": rng.integers(1, 7, 6), "sex": rng.choice(["F", "M"], 6),
            "pay": rng.permutation(6),
        })  # fmt: skip


def publish_some(method: Method) -> tuple[dc.Release, list[dict[str, object]]]:
    """Publish the first table that has more than one group."""
    for frame in draw_people():
        data = microdata(frame, ["age", "sex"], ["pay"])
        try:
            release = dc.publish(data, method)
        except dc.DiscreetError:
            continue
        people = data.to_polars().to_dicts()
        if len(read_pieces(release, people).groups) > 1:
            return release, people
    raise AssertionError("no table was found that has several groups")


@each
def test_who_knows_other_peoples_values_is_certain_of_the_last_of_a_group(method: Method) -> None:
    release, people = publish_some(method)
    worlds = count_worlds(len(people), [read_pieces(release, people)])
    assert max(max(b.values()) for b in worlds.believe("pay")) <= Fraction(1, 2)
    known = {row: person["pay"] for row, person in enumerate(people) if row}
    assert worlds.believe_knowing("pay", known)[0] == {
        value: int(value == people[0]["pay"]) for value in worlds.believe("pay")[0]
    }
    assert Adversary.ACQUAINTANCE not in find_form(release.form).list_withstood(release)


@each
def test_who_holds_two_releases_of_the_same_people_may_be_certain(method: Method) -> None:
    """Of some table: both keep the promise, and what both leave possible does not."""
    for frame in draw_people():
        data, other = (microdata(frame, names, ["pay"]) for names in (["age", "sex"], ["sex"]))
        people = data.to_polars().to_dicts()
        try:
            releases = [dc.publish(data, method), dc.publish(data, method),
                        dc.publish(other, dc.Anatomy(HALF))]  # fmt: skip
        except dc.DiscreetError:
            continue
        read = [read_pieces(release, people) for release in releases]
        alone = [count_worlds(len(people), [one]).believe("pay") for one in read]
        assert all(max(b.values()) <= Fraction(1, 2) for told in alone for b in told)
        together = count_worlds(len(people), read).believe("pay")
        if max(max(b.values()) for b in together) > Fraction(1, 2):
            break
    else:
        pytest.fail("no table was found of which several releases tell too much")
    told = find_form(releases[0].form).list_withstood(releases[0])
    assert Adversary.COLLECTOR not in told


@pytest.mark.parametrize(
    "method",
    [dc.Generalization(HALF), dc.FullDomain(HALF), dc.Angelization(HALF, k=2, batches="mondrian"),
     dc.Slicing(HALF, columns=[["age", "sex"], ["pay"]])],
    ids=lambda m: m.title,
)  # fmt: skip
def test_who_knows_where_a_search_stops_believes_more_than_is_promised(method: Method) -> None:
    """Of some table: of all ways to hand its values out, only those are left that give the same."""
    alike = pl.DataFrame({"age": [2, 2, 1, 1, 2, 2], "sex": list("FMFMMM")})
    for frame in (alike, *draw_people()):
        seen: dict[str, list[tuple[int, ...]]] = {}
        for pay in sorted(set(permutations((1, 1, 2, 2, 3, 3)))):
            data = microdata(frame.with_columns(pay=pl.Series(pay)), ["age", "sex"], ["pay"])
            release = dc.publish(data, method, insecure_seed=1)
            told = {title: table.to_dicts() for title, table in release.tables.items()}
            seen.setdefault(repr(told), []).append(pay)
        shares = (
            Fraction(sum(world[person] == value for world in worlds), len(worlds))
            for worlds in seen.values() for person in range(6) for value in (1, 2, 3)
        )  # fmt: skip
        if max(shares) > Fraction(1, 2):
            break
    else:
        pytest.fail("no table was found of which the method tells more")
    assert Adversary.METHOD not in find_form(release.form).list_withstood(release)


def test_who_knows_all_other_numbers_reads_a_perturbed_one_better() -> None:
    """Nobody else has the number shown: it is the person's own, or was drawn."""
    data = microdata(pl.DataFrame({"age": range(40), "pay": range(40)}), ["age"], ["pay"])
    release = dc.publish(data, dc.Perturbation(dc.Proximity(1, 2)), insecure_seed=2)
    retention = Fraction(str(release.parameters["retention"]))
    drawn = (1 - retention) / 40
    # of two people who are left, with two numbers, one shows a number that is one of the two
    own, other = retention + drawn, drawn
    assert own * drawn / (own * drawn + other * drawn) > Fraction(1, 2)
    assert Adversary.ACQUAINTANCE not in find_form("perturbed").list_withstood(release)


def test_a_promise_that_says_nothing_of_values_holds_against_who_knows_the_method() -> None:
    """Which groups there are is the same, whatever the values are."""
    frame = next(draw_people())
    shown = []
    for pay in ([0, 1, 2, 3, 4, 5], [1, 0, 5, 4, 3, 2]):
        data = microdata(frame.with_columns(pay=pl.Series(pay)), ["age", "sex"], ["pay"])
        for method in (dc.Generalization(dc.KAnonymity(2)), dc.FullDomain(dc.KAnonymity(2))):
            release = dc.publish(data, method)
            assert Adversary.METHOD in find_form(release.form).list_withstood(release)
            shown.append(release.tables["generalized"].drop("pay", "class").sort(pl.all()))
    assert shown[0].equals(shown[2]) and shown[1].equals(shown[3])


def test_which_numbers_make_a_group_is_the_same_whosever_they_are() -> None:
    frame = next(draw_people())
    groups = set()
    for pay in ([1, 1, 2, 3, 3, 4], [3, 1, 4, 2, 1, 3], [4, 3, 3, 2, 1, 1]):
        data = microdata(frame.with_columns(pay=pl.Series(pay)), ["age", "sex"], ["pay"])
        table = dc.publish(data, dc.Permutation(HALF)).tables["permuted"]
        held = table.group_by("group").agg(pl.col("pay").sort())["pay"].to_list()
        groups.add(tuple(sorted(map(tuple, held))))
    assert len(groups) == 1
    assert Adversary.METHOD in find_form("permuted").list_withstood(
        dc.publish(data, dc.Permutation(HALF))
    )


def test_the_papers_checks_hold_against_fewer() -> None:
    data = dc.datasets.census(400, sensitive="income")
    apart = [data.quasi_identifiers, data.sensitive]
    sliced = dc.publish(data, dc.Slicing(HALF, columns=apart, check="paper"))
    assert set(find_form("sliced").list_withstood(sliced)) == {Adversary.READER}
    perturbed = dc.publish(data, dc.Perturbation(dc.Proximity(1, 2), check="paper"))
    told = find_form("perturbed").list_withstood(perturbed)
    assert dict(told) == {Adversary.READER: "on average over the numbers shown"}


def test_who_is_dealt_is_promised_something_of_their_group_alone() -> None:
    data = dc.datasets.census(400, sensitive="income")
    dealt = dc.publish(data, dc.Generalization(dc.Proximity(1000, 3)))
    told = find_form("generalized").list_withstood(dealt)
    assert set(told.values()) == {"who knows the group of the person"}
    versions = dc.publish(data, dc.Republication(dc.MInvariance(2)))
    told = find_form("generalized").list_withstood(versions)
    assert told[Adversary.COLLECTOR] == "versions of its own series"
