"""Hierarchies: tried before they are kept, refused in place, and kept in the plan."""

from __future__ import annotations

from discreet.steward.plan import Plan
from discreet.table.taxonomy import Intervals, Taxonomy
from studios import Studio


def begin(studio: Studio, column: str) -> str:
    studio.post("/open/file", name="people.csv")
    page = studio.client.get("/hierarchies", params={"column": column}).text
    assert "has no hierarchy" in page
    return studio.seen(page)


def taxonomy_of(studio: Studio, column: str) -> object:
    return Plan.read(studio.root / "people.plan.toml").schema[column].taxonomy


def test_intervals_are_tried_then_kept(studio: Studio) -> None:
    seen = begin(studio, "age")
    given = {"column": "age", "kind": "intervals", "said": "5, 10"}
    tried = studio.post("/hierarchies/preview", **given)
    assert "Not kept yet" in tried.text and "[30, 40)" in tried.text
    assert taxonomy_of(studio, "age") is None
    kept = studio.post("/hierarchies/save", seen=seen, **given)
    assert "intervals of 5, 10" in kept.text
    assert taxonomy_of(studio, "age") == Intervals((5, 10))
    gone = studio.post("/hierarchies/save", column="age", kind="none", seen=studio.seen(kept.text))
    assert "has no hierarchy" in gone.text
    assert taxonomy_of(studio, "age") is None


def test_what_does_not_fit_is_said_in_place_and_not_kept(studio: Studio) -> None:
    seen = begin(studio, "age")
    before = (studio.root / "people.plan.toml").read_bytes()
    given = {"column": "age", "kind": "intervals", "said": "5, 12"}
    assert "do not nest" in studio.post("/hierarchies/preview", **given).text
    answer = studio.post("/hierarchies/save", seen=seen, **given)
    assert answer.status_code == 422 and "do not nest" in answer.text
    assert studio.post("/hierarchies/preview", column="age", kind="x").status_code == 422
    assert (studio.root / "people.plan.toml").read_bytes() == before


def test_values_are_put_into_groups(studio: Studio) -> None:
    seen = begin(studio, "town")
    groups = {"value.Bonn": "Rhine", "value.Köln": "Rhine", "value.Ulm": ""}
    answer = studio.post("/hierarchies/group", column="town", seen=seen, **groups)
    assert answer.status_code == 200, answer.text
    tree = taxonomy_of(studio, "town")
    assert isinstance(tree, Taxonomy)
    assert {path[0]: path[1] for path in tree.to_paths()} == {
        "Bonn": "Rhine", "Köln": "Rhine", "Ulm": "others",
    }  # fmt: skip


def test_a_file_of_arx_is_linted_and_taken(studio: Studio) -> None:
    seen = begin(studio, "town")
    (studio.root / "towns.csv").write_text("Ulm;south;*\nBonn;west;*\n", "utf-8")
    given = {"column": "town", "kind": "file", "file": "towns.csv"}
    tried = studio.post("/hierarchies/preview", **given)
    assert "value &#39;Köln&#39; is in the data but not a leaf" in tried.text
    (studio.root / "towns.csv").write_text("Ulm;south;*\nBonn;west;*\nKöln;west;*\n", "utf-8")
    kept = studio.post("/hierarchies/save", seen=seen, **given)
    assert "from a file" in kept.text and "south" in kept.text
    outside = studio.post("/hierarchies/preview", column="town", kind="file", file="../x.csv")
    assert outside.status_code == 422 and "outside of the folder" in outside.text
