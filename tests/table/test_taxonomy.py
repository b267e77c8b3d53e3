"""Taxonomies: from files or rules, linted before use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import discreet as dc
from discreet.table.taxonomy import Taxonomy

PATHS = [["flu", "lung", "*"], ["asthma", "lung", "*"], ["ulcer", "stomach", "*"]]


@pytest.mark.parametrize("separator", [";", ","])
def test_arx_hierarchies_are_read(tmp_path: Path, separator: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("\n".join(separator.join(p) for p in PATHS) + "\n\n", encoding="utf-8")
    tree = Taxonomy.read(path)
    assert tree.to_paths() == PATHS
    assert tree.cover([0, 1]) == "lung"
    assert tree.cover([1, 2]) is None
    assert tree.ancestor(0, 2).name == "*"
    assert tree.height == 2


@pytest.mark.parametrize(("name", "below"), [("parent", "leaves"), ("name", "children")])
def test_json_trees_are_read_also_with_leaves_at_different_depths(
    tmp_path: Path, name: str, below: str
) -> None:
    tree = {
        name: "any",
        below: [
            {name: "a", below: []},
            {name: "bc", below: [{name: "b", below: []}, {name: "c", below: []}]},
        ],
    }
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"x": tree}))
    read = Taxonomy.read(path, attribute="x")
    assert read.leaves == ("a", "b", "c")
    assert read.cover([1, 2]) == "bc"


def test_json_of_mosaicrown_is_read_with_one_node_or_none_below(tmp_path: Path) -> None:
    tree = {
        "cat": "world",
        "subcats": [
            {"cat": "Europe", "subcats": {"cat": "France", "subcats": None}},
            {"cat": "Asia", "subcats": [{"cat": "Japan", "subcats": []}, {"cat": "Laos"}]},
        ],
    }
    path = tmp_path / "t.json"
    path.write_text(json.dumps(tree))
    assert Taxonomy.read(path).to_paths() == [
        ["France", "Europe", "world"], ["Japan", "Asia", "world"], ["Laos", "Asia", "world"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    "tree",
    [
        {"any": {"lung": {"flu": {}, "asthma": None}, "stomach": {"ulcer": {}}}},
        {"any": {"lung": ["flu", "asthma"], "stomach": ["ulcer"]}},
        {"name": "any", "children": {"lung": ["flu", "asthma"], "stomach": {"ulcer": {}}}},
    ],
    ids=["objects", "lists", "mixed"],
)
def test_json_of_nested_names_is_read(tree: dict[str, object]) -> None:
    read = Taxonomy.from_json(tree)
    assert read.to_paths() == [[leaf, group, "any"] for leaf, group, _ in PATHS]


def test_a_json_file_without_the_tree_asked_for_says_which_it_has(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"zip": {"name": "*", "children": ["1"]}}))
    with pytest.raises(dc.errors.TaxonomyError, match="holds trees of zip, not of age"):
        Taxonomy.read(path, attribute="age")


AMNESIA = """distinct
name places
type string
height 3

Europe has France Greece
Asia has Japan

World has Europe Asia Elsewhere
"""


def read_amnesia(folder: Path, text: str) -> Taxonomy:
    path = folder / "h.txt"
    path.write_text(text, encoding="utf-8")
    return Taxonomy.read(path)


def test_amnesia_hierarchies_are_read(tmp_path: Path) -> None:
    assert read_amnesia(tmp_path, AMNESIA).to_paths() == [
        ["France", "Europe", "World"],
        ["Greece", "Europe", "World"],
        ["Japan", "Asia", "World"],
        ["Elsewhere", "Elsewhere", "World"],
    ]


def test_numbers_of_an_amnesia_hierarchy_are_in_their_order(tmp_path: Path) -> None:
    head = "distinct\nname n\ntype int\nheight 2\n\n"
    tree = read_amnesia(tmp_path, head + "1000.0 has 10.0 2.0 NaN\n")
    assert tree.leaves == ("2", "10")


def test_ranges_of_amnesia_list_their_numbers_and_share_no_bound(tmp_path: Path) -> None:
    head = "range\nname age\ntype int\nheight 3\n\n"
    body = "0.0,4.0 has 2.0,4.0 0.0,2.0\n\n0.0,6.0 has 0.0,4.0 4.0,6.0 NaN,NaN\n"
    assert read_amnesia(tmp_path, head + body).to_paths() == [
        ["0", "[0, 1]", "[0, 3]", "[0, 6]"],
        ["1", "[0, 1]", "[0, 3]", "[0, 6]"],
        ["2", "[2, 3]", "[0, 3]", "[0, 6]"],
        ["3", "[2, 3]", "[0, 3]", "[0, 6]"],
        ["4", "4", "[4, 6]", "[0, 6]"],
        ["5", "5", "[4, 6]", "[0, 6]"],
        ["6", "6", "[4, 6]", "[0, 6]"],
    ]


def test_ranges_of_dates_list_their_days(tmp_path: Path) -> None:
    head = "range\nname born\ntype date\nheight 3\n\n"
    body = "2/2020 has 1/2/2020,28/2/2020 29/2/2020\n\n2020,2021 has 2/2020 2021\n"
    tree = read_amnesia(tmp_path, head + body)
    assert len(tree.leaves) == 29 + 365
    assert tree.to_paths()[0] == [
        "2020-02-01", "[2020-02-01, 2020-02-28]", "[2020-02-01, 2020-02-29]",
        "[2020-02-01, 2021-12-31]",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (AMNESIA.replace("World has", "The World has"), "line 9 does not say"),
        (AMNESIA + "Asia has France\n", "'France' lies below 'Europe' already"),
        (AMNESIA + "France has World\n", "has no root"),
        ("distinct\nname x\n\na has b\nb has a\n", "has no leaves"),
        ("range\nname x\ntype decimal\n\n0,9 has 0,1.5 1.5,9\n", "type decimal"),
        ("range\nname x\ntype int\n\n0,9 has 0,5 3,9\n", "range 3,9 is empty, overlaps"),
        ("range\nname x\ntype int\n\n0,1e9 has 0,9 9,1e9\n", "too long"),
        ("range\nname x\ntype int\n\na,b has a,c c,b\n", "not a number"),
        ("range\nname x\ntype date\n\n1990 has 13/1990\n", "not a date"),
    ],
    ids=["space", "two parents", "circle", "ring", "decimals", "overlap", "long", "text", "month"],
)
def test_amnesia_hierarchies_that_cannot_be_read_are_refused(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(dc.errors.TaxonomyError, match=message):
        read_amnesia(tmp_path, text)


def test_a_taxonomy_without_a_root_gets_one() -> None:
    tree = Taxonomy.from_paths([["a", "x"], ["b", "y"]])
    assert tree.nodes[0].name == "*" and tree.leaves == ("a", "b")
    assert Taxonomy.from_paths([["a"], ["b"]]).ancestor(0, 1).name == "*"


def test_one_error_names_everything_that_is_wrong() -> None:
    with pytest.raises(dc.errors.TaxonomyError) as caught:
        Taxonomy.from_paths(
            [["a", "x", "*"], ["a", "x", "*"], ["b", "x", "top"], ["c", "*"], ["d", "", "*"]]
        )
    text = str(caught.value)
    assert "leaf 'a' appears more than once" in text
    assert "'x' lies below '*' and 'top'" in text
    assert "line 4 has 2 levels" in text
    assert "line 5 has an empty level" in text


@pytest.mark.parametrize("content", ["", "{not json", "[1]", '{"children": []}'])
def test_files_that_hold_no_tree_are_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "t.json"
    path.write_text(content)
    with pytest.raises(dc.errors.TaxonomyError):
        Taxonomy.read(path)
    with pytest.raises(dc.errors.TaxonomyError, match="cannot be read"):
        Taxonomy.read(tmp_path / "none.csv")


def test_restricting_keeps_order_and_drops_empty_nodes() -> None:
    tree = Taxonomy.from_paths(PATHS).restrict(["ulcer", "flu"])
    assert tree.leaves == ("flu", "ulcer")
    assert [node.name for node in tree.nodes] == ["*", "lung", "flu", "stomach", "ulcer"]


@pytest.mark.parametrize(
    "rule",
    [dc.Intervals((5, 12)), dc.Intervals((0,)), dc.Prefixes((1, 3)), dc.Dates(("year", "month"))],
    ids=str,
)
def test_rules_that_do_not_nest_are_refused(rule: dc.Intervals) -> None:
    with pytest.raises(dc.errors.TaxonomyError):
        rule.build(["2020-01-01"] if isinstance(rule, dc.Dates) else ["12"])


def test_intervals_reach_below_zero() -> None:
    paths = dc.Intervals((5, 10)).build(["-3", "0", "7"]).to_paths()
    assert paths[0] == ["-3", "[-5, 0)", "[-10, 0)", "*"]


def test_embedded_taxonomies_cover_adult() -> None:
    frame = dc.datasets.adult_frame()
    for name, tree in dc.datasets.adult_taxonomies().items():
        assert tree.lint(frame[name].drop_nulls().unique()) == []
        assert set(tree.leaves) == set(frame[name].drop_nulls().unique())
