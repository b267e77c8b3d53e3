"""All worlds of tiny tables in which a common value does not count and a rare one counts more."""

from __future__ import annotations

from fractions import Fraction

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.publishing.method import Method
from samples import microdata
from worlds import posteriors

MOST = {"none": Fraction(1), "hiv": Fraction(1, 3), "flu": Fraction(1, 2), "gout": Fraction(1, 2)}
PROMISE = dc.FrequencyDiversity(2, values={"none": None, "hiv": 3})
METHODS: list[Method] = [
    dc.Generalization(PROMISE),
    dc.Generalization(dc.AlphaK("1/2", 2, values={"none": None, "hiv": "1/3"})),
    dc.FullDomain(PROMISE),
    dc.Anatomy(PROMISE),
    dc.Anatomy(PROMISE, batches="anatomize"),
    dc.Angelization(PROMISE, k=2),
    dc.Angelization(PROMISE, k=2, batches="mondrian"),
    dc.Angelization(PROMISE, k=2, marginals=[["age"], ["sex"]]),
    dc.Slicing(PROMISE, columns=[["age"], ["sex"], ["disease"]]),
    dc.Slicing(PROMISE, columns=[["age"], ["sex", "disease"]]),
]
ROW = st.tuples(
    st.integers(1, 4),
    st.sampled_from("FM"),
    st.sampled_from(["none", "none", "none", "flu", "gout", "hiv"]),
)
TABLE = st.lists(ROW, min_size=1, max_size=4).map(
    lambda rows: [(2, "F", "hiv"), (3, "M", "none"), (1, "F", "none"), *rows]
)


def as_data(rows: list[tuple[int, str, str]]) -> dc.Microdata:
    frame = pl.DataFrame(rows, schema=["age", "sex", "disease"], orient="row")
    return microdata(frame, ["age", "sex"], ["disease"])


@pytest.mark.parametrize("method", METHODS, ids=lambda m: f"{m.title} {m.parameters()}")
@settings(max_examples=8, deadline=None)
@given(rows=TABLE)
def test_in_no_world_is_a_value_above_its_own_threshold(
    method: Method, rows: list[tuple[int, str, str]]
) -> None:
    data = as_data(rows)
    try:
        release = dc.publish(data, method)
    except dc.errors.PromiseError:
        assume(False)
        raise
    beliefs = posteriors(release, data.to_polars().to_dicts(), "disease")
    for belief in beliefs:
        assert all(share <= MOST[value] for value, share in belief.items())
    report = dc.audit(release, data)
    assert report.kept and report.counted is not None
    surest = [s for belief in beliefs for value, s in belief.items() if value != "none"]
    assert report.counted.left_out == {"disease": ("none",)}
    assert report.counted.worst >= max(surest)
    assert report.worst is not None
    assert report.worst >= max(share for belief in beliefs for share in belief.values())


@settings(max_examples=25, deadline=None)
@given(rows=TABLE, k=st.integers(1, 3))
def test_the_audit_fails_exactly_who_is_believed_above_the_threshold_of_a_value(
    rows: list[tuple[int, str, str]], k: int
) -> None:
    data = as_data(rows)
    release = dc.publish(data, dc.Generalization(dc.KAnonymity(k)))
    beliefs = posteriors(release, data.to_polars().to_dicts(), "disease")
    report = dc.audit(release, data, principle=PROMISE)
    above = [any(share > MOST[value] for value, share in b.items()) for b in beliefs]
    assert report.breached.tolist() == above
    assert report.counted is not None
    assert report.counted.worst == max(
        share for belief in beliefs for value, share in belief.items() if value != "none"
    )
    assert report.worst == max(share for belief in beliefs for share in belief.values())
