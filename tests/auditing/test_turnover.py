"""People who join, leave or change: no ledger lets the difference of two releases tell of them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import discreet as dc
from discreet.auditing.turnover import find_turnover
from discreet.errors import PromiseError
from discreet.publishing.method import Method

FIRST = pl.DataFrame({"age": [20, 21, 40, 41], "pay": [100, 200, 100, 200]})
LATER = {
    "one joined": pl.DataFrame({"age": [20, 21, 40, 41, 42], "pay": [100, 200, 100, 200, 900]}),
    "one left": FIRST.head(3),
    "one changed": FIRST.with_columns(pl.Series("pay", [100, 200, 100, 900])),
}
TWO = dc.DistinctDiversity(2)
METHODS: list[Method] = [
    dc.Generalization(TWO), dc.Anatomy(TWO), dc.Angelization(TWO, k=2),
    dc.Slicing(TWO), dc.Permutation(dc.KE(2, 1)),
]  # fmt: skip


def read(frame: pl.DataFrame) -> dc.Microdata:
    return dc.read(frame, dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["pay"]))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.title)
@pytest.mark.parametrize("what", LATER)
def test_a_ledger_refuses_a_table_that_changed(what: str, method: Method, tmp_path: Path) -> None:
    """A newcomer's value is what the second release has more: it was published before."""
    ledger = dc.Ledger.init(tmp_path / "book", "people")
    first, later = read(FIRST), read(LATER[what])
    ledger.publish(dc.publish(first, method), first, tmp_path / "first")
    with pytest.raises(PromiseError, match="0001") as refused:
        ledger.publish(dc.publish(later, method), later, tmp_path / "later")
    assert "not the one that was published from before" in str(refused.value)
    assert not (tmp_path / "later").exists()
    assert [entry.state for entry in ledger.entries] == ["published"]


@pytest.mark.parametrize("one", METHODS, ids=lambda method: method.title)
@pytest.mark.parametrize("other", METHODS, ids=lambda method: method.title)
def test_releases_of_the_same_table_are_about_the_same_people(one: Method, other: Method) -> None:
    data = read(FIRST)
    assert find_turnover(dc.publish(data, one), [("0001", dc.publish(data, other))]) == []


def test_rows_that_one_release_leaves_out_are_told_by_another() -> None:
    """Somebody stands apart: what a group has more with them than without is theirs."""
    frame = pl.DataFrame({"age": [20, 20, 21, 21, 90], "pay": [100, 200, 100, 200, 300]})
    data = read(frame)
    whole = dc.publish(data, dc.Generalization(dc.KAnonymity(4)))
    part = dc.publish(data, dc.Generalization(dc.KAnonymity(4), suppress="1/5"))
    few = dc.publish(read(frame.head(4)), dc.Anatomy(TWO))
    assert (whole.left_out, part.left_out) == (0, 1)
    assert find_turnover(part, [("0001", whole)]) and find_turnover(whole, [("0001", part)])
    assert find_turnover(part, [("0001", part)]) == []
    assert find_turnover(few, [("0001", part)])  # of as many records: whose is not told


def test_a_person_replaced_by_another_shows_where_quasi_identifiers_are_exact() -> None:
    first, later = read(FIRST), read(FIRST.with_columns(pl.Series("age", [20, 21, 40, 43])))
    method = dc.Anatomy(TWO)
    found = find_turnover(dc.publish(later, method), [("0001", dc.publish(first, method))])
    assert found == ["0001 has other values of age in all"]


def test_an_audit_with_earlier_releases_says_that_the_table_changed() -> None:
    first, later = read(FIRST), read(LATER["one joined"])
    found = dc.audit(
        dc.publish(later, dc.Generalization(TWO)),
        later,
        earlier=[dc.publish(first, dc.Generalization(TWO))],
    )
    assert any("publishes 4 records and this release 5" in note for note in found.notes)
