"""What a release leaves possible about a person: every reader says what all worlds say."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import permutations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.forms.disclosure import SET, WEIGHT, background_knowledge, disclose
from discreet.forms.possibilities import list_people
from samples import microdata
from worlds import shuffles

Belief = dict[str, float]


def slice_up(frame: pl.DataFrame) -> tuple[dc.Microdata, dc.Release]:
    """Publish {c}, {q, s} in buckets that were chosen without looking at anybody."""
    data = microdata(frame, ["c", "q"], ["s"])
    method = dc.Slicing(dc.KAnonymity(1), columns=[["c"], ["q", "s"]], buckets=frame.height // 2)
    made = dc.publish(data, method, insecure_seed=1)
    table = frame.with_columns(
        bucket=pl.Series(np.repeat([0, 1], frame.height // 2), dtype=pl.Int32)
    )
    shown = table.select(made.tables["sliced"].columns)
    return data, replace(made, tables={"sliced": shown})


def by_audit(data: dc.Microdata, release: dc.Release, person: int) -> Belief:
    found = release.views[0].match(data)
    bags = found.pool("s", found.set_of[[person]])
    return _normalize([bags.domain.texts[c] for c in bags.codes], bags.weights)


def by_ledger(data: dc.Microdata, release: dc.Release, person: int) -> Belief:
    told, _ = disclose(release, data, background_knowledge([("r", release)], data))
    lines = told.frames[0].filter(pl.col(SET) == told.set_of[person])
    texts = [data.domains["s"].texts[c] for c in lines["s"]]
    return _normalize(texts, lines[WEIGHT].to_numpy())


def by_attack(data: dc.Microdata, release: dc.Release, person: int) -> Belief:
    listed = list_people(release.views[0].match(data), data, "s")
    mine = listed.record == person
    codes = listed.bags.codes[listed.entry[mine]]
    return _normalize([listed.bags.domain.texts[c] for c in codes], listed.prior[mine])


def by_worlds(data: dc.Microdata, release: dc.Release) -> list[Belief]:
    """What is believed of everybody by counting all worlds, which are listed once."""
    looks = [(row["c"], row["q"]) for row in data.to_polars().to_dicts()]
    counted: dict[tuple[str, str], Counter[str]] = {look: Counter() for look in looks}
    for world in shuffles(release):
        for row in world:
            if (look := (row["c"], row["q"])) in counted:
                counted[look][str(row["s"])] += 1
    return [{s: float(Fraction(n, counted[look].total())) for s, n in counted[look].items()}
            for look in looks]  # fmt: skip


def _normalize(texts: list[str], weights: np.ndarray) -> Belief:
    total: Counter[str] = Counter()
    for text, weight in zip(texts, weights, strict=True):
        total[text] += float(weight)  # type: ignore[assignment]
    return {text: weight / total.total() for text, weight in total.items()}


READERS = [by_audit, by_ledger, by_attack]


@pytest.mark.parametrize("read", READERS)
def test_the_size_of_a_part_counts(read: object) -> None:
    """All four of a bucket are x, and one of the other: being x there is four times as likely."""
    frame = pl.DataFrame({
        "c": ["a", "b", "b", "b"] * 2, "q": [*"xxxx", *"xyyy"],
        "s": ["s1", "s2", "s3", "s4", "s9", "s5", "s6", "s7"],
    })  # fmt: skip
    data, release = slice_up(frame)
    fifth = pytest.approx(dict.fromkeys(["s1", "s2", "s3", "s4", "s9"], 0.2), abs=1e-5)
    assert by_worlds(data, release)[0] == fifth
    assert read(data, release, 0) == fifth  # type: ignore[operator]


@settings(max_examples=40, deadline=None)
@given(
    c=st.lists(st.sampled_from("ab"), min_size=6, max_size=6),
    q=st.lists(st.sampled_from("xy"), min_size=6, max_size=6),
    s=st.lists(st.sampled_from("uvw"), min_size=6, max_size=6),
)
def test_beliefs_about_slices_are_those_of_all_worlds(
    c: list[str], q: list[str], s: list[str]
) -> None:
    data, release = slice_up(pl.DataFrame({"c": c, "q": q, "s": s}))
    for person, truth in enumerate(by_worlds(data, release)):
        for read in READERS:
            assert read(data, release, person) == pytest.approx(truth, abs=1e-5), read.__name__


@settings(max_examples=40, deadline=None)
@given(
    q=st.lists(st.sampled_from("ab"), min_size=6, max_size=6),
    s=st.lists(st.sampled_from("xyz"), min_size=6, max_size=6),
)
def test_people_who_look_alike_may_be_in_several_batches(q: list[str], s: list[str]) -> None:
    """Whose record it is goes by how many records of each batch look like the person."""
    data = microdata(pl.DataFrame({"q": q, "s": s}), ["q"], ["s"])
    made = dc.publish(data, dc.Anatomy(dc.KAnonymity(1), batches="mondrian"), insecure_seed=1)
    batch = pl.Series("batch", [0, 0, 1, 1, 1, 1])
    people = pl.DataFrame({"q": q, "s": s, "batch": batch})
    counted = people.group_by("batch", "s").len("count").sort("batch", "s")
    shown = people.select(made.tables["generalized"].columns).sort("q", "batch")
    release = replace(made, tables={"generalized": shown, "batches": counted})
    for person in range(6):
        counts: Counter[str] = Counter()
        for mixed in product(permutations(s[:2]), permutations(s[2:])):
            values = [*mixed[0], *mixed[1]]
            counts.update(v for look, v in zip(q, values, strict=True) if look == q[person])
        truth = {v: n / counts.total() for v, n in counts.items()}
        assert by_ledger(data, release, person) == pytest.approx(truth, abs=1e-5)
