"""Invariant angelization: tables published again and again, in batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.auditing.worlds import Sighting, tell_worlds
from discreet.errors import PromiseError, QueryError, SchemaError, StoreError
from discreet.forms import find_form
from discreet.forms.expected import expect
from discreet.forms.verify import verify
from oracles.signed_worlds import believe

Person = tuple[int, str]
"""An age and a disease."""
METHOD = dc.InvariantAngelization(dc.MInvariance(2), k=2)
FIRST: dict[str, Person] = {
    "ann": (21, "flu"), "bob": (22, "gout"), "cat": (60, "flu"), "dan": (61, "gout"),
    "eve": (40, "flu"), "fay": (41, "ulcer"),
}  # fmt: skip


def read(people: Mapping[str, Person]) -> dc.Microdata:
    frame = pl.DataFrame({
        "who": list(people), "age": [age for age, _ in people.values()],
        "disease": [disease for _, disease in people.values()],
    })  # fmt: skip
    schema = dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["disease"], person="who")
    return dc.read(frame, schema)


def publish_all(
    versions: list[dict[str, Person]], method: dc.InvariantAngelization = METHOD
) -> list[tuple[dc.Microdata, dc.Release]]:
    """Publish a table again and again, each time after the history of all before."""
    history: dc.History | None = None
    made = []
    for people in versions:
        data = read(people)
        now = method if history is None else method.remember(history)
        made.append((data, dc.publish(data, now)))
        signed = now.sign(data)
        history = signed if history is None else history.followed(signed)
    return made


@pytest.fixture(scope="module")
def left() -> tuple[dc.Microdata, dc.Release]:
    """Nobody is left who has an ulcer, and eve stays."""
    return publish_all([FIRST, {who: what for who, what in FIRST.items() if who != "fay"}])[1]


def test_where_nobody_has_a_value_a_batch_holds_one_of_nobody(
    left: tuple[dc.Microdata, dc.Release],
) -> None:
    data, release = left
    assert release.tables["generalized"].height == 5, "no record is anybody's but a person's"
    assert release.tables["counterfeits"].rows() == [(1, 1)]
    held = release.tables["batches"]
    assert held.filter(batch=1).select("disease", "count").rows() == [("flu", 1), ("ulcer", 1)]
    report = dc.audit(release, data, attacks=True)
    assert report.kept and report.problems == [] and report.records == 5
    assert "nobody's" in release.about["batches"] and "counterfeits" in release.about
    assert release.reconstruct(["disease"]).rows() == [
        ("flu", pytest.approx(0.5)), ("gout", pytest.approx(0.4)), ("ulcer", pytest.approx(0.1))
    ]  # fmt: skip
    drawn = release.sample(1000, seed=1)["disease"]
    assert 50 < (drawn == "ulcer").sum() < 150


@pytest.mark.parametrize(
    ("asked", "low", "estimate", "high"),
    [
        ("COUNT(*) FROM release", 5, 5, 5),
        ("COUNT(*) FROM release WHERE disease = 'ulcer'", 0, 0.5, 1),
        ("COUNT(*) FROM release WHERE disease = 'flu'", 2, 2.5, 3),
        ("COUNT(disease) FROM release", 5, 5, 5),
        ("COUNT(*) FROM release WHERE age < 30 AND disease = 'flu'", 1, 1, 1),
        ("COUNT(*) FROM release WHERE age BETWEEN 40 AND 61 AND disease = 'flu'", 1, 1.5, 2),
        ("MIN(age) FROM release", 21, None, 22),
    ],
)
def test_answers_count_people_only(
    left: tuple[dc.Microdata, dc.Release], asked: str, low: int, estimate: float, high: int
) -> None:
    answer = left[1].query(f"SELECT {asked}")
    assert (answer.low, answer.high) == (low, high)
    assert estimate is None or answer.estimate == pytest.approx(estimate)


def test_lists_of_what_is_expected_count_people_only(
    left: tuple[dc.Microdata, dc.Release], tmp_path: Path
) -> None:
    _, release = left
    for names in (["disease"], ["age"], ["age", "disease"]):
        tree, needed = expect(release, names)
        found = _run(release, tree.sql("duckdb"), needed)
        assert found["weight"].sum() == pytest.approx(5)
    release.to_database(str(tmp_path / "release.duckdb"))
    release.export(tmp_path / "release.dta")


def _run(release: dc.Release, sql: str, needed: dict[str, pl.DataFrame]) -> pl.DataFrame:
    with duckdb.connect() as session:
        for title, table in {**release.tables, **needed}.items():
            texts = table.with_columns(pl.selectors.by_dtype(pl.Enum).cast(pl.String))
            session.register(title, texts.to_arrow())
        return session.sql(sql).pl()


def test_what_is_rebuilt_record_by_record_says_that_some_are_nobodys(
    left: tuple[dc.Microdata, dc.Release],
) -> None:
    _, release = left
    form = find_form(release.form)
    records = form.open_records(release, ["age", "disease"])
    assert records.shown.height == 6 and "1 records are nobody's" in str(records.caution)
    assert form.open_records(release, ["age"]).shown.height == 5


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(9, 1)], "not there"),
        ([(1, 1), (1, 1)], "twice"),
        ([(1, 2)], "2 of the 2 records"),
        ([(0, 1)], "not as many records per batch"),
        ([], "does not say"),
        (None, "not as many records per batch"),
    ],
)
def test_a_table_of_counterfeits_that_cannot_be_is_refused(
    left: tuple[dc.Microdata, dc.Release], rows: list[tuple[int, int]] | None, message: str
) -> None:
    _, release = left
    tables = {title: t for title, t in release.tables.items() if title != "counterfeits"}
    if rows is not None:
        schema = {"batch": pl.Int32, "counterfeits": pl.Int64}
        tables["counterfeits"] = pl.DataFrame(rows, schema=schema, orient="row")
    with pytest.raises(StoreError, match=message):
        verify(replace(release, tables=tables))


def test_it_is_stored_and_loaded(left: tuple[dc.Microdata, dc.Release], tmp_path: Path) -> None:
    data, release = left
    loaded = dc.load(release.write(tmp_path / "release"))
    assert loaded.tables["counterfeits"].equals(release.tables["counterfeits"])
    assert dc.audit(loaded, data).kept
    assert b"ann" not in b"".join(p.read_bytes() for p in (tmp_path / "release").iterdir())


def draw_versions(rng: np.random.Generator) -> list[dict[str, Person]]:
    values = ["flu", "gout", "ulcer"]
    everybody = {f"p{i}": (int(rng.integers(20, 26)), values[rng.integers(3)]) for i in range(7)}
    versions = []
    for _ in range(int(rng.integers(2, 4))):
        chosen = rng.permutation(7)[: rng.integers(4, 6)]
        versions.append({f"p{i}": everybody[f"p{i}"] for i in sorted(chosen)})
    return versions


@pytest.mark.parametrize("seed", range(16))
def test_over_all_worlds_nobody_is_believed_to_have_a_value_above_one_in_m(seed: int) -> None:
    versions = draw_versions(np.random.default_rng(seed))
    try:
        made = publish_all(versions)
    except (PromiseError, SchemaError):  # too few values, or nobody stayed
        return
    ages = [{who: age for who, (age, _) in people.items()} for people in versions]
    told = believe(ages, [release for _, release in made], "disease")
    assert max(share for beliefs in told.values() for share in beliefs.values()) <= Fraction(1, 2)


def test_what_versions_tell_together_is_counted_with_values_of_nobody() -> None:
    """By who does not reckon with signatures, against all worlds."""
    seen = Counter[str]()
    for seed in range(16):
        versions = draw_versions(np.random.default_rng(seed))
        try:
            made = publish_all(versions)
        except (PromiseError, SchemaError):
            continue
        people = sorted({who for version in versions for who in version})
        sights = []
        for version, (data, release) in zip(versions, made, strict=True):
            dealt = release.views[0].deal([view.match(data) for view in release.views])
            assert dealt is not None
            sights.append(Sighting(dealt, np.array([people.index(who) for who in version])))
        assert all(sight.is_whole for sight in sights)
        widest = max((r.views[0].dealing.bags("disease").domain for _, r in made),
                     key=lambda domain: domain.size)  # fmt: skip
        told = tell_worlds(sights, "disease", widest, len(people))
        ages = [{who: age for who, (age, _) in version.items()} for version in versions]
        worlds = believe(ages, [r for _, r in made], "disease", signed=False)
        assert told.counted.all()
        for person, kind in enumerate(told.kind_of.tolist()):
            entries = slice(told.bags.offsets[kind], told.bags.offsets[kind + 1])
            pairs = zip(told.bags.codes[entries], told.bags.weights[entries], strict=True)
            said = {str(widest.texts[code]): Fraction(int(weight), int(told.bags.sizes[kind]))
                    for code, weight in pairs}  # fmt: skip
            assert said == worlds[people[person]], seed
        seen["all"] += 1
        seen["fakes"] += any("counterfeits" in release.tables for _, release in made)
    assert seen["all"] > 8 and seen["fakes"] > 2


def test_tables_of_several_marginals_share_batches() -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({
        "who": [f"p{i}" for i in range(90)], "age": rng.integers(20, 60, 90),
        "town": rng.choice(["Bonn", "Jena", "Ulm"], 90), "pay": rng.choice([1, 4, 9, 16], 90),
    })  # fmt: skip
    schema = dc.Schema.infer(frame, quasi_identifiers=["age", "town"], sensitive=["pay"],
                             person="who")  # fmt: skip
    method = dc.InvariantAngelization(
        dc.MInvariance(2, epsilon=1), k=5, marginals=[["age"], ["town"]]
    )
    history = method.sign(dc.read(frame, schema))
    data = dc.read(frame[20:], schema)
    release = dc.publish(data, method.remember(history))
    assert {"generalized", "generalized_2", "batches"} <= set(release.tables)
    report = dc.audit(release, data)
    assert report.kept and report.problems == []
    form = find_form(release.form)
    assert "counterfeits" in release.tables
    assert len(form.views(form.leave_out(release, ["town"]))) == 1
    with pytest.raises(QueryError, match="nobody's"):
        form.expect(release, ["pay"], paired=True)
    with pytest.raises(PromiseError, match="keeps m-invariance"):
        dc.publish(data, dc.InvariantAngelization(dc.FrequencyDiversity(2)))
    with pytest.raises(PromiseError, match="not monotone"):
        dc.publish(data, dc.Angelization(dc.MInvariance(2)))
