"""Apriori: what is published of sets of items keeps its promise, and answers within its bounds.

What is checked is read from the files by Polars, and counted over all subsets: nothing here knows
how labels were chosen, or how the auditor counts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import discreet as dc
from discreet.forms.asking import show_sql
from discreet.release import Release
from discreet.table.schema import Attribute, Role, Schema, Type

TREE = dc.Taxonomy.from_paths(
    [["ale", "drink", "*"], ["rum", "drink", "*"], ["wine", "drink", "*"], ["brie", "milk", "*"],
     ["curd", "milk", "*"], ["tofu", "tofu", "*"]]
)  # fmt: skip
LEAVES = TREE.leaves
Sets = list[frozenset[str]]
TABLES = st.lists(st.frozensets(st.sampled_from(LEAVES), max_size=4), min_size=4, max_size=14)
RHO = dc.RhoUncertainty("2/3", ["wine", "curd"])
PROMISES = [
    dc.KMAnonymity(2, 1), dc.KMAnonymity(2, 3), dc.KMAnonymity(3, 2), RHO,
    dc.RhoUncertainty("1/2"), dc.KMAnonymity(2, 2) & RHO,
    dc.KMAnonymity(4, 1) & dc.KMAnonymity(2, 4),
]  # fmt: skip


def read(sets: Sets, tree: dc.Taxonomy | None = None) -> dc.Microdata:
    attribute = Attribute("items", Role.SENSITIVE, Type.SET, taxonomy=tree)
    frame = pl.DataFrame({"items": [sorted(items) for items in sets]},
                         schema={"items": pl.List(pl.String)})  # fmt: skip
    return dc.read(frame, Schema((attribute,)))


class Published:
    """What a stranger reads in the tables of a release."""

    def __init__(self, tables: Mapping[str, pl.DataFrame], suppressed: object) -> None:
        cells = tables["transactions"]["items"].to_list()
        self.sets = [frozenset(c.split("|")) if c != "(empty)" else frozenset() for c in cells]
        self.labels: dict[str, frozenset[str]] = {}
        for label, item in tables["items_of_labels"].rows() if "items_of_labels" in tables else ():
            self.labels[label] = self.labels.get(label, frozenset()) | {item}
        self.suppressed = suppressed

    @classmethod
    def of(cls, release: Release) -> Published:
        return cls(release.tables, release.parameters["items_left_out"])

    @classmethod
    def read(cls, folder: Path) -> Published:
        told = json.loads((folder / "datapackage.json").read_text(encoding="utf-8"))
        tables = {path.stem: pl.read_parquet(path) for path in folder.glob("*.parquet")}
        return cls(tables, told["discreet"]["parameters"]["items_left_out"])

    def show(self, items: frozenset[str]) -> frozenset[str]:
        """Recode what somebody has, or is known to have."""
        label_of = {item: label for label, held in self.labels.items() for item in held}
        shown = frozenset[str]().union(*self.sets)
        return frozenset(label_of.get(item, item) for item in items) & shown


def hold_against(published: Published, sets: Sets, promise: dc.Principle) -> None:
    """Nobody who knows any own items of a person learns more than was promised."""
    people = len(sets)
    for part in promise.parts:
        if isinstance(part, dc.KMAnonymity):
            for items in sets:
                for size in range(part.m + 1):
                    for known in combinations(items, size):
                        seen = published.show(frozenset(known))
                        assert sum(seen <= other for other in published.sets) >= part.k
            continue
        assert isinstance(part, dc.RhoUncertainty)
        shown = frozenset[str]().union(*published.sets)
        secret = set(LEAVES if part.sensitive is None else part.sensitive)
        for label in shown & set(published.labels):
            assert not published.labels[label] & secret
        for items in published.sets:
            for size in range(len(items) + 1):
                for known in combinations(items, size):
                    fit = [other for other in published.sets if other >= set(known)]
                    for item in secret - set(known):
                        share = Fraction(sum(item in other for other in fit), len(fit))
                        assert share < Fraction(str(part.rho))
    assert people == len(published.sets)


def publish_any(draw: st.DrawFn) -> tuple[Sets, dc.Principle, dc.Microdata, Release]:
    """Publish some sets, with or without a taxonomy; all items of a promise are somebody's."""
    sets, promise = [*draw(TABLES), frozenset({"wine", "curd"})], draw(st.sampled_from(PROMISES))
    data = read(sets, draw(st.sampled_from([None, TREE])))
    return sets, promise, data, dc.publish(data, dc.Apriori(promise))


@settings(max_examples=100, deadline=None)
@given(made=st.composite(publish_any)())
def test_what_is_published_keeps_the_promise_against_all_subsets(
    made: tuple[Sets, dc.Principle, dc.Microdata, Release],
) -> None:
    sets, promise, _, release = made
    published = Published.of(release)
    hold_against(published, sets, promise)
    recoded = [published.show(items) for items in sets]
    assert Counter(recoded) == Counter(published.sets)
    told = frozenset[str]().union(*published.sets, *published.labels.values())
    assert published.suppressed == len(frozenset[str]().union(*sets) - told)


@settings(max_examples=6, deadline=None)
@given(made=st.composite(publish_any)())
def test_the_audit_reads_the_same_from_the_files(
    made: tuple[Sets, dc.Principle, dc.Microdata, Release],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    sets, promise, data, release = made
    folder = release.write(tmp_path_factory.mktemp("sets") / "r")
    hold_against(Published.read(folder), sets, promise)
    report = dc.audit(folder, data)
    assert report.problems == [] and "knows none of its items" in report.notes[0]
    again = dc.publish(data.taken(np.arange(data.n)[::-1]), dc.Apriori(promise))
    assert all(again.tables[title].equals(table) for title, table in release.tables.items())


@pytest.mark.parametrize(
    ("broken", "kept"),
    [
        (dc.KMAnonymity(9, 2), dc.KMAnonymity(8, 9)),
        (dc.RhoUncertainty("2/5", ["tofu"]), dc.RhoUncertainty("0.4001", ["tofu"])),
        (dc.RhoUncertainty("9/10"), dc.RhoUncertainty("2/5", ["nobody's"])),
    ],
    ids=str,
)
def test_the_audit_counts_promises_that_are_broken(
    broken: dc.Principle, kept: dc.Principle
) -> None:
    """Exactly: of 20 people with drinks 8 have tofu."""
    data, release = publish_some()
    published = Published.of(release)
    hold_against(published, published.sets, kept)
    with pytest.raises(AssertionError):
        hold_against(published, published.sets, broken)
    assert dc.audit(release, data, principle=kept).kept
    report = dc.audit(release, data, principle=broken)
    assert (report.kept, report.breaches) == (False, data.n)  # all people are one group


@pytest.mark.parametrize("promise", [dc.KMAnonymity(2, 1), dc.KMAnonymity(2, 2), RHO], ids=str)
def test_the_audit_finds_as_few_candidates_as_whoever_knows_items(promise: dc.Principle) -> None:
    """Up to m of them, or all where the promise says nothing of how many are known."""
    data, _ = publish_some()
    release = dc.publish(data, dc.Apriori(promise))
    published = Published.of(release)
    most = promise.m if isinstance(promise, dc.KMAnonymity) else 9
    expected = []
    for code in data.codes["items"]:
        items = published.show(frozenset(data.domains["items"].item_sets[code]))
        expected.append(min(
            sum(other.issuperset(known) for other in published.sets)
            for size in range(min(most, len(items)) + 1) for known in combinations(items, size)
        ))  # fmt: skip
    report = dc.audit(release, data)
    assert report.candidates.tolist() == expected
    assert f"at least {min(expected)} who have them" in report.crowd


def test_items_of_a_kind_become_the_kind_where_that_is_least_lost() -> None:
    """Two kinds of two items: pairs of the first kind with others are rare, its kind is not."""
    tree = dc.Taxonomy.from_paths([[f"{kind}{i}", kind, "*"] for kind in "AB" for i in (1, 2)])
    sets = [{"A1", "B1", "B2"}, {"A2", "B1"}, {"A2", "B1", "B2"}, {"A1", "A2", "B2"}]
    data = read(list(map(frozenset, sets)), tree)
    release = dc.publish(data, dc.Apriori(dc.KMAnonymity(2, 2)))
    shown = release.tables["transactions"]["items"].to_list()
    assert shown == ["A|B1", "A|B1|B2", "A|B1|B2", "A|B2"]
    assert release.tables["items_of_labels"].rows() == [("A", "A1"), ("A", "A2")]
    assert release.parameters == {"items_left_out": 0}


def test_an_item_that_tells_a_sensitive_one_is_left_out_for_all() -> None:
    rows = [{"wine", "curd"}] * 3 + [{"wine"}] * 4 + [{"rum", "curd"}] + [{"ale"}] * 4
    release = dc.publish(read(list(map(frozenset, rows))), dc.Apriori(
        dc.RhoUncertainty("1/2", ["curd"])))  # fmt: skip
    shown = Counter(release.tables["transactions"]["items"].to_list())
    assert shown == {"curd|wine": 3, "wine": 4, "curd": 1, "ale": 4}
    assert release.parameters == {"items_left_out": 1}


ASKED = {
    "contains(items, 'wine')": lambda s: "wine" in s,
    "NOT contains(items, 'wine')": lambda s: "wine" not in s,
    "list_contains(items, 'ale') AND contains(items, 'rum')": lambda s: {"ale", "rum"} <= s,
    "contains(items, 'ale') OR contains(items, 'rum') OR contains(items, 'wine')":
        lambda s: bool(s & {"ale", "rum", "wine"}),
    "contains(items, 'curd') AND NOT (contains(items, 'brie') OR contains(items, 'ale'))":
        lambda s: "curd" in s and not s & {"brie", "ale"},
}  # fmt: skip


def list_worlds(published: Published, shown: frozenset[str]) -> Iterator[frozenset[str]]:
    """List the sets of items that somebody may have who shows some labels."""
    choices = []
    for label in shown:
        items = sorted(published.labels.get(label, {label}))
        choices.append([frozenset(some) for size in range(1, len(items) + 1)
                        for some in combinations(items, size)])  # fmt: skip
    for choice in product(*choices):
        yield frozenset[str]().union(*choice)


@settings(max_examples=10, deadline=None)
@given(sets=TABLES, k=st.integers(2, 5))
def test_answers_lie_between_what_all_worlds_say(sets: Sets, k: int) -> None:
    """And the bounds are those of some world each, so none are narrower."""
    release = dc.publish(read(sets, TREE), dc.Apriori(dc.KMAnonymity(min(k, len(sets)), 2)))
    published = Published.of(release)
    told = frozenset[str]().union(*published.sets, *published.labels.values())
    with release.prepare() as prepared:
        for condition, holds in ASKED.items():
            asked = f"SELECT COUNT(*) FROM release WHERE {condition}"
            named = {item for item in LEAVES if f"'{item}'" in condition}
            if published.suppressed and named - told:
                with pytest.raises(dc.DiscreetError, match="Nothing is told of the item"):
                    prepared.query(asked)
                continue
            answer = prepared.query(asked)
            verdicts = [{holds(world) for world in list_worlds(published, shown)}
                        for shown in published.sets]  # fmt: skip
            assert answer.low == sum(False not in verdict for verdict in verdicts)
            assert answer.high == sum(True in verdict for verdict in verdicts)
            assert answer.low <= sum(map(holds, sets)) <= answer.high
            assert answer.estimate is not None
            assert answer.low - 1e-9 <= answer.estimate <= answer.high + 1e-9


@cache
def publish_some() -> tuple[dc.Microdata, Release]:
    rows = [{"ale", "brie"}, {"rum", "brie"}, {"wine"}, {"wine", "tofu"}, {"ale", "tofu"}] * 4
    data = read([frozenset(row) for row in [*rows, {"curd"}, set()]], TREE)
    return data, dc.publish(data, dc.Apriori(dc.KMAnonymity(5, 2)))


def test_a_label_is_asked_for_as_an_item_and_shares_its_people_among_its_items() -> None:
    data, release = publish_some()
    assert "drink" in release.tables["items_of_labels"]["label"]
    whole = release.query("SELECT COUNT(*) FROM release")
    assert (whole.low, whole.estimate, whole.high) == (data.n, data.n, data.n)
    label = release.query("SELECT COUNT(*) AS n FROM release WHERE contains(items, 'drink')")
    assert (label.low, label.estimate, label.high, label.stderr) == (20, 20, 20, 0)
    ale = release.query("SELECT COUNT(*) FROM release WHERE contains(items, 'ale')")
    assert ale.low == 0 and ale.high == 20
    assert ale.estimate == pytest.approx(20 / 3)
    share = release.query(
        "SELECT 100 * (SELECT COUNT(*) FROM release WHERE contains(items, 'ale')) / COUNT(*) AS s "
        "FROM release"
    )
    assert share.estimate == pytest.approx(100 * 20 / 3 / 22)
    assert "possible" in show_sql(release, "SELECT COUNT(*) FROM release", "postgres")


def test_postgresql_gives_what_duckdb_gives(postgres: str) -> None:
    _, release = publish_some()
    with release.prepare() as here, release.prepare(engine=postgres) as there:
        for condition in ASKED:
            asked = f"SELECT COUNT(*) AS n FROM release WHERE {condition}"
            assert_frame_equal(there.query(asked).frame, here.query(asked).frame)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT items, COUNT(*) FROM release GROUP BY items",
        "SELECT COUNT(*) FROM release WHERE items = 'ale'",
        "SELECT COUNT(*) FROM release WHERE contains(items, 'a' || 'le')",
        "SELECT COUNT(*) FROM release WHERE length(items) > 3",
        "SELECT COUNT(items) FROM release",
        "SELECT MAX(items) FROM release",
    ],
)
def test_what_cannot_be_asked_of_sets_says_what_can(sql: str) -> None:
    with pytest.raises(dc.DiscreetError) as caught:
        publish_some()[1].query(sql)
    assert caught.value.hint


def test_what_deals_with_single_values_refuses_sets_in_a_sentence() -> None:
    data, release = publish_some()
    for method in (dc.Generalization(dc.KMAnonymity(2, 2)), dc.Anatomy(dc.FrequencyDiversity(2))):
        with pytest.raises(dc.errors.SchemaError, match="is a set of items") as caught:
            dc.publish(data, method)
        assert "apriori" in str(caught.value.hint)
    with pytest.raises(dc.errors.SchemaError, match="publishes one column of sets"):
        dc.publish(dc.datasets.census(50, sensitive=["income"]), dc.Apriori(dc.KMAnonymity(2, 2)))
    with pytest.raises(dc.errors.SchemaError, match="promises k"):
        dc.Apriori(dc.KAnonymity(2))
    with pytest.raises(dc.errors.SchemaError, match="Nobody has the item 'vine'"):
        dc.publish(data, dc.Apriori(dc.RhoUncertainty("1/2", ["vine"])))
    with pytest.raises(dc.errors.PromiseError, match="the table has 22 rows"):
        dc.publish(data, dc.Apriori(dc.KMAnonymity(23, 1)))
    for call in (release.impute, lambda: release.reconstruct(["items"]),
                 lambda: release.crosstab("items", "items")):  # fmt: skip
        with pytest.raises(dc.DiscreetError):
            call()
    assert release.sample(5, seed=1).columns == ["items"]


def test_a_release_that_was_changed_is_told(tmp_path: Path) -> None:
    """A set that is another's, an item that is left out of one only, a label that is not told."""
    data, release = publish_some()
    folder = release.write(tmp_path / "r")
    assert dc.audit(folder, data).kept
    loaded = dc.load(folder)
    table = loaded.tables["transactions"]["items"].to_list()
    place = next(i for i, text in enumerate(table) if "|" in text)
    for changed in ([*table[:place], table[place].split("|")[0], *table[place + 1 :]], table[1:]):
        frame = pl.DataFrame({"items": changed})
        wrong = replace(loaded, tables={**loaded.tables, "transactions": frame})
        assert dc.audit(wrong, data).findings
    less = replace(loaded, parameters={"items_left_out": 7})
    assert any("7 items are left out" in text for text in dc.audit(less, data).findings)
    for labels in ([("drink", "ale"), ("milk", "ale")], [("nothing", "ale")], [("drink", "tofu")]):
        frame = pl.DataFrame(labels, schema=["label", "item"], orient="row")
        odd = replace(loaded, tables={**loaded.tables, "items_of_labels": frame})
        with pytest.raises(dc.errors.StoreError):
            _ = odd.views
