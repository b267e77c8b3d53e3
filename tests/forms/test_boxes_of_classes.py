"""Questions to many records look labels up per class; answers are the same as record by record."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import discreet as dc
from discreet.errors import QueryError
from discreet.forms.generalized import view
from questions import METHODS, Drawer, draw_people


def copy(release: dc.Release, table: pl.DataFrame | None = None) -> dc.Release:
    """Give a release of its own, for which nothing has been listed yet."""
    tables = release.tables if table is None else {**release.tables, view.TABLE: table}
    return replace(release, tables=tables)


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "MANY", 0)
    monkeypatch.setattr(view, "FEW", 1)


def test_random_questions_are_answered_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    people = draw_people(rng, 80)
    by_label = dc.publish(people, METHODS["generalization"], insecure_seed=1)
    by_class = copy(by_label)
    drawer, answered = Drawer(rng, people.public_schema.names), 0
    with by_label.prepare() as one, by_class.prepare() as other:
        for _ in range(25):
            sql = drawer.draw()
            try:
                expected = one.query(sql)
            except QueryError:
                continue
            with monkeypatch.context() as patched:
                patched.setattr(view, "MANY", 0)
                patched.setattr(view, "FEW", 1)
                found = other.query(sql)
            assert_frame_equal(found.frame, expected.frame, check_exact=False)
            answered += 1
    assert answered > 10
    assert view.find_boxes(by_label) is None and view.find_boxes(by_class) is not None


@pytest.mark.usefixtures("listed")
def test_classes_are_listed_with_their_labels() -> None:
    people = dc.read(pl.DataFrame({"age": [1, 2, 8, 9], "ill": list("abab")}),
                     dc.Schema.infer(pl.DataFrame({"age": [1, 2, 8, 9], "ill": list("abab")}),
                                     quasi_identifiers=["age"], sensitive=["ill"]))  # fmt: skip
    release = dc.publish(people, dc.Generalization(dc.KAnonymity(2)))
    boxes = view.find_boxes(release)
    assert boxes is not None and boxes.rows() == [(0, "[1, 2]"), (1, "[8, 9]")]
    assert "boxes_of_classes" in release.query("SELECT COUNT(*) FROM release WHERE age < 2").sql


@pytest.mark.usefixtures("listed")
def test_classes_that_show_several_labels_are_not_listed() -> None:
    """Their records would be counted once for each."""
    people = draw_people(np.random.default_rng(1), 40)
    release = dc.publish(people, METHODS["generalization"], insecure_seed=1)
    table = release.tables[view.TABLE]
    mixed = copy(release, table.with_columns(pl.lit(0, dtype=table["class"].dtype).alias("class")))
    assert view.find_boxes(mixed) is None
    assert view.find_boxes(copy(release)) is not None
