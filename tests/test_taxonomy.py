"""Taxonomies: from files or rules, linted before use."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import discreet as dc
from discreet.taxonomy import Taxonomy

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
