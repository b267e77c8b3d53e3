"""Hierarchies: tried before they are kept, refused in place, and kept in the plan."""

from __future__ import annotations

import pytest

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


def test_groups_are_not_written_over_those_of_a_plan_that_changed(studio: Studio) -> None:
    seen = begin(studio, "town")
    groups = {"value.Bonn": "Rhine", "value.Köln": "Rhine"}
    assert studio.post("/hierarchies/group", column="town", seen=seen, **groups).status_code == 200
    file = studio.root / "people.town.groups.csv"
    before = file.read_bytes()
    late = studio.post("/hierarchies/group", column="town", seen=seen, **{"value.Ulm": "Rhine"})
    assert late.status_code == 422 and "was changed on disk" in late.text
    assert file.read_bytes() == before


def test_every_column_has_a_file_of_its_own_for_groups(studio: Studio) -> None:
    names = ["home town", "home_town", "town" * 60]
    rows = ["a,b,c", "d,e,f"] * 3
    (studio.root / "towns.csv").write_text("\n".join([",".join(names), *rows]), "utf-8")
    columns = "".join(f'[columns."{n}"]\nrole = "quasi-identifier"\n' for n in names)
    (studio.root / "towns.plan.toml").write_text(
        f'[source]\nfile = "towns.csv"\n{columns}[method]\nname = "generalization"\n'
        '[[method.principles]]\nname = "k-anonymity"\nk = 2\n',
        "utf-8",
    )
    studio.post("/open/file", name="towns.plan.toml")
    seen = studio.seen(studio.client.get("/hierarchies").text)
    for name in names:
        answer = studio.post("/hierarchies/group", column=name, seen=seen)
        assert answer.status_code == 200, answer.text
        seen = studio.seen(answer.text)
    assert len(list(studio.root.glob("towns.*.groups.csv"))) == 3


@pytest.mark.parametrize("said", ["1.5", "9" * 400])
def test_signs_of_prefixes_are_counted(studio: Studio, said: str) -> None:
    begin(studio, "town")
    answer = studio.post("/hierarchies/preview", column="town", kind="prefixes", said=said)
    assert answer.status_code == 422 and "signs are counted" in answer.text
