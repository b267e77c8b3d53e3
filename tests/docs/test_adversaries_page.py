"""The page on adversaries says what releases say, and its tests are there."""

from __future__ import annotations

import re
from pathlib import Path

from attacks.withstanding import write_table
from discreet.publishing.methods import REGISTRY

PAGE = Path(__file__).parents[2] / "docs" / "why" / "adversaries.md"


def test_every_cell_is_what_a_release_says_and_links_to_a_test_that_is_there() -> None:
    text = PAGE.read_text(encoding="utf-8")
    (table,) = re.findall(
        "<!-- withstanding -->\n(.*?)<!-- end of withstanding -->", text, re.DOTALL
    )
    assert table == write_table()
    for path, name in set(re.findall(r"\]\((\S+?\.py)#(\w+)\)", table)):
        assert f"def {name}(" in (PAGE.parent / path).read_text(encoding="utf-8"), (path, name)


def test_every_method_has_a_row() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for title in REGISTRY:
        assert f"../methods/{title}.md" in text, title
