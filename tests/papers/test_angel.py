"""What the ANGEL paper computes by hand, with its errors corrected."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import polars as pl
import pytest

import discreet as dc
from discreet.publishing.partition import Partition
from samples import microdata

TABLE_1A = pl.DataFrame(
    {
        "age": [21, 23, 38, 40, 41, 43, 58, 60],
        "sex": list("MMFFMMFF"),
        "disease": (["pneumonia"] * 2 + ["bronchitis"] * 2) * 2,
    }
)
TABLE_2A = pl.DataFrame(
    {
        "age": [21, 23, 58, 60, 70, 72],
        "sex": list("MMFFMM"),
        "zip": [10, 58, 12, 60, 78, 80],
        "disease": ["pneumonia", "flu", "bronchitis", "pneumonia", "flu", "bronchitis"],
    }
)
TWO = dc.FrequencyDiversity(2)


def angelize(
    frame: pl.DataFrame, k: int, batches: list[int], **buckets: list[int]
) -> tuple[dc.Microdata, dc.Release]:
    """The release that given batches and buckets determine; a keyword lists a marginal's names."""
    names = [n for n in frame.columns if n != "disease"]
    data = microdata(frame, names, ["disease"])
    marginals = [key.split("_") for key in buckets]
    method = dc.Angelization(TWO, k=k, marginals=marginals, exact=k == 1)
    release = method.angelize(
        data,
        marginals,
        [Partition.from_labels(np.array(labels)) for labels in buckets.values()],
        Partition.from_labels(np.array(batches)),
    )
    return data, release


def table_3() -> tuple[dc.Microdata, dc.Release]:
    return angelize(TABLE_1A, 2, [0, 1, 0, 1, 2, 3, 2, 3], age_sex=[0, 0, 1, 1, 2, 2, 3, 3])


def test_table_3_and_every_belief_in_it() -> None:
    data, release = table_3()
    generalized = release.tables["generalized"]
    shown = generalized.select("age", "sex").rows()
    boxes = [("[21, 23]", "M"), ("[38, 40]", "F"), ("[41, 43]", "M"), ("[58, 60]", "F")]
    assert shown == [box for box in boxes for _ in range(2)]
    batch = generalized["batch"].to_list()
    assert {*batch[:2]} == {*batch[2:4]} and {*batch[4:6]} == {*batch[6:]}
    assert sorted(batch) == [0, 0, 1, 1, 2, 2, 3, 3]
    assert release.tables["batches"].drop("batch").rows() == [
        ("bronchitis", 1), ("pneumonia", 1),
    ] * 4  # fmt: skip
    report = dc.audit(release, data)
    assert report.kept
    assert report.beliefs["disease"].tolist() == [0.5] * 8
    assert report.truths["disease"].tolist() == [0.5] * 8


def test_table_4_batches_that_are_buckets_give_the_generalized_release() -> None:
    groups = [0, 0, 0, 0, 1, 1, 1, 1]
    data, release = angelize(TABLE_1A, 4, groups, age_sex=groups)
    simple = dc.publish(data, dc.Generalization(TWO))
    assert (
        release.tables["generalized"]
        .drop("batch")
        .equals(simple.tables["generalized"].select("age", "age_low", "age_high", "sex"))
    )
    assert release.tables["batches"]["count"].to_list() == [2, 2, 2, 2]
    question = "SELECT disease, COUNT(*) FROM release WHERE age BETWEEN 30 AND 50 GROUP BY disease"
    one, two = (r.query(question).frame["count"].to_list() for r in (release, simple))
    assert one == pytest.approx(two)


def test_table_6_k_of_one_is_anatomy() -> None:
    groups = [0, 0, 0, 0, 1, 1, 1, 1]
    _, release = angelize(TABLE_1A, 1, groups, age_sex=list(range(8)))
    table = release.tables["generalized"]
    assert table["age"].to_list() == TABLE_1A["age"].to_list()
    assert table["batch"].n_unique() == 2
    assert release.tables["batches"]["count"].to_list() == [2, 2, 2, 2]
    data = microdata(TABLE_1A, ["age", "sex"], ["disease"])
    anatomy = dc.publish(data, dc.Anatomy(TWO), insecure_seed=5)
    angel = dc.publish(data, dc.Angelization(TWO, k=1, exact=True), insecure_seed=5)
    assert all(anatomy.tables[name].equals(angel.tables[name]) for name in angel.tables)


def test_example_6_counts_1_1_from_the_generalized_table_and_2_from_angel() -> None:
    question = "SELECT COUNT(*) FROM release WHERE age BETWEEN 35 AND 45 AND disease = 'pneumonia'"
    data, release = table_3()
    simple = dc.publish(data, dc.Generalization(TWO))
    assert simple.query(question).estimate == pytest.approx(1.1)
    answer = release.query(question)
    assert answer.estimate == pytest.approx(2.0)
    assert answer.low is not None and answer.high is not None
    assert answer.low <= 2 <= answer.high


def test_the_only_2_diverse_recoding_of_table_1a_splits_at_40() -> None:
    data = microdata(TABLE_1A, ["age", "sex"], ["disease"])
    table = dc.publish(data, dc.Generalization(TWO)).tables["generalized"]
    assert table.select("age", "sex").unique(maintain_order=True).rows() == [
        ("[21, 40]", "*"), ("[41, 60]", "*"),
    ]  # fmt: skip


def worlds_of(release: dc.Release, people: list[dict[str, object]]) -> list[tuple[str, ...]]:
    """All assignments of diseases to people that agree with every table, by enumeration."""
    batches = {
        batch: [d for d, c in zip(part["disease"], part["count"], strict=True) for _ in range(c)]
        for (batch,), part in release.tables["batches"].group_by("batch")
    }
    of_people: set[tuple[int, ...]] | None = None
    for title, table in release.tables.items():
        if title == "batches":
            continue
        names = [n for n in ("age", "sex", "zip") if n in table.columns]
        records = table.to_dicts()
        found = set()
        for matching in permutations(range(len(records))):
            if all(
                _covers(release, records[record], person, names)
                for person, record in zip(people, matching, strict=True)
            ):
                found.add(tuple(records[record]["batch"] for record in matching))
        of_people = found if of_people is None else of_people & found
    worlds = []
    for assignment in of_people or ():
        for deal in product(*(set(permutations(values)) for values in batches.values())):
            left = {batch: list(values) for batch, values in zip(batches, deal, strict=True)}
            worlds.append(tuple(left[batch].pop(0) for batch in assignment))
    return worlds


def _covers(
    release: dc.Release, record: dict[str, object], person: dict[str, object], names: list[str]
) -> bool:
    return all(
        person[n] in release.recodings[n].labels[str(record[n])]
        if n == "sex"
        else record[f"{n}_low"] <= person[n] <= record[f"{n}_high"]  # type: ignore[operator]
        for n in names
    )


def table_7() -> tuple[dc.Microdata, dc.Release]:
    return angelize(
        TABLE_2A, 2, [0, 0, 1, 1, 2, 2], age_sex_zip=[0, 0, 1, 1, 2, 2], zip=[0, 1, 0, 1, 2, 2]
    )


def test_table_7_leaves_everyone_at_one_half_in_all_8_worlds() -> None:
    data, release = table_7()
    worlds = worlds_of(release, TABLE_2A.to_dicts())
    assert len(worlds) == 8
    for person, disease in enumerate(TABLE_2A["disease"]):
        assert sum(world[person] == disease for world in worlds) == 4
    report = dc.audit(release, data)
    assert report.kept
    assert report.max_belief == 0.5
    assert report.joined is not None
    assert report.joined.max_belief == 0.5


def test_table_7_joined_isolates_people_although_each_table_is_2_anonymous() -> None:
    """The paper's claim on presence is false for several marginals; the audit says so."""
    data, release = table_7()
    report = dc.audit(release, data)
    assert [int(view.sizes.min()) for view in release.views] == [2, 2]
    assert report.joined is not None
    assert (report.joined.smallest, report.joined.alone) == (1, 4)
    assert report.identity.smallest == 1


def test_tables_2b_and_2c_together_expose_alan() -> None:
    """Two simple generalizations, each 2-diverse: as batches they are different partitions."""
    people = TABLE_2A.to_dicts()
    groups = [[0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 2, 2]]
    worlds = set()
    for world in set(permutations(TABLE_2A["disease"].to_list())):
        if all(
            sorted(world[i] for i in range(6) if labels[i] == g)
            == sorted(people[i]["disease"] for i in range(6) if labels[i] == g)
            for labels in groups
            for g in range(3)
        ):
            worlds.add(world)
    assert len(worlds) == 2
    assert {world[0] for world in worlds} == {"pneumonia"}
