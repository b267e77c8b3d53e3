"""What every release must satisfy, over random tables of every kind of attribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.principles.groups import Groups
from discreet.publishing.method import Method
from discreet.publishing.methods import REGISTRY
from discreet.publishing.partitioners import mondrian as mondrian_module
from discreet.publishing.partitioners.mondrian import mondrian
from discreet.publishing.partitioners.sorted_runs import Objective
from discreet.release.labels import read_extents
from discreet.table.schema import Attribute, Missing, Role, Schema, Type

TREE = dc.Taxonomy.from_paths(
    [["a", "ab", "*"], ["b", "ab", "*"], ["c", "c", "*"], ["d", "de", "*"], ["e", "de", "*"]]
)
QI = Role.QUASI_IDENTIFIER
SCHEMA = Schema(
    (
        Attribute("number", QI, Type.INTEGER),
        Attribute("amount", QI, Type.DECIMAL, decimals=1, missing=Missing.VALUE),
        Attribute("day", QI, Type.DATE),
        Attribute("level", QI, Type.ORDINAL, order=("low", "mid", "high")),
        Attribute("kind", QI, Type.CATEGORY, taxonomy=TREE, missing=Missing.VALUE),
        Attribute("plain", QI, Type.CATEGORY),
        Attribute("flag", QI, Type.BOOLEAN),
        Attribute("disease", Role.SENSITIVE, Type.CATEGORY),
        Attribute("pay", Role.SENSITIVE, Type.INTEGER),
    )
)
PUBLIC = SCHEMA.changed(
    replace(SCHEMA["number"], low=-3, high=6), replace(SCHEMA["amount"], low=0, high="7.5"),
    replace(SCHEMA["day"], low="2020-01-01", high="2022-01-31"),
    replace(SCHEMA["plain"], values=("x", "y", "z")), replace(SCHEMA["pay"], low=0, high=30),
    replace(SCHEMA["disease"], values=("asthma", "flu", "gout", "mumps", "ulcer")),
)  # fmt: skip
"""Where it is declared what values can be, whoever is in the table."""
SOME = dc.FrequencyDiversity(2, values={"flu": None, "gout": 3}, on="disease")
PROMISES = [
    dc.KAnonymity(2),
    dc.KAnonymity(3) & dc.DistinctDiversity(2, on="disease"),
    dc.FrequencyDiversity(2, on="disease"),
    dc.EntropyDiversity(1.5),
    dc.RecursiveDiversity(3, 2, on="disease"),
    dc.AlphaK(0.75, 2, on="disease"),
    SOME,
    dc.TCloseness(0.4, on="disease"),
    dc.TCloseness(0.3, "ordered", on="pay"),
    dc.KE(2, 2, on="pay"),
    dc.Variance(1, on="pay"),
]
GENERALIZATIONS = [
    dc.Generalization(promise, categories=categories)
    for promise in PROMISES
    for categories in ("set", "ancestor")
]
DEALT = [
    dc.Generalization(dc.Proximity(1, 2, on="pay")),
    dc.Generalization(dc.Proximity(1, 2, on="pay"), dealing="round-robin", categories="ancestor"),
    dc.Generalization(dc.Proximity("1/4", 3, relative=True, on="pay") & dc.KAnonymity(4)),
    dc.Generalization(dc.Proximity((0, 1), 2, on="pay") & dc.FrequencyDiversity(2, on="disease")),
    dc.Generalization(dc.Proximity(1, 2, on="pay") & dc.EntropyDiversity(1.5, on="disease")),
    dc.Generalization(dc.Proximity(1, 2, on="pay") & dc.KE(2, 2, on="pay")),
]
RESISTANT = [
    dc.Generalization(dc.FrequencyDiversity(2, on="disease"), resist="method"),
    dc.Generalization(dc.Proximity(1, 2, on="pay"), resist="method", categories="ancestor"),
]
LEARNED = [
    dc.Permutation(dc.FrequencyDiversity(2), resist="learning"),
    dc.Permutation(dc.KE(2, 2) & dc.RecursiveDiversity(99, 2), resist="learning"),
    dc.Anatomy(dc.RecursiveDiversity(99, 2), resist="learning"),
    dc.Angelization(
        dc.RecursiveDiversity(99, 2),
        k=2,
        marginals=[["number", "kind"], ["day"]],
        resist="learning",
    ),
]
PERMUTATIONS = [
    *(dc.Permutation(dc.KE(2, 2), objective=objective) for objective in get_args(Objective)),
    dc.Permutation(dc.FrequencyDiversity(2)), dc.Permutation(dc.Proximity(1, 2)),
    dc.Permutation(dc.KE(2, 4) & dc.EntropyDiversity(1.5)),
    dc.Permutation(dc.KE(2, 4) & dc.Proximity("1/4", 2, relative=True)),
]  # fmt: skip
ANGELIZATIONS = [
    dc.Angelization(dc.FrequencyDiversity(2), k=3),
    dc.Angelization(dc.FrequencyDiversity(2, values=SOME.values), k=2),
    dc.Anatomy(dc.AlphaK(0.5, 1, values={"flu": None, "gout": "1/3"})),
    dc.Angelization(dc.FrequencyDiversity(2), k=2, batches="anatomize", categories="ancestor"),
    dc.Angelization(dc.TCloseness(0.4), k=2, marginals=[["number", "kind"], ["kind", "day"]]),
    dc.Angelization(dc.Proximity(1, 2, on="pay"), k=2, marginals=[["plain"], ["flag", "level"]]),
    dc.Angelization(dc.KE(2, 2, on="pay") & dc.KAnonymity(3), k=2),
    dc.Anatomy(dc.RecursiveDiversity(2, 2)),
    dc.Angelization(dc.FrequencyDiversity(2), k=2, resist="method", marginals="auto"),
    dc.Angelization(dc.Proximity(1, 2, on="pay"), k=2, resist="method"),
    dc.Anatomy(dc.FrequencyDiversity(2), batches="mondrian", resist="method"),
    dc.Anatomy(dc.EntropyDiversity(1.5), batches="mondrian"),
]
METHODS = [
    *GENERALIZATIONS, *DEALT, *RESISTANT, *PERMUTATIONS, *ANGELIZATIONS, *LEARNED,
    dc.RankSwapping(dc.KE(2, 2)),
    dc.Perturbation(dc.Proximity(1, 2)), dc.Perturbation(dc.Proximity(0, 3), within=(-5, 20)),
    dc.FullDomain(dc.KAnonymity(3)), dc.FullDomain(dc.FrequencyDiversity(2)),
    dc.FullDomain(dc.FrequencyDiversity(2, values=SOME.values)),
    dc.Slicing(dc.FrequencyDiversity(2, values=SOME.values), columns=3),
    dc.Sequential(dc.KAnonymity(3)), dc.Republication(dc.MInvariance(2)),
    dc.Republication(dc.MInvariance(3, on="pay"), categories="ancestor"),
    dc.InvariantAngelization(dc.MInvariance(2), k=3),
    dc.InvariantAngelization(dc.MInvariance(3), k=2, marginals=[["number"], ["kind", "day"]]),
    dc.Slicing(dc.FrequencyDiversity(2), columns=3), dc.Slicing(dc.EntropyDiversity(1.5), alpha=2),
    dc.Slicing(dc.KAnonymity(3), columns=2, buckets=4, frequency=2),
    dc.Slicing(dc.KAnonymity(3), columns=2, buckets=4), dc.Slicing(dc.Proximity(1, 2, on="pay")),
    dc.NoisyMarginals(dc.DifferentialPrivacy(2)),
    dc.NoisyMarginals(
        dc.DifferentialPrivacy("1/2"), marginals=[["number", "kind", "pay"], ["pay", "day"]], bins=4
    ),
]  # fmt: skip


def name_of(method: Method) -> str:
    return f"{method.title}: {method.principle}, {method.parameters()}"


def schema_for(method: Method) -> Schema:
    """Some methods take one sensitive attribute; the rest of the table is the same for all."""
    if method.title == "generalization":
        return SCHEMA
    if method.title == "noisy-marginals":
        return PUBLIC
    about_pay = (
        method.title in ("permutation", "rank-swapping", "perturbation")
        or method.principle.parts[0].on
    )
    other = "disease" if about_pay else "pay"
    return SCHEMA.changed(replace(SCHEMA[other], role=Role.OTHER))


each_method = pytest.mark.parametrize("method", METHODS, ids=name_of)
each_generalization = pytest.mark.parametrize("method", GENERALIZATIONS, ids=name_of)


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    n = draw(st.integers(1, 40))
    return some_people(np.random.default_rng(draw(st.integers(0, 2**32 - 1))), n)


def some_people(rng: np.random.Generator, n: int) -> pl.DataFrame:
    days = pl.Series(["2020-01-31", "2020-02-01", "2021-12-31"]).str.to_date()
    kinds = pl.Series([*"abcde", None])
    return pl.DataFrame(
        {
            "number": rng.integers(-3, 6, n),
            "amount": pl.Series([0.1, 0.2, 1.5, None, 7.0]).gather(rng.integers(0, 5, n)),
            "day": days.gather(rng.integers(0, 3, n)),
            "level": pl.Series(["low", "mid", "high"]).gather(rng.integers(0, 3, n)),
            "kind": kinds.gather(rng.integers(0, 6, n)),
            "plain": pl.Series([*"xyz"]).gather(rng.integers(0, 3, n)),
            "flag": rng.integers(0, 2, n).astype(bool),
            "disease": pl.Series(["flu", "ulcer", "gout", "flu"]).gather(rng.integers(0, 4, n)),
            "pay": rng.integers(1, 9, n),
        }
    )


def publish(data: dc.Microdata, method: Method) -> dc.Release | None:
    """Publish, or give nothing where the table cannot keep the promise."""
    try:
        return dc.publish(data, method, insecure_seed=1)
    except dc.errors.PromiseError:
        return None
    except dc.errors.SchemaError as error:  # few people: a value that is named may be nobody's
        assert "nobody's disease is" in error.message
        return None


def test_every_registered_method_is_tried_here() -> None:
    of_sets = {method.title for method in REGISTRY.values() if method.takes_sets}
    assert {method.title for method in METHODS} == set(REGISTRY) - of_sets
    assert of_sets == {"apriori"}  # of one column, a set: test_apriori


quick = settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@each_method
@settings(quick, max_examples=10)  # what the audit finds is held against all worlds in oracles/
@given(frame=tables())
def test_the_auditor_finds_everybody_protected(method: Method, frame: pl.DataFrame) -> None:
    data = dc.read(frame, schema_for(method))
    release = publish(data, method)
    if release is not None:
        report = dc.audit(release, data)
        assert report.problems == []
        if method.title == "generalization":
            assert report.candidates.min() >= method.principle.min_size


@each_generalization
@quick
@given(frame=tables())
def test_boxes_of_different_groups_do_not_overlap(
    method: dc.Generalization, frame: pl.DataFrame
) -> None:
    data = dc.read(frame, SCHEMA)
    release = publish(data, method)
    if release is None:
        return
    (view,) = release.views
    boxes, _ = view.list_shown()
    meets = np.ones((boxes.height, boxes.height), dtype=bool)
    for name, extent in read_extents(release, data, boxes, data.quasi_identifiers).items():
        covers = extent.matrix(data.domains[name]).astype(int)
        meets &= covers @ covers.T > 0
    assert (meets == np.eye(boxes.height, dtype=bool)).all()


@each_method
@settings(quick, max_examples=6)
@given(frame=tables(), seed=st.integers(0, 1000))
def test_the_order_of_the_input_rows_leaves_no_trace_in_the_bytes(
    method: Method, frame: pl.DataFrame, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("order")
    shuffled = frame.sample(fraction=1, shuffle=True, seed=seed)
    written = []
    for name, table in (("one", frame), ("two", shuffled)):
        release = publish(dc.read(table, schema_for(method)), method)
        if release is None:
            return
        release.write(folder / name, insecure=True)
        written.append({p.name: p.read_bytes() for p in (folder / name).iterdir()})
    assert written[0] == written[1]


def spell(release: dc.Release, row: dict[str, Any], names: Sequence[str]) -> tuple[Any, ...]:
    """What a row shows in some columns, as something that sorts: texts and ends as they are read,
    exact values in the order of their domain, a missing one last."""
    key: list[Any] = []
    for name in names:
        cell = row[name]
        if name not in release.recodings:
            ends = any(name in release.recodings[n].columns(n) for n in release.recodings)
            key += [] if ends else [cell]
        elif release.recodings[name].is_blurred:
            columns = release.recodings[name].columns(name)[1:] or [name]
            key += [(row[c] is not None, row[c]) for c in columns]
        else:
            attribute = release.schema[name]
            order = attribute.order or (attribute.taxonomy.leaves if attribute.taxonomy else ())
            key += [(cell is None, order.index(cell) if cell in order else cell)]
    return tuple(key)


def list_columns(release: dc.Release) -> list[tuple[str, list[str]]]:
    """What is in an order of its own: tables, and the columns of slices in their buckets."""
    parts = release.parameters.get("columns")
    if release.form != "sliced" or not isinstance(parts, list):
        return [(title, table.columns) for title, table in release.tables.items()]
    shown = release.recodings
    return [
        ("sliced", ["bucket", *(c for name in part for c in shown[name].columns(name))])
        for part in parts
    ]


@cache
def publish_some(method: Method) -> dc.Release:
    """Publish people of whom every method can keep its promise."""
    pay = [1, 2, 4, 6, 8, 11, 15, 20] * 8
    frame = some_people(np.random.default_rng(5), len(pay))
    diseases = ["asthma", "flu", "gout", "mumps", "ulcer"]
    frame = frame.with_columns(pay=pl.Series(pay), disease=pl.Series(diseases * 13).head(64))
    return dc.publish(dc.read(frame, schema_for(method)), method, insecure_seed=7)


@each_method
def test_rows_are_in_an_order_that_follows_from_what_they_show(method: Method) -> None:
    release = publish_some(method)
    if release.form == "noisy":
        return  # all combinations that can be, whoever has them: test_noisy_marginals
    for title, names in list_columns(release):
        rows = [spell(release, row, names) for row in release.tables[title].rows(named=True)]
        assert rows == sorted(rows)


@each_method
def test_groups_have_numbers_that_follow_from_what_they_show(method: Method) -> None:
    """Of groups, batches and buckets, all of which may be drawn: the numbers tell nothing more."""
    release = publish_some(method)
    first = next(iter(release.tables.values()))
    (number,) = {"group", "batch", "bucket"} & set(first.columns) or [""]
    held: dict[int, list[list[Any]]] = {}
    by_people = [(t, names) for t, names in list_columns(release) if t not in ("batches", "help")]
    for place, (title, names) in enumerate(by_people if number else []):
        for row in release.tables[title].rows(named=True):
            shown = [name for name in names if name != number]
            lists = held.setdefault(row[number], [[] for _ in by_people] + [[]])
            lists[place].append(spell(release, row, shown))
    for row in release.tables.get("batches", pl.DataFrame()).rows(named=True):
        (name,) = release.schema.sensitive
        held[row["batch"]][-1] += [spell(release, row, [name])] * row["count"]
    for lists in held.values():
        for part in lists:
            part.sort()
    assert sorted(held, key=lambda one: held[one]) == list(range(len(held)))


@pytest.mark.parametrize(
    "method", [METHODS[0], PERMUTATIONS[0], *ANGELIZATIONS[:3], *METHODS[-6:]], ids=name_of
)
@pytest.mark.parametrize("format", ["parquet", "csv"])
@quick
@given(frame=tables())
def test_what_is_loaded_is_what_was_published(
    format: str, method: Method, frame: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = dc.read(frame, schema_for(method))
    release = publish(data, method)
    if release is None:
        return
    place = tmp_path_factory.mktemp("trip") / "r"
    folder = release.write(place, format=format, insecure=True)  # type: ignore[arg-type]
    loaded = dc.load(folder)
    text = pl.all().cast(pl.String)
    for name, before in release.tables.items():
        assert before.select(text).equals(loaded.tables[name].select(text))
    assert str(loaded.promise.principle) == str(release.promise.principle)
    assert loaded.about == release.about
    assert dc.audit(loaded, dc.read(frame, loaded.schema)).kept


@pytest.mark.parametrize("promise", PROMISES, ids=str)
@pytest.mark.parametrize("categories", ["set", "ancestor"])
@quick
@given(frame=tables())
def test_compiled_rules_and_principles_split_alike(
    promise: dc.Principle, categories: str, frame: pl.DataFrame
) -> None:
    data = dc.read(frame, SCHEMA)
    try:
        fast = mondrian(data, promise, categories=categories)  # type: ignore[arg-type]
    except dc.errors.PromiseError:
        return
    with pytest.MonkeyPatch.context() as patch:
        nothing = np.zeros((0, 6), dtype=np.int64), np.zeros(1, dtype=np.int64), False
        patch.setattr(mondrian_module, "_compile", lambda *_: nothing)
        slow = mondrian(data, promise, categories=categories)  # type: ignore[arg-type]
    assert fast.labels.tolist() == slow.labels.tolist()


@quick
@given(frame=tables())
def test_recoding_the_same_values_leaves_the_groups_as_they_are(frame: pl.DataFrame) -> None:
    """1 and 1.0, −0.0, spaces, Unicode forms: the same person stays the same."""
    disguised = frame.with_columns(
        pl.col("number").cast(pl.Float64).map_elements(lambda x: -0.0 if x == 0 else x, pl.Float64),
        pl.col("disease") + "  ",
        pl.concat_str(pl.lit("  "), pl.col("plain")).alias("plain"),
        pl.col("flag").cast(pl.String).str.to_uppercase(),
        pl.col("day").cast(pl.String),
    )
    one, two = (dc.read(f, SCHEMA) for f in (frame, disguised))
    for name in one.codes:
        assert one.codes[name].tolist() == two.codes[name].tolist()
        assert one.domains[name].texts == two.domains[name].texts


def test_unicode_forms_of_one_name_are_one_value() -> None:
    frame = pl.DataFrame({"plain": ["Zu\u0308rich", "Z\u00fcrich", "Bern"]})
    data = dc.read(frame, Schema((replace(SCHEMA["plain"]),)))
    assert data.domains["plain"].texts == ["Bern", "Zürich"]


def test_groups_count_what_they_are_given() -> None:
    rng = np.random.default_rng(3)
    labels = np.concatenate([np.arange(50), rng.integers(0, 50, 300)])
    codes = rng.integers(0, 5, 350)
    domain = Groups.of([[0, 1, 2, 3, 4]]).domain
    groups = Groups.from_labels(labels, codes, domain, count=50)
    for g in range(50):
        bag = np.unique(codes[labels == g], return_counts=True)
        span = slice(groups.offsets[g], groups.offsets[g + 1])
        assert groups.codes[span].tolist() == bag[0].tolist()
        assert groups.weights[span].tolist() == bag[1].tolist()
