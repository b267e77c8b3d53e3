"""Full-domain generalization: one level for everybody, and no better one keeps the promise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.errors import PromiseError, SchemaError
from discreet.evaluate import measure_loss
from discreet.forms.verify import verify
from discreet.publishing.partitioners.lattice import KindJudge, list_levels
from discreet.table.arrays import Bools
from discreet.table.schema import Attribute, Missing, Role, Schema, Type
from discreet.table.taxonomy import Node
from samples import microdata

QI = Role.QUASI_IDENTIFIER
AGE = Attribute("age", QI, Type.INTEGER, taxonomy=dc.Intervals((5, 20)))
SEX = Attribute("sex", QI, Type.CATEGORY)
ILL = Attribute("ill", Role.SENSITIVE, Type.CATEGORY)
UNEVEN = dc.Taxonomy.from_json(
    {"*": {"ab": {"a": {}, "b": {}}, "c": {}, "de": {"d": {"d1": {}, "d2": {}}, "e": {}}}}
)


def picture() -> pl.DataFrame:
    """The table on the page of the method."""
    return pl.DataFrame(
        {
            "age": [21, 22, 25, 26, 41, 58],
            "sex": [*"MMFFFF"],
            "ill": ["flu", "ulcer", "gout", "flu", "ulcer", "gout"],
        }
    )


def shown(release: dc.Release, *names: str) -> list[tuple[object, ...]]:
    return release.tables["generalized"].select(names).rows()


def test_two_people_alone_raise_the_level_for_everybody() -> None:
    data = dc.read(picture(), Schema((AGE, SEX, ILL)))
    release = dc.publish(data, dc.FullDomain(dc.KAnonymity(2)))
    assert shown(release, "class", "age", "sex", "ill") == [
        (0, "[20, 40)", "F", "flu"), (0, "[20, 40)", "F", "gout"),
        (1, "[20, 40)", "M", "flu"), (1, "[20, 40)", "M", "ulcer"),
        (2, "[40, 60)", "F", "gout"), (2, "[40, 60)", "F", "ulcer"),
    ]  # fmt: skip
    # ages: four people share theirs with 3 of 5 others, two with 1 of 5; sexes are exact
    assert measure_loss(release, data).ncp == pytest.approx((4 * 3 / 5 + 2 * 1 / 5) / 6 / 2)
    without = dc.read(picture().head(4), Schema((AGE, SEX, ILL)))
    release = dc.publish(without, dc.FullDomain(dc.KAnonymity(2)))
    assert set(shown(release, "age", "sex")) == {("[20, 25)", "M"), ("[25, 30)", "F")}


def test_of_levels_that_lose_the_same_the_fewest_win_then_the_first() -> None:
    frame = pl.DataFrame({"p": [*"xxyy"], "q": [*"uvuv"]})
    release = dc.publish(microdata(frame, ["p", "q"], []), dc.FullDomain(dc.KAnonymity(2)))
    assert set(shown(release, "p", "q")) == {("x", "*"), ("y", "*")}
    # "*" is one level up for p and two for q, whose level between leaves two people alone
    tree = dc.Taxonomy.from_paths([["x1", "x", "*"], ["x2", "x", "*"], ["y", "y", "*"]])
    frame = pl.DataFrame({"p": ["u", "v"] * 3, "q": ["x1", "x1", "x2", "x2", "y", "y"]})
    attributes = (
        Attribute("p", QI, Type.CATEGORY),
        Attribute("q", QI, Type.CATEGORY, taxonomy=tree),
    )
    release = dc.publish(dc.read(frame, Schema(attributes)), dc.FullDomain(dc.KAnonymity(2)))
    assert set(shown(release, "p", "q")) == {("*", "x1"), ("*", "x2"), ("*", "y")}


def test_a_cut_that_joins_nothing_is_no_level() -> None:
    tree = dc.Taxonomy.from_paths([["x", "xy", "*"], ["y", "xy", "*"], ["z", "z", "*"]])
    attribute = Attribute("p", QI, Type.CATEGORY, taxonomy=tree)
    for there, sizes in (("xyz", [3, 2, 1]), ("xz", [2, 1]), ("xy", [2, 1]), ("z", [1])):
        data = dc.read(pl.DataFrame({"p": [*there]}), Schema((attribute,)))
        assert [len(level) for level in list_levels(data.domains["p"])] == sizes


def test_everybody_exact_where_the_promise_allows() -> None:
    data = dc.read(picture(), Schema((AGE, SEX, ILL)))
    release = dc.publish(data, dc.FullDomain(dc.KAnonymity(1)))
    assert measure_loss(release, data).ncp == 0
    release = dc.publish(data, dc.FullDomain(dc.FrequencyDiversity(3)))
    assert set(shown(release, "age", "sex")) == {("*", "*")}


# by hand: what a value shows at each level
KINDS = {
    "a": ("a", "a", "ab", "*"),
    "b": ("b", "b", "ab", "*"),
    "c": ("c", "c", "c", "*"),
    "d1": ("d1", "d", "de", "*"),
    "d2": ("d2", "d", "de", "*"),
    "e": ("e", "e", "de", "*"),
    None: (None, None, None, "*"),
}
SCHEMA = Schema(
    (
        Attribute("kind", QI, Type.CATEGORY, taxonomy=UNEVEN, missing=Missing.VALUE),
        Attribute("year", QI, Type.INTEGER, taxonomy=dc.Intervals((2, 4))),
        Attribute("plain", QI, Type.CATEGORY),
        Attribute("day", QI, Type.DATE, missing=Missing.VALUE),
        Attribute("ill", Role.SENSITIVE, Type.CATEGORY),
    )
)
QUASI = SCHEMA.quasi_identifiers
Shows = Callable[[object], object]
LEVELS: dict[str, list[Shows]] = {
    "kind": [lambda v, h=h: KINDS[v][h] for h in range(4)],  # type: ignore[misc,index]
    "year": [lambda v: v, lambda v: v // 2, lambda v: v // 4, lambda _: "*"],  # type: ignore[operator]
    "plain": [lambda v: v, lambda _: "*"],
    "day": [lambda v: v, lambda _: "*"],
}
Bag = Sequence[object]
PROMISES: list[tuple[dc.Principle, Callable[[Bag], bool]]] = [
    (dc.KAnonymity(2), lambda bag: len(bag) >= 2),
    (dc.KAnonymity(4), lambda bag: len(bag) >= 4),
    (dc.DistinctDiversity(2), lambda bag: len(set(bag)) >= 2),
    (dc.FrequencyDiversity(2), lambda bag: 2 * max(map(bag.count, bag)) <= len(bag)),
    (
        dc.KAnonymity(3) & dc.DistinctDiversity(2),
        lambda bag: len(bag) >= 3 and len(set(bag)) >= 2,
    ),
]


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    rows = draw(
        st.lists(
            st.tuples(
                st.sampled_from([*KINDS]), st.integers(0, 7), st.sampled_from("xyz"),
                st.sampled_from(["2020-01-31", "2020-02-01", "2021-12-31", None]),
                st.sampled_from(["flu", "gout", "ulcer"]),
            ),
            min_size=1, max_size=14,
        )
    )  # fmt: skip
    frame = pl.DataFrame(rows, schema=dict.fromkeys(SCHEMA.names, pl.String), orient="row",
                         strict=False)  # fmt: skip
    return frame.with_columns(pl.col("year").cast(pl.Int64))


def split(values: Iterable[object], shows: Shows) -> dict[object, set[object]]:
    """The values that look alike at a level."""
    parts: dict[object, set[object]] = {}
    for value in values:
        parts.setdefault(shows(value), set()).add(value)
    return parts


def try_all(frame: pl.DataFrame, keeps: Callable[[Bag], bool]) -> tuple[Fraction, list[Shows]]:
    """Of all combinations of levels that keep a promise, the first of those that lose least."""
    domains = {name: frame[name].unique(maintain_order=True).to_list() for name in QUASI}
    hierarchies = []
    for name in QUASI:
        kept: list[Shows] = []
        for shows in LEVELS[name]:
            if not kept or len(split(domains[name], shows)) < len(split(domains[name], kept[-1])):
                kept.append(shows)
        hierarchies.append(kept)
    found = []
    for point in product(*(range(len(ladder)) for ladder in hierarchies)):
        chosen = [ladder[level] for ladder, level in zip(hierarchies, point, strict=True)]
        bags: dict[tuple[object, ...], list[object]] = {}
        loss = Fraction(0)
        for *known, ill in frame.rows():
            key = tuple(shows(value) for shows, value in zip(chosen, known, strict=True))
            bags.setdefault(key, []).append(ill)
            for name, shows, look in zip(QUASI, chosen, key, strict=True):
                alike = sum(shows(other) == look for other in domains[name])
                loss += Fraction(alike - 1, max(len(domains[name]) - 1, 1))
        if all(map(keeps, bags.values())):
            found.append((loss / frame.height / len(QUASI), sum(point), point, chosen))
    least = min(found, key=lambda option: option[:3])
    return least[0], least[3]


@pytest.mark.parametrize(("promise", "keeps"), PROMISES, ids=[str(p) for p, _ in PROMISES])
@settings(max_examples=40, deadline=None)
@given(frame=tables())
def test_no_combination_of_levels_that_keeps_the_promise_loses_less(
    promise: dc.Principle, keeps: Callable[[Bag], bool], frame: pl.DataFrame
) -> None:
    data = dc.read(frame, SCHEMA)
    if not keeps(frame["ill"].to_list()):
        with pytest.raises(PromiseError, match="cannot be kept"):
            dc.publish(data, dc.FullDomain(promise))
        return
    release = dc.publish(data, dc.FullDomain(promise))
    loss, chosen = try_all(frame, keeps)
    assert measure_loss(release, data).ncp == pytest.approx(float(loss), abs=1e-12)
    table = release.tables["generalized"]
    assert all(keeps(part["ill"].to_list()) for part in table.partition_by("class"))
    for name, shows in zip(QUASI, chosen, strict=True):
        parts = split(frame[name].to_list(), shows)
        assert table[name].n_unique() == len(parts)
        if name != "day":  # dates without a taxonomy are intervals
            texts = {frozenset("(missing)" if v is None else str(v) for v in part)
                     for part in parts.values()}  # fmt: skip
            assert {frozenset(part) for part in release.recodings[name].labels.values()} == texts
    assert dc.audit(release, data).kept


def test_a_taxonomy_whose_branches_differ_in_depth_is_cut_at_one_depth() -> None:
    frame = pl.DataFrame({"kind": [*"aabbcc", "d1", "d2", "e", "e"]})
    data = dc.read(frame, Schema((Attribute("kind", QI, Type.CATEGORY, taxonomy=UNEVEN),)))
    release = dc.publish(data, dc.FullDomain(dc.KAnonymity(2)))
    assert release.recodings["kind"].labels == {
        "a": ["a"], "b": ["b"], "c": ["c"], "d": ["d1", "d2"], "e": ["e"],
    }  # fmt: skip
    release = dc.publish(data, dc.FullDomain(dc.KAnonymity(3)))
    assert set(shown(release, "kind")) == {("*",)}  # two people have c, which no level joins


def test_leaves_above_the_cut_stay_as_they_are() -> None:
    """Taxonomies from files repeat short branches; one that does not has the same levels."""
    nodes = (
        Node("*", 0, 4, 0, -1), Node("ab", 0, 3, 1, 0), Node("a", 0, 2, 2, 1),
        Node("a1", 0, 1, 3, 2), Node("a2", 1, 2, 3, 2), Node("b", 2, 3, 2, 1),
        Node("c", 3, 4, 1, 0),
    )  # fmt: skip
    tree = dc.Taxonomy(("a1", "a2", "b", "c"), nodes)
    attribute = Attribute("kind", QI, Type.CATEGORY, taxonomy=tree, missing=Missing.VALUE)
    data = dc.read(pl.DataFrame({"kind": ["a1", "a2", "b", "c", None]}), Schema((attribute,)))
    assert list_levels(data.domains["kind"]) == [
        [(0, 0, "a1"), (1, 1, "a2"), (2, 2, "b"), (3, 3, "c"), (4, 4, "(missing)")],
        [(0, 1, "a"), (2, 2, "b"), (3, 3, "c"), (4, 4, "(missing)")],
        [(0, 2, "ab"), (3, 3, "c"), (4, 4, "(missing)")],
        [(0, 4, "*")],
    ]


@pytest.mark.parametrize("absent", [1, 2])
def test_a_missing_value_joins_others_only_at_the_top(absent: int) -> None:
    frame = pl.DataFrame({"kind": ["a", "b", *[None] * absent], "age": [1, 1, *[None] * absent]})
    schema = Schema(
        (
            Attribute("kind", QI, Type.CATEGORY, taxonomy=UNEVEN, missing=Missing.VALUE),
            Attribute("age", QI, Type.INTEGER, missing=Missing.VALUE),
        )
    )
    data = dc.read(frame, schema)
    release = dc.publish(data, dc.FullDomain(dc.KAnonymity(2)))
    alone = {("ab", "1"), ("(missing)", "(missing)")}
    assert set(shown(release, "kind", "age")) == ({("*", "*")} if absent == 1 else alone)
    assert dc.audit(release, data).kept


def test_columns_that_are_missing_altogether_are_shown_so() -> None:
    frame = pl.DataFrame({"age": [None, None], "sex": ["F", "F"]}, schema_overrides={"age": int})
    attribute = Attribute("age", QI, Type.INTEGER, missing=Missing.VALUE)
    data = dc.read(frame, Schema((attribute, SEX)))
    release = dc.publish(data, dc.FullDomain(dc.KAnonymity(2)))
    assert shown(release, "age", "sex") == [("(missing)", "F")] * 2


@pytest.mark.parametrize("format", ["parquet", "csv"])
def test_the_release_lives_like_any_other_of_its_form(tmp_path: Path, format: str) -> None:
    data = dc.datasets.adult(sensitive="occupation").head(3000)
    promise = dc.KAnonymity(5) & dc.FrequencyDiversity(3)
    release = dc.publish(data, dc.FullDomain(promise))
    folder = release.write(tmp_path / "r", format=format)  # type: ignore[arg-type]
    loaded = dc.load(folder)
    assert (loaded.form, loaded.method) == ("generalized", "full-domain")
    verify(loaded)
    report = dc.audit(folder, data, attacks=True)
    assert report.kept and report.identity.smallest >= 5
    people = data.to_polars()
    for asked in (
        "age BETWEEN 30 AND 40 AND occupation = 'Sales'",
        "race = 'White' AND \"native-country\" = 'United-States'",
        "\"marital-status\" = 'Divorced' AND sex = 'Female'",
        "workclass IN ('Private', 'Local-gov')",
    ):
        truth = people.sql(f"SELECT COUNT(*) FROM self WHERE {asked}").item()
        answer = loaded.query(f"SELECT COUNT(*) FROM release WHERE {asked}")
        assert answer.low <= truth <= answer.high  # type: ignore[operator]
    assert loaded.sample(20, seed=1).height == 20
    ledger = dc.Ledger.init(tmp_path / "book", "adult")
    ledger.publish(release, data, tmp_path / "out")
    assert ledger.check(release, data) == ([], [])


def test_every_value_is_below_one_label() -> None:
    data = dc.datasets.adult(sensitive="occupation").head(3000)
    release = dc.publish(data, dc.FullDomain(dc.KAnonymity(10)))
    for name in data.quasi_identifiers:
        labels = release.recodings[name].labels
        if labels:
            texts = [text for below in labels.values() for text in below]
            assert sorted(texts) == sorted(data.domains[name].texts)


def test_few_combinations_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, judge = [], KindJudge.find_failing

    def count(*given: Any) -> Bools:
        looks.append(given)
        return judge(*given)

    monkeypatch.setattr(KindJudge, "find_failing", count)
    data = dc.datasets.adult(sensitive="occupation").head(3000)
    dc.publish(data, dc.FullDomain(dc.KAnonymity(10)))
    size = np.prod([len(list_levels(data.domains[name])) for name in data.quasi_identifiers])
    assert 0 < len(looks) < size / 20


def test_a_principle_that_is_not_monotone_is_refused() -> None:
    for promise in (dc.Proximity(1, 2), dc.KAnonymity(2) & dc.Proximity(1, 2)):
        with pytest.raises(SchemaError, match="not monotone") as caught:
            dc.FullDomain(promise)
        assert caught.value.hint


def test_promises_that_cannot_be_kept_are_refused_as_by_other_methods() -> None:
    data = dc.read(picture(), Schema((AGE, SEX, ILL)))
    for promise in (dc.KAnonymity(7), dc.FrequencyDiversity(4), dc.KE(1, 2)):
        said = []
        for method in (dc.FullDomain(promise), dc.Generalization(promise)):
            with pytest.raises((PromiseError, SchemaError)) as caught:
                dc.publish(data, method)
            said.append((type(caught.value), str(caught.value)))
        assert said[0] == said[1]
    with pytest.raises(SchemaError, match="joins"):
        dc.publish(data, dc.FullDomain(dc.XYAnonymity(x=["age"], y="people", k=2)))


def test_without_quasi_identifiers_there_is_nothing_to_generalize() -> None:
    data = microdata(pl.DataFrame({"ill": ["flu", "gout"]}), [], ["ill"])
    with pytest.raises(SchemaError, match="no quasi-identifier"):
        dc.publish(data, dc.FullDomain(dc.KAnonymity(2)))
