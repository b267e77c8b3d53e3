"""Republication: small tables that are published several times, and all worlds that fit them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.errors import PromiseError, SchemaError, StoreError
from discreet.evaluate.questions import draw_questions
from discreet.forms.estimates import Estimator
from discreet.forms.verify import verify
from discreet.publishing.methods.signing import SigningMethod
from oracles.signed_worlds import believe
from questions import Drawer, draw_people, find_wrong, open_truth

Person = tuple[int, str]
"""An age and a disease."""
METHOD = dc.Republication(dc.MInvariance(2))
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
    versions: list[dict[str, Person]], method: dc.Republication = METHOD
) -> Iterator[tuple[dc.Microdata, dc.Release, dc.History]]:
    """Publish a table again and again, each time after the history of all before."""
    history: dc.History | None = None
    for people in versions:
        data = read(people)
        now = method if history is None else method.remember(history)
        release, signed = dc.publish(data, now), now.sign(data)
        history = signed if history is None else history.followed(signed)
        yield data, release, history


def read_classes(release: dc.Release) -> list[tuple[int, int, list[str], int]]:
    """Per class the ends of its box, its values and how many are nobody's."""
    fakes = dict(release.tables.get("counterfeits", pl.DataFrame()).iter_rows())
    return [
        (low, high, sorted(part["disease"].to_list()), fakes.get(number, 0))
        for (number, low, high), part in release.tables["generalized"].group_by(
            "class", "age_low", "age_high", maintain_order=True
        )
    ]  # type: ignore[misc]


def test_people_who_stay_keep_their_values_whoever_joins_and_leaves() -> None:
    second = {**FIRST, "gus": (23, "gout"), "hal": (41, "gout")}
    del second["bob"], second["dan"]
    third = {**second, "bob": FIRST["bob"]}
    del third["gus"]
    found = list(publish_all([FIRST, second, third]))
    for data, release, history in found:
        assert "counterfeits" not in release.tables
        assert dc.audit(release, data).kept
        assert history.of("ann") == history.of("cat") == ("flu", "gout")
        assert history.of("eve") == ("flu", "ulcer")
    assert found[1][2].of("gus") == ("flu", "gout")
    assert found[2][2].of("bob") == ("flu", "gout"), "whoever returns has what they had"


def test_where_nobody_has_a_value_a_counterfeit_does() -> None:
    second = {**FIRST}
    del second["fay"]  # nobody is left who has an ulcer, and eve stays
    *_, (data, release, _) = publish_all([FIRST, second])
    (fake,) = [group for group in read_classes(release) if group[3]]
    assert fake == (40, 40, ["flu", "ulcer"], 1)
    assert release.tables["counterfeits"].rows() == [(1, 1)]
    report = dc.audit(release, data, attacks=True)
    assert report.kept and report.problems == []
    assert report.records == 5 and report.identity.smallest == 1
    assert "nobody's" in release.about["generalized"]
    answer = release.query("SELECT COUNT(*) FROM release")
    assert (answer.low, answer.estimate, answer.high) == (4, 5, 6)
    answer = release.query("SELECT COUNT(*) FROM release WHERE disease = 'ulcer'")
    assert (answer.low, answer.estimate, answer.high) == (0, 0.5, 1)
    assert release.reconstruct(["disease"])["probability"].sum() == pytest.approx(1)
    assert (release.sample(300, seed=1)["disease"] == "ulcer").sum() < 60


def test_a_crowd_counts_people_and_no_counterfeits() -> None:
    """k people per group are k people."""
    people = {f"p{i}": (20 + i, "flu" if i % 2 else "gout") for i in range(40)}
    few = {who: what for i, (who, what) in enumerate(people.items()) if i % 7}
    method = replace(METHOD, k=6)
    for data, release, _ in publish_all([people, few], method):
        assert all(len(g[2]) - g[3] >= 6 for g in read_classes(release))
        assert dc.audit(release, data).identity.smallest >= 6
        assert release.promise.principle == dc.KAnonymity(6) & dc.MInvariance(2)
    with pytest.raises(PromiseError, match="k = 50 cannot be kept"):
        dc.publish(read(people), replace(METHOD, k=50))


def draw_turnover(rng: np.random.Generator, n: int, versions: int) -> list[dict[str, Person]]:
    values = ["flu", "gout", "ulcer", "mumps", "asthma"]
    ages, ill = (
        rng.integers(20, 80, 3 * n),
        rng.choice(values, 3 * n, p=[0.3, 0.25, 0.2, 0.15, 0.1]),
    )
    everybody = {f"p{i}": (int(ages[i]), str(ill[i])) for i in range(3 * n)}
    here, found = [*everybody][:n], []
    for _ in range(versions):
        found.append({who: everybody[who] for who in here})
        left = set(rng.choice(here, n // 10, replace=False).tolist())
        # new people, or some who were here before
        others = [who for who in everybody if who not in here]
        joined = [*others[-n // 20 :], *others[: n // 10 - n // 20]]
        here = [who for who in here if who not in left] + joined
    return found


def test_signatures_persist_over_twenty_versions() -> None:
    versions, seen = draw_turnover(np.random.default_rng(1), 100, 20), dict[str, tuple[str, ...]]()
    fakes = 0
    for data, release, history in publish_all(versions, dc.Republication(dc.MInvariance(3))):
        verify(release)
        assert dc.audit(release, data).problems == []
        fakes += sum(group[3] for group in read_classes(release))
        shown = {tuple(sorted(set(group[2]))) for group in read_classes(release)}
        for who in history.people["key"]:
            signature = history.of(who)
            assert signature is not None and len(signature) >= 3
            assert seen.setdefault(who, signature) == signature
        assert shown <= {*history.signatures}
    assert fakes < 20 * 20  # of a hundred people, who are few to choose from


def test_whoever_changed_their_value_gets_other_values_than_before() -> None:
    four = {
        f"p{i}": (20 + i, value) for i, value in enumerate(["flu", "gout", "ulcer", "mumps"] * 2)
    }
    (_, _, before), (_, _, after) = publish_all(
        [four, {**four, "p0": (20, "ulcer"), "p9": (50, "flu"), "p10": (51, "gout")}]
    )
    old, new = before.of("p0"), after.of("p0")
    assert old is not None and new is not None
    assert "flu" in old and "ulcer" in new and not set(old) & set(new)


@pytest.mark.parametrize("seed", range(3))
def test_signing_does_not_depend_on_the_order_of_rows(seed: int) -> None:
    people = draw_turnover(np.random.default_rng(seed), 60, 1)[0]
    order = np.random.default_rng(seed + 9).permutation([*people]).tolist()
    one, two = (METHOD.sign(read(p)) for p in (people, {who: people[who] for who in order}))
    assert one.people.equals(two.people) and one.signatures == two.signatures
    again = [dc.publish(read(p), METHOD) for p in (people, {who: people[who] for who in order})]
    assert again[0].tables["generalized"].equals(again[1].tables["generalized"])


# all worlds of a few people


@pytest.mark.parametrize("seed", range(12))
def test_over_all_worlds_nobody_is_believed_to_have_a_value_above_one_in_m(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = ["flu", "gout", "ulcer"]
    everybody = {f"p{i}": (int(rng.integers(20, 26)), values[rng.integers(3)]) for i in range(7)}
    versions = []
    for _ in range(int(rng.integers(2, 4))):
        chosen = rng.permutation(7)[: rng.integers(4, 6)]
        versions.append({f"p{i}": everybody[f"p{i}"] for i in sorted(chosen)})
    try:
        made = list(publish_all(versions))
    except (PromiseError, SchemaError):  # too few values, or nobody stayed
        return
    ages = [{who: age for who, (age, _) in people.items()} for people in versions]
    told = believe(ages, [release for _, release, _ in made], "disease")
    assert max(share for beliefs in told.values() for share in beliefs.values()) <= Fraction(1, 2)


def test_the_oracle_finds_what_publishing_anew_tells() -> None:
    """Without the history, whoever stays may be in groups that have one value in common."""
    second = {**FIRST}
    del second["bob"], second["dan"]
    second = {**second, "gus": (22, "ulcer"), "hal": (41, "ulcer")}
    made = [dc.publish(read(people), METHOD) for people in (FIRST, second)]
    worlds = {frozenset(group[2]) for release in made for group in read_classes(release)}
    assert {frozenset({"flu", "gout"}), frozenset({"flu", "ulcer"})} <= worlds
    groups = [{tuple(g[:2]): set(g[2]) for g in read_classes(release)} for release in made]
    (ann,) = [v for (low, high), v in groups[0].items() if low <= 21 <= high]
    (again,) = [v for (low, high), v in groups[1].items() if low <= 21 <= high]
    assert ann & again == {"flu"}


# what is not allowed, and what is forged


def test_bad_input_is_refused_with_a_remedy() -> None:
    data, history = read(FIRST), METHOD.sign(read(FIRST))
    frame = data.to_polars()
    plain = dc.read(frame, dc.Schema.infer(frame, quasi_identifiers=["age"], sensitive=["disease"]))
    with pytest.raises(SchemaError, match="no column says whose rows") as caught:
        dc.publish(plain, METHOD.remember(history))
    assert "person" in str(caught.value.hint)
    with pytest.raises(SchemaError, match="no column says whose rows"):
        METHOD.sign(plain)
    others = {who.upper(): what for who, what in FIRST.items()}
    with pytest.raises(SchemaError, match="'ANN' here, and was 'ann' there") as caught:
        dc.publish(read(others), METHOD.remember(history))
    assert "as they were written before" in str(caught.value.hint)
    two = frame.with_columns(pay=pl.Series(range(6)))
    schema = dc.Schema.infer(two, quasi_identifiers=["age"], sensitive=["disease", "pay"])
    with pytest.raises(SchemaError, match="one sensitive attribute"):
        dc.publish(dc.read(two, schema), METHOD)
    with pytest.raises(SchemaError, match="m = 1"):
        dc.MInvariance(1)
    with pytest.raises(PromiseError, match="keeps m-invariance"):
        dc.publish(data, dc.Republication(dc.FrequencyDiversity(2)))
    with pytest.raises(PromiseError, match="republication"):
        dc.publish(data, dc.Generalization(dc.MInvariance(2)))
    with pytest.raises(PromiseError, match="m ≤ 2"):
        dc.publish(data, dc.Republication(dc.MInvariance(4)))
    many = {f"p{i}": (i, "flu" if i < 70 else "gout") for i in range(100)}
    with pytest.raises(PromiseError, match=r"covers 70\.0% of rows: m ≤ 1"):
        dc.publish(read(many), METHOD)


@pytest.fixture(scope="module")
def with_counterfeit() -> tuple[dc.Microdata, dc.Release]:
    second = {**FIRST, "gus": (30, "flu"), "hal": (31, "gout")}
    del second["fay"], second["dan"]
    *_, (data, release, _) = publish_all([FIRST, second])
    return data, release


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([(9, 1)], "not there"),
        ([(1, 1), (1, 1)], "twice"),
        ([(1, 0)], "0 of the 4 records"),
        ([(1, -1)], "-1 of the 4 records"),
        ([(1, 4)], "4 of the 4 records"),
        ([], "does not say"),
    ],
)
def test_a_table_of_counterfeits_that_cannot_be_is_refused(
    with_counterfeit: tuple[dc.Microdata, dc.Release], rows: list[tuple[int, int]], message: str
) -> None:
    _, release = with_counterfeit
    schema = {"class": pl.Int32, "counterfeits": pl.Int64}
    forged = pl.DataFrame(rows, schema=schema, orient="row")
    with pytest.raises(StoreError, match=message):
        verify(replace(release, tables={**release.tables, "counterfeits": forged}))


def test_people_who_are_called_counterfeits_are_found(
    with_counterfeit: tuple[dc.Microdata, dc.Release],
) -> None:
    data, release = with_counterfeit
    counted = release.tables["counterfeits"]
    fewer = counted.head(1)
    classes = release.tables["generalized"]["class"].unique().to_list()
    (free,) = [c for c in classes if c not in counted["class"]]
    more = pl.concat([counted, pl.DataFrame({"class": [free], "counterfeits": [1]},
                                            schema=counted.schema)])  # fmt: skip
    for forged in (fewer, more):
        tables = {**release.tables, "counterfeits": forged}
        report = dc.audit(replace(release, tables=tables), data)
        assert report.problems
    alone = {"generalized": release.tables["generalized"]}
    assert dc.audit(replace(release, tables=alone), data).problems


def test_a_release_with_counterfeits_is_stored_loaded_and_installed(
    with_counterfeit: tuple[dc.Microdata, dc.Release], tmp_path: Path
) -> None:
    data, release = with_counterfeit
    loaded = dc.load(release.write(tmp_path / "release"))
    assert loaded.tables["counterfeits"].equals(release.tables["counterfeits"])
    assert dc.audit(loaded, data).kept
    assert b"ann" not in b"".join(p.read_bytes() for p in (tmp_path / "release").iterdir())
    release.export(tmp_path / "release.dta")
    release.to_database(str(tmp_path / "release.duckdb"))


BOTH = (
    dc.Republication(dc.MInvariance(3)),
    dc.InvariantAngelization(dc.MInvariance(3), k=4),
)


def publish_leavers(seed: int, method: SigningMethod) -> tuple[dc.Microdata, dc.Release]:
    """Publish people of whom a third left, so that counterfeits are many."""
    rng = np.random.default_rng(seed)
    drawn = draw_people(rng, 120)
    frame = drawn.to_polars().with_columns(
        wage=pl.Series(rng.choice([1000, 2000, 3000, 4000, 7000], 120)),
        who=pl.Series([f"p{i}" for i in range(120)]),
    )
    key = dc.Attribute("who", dc.Role.IDENTIFIER, dc.Type.CATEGORY)
    schema = replace(drawn.schema, attributes=(*drawn.schema.attributes, key))
    history = method.sign(dc.read(frame, schema, person="who"))
    stayed = dc.read(frame[rng.permutation(120)[:80]], schema, person="who")
    release = dc.publish(stayed, method.remember(history))
    assert "counterfeits" in release.tables
    return stayed, release


@pytest.mark.parametrize("seed", range(2))
def test_bounds_hold_the_truth_with_counterfeits(seed: int) -> None:
    people, release = publish_leavers(seed, BOTH[seed % 2])
    assert dc.audit(release, people).problems == []
    drawer = Drawer(np.random.default_rng(seed), [*people.quasi_identifiers, "wage"])
    answered = 0
    with release.prepare() as prepared, open_truth(people) as truth:
        for _ in range(25):
            question = drawer.draw()
            wrong = find_wrong(prepared, truth, question)
            assert not wrong, (question, wrong)
            answered += wrong is not None
    assert answered > 12


@pytest.mark.parametrize("method", BOTH, ids=lambda method: method.title)
def test_estimates_in_memory_and_in_sql_are_the_same_with_counterfeits(
    method: SigningMethod,
) -> None:
    people, release = publish_leavers(1, method)
    estimator = Estimator(release, people)
    with release.prepare() as prepared:
        for batch in draw_questions(people, 10, seed=3).batches:
            if batch.kind == "average":
                continue
            memory = estimator.estimate(batch.workload, batch.number)
            sql = [prepared.query(text).estimate or 0 for text in batch.sql]
            np.testing.assert_allclose(memory, sql, rtol=1e-7, atol=1e-6)


def test_a_counterfeit_may_have_no_value_although_everybody_has_one() -> None:
    """Who had none has left, and the signature of somebody who stays has it."""
    roles = dc.Role.IDENTIFIER, dc.Role.QUASI_IDENTIFIER, dc.Role.SENSITIVE
    schema = dc.Schema(
        (
            dc.Attribute("who", roles[0], dc.Type.CATEGORY),
            dc.Attribute("age", roles[1], dc.Type.INTEGER),
            dc.Attribute("pay", roles[2], dc.Type.INTEGER, missing=dc.Missing.VALUE),
        )
    )
    frame = pl.DataFrame({"who": list("abcd"), "age": [20, 21, 40, 41], "pay": [10, None, 20, 30]})
    first = dc.read(frame, schema, person="who")
    later = dc.read(frame.filter(pl.col("who") != "b"), schema, person="who")
    method = dc.Republication(dc.MInvariance(2))
    release = dc.publish(later, method.remember(method.sign(first)))
    assert None in release.tables["generalized"]["pay"].to_list()
    assert dc.audit(release, later).kept
