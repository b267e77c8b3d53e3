"""Wang and Fung, KDD 2006: (X,Y)-privacy of the join of a new release with earlier ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
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
from discreet.auditing.links import list_x_groups
from discreet.publishing.methods.lossy_join import read_history
from discreet.publishing.methods.x_groups import Link
from discreet.release import Transformation
from samples import microdata

T1 = pl.DataFrame(
    {
        "name": ["Alice", "Alice", "Bob", "Bob", "Cathy"],
        "job": ["Banker", "Banker", "Clerk", "Driver", "Engineer"],
        "kind": ["c1", "c1", "c2", "c3", "c4"],
    }
)
T2 = pl.DataFrame(
    {
        "job": ["Banker", "Banker", "Clerk", "Driver", "Engineer"],
        "disease": ["Cancer", "Cancer", "HIV", "Cancer", "HIV"],
    }
)


def as_it_is(frame: pl.DataFrame, known: list[str], sensitive: list[str]) -> dc.Release:
    return dc.publish(microdata(frame, known, sensitive), dc.Generalization(dc.KAnonymity(1)))


def values_of(release: dc.Release, row: dict[str, Any], name: str) -> set[Any]:
    """What a row's cell may be, read by hand."""
    recoding = release.recodings[name]
    if recoding.transformation is Transformation.SET:
        return set(recoding.labels[row[name]])
    if recoding.transformation is Transformation.INTERVAL:
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        return {str(v) for v in range(low, high + 1)}
    return {str(row[name])}


def materialise(*releases: dc.Release) -> list[list[dict[str, Any]]]:
    """All tuples of rows that match: every common attribute may be the same value."""
    tables = [release.tables["generalized"].to_dicts() for release in releases]
    found = []
    for rows in product(*tables):
        good = True
        for i, one in enumerate(releases):
            for j in range(i + 1, len(releases)):
                for name in set(one.schema.names) & set(releases[j].schema.names):
                    ours, theirs = (
                        values_of(one, rows[i], name),
                        values_of(releases[j], rows[j], name),
                    )
                    if release_is_interval(one, name) or release_is_interval(releases[j], name):
                        a, b = [int(v) for v in ours], [int(v) for v in theirs]
                        good &= min(a) <= max(b) and min(b) <= max(a)
                    else:
                        good &= bool(ours & theirs)
        if good:
            found.append(list(rows))
    return found


def release_is_interval(release: dc.Release, name: str) -> bool:
    return release.recodings[name].transformation is Transformation.INTERVAL


def group_by_hand(
    part: dc.XYAnonymity | dc.XYLinkability, *releases: dc.Release
) -> dict[tuple[Any, ...], Counter[Any]]:
    """The X-groups of the materialised join, each with its values of Y."""
    groups: dict[tuple[Any, ...], Counter[Any]] = defaultdict(Counter)
    seen: dict[tuple[Any, ...], set[int]] = defaultdict(set)
    names = [set(release.schema.names) for release in releases]
    for rows in materialise(*releases):
        x = tuple(
            tuple(rows[i].get(c) for c in release.recodings[n].columns(n))
            for i, release in enumerate(releases)
            for n in part.x
            if n in names[i]
        )
        if part.y == "people":
            if id(rows[0]) not in seen[x]:
                seen[x].add(id(rows[0]))
                groups[x]["people"] += 1
        elif part.y == "pairs":
            groups[x]["pairs"] += 1
        else:
            told = [next(i for i, there in enumerate(names) if n in there) for n in part.y]
            groups[x][tuple(rows[i][n] for i, n in zip(told, part.y, strict=True))] += 1
    return groups


def holds(part: dc.XYAnonymity | dc.XYLinkability, *releases: dc.Release) -> bool:
    for bag in group_by_hand(part, *releases).values():
        if isinstance(part, dc.XYAnonymity):
            if (sum(bag.values()) if isinstance(part.y, str) else len(bag)) < part.k:
                return False
        elif Fraction(max(bag.values()), sum(bag.values())) > Fraction(str(part.k)):
            return False
    return True


def test_the_join_of_table_1() -> None:
    old = as_it_is(T2, ["job"], ["disease"])
    new = as_it_is(T1, ["name", "job"], ["kind"])
    assert len(materialise(new, old)) == 7
    rows = dc.XYAnonymity(x=["name", "disease"], y="pairs", k=2)
    by_hand = group_by_hand(rows, new, old)
    assert sorted(sum(bag.values()) for bag in by_hand.values()) == [1, 1, 1, 4]
    (classes,) = read(new)
    groups, _, lost = list_x_groups(new, new.tables["generalized"], classes.labels, [old], rows)
    assert groups is not None and lost == [0, 0]
    assert sorted(groups.sizes) == [1, 1, 1, 4]  # {Bob, HIV} has one, {Alice, Cancer} four
    linked = dc.XYLinkability(x=["name"], y=["disease"], k=1)
    alice = group_by_hand(linked, new, old)[(("Alice",),)]
    assert alice == {("Cancer",): 4}  # with 100 %


def test_a_join_of_more_rows_than_can_be_counted_is_refused() -> None:
    old = as_it_is(T2, ["job"], ["disease"])
    new = as_it_is(T1, ["name", "job"], ["kind"])
    (classes,) = read(new)
    table = new.tables["generalized"]
    many = pl.Series([2**60] * table.height)
    rows = dc.XYAnonymity(x=["name", "disease"], y="pairs", k=2)
    with pytest.raises(dc.errors.SchemaError, match="more rows than can be counted"):
        list_x_groups(new, table, classes.labels, [old], rows, many)


def read(release: dc.Release) -> Any:

    return release.views


def test_example_3() -> None:
    bag = dc.Groups.of([["HIV"] * 9 + ["Diabetes"]])
    asked = {"x": ["job", "zip", "birthplace"], "y": ["test"]}
    assert dc.XYLinkability(**asked, k="9/10").admits(bag).all()  # type: ignore[arg-type]
    assert not dc.XYLinkability(**asked, k="0.89").admits(bag).any()  # type: ignore[arg-type]


def test_a_row_that_matches_nobody_lets_anonymity_rise() -> None:
    """Section 4: {c1 d3, c2 d} and {d3 y3, d3 y2, d1 y1}, where d is d1 or d2."""
    old = as_it_is(pl.DataFrame({"D": ["d3", "d3", "d1"], "Y": ["y3", "y2", "y1"]}), ["D"], ["Y"])
    new = as_it_is(pl.DataFrame({"C": ["c1", "c2"], "D": ["d3", "d2"]}), ["C", "D"], [])
    labels = {"d3": ["d3"], "d": ["d1", "d2"], "d2": ["d2"]}
    recodings = {**new.recodings, "D": replace(new.recodings["D"], labels=labels)}
    part = dc.XYAnonymity(x=["C", "D"], y=["Y"], k=1)
    found = []
    for label in ("d", "d2"):
        cells = pl.Series("D", ["d3", label])
        table = new.tables["generalized"].sort("C").with_columns(cells)
        shown = replace(new, recodings=recodings, tables={"generalized": table})
        groups, _, lost = list_x_groups(shown, table, np.arange(2), [old], part)
        assert groups is not None and lost == ([0, 0] if label == "d" else [1, 1])
        by_hand = group_by_hand(part, shown, old)
        assert sorted(map(len, by_hand.values())) == sorted(groups.distinct)
        found.append((len(materialise(shown, old)), int(groups.distinct.min())))
    assert found == [(3, 1), (2, 2)]
    data = microdata(pl.DataFrame({"C": ["c1", "c2"], "D": ["d3", "d2"]}), ["C", "D"], [])
    with pytest.raises(dc.errors.PromiseError, match="1 people here match nobody"):
        dc.publish(data, dc.Sequential(principles=[part], earlier=[old]))


def test_rows_of_a_join_may_become_more_by_specializing() -> None:
    """The two-sided counterexample: D: ANY → {0,1}, {2,3} with Y = {K1, K2}."""
    data = microdata(pl.DataFrame({"C": list("pqpp"), "D": list("3113")}), ["C", "D"], [])
    old = as_it_is(pl.DataFrame({"D": list("3113"), "E": list("vuuu")}), ["D"], ["E"])
    part = dc.XYAnonymity(x=["C", "D", "E"], y="pairs", k=2)
    link = Link(part, data, read_history([old], data, [*part.x], []), ("C", "D"))
    codes = np.stack([data.codes["C"], data.codes["D"]], axis=1).astype(np.int64)
    general = codes.copy()
    general[:, 1] = 0
    top = codes.copy()
    top[:, 1] = 1
    assert link.list_groups(general, top).sizes.min() == 1
    assert link.list_groups(codes, codes).sizes.min() == 2
    release = dc.publish(data, dc.Sequential(principles=[part], earlier=[old]))
    assert holds(part, release, old)


JOBS = dc.Taxonomy.from_paths(
    [["a", "ab"], ["b", "ab"], ["c", "cde"], ["d", "cde"], ["e", "cde"]]
)  # fmt: skip
PARTS = [
    {"x": ["job", "age"], "y": "people"},
    {"x": ["job", "age", "zip"], "y": "people"},
    {"x": ["job", "age", "zip"], "y": "pairs"},
    {"x": ["age"], "y": "people"},
    {"x": ["age", "zip"], "y": "people"},
    {"x": ["job", "age"], "y": ["pay"]},
    {"x": ["age", "zip"], "y": ["pay"]},
    {"x": ["job", "age"], "y": ["disease"]},
    {"x": ["age"], "y": ["disease"]},
    {"x": ["job", "age", "zip"], "y": ["pay", "disease"]},
    {"x": ["age"], "y": ["job"]},
    {"x": ["age", "zip"], "y": ["job"]},
]


def population(seed: int, n: int, k: int) -> tuple[dc.Microdata, list[dc.Release]]:
    """A new table of job, age and pay; earlier ones of job, zip and disease, and of zip and age."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "job": rng.choice(list("abcde"), n), "age": rng.integers(20, 26, n),
            "zip": rng.integers(0, 3, n), "disease": rng.choice(["flu", "hiv", "ulcer"], n),
            "pay": rng.choice(["low", "high"], n),
        }
    )  # fmt: skip
    schema = dc.Schema.infer(frame.select("job", "age", "pay"), quasi_identifiers=["job", "age"],
                             sensitive=["pay"])  # fmt: skip
    schema = schema.changed(replace(schema["job"], taxonomy=JOBS))
    data = dc.read(frame.select("job", "age", "pay"), schema)
    method = dc.Generalization(dc.KAnonymity(k))
    one = microdata(frame.select("job", "zip", "disease"), ["job", "zip"], ["disease"])
    two = microdata(frame.select("zip", "age"), ["zip", "age"], [])
    return data, [dc.publish(one, method), dc.publish(two, method)]


@pytest.mark.parametrize("asked", PARTS, ids=str)
@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10**6), n=st.integers(4, 9), k=st.integers(1, 3),
    several=st.booleans(), gain=st.sampled_from(["distortion", "discernibility", "entropy"]),
)  # fmt: skip
def test_counts_are_those_of_a_materialised_join_and_nothing_more_is_valid(
    asked: dict[str, Any], seed: int, n: int, k: int, several: bool, gain: str
) -> None:
    data, earlier = population(seed, n, k)
    earlier = earlier if several else earlier[:1]
    parts: list[Any] = [dc.XYAnonymity(**asked, k=2)]
    if not isinstance(asked["y"], str):
        parts.append(dc.XYLinkability(**asked, k="3/4"))
    for part in parts:
        method = dc.Sequential(
            principles=[part], earlier=earlier, gain=gain,  # type: ignore[arg-type]
            target="pay" if gain == "entropy" else None,
        )  # fmt: skip
        try:
            release = dc.publish(data, method)
        except dc.errors.PromiseError:
            continue
        by_hand = group_by_hand(part, release, *earlier)
        (classes,) = read(release)
        groups, _, lost = list_x_groups(
            release, release.tables["generalized"], classes.labels, earlier, part
        )
        assert groups is not None and not any(lost)
        count = isinstance(part.y, str)
        assert sorted(groups.sizes) == sorted(sum(bag.values()) for bag in by_hand.values())
        assert count or sorted(groups.distinct) == sorted(map(len, by_hand.values()))
        assert holds(part, release, *earlier)
        report = dc.audit(release, data, earlier=earlier)
        assert report.problems == []
        _try_further(method, data, earlier, part, by_hand)


def _try_further(
    method: dc.Sequential, data: dc.Microdata, earlier: list[dc.Release], part: Any, by_hand: Any
) -> None:
    found = method.specialize(data)
    names = [n for n in data.quasi_identifiers if n in part.x]
    needed = [*part.x, *(() if isinstance(part.y, str) else part.y)]
    link = Link(part, data, read_history(earlier, data, needed, []), tuple(names))
    hierarchies = found.hierarchies
    low, high = np.array(hierarchies.low), np.array(hierarchies.high)
    groups = link.list_groups(low[found.nodes], high[found.nodes])
    assert sorted(groups.sizes) == sorted(sum(bag.values()) for bag in by_hand.values())
    for a in range(len(names)):
        for node in np.unique(found.nodes[:, a]):
            if not hierarchies.count[node]:
                continue
            children = range(
                hierarchies.first[node], hierarchies.first[node] + hierarchies.count[node]
            )
            stepped = found.nodes.copy()
            for row in np.flatnonzero(stepped[:, a] == node):
                code = data.codes[names[a]][row]
                stepped[row, a] = next(c for c in children if low[c] <= code <= high[c])
            further = link.list_groups(low[stepped], high[stepped])
            assert not part.admits(further).all()


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(5, 30), k=st.integers(1, 4))
def test_people_and_all_that_is_shared_in_x_is_k_anonymity(seed: int, n: int, k: int) -> None:
    data, earlier = population(seed, n, 1)
    tables = []
    for part in (dc.XYAnonymity(x=["job", "age", "zip"], y="people", k=k), dc.KAnonymity(k)):
        method = dc.Sequential(principles=[part], earlier=earlier[:1])
        tables.append(dc.publish(data, method).tables["generalized"])
    assert tables[0].equals(tables[1])


def test_values_with_thresholds_of_their_own() -> None:
    data, earlier = population(5, 40, 1)
    part = dc.XYLinkability(x=["job", "age"], y=["pay"], k=1, values={"high": "0.6"})
    release = dc.publish(data, dc.Sequential(principles=[part], earlier=earlier[:1]))
    for bag in group_by_hand(part, release, earlier[0]).values():
        assert 10 * bag[("high",)] <= 6 * sum(bag.values())
    loose = dc.XYLinkability(x=["job", "age"], y=["pay"], k="0.6", values=["low"])
    assert dc.publish(data, dc.Sequential(principles=[loose], earlier=earlier[:1]))


def test_values_that_cannot_be_one_persons_do_not_match() -> None:
    frame = pl.DataFrame({"sex": ["m", "m", "f", "f"], "age": [30, 31, 30, 31]})
    data = microdata(frame, ["sex", "age"], [])
    old = as_it_is(pl.DataFrame({"pregnant": ["no", "no", "no", "yes"]}), ["pregnant"], [])
    part = dc.XYAnonymity(x=["sex", "pregnant"], y="people", k=2)
    rule = ("sex", ["m"], "pregnant", ["true"])
    free = dc.publish(data, dc.Sequential(principles=[part], earlier=[old]))
    bound = dc.publish(data, dc.Sequential(principles=[part], earlier=[old], inconsistent=[rule]))
    for release, groups in ((free, 4), (bound, 3)):
        (classes,) = read(release)
        found, _, _ = list_x_groups(
            release, release.tables["generalized"], classes.labels, [old], part
        )
        assert found is not None and found.count == groups
    for wrong in (("sex", ["x"], "pregnant", ["true"]), ("sex", ["m"], "pregnant", ["yes"])):
        with pytest.raises(dc.errors.SchemaError, match="has no value"):
            dc.publish(data, dc.Sequential(principles=[part], earlier=[old], inconsistent=[wrong]))


def test_earlier_releases_stay_as_they_are_and_the_audit_asks_for_them(tmp_path: Path) -> None:
    data, earlier = population(7, 30, 2)
    folders = [release.write(tmp_path / f"old {i}") for i, release in enumerate(earlier)]
    before = {f: f.read_bytes() for folder in folders for f in folder.iterdir()}
    part = dc.XYAnonymity(x=["job", "age", "zip"], y="people", k=3)
    method = dc.Sequential(principles=[part], earlier=folders, target="pay")
    folder = dc.publish(data, method).write(tmp_path / "new")
    assert {f: f.read_bytes() for d in folders for f in d.iterdir()} == before
    assert str(tmp_path) not in (folder / "datapackage.json").read_text(encoding="utf-8")
    report = dc.audit(folder, data, earlier=folders)
    assert report.problems == []
    with pytest.raises(dc.DiscreetError, match="earlier releases are needed"):
        dc.audit(folder, data)
    release = dc.load(folder)
    told = release.query("SELECT COUNT(*) FROM release WHERE age < 23")
    truth = int((data.to_polars()["age"] < 23).sum())
    assert told.low is not None and told.high is not None and told.low <= truth <= told.high
    finer = dc.publish(data, dc.Generalization(dc.KAnonymity(1)))
    broken = replace(finer, promise=release.promise, method="sequential",
                     parameters=release.parameters)  # fmt: skip
    assert dc.audit(broken, data, earlier=folders).breaches > 0


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: dc.XYAnonymity(x=[], y="people", k=2), "x = "),
        (lambda: dc.XYAnonymity(x=["a"], y="rows", k=2), "y = 'rows'"),
        (lambda: dc.XYAnonymity(x=["a"], y=["a"], k=2), "both have 'a'"),
        (lambda: dc.XYLinkability(x=["a"], y="people", k=1), "counted by xy-anonymity"),
        (lambda: dc.XYLinkability(x=["a"], y=["b", "c"], k=1, values=["v"]), "several attributes"),
        (lambda: dc.XYLinkability(x=["a"], y=["b"], k=2), "k = 2"),
        (dc.Sequential, "needs a principle"),
        (lambda: dc.Sequential(dc.XYAnonymity(x=["a"], y="people", k=2)), "no earlier release"),
        (lambda: dc.Sequential(principles=[dc.TCloseness(0.2)]), "not about joins"),
        (lambda: dc.Sequential(principles=[dc.KAnonymity(2)], gain="entropy"), "needs a target"),
        (lambda: dc.Sequential(principles=[dc.KAnonymity(2)], gain="x"), "gain = 'x'"),
    ],
)  # fmt: skip
def test_bad_parameters_are_refused(make: Any, reason: str) -> None:
    with pytest.raises(dc.errors.SchemaError, match=reason):
        make()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"principles": [dc.XYAnonymity(x=["jobb"], y="people", k=2)]}, "x: 'jobb' is not in"),
        ({"principles": [dc.XYAnonymity(x=["pay"], y="people", k=2)]}, "published unchanged"),
        ({"principles": [dc.XYAnonymity(x=["job"], y=["age"], k=2), dc.KAnonymity(2)]}, "may be"),
        ({"principles": [dc.XYAnonymity(x=["zip"], y="people", k=2)]}, "no quasi-identifier of"),
        (
            {"principles": [dc.XYLinkability(x=["job"], y=["disease"], k=1, values=["HIV"])]},
            "values: 'disease' has no value 'HIV'",
        ),
        (
            {"inconsistent": [("age", ["20"], "disease", ["flu"])]},
            "'age' is published by intervals",
        ),
        ({"inconsistent": [("job", ["a"], "age", ["20"])]}, "'age' is not shown by values"),
        ({"target": "paid"}, "target: 'paid' is not in this table"),
        ({"target": "job"}, "target: 'job' is a quasi-identifier"),
        ({"principles": [dc.XYAnonymity(x=["job", "zip"], y=["disease"], k=4)]}, "cannot be kept"),
    ],
)
def test_what_cannot_be_asked_of_these_tables_is_refused(
    changes: dict[str, Any], reason: str
) -> None:
    data, earlier = population(7, 30, 1)
    usual = {"principles": [dc.XYAnonymity(x=["job"], y="people", k=2)], "earlier": earlier}
    with pytest.raises(dc.DiscreetError, match=reason):
        dc.publish(data, dc.Sequential(**{**usual, **changes}))
    with pytest.raises(dc.DiscreetError, match="joins with earlier releases"):
        dc.publish(data, dc.Generalization(usual["principles"][0]))  # type: ignore[index]
    permuted = dc.publish(dc.datasets.census(200, sensitive="income"), dc.Permutation(dc.KE(2, 2)))
    with pytest.raises(dc.DiscreetError, match="match nobody in the earlier releases"):
        dc.publish(data, dc.Sequential(**{**usual, "earlier": [permuted]}))


def test_the_steward_sees_the_cut_and_every_step(tmp_path: Path) -> None:
    data, earlier = population(3, 60, 1)
    part = dc.XYAnonymity(x=["job", "age"], y="people", k=5)
    method = dc.Sequential(principles=[part], earlier=earlier[:1], target="pay")
    how = method.explain(data)
    release = dc.publish(data, method)
    for name, branches in how.cuts.items():
        assert sum(branch.people for branch in branches if branch.shown) == data.n
        shown = {branch.label for branch in branches if branch.shown}
        assert shown <= {*release.tables["generalized"][name].cast(pl.String), "[20, 25]"}
    assert [step.attribute for step in how.steps] and all(len(step.into) for step in how.steps)
    page = dc.audit(release, data, earlier=earlier[:1]).to_html(tmp_path / "r.html", how)
    text = page.read_text(encoding="utf-8")
    assert "How it was generalized" in text and how.steps[0].label in text
    assert dc.Generalization(dc.KAnonymity(2)).explain(data) is None
    only = dc.XYAnonymity(x=["job"], y="people", k=5)
    exact = dc.publish(data, dc.Sequential(principles=[only], earlier=earlier[:1]))
    assert "age are published as they are" in exact.promise.leaves_open[0]


def test_y_of_two_earlier_releases_counts_once() -> None:
    """Thresholds hold, and a value that one of them blurs is no further one."""
    frame = pl.DataFrame(
        {"age": [1, 1, 1, 1, 2, 2, 2, 2], "zip": [5, 5, 6, 6, 5, 5, 6, 6],
         "ill": ["hiv"] * 3 + ["flu"] * 5}
    )  # fmt: skip
    one = as_it_is(frame.select("age", "ill"), ["age"], ["ill"])
    two = as_it_is(frame.select("zip", "ill"), ["zip"], ["ill"])
    data = microdata(frame.select("age", "zip"), ["age", "zip"], [])
    part = dc.XYLinkability(x=["age", "zip"], y=["ill"], k=1, values={"hiv": "1/2"})
    method = dc.Sequential(principles=[part], earlier=[one, two])
    try:
        release = dc.publish(data, method)
    except dc.errors.PromiseError:
        release = None
    assert release is None or dc.audit(release, data, earlier=[one, two]).problems == []
    blurred = dc.publish(
        microdata(frame.select("zip", "ill"), ["zip", "ill"], []),
        dc.Generalization(dc.KAnonymity(3)),
    )
    many = dc.XYAnonymity(x=["age"], y=["ill"], k=3)
    with pytest.raises(dc.errors.PromiseError, match="cannot be kept"):
        dc.publish(data, dc.Sequential(principles=[many], earlier=[one, blurred]))


def test_one_leaf_and_missing_values_are_told_apart() -> None:
    tree = dc.Taxonomy.from_paths([["a", "top"], ["b", "top"]])
    frame = pl.DataFrame({"job": ["a", "a", None, None, "a"], "pay": list("xyxyx")})
    schema = dc.Schema.infer(frame, quasi_identifiers=["job"], sensitive=["pay"])
    job = replace(schema["job"], taxonomy=tree, missing=dc.Missing.VALUE)
    data = dc.read(frame, schema.changed(job))
    release = dc.publish(data, dc.Sequential(dc.KAnonymity(2)))
    assert (
        sorted(release.tables["generalized"]["job"].cast(pl.String))
        == ["(missing)"] * 2 + ["a"] * 3
    )
    assert dc.audit(release, data).problems == []


def test_releases_of_other_people_or_other_types_are_seen() -> None:
    data, earlier = population(7, 30, 1)
    part = dc.XYAnonymity(x=["job", "age"], y="people", k=2)
    release = dc.publish(data, dc.Sequential(principles=[part], earlier=earlier[0]))
    assert dc.audit(release, data, earlier=earlier[:1]).problems == []
    few = as_it_is(pl.DataFrame({"job": ["a", "b"]}), ["job"], [])
    assert "match nobody" in " ".join(dc.audit(release, data, earlier=[few]).problems)
    stranger = as_it_is(pl.DataFrame({"job": ["z", "y"]}), ["job"], [])
    assert "match nobody" in " ".join(dc.audit(release, data, earlier=[stranger]).problems)
    numbers = as_it_is(pl.DataFrame({"job": [1, 2]}), ["job"], [])
    for ask in (
        lambda: dc.audit(release, data, earlier=[numbers]),
        lambda: dc.publish(data, dc.Sequential(principles=[part], earlier=[numbers])),
    ):
        with pytest.raises(dc.errors.SchemaError, match=r"'job' is .* in one table and"):
            ask()
    asked = dc.XYAnonymity(x=["job", "height"], y="people", k=2)
    with pytest.raises(dc.errors.SchemaError, match="none of the releases given has 'height'"):
        dc.audit(release, data, principle=asked, earlier=earlier)
    with pytest.raises(dc.errors.PromiseError, match="k ≤ 30"):
        dc.publish(data, dc.Sequential(principles=[dc.KAnonymity(40)], earlier=earlier))
