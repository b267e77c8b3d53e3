"""What several releases give away together, against all worlds that agree with them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.auditing.composition import Composed, compose, compose_joins
from discreet.publishing import Method
from samples import microdata

PEOPLE = 6
COMPANION = "slicing beside a companion"
FORMS = ["generalization", "anatomy", "slicing", COMPANION]


def make_two(frame: pl.DataFrame, one: dc.Release, other: dc.Release) -> list[Composed]:
    known = [name for name in frame.columns if name != "ill"]
    return compose(one, microdata(frame, known, ["ill"]), [("0001", other)])[0]


def publish(frame: pl.DataFrame, known: str, form: str, seed: int) -> dc.Release:
    """Publish one known attribute and the sensitive one, in some form."""
    promise = dc.FrequencyDiversity(2)
    shown = [known]
    method: Method = {
        "generalization": dc.Generalization(promise),
        "anatomy": dc.Anatomy(promise),
        "slicing": dc.Slicing(promise, columns=[[known], ["ill"]]),
        COMPANION: dc.Slicing(promise, columns=[[known], ["kin", "ill"]]),
    }[form]
    if form == COMPANION:
        shown.append("kin")
    data = microdata(frame.select(*shown, "ill"), shown, ["ill"])
    return dc.publish(data, method, insecure_seed=seed)


def list_groups(release: dc.Release, known: str, frame: pl.DataFrame) -> list[int]:
    """Say for everyone of which group they are, as anyone can who knows everybody's number."""
    if "generalized" in release.tables and "class" in release.tables["generalized"].columns:
        boxes = release.tables["generalized"].to_dicts()
        return [
            next(b["class"] for b in boxes if b[f"{known}_low"] <= x <= b[f"{known}_high"])
            for x in frame[known]
        ]
    title, group = next(
        (t, g) for t, g in (("generalized", "batch"), ("sliced", "bucket")) if t in release.tables
    )
    of = dict(release.tables[title].select(known, group).iter_rows())
    if "kin" not in release.tables[title].columns:
        return [of[x] for x in frame[known]]
    # the value stands beside the companion, so it is one of those of the bucket that have it, too
    return [of[x] * 10 + "uv".index(kin) for x, kin in frame.select(known, "kin").iter_rows()]


def enumerate_beliefs(values: Sequence[str], groupings: Sequence[Sequence[int]]) -> list[Fraction]:
    """Per person the largest belief in a value, over all worlds that agree with the groups."""

    def bags(world: Sequence[str], groups: Sequence[int]) -> Counter[tuple[int, str]]:
        return Counter(zip(groups, world, strict=True))

    worlds = [
        world
        for world in set(permutations(values))
        if all(bags(world, groups) == bags(values, groups) for groups in groupings)
    ]
    return [
        Fraction(max(Counter(world[i] for world in worlds).values()), len(worlds))
        for i in range(len(values))
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.permutations(range(PEOPLE)),
    st.lists(st.sampled_from("abc"), min_size=PEOPLE, max_size=PEOPLE).filter(
        lambda values: max(Counter(values).values()) <= PEOPLE // 2
    ),
    st.lists(st.sampled_from("uv"), min_size=PEOPLE, max_size=PEOPLE),
    st.sampled_from(FORMS),
    st.sampled_from(FORMS),
    st.integers(0, 3),
)
def test_who_becomes_certain_is_found(
    b: list[int], ill: list[str], kin: list[str], first: str, second: str, seed: int
) -> None:
    """Two releases of the same people: what follows for certain in all worlds is never missed."""
    if COMPANION in (first, second):
        parts = [[x for x, k in zip(ill, kin, strict=True) if k == part] for part in set(kin)]
        assume(all(2 * max(Counter(part).values()) <= len(part) for part in parts))
    frame = pl.DataFrame({"a": range(PEOPLE), "b": b, "kin": kin, "ill": ill})
    one, other = publish(frame, "a", first, seed), publish(frame, "b", second, seed)
    groupings = [list_groups(one, "a", frame), list_groups(other, "b", frame)]
    beliefs = enumerate_beliefs(ill, groupings)
    found = make_two(frame, other, one)
    if max(beliefs) == 1:  # neither release alone makes anybody certain: each promises a half
        assert found
        assert max(made.worst or 0 for made in found) > Fraction(9, 10)
        assert found[0].people >= sum(belief == 1 for belief in beliefs)
    if max(beliefs) < Fraction(1, 2):
        assert not found


def test_the_same_release_again_tells_nothing_new() -> None:
    data = dc.datasets.adult(sensitive="occupation").head(500)
    release = dc.publish(data, dc.Anatomy(dc.FrequencyDiversity(3)), insecure_seed=1)
    assert compose(release, data, [("0001", release)]) == ([], [])


def test_a_coarser_view_of_the_same_groups_tells_nothing_new() -> None:
    """Where every group of one release is whole in one of the other, the finer one says it all."""
    frame = pl.DataFrame({"a": [1, 1, 2, 2, 3, 3, 4, 4], "ill": list("abcdabcd")})
    data = microdata(frame, ["a"], ["ill"])
    fine = dc.publish(data, dc.Generalization(dc.DistinctDiversity(2)))
    coarse = dc.publish(data, dc.Generalization(dc.KAnonymity(4)))
    assert fine.tables["generalized"]["class"].n_unique() == 4
    for one, other in ((fine, coarse), (coarse, fine)):
        assert [str(b) for b in compose(one, data, [("0001", other)])[0]] == []


def test_values_that_two_releases_leave_are_intersected() -> None:
    """Ganta and others, KDD 2008: two hospitals, one patient in both."""
    here = pl.DataFrame({"age": [20, 21, 22], "ill": ["flu", "aids", "ulcer"]})
    there = pl.DataFrame({"age": [20, 29, 28], "ill": ["aids", "cancer", "cough"]})
    one = dc.publish(microdata(there, ["age"], ["ill"]), dc.Generalization(dc.DistinctDiversity(3)))
    data = microdata(here, ["age"], ["ill"])
    two = dc.publish(data, dc.Generalization(dc.DistinctDiversity(3)))
    found, _ = compose(two, data, [("0001", one)])
    assert {str(made.principle) for made in found} == {"distinct-diversity (l = 3)"}
    assert all(made.worst == 1 and made.people == 3 for made in found)


def test_three_releases_tell_what_no_two_do() -> None:
    cut = [{"a", "b", "c"}, {"a", "b", "d"}, {"a", "c", "d"}]
    releases = []
    for i, kept in enumerate(cut):
        frame = pl.DataFrame({"age": [1] * 3, "ill": sorted(kept)})
        data = microdata(frame, ["age"], ["ill"])
        releases.append((f"{i}", dc.publish(data, dc.Generalization(dc.DistinctDiversity(2)))))
    found, _ = compose(releases[2][1], data, releases[:2])
    assert found
    assert found[0].names == ("this", "0", "1")
    assert found[0].worst == 1


def test_what_is_sensitive_here_and_known_there_is_not_taken_as_known() -> None:
    """An attribute that one release shows as a label narrows what another shows as a bag."""
    frame = pl.DataFrame(
        {"age": [1, 1, 2, 2], "job": ["cook", "nurse", "cook", "nurse"], "sex": list("fmfm")}
    )
    one = dc.publish(microdata(frame, ["age", "job"], []), dc.Generalization(dc.KAnonymity(1)))
    data = microdata(frame, ["age", "sex"], ["job"])
    two = dc.publish(data, dc.Generalization(dc.DistinctDiversity(2)))
    found, _ = compose(two, data, [("0001", one)])
    assert found == []  # of age 1 both jobs are left by both
    apart = pl.DataFrame({"age": [1, 2, 3, 4], "job": ["cook", "nurse", "cook", "nurse"]})
    one = dc.publish(microdata(apart, ["age", "job"], []), dc.Generalization(dc.KAnonymity(1)))
    data = microdata(apart, ["age"], ["job"])
    two = dc.publish(data, dc.Generalization(dc.DistinctDiversity(2)))
    found, notes = compose(two, data, [("0001", one)])
    assert found == []
    assert any("0001" not in note and "another release as it is" in note for note in notes)


def test_a_kept_column_links_records() -> None:
    """Both releases show the wage beside what they protect: it joins their records."""
    frame = pl.DataFrame(
        {"age": [1, 2, 3, 4], "zip": [1, 3, 2, 4], "wage": [10, 20, 30, 40], "ill": list("abab")}
    )
    schema = dc.Schema(
        (
            dc.Attribute("age", dc.Role.QUASI_IDENTIFIER, dc.Type.INTEGER),
            dc.Attribute("zip", dc.Role.QUASI_IDENTIFIER, dc.Type.INTEGER),
            dc.Attribute("wage", dc.Role.OTHER, dc.Type.INTEGER, keep=True),
            dc.Attribute("ill", dc.Role.SENSITIVE, dc.Type.CATEGORY),
        )
    )
    both = [
        dc.publish(
            dc.read(frame, schema.only([name, "wage", "ill"])),
            dc.Generalization(dc.KAnonymity(2)),
        )
        for name in ("age", "zip")
    ]
    found, _ = compose(both[1], dc.read(frame, schema), [("0001", both[0])])
    assert [(made.promised_by, made.smallest) for made in found] == [("this", 1), ("0001", 1)]
    assert all(made.principle == dc.KAnonymity(2) for made in found)


@pytest.mark.parametrize("form", ["permutation", "rank-swapping", "perturbation", "angelization"])
def test_every_form_can_come_before_every_other(form: str) -> None:
    data = dc.datasets.census(1000, sensitive="income")
    methods: dict[str, Method] = {
        "generalization": dc.Generalization(dc.KAnonymity(10)),
        "permutation": dc.Permutation(dc.KE(3, 1000)),
        "rank-swapping": dc.RankSwapping(dc.KE(3, 1000)),
        "perturbation": dc.Perturbation(dc.Proximity(epsilon=500, m=3)),
        "angelization": dc.Angelization(dc.KAnonymity(5)),
        "slicing": dc.Slicing(dc.DistinctDiversity(2)),
    }
    before = dc.publish(data, methods[form], insecure_seed=1)
    for method in methods.values():
        after = dc.publish(data, method, insecure_seed=2)
        found, _ = compose(after, data, [("0001", before)])
        for made in found:
            assert 0 < made.people <= data.n
            assert made.worst is None or 0 < made.worst <= 1


def test_a_promise_about_joins_is_asked_of_later_releases_too() -> None:
    """Table 1 of Wang and Fung: what the first release hides, its join with the second tells."""
    t1 = pl.DataFrame({"pid": range(6), "job": ["banker", "banker", "clerk", "clerk", "it", "it"],
                       "ill": list("aabbcc")})  # fmt: skip
    t2 = t1.with_columns(sex=pl.Series(list("fmfmfm"))).drop("pid")
    one = dc.publish(microdata(t2.select("job", "sex"), ["job", "sex"], []),
                     dc.Generalization(dc.KAnonymity(1)))  # fmt: skip
    promise = dc.XYAnonymity(x=["job"], y=["ill"], k=1)
    two = dc.publish(microdata(t1.select("job", "ill"), ["job"], ["ill"]),
                     dc.Sequential(promise, earlier=[one]))  # fmt: skip
    assert compose_joins(two, [("0001", one)]) == []
    strict = dc.XYAnonymity(x=["job"], y=["ill"], k=2)
    bold = replace(two, promise=replace(two.promise, principle=strict))
    (found,) = compose_joins(bold, [("0001", one)])
    assert found.names == ("this", "0001")
    assert found.people == 3


TABLE = pl.DataFrame(
    {"age": range(20, 28), "zip": [1, 5, 2, 6, 3, 7, 4, 8], "ill": list("abcdabcd")}
)
HIDDEN = dc.Generalization(dc.DistinctDiversity(2))


def compose_with(
    frame: pl.DataFrame, known: list[str], *earlier: dc.Release
) -> tuple[list[Composed], list[str]]:
    data = microdata(frame.select([*known, "ill"]), known, ["ill"])
    numbered = [(str(i), release) for i, release in enumerate(earlier)]
    return compose(dc.publish(data, HIDDEN), data, numbered)


def earlier(frame: pl.DataFrame, known: list[str], method: Method) -> dc.Release:
    return dc.publish(
        microdata(frame.select([*known, "ill"]), known, ["ill"]), method, insecure_seed=1
    )


def test_releases_that_deal_values_are_joined_with_those_that_show_what_is_whose() -> None:
    """Batches are told apart from records, whatever their tables are called."""
    people = dc.datasets.adult(sensitive="occupation").head(200)
    batched = dc.publish(people, dc.Angelization(dc.FrequencyDiversity(2), k=3))
    boxes = dc.publish(people, dc.Generalization(dc.KAnonymity(3)))
    promise = dc.XYAnonymity(x=["age", "occupation"], y="people", k=2)
    assert dc.audit(boxes, people, principle=promise, earlier=[batched]).breaches
    with pytest.raises(dc.errors.SchemaError, match="angelization has no records to join with"):
        dc.audit(batched, people, principle=promise, earlier=[boxes])
    joined = replace(boxes, promise=replace(boxes.promise, principle=promise))
    (broken,) = compose_joins(joined, [("0001", batched)])
    assert broken.principle == promise and broken.names == ("this", "0001")


def test_releases_about_other_people_do_no_harm() -> None:
    older = TABLE.with_columns(age=pl.col("age") + 40)
    sliced = earlier(older, ["age"], dc.Slicing(dc.DistinctDiversity(2)))
    assert compose_with(TABLE, ["age"], sliced)[0] == []


def test_values_that_have_gone_since_do_no_harm() -> None:
    before = TABLE.with_columns(ill=pl.Series(list("abababxy")))
    found, _ = compose_with(TABLE, ["age"], earlier(before, ["age"], HIDDEN))
    assert all(made.people <= 8 for made in found)


def test_an_attribute_the_table_lacks_is_left_out_and_said() -> None:
    one = earlier(TABLE, ["age"], HIDDEN)
    data = microdata(TABLE.select("zip", "age"), ["zip"], ["age"])
    two = dc.publish(data, dc.Anatomy(dc.DistinctDiversity(2)), insecure_seed=1)
    _, notes = compose_with(TABLE, ["zip"], one, two)
    assert any("shows age" in note for note in notes)


def test_marginals_of_which_one_is_unknown() -> None:
    method = dc.Angelization(dc.DistinctDiversity(2), k=2, marginals=[["age"], ["zip"]])
    found, notes = compose_with(TABLE, ["zip"], earlier(TABLE, ["age", "zip"], method))
    assert notes == ["0: shows age, which this table lacks; it was left out of account"]
    assert all(made.people <= 8 for made in found)


def test_regions_that_overlap_without_the_rest_tell_nobody_apart() -> None:
    before = pl.DataFrame({"age": [2, 3, 5, 5], "zip": [0, 2, 4, 1], "ill": list("bcbb")})
    sliced = earlier(before, ["age", "zip"], dc.Slicing(dc.DistinctDiversity(2), frequency=2))
    now = pl.DataFrame({"zip": [3, 1, 4, 4], "ill": list("bbba")})
    _, notes = compose_with(now, ["zip"], sliced)
    assert any("cannot be told apart" in note for note in notes)


def test_a_kept_column_of_a_sliced_release_may_be_gone() -> None:
    schema = dc.Schema(
        (
            dc.Attribute("age", dc.Role.OTHER, dc.Type.INTEGER, keep=True),
            dc.Attribute("zip", dc.Role.QUASI_IDENTIFIER, dc.Type.INTEGER),
            dc.Attribute("ill", dc.Role.SENSITIVE, dc.Type.CATEGORY),
        )
    )
    sliced = dc.publish(
        dc.read(TABLE, schema), dc.Slicing(dc.DistinctDiversity(2)), insecure_seed=1
    )
    _, notes = compose_with(TABLE, ["zip"], sliced)
    assert any("age" in note for note in notes)


def test_what_one_release_half_tells_another_must_not_complete() -> None:
    """A release without a promise about values leaves one half; together with the next, all."""
    frame = pl.DataFrame({"a": [1, 1, 2, 2], "b": [1, 2, 1, 2], "ill": list("xyzx")})
    one = earlier(frame, ["a"], dc.Generalization(dc.KAnonymity(2)))
    data = microdata(frame, ["a", "b"], ["ill"])
    two = dc.publish(data.without("a"), dc.Generalization(dc.FrequencyDiversity(2)))
    strict = replace(two, promise=replace(two.promise, principle=dc.FrequencyDiversity(3)))
    found, notes = compose(strict, data, [("0001", one)])
    assert [(made.promised_by, made.worst) for made in found] == [("this", 1), ("0001", None)]
    assert notes == []


@pytest.mark.parametrize("name", ["group", "w", "w kg", "set", "set 0", "cell", "times", "label d"])
def test_what_releases_tell_together_does_not_depend_on_what_columns_are_called(name: str) -> None:
    rng = np.random.default_rng(2)
    people = pl.DataFrame({"job": rng.choice(list("xyz"), 120), "age": rng.integers(20, 26, 120),
                           "sex": rng.choice(list("FM"), 120),
                           "ill": rng.choice(list("pqrs"), 120)})  # fmt: skip

    def tell(called: str) -> list[dict[str, object]]:
        made = []
        for known in (["sex", "age"], ["job", "age"]):
            data = microdata(people.select(*known, pl.col("ill").alias(called)), known, [called])
            promise = dc.KAnonymity(3) & dc.FrequencyDiversity("3/2")
            made.append((dc.publish(data, dc.Generalization(promise)), data))
        (earlier, _), (release, data) = made
        found = [c.to_dict() for c in dc.audit(release, data, earlier=[earlier]).composed]
        return [{k: v for k, v in one.items() if k != "attribute"} for one in found]

    assert tell(name) == tell("ill") != []
