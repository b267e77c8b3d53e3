"""k^m-anonymity and ρ-uncertainty of sets, against all subsets of all items."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.principles import itemsets
from discreet.principles.groups import Groups
from discreet.table.schema import Attribute, Role, Type

BASKETS = Attribute("items", Role.SENSITIVE, Type.SET)
TABLE = st.lists(st.frozensets(st.sampled_from("abcde")), min_size=1, max_size=9)


def group(*tables: list[frozenset[str]]) -> Groups:
    return Groups.of([["|".join(sorted(items)) for items in table] for table in tables], BASKETS)


def keeps_km(table: list[frozenset[str]], k: int, m: int) -> bool:
    """Definition 1, with all subsets of all items."""
    for size in range(m + 1):
        for known in combinations("abcde", size):
            fit = sum(items.issuperset(known) for items in table)
            if 0 < fit < k:
                return False
    return True


def infer_most(table: list[frozenset[str]], secret: str) -> Fraction:
    """The largest share of those with an item among all who have any subset of the others."""
    most = Fraction(0)
    for item in secret:
        others = [one for one in "abcde" if one != item]
        for size in range(len(others) + 1):
            for known in combinations(others, size):
                fit = [items for items in table if items.issuperset(known)]
                if fit:
                    most = max(most, Fraction(sum(item in items for items in fit), len(fit)))
    return most


@settings(max_examples=80, deadline=None)
@given(one=TABLE, two=TABLE, k=st.integers(1, 4), m=st.integers(1, 6))
def test_km_anonymity_is_what_all_subsets_say(
    one: list[frozenset[str]], two: list[frozenset[str]], k: int, m: int
) -> None:
    principle = dc.KMAnonymity(k, m)
    both = [keeps_km(table, k, m) for table in (one, two)]
    assert principle.admits(group(one, two)).tolist() == both
    assert principle.feasible(group(one)).possible == both[0]
    if all(both):
        assert principle.admits(group(one + two)).all()


@settings(max_examples=80, deadline=None)
@given(one=TABLE, two=TABLE, secret=st.sampled_from(["a", "bd", "abcde"]), data=st.data())
def test_rho_uncertainty_is_what_all_subsets_say(
    one: list[frozenset[str]], two: list[frozenset[str]], secret: str, data: st.DataObject
) -> None:
    found = [infer_most(table, secret) for table in (one, two)]
    near = [share for share in found if share] or [Fraction(1, 2)]
    rho = data.draw(st.sampled_from([*near, Fraction(1, 2), Fraction(2, 3)]))
    principle = dc.RhoUncertainty(rho, None if secret == "abcde" else list(secret))
    assert principle.admits(group(one, two)).tolist() == [share < rho for share in found]
    assert str(found[0]) in principle.feasible(group(one)).best
    if max(found) < rho:
        assert principle.admits(group(one + two)).all()


def test_a_belief_of_rho_itself_is_too_much_and_k_people_are_enough() -> None:
    """Half have hiv; and of two with flu, which is sensitive too, one."""
    half = group([frozenset(items) for items in ("fh", "h", "f", "m")])
    for secret in (["h"], ["f"], ["f", "h"], None):
        kept = [
            dc.RhoUncertainty(rho, secret).admits(half).all() for rho in ("1/2", "50001/100000")
        ]
        assert kept == [False, True]
    certain = group([frozenset("f"), frozenset("f")])
    assert not dc.RhoUncertainty(1).admits(certain).all()
    pairs = group([frozenset("fh"), frozenset("fh"), frozenset("f")])
    assert [dc.KMAnonymity(k, 2).admits(pairs).all() for k in (2, 3)] == [True, False]
    assert dc.KMAnonymity(2, 5).admits(group([frozenset("a")] * 2 + [frozenset("b")] * 2)).all()


def test_a_label_for_a_sensitive_item_and_others_is_refused() -> None:
    """Who knows that somebody has flu sees the label, and nothing bounds hiv."""
    table = group([frozenset("a")] * 2 + [frozenset()] * 8)
    rho = dc.RhoUncertainty("1/2", ["hiv"])
    assert rho.admits(table).all()
    assert not rho.admits_labels(table, {"a": frozenset({"flu", "hiv"})}).any()
    assert rho.admits_labels(table, {"a": frozenset({"flu", "gout"})}).all()
    assert rho.admits_labels(table, {"b": frozenset({"flu", "hiv"})}).all()


def test_what_cannot_be_counted_is_no_promise_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(itemsets, "MOST_LOOKED", 2)
    table = group([frozenset("abcde")] * 3)
    for principle in (dc.KMAnonymity(2, 3), dc.RhoUncertainty(1)):
        with pytest.raises(dc.errors.PromiseError, match="is not known"):
            principle.admits(table)


@pytest.mark.parametrize("rho", [0, 1.1, "x", True])
def test_a_probability_is_above_nothing_and_up_to_one(rho: object) -> None:
    with pytest.raises(dc.DiscreetError, match="rho"):
        dc.RhoUncertainty(rho)  # type: ignore[arg-type]
    with pytest.raises(dc.DiscreetError, match="list of items"):
        dc.RhoUncertainty("1/2", "hiv")


def test_of_clusters_it_takes_as_many_more_rows() -> None:
    assert dc.KMAnonymity(3, 2).over_rows(1, 4) == dc.KMAnonymity(12, 2)
    with pytest.raises(dc.errors.PromiseError, match="several rows"):
        dc.KMAnonymity(3, 2).over_rows(2, 2)
